//! Sets of runs: what is to do, in which order, by whom, and where it is kept.
//!
//! A [`Set`] names its [`Task`]s. A [`Session`] holds the books: it asks the [`Evidence`] for the tasks of the next round,
//! takes from the [`Journal`] those that were done before, hands the others out, and enters what comes back. It starts no
//! thread and performs no run. Threads of this process drive it by [`carry_out`], other processes by [`Deal`]; both give the
//! same results to the last bit. A [`Worker`] performs a run: in the simulator, or on real packets.
//!
//! ```text
//! Set ── tasks ─▶ Session ── due ─▶ threads · executors · real packets (Worker)
//!                  ▲   │                      │
//!   Evidence ◀─────┘   └── Journal ◀── outcome┘
//! ```
//!
//! What the runs are for, this crate does not know: comparisons, papers, report cards and shards are thin callers.

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
pub use session::{Keeping, Session};
pub use set::{Conduct, Evidence, Outcome, RunId, Schedule, Set, Task, Worker};
pub use several::carry_out_all;
pub use shard::{Shard, ShardError};
pub use shell::quoted;
pub use split::{Share, Split};
pub use threads::carry_out;
pub use watch::{Amount, Watch};
