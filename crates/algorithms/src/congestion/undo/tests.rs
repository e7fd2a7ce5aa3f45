use dupack_tcp::SenderConfig;
use dupack_tcp::recovery::{Phase, Recovery};
use dupack_tcp::sender::{TimestampClock, TimestampValues, WindowLog};
use dupack_tcp::time::Duration;
use dupack_tcp::window::WindowCause;

use crate::catalog::{Dialect, Entry, Value};
use crate::congestion::bench::built;
use crate::congestion::{bbr, cubic, reno};
use crate::recovery::{fack, le, momentary, newreno, rack, sack, tahoe};
use crate::response::tcp;
use crate::testing::{Setup, Timeline, ack, at};

const EIFEL_FIRST: (&str, Value) = ("undo_eifel", Value::word("first-ack"));
const EIFEL_ANY: (&str, Value) = ("undo_eifel", Value::word("any-ack"));
const DSACK: (&str, Value) = ("undo_dsack", Value::word("on"));
const FRTO_SECOND: (&str, Value) = ("undo_frto", Value::word("second-ack"));
const FRTO_ANY: (&str, Value) = ("undo_frto", Value::word("any-ack"));

/// Enables timestamps, in milliseconds since the beginning.
fn timestamps(config: &mut SenderConfig) {
    config.timestamps = Some(TimestampClock {
        tick: Duration::from_millis(1),
        values: TimestampValues::Clock,
    });
}

/// Returns a timeline of Reno with these signs, and `recovery`. Ten segments are sent at time 0, in congestion
/// avoidance.
fn start(recovery: Entry<dyn Recovery>, signs: &[(&str, Value)], segments: u64) -> Timeline {
    Setup::new(recovery)
        .window(10.0)
        .ssthresh(8.0)
        .configure(timestamps)
        .prepared()
        .control(built(&reno::entry(), Dialect::Rfc, signs))
        .configure(|config| config.log = WindowLog::On)
        .start(segments)
}

/// Returns a timeline of RACK in which segment 1 is considered lost at 104 ms, and retransmitted.
fn one_taken_for_lost(signs: &[(&str, Value)]) -> Timeline {
    let mut t = start(rack::entry(), signs, 100);
    assert_eq!(t.receive(100, ack(1).timestamp(0)), "new:10");
    assert_eq!(t.receive(102, ack(1).sack(2, 3).timestamp(0)), "limited:11");
    assert_eq!(t.receive(103, ack(1).sack(2, 4).timestamp(0)), "limited:12");
    assert_eq!(t.receive(104, ack(1).sack(2, 5).timestamp(0)), "rack:1");
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    assert_eq!(t.sender().phase(), Some(Phase::Recovery));
    t
}

/// Checks that no reduction was undone.
fn stands(t: &Timeline) {
    assert_eq!(t.sender().stats().undone(), 0);
}

#[test]
fn an_old_echo_undoes_a_fast_retransmit() {
    for sign in [EIFEL_FIRST, EIFEL_ANY] {
        let mut t = one_taken_for_lost(&[sign]);
        // Segment 1 was delayed. Its timestamp is older than that of the retransmission, 104.
        t.receive(106, ack(5).timestamp(0));
        // The window is 10 again; ssthresh is the larger of 8, the earlier value, and 5.
        assert_eq!((t.cwnd(), t.ssthresh()), (10.0, 8.0));
        assert_eq!(t.sender().phase(), Some(Phase::Open));
        assert_eq!(t.sender().stats().undone_by_timestamp, 1);
        let undone = |c: &dupack_tcp::sender::WindowChange| c.cause == WindowCause::Undo;
        assert_eq!(
            t.sender_mut().take_window_changes().filter(undone).count(),
            1
        );
    }
}

#[test]
fn the_echo_of_the_retransmission_undoes_nothing() {
    for sign in [EIFEL_FIRST, EIFEL_ANY] {
        let mut t = one_taken_for_lost(&[sign]);
        t.receive(204, ack(13).timestamp(104));
        stands(&t);
        assert_eq!(t.cwnd(), 5.0);
    }
}

#[test]
fn without_a_parameter_nothing_is_undone() {
    let mut t = one_taken_for_lost(&[]);
    t.receive(106, ack(5).timestamp(0));
    t.receive(107, ack(13).sack(1, 2).timestamp(0));
    stands(&t);
}

