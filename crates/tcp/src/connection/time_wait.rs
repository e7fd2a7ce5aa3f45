//! Compact state of a connection in TIME-WAIT. It suffices to respond to the peer, and to distinguish a new connection
//! between the same ends from old duplicates (RFC 9293 §3.6.1, RFC 6191).
//!
//! A [`Connection`] in TIME-WAIT can also respond itself. Once a host has passed all bytes to the application, it can
//! replace the connection by [`Connection::time_wait`], which is small enough to store thousands of them.

use crate::options::Timestamping;
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};

use super::challenge::Limiter;
use super::clock::{Carries, Clock, Place};
use super::header::{Flags, Segment};
use super::{Connection, Due, State};

/// Minimum distance from the last sequence number of the old connection to the first of a new connection. It is larger
/// than an unscaled window, so that no old segment lies in the new window.
const DISTANCE: u64 = 1 + (1 << 16);

/// Compact state of a connection in TIME-WAIT.
#[derive(Clone, Copy, Debug)]
pub struct TimeWait {
    /// SND.NXT.
    sequence: SeqNumber,
    /// RCV.NXT.
    expected: SeqNumber,
    /// Window field of the ACKs.
    window: u16,
    clock: Option<Clock>,
    limiter: Limiter,
    /// Duration of TIME-WAIT: twice the maximum segment lifetime.
    lifetime: Duration,
    until: Instant,
}

impl Connection {
    /// Returns the compact state if the connection is in TIME-WAIT and has no segment to send. It can then replace the
    /// connection in the exchange with the peer.
    #[must_use]
    pub fn time_wait(&self) -> Option<TimeWait> {
        let engine = self.engine.as_ref()?;
        let receiver = &engine.receiver;
        let speaks = self.reply.is_some()
            || engine.ack == Due::Yes
            || engine.stashed.is_some()
            || receiver.is_ack_due();
        if self.state != State::TimeWait || speaks {
            return None;
        }
        let window = receiver.advertised_edge() - receiver.in_order_bytes();
        Some(TimeWait {
            sequence: engine.sequence(),
            expected: engine.expected(),
            window: u16::try_from(window >> engine.negotiated.shifts.ours).unwrap_or(u16::MAX),
            clock: self.clock,
            limiter: self.limiter,
            lifetime: self.config.msl * 2,
            until: self.time_wait_until?,
        })
    }
}

impl TimeWait {
    /// Time at which TIME-WAIT ends.
    #[must_use]
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Processes a segment from the peer, and returns the response, if any. Pass a SYN to [`admits`](Self::admits)
    /// first.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) -> Option<Segment> {
        // RFC 1337: a RST does not end TIME-WAIT.
        if segment.is(Flags::RST) {
            return None;
        }
        if !segment.is(Flags::SYN) {
            // A segment without timestamps is dropped if timestamps were agreed on (RFC 7323 §3.2).
            if self.clock.is_some() && segment.options.timestamps.is_none() {
                return None;
            }
            if self.repeats_fin(now, segment) {
                self.until = now + self.lifetime;
            } else if segment.sequence_len() == 0 && segment.seq == self.expected {
                return None;
            }
        }
        self.limiter.admits(now).then(|| self.ack(now))
    }

    /// Returns `true` if this is a retransmission of the peer's FIN, which restarts TIME-WAIT (RFC 9293 §3.10.7.4,
    /// eighth).
    fn repeats_fin(&mut self, now: Instant, segment: &Segment) -> bool {
        let end = segment.seq.at(u64::from(segment.sequence_len()));
        if !segment.is(Flags::FIN) || segment.ack.is_none() || end != self.expected {
            return false;
        }
        let (Some(clock), Some(stamps)) = (&mut self.clock, segment.options.timestamps) else {
            return true;
        };
        if clock.is_stale(now, stamps.value) {
            return false;
        }
        clock.note(now, stamps.value, Place::AtOrBeforeLastAck, Carries::Data);
        true
    }

    fn ack(&mut self, now: Instant) -> Segment {
        let mut ack = Segment::new(self.sequence);
        ack.ack = Some(self.expected);
        ack.window = self.window;
        ack.options.timestamps = self.clock.as_mut().map(|clock| clock.stamp(now, None));
        ack
    }

    /// Returns `true` if `syn` may open a new connection between the same ends (RFC 6191 §2). `stamping` is this end's
    /// response to an offer of timestamps. If the result is `false`, treat the SYN like any other segment.
    #[must_use]
    pub fn admits(&self, syn: &Segment, stamping: Timestamping) -> bool {
        // `expected` follows the peer's last sequence number, which is that of its FIN.
        let later = syn.seq.0.wrapping_sub(self.expected.0) as i32 >= 0;
        let stamps = syn.options.timestamps.filter(|_| stamping.is_on());
        match (&self.clock, stamps) {
            (Some(clock), Some(stamps)) => match clock.ahead(stamps.value) {
                0 => later,
                ahead => ahead > 0,
            },
            (None, Some(_)) => true,
            (_, None) => later,
        }
    }

    /// Returns the initial sequence number of a new connection for which the host has chosen `iss`: either `iss`, or a
    /// number larger than all numbers of the old connection (RFC 9293 §3.6.1).
    #[must_use]
    pub fn iss_after(&self, iss: SeqNumber) -> SeqNumber {
        let next = self.sequence.at(DISTANCE);
        if iss.0.wrapping_sub(next.0) as i32 >= 0 {
            iss
        } else {
            next
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_in_time_wait_is_small() {
        assert!(size_of::<TimeWait>() <= 128, "{}", size_of::<TimeWait>());
    }
}
