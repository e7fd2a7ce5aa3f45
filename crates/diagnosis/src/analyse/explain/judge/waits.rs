//! Timeouts that are shorter than those of common senders, recognised by waits that double (RFC 6298 §5.5).
//!
//! The first wait alone is no evidence: it may be the wait of a probe, or too short for any known timer. If the first
//! segment is retransmitted twice, nothing happens in between, and the second wait is twice the first, both were
//! timeouts. A tail loss probe may also be followed by a timeout, and the second wait may be twice the first by chance.
//! Therefore, if the waits are compatible with a probe, the cause of the first retransmission is not changed.

use dupack_tcp::time::{Duration, Instant};

use super::case::{Attribution, Case, TIMER_SLACK};
use super::timers::PROBE_AFTER;
use super::{Habit, Judge};
use crate::analyse::cause::Cause;
use crate::analyse::explain::clock::RTO_MIN;

/// Range of the ratio of two waits that counts as doubling (our choice: narrower than for known expiries).
const TWICE: std::ops::RangeInclusive<f64> = 1.85..=2.15;

/// Maximum wait of a probe, in smoothed round trips (RFC 8985 §7.2: two).
const PROBE_BEFORE: (u64, u64) = (5, 2);

/// Maximum difference of two instants that count as equal. It allows for rounding errors.
const SAME: Duration = Duration::from_micros(2);

/// Retransmission of the first segment, and the time without packets before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    start: u64,
    at: Instant,
    waited: Duration,
    /// Smoothed round-trip time when it was sent.
    smoothed: Duration,
    /// Use of probes by the sender, as it was known before this retransmission.
    probes: Habit,
    cause: Cause,
    /// Number in the ledger; `None` before the retransmission has one.
    number: Option<u64>,
}

impl Wait {
    /// Records the number in the ledger.
    pub(super) const fn recorded(&mut self, number: u64) {
        if self.number.is_none() {
            self.number = Some(number);
        }
    }

    /// `true` if the next wait is twice this one and nothing happened during it.
    fn is_doubled_by(&self, case: &Case) -> bool {
        let wait = case.timing.at.since(self.at);
        let undisturbed = case.timing.silence + SAME >= wait;
        let ratio = wait.as_secs_f64() / self.waited.as_secs_f64().max(f64::MIN_POSITIVE);
        self.start == case.start
            && undisturbed
            && self.waited > TIMER_SLACK
            && TWICE.contains(&ratio)
    }

    /// `true` if this wait may be the wait of a probe, and the next one may be the timeout of a common sender.
    fn may_be_a_probe(&self, case: &Case) -> bool {
        let times = |(part, whole): (u64, u64)| self.smoothed.saturating_mul(part) / whole.max(1);
        let two_round_trips =
            self.waited >= times(PROBE_AFTER) && self.waited <= times(PROBE_BEFORE) + TIMER_SLACK;
        let common = case.timing.silence >= self.smoothed + RTO_MIN;
        two_round_trips && case.is_tail() && (common || self.probes == Habit::Yes)
    }
}

impl Judge {
    /// Returns a timeout if the wait before a retransmission of the first segment is twice the previous wait. In this
    /// case, the earlier retransmission becomes a timeout as well, unless it already is one or may have been a probe.
    pub(super) fn by_doubled_wait(&mut self, case: &Case) -> Option<Attribution> {
        let before = self
            .wait
            .filter(|wait| case.is_head() && wait.is_doubled_by(case))?;
        let probe = self.sack.is_on() && self.probes_at_all(&before) && before.may_be_a_probe(case);
        let timed_out = matches!(before.cause, Cause::Timeout { .. });
        if timed_out || probe {
            return Some(self.timeout(case));
        }
        self.probe = None;
        let first = self.expiries + 1;
        self.expiries = first;
        let earlier = case.is_tail().then(|| self.learn(Habit::No)).flatten();
        let verdict = self.timeout(case);
        Some(Attribution {
            timeout_of: before.number.map(|number| (number, first)),
            earlier: earlier.or(verdict.earlier),
            ..verdict
        })
    }

    fn probes_at_all(&self, before: &Wait) -> bool {
        before.probes != Habit::No && self.probes != Habit::No
    }

    /// Records the wait before a retransmission of the first segment. `probes` is the use of probes as it was known
    /// before this retransmission.
    pub(super) fn waited(&mut self, case: &Case, cause: Cause, probes: Habit) {
        self.wait = case.is_head().then_some(Wait {
            start: case.start,
            at: case.timing.at,
            waited: case.timing.silence,
            smoothed: case.timing.rtt.smoothed,
            probes,
            cause,
            number: None,
        });
    }
}
