//! Trace hashes of all runs as a table. If two machines or two versions write the same table, the packets in every run
//! had the same history.

use std::fmt::Write as _;

use super::Results;

impl Results {
    /// Header line of the table.
    pub const TRACE_HASHES_HEADER: &str = "experiment,stack,seed,trace_hash\n";

    /// Returns one line per simulated run: `experiment` (a name), the stack, the seed and the trace hash.
    #[must_use]
    pub fn trace_hashes(&self, experiment: &str) -> String {
        let mut lines = String::new();
        for run in &self.runs {
            if let Some(hash) = self.hash_of(run) {
                let (stack, seed) = (&self.stacks[run.stack], run.seed);
                let _ = writeln!(lines, "{experiment},{stack},{seed},{hash:016x}");
            }
        }
        lines
    }
}
