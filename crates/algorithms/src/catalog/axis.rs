//! The four axes of a stack.

use core::fmt;

/// One of the four decisions that make a stack, in the order in which a stack names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// Loss detection, the choice of the next transmission, and the number of bytes in flight.
    Recovery,
    /// The growth of the window, and its reduction after a congestion loss.
    Control,
    /// The cause of a loss: congestion, or the link.
    Differentiation,
    /// The window after a loss that the link caused.
    Response,
}

impl Axis {
    /// All axes, in order.
    pub const ALL: [Self; 4] = [
        Self::Recovery,
        Self::Control,
        Self::Differentiation,
        Self::Response,
    ];

    /// Returns the name of the axis in the catalog.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovery => "recovery",
            Self::Control => "control",
            Self::Differentiation => "differentiation",
            Self::Response => "response",
        }
    }

    /// Returns what is chosen on the axis, in words.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Recovery => "loss recovery",
            Self::Control => "congestion control",
            Self::Differentiation => "loss differentiation",
            Self::Response => "response",
        }
    }

    /// Returns the name of the choice that does nothing, if there is one. A stack has this choice if its text leaves
    /// the axis out; a catalog without an entry of this name has no such stacks.
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
