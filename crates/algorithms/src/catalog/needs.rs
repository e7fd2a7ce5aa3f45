//! What a stack asks of the receiver and of the connection.

/// What a stack asks of the receiver and of the connection.
///
/// It begins with [`Needs::NONE`], and what is asked is added: `Needs::SACK.and_dsack()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// SACK blocks (RFC 2018). A stack that does not ask for them gets none, so that
    /// duplicate ACKs mean what RFC 5681 says.
    pub sack: bool,
    /// DSACK (RFC 2883).
    pub dsack: bool,
    /// The order of transmissions echoed (LE §4.2).
    pub order_echo: bool,
    /// Timestamps that are fine, unique, and echo the segment that caused the ACK
    /// (LE §2.2.1).
    pub trigger_timestamps: bool,
    /// Marks of congestion counted: Accurate ECN (RFC 9768). Without, the stack works, but as another.
    pub counted_marks: bool,
    /// With classic ECN, ACKs that carry ECE only while what they acknowledge came marked (RFC 8257 §3.2).
    pub exact_echo: bool,
}

impl Needs {
    /// Nothing beyond cumulative ACKs.
    pub const NONE: Self = Self {
        sack: false,
        dsack: false,
        order_echo: false,
        trigger_timestamps: false,
        counted_marks: false,
        exact_echo: false,
    };

    /// SACK and nothing else.
    pub const SACK: Self = Self {
        sack: true,
        ..Self::NONE
    };

    /// DSACK (RFC 2883) as well.
    #[must_use]
    pub const fn and_dsack(self) -> Self {
        Self {
            dsack: true,
            ..self
        }
    }

    /// The order of transmissions echoed (LE §4.2) as well.
    #[must_use]
    pub const fn and_order_echo(self) -> Self {
        Self {
            order_echo: true,
            ..self
        }
    }

    /// Timestamps that tell transmissions apart (LE §2.2.1) as well.
    #[must_use]
    pub const fn and_trigger_timestamps(self) -> Self {
        Self {
            trigger_timestamps: true,
            ..self
        }
    }

    /// Marks of congestion counted (RFC 9768) as well.
    #[must_use]
    pub const fn and_counted_marks(self) -> Self {
        Self {
            counted_marks: true,
            ..self
        }
    }

    /// Marks echoed as they come (RFC 8257 §3.2) as well.
    #[must_use]
    pub const fn and_exact_echo(self) -> Self {
        Self {
            exact_echo: true,
            ..self
        }
    }

    /// The same of a peer that has declined SACK.
    #[must_use]
    pub const fn without_sack(self) -> Self {
        Self {
            sack: false,
            dsack: false,
            ..self
        }
    }

    /// All that either asks.
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
