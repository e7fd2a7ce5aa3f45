//! Demands of a stack on the receiver and on the connection.

/// Demands of a stack on the receiver and on the connection.
///
/// Start with [`Needs::NONE`] and add demands: `Needs::SACK.and_dsack()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// SACK blocks (RFC 2018). A stack that does not need them receives none, so duplicate ACKs have the meaning of RFC
    /// 5681.
    pub sack: bool,
    /// DSACK (RFC 2883).
    pub dsack: bool,
    /// Echo of the order of transmissions (LE §4.2).
    pub order_echo: bool,
    /// Timestamps with a fine resolution, unique values, and an echo of the segment that caused the ACK (LE §2.2.1).
    pub trigger_timestamps: bool,
    /// Counts of congestion marks: Accurate ECN (RFC 9768). Without them the stack works, but as a different algorithm.
    pub counted_marks: bool,
    /// With classic ECN, ACKs that carry ECE only if the acknowledged segments were marked (RFC 8257 §3.2).
    pub exact_echo: bool,
}

impl Needs {
    /// Cumulative ACKs only.
    pub const NONE: Self = Self {
        sack: false,
        dsack: false,
        order_echo: false,
        trigger_timestamps: false,
        counted_marks: false,
        exact_echo: false,
    };

    /// SACK only.
    pub const SACK: Self = Self {
        sack: true,
        ..Self::NONE
    };

    /// Adds DSACK (RFC 2883).
    #[must_use]
    pub const fn and_dsack(self) -> Self {
        Self {
            dsack: true,
            ..self
        }
    }

    /// Adds the echo of the order of transmissions (LE §4.2).
    #[must_use]
    pub const fn and_order_echo(self) -> Self {
        Self {
            order_echo: true,
            ..self
        }
    }

    /// Adds timestamps that distinguish transmissions (LE §2.2.1).
    #[must_use]
    pub const fn and_trigger_timestamps(self) -> Self {
        Self {
            trigger_timestamps: true,
            ..self
        }
    }

    /// Adds counts of congestion marks (RFC 9768).
    #[must_use]
    pub const fn and_counted_marks(self) -> Self {
        Self {
            counted_marks: true,
            ..self
        }
    }

    /// Adds an exact echo of marks (RFC 8257 §3.2).
    #[must_use]
    pub const fn and_exact_echo(self) -> Self {
        Self {
            exact_echo: true,
            ..self
        }
    }

    /// Returns the demands that remain if the peer does not permit SACK.
    #[must_use]
    pub const fn without_sack(self) -> Self {
        Self {
            sack: false,
            dsack: false,
            ..self
        }
    }

    /// Returns the combined demands of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self {
            sack: self.sack | other.sack,
            dsack: self.dsack | other.dsack,
            order_echo: self.order_echo | other.order_echo,
            trigger_timestamps: self.trigger_timestamps | other.trigger_timestamps,
            counted_marks: self.counted_marks | other.counted_marks,
            exact_echo: self.exact_echo | other.exact_echo,
        }
    }
}
