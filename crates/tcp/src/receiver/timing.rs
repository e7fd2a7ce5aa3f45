//! Timing of ACKs that adapts to the arriving data.
//!
//! RFC 1122 §4.2.3.2 and RFC 5681 §4.2 limit the delay of an ACK, but do not recommend a delay. Linux has two methods:
//! [adaptive ACKs](adaptive) for data in order, and [compression](compression) of the ACKs that gaps cause.

mod adaptive;
mod compression;

pub use adaptive::AdaptiveAcks;
pub use compression::SackCompression;

use super::{AckPolicy, Due, Reading, Receiver, ReceiverConfig};
use crate::time::{Duration, Instant};
use adaptive::Adaptive;
use compression::Compressed;

/// Time at which an ACK is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// At once.
    Now,
    /// After this delay, or earlier.
    After(Duration),
}

/// State of a receiver with adaptive ACKs or SACK compression.
#[derive(Clone, Debug, Default)]
pub(super) struct Timing {
    adaptive: Option<Adaptive>,
    compressed: Option<Compressed>,
    /// Round-trip time, if the host has reported it.
    round_trip: Option<Duration>,
}

impl Timing {
    /// Returns the state that a receiver with this configuration needs, if any.
    pub(super) fn of(config: &ReceiverConfig) -> Option<Self> {
        let adaptive = match config.ack_policy {
            AckPolicy::Adaptive(acks) => Some(Adaptive::new(acks, config.mss, config.buffer)),
            AckPolicy::Immediate | AckPolicy::Delayed(_) => None,
        };
        let compression = config.sack_compression.filter(|_| config.sack.is_on());
        let compressed = compression.map(Compressed::new);
        (adaptive.is_some() || compressed.is_some()).then_some(Self {
            adaptive,
            compressed,
            round_trip: None,
        })
    }

    /// Called when an ACK was sent. `wanted` is `true` if an ACK was due or delayed.
    pub(super) fn acked(&mut self, wanted: bool) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.acked(wanted);
        }
        if let Some(compressed) = &mut self.compressed {
            compressed.held = 0;
        }
    }

    /// Called when the delayed ACK becomes due.
    fn expired(&mut self) {
        let held = self.compressed.as_ref().is_some_and(|c| c.held > 0);
        if let Some(adaptive) = &mut self.adaptive
            && !held
        {
            adaptive.expired();
        }
    }

    /// Returns the time of the ACK for a segment that leaves a gap at `next`.
    fn beyond(&mut self, next: u64) -> Answer {
        if self.adaptive.as_ref().is_some_and(Adaptive::is_quick) {
            return Answer::Now;
        }
        let round_trip = self.round_trip;
        let compressed = self.compressed.as_mut();
        compressed.map_or(Answer::Now, |held| held.answer(next, round_trip))
    }
}

impl Receiver {
    /// With [`AckPolicy::Adaptive`], schedules the ACK for `len` bytes that arrived in order. `filled` is `true` if the
    /// bytes filled a gap completely or in part.
    #[inline(never)]
    pub(super) fn answer_in_order(&mut self, now: Instant, len: u64, filled: bool) {
        let window = self.edge - self.last_ack;
        let (gap, unread) = (!self.out_of_order.is_empty(), self.next - self.read);
        let Some(extras) = &mut self.extras else {
            return;
        };
        let timing = &mut extras.timing;
        let round_trip = timing.round_trip;
        let Some(adaptive) = &mut timing.adaptive else {
            return;
        };
        // The cast does not truncate, because a segment is shorter than 4 GiB.
        adaptive.data_came(now, len as u32, self.config.mss, window);
        let mut answer = adaptive.answer(self.unacked, round_trip);
        if filled && !gap {
            // RFC 5681 §4.2: a segment that fills a gap is acknowledged at once.
            answer = Answer::Now;
        } else if gap && answer != Answer::Now {
            answer = timing.beyond(self.next);
        } else if self.config.application == Reading::AtOnce
            && adaptive.is_due_after_read(self.unacked, unread)
        {
            answer = Answer::Now;
        }
        self.answer(now, answer);
    }

