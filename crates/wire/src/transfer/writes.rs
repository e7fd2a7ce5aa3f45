//! Script of a sending application: one write of all bytes, or several writes with pauses.

use std::collections::VecDeque;

use dupack_net::flow::{When, Write};
use dupack_tcp::time::{Duration, Instant};

use crate::clock::WallClock;

/// The remaining writes.
#[derive(Clone, Debug)]
pub(super) struct Script {
    left: VecDeque<Write>,
    clock: WallClock,
    /// Number of bytes that may be written now.
    due: u64,
    written: u64,
    /// Time since which all written bytes have been acknowledged.
    idle_since: Option<Instant>,
}

/// Next step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Write up to this number of bytes.
    Write(u64),
    /// Wait until this time.
    WaitUntil(Instant),
    /// Wait until everything is acknowledged.
    WaitForAcks,
    /// The script has ended.
    End,
}

impl Script {
    /// Creates a script of these writes, whose times are relative to now. If there are none, the script is one
    /// immediate write of `bytes`.
    pub(super) fn new(writes: &[Write], bytes: u64) -> Self {
        let all = Write {
            when: When::At(Duration::ZERO),
            bytes,
        };
        let left = match writes {
            [] => VecDeque::from([all]),
            writes => writes.iter().copied().collect(),
        };
        Self {
            left,
            clock: WallClock::start(),
            due: 0,
            written: 0,
            idle_since: Some(Instant::ZERO),
        }
    }

    /// Restarts the script's clock when the flow starts.
    pub(super) fn start(&mut self) {
        self.clock = WallClock::start();
    }

    /// Returns the next step.
    pub(super) fn next(&mut self) -> Next {
        self.next_at(self.clock.now())
    }

    fn next_at(&mut self, now: Instant) -> Next {
        while self.due == 0 {
            let Some(write) = self.left.front().copied() else {
                return Next::End;
            };
            let at = match (write.when, self.idle_since) {
                (When::At(at), _) => Instant::ZERO + at,
                (When::After(pause), Some(since)) => since + pause,
                (When::After(_), None) => return Next::WaitForAcks,
            };
            if at > now {
                return Next::WaitUntil(at);
            }
            self.due = write.bytes;
            self.left.pop_front();
        }
        Next::Write(self.due)
    }

    /// Returns the remaining time until `until`.
    pub(super) fn time_to(&self, until: Instant) -> Duration {
        until.since(self.clock.now())
    }

    /// Records that the application wrote `bytes` bytes.
    pub(super) fn wrote(&mut self, bytes: u64) {
        self.due = self.due.saturating_sub(bytes);
        self.written += bytes;
        self.idle_since = None;
    }

    /// Records that the peer has acknowledged all bytes up to `until`.
    pub(super) fn acknowledged(&mut self, until: u64) {
        if until >= self.written {
            let now = self.clock.now();
            self.idle_since.get_or_insert(now);
        }
    }

    /// Returns the number of bytes written.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn without_writes_everything_is_due_at_once() {
        let mut script = Script::new(&[], 10);
        assert_eq!(script.next_at(ms(0)), Next::Write(10));
        script.wrote(4);
        assert_eq!(script.next_at(ms(0)), Next::Write(6));
        script.wrote(6);
        assert_eq!(script.next_at(ms(0)), Next::End);
    }

    #[test]
    fn writes_wait_for_their_time_or_for_acks() {
        let write = |when, bytes| Write { when, bytes };
        let pause = Duration::from_millis(50);
        let writes = [
            write(When::At(Duration::from_millis(20)), 5),
            write(When::After(pause), 7),
        ];
        let mut script = Script::new(&writes, 0);
        assert_eq!(script.next_at(ms(0)), Next::WaitUntil(ms(20)));
        assert_eq!(script.next_at(ms(20)), Next::Write(5));
        script.wrote(5);
        assert_eq!(script.next_at(ms(90)), Next::WaitForAcks);
        script.acknowledged(4);
        assert_eq!(script.next_at(ms(90)), Next::WaitForAcks);
        script.idle_since = Some(ms(100));
        assert_eq!(script.next_at(ms(110)), Next::WaitUntil(ms(150)));
        assert_eq!(script.next_at(ms(150)), Next::Write(7));
        script.wrote(7);
        assert_eq!((script.written(), script.next_at(ms(150))), (12, Next::End));
    }
}
