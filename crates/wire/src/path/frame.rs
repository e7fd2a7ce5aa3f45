//! Packet in transit over the emulated path, and the segments that it represents.
//!
//! With offload, one read returns up to 64 KiB, which no real link carries as one packet. For the links, such a packet
//! consists of the segments that it will be cut into, and each segment is offered, queued and lost independently.
//! Segments that arrive together and are still adjacent leave together; see [`Frame::cut`].

use std::net::IpAddr;

use etherparse::{IpNumber, IpSlice, TcpOptionElement, TcpSlice, UdpSlice};

use dupack_net::packet::PacketKind;
use dupack_tcp::segment::Codepoint;
use dupack_tcp::seq::SeqNumber;

use super::checksum::{Checksum, transport_sum};
use crate::device::{ChecksumState, Pending, Received, Segmentation};
use crate::family::Family;

/// Maximum length in bytes of the headers of a packet that is cut or whose checksum is completed: IPv6 with some
/// extension headers, and TCP with all of its options. A packet with longer headers is not carried if its headers must
/// be changed.
const MAX_CUT_HEADER_BYTES: usize = 256;

/// Maximum number of segments of one packet: 64 KiB in segments of 32 bytes, more than any kernel sends.
pub(super) const MAX_SEGMENTS: usize = 2048;

/// FIN and PSH flags of TCP, which belong to the last segment of a packet.
const FIN_PSH: u8 = 0b0000_1001;
/// DF flag of IPv4.
const DONT_FRAGMENT: u8 = 0b0100_0000;
/// CWR flag of TCP, which belongs to the first segment.
const CWR: u8 = 0b1000_0000;

/// Offsets of fields in a TCP header (RFC 9293 §3.1), an IPv4 header (RFC 791 §3.1), an IPv6 header (RFC 8200 §3) and a
/// UDP header (RFC 768), in bytes.
const TCP_SEQUENCE: usize = 4;
const TCP_FLAGS: usize = 13;
const TCP_CHECKSUM: usize = 16;
const UDP_LENGTH: usize = 4;
const UDP_CHECKSUM: usize = 6;
const IPV4_TOS: usize = 1;
const IPV4_LENGTH: usize = 2;
const IPV4_IDENTIFICATION: usize = 4;
const IPV4_FLAGS: usize = 6;
const IPV4_CHECKSUM: usize = 10;
const IPV6_CLASS: usize = 1;
const IPV6_LENGTH: usize = 4;
const IPV6_HEADER: usize = 40;

/// A packet on a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    bytes: Vec<u8>,
    pending: Option<Pending>,
    shape: Shape,
    /// `true` for each segment that a queue has marked with congestion experienced. Empty if no segment is marked.
    marked: Vec<bool>,
}

/// Layout of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) kind: PacketKind,
    family: Family,
    transport: Transport,
    transport_at: usize,
    payload_at: usize,
    payload_len: usize,
    /// Payload bytes of every segment except the last.
    segment_payload: usize,
    segments: usize,
    /// The ECN field of the packet, or Not-ECT if the field cannot be changed.
    pub(super) ecn: Codepoint,
    /// Acknowledgment number, if the packet is a pure ACK without further information.
    pub(super) acknowledges: Option<SeqNumber>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
    Other,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            kind: PacketKind::Udp,
            family: Family::V4,
            transport: Transport::Other,
            transport_at: 0,
            payload_at: 0,
            payload_len: 0,
            segment_payload: 1,
            segments: 1,
            ecn: Codepoint::NotEct,
            acknowledges: None,
        }
    }
}

/// Reason why a packet is not carried over the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// The packet cannot be parsed as IP, or its headers are too long to be changed.
    Malformed,
    /// The packet is for the local link only: multicast (neighbour discovery, group reports) or broadcast.
    LinkLocal,
    /// Too many packets are in flight.
    NoRoom,
}

/// One or several segments as a separate packet: the headers, and a reference to the payload.
pub(super) struct Piece<'a> {
    pub(super) pending: Pending,
    header: [u8; MAX_CUT_HEADER_BYTES],
    header_len: usize,
    /// All bytes of the packet that are not in `header`.
    pub(super) tail: &'a [u8],
}

impl Piece<'_> {
    /// Returns the changed headers. Empty if the packet is unchanged.
    pub(super) fn head(&self) -> &[u8] {
        &self.header[..self.header_len]
    }
}

impl Frame {
    /// Loads a packet that was read.
    pub(super) fn load(&mut self, received: &Received<'_>) -> Result<(), Unfit> {
        self.shape = Shape::of(received)?;
        let length = self.shape.payload_at + self.shape.payload_len;
        self.marked.clear();
        self.bytes.clear();
        self.bytes.extend_from_slice(&received.bytes[..length]);
        self.pending = Some(received.pending);
        Ok(())
    }

