//! A segment that is sent again, and what is made of it.

use dupack_tcp::scoreboard::Reported;
use dupack_tcp::time::{Duration, Instant};

use crate::analyse::cause::Cause;
use crate::analyse::explain::clock::{Distance, RTO_MIN, Timing};
use crate::analyse::explain::ledger::Certainty;

/// Segments sacked beyond a hole, or duplicate ACKs, that make it a loss (RFC 5681 §3.2, RFC 6675).
pub(in crate::analyse::explain) const DUP_THRESHOLD: u64 = 3;

/// RACK's timer expires this share of a least round trip after the ACK at first (RFC 8985 §6.2: a
/// quarter). Twice that tells it from a timeout.
pub(super) const REORDERING_WINDOW_DIVISOR: u64 = 2;

/// By how much timers of Linux are late: two ticks of at most 4 ms at 250 Hz, and what it takes to
/// get there.
pub(super) const TIMER_SLACK: Duration = Duration::from_millis(10);

/// A segment that is sent again.
#[derive(Clone, Copy, Debug)]
pub(in crate::analyse::explain) struct Case {
    pub start: u64,
    pub end: u64,
    /// The first byte that is not acknowledged.
    pub una: u64,
    /// The end of what had been sent before.
    pub nxt: u64,
    /// When it was last sent again, if it was; away from the sender, when it must have been.
    pub repaired_at: Option<Instant>,
    /// Whether that is to be seen in the capture.
    pub repair_seen: bool,
    /// Whether that was since the cumulative ACK is where it is, and is to be seen in the capture.
    pub repaired_here: bool,
    /// Duplicate ACKs in a row.
    pub dup_acks: u32,
    /// Segments sacked.
    pub sacked: u64,
    /// Whether it is sacked itself.
    pub itself: Reported,
    /// The byte after the highest that is known to have arrived.
    pub forward_ack: u64,
    pub timing: Timing,
}

impl Case {
    pub(in crate::analyse::explain) const fn is_head(&self) -> bool {
        self.start <= self.una
    }

    pub(in crate::analyse::explain) const fn is_tail(&self) -> bool {
        self.end >= self.nxt
    }

    /// Whether ACKs say that something is missing here.
    pub(in crate::analyse::explain) const fn has_evidence(&self) -> bool {
        self.forward_ack > self.end || (self.is_head() && (self.dup_acks > 0 || self.sacked > 0))
    }

    pub(in crate::analyse::explain) const fn is_prompt(&self) -> bool {
        self.timing.answers.is_some()
    }

    /// Whether the retransmission timer can have expired.
    pub(in crate::analyse::explain) fn timer_was_due(&self) -> bool {
        self.timing.since_base >= self.timing.rtt.rto_least
    }

    /// Whether nothing came just before, for longer than RACK's timer waits at first.
    pub(in crate::analyse::explain) fn follows_silence(&self) -> bool {
        let reordering = self.timing.rtt.least / REORDERING_WINDOW_DIVISOR;
        !self.is_prompt() && self.timing.silence > reordering + TIMER_SLACK
    }

    /// Whether nothing came for so long that only the retransmission timer is left: RACK never waits
    /// longer than a smoothed round trip (RFC 8985 §6.2).
    pub(in crate::analyse::explain) fn follows_long_silence(&self) -> bool {
        !self.is_prompt() && self.timing.silence > self.timing.rtt.smoothed + TIMER_SLACK
    }

    /// Whether it was the timer, of a segment that was not repaired yet.
    pub(in crate::analyse::explain) fn is_by_timer(&self) -> bool {
        self.follows_long_silence() || (self.timer_was_due() && self.follows_silence())
    }

    /// Whether it may have been the timer, as nothing came at the same moment. Away from the sender
    /// something always does, so that only what had been repaired before may be by it.
    pub(in crate::analyse::explain) fn may_be_by_timer(&self) -> bool {
        let nothing_came = match self.timing.distance {
            Distance::Here => !self.is_prompt(),
            Distance::Away => self.repaired_at.is_some(),
        };
        nothing_came && self.timer_may_be_due()
    }

    /// Whether it is in doubt: what follows will tell.
    pub(in crate::analyse::explain) fn is_doubtful(&self) -> bool {
        self.may_be_by_timer() || (self.repair_seen && self.timer_may_be_due())
    }

    /// Whether the timer can have expired, if the sender's timeout is less than ours: it samples fewer
    /// segments, and a queue grows.
    fn timer_may_be_due(&self) -> bool {
        self.timing.since_base >= self.timing.rtt.least.max(RTO_MIN)
    }
}

/// What was found.
#[derive(Clone, Copy, Debug)]
pub(in crate::analyse::explain) struct Verdict {
    pub cause: Cause,
    pub certainty: Certainty,
    /// The retransmission in doubt before this one was a timeout, and which in a row.
    pub timeout_before: Option<u32>,
    /// So was the retransmission of this number, and which in a row.
    pub timeout_of: Option<(u64, u32)>,
    /// This one may turn out to have been a timeout.
    pub doubtful: bool,
    /// What is learned of the one that may have been a timeout or a probe before.
    pub earlier: Option<Earlier>,
}

impl Verdict {
    /// One that stands.
    pub const fn of(cause: Cause) -> Self {
        Self {
            cause,
            certainty: Certainty::Settled,
            timeout_before: None,
            timeout_of: None,
            doubtful: false,
            earlier: None,
        }
    }
}

/// What a later retransmission tells of earlier ones that may have been timeouts or probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analyse::explain) enum Earlier {
    /// This sender probes.
    WereProbes,
    /// It does not.
    WereTimeouts,
}

/// What an ACK says, as far as it matters here.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analyse::explain) struct News {
    /// It advances the cumulative ACK.
    pub advanced: bool,
    /// It gives a round-trip sample.
    pub sampled: bool,
    /// It reports something that was sent before the last expiry, and not again.
    pub late: bool,
    /// It echoes the timestamp of something sent before the last expiry, though that is repaired.
    pub late_by_timestamp: bool,
    /// Offsets of bytes that had arrived before they were sent again.
    pub needless: Option<(u64, u64)>,
}
