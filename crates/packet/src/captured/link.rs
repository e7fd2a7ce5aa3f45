//! Finds the IP packet in a frame.
//!
//! Link types have the numbers of tcpdump.org's registry; protocols have those of Ethernet (IEEE 802.3 §3.2.6). Lengths
//! in link headers are ignored, because the IP header contains a length.

use std::fmt;

use super::{Heading, Order};

/// Type of a packet's first header, with the numbers of <https://www.tcpdump.org/linktypes.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: the address family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// PPP, with or without the two bytes of an HDLC header.
    pub const PPP: Self = Self(9);
    /// FDDI.
    pub const FDDI: Self = Self(10);
    /// PPP with the two bytes of an HDLC header, or Cisco's HDLC.
    pub const PPP_HDLC: Self = Self(50);
    /// PPPoE without its Ethernet header.
    pub const PPP_ETHER: Self = Self(51);
    /// Raw IP, either version.
    pub const RAW: Self = Self(101);
    /// Cisco's HDLC.
    pub const CISCO_HDLC: Self = Self(104);
    /// OpenBSD's loopback: the address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux "cooked", version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// PPP as captured by pppd on Linux: the first byte of the HDLC header is replaced by a byte for the direction.
    pub const PPP_PPPD: Self = Self(166);
    /// PPP after a byte for the direction.
    pub const PPP_WITH_DIRECTION: Self = Self(204);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux netfilter log: an address family, then attributes, one of which contains the packet.
    pub const NFLOG: Self = Self(239);
    /// Linux "cooked", version 2.
    pub const LINUX_SLL2: Self = Self(276);
    /// Type of a packet on an interface that the file does not describe. This number is not in the registry.
    pub const UNDESCRIBED: Self = Self(u32::MAX);

    /// Other numbers for raw IP, on BSD/OS and others, and on OpenBSD.
    const RAW_OTHERS: [Self; 2] = [Self(12), Self(14)];

    /// Returns the name of a common type.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "BSD loopback",
            1 => "Ethernet",
            6 => "Token Ring",
            7 => "ARCNET",
            8 => "SLIP",
            9 | 50 | 166 | 204 => "PPP",
            10 => "FDDI",
            12 | 14 | 101 => "raw IP",
            51 => "PPPoE",
            100 => "ATM (LLC)",
            104 => "Cisco HDLC",
            105 => "IEEE 802.11",
            107 => "Frame Relay",
            108 => "OpenBSD loopback",
            113 => "Linux cooked, version 1",
            117 => "OpenBSD pflog",
            119 => "IEEE 802.11 with Prism header",
            123 => "SunATM",
            127 => "IEEE 802.11 with radiotap",
            163 => "IEEE 802.11 with AVS header",
            187 | 201 => "Bluetooth",
            189 | 220 | 249 => "USB",
            192 => "PPI",
            195 | 230 | 283 => "IEEE 802.15.4",
            228 => "IPv4",
            229 => "IPv6",
            227 => "CAN",
            239 => "Linux nflog",
            253 => "Netlink",
            276 => "Linux cooked, version 2",
            u32::MAX => "an interface without a description",
            _ => return None,
        })
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "link type {}", self.0),
        }
    }
}

/// Location of a problem in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// Before the IP header.
    Link,
    /// In the IP header or its extensions.
    Ip,
    /// In the TCP header.
    Tcp,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "before IP",
            Self::Ip => "in the IP header",
            Self::Tcp => "in the TCP header",
        })
    }
}

/// Contents of a frame without IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NotIp {
    /// Protocol with this Ethernet number.
    EtherType(u16),
    /// Protocol with this PPP number.
    Ppp(u16),
    /// Address family in a loopback header.
    Family(u32),
    /// Logical link control: spanning trees and other protocols.
    Llc,
    /// Control frame of the link layer.
    Control,
    /// MPLS with a payload other than IP.
    Mpls,
}

impl fmt::Display for NotIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::EtherType(0x0806) => "ARP",
            Self::EtherType(0x8035) => "RARP",
            Self::EtherType(0x88cc) => "LLDP",
            Self::EtherType(0x888e) => "EAPOL",
            Self::EtherType(0x88f7) => "PTP",
            Self::EtherType(0x8809) => "LACP",
            Self::EtherType(0x88e5) => "MACsec",
            Self::EtherType(0x8863) => "PPPoE discovery",
            Self::EtherType(number) => return write!(f, "EtherType 0x{number:04x}"),
            Self::Ppp(0xc021) => "PPP link control",
            Self::Ppp(0x8021 | 0x8057) => "PPP IP control",
            Self::Ppp(number) => return write!(f, "PPP protocol 0x{number:04x}"),
            Self::Family(number) => return write!(f, "address family {number}"),
            Self::Llc => "LLC",
            Self::Control => "link control frames",
            Self::Mpls => "MPLS without IP",
        };
        f.write_str(name)
    }
}

