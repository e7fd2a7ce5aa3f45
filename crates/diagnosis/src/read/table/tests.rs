//! Tests of the limits with many connections, and of robustness against arbitrary captures.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dupack_packet::captured::Cut;
use dupack_tcp::connection::{Flags, Timestamps};
use dupack_tcp::segment::SackBlock;
use dupack_tcp::seq::SeqNumber;
use proptest::prelude::*;

use super::*;
use crate::read::follow::Nobody;
use crate::read::packet::tests::{from, ms};
use crate::read::side::Side;
use crate::testing::{self, Recorder, data, handshake};

/// Returns the same packet in another connection, with another port of the opener.
fn of_port(mut packet: Packet, port: u16) -> Packet {
    for address in [&mut packet.source, &mut packet.destination] {
        if address.port() == 4000 {
            address.set_port(port);
        }
    }
    packet
}

fn limits(connections: usize, memory: usize) -> Limits {
    Limits {
        connections,
        memory,
        batch: 1,
    }
}

#[test]
fn both_directions_of_either_family_are_one_connection() {
    let mut table = Table::<Recorder>::new(Limits::default());
    let (four, six) = (from(Side::Opener, 0.0, 1), from(Side::Answerer, 0.0, 1));
    table.take(&four, &mut Nobody);
    table.take(&six, &mut Nobody);
    assert_eq!(table.connections(), 1);
    for mut packet in [four, six] {
        for address in [&mut packet.source, &mut packet.destination] {
            if let IpAddr::V4(ip) = address.ip() {
                address.set_ip(ip.to_ipv6_mapped().into());
            }
        }
        table.take(&packet, &mut Nobody);
    }
    assert_eq!(table.connections(), 2);
}

#[test]
fn the_number_of_connections_is_bounded_and_busy_ones_outlive_a_scan() {
    let mut table = Table::<Recorder>::new(limits(100, usize::MAX));
    for packet in handshake(40.0, 0.1) {
        table.take(&packet, &mut Nobody);
    }
    let mut finished = Vec::new();
    for n in 0..5000_u32 {
        let at = 50.0 + f64::from(n);
        let mut scan = of_port(from(Side::Opener, at, n).syn(1000), 5000);
        scan.destination.set_port(n as u16);
        table.take(&scan, &mut Nobody);
        if n % 20 == 0 {
            table.take(&data(at, n * 50, 1000), &mut Nobody);
        }
        finished.extend(std::iter::from_fn(|| table.take_finished()));
    }
    assert_eq!(table.live().count(), 100);
    assert!(finished.iter().all(|connection| !connection.has_data()));
    let rest = table.finish(&mut Nobody);
    assert_eq!((rest.len() + finished.len()) as u64, 5001);
    let first = rest.first().expect("the busy connection");
    assert_eq!(first.number(), 1);
    assert_eq!(first.counts(Side::Opener).data_packets, 250);
}

#[test]
fn memory_is_bounded_over_all_connections() {
    let bound = 1 << 20;
    let mut table = Table::<Recorder>::new(limits(1000, bound));
    let mut most = 0;
    for n in 0..20_000_u32 {
        let port = (n % 200) as u16;
        let round = n / 200;
        // There are 200 connections. Each packet stands for 40 segments, and there are no ACKs.
        let packet = data(f64::from(n), round * 40_000, 40_000);
        table.take(&of_port(packet, port), &mut Nobody);
        most = most.max(table.memory());
    }
    assert!(most <= bound, "{most}");
    assert!(table.live().count() < 200, "{}", table.live().count());
}

#[test]
fn a_closed_connection_is_handed_out_after_a_while() {
    let mut table = Table::<Recorder>::new(Limits::default());
    let end = from(Side::Answerer, 50.0, 1).flags(Flags::RST);
    for packet in handshake(40.0, 0.1).into_iter().chain([end]) {
        table.take(&packet, &mut Nobody);
    }
    for n in 0..100 {
        let other = of_port(from(Side::Opener, 30_000.0, n), 5000);
        table.take(&other, &mut Nobody);
    }
    assert!(table.take_finished().is_none());
    for n in 0..100 {
        let other = of_port(from(Side::Opener, 70_000.0, n), 5000);
        table.take(&other, &mut Nobody);
    }
    let finished = table.take_finished().expect("a finished connection");
    assert_eq!(finished.number(), 1);
    assert!(table.take_finished().is_none());
}

