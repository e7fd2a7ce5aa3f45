//! TCP header as a connection receives and returns it, with parsed fields and without payload bytes.
//!
//! The fields are not checked against the connection: sequence numbers are modular, the window is the unscaled field,
//! and any combination of control bits may occur.

use core::ops::Range;

use crate::accurate_ecn::EcnCounters;
use crate::facts::SendReason;
use crate::options::Sack;
use crate::segment::{Codepoint, SackBlocks};
use crate::seq::SeqNumber;

/// Control bits of a header (RFC 9293 §3.1): the flag byte as in the header, and AE as the ninth bit.
///
/// The ACK bit is not included: [`Segment::ack`] is `Some` if it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// No control bit.
    pub const NONE: Self = Self(0);
    /// Ends the stream of this direction.
    pub const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// Aborts a connection.
    pub const RST: Self = Self(0x04);
    /// Asks the receiver to pass the data to the application at once.
    pub const PSH: Self = Self(0x08);
    /// The urgent pointer is valid. It is not supported (RFC 6093 advises against it): the bit is read and ignored.
    pub const URG: Self = Self(0x20);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);

    /// Accurate ECN (RFC 9768 §3.1): the bit before CWR, in the preceding byte.
    pub const AE: Self = Self(0x100);

    /// ACK, which this type does not store.
    const ACK: u16 = 0x10;

    /// Position of the lowest bit of the ACE field. `ACE` has the bits of the field.
    const ACE_SHIFT: u32 = 6;
    const ACE: u16 = 0x1c0;

    /// Returns the flags with these bits: the flag byte of a header, and AE as the ninth bit. The ACK bit is dropped.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x1ff & !Self::ACK)
    }

    /// Returns the bits as in a header, without ACK.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the flags AE, CWR and ECE with this three-bit value (the ACE field, RFC 9768 §3.2.2).
    #[must_use]
    pub const fn of_ace(ace: u8) -> Self {
        Self(((ace as u16) << Self::ACE_SHIFT) & Self::ACE)
    }

    /// Returns the three-bit value of AE, CWR and ECE (the ACE field).
    #[must_use]
    pub const fn ace(self) -> u8 {
        ((self.0 & Self::ACE) >> Self::ACE_SHIFT) as u8
    }

    /// Returns these bits without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns `true` if all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns these bits and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Timestamps option (RFC 7323 §3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval, in ticks of the clock of the segment's sender.
    pub value: u32,
    /// TSecr, in ticks of the other end's clock.
    pub echo: u32,
}

/// Options that a connection supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size in bytes, including options (RFC 6691). Only in a SYN.
    pub mss: Option<u16>,
    /// Window scale of the following segments (RFC 7323 §2.2). Only in a SYN.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2). Only in a SYN.
    pub sack_permitted: Sack,
    /// SACK blocks (RFC 2018 §3).
    pub sacks: SackBlocks,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// Number of bytes that arrived with each ECN field (RFC 9768 §3.2.3). Ignored in a SYN without ACK.
    pub accurate_ecn: Option<EcnCounters>,
}

impl Options {
    /// No options.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: Sack::Absent,
        sacks: SackBlocks::NONE,
        timestamps: None,
        accurate_ecn: None,
    };
}

/// Header of a segment, and the length of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN.
    pub seq: SeqNumber,
    /// Acknowledgment number, if the ACK bit is set.
    pub ack: Option<SeqNumber>,
    /// Other control bits.
    pub flags: Flags,
    /// Window field of the header, before scaling.
    pub window: u16,
    /// Options.
    pub options: Options,
    /// Payload length in bytes.
    pub len: u32,
    /// ECN field of the IP header.
    pub ecn: Codepoint,
}

impl Segment {
    /// Returns a header with `seq`. All other fields are empty.
    #[must_use]
    pub const fn new(seq: SeqNumber) -> Self {
        Self {
            seq,
            ack: None,
            flags: Flags::NONE,
            window: 0,
            options: Options::NONE,
            len: 0,
            ecn: Codepoint::NotEct,
        }
    }

