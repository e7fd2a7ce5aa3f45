//! Over what runs are made: the simulator, or real packets on an emulated path.

use crate::units::ByteCount;

/// Marks a stack with a run that cannot be trusted, in tables. Before how many are left of how many.
pub const DOUBT: &str = "†";

/// What is said where all runs are such.
pub const NO_ANSWER: &str = "There is no answer: every run is worth nothing, and marked †.";

/// Where runs cannot be trusted, a point has an answer only if at least so many of each stack can, and at
/// least half: the interval of two runs is so wide that it tells nothing, and what is left of many is
/// chosen by when the machine was idle.
pub const SOUND_LEAST: usize = 3;

/// Stands in the place of the best stack at a point where all runs are such.
pub const NO_ANSWER_HERE: &str = "no answer: every run is marked †";

/// Over what runs are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Medium {
    /// The simulator.
    #[default]
    Simulated,
    /// Real packets.
    Wire(WireRecord),
}

/// What runs on real packets have of their own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WireRecord {
    /// How much each run transfers.
    pub bytes: ByteCount,
    /// Runs during which the machine did not keep up.
    pub doubts: Vec<Doubt>,
}

/// A run that cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Its point.
    pub point: usize,
    /// Its stack.
    pub stack: usize,
    /// Its seed.
    pub seed: u64,
    /// Why, for people.
    pub reasons: Vec<String>,
}

impl Medium {
    /// How many runs cannot be trusted.
    #[must_use]
    pub fn all_doubts(&self) -> usize {
        match self {
            Self::Simulated => 0,
            Self::Wire(record) => record.doubts.len(),
        }
    }

    /// The runs of `stack` at `point` that cannot be trusted.
    pub fn doubts(&self, point: usize, stack: usize) -> impl Iterator<Item = &Doubt> {
        let doubts = match self {
            Self::Simulated => &[][..],
            Self::Wire(record) => &record.doubts,
        };
        let here = move |doubt: &&Doubt| doubt.point == point && doubt.stack == stack;
        doubts.iter().filter(here)
    }
}
