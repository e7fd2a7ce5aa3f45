//! The two endpoints of a connection.

use schemars::JsonSchema;
use serde::Serialize;

/// Endpoint of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Endpoint that sent the SYN, or the first packet if the capture lacks the SYN.
    Opener,
    /// Other endpoint.
    Answerer,
}

impl Side {
    /// Both endpoints, the opener first.
    pub const BOTH: [Self; 2] = [Self::Opener, Self::Answerer];

    /// Returns the other endpoint.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Opener => Self::Answerer,
            Self::Answerer => Self::Opener,
        }
    }
}

/// One value for each endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both<T> {
    /// Value of the opener.
    pub opener: T,
    /// Value of the answerer.
    pub answerer: T,
}

impl<T> Both<T> {
    /// Returns the value of `side`.
    #[must_use]
    pub const fn of(&self, side: Side) -> &T {
        match side {
            Side::Opener => &self.opener,
            Side::Answerer => &self.answerer,
        }
    }

    /// Returns the value of `side` for modification.
    pub const fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Opener => &mut self.opener,
            Side::Answerer => &mut self.answerer,
        }
    }
}
