//! Other captures of the same traffic, derived from the packets of one capture by pure functions.

use std::collections::BTreeMap;

use dupack_packet::captured::CaptureReader;

use super::plan::Draws;

/// An IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Nanoseconds since 1970.
    pub at: u64,
    pub bytes: Vec<u8>,
    /// Length of the packet on the link, in bytes.
    pub length: u32,
}

/// Kind of derived capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Derived {
    Whole,
    WithoutSyn,
    Forward,
    Backward,
    Missing1,
    Missing5,
    Missing20,
    Missing50,
    Router,
    AnyInterface,
    Cut54,
    Middle,
    SharedIds,
    Vxlan,
    Gre,
}

impl Derived {
    pub const ALL: [Self; 15] = [
        Self::Whole,
        Self::WithoutSyn,
        Self::Forward,
        Self::Backward,
        Self::Missing1,
        Self::Missing5,
        Self::Missing20,
        Self::Missing50,
        Self::Router,
        Self::AnyInterface,
        Self::Cut54,
        Self::Middle,
        Self::SharedIds,
        Self::Vxlan,
        Self::Gre,
    ];

    /// Returns `true` if the capture has only one direction, or if more than a tenth of the packets are missing.
    pub const fn lacks_much(self) -> bool {
        matches!(
            self,
            Self::Forward | Self::Backward | Self::Missing20 | Self::Missing50
        )
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::WithoutSyn => "without-syn",
            Self::Forward => "client-only",
            Self::Backward => "server-only",
            Self::Missing1 => "missing-1",
            Self::Missing5 => "missing-5",
            Self::Missing20 => "missing-20",
            Self::Missing50 => "missing-50",
            Self::Router => "router",
            Self::AnyInterface => "any",
            Self::Cut54 => "cut-54",
            Self::Middle => "middle",
            Self::SharedIds => "shared-ids",
            Self::Vxlan => "vxlan",
            Self::Gre => "gre",
        }
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::Whole => "as captured",
            Self::WithoutSyn => "without its first packets",
            Self::Forward => "packets of the client only",
            Self::Backward => "packets of the server only",
            Self::Missing1 => "1 % of the packets missing",
            Self::Missing5 => "5 % of the packets missing",
            Self::Missing20 => "20 % of the packets missing",
            Self::Missing50 => "50 % of the packets missing",
            Self::Router => "both interfaces of a router",
            Self::AnyInterface => "two interfaces of a host (`-i any`)",
            Self::Cut54 => "packets cut to 54 bytes",
            Self::Middle => "middle of the traffic",
            Self::SharedIds => "IPv4 identification shared with other connections",
            Self::Vxlan => "in a tunnel (VXLAN)",
            Self::Gre => "in a tunnel (GRE)",
        }
    }

    /// Derives the capture from `packets`, and returns a file in libpcap's format.
    pub fn make(self, packets: &[Packet], seed: u64) -> Vec<u8> {
        let mut draws = Draws::new(seed ^ 0x6465_7269_7665 ^ ((self as u64) << 40));
        let client = packets.first().map(|first| source(&first.bytes).to_vec());
        let from_client = |packet: &&Packet| Some(source(&packet.bytes)) == client.as_deref();
        let mut keep = |share: f64| -> Vec<Packet> {
            let kept = packets.iter().filter(|_| !draws.chance(share));
            kept.cloned().collect()
        };
        match self {
            Self::Whole => pcap(RAW, packets),
            Self::WithoutSyn => {
                let skip = (3 + draws.count(0, 20)) as usize;
                pcap(RAW, packets.get(skip..).unwrap_or_default())
            }
            Self::Forward => {
                let kept: Vec<Packet> = packets.iter().filter(from_client).cloned().collect();
                pcap(RAW, &kept)
            }
            Self::Backward => {
                let kept = packets.iter().filter(|packet| !from_client(packet));
                let kept: Vec<Packet> = kept.cloned().collect();
                pcap(RAW, &kept)
            }
            Self::Missing1 => pcap(RAW, &keep(0.01)),
            Self::Missing5 => pcap(RAW, &keep(0.05)),
            Self::Missing20 => pcap(RAW, &keep(0.2)),
            Self::Missing50 => pcap(RAW, &keep(0.5)),
            Self::Router => {
                let delay = draws.count(50_000, 500_000);
                let mut all = Vec::with_capacity(packets.len() * 2);
                for packet in packets {
                    all.push(ethernet(packet, 1));
                    let mut forwarded = packet.clone();
                    forwarded.at += delay;
                    one_hop(&mut forwarded.bytes);
                    all.push(ethernet(&forwarded, 2));
                }
                all.sort_by_key(|packet| packet.at);
                pcap(ETHERNET, &all)
            }
            Self::AnyInterface => {
                let delay = draws.count(1_000, 20_000);
                let mut all = Vec::with_capacity(packets.len() * 2);
                for packet in packets {
                    all.push(cooked(packet, 2));
                    let mut copy = packet.clone();
                    copy.at += delay;
                    all.push(cooked(&copy, 3));
                }
                all.sort_by_key(|packet| packet.at);
                pcap(COOKED, &all)
            }
            Self::Cut54 => {
                let mut all: Vec<Packet> = packets.iter().map(|p| ethernet(p, 1)).collect();
                all.iter_mut().for_each(|packet| packet.bytes.truncate(54));
                pcap(ETHERNET, &all)
            }
            Self::Middle => {
                let times = packets.first().zip(packets.last());
                let (start, end) = times.map_or((0, 0), |(one, other)| (one.at, other.at));
                let long = end.saturating_sub(start);
                let range = start + long * 3 / 10..start + long * 7 / 10;
                let kept = packets.iter().filter(|packet| range.contains(&packet.at));
                let kept: Vec<Packet> = kept.cloned().collect();
                pcap(RAW, &kept)
            }
            Self::SharedIds => pcap(RAW, &shared_ids(packets, &mut draws)),
            Self::Vxlan => {
                let inner = packets.iter().map(|packet| ethernet(packet, 1));
                let all: Vec<Packet> = inner.map(|frame| vxlan(&frame)).collect();
                pcap(RAW, &all)
            }
            Self::Gre => pcap(RAW, &packets.iter().map(gre).collect::<Vec<Packet>>()),
        }
    }
}

