//! Captures that are written packet by packet, for traffic that no simulation produces.
//!
//! A [`Script`] takes [`Packet`]s in any order and writes their headers and the given text to a pcap file in order of
//! time. Each end numbers its IPv4 packets from 1, as a host does. Packets of other connections of the same host take
//! numbers from the same sequence.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dupack_packet::emit::MAX_HEADER_BYTES;
use dupack_packet::{Checksum, Envelope, emit};
use dupack_tcp::connection::{Flags, Segment, Timestamps};
use dupack_tcp::options::Sack;
use dupack_tcp::segment::SackBlock;
use dupack_tcp::seq::SeqNumber;

/// Ports of the client and the server.
pub const PORTS: [u16; 2] = [40_000, 443];

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client, with the address 10.0.0.1 or 2001:db8::1. It opens the connection.
    Client,
    /// The server, with the address 10.0.0.2 or 2001:db8::2.
    Server,
}

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ip {
    V4,
    V6,
}

/// Link type of libpcap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// IP packets without a link layer.
    Raw,
    /// Linux cooked capture, version 2, with the interface index.
    Cooked,
}

/// A packet of a script.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    at_s: f64,
    from: End,
    ports: [u16; 2],
    segment: Segment,
    id: Option<u16>,
    hop_limit: u8,
    interface: u32,
    text: &'static [u8],
}

/// Returns a packet of `from` at time `at_s` with the sequence number `seq`.
pub fn packet(at_s: f64, from: End, seq: u32) -> Packet {
    let mut segment = Segment::new(SeqNumber(seq));
    segment.window = 65_535;
    Packet {
        at_s,
        from,
        ports: PORTS,
        segment,
        id: None,
        hop_limit: 64,
        interface: 1,
        text: &[],
    }
}

impl Packet {
    #[must_use]
    pub fn ack(mut self, number: u32) -> Self {
        self.segment.ack = Some(SeqNumber(number));
        self
    }

    #[must_use]
    pub fn len(mut self, bytes: u32) -> Self {
        self.segment.len = bytes;
        self
    }

    /// Adds data, of which the capture keeps `text`. The packet has at least as many bytes as `text`.
    #[must_use]
    pub fn text(mut self, text: &'static [u8]) -> Self {
        self.segment.len = self.segment.len.max(text.len() as u32);
        self.text = text;
        self
    }

    #[must_use]
    pub fn flags(mut self, flags: Flags) -> Self {
        self.segment.flags = self.segment.flags.with(flags);
        self
    }

    #[must_use]
    pub fn push(self) -> Self {
        self.flags(Flags::PSH)
    }

    #[must_use]
    pub fn fin(self) -> Self {
        self.flags(Flags::FIN)
    }

    #[must_use]
    pub fn window(mut self, field: u16) -> Self {
        self.segment.window = field;
        self
    }

    /// Makes the packet a SYN with these options, or a SYN-ACK if it has an ACK number.
    #[must_use]
    pub fn syn(mut self, mss: u16, scale: Option<u8>) -> Self {
        self.segment.options.mss = Some(mss);
        self.segment.options.window_scale = scale;
        self.segment.options.sack_permitted = Sack::Permitted;
        self.flags(Flags::SYN)
    }

    /// Removes the SACK-permitted option.
    #[must_use]
    pub fn without_sack(mut self) -> Self {
        self.segment.options.sack_permitted = Sack::Absent;
        self
    }

    #[must_use]
    pub fn sack(mut self, start: u32, end: u32) -> Self {
        let [start, end] = [start, end].map(SeqNumber);
        self.segment.options.sacks.push(SackBlock { start, end });
        self
    }

    #[must_use]
    pub fn stamps(mut self, value: u32, echo: u32) -> Self {
        self.segment.options.timestamps = Some(Timestamps { value, echo });
        self
    }

    /// Sets the IPv4 identification. By default, the packet gets the next identification of its host.
    #[must_use]
    pub fn id(mut self, id: u16) -> Self {
        self.id = Some(id);
        self
    }

    #[must_use]
    pub fn hop_limit(mut self, hops: u8) -> Self {
        self.hop_limit = hops;
        self
    }

    #[must_use]
    pub fn interface(mut self, index: u32) -> Self {
        self.interface = index;
        self
    }

    /// Sets the ports of the client and the server.
    #[must_use]
    pub fn ports(mut self, client: u16, server: u16) -> Self {
        self.ports = [client, server];
        self
    }

    /// Returns the same packet at a later time.
    #[must_use]
    pub fn later(mut self, seconds: f64) -> Self {
        self.at_s += seconds;
        self
    }
}

/// A capture under construction.
#[derive(Clone, Debug)]
pub struct Script {
    ip: Ip,
    link: Link,
    packets: Vec<Packet>,
    /// Last identification that each end has used.
    ids: [u16; 2],
    /// Number of consecutive records that are written in reverse order of time.
    group: usize,
    /// Number of bytes of each packet that the capture keeps.
    kept: usize,
}

impl Script {
    pub fn new(ip: Ip, link: Link) -> Self {
        Self {
            ip,
            link,
            packets: Vec::new(),
            ids: [0; 2],
            group: 1,
            kept: usize::MAX,
        }
    }

