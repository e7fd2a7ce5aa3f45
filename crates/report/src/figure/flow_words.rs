//! Text descriptions of the figures of a flow: the time–sequence plot and the ladder.

use dupack_lab::trace::phase::Phase;

use super::ladder::{LadderColumn, RungEnd, RungKind};
use super::phases::spans;
use super::time_sequence::TimeSequence;

/// Returns the description of a time–sequence plot, which follows the title.
pub(crate) fn plot_in_words(plot: &TimeSequence) -> String {
    let range = plot.time_range.unwrap_or_default();
    format!("{}, {}", plot.title, part_in_words(plot, range))
}

/// Returns the description of a part of a time–sequence plot. The part is given by its start and end in seconds.
pub(super) fn part_in_words(plot: &TimeSequence, (from, until): (f64, f64)) -> String {
    let inside = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let points = points.iter().copied();
        points.filter(|p| (from..=until).contains(&p.0)).collect()
    };
    let mut parts = vec![format!("{} packets sent", inside(&plot.sends).len())];
    let drops = inside(&plot.drops);
    if let (Some(first), Some(last)) = (drops.first(), drops.last()) {
        let packets = drops.iter().map(|point| point.1);
        let packets = numbers(packets);
        let when = times(first.0, last.0);
        parts.push(format!("{} dropped {when} ({packets})", drops.len()));
    } else {
        parts.push("none dropped".to_owned());
    }
    for kind in &plot.retransmissions {
        let again = inside(&kind.points);
        if let (Some(first), Some(last)) = (again.first(), again.last()) {
            let when = times(first.0, last.0);
            parts.push(format!(
                "{} retransmitted {when} ({})",
                again.len(),
                kind.reason
            ));
        }
    }
    parts.extend(phases_in_words(&plot.phases, (from, until)));
    let cwnd = inside(&plot.cwnd);
    if let (Some(first), Some(last)) = (cwnd.first(), cwnd.last()) {
        let least = cwnd
            .iter()
            .map(|point| point.1)
            .fold(f64::INFINITY, f64::min);
        let most = cwnd.iter().map(|point| point.1).fold(0.0, f64::max);
        let (first, last) = (first.1, last.1);
        parts.push(format!(
            "cwnd begins at {first:.1} packets, ends at {last:.1}, and ranges from {least:.1} to {most:.1}"
        ));
    }
    format!("{from:.3} s to {until:.3} s: {}.", parts.join("; "))
}

fn phases_in_words(changes: &[(f64, Phase)], (from, until): (f64, f64)) -> Vec<String> {
    const MOST: usize = 4;
    let spans = spans(changes, from, until);
    let mut parts = Vec::new();
    for phase in [Phase::SlowStart, Phase::Recovery, Phase::Timeout] {
        let own = spans.iter().filter(|span| span.2 == phase);
        let mut told: Vec<String> = own
            .map(|(start, end, _)| format!("{start:.3} s to {end:.3} s"))
            .collect();
        if told.len() > MOST {
            let more = told.len() - MOST;
            told.truncate(MOST);
            told.push(format!("and {more} more"));
        }
        if !told.is_empty() {
            parts.push(format!("{phase} {}", told.join(", ")));
        }
    }
    parts
}

/// Returns the description of a ladder between two times.
pub(crate) fn ladder_in_words(column: &LadderColumn, (from, until): (f64, f64)) -> String {
    let shown = || {
        let rungs = column.rungs.iter();
        rungs.filter(|rung| (from..=until).contains(&rung.sent))
    };
    let count = |kind: fn(RungKind) -> bool| shown().filter(|rung| kind(rung.kind)).count();
    let lost = |acks: bool| {
        let lost = shown().filter(|rung| matches!(rung.end, RungEnd::Lost(_)));
        let is_ack = |kind| matches!(kind, RungKind::Ack | RungKind::Duplicate(_));
        let own = lost.filter(move |rung| is_ack(rung.kind) == acks);
        own.map(|rung| rung.packet).collect::<Vec<f64>>()
    };
    let mut parts = vec![
        format!("{} new segments", count(|k| k == RungKind::Segment)),
        format!("{} retransmissions", count(|k| k == RungKind::Again)),
    ];
    match lost(false).as_slice() {
        [] => parts.push("none lost".to_owned()),
        packets => parts.push(format!(
            "{} lost ({})",
            packets.len(),
            numbers(packets.iter().copied())
        )),
    }
    let duplicates = count(|k| matches!(k, RungKind::Duplicate(_)));
    let acks = count(|k| k == RungKind::Ack) + duplicates;
    parts.push(format!(
        "{acks} ACKs, {duplicates} of them duplicates, {} of them lost",
        lost(true).len()
    ));
    format!(
        "{}, {from:.3} s to {until:.3} s: {}.",
        column.name,
        parts.join("; ")
    )
}

fn times(first: f64, last: f64) -> String {
    if last - first < 5e-4 {
        format!("at {first:.3} s")
    } else {
        format!("between {first:.3} s and {last:.3} s")
    }
}

/// Returns packet numbers as text, with consecutive numbers as ranges: `24 to 30, 35`.
fn numbers(packets: impl Iterator<Item = f64>) -> String {
    const MOST: usize = 8;
    let mut packets: Vec<u64> = packets.map(|packet| packet as u64).collect();
    packets.sort_unstable();
    packets.dedup();
    let rows = packets.chunk_by(|a, b| a + 1 == *b);
    let mut told: Vec<String> = rows
        .filter_map(|row| match row {
            [one] => Some(one.to_string()),
            [first, .., last] => Some(format!("{first} to {last}")),
            [] => None,
        })
        .collect();
    if told.len() > MOST {
        let more = told.len() - MOST;
        told.truncate(MOST);
        told.push(format!("and {more} more"));
    }
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Retransmissions;

    #[test]
    fn consecutive_packets_are_ranges() {
        let of = |packets: &[u64]| numbers(packets.iter().map(|&n| n as f64));
        assert_eq!(of(&[26, 24, 25, 30, 30]), "24 to 26, 30");
        assert_eq!(of(&[]), "");
        let apart: Vec<u64> = (0..20).step_by(2).collect();
        assert_eq!(of(&apart), "0, 2, 4, 6, 8, 10, 12, 14, and 2 more");
    }

    #[test]
    fn plots_are_described() {
        let plot = TimeSequence {
            title: "sack/reno".to_owned(),
            time_range: Some((1.0, 2.0)),
            sends: vec![(0.5, 1.0), (1.1, 2.0), (1.2, 3.0)],
            drops: vec![(1.25, 3.0)],
            retransmissions: vec![Retransmissions {
                reason: "scoreboard".to_owned(),
                points: vec![(1.5, 3.0)],
            }],
            cwnd: vec![(0.9, 9.0), (1.0, 4.0), (1.5, 2.0)],
            phases: vec![(0.2, Phase::SlowStart), (1.5, Phase::Recovery)],
            ..TimeSequence::default()
        };
        assert_eq!(
            plot_in_words(&plot),
            "sack/reno, 1.000 s to 2.000 s: 2 packets sent; 1 dropped at 1.250 s (3); \
             1 retransmitted at 1.500 s (scoreboard); slow start 1.000 s to 1.500 s; \
             recovery 1.500 s to 2.000 s; \
             cwnd begins at 4.0 packets, ends at 2.0, and ranges from 2.0 to 4.0."
        );
    }
}
