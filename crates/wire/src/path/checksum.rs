//! Internet checksum (RFC 1071) in the three forms that segmentation needs.

use etherparse::IpNumber;
use etherparse::checksum::Sum16BitWords;

use crate::family::Family;

/// A running sum. Every slice that is added, except the last, must have an even number of bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Checksum(Sum16BitWords);

impl Checksum {
    /// Returns the sum with `bytes` added.
    pub(super) fn and(self, bytes: &[u8]) -> Self {
        Self(self.0.add_slice(bytes))
    }

    /// Returns the complement, as it appears in a complete header.
    pub(super) fn complement(&self) -> [u8; 2] {
        // The sum is kept in native byte order, so its bytes are already in network order.
        self.0.ones_complement().to_ne_bytes()
    }

    /// Returns the sum itself, as it appears in a header with a partial checksum.
    pub(super) fn folded(&self) -> [u8; 2] {
        (!self.0.ones_complement()).to_ne_bytes()
    }
}

/// Returns the sum over the pseudo-header (RFC 9293 §3.1, RFC 8200 §8.1) of a packet that starts with `ip` and has
/// `length` bytes of transport header and payload.
pub(super) fn transport_sum(
    family: Family,
    ip: &[u8],
    protocol: IpNumber,
    length: usize,
) -> Checksum {
    let addresses = match family {
        Family::V4 => ip.get(12..20),
        Family::V6 => ip.get(8..40),
    };
    // A packet is shorter than 64 KiB.
    let length = (length as u16).to_be_bytes();
    Checksum::default()
        .and(addresses.unwrap_or_default())
        .and(&[0, protocol.0])
        .and(&length)
}
