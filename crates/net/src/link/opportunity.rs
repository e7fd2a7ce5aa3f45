//! Transmitter that follows a recorded trace.
//!
//! Each opportunity carries up to 1500 bytes, so a packet may need several. The remaining bytes of an opportunity carry
//! the packets next in the queue, if these were waiting when the opportunity came. An opportunity without a waiting
//! packet is wasted: a packet that is offered in the same millisecond comes too late (as in Mahimahi's `LinkQueue`).

use std::sync::Arc;

use dupack_tcp::time::Instant;

use super::delivery_trace::{DeliveryTrace, OPPORTUNITY_BYTES};
use super::transmission::Transmission;

/// Position in a repeating trace.
#[derive(Clone, Debug)]
pub(super) struct OpportunityClock {
    /// Opportunities of one period; the last time is the length of the period.
    times_ms: Arc<[u32]>,
    /// The link's time zero, on the trace's clock.
    begin_ms: u32,
    /// Unused bytes of the current opportunity.
    left_bytes: u32,
    /// Start of the current repetition, on the trace's clock.
    lap_start_ms: u64,
    /// Index of the next opportunity in this repetition.
    next: usize,
    /// The last opportunity that was used.
    current: Instant,
}

/// Number of opportunities that are skipped one by one before a binary search is used.
const STEPS_BEFORE_SEARCH: u32 = 8;
const NANOS_PER_MS: u64 = 1_000_000;

impl OpportunityClock {
    pub(super) fn new(trace: DeliveryTrace) -> Self {
        let begin_ms = trace.begin_ms();
        let times_ms = trace.into_times();
        Self {
            begin_ms,
            lap_start_ms: 0,
            // The last time equals the period and therefore exceeds `begin_ms`, so the index is valid.
            next: times_ms.partition_point(|&time| time < begin_ms),
            current: Instant::ZERO,
            left_bytes: 0,
            times_ms,
        }
    }

    /// Returns the time of the last opportunity that has been booked.
    pub(super) const fn idle_from(&self) -> Instant {
        self.current
    }

    /// Books the delivery of a packet of `bytes` that was offered at `now`.
    pub(super) fn book(&mut self, now: Instant, bytes: u32) -> Transmission {
        if now >= self.current {
            self.skip_to_after(now);
            self.take_next();
        } else if self.left_bytes == 0 {
            self.take_next();
        }
        let start = self.current;
        let mut missing = bytes;
        while missing > self.left_bytes {
            missing -= self.left_bytes;
            self.take_next();
        }
        self.left_bytes -= missing;
        Transmission {
            start,
            end: self.current,
        }
    }

    fn take_next(&mut self) {
        let at_ms = self.next_ms() - u64::from(self.begin_ms);
        self.current = Instant::from_nanos(at_ms.saturating_mul(NANOS_PER_MS));
        self.left_bytes = OPPORTUNITY_BYTES;
        self.advance();
    }

    /// Returns the next opportunity, on the trace's clock.
    fn next_ms(&self) -> u64 {
        self.lap_start_ms + u64::from(self.times_ms[self.next])
    }

    fn advance(&mut self) {
        self.next += 1;
        if self.next == self.times_ms.len() {
            self.next = 0;
            self.lap_start_ms += self.period_ms();
        }
    }

    /// Skips all opportunities up to and including `now`.
    fn skip_to_after(&mut self, now: Instant) {
        // An opportunity at t ms is after `now` if and only if t exceeds the whole milliseconds of `now`.
        let now_ms = u64::from(self.begin_ms) + now.as_nanos() / NANOS_PER_MS;
        for _ in 0..STEPS_BEFORE_SEARCH {
            if self.next_ms() > now_ms {
                return;
            }
            self.advance();
        }
        if self.next_ms() <= now_ms {
            self.seek(now_ms);
        }
    }

    fn seek(&mut self, now_ms: u64) {
        let period = self.period_ms();
        let offset = now_ms % period;
        self.lap_start_ms = now_ms - offset;
        // The last time equals the period and therefore exceeds any offset, so the index is valid.
        self.next = self
            .times_ms
            .partition_point(|&time| u64::from(time) <= offset);
    }

