//! From an IP packet to its TCP header, however much of it was kept.
//!
//! The strict reader beside it ([`parse`](crate::parse())) takes whole packets as a host does. Here lengths
//! are those that the headers state, as the payload may be cut off; checksums are not looked at, as an
//! interface may be the one to compute them; and a segment may be longer than any packet on a wire, as it is that
//! the interface cuts it up.

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

/// A TCP header without options (RFC 9293 §3.1).
const TCP_HEADER_BYTES: usize = 20;

/// A TCP segment in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPacket {
    /// Its number in the file, from 1.
    pub number: u64,
    /// When it was captured.
    pub at: CaptureTime,
    /// Where it comes from.
    pub source: SocketAddr,
    /// Where it goes.
    pub destination: SocketAddr,
    /// Its header. `len` is the length on the link, whatever was kept. See [`Cut`] for what else is missing.
    pub segment: Segment,
    /// The identification field; IPv6 has none. Of two copies of a packet it is the same, of two
    /// transmissions it mostly is not.
    pub ip_id: Option<u16>,
    /// Time to live, or hop limit: a copy that was taken behind a router has one less.
    pub hop_limit: u8,
    /// The interface it was captured on: the capture's number of it, or the system's where that is in
    /// the packet (Linux cooked, version 2).
    pub interface: u32,
    /// Which way it went there, if the capture says so.
    pub heading: Heading,
    /// How much of it was kept.
    pub cut: Cut,
    /// Whether it is all of a segment.
    pub portion: Portion,
    /// Innermost tunnel that it was captured in. The addresses, `ip_id`, `hop_limit` and `segment` are the inner packet's.
    ///
    /// A capture may hold two copies of a packet: one inside a tunnel and one outside, or each in another tunnel. They differ
    /// in this field, but not in `ip_id` and in the TCP header. The identifier may also differ between the two directions
    /// of a connection, as in GTP-U and in routed VXLANs. Do not compare this field to recognise copies or
    /// connections.
    pub tunnel: Option<Tunnel>,
}

/// Where a packet was cut off when it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cut {
    /// Nowhere.
    Whole,
    /// In the payload, or in what of the header is not read here: nothing is missing.
    Payload,
    /// Before or in the options: those from there on are missing.
    Options,
    /// Before the window. It is given as 65,535: as an unknown window stops nobody, and zero would say that
    /// it does. So it is with IPv6 where 68 bytes were kept of each frame.
    Window,
}

/// How much of a segment a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Portion {
    /// All of it.
    Whole,
    /// The first fragment: `len` counts what is in it, and the others have no header to tell by.
    FirstFragment,
}

/// Why a packet is none with a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum NotTcp {
    /// Its link layer is not read here.
    #[error("frames of {0} are not read here")]
    UnknownLink(LinkType),
    /// There is no IP packet in it.
    #[error("this is not IP but {0}")]
    NotIp(NotIp),
    /// It is of another protocol.
    #[error("this is not TCP but protocol {0}")]
    Protocol(u8),
    /// It is a fragment of a TCP segment, or of a tunnel's packet, and not the first.
    #[error("this is a fragment without a TCP header")]
    Fragment,
    /// So little of it was kept that it cannot be told what it is, or what it says.
    #[error("too little was kept of it: it ends {0}")]
    Cut(Layer),
    /// A header makes no sense.
    #[error("something makes no sense {0}")]
    Damaged(Layer),
}

impl Captured<'_> {
    /// The TCP header in it, or in the tunnel that it is a packet of.
    ///
    /// # Errors
    ///
    /// If it has none, or too little of it was kept.
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
    /// As much of its TCP segment's data as was kept; nothing if it has none.
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

/// What IP carries, and what its header says.
#[derive(Debug, PartialEq)]
pub(super) struct Transport<'a> {
    pub(super) source: IpAddr,
    destination: IpAddr,
    id: Option<u16>,
    hop_limit: u8,
    traffic_class: u8,
    portion: Portion,
    /// The innermost tunnel around it.
    pub(super) tunnel: Option<Tunnel>,
    /// As much as was kept.
    pub(super) bytes: &'a [u8],
    /// Its length on the link.
    pub(super) len: usize,
}

