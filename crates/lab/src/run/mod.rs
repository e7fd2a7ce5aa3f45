//! From an experiment to results: a [`Plan`] is checked once, then its runs are carried out on
//! all processors, in any order, with the same numbers.

mod build;
mod check;
mod course;
mod effort;
mod execute;
mod explain;
mod fingerprint;
mod harm;
pub mod journal;
mod kept;
mod plan;
mod precision;
mod program;
mod short_flows;
mod timeline;
mod watch;

pub use build::{BuildError, Built, Endpoints, Role, Scenario, TcpFlow, application_writes};
pub use course::{Course, Moment};
pub use execute::{Execution, Interrupt, Progress};
pub use fingerprint::Fingerprint;
pub use harm::{Harm, STANDING};
pub use journal::{Journal, JournalError};
pub use plan::{Job, Plan};
pub use timeline::{FlowTimeline, OverTime, Timeline};
pub use watch::{Amount, Watch};
