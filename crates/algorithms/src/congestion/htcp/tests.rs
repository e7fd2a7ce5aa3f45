//! Tests of the individual formulas, and timelines.

use super::*;
use crate::catalog::{Dialect, Value, typed};
use crate::congestion::bench::Bench;
use crate::recovery::sack;
use crate::testing::{Setup, ack};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Returns a control whose last congestion event was at time 0, with these round-trip times in milliseconds.
fn control(changes: &[(&str, Value)], rtt_min: u64, rtt_max: u64) -> Htcp {
    let parameters = typed::parameters(Dialect::Rfc, changes).expect("they are known");
    let mut control = Htcp::new(&parameters);
    control.measure_rtt(MS(rtt_min), true);
    control.memory.rtt_max = rtt_max as f64 / 1e3;
    control
}

fn alpha_after(control: &Htcp, ms: u64) -> f64 {
    control.alpha(Instant::ZERO + MS(ms))
}

#[test]
fn growth_is_renos_for_a_second_and_then_a_square_of_the_time() {
    // α without scaling: 2 · (1 − 1/2) · f(Δ).
    let control = control(&[("rtt_scaling", Value::word("off"))], 100, 100);
    assert_eq!(alpha_after(&control, 0), 1.0);
    assert_eq!(alpha_after(&control, 1000), 1.0);
    // f(2) = 1 + 10 · 1 + (1/2)².
    assert!((alpha_after(&control, 2000) - 11.25).abs() < 1e-9);
    // f(10) = 1 + 10 · 9 + (9/2)².
    assert!((alpha_after(&control, 10_000) - 111.25).abs() < 1e-9);
}

#[test]
fn growth_is_less_where_the_round_trip_is_short() {
    let after = |rtt| alpha_after(&control(&[], rtt, rtt), 3000);
    // f(3) = 1 + 20 + 1 = 22, times RTT/100 ms, which is limited to 0.1 to 2.
    for (rtt, wanted) in [(100, 22.0), (50, 11.0), (300, 44.0), (5, 2.2), (1, 2.2)] {
        assert!(
            (after(rtt) - wanted).abs() < 1e-9,
            "{rtt} ms: {}",
            after(rtt)
        );
    }
    // The growth is never below Reno's.
    assert_eq!(alpha_after(&control(&[], 5, 5), 0), 1.0);
}

#[test]
fn a_larger_share_kept_grows_more_slowly() {
    let mut control = control(&[], 100, 100);
    control.memory.beta = 0.75;
    // α = 2 · (1 − 3/4).
    assert_eq!(alpha_after(&control, 0), 0.5);
}

#[test]
fn a_loss_leaves_the_share_that_the_queue_was_not() {
    let off = [("bandwidth_switch", Value::word("off"))];
    let beta_after_two = |rtt_min, rtt_max: u64| {
        let mut control = control(&off, rtt_min, rtt_max);
        control.begin_event(Instant::ZERO);
        let first = control.memory.beta;
        control.memory.rtt_max = rtt_max as f64 / 1e3;
        control.begin_event(Instant::ZERO);
        assert_eq!(first, 0.5, "the first halves");
        control.memory.beta
    };
    assert!((beta_after_two(60, 100) - 0.6).abs() < 1e-9);
    assert_eq!(beta_after_two(30, 100), 0.5);
    assert_eq!(beta_after_two(95, 100), 102.0 / 128.0);
    // The round-trip time is too short to show a queue.
    assert_eq!(beta_after_two(10, 15), 0.5);
}

#[test]
fn another_throughput_than_before_halves_and_the_loss_after_that_too() {
    let mut control = control(&[], 60, 100);
    let mut lose_at = |throughput: f64| {
        control.throughput.max = throughput;
        control.memory.rtt_max = 0.1;
        control.begin_event(Instant::ZERO);
        control.memory.beta
    };
    // The throughput rises from zero, and then stays the same.
    assert_eq!(lose_at(1e6), 0.5);
    assert_eq!(lose_at(1e6), 0.5);
    assert!((lose_at(1e6) - 0.6).abs() < 1e-9);
    assert!((lose_at(1.2e6) - 0.6).abs() < 1e-9, "a fifth more");
    assert_eq!(lose_at(1.5e6), 0.5, "a quarter more");
    assert_eq!(lose_at(1.5e6), 0.5);
    assert!((lose_at(1.5e6) - 0.6).abs() < 1e-9);
    assert_eq!(lose_at(1.1e6), 0.5, "a quarter less");
}

