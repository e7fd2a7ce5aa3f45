//! Tests of CUBIC's curve, in real numbers and in whole segments.

use dupack_tcp::facts::{LimitedBy, WindowUse};
use dupack_tcp::undo::Prior;

use super::*;
use crate::catalog::{Dialect, Value, typed};
use crate::congestion::bench::Bench;

const RTT: Duration = Duration::from_millis(100);
const ALONE: (&str, Value) = ("reno_friendly", Value::word("off"));

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs().max(1.0)
}

fn bench(changes: &[(&str, Value)], cwnd: f64, ssthresh: f64) -> Bench {
    let mut b = Bench::new(entry(), Dialect::Rfc, changes, cwnd, ssthresh);
    b.rtt_sample = Some(RTT);
    b
}

/// Passes one round trip of evenly spaced ACKs.
fn round(b: &mut Bench) {
    let acks = b.cwnd() as u64;
    for _ in 0..acks {
        b.now += RTT / acks;
        b.ack(1);
    }
}

#[test]
fn k_and_w_cubic_in_closed_form() {
    let mut b = bench(&[ALONE], 100.0, 50.0);
    b.loss(0, 100);
    assert_eq!((b.cwnd(), b.ssthresh()), (70.0, 70.0));
    // K = ³√((100 − 70)/0.4) = ³√75 = 4.2171633…; W(0) = 70, W(K) = 100.
    let parameters = typed::parameters(Dialect::Rfc, &[]).expect("defaults");
    let mut cubic = Cubic::new(&parameters);
    cubic.note_congestion(100.0, Origin::Loss);
    let stage = cubic.begin(Instant::ZERO, 70.0);
    assert!(close(stage.k, 4.217_163_326_508_746));
    assert!(close(cubic.w_cubic(&stage, 0.0), 70.0));
    assert!(close(cubic.w_cubic(&stage, stage.k), 100.0));
    // W(K + 5) = 100 + 0.4 · 125 = 150.
    assert!(close(cubic.w_cubic(&stage, stage.k + 5.0), 150.0));
}

#[test]
fn the_first_ack_of_a_stage_moves_a_cwnd_th_towards_the_target() {
    let mut b = bench(&[ALONE], 100.0, 50.0);
    b.loss(0, 100);
    b.now += RTT;
    b.ack(1);
    // target = W(0.1) = 0.4 · (0.1 − 4.21716…)³ + 100.
    let x: f64 = 0.1 - 4.217_163_326_508_746;
    let target = 0.4 * x * x * x + 100.0;
    assert!(close(b.cwnd(), 70.0 + (target - 70.0) / 70.0));
}

#[test]
fn the_window_follows_the_curve_through_plateau_and_probing() {
    let mut b = bench(&[ALONE], 100.0, 50.0);
    b.loss(0, 100);
    let start = b.now;
    let w = |t: f64| {
        let x = t - 4.217_163_326_508_746;
        0.4 * x * x * x + 100.0
    };
    for _ in 0..80 {
        round(&mut b);
        let t = b.now.since(start).as_secs_f64();
        // The target is one RTT ahead, and the window nearly reaches it within one RTT.
        let error = (b.cwnd() - w(t)).abs() / w(t);
        assert!(error < 0.04, "{t}: {} for {}", b.cwnd(), w(t));
    }
}

#[test]
fn the_target_is_at_most_half_a_window_above() {
    let mut b = bench(&[ALONE, ("c", Value::Real(1000.0))], 10.0, 5.0);
    b.ack(1);
    b.now += Duration::from_secs(10);
    let before = b.cwnd();
    b.ack(1);
    assert!(close(b.cwnd(), before + 0.5));
}

