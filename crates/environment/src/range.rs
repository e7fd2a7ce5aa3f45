//! What of an experiment is drawn for every episode (domain randomisation).
//!
//! A range stands for a key of the experiment, as a sweep names it: `path.rate`, `path.delay`, `path.buffer`,
//! `path.loss`, `flows.1.start`, `path.burst_loss.enter`, … What is drawn depends on the episode's seed and on the key
//! alone, so that another range more or less changes no other.

use core::fmt;

use dupack_lab::experiment::SweepValue;
use dupack_lab::units::{ByteCount, Delay, Distance, Probability, Rate};
use dupack_net::random::Stream;
use serde::{Deserialize, Serialize};

use crate::error::EnvironmentError;

/// Values of which one is drawn for every episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected { low = .., high = .. }, with scale = \"log\" or without, or { values = [..] }"
)]
#[non_exhaustive]
pub enum Range {
    /// Between two values.
    Between(Between),
    /// One of a list.
    OneOf(OneOf),
}

/// Two values of one unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Between {
    /// The least.
    pub low: SweepValue,
    /// The most.
    pub high: SweepValue,
    /// How what lies between them is drawn.
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

/// How what lies between two values is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scale {
    /// All values are equally likely.
    #[default]
    Linear,
    /// All factors are: as many from 1 to 10 as from 10 to 100.
    Log,
}

impl Range {
    /// From `low` to `high`, all values equally likely.
    #[must_use]
    pub fn between(low: impl Into<String>, high: impl Into<String>) -> Self {
        Self::Between(Between {
            low: SweepValue::Text(low.into()),
            high: SweepValue::Text(high.into()),
            scale: Scale::Linear,
        })
    }

    /// From `low` to `high`, all factors equally likely.
    #[must_use]
    pub fn log(low: impl Into<String>, high: impl Into<String>) -> Self {
        Self::Between(Between {
            low: SweepValue::Text(low.into()),
            high: SweepValue::Text(high.into()),
            scale: Scale::Log,
        })
    }

    /// One of these, all equally likely.
    #[must_use]
    pub const fn one_of(values: Vec<SweepValue>) -> Self {
        Self::OneOf(OneOf { values })
    }
}

/// A range that has been checked.
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

/// In what a range counts.
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
                "a list without values has none to draw",
                "name at least one",
            )),
            Range::OneOf(OneOf { values }) => Ok(Self::OneOf(values.clone())),
        }
    }

    fn between(key: &str, between: &Between) -> Result<Self, EnvironmentError> {
        let place = |end: &str| format!("ranges.\"{key}\".{end}");
        let read = |end: &str, value: &SweepValue| {
            quantity(value).ok_or_else(|| {
                let message = format!("`{value}` is no quantity between which and another one could be drawn");
                let remedy = "for example \"10Mbit/s\", \"20ms\", \"50pkt\", \"1%\" or 3; of words, { values = [..] }";
                EnvironmentError::setting(place(end), message, remedy)
            })
        };
        let (quantity, low) = read("low", &between.low)?;
        let (other, high) = read("high", &between.high)?;
        if quantity != other {
            let message = format!("{} and {} are not of one unit", between.low, between.high);
            return Err(EnvironmentError::setting(
                place("high"),
                message,
                "give both in the same unit",
            ));
        }
        if low > high {
            let message = format!("{} is more than {}", between.low, between.high);
            return Err(EnvironmentError::setting(
                place("low"),
                message,
                "low ≤ high",
            ));
        }
        if between.scale == Scale::Log && low <= 0.0 {
            let message = format!(
                "on a logarithmic scale there is nothing as low as {}",
                between.low
            );
            let remedy = "raise it above 0, or leave the scale out";
            return Err(EnvironmentError::setting(place("low"), message, remedy));
        }
        Ok(Self::Between {
            quantity,
            low,
            high,
            scale: between.scale,
        })
    }

    /// What is drawn for `key` in the episode of `seed`.
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

    /// Values that an episode may have, the extreme ones among them.
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

/// A value as a number, and in what it counts.
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
    /// A number of it as an experiment has it, rounded to what can be written.
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

/// Keys and values in words: `path.rate = 5Mbit/s, path.loss = 1%`.
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
    fn what_is_drawn_lies_between_the_ends_and_all_over() {
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
            // The standard error is a 150th of the width.
            assert!(
                (mean - (low + high) / 2.0).abs() < (high - low) / 30.0,
                "{mean}"
            );
        }
    }

    #[test]
    fn on_a_logarithmic_scale_factors_are_equally_likely() {
        let drawing = drawing("1Mbit/s", "100Mbit/s", Scale::Log).unwrap();
        let drawn = numbers(&drawing);
        let below = drawn.iter().filter(|n| **n < 1e7).count();
        assert!((900..1100).contains(&below), "{below}");
    }

    #[test]
    fn another_key_or_seed_draws_another_value() {
        let drawing = drawing("5ms", "100ms", Scale::Linear).unwrap();
        assert_eq!(drawing.draw("a", 1), drawing.draw("a", 1));
        assert_ne!(drawing.draw("a", 1), drawing.draw("a", 2));
        assert_ne!(drawing.draw("a", 1), drawing.draw("b", 1));
    }

    #[test]
    fn ranges_that_cannot_be_say_where() {
        for (low, high, scale, part) in [
            ("9ms", "5ms", Scale::Linear, "9ms is more than 5ms"),
            ("5ms", "5Mbit/s", Scale::Linear, "not of one unit"),
            (
                "slow",
                "5ms",
                Scale::Linear,
                "ranges.\"path.x\".low: `slow` is no quantity",
            ),
            ("0ms", "5ms", Scale::Log, "nothing as low as 0ms"),
        ] {
            let error = drawing(low, high, scale).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let nothing = Drawing::new("path.queue", &Range::one_of(Vec::new()));
        assert!(
            nothing
                .unwrap_err()
                .to_string()
                .contains("has none to draw")
        );
    }
}
