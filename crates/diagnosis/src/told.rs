//! Estimate of a quantity: a value with its interval, or the reason why it is unknown.

/// Estimate of a quantity from a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Told<T> {
    /// The quantity is between `low` and `high` with 95 % confidence.
    Between {
        /// Best estimate.
        value: T,
        /// Lower end of the interval.
        low: T,
        /// Upper end of the interval.
        high: T,
    },
    /// The quantity is at least `bound`. The capture does not show how much larger it is.
    AtLeast {
        /// Lower bound.
        bound: T,
        /// Reason why only a bound is known, as a sentence without its full stop.
        why: &'static str,
        /// Description of a capture that would show the quantity.
        remedy: &'static str,
    },
    /// The capture does not show the quantity.
    CannotBeTold {
        /// Reason, as a sentence without its full stop.
        why: &'static str,
        /// Description of a capture that would show the quantity.
        remedy: &'static str,
    },
}

impl<T> Told<T> {
    /// Converts the estimate to another quantity that increases with this one.
    #[must_use]
    pub fn map<U>(self, of: impl Fn(T) -> U) -> Told<U> {
        match self {
            Self::Between { value, low, high } => Told::Between {
                value: of(value),
                low: of(low),
                high: of(high),
            },
            Self::AtLeast { bound, why, remedy } => Told::AtLeast {
                bound: of(bound),
                why,
                remedy,
            },
            Self::CannotBeTold { why, remedy } => Told::CannotBeTold { why, remedy },
        }
    }
}

impl<T: Copy> Told<T> {
    /// Returns the best estimate; `None` if there is none.
    #[must_use]
    pub const fn value(&self) -> Option<T> {
        match self {
            Self::Between { value, .. } => Some(*value),
            Self::AtLeast { .. } | Self::CannotBeTold { .. } => None,
        }
    }

    /// Returns both ends of the interval; `None` if there is none.
    #[must_use]
    pub const fn interval(&self) -> Option<(T, T)> {
        match self {
            Self::Between { low, high, .. } => Some((*low, *high)),
            Self::AtLeast { .. } | Self::CannotBeTold { .. } => None,
        }
    }

    /// Returns the lower end of the interval, or else the lower bound; `None` if there is neither.
    #[must_use]
    pub const fn at_least(&self) -> Option<T> {
        match self {
            Self::Between { low, .. } => Some(*low),
            Self::AtLeast { bound, .. } => Some(*bound),
            Self::CannotBeTold { .. } => None,
        }
    }
}
