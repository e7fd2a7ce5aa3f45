//! Thresholds of the verdicts. All of them are this project's own, and every output that depends on them states this.

use crate::results::{Measure, Results};

/// Threshold of harm. A stack gets a warning if a competing CUBIC flow loses more than this share of the goodput that
/// it has next to other CUBIC flows. The value is this project's own: the flow then has less than half of its fair
/// goodput.
pub const HARM_MOST: f64 = 0.5;

/// Threshold of waste. A stack gets a warning if more than this percentage of its segments are retransmissions that
/// link losses do not explain. The value is this project's own: more than one in ten packets on the path is then a
/// retransmission that the path did not cause.
pub const WASTE_MOST_PERCENT: f64 = 10.0;

/// Margins: differences up to these values do not matter in practice, even if they are significant, because in a
/// simulator a difference of a thousandth can be significant. The values are this project's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Goodput, as a relative difference.
    pub goodput: f64,
    /// Queueing delay, in ms.
    pub delay_ms: f64,
    /// Retransmitted share, in percent of the segments sent.
    pub waste_percent: f64,
    /// Timeouts per run.
    pub timeouts: f64,
    /// Harm to a competing flow's goodput, and fairness, as a share.
    pub share: f64,
}

impl Margins {
    /// Default margins.
    const GENERAL: Self = Self {
        goodput: 0.01,
        delay_ms: 1.0,
        waste_percent: 0.5,
        timeouts: 0.5,
        share: 0.02,
    };

    /// Margin of delays, as a share of the path's round-trip time.
    const OF_ROUND_TRIP: f64 = 0.05;

    /// Returns the margins at a point of an experiment. The margin of delays is relative to the round-trip time.
    #[must_use]
    pub fn at(results: &Results, point: usize) -> Self {
        let path = results.points[point].experiment.path.as_ref();
        let round_trip_ms = path.map(|path| 2.0 * path.delay.as_seconds() * 1e3);
        let of_round_trip = round_trip_ms.map(|ms| ms * Self::OF_ROUND_TRIP);
        Self {
            delay_ms: of_round_trip
                .filter(|ms| *ms > 0.0)
                .unwrap_or(Self::GENERAL.delay_ms),
            ..Self::GENERAL
        }
    }

    /// Returns the margin of `measure` in its unit, or as a relative difference for goodput.
    #[must_use]
    pub const fn of(&self, measure: Measure) -> f64 {
        match measure {
            Measure::Goodput => self.goodput,
            Measure::DelayMedian | Measure::DelayP95 | Measure::HarmDelay => self.delay_ms,
            Measure::RetransmissionShare => self.waste_percent,
            Measure::Timeouts => self.timeouts,
            Measure::HarmGoodput | Measure::Fairness => self.share,
            _ => 0.0,
        }
    }
}

impl Default for Margins {
    fn default() -> Self {
        Self::GENERAL
    }
}
