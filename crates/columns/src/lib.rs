//! Results and traces as Arrow columns: tidy, numeric, with a unit and a description at every column.
//!
//! A [`Table`] is made of results in one go. Those with a row per run have builders of their own, [`Runs`] and
//! [`Flows`], which take runs as they come and give a batch whenever it is asked for, so that nothing has to hold
//! all of them. [`trace`] does the same for packets and windows.
//!
//! | table | a row for |
//! | --- | --- |
//! | `runs` | every run: where it is in the sweep, stack, seed, each measure, the hash of what happened |
//! | `flows` | every TCP flow of every run: its goodput |
//! | `summary` | every point, stack and measure: mean, spread, ratio to the first stack |
//! | `verdicts` | every point and stack: how it stands there, and who beats it |
//! | `comparisons` | every point, two stacks and measure: how far apart they are, and whether it can be told |
//! | `points` | every point: where it is in the sweep |
//! | `parameters` | every effective parameter |
//! | `packets`, `windows` | every event of a flow's packets; every change of its sender |
//!
//! A swept key is a column with numbers in one unit; words and switches are what they are. `point` is the place of
//! the point among the points, from 0. The metadata of a field has its `unit` (empty if there is none) and its
//! `description`; that of a schema has the `title` of the experiment, the experiment itself as TOML
//! (`experiment`) and the engine that made the runs (`engine`).

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
