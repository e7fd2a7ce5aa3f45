//! Stack of a catalog: a valid choice on each axis, which has not been built yet.

use core::fmt;
use core::ops::Range;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dupack_tcp::Stack;
use dupack_tcp::congestion::CongestionControl;
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;

use super::axis::Axis;
use super::dialect::Dialect;
use super::entry::{Context, Description, Entry, Home, Plugin};
use super::error::{KnownName, StackError, StackProblem};
use super::needs::Needs;
use super::parameter::{ParameterSpec, Value, ValueError, Values};
use super::parse::{self, Fault, NamedPart};
use super::registry::Catalog;

/// Valid stack, written `recovery/control[/differentiation/response]`, each with the parameters that differ from the
/// dialect's: `newreno(full_ack=alg2)/reno/veno(beta=4)/1`.
///
/// The stack contains the parameters that were given; the others have the defaults of the dialect in which it is built.
/// It is printed as the shortest text that reads back as the same stack in every dialect. A stack contains its entries,
/// so it does not need the catalog any longer.
#[derive(Clone, Debug, PartialEq)]
pub struct StackSpec {
    recovery: Chosen<dyn Recovery>,
    control: Chosen<dyn CongestionControl>,
    differentiation: Chosen<dyn Differentiation>,
    response: Chosen<dyn Response>,
}

impl StackSpec {
    /// Reads a stack of entries in `catalog`.
    ///
    /// # Errors
    /// If the text is not a stack, or if the combination is invalid. The error contains the place, the reason, and a
    /// suggestion.
    pub fn parse(text: &str, catalog: &Catalog) -> Result<Self, StackError> {
        read(text, catalog).map_err(|(at, problem)| StackError {
            text: text.to_string(),
            at,
            problem: Box::new(problem),
        })
    }

    /// Sets a parameter of the entry on `axis`, unless it was already given or the entry has no parameter of this name.
    ///
    /// # Errors
    /// If the value is invalid for the parameter.
    pub fn suggest(&mut self, axis: Axis, parameter: &str, value: &str) -> Result<(), ValueError> {
        match axis {
            Axis::Recovery => self.recovery.suggest(parameter, value),
            Axis::Control => self.control.suggest(parameter, value),
            Axis::Differentiation => self.differentiation.suggest(parameter, value),
            Axis::Response => self.response.suggest(parameter, value),
        }
    }

    /// Returns the names of the entries, in the order of [`Axis::ALL`].
    #[must_use]
    pub fn names(&self) -> [&str; 4] {
        Axis::ALL.map(|axis| self.name(axis))
    }

    /// Returns the name of the entry on `axis`.
    #[must_use]
    pub fn name(&self, axis: Axis) -> &str {
        match axis {
            Axis::Recovery => self.recovery.entry.name(),
            Axis::Control => self.control.entry.name(),
            Axis::Differentiation => self.differentiation.entry.name(),
            Axis::Response => self.response.entry.name(),
        }
    }

    /// Returns `true` if all entries belong to this crate. [`SOURCE_HASH`](crate::SOURCE_HASH) does not cover other
    /// entries.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.strangers().next().is_none()
    }

    /// Returns the descriptions of the entries that do not belong to this crate.
    pub fn strangers(&self) -> impl Iterator<Item = &Description> {
        let all = [
            self.recovery.entry.description(),
            self.control.entry.description(),
            self.differentiation.entry.description(),
            self.response.entry.description(),
        ];
        all.into_iter().filter(|entry| entry.home != Home::Here)
    }

    /// Builds the plug-ins in their state at the beginning of a connection. Parameters that were not given have their
    /// defaults in `dialect`.
    #[must_use]
    pub fn build(&self, dialect: Dialect, context: &Context) -> Stack {
        Stack {
            recovery: self.recovery.build(dialect, context),
            control: self.control.build(dialect, context),
            differentiation: self.differentiation.build(dialect, context),
            response: self.response.build(dialect, context),
        }
    }

    /// Builds the plug-ins for a connection whose peer does not permit SACK: a recovery that needs SACK is replaced by
    /// the replacement that it declares, or by NewReno with the defaults of `dialect`.
    #[must_use]
    pub fn build_without_sack(&self, dialect: Dialect, context: &Context) -> Stack {
        let mut stack = self.build(dialect, context);
        if self.recovery.needs(dialect).sack {
            stack.recovery = self.recovery.build_without_sack(dialect, context);
        }
        stack
    }

    /// Returns the name of the recovery that replaces the stack's own if the peer does not permit SACK; `None` if the
    /// recovery does not need SACK and is not replaced.
    #[must_use]
    pub fn without_sack(&self, dialect: Dialect) -> Option<&str> {
        let entry = &self.recovery.entry;
        let needs = self.recovery.needs(dialect).sack;
        needs.then(|| entry.name_without_sack().unwrap_or("newreno"))
    }

    /// Returns the demands of all entries on the receiver and on the connection.
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

    /// Returns the descriptions of the entries, in the order of [`Axis::ALL`], each with the parameters that were
    /// given: their indices among the entry's specifications, and their values.
    pub(super) fn described(&self) -> [(&Description, Vec<(usize, &Value)>); 4] {
        [
            self.recovery.described(),
            self.control.described(),
            self.differentiation.described(),
            self.response.described(),
        ]
    }

    /// Returns every parameter of every entry with its value in `dialect`, defaults included.
    #[must_use]
    pub fn effective(&self, dialect: Dialect) -> Vec<Effective<'_>> {
        Vec::from([
            self.recovery.effective(dialect),
            self.control.effective(dialect),
            self.differentiation.effective(dialect),
            self.response.effective(dialect),
        ])
    }
}

