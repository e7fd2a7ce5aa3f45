//! Cause of each retransmission.
//!
//! A retransmission has one of two origins: an ACK or the expiry of a timer. ACKs leave evidence: duplicates, SACK
//! blocks after the segment, or a partial ACK in a recovery. Without evidence, the origin is a timer. With evidence,
//! time decides: the response to an ACK follows at once (or, with pacing, within the regular sequence of segments), and
//! an expiry follows after the timeout.
//!
//! ```text
//! no evidence   the last segment of several, after a time       tail loss probe
//!               without packets
//!               the only segment                                probe or timeout: later events decide
//!               else the first segment                          timeout
//! evidence      not the first outstanding segment               recovery
//!               first segment, not yet retransmitted            recovery; timeout if the timer was due and
//!                                                               no packet arrived just before
//!               first segment, retransmitted before             detected as lost again, or timeout: timeout if
//!                                                               no ACK can have reported it (less than the
//!                                                               minimum round trip ago), or if the timer was
//!                                                               due and an ACK would have reported it before
//! after a timeout, data outstanding at that time                after the timeout
//! ```

mod case;
mod doubt;
mod singles;
mod timers;
mod waits;

use dupack_tcp::options::Sack;
use dupack_tcp::time::{Duration, Instant};

use self::case::TIMER_SLACK;
pub(super) use self::case::{Attribution, Case, DUP_THRESHOLD, Earlier, News};
use self::doubt::Doubt;
use self::singles::Singles;
use self::timers::{PROBE_AFTER, Probe};
use self::waits::Wait;
use super::clock::{Distance, Known, Timing};
use crate::analyse::cause::Cause;
use crate::read::moment::Stage;

/// Time within which later segments reveal a lost retransmission, as a multiple of the round-trip time (RFC 8985: a
/// quarter of the minimum round trip; our choice allows for ACKs in batches).
const FOUND_WITHIN: (u64, u64) = (3, 2);

/// Interval between ACKs below which an ACK and a timer expiry may coincide by chance (our choice: ten times the
/// duration of a response).
const OFTEN: Duration = Duration::from_millis(2);

/// Habit of the sender, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Habit {
    #[default]
    NotYet,
    Yes,
    No,
}

/// Phase of the sender.
#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    #[default]
    Open,
    /// Recovery, until all data before `point` is acknowledged.
    Recovery { point: u64 },
    /// Phase after a timeout, until all data before `point` is acknowledged.
    Loss {
        point: u64,
        since: Instant,
        late: Late,
    },
}

/// Evidence that data outstanding at a timeout arrives late and was not lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Late {
    NotSeen,
    /// New data was sent although data was waiting for retransmission, because F-RTO waits for the next ACK (RFC 5682
    /// §2.1 step 2b).
    Probed,
    /// An ACK has reported data that was sent before the expiry and not retransmitted.
    Seen,
}

/// Judge that determines the causes of one sender's retransmissions, in order.
#[derive(Debug)]
pub(super) struct Judge {
    sack: Sack,
    phase: Phase,
    /// Use of tail loss probes by the sender.
    probes: Habit,
    /// Probe, or possible timeout, since the last advance of the cumulative ACK; `None` if there was none.
    probe: Option<Probe>,
    /// `true` if there has been a round-trip sample since the last probe or timeout. Without a sample, no probe is sent
    /// (RFC 8985 §7.3).
    sampled: bool,
    /// Number of consecutive expiries.
    expiries: u32,
    /// Retransmission of the first outstanding segment that may have been a timeout although ACKs arrived.
    doubt: Option<Doubt>,
    /// Retransmissions of the first outstanding segment in a capture away from the sender. One of them may have been a
    /// timeout.
    singles: Singles,
    /// Last retransmission; `None` if it was not a retransmission of the first outstanding segment.
    wait: Option<Wait>,
    /// Last completed recovery.
    over: Option<Over>,
    /// `Yes` if the sender retransmits everything after a fast retransmit (Tahoe).
    goes_back: Habit,
}

/// Completed recovery, or completed phase after a timeout. Some of its retransmissions may be captured after its end,
/// because an ACK may be captured before segments that the sender sent earlier.
#[derive(Clone, Copy, Debug)]
struct Over {
    point: u64,
    stage: Stage,
}

