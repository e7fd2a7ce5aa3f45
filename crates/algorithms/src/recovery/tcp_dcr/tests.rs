use super::*;
use crate::catalog::Value;
use crate::recovery::adversary;
use crate::testing::{Setup, Timeline, ack};

/// Returns a timeline with ten segments sent at once; the first is acknowledged, and the RTT is 100 ms. Segments 2 to 5
/// overtake segment 1, and each of them permits a new segment.
fn overtaken(setup: Setup) -> Timeline {
    let mut t = setup.window(10.0).ssthresh(2.0).start(100);
    t.receive(100, ack(1));
    for (ms, end) in (101..105).zip(3..) {
        let sent = t.receive(ms, ack(1).sack(2, end)).to_owned();
        assert!(sent.starts_with("limited:"), "{sent}");
    }
    t
}

#[test]
fn a_segment_that_arrives_within_a_round_trip_was_not_lost() {
    let mut t = overtaken(Setup::new(entry()));
    t.receive(110, ack(6));
    let stats = t.sender().stats();
    assert_eq!((stats.retransmissions, stats.loss_events), (0, 0));
}

#[test]
fn after_a_round_trip_a_loss_is_answered() {
    let mut t = overtaken(Setup::new(entry()));
    for (ms, end) in (105..109).zip(7..) {
        t.receive(ms, ack(1).sack(2, end));
    }
    // The first SACK above 1 arrived at 101 ms.
    t.receive(200, ack(1).sack(2, 11));
    assert_eq!(t.sender().stats().retransmissions, 0);
    // The later segments have increased SRTT to a little more than 100 ms.
    let sent = t.receive(240, ack(1).sack(2, 12)).to_owned();
    assert!(sent.starts_with("dupacks:1"), "{sent}");
    assert_eq!(t.sender().stats().loss_events, 1);
}

#[test]
fn without_a_delay_it_is_the_standard() {
    // The third duplicate ACK arrives at 103 ms.
    let setup = Setup::new(entry()).set_value("delay", Value::Real(0.0));
    let mut t = setup.window(10.0).ssthresh(2.0).start(100);
    t.receive(100, ack(1));
    for (ms, end) in [(101, 3), (102, 4)] {
        t.receive(ms, ack(1).sack(2, end));
    }
    assert!(t.receive(103, ack(1).sack(2, 5)).starts_with("dupacks:1"));
}

#[test]
fn another_hole_waits_for_a_round_trip_of_its_own() {
    let mut t = overtaken(Setup::new(entry()));
    // Segment 1 arrives, and now segment 8 is missing.
    t.receive(190, ack(8).sack(9, 12));
    t.receive(202, ack(8).sack(9, 13));
    assert_eq!(t.sender().stats().retransmissions, 0);
    assert!(t.receive(400, ack(8).sack(9, 14)).contains(":8"));
}

#[test]
fn every_transfer_ends() {
    for seed in 0..2_000 {
        adversary::transfer(entry(), seed, adversary::any_threshold);
    }
}
