//! Where a verdict draws its lines. All of them are ours; every output that rests on them says so.

use crate::results::{Measure, Results};

/// A stack beside which a standing CUBIC flow loses more than this share of the goodput that it has
/// beside its own kind gets a warning. Ours: the flow has less than half of what is its own.
pub const HARM_MOST: f64 = 0.5;

/// A stack that resends more than this share of its segments, in percent, beyond what the links
/// themselves lost, gets a warning. Ours: more than every tenth packet on the path is there again for
/// no fault of the path's.
pub const WASTE_MOST_PERCENT: f64 = 10.0;

/// Differences up to these are none that anybody acts on, whatever the intervals say: in a simulator
/// even a thousandth can be told apart. Ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Of goodput, as a share.
    pub goodput: f64,
    /// Of queueing delays, in ms.
    pub delay_ms: f64,
    /// Of the retransmitted share, in percent of segments sent.
    pub waste_percent: f64,
    /// Of timeouts, in a run.
    pub timeouts: f64,
    /// Of the harm to a standing flow's goodput, and of fairness, as a share.
    pub share: f64,
}

impl Margins {
    /// What counts in general.
    const GENERAL: Self = Self {
        goodput: 0.01,
        delay_ms: 1.0,
        waste_percent: 0.5,
        timeouts: 0.5,
        share: 0.02,
    };

    /// The share of the path's round trip below which a difference in delay counts for nothing.
    const OF_ROUND_TRIP: f64 = 0.05;

    /// What counts at a point of an experiment: delays are small or large beside the round trip.
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

    /// The least difference in `measure` that counts, in its unit; of goodput, as a share.
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
