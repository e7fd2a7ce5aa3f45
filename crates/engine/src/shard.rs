//! Which part of an experiment's runs: the third of 64, for example.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One of the parts into which the runs of an experiment are split, each to be done by itself, wherever
/// that is. It is written `3/64`: the third of 64.
///
/// ```
/// use dupack_engine::Shard;
///
/// let shard: Shard = "3/64".parse().unwrap();
/// assert_eq!((shard.index(), shard.of()), (3, 64));
/// assert_eq!(shard.to_string(), "3/64");
/// assert!("0/64".parse::<Shard>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// From 1 on.
    index: u32,
    of: u32,
}

/// Why something is no shard.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShardError {
    /// It does not look like one.
    #[error("`{text}` is no shard: write which one of how many, such as 3/64")]
    Form {
        /// What it is.
        text: String,
    },
    /// A number of shards that cannot be.
    #[error(
        "an experiment is split into 1 to {} shards, not into {of}",
        Shard::MOST
    )]
    Number {
        /// How many there were to be.
        of: u64,
    },
    /// One that is not among so many.
    #[error("there is no shard {index} of {of}: they are 1/{of} to {of}/{of}")]
    Index {
        /// Which one.
        index: u64,
        /// How many there are.
        of: u64,
    },
}

impl Shard {
    /// The most shards of an experiment: more runs than that have other needs.
    pub const MOST: u32 = 100_000;

    /// The shard `index`, from 1 on, of so many.
    ///
    /// # Errors
    /// If there is none.
    pub fn new(index: u64, of: u64) -> Result<Self, ShardError> {
        if !(1..=u64::from(Self::MOST)).contains(&of) {
            return Err(ShardError::Number { of });
        }
        if !(1..=of).contains(&index) {
            return Err(ShardError::Index { index, of });
        }
        let [index, of] = [index, of].map(|number| number as u32);
        Ok(Self { index, of })
    }

    /// All shards of so many, in their order.
    pub fn all(of: u32) -> impl Iterator<Item = Self> {
        (1..=of).map(move |index| Self { index, of })
    }

    /// Which one it is, from 1 on.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// How many there are.
    #[must_use]
    pub const fn of(self) -> u32 {
        self.of
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `parse` alone would take `+3`.
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<u64>().ok(),
            false => None,
        };
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(index, of)| Some((number(index)?, number(of)?)));
        let Some((index, of)) = numbers else {
            let text = text.to_owned();
            return Err(ShardError::Form { text });
        };
        Self::new(index, of)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_was_read() {
        for text in ["1/1", "3/64", "100000/100000"] {
            let shard: Shard = text.parse().unwrap();
            assert_eq!(shard.to_string(), text);
            let json = serde_json::to_string(&shard).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Shard>(&json).unwrap(), shard);
        }
        let all: Vec<String> = Shard::all(3).map(|shard| shard.to_string()).collect();
        assert_eq!(all, ["1/3", "2/3", "3/3"]);
    }

    #[test]
    fn what_is_none_says_what_one_is() {
        for (text, says) in [
            ("a", "such as 3/64"),
            ("", "such as 3/64"),
            ("3", "such as 3/64"),
            ("3/", "such as 3/64"),
            ("/4", "such as 3/64"),
            ("-1/4", "such as 3/64"),
            ("1/-4", "such as 3/64"),
            ("+1/4", "such as 3/64"),
            (" 1/4", "such as 3/64"),
            ("1/4/5", "such as 3/64"),
            ("1.5/4", "such as 3/64"),
            ("99999999999999999999/4", "such as 3/64"),
            ("0/4", "they are 1/4 to 4/4"),
            ("5/4", "they are 1/4 to 4/4"),
            ("1/0", "1 to 100000 shards, not into 0"),
            ("1/100001", "not into 100001"),
        ] {
            let error = text.parse::<Shard>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(serde_json::from_str::<Shard>(&format!("\"{text}\"")).is_err());
        }
    }
}