impl Over {
    /// Returns the cause of another retransmission in this recovery.
    const fn cause(self, sack: Sack) -> Cause {
        match self.stage {
            Stage::Loss => Cause::AfterTimeout,
            _ if sack.is_on() => Cause::FurtherHole,
            _ => Cause::PartialAck,
        }
    }
}

impl Judge {
    pub const fn new(sack: Sack) -> Self {
        Self {
            sack,
            phase: Phase::Open,
            probes: Habit::NotYet,
            probe: None,
            sampled: false,
            expiries: 0,
            doubt: None,
            singles: Singles::NONE,
            wait: None,
            over: None,
            goes_back: Habit::NotYet,
        }
    }

    /// Returns the stage of the sender. `disorder` is `true` if ACKs report that a segment is missing.
    pub const fn stage(&self, disorder: bool) -> Stage {
        match self.phase {
            Phase::Open if disorder => Stage::Disorder,
            Phase::Open => Stage::Open,
            Phase::Recovery { .. } => Stage::Recovery,
            Phase::Loss { .. } => Stage::Loss,
        }
    }

    /// Judges a retransmission.
    pub fn sent_again(&mut self, case: &Case) -> Attribution {
        let before = self.timeout_before(case);
        let timeout_of = self.after_single(case);
        let probes = self.probes;
        let verdict = match (self.by_doubled_wait(case), self.phase) {
            (Some(verdict), _) => verdict,
            (None, Phase::Loss { point, since, .. }) => self.in_loss(case, point, since),
            (None, Phase::Recovery { point }) => self.in_recovery(case, point),
            (None, Phase::Open) => self.left_over(case).unwrap_or_else(|| self.in_open(case)),
        };
        self.waited(case, verdict.cause, probes);
        let doubtful =
            matches!(self.phase, Phase::Recovery { .. }) && case.is_head() && case.is_doubtful();
        if doubtful {
            self.doubt = Some(Doubt {
                at: case.timing.at,
                point: case.nxt,
                unanswered: Some(0),
                expiries: self.expiries + 1,
            });
        }
        Attribution {
            timeout_before: before,
            timeout_of: timeout_of.or(verdict.timeout_of),
            doubtful,
            ..verdict
        }
    }

    /// Attributes data that was acknowledged before it was captured to the recovery that ended with this ACK.
    fn left_over(&self, case: &Case) -> Option<Attribution> {
        let over = self.over?;
        if case.end > case.una || case.start >= over.point {
            return None;
        }
        Some(Attribution::of(over.cause(self.sack)))
    }

    fn in_open(&mut self, case: &Case) -> Attribution {
        if !case.has_evidence() {
            return self.by_timer(case);
        }
        if self.is_timeout_in_spite_of_acks(case) {
            return self.timeout(case);
        }
        self.fast(case)
    }

    /// Starts a recovery with its first retransmission.
    fn fast(&mut self, case: &Case) -> Attribution {
        self.phase = Phase::Recovery { point: case.nxt };
        self.probe = None;
        let reports = case.sacked.max(u64::from(case.dup_acks));
        let cause = match (case.sacked, reports) {
            (0, DUP_THRESHOLD..) => Cause::DuplicateAcks,
            (0, _) => Cause::EarlyRetransmit,
            (_, DUP_THRESHOLD..) => Cause::SackedBeyond,
            _ => Cause::Rack,
        };
        Attribution::of(cause)
    }

    fn in_recovery(&mut self, case: &Case, point: u64) -> Attribution {
        if case.is_head() && self.is_timeout_in_spite_of_acks(case) {
            return self.timeout(case);
        }
        if case.start >= point {
            return self.fast(case);
        }
        if case.repair_seen {
            return Attribution::of(Cause::LostAgain);
        }
        if !self.sack.is_on() && !case.is_head() && self.doubt.is_none() {
            self.goes_back = Habit::Yes;
        }
        Attribution::of(if self.is_without_sack(case) {
            Cause::PartialAck
        } else {
            Cause::FurtherHole
        })
    }

    fn in_loss(&mut self, case: &Case, point: u64, since: Instant) -> Attribution {
        let since_then = case.repaired_at.filter(|&at| at >= since);
        if case.is_head() {
            let again = Case {
                repaired_at: since_then,
                ..*case
            };
            let has_waited = again.follows_silence() && again.timer_was_due();
            if has_waited || (since_then.is_some() && self.is_timeout_in_spite_of_acks(&again)) {
                return self.timeout(case);
            }
        }
        if since_then.is_some() {
            return Attribution::of(Cause::LostAgain);
        }
        Attribution::of(if case.start >= point {
            Cause::FurtherHole
        } else {
            Cause::AfterTimeout
        })
    }

