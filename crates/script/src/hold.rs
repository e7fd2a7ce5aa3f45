//! Data that an application has written but that has not been passed to the endpoint yet: small segments that Nagle's
//! algorithm or a cork holds back.
//!
//! The endpoint sends its data as soon as its windows allow this. A kernel's socket holds back data that does not fill
//! a segment. A cork (`TCP_CORK`, `MSG_MORE`) holds the data until it fills a segment, is pushed, or a retransmission
//! timeout has passed. Nagle's algorithm (RFC 9293 §3.7.4) holds the data while an earlier small segment is
//! unacknowledged; this is Minshall's variant, which Linux uses.

use dupack_tcp::connection::Connection;
use dupack_tcp::time::{Duration, Instant};

/// Maximum time that a corked segment waits before there is a round-trip sample.
const LONGEST: Duration = Duration::from_millis(200);

/// Data that is held back, and the reasons for this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hold {
    bytes: u64,
    /// State of `TCP_NODELAY`.
    pub(crate) delay: Delay,
    /// State of `TCP_CORK`.
    pub(crate) cork: Cork,
    /// Stream offset at which the last small segment ends.
    small_end: u64,
    /// Stream offset at which data written without `MSG_MORE` ends. PSH is set there.
    pushed_end: u64,
    /// Time at which a corked segment is sent regardless of the cork.
    due: Option<Instant>,
}

/// State of Nagle's algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delay {
    #[default]
    Nagle,
    Off,
}

/// State of the cork. If it is in, only full segments are passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cork {
    In,
    #[default]
    Out,
}

impl Hold {
    /// Returns the number of bytes held back.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns `true` if `end` is not beyond the end of pushed data.
    pub(crate) const fn is_pushed(&self, end: u64) -> bool {
        end <= self.pushed_end
    }

    /// Returns the time at which held data is sent regardless of the cork.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Writes `bytes`. `cork` is the cork of this call only.
    pub(crate) fn write(&mut self, to: &mut Connection, bytes: u64, cork: Cork, now: Instant) {
        self.bytes = self.bytes.saturating_add(bytes);
        if cork == Cork::Out {
            self.pushed_end = to.written().saturating_add(self.bytes);
        }
        let corked = cork == Cork::In || self.cork == Cork::In;
        self.release(to, if corked { Cork::In } else { Cork::Out });
        if self.bytes == 0 {
            self.due = None;
        } else if corked && self.due.is_none() {
            let wait = to.sender().map_or(LONGEST, |sender| sender.rtt().rto());
            self.due = Some(now + wait);
        }
    }

    /// Passes data on after an ACK or a changed option.
    pub(crate) fn review(&mut self, to: &mut Connection) {
        self.release(to, self.cork);
    }

    /// Passes all data on once, without setting PSH.
    pub(crate) fn let_go(&mut self, to: &mut Connection) {
        self.give(to, self.bytes);
        self.small_end = to.written();
    }

    /// Passes all data on.
    pub(crate) fn flush(&mut self, to: &mut Connection) {
        self.give(to, self.bytes);
        self.pushed_end = to.written();
    }

    /// Passes all data on if the maximum waiting time of a corked segment has passed.
    pub(crate) fn lapse(&mut self, to: &mut Connection, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.flush(to);
        }
    }

    /// Passes full segments on to the endpoint, and also the remaining data if nothing holds it back.
    fn release(&mut self, to: &mut Connection, cork: Cork) {
        if self.bytes == 0 {
            return;
        }
        let Some(sender) = to.sender() else {
            return;
        };
        let smss = u64::from(sender.config().smss).max(1);
        let waiting = to.written().saturating_sub(sender.scoreboard().nxt());
        let rest = waiting.saturating_add(self.bytes) % smss;
        let small_is_out = self.delay == Delay::Nagle && to.acknowledged() < self.small_end;
        let full = self.bytes.saturating_sub(rest);
        self.give(to, full);
        if self.bytes > 0 && cork == Cork::Out && !small_is_out {
            self.give(to, self.bytes);
            self.small_end = to.written();
        }
    }

    fn give(&mut self, to: &mut Connection, bytes: u64) {
        // If the connection refuses the data, it will never send it, so the error is ignored.
        let _ = to.write(bytes);
        self.bytes -= bytes;
        if self.bytes == 0 {
            self.due = None;
        }
    }
}
