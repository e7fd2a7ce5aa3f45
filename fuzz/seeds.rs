//! Writes the fuzzers' seeds: `cargo run --manifest-path fuzz/Cargo.toml --bin seeds`.
//!
//! `codec` gets packets of every kind. `endpoint` gets a script for every recovery and role that opens a connection,
//! sends, receives and closes. `capture` gets a file for every format and link. `diagnosis` gets transfers with holes,
//! timeouts and closed windows. The fuzzers find other inputs.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use dupack_packet::icmp::packet_too_big;
use dupack_packet::{Checksum, Envelope, emit};
use dupack_tcp::connection::{Flags, Options, Segment, Timestamps};
use dupack_tcp::options::Sack;
use dupack_tcp::segment::SackBlock;
use dupack_tcp::seq::SeqNumber;

/// Upper bound on the number of recoveries in the catalog, including a few future ones.
const RECOVERIES: u8 = 12;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    write(&corpus.join("codec"), packets())?;
    write(&corpus.join("capture"), captures())?;
    write(&corpus.join("diagnosis"), transfers())?;
    write(&corpus.join("endpoint"), scripts())
}

fn write(folder: &Path, seeds: Vec<Vec<u8>>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("seed-{number:02}")), seed)?;
    }
    println!("{} seeds in {}", seeds.len(), folder.display());
    Ok(())
}

fn packets() -> Vec<Vec<u8>> {
    let v4: [SocketAddr; 2] = [([192, 0, 2, 1], 1).into(), ([192, 0, 2, 2], 2).into()];
    let v6: [SocketAddr; 2] = [
        ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 1).into(),
        ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 2], 2).into(),
    ];
    let (mut packets, mut messages) = (Vec::new(), Vec::new());
    for [source, destination] in [v4, v6] {
        let envelope = Envelope {
            source,
            destination,
            identification: 1,
            checksum: Checksum::Full,
        };
        for segment in segments() {
            let mut buffer = [0; 256];
            let fill = |payload: &mut [u8]| payload.fill(b'x');
            if let Ok(length) = emit(&mut buffer, &envelope, &segment, fill) {
                packets.push(buffer[..length].to_vec());
                messages.extend(packet_too_big(&buffer[..length], 1300));
            }
        }
    }
    // The messages come last, so that the other seeds keep their names.
    packets.extend(messages.into_iter().step_by(5));
    packets
}

fn segments() -> Vec<Segment> {
    let empty = Segment::new(SeqNumber(1000));
    let ack = Segment {
        ack: Some(SeqNumber(2000)),
        window: 500,
        ..empty
    };
    let syn = Segment {
        flags: Flags::SYN,
        options: Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: Sack::Permitted,
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            ..Options::NONE
        },
        ..empty
    };
    let mut sacking = ack;
    for start in [3000, 5000, 7000, 9000] {
        sacking.options.sacks.push(SackBlock {
            start: SeqNumber(start),
            end: SeqNumber(start + 1000),
        });
    }
    let with = |flags| Segment { flags, ..ack };
    let data = Segment {
        len: 33,
        ..with(Flags::PSH)
    };
    vec![
        empty,
        ack,
        syn,
        sacking,
        data,
        with(Flags::FIN),
        with(Flags::RST),
    ]
}

