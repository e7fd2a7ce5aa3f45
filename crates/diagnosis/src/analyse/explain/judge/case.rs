//! Input and output of the judge of a retransmission.

use dupack_tcp::scoreboard::Reported;
use dupack_tcp::time::{Duration, Instant};

use crate::analyse::cause::Cause;
use crate::analyse::explain::clock::{Distance, RTO_MIN, Timing};
use crate::analyse::explain::ledger::Certainty;

/// Number of duplicate ACKs, or of segments sacked beyond a hole, that indicate a loss (RFC 5681 §3.2, RFC 6675).
pub(in crate::analyse::explain) const DUP_THRESHOLD: u64 = 3;

/// Inverse of the fraction of the minimum round-trip time that separates RACK's timer from a timeout: twice RACK's
/// initial quarter (RFC 8985 §6.2).
pub(super) const REORDERING_WINDOW_DIVISOR: u64 = 2;

/// Maximum lateness of Linux's timers: two ticks of at most 4 ms at 250 Hz, and processing time.
pub(super) const TIMER_SLACK: Duration = Duration::from_millis(10);

/// Retransmitted segment and its context.
#[derive(Clone, Copy, Debug)]
pub(in crate::analyse::explain) struct Case {
    pub start: u64,
    pub end: u64,
    /// First byte that is not acknowledged.
    pub una: u64,
    /// End of the data that was sent before.
    pub nxt: u64,
    /// Time of the segment's last retransmission; `None` if there was none. Away from the sender, it is the time at
    /// which the retransmission must have been sent.
    pub repaired_at: Option<Instant>,
    /// `true` if this last retransmission is in the capture.
    pub repair_seen: bool,
    /// `true` if this last retransmission is in the capture and was sent since the last advance of the cumulative ACK.
    pub repaired_here: bool,
    /// Number of consecutive duplicate ACKs.
    pub dup_acks: u32,
    /// Number of sacked segments.
    pub sacked: u64,
    /// SACK state of the segment itself.
    pub itself: Reported,
    /// Byte after the highest one known to have arrived.
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

    /// `true` if ACKs report that data is missing at the segment.
    pub(in crate::analyse::explain) const fn has_evidence(&self) -> bool {
        self.forward_ack > self.end || (self.is_head() && (self.dup_acks > 0 || self.sacked > 0))
    }

    pub(in crate::analyse::explain) const fn is_prompt(&self) -> bool {
        self.timing.answers.is_some()
    }

    /// `true` if the retransmission timer may have expired.
    pub(in crate::analyse::explain) fn timer_was_due(&self) -> bool {
        self.timing.since_base >= self.timing.rtt.rto_least
    }

    /// `true` if no packet arrived before the retransmission for longer than RACK's initial timer.
    pub(in crate::analyse::explain) fn follows_silence(&self) -> bool {
        let reordering = self.timing.rtt.least / REORDERING_WINDOW_DIVISOR;
        !self.is_prompt() && self.timing.silence > reordering + TIMER_SLACK
    }

    /// `true` if the time without packets excludes all causes except the retransmission timer. RACK never waits for
    /// longer than a smoothed round trip (RFC 8985 §6.2).
    pub(in crate::analyse::explain) fn follows_long_silence(&self) -> bool {
        !self.is_prompt() && self.timing.silence > self.timing.rtt.smoothed + TIMER_SLACK
    }

    /// `true` if the timer caused the retransmission of a segment that had not been retransmitted before.
    pub(in crate::analyse::explain) fn is_by_timer(&self) -> bool {
        self.follows_long_silence() || (self.timer_was_due() && self.follows_silence())
    }

    /// `true` if the timer may have caused the retransmission, because no ACK arrived at the same moment. Away from the
    /// sender, an ACK nearly always arrives at about the same moment. Therefore, only an earlier retransmission of the
    /// segment makes a timeout possible.
    pub(in crate::analyse::explain) fn may_be_by_timer(&self) -> bool {
        let nothing_came = match self.timing.distance {
            Distance::Here => !self.is_prompt(),
            Distance::Away => self.repaired_at.is_some(),
        };
        nothing_came && self.timer_may_be_due()
    }

    /// `true` if the cause is in doubt, so that later events decide.
    pub(in crate::analyse::explain) fn is_doubtful(&self) -> bool {
        self.may_be_by_timer() || (self.repair_seen && self.timer_may_be_due())
    }

    /// `true` if the timer may have expired even if our estimate of the timeout has not passed. The sender's timeout
    /// may be shorter than the estimate, because the sender takes fewer samples while a queue grows.
    fn timer_may_be_due(&self) -> bool {
        self.timing.since_base >= self.timing.rtt.least.max(RTO_MIN)
    }
}

/// Result of a judgement.
#[derive(Clone, Copy, Debug)]
pub(in crate::analyse::explain) struct Attribution {
    pub cause: Cause,
    pub certainty: Certainty,
    /// Position among consecutive expiries of the previous retransmission in doubt; `None` if it was not a timeout.
    pub timeout_before: Option<u32>,
    /// Number of another retransmission that was a timeout, and its position among consecutive expiries.
    pub timeout_of: Option<(u64, u32)>,
    /// `true` if this retransmission may turn out to have been a timeout.
    pub doubtful: bool,
    /// Conclusion about an earlier retransmission that was either a timeout or a probe.
    pub earlier: Option<Earlier>,
}

impl Attribution {
    /// Creates a settled verdict.
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

/// Conclusion from a later retransmission about earlier ones that were either timeouts or probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analyse::explain) enum Earlier {
    /// The sender uses tail loss probes.
    WereProbes,
    /// The sender does not use tail loss probes.
    WereTimeouts,
}

/// Relevant facts of an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analyse::explain) struct News {
    /// `true` if the cumulative ACK advances.
    pub advanced: bool,
    /// `true` if the ACK gives a round-trip sample.
    pub sampled: bool,
    /// `true` if the ACK reports data that was sent before the last expiry and not retransmitted.
    pub late: bool,
    /// `true` if the ACK reports retransmitted data and echoes the timestamp of a transmission before the last expiry.
    pub late_by_timestamp: bool,
    /// Range of bytes that had arrived before their retransmission; `None` if there is none.
    pub needless: Option<(u64, u64)>,
}
