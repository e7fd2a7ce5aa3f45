//! Section of a connection on the page: a table of facts, and a table of its limits.

use dupack_report::page::{Block, Cell, Emphasis};

use crate::summary::{
    UNTOLD, closed_windows, ending, ends, in_percent, other_way, probes, seen_from, sent_again,
    syns_again,
};
use crate::words;
use dupack_diagnosis::findings::{AcksSeen, ConnectionFindings, StreamFindings};
use dupack_diagnosis::untold::Untold;

/// Returns a table of facts about a connection's main stream and about the end of the connection.
pub(super) fn facts(connection: &ConnectionFindings, stream: &StreamFindings) -> Block {
    let (from, to) = ends(connection, stream);
    let mut rows = vec![
        ("sender", from),
        ("receiver", to),
        ("data", words::bytes(stream.bytes() as f64)),
        ("time", words::time(stream.shares.duration())),
        (
            "goodput",
            stream.goodput_told().map_or_else(
                || format!("{UNTOLD}: {}", Untold::WithoutAcks.why()),
                words::rate,
            ),
        ),
        ("round-trip time", round_trips(stream)),
        ("retransmitted", sent_again(stream)),
    ];
    if stream.coverage.acks == AcksSeen::Some {
        rows.push(("seen from", seen_from(&stream.vantage)));
    }
    let optional = [
        ("handshake", syns_again(connection)),
        ("window shut", closed_windows(stream)),
        ("probes", probes(stream)),
        ("ended", ending(connection)),
    ];
    rows.extend(optional.into_iter().filter_map(told));
    if let Some(other) = connection.other_stream() {
        rows.push(("reverse data", other_way(connection, other)));
    }
    table_of("The direction that kept an end waiting the longest.", rows)
}

/// Returns a row with a name and a text, or `None` if there is no text.
fn told((name, text): (&'static str, Option<String>)) -> Option<(&'static str, String)> {
    Some((name, text?))
}

/// Returns a table with a name and a text in each row.
fn table_of(caption: &str, rows: Vec<(&str, String)>) -> Block {
    let rows = rows.into_iter();
    let rows = rows.map(|(name, text)| vec![Cell::new(name, Emphasis::Group), text.into()]);
    Block::Table {
        caption: caption.to_owned(),
        header: vec![String::new(), String::new()],
        rows: rows.collect(),
    }
}

/// Returns a table of the facts about a connection without data that the first sentence does not contain, or `None` if
/// there are none.
pub(super) fn facts_without_data(connection: &ConnectionFindings) -> Option<Block> {
    let rows = [
        ("handshake", syns_again(connection)),
        ("ended", ending(connection)),
    ];
    let rows: Vec<(&str, String)> = rows.into_iter().filter_map(told).collect();
    (!rows.is_empty()).then(|| table_of("The connection carried no data.", rows))
}

/// Returns the minimum and the mean round-trip time, or the reason why they are unknown.
fn round_trips(stream: &StreamFindings) -> String {
    match (stream.round_trips(), &stream.path.least_rtt) {
        (Some((least, mean)), _) => format!(
            "{} (least), {} (mean)",
            words::time(least),
            words::time(mean)
        ),
        (None, untold) => words::told(untold, |least| words::way(*least)),
    }
}

/// Returns the limits of a stream, or the reason why they are unknown.
pub(super) fn limits_or_why(stream: &StreamFindings) -> Block {
    stream.limits_untold().map_or_else(
        || limits(stream),
        |untold| {
            let (why, remedy) = (untold.why(), untold.remedy());
            Block::text(format!(
                "The limit {UNTOLD}: {why}; {remedy} would show it."
            ))
        },
    )
}

pub(super) fn limits(stream: &StreamFindings) -> Block {
    let rows = in_percent(stream).into_iter();
    let rows = rows.map(|(limit, time, percent)| {
        vec![
            words::limit_of(stream, limit).into(),
            Cell::new(format!("{percent} %"), Emphasis::Number),
            Cell::new(words::time(time), Emphasis::Number),
        ]
    });
    Block::Table {
        caption: "Each instant has one limit; the times add up to the duration.".to_owned(),
        header: ["limited by", "share", "time"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}
