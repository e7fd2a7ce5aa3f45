//! Tests of all formats of capture files, in both byte orders.

use dupack_packet::captured::{CaptureReader, Heading, LinkType, Note};

use super::files::{
    MICROS, NANOS, ORDERS, Order, V4, block, interface, option, packet, packet_block, pcap,
    pcap_header, pcap_record, pcapng, read, section, segment,
};

const RAW: u32 = LinkType::RAW.0;
const SECOND: u64 = 1_000_000_000;

fn packets(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|seq| packet(V4, &segment(seq))).collect()
}

#[test]
fn pcap_timestamps_are_in_microseconds_or_nanoseconds() {
    for order in ORDERS {
        for (magic, nanos) in [(MICROS, 250_000_000), (NANOS, 250_000)] {
            let file = pcap(order, magic, RAW, &packets(3));
            let found = read(file.as_slice());
            assert_eq!(found.seqs(), [0, 1, 2], "{order:?}");
            let expected = [0, 1, 2].map(|n| (1_000_000_000 + n) * SECOND + nanos);
            assert_eq!(found.times(), expected, "{order:?}");
            assert_eq!(found.notes, []);
            let numbers: Vec<_> = found.tcp.iter().map(|packet| packet.number).collect();
            assert_eq!(numbers, [1, 2, 3]);
        }
    }
}

#[test]
fn the_modified_linux_format_has_longer_record_headers() {
    for order in ORDERS {
        let mut file = pcap_header(order, 0xa1b2_cd34, RAW);
        for packet in packets(2) {
            let record = pcap_record(order, 5, 6, packet.len(), &packet);
            file.extend(&record[..16]);
            file.extend([0, 0, 0, 2, 8, 0, 4, 0]);
            file.extend(&record[16..]);
        }
        let found = read(file.as_slice());
        assert_eq!(found.seqs(), [0, 1], "{order:?}");
        assert_eq!(found.times(), [5 * SECOND + 6000; 2]);
    }
}

#[test]
fn old_versions_swap_the_two_lengths() {
    let packet = &packets(1)[0];
    for (version, swapped) in [(2, true), (3, true), (3, false), (4, false), (543, true)] {
        let mut file = pcap_header(Order::Little, MICROS, RAW);
        file[6..8].copy_from_slice(&Order::Little.u16(version));
        let mut record = pcap_record(Order::Little, 1, 2, 152, &packet[..60]);
        if swapped {
            let (kept, original) = record[8..16].split_at_mut(4);
            kept.swap_with_slice(original);
        }
        file.extend(record);
        let mut reader = CaptureReader::new(file.as_slice()).unwrap();
        let captured = reader.next_packet().unwrap().expect("a packet");
        assert_eq!(
            (captured.original_len, captured.bytes.len()),
            (152, 60),
            "{version}"
        );
    }
}

#[test]
fn the_frame_check_bits_are_not_part_of_the_link_type() {
    // The link type field has bit 26 set, and a length of four bytes for the frame check sequence.
    let file = pcap(Order::Big, MICROS, 0x4400_0000 | RAW, &packets(1));
    assert_eq!(read(file.as_slice()).seqs(), [0]);
}

#[test]
fn pcapng_is_read_in_either_byte_order() {
    for order in ORDERS {
        let found = read(pcapng(order, RAW, &packets(3)).as_slice());
        assert_eq!(found.seqs(), [0, 1, 2], "{order:?}");
        let expected = [0, 1, 2].map(|n| (1_000_000_000 + n) * SECOND + 250_000_000);
        assert_eq!(found.times(), expected, "{order:?}");
        assert_eq!(found.notes, []);
    }
}

#[test]
fn timestamps_use_the_resolution_of_their_interface() {
    let cases: [(u8, u64, u64); 9] = [
        (0, 3, 3 * SECOND),
        (3, 3, 3_000_000),
        (6, 3, 3_000),
        (9, 3, 3),
        (12, 3_999, 3),
        (127, u64::MAX, 0),
        // The unit is 2⁻³² s, as in NTP.
        (0x80 | 32, 1 << 31, SECOND / 2),
        (0x80, 3, 3 * SECOND),
        (0x80 | 127, u64::MAX, 0),
    ];
    for order in ORDERS {
        for (resolution, ticks, expected) in cases {
            let mut file = section(order);
            file.extend(interface(order, RAW, &option(order, 9, &[resolution])));
            file.extend(packet_block(order, 0, ticks, &packets(1)[0], &[]));
            assert_eq!(read(file.as_slice()).times(), [expected], "{resolution:#x}");
        }
    }
}

#[test]
fn timestamps_saturate() {
    for (offset, ticks, expected) in [
        (7_i64, 5_000_000, 12 * SECOND),
        (-3, 5_000_000, 2 * SECOND),
        (-6, 5_000_000, 0),
        (i64::MIN, 5, 0),
        (i64::MAX, 5, u64::MAX),
        (0, u64::MAX, u64::MAX),
    ] {
        let order = Order::Little;
        let mut file = section(order);
        let offset = option(order, 14, &order.u64(offset.cast_unsigned()));
        file.extend(interface(order, RAW, &offset));
        file.extend(packet_block(order, 0, ticks, &packets(1)[0], &[]));
        assert_eq!(read(file.as_slice()).times(), [expected]);
    }
}

