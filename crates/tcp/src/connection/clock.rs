//! Timestamps on a connection (RFC 7323 §3 to §5): values to send, values to echo, and values that are too old to
//! accept.

use crate::receiver::TimestampEcho;
use crate::sender::TimestampClock;
use crate::time::{Duration, Instant};

use super::header::Timestamps;

/// Time for which TS.Recent is valid without an update (RFC 7323 §5.5: 24 days).
const RECENT_LIFETIME: Duration = Duration::from_secs(24 * 24 * 3600);

/// Timestamp clock of this end, and latest timestamp of the peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    clock: TimestampClock,
    offset: u32,
    policy: TimestampEcho,
    /// Last TSval sent.
    last: u32,
    /// Number of ticks from the first TSval to the last.
    span: u64,
    /// TS.Recent (RFC 7323 §4.3). `recent_at` is the time at which it was set.
    recent: u32,
    recent_at: Instant,
    /// TSval of the last data segment, for [`TimestampEcho::Trigger`].
    trigger: u32,
}

impl Clock {
    /// Returns a clock that has sent and received no timestamps.
    pub(super) fn new(
        clock: TimestampClock,
        offset: u32,
        policy: TimestampEcho,
        now: Instant,
    ) -> Self {
        let mut new = Self {
            clock,
            offset,
            policy,
            last: 0,
            span: 0,
            recent: 0,
            recent_at: now,
            trigger: 0,
        };
        new.last = new.reading(now).wrapping_add(offset);
        new
    }

    /// Returns the reading of the clock at `now` without the offset, as the sender uses it.
    fn reading(&self, now: Instant) -> u32 {
        (now.as_nanos() / self.clock.tick.as_nanos().max(1)) as u32
    }

    /// Returns the timestamps option of a segment that is sent now. `value` is the sender's own timestamp, if it has
    /// chosen one.
    pub(super) fn stamp(&mut self, now: Instant, value: Option<u32>) -> Timestamps {
        let value = value
            .unwrap_or_else(|| self.reading(now))
            .wrapping_add(self.offset);
        let step = value.wrapping_sub(self.last) as i32;
        if step > 0 {
            self.last = value;
            self.span = self.span.saturating_add(u64::from(step.unsigned_abs()));
        }
        Timestamps {
            value: self.last,
            echo: match self.policy {
                TimestampEcho::Standard => self.recent,
                TimestampEcho::Trigger => self.trigger,
            },
        }
    }

    /// Converts the peer's echo to a timestamp of the sender; `None` if this value cannot have been sent, so that a
    /// peer cannot invent round-trip times.
    pub(super) fn echoed(&self, echo: u32) -> Option<u32> {
        let age = u64::from(self.last.wrapping_sub(echo));
        (age <= self.span.min(1 << 31)).then(|| echo.wrapping_sub(self.offset))
    }

    /// Returns `true` if `echo` is the timestamp of a segment that was sent at `sent`.
    pub(super) fn echoes(&self, echo: u32, sent: Instant) -> bool {
        self.echoed(echo) == Some(self.reading(sent))
    }

    /// Returns the age of the timestamp that the peer echoes, which is at least one tick (the resolution of the clock);
    /// `None` if this value cannot have been sent.
    pub(super) fn age(&self, now: Instant, echo: u32) -> Option<Duration> {
        let ticks = self.reading(now).wrapping_sub(self.echoed(echo)?) as i32;
        let ticks = u64::try_from(ticks).ok()?;
        Some(self.clock.tick * ticks.max(1))
    }

    /// Returns `true` if a segment with this TSval is an old duplicate (RFC 7323 §5.3 R1).
    pub(super) fn is_stale(&self, now: Instant, value: u32) -> bool {
        self.ahead(value) < 0 && now.since(self.recent_at) <= RECENT_LIFETIME
    }

    /// Returns the number of ticks by which a TSval is later than TS.Recent; negative if it is older.
    pub(super) const fn ahead(&self, value: u32) -> i32 {
        value.wrapping_sub(self.recent) as i32
    }

