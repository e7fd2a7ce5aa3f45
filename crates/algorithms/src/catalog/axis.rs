//! Four axes of a stack.

use core::fmt;

/// One of the four parts of a stack, in the order in which a stack names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// Loss detection, the choice of the next transmission, and the number of bytes in flight.
    Recovery,
    /// Growth of the window, and its reduction after a congestion loss.
    Control,
    /// Classification of a loss: congestion or wireless.
    Differentiation,
    /// Window after a wireless loss.
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

    /// Returns the noun for the algorithms on this axis, such as "loss recovery".
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Recovery => "loss recovery",
            Self::Control => "congestion control",
            Self::Differentiation => "loss differentiation",
            Self::Response => "response",
        }
    }

    /// Returns the name of the algorithm that does nothing, if the axis has one. It is the default of a stack whose
    /// text omits the axis. In a catalog without this algorithm, the axis cannot be omitted.
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
