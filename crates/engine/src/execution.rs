//! Threads that perform runs.

#[cfg(feature = "parallel")]
use std::sync::Mutex;
#[cfg(feature = "parallel")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many runs are performed at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution {
    /// Runs at a time; one per processor if `None`. One at a time is done on the calling thread.
    pub jobs: Option<usize>,
}

impl Execution {
    /// Returns how many runs are performed at a time.
    #[must_use]
    pub fn threads(self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        match cfg!(feature = "parallel") {
            true => self.jobs.unwrap_or_else(all),
            false => 1,
        }
    }

    /// Applies `one` to each of `items`, as many at a time as asked for, begun in their order, and returns what it made of
    /// them, in any order.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[cfg(feature = "parallel")]
    pub fn each<I: Sync, O: Send>(
        self,
        items: &[I],
        one: impl Fn(&I) -> Option<O> + Sync,
    ) -> Vec<O> {
        if self.jobs == Some(1) {
            return items.iter().filter_map(one).collect();
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs.unwrap_or(0))
            .build()
            .expect("threads can be started");
        let next = AtomicUsize::new(0);
        let made = Mutex::new(Vec::new());
        pool.broadcast(|_| {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Some(outcome) = one(item) {
                    made.lock()
                        .expect("no thread panics holding it")
                        .push(outcome);
                }
            }
        });
        made.into_inner().expect("all threads are through")
    }

    /// Applies `one` to each of `items`, one after the other: there are no threads.
    #[cfg(not(feature = "parallel"))]
    pub fn each<I: Sync, O: Send>(
        self,
        items: &[I],
        one: impl Fn(&I) -> Option<O> + Sync,
    ) -> Vec<O> {
        items.iter().filter_map(one).collect()
    }
}
