//! Attacks on the receiver by gaps, overlaps, floods, and streams whose end moves.

use dupack_tcp::connection::{Event, Segment, State, Store};
use dupack_tcp::seq::SeqNumber;

use crate::endpoint::script::{OUR_ISS, PEER_ISS, Script, plain};

#[test]
fn single_bytes_with_gaps_between_them() {
    // Every byte would be a separate range to store.
    let mut t = Script::established(plain());
    let mut kept = 0;
    for n in 0..25_000_u32 {
        let number = 3 + 2 * (n * 7919 % 25_000) % 49_000;
        let store = t.arrive(&format!(". {number}:{} ack 1", number + 1));
        kept += usize::from(store.is_some());
        t.drain();
    }
    let receiver = t.connection.receiver().expect("established");
    // The limit for a buffer of 50 kB is 25 ranges, one per two full segments, and 16 more.
    assert_eq!(receiver.out_of_order_ranges(), 25 + 16);
    assert!(kept < 1000, "{kept}");
    // In-order data that overlaps the stored bytes is still accepted.
    assert!(t.arrive(". 1:1001 ack 1").is_some());
    assert!(t.connection.readable() >= 1000);
}

#[test]
fn more_data_than_there_is_room_for() {
    let mut t = Script::established(plain());
    let mut bytes = 0;
    for n in 0..200_u32 {
        let words = format!(". {}:{} ack 1", 1 + n * 1000, 1001 + n * 1000);
        bytes += t.arrive(&words).map_or(0, |store| u64::from(store.len));
        t.drain();
    }
    assert_eq!(bytes, 50_000);
    assert_eq!(t.connection.readable(), 50_000);
    assert_eq!(t.connection.read(u64::MAX), 50_000);
}

#[test]
fn overlapping_data() {
    let mut t = Script::established(plain());
    let store = |offset, skip, len| Some(Store { offset, skip, len });
    assert_eq!(t.arrive(". 201:401 ack 1"), store(200, 0, 200));
    assert_eq!(t.arrive(". 101:301 ack 1"), store(100, 0, 200));
    // Bytes that were readable are never overwritten.
    assert_eq!(t.arrive(". 1:151 ack 1"), store(0, 0, 150));
    assert_eq!(t.connection.readable(), 400);
    assert_eq!(t.arrive(". 1:501 ack 1"), store(400, 400, 100));
    assert_eq!(t.arrive(". 1:501 ack 1"), None);
    // Data beyond the window is cut off.
    assert_eq!(t.arrive(". 501:60501 ack 1"), store(500, 0, 49_500));
    t.drain();
}

#[test]
fn a_fin_that_moves() {
    let mut t = Script::established(plain());
    t.arrive("F. 501:601 ack 1");
    t.drain();
    // A shorter end, a longer end and data beyond the end are rejected.
    for words in ["F. 101 ack 1", "F. 501:701 ack 1", "P. 501:602 ack 1"] {
        assert_eq!(t.arrive(words), None, "{words}");
        t.sends(&[". 1 ack 1"]);
    }
    t.is(State::Established);
    assert!(t.arrive("P. 1:501 ack 1").is_some());
    t.is(State::CloseWait);
    assert!(t.events().contains(&Event::PeerFinished { at: 600 }));
    // Data after the end of the stream is rejected, too.
    assert_eq!(t.arrive("P. 602:702 ack 1"), None);
    assert_eq!(t.connection.readable(), 600);
}

#[test]
fn a_fin_before_data_that_has_arrived() {
    let mut t = Script::established(plain());
    t.arrive("P. 201:301 ack 1");
    t.drain();
    assert_eq!(t.arrive("F. 1:101 ack 1"), None);
    t.sends(&[". 1 ack 1"]);
    assert!(t.arrive("P. 1:201 ack 1").is_some());
    assert_eq!(t.connection.readable(), 300);
}

#[test]
fn a_fin_beyond_the_window() {
    let mut config = plain();
    config.receive_buffer = 1000;
    let mut t = Script::established(config);
    // The payload fits into the window, but the FIN does not.
    assert!(t.arrive("F. 1:1001 ack 1").is_some());
    t.is(State::Established);
    t.sends(&[". 1 ack 1001"]);
    t.connection.read(1000);
    t.drain();
    t.arrive("F. 1001 ack 1");
    t.is(State::CloseWait);
}

#[test]
fn four_gibibytes_and_more() {
    // Sequence numbers wrap around twice, windows are near their limit, and every byte is counted correctly.
    let mut config = plain();
    config.mss = 60_000;
    config.receive_buffer = 1 << 29;
    let mut t = Script::active(config);
    t.options.mss = Some(60_000);
    t.options.window_scale = Some(14);
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    let total: u64 = 9 << 30;
    t.connection.write(total).expect("open");
    t.window = 20_000;
    let mut received = 0_u64;
    while t.connection.acknowledged() < total {
        t.drain();
        // The peer acknowledges all sent bytes, and its ACK carries 60,000 bytes in the other direction.
        let sender = t.connection.sender().expect("established");
        let nxt = sender.scoreboard().nxt();
        let mut segment = Segment::new(SeqNumber(PEER_ISS).at(1 + received));
        segment.ack = Some(SeqNumber(OUR_ISS).at(1 + nxt));
        segment.window = t.window;
        segment.len = 60_000;
        let store = t.handle(&segment).expect("it is in order");
        assert_eq!((store.offset, store.skip, store.len), (received, 0, 60_000));
        received += 60_000;
        assert_eq!(t.connection.read(60_000), 60_000);
    }
    assert_eq!(t.connection.acknowledged(), total);
    assert_eq!(t.connection.readable(), received);
    let stats = t.connection.sender().expect("established").stats();
    assert_eq!(stats.retransmissions, 0);
}
