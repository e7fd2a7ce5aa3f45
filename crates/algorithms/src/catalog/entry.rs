//! An algorithm's entry in the catalog: what it says about itself, and how one is built.
//!
//! Each algorithm's file ends with the function that makes its entry:
//!
//! ```
//! use dupack_algorithms::catalog::Entry;
//! # use dupack_algorithms::differentiation::always::Always;
//! use dupack_tcp::differentiation::Differentiation;
//!
//! fn entry() -> Entry<dyn Differentiation> {
//!     Entry::differentiation("mine", file!())
//!         .summary("every loss is the link's")
//!         .citation("nobody would publish it")
//!         .build(|(), _| Box::new(Always))
//! }
//! ```
//!
//! What stands for `()` here is the struct of its parameters ([`typed`](super::typed)).

use core::fmt;

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dupack_tcp::congestion::CongestionControl;
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;

use super::axis::Axis;
use super::dialect::Dialect;
use super::linux::{Linux, Missing};
use super::needs::Needs;
use super::parameter::{ParameterSpec, Text, Values};
use super::refusal::{RegisterError, RegisterProblem};
use super::typed::{Parameters, Reader, Specs};

/// What an algorithm is built for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Context {
    /// Sender maximum segment size in bytes.
    pub smss: u32,
    /// Another number for each connection, for what in an algorithm is to be left to chance.
    pub seed: u64,
}

impl Context {
    /// A connection with segments of `smss` bytes, whose seed is 0.
    #[must_use]
    pub const fn new(smss: u32) -> Self {
        Self { smss, seed: 0 }
    }

    /// The same with a seed of its own.
    #[must_use]
    pub const fn seeded(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

/// What the catalog says of an entry, the same for all axes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Description {
    /// Its axis.
    pub axis: Axis,
    /// Its name in a stack.
    pub name: Text,
    /// Its other names.
    pub aliases: Vec<Text>,
    /// The source file that it is in: `file!()`.
    pub file: Text,
    /// What it is, in one line.
    pub summary: Text,
    /// Where it was published.
    pub citation: Text,
    /// Its parameters, with their defaults by dialect.
    pub parameters: Arc<[ParameterSpec]>,
    /// What it may not be combined with.
    pub conflicts: Vec<Conflict>,
    /// Whose sources it is in.
    pub home: Home,
    /// What of it Linux has.
    pub linux: Linux,
}

/// In whose sources an algorithm is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// In those of this crate, which [`SOURCE_HASH`](crate::SOURCE_HASH) covers.
    Here,
    /// In those of whoever registered it, of which this crate knows nothing.
    Elsewhere,
    /// In those of whoever registered it, who names them by this text: other sources have another.
    Named(Text),
}

impl Description {
    /// Whether it goes by `name`.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Its name, and its other names.
    pub fn names(&self) -> impl Iterator<Item = &str> + '_ {
        let all = core::iter::once(&self.name).chain(&self.aliases);
        all.map(|name| &**name)
    }

    /// The error that it is not taken for `problem`.
    pub(super) fn refused(&self, problem: RegisterProblem) -> RegisterError {
        RegisterError {
            axis: self.axis,
            name: self.name.to_string(),
            problem,
        }
    }
}

/// A combination that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// On which axis the other is.
    pub axis: Axis,
    /// The other.
    pub with: Opponent,
    /// Why.
    pub why: Text,
}

/// What an entry may not be combined with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opponent {
    /// The entry of this name.
    Named(Text),
    /// Every entry but the one that does nothing ([`Axis::null`]).
    AnyButNull,
}

impl fmt::Display for Opponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::AnyButNull => f.write_str("*"),
        }
    }
}

/// The entries by axis, each in the order in which they were registered.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    pub(super) recoveries: Vec<Arc<Entry<dyn Recovery>>>,
    pub(super) controls: Vec<Arc<Entry<dyn CongestionControl>>>,
    pub(super) differentiations: Vec<Arc<Entry<dyn Differentiation>>>,
    pub(super) responses: Vec<Arc<Entry<dyn Response>>>,
}

/// The trait of an axis: what an entry may build. Sealed: there are four axes.
pub trait Plugin: sealed::Sealed + 'static {
    /// The axis.
    const AXIS: Axis;
}

mod sealed {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use super::{Entries, Entry};

