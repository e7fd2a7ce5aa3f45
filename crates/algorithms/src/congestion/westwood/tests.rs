//! The estimate and the windows, by hand.

use dupack_tcp::time::Duration;

use super::*;
use crate::catalog::{Dialect, Value};
use crate::congestion::bench::Bench;

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs().max(1.0)
}

#[test]
fn acked_count_in_the_example_of_section_2a() {
    // 100 to 109 lost, 110 to 129 arrive: 20 duplicate ACKs, one segment each.
    let mut acked = AckedCount::new(1, 65_535);
    for _ in 0..20 {
        assert_eq!(acked.count(0), 1);
    }
    assert_eq!(acked.accounted_for, 20);
    // 100 to 109 again: 5 delayed ACKs for 2 segments. Both were accounted for; each ACK
    // still counts for one.
    for left in [18, 16, 14, 12, 10] {
        assert_eq!(acked.count(2), 1);
        assert_eq!(acked.accounted_for, left);
    }
    // One ACK for 110 to 129: 20 less the 10 that are accounted for.
    assert_eq!(acked.count(20), 10);
    assert_eq!(acked.accounted_for, 0);
    // An ordinary delayed ACK counts in full.
    assert_eq!(acked.count(2), 2);
    assert_eq!(acked.count(1), 1);
}

#[test]
fn one_ack_counts_for_no_more_than_the_limit() {
    let mut acked = AckedCount::new(1000, 2);
    assert_eq!(acked.count(20_000), 2000);
}

#[test]
fn the_filter_by_hand() {
    let mut filter = Filter::new(10.0);
    let ms = |n| Instant::ZERO + Duration::from_millis(n);
    filter.take(ms(5), 1000);
    assert_eq!(filter.estimate, 0.0);
    // 1000 B in 10 ms are 100,000 B/s: BWE = (100,000 + 0)/21.
    filter.take(ms(15), 1000);
    assert!(close(filter.estimate, 100_000.0 / 21.0));
    // 2000 B in 10 ms: BWE = 19/21 · 100,000/21 + (200,000 + 100,000)/21.
    filter.take(ms(25), 2000);
    let expected = 19.0 / 21.0 * (100_000.0 / 21.0) + 300_000.0 / 21.0;
    assert!(close(filter.estimate, expected));
}

#[test]
fn acks_at_the_same_instant_count_with_the_next() {
    let mut filter = Filter::new(10.0);
    let ms = |n| Instant::ZERO + Duration::from_millis(n);
    filter.take(ms(0), 1000);
    filter.take(ms(0), 1000);
    filter.take(ms(0), 1000);
    assert_eq!(filter.estimate, 0.0);
    // 3000 B in 10 ms.
    filter.take(ms(10), 1000);
    assert!(close(filter.sample, 300_000.0));
}

#[test]
fn the_estimate_of_a_steady_stream_is_its_rate() {
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 10.0, 5.0);
    for n in 0..300 {
        b.now = Instant::ZERO + Duration::from_millis(10 * n);
        b.ack(1);
    }
    // 1000 B per 10 ms; what is left of the start is (19/21)^299 < 1e-12.
    let estimate = b.control().bandwidth_estimate().unwrap();
    assert!(close(estimate, 100_000.0), "{estimate}");
}

/// A path of 100,000 B/s with RTTmin 200 ms: it holds 20 segments.
fn measured(cwnd: f64, ssthresh: f64) -> Bench {
    measured_with(&[], cwnd, ssthresh)
}

fn measured_with(changes: &[(&str, Value)], cwnd: f64, ssthresh: f64) -> Bench {
    let mut b = Bench::new(entry(), Dialect::Rfc, changes, cwnd, ssthresh);
    b.rtt_sample = Some(Duration::from_millis(200));
    for n in 0..400 {
        b.now = Instant::ZERO + Duration::from_millis(10 * n);
        b.ack_with(1, Credit::default());
    }
    b
}

#[test]
fn a_loss_in_congestion_avoidance_sets_the_window_to_the_pipe() {
    let mut b = measured(30.0, 10.0);
    b.loss(0, 30);
    assert!(close(b.cwnd(), 20.0));
    assert!(close(b.ssthresh(), 20.0));
    // A window below the pipe stays.
    let mut b = measured(12.0, 10.0);
    b.loss(0, 12);
    assert!(close(b.cwnd(), 12.0));
    assert!(close(b.ssthresh(), 20.0));
}

#[test]
fn a_loss_in_slow_start_divides_by_a_growing_factor() {
    let mut b = measured(30.0, 64.0);
    b.loss(0, 30);
    // a = 1.25
    assert!(close(b.ssthresh(), 16.0));
    assert!(close(b.cwnd(), 16.0));
    // cwnd = ssthresh: a stays 1.25. Then slow start again: a = 1.5.
    b.loss(1, 16);
    assert!(close(b.ssthresh(), 16.0));
    b.window.cwnd = 10_000.0;
    b.loss(2, 10);
    assert!(close(b.ssthresh(), 20.0 / 1.5));
    assert!(close(b.cwnd(), 10.0));
    // Up to 4.
    for n in 3..30 {
        b.window.cwnd = 4000.0;
        b.loss(n, 4);
    }
    assert!(close(b.ssthresh(), 5.0));
    // Above ssthresh it was right: a = 1.
    b.window.cwnd = 30_000.0;
    b.loss(30, 30);
    assert!(close(b.ssthresh(), 20.0));
}

