//! Accurate ECN (RFC 9768): codes and counters that senders, receivers and packet headers share.
//!
//! A receiver counts the marked packets that arrive, and the payload bytes that arrive with each ECN field. Every
//! segment reports the low three bits of the packet count in the flags AE, CWR and ECE, which together form the ACE
//! field. An option reports the low 24 bits of the byte counts. Handshakes use the same three flags to agree on
//! Accurate ECN, and to report the ECN field of the other end's SYN.

use crate::segment::Codepoint;

/// Initial value of the counter of marked packets (§3.2.1).
pub(crate) const FIRST_COUNT: u8 = 5;

/// Bits of the ACE field (§3.2.2).
pub(crate) const ACE_MASK: u8 = 0b111;

/// Initial value of the counters of bytes with ECT(0) and ECT(1) (§3.2.1). The counter of marked bytes starts at 0.
const FIRST_BYTES: u32 = 1;

/// Bits of a counter in the option (§3.2.3).
const COUNTER_MASK: u32 = 0x00ff_ffff;

/// Returns the initial value of the counter of bytes with this ECN field.
pub(crate) const fn first_bytes(field: Codepoint) -> u32 {
    match field {
        Codepoint::Ect0 | Codepoint::Ect1 => FIRST_BYTES,
        Codepoint::Ce | Codepoint::NotEct => 0,
    }
}

/// Returns the flags that report that a SYN arrived with the ECN field `field`. A SYN-ACK reports the SYN in its flags
/// (§3.1.1, Table 2), and the last ACK of the handshake reports the SYN-ACK in its ACE field (§3.2.2.1, Table 3).
pub(crate) const fn reflection(field: Codepoint) -> u8 {
    match field {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    }
}

/// Returns the ECN field that these flags report; `None` if they report none (Table 4).
pub(crate) const fn reflected(ace: u8) -> Option<Codepoint> {
    match ace & ACE_MASK {
        0b010 => Some(Codepoint::NotEct),
        0b011 => Some(Codepoint::Ect1),
        0b100 => Some(Codepoint::Ect0),
        0b110 => Some(Codepoint::Ce),
        _ => None,
    }
}

/// Order of the counters in the option (§3.2.3, Figure 4). In both orders, the counter of marked bytes is in the
/// middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterOrder {
    /// Kind 172: ECT(0), CE, ECT(1).
    Ect0First,
    /// Kind 174: ECT(1), CE, ECT(0).
    Ect1First,
}

impl CounterOrder {
    /// Returns the ECN fields of the counters, in the order of the option.
    #[must_use]
    pub const fn fields(self) -> [Codepoint; 3] {
        match self {
            Self::Ect0First => [Codepoint::Ect0, Codepoint::Ce, Codepoint::Ect1],
            Self::Ect1First => [Codepoint::Ect1, Codepoint::Ce, Codepoint::Ect0],
        }
    }
}

/// AccECN option: payload bytes by ECN field, as the low 24 bits of up to three counters (RFC 9768 §3.2.3). Counters at
/// the end may be omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnCounters {
    order: CounterOrder,
    len: u8,
    // Bytes as in the header: 32-bit numbers would make the header struct of every segment larger.
    fields: [[u8; 3]; 3],
}

impl EcnCounters {
    /// Returns an option with these counters, in this order. Only the low 24 bits of each counter are kept, and a
    /// fourth counter is dropped.
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

    /// Order of the counters.
    #[must_use]
    pub const fn order(&self) -> CounterOrder {
        self.order
    }

    /// Counters of the option, as bytes in network order.
    #[must_use]
    pub fn as_bytes(&self) -> &[[u8; 3]] {
        self.fields.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Counters of the option, in their order.
    pub fn counters(&self) -> impl Iterator<Item = u32> + '_ {
        self.as_bytes()
            .iter()
            .map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    /// Counter of bytes with `field`, if the option has this counter.
    #[must_use]
    pub fn of(&self, field: Codepoint) -> Option<u32> {
        let place = self.order.fields().iter().position(|it| *it == field)?;
        self.counters().nth(place)
    }

    /// Returns `true` if a counter whose initial value is 1 is zero: a middlebox has overwritten it (§3.2.3.2.4).
    pub(crate) fn is_zeroed(&self) -> bool {
        [Codepoint::Ect0, Codepoint::Ect1]
            .into_iter()
            .any(|field| self.of(field) == Some(0))
    }
}

/// Returns the increase of a 24-bit counter from `known` to `told`. It is negative if `told` is older than `known`.
pub(crate) const fn growth(told: u32, known: u32) -> i32 {
    let ahead = told.wrapping_sub(known) & COUNTER_MASK;
    // The highest of the 24 bits is the sign.
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
    fn reflected_fields_round_trip() {
        for field in ALL {
            assert_eq!(reflected(reflection(field)), Some(field));
        }
        for other in [0b000, 0b001, 0b101, 0b111] {
            assert_eq!(reflected(other), None, "{other:03b}");
        }
    }

    #[test]
    fn counters_are_found_by_field() {
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
