//! Video over TCP: a source of constant rate, and a viewer who does not wait for ever.
//!
//! The source writes a frame of the same size at regular times. A frame is there once all of its
//! bytes have been received in order. Two viewers watch the same arrivals:
//!
//! * The *live* one shows frame k at its deadline, `deadline` after it was written, or not at all:
//!   a frame is in time if it is there by then.
//! * The *patient* one begins `deadline` after the first frame was written, too, but waits for a
//!   frame that is not there, and everything after it is shown later by as much: a stall.
//!
//! The state does not grow with the number of frames: what is not yet there is known from the
//! count of bytes received in order.

use dupack_tcp::time::{Duration, Instant};

/// A source of constant rate with a playout deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoConfig {
    /// Bytes of a frame.
    pub frame_bytes: u64,
    /// How many frames.
    pub frames: u64,
    /// Time between two.
    pub every: Duration,
    /// From when a frame is written until it is to be shown.
    pub deadline: Duration,
}

/// What the viewers saw, of the frames whose time has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VideoCounters {
    /// Frames that were to be shown live by now.
    pub due: u64,
    /// Of these, those that were there in time.
    pub in_time: u64,
    /// How often the patient viewer's picture stood still.
    pub stalls: u64,
    /// How long it stood still in all.
    pub stalled: Duration,
}

impl VideoCounters {
    /// What happened since `earlier` was read.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            due: self.due - earlier.due,
            in_time: self.in_time - earlier.in_time,
            stalls: self.stalls - earlier.stalls,
            stalled: self.stalled.saturating_sub(earlier.stalled),
        }
    }
}

/// Both viewers at work.
#[derive(Clone, Debug)]
pub(crate) struct Viewers {
    config: VideoConfig,
    start: Instant,
    /// Frames that are there.
    arrived: u64,
    /// Of these, those that were there by their deadline.
    in_time: u64,
    stalls: u64,
    /// By how much the patient viewer is behind the live one.
    behind: Duration,
}

impl Viewers {
    pub(crate) const fn new(config: VideoConfig, start: Instant) -> Self {
        Self {
            config,
            start,
            arrived: 0,
            in_time: 0,
            stalls: 0,
            behind: Duration::ZERO,
        }
    }

    /// So many bytes have been received in order by `now`.
    pub(crate) fn received(&mut self, now: Instant, in_order: u64) {
        let there = (in_order / self.config.frame_bytes.max(1)).min(self.config.frames);
        while self.arrived < there {
            let due = self.deadline(self.arrived);
            self.in_time += u64::from(now <= due);
            if now > due + self.behind {
                self.stalls += 1;
                self.behind = now.since(due);
            }
            self.arrived += 1;
        }
    }

    /// What was seen by `now`. A frame that the patient viewer is waiting for counts as a stall
    /// already.
    pub(crate) fn counters(&self, now: Instant) -> VideoCounters {
        let due = self.due_by(now);
        let mut stalls = self.stalls;
        let mut stalled = self.behind;
        if self.arrived < self.config.frames {
            let shown = self.deadline(self.arrived) + self.behind;
            if now > shown {
                stalls += 1;
                stalled += now.since(shown);
            }
        }
        // A frame that came before its deadline, which is yet to come, is not due.
        let early = self.arrived.saturating_sub(due);
        VideoCounters {
            due,
            in_time: self.in_time - early.min(self.in_time),
            stalls,
            stalled,
        }
    }

    /// How many frames are to be shown live by `now`.
    fn due_by(&self, now: Instant) -> u64 {
        let first = self.start + self.config.deadline;
        if now < first {
            return 0;
        }
        let every = self.config.every.as_nanos().max(1);
        (now.since(first).as_nanos() / every + 1).min(self.config.frames)
    }

    fn deadline(&self, frame: u64) -> Instant {
        self.start + self.config.deadline + self.config.every.saturating_mul(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten frames of 100 bytes, one every 40 ms, to be shown 100 ms after they are written.
    fn viewers() -> Viewers {
        let config = VideoConfig {
            frame_bytes: 100,
            frames: 10,
            every: Duration::from_millis(40),
            deadline: Duration::from_millis(100),
        };
        Viewers::new(config, Instant::ZERO)
    }

    fn ms(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn frames_that_come_in_time_are_shown() {
        let mut viewers = viewers();
        viewers.received(ms(50), 100);
        viewers.received(ms(90), 250);
        // Deadlines are at 100, 140, 180 …: at 139 one is due, and two are there.
        let seen = viewers.counters(ms(139));
        assert_eq!((seen.due, seen.in_time, seen.stalls), (1, 1, 0));
        assert_eq!(viewers.counters(ms(99)).due, 0);
        let seen = viewers.counters(ms(140));
        assert_eq!((seen.due, seen.in_time), (2, 2));
    }

    #[test]
    fn a_late_frame_is_missed_live_and_delays_what_follows() {
        let mut viewers = viewers();
        viewers.received(ms(100), 100);
        // Frame 1 was due at 140 and comes at 170 with frame 2, which is due at 180.
        let waiting = viewers.counters(ms(150));
        assert_eq!((waiting.due, waiting.in_time, waiting.stalls), (2, 1, 1));
        assert_eq!(waiting.stalled, Duration::from_millis(10));
        viewers.received(ms(170), 300);
        let seen = viewers.counters(ms(180));
        assert_eq!((seen.due, seen.in_time, seen.stalls), (3, 2, 1));
        assert_eq!(seen.stalled, Duration::from_millis(30));
        // Frame 3 was due at 220, for the patient at 250: at 240 only the live one misses it.
        viewers.received(ms(240), 400);
        let seen = viewers.counters(ms(250));
        assert_eq!((seen.due, seen.in_time, seen.stalls), (4, 2, 1));
    }

    #[test]
    fn nothing_is_due_after_the_last_frame() {
        let mut viewers = viewers();
        viewers.received(ms(90), 5000);
        let seen = viewers.counters(ms(10_000));
        assert_eq!((seen.due, seen.in_time, seen.stalls), (10, 10, 0));
    }
}