#[test]
fn asking_changes_nothing_and_a_wireless_loss_leaves_a_alone() {
    let mut b = measured(30.0, 64.0);
    let facts = b.loss_facts(0, 30);
    let first = b.control().reduction(&facts);
    assert_eq!(first, b.control().reduction(&facts));
    b.control()
        .on_loss(&facts, LossCause::Wireless, facts.window);
    assert_eq!(first, b.control().reduction(&facts));
}

#[test]
fn a_timeout_steps_by_one_and_leaves_two_segments_at_least() {
    let mut b = measured(30.0, 64.0);
    b.timeout(0, 30);
    // a = 2
    assert_eq!(b.cwnd(), 1.0);
    assert!(close(b.ssthresh(), 10.0));
    b.timeout(0, 30);
    b.timeout(0, 30);
    b.timeout(0, 30);
    // a = 4
    assert!(close(b.ssthresh(), 5.0));
    b.rtt_sample = Some(Duration::from_millis(20));
    b.timeout(0, 30);
    // 2 segments in the pipe, a quarter of them is below 2.
    assert_eq!(b.ssthresh(), 2.0);
}

#[test]
fn without_an_estimate_a_loss_halves() {
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 10.0, 5.0);
    b.loss(0, 10);
    assert_eq!((b.cwnd(), b.ssthresh()), (5.0, 5.0));
}

#[test]
fn the_general_form_sets_the_window_by_function_and_gain() {
    let loss = |changes: &[(&str, Value)], cwnd: f64, ssthresh: f64| {
        let mut b = measured_with(changes, cwnd, ssthresh);
        b.loss(0, cwnd as u64);
        (b.cwnd(), b.ssthresh())
    };
    let near = |left: (f64, f64), right: (f64, f64)| {
        assert!(close(left.0, right.0) && close(left.1, right.1), "{left:?}");
    };
    // x = 20 segments. Congestion avoidance: f1.
    near(
        loss(&[("f1_gain", Value::Real(0.75))], 30.0, 10.0),
        (15.0, 15.0),
    );
    near(
        loss(
            &[
                ("f1", Value::word("segment")),
                ("f1_gain", Value::Real(3.0)),
            ],
            30.0,
            10.0,
        ),
        (3.0, 3.0),
    );
    // f2 is for slow start only, where a = 1.25.
    near(
        loss(&[("f2", Value::word("pipe"))], 30.0, 10.0),
        (20.0, 20.0),
    );
    near(
        loss(&[("f2", Value::word("pipe"))], 30.0, 64.0),
        (20.0, 20.0),
    );
    near(
        loss(&[("f2_gain", Value::Real(0.5))], 30.0, 64.0),
        (8.0, 8.0),
    );
    // §III.A sets the window in congestion avoidance, upwards too; in slow start it never does.
    let set = [("cwnd", Value::word("set"))];
    near(loss(&set, 12.0, 10.0), (20.0, 20.0));
    near(loss(&set, 12.0, 64.0), (12.0, 16.0));
}

#[test]
fn the_general_form_after_a_timeout() {
    let timeout = |changes: &[(&str, Value)], cwnd: f64, ssthresh: f64| {
        let mut b = measured_with(changes, cwnd, ssthresh);
        b.timeout(0, cwnd as u64);
        (b.cwnd(), b.ssthresh())
    };
    let near = |left: (f64, f64), right: (f64, f64)| {
        assert!(close(left.0, right.0) && close(left.1, right.1), "{left:?}");
    };
    // Congestion avoidance: f3 for ssthresh, f4 for cwnd.
    let f3 = ("f3_gain", Value::Real(0.5));
    let f4 = [
        f3.clone(),
        ("f4", Value::word("pipe")),
        ("f4_gain", Value::Real(0.25)),
    ];
    near(timeout(&[f3], 30.0, 10.0), (1.0, 10.0));
    near(timeout(&f4, 30.0, 10.0), (5.0, 10.0));
    // Slow start: f5 and f6, with a = 2.
    near(timeout(&f4, 30.0, 64.0), (1.0, 10.0));
    let f5 = ("f5", Value::word("pipe"));
    let f6 = ("f6", Value::word("reduced"));
    near(timeout(&[f5, f6], 30.0, 64.0), (10.0, 20.0));
    // A threshold below the least one leaves one segment, whatever f4 says (§III.B).
    let tiny = [("f3_gain", Value::Real(0.01)), f4[1].clone()];
    near(timeout(&tiny, 30.0, 10.0), (1.0, 2.0));
}
