use super::*;
use crate::catalog::Dialect;
use crate::response::previous;
use crate::testing::{Setup, Timeline, ack, coin};

/// Returns a timeline with eight segments in flight, of which 0 is lost. Limited transmit has sent 8 and 9 for the
/// first two duplicate ACKs, and the third has arrived.
fn one_loss(setup: Setup) -> Timeline {
    let mut t = setup.window(8.0).ssthresh(2.0).start(100);
    assert_eq!(t.receive(100, ack(0)), "limited:8");
    assert_eq!(t.receive(101, ack(0)), "limited:9");
    t.receive(102, ack(0));
    t
}

#[test]
fn the_retreat_sends_one_segment_for_two_duplicates() {
    let mut t = one_loss(Setup::new(entry()));
    assert_eq!(t.sent(), "dupacks:0");
    // The window is half of eight; the data outstanding at the loss does not count.
    assert_eq!((t.cwnd(), t.in_flight()), (4.0, 0.0));
    // Two of the three duplicate ACKs belong to limited transmit. The fourth and the third together permit a segment.
    assert_eq!(t.receive(103, ack(0)), "new:10");
    assert_eq!(t.receive(104, ack(0)), "");
    assert_eq!(t.receive(105, ack(0)), "new:11");
    assert_eq!(t.receive(106, ack(0)), "");
    // These are the duplicate ACKs of 8 and 9.
    assert_eq!(t.receive(200, ack(0)), "new:12");
    assert_eq!(t.receive(201, ack(0)), "");
    // The window is actnum = 3, and 10, 11 and 12 are in flight.
    assert_eq!(t.receive(202, ack(10)), "");
    assert_eq!((t.cwnd(), t.in_flight()), (3.0, 3.0));
    let stats = t.sender().stats();
    assert_eq!((stats.loss_events, stats.recoveries), (1, 1));
}

#[test]
fn there_is_no_retreat_from_a_loss_that_leaves_the_window() {
    let mut t = one_loss(Setup::new(entry()).answered_by(previous::entry()));
    assert_eq!(t.sent(), "dupacks:0 new:10");
    for (ms, sent) in [(103, "new:11"), (104, "new:12"), (105, "new:13")] {
        assert_eq!(t.receive(ms, ack(0)), sent);
    }
    assert_eq!((t.cwnd(), t.in_flight()), (8.0, 4.0));
}

/// Returns a timeline with sixteen segments in flight, of which 0 and 5 are lost. There are fourteen duplicate ACKs,
/// and two more for the segments of limited transmit. 3 − 2 + 13 of them count: seven new segments, 18 to 24.
fn probing() -> Timeline {
    let mut t = Setup::new(entry()).window(16.0).ssthresh(2.0).start(100);
    for ms in 100..116 {
        t.receive(ms, ack(0));
    }
    assert_eq!((t.cwnd(), t.in_flight()), (8.0, 7.0));
    // The partial ACK begins the probe sub-phase with actnum = 7 and one additional segment.
    assert_eq!(t.receive(202, ack(5)), "partial:5 new:25");
    assert_eq!((t.cwnd(), t.in_flight()), (8.125, 8.0));
    t
}

#[test]
fn the_probe_sends_one_for_one_and_one_more() {
    let mut t = probing();
    for (ms, segment) in (203..210).zip(26..) {
        assert_eq!(t.receive(ms, ack(5)), format!("new:{segment}"));
    }
    // There were seven duplicate ACKs for 18 to 24. The window has grown, but 25 to 32 are in flight.
    assert!(t.cwnd() > 8.9);
    assert_eq!(t.receive(302, ack(25)), "");
    assert_eq!((t.cwnd(), t.in_flight()), (8.0, 8.0));
    assert_eq!(t.sender().stats().recoveries, 1);
}

#[test]
fn fewer_duplicates_than_segments_are_a_further_loss() {
    // Segment 20 is lost, so there are six duplicate ACKs, for which segments 26 to 31 are sent.
    let mut t = probing();
    for ms in 203..209 {
        t.receive(ms, ack(5));
    }
    assert_eq!(t.receive(302, ack(20)), "partial:20");
    // The number of segments that arrived is the window, and 25 to 31 are in flight. The recovery continues up to 32.
    assert_eq!((t.cwnd(), t.in_flight()), (6.0, 7.0));
    assert_eq!(t.receive(303, ack(20)), "");
    assert_eq!(t.receive(304, ack(20)), "new:32");
    for ms in 305..310 {
        t.receive(ms, ack(20));
    }
    // Segment 31 is acknowledged, and segments 32 to 37 are in flight. There was no second loss event.
    t.receive(402, ack(32));
    assert_eq!((t.cwnd(), t.in_flight()), (6.0, 6.0));
    let stats = t.sender().stats();
    assert_eq!((stats.loss_events, stats.recoveries), (1, 1));
    assert_eq!(stats.retransmissions, 3);
}

#[test]
fn a_lost_ack_is_no_loss_if_the_next_covers_everything() {
    let mut t = probing();
    for ms in 203..209 {
        t.receive(ms, ack(5));
    }
    t.receive(302, ack(25));
    assert_eq!(t.sender().stats().retransmissions, 2);
    // The window is 7 − 6 + 1 + 6 = 8 segments, as if the lost ACK could still arrive.
    assert_eq!((t.cwnd(), t.sender().stats().recoveries), (8.0, 1));
}

#[test]
fn two_segments_are_the_least_window() {
    // Segment 0 of 4 is lost. 1 to 3, and 4 and 5 of limited transmit, give 3 − 2 + 2 duplicate ACKs: one new segment.
    let mut t = Setup::new(entry()).window(4.0).ssthresh(2.0).start(100);
    for ms in 100..103 {
        t.receive(ms, ack(0));
    }
    assert_eq!(t.receive(200, ack(0)), "new:6");
    assert_eq!(t.receive(201, ack(0)), "");
    assert_eq!(t.receive(202, ack(6)), "new:7");
    assert_eq!(t.cwnd(), 2.0);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut t = one_loss(Setup::new(entry()));
    for ms in 200..210 {
        assert!(!t.receive(ms, ack(0)).contains(":0"));
    }
    assert_eq!(t.wait(999), "");
    assert_eq!(t.wait(1000), "rto:0");
    assert_eq!((t.cwnd(), t.in_flight()), (1.0, 1.0));
}

#[test]
fn every_transfer_ends_whatever_is_lost() {
    for dialect in Dialect::ALL {
        for seed in 0..40 {
            let mut lost = coin(seed, 0.015 * seed as f64);
            let setup = Setup::new(entry()).dialect(dialect);
            let stats = setup.transfer(300, |_, _| lost()).stats;
            assert_eq!(stats.segments_sent - stats.retransmissions, 300);
            assert!(stats.recoveries <= stats.loss_events);
        }
    }
}