fn scripts() -> Vec<Vec<u8>> {
    let mut scripts = Vec::new();
    for recovery in 0..RECOVERIES {
        for role in [0, 1] {
            // These bytes choose recovery, dialect, switches and ISS; then MSS / 8 and buffer; then the peer's ISS.
            let mut script = vec![recovery, recovery / 4, 4 + role, 0, 0, 1, 0];
            script.extend([125, 0, 0, 200, 0, 0, 0, 2, 0]);
            // The handshake follows: window, MSS / 8, shift, timestamps (two numbers near zero).
            script.extend([6, 0, 0, 200, 0, 125, 7, 0, 0, 0, 0]);
            // The application writes 30,000 bytes.
            script.extend([2, 0, 0, 117, 48]);
            // The peer sends an ACK of everything, data, and SACK blocks. Then time passes.
            script.extend([7, 0, 0, 2, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
            script.extend([23, 0, 0, 2, 0, 0, 5, 0, 0, 1, 3, 100, 0, 0, 0, 0]);
            script.extend([
                39, 0, 0, 18, 0, 0, 3, 99, 0, 0, 0, 0, 2, 3, 20, 3, 9, 3, 40, 3, 8,
            ]);
            script.extend([1, 0, 0, 10, 0, 3, 0, 0, 1, 0, 4, 0]);
            // The peer sends a FIN, and time passes.
            script.extend([7, 0, 0, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 15, 0, 0]);
            scripts.push(script);
        }
    }
    // The next scripts are the same with path MTU discovery and an ICMP message about the first segment in flight, with
    // an MTU of 1024 bytes.
    for role in [0, 1] {
        for iss in [8, 12, 24, 28] {
            let mut script = vec![role, 1, 4 + role, 0, 0, 0, iss];
            script.extend([125, 0, 0, 200, 0, 0, 0, 2, 0]);
            script.extend([6, 0, 0, 200, 0, 125, 7, 0, 0, 0, 0]);
            script.extend([2, 0, 0, 117, 48]);
            script.extend([8, 4, 0, 1, 4, 0]);
            script.extend([7, 0, 0, 2, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
            script.extend([1, 0, 0, 10, 0]);
            scripts.push(script);
        }
    }
    scripts
}

/// Magic numbers of pcap files, and `true` if the file is little-endian.
const PCAPS: [(u32, bool); 4] = [
    (0xa1b2_c3d4, true),
    (0xa1b2_c3d4, false),
    (0xa1b2_3c4d, true),
    (0xa1b2_cd34, false),
];

/// Link types, and the bytes in front of an IPv4 packet.
const LINKS: [(u32, &[u8]); 11] = [
    (101, &[]),
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]),
    (
        1,
        &[
            2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0,
        ],
    ),
    (
        1,
        &[
            2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x64, 0x11, 0, 0, 1, 0, 60, 0, 0x21,
        ],
    ),
    (
        1,
        &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x47, 0, 1, 1, 64],
    ),
    (113, &[0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0]),
    (
        276,
        &[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0],
    ),
    (0, &[2, 0, 0, 0]),
    (108, &[0, 0, 0, 2]),
    (9, &[0xff, 3, 0, 0x21]),
    (
        10,
        &[
            0x57, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0,
        ],
    ),
];

/// A packet for `dupack_fuzz_entries::diagnosis`: sender, flags, sequence number, length, ACK, window, wait, options,
/// identification.
type Step = [u8; 9];

/// Returns transfers of eight segments per round trip: a clean one, one with a hole that SACK blocks report, one with a
/// timeout, and one with a closed window. The last input is a capture file.
fn transfers() -> Vec<Vec<u8>> {
    let open: [Step; 3] = [
        [0x02, 0x42, 0, 0, 0, 255, 0, 4, 1],
        [0x03, 0x02, 0, 0, 0, 255, 14, 4, 1],
        [0x02, 0x04, 0, 0, 0, 255, 4, 0, 2],
    ];
    let data = |id: u8| -> Step { [0x00, 0x84, 0, 128, 0, 255, 6, 1, id] };
    let ack: Step = [0x03, 0x04, 0, 0, 0, 255, 10, 0x11, 3];
    let behind: Step = [0x23, 0x04, 0, 0, 96, 255, 10, 0x83, 3];
    let repair: Step = [0x08, 0x84, 96, 128, 0, 255, 5, 1, 99];
    let late: Step = [0x08, 0x84, 96, 128, 0, 255, 20, 1, 99];
    let shut: Step = [0x03, 0x04, 0, 0, 0, 0, 18, 0x11, 3];
    let end: Step = [0x02, 0x01, 0, 0, 0, 255, 10, 1, 120];
    let ends: [&[Step]; 4] = [
        &[ack],
        &[behind, behind, behind, repair, ack],
        &[late, ack],
        &[shut, ack],
    ];
    let transfer = |last: &[Step]| {
        let rounds = (0..6_u8).flat_map(|round| {
            let sent = (0..8).map(move |n| data(8 * round + n));
            sent.chain(last.to_vec())
        });
        let steps = open.into_iter().chain(rounds).chain([end]);
        steps.flatten().collect::<Vec<u8>>()
    };
    let mut all: Vec<_> = ends.into_iter().map(transfer).collect();
    all.push([vec![0xff], captures().swap_remove(0)].concat());
    all
}

/// Returns files of two packets: every link in a pcap format, and pcapng in both byte orders with blocks of each kind.
fn captures() -> Vec<Vec<u8>> {
    let all = packets();
    // The two packets are an ACK with SACK blocks and a data segment, over IPv4.
    let two = [&all[3], &all[4]];
    let mut files = Vec::new();
    for ((magic, low_first), (link, before)) in PCAPS.iter().cycle().zip(LINKS) {
        files.push(pcap(
            Numbers {
                low_first: *low_first,
            },
            *magic,
            link,
            before,
            two,
        ));
    }
    for low_first in [true, false] {
        files.push(pcapng(Numbers { low_first }, two));
    }
    files.push(stored(&files[1]));
    // The tunnels come last, so that the other seeds keep their names.
    for (link, before) in TUNNELS {
        let inside = two.map(|packet| around(link, before, packet));
        let numbers = Numbers { low_first: true };
        files.push(pcap(numbers, 0xa1b2_c3d4, link, &[], inside.each_ref()));
    }
    files
}

/// Creates the bytes of a tunnel's header and of an Ethernet header in front of an IPv4 packet.
macro_rules! before_ethernet {
    ($($byte:expr),*) => {
        &[$($byte,)* 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]
    };
}

/// Link types, and the bytes around an IPv4 packet. For a tunnel, these are the protocol of the outer IPv4 header and
/// everything after that header; for UDP, without the source port and the length. The entries are VXLAN, GENEVE, GRE,
/// ERSPAN of each type, GTP-U with an extension header, IP in IP, and Linux's netfilter log.
const TUNNELS: [(u32, &[u8]); 9] = [
    (
        101,
        before_ethernet!(17, 0x12, 0xb5, 8, 0, 0, 0, 0, 0, 42, 0),
    ),
    (
        101,
        before_ethernet!(17, 0x17, 0xc1, 1, 0, 0x65, 0x58, 0, 0, 42, 0, 1, 2, 3, 0),
    ),
    (
        101,
        &[47, 0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1],
    ),
    (101, before_ethernet!(47, 0, 0, 0x88, 0xbe)),
    (
        101,
        before_ethernet!(
            47, 0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 100, 0, 1, 0, 0, 0, 0
        ),
    ),
    (
        101,
        before_ethernet!(
            47, 0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 100, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
            0, 0, 0, 0, 0
        ),
    ),
    (
        101,
        &[
            17, 0x08, 0x68, 0x34, 255, 0, 60, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x10, 9, 0,
        ],
    ),
    (101, &[4]),
    (
        239,
        &[
            2, 0, 0, 5, 8, 0, 1, 0, 8, 0, 3, 0, 6, 0, 10, 0, b'x', 0, 0, 0, 64, 0, 9, 0,
        ],
    ),
];

/// Returns `packet` inside the bytes `before` of an entry of [`TUNNELS`].
fn around(link: u32, before: &[u8], packet: &[u8]) -> Vec<u8> {
    let (protocol, header) = match before {
        [protocol, header @ ..] if link == 101 => (*protocol, header),
        _ => return [before, packet].concat(),
    };
    let len = header.len() + packet.len();
    let payload = match (protocol, header) {
        (17, [a, b, header @ ..]) => {
            let [high, low] = (len as u16 + 6).to_be_bytes();
            [&[0xc3, 0x50, *a, *b, high, low, 0, 0], header, packet].concat()
        }
        _ => [header, packet].concat(),
    };
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let mut ip = vec![0x45, 0, high, low, 0, 7, 0, 0, 64, protocol, 0, 0];
    ip.extend([203, 0, 113, 1, 203, 0, 113, 2]);
    ip.extend(payload);
    ip
}

/// Byte order of the numbers in a file.
#[derive(Clone, Copy)]
struct Numbers {
    low_first: bool,
}

impl Numbers {
    fn words(self, words: &[u32]) -> Vec<u8> {
        let bytes = |word: &u32| match self.low_first {
            true => word.to_le_bytes(),
            false => word.to_be_bytes(),
        };
        words.iter().flat_map(bytes).collect()
    }

    /// Returns the bytes of two numbers of 16 bits.
    fn halves(self, first: u16, second: u16) -> Vec<u8> {
        match self.low_first {
            true => [first.to_le_bytes(), second.to_le_bytes()].concat(),
            false => [first.to_be_bytes(), second.to_be_bytes()].concat(),
        }
    }
}

fn pcap(numbers: Numbers, magic: u32, link: u32, before: &[u8], packets: [&Vec<u8>; 2]) -> Vec<u8> {
    let mut file = numbers.words(&[magic]);
    file.extend(numbers.halves(2, 4));
    file.extend(numbers.words(&[0, 0, 0xffff, link]));
    for (secs, packet) in (1_000_000_000..).zip(packets) {
        let len = (before.len() + packet.len()) as u32;
        file.extend(numbers.words(&[secs, 500, len, len]));
        if magic == 0xa1b2_cd34 {
            file.extend([0; 8]);
        }
        file.extend(before);
        file.extend(packet);
    }
    file
}

/// Returns a file with two interfaces, three packets (in an enhanced, an obsolete and a simple block), and statistics.
fn pcapng(numbers: Numbers, packets: [&Vec<u8>; 2]) -> Vec<u8> {
    let block = |kind: u32, parts: &[&[u8]]| {
        let mut body = parts.concat();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = 12 + body.len() as u32;
        [numbers.words(&[kind, len]), body, numbers.words(&[len])].concat()
    };
    let option = |code: u16, value: &[u8]| {
        let mut option = numbers.halves(code, value.len() as u16);
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    };
    let version = numbers.halves(1, 0);
    let link = [numbers.halves(101, 0), numbers.words(&[0xffff])].concat();
    let nanos = option(9, &[9]);
    let [one, two] = packets;
    let sizes = |packet: &[u8]| [packet.len() as u32; 2];
    let [kept, original] = sizes(one);
    let enhanced = numbers.words(&[1, 0x0de0_b6b3, 5, kept, original]);
    let mut padded = one.clone();
    padded.resize(one.len().next_multiple_of(4), 0);
    let flags = [
        option(1, b"why"),
        option(2, &numbers.words(&[2])),
        option(0, b""),
    ]
    .concat();
    let [kept, original] = sizes(two);
    let obsolete = [
        numbers.halves(0, 0),
        numbers.words(&[0x0005_0000, 5, kept, original]),
    ]
    .concat();
    let statistics = [
        numbers.words(&[1, 0, 5]),
        option(5, &numbers.words(&[7, 0])),
    ]
    .concat();
    [
        block(
            0x0a0d_0d0a,
            &[&numbers.words(&[0x1a2b_3c4d]), &version, &[0xff; 8]],
        ),
        block(1, &[&link]),
        block(1, &[&link, &option(2, b"eth0"), &nanos]),
        block(6, &[&enhanced, &padded, &flags]),
        block(2, &[&obsolete, two]),
        block(3, &[&numbers.words(&[two.len() as u32]), two]),
        block(5, &[&statistics]),
    ]
    .concat()
}

/// Returns a gzip file (RFC 1952) that stores `bytes` uncompressed (RFC 1951 §3.2.4).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u16;
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    file.extend(len.to_le_bytes());
    file.extend((!len).to_le_bytes());
    file.extend(bytes);
    file.extend(crc32(bytes).to_le_bytes());
    file.extend((bytes.len() as u32).to_le_bytes());
    file
}

/// Returns the CRC-32 checksum of RFC 1952 §8.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| match crc & 1 {
        1 => crc >> 1 ^ 0xedb8_8320,
        _ => crc >> 1,
    };
    let whole = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), step)
    });
    !whole
}
