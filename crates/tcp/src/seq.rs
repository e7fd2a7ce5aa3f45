//! Sequence numbers in headers, which wrap, and stream offsets, which do not.
//!
//! A segment carries a [`SeqNumber`], which wraps every 4 GiB (RFC 9293 §3.4). The engine counts bytes from the start
//! of the connection in a `u64` offset that never wraps. One is converted into the other only when a segment is built
//! or read.

use core::fmt;

/// 32-bit sequence number of a TCP header; arithmetic is modulo 2³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Returns the sequence number of stream offset `offset` on a connection whose first byte is `self`.
    #[must_use]
    pub const fn at(self, offset: u64) -> Self {
        Self(self.0.wrapping_add(offset as u32))
    }

    /// Returns the offset of this sequence number on a connection whose first byte is `origin`. Of all offsets with
    /// this number, it is the one closest to `reference`.
    ///
    /// Returns `None` if that offset lies before the start of the stream.
    #[must_use]
    pub const fn offset(self, origin: Self, reference: u64) -> Option<u64> {
        let distance = self.0.wrapping_sub(origin.at(reference).0) as i32;
        reference.checked_add_signed(distance as i64)
    }
}

impl fmt::Display for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_survives_the_wire_at_any_distance_below_half_the_space() {
        let origin = SeqNumber(0xffff_fff0);
        for reference in [0, 1, 15, 16, 17, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40] {
            for distance in [0, 1, 1000, (1 << 31) - 1] {
                let ahead = reference + distance;
                assert_eq!(origin.at(ahead).offset(origin, reference), Some(ahead));
                if let Some(behind) = reference.checked_sub(distance) {
                    assert_eq!(origin.at(behind).offset(origin, reference), Some(behind));
                }
            }
        }
    }

    #[test]
    fn a_number_before_the_stream_has_no_offset() {
        assert_eq!(SeqNumber(9).offset(SeqNumber(10), 0), None);
    }

    #[test]
    fn the_nearer_of_two_candidates_is_chosen() {
        // The result lies within half the sequence space before or after the reference.
        let reference = 1 << 32;
        let number = |offset| SeqNumber(0).at(offset).offset(SeqNumber(0), reference);
        let half = 1 << 31;
        assert_eq!(number(reference + half - 1), Some(reference + half - 1));
        assert_eq!(number(reference + half), Some(reference - half));
    }
}