    /// Schedules the ACK for a segment that arrived beyond a gap.
    pub(super) fn answer_beyond_gap(&mut self, now: Instant) {
        match &mut self.extras {
            None => self.due = Due::Yes,
            Some(extras) => {
                let answer = extras.timing.beyond(self.next);
                self.answer(now, answer);
            }
        }
    }

    fn answer(&mut self, now: Instant, answer: Answer) {
        match answer {
            Answer::Now => self.due = Due::Yes,
            Answer::After(delay) => {
                let at = now + delay;
                self.delayed_until = Some(self.delayed_until.map_or(at, |until| until.min(at)));
            }
        }
    }

    /// Makes an ACK due if the application has read `taken` bytes and the adaptive policy acknowledges reads.
    pub(super) fn acknowledge_read(&mut self, taken: u64) {
        if let Some(extras) = &self.extras
            && let Some(adaptive) = &extras.timing.adaptive
            && taken > 0
            && adaptive.is_due_after_read(self.unacked, self.next - self.read)
        {
            self.due = Due::Yes;
        }
    }

    /// Stops delaying ACKs for some segments (at most `most`, if given), because the peer probably needs ACKs.
    pub(super) fn hurry(&mut self, most: Option<u32>) {
        let window = self.edge - self.last_ack;
        if let Some(extras) = &mut self.extras
            && let Some(adaptive) = &mut extras.timing.adaptive
        {
            adaptive.hurry_up(window, most);
        }
    }

    /// Makes the delayed ACK due if its delay has ended at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.delayed_until.is_some_and(|at| at <= now) {
            if let Some(extras) = &mut self.extras {
                extras.timing.expired();
            }
            self.due = Due::Yes;
        }
    }

    /// Latest time for the next call of [`handle_timeout`](Self::handle_timeout), if a call is needed.
    #[must_use]
    pub const fn next_timeout(&self) -> Option<Instant> {
        self.delayed_until
    }

    /// Returns `true` if the host should report round-trip times ([`tell_round_trip`](Self::tell_round_trip)).
    #[inline]
    #[must_use]
    pub const fn wants_round_trip(&self) -> bool {
        self.extras.is_some()
    }

    /// Sets this end's estimates: the smoothed round-trip time, if there was a sample, and the retransmission timeout.
    /// [`AckPolicy::Adaptive`] and [`SackCompression`] use these values for the data that arrives next. Without a
    /// round-trip time, they use their maximum delays; the timeout is 1 s by default.
    pub fn tell_round_trip(&mut self, smoothed: Option<Duration>, rto: Duration) {
        if let Some(extras) = &mut self.extras {
            extras.timing.round_trip = smoothed;
            if let Some(adaptive) = &mut extras.timing.adaptive {
                adaptive.rto = rto;
            }
        }
    }

    /// Called when this end has sent data. If the data was sent soon after data had arrived, ACKs are piggybacked on
    /// data from now on ([`AckPolicy::Adaptive`]).
    #[inline]
    pub fn note_data_sent(&mut self, now: Instant) {
        if let Some(extras) = &mut self.extras
            && let Some(adaptive) = &mut extras.timing.adaptive
        {
            adaptive.data_left(now);
        }
    }

    /// Announces that the next segment ends the peer's stream after `len` bytes. With [`AckPolicy::Adaptive`], the ACK
    /// of this segment may be delayed, because the application will probably close its own stream soon. Returns `true`
    /// if the ACK may be delayed.
    pub fn note_end(&mut self, len: u32) -> bool {
        let adaptive = self
            .extras
            .as_mut()
            .and_then(|e| e.timing.adaptive.as_mut());
        adaptive.map(|adaptive| adaptive.ends(len)).is_some()
    }
}

#[cfg(test)]
mod tests;
