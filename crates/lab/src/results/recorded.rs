//! Parts of a recorded trace that the runs use.

use std::collections::BTreeSet;
use std::path::PathBuf;

use dupack_net::random::Stream;

use super::Results;

/// Position in the recorded traces at which a run begins. The position is the same for all traces, because recordings
/// are assumed to be simultaneous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// Start of the traces.
    Start,
    /// Random position within the longest trace, which has this length in milliseconds. A position is drawn for every
    /// seed.
    DrawnWithin(u64),
}

impl Beginning {
    /// Returns the position in milliseconds from the start of the traces.
    #[must_use]
    pub fn ms(self, seed: u64) -> u64 {
        match self {
            Self::Start => 0,
            Self::DrawnWithin(longest) => {
                Stream::derive(seed, "beginning of the recorded traces").below(longest)
            }
        }
    }
}

/// Directions of a link that follow a recorded trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// One direction.
    OneWay,
    /// Both directions: the direction that carries the ACKs has no rate or trace of its own.
    BothWays,
}

/// Recorded trace of a link at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// Index of the point.
    pub point: usize,
    /// Key in the experiment: `path.trace`, `path.reverse.trace`.
    pub key: String,
    /// Path of the file, as written in the experiment.
    pub file: PathBuf,
    /// Length in milliseconds, after which the trace repeats.
    pub length_ms: u32,
    /// Length of the part that a run uses, in milliseconds: the duration of the run, or the whole trace.
    pub seen_ms: u64,
    /// Duration of a run in milliseconds. A run that is longer than the trace repeats it.
    pub run_ms: u64,
    /// Directions that follow the trace.
    pub carries: Carries,
    /// Position at which runs begin.
    pub beginning: Beginning,
}

impl Recorded {
    /// Creates the record for runs of `duration_ms`.
    pub(crate) fn new(
        point: usize,
        (key, file): (String, PathBuf),
        length_ms: u32,
        duration_ms: u64,
        (beginning, carries): (Beginning, Carries),
    ) -> Self {
        Self {
            point,
            key,
            file,
            length_ms,
            seen_ms: duration_ms.min(u64::from(length_ms)),
            run_ms: duration_ms,
            carries,
            beginning,
        }
    }

    /// Returns the number of times that a run goes through the trace, if the run is longer than the trace.
    #[must_use]
    pub fn rounds(&self) -> Option<f64> {
        let length = u64::from(self.length_ms.max(1));
        (self.run_ms > length).then(|| self.run_ms as f64 / length as f64)
    }

    /// Returns the position at which the runs with `seed` begin, in milliseconds from the start of the trace.
    #[must_use]
    pub fn from_ms(&self, seed: u64) -> u64 {
        self.beginning.ms(seed) % u64::from(self.length_ms.max(1))
    }

    /// Returns the length of the trace that the runs with `seeds` use together, in milliseconds.
    #[must_use]
    pub fn seen_together_ms(&self, seeds: impl IntoIterator<Item = u64>) -> u64 {
        let length = u64::from(self.length_ms);
        // A part that wraps around becomes two parts: one at the end and one at the start.
        let mut parts: Vec<(u64, u64)> = Vec::new();
        for seed in seeds {
            let from = self.from_ms(seed);
            let until = from + self.seen_ms;
            parts.push((from, until.min(length)));
            parts.push((0, until.saturating_sub(length)));
        }
        parts.sort_unstable();
        let mut reached = 0;
        let mut seen = 0;
        for (from, until) in parts {
            seen += until.saturating_sub(from.max(reached));
            reached = reached.max(until);
        }
        seen
    }
}

impl Results {
    /// Returns the seeds of the runs at `point`, in ascending order.
    #[must_use]
    pub fn seeds_at(&self, point: usize) -> Vec<u64> {
        let here = self.runs_at(point).iter();
        let seeds: BTreeSet<u64> = here.map(|run| run.seed).collect();
        seeds.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(length_ms: u32, duration_ms: u64, beginning: Beginning) -> Recorded {
        let place = ("path.trace".to_owned(), PathBuf::from("down"));
        Recorded::new(
            0,
            place,
            length_ms,
            duration_ms,
            (beginning, Carries::OneWay),
        )
    }

    #[test]
    fn start_positions_are_uniform() {
        // Mean of 4000 numbers below 1000: 500 ± 4 · 1000/√12/√4000 = 500 ± 18.
        let beginning = Beginning::DrawnWithin(1000);
        let mean = (1..=4000)
            .map(|seed| beginning.ms(seed) as f64)
            .sum::<f64>()
            / 4000.0;
        assert!((mean - 500.0).abs() < 18.0, "{mean}");
        assert_eq!(beginning.ms(7), beginning.ms(7));
        assert_eq!(Beginning::Start.ms(7), 0);
    }

    #[test]
    fn overlapping_parts_are_counted_once() {
        let all_of_it = recorded(1000, 5000, Beginning::DrawnWithin(1000));
        assert_eq!((all_of_it.seen_ms, all_of_it.rounds()), (1000, Some(5.0)));
        assert_eq!(all_of_it.seen_together_ms([1, 2, 3]), 1000);
        let the_same = recorded(1000, 60, Beginning::Start);
        assert_eq!(the_same.seen_together_ms([1, 2, 3]), 60);
        assert_eq!(the_same.rounds(), None);
        let parts = recorded(1000, 60, Beginning::DrawnWithin(1000));
        for count in [1, 2, 20] {
            // The expected length is counted millisecond by millisecond.
            let mut seen = [false; 1000];
            for seed in 1..=count {
                for ms in 0..60 {
                    seen[((parts.from_ms(seed) + ms) % 1000) as usize] = true;
                }
            }
            let expected = seen.iter().filter(|seen| **seen).count() as u64;
            assert_eq!(parts.seen_together_ms(1..=count), expected, "{count}");
        }
    }
}
