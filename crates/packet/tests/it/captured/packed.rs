//! Tests of captures that are compressed with gzip.

use std::io::{self, Read, Write};

use dupack_packet::captured::{CaptureReader, LinkType, Note, ReadError};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::files::{MICROS, ORDERS, Order, V4, packet, pcap, pcapng, read, segment};

const RAW: u32 = LinkType::RAW.0;

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns packets that do not compress well.
fn packets() -> Vec<Vec<u8>> {
    let number = |seq: u32| seq.wrapping_mul(0x9e37_79b9);
    (0..200)
        .map(|seq| packet(V4, &segment(number(seq))))
        .collect()
}

#[test]
fn compressed_files_are_decompressed() {
    for order in ORDERS {
        for file in [
            pcap(order, MICROS, RAW, &packets()),
            pcapng(order, RAW, &packets()),
        ] {
            assert_eq!(read(pack(&file).as_slice()), read(file.as_slice()));
        }
    }
}

#[test]
fn all_gzip_members_are_read() {
    let file = pcap(Order::Big, MICROS, RAW, &packets());
    let (one, two) = file.split_at(1001);
    let members = [pack(one), pack(two)].concat();
    assert_eq!(read(members.as_slice()), read(file.as_slice()));
}

#[test]
fn a_truncated_compressed_file_is_read_up_to_its_end() {
    let file = pack(&pcap(Order::Little, MICROS, RAW, &packets()));
    let all = read(file.as_slice());
    for len in (100..file.len()).step_by(7) {
        let Ok(mut reader) = CaptureReader::new(&file[..len]) else {
            assert!(len < 200, "{len}");
            continue;
        };
        let mut count = 0;
        while let Some(captured) = reader.next_packet().unwrap() {
            assert_eq!(captured.tcp().unwrap(), all.tcp[count]);
            count += 1;
        }
        let notes = reader.notes();
        let told = |note: &Note| matches!(note, Note::PackingEnds { .. });
        assert!(notes.iter().any(told), "{len}: {notes:?}");
    }
}

#[test]
fn a_damaged_compressed_file_is_read_up_to_the_damage() {
    let mut file = pack(&pcap(Order::Little, MICROS, RAW, &packets()));
    let middle = file.len() / 2;
    file[middle..middle + 20].fill(0xff);
    let found = read(file.as_slice());
    assert!(found.packets > 10, "{found:?}");
    let told = |note: &Note| matches!(note, Note::PackingEnds { .. } | Note::Damaged(_));
    assert!(found.notes.iter().any(told), "{:?}", found.notes);
}

/// Reader that returns one byte at a time.
struct Dripping<'a>(&'a [u8]);

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

#[test]
fn packets_before_damage_are_kept_for_any_size_of_reads() {
    let whole = pack(&pcap(Order::Little, MICROS, RAW, &packets()));
    for at in (200..whole.len()).step_by(97) {
        let mut file = whole.clone();
        file[at..].fill(0xff);
        let found = read(file.as_slice());
        assert_eq!(found, read(Dripping(&file)), "damaged from {at} on");
        // Damage loses no more packets than a file that ends at the same position.
        let cut = read(&whole[..at]);
        assert!(found.tcp.starts_with(&cut.tcp), "damaged from {at} on");
    }
    assert!(read(&whole[..whole.len() / 2]).packets > 50);
}

#[test]
fn empty_and_unrecognised_contents_are_errors() {
    let inside = |bytes: &[u8]| CaptureReader::new(pack(bytes).as_slice()).unwrap_err();
    assert!(matches!(inside(b""), ReadError::Empty));
    assert!(matches!(
        inside(b"hello, world"),
        ReadError::NoCapture { .. }
    ));
    let twice = inside(&pack(b"hello"));
    assert!(twice.to_string().contains("gzip twice"), "{twice}");
    let damaged = CaptureReader::new(&[0x1f, 0x8b, 0xff, 0xff, 0, 0][..]).unwrap_err();
    assert!(matches!(damaged, ReadError::Packed { .. }), "{damaged:?}");
}
