//! Tests of the estimate and the windows, with values calculated by hand.

use dupack_tcp::congestion::Credit;
use dupack_tcp::facts::LossCause;
use dupack_tcp::time::{Duration, Instant};

use super::*;
use crate::catalog::{Dialect, Value};
use crate::congestion::bench::Bench;

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs().max(1.0)
}

#[test]
fn the_estimate_of_a_steady_stream_is_its_rate() {
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 10.0, 5.0);
    for n in 0..300 {
        b.now = Instant::ZERO + Duration::from_millis(10 * n);
        b.ack(1);
    }
    // 1000 B per 10 ms; the effect of the start has decreased to (19/21)^299 < 1e-12.
    let estimate = b.control().bandwidth_estimate().unwrap();
    assert!(close(estimate, 100_000.0), "{estimate}");
}

/// Returns a bench on a path of 100,000 B/s with an RTTmin of 200 ms, which holds 20 segments.
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
    // A window below the pipe does not change.
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
    // cwnd = ssthresh, so a stays 1.25. Then slow start begins again, and a = 1.5.
    b.loss(1, 16);
    assert!(close(b.ssthresh(), 16.0));
    b.window.cwnd = 10_000.0;
    b.loss(2, 10);
    assert!(close(b.ssthresh(), 20.0 / 1.5));
    assert!(close(b.cwnd(), 10.0));
    // a increases up to 4.
    for n in 3..30 {
        b.window.cwnd = 4000.0;
        b.loss(n, 4);
    }
    assert!(close(b.ssthresh(), 5.0));
    // A window above ssthresh shows that the estimate was correct: a = 1.
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
    // The pipe holds 2 segments, and a quarter of them is below the minimum of 2.
    assert_eq!(b.ssthresh(), 2.0);
}

#[test]
fn without_an_estimate_a_loss_halves() {
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 10.0, 5.0);
    b.loss(0, 10);
    assert_eq!((b.cwnd(), b.ssthresh()), (5.0, 5.0));
}

#[test]
fn rtt_min_in_ticks_of_the_timer() {
    let loss = |tick: u64, rtt: u64| {
        let tick = Value::Time(Duration::from_millis(tick));
        let mut b = measured_with(&[("rtt_tick", tick)], 30.0, 10.0);
        b.rtt_sample = Some(Duration::from_millis(rtt));
        b.loss(0, 30);
        b.ssthresh()
    };
    // The path has 100 segments per second. 200 ms are two whole ticks of 100 ms, and 199 ms are one.
    assert!(close(loss(100, 200), 20.0));
    assert!(close(loss(100, 199), 10.0));
    // Less than one tick counts as one tick, which gives five times the pipe.
    assert!(close(loss(100, 20), 10.0));
    // A tick of 0 makes RTTmin exact.
    assert!(close(loss(0, 199), 19.9));
}

#[test]
fn three_duplicate_acks_leave_at_least_two_segments_by_the_parameter() {
    let loss = |least: u64| {
        let least = Value::Integer(least);
        let mut b = measured_with(&[("dup_ack_min_ssthresh", least)], 30.0, 10.0);
        // The pipe holds 1 segment.
        b.rtt_sample = Some(Duration::from_millis(10));
        b.loss(0, 30);
        (b.cwnd(), b.ssthresh())
    };
    let (cwnd, ssthresh) = loss(0);
    assert!(close(cwnd, 1.0) && close(ssthresh, 1.0), "{cwnd}");
    assert_eq!(loss(2), (2.0, 2.0));
}

#[test]
fn announced_segments_count_once_but_in_linux_twice() {
    let estimate = |dialect| {
        let mut b = Bench::new(entry(), dialect, &[], 10.0, 5.0);
        // There are 4 duplicate ACKs, 2 delayed ACKs for 4 segments and one ACK for 4 more, 10 ms apart.
        for (n, segments) in [1, 0, 0, 0, 0, 2, 2, 4].into_iter().enumerate() {
            b.now = Instant::ZERO + Duration::from_millis(10 * n as u64);
            b.ack(segments);
        }
        b.control().bandwidth_estimate().unwrap()
    };
    // Each of the six ACKs from the second on counts as one segment in 10 ms; the last ACK counts for 2 of its 4
    // segments, or for all 4.
    let by_hand = |last: f64| {
        let samples = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, last].map(|s| s * 100_000.0);
        samples
            .windows(2)
            .fold(0.0, |bwe, s| 19.0 / 21.0 * bwe + (s[0] + s[1]) / 21.0)
    };
    for (dialect, last) in [
        (Dialect::Rfc, 2.0),
        (Dialect::Ns2, 2.0),
        (Dialect::Linux, 4.0),
    ] {
        let estimate = estimate(dialect);
        assert!(close(estimate, by_hand(last)), "{dialect:?}: {estimate}");
    }
}

#[test]
fn an_idle_path_raises_the_threshold_by_the_parameter() {
    let raise = ("raise", Value::word("idle"));
    // x = 20 segments, and the round-trip time is its minimum: ssthresh is raised to x, and the window is in slow
    // start.
    let b = measured_with(&[raise], 12.0, 10.0);
    assert!(close(b.ssthresh(), 20.0), "{}", b.ssthresh());
    assert_eq!(measured(12.0, 10.0).ssthresh(), 10.0);
    // The estimate never lowers ssthresh.
    let b = measured_with(&[("raise", Value::word("idle"))], 12.0, 64.0);
    assert_eq!(b.ssthresh(), 64.0);
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
    // x = 20 segments. In congestion avoidance, f1 applies.
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
    // f2 applies only in slow start, where a = 1.25.
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
    // §III.A sets the window in congestion avoidance, even if this increases it; in slow start the window never
    // increases.
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
    // In congestion avoidance, f3 gives ssthresh and f4 gives cwnd.
    let f3 = ("f3_gain", Value::Real(0.5));
    let f4 = [
        f3.clone(),
        ("f4", Value::word("pipe")),
        ("f4_gain", Value::Real(0.25)),
    ];
    near(timeout(&[f3], 30.0, 10.0), (1.0, 10.0));
    near(timeout(&f4, 30.0, 10.0), (5.0, 10.0));
    // In slow start, f5 and f6 apply, with a = 2.
    near(timeout(&f4, 30.0, 64.0), (1.0, 10.0));
    let f5 = ("f5", Value::word("pipe"));
    let f6 = ("f6", Value::word("reduced"));
    near(timeout(&[f5, f6], 30.0, 64.0), (10.0, 20.0));
    // If the threshold is below its minimum, the window is one segment regardless of f4 (§III.B).
    let tiny = [("f3_gain", Value::Real(0.01)), f4[1].clone()];
    near(timeout(&tiny, 30.0, 10.0), (1.0, 2.0));
}
