//! The two ends of a connection.

use schemars::JsonSchema;
use serde::Serialize;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Who sent the SYN; where the capture does not show it, who sent the first packet that it has.
    Opener,
    /// The other one.
    Answerer,
}

impl Side {
    /// Both, the opener first.
    pub const BOTH: [Self; 2] = [Self::Opener, Self::Answerer];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Opener => Self::Answerer,
            Self::Answerer => Self::Opener,
        }
    }
}

/// One thing for each end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both<T> {
    /// The opener's.
    pub opener: T,
    /// The answerer's.
    pub answerer: T,
}

impl<T> Both<T> {
    /// That of `side`.
    #[must_use]
    pub const fn of(&self, side: Side) -> &T {
        match side {
            Side::Opener => &self.opener,
            Side::Answerer => &self.answerer,
        }
    }

    /// That of `side`, to be changed.
    pub const fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Opener => &mut self.opener,
            Side::Answerer => &mut self.answerer,
        }
    }
}
