//! Finds the IP packet that the payload of another IP packet encapsulates.
//!
//! | tunnel | recognised by | source |
//! | --- | --- | --- |
//! | IP in IP | protocols 4 and 41 | RFC 2003, RFC 2473, RFC 4213 |
//! | GRE | protocol 47 | RFC 2784, RFC 2890 |
//! | ERSPAN, types I to III | GRE with protocol 0x88be or 0x22eb | draft-foschiano-erspan-03 |
//! | VXLAN | UDP to port 4789 or 8472 | RFC 7348 |
//! | GENEVE | UDP to port 6081 | RFC 8926 |
//! | GTP-U | UDP to port 2152 | 3GPP TS 29.281 |
//!
//! **A UDP port proves nothing.** Any host may use these ports for other purposes. A UDP packet counts as a packet of a
//! tunnel only if the reserved bits of the tunnel's header are zero and the length in the following IP header fits.
//! Otherwise it counts as UDP. A later fragment also counts as UDP, because it has no port.

use std::fmt;
use std::net::IpAddr;

use etherparse::IpNumber;

use super::link::{self, Layer, Without};
use super::packet::{Fragment, NotTcp, Payload, Transport, any_payload};

/// Maximum number of nested tunnels. Two is our choice: a tunnel in a tunnel.
const TUNNELS_MAX: usize = 2;

/// Generic Routing Encapsulation, with IANA's number.
const GRE: IpNumber = IpNumber(47);

/// A tunnel around a packet, with the tunnel's identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tunnel {
    /// IPv4 or IPv6 directly in IPv4 or IPv6.
    IpInIp,
    /// Virtual Extensible LAN.
    Vxlan {
        /// VXLAN network identifier, of 24 bits.
        vni: u32,
    },
    /// Generic Network Virtualization Encapsulation.
    Geneve {
        /// Virtual network identifier, of 24 bits.
        vni: u32,
    },
    /// Generic Routing Encapsulation.
    Gre {
        /// Key, if the header has one.
        key: Option<u32>,
    },
    /// Encapsulated Remote SPAN: copies of frames that a switch makes.
    Erspan {
        /// Session, of 10 bits. Type I has no session.
        session: Option<u16>,
    },
    /// User plane of the GPRS Tunnelling Protocol.
    GtpU {
        /// Tunnel endpoint identifier. The two directions of a connection have different identifiers.
        teid: u32,
    },
}

impl Tunnel {
    /// Returns the kind of the tunnel.
    #[must_use]
    pub const fn kind(self) -> TunnelKind {
        match self {
            Self::IpInIp => TunnelKind::IpInIp,
            Self::Vxlan { .. } => TunnelKind::Vxlan,
            Self::Geneve { .. } => TunnelKind::Geneve,
            Self::Gre { .. } => TunnelKind::Gre,
            Self::Erspan { .. } => TunnelKind::Erspan,
            Self::GtpU { .. } => TunnelKind::GtpU,
        }
    }

    /// Returns the VNI, key, session or TEID; `None` if the header has no identifier.
    #[must_use]
    pub fn id(self) -> Option<u32> {
        match self {
            Self::IpInIp => None,
            Self::Vxlan { vni } | Self::Geneve { vni } => Some(vni),
            Self::Gre { key } => key,
            Self::Erspan { session } => session.map(u32::from),
            Self::GtpU { teid } => Some(teid),
        }
    }
}

impl fmt::Display for Tunnel {
    /// Writes the name without the identifier, such as "VXLAN".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

/// A [`Tunnel`] without its identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TunnelKind {
    /// IPv4 or IPv6 directly in IPv4 or IPv6.
    IpInIp,
    /// Virtual Extensible LAN.
    Vxlan,
    /// Generic Network Virtualization Encapsulation.
    Geneve,
    /// Generic Routing Encapsulation.
    Gre,
    /// Encapsulated Remote SPAN.
    Erspan,
    /// User plane of the GPRS Tunnelling Protocol.
    GtpU,
}

impl TunnelKind {
    /// Returns the usual name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IpInIp => "IP in IP",
            Self::Vxlan => "VXLAN",
            Self::Geneve => "GENEVE",
            Self::Gre => "GRE",
            Self::Erspan => "ERSPAN",
            Self::GtpU => "GTP-U",
        }
    }
}