#[test]
fn where_cubic_is_slow_it_grows_as_reno_does() {
    // W_max = 10: K = ³√(3/0.4) = 1.957 s, so W_cubic hardly changes in the first round trips.
    let mut b = bench(&[], 10.0, 5.0);
    b.loss(0, 10);
    assert_eq!(b.cwnd(), 7.0);
    b.now += Duration::from_millis(1);
    b.ack(1);
    // α = 3 · 0.3/1.7 = 9/17; W_est = 7 + 9/17/7.
    assert!(close(b.cwnd(), 7.0 + 9.0 / 17.0 / 7.0));
    // From cwnd_prior = 10 on, α = 1.
    for _ in 0..10 {
        round(&mut b);
    }
    assert!(b.cwnd() > 10.0);
    let before = b.cwnd();
    b.ack(1);
    assert!(b.cwnd() - before >= 1.0 / before - 1e-9);
}

#[test]
fn fast_convergence_aims_lower_after_a_second_loss() {
    // Losses at 100 and at 70 segments leave 49. W_max = 70 · 1.7/2 = 59.5 with fast convergence and 70 without; K =
    // ³√((W_max − 49)/0.4).
    for (word, w_max) in [("on", 59.5), ("off", 70.0)] {
        let fast_convergence = ("fast_convergence", Value::word(word));
        let mut b = bench(&[ALONE, fast_convergence], 100.0, 50.0);
        b.loss(0, 100);
        b.loss(1, 70);
        assert!(close(b.cwnd(), 49.0));
        b.ack(1);
        let x: f64 = 0.1 - libm::cbrt((w_max - 49.0) / 0.4);
        let target = 0.4 * x * x * x + w_max;
        assert!(close(b.cwnd(), 49.0 + (target - 49.0) / 49.0));
    }
}

#[test]
fn after_a_timeout_the_curve_starts_at_its_plateau() {
    let mut b = bench(&[ALONE], 20.0, 50.0);
    b.timeout(0, 20);
    assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 14.0));
    b.timeout(0, 20);
    assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 14.0));
    while b.window.in_slow_start() {
        b.ack(1);
    }
    assert_eq!(b.cwnd(), 14.0);
    // K = 0, W_max = 14: target = 14 + 0.4 · 0.1³.
    b.ack(1);
    assert!(close(b.cwnd(), 14.0 + 0.000_4 / 14.0));
}

/// Returns the windows of two flows. Both have a loss at 100 segments, grow for one round trip, and grow for twenty
/// more at the end. In between, the second flow does not use its window for the 5 s of `pass`.
fn one_pauses(dialect: Dialect, pass: impl FnOnce(&mut Bench)) -> [f64; 2] {
    [None, Some(pass)].map(|pass| {
        let mut b = Bench::new(entry(), dialect, &[ALONE], 100.0, 50.0);
        b.rtt_sample = Some(RTT);
        b.loss(0, 100);
        round(&mut b);
        if let Some(pass) = pass {
            pass(&mut b);
        }
        for _ in 0..20 {
            round(&mut b);
        }
        b.cwnd()
    })
}

/// ACKs arrive for 5 s while the application sends little.
fn with_acks(b: &mut Bench) {
    b.limited_by = LimitedBy::Application;
    b.window_use = WindowUse::Partly { flight_max: 1000 };
    for _ in 0..50 {
        b.now += RTT;
        b.ack(1);
    }
    b.limited_by = LimitedBy::Congestion;
    b.window_use = WindowUse::Filled;
}

/// No ACK arrives for 5 s.
fn without_acks(b: &mut Bench) {
    let last_sent = b.now;
    b.now += Duration::from_secs(5);
    let now = b.now;
    b.control().on_idle_end(now, last_sent);
}

#[test]
fn time_does_not_count_while_the_window_is_not_used() {
    let rfc = Dialect::Rfc;
    let [used, limited] = one_pauses(rfc, with_acks);
    assert!(close(used, limited), "{used} {limited}");
    let [used, both] = one_pauses(rfc, |b| {
        with_acks(b);
        without_acks(b);
    });
    assert!(close(used, both), "{used} {both}");
    // In whole segments, as in Linux, time counts while something is outstanding.
    let [used, limited] = one_pauses(Dialect::Linux, with_acks);
    assert!(limited > used + 10.0, "{used} {limited}");
    for dialect in [rfc, Dialect::Linux] {
        let [used, idle] = one_pauses(dialect, without_acks);
        assert!(close(used, idle), "{dialect}: {used} {idle}");
        // If this time counted, the five seconds would have an effect.
        let [used, counted] = one_pauses(dialect, |b| b.now += Duration::from_secs(5));
        assert!(counted > used + 10.0, "{dialect}: {used} {counted}");
    }
}

