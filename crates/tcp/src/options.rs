//! Options on which the two ends agree. Each option has its own type, so that call sites are readable and options
//! cannot be confused.

/// Defines the type of an option that a connection either uses or does not use.
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
            /// Returns the value for a used option if `condition` holds.
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
    /// The receiver sends no SACK blocks, and the sender ignores any that arrive.
    Absent
}

option! {
    /// Reports of duplicate data in the first SACK block (RFC 2883). They are not negotiated.
    Dsack,
    /// The receiver reports duplicate data.
    Reported,
    /// The receiver does not report duplicate data.
    Absent
}

option! {
    /// Numbers of transmissions, carried by segments and echoed by ACKs (LE §4.2).
    OrderEcho,
    /// Segments carry the number of their transmission, and ACKs echo it.
    Carried,
    /// Segments carry no number, and ACKs echo none.
    Absent
}

/// Explicit congestion notification: queues mark packets instead of dropping them, the receiver reports the marks, and
/// the sender responds to the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// After a mark, ACKs carry ECE until the sender reports by CWR that it has reduced its window (RFC 3168).
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

/// Rule by which a receiver with classic ECN echoes marks. The rule is not negotiated: both ends must have the same
/// configuration (RFC 8257 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkEcho {
    /// After a mark, ACKs carry ECE until the sender sends CWR (RFC 3168 §6.1.3).
    #[default]
    UntilCwr,
    /// An ACK carries ECE if the data that it acknowledges for the first time was marked, so that the sender can count
    /// marked bytes (RFC 8257 §3.2, DCTCP).
    WhileMarked,
}

option! {
    /// Scaling of windows, which permits windows above 64 KiB (RFC 7323 §2).
    WindowScale,
    /// Windows in headers are scaled.
    Used,
    /// Windows in headers are unscaled.
    Absent
}

option! {
    /// Timestamps (RFC 7323 §3).
    Timestamping,
    /// Every segment carries timestamps.
    Carried,
    /// No segment carries timestamps.
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
