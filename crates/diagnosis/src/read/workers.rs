//! Sharing of work among threads.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Calls `work` for each of `things` on `threads` threads, and starts the calls in order. The current thread calls
/// `meanwhile` first, and then helps the other threads.
pub(crate) fn share<T: Send, R>(
    things: Vec<T>,
    threads: usize,
    work: impl Fn(T) + Sync,
    meanwhile: impl FnOnce() -> R,
) -> R {
    let helpers = threads.saturating_sub(1).min(things.len());
    let things = Mutex::new(things.into_iter());
    // The lock is not held during the work.
    let next = || things.lock().unwrap_or_else(PoisonError::into_inner).next();
    let help = || {
        while let Some(thing) = next() {
            work(thing);
        }
    };
    thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(help);
        }
        let done = meanwhile();
        help();
        done
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn everything_is_done_once_by_any_number_of_threads() {
        for threads in 0..5 {
            let sum = AtomicU64::new(0);
            let add = |n: u64| {
                sum.fetch_add(n, Ordering::Relaxed);
            };
            let done = share((1..=100).collect(), threads, add, || "meanwhile");
            assert_eq!((done, sum.into_inner()), ("meanwhile", 5050));
        }
    }
}
