//! Finds the TCP header in an IP packet, of which any number of bytes may be captured.
//!
//! The strict parser ([`parse`](crate::parse())) accepts complete packets, as a host does. This parser takes lengths
//! from the headers, because the payload may be truncated. It ignores checksums, because the interface may compute them
//! after the capture point. A segment may be longer than any packet on a wire, because the interface may segment it
//! after the capture point.

use std::net::{IpAddr, SocketAddr};

use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::segment::Codepoint;
use dupack_tcp::seq::SeqNumber;
use etherparse::err::ip::LaxHeaderSliceError;
use etherparse::err::ipv6_exts::HeaderSliceError;
use etherparse::{IpNumber, LaxIpSlice, LaxIpv4Slice, LaxIpv6Slice};
use thiserror::Error;

use super::link::{self, Layer, LinkType, NotIp, Without};
use super::tunnel::{self, Tunnel};
use super::{Captured, Heading};
use crate::capture::CaptureTime;
use crate::options::Options;

/// Length of a TCP header without options (RFC 9293 §3.1).
const TCP_HEADER_BYTES: usize = 20;

/// TCP segment in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPacket {
    /// Number of the packet in the file, counted from 1.
    pub number: u64,
    /// Time of capture.
    pub at: CaptureTime,
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// TCP header. `len` is the length on the link, regardless of the number of bytes kept. [`Cut`] describes other
    /// missing parts.
    pub segment: Segment,
    /// Identification field; IPv6 has none. Two copies of a packet have the same value, and two transmissions usually
    /// have different values.
    pub ip_id: Option<u16>,
    /// Time to live, or hop limit. A copy that was captured behind a router has a value that is one lower.
    pub hop_limit: u8,
    /// Interface on which the packet was captured: the capture's number or, if the packet contains it (Linux cooked,
    /// version 2), the system's number.
    pub interface: u32,
    /// Direction of the packet at this interface, if the capture contains it.
    pub heading: Heading,
    /// Position at which the packet was truncated.
    pub cut: Cut,
    /// Portion of the segment in this packet.
    pub portion: Portion,
    /// Innermost tunnel in which the segment was captured. The addresses, `ip_id`, `hop_limit` and `segment` are those
    /// of the inner packet.
    ///
    /// A capture may contain two copies of a packet: one inside a tunnel and one outside, or each in another tunnel.
    /// The copies differ in this field, but not in `ip_id` and in the TCP header. The identifier may also differ
    /// between the two directions of a connection, as in GTP-U and in routed VXLANs. Therefore, this field must not be
    /// used to recognise copies or connections.
    pub tunnel: Option<Tunnel>,
}

/// Position at which the capture truncated a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cut {
    /// The packet is not truncated.
    Whole,
    /// The packet is truncated in the payload, or in a part of the header that is not parsed: no parsed field is
    /// missing.
    Payload,
    /// The packet is truncated before or in the options: the options from this position on are missing.
    Options,
    /// The packet is truncated before the window. In this case, the window is set to 65,535: an unknown window must not
    /// limit the sender, as a window of zero would. This happens with IPv6 if 68 bytes of each frame were kept.
    Window,
}

/// Portion of a segment that a packet contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Portion {
    /// The whole segment.
    Whole,
    /// The first fragment: `len` counts only the bytes of this fragment. The other fragments have no TCP header.
    FirstFragment,
}

/// Reason why a packet has no TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum NotTcp {
    /// The link type is not supported.
    #[error("unsupported link type: {0}")]
    UnknownLink(LinkType),
    /// The frame contains no IP packet.
    #[error("expected IP, found {0}")]
    NotIp(NotIp),
    /// The packet has another protocol than TCP.
    #[error("expected TCP, found protocol {0}")]
    Protocol(u8),
    /// The packet is a later fragment of a TCP segment or of a tunnel's packet.
    #[error("the packet is a fragment without a TCP header")]
    Fragment,
    /// Too few bytes were kept to identify or parse the packet.
    #[error("the packet was truncated {0}")]
    Cut(Layer),
    /// A header is invalid.
    #[error("invalid data {0}")]
    Damaged(Layer),
}

