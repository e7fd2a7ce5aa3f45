//! Options that two ends agree on, one type per option, so that call sites are readable and one option cannot be
//! mistaken for another.

/// Defines an option that is either in use on a connection or not.
macro_rules! option {
    ($(#[$doc:meta])* $name:ident, $(#[$on_doc:meta])* $on:ident, $(#[$off_doc:meta])* $off:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[$on_doc])*
            $on,
            $(#[$off_doc])*
            $off,
        }

        impl $name {
            /// Returns the option in use if `condition` holds.
            #[must_use]
            pub const fn when(condition: bool) -> Self {
                if condition { Self::$on } else { Self::$off }
            }

            /// Returns `true` if the option is in use.
            #[must_use]
            pub const fn is_on(self) -> bool {
                matches!(self, Self::$on)
            }
        }
    };
}

option! {
    /// Selective acknowledgments (RFC 2018).
    Sack,
    /// The receiver sends SACK blocks, and the sender uses them.
    Permitted,
    /// No SACK blocks; the sender ignores any that arrive.
    Absent
}

option! {
    /// Reports of duplicate data, in SACK's first block (RFC 2883; no negotiation).
    Dsack,
    /// The receiver reports duplicate data.
    Reported,
    /// The receiver does not report it.
    Absent
}

option! {
    /// Order of transmissions, carried by segments and echoed by ACKs (LE §4.2).
    OrderEcho,
    /// Segments carry the order, and ACKs echo it.
    Carried,
    /// Neither do.
    Absent
}

/// Explicit congestion notification: data is marked instead of dropped, the receiver reports marks, and the sender
/// responds to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// After a mark, ACKs carry ECE until the sender reports that it has slowed down (RFC 3168).
    Classic,
    /// ACKs carry a count of marked packets (RFC 9768).
    Accurate,
    /// No ECN.
    Absent,
}

impl Ecn {
    /// Returns `true` if ECN is in use.
    #[must_use]
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Absent)
    }
}

/// Rule for the echo of marks by a receiver with classic ECN. There is no negotiation: both ends must be configured
/// alike (RFC 8257 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkEcho {
    /// After a mark, ACKs carry ECE until the sender sends CWR (RFC 3168 §6.1.3).
    #[default]
    UntilCwr,
    /// An ACK carries ECE if the data that it is the first to acknowledge was marked, so that the sender can count
    /// bytes (RFC 8257 §3.2, DCTCP).
    WhileMarked,
}

option! {
    /// Windows beyond 64 KiB (RFC 7323 §2).
    WindowScale,
    /// Windows in headers are shifted.
    Used,
    /// Windows in headers are unscaled.
    Absent
}

option! {
    /// Timestamps (RFC 7323 §3).
    Timestamping,
    /// Every segment carries them.
    Carried,
    /// No segment carries them.
    Absent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_in_use_if_its_condition_holds() {
        assert_eq!(
            [true, false].map(Sack::when),
            [Sack::Permitted, Sack::Absent]
        );
        assert_eq!(
            [Sack::Permitted, Sack::Absent].map(Sack::is_on),
            [true, false]
        );
        let ecn = [Ecn::Classic, Ecn::Accurate, Ecn::Absent];
        assert_eq!(ecn.map(Ecn::is_on), [true, true, false]);
    }
}
