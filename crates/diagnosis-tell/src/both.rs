//! Description of two captures of a transfer, one at each endpoint.

use std::fmt::Display;

use dupack_diagnosis::both::{
    Alone, BothEnds, Changed, Clock, Delays, Joined, Queue, Rewritten, Way,
};
use dupack_diagnosis::findings::ConnectionFindings;
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::told::Told;
use dupack_report::page::{Block, Cell, Emphasis};
use dupack_tcp::time::Duration;

use crate::summary::UNTOLD;
use crate::words;

/// Returns the lines about two captures, each with its name. The result is empty if there is only one capture.
#[must_use]
pub fn lines(connection: &ConnectionFindings) -> Vec<(&'static str, String)> {
    let Some(both) = &connection.both else {
        return Vec::new();
    };
    let sender = connection
        .main_stream()
        .map_or(Side::Opener, |stream| stream.side);
    let mut lines = vec![
        ("both ends", place(connection, both)),
        ("clocks", clocks(both)),
    ];
    for (name, side) in [("forward path", sender), ("reverse path", sender.other())] {
        lines.push((name, way(connection, both, side)));
    }
    lines.push(("delays", delays(both, sender)));
    lines.extend(rewritten(connection, both).map(|text| ("rewritten", text)));
    lines.extend(
        both.alone
            .map(|alone| ("one alone", one_alone(connection, both, alone))),
    );
    lines
}

/// Function that returns the number of packets of a kind in one direction.
type Count = fn(&Way) -> u64;

/// Returns two tables for the page: the lines about two captures, and the counts of the packets of each endpoint.
#[must_use]
pub fn tables(connection: &ConnectionFindings) -> Vec<Block> {
    let Some(both) = &connection.both else {
        return Vec::new();
    };
    let rows = lines(connection).into_iter();
    let rows = rows.map(|(name, line)| vec![Cell::new(name, Emphasis::Group), line.into()]);
    let first = Block::Table {
        caption: "Two captures of the connection, matched packet by packet.".to_owned(),
        header: vec![String::new(), String::new()],
        rows: rows.collect(),
    };
    let names: [(&str, Count); 11] = [
        ("sent", |way| way.sent),
        ("arrived", |way| way.arrived),
        ("lost, with data", |way| way.lost_data),
        ("lost ACKs", |way| way.lost_acks),
        ("lost SYNs and FINs", |way| way.lost_controls),
        ("overtaken", |way| way.reordered),
        ("copies made by the path", |way| way.duplicated),
        ("missing in the far capture", |way| way.missing_far),
        ("missing in the near capture", |way| way.missing_near),
        ("copies, or missing in the near capture", |way| {
            way.unexplained
        }),
        ("unknown whether lost", |way| way.undecided),
    ];
    let ends = Side::BOTH.map(|side| both.ways.of(side));
    let rows = names.iter().map(|(name, of)| {
        let numbers = ends.iter().map(|way| of(way));
        let numbers = numbers.map(|number| Cell::new(words::count(number), Emphasis::Number));
        std::iter::once((*name).into()).chain(numbers).collect()
    });
    let second = Block::Table {
        caption: "Packets between the two captures. A packet that was merged by offload counts as the segments that it stands \
                  for."
            .to_owned(),
        header: vec![
            "packets".to_owned(),
            format!("from {}", connection.addresses.opener),
            format!("from {}", connection.addresses.answerer),
        ],
        rows: rows.collect(),
    };
    let mut blocks = vec![first, second];
    blocks.extend(lost_packets(connection, both));
    blocks
}

/// Maximum number of lost packets of each endpoint that the page lists (our choice).
const LISTED_MAX: usize = 40;

/// Returns one sentence for each endpoint, with the numbers of its lost packets.
fn lost_packets(connection: &ConnectionFindings, both: &BothEnds) -> Vec<Block> {
    let of = |side: Side| {
        let lost = &both.ways.of(side).lost;
        let numbers = lost
            .iter()
            .take(LISTED_MAX)
            .map(|lost| format!("#{}", lost.packet));
        let numbers: Vec<String> = numbers.collect();
        let more = if lost.len() > LISTED_MAX { " …" } else { "" };
        let capture = match side == both.near {
            true => "this capture",
            false => "the other capture",
        };
        (!numbers.is_empty()).then(|| {
            Block::text(format!(
                "Lost packets of {}, by their numbers in {capture}: {}{more}",
                connection.addresses.of(side),
                numbers.join(", ")
            ))
        })
    };
    Side::BOTH.into_iter().filter_map(of).collect()
}