impl fmt::Display for TunnelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Finds TCP in the tunnels that begin with the payload of `outer`. `frame_len` is the number of bytes on the link from
/// the header of that IP packet to the end of the frame.
pub(super) fn follow(outer: Payload<'_>, frame_len: usize) -> Result<Transport<'_>, NotTcp> {
    let (mut outer, mut frame_len) = (outer, frame_len);
    for _ in 0..TUNNELS_MAX {
        let (tunnel, inner) = enter(&outer, frame_len).map_err(|stop| match stop {
            Stop::Cut => NotTcp::Cut(Layer::Link),
            Stop::Fragment => NotTcp::Fragment,
            Stop::Unknown => NotTcp::Protocol(outer.protocol.0),
        })?;
        let payload = any_payload(inner.bytes, inner.len).map_err(|error| match error {
            // The header after the UDP header is invalid, so the UDP port was a coincidence.
            NotTcp::Damaged(_) if outer.protocol == IpNumber::UDP => {
                NotTcp::Protocol(outer.protocol.0)
            }
            error => error,
        })?;
        if payload.protocol == IpNumber::TCP {
            return payload.tcp(Some(tunnel));
        }
        frame_len = inner.room;
        outer = payload;
    }
    Err(NotTcp::Protocol(outer.protocol.0))
}

/// Reason why a payload does not lead to an inner IP packet.
enum Stop {
    /// The kept bytes end before the inner packet.
    Cut,
    /// The payload is a later fragment of a tunnel's packet.
    Fragment,
    /// The payload is not a tunnel, or is a tunnel that does not carry IP.
    Unknown,
}

impl From<Without> for Stop {
    fn from(without: Without) -> Self {
        match without {
            Without::Cut => Self::Cut,
            Without::UnknownLink | Without::NotIp(_) | Without::Damaged => Self::Unknown,
        }
    }
}

/// Bytes of a packet from some header to the end.
#[derive(Clone, Copy)]
struct Rest<'a> {
    /// Bytes that were kept.
    bytes: &'a [u8],
    /// Length on the link, as stated by the preceding headers.
    len: usize,
    /// Maximum length of an inner packet: `len`, or the length of the remaining frame if that is larger. A mirror that
    /// truncates packets may write outer headers with the truncated length.
    room: usize,
}

impl<'a> Rest<'a> {
    /// Splits off the first `N` bytes.
    fn split<const N: usize>(self) -> Result<(&'a [u8; N], Self), Stop> {
        let rest = self.skip(N)?;
        let (first, _) = self.bytes.split_first_chunk().ok_or(Stop::Cut)?;
        Ok((first, rest))
    }

    fn skip(self, count: usize) -> Result<Self, Stop> {
        let len = self.len.checked_sub(count).ok_or(Stop::Unknown)?;
        let bytes = self.bytes.get(count..).ok_or(Stop::Cut)?;
        let room = self.room.saturating_sub(count);
        Ok(Self { bytes, len, room })
    }

    /// Returns the IP packet in an Ethernet frame.
    fn ethernet(self) -> Result<Self, Stop> {
        let (&[_, _, _, _, _, _, _, _, _, _, _, _, a, b], rest) = self.split::<14>()?;
        rest.ether_type(u16::from_be_bytes([a, b]))
    }

    /// Returns the IP packet after an EtherType. If the EtherType announces tags, labels or sessions, these are
    /// skipped.
    fn ether_type(self, kind: u16) -> Result<Self, Stop> {
        let inner = link::ethernet_payload(kind, self.bytes)?;
        self.skip(self.bytes.len() - inner.len())
    }

    /// Succeeds if this may be an IP packet, because its version and lengths are possible.
    fn is_ip(self) -> Result<(), Stop> {
        let (&[first], _) = self.split::<1>()?;
        let u16_at = |at: usize| {
            let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map(|bytes| usize::from(u16::from_be_bytes(*bytes)))
        };
        let header = match first >> 4 {
            4 => usize::from(first & 0x0f) * 4,
            _ => IPV6_HEADER_BYTES,
        };
        // The length is zero if the interface writes it later, or if the packet is a jumbogram.
        let total = match first >> 4 {
            4 if header < IPV4_HEADER_BYTES => return Err(Stop::Unknown),
            4 => u16_at(2).filter(|total| *total != 0),
            6 => u16_at(4).map(|payload| header + payload),
            _ => return Err(Stop::Unknown),
        };
        let total = total.unwrap_or(header);
        match header <= self.len && (header..=self.room).contains(&total) {
            true => Ok(()),
            false => Err(Stop::Unknown),
        }
    }
}

/// Length of the smallest IPv4 header in bytes (RFC 791 §3.1).
const IPV4_HEADER_BYTES: usize = 20;
/// Length of an IPv6 header without extensions, in bytes (RFC 8200 §3).
const IPV6_HEADER_BYTES: usize = 40;

