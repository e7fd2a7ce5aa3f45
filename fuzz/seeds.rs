//! Writes the fuzzers' seeds: `cargo run --manifest-path fuzz/Cargo.toml --bin seeds`.
//!
//! Packets of every kind for `codec`, and for `endpoint` a script for every recovery and role
//! that opens a connection, sends, receives and closes. The fuzzers find the rest.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use dupack_tcp::connection::{Flags, Options, Segment, Timestamps};
use dupack_tcp::segment::SackBlock;
use dupack_tcp::options::Sack;
use dupack_tcp::seq::SeqNumber;
use dupack_wire::icmp::packet_too_big;
use dupack_wire::{Checksum, Envelope, emit};

/// Recoveries in the catalog, and a few more for those to come.
const RECOVERIES: u8 = 12;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    write(&corpus.join("codec"), packets())?;
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
    // Last, so that the others keep their names.
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
            // Recovery, dialect, switches, ISS; MSS / 8, buffer; the peer's ISS.
            let mut script = vec![recovery, recovery / 4, 4 + role, 0, 0, 1, 0];
            script.extend([125, 0, 0, 200, 0, 0, 0, 2, 0]);
            // Handshake: window, MSS / 8, shift, timestamps (two numbers near zero).
            script.extend([6, 0, 0, 200, 0, 125, 7, 0, 0, 0, 0]);
            // 30,000 bytes are written.
            script.extend([2, 0, 0, 117, 48]);
            // An ACK of everything, data, SACK blocks, time.
            script.extend([7, 0, 0, 2, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
            script.extend([23, 0, 0, 2, 0, 0, 5, 0, 0, 1, 3, 100, 0, 0, 0, 0]);
            script.extend([
                39, 0, 0, 18, 0, 0, 3, 99, 0, 0, 0, 0, 2, 3, 20, 3, 9, 3, 40, 3, 8,
            ]);
            script.extend([1, 0, 0, 10, 0, 3, 0, 0, 1, 0, 4, 0]);
            // The peer's FIN, and time.
            script.extend([7, 0, 0, 1, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 15, 0, 0]);
            scripts.push(script);
        }
    }
    // The same, with a search for the path's MTU and a message about the first segment in flight:
    // 1024 bytes.
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
