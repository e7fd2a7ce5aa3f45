//! From an experiment to results: a [`Plan`] is checked once, then its runs are carried out on
//! all processors, in any order, with the same numbers.

mod blocks;
mod build;
mod check;
mod course;
mod deal;
mod effort;
mod execute;
mod explain;
mod fingerprint;
mod flows_over_time;
mod harm;
mod interrupt;
pub mod journal;
mod kept;
mod ledger;
mod merge;
mod parcel;
mod plan;
mod precision;
mod program;
mod room;
mod shard;
mod short_flows;
pub mod size;
mod split;
mod template;
mod timeline;
mod watch;

pub use blocks::{Block, BlockSize, Progressed, Sink};
pub(crate) use build::flows_in;
pub use build::{
    BuildError, Built, Endpoints, PathRoom, Processing, Product, Role, Scenario, TcpFlow,
    application_writes,
};
pub use course::{Course, Moment};
pub use deal::{BatchSize, Deal, Entered};
pub use execute::{Execution, Progress};
pub use fingerprint::{Fingerprint, engine};
pub use flows_over_time::{FlowOverTime, FlowsOverTime};
pub use harm::{Harm, STANDING};
pub(crate) use interrupt::Attempt;
pub use interrupt::{Fault, GivenUp, Interrupt, Purpose, give_up, take_fault};
pub use journal::{Journal, JournalError, Stored};
pub use kept::Task;
pub use ledger::Ledger;
pub use merge::{Disagreement, Merge};
pub use parcel::{Fulfilled, Order, ParcelError};
pub use plan::{Job, Plan};
pub use room::room;
pub use shard::{Shard, ShardError};
pub use size::{Held, Size, TooLarge};
pub use split::{Share, Split};
pub use template::Template;
pub use timeline::{FlowTimeline, OverTime, Timeline};
pub use watch::{Amount, Watch};