    const fn is_without_sack(&self, case: &Case) -> bool {
        !self.sack.is_on() || (case.sacked == 0 && case.dup_acks == 0)
    }

    /// `true` if the timer expired although ACKs report that the first segment is missing.
    fn is_timeout_in_spite_of_acks(&self, case: &Case) -> bool {
        if !case.is_head() {
            return false;
        }
        if case.is_by_timer() {
            return true;
        }
        let Some(repaired_at) = case.repaired_at else {
            return false;
        };
        let age = case.timing.at.since(repaired_at);
        let rtt = &case.timing.rtt;
        let too_soon = age < rtt.least * 9 / 10;
        let (part, whole) = FOUND_WITHIN;
        let found_by = rtt.smoothed.saturating_mul(part) / whole + TIMER_SLACK;
        if !self.sack.is_on() && case.repaired_here {
            // A partial ACK would have advanced the cumulative ACK, and further duplicate ACKs trigger no
            // retransmission.
            return true;
        }
        if case.timing.departure == Known::LateByQueues {
            // Because of queues, the departure time is also unknown.
            return false;
        }
        if !self.sack.is_on() {
            return match case.timing.distance {
                Distance::Away => case.timer_was_due() && age > found_by,
                Distance::Here => case.may_be_by_timer(),
            };
        }
        if too_soon {
            // No ACK can have reported the retransmission. Some senders restart the recovery when a window reduction is
            // undone.
            return case.may_be_by_timer();
        }
        let by_chance = age >= rtt.rto_least && case.timing.between_acks < OFTEN;
        case.timer_was_due() && age > found_by && (by_chance || !case.is_prompt())
    }

    /// Records a departure of new data after a time without packets. `head_waits` is `true` if the first outstanding
    /// segment was sent once.
    pub fn sent_new(&mut self, timing: &Timing, outstanding: bool, head_waits: bool) {
        if let Phase::Loss { late, .. } = &mut self.phase
            && head_waits
        {
            if *late == Late::Seen {
                self.take_back();
            } else {
                *late = Late::Probed;
            }
        }
        let (part, whole) = PROBE_AFTER;
        let waited =
            timing.silence.saturating_mul(whole) >= timing.rtt.smoothed.saturating_mul(part);
        if outstanding && waited && matches!(self.phase, Phase::Open) && self.probe.is_none() {
            // This may have been a tail loss probe with new data (RFC 8985 §7.3).
            self.sampled = false;
        }
    }

    /// Undoes the timeout. The sender continues from its state before the timeout (RFC 5682, RFC 4015).
    const fn take_back(&mut self) {
        self.phase = Phase::Open;
        self.expiries = 0;
    }

    /// Records an ACK.
    pub fn acknowledged(&mut self, una: u64, news: &News) {
        self.sampled |= news.sampled;
        if let Some(unanswered) = self.doubt.as_mut().and_then(|d| d.unanswered.as_mut()) {
            *unanswered = unanswered.saturating_add(1);
        }
        if news.advanced {
            self.doubt = self.doubt.filter(|doubt| una < doubt.point);
        }
        if let Phase::Loss { late, .. } = &mut self.phase {
            // Without SACK, an ACK may advance because of data that had arrived before the timeout. Only the next ACK
            // shows whether the timeout was spurious.
            let shown = news.late_by_timestamp
                || (news.late && (self.sack.is_on() || *late == Late::Probed));
            match (*late, shown) {
                (Late::Probed, true) => self.take_back(),
                (Late::Probed, false) => *late = Late::NotSeen,
                (Late::NotSeen, true) => *late = Late::Seen,
                _ => {}
            }
        }
        if news.advanced {
            self.expiries = 0;
            self.probe = None;
        }
        let stage = self.stage(false);
        match self.phase {
            Phase::Recovery { point } | Phase::Loss { point, .. } if una >= point => {
                self.phase = Phase::Open;
                self.over = Some(Over { point, stage });
            }
            _ => {}
        }
    }

    /// Returns the time of the timeout from which the sender is still recovering, and the end of the data outstanding
    /// at that time; `None` if there is none.
    pub const fn timed_out(&self) -> Option<(Instant, u64)> {
        match self.phase {
            Phase::Loss { since, point, .. } => Some((since, point)),
            _ => None,
        }
    }
}
