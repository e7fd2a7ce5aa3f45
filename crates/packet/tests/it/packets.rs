//! Tests of packets: the parser returns what was written, rejects damaged packets, and does not panic on any bytes.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use dupack_packet::emit::{CHECKSUM_AT, emit_with_order};
use dupack_packet::{Checksum, EmitError, Envelope, Order, ParseError, Verify, emit, parse};
use dupack_tcp::accurate_ecn::{CounterOrder, EcnCounters};
use dupack_tcp::connection::{Flags, Options, Segment, Timestamps};
use dupack_tcp::options::Sack;
use dupack_tcp::segment::{Codepoint, SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Maximum number of option bytes in a TCP header.
const OPTION_BYTES: usize = 40;

fn endpoints() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = (any::<[u8; 4]>(), any::<u16>())
        .prop_map(|(ip, port)| SocketAddr::new(Ipv4Addr::from(ip).into(), port));
    let v6 = (any::<[u8; 16]>(), any::<u16>())
        .prop_map(|(ip, port)| SocketAddr::new(Ipv6Addr::from(ip).into(), port));
    prop_oneof![(v4.clone(), v4), (v6.clone(), v6)]
}

fn options() -> impl Strategy<Value = Options> {
    let timestamps =
        (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo });
    let blocks = prop::collection::vec((any::<u32>(), any::<u32>()), 0..=4);
    (
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        any::<bool>(),
        blocks,
        prop::option::of(timestamps),
        prop::option::of(counters()),
    )
        .prop_map(
            |(mss, window_scale, permitted, blocks, timestamps, accurate_ecn)| {
                let mut sacks = SackBlocks::NONE;
                for (start, end) in blocks {
                    sacks.push(SackBlock {
                        start: SeqNumber(start),
                        end: SeqNumber(end),
                    });
                }
                Options {
                    mss,
                    window_scale,
                    sack_permitted: Sack::when(permitted),
                    sacks,
                    timestamps,
                    accurate_ecn,
                }
            },
        )
}

fn counters() -> impl Strategy<Value = EcnCounters> {
    let order = prop_oneof![Just(CounterOrder::Ect0First), Just(CounterOrder::Ect1First)];
    let counters = prop::collection::vec(any::<u32>(), 0..=3);
    (order, counters).prop_map(|(order, counters)| EcnCounters::new(order, &counters))
}

fn segments() -> impl Strategy<Value = (Segment, Vec<u8>)> {
    (
        any::<u32>(),
        any::<Option<u32>>(),
        any::<u16>(),
        any::<u16>(),
        options(),
        prop::collection::vec(any::<u8>(), 0..2000),
        any::<u8>(),
    )
        .prop_map(|(seq, ack, flags, window, options, payload, ecn)| {
            let segment = Segment {
                seq: SeqNumber(seq),
                ack: ack.map(SeqNumber),
                flags: Flags::from_bits(flags),
                window,
                options,
                len: payload.len() as u32,
                ecn: Codepoint::from_bits(ecn),
            };
            (segment, payload)
        })
}

fn orders() -> impl Strategy<Value = Option<Order>> {
    let order = prop_oneof![
        any::<u32>().prop_map(Order::Sent),
        any::<u32>().prop_map(Order::Echo)
    ];
    prop::option::of(order)
}

fn envelope(source: SocketAddr, destination: SocketAddr) -> Envelope {
    Envelope {
        source,
        destination,
        identification: 7,
        checksum: Checksum::Full,
    }
}

/// Returns the number of option bytes that everything except SACK blocks uses.
fn fixed_option_bytes(options: &Options, order: Option<Order>) -> usize {
    let alone = options.sack_permitted.is_on() && options.timestamps.is_none();
    4 * usize::from(options.mss.is_some())
        + 12 * usize::from(options.timestamps.is_some())
        + 4 * usize::from(options.window_scale.is_some())
        + options
            .accurate_ecn
            .map_or(0, |ecn| (2 + 3 * ecn.as_bytes().len()).next_multiple_of(4))
        + 8 * usize::from(order.is_some())
        + 4 * usize::from(alone)
}

/// Returns the first `count` blocks.
fn first_blocks(blocks: &SackBlocks, count: usize) -> SackBlocks {
    let mut kept = SackBlocks::NONE;
    for block in blocks.as_slice().iter().take(count) {
        kept.push(*block);
    }
    kept
}

fn write(
    ends: (SocketAddr, SocketAddr),
    segment: &Segment,
    order: Option<Order>,
    payload: &[u8],
) -> Vec<u8> {
    let mut buffer = vec![0xaa; 4000];
    let fill = |room: &mut [u8]| room.copy_from_slice(payload);
    let envelope = envelope(ends.0, ends.1);
    let length = emit_with_order(&mut buffer, &envelope, segment, order, fill).expect("it fits");
    buffer.truncate(length);
    buffer
}