/// Reason why a frame contains no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    UnknownLink,
    NotIp(NotIp),
    /// The frame is truncated before the IP packet.
    Cut,
    /// A header is invalid.
    Damaged,
}

/// IP packet in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ip<'a> {
    pub(super) bytes: &'a [u8],
    /// Direction of the frame, if the link header contains it. `interface` is the interface in the same header.
    pub(super) heading: Heading,
    pub(super) interface: Option<u32>,
}

impl<'a> Ip<'a> {
    const fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            heading: Heading::Unknown,
            interface: None,
        }
    }
}

/// Finds the IP packet in a frame.
#[inline]
pub(super) fn ip(link: LinkType, frame: &[u8]) -> Result<Ip<'_>, Without> {
    match link {
        LinkType::ETHERNET => {
            let (header, rest) = split::<14>(frame)?;
            ethernet_payload(u16_at(header, 12), rest).map(Ip::new)
        }
        _ => other_ip(link, frame),
    }
}

fn other_ip(link: LinkType, frame: &[u8]) -> Result<Ip<'_>, Without> {
    match link {
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => Ok(Ip::new(frame)),
        raw if LinkType::RAW_OTHERS.contains(&raw) => Ok(Ip::new(frame)),
        LinkType::LINUX_SLL => cooked(frame),
        LinkType::LINUX_SLL2 => cooked_2(frame),
        LinkType::NULL | LinkType::LOOP => loopback(frame).map(Ip::new),
        LinkType::PPP => ppp_framed(frame).map(Ip::new),
        LinkType::PPP_HDLC => serial(frame).map(Ip::new),
        LinkType::PPP_ETHER => pppoe(frame).map(Ip::new),
        LinkType::PPP_PPPD | LinkType::PPP_WITH_DIRECTION => ppp_with_direction(link, frame),
        LinkType::CISCO_HDLC => cisco(frame).map(Ip::new),
        LinkType::FDDI => fddi(frame).map(Ip::new),
        LinkType::NFLOG => nflog(frame).map(Ip::new),
        _ => Err(Without::UnknownLink),
    }
}

/// Splits off the first `N` bytes.
#[inline]
fn split<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Without> {
    bytes.split_first_chunk().ok_or(Without::Cut)
}

