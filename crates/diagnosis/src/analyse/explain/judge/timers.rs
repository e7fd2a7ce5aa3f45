//! Repairs that no ACK set off: timeouts, and probes for lost tails.

use dupack_tcp::time::{Duration, Instant};

use super::case::{Case, Earlier, Verdict};
use super::{Habit, Judge, Late, Phase};
use crate::analyse::cause::Cause;
use crate::analyse::explain::clock::RTO_MIN;
use crate::analyse::explain::ledger::Certainty;
use crate::read::moment::Stage;

/// A tail loss probe waits for two smoothed round trips (RFC 8985 §7.2); ours is not the sender's.
pub(super) const PROBE_AFTER: (u64, u64) = (3, 2);

/// The second expiry in a row comes after twice the time of the first (RFC 6298 §5.5): between these
/// shares of it.
const DOUBLED: std::ops::RangeInclusive<f64> = 1.6..=2.6;

/// What may have been a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) at: Instant,
    pub(super) waited: Duration,
    pub(super) certainty: Certainty,
}

impl Judge {
    /// No ACK says that anything is missing.
    pub(super) fn by_timer(&mut self, case: &Case) -> Verdict {
        if !case.timer_was_due() && !case.follows_silence() {
            return self.goes_on(case);
        }
        if !case.is_tail() {
            return if case.is_head() {
                self.timeout(case)
            } else {
                self.goes_on(case)
            };
        }
        if !case.is_head() {
            // A timeout begins with the first segment.
            if !case.follows_silence() {
                return Verdict::of(Cause::Unknown);
            }
            let news = self.learn(Habit::Yes);
            self.probed(case, Certainty::Settled);
            return Verdict {
                earlier: news,
                ..Verdict::of(Cause::TailLossProbe)
            };
        }
        self.only_segment(case)
    }

    /// Neither a timer nor any evidence: what was repaired last was not over yet, as where segments come
    /// in another order than they left, or a sender goes on after the recovery's end.
    pub(super) fn goes_on(&mut self, case: &Case) -> Verdict {
        let Some(over) = self.over else {
            return Verdict::of(Cause::Unknown);
        };
        self.phase = match over.stage {
            Stage::Loss => Phase::Loss {
                point: case.nxt,
                since: case.timing.at,
                late: Late::NotSeen,
            },
            _ => Phase::Recovery { point: case.nxt },
        };
        Verdict::of(over.cause(self.sack))
    }

    /// The only segment is sent again, and nothing was heard.
    pub(super) fn only_segment(&mut self, case: &Case) -> Verdict {
        let probed = self.probe.is_some();
        if probed || !self.sack.is_on() || self.probes == Habit::No || self.expiries > 0 {
            return self.timeout(case);
        }
        if self.probes == Habit::Yes && self.sampled {
            self.probed(case, Certainty::Settled);
            return Verdict::of(Cause::TailLossProbe);
        }
        if case.timing.silence < RTO_MIN {
            let earlier = self.learn(Habit::Yes);
            self.probed(case, Certainty::Settled);
            return Verdict {
                earlier,
                ..Verdict::of(Cause::TailLossProbe)
            };
        }
        let verdict = self.timeout(case);
        self.probed(case, Certainty::TimeoutOrProbe);
        Verdict {
            certainty: Certainty::TimeoutOrProbe,
            ..verdict
        }
    }

    /// After a timeout the next one takes twice as long; after a probe it does not.
    pub(super) fn by_the_next_wait(&mut self, probe: &Probe, case: &Case) -> Option<Earlier> {
        if probe.certainty == Certainty::Settled {
            return None;
        }
        let ratio = case.timing.at.since(probe.at).as_secs_f64()
            / probe.waited.as_secs_f64().max(f64::MIN_POSITIVE);
        if DOUBLED.contains(&ratio) {
            self.learn(Habit::No);
            Some(Earlier::WereTimeouts)
        } else {
            self.learn(Habit::Yes);
            self.expiries = 0;
            Some(Earlier::WereProbes)
        }
    }

    pub(super) fn learn(&mut self, probes: Habit) -> Option<Earlier> {
        if self.probes == probes {
            return None;
        }
        self.probes = probes;
        match probes {
            Habit::Yes => Some(Earlier::WereProbes),
            Habit::No => Some(Earlier::WereTimeouts),
            Habit::NotYet => None,
        }
    }

    pub(super) fn probed(&mut self, case: &Case, certainty: Certainty) {
        self.sampled = false;
        self.probe = Some(Probe {
            at: case.timing.at,
            waited: case.timing.silence,
            certainty,
        });
    }

    pub(super) fn timeout(&mut self, case: &Case) -> Verdict {
        let calm = matches!(self.phase, Phase::Open) && case.sacked == 0 && case.dup_acks == 0;
        let mut earlier = None;
        if let Some(probe) = self.probe.take() {
            earlier = self.by_the_next_wait(&probe, case);
        } else if calm && !case.is_tail() && self.sampled && self.probes == Habit::NotYet {
            // Whoever probes would have done so before.
            earlier = self.learn(Habit::No);
        }
        self.expiries += 1;
        self.sampled = false;
        self.phase = Phase::Loss {
            point: case.nxt,
            since: case.timing.at,
            late: Late::NotSeen,
        };
        Verdict {
            earlier,
            ..Verdict::of(Cause::Timeout {
                expiry: self.expiries,
            })
        }
    }
}
