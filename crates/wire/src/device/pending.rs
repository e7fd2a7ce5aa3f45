//! What is left to do to a packet that crosses a device with offload: its checksum, and the
//! cutting of what is longer than the MTU into segments.

use crate::family::Family;

/// What is left to do to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The transport checksum.
    pub checksum: ChecksumState,
    /// The cutting into segments.
    pub segmentation: Segmentation,
}

/// What a packet's transport checksum is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumState {
    /// It is complete, and nobody has vouched for it: verify it.
    Unverified,
    /// It has been verified.
    Verified,
    /// The packet never left this machine: the field holds the sum over the pseudo-header, and
    /// the sum over everything from `start` to the end, complemented, belongs there.
    Partial {
        /// Where the transport header begins, in bytes from the start of the packet.
        start: u16,
        /// Where the checksum stands, in bytes from `start`.
        offset: u16,
    },
}

/// How a packet is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Segmentation {
    /// Not at all.
    Whole,
    /// TCP into segments of so many payload bytes, the last may be shorter.
    Tcp {
        /// Payload bytes of a segment.
        size: u16,
        /// Length of all headers in bytes, as the kernel wants to be told.
        header_len: u16,
        /// The version of IP.
        family: Family,
    },
    /// UDP into datagrams of so many payload bytes, the last may be shorter.
    Udp {
        /// Payload bytes of a datagram.
        size: u16,
        /// Length of all headers in bytes.
        header_len: u16,
    },
}

impl Pending {
    /// Nothing is left to do, and the checksum is complete.
    pub const NOTHING: Self = Self {
        checksum: ChecksumState::Unverified,
        segmentation: Segmentation::Whole,
    };
}
