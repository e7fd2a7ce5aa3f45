//! What a capture tells of a quantity: a value with its interval, or why it cannot be told.

/// A quantity that was read off a capture.
#[derive(Clone, Debug, PartialEq)]
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
    /// Nothing in the capture tells.
    CannotBeTold {
        /// Why not, as a sentence without its full stop.
        why: &'static str,
        /// What capture could tell it.
        remedy: &'static str,
    },
}

impl<T: Copy> Told<T> {
    /// The best guess, if there is one.
    #[must_use]
    pub const fn value(&self) -> Option<T> {
        match self {
            Self::Between { value, .. } => Some(*value),
            Self::CannotBeTold { .. } => None,
        }
    }

    /// Both ends of the interval, if it can be told.
    #[must_use]
    pub const fn interval(&self) -> Option<(T, T)> {
        match self {
            Self::Between { low, high, .. } => Some((*low, *high)),
            Self::CannotBeTold { .. } => None,
        }
    }
}
