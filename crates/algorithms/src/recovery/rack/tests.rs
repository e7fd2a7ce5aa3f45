use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{LossCause, LossFacts};

use super::*;
use crate::catalog::Dialect;
use crate::recovery::adversary;
use crate::testing::{AckIn, Setup, Timeline, ack, at};

/// Returns a timeline with ten segments sent at once; the first is acknowledged after 100 ms, so RTT and SRTT are 100
/// ms.
fn ten(setup: Setup, segments: u64) -> Timeline {
    let mut t = setup.window(10.0).ssthresh(2.0).start(segments);
    t.receive(100, ack(1));
    t
}

fn rack() -> Setup {
    Setup::new(entry())
}

#[test]
fn any_network_is_survived() {
    for seed in 0..8_000 {
        adversary::transfer(entry(), seed, |setup, random| {
            let setup = setup
                .set(
                    "prr",
                    random.of(&["safe-ack", "crb", "ssrb", "ub", "rate-halving", "off"]),
                )
                .set("tlp", random.of(&["on", "off"]))
                .set("reo_wnd", random.of(&["adaptive", "static", "none"]))
                .set("rtt_of", random.of(&["last-sent", "last-in-stream"]))
                .set(
                    "rto_timer",
                    random.of(&["advance", "head", "retransmission", "every-ack"]),
                );
            let setup = adversary::any_timestamps(setup, random);
            adversary::any_threshold(setup, random)
        });
    }
}

#[test]
fn three_sacked_segments_begin_a_recovery_paced_by_prr() {
    // Of segments 1 to 10, segment 1 is lost. The first two SACKs permit new data; with the third, the reordering
    // window is zero.
    let mut t = ten(rack(), 40);
    assert_eq!(t.sent(), "new:10");
    assert_eq!(t.receive(101, ack(1).sack(2, 3)), "limited:11");
    assert_eq!(t.receive(102, ack(1).sack(2, 4)), "limited:12");
    assert_eq!(t.receive(103, ack(1).sack(2, 5)), "rack:1");
    // FlightSize was 10 without the segments of limited transmit: ssthresh is 5, and RecoverFS 10.
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    // Every second ACK sends one segment.
    let sent: Vec<String> = (6..=11)
        .map(|end| {
            t.receive(98 + u64::from(end), ack(1).sack(2, end))
                .to_owned()
        })
        .collect();
    assert_eq!(sent, ["", "new:13", "", "new:14", "", ""]);
    // The data in flight has decreased to ssthresh: segments 1 and 11 to 14.
    assert_eq!(t.in_flight(), 5.0);
    // The recovery ends at ssthresh, without growth, when everything up to 12 is acknowledged.
    t.receive(202, ack(12));
    t.receive(203, ack(13));
    assert_eq!((t.cwnd(), t.in_flight()), (5.0, 5.0));
    t.receive(205, ack(14));
    assert_eq!(t.cwnd(), 5.2);
    assert_eq!(t.sender().stats().loss_events, 1);
}

#[test]
fn the_ack_that_ends_a_recovery_may_let_the_window_grow() {
    for (setting, cwnd) in [("off", 5.0), ("on", 5.2)] {
        let mut t = ten(rack().set("growth_at_exit", setting), 40);
        for end in 3..=5 {
            t.receive(98 + u64::from(end), ack(1).sack(2, end));
        }
        t.receive(202, ack(12));
        assert_eq!(t.cwnd(), 5.0, "within the recovery");
        t.receive(203, ack(13));
        assert_eq!(t.cwnd(), cwnd, "{setting}");
    }
}

#[test]
fn without_prr_the_window_is_cut_at_once() {
    let mut t = ten(rack().set("prr", "off"), 40);
    t.receive(101, ack(1).sack(2, 3));
    t.receive(102, ack(1).sack(2, 4));
    assert_eq!(t.receive(103, ack(1).sack(2, 5)), "rack:1");
    let sent: Vec<String> = (6..=11)
        .map(|end| {
            t.receive(98 + u64::from(end), ack(1).sack(2, end))
                .to_owned()
        })
        .collect();
    // 9 segments are in flight after the retransmission; the number must fall below 5.
    assert_eq!(sent, ["", "", "", "", "new:13", "new:14"]);
}

#[test]
fn fewer_than_three_wait_for_the_reordering_window() {
    // Of segments 0 to 2, only 1 and 2 remain to be reported, and segment 1 is lost. Without a third SACK, the loss is
    // detected a quarter of the minimum RTT, 25 ms, after the ACK was due.
    let mut t = rack().window(3.0).start(3);
    t.receive(100, ack(1));
    assert_eq!(t.receive(101, ack(1).sack(2, 3)), "");
    assert_eq!(t.wait(125), "");
    // RACK.rtt is 101 ms. Segment 1 was sent at 0 ms and is overdue at 101 + 25 ms.
    assert_eq!(t.wait(126), "rack:1");
    assert_eq!(t.sender().stats().loss_events, 1);
    assert_eq!(
        t.sender()
            .next_timeout()
            .map(|at| at.as_nanos() / 1_000_000),
        Some(1100)
    );
}