impl fmt::Display for StackSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.recovery, self.control)?;
        if self.differentiation.is_null() && self.response.is_null() {
            return Ok(());
        }
        write!(f, "/{}/{}", self.differentiation, self.response)
    }
}

/// Entry of a stack with the values of its parameters in one dialect.
#[derive(Clone, Debug)]
pub struct Effective<'a> {
    /// Axis of the entry.
    pub axis: Axis,
    /// Name of the entry.
    pub algorithm: &'a str,
    /// Parameters: specification, value, and origin of the value.
    pub parameters: Vec<(&'a ParameterSpec, &'a Value, Origin)>,
}

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The default of the dialect.
    Default,
    /// The text of the stack.
    Given,
}

/// Enumeration of the stacks of a catalog.
impl Catalog {
    /// Returns every valid combination of entries, with default parameters.
    pub fn stacks(&self) -> impl Iterator<Item = StackSpec> + '_ {
        let stacks = self.entries().iter().flat_map(move |recovery| {
            self.entries().iter().flat_map(move |control| {
                self.entries().iter().flat_map(move |differentiation| {
                    self.entries().iter().map(move |response| StackSpec {
                        recovery: Chosen::new(recovery),
                        control: Chosen::new(control),
                        differentiation: Chosen::new(differentiation),
                        response: Chosen::new(response),
                    })
                })
            })
        });
        stacks.filter(|stack| self.forbids(stack.names()).is_none())
    }

    /// Returns a subset of [`stacks`](Self::stacks) in which every two entries that may be combined occur together at
    /// least once, for callers for which the product of four lists is too large.
    pub fn stacks_by_pairs(&self) -> impl Iterator<Item = StackSpec> + '_ {
        let mut seen = BTreeSet::new();
        self.stacks().filter(move |stack| {
            let names = stack.names();
            let mut news = false;
            for first in 0..names.len() {
                for second in first + 1..names.len() {
                    let pair = (names[first].to_string(), names[second].to_string());
                    news |= seen.insert((first, second, pair));
                }
            }
            news
        })
    }
}

/// Reads a stack, or returns the problem and its position in the text.
fn read(text: &str, catalog: &Catalog) -> Result<StackSpec, Fault> {
    let parts = parse::parts(text).map_err(|(at, problem)| (at, told(catalog, problem)))?;
    let places = [0, 1, 2, 3].map(|axis| parts[axis].at.clone());
    let [recovery, control, differentiation, response] = parts;
    let stack = StackSpec {
        recovery: choose(catalog, recovery)?,
        control: choose(catalog, control)?,
        differentiation: choose(catalog, differentiation)?,
        response: choose(catalog, response)?,
    };
    match catalog.forbids(stack.names()) {
        None => Ok(stack),
        Some(forbidden) => {
            let at = places[forbidden.by.0 as usize].clone();
            Err((at, StackProblem::Forbidden(forbidden)))
        }
    }
}

/// Adds the known names to a problem that the parser has found.
fn told(catalog: &Catalog, problem: StackProblem) -> StackProblem {
    match problem {
        StackProblem::NoName { axis, .. } => StackProblem::NoName {
            axis,
            known: catalog.on(axis).map(KnownName::of).collect(),
        },
        problem => problem,
    }
}

/// Finds the entry that the part names, and reads its parameters.
fn choose<P: Plugin + ?Sized>(catalog: &Catalog, part: NamedPart<'_>) -> Result<Chosen<P>, Fault> {
    let mut entries = catalog.entries::<P>().iter();
    let Some(entry) = entries.find(|entry| entry.description().is_called(part.name)) else {
        return Err((part.at, unknown(catalog, P::AXIS, part.name)));
    };
    let mut chosen = Chosen::new(entry);
    for setting in part.settings {
        let mut specs = entry.parameters().iter();
        let Some(index) = specs.position(|spec| spec.name == setting.name) else {
            let known = entry.parameters().iter().map(|spec| spec.name.clone());
            let problem = StackProblem::UnknownParameter {
                algorithm: entry.description().name.clone(),
                known: known.collect(),
            };
            return Err((setting.at, problem));
        };
        let Some((value_at, text)) = setting.value else {
            return Err((setting.at, StackProblem::NoValue));
        };
        let value = value(&entry.parameters()[index], value_at, text)?;
        if !chosen.give(index, value) {
            return Err((setting.at, StackProblem::Repeated));
        }
    }
    Ok(chosen)
}

