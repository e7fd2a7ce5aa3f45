//! Data that an application has written but the endpoint has not received yet: small segments held back by Nagle's
//! algorithm or a cork.
//!
//! The endpoint sends its data as soon as its windows allow. A kernel's socket holds back data that does not fill a
//! segment. A cork (`TCP_CORK`, `MSG_MORE`) holds it until it fills a segment, is pushed, or a retransmission timeout
//! has passed. Nagle's algorithm (RFC 9293 §3.7.4) holds it while an earlier small segment is unacknowledged; this is
//! Minshall's variant, which Linux uses.

use dupack_tcp::connection::Connection;
use dupack_tcp::time::{Duration, Instant};

/// Maximum time that a corked segment waits before there is a round-trip sample.
const LONGEST: Duration = Duration::from_millis(200);

/// Held data and the reasons for holding it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hold {
    bytes: u64,
    /// `TCP_NODELAY`.
    pub(crate) delay: Delay,
    /// `TCP_CORK`.
    pub(crate) cork: Cork,
    /// Stream offset at which the last small segment ends.
    small_end: u64,
    /// Stream offset at which data written without `MSG_MORE` ends; PSH is set there.
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

/// State of the cork, which lets only full segments out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cork {
    In,
    #[default]
    Out,
}

impl Hold {
    /// Returns the number of held bytes.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns `true` if `end` in the stream is at the end of pushed data.
    pub(crate) const fn is_pushed(&self, end: u64) -> bool {
        end <= self.pushed_end
    }

    /// Returns the time at which held data is sent by itself.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Writes `bytes`; `cork` is the cork of this call.
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

    /// Releases data after an ACK or a changed option.
    pub(crate) fn review(&mut self, to: &mut Connection) {
        self.release(to, self.cork);
    }

    /// Releases all data once, without adding PSH.
    pub(crate) fn let_go(&mut self, to: &mut Connection) {
        self.give(to, self.bytes);
        self.small_end = to.written();
    }

    /// Releases all data.
    pub(crate) fn flush(&mut self, to: &mut Connection) {
        self.give(to, self.bytes);
        self.pushed_end = to.written();
    }

    /// Releases all data if its time has come.
    pub(crate) fn lapse(&mut self, to: &mut Connection, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.flush(to);
        }
    }

    /// Passes full segments to the endpoint, and the rest if nothing holds it.
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
        // A connection that refuses data will never send it.
        let _ = to.write(bytes);
        self.bytes -= bytes;
        if self.bytes == 0 {
            self.due = None;
        }
    }
}
