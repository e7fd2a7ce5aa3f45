//! What an algorithm says about itself: its entry in the catalog, its parameters, and what it
//! asks of the receiver.
//!
//! Each algorithm's file ends with its [`Entry`]. Parameters are plain data, so that the command
//! line, the experiment files and the documentation need to know nothing of any algorithm.

use core::fmt;

use alloc::boxed::Box;
use alloc::vec::Vec;

use dupack_tcp::time::Duration;

pub use super::dialect::Dialect;
pub use super::needs::Needs;

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// One of a list of words.
    Choice(&'static str),
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A span of time.
    Time(Duration),
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

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// One of these words, each with what it means.
    Choice(&'static [(&'static str, &'static str)]),
    /// A whole number within these bounds, in this unit.
    Integer {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
        /// Unit in words ("segments"), or empty for a pure number.
        unit: &'static str,
    },
    /// A real number within these bounds, in this unit.
    Real {
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
        /// Unit in words, or empty for a pure number.
        unit: &'static str,
    },
    /// A span of time, written with its unit ("200ms").
    Time,
}

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct ParameterSpec {
    /// Its name in `newreno(full_ack=alg2)`.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Where its default comes from.
    pub source: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Its value when nothing is said, by dialect.
    pub default: Defaults,
}

/// A parameter's defaults.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// In the dialect `rfc`.
    pub rfc: Value,
    /// In the dialect `linux`.
    pub linux: Value,
    /// In the dialect `ns2`.
    pub ns2: Value,
}

impl Defaults {
    /// The same in every dialect.
    #[must_use]
    pub const fn same(value: Value) -> Self {
        Self {
            rfc: value,
            linux: value,
            ns2: value,
        }
    }

    /// The value in `dialect`.
    #[must_use]
    pub const fn of(&self, dialect: Dialect) -> Value {
        match dialect {
            Dialect::Rfc => self.rfc,
            Dialect::Linux => self.linux,
            Dialect::Ns2 => self.ns2,
        }
    }
}

/// The effective parameters of one algorithm: every one of its specifications has a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    values: Vec<(&'static str, Value)>,
}

impl Parameters {
    /// The defaults of `specs` in `dialect`.
    #[must_use]
    pub fn defaults(specs: &[ParameterSpec], dialect: Dialect) -> Self {
        let values = specs.iter().map(|s| (s.name, s.default.of(dialect)));
        Self {
            values: values.collect(),
        }
    }

    #[cfg(test)]
    /// Replaces the value of `name`, which must be one of the specified ones.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        for slot in &mut self.values {
            if slot.0 == name {
                slot.1 = value;
            }
        }
    }

    /// Names and values, in the order of the specification.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value)> + '_ {
        self.values.iter().copied()
    }

    fn get(&self, name: &str) -> Value {
        let found = self.values.iter().find(|(n, _)| *n == name);
        found
            .unwrap_or_else(|| panic!("no parameter `{name}` is specified"))
            .1
    }

    /// The word chosen for `name`.
    ///
    /// # Panics
    /// If the algorithm specifies no such choice: a mistake in its file, which the catalog's
    /// tests find by building every entry.
    #[must_use]
    pub fn choice(&self, name: &str) -> &'static str {
        match self.get(name) {
            Value::Choice(word) => word,
            other => panic!("`{name}` is {other:?}, not a choice"),
        }
    }

    /// Whether the word chosen for `name` is "on". Panics like [`Self::choice`].
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.choice(name) == "on"
    }

    /// The whole number given for `name`. Panics like [`Self::choice`].
    #[must_use]
    pub fn integer(&self, name: &str) -> u64 {
        match self.get(name) {
            Value::Integer(number) => number,
            other => panic!("`{name}` is {other:?}, not a whole number"),
        }
    }

    /// The real number given for `name`. Panics like [`Self::choice`].
    #[must_use]
    pub fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Real(number) => number,
            other => panic!("`{name}` is {other:?}, not a real number"),
        }
    }

    /// The span of time given for `name`. Panics like [`Self::choice`].
    #[must_use]
    pub fn time(&self, name: &str) -> Duration {
        match self.get(name) {
            Value::Time(span) => span,
            other => panic!("`{name}` is {other:?}, not a span of time"),
        }
    }
}

/// The two words of a switch.
pub const SWITCH: Kind = Kind::Choice(&[("on", "yes"), ("off", "no")]);

/// A switch's value.
#[must_use]
pub const fn switch(on: bool) -> Value {
    Value::Choice(if on { "on" } else { "off" })
}

/// The duplicate ACK threshold, common to the recoveries that count.
pub const DUP_THRESHOLD: ParameterSpec = ParameterSpec {
    name: "dup_threshold",
    doc: "duplicate ACKs (or what stands for them) that make a loss",
    source: "RFC 5681 §3.2",
    kind: Kind::Integer {
        min: 1,
        max: 1000,
        unit: "ACKs",
    },
    default: Defaults::same(Value::Integer(3)),
};

