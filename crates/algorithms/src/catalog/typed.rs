//! Parameters as types: a struct per algorithm, whose fields declare its parameters.
//!
//! ```
//! use dupack_algorithms::catalog::{Choice, Parameters, Switch};
//!
//! /// Event that ends the recovery.
//! #[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
//! enum Exit {
//!     /// the first ACK of new data
//!     FirstAck,
//!     /// an ACK of everything outstanding at the loss
//!     Covered,
//! }
//!
//! #[derive(Clone, Copy, Debug, Parameters)]
//! struct MineParameters {
//!     /// number of duplicate ACKs that shows a loss
//!     #[parameter(basic, source = "RFC 5681 §3.2", range = 1..=1000, unit = "ACKs", default = 3)]
//!     dup_threshold: u32,
//!     /// event that ends the recovery
//!     #[parameter(
//!         source = "RFC 5681 §3.2 step 6; ns-2",
//!         default(rfc = Exit::FirstAck, linux = Exit::Covered, ns2 = Exit::Covered),
//!     )]
//!     exit: Exit,
//! }
//! ```
//!
//! In the text of a stack, these parameters are written `mine(dup_threshold=2,exit=covered)`: a parameter has the name
//! of its field, and a value is the variant of the enum in lower case with hyphens. Doc comments are printed unchanged.
//! `basic` marks the few parameters that users change in practice: `dupack stacks` shows them first, and the others
//! with `--all`. An algorithm without any marked parameter shows all of them. Parameters that several algorithms share
//! are a separate struct, which each of them embeds. An algorithm that differs declares the difference:
//!
//! ```
//! # use dupack_algorithms::catalog::{Parameters, Switch};
//! #[derive(Clone, Copy, Debug, Parameters)]
//! struct Growth {
//!     /// additive increase per round trip
//!     #[parameter(source = "RFC 5681", range = 0.0..=1000.0, unit = "segments", default = 1.0)]
//!     increase: f64,
//!     /// growth only if the window was used
//!     #[parameter(source = "RFC 7661", default = Switch::On)]
//!     validate: Switch,
//! }
//!
//! #[derive(Clone, Copy, Debug, Parameters)]
//! struct MineParameters {
//!     /// fraction of the window that remains after a loss
//!     #[parameter(source = "RFC 5681", range = 0.0..=1.0, default = 0.5)]
//!     decrease: f64,
//!     // The increase equals the decrease, and the window grows even if it was not used.
//!     #[embed(change(validate(source = "our choice", default = Switch::Off)), fix(increase = decrease))]
//!     growth: Growth,
//! }
//! ```
//!
//! `change` replaces only the doc, source or default of a parameter of the group. A different range does not compile.
//!
//! ```compile_fail
//! # use dupack_algorithms::catalog::{Parameters, Switch};
//! # #[derive(Clone, Copy, Debug, Parameters)]
//! # struct Growth {
//! #     /// additive increase per round trip
//! #     #[parameter(source = "RFC 5681", range = 0.0..=1000.0, unit = "segments", default = 1.0)]
//! #     increase: f64,
//! # }
//! #[derive(Clone, Copy, Debug, Parameters)]
//! struct MineParameters {
//!     #[embed(change(increase(range = 0.0..=2.0, source = "our choice")))]
//!     growth: Growth,
//! }
//! ```
//!
//! `fix` removes a parameter from the list and sets it to an expression, which may use the preceding fields. Both can
//! also change a group within the group: `fix(growth.increase = 1.0)`. A name that the group does not have does not
//! compile:
//!
//! ```compile_fail,E0609
//! # use dupack_algorithms::catalog::{Parameters, Switch};
//! #[derive(Clone, Copy, Debug, Parameters)]
//! struct Growth {
//!     /// growth only if the window was used
//!     #[parameter(source = "RFC 7661", default = Switch::On)]
//!     validate: Switch,
//! }
//!
//! #[derive(Clone, Copy, Debug, Parameters)]
//! struct MineParameters {
//!     #[embed(change(validated(default = Switch::Off)))]
//!     growth: Growth,
//! }
//! ```

use core::fmt;
use core::ops::RangeInclusive;
use core::slice;

use alloc::borrow::Cow;
use alloc::vec::Vec;

use dupack_tcp::time::Duration;

use super::parameter::{Defaults, Kind, Level, ParameterSpec, Text, Value, Values, Word};