#[test]
fn the_first_ack_alone_decides_by_rfc_3522() {
    // The first ACK is of the retransmission; an ACK with an old timestamp follows it.
    let mut t = one_taken_for_lost(&[EIFEL_FIRST]);
    t.receive(204, ack(5).timestamp(104));
    t.receive(205, ack(6).timestamp(0));
    stands(&t);
    // With `any-ack`, the second ACK also counts.
    let mut t = one_taken_for_lost(&[EIFEL_ANY]);
    t.receive(204, ack(5).timestamp(104));
    t.receive(205, ack(13).timestamp(0));
    assert_eq!(t.sender().stats().undone_by_timestamp, 1);
}

#[test]
fn an_ack_of_everything_decides_nothing_unless_the_peer_sends_dsacks() {
    // RFC 3522 §3.2 (5): all ACKs of a window may have been lost.
    let mut t = one_taken_for_lost(&[EIFEL_FIRST]);
    t.receive(106, ack(13).timestamp(0));
    stands(&t);
    // A peer that has sent a DSACK would send another one.
    let mut t = start(rack::entry(), &[EIFEL_FIRST], 100);
    t.receive(100, ack(1).sack(0, 1).timestamp(0));
    for end in 3..=5 {
        t.receive(99 + u64::from(end), ack(1).sack(2, end).timestamp(0));
    }
    assert_eq!(t.sent(), "rack:1");
    t.receive(106, ack(13).timestamp(0));
    assert_eq!(t.sender().stats().undone_by_timestamp, 1);
}

#[test]
fn linux_sends_nothing_again_while_old_echoes_come() {
    // Segments 1 to 4 are delayed; the SACKs of 5 to 8 make the sender consider them lost.
    let mut t = start(rack::entry(), &[EIFEL_ANY], 100);
    t.receive(100, ack(1).timestamp(0));
    t.receive(102, ack(1).sack(5, 6).timestamp(0));
    t.receive(103, ack(1).sack(5, 7).timestamp(0));
    t.receive(104, ack(1).sack(5, 8).timestamp(0));
    assert_eq!(t.sent(), "rack:1");
    let mut end = 8;
    while t.sender().stats().retransmissions < 2 {
        end += 1;
        t.receive(96 + u64::from(end), ack(1).sack(5, end).timestamp(0));
    }
    assert_eq!(t.sent(), "rack:2");
    // Segment 1 arrives. Segment 2 has been retransmitted and is not acknowledged, so the undo has to wait. Segment 3
    // is not retransmitted.
    let sent = t.receive(116, ack(2).sack(5, end).timestamp(0)).to_owned();
    assert!(!sent.contains("rack"), "{sent}");
    stands(&t);
    // Segment 2 arrives: no retransmitted segment is outstanding.
    let sent = t.receive(117, ack(3).sack(5, end).timestamp(0)).to_owned();
    assert!(!sent.contains("rack"), "{sent}");
    assert_eq!(t.sender().stats().undone_by_timestamp, 1);
    assert_eq!(t.cwnd(), 10.0);
    assert_eq!(t.sender().stats().retransmissions, 2);
}

#[test]
fn dsacks_for_all_that_was_sent_again_undo_it() {
    let mut t = one_taken_for_lost(&[DSACK]);
    t.receive(106, ack(5).timestamp(0));
    stands(&t);
    // The retransmission also arrives while the recovery is in progress.
    t.receive(206, ack(8).sack(1, 2).timestamp(0));
    assert_eq!((t.cwnd(), t.ssthresh()), (10.0, 8.0));
    assert_eq!(t.sender().stats().undone_by_dsack, 1);
    assert_eq!(t.sender().phase(), Some(Phase::Open));
}

#[test]
fn a_dsack_counts_after_the_recovery_too() {
    let mut t = one_taken_for_lost(&[DSACK]);
    t.receive(106, ack(13).timestamp(0));
    assert_eq!((t.sender().phase(), t.cwnd()), (Some(Phase::Open), 5.0));
    t.receive(206, ack(13).sack(1, 2).timestamp(0));
    assert_eq!(t.cwnd(), 10.0);
}