/// Returns the packets with other IPv4 identifications, as if each host used one counter for the packets to all
/// destinations. Connections that are not in the capture also use numbers of this counter, in bursts.
fn shared_ids(packets: &[Packet], draws: &mut Draws) -> Vec<Packet> {
    let mut last: BTreeMap<Vec<u8>, u16> = BTreeMap::new();
    let mut renumbered = packets.to_vec();
    for packet in renumbered.iter_mut().filter(|p| is_v4(&p.bytes)) {
        let first = draws.word() as u16;
        let id = last.entry(source(&packet.bytes).to_vec()).or_insert(first);
        let others = if draws.chance(0.15) {
            draws.count(1, 12) as u16
        } else {
            0
        };
        *id = id.wrapping_add(1 + others);
        if let Some(field) = packet.bytes.get_mut(4..6) {
            field.copy_from_slice(&id.to_be_bytes());
        }
        sum_header(&mut packet.bytes);
    }
    renumbered
}

/// Adds two headers in front of the packet: the IPv4 header of a tunnel, with addresses of RFC 5737, and the tunnel's
/// own `header`.
fn outer(packet: &Packet, protocol: u8, header: &[u8]) -> Packet {
    let length = (20 + header.len() as u32 + packet.length) as u16;
    let mut ip = [
        0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
    ];
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    sum_header(&mut ip);
    framed(packet, &[&ip, header].concat())
}

/// Adds the headers of VXLAN (RFC 7348).
fn vxlan(frame: &Packet) -> Packet {
    let length = (16 + frame.length) as u16;
    let mut header = [0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 42, 0];
    header[4..6].copy_from_slice(&length.to_be_bytes());
    outer(frame, 17, &header)
}

/// Adds the headers of GRE (RFC 2784).
fn gre(packet: &Packet) -> Packet {
    let [high, low] = ether_type(packet);
    outer(packet, 47, &[0, 0, high, low])
}

const RAW: u32 = 101;
const ETHERNET: u32 = 1;
const COOKED: u32 = 276;

/// Reads all packets of a file.
pub fn read(file: &[u8]) -> Result<Vec<Packet>, String> {
    let mut reader = CaptureReader::new(file).map_err(|error| error.to_string())?;
    let mut packets = Vec::new();
    while let Some(one) = reader.next_packet().map_err(|error| error.to_string())? {
        packets.push(Packet {
            at: one.at.as_unix_nanos(),
            bytes: one.bytes.to_vec(),
            length: one.original_len,
        });
    }
    packets.sort_by_key(|packet| packet.at);
    Ok(packets)
}

/// Returns a file in libpcap's format with times in nanoseconds.
fn pcap(link: u32, packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, link] {
        file.extend(u32::to_le_bytes(word));
    }
    for packet in packets {
        let (seconds, nanos) = (packet.at / 1_000_000_000, packet.at % 1_000_000_000);
        for word in [
            seconds as u32,
            nanos as u32,
            packet.bytes.len() as u32,
            packet.length,
        ] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&packet.bytes);
    }
    file
}

fn is_v4(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first >> 4 == 4)
}

/// Returns the source address of an IP packet.
fn source(bytes: &[u8]) -> &[u8] {
    let range = if is_v4(bytes) { 12..16 } else { 8..24 };
    bytes.get(range).unwrap_or_default()
}

