//! Time that a thread spends ready to run without a processor.

use std::fs::File;
use std::os::unix::fs::FileExt;

use dupack_tcp::time::Duration;

/// The kernel's scheduling statistics of a thread (`Documentation/scheduler/sched-stats.rst`).
#[derive(Debug)]
pub(crate) struct ProcessorWaits {
    /// The statistics file of the thread that opened it. `None` if the kernel does not provide it.
    schedstat: Option<File>,
    total: Option<Duration>,
}

impl ProcessorWaits {
    /// Opens the statistics of the calling thread.
    pub(crate) fn of_this_thread() -> Self {
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        Self {
            total: schedstat.as_ref().and_then(read),
            schedstat,
        }
    }

    /// Returns the time that the thread has waited for a processor since the last call. For a thread that has slept in
    /// between, this is the delay after its wake-up. Returns zero if the kernel does not report the time.
    pub(crate) fn latest(&mut self) -> Duration {
        let before = self.total;
        self.total = self.schedstat.as_ref().and_then(read);
        let both = self.total.zip(before);
        both.map_or(Duration::ZERO, |(total, before)| total - before)
    }

    /// Returns the total wait as of the last call of [`Self::latest`], or `None` if the kernel does not report it.
    pub(crate) const fn total(&self) -> Option<Duration> {
        self.total
    }
}

fn read(schedstat: &File) -> Option<Duration> {
    let mut text = [0; 64];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    second_number(&text[..length]).map(Duration::from_nanos)
}

/// Parses the second of three numbers.
fn second_number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    use super::*;
    use crate::clock::WallClock;

    /// Returns a set with the first processor that this process may use.
    fn one_processor() -> CpuSet {
        let allowed = sched_getaffinity(Pid::from_raw(0)).expect("a set");
        let first = (0..CpuSet::count()).find(|&cpu| allowed.is_set(cpu) == Ok(true));
        let mut one = CpuSet::new();
        one.set(first.expect("one at least")).expect("in range");
        one
    }

    /// Runs for 0.2 s on the given processor, and returns the time that the thread had to wait for it.
    fn work(on: CpuSet) -> Duration {
        sched_setaffinity(Pid::from_raw(0), &on).expect("it is allowed");
        let mut waits = ProcessorWaits::of_this_thread();
        let clock = WallClock::start();
        while clock.now().as_nanos() < 200_000_000 {}
        waits.latest()
    }

    #[test]
    fn threads_that_share_a_processor_wait_for_each_other() {
        let on = one_processor();
        let other = thread::spawn(move || work(on));
        let waited = thread::spawn(move || work(on)).join().expect("no panic");
        let together = waited + other.join().expect("no panic");
        assert!(together >= Duration::from_millis(50), "{together:?}");
    }

    #[test]
    fn the_second_number_is_found() {
        assert_eq!(second_number(b"981234 5678 42\n"), Some(5678));
        assert_eq!(second_number(b"981234"), None);
        assert_eq!(second_number(b""), None);
    }
}