/// Returns a description of the place of the other capture, with the addresses of the connection in that capture.
fn place(connection: &ConnectionFindings, both: &BothEnds) -> String {
    let of = |side| connection.addresses.of(side);
    let far = both.near.other();
    let mut text = format!(
        "this capture is nearer to {}, the other one to {}; the round trip between them takes at least {}",
        of(both.near),
        of(far),
        words::time(both.round_trip)
    );
    match both.whole {
        Some(whole) if !both.spans_path() => {
            text += &format!(
                "; the rest of the round trip of {} lies beyond them, and they do not show losses there",
                words::time(whole)
            );
        }
        Some(_) => {}
        None => text += "; whether that is the whole path is unknown",
    }
    if both.there != connection.addresses {
        text += &format!(
            "; in the other capture, the connection is {} – {}",
            both.there.opener, both.there.answerer
        );
    }
    if both.extent == Joined::First {
        text += "; only its first packets are matched, because there are too many";
    }
    text
}

/// Returns a description of the offset and the drift between the clocks.
fn clocks(both: &BothEnds) -> String {
    let Some(Clock {
        offset_s,
        uncertainty,
        skew,
    }) = both.clock
    else {
        return "cannot be compared: no constant rate relates them, as happens if one was set during the transfer".to_owned();
    };
    let uncertainty = uncertainty.as_secs_f64();
    let places = (1.0 - uncertainty.max(1e-9).log10()).ceil().clamp(0.0, 9.0) as usize;
    let way = if offset_s < 0.0 { "behind" } else { "ahead" };
    let mut text = format!(
        "the other clock is {:.places$} s {way}, ±{}",
        offset_s.abs(),
        words::seconds(uncertainty)
    );
    text += &match skew {
        Told::Between { value, low, high } => {
            let gains = if value < 0.0 { "loses" } else { "gains" };
            let ppm = |rate: f64| format!("{:.1}", rate.abs() * 1e6);
            let [low, high] = [low, high].map(|rate| if value < 0.0 { -rate } else { rate });
            format!(
                ", and {gains} {} ppm ({:.1} to {:.1})",
                ppm(value),
                low.min(high) * 1e6,
                low.max(high) * 1e6
            )
        }
        Told::AtLeast { .. } => String::new(),
        Told::CannotBeTold { why, .. } => format!("; its drift {UNTOLD}: {why}"),
    };
    text
}

