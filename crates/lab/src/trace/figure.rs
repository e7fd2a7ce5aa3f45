//! The time–sequence figure of a trace.

use dupack_tcp::facts::SendReason;
use dupack_tcp::time::{Duration, Instant};

use super::{Repeated, Trace, What};
use crate::figure::{Retransmissions, SackBlock, TimeSequence};

/// A part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub from: Instant,
    /// Its end.
    pub until: Instant,
}

/// The part of a trace from just before the first loss until the last of the losses that
/// followed each other is repaired, and a little more; the beginning of the trace if nothing
/// was lost.
#[must_use]
pub fn repair(trace: &Trace) -> Span {
    let rtt = trace
        .states()
        .find_map(|(_, state)| state.srtt)
        .unwrap_or(Duration::from_millis(100));
    let mut losses = trace.events.iter().filter_map(|event| match event.what {
        What::DataDropped { number, .. } => Some((event.at, number)),
        _ => None,
    });
    let Some((first, mut highest)) = losses.next() else {
        let until = trace.end.min(Instant::ZERO + rtt * 20);
        return Span {
            from: Instant::ZERO,
            until,
        };
    };
    let mut repaired = repaired_at(trace, first, highest);
    // Losses before the repair is over belong to it.
    for (at, number) in losses {
        if at > repaired {
            break;
        }
        highest = highest.max(number);
        repaired = repaired.max(repaired_at(trace, at, highest));
    }
    let margin = (rtt * 3).max(Duration::from_nanos(repaired.since(first).as_nanos() / 8));
    Span {
        from: first - rtt * 2,
        until: trace.end.min(repaired + margin),
    }
}

/// When packet `number` is cumulatively acknowledged, after `since`.
fn repaired_at(trace: &Trace, since: Instant, number: u64) -> Instant {
    let smss = u64::from(trace.sender.smss);
    let beyond = |ack: &dupack_tcp::segment::Ack| {
        let offset = ack.ack.offset(trace.sender.isn, number * smss);
        offset.is_some_and(|offset| offset > number * smss)
    };
    trace
        .acks()
        .find(|(at, ack)| *at > since && beyond(ack))
        .map_or(trace.end, |(at, _)| at)
}

/// The figure of `span`: sends, retransmissions by reason, ACKs, SACK blocks and drops above,
/// the windows below.
#[must_use]
pub fn time_sequence(trace: &Trace, span: Span, title: &str, subtitle: &str) -> TimeSequence {
    let mut figure = TimeSequence {
        title: title.to_owned(),
        subtitle: subtitle.to_owned(),
        time_range: Some((span.from.as_secs_f64(), span.until.as_secs_f64())),
        ..TimeSequence::default()
    };
    let smss = trace.segment_bytes();
    let mut una = 0;
    for event in &trace.events {
        // The windows before the span matter, as the lines begin with their last values.
        let inside = span.from <= event.at && event.at <= span.until;
        let time = event.at.as_secs_f64();
        match &event.what {
            What::State(state) => {
                figure.cwnd.push((time, state.cwnd / smss));
                figure.ssthresh.push((time, state.ssthresh / smss));
                figure.in_flight.push((time, state.in_flight as f64 / smss));
            }
            What::Sent(sent) if inside => {
                let point = (time, sent.number as f64);
                match sent.repeated {
                    Repeated::First => figure.sends.push(point),
                    Repeated::Needed | Repeated::Needless => {
                        retransmission(&mut figure, sent.why, point);
                    }
                }
            }
            What::DataDropped { number, .. } if inside => {
                figure.drops.push((time, *number as f64));
            }
            What::AckArrived(ack) => {
                let isn = trace.sender.isn;
                let Some(offset) = ack.ack.offset(isn, una) else {
                    continue;
                };
                una = una.max(offset);
                if !inside {
                    continue;
                }
                figure.acks.push((time, offset as f64 / smss));
                for block in ack.sacks.as_slice() {
                    let ends = (
                        block.start.offset(isn, offset),
                        block.end.offset(isn, offset),
                    );
                    if let (Some(first), Some(end)) = ends {
                        figure.sacks.push(SackBlock {
                            time,
                            first: first as f64 / smss,
                            end: end as f64 / smss,
                        });
                    }
                }
            }
            _ => {}
        }
    }
    figure
}

fn retransmission(figure: &mut TimeSequence, why: SendReason, point: (f64, f64)) {
    let reason = why.to_string();
    let reason = reason.strip_prefix("retransmission: ").unwrap_or(&reason);
    match figure
        .retransmissions
        .iter_mut()
        .find(|r| r.reason == reason)
    {
        Some(kind) => kind.points.push(point),
        None => figure.retransmissions.push(Retransmissions {
            reason: reason.to_owned(),
            points: vec![point],
        }),
    }
}
