//! Tests of files that are truncated, damaged, hostile, or not captures.

use std::io::{self, Read};

use dupack_packet::captured::{
    CaptureReader, Damage, INTERFACES_MAX, LinkType, Note, PACKET_BYTES_MAX, ReadError,
};
use proptest::prelude::*;

use super::files::{
    MICROS, ORDERS, Order, V4, block, interface, packet, packet_block, pcap, pcap_header,
    pcap_record, pcapng, read, section, segment,
};

const RAW: u32 = LinkType::RAW.0;

fn packets(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|seq| packet(V4, &segment(seq))).collect()
}

/// Returns a file of each format and byte order.
fn files(count: u32) -> Vec<Vec<u8>> {
    let packets = packets(count);
    let of = |order| {
        [
            pcap(order, MICROS, RAW, &packets),
            pcapng(order, RAW, &packets),
        ]
    };
    ORDERS.into_iter().flat_map(of).collect()
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
fn a_truncated_file_is_read_up_to_its_end() {
    for file in files(4) {
        let all = read(file.as_slice());
        let mut most = 0;
        for len in 0..file.len() {
            let cut = &file[..len];
            let Ok(mut reader) = CaptureReader::new(cut) else {
                assert!(len < 24, "{len}");
                continue;
            };
            let mut found = Vec::new();
            while let Some(captured) = reader.next_packet().unwrap() {
                found.push(captured.tcp().unwrap());
            }
            assert_eq!(found, all.tcp[..found.len()]);
            assert!(found.len() >= most, "{len}");
            most = found.len();
            match reader.notes()[..] {
                [] => {}
                [Note::CutShort { at, left }] => assert_eq!(at + left, len as u64),
                ref other => panic!("{len}: {other:?}"),
            }
        }
        assert_eq!(most, 3);
    }
}

#[test]
fn the_size_of_reads_does_not_matter() {
    for file in files(4) {
        assert_eq!(read(Dripping(&file)), read(file.as_slice()));
    }
}

#[test]
fn an_unknown_format_is_reported_with_its_first_bytes() {
    let error = |bytes: &[u8]| CaptureReader::new(bytes).unwrap_err().to_string();
    assert!(error(b"").contains("the capture is empty"));
    let text = error(b"GET / HTTP/1.1\r\nHost: example.org");
    assert!(
        text.contains("47 45 54 20") && text.contains("\"GET / HTTP/1.1\\r\\n\""),
        "{text}"
    );
    assert!(text.contains("pcap or pcapng"), "{text}");
    assert!(error(&[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]).contains("zstd"));
    assert!(error(b"snoop\0\0\0\0\0\0\x02").contains("editcap"));
    assert!(error(&pcap_header(Order::Big, MICROS, 1)[..20]).contains("within the file header"));
    // This section has no valid byte order.
    assert!(error(&[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28, 9, 9, 9, 9]).contains("not a capture"));
}

#[test]
fn io_errors_are_passed_on() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is on fire"))
        }
    }
    assert!(matches!(
        CaptureReader::new(Failing).unwrap_err(),
        ReadError::Io(_)
    ));
    let file = pcap(Order::Little, MICROS, RAW, &packets(2));
    let mut reader = CaptureReader::new(file.as_slice().chain(Failing)).unwrap();
    assert!(reader.next_packet().unwrap().is_some());
    assert!(reader.next_packet().unwrap().is_some());
    assert!(matches!(
        reader.next_packet().unwrap_err(),
        ReadError::Io(_)
    ));
    assert!(
        reader.next_packet().unwrap().is_none(),
        "the error is reported once"
    );
}

#[test]
fn implausible_lengths_are_rejected() {
    for order in ORDERS {
        for kept in [PACKET_BYTES_MAX + 1, u32::MAX] {
            let mut file = pcap_header(order, MICROS, RAW);
            for word in [1, 2, kept, kept] {
                file.extend(order.u32(word));
            }
            file.extend([0; 100]);
            let found = read(file.as_slice());
            let expected = Damage {
                at: 24,
                skipped: 116,
                found_next: false,
            };
            assert_eq!(found.notes, [Note::Damaged(expected)]);
        }
        for len in [0, 8, 13, 0x7fff_fffc, u32::MAX] {
            let mut file = section(order);
            file.extend(order.u32(6));
            file.extend(order.u32(len));
            file.extend([0; 100]);
            let found = read(file.as_slice());
            assert!(
                matches!(found.notes[..], [Note::Damaged(_)]),
                "{len}: {:?}",
                found.notes
            );
        }
    }
}

#[test]
fn a_packet_does_not_exceed_its_block() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, RAW, &[]));
    let mut body = Vec::new();
    for word in [0, 0, 7, 500_000, 500_000] {
        body.extend(order.u32(word));
    }
    let packet = packet(V4, &segment(5));
    body.extend(&packet[..60]);
    file.extend(block(order, 6, &body));
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let captured = reader.next_packet().unwrap().expect("a packet");
    assert_eq!((captured.bytes.len(), captured.original_len), (60, 500_000));
    assert_eq!(captured.tcp().unwrap().segment.len, 100);
}

