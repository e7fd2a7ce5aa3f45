//! The catalog: every algorithm by name, with its parameters, citation and conflicts.
//!
//! An algorithm is in it when its `ENTRY` stands in one of the four lists below; the command
//! line, the experiment files, the documentation and the property tests then know it.
//! [`StackSpec`] is a choice from the catalog on each axis, parsed and checked; [`dialect`] holds
//! what an endpoint does beside its stack.

mod axis;
pub mod dialect;
mod error;
mod offer;
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
pub use offer::offer;
use spec::Entry;
pub use stack::{Effective, Origin, StackSpec, all_stacks, stacks_by_pairs};
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
    &recovery::bulk_repeat::ENTRY,
    &recovery::robust::ENTRY,
    &recovery::delayed_fast::ENTRY,
];

/// The second axis.
pub const CONTROLS: &[&Entry<dyn CongestionControl>] = &[
    &congestion::reno::ENTRY,
    &congestion::fixed::ENTRY,
    &congestion::westwood::ENTRY,
    &congestion::cubic::ENTRY,
    &congestion::rr::ENTRY,
    &congestion::vegas::ENTRY,
    &congestion::veno::ENTRY,
    &congestion::bbr::ENTRY,
];

/// The third axis.
pub const DIFFERENTIATIONS: &[&Entry<dyn Differentiation>] = &[
    &differentiation::none::ENTRY,
    &differentiation::always::ENTRY,
    &differentiation::oracle::ENTRY,
    &differentiation::ncpld::ENTRY,
    &differentiation::veno::ENTRY,
    &differentiation::spike::ENTRY,
    &differentiation::spike::BULK_REPEAT_ENTRY,
    &differentiation::jtcp::ENTRY,
    &differentiation::relds::ENTRY,
    &differentiation::lda_eq::ENTRY,
    &differentiation::zigzag::ENTRY,
];

/// The fourth axis.
pub const RESPONSES: &[&Entry<dyn Response>] = &[
    &response::tcp::ENTRY,
    &response::previous::ENTRY,
    &response::slow_start::METHOD_11,
    &response::slow_start::METHOD_12,
    &response::slow_start::METHOD_13,
    &response::slow_start::METHOD_14,
    &response::slow_start::METHOD_15,
    &response::slow_start::METHOD_16,
    &response::slow_start::METHOD_17,
    &response::avoidance::METHOD_21,
    &response::avoidance::METHOD_22,
    &response::avoidance::METHOD_23,
    &response::avoidance::METHOD_24,
    &response::avoidance::METHOD_25,
    &response::avoidance::METHOD_26,
    &response::avoidance::METHOD_27,
    &response::dynamic::ENTRY,
];