#[test]
fn a_recovery_that_the_timer_begins_sends_for_later_arrivals() {
    // Of segments 1 to 12, all except 2 and 3 are in flight or lost: RecoverFS is 10, ssthresh is 5.
    let mut t = ten(rack(), 40);
    assert_eq!(t.receive(101, ack(1).sack(2, 3)), "limited:11");
    assert_eq!(t.receive(102, ack(1).sack(2, 4)), "limited:12");
    assert_eq!(t.wait(127), "rack:1");
    assert_eq!((t.ssthresh(), t.in_flight()), (5.0, 10.0));
    // The first two arrivals compensate for the retransmission of 1; after them, every second one permits a segment.
    let sent: Vec<String> = (5..=9)
        .map(|end| {
            t.receive(123 + u64::from(end), ack(1).sack(2, end))
                .to_owned()
        })
        .collect();
    assert_eq!(sent, ["", "", "new:13", "", "new:14"]);
}

#[test]
fn timers_with_ticks_are_set_in_whole_ticks_and_two_more() {
    // The deadline is 25 ms away: 25 ticks, plus two.
    let mut t = rack().dialect(Dialect::Linux).window(3.0).start(3);
    t.receive(100, ack(1));
    t.receive(101, ack(1).sack(2, 3));
    assert_eq!(t.wait(127), "");
    assert_eq!(t.wait(128), "rack:1");
    // The probe, with two segments outstanding, waits for 200 ticks, plus two.
    let mut t = rack().dialect(Dialect::Linux).window(3.0).start(3);
    t.receive(100, ack(1));
    assert_eq!(t.wait(301), "");
    assert_eq!(t.wait(302), "tlp:2");
}

#[test]
fn the_age_is_that_of_the_segment_sent_last_or_last_in_the_stream() {
    let found = |rtt_of| {
        let mut t = ten(rack().set("rtt_of", rtt_of), 40);
        assert_eq!(t.receive(150, ack(2)), "new:11");
        // Segment 2 was sent at 0 ms and segment 11 at 150 ms. RACK.rtt is 100 or 250 ms, so a segment sent at 0 ms is
        // overdue after 125 or 275 ms.
        t.receive(250, ack(3).sack(11, 12)).contains("rack:3")
    };
    assert!(found("last-sent"));
    assert!(!found("last-in-stream"));
}

#[test]
fn the_first_segment_sent_again_restarts_the_timer_where_it_does_in_linux() {
    // Segment 1 is lost, and retransmitted at 103 ms; the timeout is one second.
    for (word, expires) in [("advance", 1100), ("head", 1103), ("retransmission", 1103)] {
        let mut t = ten(rack().set("rto_timer", word), 40);
        for end in 3..=5 {
            t.receive(98 + u64::from(end), ack(1).sack(2, end));
        }
        assert_eq!(t.sent(), "rack:1");
        assert_eq!(t.rto_at(), Some(expires), "{word}");
    }
    // Segments 1 and 3 are lost. The retransmission of 3, after that of 1, restarts the timer only if every
    // retransmission does.
    for (word, expires) in [("head", 1103), ("retransmission", 1105)] {
        let mut t = ten(rack().set("rto_timer", word), 40);
        t.receive(101, ack(1).sack(2, 3));
        t.receive(102, ack(1).sack(2, 3).sack(4, 5));
        assert_eq!(t.receive(103, ack(1).sack(2, 3).sack(4, 6)), "rack:1");
        assert_eq!(t.receive(104, ack(1).sack(2, 3).sack(4, 7)), "");
        assert_eq!(t.receive(105, ack(1).sack(2, 3).sack(4, 8)), "rack:3");
        assert_eq!(t.rto_at(), Some(expires), "{word}");
    }
}

#[test]
fn reordering_once_seen_is_tolerated_in_recovery_too() {
    let mut t = ten(rack(), 40);
    // Segment 1 arrives after segment 2, which shows reordering.
    t.receive(101, ack(1).sack(2, 3));
    t.receive(102, ack(3));
    // Segment 3 arrives after 4, 5, 6 and 7, within the reordering window of 25 ms.
    for end in 5..=8 {
        t.receive(100 + u64::from(end), ack(3).sack(4, end));
    }
    t.receive(110, ack(8));
    assert_eq!(t.sender().stats().retransmissions, 0);
    assert_eq!(t.sender().stats().loss_events, 0);
}

