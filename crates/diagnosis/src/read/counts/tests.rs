//! Tests with small captures for which tcptrace 6.6.7 gives the same counts.

use dupack_tcp::connection::Flags;

use crate::read::counts::Counts;
use crate::read::packet::Packet;
use crate::read::packet::tests::from;
use crate::read::side::Side;
use crate::testing::{ack, capture, connections, data, handshake};

/// Returns the counts of both endpoints, after a handshake.
fn counts(packets: &[Packet]) -> [Counts; 2] {
    let all = handshake(40.0, 0.1).into_iter();
    let all = connections(&capture(all.chain(packets.iter().copied())));
    let first = all.first().expect("a connection");
    Side::BOTH.map(|side| first.counts(side).clone())
}

#[test]
fn retransmissions_differ_from_late_packets() {
    let [opener, answerer] = counts(&[
        data(50.0, 0, 1000),
        data(50.1, 2000, 1000),
        // This packet fills a gap: the capture has not shown these bytes before.
        data(50.2, 1000, 1000),
        // These are a retransmission, and a packet of which one half is retransmitted and one half is new.
        data(50.3, 2000, 1000),
        data(50.4, 2500, 1000).flags(Flags::PSH),
        ack(90.0, 3500),
    ]);
    assert_eq!(
        (opener.out_of_order_packets, opener.retransmitted_packets),
        (1, 2)
    );
    assert_eq!(
        (opener.retransmitted_bytes, opener.unique_bytes),
        (1500, 3500)
    );
    assert_eq!(
        (
            opener.data_packets,
            opener.data_bytes,
            opener.pushed_packets
        ),
        (5, 5000, 1)
    );
    assert_eq!((opener.packets, opener.acks, opener.pure_acks), (7, 6, 1));
    assert_eq!(
        (answerer.packets, answerer.acks, answerer.pure_acks),
        (2, 2, 1)
    );
    assert_eq!((opener.segment_max, opener.segment_min), (1000, Some(1000)));
}

#[test]
fn data_without_captured_answers_is_not_a_window_probe() {
    let all = connections(&capture([data(0.0, 0, 1000), data(1.0, 1000, 1000)]));
    let opener = all[0].counts(Side::Opener);
    assert_eq!(
        (opener.unique_bytes, opener.window_probe_packets),
        (2000, 0)
    );
}

#[test]
fn retransmitted_syns_and_fins_are_not_data() {
    let [opener, _] = counts(&[
        data(50.0, 0, 1000).flags(Flags::FIN),
        data(90.0, 0, 1000).flags(Flags::FIN),
    ]);
    assert_eq!((opener.syns, opener.fins), (1, 2));
    assert_eq!(
        (opener.retransmitted_packets, opener.retransmitted_bytes),
        (1, 1001)
    );
    assert_eq!(opener.unique_bytes, 1000);
}

#[test]
fn a_duplicate_ack_repeats_number_and_window_without_data() {
    let [_, answerer] = counts(&[
        data(50.0, 0, 1000),
        data(50.1, 1000, 1000),
        ack(90.0, 1000),
        ack(90.1, 1000),
        ack(90.2, 1000),
        ack(90.3, 1000),
        // An ACK with a changed window or with data is not a duplicate ACK, and restarts the count.
        ack(90.4, 1000).granting(49_000),
        ack(90.5, 1000).granting(49_000).len(10),
        ack(90.6, 1000).granting(49_000),
        ack(90.7, 2000).granting(49_000),
    ]);
    assert_eq!(
        (answerer.duplicate_acks, answerer.triple_duplicate_acks),
        (4, 1)
    );
}

#[test]
fn sacks_and_dsacks_are_counted_per_packet() {
    let [_, answerer] = counts(&[
        data(50.0, 0, 1000),
        ack(90.0, 1000),
        ack(90.1, 1000).sack(3001, 4001).sack(5001, 6001),
        // The first block is below the ACK here, and within the second block in the next packet.
        ack(90.2, 2000).sack(1, 1001),
        ack(90.3, 2000).sack(3001, 4001).sack(3001, 5001),
    ]);
    assert_eq!(
        (answerer.sacks, answerer.dsacks, answerer.sack_blocks_max),
        (3, 2, 2)
    );
}

#[test]
fn a_packet_during_a_closed_window_is_a_probe() {
    let [opener, answerer] = counts(&[
        data(50.0, 0, 1000),
        ack(90.0, 1000).granting(0),
        data(300.0, 1000, 1),
        ack(340.0, 1000).granting(0),
        data(700.0, 1000, 1),
        ack(740.0, 1001).granting(2000),
    ]);
    assert_eq!(
        (opener.window_probe_packets, opener.window_probe_bytes),
        (2, 2)
    );
    assert_eq!(opener.retransmitted_packets, 0);
    assert_eq!(answerer.zero_windows, 2);
    assert_eq!(
        (answerer.window_min, answerer.window_max),
        (Some(2000), 50_000)
    );
    // The average of four packets is (50,000 + 0 + 0 + 2000)/4.
    assert_eq!(answerer.window_average(), 13_000);
}

#[test]
fn a_reset_acknowledges_and_grants_nothing() {
    let [opener, answerer] = counts(&[
        data(50.0, 0, 1000).flags(Flags::URG),
        from(Side::Answerer, 90.0, 1)
            .ack(1001)
            .granting(0)
            .flags(Flags::RST),
    ]);
    assert_eq!(
        (answerer.resets, answerer.acks, answerer.pure_acks),
        (1, 2, 0)
    );
    assert_eq!((answerer.zero_windows, opener.urgent_packets), (0, 1));
}

#[test]
fn an_accepted_probe_byte_counts_as_captured() {
    let [opener, _] = counts(&[
        data(50.0, 0, 1000),
        ack(90.0, 1000).granting(0),
        data(300.0, 1000, 1),
        ack(340.0, 1001).granting(0),
        data(700.0, 1001, 1),
        ack(740.0, 1002).granting(0),
        // The receiver does not accept this probe. The byte is sent as new data when the window is open.
        data(1500.0, 1002, 1),
        ack(1540.0, 1002).granting(0),
        ack(1600.0, 1002).granting(5000),
        data(1601.0, 1002, 1000),
        ack(1641.0, 2002).granting(5000),
    ]);
    assert_eq!(opener.window_probe_packets, 3);
    assert_eq!(opener.unseen_bytes(), 0);
    assert_eq!(opener.retransmitted_packets, 0);
}
