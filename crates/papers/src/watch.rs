//! Who looks on while papers are rerun.

use std::time::Duration;

use dupack_lab::run::Progress;

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

    /// A run of an experiment of a paper begins.
    fn run_begins(&self, paper: &str, experiment: &str) {
        let _ = (paper, experiment);
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

/// Counts runs and nothing else.
pub(super) struct Counting<'p>(pub(super) &'p dyn Progress);

impl Watch for Counting<'_> {
    fn run_done(&self, _: u64) {
        self.0.run_done();
    }
}