/// Returns a description of the fates of the packets that an endpoint sent.
fn way(connection: &ConnectionFindings, both: &BothEnds, side: Side) -> String {
    let way = both.ways.of(side);
    let count =
        |number, text: &str| (number > 0).then(|| format!("{} {text}", words::count(number)));
    let copies = words::things(way.duplicated, "copy", "copies");
    let unseen = words::bytes(way.unseen_bytes as f64);
    let parts = [
        Some(format!("{} arrived", words::count(way.arrived))),
        Some(lost(way)),
        count(way.reordered, "overtaken by later ones"),
        (way.duplicated > 0).then(|| format!("{copies} made by the path")),
        count(
            way.missing_far,
            "arrived but are missing from the capture at that end",
        ),
        count(way.undecided, "for which arrival is unknown"),
        count(
            way.missing_near,
            "more arrived that are missing from the capture at this end",
        ),
        count(
            way.unexplained,
            "more arrived that are copies, or are missing from the capture at this end",
        ),
        (way.unseen_bytes > 0)
            .then(|| format!("{unseen} were acknowledged but are in neither capture")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!(
        "of {} from {}: {}",
        words::things(way.sent, "packet", "packets"),
        connection.addresses.of(side),
        parts.join(", ")
    )
}

fn lost(way: &Way) -> String {
    let mut kinds = Vec::new();
    if way.lost_data > 0 {
        kinds.push(format!("{} with data", words::count(way.lost_data)));
    }
    if way.lost_acks > 0 {
        kinds.push(words::things(way.lost_acks, "ACK", "ACKs"));
    }
    if way.lost_controls > 0 {
        kinds.push(words::things(
            way.lost_controls,
            "SYN or FIN",
            "SYNs or FINs",
        ));
    }
    if way.lost_again > 0 {
        let again = words::things(
            way.lost_again,
            "was a retransmission",
            "were retransmissions",
        );
        kinds.push(format!("of which {again}"));
    }
    match way.lost_all() {
        0 if way.undecided > 0 => "none is known to be lost".to_owned(),
        0 => "none was lost".to_owned(),
        all => format!("{} lost ({})", words::count(all), kinds.join(", ")),
    }
}

/// Returns a description of the one-way delays and of the place of the queue.
fn delays(both: &BothEnds, sender: Side) -> String {
    let delays = [sender, sender.other()].map(|side| both.ways.of(side).delays);
    let [Some(there), Some(back)] = delays else {
        return format!("{UNTOLD}: the offset of the clocks is unknown");
    };
    let beyond = |delays: &Delays| {
        // The time is rounded to microseconds, because this is the resolution of most captures.
        let micros = |delay: Duration| delay.saturating_sub(delays.least).as_nanos() / 1000;
        let beyond = |delay| words::time(Duration::from_micros(micros(delay)));
        format!(
            "{} (median), {} (95th percentile), {} (longest)",
            beyond(delays.p50),
            beyond(delays.p95),
            beyond(delays.max)
        )
    };
    let queue = match both.queue() {
        Some(Queue::Nowhere) => "; there is no queue on either path",
        Some(Queue::From(side)) if side == sender => "; the queue is on the forward path",
        Some(Queue::From(_)) => "; the queue is on the reverse path",
        Some(Queue::BothWays) => "; there are queues on both paths",
        None => "",
    };
    format!(
        "queueing on the forward path {}, on the reverse path {}; the least delays sum to {}, and the captures do not show how \
         this divides between both paths{queue}",
        beyond(&there),
        beyond(&back),
        words::time(there.least + back.least),
    )
}

/// Returns a description of the fields that are rewritten between the captures.
fn rewritten(connection: &ConnectionFindings, both: &BothEnds) -> Option<String> {
    let mut parts = Vec::new();
    for side in Side::BOTH {
        let (here, there) = (connection.addresses.of(side), both.there.of(side));
        if here != there {
            let (near, far) = if side == both.near {
                (here, there)
            } else {
                (there, here)
            };
            parts.push(format!("{near} becomes {far} at the other end"));
        }
        let fields = fields(both.rewritten.of(side));
        if !fields.is_empty() {
            parts.push(format!("in packets of {here}: {}", fields.join(", ")));
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn fields(rewritten: &Rewritten) -> Vec<String> {
    fn option<T: Display>(name: &str, changed: Option<Changed<Option<T>>>) -> Option<String> {
        let say = |value: Option<T>| value.map_or("none".to_owned(), |value| value.to_string());
        let Changed { sent, arrived } = changed?;
        Some(format!("{name} {} → {}", say(sent), say(arrived)))
    }
    let presence = |name: &str, changed: Option<Changed<bool>>| {
        changed.map(|changed| match changed.arrived {
            true => format!("{name} added to the SYN"),
            false => format!("{name} removed from the SYN"),
        })
    };
    let when = |holds: bool, text: &str| holds.then(|| text.to_owned());
    let moved = rewritten.sequence_numbers.map(|by| by as i32);
    let parts = [
        moved.map(|by| format!("sequence numbers {by:+}")),
        option("MSS", rewritten.mss),
        option("window scale", rewritten.window_scale),
        presence("SACK-permitted", rewritten.sack_permitted),
        presence("timestamps", rewritten.timestamps),
        when(rewritten.timestamp_values, "timestamp values"),
        when(rewritten.identification, "IPv4 identification"),
        when(
            rewritten.windows_or_echoes,
            "windows, echoed timestamps or SACK blocks",
        ),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns a comparison of the findings of one capture alone with the findings of both captures.
fn one_alone(connection: &ConnectionFindings, both: &BothEnds, alone: Alone) -> String {
    let way = both.ways.of(both.near);
    format!(
        "this capture alone shows {} and {} of {}; both captures show {} and {}",
        words::things(alone.losses, "lost segment", "lost segments"),
        words::things(
            alone.needless,
            "spurious retransmission",
            "spurious retransmissions"
        ),
        connection.addresses.of(both.near),
        words::count(way.lost_data),
        words::count(way.needless)
    )
}
