//! Progress of a session, for users.

use std::time::Duration;

/// Amount of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of runs.
    pub runs: usize,
    /// Estimated number of packets of these runs. The running time is proportional to this number.
    pub packets: u64,
}

impl Amount {
    /// Returns the amount with one more run of about `packets`.
    #[must_use]
    pub const fn and(self, packets: u64) -> Self {
        Self {
            runs: self.runs + 1,
            packets: self.packets.saturating_add(packets),
        }
    }
}

/// Observer of a session, called from any thread. It also measures processor time, because the engine has no clock.
pub trait Watch: Sync {
    /// Called at the start of a round. `total` is the work of the round, of which `done` was already done before. A
    /// session with a precision may have several rounds.
    fn begins(&self, total: Amount, done: Amount) {
        let _ = (total, done);
    }

    /// Called at the start of a run of `experiment`, which is part of `whole`, such as a paper. Both names may be
    /// empty.
    fn run_begins(&self, whole: &str, experiment: &str) {
        let _ = (whole, experiment);
    }

    /// Called at the end of a run of about `packets`.
    fn run_done(&self, packets: u64) {
        let _ = packets;
    }

    /// Receives a message for the user.
    fn note(&self, text: &str) {
        let _ = text;
    }

    /// Returns the processor time that the calling thread has used so far, or `None` if it is not measured.
    fn cpu_time(&self) -> Option<Duration> {
        None
    }
}

impl Watch for () {}
