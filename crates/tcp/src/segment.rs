//! What travels between two endpoints: data one way, acknowledgments the other.
//!
//! These are the fields of a TCP header that loss recovery lives on, already parsed. A host
//! turns them into real headers (or, in a simulation, into nothing at all) and fetches payload
//! bytes by range when it emits a segment.

use crate::seq::SeqNumber;

/// A data segment on its way to the receiver. It names a range of the stream; it holds no bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSegment {
    /// First byte.
    pub seq: SeqNumber,
    /// Payload length in bytes; zero for a window probe.
    pub len: u32,
    /// TSval of the timestamps option (RFC 7323 §3), if the connection uses it.
    pub timestamp: Option<u32>,
    /// The transmission's place in the order of sending, if the connection echoes it
    /// (LE §4.2; low 32 bits).
    pub order: Option<u32>,
}

/// One block of a SACK option (RFC 2018 §3): `start..end` has been received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte of the block.
    pub start: SeqNumber,
    /// The byte after its last.
    pub end: SeqNumber,
}

/// The most blocks a TCP header has room for (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// The blocks of one SACK option, in the order in which they stand on the wire. The first may be
/// a DSACK (RFC 2883 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; MAX_SACK_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// An option without blocks, which is not sent at all.
    pub const NONE: Self = Self {
        blocks: [SackBlock {
            start: SeqNumber(0),
            end: SeqNumber(0),
        }; MAX_SACK_BLOCKS],
        len: 0,
    };

    /// Appends `block`; a fifth one is dropped, as the header has no room for it.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }

    /// The blocks present.
    #[must_use]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// An acknowledgment on its way to the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next byte expected: everything before it has arrived.
    pub ack: SeqNumber,
    /// Advertised receive window in bytes, after scaling, counted from `ack`.
    pub window: u32,
    /// TSecr of the timestamps option, if the connection uses it.
    pub timestamp_echo: Option<u32>,
    /// The order of the transmission that caused this ACK, if the connection echoes it.
    pub order_echo: Option<u32>,
    /// SACK blocks, if the connection permits them.
    pub sacks: SackBlocks,
}
