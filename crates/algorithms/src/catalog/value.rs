//! Values of parameters as text: reading them by their kind, and saying what a kind takes.

use std::error::Error;
use std::fmt;

use dupack_tcp::time::Duration;

use super::spec::{Kind, Value};

/// Text that is no value of its parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueError {
    /// The text.
    pub text: String,
    /// What the parameter takes.
    pub kind: Kind,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            write!(f, "no value is given: write {}", self.kind)?;
        } else {
            write!(f, "`{}` is no such value: write {}", self.text, self.kind)?;
        }
        if let Kind::Choice(words) = self.kind
            && let Some(word) = nearest(&self.text, words.iter().map(|(word, _)| *word))
        {
            write!(f, "; did you mean `{word}`?")?;
        }
        Ok(())
    }
}

impl Error for ValueError {}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(words) => {
                for (i, (word, _)) in words.iter().enumerate() {
                    let separator = match i {
                        0 => "",
                        i if i + 1 == words.len() => " or ",
                        _ => ", ",
                    };
                    write!(f, "{separator}`{word}`")?;
                }
                Ok(())
            }
            Self::Integer { min, max, unit } => {
                write!(f, "a whole number from {min} to {max}")?;
                in_unit(f, unit)
            }
            Self::Real { min, max, unit } => {
                write!(f, "a number from {min} to {max}")?;
                in_unit(f, unit)
            }
            Self::Time => f.write_str("a time with its unit, such as `200ms`, `50us` or `1.5s`"),
        }
    }
}

fn in_unit(f: &mut fmt::Formatter<'_>, unit: &str) -> fmt::Result {
    if unit.is_empty() {
        Ok(())
    } else {
        write!(f, " ({unit})")
    }
}

impl Kind {
    /// Reads a value of this kind.
    ///
    /// # Errors
    /// If the text is not one: it says what to write instead.
    pub fn parse(self, text: &str) -> Result<Value, ValueError> {
        let value = match self {
            Self::Choice(words) => words
                .iter()
                .find(|(word, _)| *word == text)
                .map(|(word, _)| Value::Choice(word)),
            Self::Integer { min, max, .. } => text
                .parse()
                .ok()
                .filter(|number| (min..=max).contains(number))
                .map(Value::Integer),
            Self::Real { min, max, .. } => text
                .parse()
                .ok()
                .filter(|number| (min..=max).contains(number))
                .map(Value::Real),
            Self::Time => span(text).map(Value::Time),
        };
        value.ok_or_else(|| ValueError {
            text: text.to_owned(),
            kind: self,
        })
    }

    /// Whether `value` is of this kind and within its bounds.
    #[must_use]
    pub fn admits(self, value: Value) -> bool {
        match (self, value) {
            (Self::Choice(words), Value::Choice(word)) => words.iter().any(|(w, _)| *w == word),
            (Self::Integer { min, max, .. }, Value::Integer(number)) => {
                (min..=max).contains(&number)
            }
            (Self::Real { min, max, .. }, Value::Real(number)) => (min..=max).contains(&number),
            (Self::Time, Value::Time(_)) => true,
            _ => false,
        }
    }
}

/// A span of time, exact to the nanosecond; nothing if it cannot be held exactly.
fn span(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let scale: u64 = match unit.trim_start() {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut nanos = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let mut place = scale;
    for digit in fraction.bytes() {
        let digit = u64::from(digit.checked_sub(b'0').filter(|d| *d < 10)?);
        if !place.is_multiple_of(10) && digit > 0 {
            return None;
        }
        place /= 10;
        nanos = nanos.checked_add(digit * place)?;
    }
    Some(Duration::from_nanos(nanos))
}

/// The candidate that `text` is most likely a misspelling of, if it is like any.
pub(super) fn nearest<'a>(
    text: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = text.to_lowercase();
    candidates
        .map(|candidate| (strsim::jaro_winkler(&lower, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_exact_or_refused() {
        let nanos = |text| span(text).map(Duration::as_nanos);
        assert_eq!(nanos("200ms"), Some(200_000_000));
        assert_eq!(nanos("1.5s"), Some(1_500_000_000));
        assert_eq!(nanos("0.05 ms"), Some(50_000));
        assert_eq!(nanos("7ns"), Some(7));
        assert_eq!(nanos("1.50ns"), None);
        assert_eq!(nanos("1.0ns"), Some(1));
        for bad in [
            "",
            "ms",
            "200",
            "1..5s",
            "-1s",
            "1e3s",
            "99999999999s",
            ".5s",
            "1h",
        ] {
            assert_eq!(nanos(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_kind_reads_what_it_prints() {
        let real = Kind::Real {
            min: 0.0,
            max: 1e9,
            unit: "",
        };
        for value in [0.25, 1.0 / 3.0, 1e9, 1e-7] {
            let value = Value::Real(value);
            assert_eq!(real.parse(&value.to_string()), Ok(value));
        }
        for nanos in [0, 1, 1500, 2_000_000, 3_000_000_000] {
            let value = Value::Time(Duration::from_nanos(nanos));
            assert_eq!(Kind::Time.parse(&value.to_string()), Ok(value));
        }
        for bad in ["NaN", "inf", "-1", "1e10", "x"] {
            assert!(real.parse(bad).is_err(), "{bad}");
        }
    }
}