#[test]
fn one_dsack_of_two_undoes_nothing() {
    let mut t = start(rack::entry(), &[DSACK], 100);
    t.receive(100, ack(1).timestamp(0));
    let mut end = 5;
    while t.sender().stats().retransmissions < 2 {
        end += 1;
        t.receive(97 + u64::from(end), ack(1).sack(5, end).timestamp(0));
    }
    // Segments 1 and 2 were retransmitted. So far, only the retransmission of 1 is known to be spurious.
    t.receive(205, ack(13).timestamp(0));
    t.receive(206, ack(13).sack(1, 2).timestamp(0));
    assert_eq!(t.sender().stats().retransmissions, 2);
    stands(&t);
    t.receive(207, ack(13).sack(2, 3).timestamp(0));
    assert_eq!(t.sender().stats().undone_by_dsack, 1);
}

#[test]
fn a_dsack_of_a_segment_sent_once_undoes_nothing() {
    // RFC 3708 §3 (A.4): the network duplicated segment 3.
    let mut t = one_taken_for_lost(&[DSACK]);
    t.receive(106, ack(1).sack(3, 4).sack(2, 5).timestamp(0));
    t.receive(206, ack(5).sack(3, 4).timestamp(0));
    stands(&t);
}

/// Returns a timeline in which the timer expires for six segments; all their ACKs are delayed.
fn timed_out(recovery: Entry<dyn Recovery>, signs: &[(&str, Value)], segments: u64) -> Timeline {
    timed_out_in(Setup::new(recovery), signs, segments)
}

fn timed_out_in(setup: Setup, signs: &[(&str, Value)], segments: u64) -> Timeline {
    let mut t = setup
        .window(6.0)
        .ssthresh(4.0)
        .prepared()
        .control(built(&reno::entry(), Dialect::Rfc, signs))
        .start(segments);
    assert!(t.wait(1000).ends_with("rto:0"));
    assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 3.0));
    t
}

#[test]
fn f_rto_sends_new_data_and_the_second_ack_decides() {
    // F-RTO without SACK follows RFC 5682 §2.1.
    for recovery in [newreno::entry, tahoe::entry] {
        let mut t = timed_out(recovery(), &[FRTO_SECOND], 100);
        assert_eq!(t.receive(1100, ack(1)), "new:6 new:7");
        // A host may call the sender at any time; such a call causes no retransmission.
        t.sender_mut().handle_timeout(at(1100));
        assert_eq!(t.write(1), "");
        stands(&t);
        t.receive(1101, ack(2));
        assert_eq!((t.cwnd(), t.ssthresh()), (6.0, 4.0));
        assert_eq!(t.sender().stats().undone_by_frto, 1);
        for number in 3..=8 {
            t.receive(1099 + u64::from(number), ack(number));
        }
        assert_eq!(t.sender().stats().retransmissions, 1);
    }
}

#[test]
fn f_rto_continues_as_usual_after_a_duplicate() {
    // Step 3 (a): segment 1 was lost. Step 2 (a): a duplicate ACK comes first.
    let mut t = timed_out(newreno::entry(), &[FRTO_SECOND], 100);
    assert_eq!(t.receive(1100, ack(1)), "new:6 new:7");
    assert_eq!(t.receive(1200, ack(1)), "rto:1 rto:2");
    stands(&t);
    let mut t = timed_out(newreno::entry(), &[FRTO_SECOND], 100);
    t.receive(1100, ack(0));
    assert_eq!(t.receive(1101, ack(1)), "rto:1 rto:2");
    stands(&t);
}

#[test]
fn f_rto_without_new_data_continues_as_usual() {
    let mut t = timed_out(newreno::entry(), &[FRTO_SECOND], 6);
    assert_eq!(t.receive(1100, ack(1)), "rto:1 rto:2");
    t.receive(1101, ack(2));
    stands(&t);
}

#[test]
fn f_rto_learns_nothing_of_an_ack_of_everything() {
    // Step 2 (a): a fast retransmission may have been lost, and everything else may have arrived.
    let mut t = timed_out(newreno::entry(), &[FRTO_SECOND], 100);
    assert_eq!(t.receive(1100, ack(6)), "new:6 new:7");
    t.receive(1200, ack(7));
    stands(&t);
}

