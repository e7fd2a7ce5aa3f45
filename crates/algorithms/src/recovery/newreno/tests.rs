//! Timelines of NewReno, including the three logged cases of draft-nishida-newreno-modification §4.

use dupack_tcp::window::WindowRounding;

use super::*;
use crate::catalog::Dialect;
use crate::testing::{Aimd, Setup, Timeline, ack, agrees_with_ns2};

const ALGORITHMS: [&str; 3] = ["alg1", "alg2", "alg3"];

/// Returns the setup of a log. The logs have no limited transmit, and their first ACK already repeats an earlier one.
fn logged(full_ack: &'static str, window: f64) -> Setup {
    Setup::new(entry())
        .set("full_ack", full_ack)
        .set("limited_transmit", "off")
        .window(window)
}

/// Checks the segments that each algorithm sends, and its window, when nothing is outstanding at the full ACK. `next`
/// is the next new segment.
fn assert_exit(t: &Timeline, full_ack: &str, next: u64) {
    let two = format!("new:{next} new:{}", next + 1);
    let (words, cwnd) = match full_ack {
        // The window is 1 SMSS, and slow start adds another.
        "alg1" => (two, 2.0),
        // The log has one segment.
        "alg2" => (format!("new:{next}"), 1.0),
        _ => (two, 2.0),
    };
    assert_eq!((t.sent(), t.cwnd()), (words.as_str(), cwnd), "{full_ack}");
}

#[test]
fn draft_nishida_case_1_small_window() {
    for full_ack in ALGORITHMS {
        // Lines 1–4. Bytes 1000:2000 of the log are segment 0 here.
        let mut t = logged(full_ack, 4.0).start(100);
        assert_eq!(t.sent(), "new:0 new:1 new:2 new:3");
        // Lines 5–7, to which lines 8 and 9 respond: ssthresh is 2, and 4 of 2 + 3 = 5 segments are in flight.
        assert_eq!(t.receive(10, ack(0)), "");
        assert_eq!(t.receive(11, ack(0)), "");
        assert_eq!(t.receive(12, ack(0)), "dupacks:0 new:4");
        assert_eq!(t.ssthresh(), 2.0);
        // Line 10 acknowledges everything, and line 11 responds.
        t.receive(24, ack(5));
        assert_exit(&t, full_ack, 5);
    }
}

#[test]
fn draft_nishida_case_2_zero_window() {
    for full_ack in ALGORITHMS {
        // The duplicate ACKs advertise a window of 0, while the segments were sent into an open one: by RFC 5681 §2 the
        // first ACK is a window update. The log counts it as a duplicate.
        let mut t = logged(full_ack, 6.0)
            .configure(|c| c.duplicate_ack = dupack_tcp::sender::DuplicateAckRule::AckNumberOnly)
            .start(100);
        assert_eq!(t.sent(), "new:0 new:1 new:2 new:3 new:4 new:5");
        // Lines 7–9, to which line 10 responds.
        assert_eq!(t.receive(10, ack(0).window(0)), "");
        assert_eq!(t.receive(11, ack(0).window(0)), "");
        assert_eq!(t.receive(12, ack(0).window(0)), "dupacks:0");
        // Lines 11 and 12: 3 + 5 would permit two new segments; the receive window permits none.
        assert_eq!(t.receive(13, ack(0).window(0)), "");
        assert_eq!(t.receive(14, ack(0).window(0)), "");
        assert_eq!((t.ssthresh(), t.in_flight()), (3.0, 1.0));
        // Lines 13 and 14.
        t.receive(22, ack(6).window(16));
        assert_exit(&t, full_ack, 6);
    }
}

#[test]
fn draft_nishida_case_3_lost_acks() {
    for full_ack in ALGORITHMS {
        let mut t = logged(full_ack, 6.0).start(100);
        // Lines 7–9; two more ACKs are lost. The window is 3 + 3 = 6 segments, and 6 are in flight.
        assert_eq!(t.receive(10, ack(0)), "");
        assert_eq!(t.receive(11, ack(0)), "");
        assert_eq!(t.receive(12, ack(0)), "dupacks:0");
        assert_eq!((t.ssthresh(), t.in_flight()), (3.0, 3.0));
        // Lines 11 and 12.
        t.receive(22, ack(6));
        assert_exit(&t, full_ack, 6);
    }
}

#[test]
fn the_algorithms_agree_where_something_is_outstanding() {
    let exit = |full_ack| {
        let mut t = Setup::new(entry())
            .set("full_ack", full_ack)
            .window(10.0)
            .start(100);
        for ms in 100..109 {
            t.receive(ms, ack(0));
        }
        // There are nine duplicate ACKs. 10 and 11 are sent by limited transmit, and then 5 − (12 − 9) = 2 more.
        assert_eq!(t.in_flight(), 5.0);
        assert_eq!(t.sender().scoreboard().nxt(), 14_000);
        t.receive(200, ack(12));
        (t.cwnd(), t.sent().to_owned())
    };
    let three = (3.0, "new:14".to_owned());
    assert_eq!(exit("alg2"), three);
    assert_eq!(exit("alg3"), three);
    // Slow start adds to the window: 2 + 1 + 1.
    assert_eq!(exit("alg1"), (4.0, "new:14 new:15".to_owned()));
    // The window is half of the previous one, plus 1/cwnd.
    assert_eq!(exit("keep"), (5.2, "new:14 new:15 new:16".to_owned()));
}

