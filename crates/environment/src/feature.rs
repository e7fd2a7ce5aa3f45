//! Features: named numbers from which observations and rewards are built.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::measured::{Measured, per};
use crate::names::unknown;

/// Number that an agent can observe at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Feature {
    /// Delivered payload, in Mbit/s.
    Throughput,
    /// Sent payload, in Mbit/s.
    SendRate,
    /// Lost / (lost + delivered).
    LossRatio,
    /// Mean round-trip time.
    Rtt,
    /// Minimum round-trip time so far.
    RttLeast,
    /// Smoothed round-trip time.
    Srtt,
    /// Mean minus minimum round-trip time.
    Queueing,
    /// Slope of the round-trip time within the step.
    LatencyGradient,
    /// Mean round-trip time / minimum of all means.
    LatencyRatio,
    /// Sent / delivered.
    SendRatio,
    /// Congestion window.
    Window,
    /// Pacing rate.
    Pace,
    /// Segments in flight.
    InFlight,
    /// Number of ACKs.
    Acks,
    /// Number of timeouts.
    Timeouts,
    /// Length of the step.
    Interval,
    /// Throughput / maximum throughput.
    ThroughputShare,
    /// Pacing rate / maximum throughput.
    PaceShare,
    /// 5 · loss rate / maximum throughput.
    LossShare,
    /// ACKs / window.
    AcksPerWindow,
    /// Minimum / smoothed round-trip time.
    RttShare,
    /// Minimum / smoothed round-trip time, multiplied by 1.25 and at most 1.
    DelayMargin,
    /// The agent's last action.
    LastAction,
}

/// Description of a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// Name of the feature in settings.
    pub name: &'static str,
    /// Unit; empty for a count or a ratio.
    pub unit: &'static str,
    /// Meaning of the number.
    pub meaning: &'static str,
    /// Lower bound; smaller values are clamped to it.
    pub low: f32,
    /// Upper bound; larger values are clamped to it.
    pub high: f32,
    /// Value before the first step.
    pub neutral: f32,
}

/// Orca's margin for the delay (β): 1.25 in the authors' code (`delay_margin_coef`). `LOSS_WEIGHT` is the weight of a
/// loss relative to throughput (ζ): 5 in the authors' code.
pub(crate) const DELAY_MARGIN: f64 = 1.25;
pub(crate) const LOSS_WEIGHT: f64 = 5.0;

/// Upper bound of quantities without a natural bound. Larger values are not useful to an agent.
const MUCH: f32 = 1e6;

impl Feature {
    /// All features.
    pub const ALL: [Self; 23] = [
        Self::Throughput,
        Self::SendRate,
        Self::LossRatio,
        Self::Rtt,
        Self::RttLeast,
        Self::Srtt,
        Self::Queueing,
        Self::LatencyGradient,
        Self::LatencyRatio,
        Self::SendRatio,
        Self::Window,
        Self::Pace,
        Self::InFlight,
        Self::Acks,
        Self::Timeouts,
        Self::Interval,
        Self::ThroughputShare,
        Self::PaceShare,
        Self::LossShare,
        Self::AcksPerWindow,
        Self::RttShare,
        Self::DelayMargin,
        Self::LastAction,
    ];

