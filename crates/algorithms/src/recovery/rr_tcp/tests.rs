use super::*;
use crate::catalog::Dialect;
use crate::congestion::reno;
use crate::recovery::adversary;
use crate::testing::{Setup, Timeline, ack};

/// Returns a timeline with twenty segments sent at once; the first is acknowledged, and the RTT is 100 ms.
fn start(setup: Setup) -> Timeline {
    let mut t = setup.window(20.0).ssthresh(2.0).start(100);
    t.receive(100, ack(1));
    t
}

/// Segments 2 and 3 overtake 1, which then arrives. It was late by two segments, which is below the threshold.
#[test]
fn reordering_below_the_threshold_leaves_it() {
    let mut t = start(Setup::new(entry()));
    t.receive(101, ack(1).sack(2, 3));
    t.receive(102, ack(1).sack(2, 4));
    t.receive(103, ack(4));
    t.receive(104, ack(4).sack(5, 6));
    t.receive(105, ack(4).sack(5, 7));
    assert!(t.receive(106, ack(4).sack(5, 8)).starts_with("dupacks:4"));
}

#[test]
fn a_segment_as_late_as_one_before_is_not_lost_again() {
    // Segments 2 to 6 overtake segment 1, which causes five duplicate ACKs. Segment 1 arrives shortly after it was
    // retransmitted. Only a DSACK shows that the first transmission arrived.
    let mut t = start(Setup::new(entry()));
    for (ms, end) in (101..106).zip(3..) {
        t.receive(ms, ack(1).sack(2, end));
    }
    t.receive(106, ack(7));
    t.receive(204, ack(21).sack(1, 2));
    let before = t.sender().stats().retransmissions;
    // Now five duplicate ACKs show no loss, but the sixth does.
    let edge = t.sender().scoreboard().una() as u32 / 1000;
    for (ms, end) in (300..305).zip(edge + 2..) {
        t.receive(ms, ack(edge).sack(edge + 1, end));
    }
    assert_eq!(t.sender().stats().retransmissions, before);
    let lost = format!(":{edge}");
    assert!(
        t.receive(305, ack(edge).sack(edge + 1, edge + 7))
            .contains(&lost)
    );
}

#[test]
fn the_threshold_is_a_percentile() {
    // Nine segments were late by one, and one by ten: nine tenths would have caused no false alarm with a threshold of
    // two.
    let threshold = |share| {
        let mut lateness = Lateness::new(share, 3, 300);
        for _ in 0..9 {
            lateness.count(1);
        }
        lateness.count(10);
        lateness.threshold
    };
    assert_eq!([0.9, 0.91, 1.0].map(threshold), [3, 11, 11]);
}

#[test]
fn the_threshold_has_a_bound() {
    let mut lateness = Lateness::new(0.9, 3, 300);
    lateness.count(100_000);
    assert_eq!(lateness.threshold, 300);
}

#[test]
fn a_spurious_cut_is_undone() {
    // Linux's controls undo the reduction.
    let setup = Setup::new(entry()).dialect(Dialect::Linux);
    let mut t = start(setup.controlled_by(reno::entry()));
    for (ms, end) in (101..106).zip(3..) {
        t.receive(ms, ack(1).sack(2, end));
    }
    assert!(t.cwnd() <= 11.0, "{}", t.cwnd());
    t.receive(106, ack(7));
    t.receive(204, ack(21).sack(1, 2));
    assert!(t.cwnd() >= 20.0, "{}", t.cwnd());
}

#[test]
fn every_transfer_ends() {
    for seed in 0..2_000 {
        adversary::transfer(entry(), seed, adversary::any_threshold);
    }
}
