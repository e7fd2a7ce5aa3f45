//! Minimum and maximum round-trip time of a connection: RTTmin and RTTmax.

use dupack_tcp::time::Duration;

/// RTTmin and RTTmax of all samples so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays(Option<(Duration, Duration)>);

impl Delays {
    /// Records a sample.
    pub(super) fn observe(&mut self, rtt: Duration) {
        let (least, greatest) = self.0.unwrap_or((rtt, rtt));
        self.0 = Some((least.min(rtt), greatest.max(rtt)));
    }

    /// Returns the position of `rtt` between RTTmin and RTTmax: 0 at RTTmin, 1 at RTTmax, and 0 if both are equal.
    /// Returns `None` without a sample.
    pub(super) fn position(&self, rtt: Duration) -> Option<f64> {
        let (least, greatest) = self.0?;
        if greatest == least {
            return Some(0.0);
        }
        let range = (greatest - least).as_nanos() as f64;
        Some(rtt.saturating_sub(least).as_nanos() as f64 / range)
    }
}