pub use dupack_derive::{Choice, Parameters};

/// Specifications in the order in which they are printed.
pub type Specs = Vec<ParameterSpec>;

/// Struct of an algorithm's parameters. It is derived, see the [module](self).
pub trait Parameters: Sized + 'static {
    /// Declarations of the parameters, one per field.
    type Layout: Send + Sync + 'static;

    /// Returns the declarations.
    fn layout() -> Self::Layout;

    /// Adds the specifications of `layout` to `specs`.
    fn list(layout: &Self::Layout, specs: &mut Specs);

    /// Reads the values of the parameters that [`list`](Self::list) lists, in the same order.
    fn read(layout: &Self::Layout, values: &mut Reader<'_>) -> Self;
}

/// Implementation for an algorithm without parameters.
impl Parameters for () {
    type Layout = ();

    fn layout() {}

    fn list((): &(), _: &mut Specs) {}

    fn read((): &(), _: &mut Reader<'_>) {}
}

/// Enum whose variants are the permitted words of a parameter. It is derived, see the [module](self).
/// `#[choice("word")]` on a variant gives it a word that differs from its name.
pub trait Choice: Copy + Send + Sync + 'static {
    /// Words with their meanings.
    const WORDS: &'static [Word];

    /// Returns the word of this variant.
    fn word(&self) -> &'static str;

    /// Returns the variant of `word`, if there is one.
    fn from_word(word: &str) -> Option<Self>;
}

/// On or off, for parameters that have no better words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Switch {
    /// yes
    On,
    /// no
    Off,
}

impl Switch {
    /// Returns `true` for `On`.
    #[must_use]
    pub const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

/// Type into which a value is read.
pub trait Parameter: Copy + Send + Sync + 'static {
    /// Converts the parameter to a value.
    fn into_value(self) -> Value;

    /// Converts a value to this type; `None` if the value has a different kind.
    fn from_value(value: &Value) -> Option<Self>;
}

impl<T: Choice> Parameter for T {
    fn into_value(self) -> Value {
        Value::word(self.word())
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Choice(word) => Self::from_word(word),
            Value::Integer(_) | Value::Real(_) | Value::Time(_) => None,
        }
    }
}

impl Parameter for u64 {
    fn into_value(self) -> Value {
        Value::Integer(self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(*number),
            Value::Choice(_) | Value::Real(_) | Value::Time(_) => None,
        }
    }
}

impl Parameter for u32 {
    fn into_value(self) -> Value {
        Value::Integer(u64::from(self))
    }

    fn from_value(value: &Value) -> Option<Self> {
        u64::from_value(value).and_then(|number| number.try_into().ok())
    }
}

impl Parameter for f64 {
    fn into_value(self) -> Value {
        Value::Real(self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Real(number) => Some(*number),
            Value::Choice(_) | Value::Integer(_) | Value::Time(_) => None,
        }
    }
}

impl Parameter for Duration {
    fn into_value(self) -> Value {
        Value::Time(self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Time(span) => Some(*span),
            Value::Choice(_) | Value::Integer(_) | Value::Real(_) => None,
        }
    }
}

/// Numeric type, whose parameters have a range and a unit.
#[diagnostic::on_unimplemented(
    message = "a parameter of the type `{Self}` has no range and no unit",
    note = "leave out `range` and `unit`"
)]
pub trait Ranged: Parameter {
    /// Returns the kind of the values.
    fn kind(range: RangeInclusive<Self>, unit: &'static str) -> Kind;
}

impl Ranged for u64 {
    fn kind(range: RangeInclusive<Self>, unit: &'static str) -> Kind {
        Kind::Integer {
            min: *range.start(),
            max: *range.end(),
            unit: Cow::Borrowed(unit),
        }
    }
}

impl Ranged for u32 {
    fn kind(range: RangeInclusive<Self>, unit: &'static str) -> Kind {
        u64::kind(u64::from(*range.start())..=u64::from(*range.end()), unit)
    }
}

impl Ranged for f64 {
    fn kind(range: RangeInclusive<Self>, unit: &'static str) -> Kind {
        Kind::Real {
            min: *range.start(),
            max: *range.end(),
            unit: Cow::Borrowed(unit),
        }
    }
}

/// Choice or duration, whose parameters need no range and no unit.
#[diagnostic::on_unimplemented(
    message = "a parameter of the type `{Self}` does not say what it takes",
    note = "a number has a range: `range = 1..=1000`; an enum derives `Choice`"
)]
pub trait Unranged: Parameter {
    /// Returns the kind of the values.
    fn kind() -> Kind;
}