    /// Where the entries of an axis are kept.
    pub trait Sealed {
        /// Those of a catalog.
        fn list(entries: &Entries) -> &Vec<Arc<Entry<Self>>>;
        /// The same, to add to.
        fn list_mut(entries: &mut Entries) -> &mut Vec<Arc<Entry<Self>>>;
    }
}

type Asks<T> = Arc<dyn Fn(&T) -> Needs + Send + Sync>;
type Build<P> = Arc<dyn Fn(&Values, &Context) -> Box<P> + Send + Sync>;
type BuildOf<T, P> = Arc<dyn Fn(&T, &Context) -> Box<P> + Send + Sync>;

/// What a recovery that needs SACK is where the peer declines it.
struct Fallback<P: ?Sized> {
    name: Text,
    build: Build<P>,
}

/// An algorithm's entry in the catalog; `P` is the trait of its axis.
pub struct Entry<P: ?Sized> {
    description: Description,
    needs: Asks<Values>,
    build: Build<P>,
    without_sack: Option<Fallback<P>>,
}

impl<P: ?Sized> Entry<P> {
    /// What the catalog says of it.
    #[must_use]
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// Notes that it is one of this crate's.
    pub(super) fn at_home(mut self) -> Self {
        self.description.home = Home::Here;
        self
    }

    /// Its name in a stack.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// Its parameters.
    #[must_use]
    pub const fn parameters(&self) -> &Arc<[ParameterSpec]> {
        &self.description.parameters
    }

    /// The values of its parameters when nothing is said, in `dialect`.
    #[must_use]
    pub fn defaults(&self, dialect: Dialect) -> Values {
        Values::defaults(&self.description.parameters, dialect)
    }

    /// What it asks of the receiver, given its parameters.
    #[must_use]
    pub fn needs(&self, values: &Values) -> Needs {
        (self.needs)(values)
    }

    /// What it is called where the peer declines SACK, if it has an answer of its own to that.
    pub(super) fn name_without_sack(&self) -> Option<&str> {
        self.without_sack.as_ref().map(|fallback| &*fallback.name)
    }

    /// A new one for a peer that declines SACK, if it has an answer of its own to that.
    pub(super) fn build_without_sack(&self, values: &Values, context: &Context) -> Option<Box<P>> {
        let fallback = self.without_sack.as_ref()?;
        Some((fallback.build)(values, context))
    }

    /// A new one, with its state at the beginning of a connection.
    #[must_use]
    pub fn build(&self, values: &Values, context: &Context) -> Box<P> {
        (self.build)(values, context)
    }
}

impl<P: ?Sized> fmt::Debug for Entry<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.description).finish()
    }
}

macro_rules! axis {
    ($plugin:ident, $method:ident, $axis:expr, $list:ident, $what:literal) => {
        impl sealed::Sealed for dyn $plugin {
            fn list(entries: &Entries) -> &Vec<Arc<Entry<Self>>> {
                &entries.$list
            }

            fn list_mut(entries: &mut Entries) -> &mut Vec<Arc<Entry<Self>>> {
                &mut entries.$list
            }
        }

        impl Plugin for dyn $plugin {
            const AXIS: Axis = $axis;
        }

        impl Entry<dyn $plugin> {
            #[doc = concat!("Begins the entry of a ", $what, " called `name`, which is in `file`: `file!()`.")]
            pub fn $method<T>(name: impl Into<Text>, file: impl Into<Text>) -> Draft<dyn $plugin, T> {
                Draft::begin(name, file)
            }
        }
    };
}

axis!(
    Recovery,
    recovery,
    Axis::Recovery,
    recoveries,
    "loss recovery"
);
axis!(
    CongestionControl,
    control,
    Axis::Control,
    controls,
    "congestion control"
);
axis!(
    Differentiation,
    differentiation,
    Axis::Differentiation,
    differentiations,
    "loss differentiation"
);
axis!(Response, response, Axis::Response, responses, "response");

/// An entry in the making; `T` is what its parameters are read into.
#[must_use = "it becomes an entry when it is told how to build one"]
pub struct Draft<P: ?Sized, T> {
    description: Description,
    needs: Asks<T>,
    without_sack: Option<(Text, BuildOf<T, P>)>,
}

impl<P: ?Sized, T> fmt::Debug for Draft<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Draft").field(&self.description).finish()
    }
}