/// Finds the tunnel in the payload of `outer`, and the IP packet in the tunnel.
fn enter<'a>(outer: &Payload<'a>, frame_len: usize) -> Result<(Tunnel, Rest<'a>), Stop> {
    let Transport {
        source, bytes, len, ..
    } = outer.transport;
    let header = match source {
        IpAddr::V4(_) => IPV4_HEADER_BYTES,
        IpAddr::V6(_) => IPV6_HEADER_BYTES,
    };
    let room = frame_len.saturating_sub(header).max(len);
    let rest = Rest { bytes, len, room };
    match (outer.protocol, outer.fragment) {
        (IpNumber::IPV4 | IpNumber::IPV6 | GRE, Fragment::Later) => Err(Stop::Fragment),
        (IpNumber::IPV4 | IpNumber::IPV6, _) => Ok((Tunnel::IpInIp, rest)),
        (GRE, _) => gre(rest),
        (IpNumber::UDP, Fragment::None | Fragment::First) => udp(rest, outer.fragment),
        _ => Err(Stop::Unknown),
    }
}

/// Parses GRE: flags, version, protocol, then checksum, key and sequence number, each if its flag is set.
fn gre(rest: Rest<'_>) -> Result<(Tunnel, Rest<'_>), Stop> {
    const CHECKSUM: u8 = 0x80;
    const KEY: u8 = 0x20;
    const SEQUENCE: u8 = 0x10;
    /// Flags for routing, strict source route and recursion of RFC 1701. Packets with one of them are discarded (RFC
    /// 2784 §2.3).
    const REFUSED: u8 = 0x4c;
    const VERSION: u8 = 0x07;
    let (&[flags, version, a, b], mut rest) = rest.split::<4>()?;
    if flags & REFUSED != 0 || version & VERSION != 0 {
        return Err(Stop::Unknown);
    }
    if flags & CHECKSUM != 0 {
        rest = rest.skip(4)?;
    }
    let mut key = None;
    if flags & KEY != 0 {
        let (bytes, after) = rest.split::<4>()?;
        key = Some(u32::from_be_bytes(*bytes));
        rest = after;
    }
    if flags & SEQUENCE != 0 {
        rest = rest.skip(4)?;
    }
    /// Minimum EtherType. Smaller numbers are not EtherTypes.
    const ETHER_TYPE_MIN: u16 = 0x0600;
    match u16::from_be_bytes([a, b]) {
        ERSPAN_2 if flags & SEQUENCE == 0 => {
            Ok((Tunnel::Erspan { session: None }, rest.ethernet()?))
        }
        ERSPAN_2 => erspan_2(rest),
        ERSPAN_3 => erspan_3(rest),
        ETHERNET => Ok((Tunnel::Gre { key }, rest.ethernet()?)),
        kind @ ETHER_TYPE_MIN.. => Ok((Tunnel::Gre { key }, rest.ether_type(kind)?)),
        _ => Err(Stop::Unknown),
    }
}

/// EtherType of transparent Ethernet bridging.
const ETHERNET: u16 = 0x6558;
/// EtherType of ERSPAN, types I and II: GRE's header has no sequence number for type I and has one for type II.
const ERSPAN_2: u16 = 0x88be;
/// EtherType of ERSPAN, type III.
const ERSPAN_3: u16 = 0x22eb;

/// Parses ERSPAN type II: version and VLAN, class, flags and session, index.
fn erspan_2(rest: Rest<'_>) -> Result<(Tunnel, Rest<'_>), Stop> {
    const VERSION: u8 = 1;
    let (&[version, _, a, b, _, _, _, _], rest) = rest.split::<8>()?;
    match version >> 4 {
        VERSION => Ok((erspan(a, b), rest.ethernet()?)),
        _ => Err(Stop::Unknown),
    }
}

/// Parses ERSPAN type III: the same fields as type II, then a timestamp, a security tag, and flags that announce eight
/// more bytes.
fn erspan_3(rest: Rest<'_>) -> Result<(Tunnel, Rest<'_>), Stop> {
    const VERSION: u8 = 2;
    const SUBHEADER: u8 = 0x01;
    /// Frame type of IP without a link layer.
    const IP: u8 = 2;
    let (&[version, _, a, b, _, _, _, _, _, _, frame, flags], mut rest) = rest.split::<12>()?;
    if version >> 4 != VERSION {
        return Err(Stop::Unknown);
    }
    if flags & SUBHEADER != 0 {
        rest = rest.skip(8)?;
    }
    let inner = match (frame >> 2) & 0x1f {
        IP => rest,
        _ => rest.ethernet()?,
    };
    Ok((erspan(a, b), inner))
}

/// Returns the tunnel. The session is in the lower ten bits.
const fn erspan(high: u8, low: u8) -> Tunnel {
    let session = Some(u16::from_be_bytes([high, low]) & 0x03ff);
    Tunnel::Erspan { session }
}