impl Captured<'_> {
    /// Returns the packet's TCP header. If the packet belongs to a tunnel, the header is that of the inner packet.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no TCP header, or if too few bytes were kept.
    #[inline]
    pub fn tcp(&self) -> Result<TcpPacket, NotTcp> {
        let ip = link::ip(self.link, self.bytes).map_err(|without| match without {
            Without::UnknownLink => NotTcp::UnknownLink(self.link),
            Without::NotIp(what) => NotTcp::NotIp(what),
            Without::Cut => NotTcp::Cut(Layer::Link),
            Without::Damaged => NotTcp::Damaged(Layer::Link),
        })?;
        let before = self.bytes.len() - ip.bytes.len();
        let frame_len = (self.original_len as usize).saturating_sub(before);
        let transport = match plain_ipv4(ip.bytes).or_else(|| plain_ipv6(ip.bytes)) {
            Some(payload) => payload.transport,
            None => other_transport(ip.bytes, frame_len)?,
        };
        let (segment, source_port, destination_port) = transport.segment()?;
        Ok(TcpPacket {
            number: self.number,
            at: self.at,
            source: SocketAddr::new(transport.source, source_port),
            destination: SocketAddr::new(transport.destination, destination_port),
            segment,
            ip_id: transport.id,
            hop_limit: transport.hop_limit,
            interface: ip.interface.unwrap_or(self.interface),
            heading: match ip.heading {
                Heading::Unknown => self.heading,
                told => told,
            },
            cut: transport.cut(),
            portion: transport.portion,
            tunnel: transport.tunnel,
        })
    }
}

impl<'a> Captured<'a> {
    /// Returns the kept part of the packet's TCP data, which is empty if there is none.
    #[must_use]
    pub fn tcp_data(&self) -> &'a [u8] {
        self.data().unwrap_or_default()
    }

    fn data(&self) -> Option<&'a [u8]> {
        let ip = link::ip(self.link, self.bytes).ok()?;
        let before = self.bytes.len() - ip.bytes.len();
        let frame_len = (self.original_len as usize).saturating_sub(before);
        let transport = match plain_ipv4(ip.bytes).or_else(|| plain_ipv6(ip.bytes)) {
            Some(payload) => payload.transport,
            None => other_transport(ip.bytes, frame_len).ok()?,
        };
        let offset = usize::from(transport.bytes.get(12)? >> 4) * 4;
        let kept = transport.bytes.len().min(transport.len);
        transport.bytes.get(offset.max(TCP_HEADER_BYTES)..kept)
    }
}

/// IP payload, with the contents of the IP header.
#[derive(Debug, PartialEq)]
pub(super) struct Transport<'a> {
    pub(super) source: IpAddr,
    destination: IpAddr,
    id: Option<u16>,
    hop_limit: u8,
    traffic_class: u8,
    portion: Portion,
    /// Innermost tunnel around the packet.
    pub(super) tunnel: Option<Tunnel>,
    /// Bytes that were kept.
    pub(super) bytes: &'a [u8],
    /// Length on the link, in bytes.
    pub(super) len: usize,
}

/// Fragmentation of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fragment {
    None,
    First,
    Later,
}

impl Fragment {
    const fn new(offset: u16, more: bool) -> Self {
        match (offset, more) {
            (0, false) => Self::None,
            (0, true) => Self::First,
            _ => Self::Later,
        }
    }

    /// Returns the portion of a TCP segment in a packet with this fragmentation.
    const fn portion(self) -> Result<Portion, NotTcp> {
        match self {
            Self::None => Ok(Portion::Whole),
            Self::First => Ok(Portion::FirstFragment),
            Self::Later => Err(NotTcp::Fragment),
        }
    }
}

/// Payload of an IP packet, of any protocol.
#[derive(Debug, PartialEq)]
pub(super) struct Payload<'a> {
    pub(super) transport: Transport<'a>,
    pub(super) protocol: IpNumber,
    pub(super) fragment: Fragment,
}

