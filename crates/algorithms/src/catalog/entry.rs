//! Entry of an algorithm in the catalog: its description, and a function that builds it.
//!
//! Each algorithm's file has a function that returns its entry:
//!
//! ```
//! use dupack_algorithms::catalog::Entry;
//! # use dupack_algorithms::differentiation::always::Always;
//! use dupack_tcp::differentiation::Differentiation;
//!
//! fn entry() -> Entry<dyn Differentiation> {
//!     Entry::differentiation("mine", file!())
//!         .summary("takes every loss for the link's")
//!         .citation("unpublished")
//!         .build(|(), _| Box::new(Always))
//! }
//! ```
//!
//! An algorithm with parameters has the struct of its parameters in place of `()` ([`typed`](super::typed)).

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
use super::parameter::{Level, ParameterSpec, Text, Values};
use super::refusal::{RegisterError, RegisterProblem};
use super::typed::{Parameters, Reader, Specs};

/// Properties of the connection for which an algorithm is built.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Context {
    /// Sender maximum segment size in bytes.
    pub smss: u32,
    /// Seed of the random choices of an algorithm. Each connection has a different seed.
    pub seed: u64,
}

impl Context {
    /// Returns the properties of a connection with segments of `smss` bytes and the seed 0.
    #[must_use]
    pub const fn new(smss: u32) -> Self {
        Self { smss, seed: 0 }
    }

    /// Returns the same properties with this seed.
    #[must_use]
    pub const fn seeded(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

/// Description of an entry, in the same form for all axes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Description {
    /// Axis of the entry.
    pub axis: Axis,
    /// Name of the entry in a stack.
    pub name: Text,
    /// Other names of the entry.
    pub aliases: Vec<Text>,
    /// Source file of the algorithm: `file!()`.
    pub file: Text,
    /// Summary in one line.
    pub summary: Text,
    /// Publication.
    pub citation: Text,
    /// Parameters, with their defaults by dialect.
    pub parameters: Arc<[ParameterSpec]>,
    /// Invalid combinations with other entries.
    pub conflicts: Vec<Conflict>,
    /// Owner of the sources.
    pub home: Home,
    /// Availability of the algorithm in Linux.
    pub linux: Linux,
}

/// Owner of the sources of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// This crate, whose sources [`SOURCE_HASH`](crate::SOURCE_HASH) covers.
    Here,
    /// The program that registered the entry, whose sources are unknown to this crate.
    Elsewhere,
    /// The program that registered the entry. The text identifies the sources; other sources have another text.
    Named(Text),
}

impl Description {
    /// Returns `true` if `name` is the name of the entry or one of its other names.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns the name of the entry and its other names.
    pub fn names(&self) -> impl Iterator<Item = &str> + '_ {
        let all = core::iter::once(&self.name).chain(&self.aliases);
        all.map(|name| &**name)
    }

    /// Returns the error with which the entry is rejected because of `problem`.
    pub(super) fn refused(&self, problem: RegisterProblem) -> RegisterError {
        RegisterError {
            axis: self.axis,
            name: self.name.to_string(),
            problem,
        }
    }
}

/// Invalid combination with another entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Axis of the other entry.
    pub axis: Axis,
    /// Other entry.
    pub with: Opponent,
    /// Reason.
    pub why: Text,
}

/// Entry that another entry excludes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opponent {
    /// The entry of this name.
    Named(Text),
    /// Every entry except the one that does nothing ([`Axis::null`]).
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

/// Entries by axis, each list in the order of registration.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    pub(super) recoveries: Vec<Arc<Entry<dyn Recovery>>>,
    pub(super) controls: Vec<Arc<Entry<dyn CongestionControl>>>,
    pub(super) differentiations: Vec<Arc<Entry<dyn Differentiation>>>,
    pub(super) responses: Vec<Arc<Entry<dyn Response>>>,
}

/// Trait of an axis, which an entry may build. It is sealed because there are exactly four axes.
pub trait Plugin: sealed::Sealed + 'static {
    /// Axis of the trait.
    const AXIS: Axis;
}

mod sealed {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use super::{Entries, Entry};

    /// List of the entries of an axis.
    pub trait Sealed {
        /// Returns the entries of a catalog on this axis.
        fn list(entries: &Entries) -> &Vec<Arc<Entry<Self>>>;
        /// Returns the same list for adding entries.
        fn list_mut(entries: &mut Entries) -> &mut Vec<Arc<Entry<Self>>>;
    }
}

type Asks<T> = Arc<dyn Fn(&T) -> Needs + Send + Sync>;
type Build<P> = Arc<dyn Fn(&Values, &Context) -> Box<P> + Send + Sync>;
type BuildOf<T, P> = Arc<dyn Fn(&T, &Context) -> Box<P> + Send + Sync>;

/// Replacement of a recovery that needs SACK, if the peer does not permit SACK.
struct Fallback<P: ?Sized> {
    name: Text,
    build: Build<P>,
}

