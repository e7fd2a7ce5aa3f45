//! Threads that perform runs.

#[cfg(feature = "parallel")]
use std::sync::Mutex;
#[cfg(feature = "parallel")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of runs that are performed at the same time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution {
    /// Number of runs at the same time. The default is one per processor. With `Some(1)`, runs are performed on the
    /// calling thread.
    pub jobs: Option<usize>,
}

impl Execution {
    /// Returns the number of runs at the same time.
    #[must_use]
    pub fn threads(self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        match cfg!(feature = "parallel") {
            true => self.jobs.unwrap_or_else(all),
            false => 1,
        }
    }

    /// Applies `one` to each of `items` on several threads. The items are started in order, and the results are
    /// returned in any order.
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
                        .expect("no thread panics while it holds the lock")
                        .push(outcome);
                }
            }
        });
        made.into_inner().expect("all threads have ended")
    }

    /// Applies `one` to each of `items` in order, on the calling thread.
    #[cfg(not(feature = "parallel"))]
    pub fn each<I: Sync, O: Send>(
        self,
        items: &[I],
        one: impl Fn(&I) -> Option<O> + Sync,
    ) -> Vec<O> {
        items.iter().filter_map(one).collect()
    }
}
