//! Transmitter of constant rate, exact to a fraction of a nanosecond.
//!
//! `8·10⁹·size/rate` is rarely an integer (a 1000-byte packet takes 2666666.67 ns at 3 Mbit/s). The remainder is
//! carried from one packet to the next within a busy period, so a saturated link carries exactly its rate over any
//! duration.

use dupack_tcp::time::{Duration, Instant};

use super::transmission::Transmission;
use crate::units::BitRate;

/// Clock of the transmitter.
#[derive(Clone, Debug)]
pub(crate) struct RateClock {
    rate: u64,
    /// Time from which the transmitter is idle, in whole nanoseconds.
    idle_from: Instant,
    /// Fraction of a nanosecond that belongs to `idle_from`, in units of 1/rate ns.
    carry: u64,
    /// Transmission time of the last packet size. This saves a division per packet.
    cached: TransmissionTime,
}

#[derive(Clone, Copy, Debug)]
struct TransmissionTime {
    bytes: u32,
    nanos: u64,
    remainder: u64,
}

impl RateClock {
    pub(crate) fn new(rate: BitRate) -> Self {
        Self {
            rate: rate.as_bps(),
            idle_from: Instant::ZERO,
            carry: 0,
            cached: TransmissionTime {
                bytes: 0,
                nanos: 0,
                remainder: 0,
            },
        }
    }

    /// Returns the time from which the transmitter is idle.
    pub(super) const fn idle_from(&self) -> Instant {
        self.idle_from
    }

    /// Books the next transmission, of a packet of `bytes` that was offered at `now`.
    #[inline]
    pub(crate) fn book(&mut self, now: Instant, bytes: u32) -> Transmission {
        if now > self.idle_from {
            self.idle_from = now;
            self.carry = 0;
        }
        if bytes != self.cached.bytes {
            self.cached = TransmissionTime::of(bytes, self.rate);
        }
        let start = self.idle_from;
        // Both remainders are below the rate, so their sum is below twice the rate.
        let missing = self.rate - self.cached.remainder;
        let whole = u64::from(self.carry >= missing);
        self.carry = if whole == 1 {
            self.carry - missing
        } else {
            self.carry + self.cached.remainder
        };
        self.idle_from = start + Duration::from_nanos(self.cached.nanos + whole);
        Transmission {
            start,
            end: self.idle_from,
        }
    }
}

impl TransmissionTime {
    fn of(bytes: u32, rate: u64) -> Self {
        let work = u128::from(bytes) * 8_000_000_000;
        Self {
            bytes,
            // The maximum is 2³² · 8·10⁹ < 2⁶⁵ ns at 1 bit/s. A longer time than 2⁶⁴ ns (584 years) is replaced by 2⁶⁴
            // ns.
            nanos: u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX - 1),
            remainder: (work % u128::from(rate)) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn fractions_of_a_nanosecond_accumulate() {
        // 1000 bytes at 3 Mbit/s take 2666666 2/3 ns, so the transmissions end at 2666666.67, 5333333.33 and 8000000
        // ns.
        let mut clock = RateClock::new(BitRate::from_mbps(3));
        let ends = [(); 3].map(|()| clock.book(at(0), 1000).end.as_nanos());
        assert_eq!(ends, [2_666_666, 5_333_333, 8_000_000]);
    }

    #[test]
    fn an_hour_of_saturation_carries_the_rate_exactly() {
        // 7 Mbit/s · 3600 s / 8 bit = 3.15·10⁹ B = 2.1·10⁶ packets of 1500 B, exact to the nanosecond.
        let mut clock = RateClock::new(BitRate::from_mbps(7));
        let mut end = at(0);
        for _ in 0..2_100_000 {
            end = clock.book(at(0), 1500).end;
        }
        assert_eq!(end, at(3_600_000_000_000));
    }

    #[test]
    fn an_idle_transmitter_starts_at_once_and_forgets_its_fraction() {
        let mut clock = RateClock::new(BitRate::from_mbps(3));
        clock.book(at(0), 1000);
        // The transmitter is idle from 2666666.67 ns on: it is still busy at 2666666 ns and idle at 2666667 ns.
        let booked = clock.clone().book(at(2_666_666), 1000);
        assert_eq!((booked.start, booked.end), (at(2_666_666), at(5_333_333)));
        let booked = clock.book(at(2_666_667), 1000);
        assert_eq!((booked.start, booked.end), (at(2_666_667), at(5_333_333)));
        assert_eq!(clock.book(at(0), 1000).end, at(8_000_000));
    }

    #[test]
    fn sizes_may_alternate() {
        // 8 Mbit/s is 1 byte per microsecond.
        let mut clock = RateClock::new(BitRate::from_mbps(8));
        let ends = [1000, 40, 1000, 40].map(|bytes| clock.book(at(0), bytes).end.as_nanos());
        assert_eq!(ends, [1_000_000, 1_040_000, 2_040_000, 2_080_000]);
    }
}
