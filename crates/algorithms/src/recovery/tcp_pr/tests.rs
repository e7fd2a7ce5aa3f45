use super::*;
use crate::recovery::adversary;
use crate::testing::{Setup, Timeline, ack};

/// Returns a timeline with eight segments sent at once; the first is acknowledged, and the maximum RTT is 100 ms.
fn start() -> Timeline {
    let mut t = Setup::new(entry()).window(8.0).ssthresh(2.0).start(100);
    assert_eq!(t.receive(100, ack(1)), "new:8");
    t
}

#[test]
fn no_number_of_duplicate_acks_makes_a_loss() {
    let mut t = start();
    for (ms, end) in (101..108).zip(3..) {
        let sent = t.receive(ms, ack(1).sack(2, end)).to_owned();
        assert!(sent.starts_with("new:"), "{sent}");
    }
    t.receive(280, ack(9));
    assert_eq!(t.sender().stats().retransmissions, 0);
}

#[test]
fn a_segment_in_flight_for_three_of_the_longest_round_trips_is_lost() {
    // Segment 1 was sent at 0 ms, and the maximum round-trip time was 107 ms.
    let mut t = start();
    for (ms, end) in (101..108).zip(3..) {
        t.receive(ms, ack(1).sack(2, end));
    }
    assert_eq!(t.wait(300), "");
    t.wait(330);
    let stats = t.sender().stats();
    assert_eq!((stats.loss_events, stats.timeouts), (1, 0));
    // Segment 1 is retransmitted as soon as the halved window permits it.
    let mut sent = alloc::string::String::new();
    for (ms, end) in (331..336).zip(10..) {
        sent += t.receive(ms, ack(1).sack(2, end));
    }
    assert!(sent.contains("overdue:1"), "{sent}");
}

#[test]
fn losses_of_segments_in_flight_together_are_one_event() {
    // All segments of a window except the first two and the last are lost. The losses are detected one after the other.
    let mut t = start();
    t.receive(101, ack(1).sack(7, 8));
    t.wait(590);
    let stats = t.sender().stats();
    assert!(stats.retransmissions > 0);
    assert_eq!(stats.loss_events, 1);
}

#[test]
fn every_transfer_ends() {
    for seed in 0..2_000 {
        adversary::transfer(entry(), seed, |setup, _| setup);
    }
}

#[test]
fn a_peer_that_is_gone_is_not_flooded() {
    // The bound is 300 ms. Nothing is acknowledged any more: the bound retransmits each segment once; after that, only
    // the retransmission timer does, which backs off.
    let mut t = start();
    for second in 1..=60 {
        t.wait(second * 1000);
    }
    let stats = t.sender().stats();
    assert!(stats.timeouts >= 4, "{stats:?}");
    assert!(stats.retransmissions <= 8 + stats.timeouts, "{stats:?}");
}
