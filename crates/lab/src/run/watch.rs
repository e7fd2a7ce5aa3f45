//! Who looks on while several experiments are run: a paper's, or a report card's.

use std::time::Duration;

/// How much is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many runs.
    pub runs: usize,
    /// About how many packets they send: what their time is proportional to.
    pub packets: u64,
}

impl Amount {
    /// With one run more, of about `packets`.
    #[must_use]
    pub const fn and(self, packets: u64) -> Self {
        Self {
            runs: self.runs + 1,
            packets: self.packets + packets,
        }
    }
}

/// Told what happens, from whichever thread, and asked for the time that the lab does not know.
pub trait Watch: Sync {
    /// It begins: `total` is to do, `done` of it was done before.
    fn begins(&self, total: Amount, done: Amount) {
        let _ = (total, done);
    }

    /// A run begins: of an experiment, and what it is part of, such as a paper.
    fn run_begins(&self, whole: &str, experiment: &str) {
        let _ = (whole, experiment);
    }

    /// A run of about `packets` is done.
    fn run_done(&self, packets: u64) {
        let _ = packets;
    }

    /// Something that the user should know.
    fn note(&self, text: &str) {
        let _ = text;
    }

    /// CPU time of the calling thread so far.
    fn cpu_time(&self) -> Duration {
        Duration::ZERO
    }
}

impl Watch for () {}