    /// Returns the name, unit, meaning and bounds of the feature.
    #[must_use]
    pub const fn description(self) -> Description {
        let (name, unit, meaning, bounds) = match self {
            Self::Throughput => (
                "throughput",
                "Mbit/s",
                "payload that ACKs reported per time",
                (0.0, MUCH, 0.0),
            ),
            Self::SendRate => (
                "send_rate",
                "Mbit/s",
                "payload sent per time, including retransmissions",
                (0.0, MUCH, 0.0),
            ),
            Self::LossRatio => (
                "loss_ratio",
                "",
                "lost / (lost + delivered), where lost means retransmitted",
                (0.0, 1.0, 0.0),
            ),
            Self::Rtt => (
                "rtt",
                "s",
                "mean round-trip time of the step, or of the last step that has one",
                (0.0, MUCH, 0.0),
            ),
            Self::RttLeast => (
                "rtt_least",
                "s",
                "minimum round-trip time so far",
                (0.0, MUCH, 0.0),
            ),
            Self::Srtt => (
                "srtt",
                "s",
                "smoothed round-trip time (RFC 6298)",
                (0.0, MUCH, 0.0),
            ),
            Self::Queueing => ("queueing", "s", "rtt − rtt_least", (0.0, MUCH, 0.0)),
            Self::LatencyGradient => (
                "latency_gradient",
                "s/s",
                "least-squares slope of the round-trip times over the step",
                (-10.0, 10.0, 0.0),
            ),
            Self::LatencyRatio => (
                "latency_ratio",
                "",
                "rtt / minimum rtt of any step so far",
                (1.0, 10_000.0, 1.0),
            ),
            Self::SendRatio => (
                "send_ratio",
                "",
                "sent / delivered; 1 if nothing was delivered",
                (0.0, 1000.0, 1.0),
            ),
            Self::Window => ("window", "segments", "congestion window", (0.0, MUCH, 0.0)),
            Self::Pace => (
                "pace",
                "Mbit/s",
                "pace of the agent, or window / srtt",
                (0.0, MUCH, 0.0),
            ),
            Self::InFlight => (
                "in_flight",
                "segments",
                "segments in flight, as the recovery counts them",
                (0.0, MUCH, 0.0),
            ),
            Self::Acks => ("acks", "", "number of ACKs", (0.0, MUCH, 0.0)),
            Self::Timeouts => (
                "timeouts",
                "",
                "number of retransmission timeouts",
                (0.0, MUCH, 0.0),
            ),
            Self::Interval => ("interval", "s", "length of the step", (0.0, MUCH, 0.0)),
            Self::ThroughputShare => (
                "throughput_share",
                "",
                "throughput / maximum throughput of any step so far",
                (0.0, 1.0, 0.0),
            ),
            Self::PaceShare => (
                "pace_share",
                "",
                "pace / maximum throughput so far, at most 10",
                (0.0, 10.0, 0.0),
            ),
            Self::LossShare => (
                "loss_share",
                "",
                "5 · lost per time / maximum throughput so far",
                (0.0, 1000.0, 0.0),
            ),
            Self::AcksPerWindow => (
                "acks_per_window",
                "",
                "number of ACKs / window in segments",
                (0.0, 1000.0, 0.0),
            ),
            Self::RttShare => ("rtt_share", "", "rtt_least / srtt", (0.0, 1.0, 0.0)),
            Self::DelayMargin => (
                "delay_margin",
                "",
                "1.25 · rtt_least / srtt, at most 1",
                (0.0, 1.0, 0.0),
            ),
            Self::LastAction => (
                "last_action",
                "",
                "action at the beginning of the step",
                (-MUCH, MUCH, 0.0),
            ),
        };
        let (low, high, neutral) = bounds;
        Description {
            name,
            unit,
            meaning,
            low,
            high,
            neutral,
        }
    }

    /// Returns the value of the feature after a step, clamped to its bounds.
    #[must_use]
    pub fn of(self, step: &Measured) -> f32 {
        let told = self.description();
        (self.raw(step) as f32).clamp(told.low, told.high)
    }