#[test]
fn the_longest_round_trip_is_no_outlier_and_fades() {
    let mut control = control(&[], 60, 60);
    control.measure_rtt(MS(80), true);
    assert!((control.memory.rtt_max - 0.080).abs() < 1e-12);
    control.measure_rtt(MS(101), true);
    assert!((control.memory.rtt_max - 0.080).abs() < 1e-12);
    control.measure_rtt(MS(100), false);
    assert!((control.memory.rtt_max - 0.080).abs() < 1e-12);
    // The maximum round-trip time becomes 60 + 20 · 0.95 = 79 ms.
    control.begin_event(Instant::ZERO);
    assert!((control.memory.rtt_max - 0.079).abs() < 1e-12);
}

#[test]
fn throughput_is_that_of_a_window_in_a_round_trip() {
    let mut control = control(&[], 100, 100);
    let at = |ms| Instant::ZERO + MS(ms);
    let acknowledge =
        |control: &mut Htcp, ms, acked| control.measure_throughput(at(ms), acked, 20_000.0, 1000.0);
    // A sample needs 20 segments, minus the one that growth adds, and 100 ms.
    acknowledge(&mut control, 50, 19_000);
    assert_eq!(control.throughput.max, 0.0);
    acknowledge(&mut control, 100, 1000);
    assert_eq!(control.throughput.max, 200_000.0);
    // Four round trips after the loss, the throughput is filtered: (3 · 200,000 + 400,000)/4.
    control.throughput.begun = at(300);
    acknowledge(&mut control, 400, 40_000);
    assert_eq!(control.throughput.max, 250_000.0);
    acknowledge(&mut control, 500, 20_000);
    assert_eq!(control.throughput.max, 250_000.0);
}

#[test]
fn an_ack_adds_a_segment_at_most() {
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 20.0, 10.0);
    b.rtt_sample = Some(MS(100));
    b.now = Instant::ZERO + MS(20_000);
    // f(20) = 1 + 190 + 90.25, which is more than the window.
    b.ack(1);
    assert_eq!(b.cwnd(), 21.0);
    // Within the first second, the increase is 1/20.
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 20.0, 10.0);
    b.rtt_sample = Some(MS(100));
    b.ack(1);
    assert!((b.cwnd() - 20.05).abs() < 1e-9);
}

#[test]
fn time_counts_from_the_end_of_the_recovery() {
    // One segment of a window of eight is lost at 10 s, and the recovery ends at 10.1 s. Nearly a second later, growth
    // is still Reno's, 1/4 per ACK; before the loss it was one segment per ACK.
    let setup = Setup::new(sack::entry()).controlled_by(entry());
    let mut t = setup.window(8.0).ssthresh(4.0).start(8);
    t.receive(100, ack(8));
    t.wait(9900);
    t.write(1000);
    let before = t.cwnd();
    t.receive(10_000, ack(9));
    assert!((t.cwnd() - before - 1.0).abs() < 1e-9);
    for (ms, high) in [(10_002, 11), (10_003, 12), (10_004, 13)] {
        t.receive(ms, ack(9).sack(10, high));
    }
    let reduced = t.cwnd();
    assert!(reduced < before, "{reduced}");
    t.receive(10_100, ack(20));
    let before = t.cwnd();
    t.receive(11_050, ack(21));
    let grown = t.cwnd() - before;
    assert!((grown - 1.0 / before).abs() < 1e-6, "{grown}");
}

#[test]
fn a_timeout_takes_ssthresh_by_the_same_share() {
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 20.0, 10.0);
    b.timeout(0, 20);
    assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 10.0));
}
