//! Retransmissions that were not triggered by an ACK: timeouts and tail loss probes.

use dupack_tcp::time::{Duration, Instant};

use super::case::{Attribution, Case, Earlier};
use super::{Habit, Judge, Late, Phase};
use crate::analyse::cause::Cause;
use crate::analyse::explain::clock::RTO_MIN;
use crate::analyse::explain::ledger::Certainty;
use crate::read::moment::Stage;

/// Minimum time before a tail loss probe, as a multiple of the smoothed round-trip time in this capture. The sender
/// waits for two of its own smoothed round trips, which may be shorter (RFC 8985 §7.2).
pub(super) const PROBE_AFTER: (u64, u64) = (3, 2);

/// Range of the ratio of the second consecutive timeout to the first one: the timer doubles (RFC 6298 §5.5).
const DOUBLED: std::ops::RangeInclusive<f64> = 1.6..=2.6;

/// Possible probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) at: Instant,
    pub(super) waited: Duration,
    pub(super) certainty: Certainty,
}

impl Judge {
    /// Judges a retransmission without evidence from ACKs.
    pub(super) fn by_timer(&mut self, case: &Case) -> Attribution {
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
            // A timeout would retransmit the first outstanding segment first.
            if !case.follows_silence() {
                return Attribution::of(Cause::Unknown);
            }
            let news = self.learn(Habit::Yes);
            self.probed(case, Certainty::Settled);
            return Attribution {
                earlier: news,
                ..Attribution::of(Cause::TailLossProbe)
            };
        }
        self.only_segment(case)
    }

    /// Continues the last recovery, because neither a timer nor an ACK explains the retransmission. This happens if
    /// segments are captured in another order than that in which they were sent, or if a sender continues to retransmit
    /// after the end of the recovery.
    pub(super) fn goes_on(&mut self, case: &Case) -> Attribution {
        let Some(over) = self.over else {
            return Attribution::of(Cause::Unknown);
        };
        self.phase = match over.stage {
            Stage::Loss => Phase::Loss {
                point: case.nxt,
                since: case.timing.at,
                late: Late::NotSeen,
            },
            _ => Phase::Recovery { point: case.nxt },
        };
        Attribution::of(over.cause(self.sack))
    }

    /// Judges a retransmission of the only outstanding segment, without any ACK.
    pub(super) fn only_segment(&mut self, case: &Case) -> Attribution {
        let probed = self.probe.is_some();
        if probed || !self.sack.is_on() || self.probes == Habit::No || self.expiries > 0 {
            return self.timeout(case);
        }
        if self.probes == Habit::Yes && self.sampled {
            self.probed(case, Certainty::Settled);
            return Attribution::of(Cause::TailLossProbe);
        }
        if case.timing.silence < RTO_MIN {
            let earlier = self.learn(Habit::Yes);
            self.probed(case, Certainty::Settled);
            return Attribution {
                earlier,
                ..Attribution::of(Cause::TailLossProbe)
            };
        }
        let verdict = self.timeout(case);
        self.probed(case, Certainty::TimeoutOrProbe);
        Attribution {
            certainty: Certainty::TimeoutOrProbe,
            ..verdict
        }
    }

    /// Distinguishes a timeout from a probe by the next waiting time, which doubles after a timeout but not after a
    /// probe.
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

    pub(super) fn timeout(&mut self, case: &Case) -> Attribution {
        let calm = matches!(self.phase, Phase::Open) && case.sacked == 0 && case.dup_acks == 0;
        let mut earlier = None;
        if let Some(probe) = self.probe.take() {
            earlier = self.by_the_next_wait(&probe, case);
        } else if calm && !case.is_tail() && self.sampled && self.probes == Habit::NotYet {
            // A sender that uses probes would have sent one before the timeout.
            earlier = self.learn(Habit::No);
        }
        self.expiries += 1;
        self.sampled = false;
        self.phase = Phase::Loss {
            point: case.nxt,
            since: case.timing.at,
            late: Late::NotSeen,
        };
        Attribution {
            earlier,
            ..Attribution::of(Cause::Timeout {
                expiry: self.expiries,
            })
        }
    }
}