impl<T: Choice> Unranged for T {
    fn kind() -> Kind {
        Kind::Choice(Cow::Borrowed(T::WORDS))
    }
}

impl Unranged for Duration {
    fn kind() -> Kind {
        Kind::Time
    }
}

/// Declaration of one parameter, in a [layout](Parameters::Layout).
pub struct Field<T> {
    name: &'static str,
    doc: &'static str,
    source: &'static str,
    kind: Kind,
    /// Defaults in the dialects `rfc`, `linux` and `ns2`.
    defaults: [T; 3],
    level: Level,
    offer: Offer,
}

/// Availability of a parameter to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offer {
    Offered,
    /// The struct that embeds the group has fixed the parameter.
    Withheld,
}

impl<T: Parameter> Field<T> {
    /// Creates an advanced parameter with its defaults in the dialects `rfc`, `linux` and `ns2`.
    #[must_use]
    pub const fn new(
        name: &'static str,
        doc: &'static str,
        source: &'static str,
        kind: Kind,
        defaults: [T; 3],
    ) -> Self {
        Self {
            name,
            doc,
            source,
            kind,
            defaults,
            level: Level::Advanced,
            offer: Offer::Offered,
        }
    }

    /// Returns the same parameter as a basic one.
    #[must_use]
    pub fn basic(self) -> Self {
        Self {
            level: Level::Basic,
            ..self
        }
    }

    /// Replaces the description.
    pub fn document(&mut self, doc: &'static str) {
        self.doc = doc;
    }

    /// Replaces the source of the defaults.
    pub fn source(&mut self, source: &'static str) {
        self.source = source;
    }

    /// Replaces the defaults.
    pub fn default(&mut self, defaults: [T; 3]) {
        self.defaults = defaults;
    }

    /// Removes the parameter from the list.
    pub fn withhold(&mut self) {
        self.offer = Offer::Withheld;
    }

    /// Adds the specification of the parameter to `specs`, unless it is withheld.
    pub fn list(&self, specs: &mut Specs) {
        if self.offer == Offer::Withheld {
            return;
        }
        let [rfc, linux, ns2] = self.defaults.map(T::into_value);
        specs.push(ParameterSpec {
            name: Text::Borrowed(self.name),
            doc: Text::Borrowed(self.doc),
            source: Text::Borrowed(self.source),
            kind: self.kind.clone(),
            default: Defaults { rfc, linux, ns2 },
            level: self.level,
        });
    }

    /// Returns the value of the parameter, which is the next of `values`. For a withheld parameter, returns a default,
    /// which the embedding struct then replaces.
    pub fn read(&self, values: &mut Reader<'_>) -> T {
        if self.offer == Offer::Withheld {
            return self.defaults[0];
        }
        let value = values.rest.next().and_then(T::from_value);
        debug_assert!(value.is_some(), "{}: values of another entry", self.name);
        value.unwrap_or(self.defaults[0])
    }
}

impl<T: fmt::Debug> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field")
            .field("name", &self.name)
            .field("defaults", &self.defaults)
            .field("offer", &self.offer)
            .finish_non_exhaustive()
    }
}

/// Reads values into a struct, in order.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: slice::Iter<'a, Value>,
}

impl<'a> Reader<'a> {
    /// Returns a reader of all `values`.
    #[must_use]
    pub fn new(values: &'a Values) -> Self {
        Self {
            rest: values.as_slice().iter(),
        }
    }
}

/// Returns the parameters of `T` with their defaults in one dialect, except for those that `set` changes.
///
/// # Errors
/// If there is no such parameter, or if a value is invalid.
pub fn parameters<T: Parameters>(
    dialect: super::Dialect,
    set: &[(&str, Value)],
) -> Result<T, super::SetError> {
    let layout = T::layout();
    let mut specs = Specs::new();
    T::list(&layout, &mut specs);
    let mut values = Values::defaults(&specs.into(), dialect);
    for (name, value) in set {
        values.set(name, value.clone())?;
    }
    Ok(T::read(&layout, &mut Reader::new(&values)))
}
