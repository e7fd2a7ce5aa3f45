//! Parameters as data: their specifications, values as text, and sets of values by name.
//!
//! The command line, the experiment files and the documentation use these types, so they do not depend on individual
//! algorithms. An algorithm reads its own parameters from a struct ([`typed`](super::typed)), whose fields define these
//! specifications.

use core::error::Error;
use core::fmt;

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dupack_tcp::time::Duration;

use super::dialect::Dialect;
use super::nearest::nearest;

/// Text of the catalog: either a constant, or created at run time by the program that registers an algorithm.
pub type Text = Cow<'static, str>;

/// Value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One word of a list.
    Choice(Text),
    /// Whole number.
    Integer(u64),
    /// Real number.
    Real(f64),
    /// Duration.
    Time(Duration),
}

impl Value {
    /// Returns the value of a choice.
    #[must_use]
    pub const fn word(word: &'static str) -> Self {
        Self::Choice(Cow::Borrowed(word))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(word) => f.write_str(word),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Time(span) => write!(f, "{span}"),
        }
    }
}

/// Permitted word of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word, as written in a stack.
    pub word: Text,
    /// Meaning of the word, in one line.
    pub meaning: Text,
}

impl Word {
    /// Returns a word with its meaning.
    #[must_use]
    pub const fn new(word: &'static str, meaning: &'static str) -> Self {
        Self {
            word: Cow::Borrowed(word),
            meaning: Cow::Borrowed(meaning),
        }
    }
}

/// Kind of the values of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// One of these words.
    Choice(Cow<'static, [Word]>),
    /// Whole number within these bounds, in this unit.
    Integer {
        /// Minimum value.
        min: u64,
        /// Maximum value.
        max: u64,
        /// Unit in words ("segments"), or empty for a dimensionless number.
        unit: Text,
    },
    /// Real number within these bounds, in this unit.
    Real {
        /// Minimum value.
        min: f64,
        /// Maximum value.
        max: f64,
        /// Unit in words, or empty for a dimensionless number.
        unit: Text,
    },
    /// Duration, written with its unit ("200ms").
    Time,
}

impl Kind {
    /// Reads a value of this kind.
    ///
    /// # Errors
    /// If the text is not a value of this kind. The error states which values are valid.
    pub fn parse(&self, text: &str) -> Result<Value, ValueError> {
        let value = match self {
            Self::Choice(words) => words
                .iter()
                .find(|known| known.word == text)
                .map(|known| Value::Choice(known.word.clone())),
            Self::Integer { min, max, .. } => text
                .parse()
                .ok()
                .filter(|number| (min..=max).contains(&number))
                .map(Value::Integer),
            Self::Real { min, max, .. } => text
                .parse()
                .ok()
                .filter(|number| (min..=max).contains(&number))
                .map(Value::Real),
            Self::Time => span(text).map(Value::Time),
        };
        value.ok_or_else(|| ValueError {
            text: text.to_owned(),
            kind: self.clone(),
        })
    }

    /// Returns `true` if `value` is of this kind and within its bounds.
    #[must_use]
    pub fn admits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Choice(words), Value::Choice(word)) => words.iter().any(|w| w.word == *word),
            (Self::Integer { min, max, .. }, Value::Integer(number)) => {
                (min..=max).contains(&number)
            }
            (Self::Real { min, max, .. }, Value::Real(number)) => (min..=max).contains(&number),
            (Self::Time, Value::Time(_)) => true,
            (Self::Choice(_) | Self::Integer { .. } | Self::Real { .. } | Self::Time, _) => false,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(words) => {
                for (i, known) in words.iter().enumerate() {
                    let separator = match i {
                        0 => "",
                        i if i + 1 == words.len() => " or ",
                        _ => ", ",
                    };
                    write!(f, "{separator}`{}`", known.word)?;
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

/// Parses a duration, exact to the nanosecond; `None` if it cannot be represented exactly.
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

/// Error: the text is not a valid value of the parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueError {
    /// Text that was given.
    pub text: String,
    /// Kind of the values of the parameter.
    pub kind: Kind,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.is_empty() {
            write!(f, "missing value: expected {}", self.kind)?;
        } else {
            write!(f, "invalid value `{}`: expected {}", self.text, self.kind)?;
        }
        if let Kind::Choice(words) = &self.kind
            && let Some(word) = nearest(&self.text, words.iter().map(|known| &*known.word))
        {
            write!(f, "; did you mean `{word}`?")?;
        }
        Ok(())
    }
}

