//! Tests of the acceptability of segments and of window updates (RFC 9293 §3.10.7.4).

use dupack_tcp::options::Dsack;

use crate::endpoint::script::{PEER_ISS, Script, plain};

fn peer_edge(t: &Script) -> u64 {
    let sender = t.connection.sender().expect("established");
    sender.peer_edge()
}

#[test]
fn an_overtaken_segment_does_not_update_the_window() {
    // SND.WL1: segment 101 was sent after segment 1, but arrives before it.
    let mut t = Script::established(plain());
    t.window = 9000;
    t.arrive(". 101:201 ack 1");
    assert_eq!(peer_edge(&t), 9000);
    t.window = 100;
    t.arrive(". 1:101 ack 1");
    assert_eq!(peer_edge(&t), 9000);
    // The next segment updates the window.
    t.arrive(". 201:301 ack 1");
    assert_eq!(peer_edge(&t), 100);
}

#[test]
fn the_ack_that_acknowledges_more_updates_the_window() {
    // SND.WL2: the ACK of the first 1000 bytes was overtaken by the ACK of 2000 bytes.
    let mut t = Script::established(plain());
    t.connection.write(5000).expect("open");
    t.drain();
    t.window = 9000;
    t.arrive(". 1 ack 2001");
    assert_eq!(peer_edge(&t), 11_000);
    t.window = 100;
    t.arrive(". 1 ack 1001");
    assert_eq!(peer_edge(&t), 11_000);
    // A repeated ACK number with another window is new information: the window may close without new data being
    // acknowledged.
    t.window = 8000;
    t.arrive(". 1 ack 2001");
    assert_eq!(peer_edge(&t), 10_000);
}

/// Creates a connection whose application has read all `bytes` bytes that have arrived, so that its window of 50,000
/// bytes is open.
fn after(bytes: u32) -> Script {
    let mut config = plain();
    config.receive_buffer = 50_000;
    let mut t = Script::established(config);
    t.connection.read(u64::MAX);
    let mut next = 1;
    while next <= bytes {
        let end = (next + 1000).min(bytes + 1);
        assert!(t.arrive(&format!(". {next}:{end} ack 1")).is_some());
        t.connection.read(u64::MAX);
        t.drain();
        next = end;
    }
    t
}

/// Returns the first SACK block of the answer to a segment, relative to the peer's SYN.
fn reported(t: &mut Script, words: &str) -> Option<(u32, u32)> {
    t.arrive(words);
    assert_eq!(t.drain().len(), 1, "it is answered");
    let answer = t.last.as_ref().expect("the answer");
    let blocks = answer.segment.options.sacks;
    let block = blocks.as_slice().first()?;
    Some((
        block.start.0.wrapping_sub(PEER_ISS),
        block.end.0.wrapping_sub(PEER_ISS),
    ))
}

#[test]
fn segments_too_far_below_the_window_are_no_duplicates() {
    // RFC 2883 §4: a retransmission is reported. A segment too far below the window cannot be a retransmission and must
    // be an attacker's guess. A report with SACK would reveal information to the attacker.
    assert_eq!(plain().offer.dsack, Dsack::Reported);
    let mut t = after(70_000);
    assert_eq!(
        reported(&mut t, ". 69901:70001 ack 1"),
        Some((69_901, 70_001))
    );
    // The next expected byte is 70001. The first segment starts 65,535 bytes below it, the second one 65,536 bytes.
    assert_eq!(reported(&mut t, ". 4466:4566 ack 1"), Some((4466, 4566)));
    assert_eq!(reported(&mut t, ". 4465:4565 ack 1"), None);
}
