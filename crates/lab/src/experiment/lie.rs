//! Misbehaving receivers and their notation: `none`, `divide 8`, `optimistic 20pkt`, `sack 20pkt`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use dupack_net::misbehaviour::MOST_PIECES;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::units::Buffer;

/// Misbehaviour of a receiver that makes the sender send faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lie {
    /// Honest receiver.
    None,
    /// Splits each ACK for new data into this many ACKs.
    Divide(u32),
    /// Acknowledges up to this much data beyond the received data, even lost data.
    Optimistic(Buffer),
    /// Reports up to this much data beyond the received data by SACK while there is a gap.
    Sack(Buffer),
}

/// Error in the text of a [`Lie`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid receiver lie `{text}`: {problem}; write `none`, `divide 8` (each ACK in 8 parts), \
     `optimistic 20pkt` (ACKs of data that has not arrived) or `sack 20pkt` (SACK blocks of data \
     that has not arrived)"
)]
pub struct LieError {
    text: String,
    problem: String,
}

impl FromStr for Lie {
    type Err = LieError;

    fn from_str(text: &str) -> Result<Self, LieError> {
        let fail = |problem: &str| LieError {
            text: text.to_owned(),
            problem: problem.to_owned(),
        };
        let trimmed = text.trim();
        if trimmed == "none" {
            return Ok(Self::None);
        }
        let Some((kind, amount)) = trimmed.split_once(char::is_whitespace) else {
            return Err(fail("expected a kind and an amount"));
        };
        let bytes = || {
            let amount = amount.trim().parse::<Buffer>();
            amount.map_err(|x| fail(&x.to_string()))
        };
        match kind {
            "divide" => match amount.trim().parse::<u32>() {
                Ok(pieces) if (2..=MOST_PIECES).contains(&pieces) => Ok(Self::Divide(pieces)),
                _ => Err(fail(&format!(
                    "an ACK is divided into 2 to {MOST_PIECES} parts"
                ))),
            },
            "optimistic" => Ok(Self::Optimistic(bytes()?)),
            "sack" => Ok(Self::Sack(bytes()?)),
            _ => Err(fail("unknown kind")),
        }
    }
}

impl fmt::Display for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Divide(pieces) => write!(f, "divide {pieces}"),
            Self::Optimistic(ahead) => write!(f, "optimistic {ahead}"),
            Self::Sack(ahead) => write!(f, "sack {ahead}"),
        }
    }
}

impl Serialize for Lie {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Lie {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Lie {
    fn schema_name() -> Cow<'static, str> {
        "Lie".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Misbehaviour of a receiver: none, divided ACKs, or ACKs or SACK blocks of data \
                 that has not arrived.",
            "examples": ["none", "divide 8", "optimistic 20pkt", "sack 20pkt"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lies_parse_as_they_are_printed() {
        for text in ["none", "divide 8", "optimistic 20pkt", "sack 3000B"] {
            let lie: Lie = text.parse().unwrap();
            assert_eq!(lie.to_string().parse::<Lie>().unwrap(), lie, "{text}");
        }
    }

    #[test]
    fn invalid_text_is_rejected_with_a_correction() {
        for text in [
            "",
            "no",
            "divide",
            "divide 1",
            "divide 65",
            "divide x",
            "optimistic",
            "optimistic 20",
            "sack -1pkt",
            "white 3pkt",
        ] {
            let error = text.parse::<Lie>().unwrap_err().to_string();
            assert!(error.contains("divide 8"), "{text}: {error}");
        }
    }
}
