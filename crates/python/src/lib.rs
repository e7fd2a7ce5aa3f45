//! The compiled half of the Python package: a thin binding, with one file per Python object.
//!
//! Python users import `python/dupack`, which has the names, the documentation and the types. This crate converts
//! arguments to Rust and results to Python. It contains no logic that another front end would need as well.

mod catalog;
mod diagnose;
mod environment;
mod errors;
mod evaluate;
mod ledger;
mod plan;
mod plugin;
mod results;
mod stream;
mod supervise;
mod table;
mod trace;
mod watch;

use pyo3::prelude::*;

/// The module `dupack._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::catalog::Catalog;
    #[pymodule_export]
    use crate::diagnose::{diagnose, script};
    #[pymodule_export]
    use crate::environment::{Environments, features};
    #[pymodule_export]
    use crate::evaluate::{evaluate, paper, paper_list};
    #[pymodule_export]
    use crate::ledger::Ledger;
    #[pymodule_export]
    use crate::plan::{Plan, default_stacks, engine, from_toml, schema, to_toml};
    #[pymodule_export]
    use crate::plugin::{
        AckFacts, Context, Credit, Delivered, Departure, Expiry, LossEvent, LossFacts, LossRule,
        Next, Outcome, Reversal, RttEstimator, Scoreboard, Segment, SegmentIterator, SendReason,
        Sent, View, Window, WindowUse,
    };
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::stream::Streamed;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::trace::Trace;
}
