//! Which segments are old, and which tell of the peer's window (RFC 9293 §3.10.7.4).

use dupack_tcp::options::Dsack;

use crate::endpoint::script::{PEER_ISS, Script, plain};

fn peer_edge(t: &Script) -> u64 {
    let sender = t.connection.sender().expect("established");
    sender.peer_edge()
}

#[test]
fn a_segment_that_was_overtaken_brings_no_news_of_the_window() {
    // SND.WL1: 101 left after 1 and comes before it.
    let mut t = Script::established(plain());
    t.window = 9000;
    t.arrive(". 101:201 ack 1");
    assert_eq!(peer_edge(&t), 9000);
    t.window = 100;
    t.arrive(". 1:101 ack 1");
    assert_eq!(peer_edge(&t), 9000);
    // The next does.
    t.arrive(". 201:301 ack 1");
    assert_eq!(peer_edge(&t), 100);
}

#[test]
fn of_two_acks_without_data_the_one_that_acknowledges_more_tells_the_window() {
    // SND.WL2: the ACK of 1000 was overtaken by that of 2000.
    let mut t = Script::established(plain());
    t.connection.write(5000).expect("open");
    t.drain();
    t.window = 9000;
    t.arrive(". 1 ack 2001");
    assert_eq!(peer_edge(&t), 11_000);
    t.window = 100;
    t.arrive(". 1 ack 1001");
    assert_eq!(peer_edge(&t), 11_000);
    // As much is news: the window may close without an ACK.
    t.window = 8000;
    t.arrive(". 1 ack 2001");
    assert_eq!(peer_edge(&t), 10_000);
}

/// A connection that has received so many bytes, with room for as many as a window without scaling
/// tells.
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

/// The first SACK block of the answer to a segment, counted from the peer's SYN.
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
fn what_lies_too_far_below_the_window_is_not_what_came_before() {
    // RFC 2883 §4: a repetition is reported. Below what a window could hold it is none, but a
    // segment of somebody who guesses; with SACK on that is the least that a report would tell.
    assert_eq!(plain().offer.dsack, Dsack::Reported);
    let mut t = after(70_000);
    assert_eq!(
        reported(&mut t, ". 69901:70001 ack 1"),
        Some((69_901, 70_001))
    );
    // The next byte expected is 70001: 65535 below it, and one more.
    assert_eq!(reported(&mut t, ". 4466:4566 ack 1"), Some((4466, 4566)));
    assert_eq!(reported(&mut t, ". 4465:4565 ack 1"), None);
}
