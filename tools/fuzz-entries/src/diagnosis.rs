//! Fuzzer entry point that makes a whole capture from arbitrary bytes, and runs every analysis on this capture.

use std::io::Cursor;
use std::time::Duration as Time;

use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::{Diagnosis, Flow, Selection, StreamFindings, diagnose};
use dupack_diagnosis_tell::annotate::annotate;
use dupack_diagnosis_tell::asking;
use dupack_diagnosis_tell::film::{Remarks, retell};
use dupack_diagnosis_tell::numbers::{
    connections_csv, groups_csv, json, limits_csv, retransmissions_csv, stalls_csv,
};
use dupack_diagnosis_tell::summary::{Look, summary};
use dupack_packet::captured::CaptureReader;
use dupack_report::table::Colour;

/// First byte of an input whose remaining bytes are a capture file. In other inputs, the bytes choose the packets of a
/// capture.
const IS_FILE: u8 = 0xff;

/// Diagnoses a capture. Checks that the shares of time sum to the whole and that every output can be written.
///
/// # Panics
/// If a check fails.
pub fn diagnosis(bytes: &[u8]) {
    let file = match bytes.split_first() {
        Some((&IS_FILE, file)) => file.to_vec(),
        _ => capture(bytes),
    };
    let Ok(mut reader) = CaptureReader::new(Cursor::new(&file)) else {
        return;
    };
    let diagnosis = diagnose(&mut reader, Flow::All, &mut ()).expect("bytes in memory can be read");
    for stream in diagnosis
        .connections
        .iter()
        .flat_map(|one| one.all_streams())
    {
        holds(stream);
    }
    write(&diagnosis);
    again(&diagnosis, &file);
}

fn holds(stream: &StreamFindings) {
    let shares = &stream.shares;
    let sum: Time = Limit::ALL
        .into_iter()
        .map(|limit| Time::from_nanos(shares.of(limit).as_nanos()))
        .sum();
    assert_eq!(
        sum,
        Time::from_nanos(shares.duration().as_nanos()),
        "shares"
    );
    let account = &stream.account;
    assert!(account.needless() + account.lost_again <= 2 * account.retransmissions);
    let all: u64 = account.by_class.iter().sum();
    assert!(stream.retransmissions.len() as u64 <= all && account.retransmissions <= all);
    assert!(!dupack_diagnosis_tell::story::story(stream).is_empty());
    let _ = asking::experiment(stream);
}

fn write(diagnosis: &Diagnosis) {
    for width in [20, 80] {
        let look = Look {
            colour: Colour::No,
            width: Some(width),
            detailed: 3,
            listed: 10,
        };
        assert!(!summary(diagnosis, None, &look).is_empty());
    }
    assert!(json(diagnosis, None).starts_with('{'));
    for table in [
        connections_csv,
        groups_csv,
        limits_csv,
        retransmissions_csv,
        stalls_csv,
    ] {
        assert!(!table(diagnosis).is_empty());
    }
}

/// Reads the capture again to list its packets, and again to write an annotated copy.
fn again(diagnosis: &Diagnosis, file: &[u8]) {
    let reader = || CaptureReader::new(Cursor::new(file)).expect("it was read before");
    let numbers: Vec<u64> = diagnosis.connections.iter().map(|one| one.number).collect();
    let selection = Selection::default();
    retell(&mut reader(), &numbers, &selection, Remarks::None, &mut ())
        .expect("it was read before");
    let told: Vec<_> = diagnosis.connections.iter().take(3).collect();
    let mut copy = Vec::new();
    annotate(
        (&mut reader(), &mut reader()),
        &told,
        &selection,
        &mut copy,
        &mut (),
    )
    .expect("memory can be written");
}

/// Makes a file of raw IP packets, with timestamps in microseconds, from a few bytes per packet.
fn capture(bytes: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
        file.extend(word.to_le_bytes());
    }
    let mut world = World::default();
    for step in bytes.chunks_exact(STEP_BYTES) {
        let Ok(step) = <[u8; STEP_BYTES]>::try_from(step) else {
            continue;
        };
        let packet = world.packet(step);
        let (seconds, micros) = (world.micros / 1_000_000, world.micros % 1_000_000);
        for word in [seconds as u32, micros as u32] {
            file.extend(word.to_le_bytes());
        }
        let length = packet.len() as u32;
        file.extend(length.to_le_bytes());
        file.extend((length + world.cut).to_le_bytes());
        file.extend(packet);
    }
    file
}

