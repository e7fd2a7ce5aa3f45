//! The threads that step environments: the caller's, and some beside it.
//!
//! Each thread has a share of its own, the same in every step, so that an environment stays in the cache of the
//! processor that stepped it before; whoever is through with its own takes what others have left.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::Threads;
use crate::error::EnvironmentError;

/// Threads that work on parts.
#[derive(Debug)]
pub(super) struct Crew {
    /// Those beside the caller's; none if it works alone.
    others: Option<ThreadPool>,
    size: usize,
}

/// Parts for each thread: enough that a slow part does not leave the others waiting.
const PARTS_EACH: usize = 4;

/// The most threads.
const MOST: usize = 1024;

impl Crew {
    /// As many threads as asked for, to work on `count` environments.
    pub(super) fn new(threads: Threads, count: usize) -> Result<Self, EnvironmentError> {
        let size = match threads {
            Threads::All => std::thread::available_parallelism()
                .map_or(1, usize::from)
                .min(count),
            Threads::Count(size) => size,
        };
        if !(1..=MOST).contains(&size) {
            let message = format!("{size} threads");
            let remedy = format!("from 1 to {MOST}; more than processors are no faster");
            return Err(EnvironmentError::setting("threads", message, remedy));
        }
        let pool = || {
            let builder = ThreadPoolBuilder::new().num_threads(size - 1);
            builder.build().map_err(|error| EnvironmentError::Threads {
                count: size - 1,
                cause: error.to_string(),
            })
        };
        Ok(Self {
            others: if size > 1 { Some(pool()?) } else { None },
            size,
        })
    }

    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// How many of `count` environments are a part.
    pub(super) fn part_of(&self, count: usize) -> usize {
        match self.size {
            1 => count,
            size => count.div_ceil(size * PARTS_EACH),
        }
    }

    /// Has `work` done on each of `parts`.
    pub(super) fn each<P: Send>(&self, parts: Vec<P>, work: &(impl Fn(P) + Sync)) {
        let Some(others) = &self.others else {
            parts.into_iter().for_each(work);
            return;
        };
        let share = parts.len().div_ceil(self.size);
        let mut parts = parts.into_iter();
        let shares = (0..self.size).map(|_| Mutex::new(parts.by_ref().take(share).collect()));
        let shares: Vec<Mutex<VecDeque<P>>> = shares.collect();
        let next = |thread: usize| {
            let of = |n: usize| shares[n].lock().unwrap_or_else(PoisonError::into_inner);
            let own = of(thread).pop_front();
            own.or_else(|| (0..shares.len()).find_map(|other| of(other).pop_back()))
        };
        let go = |thread: usize| {
            while let Some(part) = next(thread) {
                work(part);
            }
        };
        others.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, place| go(place.index() + 1));
            go(0);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_part_is_done_once_however_many_threads_there_are() {
        for threads in [1, 2, 3, 8] {
            let crew = Crew::new(Threads::Count(threads), 1).unwrap();
            for parts in [0, 1, 5, 64] {
                let done: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
                crew.each((0..parts).collect(), &|part: usize| {
                    done[part].fetch_add(1, Ordering::Relaxed);
                });
                assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn threads_that_cannot_be_are_refused() {
        for threads in [0, 1025] {
            let error = Crew::new(Threads::Count(threads), 8)
                .unwrap_err()
                .to_string();
            assert!(error.contains("threads"), "{error}");
        }
    }
}