/// Returns the number at offset `at` of a header; 0 beyond its end.
#[inline]
fn u16_at(header: &[u8], at: usize) -> u16 {
    let bytes = header.get(at..).unwrap_or_default();
    bytes
        .first_chunk()
        .map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

/// Protocol numbers on Ethernet.
mod ether {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const IPV6: u16 = 0x86dd;
    pub(super) const MPLS: u16 = 0x8847;
    pub(super) const MPLS_MULTICAST: u16 = 0x8848;
    pub(super) const PPPOE_SESSION: u16 = 0x8864;

    /// Tags of virtual networks: 802.1Q, 802.1ad, and their predecessors in switches.
    pub(super) const TAGS: [u16; 5] = [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300];

    /// Minimum EtherType. Smaller numbers are lengths, followed by LLC.
    pub(super) const LEAST: u16 = 0x0600;
}

/// Returns the IP packet after the protocol number `kind`.
#[inline]
pub(super) fn ethernet_payload(kind: u16, bytes: &[u8]) -> Result<&[u8], Without> {
    match kind {
        ether::IPV4 | ether::IPV6 => Ok(bytes),
        _ => other_payload(kind, bytes),
    }
}

fn other_payload(mut kind: u16, mut bytes: &[u8]) -> Result<&[u8], Without> {
    while ether::TAGS.contains(&kind) {
        let (tag, rest) = split::<4>(bytes)?;
        kind = u16_at(tag, 2);
        bytes = rest;
    }
    match kind {
        ether::IPV4 | ether::IPV6 => Ok(bytes),
        ether::PPPOE_SESSION => pppoe(bytes),
        ether::MPLS | ether::MPLS_MULTICAST => mpls(bytes),
        0..ether::LEAST => llc(bytes),
        kind => Err(Without::NotIp(NotIp::EtherType(kind))),
    }
}

/// Parses logical link control (IEEE 802.2): IP with the protocol number of a SNAP header (RFC 1042), or with LLC's own
/// number for IP.
fn llc(bytes: &[u8]) -> Result<&[u8], Without> {
    let (&llc, rest) = split::<3>(bytes)?;
    match llc {
        [0xaa, 0xaa, 0x03] => {
            let (&[a, b, c, d, e], rest) = split::<5>(rest)?;
            let kind = u16::from_be_bytes([d, e]);
            // Only the null organisation (which uses Ethernet's numbers) and the organisation of bridges use Ethernet's
            // protocol numbers.
            match [a, b, c] {
                // A smaller number would be a length, which would lead to this function again.
                [0, 0, 0] | [0, 0, 0xf8] if kind >= ether::LEAST => other_payload(kind, rest),
                _ => Err(Without::NotIp(NotIp::Llc)),
            }
        }
        [0x06, 0x06, 0x03] => Ok(rest),
        _ => Err(Without::NotIp(NotIp::Llc)),
    }
}

/// Skips labels (RFC 3032). The IP packet after them is identified by its first four bits.
fn mpls(mut bytes: &[u8]) -> Result<&[u8], Without> {
    loop {
        let (label, rest) = split::<4>(bytes)?;
        bytes = rest;
        let is_last = label[2] & 1 != 0;
        if is_last {
            break;
        }
    }
    match bytes.first().ok_or(Without::Cut)? >> 4 {
        4 | 6 => Ok(bytes),
        _ => Err(Without::NotIp(NotIp::Mpls)),
    }
}

/// Skips the header of a session frame (RFC 2516 §4), which is followed by PPP.
fn pppoe(bytes: &[u8]) -> Result<&[u8], Without> {
    let (_, rest) = split::<6>(bytes)?;
    ppp(rest)
}

/// Parses PPP's protocol number (RFC 1661 §2), which may be shortened to one byte.
fn ppp(bytes: &[u8]) -> Result<&[u8], Without> {
    let (&[first], rest) = split::<1>(bytes)?;
    let (kind, rest) = match first & 1 {
        1 => (u16::from(first), rest),
        _ => {
            let (&[second], rest) = split::<1>(rest)?;
            (u16::from_be_bytes([first, second]), rest)
        }
    };
    match kind {
        0x0021 | 0x0057 => Ok(rest),
        0x0281 | 0x0283 => mpls(rest),
        kind => Err(Without::NotIp(NotIp::Ppp(kind))),
    }
}

/// Skips the address and control bytes of HDLC (RFC 1662 §3.1), which may be omitted. PPP follows.
fn ppp_framed(bytes: &[u8]) -> Result<&[u8], Without> {
    match bytes {
        [0xff, 0x03, rest @ ..] => ppp(rest),
        [0xff] => Err(Without::Cut),
        _ => ppp(bytes),
    }
}

/// Parses PPP or Cisco's HDLC, depending on the first byte (RFC 1547 §4.3.1).
fn serial(bytes: &[u8]) -> Result<&[u8], Without> {
    match bytes.first() {
        Some(0x0f | 0x8f) => cisco(bytes),
        _ => ppp_framed(bytes),
    }
}

fn cisco(bytes: &[u8]) -> Result<&[u8], Without> {
    let (header, rest) = split::<4>(bytes)?;
    ethernet_payload(u16_at(header, 2), rest)
}

/// Parses a byte that is 1 if the host sent the packet, and 0 if not. With pppd, this byte replaces the first byte of
/// HDLC, so HDLC's second byte may follow.
fn ppp_with_direction(link: LinkType, bytes: &[u8]) -> Result<Ip<'_>, Without> {
    let (&[direction], rest) = split::<1>(bytes)?;
    let ip = match (link, rest) {
        (LinkType::PPP_PPPD, [0x03, rest @ ..]) => ppp(rest)?,
        (LinkType::PPP_PPPD, _) => ppp(rest)?,
        _ => ppp_framed(rest)?,
    };
    let heading = match direction {
        0 => Heading::Incoming,
        1 => Heading::Outgoing,
        _ => Heading::Unknown,
    };
    Ok(Ip {
        heading,
        ..Ip::new(ip)
    })
}