    fn raw(self, step: &Measured) -> f64 {
        let megabits = |bytes: f64| bytes * 8.0 / 1e6;
        match self {
            Self::Throughput => megabits(step.delivery_rate()),
            Self::SendRate => megabits(step.send_rate()),
            Self::LossRatio => step.loss_ratio(),
            Self::Rtt => step.rtt,
            Self::RttLeast => step.rtt_least,
            Self::Srtt => step.srtt,
            Self::Queueing => step.rtt - step.rtt_least,
            Self::LatencyGradient => step.rtt_slope,
            Self::LatencyRatio => per(step.rtt, step.rtt_mean_least),
            Self::SendRatio if step.delivered_bytes == 0.0 => 1.0,
            Self::SendRatio => step.sent_bytes / step.delivered_bytes,
            Self::Window => step.window,
            Self::Pace => megabits(step.pace),
            Self::InFlight => step.in_flight,
            Self::Acks => step.acks,
            Self::Timeouts => step.timeouts,
            Self::Interval => step.duration,
            Self::ThroughputShare => per(step.delivery_rate(), step.rate_most),
            Self::PaceShare => per(step.pace, step.rate_most),
            Self::LossShare => per(LOSS_WEIGHT * step.loss_rate(), step.rate_most),
            Self::AcksPerWindow => per(step.acks, step.window),
            Self::RttShare => per(step.rtt_least, step.srtt),
            Self::DelayMargin => DELAY_MARGIN * per(step.rtt_least, step.srtt),
            Self::LastAction => step.action,
        }
    }
}

impl FromStr for Feature {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|f| f.description().name == name);
        let names = Self::ALL.iter().map(|f| f.description().name);
        found.ok_or_else(|| unknown("feature", name, names))
    }
}

impl TryFrom<String> for Feature {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl From<Feature> for String {
    fn from(feature: Feature) -> Self {
        feature.to_string()
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_are_unique() {
        for feature in Feature::ALL {
            assert_eq!(feature.to_string().parse(), Ok(feature));
            let told = feature.description();
            assert!(
                told.low <= told.neutral && told.neutral <= told.high,
                "{feature}"
            );
        }
        let error = "throughptu".parse::<Feature>().unwrap_err();
        assert!(error.contains("did you mean `throughput`?"), "{error}");
    }

    /// Every feature has a value within its bounds, before any step and after extreme steps.
    #[test]
    fn every_feature_is_within_its_bounds() {
        let wild = Measured {
            duration: 1e-9,
            sent_bytes: 1e12,
            delivered_bytes: 1.0,
            lost_bytes: 1e12,
            rtt_slope: -1e9,
            rtt: 1e9,
            rtt_mean_least: 1e-9,
            pace: 1e15,
            rate_most: 1e-3,
            ..Measured::default()
        };
        for feature in Feature::ALL {
            let told = feature.description();
            for step in [Measured::default(), wild] {
                let value = feature.of(&step);
                assert!(
                    value >= told.low && value <= told.high,
                    "{feature}: {value}"
                );
            }
        }
    }

    #[test]
    fn features_have_the_values_that_their_names_say() {
        let step = Measured {
            duration: 0.01,
            sent_bytes: 15_000.0,
            delivered_bytes: 12_000.0,
            lost_bytes: 3_000.0,
            acks: 8.0,
            rtt: 0.060,
            rtt_least: 0.040,
            rtt_mean_least: 0.050,
            srtt: 0.080,
            rate_most: 1_500_000.0,
            pace: 3_000_000.0,
            window: 40.0,
            ..Measured::default()
        };
        for (feature, value) in [
            (Feature::Throughput, 9.6),
            (Feature::SendRate, 12.0),
            (Feature::LossRatio, 0.2),
            (Feature::Queueing, 0.020),
            (Feature::LatencyRatio, 1.2),
            (Feature::SendRatio, 1.25),
            (Feature::ThroughputShare, 0.8),
            (Feature::PaceShare, 2.0),
            // The value is 5 · 300 kB/s divided by 1500 kB/s.
            (Feature::LossShare, 1.0),
            (Feature::AcksPerWindow, 0.2),
            (Feature::RttShare, 0.5),
            (Feature::DelayMargin, 0.625),
        ] {
            assert!((feature.of(&step) - value).abs() < 1e-6, "{feature}");
        }
    }
}
