//! Rates and probabilities, which are validated at construction.

use core::fmt;

use dupack_tcp::time::Duration;

/// Rate of a link or source in bits per second; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// Creates a rate; `None` for zero, because a link without rate is an outage.
    #[must_use]
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        if bits_per_second == 0 {
            return None;
        }
        Some(Self(bits_per_second))
    }

    /// Creates a rate of `megabits` · 10⁶ bit/s. Zero becomes 1 bit/s.
    #[must_use]
    pub const fn from_mbps(megabits: u64) -> Self {
        let bits = megabits.saturating_mul(1_000_000);
        Self(if bits == 0 { 1 } else { bits })
    }

    /// Returns the rate in bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the time to transmit `bytes`, rounded down to a nanosecond.
    #[must_use]
    pub fn transmission_time(self, bytes: u64) -> Duration {
        let nanos = u128::from(bytes) * NANOSECOND_BITS_PER_BYTE / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// 8 bits times 10⁹ nanoseconds: divided by a rate in bit/s, this is the number of nanoseconds per byte.
const NANOSECOND_BITS_PER_BYTE: u128 = 8_000_000_000;

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n % 1_000_000_000 == 0 => write!(f, "{}Gbit/s", n / 1_000_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{}Mbit/s", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}kbit/s", n / 1_000),
            n => write!(f, "{n}bit/s"),
        }
    }
}

/// A probability in units of 2⁻⁵³, the resolution of a random draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(u64);

const ONE: u64 = 1 << 53;

impl Probability {
    /// Probability 0.
    pub const NEVER: Self = Self(0);
    /// Probability 1.
    pub const ALWAYS: Self = Self(ONE);

    /// Creates a probability; `None` if `value` is not in `[0, 1]`.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        if !(0.0..=1.0).contains(&value) {
            return None;
        }
        Some(Self((value * ONE as f64) as u64))
    }

    /// Creates the probability nearest to `value`, which is clamped to `[0, 1]`.
    #[must_use]
    pub fn clamped(value: f64) -> Self {
        Self(((value.max(0.0) * ONE as f64) as u64).min(ONE))
    }

    /// Returns a number in `[0, 1]`.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }

    /// Returns `true` if a uniform random number of 53 bits is below this probability.
    #[must_use]
    pub(crate) const fn covers(self, draw_53_bits: u64) -> bool {
        draw_53_bits < self.0
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilobyte_at_ten_megabits_takes_800_microseconds() {
        // 1000 B · 8 bit / 10 Mbit/s = 0.8 ms.
        let rate = BitRate::from_mbps(10);
        assert_eq!(rate.transmission_time(1000), Duration::from_micros(800));
    }

    #[test]
    fn a_rate_of_zero_is_rejected() {
        assert_eq!(BitRate::new(0), None);
        assert_eq!(BitRate::from_mbps(0).as_bps(), 1);
    }

    #[test]
    fn probabilities_0_and_1_are_exact() {
        assert!(!Probability::NEVER.covers(0));
        assert!(Probability::ALWAYS.covers(ONE - 1));
        assert_eq!(Probability::new(1.0), Some(Probability::ALWAYS));
        assert_eq!(Probability::new(-0.1), None);
        assert_eq!(Probability::new(1.1), None);
        assert_eq!(Probability::new(f64::NAN), None);
        assert_eq!(Probability::clamped(f64::NAN), Probability::NEVER);
        assert_eq!(Probability::clamped(7.0), Probability::ALWAYS);
    }

    #[test]
    fn rates_are_displayed_in_the_largest_whole_unit() {
        let shown = [1, 1500, 3_000_000, 2_000_000_000].map(|n| BitRate(n).to_string());
        assert_eq!(shown, ["1bit/s", "1500bit/s", "3Mbit/s", "2Gbit/s"]);
    }
}
