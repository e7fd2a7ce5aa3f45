//! Tests of the beginning and the end of connections.

use dupack_tcp::connection::Flags;

use crate::read::packet::Packet;
use crate::read::packet::tests::{address, from, ms};
use crate::read::side::Side;
use crate::read::vantage::Place;
use crate::testing::{ack, capture, connections, data, handshake, told};

/// Returns the packet `after` milliseconds later, with the opener's sequence numbers advanced by `by`.
fn later(mut packet: Packet, after: f64, by: u32) -> Packet {
    packet.at += ms(after).since(ms(0.0));
    if packet.source == address(Side::Opener) {
        packet.segment.seq.0 += by;
    } else if let Some(ack) = &mut packet.segment.ack {
        ack.0 += by;
    }
    packet
}

/// Returns a complete connection of one segment.
fn whole() -> Vec<Packet> {
    let rest = [
        data(50.0, 0, 1000).flags(Flags::FIN),
        ack(90.0, 1001).flags(Flags::FIN),
        from(Side::Opener, 90.1, 1002).ack(2),
    ];
    handshake(40.0, 0.1).into_iter().chain(rest).collect()
}

fn segments(packets: &[Packet]) -> Vec<usize> {
    let all = connections(packets);
    let lines = |c: &crate::Connection<crate::testing::Recorder>| {
        c.stream(Side::Opener)
            .map_or(0, |stream| stream.follower().lines.len())
    };
    all.iter().map(lines).collect()
}

#[test]
fn ports_are_reused_after_the_end() {
    let again = whole()
        .into_iter()
        .map(|packet| later(packet, 200.0, 5_000_000));
    let packets = capture(whole().into_iter().chain(again));
    assert_eq!(segments(&packets), [2, 2]);
    let all = connections(&packets);
    let ending = all.first().expect("one").ending();
    assert_eq!(ending.fins.of(Side::Opener), &Some(ms(50.0)));
    assert!(ending.is_over());
}

#[test]
fn ports_are_reused_after_a_silence_but_not_in_the_middle() {
    let unfinished: Vec<_> = whole().into_iter().take(4).collect();
    let again = |after| {
        let second = whole()
            .into_iter()
            .map(|packet| later(packet, after, 5_000_000));
        capture(unfinished.iter().copied().chain(second))
    };
    assert_eq!(segments(&again(5000.0)), [1, 2]);
    // An injected SYN belongs to no connection, and does not affect any.
    let stray = later(unfinished[0], 55.0, 5_000_000);
    let rest = whole().into_iter().skip(4);
    let packets = unfinished.iter().copied().chain([stray]).chain(rest);
    assert_eq!(segments(&capture(packets)), [2]);
}

#[test]
fn a_retransmitted_syn_belongs_to_the_same_connection() {
    let mut packets = whole();
    packets.insert(1, later(packets[0], 20.0, 0));
    assert_eq!(segments(&capture(packets)), [2]);
}

#[test]
fn a_syn_ack_may_be_the_first_packet() {
    let all = connections(&capture(whole().into_iter().skip(1)));
    let one = all.first().expect("one");
    assert_eq!(one.address(Side::Opener), address(Side::Opener));
    assert_eq!(one.handshake().established_at, Some(ms(40.1)));
}

#[test]
fn a_reset_ends_a_connection_and_names_its_sender() {
    let mut packets: Vec<_> = whole().into_iter().take(4).collect();
    packets.push(from(Side::Answerer, 60.0, 1).flags(Flags::RST));
    let all = connections(&capture(packets));
    let ending = all.first().expect("one").ending();
    let reset = ending
        .reset
        .map(|reset| (reset.side, reset.at, reset.packet));
    assert_eq!(reset, Some((Side::Answerer, ms(60.0), 5)));
    assert!(ending.is_over());
}

#[test]
fn packets_are_held_until_the_capture_point_is_known() {
    // The capture is taken at the receiver, 30 ms from the sender. The opener sends one segment per round trip.
    let packets = (0..6_u32).flat_map(|n| {
        let at = 30.2 * f64::from(n);
        let value = 100 + 30 * n;
        let echo = 1000 + 30 * n.saturating_sub(1);
        [
            data(at, n * 1000, 1000).stamps(value, echo),
            ack(at + 0.1, n * 1000 + 1000).stamps(1000 + 30 * n, value),
        ]
    });
    let packets = capture(packets);
    let all = connections(&packets);
    let vantage = all.first().expect("one").vantage(Side::Opener);
    assert_eq!(
        (vantage.place, vantage.to_sender),
        (Place::Receiver, ms(30.1).since(ms(0.0)))
    );
    let lines = told(&packets, Side::Opener);
    // The first ACK takes effect when the second segment shows that it arrived, not when it was captured.
    let expected = ["0: #1 0..1000", "30.2: #2 ack 1000", "30.2: #3 1000..2000"];
    assert_eq!(lines.get(..3).expect("three"), expected);
    // The beginning of the stream is the time of the first packet held back, not the time at which the capture point
    // became known.
    let stream = all.first().expect("one").stream(Side::Opener);
    assert_eq!(stream.expect("one").follower().beginning.at, ms(0.0));
}

#[test]
fn data_far_beyond_everything_starts_another_connection() {
    let far = (0..20_u32).map(|n| data(60.0 + f64::from(n), 1_000_000_000 + n * 1000, 1000));
    let packets = whole().into_iter().take(4).chain(far);
    let told = segments(&capture(packets));
    // Eight of the packets are discarded before the other connection starts.
    assert_eq!(told, [1, 12]);
}

#[test]
fn a_copy_is_counted_but_not_reported() {
    let mut packets = whole();
    packets[3] = packets[3].id(9);
    let mut copy = packets[3];
    copy.hop_limit -= 1;
    packets.insert(4, copy);
    let packets = capture(packets);
    assert_eq!(segments(&packets), [2]);
    let all = connections(&packets);
    let counts = all.first().expect("one").counts(Side::Opener);
    assert_eq!((counts.copies, counts.retransmitted_packets), (1, 0));
}
