//! Queueing delay at the receiver, from the sender's timestamps.
//!
//! The sender's clock shows the time at which a segment was sent, and the capture shows the time at which it arrived.
//! The difference is the one-way delay plus the offset of the two clocks. The minimum of the difference corresponds to
//! an empty queue. The tick of the sender's clock is known only after some time; until then, it is assumed to be one
//! millisecond, which is the usual value.

use dupack_tcp::time::{Duration, Instant};

/// Ticks per second of common clocks: Linux and the BSDs count milliseconds; older versions of Linux and Windows have
/// longer ticks.
const CLOCKS_HZ: [f64; 4] = [1000.0, 250.0, 100.0, 10.0];

/// Most common tick in nanoseconds.
const USUAL_NS: u64 = 1_000_000;

/// Time after which the tick is determined (our choice): with a tick of 10 ms, the error is one percent.
const COUNTED_AFTER: Duration = Duration::from_secs(1);

/// Maximum relative error of the tick (our choice: clocks drift by only 10^-4, but a queue that grows by 150 ms in the
/// first second increases the error; the ticks of common clocks differ by more than this).
const OFF: f64 = 0.2;

/// Minimum fraction of the elapsed time that the clock must show before its tick is determined (our choice: the next
/// slower common clock shows a quarter).
const UNCOUNTED_MIN: (i64, i64) = (1, 2);

/// Clock of the sender, compared with that of the capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OneWay {
    first: Option<(Instant, u32)>,
    tick: Tick,
    least_ns: i64,
    is_sure: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Tick {
    /// The tick has not been determined; the usual one is assumed.
    #[default]
    Usual,
    /// The tick was determined; the value is in nanoseconds.
    Counted(u64),
    /// The tick differs from those of common clocks.
    Strange,
}

impl OneWay {
    /// Returns the delay in excess of the minimum, for a packet that arrived at `at` with the timestamp `value`; `None`
    /// if the clock is unusable.
    pub(crate) fn wait(&mut self, at: Instant, value: u32) -> Option<Duration> {
        let (first_at, first_value) = *self.first.get_or_insert((at, value));
        let passed = at.since(first_at);
        let ticks = value.wrapping_sub(first_value).cast_signed();
        if self.tick == Tick::Usual && passed >= COUNTED_AFTER {
            self.tick = count(f64::from(ticks) / passed.as_secs_f64());
            if self.tick != Tick::Counted(USUAL_NS) {
                // The tick was wrong until now, so the minimum must be measured again.
                self.least_ns = i64::MAX;
            }
        }
        let tick_ns = match self.tick {
            Tick::Usual => USUAL_NS,
            Tick::Counted(nanos) => nanos,
            Tick::Strange => return None,
        };
        let sent = i64::from(ticks).saturating_mul(tick_ns as i64);
        let (part, of) = UNCOUNTED_MIN;
        let passed_ns = i64::try_from(passed.as_nanos()).ok()?;
        self.is_sure =
            self.tick != Tick::Usual || sent.saturating_mul(of) > passed_ns.saturating_mul(part);
        let way = passed_ns.saturating_sub(sent);
        self.least_ns = self.least_ns.min(way);
        // The segment was sent at an unknown time within the tick, on average in the middle of the tick.
        let wait = way
            .saturating_sub(self.least_ns)
            .saturating_sub(tick_ns as i64 / 2);
        Some(Duration::from_nanos(u64::try_from(wait).unwrap_or(0)))
    }

    /// Returns the same delay as [`Self::wait`], but `None` unless the tick is certain. The tick is certain if it has
    /// been determined, or if the clock has shown most of the elapsed time.
    pub(crate) fn sure_wait(&mut self, at: Instant, value: u32) -> Option<Duration> {
        self.wait(at, value).filter(|_| self.is_sure)
    }
}

fn count(hz: f64) -> Tick {
    let near = |known: &&f64| (hz / **known - 1.0).abs() < OFF;
    match CLOCKS_HZ.iter().find(near) {
        Some(known) => Tick::Counted((1e9 / known) as u64),
        None => Tick::Strange,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_the_delay_beyond_the_minimum() {
        let mut clock = OneWay::default();
        let ms = |millis| Instant::ZERO + Duration::from_millis(millis);
        assert_eq!(clock.wait(ms(100), 5000), Some(Duration::ZERO));
        // The queueing delay is 10 ms. Half a tick is subtracted.
        let wait = clock.wait(ms(210), 5100).unwrap();
        assert_eq!(wait, Duration::from_micros(9500));
        // After two seconds, it is known that the clock counts milliseconds.
        assert_eq!(clock.wait(ms(2200), 7100), Some(Duration::ZERO));
        assert!(clock.wait(ms(2320), 7200).unwrap() > Duration::from_millis(19));
    }

    #[test]
    fn a_possibly_slower_clock_is_uncertain_until_its_tick_is_known() {
        let ms = |millis| Instant::ZERO + Duration::from_millis(millis);
        let mut slow = OneWay::default();
        for n in 0..20 {
            assert_eq!(slow.sure_wait(ms(n * 40), n as u32 * 10), None);
        }
        assert_eq!(slow.sure_wait(ms(2000), 500), Some(Duration::ZERO));
        let mut usual = OneWay::default();
        usual.sure_wait(ms(0), 0);
        assert_eq!(
            usual.sure_wait(ms(300), 200),
            Some(Duration::from_micros(99_500))
        );
    }

    #[test]
    fn an_unknown_clock_is_unusable() {
        let mut clock = OneWay::default();
        let ms = |millis| Instant::ZERO + Duration::from_millis(millis);
        clock.wait(ms(0), 0);
        assert_eq!(clock.wait(ms(2000), 123_456), None);
        let mut coarse = OneWay::default();
        coarse.wait(ms(0), 0);
        assert_eq!(coarse.wait(ms(2000), 500), Some(Duration::ZERO));
    }
}
