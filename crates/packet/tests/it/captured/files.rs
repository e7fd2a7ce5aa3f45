//! Capture files and packets, byte by byte.

use std::net::SocketAddr;

use dupack_packet::captured::{CaptureReader, Captured, Heading, LinkType, Note, TcpPacket};
use dupack_packet::{CaptureTime, Checksum, Envelope, emit};
use dupack_tcp::connection::{Flags, Options, Segment, Timestamps};
use dupack_tcp::segment::SackBlock;
use dupack_tcp::seq::SeqNumber;

/// Byte order of the numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Big,
    Little,
}

pub const ORDERS: [Order; 2] = [Order::Big, Order::Little];

impl Order {
    pub fn u16(self, number: u16) -> [u8; 2] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }

    pub fn u32(self, number: u32) -> [u8; 4] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }

    pub fn u64(self, number: u64) -> [u8; 8] {
        match self {
            Self::Big => number.to_be_bytes(),
            Self::Little => number.to_le_bytes(),
        }
    }
}

pub const MICROS: u32 = 0xa1b2_c3d4;
pub const NANOS: u32 = 0xa1b2_3c4d;

/// Returns the header of a pcap file.
pub fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    for word in [0, 0, 65_535, link] {
        file.extend(order.u32(word));
    }
    file
}

/// Returns a pcap record with `kept`, the bytes kept of a packet of `original` bytes.
pub fn pcap_record(
    order: Order,
    secs: u32,
    fraction: u32,
    original: usize,
    kept: &[u8],
) -> Vec<u8> {
    let mut record = Vec::new();
    for word in [secs, fraction, kept.len() as u32, original as u32] {
        record.extend(order.u32(word));
    }
    record.extend(kept);
    record
}

/// Returns a pcap file of complete packets, one second apart.
pub fn pcap(order: Order, magic: u32, link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap_header(order, magic, link);
    for (number, packet) in (0..).zip(packets) {
        let at = 1_000_000_000 + number;
        file.extend(pcap_record(order, at, 250_000, packet.len(), packet));
    }
    file
}

/// Returns a pcapng block.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = order.u32(12 + padded as u32);
    let mut block = order.u32(kind).to_vec();
    block.extend(len);
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(len);
    block
}

pub fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

/// Returns an option of a block.
pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = order.u16(code).to_vec();
    option.extend(order.u16(value.len() as u16));
    option.extend(value);
    option.resize(4 + value.len().next_multiple_of(4), 0);
    option
}

pub fn interface(order: Order, link: u32, options: &[u8]) -> Vec<u8> {
    let mut body = order.u16(link as u16).to_vec();
    body.extend([0; 2]);
    body.extend(order.u32(65_535));
    body.extend(options);
    block(order, 1, &body)
}

/// Returns an enhanced packet block.
pub fn packet_block(order: Order, on: u32, ticks: u64, packet: &[u8], options: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let len = packet.len() as u32;
    for word in [on, (ticks >> 32) as u32, ticks as u32, len, len] {
        body.extend(order.u32(word));
    }
    body.extend(packet);
    body.resize(20 + packet.len().next_multiple_of(4), 0);
    body.extend(options);
    block(order, 6, &body)
}

/// Returns a pcapng file of complete packets, one second apart, on one interface with times in microseconds.
pub fn pcapng(order: Order, link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = section(order);
    file.extend(interface(order, link, &[]));
    for (number, packet) in (0..).zip(packets) {
        let ticks = (1_000_000_000 + number) * 1_000_000 + 250_000;
        file.extend(packet_block(order, 0, ticks, packet, &[]));
    }
    file
}

pub const V4: [&str; 2] = ["192.0.2.1:40000", "198.51.100.7:80"];
pub const V6: [&str; 2] = ["[2001:db8::1]:40000", "[2001:db8::2]:80"];

/// Returns a segment that uses all fields.
pub fn segment(seq: u32) -> Segment {
    let mut segment = Segment {
        ack: Some(SeqNumber(77_000)),
        flags: Flags::PSH,
        window: 513,
        options: Options {
            timestamps: Some(Timestamps { value: 5, echo: 6 }),
            ..Options::NONE
        },
        len: 100,
        ..Segment::new(SeqNumber(seq))
    };
    segment.options.sacks.push(SackBlock {
        start: SeqNumber(80_000),
        end: SeqNumber(81_000),
    });
    segment
}

/// Returns an IP packet.
pub fn packet(ends: [&str; 2], segment: &Segment) -> Vec<u8> {
    let [source, destination]: [SocketAddr; 2] = ends.map(|end| end.parse().unwrap());
    let envelope = Envelope {
        source,
        destination,
        identification: 0x1234,
        checksum: Checksum::Full,
    };
    let mut buffer = vec![0; 70_000];
    let length = emit(&mut buffer, &envelope, segment, |payload| {
        payload.fill(b'x')
    })
    .unwrap();
    buffer.truncate(length);
    buffer
}

/// Returns a captured packet with all its bytes.
pub fn captured(link: LinkType, bytes: &[u8]) -> Captured<'_> {
    Captured {
        number: 1,
        at: CaptureTime::from_unix_nanos(1),
        link,
        interface: 0,
        heading: Heading::Unknown,
        original_len: bytes.len() as u32,
        bytes,
    }
}

/// Contents of a file: the TCP packets, the total number of packets, and the notes at its end.
#[derive(Debug, PartialEq)]
pub struct Read {
    pub tcp: Vec<TcpPacket>,
    pub packets: u64,
    pub notes: Vec<Note>,
}

impl Read {
    pub fn seqs(&self) -> Vec<u32> {
        self.tcp.iter().map(|packet| packet.segment.seq.0).collect()
    }

    pub fn times(&self) -> Vec<u64> {
        let times = self.tcp.iter().map(|packet| packet.at.as_unix_nanos());
        times.collect()
    }
}

/// Reads a file. Reading must not fail.
pub fn read(file: impl std::io::Read) -> Read {
    let mut reader = CaptureReader::new(file).unwrap();
    let mut tcp = Vec::new();
    while let Some(captured) = reader.next_packet().unwrap() {
        tcp.extend(captured.tcp());
    }
    Read {
        tcp,
        packets: reader.packets(),
        notes: reader.notes(),
    }
}
