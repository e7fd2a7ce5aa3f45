//! Tests of the events of single streams. The opener sends segments of 1000 bytes.

use dupack_tcp::connection::Flags;
use dupack_tcp::options::{Ecn, Sack};

use crate::read::packet::Packet;
use crate::read::packet::tests::from;
use crate::read::side::Side;
use crate::testing::{ack, capture, connections, data, handshake, told};

/// Returns the events that the opener's follower receives, after a handshake with these delays.
fn after(ways: (f64, f64), packets: &[Packet]) -> Vec<String> {
    let all = handshake(ways.0, ways.1).into_iter();
    told(&capture(all.chain(packets.iter().copied())), Side::Opener)
}

/// Delays of a capture at the sender in milliseconds: 40 ms to the answer, and 0.1 ms back.
const AT_SENDER: (f64, f64) = (40.0, 0.1);
/// Delays of a capture at the receiver in milliseconds.
const AT_RECEIVER: (f64, f64) = (0.1, 40.0);

#[test]
fn at_the_sender_everything_takes_effect_when_it_is_captured() {
    let lines = after(
        AT_SENDER,
        &[
            data(50.0, 0, 1000),
            data(50.1, 1000, 1000),
            data(50.2, 2000, 1000),
            ack(90.0, 1000),
            // The second segment is lost.
            ack(90.2, 1000).sack(2001, 3001),
            data(90.3, 1000, 1000),
            ack(130.0, 3000),
        ],
    );
    let expected = [
        "50: #4 0..1000",
        "50.1: #5 1000..2000",
        "50.2: #6 2000..3000",
        "90: #7 ack 1000",
        "90.2: #8 ack 1000 duplicate 1, 1000 sacked",
        "90.3: #9 1000..2000 again",
        "130: #10 ack 3000",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn at_the_receiver_an_ack_waits_until_the_sender_has_it() {
    let lines = after(
        AT_RECEIVER,
        &[
            data(50.0, 0, 1000),
            ack(50.0, 1000),
            // This segment was sent before the ACK arrived, because the ACK takes 40 ms.
            data(60.0, 1000, 1000),
            ack(60.0, 2000),
            // The ACK of the first segment triggers this one.
            data(90.1, 2000, 1000),
            // The second ACK triggers this one immediately.
            data(100.2, 3000, 1000),
        ],
    );
    let expected = [
        "50: #4 0..1000",
        "60: #6 1000..2000",
        "90: #5 ack 1000",
        "90.1: #8 2000..3000",
        "100: #7 ack 2000",
        "100.2: #9 3000..4000",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn at_the_receiver_an_uncaptured_loss_shows_by_its_retransmission() {
    let lines = after(
        AT_RECEIVER,
        &[
            data(50.0, 0, 1000),
            ack(50.0, 1000),
            data(50.2, 2000, 1000),
            ack(50.2, 1000).sack(2001, 3001),
            data(90.5, 1000, 1000),
            ack(90.5, 3000),
        ],
    );
    let expected = [
        "50: #4 0..1000",
        "50.2: #6 2000..3000, 1000 unseen",
        "90: #5 ack 1000",
        "90.2: #7 ack 1000 duplicate 1, 1000 sacked",
        "90.5: #8 1000..2000 again",
        "130.5: #9 ack 3000",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn timestamps_show_a_queue_between_the_sender_and_the_capture() {
    let stamped = |packet: Packet, value, echo| packet.stamps(value, echo);
    let [mut syn, mut answer, mut third] = handshake(0.1, 40.0);
    syn = stamped(syn, 1, 0);
    answer = stamped(answer, 1000, 1);
    third = stamped(third, 40, 1000);
    let packets = [
        syn,
        answer,
        third,
        stamped(data(50.0, 0, 1000), 41, 1000),
        stamped(ack(50.0, 1000), 1050, 41),
        stamped(data(95.0, 1000, 1000), 42, 1000),
        stamped(ack(95.0, 2000), 1095, 42),
        // The queue on the path delays packets by 70 ms. The first ACK arrived when this segment was in the queue.
        stamped(data(150.0, 2000, 1000), 43, 1000),
        stamped(data(161.0, 3000, 1000), 121, 1050),
    ];
    let expected = [
        "50: #4 0..1000",
        "95: #6 1000..2000",
        "150: #8 2000..3000",
        // The first ACK, captured at 50 ms, arrived after at least 100 ms.
        "150: #5 ack 1000",
        "161: #9 3000..4000",
        "195: #7 ack 2000",
    ];
    assert_eq!(told(&capture(packets), Side::Opener), expected);
}

#[test]
fn an_ack_without_news_in_a_data_packet_is_not_a_duplicate() {
    let two_way = |at, seq| from(Side::Answerer, at, seq).ack(1001).len(500);
    let lines = after(
        AT_SENDER,
        &[
            data(50.0, 0, 1000),
            data(50.0, 1000, 1000),
            two_way(90.0, 1),
            two_way(90.1, 501),
            two_way(90.2, 1001),
        ],
    );
    let expected = ["50: #4 0..1000", "50: #5 1000..2000", "90: #6 ack 1000"];
    assert_eq!(lines, expected);
}

#[test]
fn probes_are_recognized() {
    let lines = after(
        AT_SENDER,
        &[
            data(50.0, 0, 1000),
            ack(90.0, 1000).granting(0),
            // These are Linux's window probe and the keep-alive of any host, which have no data and are just before
            // SND.UNA.
            data(300.0, 999, 0),
            // This is a keep-alive with one byte.
            data(700.0, 999, 1),
            // This is the window probe of BSD, which carries the next byte.
            data(1500.0, 1000, 1),
            // This is an ACK and not a probe.
            data(1600.0, 1001, 0),
        ],
    );
    let expected = [
        "50: #4 0..1000",
        "90: #5 ack 1000",
        "300: #6 999..999 empty",
        "700: #7 999..1000 acknowledged before",
        "1500: #8 1000..1001",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_fin_takes_a_sequence_number_and_a_reset_none() {
    let lines = after(
        AT_SENDER,
        &[
            data(50.0, 0, 1000).flags(Flags::FIN),
            ack(90.0, 1001),
            data(91.0, 1001, 20).flags(Flags::RST),
        ],
    );
    assert_eq!(lines, ["50: #4 0..1001", "90: #5 ack 1001"]);
}

#[test]
fn the_window_edge_is_known_if_its_scale_is() {
    let packets = |scale: Option<u8>| {
        let [mut syn, mut answer, third] = handshake(40.0, 0.1);
        syn.segment.options.window_scale = scale;
        answer.segment.options.window_scale = scale.map(|_| 2);
        answer.segment.window = 3000;
        capture([
            syn,
            answer,
            third,
            data(50.0, 0, 1000),
            ack(90.0, 1000).granting(3000),
        ])
    };
    let edge = |packets: &[Packet]| {
        let all = connections(packets);
        let stream = all
            .first()
            .and_then(|connection| connection.stream(Side::Opener));
        stream.and_then(|stream| stream.edge)
    };
    // The window of a SYN is not scaled.
    assert_eq!(edge(&packets(Some(7))[..4]), Some(3000));
    assert_eq!(edge(&packets(Some(7))), Some(1000 + 3000 * 4));
    assert_eq!(edge(&packets(None)), Some(4000));
    // Without the SYNs, the window is unknown.
    assert_eq!(edge(&packets(Some(7))[2..]), None);
}

#[test]
fn a_large_segment_stands_for_several() {
    let all = capture(
        handshake(40.0, 0.1)
            .into_iter()
            .chain([data(50.0, 0, 3500)]),
    );
    let all = connections(&all);
    let stream = all
        .first()
        .and_then(|connection| connection.stream(Side::Opener));
    let board = stream.map(|stream| stream.replay().view(stream.now).scoreboard);
    assert_eq!(board.map(|board| board.len()), Some(4));
}

#[test]
fn the_first_sack_block_enables_sack() {
    let lines = after(AT_SENDER, &[]);
    assert!(lines.is_empty());
    // The capture begins in the middle, and the SACK block arrives after the capture point was determined.
    let mut packets: Vec<_> = (0..70)
        .flat_map(|n| {
            [
                data(f64::from(n), n * 1000, 1000),
                ack(f64::from(n) + 0.5, n * 1000 + 1000),
            ]
        })
        .collect();
    packets.push(data(100.0, 70_000, 1000));
    packets.push(data(100.1, 71_000, 1000));
    packets.push(ack(101.0, 70_000).sack(71_001, 72_001));
    let lines = told(&capture(packets), Side::Opener);
    let last = lines.last().map(String::as_str);
    assert_eq!(last, Some("101: #143 ack 70000 duplicate 1, 1000 sacked"));
}

#[test]
fn a_stream_begins_with_the_data_outstanding_at_the_start() {
    let packets = capture([
        ack(0.0, 10_000),
        data(0.1, 14_000, 1000),
        ack(1.0, 12_000),
        data(1.1, 12_000, 1000),
        // A segment that was lost before the capture began is retransmitted. It does not fit into the stream.
        data(1500.0, 13_000, 1000),
        data(1600.0, 9000, 1000),
    ]);
    // The sender of the first packet counts as the opener.
    let lines = told(&packets, Side::Answerer);
    let expected = [
        "0: #1 ack 0 old",
        "0.1: #2 4000..5000, 4000 unseen",
        "1: #3 ack 2000",
        "1.1: #4 2000..3000 again",
        "1500: #5 3000..4000 again",
    ];
    assert_eq!(lines, expected);
    let all = connections(&packets);
    let stream = all
        .first()
        .and_then(|connection| connection.stream(Side::Answerer));
    assert_eq!(stream.map(|stream| stream.astray().before_start), Some(1));
}

#[test]
fn followers_receive_the_agreed_options() {
    let [syn, answer, third] = handshake(40.0, 0.1);
    let packets = capture([
        syn.flags(Flags::of_ace(0b011)),
        answer.flags(Flags::of_ace(0b001)),
        third,
        data(50.0, 0, 10),
    ]);
    let all = connections(&packets);
    let stream = all
        .first()
        .and_then(|connection| connection.stream(Side::Opener));
    let beginning = stream
        .map(|stream| stream.follower().beginning)
        .expect("a stream");
    assert_eq!(
        (beginning.smss, beginning.sack, beginning.ecn),
        (1000, Sack::Permitted, Ecn::Classic)
    );
    assert_eq!(beginning.established_at, Some(packets[2].at));
    assert_eq!(
        (beginning.stream.connection, beginning.stream.sender),
        (1, Side::Opener)
    );
}

#[test]
fn an_expired_timer_backs_off_the_timeout() {
    let packets = [
        data(50.0, 0, 1000),
        ack(90.0, 1000),
        data(91.0, 1000, 1000),
        data(400.0, 1000, 1000),
        data(1000.0, 1000, 1000),
    ];
    let all = capture(handshake(40.0, 0.1).into_iter().chain(packets));
    let all = connections(&all);
    let stream = all
        .first()
        .and_then(|connection| connection.stream(Side::Opener));
    let backoff = stream.map(|stream| stream.replay().view(stream.now).rtt.backoff());
    assert_eq!(backoff, Some(2));
}