impl<'a> Payload<'a> {
    /// Returns the payload as a TCP segment in `tunnel`, or as the first fragment of one.
    pub(super) fn tcp(self, tunnel: Option<Tunnel>) -> Result<Transport<'a>, NotTcp> {
        let portion = self.fragment.portion()?;
        Ok(Transport {
            portion,
            tunnel,
            ..self.transport
        })
    }
}

/// Finds TCP in an IP packet that is not plain. The packet has `frame_len` bytes on the link, including padding. This
/// function is not inlined, so that the code for plain packets stays small.
#[inline(never)]
fn other_transport(ip: &[u8], frame_len: usize) -> Result<Transport<'_>, NotTcp> {
    let payload = any_payload(ip, frame_len)?;
    match payload.protocol {
        IpNumber::TCP => payload.tcp(None),
        _ => tunnel::follow(payload, frame_len),
    }
}

/// Parses TCP directly after an IPv4 header without options (RFC 791 §3.1) in a packet that is not a fragment. Most
/// packets are of this kind. [`any_payload`] parses all other packets, and gives the same result for these.
#[inline]
fn plain_ipv4(ip: &[u8]) -> Option<Payload<'_>> {
    let (header, rest) = ip.split_first_chunk()?;
    let &[
        0x45,
        tos,
        t,
        u,
        i,
        d,
        f,
        0,
        ttl,
        6,
        _,
        _,
        a,
        b,
        c,
        e,
        k,
        l,
        m,
        n,
    ] = header
    else {
        return None;
    };
    let len = usize::from(u16::from_be_bytes([t, u])).checked_sub(header.len())?;
    // The packet is not a fragment: the offset is zero, and no more fragments follow.
    if f & 0x3f != 0 {
        return None;
    }
    Some(Payload {
        transport: Transport {
            source: IpAddr::from([a, b, c, e]),
            destination: IpAddr::from([k, l, m, n]),
            id: Some(u16::from_be_bytes([i, d])),
            hop_limit: ttl,
            traffic_class: tos,
            portion: Portion::Whole,
            tunnel: None,
            bytes: rest.get(..len).unwrap_or(rest),
            len,
        },
        protocol: IpNumber::TCP,
        fragment: Fragment::None,
    })
}

/// Parses plain IPv6 (RFC 8200 §3) in the same way as [`plain_ipv4`] parses IPv4.
#[inline]
fn plain_ipv6(ip: &[u8]) -> Option<Payload<'_>> {
    let (header, rest) = ip.split_first_chunk::<40>()?;
    let (&[first, second, _, _, t, u, 6, hop_limit], addresses) = header.split_first_chunk()?
    else {
        return None;
    };
    let (source, destination) = addresses.split_first_chunk::<16>()?;
    let destination = destination.first_chunk::<16>()?;
    let len = usize::from(u16::from_be_bytes([t, u]));
    // A jumbogram has a length of zero.
    if first >> 4 != 6 || len == 0 {
        return None;
    }
    Some(Payload {
        transport: Transport {
            source: IpAddr::from(*source),
            destination: IpAddr::from(*destination),
            id: None,
            hop_limit,
            traffic_class: (first << 4) | (second >> 4),
            portion: Portion::Whole,
            tunnel: None,
            bytes: rest.get(..len).unwrap_or(rest),
            len,
        },
        protocol: IpNumber::TCP,
        fragment: Fragment::None,
    })
}

/// Returns the payload of any IP packet.
pub(super) fn any_payload(ip: &[u8], frame_len: usize) -> Result<Payload<'_>, NotTcp> {
    match LaxIpSlice::from_slice(ip) {
        Ok((LaxIpSlice::Ipv4(v4), stopped)) => ipv4(&v4, frame_len, stopped.map(wrong)),
        Ok((LaxIpSlice::Ipv6(v6), stopped)) => ipv6(&v6, frame_len, stopped.map(wrong)),
        Err(LaxHeaderSliceError::Len(_)) => Err(NotTcp::Cut(Layer::Ip)),
        Err(LaxHeaderSliceError::Content(_)) => Err(NotTcp::Damaged(Layer::Ip)),
    }
}

