//! Losses by list, as one writes them: `24-30`, `26#2`, `5 of 40-71`, `ack 3`, `ack 3-5`,
//! `1.5s..2s`.

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
    /// Data packets `first..=last`, counted from 0 in the order of the stream, in their `nth`
    /// transmission (1 is the first).
    Data {
        /// First packet.
        first: u64,
        /// Last packet.
        last: u64,
        /// Which transmission of each.
        transmission: u32,
    },
    /// The first transmissions of `count` data packets out of `first..=last`, chosen at random
    /// by the run's seed, for each flow anew. With the same seed a smaller `count` chooses a
    /// part of what a larger one does.
    Chosen {
        /// How many packets.
        count: u64,
        /// First packet that may be chosen.
        first: u64,
        /// Last packet that may be chosen.
        last: u64,
    },
    /// ACKs `first..=last` of each flow, counted from 0 as they are sent.
    Ack {
        /// First ACK.
        first: u64,
        /// Last ACK.
        last: u64,
    },
    /// Every packet that enters the link from `from` up to but not including `until`.
    Time {
        /// Start of the outage.
        from: Delay,
        /// Its end.
        until: Delay,
    },
}

/// What is wrong with the text of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no loss rule: {problem}; write `24`, `24-30`, `26#2` (second transmission), `5 of 40-71` (at random), `ack 3`, or `1.5s..2s`"
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

/// The most packets that a random choice may be made among: every one takes part in it.
const CHOICE_MAX: u64 = 10_000;

fn chosen(count: &str, among: &str) -> Result<DropRule, String> {
    let count = count.trim();
    let (first, last) = range(among)?;
    let choice = last.saturating_sub(first).saturating_add(1);
    if choice > CHOICE_MAX {
        return Err(format!("the most packets to choose from is {CHOICE_MAX}"));
    }
    match count.parse::<u64>() {
        Ok(0) => Err("it chooses nothing".to_owned()),
        Ok(wanted) if wanted > choice => {
            Err(format!("there are only {choice} packets in {first}-{last}"))
        }
        Ok(count) => Ok(DropRule::Chosen { count, first, last }),
        Err(_) => Err(format!("`{count}` is no number of packets")),
    }
}

fn nth_transmission(text: &str) -> Result<u32, String> {
    match text.trim().parse::<u32>() {
        Ok(nth) if nth >= 1 => Ok(nth),
        _ => Err(format!(
            "`{}` is no transmission (the first is 1)",
            text.trim()
        )),
    }
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let number = |t: &str| {
        let t = t.trim();
        t.parse::<u64>()
            .map_err(|_| format!("`{t}` is no packet number"))
    };
    let (first, last) = match text.split_once('-') {
        None => {
            let n = number(text)?;
            (n, n)
        }
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if first > last {
        return Err(format!("{first}-{last} runs backwards"));
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
            "description": "Losses by list: data packets (from 0), their n-th transmission, some of them at random, ACKs, or a span of time.",
            "examples": ["24-30", "26#2", "5 of 40-71", "ack 3", "1.5s..2s"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_read_back_as_they_are_written() {
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
    fn nonsense_is_refused_with_the_remedy() {
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
