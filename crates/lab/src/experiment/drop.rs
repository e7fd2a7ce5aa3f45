//! Loss scripts and their notation: `24-30`, `26#2`, `5 of 40-71`, `ack 3`, `ack 3-5`, `1.5s..2s`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::units::Delay;

/// One rule of a loss script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropRule {
    /// The given transmission of data packets `first..=last`, counted from 0 in stream order. Transmission 1 is the
    /// first.
    Data {
        /// First packet.
        first: u64,
        /// Last packet.
        last: u64,
        /// Number of the transmission that is lost.
        transmission: u32,
    },
    /// The first transmissions of `count` data packets out of `first..=last`. The run's seed chooses them independently
    /// for each flow. With the same seed, a smaller `count` chooses a subset of the packets of a larger one.
    Chosen {
        /// Number of packets.
        count: u64,
        /// First candidate packet.
        first: u64,
        /// Last candidate packet.
        last: u64,
    },
    /// ACKs `first..=last` of each flow, counted from 0 in the order in which they are sent.
    Ack {
        /// First ACK.
        first: u64,
        /// Last ACK.
        last: u64,
    },
    /// Every packet that enters the link at or after `from` and before `until`.
    Time {
        /// Start of the outage.
        from: Delay,
        /// End of the outage.
        until: Delay,
    },
}

/// Error in the text of a loss rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid loss rule `{text}`: {problem}; write `24`, `24-30`, `26#2` (second transmission), `5 \
     of 40-71` (at random), `ack 3`, or `1.5s..2s`"
)]
pub struct DropRuleError {
    text: String,
    problem: String,
}

impl FromStr for DropRule {
    type Err = DropRuleError;

    fn from_str(text: &str) -> Result<Self, DropRuleError> {
        let fail = |problem: String| DropRuleError {
            text: text.to_owned(),
            problem,
        };
        let trimmed = text.trim();
        if let Some((from, until)) = trimmed.split_once("..") {
            let parse = |t: &str| t.trim().parse::<Delay>().map_err(|e| fail(e.to_string()));
            let (from, until) = (parse(from)?, parse(until)?);
            if from >= until {
                return Err(fail("the time window is empty".to_owned()));
            }
            return Ok(Self::Time { from, until });
        }
        if let Some(rest) = trimmed.strip_prefix("ack") {
            let (first, last) = range(rest).map_err(fail)?;
            return Ok(Self::Ack { first, last });
        }
        let data = trimmed.strip_prefix("data").unwrap_or(trimmed);
        if let Some((count, among)) = data.split_once("of") {
            return chosen(count, among).map_err(fail);
        }
        let (numbers, transmission) = match data.split_once('#') {
            None => (data, 1),
            Some((numbers, nth)) => (numbers, nth_transmission(nth).map_err(fail)?),
        };
        let (first, last) = range(numbers).map_err(fail)?;
        Ok(Self::Data {
            first,
            last,
            transmission,
        })
    }
}

/// Maximum number of candidates of a random choice, because the choice shuffles all of them.
const CHOICE_MAX: u64 = 10_000;

fn chosen(count: &str, among: &str) -> Result<DropRule, String> {
    let count = count.trim();
    let (first, last) = range(among)?;
    let choice = last.saturating_sub(first).saturating_add(1);
    if choice > CHOICE_MAX {
        return Err(format!(
            "a choice is made among at most {CHOICE_MAX} packets"
        ));
    }
    match count.parse::<u64>() {
        Ok(0) => Err("it chooses 0 packets".to_owned()),
        Ok(wanted) if wanted > choice => Err(format!("{first}-{last} has only {choice} packets")),
        Ok(count) => Ok(DropRule::Chosen { count, first, last }),
        Err(_) => Err(format!("`{count}` is not a number of packets")),
    }
}

fn nth_transmission(text: &str) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(nth) if nth >= 1 => Ok(nth),
        _ => Err(format!(
            "`{}` is not the number of a transmission (the first is 1)",
            text.trim()
        )),
    }
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let number = |t: &str| {
        let t = t.trim();
        t.parse::<u64>()
            .map_err(|_| format!("`{t}` is not a packet number"))
    };
    let (first, last) = match text.split_once('-') {
        None => {
            let n = number(text)?;
            (n, n)
        }
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if first > last {
        return Err(format!("{first}-{last} is not an ascending range"));
    }
    Ok((first, last))
}

impl fmt::Display for DropRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = |f: &mut fmt::Formatter<'_>, first: u64, last: u64| {
            if first == last {
                write!(f, "{first}")
            } else {
                write!(f, "{first}-{last}")
            }
        };
        match *self {
            Self::Data {
                first,
                last,
                transmission,
            } => {
                span(f, first, last)?;
                if transmission > 1 {
                    write!(f, "#{transmission}")?;
                }
                Ok(())
            }
            Self::Chosen { count, first, last } => {
                write!(f, "{count} of ")?;
                span(f, first, last)
            }
            Self::Ack { first, last } => {
                f.write_str("ack ")?;
                span(f, first, last)
            }
            Self::Time { from, until } => write!(f, "{from}..{until}"),
        }
    }
}

impl Serialize for DropRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DropRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for DropRule {
    fn schema_name() -> Cow<'static, str> {
        "DropRule".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Loss rule: data packets (counted from 0), their n-th transmission, a random \
                 choice of data packets, ACKs, or a time span.",
            "examples": ["24-30", "26#2", "5 of 40-71", "ack 3", "1.5s..2s"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_parse_as_they_are_printed() {
        for text in [
            "24",
            "24-30",
            "26#2",
            "5 of 40-71",
            "1 of 7",
            "ack 3",
            "ack 3-9",
            "1500ms..2s",
        ] {
            let rule: DropRule = text.parse().unwrap();
            assert_eq!(
                rule.to_string().parse::<DropRule>().unwrap(),
                rule,
                "{text}"
            );
        }
        assert_eq!(
            "data 24-30".parse::<DropRule>().unwrap().to_string(),
            "24-30"
        );
    }

    #[test]
    fn invalid_text_is_rejected_with_a_correction() {
        for text in [
            "",
            "x",
            "9-3",
            "3#0",
            "ack",
            "2s..1s",
            "1..2s",
            "-",
            "3-",
            "99999999999999999999",
            "0 of 3-5",
            "4 of 3-5",
            "of 3-5",
            "2 of",
            "x of 3-5",
            "1 of 0-10000",
            "1 of 0-18446744073709551615",
        ] {
            let error = text.parse::<DropRule>().unwrap_err().to_string();
            assert!(error.contains("24-30"), "{text}: {error}");
        }
    }
}