/// Returns a timeline with twelve segments in flight, of which 0, 3 and 5 are lost. There are nine duplicate ACKs, and
/// limited transmit sends a segment for each of the first two.
fn three_losses(setup: Setup) -> Timeline {
    let mut t = setup.window(12.0).start(1000);
    assert_eq!(t.receive(100, ack(0)), "limited:12");
    assert_eq!(t.receive(101, ack(0)), "limited:13");
    assert_eq!(t.receive(102, ack(0)), "dupacks:0");
    for ms in 103..109 {
        t.receive(ms, ack(0));
    }
    // 14 segments were sent, and nine of them are known to have arrived. The window of 6 permitted one more.
    assert_eq!(t.sender().scoreboard().nxt(), 15_000);
    assert_eq!((t.cwnd(), t.in_flight()), (6.0, 6.0));
    t
}

#[test]
fn each_partial_ack_repairs_one_loss_and_keeps_the_window_full() {
    let mut t = three_losses(Setup::new(entry()));
    // Segments 12 and 13 arrive, which causes two more duplicate ACKs.
    assert_eq!(t.receive(200, ack(0)), "new:15");
    assert_eq!(t.receive(201, ack(0)), "new:16");
    // The partial ACK acknowledges 3 segments, and one is added back to the inflation. Otherwise FlightSize and the
    // inflation shrink by the same amount.
    assert_eq!(t.receive(202, ack(3)), "partial:3 new:17");
    assert_eq!((t.cwnd(), t.in_flight()), (6.0, 6.0));
    assert_eq!(t.receive(208, ack(3)), "new:18");
    assert_eq!(t.receive(302, ack(5)), "partial:5 new:19");
    assert_eq!(t.sender().stats().loss_events, 1);
    // `recover` is 14, so the ACK of 13 is still partial, although nothing below 14 is missing any more.
    assert_eq!(t.receive(303, ack(13)), "partial:13 new:20");
    // This ACK is full. Seven segments are in flight, alg3 permits eight, and the window is six.
    assert_eq!(t.receive(400, ack(14)), "");
    assert_eq!((t.cwnd(), t.in_flight()), (6.0, 7.0));
    assert_eq!(t.sender().stats().timeouts, 0);
}

#[test]
fn a_partial_ack_of_less_than_a_segment_adds_nothing_back() {
    let mut t = three_losses(Setup::new(entry()));
    let mut half = ack(0);
    half.0.ack.0 += 500;
    // FlightSize and the inflation both fall by 500 bytes: the bytes in flight do not change, and no new segment fits.
    assert_eq!(t.receive(202, half), "partial:0");
    assert_eq!(t.in_flight(), 6.0);
}

#[test]
fn the_ack_that_ends_a_recovery_restarts_the_timer() {
    for variant in ["impatient", "slow-but-steady"] {
        let mut t = Setup::new(entry())
            .set("variant", variant)
            .window(6.0)
            .start(100);
        // The first two duplicate ACKs permit one segment each, and so do the last ones. These segments are outstanding
        // when the recovery ends.
        for at in 100..107 {
            t.receive(at, ack(0));
        }
        assert_eq!(t.rto_at(), Some(1000));
        assert!(!t.receive(200, ack(8)).contains("partial"));
        assert_eq!(t.rto_at(), Some(1200), "{variant}");
    }
}

#[test]
fn the_impatient_variant_gives_up_and_the_steady_one_continues() {
    for (variant, first, second) in [("impatient", 1250, 1250), ("slow-but-steady", 1250, 1400)] {
        let mut t = three_losses(Setup::new(entry()).set("variant", variant));
        assert_eq!(t.rto_at(), Some(1000), "since the first transmission");
        t.receive(250, ack(3));
        assert_eq!(t.rto_at(), Some(first), "{variant}");
        t.receive(400, ack(5));
        assert_eq!(t.rto_at(), Some(second), "{variant}");
        // The next ACK would arrive at 1300 ms.
        let gives_up = t.wait(1299) == "rto:5";
        assert_eq!(gives_up, variant == "impatient");
    }
}

