//! Shards: numbered parts of an experiment's runs, such as part 3 of 64.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Part of an experiment's runs that is performed separately, on any machine. `3/64` is part 3 of 64.
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
    /// Number of the shard, counted from 1.
    index: u32,
    of: u32,
}

/// Error in the text or the numbers of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShardError {
    /// The text is not of the form `3/64`.
    #[error("invalid shard `{text}`: write its number and the number of shards, such as 3/64")]
    Form {
        /// The text.
        text: String,
    },
    /// The number of shards is out of range.
    #[error(
        "an experiment is split into 1 to {} shards, not into {of}",
        Shard::MOST
    )]
    Number {
        /// The number of shards.
        of: u64,
    },
    /// The number of the shard is out of range.
    #[error("there is no shard {index} of {of}: the shards are 1/{of} to {of}/{of}")]
    Index {
        /// The number of the shard.
        index: u64,
        /// The number of shards.
        of: u64,
    },
}

impl Shard {
    /// Maximum number of shards of an experiment.
    pub const MOST: u32 = 100_000;

    /// Creates the shard `index`, counted from 1, of `of` shards.
    ///
    /// # Errors
    /// If either number is out of range.
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

    /// Returns all `of` shards in order.
    pub fn all(of: u32) -> impl Iterator<Item = Self> {
        (1..=of).map(move |index| Self { index, of })
    }

    /// Returns the number of the shard, counted from 1.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }

    /// Returns the number of shards.
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
        // The digits are checked because `parse` would accept `+3`.
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
    fn shards_are_written_as_they_are_read() {
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
    fn errors_explain_valid_shards() {
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
            ("0/4", "the shards are 1/4 to 4/4"),
            ("5/4", "the shards are 1/4 to 4/4"),
            ("1/0", "1 to 100000 shards, not into 0"),
            ("1/100001", "not into 100001"),
        ] {
            let error = text.parse::<Shard>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(serde_json::from_str::<Shard>(&format!("\"{text}\"")).is_err());
        }
    }
}
