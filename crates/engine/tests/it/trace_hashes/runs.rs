//! Runs of an experiment and their trace hashes, natively and in WebAssembly (`tools/wasm-check`).

use std::fmt::Write;

use dupack_algorithms::catalog::Catalog;
use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};

/// First line of `golden.csv`.
pub const HEADER: &str = "experiment,stack,seed,trace_hash\n";

/// Returns a line for each run.
pub fn hashes(source: &Source) -> String {
    let plan = Plan::new(source.parse().unwrap(), source, &Catalog::builtin()).unwrap();
    let results = plan.execute(Execution::default(), &(), &Interrupt::new());
    let mut lines = String::new();
    for run in &results.runs {
        let (name, stack) = (&source.name, &results.stacks[run.stack]);
        let hash = results.hash_of(run).unwrap();
        let _ = writeln!(lines, "{name},{stack},{},{hash:016x}", run.seed);
    }
    lines
}