/// Returns a configuration with the same cases in every run. A flipped bit in IPv6's length truncates the packet, and
/// the remaining bytes have a correct sum in one of 2¹⁶ cases, so that random cases would sometimes fail.
fn cases() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn written_packets_are_parsed_back(
        ends in endpoints(),
        (mut segment, payload) in segments(),
        order in orders(),
    ) {
        let packet = write(ends, &segment, order, &payload);
        let parsed = parse(&packet, Verify::Checksums).expect("it is whole");
        prop_assert_eq!((parsed.source, parsed.destination), ends);
        prop_assert_eq!(parsed.payload, &payload[..]);
        prop_assert_eq!(parsed.order, order);
        // SACK blocks use the remaining space: four bytes, and eight for each block.
        let left = OPTION_BYTES - fixed_option_bytes(&segment.options, order);
        let fitting = left.saturating_sub(4) / 8;
        segment.options.sacks = first_blocks(&segment.options.sacks, fitting);
        prop_assert_eq!(parsed.segment, segment);
    }

    #[test]
    fn another_parser_agrees_with_written_packets(
        ends in endpoints(),
        (segment, payload) in segments(),
    ) {
        let packet = write(ends, &segment, None, &payload);
        let sliced = SlicedPacket::from_ip(&packet).expect("it is an IP packet");
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else {
            panic!("it is TCP");
        };
        let checksum = match sliced.net {
            Some(NetSlice::Ipv4(ip)) => {
                let header = ip.header().to_header();
                prop_assert_eq!(header.calc_header_checksum(), header.header_checksum);
                tcp.calc_checksum_ipv4(header.source, header.destination)
            }
            Some(NetSlice::Ipv6(ip)) => {
                let header = ip.header().to_header();
                tcp.calc_checksum_ipv6(header.source, header.destination)
            }
            _ => panic!("it is IP"),
        };
        prop_assert_eq!(checksum, Ok(tcp.checksum()));
        prop_assert_eq!(tcp.sequence_number(), segment.seq.0);
        prop_assert_eq!(tcp.payload(), &payload[..]);
    }

    #[test]
    fn a_flipped_bit_is_detected(
        ends in endpoints(),
        (segment, payload) in segments(),
        at in any::<prop::sample::Index>(),
    ) {
        let whole = write(ends, &segment, None, &payload);
        let mut packet = whole.clone();
        let bit = at.index(8 * packet.len());
        packet[bit / 8] ^= 1 << (bit % 8);
        match parse(&packet, Verify::Checksums) {
            Err(_) => {}
            // No checksum covers the traffic class, flow label and hop limit of IPv6.
            Ok(parsed) => {
                prop_assert!(ends.0.is_ipv6());
                let traffic_class = (0..4).contains(&bit) || (12..16).contains(&bit);
                let flow_label = (8..12).contains(&bit) || (16..32).contains(&bit);
                let hop_limit = (56..64).contains(&bit);
                prop_assert!(traffic_class || flow_label || hop_limit, "{}", bit);
                prop_assert_eq!(parsed.payload, &payload[..]);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes, Verify::Checksums);
        let _ = parse(&bytes, Verify::Nothing);
        let _ = dupack_packet::Options::parse(&bytes);
    }

    #[test]
    fn every_truncated_packet_is_rejected(
        ends in endpoints(),
        (segment, payload) in segments(),
        at in any::<prop::sample::Index>(),
    ) {
        let packet = write(ends, &segment, None, &payload);
        let cut = &packet[..at.index(packet.len())];
        prop_assert!(parse(cut, Verify::Checksums).is_err());
    }

    #[test]
    fn an_offloaded_checksum_is_completed_by_summing_from_the_tcp_header(
        ends in endpoints(),
        (segment, payload) in segments(),
    ) {
        let mut buffer = vec![0; 4000];
        let offloaded = Envelope {
            checksum: Checksum::Offloaded,
            ..envelope(ends.0, ends.1)
        };
        let length = emit(&mut buffer, &offloaded, &segment, |room| {
            room.copy_from_slice(&payload);
        }).expect("it fits");
        let packet = &mut buffer[..length];
        let start = if ends.0.is_ipv4() { 20 } else { 40 };
        let mut sum: u64 = 0;
        for pair in packet[start..].chunks(2) {
            sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let at = start + CHECKSUM_AT;
        packet[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        prop_assert!(parse(packet, Verify::Checksums).is_ok());
    }
}

const V4: ([u8; 4], [u8; 4]) = ([192, 0, 2, 1], [192, 0, 2, 2]);

fn v6() -> [u8; 16] {
    Ipv6Addr::LOCALHOST.octets()
}

#[test]
fn padding_after_the_packet_is_ignored() {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(V4.0, V4.1, 64)
        .tcp(1, 2, 3, 4)
        .write(&mut packet, b"abc")
        .expect("it fits");
    packet.extend([0; 6]);
    let parsed = parse(&packet, Verify::Checksums).expect("it is whole");
    assert_eq!(parsed.payload, b"abc");
    assert_eq!(parsed.segment.ack, None);
}

#[test]
fn extension_headers_are_skipped_and_fragments_rejected() {
    let tcp = {
        let segment = Segment {
            len: 3,
            ..Segment::new(SeqNumber(9))
        };
        let local = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 1);
        let packet = write((local, local), &segment, None, b"abc");
        packet[40..].to_vec()
    };
    let packet = |next: u8, extension: &[u8]| {
        let length = (tcp.len() + extension.len()) as u16;
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([next, 64]);
        packet.extend(v6());
        packet.extend(v6());
        packet.extend(extension);
        packet.extend(&tcp);
        packet
    };
    // Hop-by-hop options and destination options consist of next header, length, and a PadN of six bytes.
    let plain = [6, 0, 1, 4, 0, 0, 0, 0];
    for next in [0, 60] {
        let whole = packet(next, &plain);
        let parsed = parse(&whole, Verify::Checksums).expect("it is skipped");
        assert_eq!(parsed.payload, b"abc");
    }
    // The fragment header has a reserved byte, offset 0 with more fragments to come, and an identification.
    let fragment = packet(44, &[6, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(
        parse(&fragment, Verify::Checksums),
        Err(ParseError::Fragment)
    );
    // The stated length of this extension exceeds the packet.
    let long = packet(0, &[6, 255, 1, 4, 0, 0, 0, 0]);
    assert_eq!(parse(&long, Verify::Checksums), Err(ParseError::Ip));
}

#[test]
fn other_protocols_and_ipv4_fragments_are_rejected_by_kind() {
    let mut udp = Vec::new();
    PacketBuilder::ipv4(V4.0, V4.1, 64)
        .udp(1, 2)
        .write(&mut udp, b"abc")
        .expect("it fits");
    let not_tcp = ParseError::NotTcp { protocol: 17 };
    assert_eq!(parse(&udp, Verify::Checksums), Err(not_tcp));
    let local = SocketAddr::from((V4.0, 1));
    let mut fragment = write((local, local), &Segment::new(SeqNumber(1)), None, b"");
    // The flag "more fragments" replaces the flag "don't fragment".
    fragment[6] = 0x20;
    assert_eq!(parse(&fragment, Verify::Nothing), Err(ParseError::Fragment));
    assert_eq!(
        parse(&fragment, Verify::Checksums),
        Err(ParseError::IpChecksum)
    );
    assert_eq!(parse(&[], Verify::Checksums), Err(ParseError::Ip));
}

#[test]
fn a_data_offset_beyond_the_segment_is_rejected() {
    let local = SocketAddr::from((V4.0, 1));
    let mut packet = write((local, local), &Segment::new(SeqNumber(1)), None, b"");
    for offset in [0, 4, 6, 15] {
        packet[32] = offset << 4;
        assert_eq!(parse(&packet, Verify::Nothing), Err(ParseError::Tcp));
    }
}

#[test]
fn oversized_segments_and_short_buffers_are_errors() {
    let v4 = SocketAddr::from((V4.0, 1));
    let v6 = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 1);
    let mut buffer = vec![0; 70_000];
    let mut long = Segment::new(SeqNumber(0));
    long.len = 0xffff - 40;
    assert_eq!(
        emit(&mut buffer, &envelope(v4, v4), &long, |_| {}),
        Ok(0xffff)
    );
    long.len += 1;
    let too_long = EmitError::PayloadTooLong {
        payload_len: long.len,
        max: 0xffff - 40,
    };
    assert_eq!(
        emit(&mut buffer, &envelope(v4, v4), &long, |_| {}),
        Err(too_long)
    );
    // The length in an IPv6 header does not include this header.
    assert!(emit(&mut buffer, &envelope(v6, v6), &long, |_| {}).is_ok());
    let short = EmitError::BufferTooShort {
        needed: 40,
        given: 39,
    };
    let empty = Segment::new(SeqNumber(0));
    assert_eq!(
        emit(&mut buffer[..39], &envelope(v4, v4), &empty, |_| {}),
        Err(short)
    );
    assert!(matches!(
        emit(&mut buffer, &envelope(v4, v6), &empty, |_| {}),
        Err(EmitError::MixedFamilies { .. })
    ));
}