#[test]
fn after_a_timeout_duplicates_at_recover_are_not_trusted() {
    for (careful, words) in [("on", ""), ("less", "dupacks:6 new:10")] {
        let mut t = Setup::new(entry())
            .set("careful", careful)
            .window(6.0)
            .start(100);
        assert_eq!(t.wait(1000), "rto:0");
        // Everything had arrived: SND.NXT was 6 at the timeout, and an ACK of 6 is not beyond `recover`.
        assert_eq!(t.receive(1100, ack(6)), "new:6 new:7");
        t.receive(1200, ack(6));
        t.receive(1201, ack(6));
        assert_eq!(t.receive(1202, ack(6)), words, "careful={careful}");
    }
    // One segment further, duplicate ACKs are accepted.
    let mut t = Setup::new(entry()).window(6.0).start(100);
    t.wait(1000);
    t.receive(1100, ack(6));
    t.receive(1200, ack(7));
    t.receive(1300, ack(7));
    t.receive(1301, ack(7));
    assert!(t.receive(1302, ack(7)).starts_with("dupacks:7"));
}

#[test]
fn deflation_beyond_the_inflation_ends_with_the_recovery_or_does_not() {
    // Only three of eleven duplicate ACKs arrive, so the partial ACK covers more segments than they reported.
    let start = |deflation| {
        let mut t = Setup::new(entry())
            .set("deflation", deflation)
            .set("limited_transmit", "off")
            .set("full_ack", "keep")
            .window(12.0)
            .start(100);
        for ms in 100..103 {
            t.receive(ms, ack(0));
        }
        // 6 + 3 − 8 + 1 = 2 segments, and 4 are in flight.
        assert_eq!(t.receive(202, ack(8)), "partial:8");
        t
    };
    let mut t = start("inflation");
    assert_eq!((t.cwnd(), t.in_flight()), (6.0, 8.0));
    t.receive(302, ack(12));
    assert!(t.cwnd() > 6.0);
    let mut t = start("window");
    assert_eq!((t.cwnd(), t.in_flight()), (1.0, 3.0));
    t.receive(302, ack(12));
    assert_eq!(t.cwnd(), 2.0);
}

#[test]
fn in_ns2_an_ack_releases_two_new_segments_at_most() {
    let partial = |dialect| {
        let mut t = Setup::new(entry()).dialect(dialect).window(12.0).start(10);
        for ms in 100..110 {
            t.receive(ms, ack(0));
        }
        // The ten segments were all the data; now the application writes more.
        t.write(100).to_owned()
    };
    assert_eq!(partial(Dialect::Ns2).split(' ').count(), 2);
    assert!(partial(Dialect::Rfc).split(' ').count() > 2);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer_and_is_resent_in_slow_start() {
    let mut t = three_losses(Setup::new(entry()));
    assert_eq!(t.wait(1000), "rto:0");
    assert_eq!((t.cwnd(), t.in_flight()), (1.0, 1.0));
    assert_eq!(t.receive(1100, ack(3)), "rto:3 rto:4");
    assert_eq!(t.receive(1200, ack(5)), "rto:5 rto:6 rto:7");
    assert_eq!(t.receive(1300, ack(15)), "new:15 new:16 new:17 new:18");
}

#[test]
fn both_variants_send_the_same_packets_as_ns2() {
    agrees_with_ns2(Setup::new(entry()), "newreno");
    let steady = Setup::new(entry()).set("variant", "slow-but-steady");
    agrees_with_ns2(steady, "newreno-sbs");
}

#[test]
fn a_bound_below_one_segment_still_admits_one() {
    let mut t = Setup::new(entry())
        .window(1.0)
        .configure(|config| config.max_window = 0.5 * f64::from(config.smss))
        .start(3);
    assert_eq!(t.sent(), "new:0");
    assert_eq!(t.receive(100, ack(1)), "new:1");
    assert_eq!(t.cwnd(), 1.0);
}

#[test]
fn in_ns2_the_full_ack_starts_from_ssthresh_and_not_from_half_a_window_of_three() {
    let exit = |full_ack, from| {
        let mut t = Setup::new(entry())
            .dialect(Dialect::Ns2)
            .control(Aimd::Window)
            .configure(|c| c.rounding = WindowRounding::NsTwo)
            .set("full_ack", full_ack)
            .set("full_ack_from", from)
            .window(3.0)
            .start(100);
        assert_eq!(t.receive(100, ack(0)), "limited:3");
        assert_eq!(t.receive(101, ack(0)), "limited:4");
        assert_eq!(t.receive(102, ack(0)), "dupacks:0");
        assert_eq!((t.cwnd(), t.ssthresh()), (1.5, 2.0));
        t.receive(202, ack(5));
        t.cwnd()
    };
    assert_eq!(exit("alg1", "ssthresh"), 2.0);
    assert_eq!(exit("alg2", "ssthresh"), 1.0);
    assert_eq!(exit("alg3", "ssthresh"), 2.0);
    // With the other reading, one segment is sent, which alg3 is meant to prevent.
    assert_eq!(exit("alg1", "cwnd"), 2.0);
    assert_eq!(exit("alg2", "cwnd"), 1.0);
    assert_eq!(exit("alg3", "cwnd"), 1.5);
}