    pub(super) const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the bytes of the packet as it was read.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns `true` if a router may fragment the packet: IPv4 without DF.
    pub(super) fn may_be_fragmented(&self) -> bool {
        let flags = self.bytes.get(IPV4_FLAGS).copied().unwrap_or(0);
        self.shape.family == Family::V4 && flags & DONT_FRAGMENT == 0
    }

    /// Writes CE into the ECN field of segment `index` (RFC 3168 §5).
    pub(super) fn mark(&mut self, index: usize) {
        self.marked.resize(self.shape.segments, false);
        if let Some(marked) = self.marked.get_mut(index) {
            *marked = true;
        }
    }

    /// Returns `true` if segment `index` carries a mark.
    pub(super) fn is_marked(&self, index: usize) -> bool {
        self.marked.get(index).copied().unwrap_or(false)
    }

    /// Returns `count` segments, starting at `first`, as one packet for a device with offload. Either all or none of
    /// them must be marked.
    pub(super) fn cut(&self, first: usize, count: usize) -> Piece<'_> {
        let pending = self.pending.unwrap_or(Pending::NOTHING);
        if count == self.shape.segments {
            let mut piece = Piece {
                pending,
                header: [0; MAX_CUT_HEADER_BYTES],
                header_len: 0,
                tail: &self.bytes,
            };
            if self.is_marked(first) {
                let (headers, payload) = self.bytes.split_at(self.shape.payload_at);
                piece.header[..headers.len()].copy_from_slice(headers);
                piece.header_len = headers.len();
                piece.tail = payload;
                piece.mark(self.shape.family);
            }
            return piece;
        }
        let mut piece = self.cut_out(first, count);
        let sum = self.pseudo_header_sum(&piece);
        piece.put_checksum(self.shape.checksum_at(), sum.folded());
        if count == 1 {
            piece.pending.segmentation = Segmentation::Whole;
        }
        piece
    }

    /// Returns segment `index` as a packet for a device without offload, with no work left to do.
    pub(super) fn cut_plain(&self, index: usize) -> Piece<'_> {
        let pending = self.pending.unwrap_or(Pending::NOTHING);
        let partial = matches!(pending.checksum, ChecksumState::Partial { .. });
        if self.shape.segments == 1 && !partial {
            return Piece {
                pending: Pending::NOTHING,
                ..self.cut(0, 1)
            };
        }
        let mut piece = self.cut_out(index, 1);
        piece.pending = Pending::NOTHING;
        let at = self.shape.checksum_at();
        if self.shape.transport != Transport::Other {
            piece.put_checksum(at, [0; 2]);
            let sum = self
                .pseudo_header_sum(&piece)
                .and(&piece.head()[self.shape.transport_at..])
                .and(piece.tail);
            let checksum = match (self.shape.transport, sum.complement()) {
                // Zero means that there is no checksum (RFC 768).
                (Transport::Udp, [0, 0]) => [0xff; 2],
                (_, checksum) => checksum,
            };
            piece.put_checksum(at, checksum);
        }
        piece
    }

    /// Returns the headers and the payload of some segments. All fields are correct except the transport checksum.
    fn cut_out(&self, first: usize, count: usize) -> Piece<'_> {
        let shape = &self.shape;
        let from = first * shape.segment_payload;
        let to = shape.payload_len.min(from + count * shape.segment_payload);
        let (headers, payload) = self.bytes.split_at(shape.payload_at);
        let mut header = [0; MAX_CUT_HEADER_BYTES];
        header[..shape.payload_at].copy_from_slice(headers);
        let mut piece = Piece {
            pending: self.pending.unwrap_or(Pending::NOTHING),
            header,
            header_len: shape.payload_at,
            tail: &payload[from..to],
        };
        let last = first + count == shape.segments;
        piece.adjust_transport(shape, from, last);
        piece.adjust_ip(shape, first);
        if self.is_marked(first) {
            piece.mark(shape.family);
        }
        piece
    }

    fn pseudo_header_sum(&self, piece: &Piece<'_>) -> Checksum {
        let length = piece.header_len - self.shape.transport_at + piece.tail.len();
        let protocol = match self.shape.transport {
            Transport::Tcp => IpNumber::TCP,
            Transport::Udp | Transport::Other => IpNumber::UDP,
        };
        transport_sum(self.shape.family, piece.head(), protocol, length)
    }
}

