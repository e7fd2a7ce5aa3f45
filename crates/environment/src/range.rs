//! Domain randomisation: values of an experiment that are drawn for every episode.
//!
//! A range belongs to a key of the experiment, which is named as in a sweep: `path.rate`, `path.delay`, `path.buffer`,
//! `path.loss`, `flows.1.start`, `path.burst_loss.enter`, … The drawn value depends only on the episode's seed and on
//! the key, so adding or removing a range does not change the values of other keys.

use core::fmt;

use dupack_lab::experiment::SweepValue;
use dupack_lab::units::{ByteCount, Delay, Distance, Probability, Rate};
use dupack_net::random::Stream;
use serde::{Deserialize, Serialize};

use crate::error::EnvironmentError;

/// Range of values. One value is drawn for every episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected { low = .., high = .. }, optionally with scale = \"log\", or { values = [..] }"
)]
#[non_exhaustive]
pub enum Range {
    /// An interval between two values.
    Between(Between),
    /// A list of values.
    OneOf(OneOf),
}

/// Interval between two values with the same unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Between {
    /// Minimum.
    pub low: SweepValue,
    /// Maximum.
    pub high: SweepValue,
    /// Distribution of the drawn values.
    #[serde(default)]
    pub scale: Scale,
}

/// A list of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OneOf {
    /// The values, all equally likely.
    pub values: Vec<SweepValue>,
}

/// Distribution of values in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scale {
    /// Uniform distribution.
    #[default]
    Linear,
    /// Log-uniform distribution: a value from 1 to 10 is as likely as a value from 10 to 100.
    Log,
}

impl Range {
    /// Creates a uniform range from `low` to `high`.
    #[must_use]
    pub fn between(low: impl Into<String>, high: impl Into<String>) -> Self {
        Self::Between(Between {
            low: SweepValue::Text(low.into()),
            high: SweepValue::Text(high.into()),
            scale: Scale::Linear,
        })
    }

    /// Creates a log-uniform range from `low` to `high`.
    #[must_use]
    pub fn log(low: impl Into<String>, high: impl Into<String>) -> Self {
        Self::Between(Between {
            low: SweepValue::Text(low.into()),
            high: SweepValue::Text(high.into()),
            scale: Scale::Log,
        })
    }

    /// Creates a range of these values, all equally likely.
    #[must_use]
    pub const fn one_of(values: Vec<SweepValue>) -> Self {
        Self::OneOf(OneOf { values })
    }
}

/// Validated range.
#[derive(Clone, Debug)]
pub(crate) enum Drawing {
    Between {
        quantity: Quantity,
        low: f64,
        high: f64,
        scale: Scale,
    },
    OneOf(Vec<SweepValue>),
}

/// Quantity and unit of the values of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    BitsPerSecond,
    Nanoseconds,
    Packets,
    Bytes,
    Millimetres,
    Share,
    Whole,
    Real,
}

impl Drawing {
    /// Checks the range for `key`.
    pub(crate) fn new(key: &str, range: &Range) -> Result<Self, EnvironmentError> {
        match range {
            Range::Between(between) => Self::between(key, between),
            Range::OneOf(OneOf { values }) if values.is_empty() => Err(EnvironmentError::setting(
                format!("ranges.\"{key}\".values"),
                "the list of values is empty",
                "add at least one value",
            )),
            Range::OneOf(OneOf { values }) => Ok(Self::OneOf(values.clone())),
        }
    }

    fn between(key: &str, between: &Between) -> Result<Self, EnvironmentError> {
        let place = |end: &str| format!("ranges.\"{key}\".{end}");
        let read = |end: &str, value: &SweepValue| {
            quantity(value).ok_or_else(|| {
                let message = format!("`{value}` is not a number with a unit, which an interval needs");
                let remedy = "write a value such as \"10Mbit/s\", \"20ms\", \"50pkt\", \"1%\" or 3; for words, use { values = [..] }";
                EnvironmentError::setting(place(end), message, remedy)
            })
        };
        let (quantity, low) = read("low", &between.low)?;
        let (other, high) = read("high", &between.high)?;
        if quantity != other {
            let message = format!("{} and {} have different units", between.low, between.high);
            return Err(EnvironmentError::setting(
                place("high"),
                message,
                "use the same unit for both",
            ));
        }
        if low > high {
            let message = format!("{} is greater than {}", between.low, between.high);
            return Err(EnvironmentError::setting(
                place("low"),
                message,
                "set low ≤ high",
            ));
        }
        if between.scale == Scale::Log && low <= 0.0 {
            let message = format!(
                "a logarithmic scale needs a minimum above 0, but low is {}",
                between.low
            );
            let remedy = "raise low above 0, or remove the scale";
            return Err(EnvironmentError::setting(place("low"), message, remedy));
        }
        Ok(Self::Between {
            quantity,
            low,
            high,
            scale: between.scale,
        })
    }

    /// Draws the value of `key` for the episode of `seed`.
    pub(crate) fn draw(&self, key: &str, seed: u64) -> SweepValue {
        let mut stream = Stream::derive(seed, &format!("range of {key}"));
        match self {
            Self::OneOf(values) => values[stream.below(values.len() as u64) as usize].clone(),
            Self::Between {
                quantity,
                low,
                high,
                scale,
            } => {
                let place = stream.unit();
                let drawn = match scale {
                    Scale::Linear => low + (high - low) * place,
                    Scale::Log => low * libm::pow(high / low, place),
                };
                quantity.value(drawn.clamp(*low, *high))
            }
        }
    }

