//! Video over TCP: a source of constant rate, and viewers with a playout deadline.
//!
//! The source writes frames of the same size at regular intervals. A frame is complete once all of its bytes have been
//! received in order. Two viewers watch the same arrivals:
//!
//! * The *live* viewer shows a frame at its deadline, which is `deadline` after the frame was written, or not at all:
//!   a frame is in time if it is complete by then.
//! * The *patient* viewer also starts `deadline` after the first frame was written, but waits for
//!   incomplete frames. Such a wait is a stall, and delays all later frames by its duration.
//!
//! The state does not grow with the number of frames: the count of bytes received in order determines which frames are
//! complete.

use dupack_tcp::time::{Duration, Instant};

/// A source of constant rate with a playout deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoConfig {
    /// Size of a frame in bytes.
    pub frame_bytes: u64,
    /// Number of frames.
    pub frames: u64,
    /// Interval between frames.
    pub every: Duration,
    /// Time from the writing of a frame to its deadline.
    pub deadline: Duration,
}

/// Playout of the frames whose deadline has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VideoCounters {
    /// Frames that the live viewer should have shown by now.
    pub due: u64,
    /// Number of these frames that were complete in time.
    pub in_time: u64,
    /// Number of stalls of the patient viewer.
    pub stalls: u64,
    /// Total duration of stalls.
    pub stalled: Duration,
}

impl VideoCounters {
    /// Returns the counts since `earlier`.
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

/// Both viewers at run time.
#[derive(Clone, Debug)]
pub(crate) struct Viewers {
    config: VideoConfig,
    start: Instant,
    /// Number of complete frames.
    arrived: u64,
    /// Number of these frames that were complete by their deadline.
    in_time: u64,
    stalls: u64,
    /// Time by which the patient viewer is behind the live viewer.
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

    /// Updates the counters when `in_order` bytes have been received in order by `now`.
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

    /// Returns the counts at `now`. A frame for which the patient viewer is waiting already counts as a stall.
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
        // A frame that is complete, but whose deadline is still in the future, is not due.
        let early = self.arrived.saturating_sub(due);
        VideoCounters {
            due,
            in_time: self.in_time - early.min(self.in_time),
            stalls,
            stalled,
        }
    }

    /// Returns the number of frames that the live viewer should have shown by `now`.
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

    /// Creates viewers of ten frames of 100 bytes. A frame is written every 40 ms, and its deadline is 100 ms later.
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
    fn frames_in_time_are_shown() {
        let mut viewers = viewers();
        viewers.received(ms(50), 100);
        viewers.received(ms(90), 250);
        // The deadlines are at 100, 140, 180 ms, …. At 139 ms, one frame is due and two are complete.
        let seen = viewers.counters(ms(139));
        assert_eq!((seen.due, seen.in_time, seen.stalls), (1, 1, 0));
        assert_eq!(viewers.counters(ms(99)).due, 0);
        let seen = viewers.counters(ms(140));
        assert_eq!((seen.due, seen.in_time), (2, 2));
    }

    #[test]
    fn a_late_frame_is_missed_live_and_delays_later_frames() {
        let mut viewers = viewers();
        viewers.received(ms(100), 100);
        // Frame 1 was due at 140 ms and is complete at 170 ms, together with frame 2, which is due at 180 ms.
        let waiting = viewers.counters(ms(150));
        assert_eq!((waiting.due, waiting.in_time, waiting.stalls), (2, 1, 1));
        assert_eq!(waiting.stalled, Duration::from_millis(10));
        viewers.received(ms(170), 300);
        let seen = viewers.counters(ms(180));
        assert_eq!((seen.due, seen.in_time, seen.stalls), (3, 2, 1));
        assert_eq!(seen.stalled, Duration::from_millis(30));
        // Frame 3 was due at 220 ms for the live viewer and at 250 ms for the patient viewer, so at 240 ms only the
        // live viewer misses it.
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
