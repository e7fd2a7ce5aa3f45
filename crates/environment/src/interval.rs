//! Length of a step.

use core::fmt;
use core::str::FromStr;

use dupack_lab::units::Delay;
use dupack_tcp::time::Duration;
use serde::{Deserialize, Serialize};

/// Length of a step: the time between two actions of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Interval {
    /// A fixed time, such as `"10ms"`.
    Time(Duration),
    /// A multiple of the smoothed round-trip time of the agent's sender, such as `"rtt"` or `"0.5rtt"`. With several
    /// agents, the longest of their round-trip times is used. Before the first sample, a step lasts until the next ACK.
    RoundTrips(f64),
    /// A step lasts until an ACK arrives at an agent's sender, or until its retransmission timer expires: `"ack"`.
    Ack,
}

/// Permitted lengths of a step, in round-trip times.
const ROUND_TRIPS: core::ops::RangeInclusive<f64> = 0.01..=100.0;

impl FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "ack" {
            return Ok(Self::Ack);
        }
        if let Some(number) = text.strip_suffix("rtt") {
            let number = if number.is_empty() {
                "1"
            } else {
                number.trim_end()
            };
            return match number.parse() {
                Ok(number) if ROUND_TRIPS.contains(&number) => Ok(Self::RoundTrips(number)),
                _ => Err(format!(
                    "invalid interval `{text}`: expected 0.01 to 100 round trips, such as \"rtt\" or \"0.5rtt\""
                )),
            };
        }
        match text.parse::<Delay>() {
            Ok(time) if time.as_nanos() > 0 => {
                Ok(Self::Time(Duration::from_nanos(time.as_nanos())))
            }
            Ok(_) => Err(
                "an interval of 0 makes no progress: expected a time such as \"10ms\"".to_owned(),
            ),
            Err(error) => Err(format!(
                "{error}; expected a time (\"10ms\"), round trips (\"rtt\", \"0.5rtt\"), or \"ack\" for a step until the next ACK"
            )),
        }
    }
}

impl TryFrom<String> for Interval {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Interval> for String {
    fn from(interval: Interval) -> Self {
        interval.to_string()
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) => write!(f, "{}", Delay::from_nanos(time.as_nanos())),
            Self::RoundTrips(number) => write!(f, "{number}rtt"),
            Self::Ack => f.write_str("ack"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_parse_back() {
        for (text, interval) in [
            ("10ms", Interval::Time(Duration::from_millis(10))),
            ("1rtt", Interval::RoundTrips(1.0)),
            ("0.5rtt", Interval::RoundTrips(0.5)),
            ("ack", Interval::Ack),
        ] {
            assert_eq!(text.parse(), Ok(interval));
            assert_eq!(interval.to_string(), text);
        }
        assert_eq!("rtt".parse(), Ok(Interval::RoundTrips(1.0)));
    }

    #[test]
    fn invalid_intervals_are_refused() {
        for (text, part) in [
            ("0s", "makes no progress"),
            ("0rtt", "expected 0.01 to 100"),
            ("NaNrtt", "expected 0.01 to 100"),
            ("-1rtt", "expected 0.01 to 100"),
            ("soon", "until the next ACK"),
            ("10", "until the next ACK"),
        ] {
            let error = text.parse::<Interval>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
