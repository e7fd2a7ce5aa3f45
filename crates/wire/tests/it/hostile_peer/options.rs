//! Attacks by options: segment sizes, timestamps, and invalid options.

use dupack_packet::Options;
use dupack_tcp::connection::{MIN_SEND_MSS, State, Timestamps};
use dupack_tcp::options::Sack;
use dupack_tcp::segment::{SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;

use super::{established_stamped, finishes, outstanding_segments};
use crate::endpoint::script::{OUR_ISS, Script, plain};

#[test]
fn tiny_mss() {
    // CVE-2019-11479: an MSS that leaves at most one data byte per packet.
    for mss in [1, 47, 48, 60, 87] {
        let mut t = Script::active(plain());
        t.sends(&["S 0"]);
        t.options.mss = Some(mss);
        t.arrive("S. 0 ack 1");
        t.connection.write(1000).expect("open");
        t.drain();
        let agreed = t.connection.negotiated().expect("established");
        let smss = mss.max(MIN_SEND_MSS);
        assert_eq!(agreed.smss, u32::from(smss), "MSS {mss}");
        assert!(outstanding_segments(&t) <= 1000_usize.div_ceil(usize::from(smss)));
        finishes(&mut t);
    }
}

#[test]
fn invalid_timestamps_give_no_round_trip_times() {
    let mut t = established_stamped(1000);
    let srtt = |t: &Script| t.connection.sender().expect("open").rtt().srtt();
    let of_the_handshake = srtt(&t);
    t.connection.write(1000).expect("open");
    t.drain();
    // The data is retransmitted once, so only timestamp echoes give round-trip times.
    t.pass(1100);
    for echo in [0, 1, u32::MAX, 1 << 31, 12_345] {
        let mut segment = t.segment(". 1 ack 2");
        segment.options.timestamps = Some(Timestamps { value: 1001, echo });
        t.handle(&segment);
        t.drain();
    }
    assert_eq!(
        srtt(&t),
        of_the_handshake,
        "the first of them acknowledged a byte"
    );
    let mut segment = t.segment(". 1 ack 1001");
    segment.options.timestamps = Some(Timestamps {
        value: 1002,
        echo: 0x4000_0000,
    });
    t.handle(&segment);
    assert_eq!(t.connection.acknowledged(), 1000);
}

#[test]
fn old_duplicates_are_recognized_by_their_timestamps() {
    // RFC 7323 §5.3, with a clock that wraps around.
    let mut t = established_stamped(u32::MAX - 3);
    assert!(t.arrive("P. 1:101 ack 1").is_some());
    t.drain();
    // The next values of the peer's clock are 0xffff_ffff, 0 and 1.
    for (words, next) in [("P. 101:201 ack 1", 201), ("P. 201:301 ack 1", 301)] {
        assert!(t.arrive(words).is_some());
        t.sends(&[&format!(". 1 ack {next}")]);
    }
    let mut old = t.segment("P. 301:401 ack 1");
    old.options.timestamps = Some(Timestamps {
        value: u32::MAX - 100,
        echo: 0,
    });
    assert_eq!(t.handle(&old), None);
    t.sends(&[". 1 ack 301"]);
    assert_eq!(t.connection.readable(), 300);
}

#[test]
fn segments_without_the_negotiated_timestamps() {
    // RFC 7323 §3.2: segments without timestamps are silently dropped, except for a RST.
    let mut t = established_stamped(1000);
    t.peer_time = None;
    assert_eq!(t.arrive("P. 1:101 ack 1"), None);
    t.sends(&[]);
    t.arrive("R 1");
    t.is(State::Closed);
}

#[test]
fn a_jump_of_the_peers_clock_harms_only_the_peer() {
    let mut t = established_stamped(1000);
    t.peer_time = Some(1000 + 0x7fff_0000);
    assert!(t.arrive("P. 1:101 ack 1").is_some());
    t.drain();
    t.peer_time = Some(1000);
    for _ in 0..100 {
        assert_eq!(t.arrive("P. 101:201 ack 1"), None);
        t.sends(&[". 1 ack 101"]);
    }
    t.is(State::Established);
}

#[test]
fn only_an_acceptable_segment_moves_the_peers_clock() {
    // RFC 7323 §5.3: R2 (outside the window) is checked before R3 (TS.Recent).
    let mut t = established_stamped(1000);
    assert!(t.arrive("P. 1:1001 ack 1").is_some());
    assert!(t.arrive("P. 1001:2001 ack 1").is_some());
    t.drain();
    for words in ["P. 1:101 ack 1", ". 1900 ack 1", ". -50000 ack 1"] {
        let mut forged = t.segment(words);
        forged.options.timestamps = Some(Timestamps {
            value: 1000 + (1 << 30),
            echo: 0,
        });
        assert_eq!(t.handle(&forged), None);
        t.drain();
        let next = t.connection.readable() + 1;
        let genuine = format!("P. {next}:{} ack 1", next + 100);
        assert!(t.arrive(&genuine).is_some(), "after {words}");
        t.drain();
    }
}

#[test]
fn garbage_options() {
    // The fields have lengths of zero, one, and beyond the field; known kinds with wrong lengths; unknown kinds; and no
    // end marker.
    let fields: [&[u8]; 12] = [
        &[2, 0],
        &[2, 1],
        &[2],
        &[8, 10, 1, 2, 3],
        &[5, 255, 0, 0],
        &[5, 2],
        &[5, 9, 1, 2, 3, 4, 5, 6, 7],
        &[3, 4, 1, 1],
        &[4, 3, 0],
        &[253, 3, 9],
        &[77, 0, 0, 0],
        &[0, 2, 4, 5, 180],
    ];
    for field in fields {
        assert_eq!(Options::parse(field), Options::NONE, "{field:?}");
    }
    // Valid options before and between invalid ones are accepted.
    let mixed = [2, 4, 1, 0, 77, 3, 9, 3, 2, 1, 3, 3, 7, 4, 2, 8, 0];
    let read = Options::parse(&mixed);
    assert_eq!((read.mss, read.window_scale), (Some(256), Some(7)));
    assert_eq!(read.sack_permitted, Sack::Permitted);
    assert_eq!(read.timestamps, None);
    // Five blocks do not fit into a header, but another source of options may still contain them.
    let mut long = vec![5, 42];
    long.extend([0; 40]);
    assert_eq!(Options::parse(&long).sacks.as_slice().len(), 4);
}

#[test]
fn options_of_a_syn_after_the_syn_change_nothing() {
    let mut t = Script::established(plain());
    let before = *t.connection.negotiated().expect("established");
    let mut segment = t.segment(". 1 ack 1");
    segment.options.mss = Some(100);
    segment.options.window_scale = Some(14);
    segment.options.timestamps = Some(Timestamps { value: 1, echo: 1 });
    t.handle(&segment);
    assert_eq!(t.connection.negotiated(), Some(&before));
    let edge = t.connection.sender().expect("established").peer_edge();
    assert_eq!(edge, u64::from(t.window));
}

#[test]
fn unnegotiated_sack_blocks_are_ignored() {
    let mut config = plain();
    config.offer.sack = Sack::Absent;
    let mut t = Script::established_with(config, "newreno/reno");
    t.connection.write(5000).expect("open");
    t.drain();
    let mut segment = t.segment(". 1 ack 1");
    let mut sacks = SackBlocks::NONE;
    sacks.push(SackBlock {
        start: SeqNumber(OUR_ISS.wrapping_add(1001)),
        end: SeqNumber(OUR_ISS.wrapping_add(5001)),
    });
    segment.options.sacks = sacks;
    t.handle(&segment);
    let sender = t.connection.sender().expect("established");
    assert_eq!(sender.scoreboard().sacked_bytes(), 0);
    finishes(&mut t);
}