    /// Adds a packet. A packet without an identification gets the next one of its end.
    pub fn add(&mut self, mut packet: Packet) {
        let id = &mut self.ids[packet.from as usize];
        *id = id.wrapping_add(1);
        packet.id = packet.id.or(Some(*id));
        self.packets.push(packet);
    }

    /// Adds a packet that is captured several times. Each function in `seen` returns the packet as it appears in one of
    /// these captures.
    pub fn add_each(
        &mut self,
        packet: Packet,
        seen: impl IntoIterator<Item = fn(Packet) -> Packet>,
    ) {
        let id = &mut self.ids[packet.from as usize];
        *id = id.wrapping_add(1);
        let packet = packet.id(packet.id.unwrap_or(*id));
        self.packets
            .extend(seen.into_iter().map(|as_seen| as_seen(packet)));
    }

    /// Skips the next identification of an end, for a packet that is missing in the capture.
    pub fn unseen(&mut self, from: End) {
        let id = &mut self.ids[from as usize];
        *id = id.wrapping_add(1);
    }

    /// Opens the connection with three packets. The round-trip time as seen by the client is `rtt_s` seconds. The
    /// initial sequence numbers are 999 (client) and 4999 (server). Both ends announce an MSS of 1460 and a window
    /// scale of 7.
    pub fn open(&mut self, at_s: f64, rtt_s: f64) {
        self.add(packet(at_s, End::Client, 999).syn(1460, Some(7)));
        self.add(
            packet(at_s + rtt_s, End::Server, 4999)
                .syn(1460, Some(7))
                .ack(1000),
        );
        self.add(
            packet(at_s + rtt_s + 1e-4, End::Client, 1000)
                .ack(5000)
                .window(500),
        );
    }

    /// Removes all packets for which `keep` returns `false`.
    pub fn retain(&mut self, keep: impl FnMut(&Packet) -> bool) {
        self.packets.retain(keep);
    }

    /// Keeps only the first `kept` bytes of each packet.
    pub fn keep_bytes(&mut self, kept: usize) {
        self.kept = kept;
    }

    /// Reverses each group of `group` consecutive packets, as if several interfaces or processors wrote the capture.
    pub fn reverse_groups(&mut self, group: usize) {
        self.group = group;
    }

    /// Returns the capture as a pcap file.
    pub fn pcap(&self) -> Vec<u8> {
        let mut packets = self.packets.clone();
        packets.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
        for group in packets.chunks_mut(self.group.max(1)) {
            group.reverse();
        }
        let link: u32 = match self.link {
            Link::Raw => 101,
            Link::Cooked => 276,
        };
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, link] {
            file.extend(u32::to_le_bytes(word));
        }
        for packet in &packets {
            let (mut frame, length) = self.frame(packet);
            frame.truncate(self.kept);
            let micros = (packet.at_s * 1e6).round() as u64;
            let (seconds, rest) = (1_700_000_000 + micros / 1_000_000, micros % 1_000_000);
            for word in [seconds, rest, frame.len() as u64, length as u64] {
                file.extend((word as u32).to_le_bytes());
            }
            file.extend(frame);
        }
        file
    }

    /// Returns the headers and the text of a packet, and the full length of the packet.
    fn frame(&self, packet: &Packet) -> (Vec<u8>, usize) {
        let address = |end: End| -> IpAddr {
            let host = end as u8 + 1;
            match self.ip {
                Ip::V4 => Ipv4Addr::new(10, 0, 0, host).into(),
                Ip::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into()).into(),
            }
        };
        let ends = [End::Client, End::Server]
            .map(|end| SocketAddr::new(address(end), packet.ports[end as usize]));
        let [source, destination] = match packet.from {
            End::Client => ends,
            End::Server => [ends[1], ends[0]],
        };
        let envelope = Envelope {
            source,
            destination,
            identification: packet.id.unwrap_or(0),
            checksum: Checksum::Offloaded,
        };
        let mut buffer = vec![0; MAX_HEADER_BYTES + packet.segment.len as usize];
        let length = emit(&mut buffer, &envelope, &packet.segment, |data| {
            data[..packet.text.len()].copy_from_slice(packet.text);
        });
        let length = length.expect("a packet");
        let hops_at = if self.ip == Ip::V4 { 8 } else { 7 };
        buffer[hops_at] = packet.hop_limit;
        let kept = length - packet.segment.len as usize + packet.text.len();
        buffer.truncate(kept);
        match self.link {
            Link::Raw => (buffer, length),
            Link::Cooked => {
                let kind: u16 = if self.ip == Ip::V4 { 0x0800 } else { 0x86dd };
                let mut frame = Vec::with_capacity(20 + kept);
                frame.extend(kind.to_be_bytes());
                frame.extend([0; 2]);
                frame.extend(packet.interface.to_be_bytes());
                frame.extend([0, 1, 4, 6, 0, 0, 0, 0, 0, 0, 0, 0]);
                frame.extend(buffer);
                (frame, 20 + length)
            }
        }
    }
}

impl Packet {
    /// Returns the end that sends the packet.
    pub fn from(&self) -> End {
        self.from
    }

    /// Returns the number of data bytes.
    pub fn bytes(&self) -> u32 {
        self.segment.len
    }

    /// Returns the identification of the packet, or 0 if it has none yet.
    pub fn number_of_host(&self) -> u16 {
        self.id.unwrap_or(0)
    }

    /// Returns the capture time in seconds.
    pub fn at_s(&self) -> f64 {
        self.at_s
    }
}