/// Returns the reason for an unreadable extension header.
#[cold]
fn wrong((error, _): (HeaderSliceError, etherparse::err::Layer)) -> NotTcp {
    match error {
        HeaderSliceError::Len(_) => NotTcp::Cut(Layer::Ip),
        HeaderSliceError::Content(_) => NotTcp::Damaged(Layer::Ip),
    }
}

/// Returns the payload of an IPv4 packet. `wrong` is the reason for failure if an extension header is unreadable.
#[inline]
fn ipv4<'a>(
    v4: &LaxIpv4Slice<'a>,
    frame_len: usize,
    wrong: Option<NotTcp>,
) -> Result<Payload<'a>, NotTcp> {
    let header = v4.header();
    let fragment = Fragment::new(header.fragments_offset().value(), header.more_fragments());
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    let authentication = v4.extensions().auth.map_or(0, |auth| auth.slice().len());
    let headers = header.slice().len() + authentication;
    // The length is zero if the interface segments the packet and writes the length of each segment.
    let len = match usize::from(header.total_len()) {
        0 => frame_len,
        total => total,
    };
    Ok(Payload {
        transport: Transport {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            id: Some(header.identification()),
            hop_limit: header.ttl(),
            traffic_class: header.slice().get(1).copied().unwrap_or(0),
            portion: Portion::Whole,
            tunnel: None,
            bytes: v4.payload().payload,
            len: len.checked_sub(headers).ok_or(NotTcp::Damaged(Layer::Ip))?,
        },
        protocol: v4.payload().ip_number,
        fragment,
    })
}

/// Returns the payload of an IPv6 packet, in the same way as [`ipv4`].
#[inline]
fn ipv6<'a>(
    v6: &LaxIpv6Slice<'a>,
    frame_len: usize,
    wrong: Option<NotTcp>,
) -> Result<Payload<'a>, NotTcp> {
    let header = v6.header();
    let fragment = match v6.is_payload_fragmented() {
        false => Fragment::None,
        true => ipv6_fragment(v6),
    };
    // A later fragment contains no further header.
    if let Some(wrong) = wrong.filter(|_| fragment != Fragment::Later) {
        return Err(wrong);
    }
    let extensions = v6.extensions().slice().len();
    let fixed = header.slice().len();
    // The length is zero for the same reason as with IPv4, or the packet is a jumbogram (RFC 2675), which is as long as
    // its frame.
    let len = match usize::from(header.payload_length()) {
        0 => frame_len.saturating_sub(fixed),
        len => len,
    };
    Ok(Payload {
        transport: Transport {
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            id: None,
            hop_limit: header.hop_limit(),
            traffic_class: header.traffic_class(),
            portion: Portion::Whole,
            tunnel: None,
            bytes: v6.payload().payload,
            len: len
                .checked_sub(extensions)
                .ok_or(NotTcp::Damaged(Layer::Ip))?,
        },
        protocol: v6.payload().ip_number,
        fragment,
    })
}

/// Returns the contents of the last fragment header. The loop here walks over the headers itself, because etherparse's
/// iterator expects complete headers, which a damaged packet may not have.
#[cold]
fn ipv6_fragment(v6: &LaxIpv6Slice<'_>) -> Fragment {
    let mut rest = v6.extensions().slice();
    let mut kind = v6.extensions().first_header();
    let mut fragment = Fragment::None;
    while let (Some(this), Some(&[next, len, high, low, _, _, _, _])) = (kind, rest.first_chunk()) {
        let len = usize::from(len);
        let len = match this {
            IpNumber::IPV6_FRAGMENTATION_HEADER => {
                let word = u16::from_be_bytes([high, low]);
                fragment = Fragment::new(word >> 3, word & 1 == 1);
                8
            }
            // The length is in words of 4 bytes, minus 2 (RFC 4302 §2.2).
            IpNumber::AUTHENTICATION_HEADER => (len + 2) * 4,
            // The length is in words of 8 bytes, minus 1 (RFC 8200 §4).
            _ => (len + 1) * 8,
        };
        rest = rest.get(len..).unwrap_or_default();
        kind = Some(IpNumber(next));
    }
    fragment
}