impl Piece<'_> {
    /// Sets the segment's sequence number, flags and length.
    fn adjust_transport(&mut self, shape: &Shape, from: usize, last: bool) {
        let length = self.header_len - shape.transport_at + self.tail.len();
        let header = &mut self.header[shape.transport_at..];
        match shape.transport {
            Transport::Tcp => {
                let field = &mut header[TCP_SEQUENCE..TCP_SEQUENCE + 4];
                let number = u32::from_be_bytes([field[0], field[1], field[2], field[3]]);
                // `from` is below 64 KiB.
                field.copy_from_slice(&number.wrapping_add(from as u32).to_be_bytes());
                if !last {
                    header[TCP_FLAGS] &= !FIN_PSH;
                }
                if from > 0 {
                    header[TCP_FLAGS] &= !CWR;
                }
            }
            Transport::Udp => {
                // `length` is below 64 KiB.
                let length = (length as u16).to_be_bytes();
                header[UDP_LENGTH..UDP_LENGTH + 2].copy_from_slice(&length);
            }
            Transport::Other => {}
        }
    }

    /// Sets the segment's length and, in IPv4, the identification and the header checksum.
    fn adjust_ip(&mut self, shape: &Shape, first: usize) {
        let length = self.header_len + self.tail.len();
        match shape.family {
            Family::V4 => {
                // The low four bits of the first byte hold the header length in 32-bit words.
                let header_len = usize::from(self.header[0] & 0x0f) * 4;
                let header = &mut self.header[..header_len];
                header[IPV4_LENGTH..IPV4_LENGTH + 2]
                    .copy_from_slice(&(length as u16).to_be_bytes());
                let field = &mut header[IPV4_IDENTIFICATION..IPV4_IDENTIFICATION + 2];
                let identification = u16::from_be_bytes([field[0], field[1]]);
                // The segments have consecutive numbers, as in segmentation by a network card.
                field.copy_from_slice(&identification.wrapping_add(first as u16).to_be_bytes());
                sum_up(header);
            }
            Family::V6 => {
                let length = (length - IPV6_HEADER) as u16;
                self.header[IPV6_LENGTH..IPV6_LENGTH + 2].copy_from_slice(&length.to_be_bytes());
            }
        }
    }

    /// Writes CE into the ECN field. No transport checksum covers that field.
    fn mark(&mut self, family: Family) {
        match family {
            Family::V4 => {
                self.header[IPV4_TOS] |= Codepoint::Ce.bits();
                let header_len = usize::from(self.header[0] & 0x0f) * 4;
                sum_up(&mut self.header[..header_len]);
            }
            // The traffic class spans the first two bytes.
            Family::V6 => self.header[IPV6_CLASS] |= Codepoint::Ce.bits() << 4,
        }
    }

    fn put_checksum(&mut self, at: usize, sum: [u8; 2]) {
        self.header[at..at + 2].copy_from_slice(&sum);
    }
}

impl Shape {
    /// Reads the headers of a packet.
    fn of(received: &Received<'_>) -> Result<Self, Unfit> {
        let ip = IpSlice::from_slice(received.bytes).map_err(|_| Unfit::Malformed)?;
        let destination = ip.destination_addr();
        if destination.is_multicast() || is_broadcast(destination) {
            return Err(Unfit::LinkLocal);
        }
        let (family, total) = match &ip {
            IpSlice::Ipv4(slice) => (Family::V4, usize::from(slice.header().total_len())),
            IpSlice::Ipv6(slice) => {
                let payload = usize::from(slice.header().payload_length());
                (Family::V6, IPV6_HEADER + payload)
            }
        };
        let inside = ip.payload();
        let transport_at = total
            .checked_sub(inside.payload.len())
            .ok_or(Unfit::Malformed)?;
        let mut shape = Self {
            family,
            transport_at,
            payload_at: transport_at,
            payload_len: inside.payload.len(),
            ..Self::default()
        };
        if !inside.fragmented {
            shape.read_transport(inside.ip_number, inside.payload);
        }
        shape.segment(&received.pending)?;
        // Marking a packet copies its headers, so they must fit.
        if shape.payload_at <= MAX_CUT_HEADER_BYTES {
            shape.ecn = Codepoint::from_bits(match &ip {
                IpSlice::Ipv4(_) => received.bytes[IPV4_TOS],
                IpSlice::Ipv6(_) => received.bytes[IPV6_CLASS] >> 4,
            });
        }
        if total > received.bytes.len() {
            return Err(Unfit::Malformed);
        }
        Ok(shape)
    }

