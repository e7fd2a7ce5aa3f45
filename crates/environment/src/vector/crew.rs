//! The threads that step environments: the caller's, and some beside it.
//!
//! Each thread has a share of its own, the same in every step, so that an environment stays in the cache of the
//! processor that stepped it before; whoever is through with its own takes what others have left.
//!
//! A step of a few environments is over sooner than the kernel wakes a thread. So nobody goes to sleep at once:
//! threads with nothing to do look around for a while, and let others run meanwhile.

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
    /// Those beside the caller's; none if it works alone.
    others: Option<Others>,
    size: usize,
}

/// Threads beside the caller's.
#[derive(Debug)]
struct Others {
    pool: ThreadPool,
    /// Whether each of them is looking around.
    awake: Arc<[AtomicBool]>,
}

/// So often somebody looks around before going to sleep: some hundred microseconds.
const LOOKS: u32 = 500;

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
        let at_work = AtomicUsize::new(self.size - 1);
        others.pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, place| {
                go(place.index() + 1);
                at_work.fetch_sub(1, Ordering::Release);
            });
            go(0);
            // Who waits for the scope sleeps.
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

    /// Has each of them look around for the next step for a while, if it does not yet.
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
            // A step is done within: what was found starts the count anew.
            while look_around(|| yield_local() == Some(Yield::Executed)) {}
            own.store(false, Ordering::Relaxed);
        });
    }
}

/// Looks until `found`, but not for long: whether it was.
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