/// The fragment that an IP packet is.
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

    /// What a TCP segment in it is.
    const fn portion(self) -> Result<Portion, NotTcp> {
        match self {
            Self::None => Ok(Portion::Whole),
            Self::First => Ok(Portion::FirstFragment),
            Self::Later => Err(NotTcp::Fragment),
        }
    }
}

/// An IP packet's payload of any protocol.
#[derive(Debug, PartialEq)]
pub(super) struct Payload<'a> {
    pub(super) transport: Transport<'a>,
    pub(super) protocol: IpNumber,
    pub(super) fragment: Fragment,
}

impl<'a> Payload<'a> {
    /// A TCP segment in `tunnel`, or the first fragment of one.
    pub(super) fn tcp(self, tunnel: Option<Tunnel>) -> Result<Transport<'a>, NotTcp> {
        let portion = self.fragment.portion()?;
        Ok(Transport {
            portion,
            tunnel,
            ..self.transport
        })
    }
}

/// Finds TCP in an IP packet that is not plain and has `frame_len` bytes on the link, with padding. It is not inlined, so that
/// the code of plain packets stays small.
#[inline(never)]
fn other_transport(ip: &[u8], frame_len: usize) -> Result<Transport<'_>, NotTcp> {
    let payload = any_payload(ip, frame_len)?;
    match payload.protocol {
        IpNumber::TCP => payload.tcp(None),
        _ => tunnel::follow(payload, frame_len),
    }
}

/// TCP right after a header of IPv4 without options (RFC 791 §3.1), which is no fragment: most packets. What is not
/// so is for [`any_payload`], and what is so would be the same there.
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
    // Neither an offset nor more fragments.
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

/// As [`plain_ipv4`], of IPv6 (RFC 8200 §3).
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
    // A jumbogram has none.
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

/// What any IP packet carries.
pub(super) fn any_payload(ip: &[u8], frame_len: usize) -> Result<Payload<'_>, NotTcp> {
    match LaxIpSlice::from_slice(ip) {
        Ok((LaxIpSlice::Ipv4(v4), stopped)) => ipv4(&v4, frame_len, stopped.map(wrong)),
        Ok((LaxIpSlice::Ipv6(v6), stopped)) => ipv6(&v6, frame_len, stopped.map(wrong)),
        Err(LaxHeaderSliceError::Len(_)) => Err(NotTcp::Cut(Layer::Ip)),
        Err(LaxHeaderSliceError::Content(_)) => Err(NotTcp::Damaged(Layer::Ip)),
    }
}

/// What is wrong where a header that extends IP cannot be read.
#[cold]
fn wrong((error, _): (HeaderSliceError, etherparse::err::Layer)) -> NotTcp {
    match error {
        HeaderSliceError::Len(_) => NotTcp::Cut(Layer::Ip),
        HeaderSliceError::Content(_) => NotTcp::Damaged(Layer::Ip),
    }
}

/// `wrong`: what is, if a header that extends it cannot be read.
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
    // The kernel leaves it to the interface to say how long each piece is.
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

/// As for [`ipv4`].
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
    // What follows in a later fragment is no header.
    if let Some(wrong) = wrong.filter(|_| fragment != Fragment::Later) {
        return Err(wrong);
    }
    let extensions = v6.extensions().slice().len();
    let fixed = header.slice().len();
    // As with IPv4; or it is a jumbogram (RFC 2675), which is as long as its frame.
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

/// What the last fragment header says. The headers are walked here, as etherparse's iterator takes them for whole, which those
/// of a damaged packet are not.
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
            // RFC 4302 §2.2: in words of 4 bytes, less 2.
            IpNumber::AUTHENTICATION_HEADER => (len + 2) * 4,
            // RFC 8200 §4: in words of 8 bytes, less 1.
            _ => (len + 1) * 8,
        };
        rest = rest.get(len..).unwrap_or_default();
        kind = Some(IpNumber(next));
    }
    fragment
}

impl Transport<'_> {
    /// Reads the TCP header: the segment, and its ports.
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

    /// Where it is cut off, once there is a header.
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

/// The header's length, as the upper half of its 13th byte says, in words.
const fn header_bytes(offset: u8) -> usize {
    (offset >> 4) as usize * 4
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        /// Headers that are plain, or nearly so, and whatever follows, or less.
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
        fn a_plain_packet_is_read_as_any_other(ip in packets()) {
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
