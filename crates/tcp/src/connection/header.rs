//! A TCP header as a connection takes and gives it: every field parsed, no bytes.
//!
//! Nothing here has been checked against the connection: numbers are modular, the window is as
//! it stands on the wire, and any combination of control bits may come.

use core::ops::Range;

use crate::accurate_ecn::EcnCounters;
use crate::facts::SendReason;
use crate::options::Sack;
use crate::segment::{Codepoint, SackBlocks};
use crate::seq::SeqNumber;

/// The control bits of a header (RFC 9293 §3.1) in the order of the wire: its flag byte, and AE beyond
/// that.
///
/// ACK is not among those that [`Segment`] keeps here: it is told by
/// [`Segment::ack`] being there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// No bit.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// Ends a connection without further ado.
    pub const RST: Self = Self(0x04);
    /// The data is to be handed to the application now.
    pub const PSH: Self = Self(0x08);
    /// The urgent pointer counts. It is not supported (RFC 6093 advises against it): the bit
    /// is read and ignored.
    pub const URG: Self = Self(0x20);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(0x80);

    /// Accurate ECN (RFC 9768 §3.1): the bit before CWR, in the byte before the others.
    pub const AE: Self = Self(0x100);

    /// ACK, which is no bit of this type.
    const ACK: u16 = 0x10;

    /// Where the ACE field begins, and its bits there.
    const ACE_SHIFT: u32 = 6;
    const ACE: u16 = 0x1c0;

    /// The bits of a header's flag byte, and AE as the ninth, without ACK.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x1ff & !Self::ACK)
    }

    /// The bits as they stand in a header, without ACK.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// AE, CWR and ECE with this number of three bits (RFC 9768 §3.2.2: the ACE field).
    #[must_use]
    pub const fn of_ace(ace: u8) -> Self {
        Self(((ace as u16) << Self::ACE_SHIFT) & Self::ACE)
    }

    /// The number that AE, CWR and ECE are.
    #[must_use]
    pub const fn ace(self) -> u8 {
        ((self.0 & Self::ACE) >> Self::ACE_SHIFT) as u8
    }

    /// These bits without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These bits and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The timestamps option (RFC 7323 §3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval, in ticks of the clock of whoever sends the segment.
    pub value: u32,
    /// TSecr, in ticks of the other end's clock.
    pub echo: u32,
}

/// The options that a connection understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size in bytes, options included (RFC 6691). Heeded in a SYN only.
    pub mss: Option<u16>,
    /// Shift of the windows that follow (RFC 7323 §2.2). Heeded in a SYN only.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2). Heeded in a SYN only.
    pub sack_permitted: Sack,
    /// SACK blocks (RFC 2018 §3).
    pub sacks: SackBlocks,
    /// The timestamps of RFC 7323 §3.
    pub timestamps: Option<Timestamps>,
    /// Bytes that came marked, and others (RFC 9768 §3.2.3). Ignored in a SYN without ACK.
    pub accurate_ecn: Option<EcnCounters>,
}

impl Options {
    /// No option at all.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: Sack::Absent,
        sacks: SackBlocks::NONE,
        timestamps: None,
        accurate_ecn: None,
    };
}

/// A segment's header and the length of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the first byte, or of the SYN.
    pub seq: SeqNumber,
    /// The acknowledgment number, if the ACK bit is set.
    pub ack: Option<SeqNumber>,
    /// The other control bits.
    pub flags: Flags,
    /// The window field as it stands in the header, before scaling.
    pub window: u16,
    /// The options that it carries.
    pub options: Options,
    /// Payload length in bytes.
    pub len: u32,
    /// The ECN field of the IP header before it.
    pub ecn: Codepoint,
}

impl Segment {
    /// A header that says nothing but `seq`.
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

    /// Whether all of `flags` are set.
    #[must_use]
    pub const fn is(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// SEG.LEN (RFC 9293 §3.4): the sequence numbers that it takes, SYN and FIN included.
    #[must_use]
    pub const fn sequence_len(&self) -> u32 {
        self.len
            .saturating_add(self.is(Flags::SYN) as u32)
            .saturating_add(self.is(Flags::FIN) as u32)
    }

    /// The answer to a segment for which there is no connection (RFC 9293 §3.10.7.1); none to a
    /// RST.
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

/// A segment to put on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its header.
    pub segment: Segment,
    /// The stream offsets whose bytes the host adds as payload: `segment.len` of them. Offset 0
    /// is the first byte that the application ever wrote.
    pub data: Range<u64>,
    /// Why the sender sent it; `None` for what carries no data of the stream (handshake, ACK,
    /// RST, keep-alive).
    pub why: Option<SendReason>,
}

/// The part of an arrived payload that the host is to keep.
///
/// It never overlaps what was readable before, and may overlap what was stored beyond a gap:
/// the later copy may replace the earlier. All of it lies within
/// [`Config::receive_buffer`](super::Config::receive_buffer) bytes of what has been read, so a
/// ring of so many bytes holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// Where its first byte belongs in the peer's stream.
    pub offset: u64,
    /// Bytes of the payload to leave out at its start.
    pub skip: u32,
    /// Bytes to keep; at least one.
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
    fn where_there_is_no_connection_a_segment_is_answered_as_the_rfc_says() {
        // RFC 9293 §3.10.7.1.
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