/// Passes ACKs for two segments every 100 ms. The minimum round-trip time is also 100 ms.
fn slowly(b: &mut Bench, acks: u32) -> f64 {
    for _ in 0..acks {
        b.now += RTT;
        b.ack(2);
    }
    b.cwnd()
}

fn linux(cwnd: f64, ssthresh: f64) -> Bench {
    let mut b = Bench::new(entry(), Dialect::Linux, &[], cwnd, ssthresh);
    b.rtt_sample = Some(RTT);
    b
}

#[test]
fn in_whole_segments_the_window_grows_by_one_for_n_acknowledged() {
    // Slow start without loss: K = 0, W_max = 48, C = 0.4004. The window grows by one segment for 20 until 48 + ⌊C ·
    // t³⌋ requires more; t is the time since the first ACK plus one round-trip time.
    let mut b = linux(48.0, 48.0);
    assert_eq!(slowly(&mut b, 9), 48.0);
    assert_eq!(slowly(&mut b, 1), 49.0);
    // The next increase also takes 20 segments. At t = 2 s the target is 51, and ⌊49/2⌋ = 24 is not below 20.
    assert_eq!(slowly(&mut b, 9), 49.0);
    assert_eq!(slowly(&mut b, 1), 50.0);
    // At t = 2.5 s the target is 48 + 6 and n = ⌊50/4⌋ = 12, so the segments counted so far cause an earlier increase.
    // At t = 3 s the target is 48 + 10 and n = 6.
    assert_eq!(slowly(&mut b, 10), 52.0);
    // Later, the window grows by half a window per round trip, however steep the curve is.
    slowly(&mut b, 20);
    let before = b.cwnd();
    assert_eq!(slowly(&mut b, 10), before + 10.0);
}

#[test]
fn in_whole_segments_time_stands_still_only_while_nothing_is_outstanding() {
    // There is no credit for 3 s because the window is not used, but this time counts.
    let mut late = linux(48.0, 48.0);
    slowly(&mut late, 1);
    late.window_use = WindowUse::Partly { flight_max: 2000 };
    assert_eq!(slowly(&mut late, 29), 48.0);
    late.window_use = WindowUse::Filled;
    // t = 3.1 s: the target is 48 + 11, n = 4.
    assert_eq!(slowly(&mut late, 2), 49.0);
    // An idle period does not count, from the last transmission on, even if that was before the stage began.
    for before in [0, 2] {
        let mut idle = linux(48.0, 48.0);
        slowly(&mut idle, 1);
        let (now, step) = (idle.now, Duration::from_secs(3));
        idle.now = now + step;
        let last_sent = now - Duration::from_millis(50 * before);
        let resumed = idle.now;
        idle.control().on_idle_end(resumed, last_sent);
        // As without the idle period, the window grows by one segment for 20 segments.
        assert_eq!(slowly(&mut idle, 8), 48.0);
        assert_eq!(slowly(&mut idle, 1), 49.0);
    }
}

#[test]
fn in_whole_segments_a_loss_leaves_whole_segments() {
    // 717/1024 of 100 segments are 70.02; the sender truncates this to 70. K = ³√(30/0.4004) = 4.216 s.
    let mut b = linux(100.0, 50.0);
    b.loss(0, 100);
    assert!(close(b.cwnd(), 100.0 * 717.0 / 1024.0));
    b.window.cwnd = 70_000.0;
    b.window.ssthresh = 70_000.0;
    // At t = 0.1 s the target is 100 − ⌊C · 4.116³⌋ = 100 − 27 = 73, and n = ⌊70/3⌋ = 23: the window grows at the 12th
    // ACK. By t = 0.9 s the target is 100 − 14 = 86 and n = 4.
    assert_eq!(slowly(&mut b, 1), 70.0);
    let after: Vec<f64> = (0..5).map(|_| slowly(&mut b, 1)).collect();
    assert!(after.windows(2).all(|pair| pair[1] >= pair[0]));
    assert!(after[4] > 70.0 && after.iter().all(|w| w.fract() == 0.0));
}

