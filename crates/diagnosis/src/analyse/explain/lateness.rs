//! Delay of a segment to the capture point in excess of the minimum delay, derived from its timestamp.
//!
//! Away from the sender, segments are captured later than they were sent, and queues add to the delay. TSval gives the
//! departure time in ticks of the sender's clock. The duration of a tick is measured from the capture and rounded to a
//! tick that stacks use.

use dupack_tcp::time::{Duration, Instant};

/// Ticks of common stacks: the microsecond ticks of Linux (and of this project's stacks), 100 µs, 1 ms of FreeBSD and
/// Linux, 4 ms and 10 ms of Linux at 250 and 100 Hz, 10 and 100 ms of Windows, and half a second of 4.4BSD.
const TICKS: [Duration; 7] = [
    Duration::from_micros(1),
    Duration::from_micros(100),
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_millis(500),
];

/// Minimum number of ticks to measure the duration of a tick.
const TICKS_TO_TELL: u32 = 50;

/// Minimum duration of the measurement. The measurement is repeated each time its duration has doubled, because a
/// growing queue makes ticks appear longer (our choice).
const TIME_TO_TELL: Duration = Duration::from_millis(300);

/// Maximum ratio of a tick to its measured duration: ticks appear shorter if a queue drains during the measurement (our
/// choice).
const LONGER: f64 = 1.2;

/// Maximum tick that is precise enough.
const COARSE: Duration = Duration::from_millis(10);

/// Departure times of segments, as far as timestamps show them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lateness {
    first: Option<(Instant, u32)>,
    tick: Option<Duration>,
    /// Duration of the last measurement.
    told_after: Duration,
    /// Minimum difference between the clock of the capture and the sender's clock, in nanoseconds.
    least: i64,
}

impl Lateness {
    /// Returns the delay, in excess of the minimum delay, of a segment captured at `at`; `None` if it is unknown.
    pub fn of(&mut self, at: Instant, stamp: Option<u32>) -> Option<Duration> {
        let stamp = stamp?;
        let &mut (start, first) = self.first.get_or_insert((at, stamp));
        let ticks = stamp.wrapping_sub(first) as i32;
        let passed = at.since(start);
        let again = TIME_TO_TELL.max(self.told_after * 2);
        if ticks >= TICKS_TO_TELL as i32 && passed >= again {
            self.told_after = passed;
            self.tell(tick_of(passed, ticks as u32));
        }
        let tick = self.tick?;
        let since = i64::try_from(passed.as_nanos()).ok()?;
        let sent = i64::try_from(tick.as_nanos())
            .ok()?
            .checked_mul(i64::from(ticks))?;
        let difference = since.saturating_sub(sent);
        self.least = self.least.min(difference);
        let late = difference.saturating_sub(self.least);
        Some(Duration::from_nanos(u64::try_from(late).ok()?).saturating_sub(tick))
    }

    fn tell(&mut self, tick: Option<Duration>) {
        if self.tick != tick {
            self.tick = tick;
            self.least = i64::MAX;
        }
    }
}

/// Returns the longest tick of a stack that is not longer than the measured one; `None` if it is not precise enough.
fn tick_of(passed: Duration, ticks: u32) -> Option<Duration> {
    let looks = LONGER * passed.as_secs_f64() / f64::from(ticks);
    let fits = |tick: &Duration| tick.as_secs_f64() <= looks;
    let tick = TICKS.into_iter().rfind(fits)?;
    (tick <= COARSE).then_some(tick)
}