#[test]
fn f_rto_with_sack_takes_an_earlier_transmission_for_a_sign() {
    // RFC 5682 §3.1 step 3 (b): segment 3 arrives, which was sent only once, before the timeout.
    for recovery in [sack::entry, fack::entry, momentary::entry, le::entry] {
        let mut t = timed_out(recovery(), &[FRTO_SECOND], 100);
        assert_eq!(t.receive(1100, ack(1)), "new:6 new:7");
        t.receive(1101, ack(1).sack(3, 4));
        assert_eq!(t.sender().stats().undone_by_frto, 1);
        assert_eq!(t.cwnd(), 6.0);
        t.receive(1102, ack(4));
        t.receive(1103, ack(6));
        assert_eq!(t.sender().stats().retransmissions, 1);
        // Step 3 (a): data sent after the timeout arrives, so the flight was lost.
        let mut t = timed_out(recovery(), &[FRTO_SECOND], 100);
        t.receive(1100, ack(1));
        assert!(t.receive(1200, ack(1).sack(6, 7)).contains("rto:1"));
        stands(&t);
    }
}

#[test]
fn linux_takes_the_first_ack_that_is_a_sign() {
    let setup = Setup::new(rack::entry()).set("tlp", "off");
    let mut t = timed_out_in(setup, &[FRTO_ANY], 100);
    t.receive(1100, ack(1));
    t.receive(1101, ack(2));
    assert_eq!(t.sender().stats().undone_by_frto, 1);
    assert_eq!(t.sender().phase(), Some(Phase::Open));
    // A SACK shows the spurious timeout before the first cumulative advance.
    let mut t = timed_out(sack::entry(), &[FRTO_ANY], 100);
    t.receive(1100, ack(0).sack(2, 3));
    assert_eq!((t.cwnd(), t.sender().stats().undone_by_frto), (6.0, 1));
}

#[test]
fn f_rto_is_over_once_an_ack_has_spoken_against_it() {
    // RFC 5682 §3.1 step 3 (a), and Linux: data of the old flight that arrives later shows nothing.
    for sign in [FRTO_SECOND, FRTO_ANY] {
        let mut t = timed_out(sack::entry(), &[sign], 100);
        assert_eq!(t.receive(1100, ack(1)), "new:6 new:7");
        assert!(t.receive(1200, ack(1).sack(6, 7)).contains("rto:1"));
        t.receive(1201, ack(1).sack(3, 4).sack(6, 7));
        stands(&t);
    }
}

#[test]
fn a_timeout_within_a_recovery_returns_to_the_window_before_it() {
    let mut t = one_taken_for_lost(&[EIFEL_ANY]);
    t.wait(2000);
    assert_eq!(t.sender().stats().timeouts, 1);
    assert_eq!(t.cwnd(), 1.0);
    // The original transmission of segment 1 arrives after all.
    t.receive(2001, ack(5).timestamp(0));
    assert_eq!((t.cwnd(), t.ssthresh()), (10.0, 8.0));
}

#[test]
fn cubic_continues_its_curve() {
    // RFC 9438 §4.9: the undo of the loss event restores the window of 20 segments. With `restore`, the curve
    // continues.
    let setup = |curve| {
        let undo_curve = ("undo_curve", Value::word(curve));
        let mut t = Setup::new(rack::entry())
            .window(20.0)
            .ssthresh(8.0)
            .configure(timestamps)
            .prepared()
            .control(built(
                &cubic::entry(),
                Dialect::Rfc,
                &[EIFEL_ANY, undo_curve],
            ))
            .start(1000);
        t.receive(100, ack(1).timestamp(0));
        for end in 3..=5 {
            t.receive(99 + u64::from(end), ack(1).sack(2, end).timestamp(0));
        }
        assert_eq!(t.sent(), "rack:1");
        assert_eq!(t.cwnd(), 14.0);
        t.receive(106, ack(5).timestamp(0));
        assert!(t.cwnd() >= 20.0 && t.cwnd() < 20.5, "{}", t.cwnd());
        t
    };
    for curve in ["restore", "anew"] {
        setup(curve);
    }
}

#[test]
fn bbr_brings_its_bounds_back() {
    let mut t = Setup::new(rack::entry())
        .set("tlp", "off")
        .configure(timestamps)
        .prepared()
        .control(built(&bbr::entry(), Dialect::Rfc, &[FRTO_ANY, EIFEL_ANY]))
        .start(100);
    let before = t.cwnd();
    t.wait(1500);
    assert!(t.sender().stats().timeouts >= 1);
    assert_eq!(t.cwnd(), 1.0);
    t.receive(1501, ack(1).timestamp(0));
    assert_eq!(t.sender().stats().undone(), 1);
    assert!(t.cwnd() >= before, "{}", t.cwnd());
}

