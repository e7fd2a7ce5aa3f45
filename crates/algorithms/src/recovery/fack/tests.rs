use dupack_tcp::sender::DuplicateAckRule;

use super::*;
use crate::catalog::Dialect;
use crate::recovery::storm::{SackedSegments, build, storm};
use crate::testing::{Setup, ack, agrees_with_ns2};

#[test]
fn it_sends_the_same_packets_as_ns2() {
    agrees_with_ns2(Setup::new(entry()), "fack");
}

#[test]
fn one_sack_far_enough_ahead_is_enough() {
    let mut t = Setup::new(entry()).window(8.0).start(100);
    assert_eq!(t.receive(100, ack(0).sack(3, 4)), "fack:0");
    // awnd is 8 − 4 + 1 segments, and the window is half of 8.
    assert_eq!((t.cwnd(), t.in_flight()), (4.0, 5.0));
    assert_eq!(t.receive(101, ack(0).sack(3, 5)), "");
    assert_eq!(t.receive(102, ack(0).sack(3, 6)), "fack:1");
    assert_eq!(t.receive(103, ack(0).sack(3, 7)), "fack:2");
    assert_eq!(t.receive(104, ack(0).sack(3, 8)), "new:8");
    assert_eq!(t.receive(200, ack(1).sack(3, 8)), "new:9");
    assert_eq!(t.cwnd(), 4.0);
    assert_eq!(t.receive(201, ack(8)), "new:10 new:11");
    assert_eq!(t.cwnd(), 4.0);
}

#[test]
fn a_gap_of_three_segments_is_not_enough_and_releases_nothing() {
    let mut t = Setup::new(entry()).window(4.0).start(100);
    assert_eq!(t.receive(100, ack(0).sack(1, 2)), "");
    assert_eq!(t.receive(101, ack(0).sack(1, 3)), "");
    assert_eq!(t.receive(102, ack(0).sack(1, 4)), "fack:0 new:4");
    let mut t = Setup::new(entry())
        .set("limited_transmit", "on")
        .window(4.0)
        .start(100);
    assert_eq!(t.receive(100, ack(0).sack(1, 2)), "limited:4 limited:5");
}

#[test]
fn a_lost_retransmission_stops_ns2s_fack_until_the_timer() {
    for (word, sent) in [("wait", ""), ("ignore", "new:11")] {
        let mut t = Setup::new(entry())
            .set("lost_retransmission", word)
            .window(8.0)
            .start(100);
        assert_eq!(t.receive(100, ack(0).sack(1, 5)), "fack:0");
        assert_eq!(t.receive(101, ack(0).sack(1, 6)), "new:8");
        assert_eq!(t.receive(102, ack(0).sack(1, 7)), "new:9");
        assert_eq!(t.receive(103, ack(0).sack(1, 8)), "new:10");
        // Segment 8 was sent after the retransmission of 0, and has arrived.
        assert_eq!(t.receive(201, ack(0).sack(1, 9)), sent);
        assert!(t.wait(2000).starts_with("rto:0"));
    }
}

#[test]
fn losses_after_the_trigger_are_another_event() {
    let mut t = Setup::new(entry()).window(8.0).start(100);
    assert_eq!(t.receive(100, ack(0).sack(1, 5)), "fack:0");
    for n in 6..9 {
        t.receive(95 + u64::from(n), ack(0).sack(1, n));
    }
    // Segment 8 is lost, and 9 to 11 arrive. Segment 8 is a hole, but it belongs to the next loss event.
    assert_eq!(t.receive(200, ack(8)), "new:11");
    assert_eq!(t.receive(201, ack(8).sack(9, 10)), "");
    assert_eq!(t.receive(202, ack(8).sack(9, 11)), "");
    assert_eq!(t.receive(300, ack(8).sack(9, 12)), "fack:8 new:12");
    assert_eq!(t.sender().stats().loss_events, 2);
}

#[test]
fn it_survives_any_path_and_peer() {
    for seed in 0..60 {
        for dialect in Dialect::ALL {
            for word in ["on", "off"] {
                let recovery = build(&entry(), dialect, &[("limited_transmit", word)]);
                storm(recovery, seed, SackedSegments::StayUnsent);
            }
        }
    }
}

#[test]
fn an_ack_that_points_at_no_hole_resends_nothing_again() {
    let mut t = Setup::new(entry())
        .set("after_rto", "resume")
        .window(8.0)
        .start(100);
    assert!(t.wait(2000).starts_with("rto:0"));
    // The receiver sacks 0 to 4, but does not acknowledge them. There is no hole below this SACK, so no recovery
    // begins. Outside of a recovery, nothing is sent while SACKs arrive.
    assert_eq!(t.receive(2100, ack(0).sack(0, 5)), "");
    assert_eq!(t.receive(2101, ack(0).sack(0, 5)), "");
    assert_eq!(t.receive(2102, ack(0).sack(0, 5)), "");
    assert_eq!(t.sender().stats().loss_events, 0);
}

#[test]
fn without_sacks_duplicate_acks_resend_nothing_again() {
    let mut t = Setup::new(entry())
        .set("after_rto", "resume")
        .window(8.0)
        .configure(|config| config.duplicate_ack = DuplicateAckRule::AckNumberOnly)
        .start(100);
    assert!(t.wait(2000).starts_with("rto:0"));
    for ms in 2100..2110 {
        assert_eq!(t.receive(ms, ack(0)), "");
    }
}

#[test]
fn after_a_timeout_earlier_retransmissions_are_repeated_without_waiting() {
    let mut t = Setup::new(entry())
        .set("lost_retransmission", "wait")
        .set("after_rto", "resume")
        .window(8.0)
        .start(100);
    // Segments 0 and 1 are retransmitted. Both retransmissions are lost, and the arrival of 8 shows this to the sender.
    assert_eq!(t.receive(100, ack(0).sack(2, 7)), "fack:0 fack:1 new:8");
    assert_eq!(t.receive(200, ack(0).sack(2, 9)), "");
    assert!(t.wait(2000).starts_with("rto:0"));
    assert!(t.receive(2100, ack(1).sack(2, 9)).starts_with("rto:1"));
}

#[test]
fn ns2s_recovery_ends_beyond_the_data_outstanding_at_its_beginning() {
    let mut t = Setup::new(entry())
        .set("exit", "beyond")
        .window(8.0)
        .start(100);
    assert_eq!(t.receive(100, ack(0).sack(1, 5)), "fack:0");
    assert_eq!(t.receive(101, ack(0).sack(1, 6)), "new:8");
    assert_eq!(t.receive(102, ack(0).sack(1, 7)), "new:9");
    // Segments 0 to 7 were in flight when the recovery began.
    t.receive(200, ack(8));
    assert_eq!(t.sender().stats().recoveries, 0);
    t.receive(202, ack(10));
    assert_eq!(t.sender().stats().recoveries, 1);
}

#[test]
fn a_window_update_does_not_open_ns2s_window_in_recovery() {
    let setup = Setup::new(entry()).set("entry", "restart").window(8.0);
    let mut t = setup.start(100);
    assert_eq!(t.receive(100, ack(0).sack(1, 5)), "fack:0");
    assert_eq!(t.cwnd(), 1.0);
    t.receive(101, ack(0).sack(1, 5).window(500));
    assert_eq!(t.cwnd(), 1.0);
    // A duplicate ACK increases the window.
    t.receive(102, ack(0).sack(1, 6).window(500));
    assert_eq!(t.cwnd(), 2.0);
}
