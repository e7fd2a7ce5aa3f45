//! What a capture tells of a quantity: a value with its interval, or why it cannot be told.

/// A quantity that was read off a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Told<T> {
    /// It is between `low` and `high`, with 95 % confidence.
    Between {
        /// The best guess.
        value: T,
        /// The lower end.
        low: T,
        /// The upper end.
        high: T,
    },
    /// It is no less than this; how much more, nothing in the capture tells.
    AtLeast {
        /// The bound.
        bound: T,
        /// Why no more can be told, as a sentence without its full stop.
        why: &'static str,
        /// What capture could tell it.
        remedy: &'static str,
    },
    /// Nothing in the capture tells.
    CannotBeTold {
        /// Why not, as a sentence without its full stop.
        why: &'static str,
        /// What capture could tell it.
        remedy: &'static str,
    },
}

impl<T> Told<T> {
    /// The same as another quantity, which grows with it.
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
    /// The best guess, if there is one.
    #[must_use]
    pub const fn value(&self) -> Option<T> {
        match self {
            Self::Between { value, .. } => Some(*value),
            Self::AtLeast { .. } | Self::CannotBeTold { .. } => None,
        }
    }

    /// Both ends of the interval, if it can be told.
    #[must_use]
    pub const fn interval(&self) -> Option<(T, T)> {
        match self {
            Self::Between { low, high, .. } => Some((*low, *high)),
            Self::AtLeast { .. } | Self::CannotBeTold { .. } => None,
        }
    }

    /// What it is at least: the lower end of the interval, or the bound.
    #[must_use]
    pub const fn at_least(&self) -> Option<T> {
        match self {
            Self::Between { low, .. } => Some(*low),
            Self::AtLeast { bound, .. } => Some(*bound),
            Self::CannotBeTold { .. } => None,
        }
    }
}
