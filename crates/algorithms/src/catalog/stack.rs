//! A stack as the catalog knows it: a choice on each axis, checked, not yet built.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use dupack_tcp::Stack;
use dupack_tcp::congestion::CongestionControl;
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;

use super::axis::{Axis, forbids};
use super::error::StackError;
use super::parse;
use super::spec::{Context, Dialect, Entry, Needs, ParameterSpec, Parameters, Value};
use super::{CONTROLS, DIFFERENTIATIONS, RECOVERIES, RESPONSES};

/// A valid stack, written `recovery/control[/differentiation/response]`, each with parameters
/// if they are not the dialect's: `newreno(full_ack=alg2)/reno/veno(beta=4)/1`.
///
/// It holds the parameters that were given; the others are the defaults of the dialect that it
/// is built in. Printing gives the shortest text that reads back to the same stack in every
/// dialect.
#[derive(Clone, Debug, PartialEq)]
pub struct StackSpec {
    pub(super) recovery: Chosen<dyn Recovery>,
    pub(super) control: Chosen<dyn CongestionControl>,
    pub(super) differentiation: Chosen<dyn Differentiation>,
    pub(super) response: Chosen<dyn Response>,
}

impl StackSpec {
    /// Reads a stack.
    ///
    /// # Errors
    /// If the text is not one, or one that makes no sense: the error tells the place, the
    /// reason, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, StackError> {
        parse::parse(text)
    }

    /// The names of its entries, in the order of [`Axis::ALL`].
    #[must_use]
    pub const fn names(&self) -> [&'static str; 4] {
        [
            self.recovery.entry.name,
            self.control.entry.name,
            self.differentiation.entry.name,
            self.response.entry.name,
        ]
    }

    /// The name of its entry on `axis`.
    #[must_use]
    pub const fn name(&self, axis: Axis) -> &'static str {
        match axis {
            Axis::Recovery => self.recovery.entry.name,
            Axis::Control => self.control.entry.name,
            Axis::Differentiation => self.differentiation.entry.name,
            Axis::Response => self.response.entry.name,
        }
    }

    /// The plug-ins, new, with their state at the beginning of a connection.
    #[must_use]
    pub fn build(&self, context: &Context) -> Stack {
        Stack {
            recovery: self.recovery.build(context),
            control: self.control.build(context),
            differentiation: self.differentiation.build(context),
            response: self.response.build(context),
        }
    }

    /// What it asks of the receiver and of the connection: all that any of its entries asks.
    #[must_use]
    pub fn needs(&self, dialect: Dialect) -> Needs {
        [
            self.recovery.needs(dialect),
            self.control.needs(dialect),
            self.differentiation.needs(dialect),
            self.response.needs(dialect),
        ]
        .into_iter()
        .fold(Needs::NONE, Needs::union)
    }

    /// Every parameter of every entry as it holds in `dialect`, defaults included.
    #[must_use]
    pub fn effective(&self, dialect: Dialect) -> Vec<Effective> {
        vec![
            self.recovery.effective(Axis::Recovery, dialect),
            self.control.effective(Axis::Control, dialect),
            self.differentiation
                .effective(Axis::Differentiation, dialect),
            self.response.effective(Axis::Response, dialect),
        ]
    }
}

impl FromStr for StackSpec {
    type Err = StackError;

    fn from_str(text: &str) -> Result<Self, StackError> {
        Self::parse(text)
    }
}

impl fmt::Display for StackSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.recovery, self.control)?;
        if self.differentiation.is_null(Axis::Differentiation)
            && self.response.is_null(Axis::Response)
        {
            return Ok(());
        }
        write!(f, "/{}/{}", self.differentiation, self.response)
    }
}

/// One entry of a stack with its parameters as they hold in a dialect.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The axis.
    pub axis: Axis,
    /// The entry's name.
    pub algorithm: &'static str,
    /// Its parameters: what each is about, its value, and where that comes from.
    pub parameters: Vec<(&'static ParameterSpec, Value, Origin)>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The dialect's default.
    Default,
    /// It was given.
    Given,
}

