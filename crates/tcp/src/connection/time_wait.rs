//! What is left of a connection in TIME-WAIT: enough to answer its peer, and to tell a new
//! connection between the same ends from a stray of the old one (RFC 9293 §3.6.1, RFC 6191).
//!
//! A connection in TIME-WAIT answers for itself. A host that has handed over all its bytes takes
//! [`Connection::time_wait`] in its place, which is little enough to keep thousands of.

use crate::options::Timestamping;
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};

use super::challenge::Limiter;
use super::clock::{Carries, Clock, Place};
use super::header::{Flags, Segment};
use super::{Connection, Due, State};

/// By how much a new connection's numbers begin beyond the last of the old one, at least: more
/// than a window that is not scaled, so that nothing that is left of the old lies in it.
const DISTANCE: u64 = 1 + (1 << 16);

/// A connection in TIME-WAIT, and nothing more than that.
#[derive(Clone, Copy, Debug)]
pub struct TimeWait {
    /// SND.NXT.
    sequence: SeqNumber,
    /// RCV.NXT.
    expected: SeqNumber,
    /// The window field of its ACKs.
    window: u16,
    clock: Option<Clock>,
    limiter: Limiter,
    /// Twice the maximum segment lifetime.
    lifetime: Duration,
    until: Instant,
}

impl Connection {
    /// What is left of the connection, if it is in TIME-WAIT and has said all that it has to. The
    /// connection may then be forgotten, as far as the peer is concerned.
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
    /// When it is over.
    #[must_use]
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Takes in a segment that came from the peer, and returns the answer that it gets. A SYN is
    /// first put to [`admits`](Self::admits).
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) -> Option<Segment> {
        // RFC 1337: a RST does not cut it short.
        if segment.is(Flags::RST) {
            return None;
        }
        if !segment.is(Flags::SYN) {
            // Without timestamps after they were agreed on: dropped (RFC 7323 §3.2).
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

    /// Whether this is the peer's FIN again, which starts the time anew (RFC 9293 §3.10.7.4,
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

    /// Whether `syn` may open a new connection between the same ends (RFC 6191 §2), if timestamps
    /// are what this end would make of an offer of them. One that may not is a segment like any
    /// other.
    #[must_use]
    pub fn admits(&self, syn: &Segment, stamping: Timestamping) -> bool {
        // The last number that the peer used is that of its FIN.
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

    /// The initial sequence number of a new connection for which the host has chosen `iss`: that,
    /// or one that is larger than all of the old one (RFC 9293 §3.6.1).
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
    fn thousands_of_them_are_little() {
        assert!(size_of::<TimeWait>() <= 128, "{}", size_of::<TimeWait>());
    }
}