    fn period_ms(&self) -> u64 {
        self.times_ms.last().map_or(1, |&time| u64::from(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::from_nanos(millis * NANOS_PER_MS)
    }

    fn clock(times_ms: &[u32]) -> OpportunityClock {
        OpportunityClock::new(DeliveryTrace::new(times_ms.to_vec()).unwrap())
    }

    fn book_ms(clock: &mut OpportunityClock, now: Instant, bytes: u32) -> (u64, u64) {
        let booked = clock.book(now, bytes);
        let millis = |at: Instant| at.as_nanos() / NANOS_PER_MS;
        (millis(booked.start), millis(booked.end))
    }

    #[test]
    fn full_packets_take_one_opportunity_each_and_the_trace_repeats() {
        // The period is 10 ms. Opportunities are at 2, 5, 5, 10, then at 12, 15, 15, 20, … ms.
        let mut clock = clock(&[2, 5, 5, 10]);
        let times = [(); 7].map(|()| book_ms(&mut clock, ms(0), 1500).1);
        assert_eq!(times, [2, 5, 5, 10, 12, 15, 15]);
    }

    #[test]
    fn a_trace_may_begin_in_the_middle_and_wraps_around() {
        let begun = |begin_ms| {
            let trace = DeliveryTrace::new(vec![2, 5, 5, 10]).unwrap();
            OpportunityClock::new(trace.beginning_at(begin_ms))
        };
        // The trace begins at 5 ms, so the opportunities are at 10, 12, 15, 15, 20, … minus 5 ms. Those at 5 ms have
        // passed.
        let times =
            |mut clock: OpportunityClock| [(); 5].map(|()| book_ms(&mut clock, ms(0), 1500).1);
        assert_eq!(times(begun(5)), [5, 7, 10, 10, 15]);
        // A start that is a whole period later gives the same opportunities.
        assert_eq!(times(begun(15)), times(begun(5)));
        assert_eq!(times(begun(10)), times(begun(0)));
        // A later packet finds the same opportunities, regardless of the number of skipped opportunities.
        for now in 0..100 {
            let mut clock = begun(4);
            let expected = (0..20_u64)
                .flat_map(|lap| [2, 5, 5, 10].map(|t| lap * 10 + t))
                .find(|&t| t > now + 4)
                .unwrap();
            assert_eq!(
                book_ms(&mut clock, ms(now), 1500).1 + 4,
                expected,
                "at {now}"
            );
        }
    }

    #[test]
    fn small_packets_share_an_opportunity_if_they_were_waiting() {
        let mut clock = clock(&[2, 5, 10]);
        // The opportunity at 2 ms carries 600 + 600 of its 1500 bytes. 300 bytes of the third packet fit as well. Its
        // other 300 bytes are sent at 5 ms, where 1200 bytes remain.
        assert_eq!(book_ms(&mut clock, ms(0), 600), (2, 2));
        assert_eq!(book_ms(&mut clock, ms(0), 600), (2, 2));
        assert_eq!(book_ms(&mut clock, ms(1), 600), (2, 5));
        // This packet is offered at 3 ms, before the opportunity at 5 ms, so it shares this opportunity.
        assert_eq!(book_ms(&mut clock, ms(3), 1200), (5, 5));
        assert_eq!(book_ms(&mut clock, ms(3), 1), (10, 10));
    }

    #[test]
    fn the_rest_of_a_past_opportunity_is_lost() {
        let mut clock = clock(&[2, 5, 10]);
        assert_eq!(book_ms(&mut clock, ms(0), 100), (2, 2));
        // At 2 ms, the opportunity of 2 ms has passed, although 1400 of its bytes were unused.
        assert_eq!(book_ms(&mut clock, ms(2), 100), (5, 5));
    }

    #[test]
    fn a_packet_larger_than_an_opportunity_takes_several() {
        let mut clock = clock(&[1, 2, 3, 4]);
        assert_eq!(book_ms(&mut clock, ms(0), 4000), (1, 3));
        // 500 bytes of the opportunity at 3 ms remain.
        assert_eq!(book_ms(&mut clock, ms(0), 500), (3, 3));
        assert_eq!(book_ms(&mut clock, ms(0), 1), (4, 4));
    }

    #[test]
    fn skipping_a_long_silence_agrees_with_single_steps() {
        let times: Vec<u32> = (1..=50).map(|n| n * 3 % 100 + n).map(|n| n / 2).collect();
        let mut sorted = times;
        sorted.sort_unstable();
        let period = u64::from(*sorted.last().unwrap());
        for now in 0..(4 * period) {
            let mut jumped = clock(&sorted);
            let expected = (0..6_u64)
                .flat_map(|lap| sorted.iter().map(move |&t| lap * period + u64::from(t)))
                .find(|&t| t > now)
                .unwrap();
            assert_eq!(book_ms(&mut jumped, ms(now), 1500).1, expected, "at {now}");
        }
    }

    #[test]
    fn a_time_of_zero_coincides_with_the_end_of_the_period() {
        let mut clock = clock(&[0, 4]);
        // At 0 ms, the opportunity of 0 ms has passed.
        let times = [(); 5].map(|()| book_ms(&mut clock, ms(0), 1500).1);
        assert_eq!(times, [4, 4, 8, 8, 12]);
    }

    #[test]
    fn a_time_between_milliseconds_uses_the_next_one() {
        let mut clock = clock(&[1, 2]);
        let now = Instant::from_nanos(1_000_001);
        assert_eq!(book_ms(&mut clock, now, 1500), (2, 2));
    }
}
