//! Counts of the contents of a capture, for users.

use std::fmt;

use etherparse::IpNumber;

use super::Captured;
use super::link::{Layer, LinkType, NotIp};
use super::packet::{Cut, NotTcp, Portion, TcpPacket};
use super::tunnel::TunnelKind;

/// Number of kinds that are counted individually. Further kinds are counted together, so that the memory for a hostile
/// file is bounded. Kinds with TCP are always counted individually. This number is our choice.
const KINDS_MAX: usize = 64;

/// Kind of a packet for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A TCP segment.
    Tcp,
    /// A TCP segment that is truncated before the end of its options.
    TcpCut,
    /// A TCP segment in a tunnel.
    TcpIn(TunnelKind),
    /// A TCP segment in a tunnel that is truncated before the end of its options.
    TcpCutIn(TunnelKind),
    /// The first fragment of a TCP segment.
    TcpFirstFragment,
    /// A later fragment of a TCP segment, or of a tunnel's packet.
    TcpFragment,
    /// Another protocol over IP, by IANA's number.
    Protocol(u8),
    /// Contents other than IP.
    NotIp(NotIp),
    /// A frame of an unsupported link type.
    Link(LinkType),
    /// Too few bytes were kept to parse the packet.
    Cut(Layer),
    /// The packet is invalid.
    Damaged(Layer),
    /// One of the kinds that are counted together.
    Others,
}

impl Kind {
    fn of(packet: &Result<TcpPacket, NotTcp>) -> Self {
        match packet {
            Ok(packet) => match (packet.portion, packet.cut, packet.tunnel) {
                (Portion::FirstFragment, ..) => Self::TcpFirstFragment,
                (_, Cut::Whole | Cut::Payload, None) => Self::Tcp,
                (_, Cut::Whole | Cut::Payload, Some(tunnel)) => Self::TcpIn(tunnel.kind()),
                (_, Cut::Options | Cut::Window, None) => Self::TcpCut,
                (_, Cut::Options | Cut::Window, Some(tunnel)) => Self::TcpCutIn(tunnel.kind()),
            },
            Err(NotTcp::Fragment) => Self::TcpFragment,
            Err(NotTcp::Protocol(number)) => Self::Protocol(*number),
            Err(NotTcp::NotIp(what)) => Self::NotIp(*what),
            Err(NotTcp::UnknownLink(link)) => Self::Link(*link),
            Err(NotTcp::Cut(layer)) => Self::Cut(*layer),
            Err(NotTcp::Damaged(layer)) => Self::Damaged(*layer),
        }
    }

    /// Returns `true` if packets of this kind have a TCP header.
    const fn has_tcp(self) -> bool {
        matches!(
            self,
            Self::Tcp | Self::TcpCut | Self::TcpIn(_) | Self::TcpCutIn(_) | Self::TcpFirstFragment
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp => f.write_str("TCP"),
            Self::TcpCut => f.write_str("TCP, truncated in the header"),
            Self::TcpIn(tunnel) => write!(f, "TCP in {tunnel}"),
            Self::TcpCutIn(tunnel) => write!(f, "TCP in {tunnel}, truncated in the header"),
            Self::TcpFirstFragment => f.write_str("TCP, first fragments"),
            Self::TcpFragment => f.write_str("TCP, later fragments"),
            Self::Protocol(number) => match IpNumber(*number).keyword_str() {
                Some(name) => f.write_str(name),
                None => write!(f, "IP protocol {number}"),
            },
            Self::NotIp(what) => what.fmt(f),
            Self::Link(link) => write!(f, "{link}, unsupported"),
            Self::Cut(layer) => write!(f, "truncated {layer}"),
            Self::Damaged(layer) => write!(f, "damaged {layer}"),
            Self::Others => f.write_str("others"),
        }
    }
}

/// Number of packets of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of all packets.
    pub packets: u64,
    /// Total length of the packets on the link, in bytes.
    pub bytes: u64,
    /// Total number of captured bytes.
    pub kept_bytes: u64,
    /// Number of plain TCP segments; usually almost all packets are of this kind.
    tcp: u64,
    others: Vec<(Kind, u64)>,
}

impl Tally {
    /// Counts a packet.
    #[inline]
    pub fn count(&mut self, captured: &Captured<'_>, packet: &Result<TcpPacket, NotTcp>) {
        self.packets += 1;
        self.bytes += u64::from(captured.original_len);
        self.kept_bytes += captured.bytes.len() as u64;
        match Kind::of(packet) {
            Kind::Tcp => self.tcp += 1,
            kind => self.count_other(kind),
        }
    }

    fn count_other(&mut self, kind: Kind) {
        if let Some((_, count)) = self.others.iter_mut().find(|(known, _)| *known == kind) {
            *count += 1;
        } else if self.others.len() < KINDS_MAX || kind.has_tcp() {
            self.others.push((kind, 1));
        } else {
            // If there are too many kinds, the last entry without TCP counts all kinds that have no entry.
            let mut places = self.others.iter_mut().rev();
            if let Some(last) = places.find(|(known, _)| !known.has_tcp()) {
                *last = (Kind::Others, last.1 + 1);
            }
        }
    }

    /// Returns the number of packets of a kind.
    #[must_use]
    pub fn of(&self, kind: Kind) -> u64 {
        let counts = self.by_kind();
        let found = counts.iter().find(|(known, _)| *known == kind);
        found.map_or(0, |(_, count)| *count)
    }

    /// Returns the number of packets with a TCP header.
    #[must_use]
    pub fn with_tcp(&self) -> u64 {
        let counts = self.by_kind();
        let with = counts.iter().filter(|(kind, _)| kind.has_tcp());
        with.map(|(_, count)| count).sum()
    }

    /// Returns the kinds that occur and their numbers of packets, starting with the most frequent kind.
    #[must_use]
    pub fn by_kind(&self) -> Vec<(Kind, u64)> {
        let tcp = (self.tcp > 0).then_some((Kind::Tcp, self.tcp));
        let mut counts: Vec<_> = tcp.into_iter().chain(self.others.iter().copied()).collect();
        counts.sort_by_key(|&(kind, count)| (std::cmp::Reverse(count), kind));
        counts
    }
}

impl fmt::Display for Tally {
    /// Writes a text such as "1000 packets: 980 TCP in VXLAN, 10 TCP, 10 UDP".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets", self.packets)?;
        for (place, (kind, count)) in self.by_kind().into_iter().enumerate() {
            let before = if place == 0 { ": " } else { ", " };
            write!(f, "{before}{count} {kind}")?;
        }
        Ok(())
    }
}