/// Number of bytes that choose one packet.
const STEP_BYTES: usize = 9;

/// State of both ends of two connections.
#[derive(Default)]
struct World {
    micros: u64,
    /// Next sequence number of each end of each connection.
    next: [[u32; 2]; 2],
    /// Number of bytes of the packet that are missing in the capture.
    cut: u32,
}

impl World {
    /// Returns the packet of a step. The bytes of the step choose the sender, flags, sequence number, length, ACK
    /// number, window and options of the packet.
    fn packet(&mut self, step: [u8; STEP_BYTES]) -> Vec<u8> {
        let [who, flags, from, len, ack, window, wait, options, id] = step;
        self.micros += 1_u64 << (wait % 24);
        let (connection, side) = (usize::from(who >> 7), usize::from(who & 1));
        let at = self.next[connection];
        let len = if who & 2 == 0 { u32::from(len) * 8 } else { 0 };
        let own = match who & 12 {
            0 | 4 => at[side],
            8 => at[side].wrapping_sub(u32::from(from) * 64),
            _ => at[side].wrapping_add(u32::from(from) * 64),
        };
        // SYN, FIN and RST are rare.
        let rare = match flags & 0x3f {
            0..=4 => flags & 0x07,
            _ => 0,
        };
        let end = own.wrapping_add(len).wrapping_add(u32::from(rare & 2 != 0));
        if end.wrapping_sub(at[side]) < 1 << 20 {
            self.next[connection][side] = end;
        }
        let other = at[1 - side];
        let ack = match who & 48 {
            0 | 16 => other,
            32 => other.wrapping_sub(u32::from(ack) * 64),
            _ => other.wrapping_add(u32::from(ack)),
        };
        let mut tcp = Vec::new();
        let ports = [[1000_u16, 80], [2000, 443]][connection];
        tcp.extend(ports[side].to_be_bytes());
        tcp.extend(ports[1 - side].to_be_bytes());
        tcp.extend(own.to_be_bytes());
        tcp.extend(ack.to_be_bytes());
        let said = self.options(options, other, ack);
        let words = (20 + said.len()) / 4;
        let is_ack = if flags & 0x40 == 0 { 0x10 } else { 0 };
        tcp.extend([(words as u8) << 4, rare | is_ack | (flags & 0x80)]);
        let window = if window < 8 {
            0
        } else {
            u16::from(window) << 6
        };
        tcp.extend(window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(said);
        self.cut = len;
        ip(&tcp, len, id, side)
    }

    /// Returns TCP options: timestamps, SACK blocks and the options of a SYN, as `which` selects.
    fn options(&self, which: u8, other: u32, ack: u32) -> Vec<u8> {
        let mut said = Vec::new();
        if which & 1 != 0 {
            said.extend([1, 1, 8, 10]);
            said.extend(((self.micros / 1000) as u32).to_be_bytes());
            let ago = u32::from(which >> 4) * 20;
            said.extend(
                ((self.micros / 1000) as u32)
                    .wrapping_sub(ago)
                    .to_be_bytes(),
            );
        }
        if which & 2 != 0 {
            said.extend([1, 1, 5, 10]);
            let start = ack.wrapping_add(u32::from(which >> 3) * 32);
            said.extend(start.to_be_bytes());
            said.extend(start.wrapping_add(256).min(other.max(start)).to_be_bytes());
        }
        if which & 4 != 0 {
            said.extend([2, 4, 4, 0, 1, 3, 3, which >> 4, 1, 1, 4, 2]);
        }
        said
    }
}

/// Returns the headers of the IPv4 packet, because the capture contains no data.
fn ip(tcp: &[u8], len: u32, id: u8, side: usize) -> Vec<u8> {
    let total = 20 + tcp.len() as u32 + len;
    let mut packet = vec![0x45, 0];
    packet.extend((total as u16).to_be_bytes());
    packet.extend([0, id, 0x40, 0, 64, 6, 0, 0]);
    let ends = [[10, 0, 0, 1], [10, 0, 0, 2]];
    packet.extend(ends[side]);
    packet.extend(ends[1 - side]);
    packet.extend(tcp);
    packet
}
