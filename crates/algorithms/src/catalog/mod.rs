//! Catalog of all algorithms by name, with their parameters, citations and conflicts.
//!
//! A [`Catalog`] is a value. [`Catalog::builtin`] contains the algorithms of this crate. A program with other
//! algorithms registers them and passes the catalog on: the command line, the experiment files, the documentation and
//! the property tests know only the algorithms of their catalog. A [`StackSpec`] is a choice from a catalog on each
//! axis, parsed and checked; [`dialect`] contains the behaviour of an endpoint apart from its stack.

mod axis;
mod builtin;
pub mod deploy;
pub mod dialect;
mod entry;
mod error;
pub mod kernel;
pub mod linux;
mod nearest;
mod needs;
mod offer;
mod parameter;
mod parse;
mod refusal;
mod registry;
mod stack;
#[cfg(test)]
mod tests;
pub mod typed;

pub use axis::Axis;
pub use deploy::{Deployment, Obstacle};
pub use dialect::Dialect;
pub use entry::{Conflict, Context, Description, Draft, Entry, Home, Opponent, Plugin};
pub use error::{KnownName, StackError, StackProblem};
pub use kernel::{Kernel, KernelVersion, Presence};
pub use linux::{InLinux, Linux};
pub use needs::Needs;
pub use offer::offer;
pub use parameter::{
    Defaults, Kind, Level, ParameterSpec, SetError, Text, Value, ValueError, Values, Word,
};
pub use refusal::{ParameterFault, RegisterError, RegisterProblem};
pub use registry::{Catalog, Forbidden};
pub use stack::{Effective, Origin, StackSpec};
pub use typed::{Choice, Parameters, Switch};