#[test]
fn reading_resumes_at_the_first_record_after_damage() {
    for (file, first_at) in files(40).into_iter().zip([24, 48, 24, 48]) {
        let all = read(file.as_slice()).seqs();
        let record = (file.len() - first_at) / 40;
        // In one file, this range of bytes is overwritten, as by a damaged disk. The other file lacks these bytes. The
        // range begins in the 11th packet and ends in the 14th.
        let range = first_at + 10 * record + 30..first_at + 13 * record + 41;
        let mut holed = file.clone();
        holed[range.clone()].fill(0xee);
        let mut shorter = file.clone();
        shorter.drain(range);
        for damaged in [holed, shorter] {
            let found = read(damaged.as_slice());
            let seqs = found.seqs();
            assert!(
                seqs.starts_with(&all[..10]) && seqs.ends_with(&all[15..]),
                "{seqs:?}"
            );
            let [
                Note::Damaged(Damage {
                    found_next: true, ..
                }),
            ] = found.notes[..]
            else {
                panic!("{:?}", found.notes);
            };
        }
    }
}

#[test]
fn trailing_zeros_are_not_packets() {
    for mut file in files(3) {
        file.extend([0; 4096]);
        let found = read(file.as_slice());
        assert_eq!(found.packets, 3);
        let [Note::Damaged(damage)] = found.notes[..] else {
            panic!("{:?}", found.notes);
        };
        assert_eq!((damage.skipped, damage.found_next), (4096, false));
    }
}

#[test]
fn the_number_of_notes_is_bounded() {
    let order = Order::Little;
    let packet = packet(V4, &segment(1));
    let mut file = section(order);
    file.extend(interface(order, RAW, &[]));
    for _ in 0..100 {
        file.extend([0xff; 20]);
        file.extend(packet_block(order, 0, 7, &packet, &[]));
    }
    let found = read(file.as_slice());
    assert_eq!((found.packets, found.notes.len()), (100, 9));
    let last = Note::MoreDamaged {
        count: 92,
        skipped: 92 * 20,
    };
    assert_eq!(found.notes[8], last);
}

#[test]
fn interfaces_beyond_the_bound_are_ignored() {
    let order = Order::Little;
    let mut file = section(order);
    for _ in 0..INTERFACES_MAX + 10 {
        file.extend(interface(order, RAW, &[]));
    }
    let packet = packet(V4, &segment(1));
    file.extend(packet_block(order, INTERFACES_MAX as u32, 7, &packet, &[]));
    file.extend(section(order));
    file.extend(interface(order, RAW, &[]));
    file.extend(packet_block(order, 0, 7, &packet, &[]));
    let found = read(file.as_slice());
    assert_eq!(found.notes, [Note::Undescribed { count: 1 }]);
    assert_eq!(found.tcp[0].interface, INTERFACES_MAX as u32 + 10);
}

#[test]
fn a_packet_larger_than_the_buffer_is_read() {
    for order in ORDERS {
        let mut large = packet(V4, &segment(9));
        large.resize(PACKET_BYTES_MAX as usize, 0);
        let packets = [large, packet(V4, &segment(10))];
        for file in [
            pcap(order, MICROS, RAW, &packets),
            pcapng(order, RAW, &packets),
        ] {
            assert_eq!(read(file.as_slice()).seqs(), [9, 10]);
        }
    }
}

/// Reads a file to its end, if it is a capture.
fn survive(bytes: &[u8]) {
    let Ok(mut reader) = CaptureReader::new(bytes) else {
        return;
    };
    let mut number = 0;
    while let Some(captured) = reader.next_packet().unwrap() {
        number += 1;
        assert_eq!(captured.number, number);
        assert!(captured.bytes.len() <= captured.original_len as usize);
        if let Ok(packet) = captured.tcp() {
            let _ = packet.to_owned();
        }
    }
    for note in reader.notes() {
        assert!(!note.to_string().is_empty());
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), kind in 0..5_usize) {
        survive(&bytes);
        let mut file = match kind {
            0 => pcap_header(Order::Little, MICROS, 1),
            1 => pcap_header(Order::Big, MICROS, 113),
            2 => section(Order::Little),
            3 => [section(Order::Big), interface(Order::Big, 1, &[])].concat(),
            _ => [pcap_header(Order::Big, MICROS, 10), pcap_record(Order::Big, 1, 1, 600, &bytes)].concat(),
        };
        file.extend(&bytes);
        survive(&file);
    }

    #[test]
    fn changed_bytes_do_not_panic(
        which in 0..4_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut file = files(5).swap_remove(which);
        for (place, byte) in changes {
            let place = place.index(file.len());
            file[place] = byte;
        }
        survive(&file);
    }
}