/// Limited transmit, common to the recoveries that count duplicate ACKs.
pub const LIMITED_TRANSMIT: ParameterSpec = ParameterSpec {
    name: "limited_transmit",
    doc: "one new segment for each of the first two duplicate ACKs",
    source: "RFC 3042",
    kind: SWITCH,
    default: Defaults::same(switch(true)),
};

/// What an algorithm is built for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Context {
    /// Sender maximum segment size in bytes.
    pub smss: u32,
    /// The dialect, for what is not worth a parameter of its own.
    pub dialect: Dialect,
}

/// An algorithm's entry in the catalog; `P` is the trait of its axis.
#[derive(Debug)]
pub struct Entry<P: ?Sized + 'static> {
    /// Its name in a stack.
    pub name: &'static str,
    /// The source file that it is in, from the workspace's root: `file!()`.
    pub file: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub citation: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterSpec],
    /// What it asks of the receiver, given its parameters.
    pub needs: fn(&Parameters) -> Needs,
    /// What it may not be combined with.
    pub conflicts: &'static [Conflict],
    /// Builds one.
    pub build: fn(&Parameters, &Context) -> Box<P>,
}

/// A combination that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The name of the entry on another axis; `*` for every one but the null object.
    pub with: &'static str,
    /// On which axis it is: `recovery`, `control`, `differentiation` or `response`.
    pub axis: &'static str,
    /// Why.
    pub why: &'static str,
}

impl<P: super::Plugin + ?Sized> From<&'static Entry<P>> for super::Entry<P> {
    fn from(entry: &'static Entry<P>) -> Self {
        let mut draft = super::entry::Draft::<P, super::Values>::begin(entry.name, entry.file)
            .summary(entry.summary)
            .citation(entry.citation)
            .needs(move |values| (entry.needs)(&parameters_of(entry.parameters, values)));
        let aliases = [("tcp", "0"), ("previous", "1")];
        for (alias, _) in aliases.iter().filter(|(_, name)| *name == entry.name) {
            draft = draft.alias(*alias);
        }
        for conflict in entry.conflicts {
            let axis = super::Axis::ALL
                .into_iter()
                .find(|axis| axis.name() == conflict.axis);
            let with = match conflict.with {
                "*" => super::Opponent::AnyButNull,
                name => super::Opponent::Named(name.into()),
            };
            draft = draft.conflict(axis.unwrap_or(P::AXIS), with, conflict.why);
        }
        let specs = entry.parameters.iter().map(ParameterSpec::owned).collect();
        draft.build_with(specs, move |values, context| {
            let context = Context {
                smss: context.smss,
                dialect: values.dialect(),
            };
            (entry.build)(&parameters_of(entry.parameters, values), &context)
        })
    }
}

fn parameters_of(specs: &'static [ParameterSpec], values: &super::Values) -> Parameters {
    let values = specs.iter().zip(values.iter()).map(|(spec, (_, value))| {
        let value = match (value, spec.kind) {
            (super::Value::Choice(word), Kind::Choice(words)) => {
                let known = words.iter().find(|(known, _)| known == word);
                Value::Choice(known.map_or("", |(known, _)| known))
            }
            (super::Value::Choice(_), _) => spec.default.rfc,
            (super::Value::Integer(number), _) => Value::Integer(*number),
            (super::Value::Real(number), _) => Value::Real(*number),
            (super::Value::Time(span), _) => Value::Time(*span),
        };
        (spec.name, value)
    });
    Parameters {
        values: values.collect(),
    }
}

impl ParameterSpec {
    fn owned(&self) -> super::ParameterSpec {
        let value = |value: Value| match value {
            Value::Choice(word) => super::Value::word(word),
            Value::Integer(number) => super::Value::Integer(number),
            Value::Real(number) => super::Value::Real(number),
            Value::Time(span) => super::Value::Time(span),
        };
        super::ParameterSpec {
            name: self.name.into(),
            doc: self.doc.into(),
            source: self.source.into(),
            kind: match self.kind {
                Kind::Choice(words) => {
                    let words = words
                        .iter()
                        .map(|(word, means)| super::Word::new(word, means));
                    super::Kind::Choice(words.collect())
                }
                Kind::Integer { min, max, unit } => super::Kind::Integer {
                    min,
                    max,
                    unit: unit.into(),
                },
                Kind::Real { min, max, unit } => super::Kind::Real {
                    min,
                    max,
                    unit: unit.into(),
                },
                Kind::Time => super::Kind::Time,
            },
            default: super::Defaults {
                rfc: value(self.default.rfc),
                linux: value(self.default.linux),
                ns2: value(self.default.ns2),
            },
        }
    }
}
