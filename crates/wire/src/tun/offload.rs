//! Header in front of a packet on a TUN device with offload (`struct virtio_net_hdr`; VIRTIO 1.2 §5.1.6).
//!
//! With this header, the kernel may leave two tasks to the next stage: completing a checksum, and cutting a packet that
//! is longer than the MTU into segments.

use crate::device::{ChecksumState, HEADROOM_BYTES, Pending, Segmentation};
use crate::family::Family;

/// Length of the header in bytes.
pub(super) const OFFLOAD_HEADER_BYTES: usize = 10;
const _: () = assert!(OFFLOAD_HEADER_BYTES <= HEADROOM_BYTES);

const NEEDS_CHECKSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP: u8 = 5;

/// Flag in the segmentation type: only the first segment carries TCP's CWR.
const GSO_ECN: u8 = 0x80;

/// Parses the header. Returns `None` if the header is too short or requests an offload that was not negotiated.
pub(super) fn read_header(bytes: &[u8]) -> Option<Pending> {
    let (flags, kind) = (*bytes.first()?, *bytes.get(1)?);
    // The device's numbers are in native byte order (VIRTIO 1.2 §2.4, legacy).
    let number = |at: usize| {
        let two = bytes.get(at..at + 2)?;
        Some(u16::from_ne_bytes([two[0], two[1]]))
    };
    let (header_len, size) = (number(2)?, number(4)?);
    let (start, offset) = (number(6)?, number(8)?);
    let checksum = if flags & NEEDS_CHECKSUM != 0 {
        ChecksumState::Partial { start, offset }
    } else if flags & DATA_VALID != 0 {
        ChecksumState::Verified
    } else {
        ChecksumState::Unverified
    };
    let tcp = |family| Segmentation::Tcp {
        size,
        header_len,
        family,
    };
    let segmentation = match kind & !GSO_ECN {
        GSO_NONE => Segmentation::Whole,
        GSO_TCPV4 => tcp(Family::V4),
        GSO_TCPV6 => tcp(Family::V6),
        GSO_UDP => Segmentation::Udp { size, header_len },
        _ => return None,
    };
    (segmentation == Segmentation::Whole || size > 0).then_some(Pending {
        checksum,
        segmentation,
    })
}

/// Returns the header that describes the pending work.
pub(super) fn header(pending: &Pending) -> [u8; OFFLOAD_HEADER_BYTES] {
    let (flags, start, offset) = match pending.checksum {
        ChecksumState::Unverified => (0, 0, 0),
        ChecksumState::Verified => (DATA_VALID, 0, 0),
        ChecksumState::Partial { start, offset } => (NEEDS_CHECKSUM, start, offset),
    };
    let (kind, size, header_len) = match pending.segmentation {
        Segmentation::Whole => (GSO_NONE, 0, 0),
        Segmentation::Tcp {
            size,
            header_len,
            family,
        } => match family {
            Family::V4 => (GSO_TCPV4, size, header_len),
            Family::V6 => (GSO_TCPV6, size, header_len),
        },
        Segmentation::Udp { size, header_len } => (GSO_UDP, size, header_len),
    };
    let mut bytes = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[2..4].copy_from_slice(&header_len.to_ne_bytes());
    bytes[4..6].copy_from_slice(&size.to_ne_bytes());
    bytes[6..8].copy_from_slice(&start.to_ne_bytes());
    bytes[8..10].copy_from_slice(&offset.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let partial = ChecksumState::Partial {
            start: 20,
            offset: 16,
        };
        let tcp = Segmentation::Tcp {
            size: 1448,
            header_len: 52,
            family: Family::V4,
        };
        let udp = Segmentation::Udp {
            size: 1200,
            header_len: 48,
        };
        for checksum in [ChecksumState::Unverified, ChecksumState::Verified, partial] {
            for segmentation in [Segmentation::Whole, tcp, udp] {
                let pending = Pending {
                    checksum,
                    segmentation,
                };
                assert_eq!(read_header(&header(&pending)), Some(pending));
            }
        }
    }

    #[test]
    fn unnegotiated_offload_is_refused() {
        // The first two headers request UDP fragmentation (type 3) and segments of zero bytes. The third one is too
        // short.
        assert_eq!(read_header(&[0, 3, 0, 0, 8, 0, 0, 0, 0, 0]), None);
        assert_eq!(read_header(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(read_header(&[0; 9]), None);
    }
}
