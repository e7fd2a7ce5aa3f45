//! Accurate ECN (RFC 9768): what both ends of a connection, and its packets, share.
//!
//! A receiver counts the packets that come marked, and the payload bytes that come with each ECN
//! field. Every segment tells the low three bits of the first count in the flags AE, CWR and ECE,
//! which together are the ACE field; an option tells the low 24 bits of the others. Handshakes
//! use the same three flags to agree on it, and to tell how the other end's SYN came.

use crate::segment::Codepoint;

/// Packets that came marked are counted from here (§3.2.1).
pub(crate) const FIRST_COUNT: u8 = 5;

/// The ACE field has three bits (§3.2.2).
pub(crate) const ACE_MASK: u8 = 0b111;

/// Bytes with ECT(0), and those with ECT(1), are counted from here (§3.2.1); marked ones from 0.
const FIRST_BYTES: u32 = 1;

/// Counters of the option have 24 bits (§3.2.3).
const COUNTER_MASK: u32 = 0x00ff_ffff;

/// What an ECN field counts from, in bytes.
pub(crate) const fn first_bytes(field: Codepoint) -> u32 {
    match field {
        Codepoint::Ect0 | Codepoint::Ect1 => FIRST_BYTES,
        Codepoint::Ce | Codepoint::NotEct => 0,
    }
}

/// The flags of a SYN with ACK, or the ACE field of the ACK that answers it, which tell that a SYN
/// came with `field` (§3.1.1, Table 2; §3.2.2.1, Table 3).
pub(crate) const fn reflection(field: Codepoint) -> u8 {
    match field {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    }
}

/// The ECN field that such flags tell of; `None` if they tell of none (Table 4).
pub(crate) const fn reflected(ace: u8) -> Option<Codepoint> {
    match ace & ACE_MASK {
        0b010 => Some(Codepoint::NotEct),
        0b011 => Some(Codepoint::Ect1),
        0b100 => Some(Codepoint::Ect0),
        0b110 => Some(Codepoint::Ce),
        _ => None,
    }
}

/// Which counter stands first in the option (§3.2.3, Figure 4). Marked bytes are in the middle
/// either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterOrder {
    /// Kind 172: ECT(0), CE, ECT(1).
    Ect0First,
    /// Kind 174: ECT(1), CE, ECT(0).
    Ect1First,
}

impl CounterOrder {
    /// What the counters are of, as they stand in the option.
    #[must_use]
    pub const fn fields(self) -> [Codepoint; 3] {
        match self {
            Self::Ect0First => [Codepoint::Ect0, Codepoint::Ce, Codepoint::Ect1],
            Self::Ect1First => [Codepoint::Ect1, Codepoint::Ce, Codepoint::Ect0],
        }
    }
}

/// What an AccECN option says: payload bytes that came with each ECN field, as the low 24 bits of
/// up to three counters (RFC 9768 §3.2.3). Those at the end may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnCounters {
    order: CounterOrder,
    len: u8,
    // As on the wire: a number of 32 bits would make every segment's header longer.
    fields: [[u8; 3]; 3],
}

impl EcnCounters {
    /// The option in this order, with `counters` as they stand in it. Of each the low 24 bits count,
    /// and a fourth is left out.
    #[must_use]
    pub fn new(order: CounterOrder, counters: &[u32]) -> Self {
        let mut fields = [[0; 3]; 3];
        for (field, counter) in fields.iter_mut().zip(counters) {
            let [_, a, b, c] = counter.to_be_bytes();
            *field = [a, b, c];
        }
        Self {
            order,
            len: counters.len().min(3) as u8,
            fields,
        }
    }

    /// Which counter stands first.
    #[must_use]
    pub const fn order(&self) -> CounterOrder {
        self.order
    }

    /// The counters that are there, as they stand on the wire.
    #[must_use]
    pub fn as_bytes(&self) -> &[[u8; 3]] {
        self.fields.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The counters that are there, in their order.
    pub fn counters(&self) -> impl Iterator<Item = u32> + '_ {
        self.as_bytes()
            .iter()
            .map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    /// The counter of bytes that came with `field`, if it is there.
    #[must_use]
    pub fn of(&self, field: Codepoint) -> Option<u32> {
        let place = self.order.fields().iter().position(|it| *it == field)?;
        self.counters().nth(place)
    }

    /// Whether a counter is zero that begins at one: something on the path has overwritten it
    /// (§3.2.3.2.4).
    pub(crate) fn is_zeroed(&self) -> bool {
        [Codepoint::Ect0, Codepoint::Ect1]
            .into_iter()
            .any(|field| self.of(field) == Some(0))
    }
}

/// By how much a counter of 24 bits has grown from `known` to `told`; negative if it lies behind.
pub(crate) const fn growth(told: u32, known: u32) -> i32 {
    let ahead = told.wrapping_sub(known) & COUNTER_MASK;
    // The highest of 24 bits is the sign.
    ((ahead << 8) as i32) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Codepoint; 4] = [
        Codepoint::NotEct,
        Codepoint::Ect1,
        Codepoint::Ect0,
        Codepoint::Ce,
    ];

    #[test]
    fn a_reflection_tells_the_field_again() {
        for field in ALL {
            assert_eq!(reflected(reflection(field)), Some(field));
        }
        for other in [0b000, 0b001, 0b101, 0b111] {
            assert_eq!(reflected(other), None, "{other:03b}");
        }
    }

    #[test]
    fn counters_are_found_by_what_they_count() {
        let [ect0, ce, ect1] = [0x0100_0007, 3000, 1];
        let zero = EcnCounters::new(CounterOrder::Ect0First, &[ect0, ce, ect1]);
        let one = EcnCounters::new(CounterOrder::Ect1First, &[ect1, ce, ect0]);
        for option in [zero, one] {
            let of = [Codepoint::Ect0, Codepoint::Ce, Codepoint::Ect1].map(|f| option.of(f));
            assert_eq!(of, [Some(7), Some(3000), Some(1)]);
            assert_eq!(option.of(Codepoint::NotEct), None);
        }
        let short = EcnCounters::new(CounterOrder::Ect1First, &[ect1, ce]);
        assert_eq!(short.of(Codepoint::Ect0), None);
        assert_eq!(short.of(Codepoint::Ce), Some(3000));
        assert!(!short.is_zeroed());
        assert!(EcnCounters::new(CounterOrder::Ect1First, &[0]).is_zeroed());
        assert!(!EcnCounters::new(CounterOrder::Ect1First, &[]).is_zeroed());
    }

    #[test]
    fn a_counter_grows_across_its_wrap() {
        assert_eq!(growth(5, 0x00ff_fffe), 7);
        assert_eq!(growth(0x00ff_fffe, 5), -7);
        assert_eq!(growth(1000, 0x0300_0000), 1000);
    }
}
