//! Tests of the individual formulas, and timelines.

use super::*;
use crate::catalog::{Dialect, typed};
use crate::congestion::bench::Bench;

fn control() -> Illinois {
    let parameters = typed::parameters(Dialect::Rfc, &[]).expect("defaults");
    Illinois::new(&parameters)
}

/// Linux uses 38/128 in place of 0.3.
const ALPHA_MIN: f64 = 0.296_875;

#[test]
fn alpha_follows_the_hyperbola() {
    // d_m = 100 ms, d₁ = 1 ms. κ₁ = 99 · α_min · 10/(10 − α_min), κ₂ = 99 · α_min/(10 − α_min) − 1.
    let (k1, k2) = {
        let share = 99.0 * ALPHA_MIN / (10.0 - ALPHA_MIN);
        (share * 10.0, share - 1.0)
    };
    for delay in [1.001, 2.0, 10.0, 50.0, 100.0] {
        let alpha = control().alpha_at(delay / 1e3, 0.1);
        let wanted = k1 / (k2 + delay);
        assert!((alpha - wanted).abs() < 1e-9, "{delay} ms: {alpha}");
    }
    assert_eq!(control().alpha_at(0.001, 0.1), 10.0);
    let least = control().alpha_at(0.1, 0.1);
    assert!((least - ALPHA_MIN).abs() < 1e-9, "{least}");
}

#[test]
fn beta_is_linear_between_a_tenth_and_eight_tenths() {
    let beta = |delay: f64| control().beta_at(delay / 1e3, 0.1);
    assert_eq!(beta(10.0), 0.125);
    assert!((beta(80.0) - 0.5).abs() < 1e-12);
    assert_eq!(beta(100.0), 0.5);
    // 45 ms is the middle: (1/8 + 1/2)/2.
    assert!((beta(45.0) - 0.3125).abs() < 1e-12);
    // With 20 ms: 1/8 + 3/8 · 10/70.
    assert!((beta(20.0) - (0.125 + 0.375 / 7.0)).abs() < 1e-12);
}

#[test]
fn a_queue_that_was_seen_takes_five_good_round_trips() {
    let mut control = control();
    control.alpha = control.alpha_at(0.05, 0.1);
    let cautious = control.alpha;
    assert!(cautious < 1.0);
    for round in 1..5 {
        let alpha = control.alpha_at(0.0, 0.1);
        assert_eq!(alpha, cautious, "round {round}");
    }
    assert_eq!(control.alpha_at(0.0, 0.1), 10.0);
    // The round trips need not be consecutive: one without a queue, one with a delay, and four more without a queue.
    control.alpha = control.alpha_at(0.05, 0.1);
    control.alpha_at(0.0, 0.1);
    control.alpha_at(0.05, 0.1);
    for _ in 1..4 {
        assert!(control.alpha_at(0.0, 0.1) < 1.0);
    }
    assert_eq!(control.alpha_at(0.0, 0.1), 10.0);
}

/// Returns a bench after four round trips with samples of 100 ms, 200 ms, and twice `rtt` milliseconds. Its initial
/// window is `cwnd` segments.
fn bench(cwnd: f64, rtt: u64) -> Bench {
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], cwnd, 4.0);
    b.fly();
    for ms in [100, 200, rtt, rtt] {
        b.rtt_sample = Some(Duration::from_millis(ms));
        for _ in 0..b.left_of_round() {
            b.ack(1);
        }
    }
    b
}

#[test]
fn a_window_without_a_queue_gives_an_eighth_and_grows_by_ten() {
    let mut b = bench(40.0, 100);
    let before = b.cwnd();
    b.loss(0, before as u64);
    let kept = b.cwnd() / before;
    assert!((kept - 0.875).abs() < 0.02, "{kept} of {before}");
}

#[test]
fn a_window_with_a_long_queue_gives_half() {
    let mut b = bench(40.0, 200);
    let before = b.cwnd();
    b.loss(0, before as u64);
    let kept = b.cwnd() / before;
    assert!((kept - 0.5).abs() < 0.02, "{kept} of {before}");
}

#[test]
fn growth_is_alpha_per_round_trip() {
    // There was no queue so far: α is 10, so an ACK adds 10/40.
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 40.0, 4.0);
    b.rtt_sample = Some(Duration::from_millis(100));
    b.ack(1);
    assert!((b.cwnd() - 40.25).abs() < 1e-9, "{}", b.cwnd());
    // With a small window, growth and reduction are Reno's.
    let mut b = bench(8.0, 100);
    let before = b.cwnd();
    assert!(before < 15.0, "{before}");
    b.ack(1);
    assert!((b.cwnd() - before - 1.0 / before).abs() < 1e-9);
    let before = b.cwnd();
    b.loss(0, 100);
    assert!((b.cwnd() - before / 2.0).abs() < 1e-9);
}

#[test]
fn a_timeout_is_followed_by_renos_growth() {
    let mut b = bench(40.0, 100);
    // The offset is far beyond the acknowledged data, so the next ACK does not end the round trip.
    b.timeout(10_000, 40);
    assert_eq!(b.cwnd(), 1.0);
    b.window.cwnd = 30_000.0;
    b.window.ssthresh = 20_000.0;
    b.ack(1);
    assert!((b.cwnd() - 30.0 - 1.0 / 30.0).abs() < 1e-6, "{}", b.cwnd());
}
