//! Medium of the runs: the simulator, or real packets on an emulated path.

use crate::units::ByteCount;

/// Mark in tables for a stack some of whose runs cannot be trusted. The mark precedes the number of remaining runs.
pub const DOUBT: &str = "†";

/// Message for results in which no run can be trusted.
pub const NO_ANSWER: &str = "There is no answer: no run can be trusted (†).";

/// Minimum number of trustworthy runs per stack, if some runs cannot be trusted. At least half of the runs must also be
/// trustworthy. The confidence interval of two runs is too wide to be useful. If only a few of many runs remain, these
/// are a biased sample: the runs during which the machine happened to be idle.
pub const SOUND_LEAST: usize = 3;

/// Text instead of the best stack at a point where no run can be trusted.
pub const NO_ANSWER_HERE: &str = "no answer: no run can be trusted (†)";

/// Medium of the runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Medium {
    /// The simulator.
    #[default]
    Simulated,
    /// Real packets.
    Wire(WireRecord),
}

/// Details of runs on real packets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WireRecord {
    /// Bytes that each run transfers.
    pub bytes: ByteCount,
    /// Runs during which the machine was too slow.
    pub doubts: Vec<Doubt>,
}

/// A run that cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Index of the run's point.
    pub point: usize,
    /// Index of the run's stack.
    pub stack: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Reasons, for readers.
    pub reasons: Vec<String>,
}

impl Medium {
    /// Returns the number of runs that cannot be trusted.
    #[must_use]
    pub fn all_doubts(&self) -> usize {
        match self {
            Self::Simulated => 0,
            Self::Wire(record) => record.doubts.len(),
        }
    }

    /// Returns the runs of `stack` at `point` that cannot be trusted.
    pub fn doubts(&self, point: usize, stack: usize) -> impl Iterator<Item = &Doubt> {
        let doubts = match self {
            Self::Simulated => &[][..],
            Self::Wire(record) => &record.doubts,
        };
        let here = move |doubt: &&Doubt| doubt.point == point && doubt.stack == stack;
        doubts.iter().filter(here)
    }
}
