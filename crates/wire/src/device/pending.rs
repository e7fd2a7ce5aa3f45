//! Work left to do on a packet that crosses a device with offload: completing the checksum, and cutting a packet that
//! is longer than the MTU into segments.

use crate::family::Family;

/// Work left to do on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The transport checksum.
    pub checksum: ChecksumState,
    /// Segmentation.
    pub segmentation: Segmentation,
}

/// State of a packet's transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumState {
    /// The checksum is complete but unverified.
    Unverified,
    /// The checksum has been verified.
    Verified,
    /// The checksum is incomplete, because the packet has not left this machine. The checksum field holds the sum over
    /// the pseudo-header. The final value is the complement of the sum over everything from `start` to the end.
    Partial {
        /// Start of the transport header, in bytes from the start of the packet.
        start: u16,
        /// Position of the checksum field, in bytes from `start`.
        offset: u16,
    },
}

/// Segmentation of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Segmentation {
    /// The packet is not cut.
    Whole,
    /// TCP segments of `size` payload bytes each. The last one may be shorter.
    Tcp {
        /// Payload bytes per segment.
        size: u16,
        /// Length of all headers in bytes, as the kernel expects it.
        header_len: u16,
        /// IP version.
        family: Family,
    },
    /// UDP datagrams of `size` payload bytes each. The last one may be shorter.
    Udp {
        /// Payload bytes per datagram.
        size: u16,
        /// Length of all headers in bytes.
        header_len: u16,
    },
}

impl Pending {
    /// No work is left to do, and the checksum is complete.
    pub const NOTHING: Self = Self {
        checksum: ChecksumState::Unverified,
        segmentation: Segmentation::Whole,
    };
}