/// Skips the four bytes of an address family, in either byte order.
fn loopback(bytes: &[u8]) -> Result<&[u8], Without> {
    /// Address families: IPv4 (2), and IPv6 on Linux (10), on NetBSD and OpenBSD (24), on FreeBSD (28), and on Darwin
    /// (30).
    const FAMILIES: [u32; 5] = [2, 10, 24, 28, 30];
    let (&family, rest) = split::<4>(bytes)?;
    let (big, little) = (u32::from_be_bytes(family), u32::from_le_bytes(family));
    if FAMILIES.contains(&big) || FAMILIES.contains(&little) {
        return Ok(rest);
    }
    Err(Without::NotIp(NotIp::Family(big.min(little))))
}

/// Skips the frame control byte and two addresses. LLC follows (RFC 1188).
fn fddi(bytes: &[u8]) -> Result<&[u8], Without> {
    let (header, rest) = split::<13>(bytes)?;
    // The kind of frame is LLC, with any length of addresses and any priority (ANSI X3.139).
    match header[0] & 0x70 {
        0x50 => llc(rest),
        _ => Err(Without::NotIp(NotIp::Control)),
    }
}

/// Returns the IP packet after the protocol number in Linux's cooked headers, which may be one of the kernel's own
/// numbers (`if_ether.h`).
fn cooked_payload(kind: u16, bytes: &[u8]) -> Result<&[u8], Without> {
    const WITH_LLC: u16 = 0x0004;
    match kind {
        WITH_LLC => llc(bytes),
        0..ether::LEAST => Err(Without::NotIp(NotIp::EtherType(kind))),
        kind => ethernet_payload(kind, bytes),
    }
}

/// Returns the direction for a packet type in Linux's cooked headers: 0 to 3 are received packets (for this host,
/// broadcast, multicast, for others), and 4 is a sent packet.
const fn cooked_heading(kind: u16) -> Heading {
    match kind {
        0..=3 => Heading::Incoming,
        4 => Heading::Outgoing,
        _ => Heading::Unknown,
    }
}

/// Parses a cooked header: packet type, device type, address length, address, protocol.
fn cooked(bytes: &[u8]) -> Result<Ip<'_>, Without> {
    let (header, rest) = split::<16>(bytes)?;
    Ok(Ip {
        heading: cooked_heading(u16_at(header, 0)),
        ..Ip::new(cooked_payload(u16_at(header, 14), rest)?)
    })
}

/// Parses a cooked header of version 2: protocol, interface, device type, packet type, address length, address.
fn cooked_2(bytes: &[u8]) -> Result<Ip<'_>, Without> {
    let (header, rest) = split::<20>(bytes)?;
    let &[_, _, _, _, a, b, c, d, _, _, kind, ..] = header;
    Ok(Ip {
        bytes: cooked_payload(u16_at(header, 0), rest)?,
        heading: cooked_heading(u16::from(kind)),
        interface: Some(u32::from_be_bytes([a, b, c, d])),
    })
}

/// Parses a netfilter log: family, version, resource, then netfilter's attributes (`nfnetlink_log.h`). An attribute
/// consists of length (including the four bytes of length and type), type, value, and padding to four bytes. Numbers
/// are in the byte order of the capturing host.
///
/// Types are between 1 and 255, so the first type shows the byte order. The byte order of the file may differ, because
/// programs that convert files may leave packets unchanged.
fn nflog(bytes: &[u8]) -> Result<&[u8], Without> {
    const VERSION: u8 = 0;
    /// Linux's numbers for IPv4 and IPv6.
    const FAMILIES: [u8; 2] = [2, 10];
    const PAYLOAD: u16 = 9;
    /// The upper two bits are flags (`netlink.h`).
    const TYPE_MASK: u16 = 0x3fff;
    let (&[family, version, _, _], mut rest) = split::<4>(bytes)?;
    if version != VERSION {
        return Err(Without::UnknownLink);
    }
    if !FAMILIES.contains(&family) {
        return Err(Without::NotIp(NotIp::Family(family.into())));
    }
    let mut known = None;
    loop {
        let (&[a, b, c, d], value) = split::<4>(rest)?;
        let order = match (known, [c, d]) {
            (Some(order), _) => order,
            (None, [1..=u8::MAX, 0]) => Order::Little,
            (None, [0, 1..=u8::MAX]) => Order::Big,
            (None, _) => return Err(Without::Damaged),
        };
        known = Some(order);
        let len = usize::from(order.u16([a, b]));
        if len < 4 {
            return Err(Without::Damaged);
        }
        if order.u16([c, d]) & TYPE_MASK == PAYLOAD {
            return Ok(value);
        }
        rest = rest.get(len.next_multiple_of(4)..).ok_or(Without::Cut)?;
    }
}