    /// Records the TSval of an acceptable segment (RFC 7323 §4.3 (2)).
    pub(super) fn note(&mut self, now: Instant, value: u32, place: Place, carries: Carries) {
        if carries == Carries::Data {
            self.trigger = value;
        }
        if place == Place::AtOrBeforeLastAck && !self.is_stale(now, value) {
            self.recent = value;
            self.recent_at = now;
        }
    }

    /// Records the TSval of the peer's SYN.
    pub(super) fn begin(&mut self, now: Instant, value: u32) {
        self.recent = value;
        self.recent_at = now;
        self.trigger = value;
    }
}

/// Start of a segment relative to Last.ACK.sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At or below Last.ACK.sent.
    AtOrBeforeLastAck,
    /// Beyond Last.ACK.sent.
    Later,
}

/// Content of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carries {
    /// A payload or a FIN.
    Data,
    /// Neither payload nor FIN.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::TimestampValues;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn clock(offset: u32) -> Clock {
        let milliseconds = TimestampClock {
            tick: Duration::from_millis(1),
            values: TimestampValues::Clock,
        };
        Clock::new(milliseconds, offset, TimestampEcho::Standard, at(0))
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn only_values_that_were_sent_are_accepted_as_echoes() {
        let mut clock = clock(u32::MAX - 10);
        // The values are those of 5, 15 and 25 ms after the start. Their sum with the offset wraps.
        let sent = [5, 15, 25].map(|ms| clock.stamp(at(ms), None).value);
        assert_eq!(sent, [u32::MAX - 5, 4, 14]);
        assert_eq!(sent.map(|value| clock.echoed(value)), [5, 15, 25].map(Some));
        for never in [15, u32::MAX - 11, 1 << 31] {
            assert_eq!(clock.echoed(never), None, "{never}");
        }
    }

    #[test]
    fn an_echo_gives_the_age_of_its_stamp() {
        let mut clock = clock(u32::MAX - 10);
        let sent = [5, 25].map(|ms| clock.stamp(at(ms), None).value);
        let ages = [at(65), at(25)].map(|now| clock.age(now, sent[1]));
        assert_eq!(ages, [40, 1].map(|ms| Some(Duration::from_millis(ms))));
        assert_eq!(clock.age(at(65), sent[0]), Some(Duration::from_millis(60)));
        assert_eq!(clock.age(at(65), sent[1].wrapping_add(1)), None);
    }

    #[test]
    fn stamps_never_fall_behind_the_senders_own() {
        let mut clock = clock(0);
        assert_eq!(clock.stamp(at(5), Some(8)).value, 8);
        assert_eq!(clock.stamp(at(6), None).value, 8);
        assert_eq!(clock.stamp(at(9), None).value, 9);
    }

    #[test]
    fn values_behind_in_modular_order_are_old() {
        let mut clock = clock(0);
        clock.begin(at(0), u32::MAX - 1);
        assert!(!clock.is_stale(at(1), 3));
        assert!(clock.is_stale(at(1), u32::MAX - 2));
        clock.note(at(1), 3, Place::AtOrBeforeLastAck, Carries::Data);
        assert!(clock.is_stale(at(2), u32::MAX - 1));
        // A segment beyond a gap does not change TS.Recent (RFC 7323 §4.3).
        clock.note(at(2), 9, Place::Later, Carries::Data);
        assert_eq!(clock.stamp(at(2), None).echo, 3);
    }

    #[test]
    fn values_older_than_24_days_are_invalid() {
        let mut clock = clock(0);
        clock.begin(at(0), 1000);
        let value = 1000 + (1 << 31) + 5;
        assert!(clock.is_stale(at(0) + DAY * 24, value));
        let later = at(0) + DAY * 25;
        assert!(!clock.is_stale(later, value));
        clock.note(later, value, Place::AtOrBeforeLastAck, Carries::Nothing);
        assert_eq!(clock.stamp(later, None).echo, value);
    }
}
