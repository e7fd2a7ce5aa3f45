//! What an application has written and the endpoint has not been given yet: small segments that Nagle's algorithm or a
//! cork holds back.
//!
//! The endpoint sends what it is given as soon as its windows allow. A kernel's socket holds back what does not fill a
//! segment: corked (`TCP_CORK`, `MSG_MORE`) until it does, until it is pushed, or until a retransmission timeout has
//! passed; by Nagle's algorithm (RFC 9293 §3.7.4) as long as an earlier small segment is not acknowledged, which is
//! Minshall's form of it and Linux's.

use dupack_tcp::connection::Connection;
use dupack_tcp::time::{Duration, Instant};

/// The longest that a corked segment waits before there is a round-trip sample.
const LONGEST: Duration = Duration::from_millis(200);

/// What is held back, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hold {
    bytes: u64,
    /// `TCP_NODELAY`.
    pub(crate) delay: Delay,
    /// `TCP_CORK`.
    pub(crate) cork: Cork,
    /// Where the last small segment ends in the stream.
    small_end: u64,
    /// Where data that was written without `MSG_MORE` ends: PSH is set there.
    pushed_end: u64,
    /// When a corked segment goes out whatever the cork says.
    due: Option<Instant>,
}

/// Whether Nagle's algorithm is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delay {
    #[default]
    Nagle,
    Off,
}

/// Whether only full segments go out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cork {
    In,
    #[default]
    Out,
}

impl Hold {
    /// Bytes that the endpoint has not been given.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a segment that ends here in the stream ends what an application has pushed.
    pub(crate) const fn is_pushed(&self, end: u64) -> bool {
        end <= self.pushed_end
    }

    /// When something goes out by itself.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The application writes `bytes`; `cork` is that of this call.
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

    /// Something was acknowledged, or an option has changed.
    pub(crate) fn review(&mut self, to: &mut Connection) {
        self.release(to, self.cork);
    }

    /// Lets everything go once, whatever holds it, without PSH where there was none.
    pub(crate) fn let_go(&mut self, to: &mut Connection) {
        self.give(to, self.bytes);
        self.small_end = to.written();
    }

    /// Lets everything go, whatever holds it.
    pub(crate) fn flush(&mut self, to: &mut Connection) {
        self.give(to, self.bytes);
        self.pushed_end = to.written();
    }

    /// Lets everything go if its time has come.
    pub(crate) fn lapse(&mut self, to: &mut Connection, now: Instant) {
        if self.due.is_some_and(|due| due <= now) {
            self.flush(to);
        }
    }

    /// Gives the endpoint full segments, and the rest if nothing holds it.
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
        // A connection that takes no more will never send it.
        let _ = to.write(bytes);
        self.bytes -= bytes;
        if self.bytes == 0 {
            self.due = None;
        }
    }
}
