//! Plans and runs of experiments. A [`Plan`] is checked once. Its runs can then be performed in any order and on any
//! machine, with the same results. `dupack-engine` executes sets of runs.

mod build;
mod check;
mod course;
mod effort;
mod explain;
mod fingerprint;
mod flows_over_time;
mod harm;
mod interrupt;
mod one;
mod plan;
mod precision;
mod program;
mod room;
mod short_flows;
pub mod size;
mod template;
#[cfg(test)]
pub(crate) mod testing;
mod timeline;

pub use crate::results::measure::STANDING;
pub use build::{
    BuildError, Built, Endpoints, PathRoom, Processing, Product, Role, Scenario, TcpFlow,
    application_writes,
};
pub use course::{Course, Moment};
pub use fingerprint::{Fingerprint, engine};
pub use flows_over_time::{FlowOverTime, FlowsOverTime};
pub use harm::HarmRun;
pub(crate) use interrupt::Attempt;
pub use interrupt::{Fault, GivenUp, Interrupt, Purpose, give_up, take_fault};
pub use plan::{Job, Plan};
pub use room::room;
pub use size::{Held, Size, TooLarge};
pub use template::Template;
pub use timeline::{FlowTimeline, OverTime, Sampled, Timeline};
