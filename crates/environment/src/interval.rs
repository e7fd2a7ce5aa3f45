//! How long a step is.

use core::fmt;
use core::str::FromStr;

use dupack_lab::units::Delay;
use dupack_tcp::time::Duration;
use serde::{Deserialize, Serialize};

/// How long a step is: how often an agent acts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Interval {
    /// The same time always: `"10ms"`.
    Time(Duration),
    /// So many smoothed round-trip times as the agent's sender measures them; of several agents, the longest
    /// counts. Before there is a sample, until the first ACK: `"rtt"`, `"0.5rtt"`.
    RoundTrips(f64),
    /// Until an ACK reaches an agent's sender, or its retransmission timer expires: `"ack"`.
    Ack,
}

/// Round trips that a step may last.
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
                    "a step of `{text}` is not from 0.01 to 100 round trips; for example \"rtt\" or \"0.5rtt\""
                )),
            };
        }
        match text.parse::<Delay>() {
            Ok(time) if time.as_nanos() > 0 => {
                Ok(Self::Time(Duration::from_nanos(time.as_nanos())))
            }
            Ok(_) => Err("a step of no time never ends; for example \"10ms\"".to_owned()),
            Err(error) => Err(format!(
                "{error}; a step lasts a time (\"10ms\"), round trips (\"rtt\", \"0.5rtt\") or until an ACK (\"ack\")"
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
    fn a_step_is_read_as_it_is_written() {
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
    fn a_step_that_cannot_be_says_why() {
        for (text, part) in [
            ("0s", "never ends"),
            ("0rtt", "not from 0.01 to 100"),
            ("NaNrtt", "not from 0.01 to 100"),
            ("-1rtt", "not from 0.01 to 100"),
            ("soon", "until an ACK"),
            ("10", "until an ACK"),
        ] {
            let error = text.parse::<Interval>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