#[test]
fn times_never_go_back() {
    let mut clock = Clock::default();
    let captured = [10.0, 9.5, 20_000.0, 100.0, 150.0];
    let read = captured.map(|at| clock.read(ms(at)).as_secs_f64() * 1e3);
    // A packet that is late by half a second counts as disorder. If the time goes back by 19.9 s, the clock was set,
    // and time continues from there.
    assert_eq!(read, [10.0, 10.0, 20_000.0, 20_000.0, 20_050.0]);
    assert_eq!(clock.steps, 1);
}

/// Generates sequence numbers that are close together, or arbitrary.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        (0_u32..40).prop_map(|n| n * 500),
        (0_u32..40).prop_map(|n| u32::MAX - n * 500),
        any::<u32>(),
    ]
}

fn flags() -> impl Strategy<Value = Flags> {
    prop_oneof![
        6 => Just(Flags::NONE),
        1 => Just(Flags::SYN),
        1 => Just(Flags::FIN),
        1 => any::<u16>().prop_map(Flags::from_bits),
    ]
}

prop_compose! {
    fn packets_of_any_kind()(
        side in prop_oneof![Just(Side::Opener), Just(Side::Answerer)],
        at in prop_oneof![(0_u64..5000).prop_map(|ms| ms * 1_000_000), any::<u64>()],
        port in prop_oneof![4 => Just(4000_u16), 1 => 4001_u16..4005],
        six in prop_oneof![4 => Just(false), 1 => Just(true)],
        seq in number(),
        ack in proptest::option::of(number()),
        flags in flags(),
        len in prop_oneof![4 => (0_u32..5).prop_map(|n| n * 500), 1 => any::<u32>()],
        window in prop_oneof![Just(0), any::<u16>()],
        sacks in proptest::collection::vec((number(), number()), 0..5),
        stamps in proptest::option::of((number(), number())),
        scale in proptest::option::of(any::<u8>()),
        mss in proptest::option::of(any::<u16>()),
        id in proptest::option::of(0_u16..50),
        cut in prop_oneof![Just(Cut::Whole), Just(Cut::Payload), Just(Cut::Options), Just(Cut::Window)],
    ) -> Packet {
        let mut packet = of_port(from(side, 0.0, seq), port);
        packet.at = Instant::from_nanos(at);
        if six {
            packet.source.set_ip(Ipv6Addr::LOCALHOST.into());
        }
        packet.segment.ack = ack.map(SeqNumber);
        packet.segment.flags = flags;
        packet.segment.len = len;
        packet.segment.window = window;
        for (start, end) in sacks {
            let block = SackBlock { start: SeqNumber(start), end: SeqNumber(end) };
            packet.segment.options.sacks.push(block);
        }
        let stamps = stamps.map(|(value, echo)| Timestamps { value, echo });
        packet.segment.options.timestamps = stamps;
        packet.segment.options.window_scale = scale;
        packet.segment.options.mss = mss;
        packet.ip_id = id;
        packet.cut = cut;
        packet
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any packets in any order, nothing panics, events never go back in time, and memory is bounded.
    #[test]
    fn no_capture_breaks_the_table(
        packets in proptest::collection::vec(packets_of_any_kind(), 1..200),
    ) {
        let bound = 1 << 18;
        let mut table = Table::<Recorder>::new(limits(4, bound));
        let mut all = Vec::new();
        for packet in &packets {
            table.take(packet, &mut Nobody);
            // A single connection may exceed the bound.
            prop_assert!(table.memory() <= bound || table.live().count() == 1);
            prop_assert!(table.live().count() <= 4);
            all.extend(std::iter::from_fn(|| table.take_finished()));
        }
        let connections = table.connections();
        all.extend(table.finish(&mut Nobody));
        prop_assert_eq!(all.len() as u64, connections);
        let mut counted = 0;
        for side in Side::BOTH {
            for connection in &all {
                let counts = connection.counts(side);
                counted += counts.packets + counts.copies;
                let lines = connection.stream(side).map(|stream| &stream.follower().lines);
                let times = lines.into_iter().flatten().map(|line| {
                    line.split(':').next().and_then(|at| at.parse::<f64>().ok()).expect("a time")
                });
                prop_assert!(times.is_sorted());
            }
        }
        prop_assert_eq!(counted, packets.len() as u64);
    }
}

/// Returns everything that is known about a connection, as text.
fn known(connection: &Connection<Recorder>) -> String {
    let ends = Side::BOTH.map(|side| {
        let stream = connection.stream(side);
        let lines = stream.map(|stream| stream.follower().lines.clone());
        (connection.address(side), connection.counts(side), lines)
    });
    let (first, last) = (connection.first_at(), connection.last_at());
    let number = connection.number();
    format!("{number} {first} {last} {:?} {ends:?}", connection.ending())
}

/// Processes every packet separately.
fn one_by_one(packets: &[Packet], limits: Limits) -> Vec<String> {
    let mut table = Table::<Recorder>::new(limits);
    for packet in packets {
        table.take(packet, &mut Nobody);
    }
    table.finish(&mut Nobody).iter().map(known).collect()
}

/// Processes `batch` packets at once on `threads` threads.
fn at_once(packets: &[Packet], limits: Limits, batch: usize, threads: usize) -> Vec<String> {
    let mut table = Table::<Recorder>::new(limits);
    for packets in packets.chunks(batch) {
        let meanwhile = table.take_all(&mut packets.to_vec(), threads, || 7);
        assert_eq!(meanwhile, 7);
    }
    table.finish(&mut Nobody).iter().map(known).collect()
}

proptest! {
    // Each case starts thousands of threads.
    #![proptest_config(ProptestConfig::with_cases(dupack_testing::cases(48, 128) as u32))]

    /// The batch size and the number of threads affect neither the results, nor the numbers of connections, nor the
    /// choice of connections that are finished early because there are too many.
    #[test]
    fn a_batch_gives_the_same_result_as_single_packets(
        packets in proptest::collection::vec(packets_of_any_kind(), 1..300),
        most in 1_usize..6,
        batch in 1_usize..80,
        threads in 1_usize..4,
    ) {
        let packets = testing::capture(packets);
        let limits = Limits { connections: most, memory: usize::MAX, batch };
        let single = one_by_one(&packets, limits);
        prop_assert_eq!(&single, &at_once(&packets, limits, batch, threads));
        let other = Limits { batch: 1, ..limits };
        prop_assert_eq!(&single, &one_by_one(&packets, other));
    }

    /// The choice of connections that are finished early for lack of memory depends only on the packets after which the
    /// memory is checked.
    #[test]
    fn memory_is_checked_after_the_same_packets_in_a_batch(
        packets in proptest::collection::vec(packets_of_any_kind(), 1..300),
        memory in (0_usize..1 << 16),
        batch in 1_usize..80,
        threads in 1_usize..4,
    ) {
        let packets = testing::capture(packets);
        let limits = Limits { connections: 6, memory, batch };
        let single = one_by_one(&packets, limits);
        prop_assert_eq!(single, at_once(&packets, limits, batch, threads));
    }
}

#[test]
fn connections_that_begin_in_a_batch_are_numbered_by_their_first_packets() {
    let opens = |at: f64, port: u16, seq: u32| of_port(from(Side::Opener, at, seq).syn(1000), port);
    let resets = |at: f64, port: u16| of_port(from(Side::Opener, at, 1).flags(Flags::RST), port);
    // The first port is reused before and after another connection begins.
    let packets = testing::capture([
        opens(0.0, 1, 10),
        resets(1.0, 1),
        opens(2.0, 1, 20),
        opens(3.0, 2, 30),
        resets(4.0, 1),
        opens(5.0, 1, 40),
    ]);
    let mut table = Table::<Recorder>::new(Limits::default());
    table.take_all(&mut packets.clone(), 2, || ());
    assert_eq!(table.connections(), 4);
    let all = table.finish(&mut Nobody);
    let first = |connection: &Connection<Recorder>| {
        let port = connection.address(Side::Opener).port();
        (connection.number(), port, connection.first_packet())
    };
    let all: Vec<_> = all.iter().map(first).collect();
    assert_eq!(all, [(1, 1, 1), (2, 1, 3), (3, 2, 4), (4, 1, 6)]);
}

#[test]
fn the_addresses_of_ipv4_are_no_prefix_of_others() {
    let local = |packet: Packet, ip: Ipv4Addr| {
        let mut packet = packet;
        packet.source.set_ip(ip.into());
        Pair::of(&packet)
    };
    let packet = from(Side::Opener, 0.0, 0);
    assert_ne!(
        local(packet, Ipv4Addr::LOCALHOST),
        local(packet, Ipv4Addr::BROADCAST)
    );
}

/// Checks the memory of a connection as stated in the module documentation.
#[test]
fn a_connection_without_data_takes_about_two_kilobytes() {
    let slot = size_of::<Slot<Recorder>>() + size_of::<(Pair, usize)>();
    let connection = size_of::<Connection<Recorder>>();
    assert!(slot + connection <= 2048, "{slot} + {connection}");
    // The stated memory excludes the follower and outstanding data.
    let stream = size_of::<crate::Stream<()>>();
    assert!(stream <= 1536, "{stream}");
}
