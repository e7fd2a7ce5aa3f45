//! Timeouts that are sooner than those of common senders: their waits double (RFC 6298 §5.5), however long the first is.
//!
//! A first wait tells nothing: it may be a probe's, or too short for any timer that is known. If the first segment is sent
//! again twice, nothing happens in between, and the second wait is twice the first, both were the timer's. A tail
//! loss probe is followed by a timeout as well, and the waits may double by chance: where they are a probe's, the
//! first remains what it was taken for.

use dupack_tcp::time::{Duration, Instant};

use super::case::{Case, TIMER_SLACK, Verdict};
use super::timers::PROBE_AFTER;
use super::{Habit, Judge};
use crate::analyse::cause::Cause;
use crate::analyse::explain::clock::RTO_MIN;

/// A wait is twice the one before between these shares of it (ours: narrower than where it is known that a timer expired).
const TWICE: std::ops::RangeInclusive<f64> = 1.85..=2.15;

/// A probe waits for no longer than this many smoothed round trips (RFC 8985 §7.2: two).
const PROBE_BEFORE: (u64, u64) = (5, 2);

/// Up to how far two instants are the same: what rounding takes.
const SAME: Duration = Duration::from_micros(2);

/// A repetition of the first segment, and the silence before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    start: u64,
    at: Instant,
    waited: Duration,
    /// The round trip as known then.
    smoothed: Duration,
    /// The sender's habit of probing, as known before.
    probes: Habit,
    cause: Cause,
    /// Its number in the ledger, once it has one.
    number: Option<u64>,
}

impl Wait {
    /// It has this number in the ledger.
    pub(super) const fn recorded(&mut self, number: u64) {
        if self.number.is_none() {
            self.number = Some(number);
        }
    }

    /// Returns `true` if the next wait is twice this one, and nothing happened in it.
    fn is_doubled_by(&self, case: &Case) -> bool {
        let wait = case.timing.at.since(self.at);
        let undisturbed = case.timing.silence + SAME >= wait;
        let ratio = wait.as_secs_f64() / self.waited.as_secs_f64().max(f64::MIN_POSITIVE);
        self.start == case.start
            && undisturbed
            && self.waited > TIMER_SLACK
            && TWICE.contains(&ratio)
    }

    /// `true` if it may be a probe's, and the wait after it that of a common sender's timer.
    fn may_be_a_probe(&self, case: &Case) -> bool {
        let times = |(part, whole): (u64, u64)| self.smoothed.saturating_mul(part) / whole.max(1);
        let two_round_trips =
            self.waited >= times(PROBE_AFTER) && self.waited <= times(PROBE_BEFORE) + TIMER_SLACK;
        let common = case.timing.silence >= self.smoothed + RTO_MIN;
        two_round_trips && case.is_tail() && (common || self.probes == Habit::Yes)
    }
}

impl Judge {
    /// The timer's verdict on a repetition of the first segment, if its wait doubles that before; the latter is then
    /// revised with it, unless it was known for a timeout or may have been a probe.
    pub(super) fn by_doubled_wait(&mut self, case: &Case) -> Option<Verdict> {
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
        Some(Verdict {
            timeout_of: before.number.map(|number| (number, first)),
            earlier: earlier.or(verdict.earlier),
            ..verdict
        })
    }

    fn probes_at_all(&self, before: &Wait) -> bool {
        before.probes != Habit::No && self.probes != Habit::No
    }

    /// Remembers the wait before a repetition of the first segment; `probes` is what was known before it.
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
