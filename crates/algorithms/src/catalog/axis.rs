//! The four axes of a stack.

use core::fmt;

/// One of the four decisions that make a stack, in the order in which a stack names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// What is lost, what goes out next, what counts as in flight.
    Recovery,
    /// How the window grows, and what a congestion loss makes of it.
    Control,
    /// Whether a loss was congestion or the link.
    Differentiation,
    /// What the window becomes after a loss that was the link's.
    Response,
}

impl Axis {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [
        Self::Recovery,
        Self::Control,
        Self::Differentiation,
        Self::Response,
    ];

    /// Its name in the catalog.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovery => "recovery",
            Self::Control => "control",
            Self::Differentiation => "differentiation",
            Self::Response => "response",
        }
    }

    /// What is chosen on it, in words.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Recovery => "loss recovery",
            Self::Control => "congestion control",
            Self::Differentiation => "loss differentiation",
            Self::Response => "response",
        }
    }

    /// The name of the choice that does nothing, if there is one: what a stack has on this axis
    /// if its text leaves the axis out. A catalog without an entry of this name has no such stacks.
    #[must_use]
    pub const fn null(self) -> Option<&'static str> {
        match self {
            Self::Recovery | Self::Control => None,
            Self::Differentiation => Some("none"),
            Self::Response => Some("0"),
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
