//! The catalog: every algorithm by name, with its parameters, citation and conflicts.
//!
//! An algorithm is in it when its `ENTRY` stands in one of the four lists below; the command
//! line, the experiment files, the documentation and the property tests then know it.
//! [`StackSpec`] is a choice from the catalog on each axis, parsed and checked; [`dialect`] holds
//! what an endpoint does beside its stack.

mod axis;
pub mod dialect;
mod error;
mod parse;
pub mod spec;
mod stack;
#[cfg(test)]
mod tests;
mod value;

use dupack_tcp::congestion::CongestionControl;
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::recovery::Recovery;
use dupack_tcp::response::Response;

pub use axis::{Axis, Description, Forbidden, describe, forbids};
pub use error::{StackError, StackProblem};
use spec::Entry;
pub use stack::{Effective, Origin, StackSpec, all_stacks};
pub use value::ValueError;

use crate::{congestion, differentiation, recovery, response};

/// The first axis.
pub const RECOVERIES: &[&Entry<dyn Recovery>] = &[
    &recovery::tahoe::ENTRY,
    &recovery::reno::ENTRY,
    &recovery::newreno::ENTRY,
    &recovery::sack::ENTRY,
    &recovery::fack::ENTRY,
    &recovery::momentary::ENTRY,
    &recovery::le::ENTRY,
    &recovery::rack::ENTRY,
];

/// The second axis.
pub const CONTROLS: &[&Entry<dyn CongestionControl>] = &[
    &congestion::reno::ENTRY,
    &congestion::fixed::ENTRY,
    &congestion::westwood::ENTRY,
    &congestion::cubic::ENTRY,
];

/// The third axis.
pub const DIFFERENTIATIONS: &[&Entry<dyn Differentiation>] = &[
    &differentiation::none::ENTRY,
    &differentiation::oracle::ENTRY,
    &differentiation::veno::ENTRY,
];

/// The fourth axis.
pub const RESPONSES: &[&Entry<dyn Response>] = &[&response::tcp::ENTRY, &response::previous::ENTRY];
