//! Results and traces as Arrow columns: tidy, numeric, with a unit and a description for every column.
//!
//! A [`Table`] is built from complete results. The tables about single runs also have builders, [`Runs`] and [`Flows`].
//! A builder takes runs one by one and returns a batch at any time, so the runs need not all be in memory. [`trace`]
//! has builders for packets and windows.
//!
//! | table | one row per |
//! | --- | --- |
//! | `runs` | run: its place in the sweep, stack, seed, each measure, the trace hash |
//! | `flows` | TCP flow of every run: its goodput |
//! | `summary` | point, stack and measure: mean, spread, ratio to the first stack |
//! | `verdicts` | point and stack: the stack's mark at the point, and the stacks that are better |
//! | `comparisons` | point, pair of stacks and measure: their difference and its significance |
//! | `points` | point: its place in the sweep |
//! | `parameters` | effective parameter |
//! | `packets`, `windows` | packet event of a flow; change of the flow's sender |
//!
//! The column of a swept key contains numbers in one unit if all values have one; words and switches are not converted.
//! `point` is the index of the point in the sweep, from 0. The metadata of a field has its `unit` (empty if there is
//! none) and its `description`. The metadata of a schema has the `title` of the experiment, the experiment itself as
//! TOML (`experiment`), and the engine that made the runs (`engine`).

pub mod field;
#[cfg(feature = "parquet")]
pub mod parquet;
mod runs;
mod sweep;
mod table;
pub mod trace;
mod verdicts;
mod words;

pub use runs::{Flows, Runs, measured};
pub use sweep::Sweep;
pub use table::Table;
