//! Messages between two endpoints: data segments in one direction, acknowledgments in the other.
//!
//! The structs contain the parsed fields of a TCP header that loss recovery uses. A host converts them to real headers
//! and fetches the payload bytes of a range when it emits a segment. A simulation needs neither headers nor payload.

use crate::seq::SeqNumber;

/// Data segment. It refers to a range of the stream and does not contain the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSegment {
    /// Sequence number of the first byte.
    pub seq: SeqNumber,
    /// Payload length in bytes; zero for a window probe.
    pub len: u32,
    /// TSval of the timestamps option (RFC 7323 §3), if the connection uses it.
    pub timestamp: Option<u32>,
    /// Low 32 bits of the number of the transmission, if the connection echoes transmission numbers (LE §4.2).
    pub order: Option<u32>,
}

/// ECN field of an IP header (RFC 3168 §5): two bits, as in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Codepoint {
    /// Not-ECT: the transport does not support marks.
    #[default]
    NotEct = 0b00,
    /// ECT(1): an ECN-capable transport. Sent only if the congestion control responds to the fraction of marked packets
    /// (L4S, RFC 9331).
    Ect1 = 0b01,
    /// ECT(0): an ECN-capable transport.
    Ect0 = 0b10,
    /// CE: congestion was experienced on the path.
    Ce = 0b11,
}

impl Codepoint {
    /// Returns the field in the two lowest bits of `bits`, which may be a TOS field or a traffic class.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns the two bits of the field.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Returns `true` if a queue may mark the packet instead of dropping it.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Control bit of a TCP header about congestion: ECE or CWR (RFC 3168 §6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bit {
    /// The bit is not set.
    #[default]
    Clear,
    /// The bit is set.
    Set,
}

impl Bit {
    /// Returns `Set` if `condition` holds.
    #[must_use]
    pub const fn when(condition: bool) -> Self {
        if condition { Self::Set } else { Self::Clear }
    }

    /// Returns `true` if the bit is set.
    #[must_use]
    pub const fn is_set(self) -> bool {
        matches!(self, Self::Set)
    }
}

/// Block of a SACK option (RFC 2018 §3): the receiver has received the bytes `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte of the block.
    pub start: SeqNumber,
    /// Sequence number after the last byte.
    pub end: SeqNumber,
}

/// Maximum number of blocks in a TCP header (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// Blocks of one SACK option, in the order of the header. The first block may be a DSACK (RFC 2883 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; MAX_SACK_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// No blocks: the option is not sent.
    pub const NONE: Self = Self {
        blocks: [SackBlock {
            start: SeqNumber(0),
            end: SeqNumber(0),
        }; MAX_SACK_BLOCKS],
        len: 0,
    };

    /// Appends `block`. A fifth block is dropped, because at most four fit into a header.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }

    /// Keeps at most the first `len` blocks.
    pub fn truncate(&mut self, len: usize) {
        // The value is at most 4, so it fits into a `u8`.
        self.len = self.len.min(len.min(MAX_SACK_BLOCKS) as u8);
    }

    /// Blocks of the option.
    #[must_use]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Returns `true` if there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Next expected byte: all bytes before it have arrived.
    pub ack: SeqNumber,
    /// Advertised receive window in bytes, after scaling, counted from `ack`.
    pub window: u32,
    /// TSecr of the timestamps option, if the connection uses it.
    pub timestamp_echo: Option<u32>,
    /// Number of the transmission that caused this ACK, if the connection echoes transmission numbers.
    pub order_echo: Option<u32>,
    /// SACK blocks, if the connection uses SACK.
    pub sacks: SackBlocks,
    /// Report of congestion marks.
    pub ecn: EcnEcho,
}

/// Report of congestion marks in an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnEcho {
    /// No report.
    #[default]
    Silent,
    /// ECE: a packet was marked, and no CWR has arrived since (RFC 3168 §6.1.3).
    Marked,
    /// The ACE field: the low three bits of the number of marked packets, counted from 5 (RFC 9768 §3.2.2). An ACK that
    /// reports no new data may have been sent before an ACK that has already arrived.
    Count(u8),
    /// Same as `Count`, but the timestamp shows that the ACK was sent after all ACKs that arrived before it.
    LatestCount(u8),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ecn_field_matches_rfc_3168() {
        // RFC 3168 §5, figure 1. The other bits of the byte are ignored.
        use Codepoint::{Ce, Ect0, Ect1, NotEct};
        let read = [0b00, 0b01, 0b10, 0b11].map(Codepoint::from_bits);
        assert_eq!(read, [NotEct, Ect1, Ect0, Ce]);
        assert_eq!(read.map(Codepoint::bits), [0, 1, 2, 3]);
        assert_eq!(Codepoint::from_bits(0b1011_1010), Ect0);
        assert_eq!(read.map(Codepoint::is_capable), [false, true, true, true]);
    }

    #[test]
    fn a_header_has_room_for_four_blocks() {
        let mut blocks = SackBlocks::NONE;
        assert!(blocks.is_empty());
        for n in 0..5 {
            blocks.push(SackBlock {
                start: SeqNumber(10 * n),
                end: SeqNumber(10 * n + 5),
            });
        }
        assert!(!blocks.is_empty());
        let starts = blocks.as_slice().iter().map(|block| block.start.0);
        assert!(starts.eq([0, 10, 20, 30]));
    }

    #[test]
    fn a_bit_is_set_or_clear() {
        assert_eq!([true, false].map(Bit::when), [Bit::Set, Bit::Clear]);
        assert_eq!([Bit::Set, Bit::Clear].map(Bit::is_set), [true, false]);
    }
}