    fn read_transport(&mut self, protocol: IpNumber, bytes: &[u8]) {
        let header_len = match protocol {
            IpNumber::TCP => match TcpSlice::from_slice(bytes) {
                Ok(tcp) => {
                    self.transport = Transport::Tcp;
                    self.acknowledges = plainly_acknowledges(&tcp);
                    self.kind = if tcp.payload().is_empty() {
                        PacketKind::Ack
                    } else {
                        PacketKind::Data
                    };
                    tcp.header_slice().len()
                }
                Err(_) => return,
            },
            IpNumber::UDP if UdpSlice::from_slice_lax(bytes).is_ok() => {
                self.transport = Transport::Udp;
                etherparse::UdpHeader::LEN
            }
            _ => return,
        };
        self.payload_at += header_len;
        self.payload_len -= header_len;
    }

    /// Determines the number of segments that the packet represents.
    fn segment(&mut self, pending: &Pending) -> Result<(), Unfit> {
        // The checksum may be incomplete even if the packet is not cut, and completing it copies the headers.
        let partial = matches!(pending.checksum, ChecksumState::Partial { .. });
        if partial && self.payload_at > MAX_CUT_HEADER_BYTES {
            return Err(Unfit::Malformed);
        }
        let size = match (pending.segmentation, self.transport) {
            (Segmentation::Whole, _) => {
                self.segment_payload = self.payload_len.max(1);
                return Ok(());
            }
            (Segmentation::Tcp { size, .. }, Transport::Tcp)
            | (Segmentation::Udp { size, .. }, Transport::Udp) => usize::from(size),
            _ => return Err(Unfit::Malformed),
        };
        self.segment_payload = size;
        self.segments = self.payload_len.div_ceil(size).max(1);
        if !partial || self.segments > MAX_SEGMENTS {
            return Err(Unfit::Malformed);
        }
        Ok(())
    }

    /// Returns the number of segments that the packet represents.
    pub(super) const fn segments(&self) -> usize {
        self.segments
    }

    /// Returns the size of segment `index` on the wire in bytes, including the IP header.
    pub(super) fn wire_bytes(&self, index: usize) -> u32 {
        // A packet is shorter than 64 KiB.
        (self.payload_at + self.payload_bytes(index)) as u32
    }

    /// Returns the payload of segment `index` in bytes.
    pub(super) fn payload_bytes(&self, index: usize) -> usize {
        let rest = self.payload_len - index * self.segment_payload;
        rest.min(self.segment_payload)
    }

    /// Returns `true` for TCP.
    pub(super) fn is_tcp(&self) -> bool {
        self.transport == Transport::Tcp
    }

    /// Returns the payload of every segment except the last, in bytes.
    pub(super) const fn segment_payload(&self) -> usize {
        self.segment_payload
    }

    /// Returns the transport header and everything after it, or `None` if the packet is neither TCP nor UDP.
    pub(super) fn transport<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match self.transport {
            Transport::Other => None,
            Transport::Tcp | Transport::Udp => bytes.get(self.transport_at..),
        }
    }

    /// Returns the source address followed by the destination address.
    pub(super) fn addresses<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        match self.family {
            Family::V4 => bytes.get(12..20),
            Family::V6 => bytes.get(8..40),
        }
    }

    const fn checksum_at(&self) -> usize {
        self.transport_at
            + match self.transport {
                Transport::Tcp => TCP_CHECKSUM,
                Transport::Udp | Transport::Other => UDP_CHECKSUM,
            }
    }
}

/// Returns the acknowledgment number if the segment is a pure ACK without further information.
fn plainly_acknowledges(tcp: &TcpSlice<'_>) -> Option<SeqNumber> {
    let (first, flags) = (tcp.slice()[12], tcp.slice()[13]);
    // AE, the bit before the flags, belongs to Accurate ECN (RFC 9768 §3.1).
    let only_ack = flags == ACK_FLAG && first & 1 == 0 && tcp.payload().is_empty();
    let says_more = |option| {
        !matches!(
            option,
            Ok(TcpOptionElement::Noop | TcpOptionElement::Timestamp(..))
        )
    };
    let plain = only_ack && !tcp.options_iterator().any(says_more);
    plain.then(|| SeqNumber(tcp.acknowledgment_number()))
}

/// The ACK flag without other flags.
const ACK_FLAG: u8 = 0x10;

/// Completes the checksum of an IPv4 header.
fn sum_up(header: &mut [u8]) {
    header[IPV4_CHECKSUM..IPV4_CHECKSUM + 2].fill(0);
    let sum = Checksum::default().and(header);
    header[IPV4_CHECKSUM..IPV4_CHECKSUM + 2].copy_from_slice(&sum.complement());
}

fn is_broadcast(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address) if address.is_broadcast())
}
