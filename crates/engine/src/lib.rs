//! Execution of sets of runs: scheduling, journals, result folders, and external workers.
//!
//! A [`Set`] describes [`Task`]s. A [`Session`] keeps track of the tasks: it asks the [`Evidence`] for the tasks of the
//! next round, takes finished runs from the [`Journal`], gives out the other tasks, and enters their outcomes. A
//! session starts no threads and performs no runs. The threads of this process ([`carry_out`]) or other processes
//! ([`Deal`]) drive it, with results that are identical to the last bit. A [`Worker`] performs a run, in the simulator
//! or on real packets.
//!
//! ```text
//! Set ── tasks ─▶ Session ── due ─▶ threads · executors · real packets (Worker)
//!                  ▲   │                      │
//!   Evidence ◀─────┘   └── Journal ◀── outcome┘
//! ```
//!
//! This crate does not depend on the purpose of the runs: comparisons, papers, report cards and shards are thin layers
//! above it.

mod batch;
mod blocks;
mod deal;
mod execution;
pub mod folder;
pub mod journal;
mod ledger;
mod merge;
pub mod parcel;
mod samples;
mod session;
mod set;
mod several;
mod shard;
mod shell;
mod split;
pub mod store;
mod threads;
mod watch;

pub use batch::{BatchSize, Entered, Order};
pub use blocks::{Block, BlockSize, Progressed, Sink, blocks, stream};
pub use deal::Deal;
pub use execution::Execution;
pub use journal::{Done, Journal, JournalError, Stored};
pub use ledger::{Carried, Execute, Ledger, Made, PlanRuns, Shown, carry_out_plan, show};
pub use merge::{Disagreement, Merge};
pub use parcel::{Fulfilled, ParcelError};
pub use session::{Keeping, Session, SharedTrust};
pub use set::{Conduct, Evidence, Outcome, RunId, Schedule, Set, Task, Worker};
pub use several::carry_out_all;
pub use shard::{Shard, ShardError};
pub use shell::quoted;
pub use split::{Share, Split};
pub use threads::carry_out;
pub use watch::{Amount, Watch};

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
