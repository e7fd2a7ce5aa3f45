//! From an experiment to its runs: a [`Plan`] is checked once, then any of its runs can be performed, in any order and
//! anywhere, with the same numbers. Sets of runs are carried out by `dupack-engine`.

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

pub(crate) use build::flows_in;
pub use build::{
    BuildError, Built, Endpoints, PathRoom, Processing, Product, Role, Scenario, TcpFlow,
    application_writes,
};
pub use course::{Course, Moment};
pub use fingerprint::{Fingerprint, engine};
pub use flows_over_time::{FlowOverTime, FlowsOverTime};
pub use harm::{HarmRun, STANDING};
pub(crate) use interrupt::Attempt;
pub use interrupt::{Fault, GivenUp, Interrupt, Purpose, give_up, take_fault};
pub use plan::{Job, Plan};
pub use room::room;
pub use size::{Held, Size, TooLarge};
pub use template::Template;
pub use timeline::{FlowTimeline, OverTime, Sampled, Timeline};