impl Error for ValueError {}

/// Defaults of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Defaults {
    /// Default in the dialect `rfc`.
    pub rfc: Value,
    /// Default in the dialect `linux`.
    pub linux: Value,
    /// Default in the dialect `ns2`.
    pub ns2: Value,
}

impl Defaults {
    /// Returns defaults that are the same in every dialect.
    #[must_use]
    pub fn same(value: Value) -> Self {
        Self {
            rfc: value.clone(),
            linux: value.clone(),
            ns2: value,
        }
    }

    /// Returns the default in `dialect`.
    #[must_use]
    pub const fn of(&self, dialect: Dialect) -> &Value {
        match dialect {
            Dialect::Rfc => &self.rfc,
            Dialect::Linux => &self.linux,
            Dialect::Ns2 => &self.ns2,
        }
    }
}

/// Specification of a parameter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ParameterSpec {
    /// Name, as in `newreno(full_ack=alg2)`.
    pub name: Text,
    /// Description in one line.
    pub doc: Text,
    /// Source of the default.
    pub source: Text,
    /// Kind of the values.
    pub kind: Kind,
    /// Default value by dialect.
    pub default: Defaults,
    /// Level of the parameter.
    pub level: Level,
}

/// Level of a parameter. Lists of parameters show the basic ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Parameter that users change in practice.
    Basic,
    /// Parameter that users rarely change: a detail of a paper, an RFC or a dialect.
    Advanced,
}

impl ParameterSpec {
    /// Creates a basic specification at run time.
    #[must_use]
    pub fn new(name: impl Into<Text>, kind: Kind, default: Defaults) -> Self {
        Self {
            name: name.into(),
            doc: Text::default(),
            source: Text::default(),
            kind,
            default,
            level: Level::Basic,
        }
    }

    /// Sets the description, in one line, and the source of the default.
    #[must_use]
    pub fn documented(self, doc: impl Into<Text>, source: impl Into<Text>) -> Self {
        Self {
            doc: doc.into(),
            source: source.into(),
            ..self
        }
    }
}

/// Effective parameters of one algorithm: a valid value for each specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    specs: Arc<[ParameterSpec]>,
    values: Vec<Value>,
}

impl Values {
    /// Returns the defaults of `specs` in `dialect`.
    #[must_use]
    pub fn defaults(specs: &Arc<[ParameterSpec]>, dialect: Dialect) -> Self {
        let values = specs.iter().map(|s| s.default.of(dialect).clone());
        Self {
            values: values.collect(),
            specs: Arc::clone(specs),
        }
    }

    /// Sets the parameter `name` to `value`.
    ///
    /// # Errors
    /// If there is no such parameter, or if the value is invalid.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), SetError> {
        let Some(index) = self.specs.iter().position(|spec| spec.name == name) else {
            return Err(SetError::NoParameter(name.to_owned()));
        };
        if !self.specs[index].kind.admits(&value) {
            return Err(SetError::NotAdmitted {
                name: name.to_owned(),
                value,
                kind: self.specs[index].kind.clone(),
            });
        }
        self.values[index] = value;
        Ok(())
    }

    /// Returns the value of the parameter `name`, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter()
            .find(|(spec, _)| spec.name == name)
            .map(|(_, value)| value)
    }

    /// Returns the values, in the order of the specifications.
    pub(super) fn as_slice(&self) -> &[Value] {
        &self.values
    }

    /// Returns the parameters and their values, in the order of the specifications.
    pub fn iter(&self) -> impl Iterator<Item = (&ParameterSpec, &Value)> + '_ {
        self.specs.iter().zip(&self.values)
    }
}

/// Error: a parameter cannot be set to a value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SetError {
    /// There is no parameter of this name.
    NoParameter(String),
    /// The value is invalid for the parameter.
    NotAdmitted {
        /// Name of the parameter.
        name: String,
        /// Value that was given.
        value: Value,
        /// Kind of the values of the parameter.
        kind: Kind,
    },
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoParameter(name) => write!(f, "there is no parameter `{name}`"),
            Self::NotAdmitted { name, value, kind } => {
                write!(f, "{name}: invalid value `{value}`: expected {kind}")
            }
        }
    }
}

impl Error for SetError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

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
            unit: "".into(),
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