    /// Returns possible values, including the extremes.
    pub(crate) fn extremes(&self) -> Vec<SweepValue> {
        match self {
            Self::OneOf(values) => values.clone(),
            Self::Between {
                quantity,
                low,
                high,
                ..
            } => vec![quantity.value(*low), quantity.value(*high)],
        }
    }
}

/// Returns a value as a number with its quantity.
fn quantity(value: &SweepValue) -> Option<(Quantity, f64)> {
    let text = match value {
        SweepValue::Text(text) => text,
        SweepValue::Integer(number) => return Some((Quantity::Whole, *number as f64)),
        SweepValue::Real(number) => {
            return number.is_finite().then_some((Quantity::Real, *number));
        }
        _ => return None,
    };
    if let Ok(share) = text.parse::<Probability>() {
        return Some((Quantity::Share, share.as_fraction()));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((Quantity::BitsPerSecond, rate.as_bits_per_second() as f64));
    }
    if let Ok(delay) = text.parse::<Delay>() {
        return Some((Quantity::Nanoseconds, delay.as_nanos() as f64));
    }
    if let Ok(bytes) = text.parse::<ByteCount>() {
        return Some((Quantity::Bytes, bytes.as_bytes() as f64));
    }
    if let Ok(dupack_lab::units::Buffer::Packets(packets)) = text.parse() {
        return Some((Quantity::Packets, packets.into()));
    }
    let metres = text.parse::<Distance>().ok()?;
    Some((Quantity::Millimetres, metres.as_metres() * 1000.0))
}

impl Quantity {
    /// Returns a number of this quantity as a value for the experiment. The number is rounded to the resolution of the
    /// value's text.
    fn value(self, number: f64) -> SweepValue {
        let whole = libm::round(number) as u64;
        let text = match self {
            Self::Whole => return SweepValue::Integer(libm::round(number) as i64),
            Self::Real => return SweepValue::Real(number),
            Self::BitsPerSecond => Rate::from_bits_per_second(whole).to_string(),
            Self::Nanoseconds => Delay::from_nanos(whole).to_string(),
            Self::Packets => format!("{whole}pkt"),
            Self::Bytes => format!("{whole}B"),
            Self::Millimetres => Distance::from_millimetres(whole).to_string(),
            Self::Share => {
                Probability::new(number).map_or_else(|_| "0".to_owned(), |p| p.to_string())
            }
        };
        SweepValue::Text(text)
    }
}

/// Displays keys and values, such as `path.rate = 5Mbit/s, path.loss = 1%`.
pub(crate) struct Drawn<'v>(pub(crate) &'v [(String, SweepValue)]);

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (n, (key, value)) in self.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{key} = {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing(low: &str, high: &str, scale: Scale) -> Result<Drawing, EnvironmentError> {
        let text = |text: &str| match text.parse() {
            Ok(number) => SweepValue::Integer(number),
            Err(_) => SweepValue::Text(text.to_owned()),
        };
        let range = Range::Between(Between {
            low: text(low),
            high: text(high),
            scale,
        });
        Drawing::new("path.x", &range)
    }

    fn numbers(drawing: &Drawing) -> Vec<f64> {
        let drawn = (0..2000).map(|seed| drawing.draw("path.x", seed));
        drawn.map(|value| quantity(&value).unwrap().1).collect()
    }

    #[test]
    fn drawn_values_cover_the_range() {
        for (low, high) in [
            ("1Mbit/s", "50Mbit/s"),
            ("5ms", "100ms"),
            ("10pkt", "400pkt"),
            ("15kB", "1MB"),
            ("0%", "5%"),
            ("1", "9"),
        ] {
            let drawing = drawing(low, high, Scale::Linear).unwrap();
            let Drawing::Between { low, high, .. } = drawing else {
                panic!("{drawing:?}");
            };
            let drawn = numbers(&drawing);
            assert!(drawn.iter().all(|n| (low..=high).contains(n)));
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            // The standard error of the mean is about 1/150 of the width of the range.
            assert!(
                (mean - (low + high) / 2.0).abs() < (high - low) / 30.0,
                "{mean}"
            );
        }
    }

    #[test]
    fn a_logarithmic_scale_is_log_uniform() {
        let drawing = drawing("1Mbit/s", "100Mbit/s", Scale::Log).unwrap();
        let drawn = numbers(&drawing);
        let below = drawn.iter().filter(|n| **n < 1e7).count();
        assert!((900..1100).contains(&below), "{below}");
    }

    #[test]
    fn different_keys_and_seeds_draw_different_values() {
        let drawing = drawing("5ms", "100ms", Scale::Linear).unwrap();
        assert_eq!(drawing.draw("a", 1), drawing.draw("a", 1));
        assert_ne!(drawing.draw("a", 1), drawing.draw("a", 2));
        assert_ne!(drawing.draw("a", 1), drawing.draw("b", 1));
    }

    #[test]
    fn invalid_ranges_are_errors_with_their_place() {
        for (low, high, scale, part) in [
            ("9ms", "5ms", Scale::Linear, "9ms is greater than 5ms"),
            ("5ms", "5Mbit/s", Scale::Linear, "different units"),
            (
                "slow",
                "5ms",
                Scale::Linear,
                "ranges.\"path.x\".low: `slow` is not a number",
            ),
            ("0ms", "5ms", Scale::Log, "but low is 0ms"),
        ] {
            let error = drawing(low, high, scale).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let nothing = Drawing::new("path.queue", &Range::one_of(Vec::new()));
        assert!(nothing.unwrap_err().to_string().contains("is empty"));
    }
}