#[test]
fn interfaces_belong_to_their_section() {
    let packet = &packets(1)[0];
    let mut ethernet = vec![0; 12];
    ethernet.extend([8, 0]);
    ethernet.extend(packet);
    let (big, little) = (Order::Big, Order::Little);
    let mut file = section(little);
    let mut options = option(little, 2, b"eth0");
    options.extend(option(little, 9, &[9]));
    file.extend(interface(little, RAW, &[]));
    file.extend(interface(little, 1, &options));
    file.extend(packet_block(little, 1, 7, &ethernet, &[]));
    file.extend(packet_block(little, 0, 7, packet, &[]));
    file.extend(section(big));
    file.extend(interface(big, 1, &[]));
    file.extend(packet_block(big, 0, 8, &ethernet, &[]));
    let found = read(file.as_slice());
    assert_eq!(found.times(), [7, 7000, 8000]);
    let interfaces: Vec<_> = found.tcp.iter().map(|packet| packet.interface).collect();
    assert_eq!(interfaces, [1, 0, 2]);

    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    reader.next_packet().unwrap().expect("a packet");
    let [first, second] = reader.interfaces() else {
        panic!("{:?}", reader.interfaces());
    };
    assert_eq!((first.name.as_deref(), first.link), (None, LinkType::RAW));
    assert_eq!(second.name.as_deref(), Some("eth0"));
}

#[test]
fn all_three_kinds_of_packet_blocks_are_read() {
    let packet = &packets(1)[0];
    for order in ORDERS {
        let mut file = section(order);
        file.extend(interface(order, RAW, &[]));
        file.extend(packet_block(order, 0, 7, packet, &[]));
        let mut simple = order.u32(packet.len() as u32).to_vec();
        simple.extend(packet);
        file.extend(block(order, 3, &simple));
        let mut obsolete = order.u16(0).to_vec();
        obsolete.extend(order.u16(9));
        let len = packet.len() as u32;
        for word in [0, 8, len, len] {
            obsolete.extend(order.u32(word));
        }
        obsolete.extend(packet);
        file.extend(block(order, 2, &obsolete));
        let found = read(file.as_slice());
        assert_eq!(found.seqs(), [0, 0, 0], "{order:?}");
        // A simple packet has no time and gets that of the previous packet.
        assert_eq!(found.times(), [7000, 7000, 8000]);
        assert_eq!(found.notes, [Note::Timeless { count: 1 }]);
    }
}

#[test]
fn other_blocks_are_skipped_and_drop_counts_kept() {
    let order = Order::Big;
    let mut file = section(order);
    file.extend(block(order, 4, &vec![7; 3_000_000]));
    file.extend(interface(order, RAW, &[]));
    file.extend(block(order, 0x8000_1234, &[1, 2, 3, 4]));
    file.extend(packet_block(order, 0, 7, &packets(1)[0], &[]));
    for dropped in [3, 5] {
        let mut statistics = vec![0; 12];
        statistics.extend(option(order, 5, &order.u64(dropped)));
        statistics.extend(option(order, 7, &order.u64(u64::MAX)));
        file.extend(block(order, 5, &statistics));
    }
    let found = read(file.as_slice());
    assert_eq!(
        (found.seqs(), found.notes),
        (vec![0], vec![Note::Dropped { count: 5 }])
    );
}

#[test]
fn packet_flags_give_the_direction() {
    for order in ORDERS {
        for (flags, expected) in [
            (0b01, Heading::Incoming),
            (0b10, Heading::Outgoing),
            (0b11, Heading::Unknown),
        ] {
            let mut options = option(order, 1, b"a comment");
            options.extend(option(order, 2, &order.u32(flags | 0x100)));
            options.extend(option(order, 0, &[]));
            let mut file = section(order);
            file.extend(interface(order, RAW, &[]));
            file.extend(packet_block(order, 0, 7, &packets(1)[0], &options));
            assert_eq!(read(file.as_slice()).tcp[0].heading, expected);
        }
    }
}

#[test]
fn packets_of_undescribed_interfaces_are_counted_but_not_parsed() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(packet_block(order, 3, 7, &packets(1)[0], &[]));
    file.extend(interface(order, RAW, &[]));
    file.extend(packet_block(order, 0, 7, &packets(1)[0], &[]));
    let found = read(file.as_slice());
    assert_eq!((found.seqs(), found.packets), (vec![0], 2));
    assert_eq!(found.notes, [Note::Undescribed { count: 1 }]);
}

#[test]
fn timestamps_that_go_backwards_are_reported() {
    let order = Order::Little;
    let mut file = pcap_header(order, MICROS, RAW);
    let packet = &packets(1)[0];
    for secs in [10, 12, 9, 11, 10] {
        file.extend(pcap_record(order, secs, 0, packet.len(), packet));
    }
    let [
        Note::Backwards {
            count: 2,
            first: 3,
            most,
        },
    ] = read(file.as_slice()).notes[..]
    else {
        panic!("{:?}", read(file.as_slice()).notes);
    };
    assert_eq!(most.as_nanos(), 3 * SECOND);
}