#[test]
fn a_response_to_a_supposed_loss_of_the_links_is_undone_too() {
    let mut t = Setup::new(rack::entry())
        .window(10.0)
        .ssthresh(8.0)
        .configure(timestamps)
        .answered_by(tcp::entry())
        .prepared()
        .control(built(&reno::entry(), Dialect::Rfc, &[EIFEL_ANY]))
        .start(100);
    t.receive(100, ack(1).timestamp(0));
    for end in 3..=5 {
        t.receive(99 + u64::from(end), ack(1).sack(2, end).timestamp(0));
    }
    assert_eq!(t.sent(), "rack:1");
    assert!(t.cwnd() < 10.0, "{}", t.cwnd());
    t.receive(106, ack(5).timestamp(0));
    assert_eq!((t.cwnd(), t.sender().stats().undone()), (10.0, 1));
}

#[test]
fn retransmissions_of_an_earlier_event_are_not_waited_for() {
    // The first loss was real: no DSACK reports its retransmission. The second loss was not real, and one DSACK reports
    // everything that was retransmitted for it.
    let mut t = one_taken_for_lost(&[DSACK]);
    t.receive(204, ack(13));
    stands(&t);
    assert_eq!(t.sent(), "new:13 new:14 new:15 new:16 new:17");
    for end in 15..=17 {
        t.receive(290 + u64::from(end), ack(13).sack(14, end));
    }
    assert_eq!(t.sent(), "rack:13");
    assert!(t.cwnd() < 5.0, "{}", t.cwnd());
    t.receive(309, ack(17));
    t.receive(409, ack(18).sack(13, 14));
    assert_eq!(t.sender().stats().undone_by_dsack, 1);
    assert!(t.cwnd() >= 5.0, "{}", t.cwnd());
}

#[test]
fn linux_restores_three_quarters_of_the_window_as_threshold() {
    // Three quarters of 10 segments, in Linux's integer arithmetic: 5 + 2 (`tcp_current_ssthresh`). ssthresh was
    // smaller.
    let threshold = ("undo_ssthresh", Value::word("three-quarters"));
    let mut t = Setup::new(rack::entry())
        .window(10.0)
        .ssthresh(2.0)
        .configure(timestamps)
        .prepared()
        .control(built(&reno::entry(), Dialect::Rfc, &[EIFEL_ANY, threshold]))
        .start(100);
    t.receive(100, ack(1).timestamp(0));
    for end in 3..=5 {
        t.receive(99 + u64::from(end), ack(1).sack(2, end).timestamp(0));
    }
    assert_eq!(t.sent(), "rack:1");
    t.receive(106, ack(5).timestamp(0));
    assert_eq!(t.sender().stats().undone(), 1);
    assert_eq!(t.ssthresh(), 7.0);
}

#[test]
fn f_rto_does_not_apply_to_a_timeout_within_a_recovery() {
    // RFC 5682 §2.1, step 1, and Linux: SND.UNA has not moved, and the retransmission was lost.
    for (sign, at_once) in [(FRTO_SECOND, 0), (FRTO_ANY, 1)] {
        let signs = [sign];
        let mut t = one_taken_for_lost(&signs);
        t.wait(2000);
        assert_eq!(t.sender().stats().timeouts, 1);
        t.receive(2001, ack(2));
        t.receive(2002, ack(6));
        stands(&t);
        // A second timeout of the same segment does not count as a timeout within a recovery.
        let mut t = one_taken_for_lost(&signs);
        t.wait(4500);
        assert_eq!(t.sender().stats().timeouts, 2);
        t.receive(4501, ack(2));
        t.receive(4502, ack(6));
        assert_eq!(t.sender().stats().undone_by_frto, at_once);
    }
}

#[test]
fn f_rto_sends_two_new_segments_and_no_more() {
    // RFC 5682 §2.1, step 2 (b): here the ACK would open the window for three segments.
    let mut t = Setup::new(newreno::entry())
        .window(6.0)
        .ssthresh(4.0)
        .prepared()
        .control(built(&reno::entry(), Dialect::Linux, &[FRTO_SECOND]))
        .start(100);
    assert!(t.wait(1000).ends_with("rto:0"));
    assert_eq!(t.receive(1100, ack(4)), "new:6 new:7");
    assert!(t.cwnd() >= 3.0, "{}", t.cwnd());
}
