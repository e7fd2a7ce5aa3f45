//! What two ends have agreed on, one type per option: a word at the place where it is chosen says
//! what is chosen, and one option cannot be taken for another.

/// An option that is either in use on a connection or not.
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
            /// In use if `condition` holds.
            #[must_use]
            pub const fn when(condition: bool) -> Self {
                if condition { Self::$on } else { Self::$off }
            }

            /// Whether it is in use.
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
    /// The receiver sends SACK blocks, and the sender believes them.
    Permitted,
    /// There are none; should one come, it says nothing.
    Absent
}

option! {
    /// Reports of what arrived twice, in SACK's first block (RFC 2883; no negotiation).
    Dsack,
    /// The receiver sends them.
    Reported,
    /// It keeps what arrived twice to itself.
    Absent
}

option! {
    /// The order of transmissions, carried by segments and echoed by ACKs (LE §4.2).
    OrderEcho,
    /// Segments carry it, and ACKs echo it.
    Carried,
    /// They do not.
    Absent
}

/// Explicit congestion notification: data is marked instead of dropped, the receiver tells of marks,
/// and the sender heeds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// From a mark on ACKs carry ECE, until the sender says that it has slowed down (RFC 3168).
    Classic,
    /// ACKs carry a count of the packets that came marked (RFC 9768).
    Accurate,
    /// There is none of it.
    Absent,
}

impl Ecn {
    /// Whether there is any.
    #[must_use]
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Absent)
    }
}

/// How a receiver with classic ECN tells of marks. Nothing agrees on it: both ends have to be set up alike
/// (RFC 8257 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkEcho {
    /// ACKs carry ECE from a mark on, until the sender says CWR (RFC 3168 §6.1.3).
    #[default]
    UntilCwr,
    /// ACKs carry ECE if what they are the first to acknowledge came marked, so that the sender can count
    /// bytes (RFC 8257 §3.2, DCTCP).
    WhileMarked,
}

option! {
    /// Windows beyond 64 KiB (RFC 7323 §2).
    WindowScale,
    /// Windows in headers are shifted.
    Used,
    /// They are as they stand.
    Absent
}

option! {
    /// Timestamps (RFC 7323 §3).
    Timestamping,
    /// Every segment carries them.
    Carried,
    /// None does.
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
