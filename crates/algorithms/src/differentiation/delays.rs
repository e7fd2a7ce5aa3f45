//! Minimum and maximum round-trip time of a connection: RTTmin and RTTmax.

use dupack_tcp::time::{Duration, Instant};

/// RTTmin and RTTmax of the samples so far.
///
/// By default, both are those of the connection. With a period, RTTmax is the maximum of the current and the previous
/// period of this length, so that it forgets a sample after one to two periods. RTTmin is always that of the
/// connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    least: Option<Duration>,
    greatest: Option<Duration>,
    /// RTTmax of the previous period.
    before: Option<Duration>,
    /// Length of a period. Zero: the connection is one period.
    period: Duration,
    begin: Option<Instant>,
}

impl Delays {
    /// Returns an empty record whose RTTmax forgets after `period`, or never if `period` is zero.
    pub(super) fn with_period(period: Duration) -> Self {
        Self {
            period,
            ..Self::default()
        }
    }

    /// Records a sample.
    pub(super) fn observe(&mut self, now: Instant, rtt: Duration) {
        self.renew(now);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.greatest = self.greatest.max(Some(rtt));
    }

    /// Begins a new period if the current one has ended.
    fn renew(&mut self, now: Instant) {
        let begin = *self.begin.get_or_insert(now);
        let age = now.since(begin);
        if self.period.is_zero() || age < self.period {
            return;
        }
        let ended = self.greatest.take();
        // A connection without samples for more than a period has no previous period.
        self.before = ended.filter(|_| age < self.period.saturating_mul(2));
        self.begin = Some(now);
    }

    /// Returns the position of `rtt` between RTTmin and RTTmax: 0 at RTTmin, 1 at RTTmax, and 0 if both are equal.
    /// Returns `None` without a sample.
    pub(super) fn position(&self, rtt: Duration) -> Option<f64> {
        let least = self.least?;
        let greatest = self.greatest.max(self.before)?;
        if greatest == least {
            return Some(0.0);
        }
        let range = greatest.saturating_sub(least).as_nanos() as f64;
        Some(rtt.saturating_sub(least).as_nanos() as f64 / range)
    }
}
