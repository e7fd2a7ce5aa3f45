//! A summary of a connection's state in a few lines.

use dupack_tcp::recovery::Phase;
use dupack_tcp::scoreboard::{Reported, Scoreboard};
use dupack_tcp::sender::Sender;
use dupack_tcp::time::{Duration, Instant};

use crate::info::Tally;
use crate::run::clock;
use crate::stage::Stage;

/// Maximum number of sacked ranges that are shown.
const MOST_RANGES: usize = 4;

/// Returns the state of the connection with this index: names and values.
pub(crate) fn of(stage: &Stage, index: usize) -> Vec<(&'static str, String)> {
    let line = &stage.lines[index];
    let connection = &line.connection;
    let mut rows = vec![(
        "connection",
        format!("{} at {}", connection.state(), clock(stage.now)),
    )];
    if let Some(sender) = connection.sender() {
        rows.extend(of_sender(sender, stage.now));
        rows.push((
            "bytes",
            format!(
                "{} written, {} acknowledged; {} received, {} read",
                connection.written(),
                connection.acknowledged(),
                connection.readable(),
                line.taken
            ),
        ));
    }
    if let Some(next) = connection.next_timeout() {
        rows.push(("next timer", clock(next)));
    }
    if !line.departed.is_empty() {
        rows.push(("unchecked", format!("{} packets sent", line.departed.len())));
    }
    rows
}

fn of_sender(sender: &Sender, now: Instant) -> Vec<(&'static str, String)> {
    let smss = f64::from(sender.config().smss);
    let window = sender.window();
    let ssthresh = match window.ssthresh.is_finite() {
        true => format!("{:.2}", window.ssthresh / smss),
        false => "infinite".to_owned(),
    };
    let tally = Tally::of(sender, now);
    let board = sender.scoreboard();
    let rtt = sender.rtt();
    let mut rows = vec![
        (
            "window",
            format!(
                "cwnd {:.2}, ssthresh {ssthresh}, in flight {:.2} segments of {smss} bytes",
                window.cwnd / smss,
                sender.in_flight(now) as f64 / smss
            ),
        ),
        (
            "recovery",
            format!(
                "{}; {} outstanding, {} sacked, {} lost, {} retransmitted",
                phase(sender.phase()),
                tally.outstanding,
                board.sacked_segments(),
                tally.lost,
                tally.retransmitted
            ),
        ),
        (
            "round trip",
            format!(
                "srtt {}, rttvar {}, minimum {}, rto {}",
                span(rtt.srtt()),
                span(Some(rtt.rttvar())),
                span(rtt.min()),
                span(Some(rtt.rto()))
            ),
        ),
    ];
    if board.sacked_segments() > 0 {
        rows.push(("sacked", sacked(board)));
    }
    if let Some(at) = sender.rto_at() {
        rows.push(("rto expires", clock(at)));
    }
    rows
}

fn phase(phase: Option<Phase>) -> &'static str {
    match phase {
        Some(Phase::Open) => "open",
        Some(Phase::Disorder) => "disorder",
        Some(Phase::Reducing) => "reducing",
        Some(Phase::Recovery) => "recovery",
        Some(Phase::Loss) => "loss",
        _ => "unknown phase",
    }
}

/// Returns the sacked ranges in the script's numbers.
fn sacked(board: &Scoreboard) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (_, segment) in board.iter_from(board.first()) {
        if segment.reported == Reported::Missing {
            continue;
        }
        match ranges.last_mut() {
            Some((_, end)) if *end == segment.start => *end = segment.end(),
            _ => ranges.push((segment.start, segment.end())),
        }
    }
    let more = ranges.len().saturating_sub(MOST_RANGES);
    // The SYN has the sequence number before the first byte.
    let mut shown: Vec<String> = ranges
        .iter()
        .take(MOST_RANGES)
        .map(|(start, end)| format!("{}:{}", start + 1, end + 1))
        .collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(" ")
}

fn span(span: Option<Duration>) -> String {
    match span {
        None => "unknown".to_owned(),
        Some(span) => format!("{:.1} ms", span.as_secs_f64() * 1e3),
    }
}