/// Every combination in the catalog that makes sense, with default parameters.
pub fn all_stacks() -> impl Iterator<Item = StackSpec> {
    let names = RECOVERIES.iter().flat_map(|&recovery| {
        CONTROLS.iter().flat_map(move |&control| {
            DIFFERENTIATIONS.iter().flat_map(move |&differentiation| {
                RESPONSES.iter().map(move |&response| StackSpec {
                    recovery: Chosen::new(recovery),
                    control: Chosen::new(control),
                    differentiation: Chosen::new(differentiation),
                    response: Chosen::new(response),
                })
            })
        })
    });
    names.filter(|spec| forbids(spec.names()).is_none())
}

/// Of [`all_stacks`], so many that every two entries that may stand in one stack do so at least
/// once: for whoever cannot afford the product of four lists.
pub fn stacks_by_pairs() -> impl Iterator<Item = StackSpec> {
    let mut seen = BTreeSet::new();
    all_stacks().filter(move |stack| {
        let names = stack.names();
        let mut news = false;
        for first in 0..names.len() {
            for second in first + 1..names.len() {
                news |= seen.insert((first, names[first], second, names[second]));
            }
        }
        news
    })
}

/// An entry, with the parameters that were given.
#[derive(Debug)]
pub(super) struct Chosen<P: ?Sized + 'static> {
    entry: &'static Entry<P>,
    /// In the order of the entry's specifications.
    given: Vec<(&'static str, Value)>,
}

impl<P: ?Sized> Chosen<P> {
    pub(super) const fn new(entry: &'static Entry<P>) -> Self {
        Self {
            entry,
            given: Vec::new(),
        }
    }

    /// Notes a value for `name`; does nothing and answers `false` if there is one already.
    pub(super) fn give(&mut self, name: &'static str, value: Value) -> bool {
        if self.given.iter().any(|(given, _)| *given == name) {
            return false;
        }
        self.given.push((name, value));
        let order = |name: &str| self.entry.parameters.iter().position(|p| p.name == name);
        self.given.sort_by_key(|(name, _)| order(name));
        true
    }

    fn value_given(&self, name: &str) -> Option<Value> {
        let found = self.given.iter().find(|(given, _)| *given == name);
        found.map(|(_, value)| *value)
    }

    fn parameters(&self, dialect: Dialect) -> Parameters {
        let mut parameters = Parameters::defaults(self.entry.parameters, dialect);
        for (name, value) in &self.given {
            parameters.set(name, *value);
        }
        parameters
    }

    fn build(&self, context: &Context) -> Box<P> {
        (self.entry.build)(&self.parameters(context.dialect), context)
    }

    fn needs(&self, dialect: Dialect) -> Needs {
        (self.entry.needs)(&self.parameters(dialect))
    }

    fn effective(&self, axis: Axis, dialect: Dialect) -> Effective {
        let specs = self.entry.parameters.iter();
        Effective {
            axis,
            algorithm: self.entry.name,
            parameters: specs
                .map(|spec| match self.value_given(spec.name) {
                    Some(value) => (spec, value, Origin::Given),
                    None => (spec, spec.default.of(dialect), Origin::Default),
                })
                .collect(),
        }
    }

    /// What was given and differs from the default of some dialect.
    fn deviations(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.entry.parameters.iter().filter_map(|spec| {
            let value = self.value_given(spec.name)?;
            let differs = |dialect: &Dialect| spec.default.of(*dialect) != value;
            Dialect::ALL
                .iter()
                .any(differs)
                .then_some((spec.name, value))
        })
    }

    fn is_null(&self, axis: Axis) -> bool {
        axis.null() == Some(self.entry.name) && self.deviations().next().is_none()
    }
}

impl<P: ?Sized> Clone for Chosen<P> {
    fn clone(&self) -> Self {
        Self {
            entry: self.entry,
            given: self.given.clone(),
        }
    }
}

/// The same entry, and the same parameters in every dialect.
impl<P: ?Sized> PartialEq for Chosen<P> {
    fn eq(&self, other: &Self) -> bool {
        self.entry.name == other.entry.name && self.deviations().eq(other.deviations())
    }
}

impl<P: ?Sized> fmt::Display for Chosen<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)?;
        let mut open = false;
        for (name, value) in self.deviations() {
            let separator = if open { ',' } else { '(' };
            write!(f, "{separator}{name}={value}")?;
            open = true;
        }
        if open { f.write_str(")") } else { Ok(()) }
    }
}