impl<P: Plugin + ?Sized, T> Draft<P, T> {
    pub(super) fn begin(name: impl Into<Text>, file: impl Into<Text>) -> Self {
        Self {
            description: Description {
                axis: P::AXIS,
                name: name.into(),
                aliases: Vec::new(),
                file: file.into(),
                summary: Text::default(),
                citation: Text::default(),
                parameters: Arc::default(),
                conflicts: Vec::new(),
                home: Home::Elsewhere,
                linux: Linux::Missing(Missing::default()),
            },
            needs: Arc::new(|_| Needs::NONE),
            without_sack: None,
        }
    }

    /// What it is, in one line.
    pub fn summary(mut self, summary: impl Into<Text>) -> Self {
        self.description.summary = summary.into();
        self
    }

    /// Where it was published.
    pub fn citation(mut self, citation: impl Into<Text>) -> Self {
        self.description.citation = citation.into();
        self
    }

    /// Another name for it.
    pub fn alias(mut self, alias: impl Into<Text>) -> Self {
        self.description.aliases.push(alias.into());
        self
    }

    /// It may not be combined with `with` on `axis`, and why.
    pub fn conflict(mut self, axis: Axis, with: Opponent, why: impl Into<Text>) -> Self {
        self.description.conflicts.push(Conflict {
            axis,
            with,
            why: why.into(),
        });
        self
    }

    /// By what its sources are known, such as a hash of them, so that a run which other sources made is not
    /// taken for one of these. If this is not called, they are those of the program that runs.
    pub fn made_of(mut self, sources: impl Into<Text>) -> Self {
        self.description.home = Home::Named(sources.into());
        self
    }

    /// What of it Linux has, and what turns it on; that Linux does not have it, if this is not
    /// called.
    pub fn linux(mut self, linux: impl Into<Linux>) -> Self {
        self.description.linux = linux.into();
        self
    }

    /// What it asks of the receiver, given its parameters; nothing, if this is not called.
    pub fn needs(mut self, needs: impl Fn(&T) -> Needs + Send + Sync + 'static) -> Self {
        self.needs = Arc::new(needs);
        self
    }
}

impl<T> Draft<dyn Recovery, T> {
    /// What a recovery that needs SACK is where the peer declines it, and what that is called;
    /// NewReno, if this is not called.
    pub fn without_sack(
        mut self,
        name: impl Into<Text>,
        build: impl Fn(&T, &Context) -> Box<dyn Recovery> + Send + Sync + 'static,
    ) -> Self {
        self.without_sack = Some((name.into(), Arc::new(build)));
        self
    }
}

impl<P: Plugin + ?Sized, T: Parameters> Draft<P, T> {
    /// The entry of an algorithm whose parameters are read into a `T`.
    #[must_use]
    pub fn build(
        mut self,
        build: impl Fn(&T, &Context) -> Box<P> + Send + Sync + 'static,
    ) -> Entry<P> {
        let layout = Arc::new(T::layout());
        let mut specs = Specs::new();
        T::list(&layout, &mut specs);
        self.description.parameters = specs.into();
        let (asks, asked) = (self.needs, Arc::clone(&layout));
        let without_sack = self.without_sack.map(|(name, build)| {
            let layout = Arc::clone(&layout);
            let build: Build<P> = Arc::new(move |values, context| {
                build(&T::read(&layout, &mut Reader::new(values)), context)
            });
            Fallback { name, build }
        });
        Entry {
            without_sack,
            description: self.description,
            needs: Arc::new(move |values| asks(&T::read(&asked, &mut Reader::new(values)))),
            build: Arc::new(move |values, context| {
                build(&T::read(&layout, &mut Reader::new(values)), context)
            }),
        }
    }
}

impl<P: Plugin + ?Sized> Draft<P, Values> {
    /// The entry of an algorithm whose parameters are known at run time only, and read by name.
    #[must_use]
    pub fn build_with(
        mut self,
        parameters: Vec<ParameterSpec>,
        build: impl Fn(&Values, &Context) -> Box<P> + Send + Sync + 'static,
    ) -> Entry<P> {
        self.description.parameters = parameters.into();
        let fallback = |(name, build)| Fallback { name, build };
        Entry {
            without_sack: self.without_sack.map(fallback),
            description: self.description,
            needs: self.needs,
            build: Arc::new(build),
        }
    }
}