/// Decrements the hop limit, as a router does.
fn one_hop(bytes: &mut [u8]) {
    if is_v4(bytes) {
        if let Some(header) = bytes.get_mut(..20) {
            header[8] = header[8].saturating_sub(1);
        }
        sum_header(bytes);
    } else if let Some(hops) = bytes.get_mut(7) {
        *hops = hops.saturating_sub(1);
    }
}

/// Corrects the checksum of an IPv4 header (RFC 791).
fn sum_header(bytes: &mut [u8]) {
    if let Some(header) = bytes.get_mut(..20) {
        header[10..12].fill(0);
        let words = header.chunks_exact(2);
        let mut sum: u32 = words
            .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
            .sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

fn framed(packet: &Packet, header: &[u8]) -> Packet {
    Packet {
        at: packet.at,
        bytes: [header, &packet.bytes].concat(),
        length: packet.length + header.len() as u32,
    }
}

fn ether_type(packet: &Packet) -> [u8; 2] {
    if is_v4(packet.bytes.as_slice()) {
        [0x08, 0x00]
    } else {
        [0x86, 0xdd]
    }
}

fn ethernet(packet: &Packet, interface: u8) -> Packet {
    let mut header = [2, 0, 0, 0, interface, 1, 2, 0, 0, 0, interface, 2, 0, 0];
    header[12..].copy_from_slice(&ether_type(packet));
    framed(packet, &header)
}

/// Returns the packet with the header of a Linux cooked capture, version 2.
fn cooked(packet: &Packet, interface: u8) -> Packet {
    let mut header = [0; 20];
    header[..2].copy_from_slice(&ether_type(packet));
    header[7] = interface;
    header[9] = 1;
    header[11] = 6;
    header[12] = 2;
    framed(packet, &header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets() -> Vec<Packet> {
        let mut bytes = vec![0; 40];
        (bytes[0], bytes[8], bytes[15], bytes[19]) = (0x45, 64, 1, 2);
        let mut answer = bytes.clone();
        (answer[15], answer[19]) = (2, 1);
        (0..100)
            .map(|n| Packet {
                at: n * 1_000_000,
                bytes: if n % 2 == 0 {
                    bytes.clone()
                } else {
                    answer.clone()
                },
                length: 1040,
            })
            .collect()
    }

    #[test]
    fn derived_captures_have_the_packets_that_they_are_to_have() {
        for (derived, count) in [
            (Derived::Whole, 100..=100),
            (Derived::WithoutSyn, 75..=97),
            (Derived::Forward, 50..=50),
            (Derived::Backward, 50..=50),
            (Derived::Missing20, 65..=95),
            (Derived::Missing50, 30..=70),
            (Derived::Router, 200..=200),
            (Derived::AnyInterface, 200..=200),
            (Derived::Cut54, 100..=100),
            (Derived::Middle, 38..=41),
            (Derived::SharedIds, 100..=100),
            (Derived::Vxlan, 100..=100),
            (Derived::Gre, 100..=100),
        ] {
            let made = read(&derived.make(&packets(), 1)).unwrap();
            assert!(count.contains(&made.len()), "{derived:?}: {}", made.len());
            if derived == Derived::Cut54 {
                assert!(made.iter().all(|packet| packet.bytes.len() == 54));
            }
        }
    }

    #[test]
    fn other_connections_take_numbers() {
        let shared = shared_ids(&packets(), &mut Draws::new(1));
        let of_client = shared.iter().filter(|packet| packet.bytes[15] == 1);
        let ids: Vec<u16> = of_client
            .map(|packet| u16::from_be_bytes([packet.bytes[4], packet.bytes[5]]))
            .collect();
        let steps = ids.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
        let steps: Vec<u16> = steps.collect();
        assert!(steps.iter().all(|step| (1..=13).contains(step)));
        assert!(steps.iter().any(|step| *step > 1));
    }

    #[test]
    fn what_is_in_a_tunnel_is_found() {
        for derived in [Derived::Vxlan, Derived::Gre] {
            let file = derived.make(&packets(), 1);
            let mut reader = CaptureReader::new(file.as_slice()).unwrap();
            let one = reader.next_packet().unwrap().unwrap();
            let inner = one.bytes.len() - packets()[0].bytes.len();
            assert_eq!(one.bytes[inner..], packets()[0].bytes, "{derived:?}");
        }
    }

    #[test]
    fn a_router_counts_a_hop_and_the_checksum_stays_right() {
        let mut bytes = packets()[0].bytes.clone();
        one_hop(&mut bytes);
        assert_eq!(bytes[8], 63);
        let words = bytes[..20].chunks_exact(2);
        let sum: u32 = words
            .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
            .sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
}