/// Parses UDP (RFC 768), then the tunnel of its destination port. The source port is arbitrary, because routers use it
/// for load balancing.
fn udp(rest: Rest<'_>, fragment: Fragment) -> Result<(Tunnel, Rest<'_>), Stop> {
    let Some(&[_, _, a, b]) = rest.bytes.first_chunk() else {
        return Err(Stop::Unknown);
    };
    let tunnel = match u16::from_be_bytes([a, b]) {
        // 4789 is IANA's port; Linux used 8472 before that port was assigned.
        4789 | 8472 => vxlan,
        6081 => geneve,
        2152 => gtp_u,
        _ => return Err(Stop::Unknown),
    };
    let (&[_, _, _, _, a, b, _, _], mut rest) = rest.split::<8>()?;
    match (usize::from(u16::from_be_bytes([a, b])), fragment) {
        // With a length of zero, the length in the IP header applies.
        (0, _) => {}
        (1..8, _) => return Err(Stop::Unknown),
        (stated, Fragment::None) if stated - 8 > rest.room => return Err(Stop::Unknown),
        // If the packet is a fragment, this length includes the other fragments.
        (stated, _) => {
            rest.len = stated - 8;
            rest.room = rest.room.max(rest.len);
        }
    }
    let (tunnel, inner) = tunnel(rest)?;
    inner.is_ip()?;
    Ok((tunnel, inner))
}

/// Parses VXLAN: flags, network identifier.
fn vxlan(rest: Rest<'_>) -> Result<(Tunnel, Rest<'_>), Stop> {
    /// Flag for a valid identifier. All other bits are reserved.
    const VALID: u8 = 0x08;
    match rest.split::<8>()? {
        (&[VALID, 0, 0, 0, a, b, c, 0], rest) => {
            let vni = u32::from_be_bytes([0, a, b, c]);
            Ok((Tunnel::Vxlan { vni }, rest.ethernet()?))
        }
        _ => Err(Stop::Unknown),
    }
}

/// Parses GENEVE: version and length of the options, flags, protocol, network identifier, options.
fn geneve(rest: Rest<'_>) -> Result<(Tunnel, Rest<'_>), Stop> {
    const VERSION: u8 = 0xc0;
    /// Flag for critical options. All other flags are reserved or belong to control messages, which carry no packet.
    const CRITICAL: u8 = 0x40;
    let (&[first, flags, d, e, a, b, c, reserved], rest) = rest.split::<8>()?;
    if first & VERSION != 0 || flags & !CRITICAL != 0 || reserved != 0 {
        return Err(Stop::Unknown);
    }
    let rest = rest.skip(usize::from(first) * 4)?;
    let inner = match u16::from_be_bytes([d, e]) {
        ETHERNET => rest.ethernet()?,
        kind @ (0x0800 | 0x86dd) => rest.ether_type(kind)?,
        _ => return Err(Stop::Unknown),
    };
    let vni = u32::from_be_bytes([0, a, b, c]);
    Ok((Tunnel::Geneve { vni }, inner))
}

/// Parses GTP-U: flags, message type, length, endpoint identifier, then optional fields and extension headers.
fn gtp_u(rest: Rest<'_>) -> Result<(Tunnel, Rest<'_>), Stop> {
    /// Bits for version, protocol type and a reserved bit. Their value must be that of version 1 of GTP.
    const VERSION_MASK: u8 = 0xf8;
    const VERSION_1: u8 = 0x30;
    /// Message type of a user's packet.
    const G_PDU: u8 = 255;
    /// Flags for extension headers, a sequence number and an N-PDU number. If any of them is set, the fields of all
    /// three follow.
    const OPTIONAL: u8 = 0x07;
    const EXTENSION: u8 = 0x04;
    let (&[flags, message, high, low, a, b, c, d], mut rest) = rest.split::<8>()?;
    let stated = usize::from(u16::from_be_bytes([high, low]));
    if flags & VERSION_MASK != VERSION_1 || message != G_PDU || stated > rest.len {
        return Err(Stop::Unknown);
    }
    if flags & OPTIONAL != 0 {
        let (&[_, _, _, next], after) = rest.split::<4>()?;
        rest = after;
        let mut next = if flags & EXTENSION != 0 { next } else { 0 };
        while next != 0 {
            // The length is in words of 4 bytes; the last byte is the type of the next header.
            let (&[words], _) = rest.split::<1>()?;
            let last = (usize::from(words) * 4).checked_sub(1);
            let (&[following], after) = rest.skip(last.ok_or(Stop::Unknown)?)?.split::<1>()?;
            next = following;
            rest = after;
        }
    }
    let teid = u32::from_be_bytes([a, b, c, d]);
    Ok((Tunnel::GtpU { teid }, rest))
}