impl Transport<'_> {
    /// Parses the TCP header: returns the segment and its two ports.
    #[inline]
    fn segment(&self) -> Result<(Segment, u16, u16), NotTcp> {
        let Some(&[a, b, c, d, e, f, g, h, i, j, k, l, offset, flags]) = self.bytes.first_chunk()
        else {
            return Err(match self.len {
                0..TCP_HEADER_BYTES => NotTcp::Damaged(Layer::Tcp),
                _ => NotTcp::Cut(Layer::Tcp),
            });
        };
        let header = header_bytes(offset);
        if header < TCP_HEADER_BYTES || header > self.len {
            return Err(NotTcp::Damaged(Layer::Tcp));
        }
        let kept = self.bytes.get(..header).unwrap_or(self.bytes);
        let options = kept.get(TCP_HEADER_BYTES..).unwrap_or_default();
        let options = match options {
            [] => Options::NONE,
            options => Options::parse(options),
        };
        let is_ack = flags & 0x10 != 0;
        let segment = Segment {
            seq: SeqNumber(u32::from_be_bytes([e, f, g, h])),
            ack: is_ack.then(|| SeqNumber(u32::from_be_bytes([i, j, k, l]))),
            flags: Flags::from_bits(u16::from_be_bytes([offset, flags])),
            window: match kept.get(14..16) {
                Some(&[high, low]) => u16::from_be_bytes([high, low]),
                _ => u16::MAX,
            },
            options: options.into(),
            len: u32::try_from(self.len - header).unwrap_or(u32::MAX),
            ecn: Codepoint::from_bits(self.traffic_class),
        };
        Ok((
            segment,
            u16::from_be_bytes([a, b]),
            u16::from_be_bytes([c, d]),
        ))
    }

    /// Returns the position of the truncation, if the packet has a TCP header.
    #[inline]
    fn cut(&self) -> Cut {
        let header = self.bytes.get(12).map_or(0, |&offset| header_bytes(offset));
        match self.bytes.len() {
            0..16 => Cut::Window,
            kept if kept >= self.len => Cut::Whole,
            kept if kept >= header || header == TCP_HEADER_BYTES => Cut::Payload,
            _ => Cut::Options,
        }
    }
}

/// Returns the length of the header from the upper half of its 13th byte, which counts 32-bit words.
const fn header_bytes(offset: u8) -> usize {
    (offset >> 4) as usize * 4
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        /// Generates plain or almost plain headers, followed by random bytes or truncated.
        fn packets()(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
            version in prop_oneof![4 => Just(0x45_u8), 4 => Just(0x60), 1 => any::<u8>()],
            fragment in prop_oneof![4 => Just([0x40, 0]), 1 => any::<[u8; 2]>()],
            protocol in prop_oneof![4 => Just(6_u8), 1 => any::<u8>()],
            len in prop_oneof![(0_u16..130), any::<u16>()],
        ) -> Vec<u8> {
            let v6 = version >> 4 == 6;
            let [high, low] = len.to_be_bytes();
            let fields: &[(usize, u8)] = match v6 {
                true => &[(0, version), (4, high), (5, low), (6, protocol)],
                false => &[
                    (0, version), (2, high), (3, low), (6, fragment[0]), (7, fragment[1]), (9, protocol),
                ],
            };
            for &(at, value) in fields {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            bytes
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn the_fast_path_agrees_with_the_general_one(ip in packets()) {
            if let Some(plain) = plain_ipv4(&ip).or_else(|| plain_ipv6(&ip)) {
                prop_assert_eq!(any_payload(&ip, ip.len()), Ok(plain));
            }
        }
    }

    #[test]
    fn most_packets_are_plain() {
        let mut v4 = [0; 60];
        v4[..10].copy_from_slice(&[0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 6]);
        assert!(plain_ipv4(&v4).is_some());
        v4[6] = 0x20;
        assert!(plain_ipv4(&v4).is_none(), "a fragment");
        let mut v6 = [0; 80];
        v6[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 40, 6, 64]);
        assert!(plain_ipv6(&v6).is_some());
        v6[6] = 43;
        assert!(plain_ipv6(&v6).is_none(), "a routing header");
    }
}