#[test]
fn in_whole_segments_reno_is_followed_where_the_curve_is_flat() {
    // After a loss at 10 segments, W_max = 10 and K = ³√(3/0.4004) = 1.96 s. ⌊7 · 15/8⌋ = 13 segments raise W_est to 8
    // at the 14th; from then on n = 7.
    let mut b = linux(10.0, 5.0);
    b.loss(0, 10);
    b.window.cwnd = 7000.0;
    b.window.ssthresh = 7000.0;
    let mut acked = 0;
    while b.cwnd() < 8.0 && acked < 1000 {
        b.now += Duration::from_micros(100);
        b.ack(1);
        acked += 1;
    }
    // The curve alone is at ⌊10 − C · 1.86³⌋ = 8 from the start: n = 7.
    assert_eq!(acked, 7);
    let curve_off = [
        ("reno_friendly", Value::word("on")),
        ("c", Value::Real(1e-6)),
    ];
    let mut b = Bench::new(entry(), Dialect::Linux, &curve_off, 7.0, 7.0);
    b.rtt_sample = Some(RTT);
    b.loss(0, 10);
    b.window.cwnd = 7000.0;
    b.window.ssthresh = 7000.0;
    let mut acked = 0;
    while b.cwnd() < 8.0 && acked < 1000 {
        b.now += Duration::from_millis(40);
        b.ack(1);
        acked += 1;
    }
    assert_eq!(acked, 14);
}

#[test]
fn hystart_ends_slow_start_in_linux_and_hystart_plus_plus_in_the_rfc() {
    for (dialect, exits) in [
        (Dialect::Linux, true),
        (Dialect::Rfc, true),
        (Dialect::Ns2, false),
    ] {
        let mut b = Bench::new(entry(), dialect, &[], 20.0, f64::INFINITY);
        b.fly();
        for rtt in [100, 200, 200, 200, 200, 200, 200, 200] {
            b.rtt_sample = Some(Duration::from_millis(rtt));
            for _ in 0..b.left_of_round() {
                b.now += Duration::from_millis(3);
                b.ack(1);
            }
        }
        assert_eq!(b.window.ssthresh.is_finite(), exits, "{dialect}");
    }
}

#[test]
fn a_limit_by_the_recovery_does_not_forget_the_maximum() {
    let mut b = bench(&[ALONE], 100.0, 50.0);
    b.loss(0, 100);
    // After NewReno's full ACK, cwnd is below ssthresh, and slow start begins again.
    b.window.cwnd = 68_000.0;
    b.ack(1);
    b.ack(1);
    assert_eq!(b.cwnd(), 70.0);
    b.ack(1);
    let x: f64 = 0.1 - 4.217_163_326_508_746;
    let target = 0.4 * x * x * x + 100.0;
    assert!(close(b.cwnd(), 70.0 + (target - 70.0) / 70.0));
}

#[test]
fn after_a_spurious_reduction_the_curve_continues() {
    // Both flows have a loss at 100 segments and grow for some round trips. Then one flow considers a delayed segment
    // lost.
    let later = |curve: &'static str, spurious: bool| {
        let mut b = bench(&[ALONE, ("undo_curve", Value::word(curve))], 100.0, 50.0);
        b.loss(0, 100);
        for _ in 0..20 {
            round(&mut b);
        }
        if spurious {
            let prior = Prior::new(b.window);
            b.control().remember();
            let reduced = b.loss(1, 70);
            b.window = b.control().on_spurious(&prior, reduced);
        }
        for _ in 0..20 {
            round(&mut b);
        }
        b.cwnd()
    };
    // The curve continues (RFC 9438 §4.9).
    assert!(close(later("restore", false), later("restore", true)));
    // Linux restores only the window, from which a new curve begins.
    assert!(!close(later("anew", false), later("anew", true)));
}