fn value(spec: &ParameterSpec, at: Range<usize>, text: &str) -> Result<Value, Fault> {
    spec.kind.parse(text).map_err(|error| {
        let parameter = spec.name.clone();
        (at, StackProblem::Value { parameter, error })
    })
}

fn unknown(catalog: &Catalog, axis: Axis, name: &str) -> StackProblem {
    let mut others = Axis::ALL.into_iter().filter(|other| *other != axis);
    StackProblem::UnknownAlgorithm {
        axis,
        elsewhere: others.find(|other| catalog.on(*other).any(|known| known.name == name)),
        known: catalog.on(axis).map(KnownName::of).collect(),
    }
}

/// Entry with the parameters that were given.
struct Chosen<P: ?Sized> {
    entry: Arc<Entry<P>>,
    /// Values with the index of the parameter among the entry's specifications, in the order of the indices.
    given: Vec<(usize, Value)>,
}

impl Chosen<dyn Recovery> {
    fn build_without_sack(&self, dialect: Dialect, context: &Context) -> Box<dyn Recovery> {
        let own = self
            .entry
            .build_without_sack(&self.values(dialect), context);
        own.unwrap_or_else(|| {
            let newreno = crate::recovery::newreno::entry();
            newreno.build(&newreno.defaults(dialect), context)
        })
    }
}

impl<P: Plugin + ?Sized> Chosen<P> {
    fn new(entry: &Arc<Entry<P>>) -> Self {
        Self {
            entry: Arc::clone(entry),
            given: Vec::new(),
        }
    }

    /// Stores a value for a parameter. If the parameter already has a value, it does nothing and returns `false`.
    fn give(&mut self, index: usize, value: Value) -> bool {
        if self.value_given(index).is_some() {
            return false;
        }
        self.given.push((index, value));
        self.given.sort_by_key(|(index, _)| *index);
        true
    }

    fn suggest(&mut self, parameter: &str, text: &str) -> Result<(), ValueError> {
        let mut specs = self.entry.parameters().iter();
        if let Some(index) = specs.position(|spec| spec.name == *parameter) {
            let value = self.entry.parameters()[index].kind.parse(text)?;
            self.give(index, value);
        }
        Ok(())
    }

    fn value_given(&self, index: usize) -> Option<&Value> {
        let found = self.given.iter().find(|(given, _)| *given == index);
        found.map(|(_, value)| value)
    }

    fn values(&self, dialect: Dialect) -> Values {
        let specs = self.entry.parameters();
        let mut values = self.entry.defaults(dialect);
        for (index, value) in &self.given {
            let set = values.set(&specs[*index].name, value.clone());
            debug_assert_eq!(set, Ok(()), "the value was admitted when it was read");
        }
        values
    }

    fn described(&self) -> (&Description, Vec<(usize, &Value)>) {
        let given = self.given.iter().map(|(index, value)| (*index, value));
        (self.entry.description(), given.collect())
    }

    fn build(&self, dialect: Dialect, context: &Context) -> Box<P> {
        self.entry.build(&self.values(dialect), context)
    }

    fn needs(&self, dialect: Dialect) -> Needs {
        self.entry.needs(&self.values(dialect))
    }

    fn effective(&self, dialect: Dialect) -> Effective<'_> {
        let specs = self.entry.parameters().iter().enumerate();
        Effective {
            axis: P::AXIS,
            algorithm: self.entry.name(),
            parameters: specs
                .map(|(index, spec)| match self.value_given(index) {
                    Some(value) => (spec, value, Origin::Given),
                    None => (spec, spec.default.of(dialect), Origin::Default),
                })
                .collect(),
        }
    }

    /// Returns the given values that differ from the default of at least one dialect.
    fn deviations(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.given.iter().filter_map(|(index, value)| {
            let spec = &self.entry.parameters()[*index];
            let differs = |dialect: &Dialect| spec.default.of(*dialect) != value;
            Dialect::ALL
                .iter()
                .any(differs)
                .then_some((&*spec.name, value))
        })
    }

    fn is_null(&self) -> bool {
        P::AXIS.null() == Some(self.entry.name()) && self.deviations().next().is_none()
    }
}

impl<P: ?Sized> Clone for Chosen<P> {
    fn clone(&self) -> Self {
        Self {
            entry: Arc::clone(&self.entry),
            given: self.given.clone(),
        }
    }
}

impl<P: ?Sized> fmt::Debug for Chosen<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen")
            .field("entry", &self.entry.name())
            .field("given", &self.given)
            .finish()
    }
}

/// Two values are equal if the entry is the same, and the parameters are the same in every dialect.
impl<P: Plugin + ?Sized> PartialEq for Chosen<P> {
    fn eq(&self, other: &Self) -> bool {
        self.entry.name() == other.entry.name() && self.deviations().eq(other.deviations())
    }
}

impl<P: Plugin + ?Sized> fmt::Display for Chosen<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name())?;
        let mut open = false;
        for (name, value) in self.deviations() {
            let separator = if open { ',' } else { '(' };
            write!(f, "{separator}{name}={value}")?;
            open = true;
        }
        if open { f.write_str(")") } else { Ok(()) }
    }
}
