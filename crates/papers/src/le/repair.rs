//! Facts of a recorded run of figure 4: the time in which the losses of one window were repaired.

use std::collections::BTreeMap;

use dupack_tcp::segment::Ack;
use dupack_tcp::time::Instant;
use dupack_tcp::window::WindowCause;

use dupack_lab::trace::{Repeated, Trace, What};

/// First packet after the window in which packets are lost.
const WINDOW_END: u64 = 126;

/// The repair of the losses of one window. Times are in minimum round-trip times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Repair {
    /// Time from the first drop to the ACK that covers the whole window.
    pub(super) duration: f64,
    /// The same time in milliseconds.
    pub(super) duration_ms: f64,
    /// Time from the first retransmission to the last one. Of each lost packet, only the first retransmission counts.
    pub(super) resending: f64,
    /// The first timeout after the first drop.
    pub(super) timeout: Option<Timeout>,
}

/// The first timeout of a repair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timeout {
    /// Time from the first drop to the timeout.
    pub(super) after: f64,
    /// Number of lost packets that were retransmitted before the timeout.
    pub(super) resent: usize,
    /// Time from the timeout to the next ACK for new data.
    pub(super) advance: Option<f64>,
}

impl Repair {
    /// Returns the repair in `trace`, or `None` if no packet was lost or the repair was not completed.
    pub(super) fn of(trace: &Trace) -> Option<Self> {
        let mut lost: BTreeMap<u64, Option<Instant>> = BTreeMap::new();
        let mut first_drop = None;
        for event in &trace.events {
            match &event.what {
                What::DataDropped { number, .. } => {
                    first_drop = first_drop.or(Some(event.at));
                    lost.insert(*number, None);
                }
                What::Sent(sent) if sent.repeated != Repeated::First => {
                    if let Some(resent) = lost.get_mut(&sent.number) {
                        *resent = resent.or(Some(event.at));
                    }
                }
                _ => {}
            }
        }
        let first_drop = first_drop?;
        let before = trace.states().take_while(|(at, _)| *at < first_drop);
        let rtt = before.filter_map(|(_, state)| state.rtt).min()?;
        let rtts =
            |from: Instant, until: Instant| until.since(from).as_secs_f64() / rtt.as_secs_f64();
        let (complete, _) = trace
            .acks()
            .find(|(at, ack)| *at > first_drop && packet(trace, ack) >= WINDOW_END)?;
        let resent = || lost.values().flatten();
        let resending = rtts(*resent().min()?, *resent().max()?);
        let timeout = trace
            .window_changes()
            .map(|change| (change.at, change.cause))
            .find(|&(at, cause)| {
                cause == WindowCause::Timeout && first_drop <= at && at <= complete
            });
        let timeout = timeout.map(|(at, _)| Timeout {
            after: rtts(first_drop, at),
            resent: resent().filter(|&&resent| resent < at).count(),
            advance: next_advance(trace, at).map(|advance| rtts(at, advance)),
        });
        Some(Self {
            duration: rtts(first_drop, complete),
            duration_ms: complete.since(first_drop).as_secs_f64() * 1e3,
            resending,
            timeout,
        })
    }
}

/// Returns the time of the first ACK for new data after `since`.
fn next_advance(trace: &Trace, since: Instant) -> Option<Instant> {
    let mut highest = 0;
    for (at, ack) in trace.acks() {
        let next = packet(trace, ack);
        if at > since && next > highest {
            return Some(at);
        }
        highest = highest.max(next);
    }
    None
}

/// Returns the packet that an ACK expects next.
fn packet(trace: &Trace, ack: &Ack) -> u64 {
    let bytes = ack.ack.0.wrapping_sub(trace.sender.isn.0);
    u64::from(bytes / trace.sender.smss)
}