#[test]
fn a_lost_retransmission_is_found() {
    let mut t = ten(rack(), 60);
    t.receive(101, ack(1).sack(2, 3));
    t.receive(102, ack(1).sack(2, 4));
    assert_eq!(t.receive(103, ack(1).sack(2, 5)), "rack:1");
    for end in 6..=13 {
        t.receive(98 + u64::from(end), ack(1).sack(2, end));
    }
    // Segment 13 was sent after the retransmission of segment 1, and arrives, but the retransmission does not.
    let sent = t.receive(210, ack(1).sack(2, 14)).to_owned();
    assert!(sent.starts_with("rack:1"), "{sent}");
    assert_eq!(t.sender().stats().loss_events, 1);
    assert_eq!(t.sender().stats().timeouts, 0);
}

#[test]
fn a_lost_tail_is_probed_for_and_repaired() {
    // Only segments 0 to 9 are sent, and 7, 8 and 9 are lost.
    let mut t = rack().window(10.0).ssthresh(2.0).start(10);
    for next in 1..=7 {
        t.receive(100 + u64::from(next), ack(next));
    }
    // SRTT is about 102 ms, and the probe is sent two SRTT after the last ACK. There is no new data, so segment 9 is
    // retransmitted.
    assert_eq!(t.wait(400), "tlp:9");
    assert!(
        t.rto_at().is_some_and(|at| at > 1200),
        "the RTO starts over"
    );
    // The SACK of the probe shows that segments 7 and 8 are overdue by more than the reordering window. PRR permits one
    // segment for each segment delivered.
    assert_eq!(t.receive(430, ack(7).sack(9, 10)), "rack:7");
    assert_eq!(t.receive(530, ack(8).sack(9, 10)), "rack:8");
    assert_eq!(t.sender().stats().loss_events, 1);
    assert_eq!(t.sender().stats().timeouts, 0);
}

/// Returns a timeline with ten segments, of which segment 9 is lost and retransmitted by the probe.
fn probe_repeats_nine() -> Timeline {
    let mut t = rack().window(10.0).ssthresh(2.0).start(10);
    for next in 1..=9 {
        t.receive(100 + u64::from(next), ack(next));
    }
    assert_eq!(t.wait(400), "tlp:9");
    t
}

#[test]
fn a_loss_that_only_the_probe_knows_of_cuts_the_window() {
    let mut t = probe_repeats_nine();
    let before = t.cwnd();
    assert_eq!(t.receive(430, ack(10)), "");
    assert_eq!(t.write(2), "new:10 new:11");
    t.receive(530, ack(11));
    assert_eq!(t.sender().stats().loss_events, 1);
    assert!(t.cwnd() < before);
}

/// Checks the facts that a differentiation receives: they must be about segment 9, the tenth transmission, and not
/// about segment 11, which is outstanding when the loss is detected.
#[test]
fn the_loss_that_a_probe_repaired_is_that_of_its_segment() {
    #[derive(Debug)]
    struct Asked;
    impl Differentiation for Asked {
        fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}
        fn judge(&mut self, loss: &LossFacts) -> LossCause {
            assert_eq!(loss.rule, LossRule::PROBE);
            assert_eq!((loss.segment.start, loss.segment.order), (9000, 10));
            assert_eq!(
                (loss.segment.transmissions, loss.segment.sent_at),
                (1, at(0))
            );
            LossCause::Congestion
        }
    }
    let setup = rack().window(10.0).ssthresh(2.0).prepared();
    let mut t = setup.differentiation(Box::new(Asked)).start(10);
    for next in 1..=9 {
        t.receive(100 + u64::from(next), ack(next));
    }
    assert_eq!(t.wait(400), "tlp:9");
    t.receive(430, ack(10));
    assert_eq!(t.write(2), "new:10 new:11");
    t.receive(530, ack(11));
    assert_eq!(t.sender().stats().loss_events, 1);
}

#[test]
fn a_spurious_probe_costs_nothing() {
    let mut t = probe_repeats_nine();
    let before = t.cwnd();
    t.receive(430, ack(10));
    assert_eq!(t.receive(431, ack(10).sack(9, 10)), "", "a DSACK");
    t.write(2);
    t.receive(530, ack(11));
    assert_eq!(t.sender().stats().loss_events, 0);
    assert!(t.cwnd() >= before);
}

#[test]
fn there_is_one_probe_and_then_the_timeout() {
    let mut t = probe_repeats_nine();
    assert_eq!(t.wait(1200), "");
    assert_eq!(t.wait(2000), "rto:9");
}

#[test]
fn new_data_is_the_better_probe() {
    // The window is full, and there is more data: the probe exceeds the window.
    let mut t = rack().window(4.0).start(20);
    assert_eq!(t.wait(999), "");
    // Without an RTT sample, the probe is sent after 1 s, just before the timeout.
    assert_eq!(t.wait(1000), "tlp:4");
    // The SACK of the probe shows that the RTT is 100 ms, so segments 0 to 3 are long overdue.
    assert_eq!(t.receive(1100, ack(0).sack(4, 5)), "rack:0");
}

