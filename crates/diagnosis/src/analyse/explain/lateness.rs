//! By how much longer than at best a segment was under way to where the capture was taken, by its
//! timestamp.
//!
//! Away from the sender segments are seen later than they left, and queues make them late by more.
//! TSval says when each left, in ticks of the sender's clock, once it is known how long a tick is:
//! from the capture, as one of those that stacks have.

use dupack_tcp::time::{Duration, Instant};

/// Ticks that stacks have: Linux's fine ones (and ours), FreeBSD's and Linux's 1 ms, Linux's at 250 and
/// 100 Hz, Windows' 10 and 100 ms, 4.4BSD's half a second.
const TICKS: [Duration; 7] = [
    Duration::from_micros(1),
    Duration::from_micros(100),
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(10),
    Duration::from_millis(100),
    Duration::from_millis(500),
];

/// A tick is told from so many of them.
const TICKS_TO_TELL: u32 = 50;

/// And in no less time than this, and again whenever twice the time has passed: queues that fill make
/// ticks look longer (ours).
const TIME_TO_TELL: Duration = Duration::from_millis(300);

/// What a tick may be longer than it looks, for a capture that begins with a queue (ours).
const LONGER: f64 = 1.2;

/// With longer ticks than this nothing is told.
const COARSE: Duration = Duration::from_millis(10);

/// When each segment left, as far as timestamps tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lateness {
    first: Option<(Instant, u32)>,
    tick: Option<Duration>,
    /// How much time had passed when it was told.
    told_after: Duration,
    /// The least difference between the capture's clock and the sender's, in nanoseconds.
    least: i64,
}

impl Lateness {
    /// By how much longer than the quickest a segment was under way that was captured at `at`; `None` if
    /// nothing tells.
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

/// The tick of which so many have passed in this time, if it is one that counts: the longest that is not
/// longer than it looks.
fn tick_of(passed: Duration, ticks: u32) -> Option<Duration> {
    let looks = LONGER * passed.as_secs_f64() / f64::from(ticks);
    let fits = |tick: &Duration| tick.as_secs_f64() <= looks;
    let tick = TICKS.into_iter().rfind(fits)?;
    (tick <= COARSE).then_some(tick)
}
