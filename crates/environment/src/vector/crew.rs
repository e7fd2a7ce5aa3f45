//! Threads that perform the steps of environments: the caller's thread and a pool.
//!
//! Each thread has its own share of the parts, which is the same in every step, so that an environment stays in the
//! cache of the same processor. A thread that has finished its share takes parts from the other threads.
//!
//! A step of a few environments takes less time than the kernel needs to wake a thread. Therefore, idle threads poll
//! for a while before they sleep, and yield the processor between two polls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder, Yield, yield_local};

use super::Threads;
use crate::error::EnvironmentError;

/// Threads that work on parts.
#[derive(Debug)]
pub(super) struct Crew {
    /// Threads in addition to the caller's thread; `None` if the caller works alone.
    others: Option<Others>,
    size: usize,
}

/// Threads in addition to the caller's thread.
#[derive(Debug)]
struct Others {
    pool: ThreadPool,
    /// `true` for each thread that is polling.
    awake: Arc<[AtomicBool]>,
}

/// Number of polls before a thread sleeps. They take a few hundred microseconds.
const LOOKS: u32 = 500;

/// Number of parts per thread, which is large enough that the other threads do not wait long for one slow part.
const PARTS_EACH: usize = 4;

/// Maximum number of threads.
const MOST: usize = 1024;

impl Crew {
    /// Starts the requested number of threads for `count` environments.
    pub(super) fn new(threads: Threads, count: usize) -> Result<Self, EnvironmentError> {
        let size = match threads {
            Threads::All => std::thread::available_parallelism()
                .map_or(1, usize::from)
                .min(count),
            Threads::Count(size) => size,
        };
        if !(1..=MOST).contains(&size) {
            let message = format!("{size} threads");
            let remedy = format!(
                "choose a number from 1 to {MOST}; more threads than processors are no faster"
            );
            return Err(EnvironmentError::setting("threads", message, remedy));
        }
        Ok(Self {
            others: if size > 1 {
                Some(Others::new(size - 1)?)
            } else {
                None
            },
            size,
        })
    }

    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of environments per part.
    pub(super) fn part_of(&self, count: usize) -> usize {
        match self.size {
            1 => count,
            size => count.div_ceil(size * PARTS_EACH),
        }
    }

    /// Applies `work` to each of `parts`, on all threads.
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
        let at_work = AtomicUsize::new(self.size - 1);
        others.pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, place| {
                go(place.index() + 1);
                at_work.fetch_sub(1, Ordering::Release);
            });
            go(0);
            // The thread polls first, because waiting for the scope would put it to sleep.
            look_around(|| at_work.load(Ordering::Acquire) == 0);
        });
        others.stay_awake();
    }
}

impl Others {
    fn new(count: usize) -> Result<Self, EnvironmentError> {
        let pool = ThreadPoolBuilder::new().num_threads(count).build();
        let pool = pool.map_err(|error| EnvironmentError::Threads {
            count,
            cause: error.to_string(),
        })?;
        let awake = (0..count).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { pool, awake })
    }

    /// Makes each idle thread poll for the next step for a while.
    fn stay_awake(&self) {
        let is_awake = |awake: &AtomicBool| awake.load(Ordering::Relaxed);
        if self.awake.iter().all(is_awake) {
            return;
        }
        let awake = Arc::clone(&self.awake);
        self.pool.spawn_broadcast(move |place| {
            let own = &awake[place.index()];
            if own.swap(true, Ordering::Relaxed) {
                return;
            }
            // `yield_local` performs a step if one is waiting; polling then starts again.
            while look_around(|| yield_local() == Some(Yield::Executed)) {}
            own.store(false, Ordering::Relaxed);
        });
    }
}

/// Polls `found` for a limited time. Returns `true` as soon as `found` returns `true`, and `false` at the end of the
/// time.
fn look_around(found: impl Fn() -> bool) -> bool {
    (0..LOOKS).any(|_| {
        found() || {
            thread::yield_now();
            false
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_part_is_done_once_with_any_number_of_threads() {
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
    fn invalid_thread_counts_are_refused() {
        for threads in [0, 1025] {
            let error = Crew::new(Threads::Count(threads), 8)
                .unwrap_err()
                .to_string();
            assert!(error.contains("threads"), "{error}");
        }
    }
}
