//! Progress of a session, for people.

use std::time::Duration;

/// Amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of runs.
    pub runs: usize,
    /// Estimate of the packets that they send: their time is proportional to it.
    pub packets: u64,
}

impl Amount {
    /// Returns it with one run more, of about `packets`.
    #[must_use]
    pub const fn and(self, packets: u64) -> Self {
        Self {
            runs: self.runs + 1,
            packets: self.packets.saturating_add(packets),
        }
    }
}

/// Observer of a session; called from any thread. It also tells the time, which the engine does not know.
pub trait Watch: Sync {
    /// A round begins: `total` is to do, of which `done` was done before. A session with a precision has several rounds.
    fn begins(&self, total: Amount, done: Amount) {
        let _ = (total, done);
    }

    /// A run of `experiment` begins, which is part of `whole`, such as a paper; both may be empty.
    fn run_begins(&self, whole: &str, experiment: &str) {
        let _ = (whole, experiment);
    }

    /// A run of about `packets` is done.
    fn run_done(&self, packets: u64) {
        let _ = packets;
    }

    /// Passes on a sentence that the user should read.
    fn note(&self, text: &str) {
        let _ = text;
    }

    /// Returns the processor time of the calling thread so far; `None` if nobody measures it.
    fn cpu_time(&self) -> Option<Duration> {
        None
    }
}

impl Watch for () {}
