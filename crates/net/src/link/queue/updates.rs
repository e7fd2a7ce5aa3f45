//! Updates of a controller at fixed intervals, applied when the queue is used.

use dupack_tcp::time::{Duration, Instant};

/// Clock of the updates. The first is due one interval after time zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Updates {
    interval: Duration,
    next: Instant,
}

impl Updates {
    pub(super) fn every(interval: Duration) -> Self {
        Self {
            interval,
            next: Instant::ZERO + interval,
        }
    }

    /// Returns the time of the next update that is due by `now`. Must be called until it returns `None`, before the
    /// queue changes. The queue is then in the state that it had at the time of the update.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next;
        if due > now {
            return None;
        }
        self.next = due + self.interval;
        Some(due)
    }

    /// Skips all updates that are due by `now`. For use if the last update changed nothing, because the skipped updates
    /// would not change anything either.
    pub(super) fn skip_to(&mut self, now: Instant) {
        if self.next <= now {
            let missed = now.since(self.next).as_nanos() / self.interval.as_nanos() + 1;
            self.next += self.interval * missed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn updates_stay_on_schedule_however_they_are_applied() {
        let mut updates = Updates::every(Duration::from_millis(15));
        assert_eq!(updates.take_due(at(14)), None);
        assert_eq!(updates.take_due(at(40)), Some(at(15)));
        assert_eq!(updates.take_due(at(40)), Some(at(30)));
        assert_eq!(updates.take_due(at(40)), None);
        updates.skip_to(at(44));
        assert_eq!(updates.take_due(at(45)), Some(at(45)));
        updates.skip_to(at(90));
        assert_eq!(updates.take_due(at(104)), None);
        assert_eq!(updates.take_due(at(105)), Some(at(105)));
    }
}