    /// Returns `true` if all of `flags` are set.
    #[must_use]
    pub const fn is(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// SEG.LEN (RFC 9293 §3.4): number of sequence numbers of the segment, including SYN and FIN.
    #[must_use]
    pub const fn sequence_len(&self) -> u32 {
        self.len
            .saturating_add(self.is(Flags::SYN) as u32)
            .saturating_add(self.is(Flags::FIN) as u32)
    }

    /// Returns the RST in response to a segment that belongs to no connection (RFC 9293 §3.10.7.1); `None` if the
    /// segment is a RST.
    #[must_use]
    pub fn reset(&self) -> Option<Self> {
        if self.is(Flags::RST) {
            return None;
        }
        let mut reset = match self.ack {
            Some(ack) => Self::new(ack),
            None => Self {
                ack: Some(self.seq.at(u64::from(self.sequence_len()))),
                ..Self::new(SeqNumber(0))
            },
        };
        reset.flags = Flags::RST;
        Some(reset)
    }
}

/// Segment to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Header.
    pub segment: Segment,
    /// Stream offsets of the payload. The host adds these `segment.len` bytes. Offset 0 is the first byte that the
    /// application wrote.
    pub data: Range<u64>,
    /// Reason for the transmission; `None` for a segment that the sender did not choose (handshake, ACK, RST,
    /// keep-alive).
    pub why: Option<SendReason>,
}

/// Part of a received payload that the host must store.
///
/// The part never overlaps data that was readable before, but it may overlap data stored beyond a gap: the later copy
/// may replace the earlier one. The part lies within [`Config::receive_buffer`](super::Config::receive_buffer) bytes
/// after the data that the application has read, so a ring buffer of that size can store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Offset of the first byte in the peer's stream.
    pub offset: u64,
    /// Number of bytes to skip at the start of the payload.
    pub skip: u32,
    /// Number of bytes to store; at least one.
    pub len: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_the_bits_of_a_header_without_ack() {
        let all = Flags::from_bits(0xff);
        assert_eq!(all.bits(), 0xef);
        assert_eq!(Flags::from_bits(0x12), Flags::SYN);
        let both = Flags::SYN.with(Flags::ECE);
        assert!(both.contains(Flags::SYN) && both.contains(Flags::ECE));
        assert!(!Flags::SYN.contains(both));
        assert!(!both.contains(Flags::FIN));
        assert_eq!(both.with(Flags::SYN), both);
        assert_eq!(both.without(Flags::ECE), Flags::SYN);
        assert_eq!(both.without(Flags::FIN), both);
    }

    fn segment(len: u32, flags: Flags) -> Segment {
        Segment {
            len,
            flags,
            ..Segment::new(SeqNumber(100))
        }
    }

    #[test]
    fn syn_and_fin_take_a_number_each() {
        let taken = |len, flags| segment(len, flags).sequence_len();
        assert_eq!(taken(10, Flags::PSH), 10);
        assert_eq!(taken(0, Flags::SYN), 1);
        assert_eq!(taken(10, Flags::FIN), 11);
        assert_eq!(taken(10, Flags::SYN.with(Flags::FIN)), 12);
        assert_eq!(taken(u32::MAX, Flags::FIN), u32::MAX);
    }

    #[test]
    fn a_segment_without_a_connection_is_answered_as_the_rfc_says() {
        // The expected responses follow RFC 9293 §3.10.7.1.
        assert_eq!(segment(0, Flags::RST).reset(), None);
        let reset = segment(10, Flags::FIN).reset().expect("an answer");
        assert_eq!((reset.seq, reset.ack), (SeqNumber(0), Some(SeqNumber(111))));
        assert_eq!(reset.flags, Flags::RST);
        let mut acknowledging = segment(10, Flags::NONE);
        acknowledging.ack = Some(SeqNumber(7));
        let reset = acknowledging.reset().expect("an answer");
        assert_eq!((reset.seq, reset.ack), (SeqNumber(7), None));
    }
}