#[test]
fn a_lone_segment_waits_for_a_delayed_ack() {
    let probe_at = |setup: Setup| {
        let mut t = setup.window(2.0).start(1);
        t.receive(100, ack(1));
        t.write(1);
        t.sender()
            .next_timeout()
            .map(|at| at.as_nanos() / 1_000_000)
    };
    assert_eq!(probe_at(rack()), Some(100 + 200 + 25));
    assert_eq!(
        probe_at(rack().dialect(crate::catalog::Dialect::Linux)),
        Some(100 + 200 + 200)
    );
}

#[test]
fn after_a_timeout_segments_not_overdue_stay_in_flight() {
    let setup = rack().set("tlp", "off");
    let setup = setup.configure(|c| c.rtt.min_rto = Duration::from_millis(200));
    // RTO = 100 + 4 · 50 ms after the first sample: the timer expires at 400 ms.
    let mut t = ten(setup, 40);
    assert_eq!(t.sent(), "new:10");
    // RACK.rtt is 380 ms now, and a segment sent at 0 ms is overdue at 405 ms.
    assert_eq!(t.receive(380, ack(1).sack(2, 3)), "limited:11");
    // The timeout considers segments 1 and 3 to 9 lost, but not 10 and 11, which were sent at 100 and 380 ms.
    assert_eq!(t.wait(400), "rto:1");
    assert_eq!((t.cwnd(), t.in_flight()), (1.0, 3.0));
    // After segments 10 and 11 have arrived, the window permits the remaining segments.
    t.receive(480, ack(1).sack(10, 11).sack(2, 3));
    t.receive(481, ack(1).sack(10, 12).sack(2, 3));
    assert_eq!(t.receive(500, ack(3).sack(10, 12)), "rto:3 rto:4");
}

#[test]
fn a_partial_ack_of_a_lost_segment_is_accounted_for() {
    // Segments 1 and 2 are lost. When 0.3 of segment 2 is acknowledged, 0.7 of it remains to be retransmitted.
    let mut t = ten(rack(), 40);
    t.receive(101, ack(1).sack(3, 4));
    t.receive(102, ack(1).sack(3, 5));
    assert_eq!(t.receive(103, ack(1).sack(3, 6)), "rack:1");
    assert_eq!(t.in_flight(), 8.0, "6 to 12, and 1");
    let mut partial: AckIn = ack(2).sack(3, 13);
    partial.0.ack.0 += 300;
    assert_eq!(
        t.receive(203, partial),
        "rack:2 new:13 new:14 new:15 new:16"
    );
    assert_eq!(t.in_flight(), 4.7);
}

#[test]
fn there_is_no_second_probe_before_a_round_trip_sample() {
    // Segment 9 was sent twice, so its ACK is no sample (RFC 8985 §7.3). Both copies arrived, which ends the probe
    // episode.
    let mut t = probe_repeats_nine();
    t.receive(430, ack(10));
    t.receive(431, ack(10).sack(9, 10));
    assert_eq!(t.write(2), "new:10 new:11");
    assert_eq!(t.sender().next_timeout(), t.sender().rto_at());
    // Segment 10 was sent once, so its ACK is a sample, and the timer of the next probe is set.
    t.receive(531, ack(11));
    assert!(t.sender().next_timeout() < t.sender().rto_at());
}

#[test]
fn a_safe_ack_sends_one_more_and_one_that_reports_losses_does_not() {
    // The case is that of RFC 9937 §6.2. Segments 1 to 6 are lost, and 7 to 9 arrive. ssthresh is 5, and segments 10 to
    // 12 and the retransmission of 1 are in flight.
    let mut t = ten(rack(), 60);
    t.receive(101, ack(1).sack(7, 8));
    t.receive(102, ack(1).sack(7, 9));
    assert_eq!(t.receive(103, ack(1).sack(7, 10)), "rack:1");
    assert_eq!((t.cwnd(), t.in_flight()), (5.0, 4.0));
    // SND.UNA does not advance: one segment is sent for each segment that arrives.
    assert_eq!(t.receive(200, ack(1).sack(7, 11)), "rack:2");
    assert_eq!(t.receive(201, ack(1).sack(7, 12)), "rack:3");
    assert_eq!(t.receive(202, ack(1).sack(7, 13)), "rack:4");
    // SND.UNA advances, and nothing more is lost: one segment is sent for the segment that arrived, and one in
    // addition.
    assert_eq!(t.receive(203, ack(2).sack(7, 13)), "rack:5 rack:6");
}
