//! When the losses that a figure shows begin, and when they are repaired.

use dupack_tcp::segment::Ack;
use dupack_tcp::time::{Duration, Instant};

use dupack_lab::trace::{Event, Flow, What};

use super::Span;

/// The round-trip time of a run without an estimate.
const RTT_IF_UNKNOWN: Duration = Duration::from_millis(100);

/// Round trips shown before the first loss.
const ROUND_TRIPS_BEFORE: u64 = 2;

/// Round trips shown at least after the repair.
const ROUND_TRIPS_AFTER: u64 = 3;

/// Round trips shown of a run without a loss.
const ROUND_TRIPS_CALM: u64 = 20;

/// Follows the first loss, and those that follow it before it is repaired.
#[derive(Debug)]
pub(super) struct Repair {
    flow: Flow,
    rtt: Duration,
    losses: Option<Losses>,
}

#[derive(Clone, Copy, Debug)]
struct Losses {
    first: Instant,
    last: Instant,
    /// The highest number of a packet lost.
    highest: u64,
    /// When all of them were acknowledged.
    repaired: Option<Instant>,
}

impl Repair {
    pub fn new(flow: &Flow, srtt: Option<Duration>) -> Self {
        Self {
            flow: *flow,
            rtt: srtt.unwrap_or(RTT_IF_UNKNOWN),
            losses: None,
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        let at = event.at;
        match (&event.what, &mut self.losses) {
            (&What::DataDropped { number, .. }, None) => {
                self.losses = Some(Losses {
                    first: at,
                    last: at,
                    highest: number,
                    repaired: None,
                });
            }
            // Losses before the repair is over belong to it.
            (&What::DataDropped { number, .. }, Some(losses))
                if losses.repaired.is_none_or(|repaired| at <= repaired) =>
            {
                losses.last = at;
                losses.highest = losses.highest.max(number);
                losses.repaired = None;
            }
            (What::AckArrived(ack), Some(losses))
                if losses.repaired.is_none()
                    && at > losses.last
                    && is_beyond(ack, losses.highest, &self.flow) =>
            {
                losses.repaired = Some(at);
            }
            _ => {}
        }
    }

    /// Where the figure would begin if the first loss were now.
    pub fn start_if_lost(&self, now: Instant) -> Instant {
        now - self.rtt * ROUND_TRIPS_BEFORE
    }

    /// Where the figure begins, once something is lost.
    pub fn from(&self) -> Option<Instant> {
        self.losses.map(|losses| self.start_if_lost(losses.first))
    }

    /// Where the figure ends, once the losses are repaired and, `now`, no more can belong to them.
    pub fn until(&self, now: Instant) -> Option<Instant> {
        let losses = self.losses?;
        let repaired = losses.repaired.filter(|&repaired| now > repaired)?;
        Some(self.end_of(losses, repaired))
    }

    fn end_of(&self, losses: Losses, repaired: Instant) -> Instant {
        let least = self.rtt * ROUND_TRIPS_AFTER;
        let part = Duration::from_nanos(repaired.since(losses.first).as_nanos() / 8);
        repaired + least.max(part)
    }

    /// What is shown of a run without a loss.
    pub fn calm(&self) -> Span {
        Span {
            from: Instant::ZERO,
            until: Instant::ZERO + self.rtt * ROUND_TRIPS_CALM,
        }
    }

    /// From just before the first loss until the last of the losses that followed each other is
    /// repaired, and a little more; the beginning of the run if nothing was lost.
    pub fn span(&self, end: Instant) -> Span {
        let span = self.losses.map_or(self.calm(), |losses| Span {
            from: self.start_if_lost(losses.first),
            until: self.end_of(losses, losses.repaired.unwrap_or(end)),
        });
        Span {
            until: end.min(span.until),
            ..span
        }
    }
}

/// Whether the ACK covers packet `number`.
fn is_beyond(ack: &Ack, number: u64, flow: &Flow) -> bool {
    let start = number * u64::from(flow.sender.smss);
    let offset = ack.ack.offset(flow.sender.isn, start);
    offset.is_some_and(|offset| offset > start)
}
