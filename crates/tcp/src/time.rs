//! Time of the endpoint, in nanoseconds. The host passes it in.
//!
//! The endpoint has no clock. [`Instant`] counts from an origin that the host chooses (the start of a simulation, the
//! boot of a machine). The endpoint only uses differences between instants.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// Point in time, in nanoseconds since the host's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// Span of time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The host's origin.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// Returns the instant `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, for display and plots.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span: 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns a span of `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns a span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Returns a span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Returns a span of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Returns a span of `secs` seconds; negative values and NaN become zero.
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        // A float-to-integer `as` cast saturates and maps NaN to zero.
        Self((secs * 1e9) as u64)
    }

    /// Length in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Length in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns `true` if the span is empty.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns `self − other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns `self · factor`, or the longest span.
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// Returns the absolute difference of two spans.
    #[must_use]
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Returns `self` rounded to the nearest multiple of `tick`; unchanged if `tick` is zero.
    #[must_use]
    pub const fn rounded_to(self, tick: Self) -> Self {
        if tick.0 == 0 {
            return self;
        }
        Self(self.0.saturating_add(tick.0 / 2) / tick.0 * tick.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        self.saturating_mul(factor)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n % 1_000_000_000 == 0 => write!(f, "{}s", n / 1_000_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{}ms", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{}us", n / 1_000),
            n => write!(f, "{n}ns"),
        }
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn units_match_their_names() {
        let second = Duration::from_nanos(1_000_000_000);
        assert_eq!(Duration::from_secs(1), second);
        assert_eq!(Duration::from_millis(1000), second);
        assert_eq!(Duration::from_micros(1_000_000), second);
        assert_eq!(Duration::from_secs_f64(1.0), second);
        assert_eq!((second * 5 / 2).as_secs_f64(), 2.5);
        let later = Instant::from_nanos(2_500_000_000);
        assert_eq!(
            (later.as_secs_f64(), later.as_nanos()),
            (2.5, 2_500_000_000)
        );
    }

    #[test]
    fn arithmetic_saturates() {
        let [one, two] = [1, 2].map(Duration::from_secs);
        assert_eq!((two - one, one - two), (one, Duration::ZERO));
        assert_eq!(one.saturating_sub(two), Duration::ZERO);
        assert_eq!((one.abs_diff(two), two.abs_diff(one)), (one, one));
        assert_eq!(Duration::MAX + one, Duration::MAX);
        assert_eq!(Duration::from_secs(u64::MAX), Duration::MAX);
        assert_eq!(two.saturating_mul(u64::MAX), Duration::MAX);
        for secs in [-1.0, f64::NAN] {
            assert_eq!(Duration::from_secs_f64(secs), Duration::ZERO);
        }
        let at = Instant::ZERO + two;
        assert_eq!(
            (at - one, at - two - one),
            (Instant::ZERO + one, Instant::ZERO)
        );
        assert_eq!(Instant::FAR_FUTURE + one, Instant::FAR_FUTURE);
        assert_eq!(at.since(Instant::ZERO + one), one);
        assert_eq!(Instant::ZERO.since(at), Duration::ZERO);
        assert!(Duration::ZERO.is_zero() && !one.is_zero());
    }

    #[test]
    fn sums_can_be_assigned() {
        let (mut at, mut span) = (Instant::ZERO, Duration::ZERO);
        for _ in 0..3 {
            at += Duration::from_millis(5);
            span += Duration::from_millis(5);
        }
        assert_eq!(at.as_nanos(), 15_000_000);
        assert_eq!(span, Duration::from_millis(15));
    }

    #[test]
    fn rounding_goes_to_the_nearest_tick() {
        let [ten, zero] = [10, 0].map(Duration::from_nanos);
        let rounded = |nanos| Duration::from_nanos(nanos).rounded_to(ten).as_nanos();
        assert_eq!([14, 15, 20, 25].map(rounded), [10, 20, 20, 30]);
        assert_eq!(ten.rounded_to(zero), ten);
    }

    #[test]
    fn a_span_is_written_in_the_largest_unit_that_fits() {
        let written = [2_000_000_000, 1_500_000_000, 1_500_000, 1_500, 0];
        let written = written.map(|nanos| Duration::from_nanos(nanos).to_string());
        assert_eq!(written, ["2s", "1500ms", "1500us", "1500ns", "0s"]);
        assert_eq!(Instant::from_nanos(1_500).to_string(), "0.000001500s");
    }
}