/// Entry of an algorithm in the catalog; `P` is the trait of its axis.
pub struct Entry<P: ?Sized> {
    description: Description,
    needs: Asks<Values>,
    build: Build<P>,
    without_sack: Option<Fallback<P>>,
}

impl<P: ?Sized> Entry<P> {
    /// Returns the description of the entry.
    #[must_use]
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// Records that this crate owns the sources.
    pub(super) fn at_home(mut self) -> Self {
        self.description.home = Home::Here;
        self
    }

    /// Returns the name of the entry in a stack.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// Returns the parameters of the entry.
    #[must_use]
    pub const fn parameters(&self) -> &Arc<[ParameterSpec]> {
        &self.description.parameters
    }

    /// Returns the default values of the parameters in `dialect`.
    #[must_use]
    pub fn defaults(&self, dialect: Dialect) -> Values {
        Values::defaults(&self.description.parameters, dialect)
    }

    /// Returns the demands of the algorithm on the receiver, for these values of its parameters.
    #[must_use]
    pub fn needs(&self, values: &Values) -> Needs {
        (self.needs)(values)
    }

    /// Returns the name of the replacement for a peer that does not permit SACK, if the entry declares one.
    pub(super) fn name_without_sack(&self) -> Option<&str> {
        self.without_sack.as_ref().map(|fallback| &*fallback.name)
    }

    /// Builds the replacement for a peer that does not permit SACK, if the entry declares one.
    pub(super) fn build_without_sack(&self, values: &Values, context: &Context) -> Option<Box<P>> {
        let fallback = self.without_sack.as_ref()?;
        Some((fallback.build)(values, context))
    }

    /// Builds the algorithm in its state at the beginning of a connection.
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

/// Entry under construction; `T` is the struct of its parameters.
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

    /// Sets the summary, in one line.
    pub fn summary(mut self, summary: impl Into<Text>) -> Self {
        self.description.summary = summary.into();
        self
    }

    /// Sets the publication.
    pub fn citation(mut self, citation: impl Into<Text>) -> Self {
        self.description.citation = citation.into();
        self
    }

    /// Adds another name.
    pub fn alias(mut self, alias: impl Into<Text>) -> Self {
        self.description.aliases.push(alias.into());
        self
    }

    /// Excludes `with` on `axis`; `why` is the reason.
    pub fn conflict(mut self, axis: Axis, with: Opponent, why: impl Into<Text>) -> Self {
        self.description.conflicts.push(Conflict {
            axis,
            with,
            why: why.into(),
        });
        self
    }

    /// Identifies the sources of the algorithm, for example by a hash, so that stored runs of other sources can be
    /// distinguished. Without this call, the sources are those of the running program.
    pub fn made_of(mut self, sources: impl Into<Text>) -> Self {
        self.description.home = Home::Named(sources.into());
        self
    }

    /// Sets the availability of the algorithm in Linux, and how to enable it. Without this call, Linux does not
    /// implement it.
    pub fn linux(mut self, linux: impl Into<Linux>) -> Self {
        self.description.linux = linux.into();
        self
    }

    /// Sets the demands of the algorithm on the receiver, as a function of its parameters. The default is no demands.
    pub fn needs(mut self, needs: impl Fn(&T) -> Needs + Send + Sync + 'static) -> Self {
        self.needs = Arc::new(needs);
        self
    }
}

impl<T> Draft<dyn Recovery, T> {
    /// Sets the replacement of a recovery that needs SACK, and its name, for a peer that does not permit SACK. The
    /// default replacement is NewReno.
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
    /// Returns the entry of an algorithm whose parameters are read into a `T`.
    #[must_use]
    pub fn build(
        mut self,
        build: impl Fn(&T, &Context) -> Box<P> + Send + Sync + 'static,
    ) -> Entry<P> {
        let layout = Arc::new(T::layout());
        let mut specs = Specs::new();
        T::list(&layout, &mut specs);
        self.description.parameters = levelled(specs).into();
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

/// Returns `specs`. If none is marked as basic, all of them become basic.
fn levelled(mut specs: Vec<ParameterSpec>) -> Vec<ParameterSpec> {
    if specs.iter().all(|spec| spec.level == Level::Advanced) {
        specs.iter_mut().for_each(|spec| spec.level = Level::Basic);
    }
    specs
}

impl<P: Plugin + ?Sized> Draft<P, Values> {
    /// Returns the entry of an algorithm whose parameters are known only at run time, and are read by name.
    #[must_use]
    pub fn build_with(
        mut self,
        parameters: Vec<ParameterSpec>,
        build: impl Fn(&Values, &Context) -> Box<P> + Send + Sync + 'static,
    ) -> Entry<P> {
        self.description.parameters = levelled(parameters).into();
        let fallback = |(name, build)| Fallback { name, build };
        Entry {
            without_sack: self.without_sack.map(fallback),
            description: self.description,
            needs: self.needs,
            build: Arc::new(build),
        }
    }
}
