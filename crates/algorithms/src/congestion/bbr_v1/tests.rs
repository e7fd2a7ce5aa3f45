//! Timelines: BBR version 1 with a real sender, over a path with configurable rate, buffer and losses.
//!
//! Unless a test says otherwise, the path transmits a segment of 1000 bytes in 1 ms (1,000,000 B/s) and has a delay of
//! 20 ms in each direction. The round-trip time of a single segment is then 41 ms, and 41 segments fill the path.

mod arithmetic;

use dupack_tcp::time::Duration;

use super::Mode::{Drain, ProbeBw, ProbeRtt, Startup};
use super::*;
use crate::catalog::{Dialect, typed};
use crate::congestion::bench::CONTEXT;
use crate::congestion::bottleneck::{self, Feed, Observed, Policer};

type World = bottleneck::World<BbrV1>;

impl Observed for BbrV1 {
    type State = Mode;

    fn fresh() -> Self {
        let parameters = typed::parameters(Dialect::Rfc, &[]).expect("defaults");
        Self::new(&parameters, &CONTEXT)
    }

    fn state(&self) -> Mode {
        self.mode
    }
}

/// Rate in bytes per second.
const RATE: f64 = 1e6;
/// Pacing rate at a gain of 1, as a fraction of the bandwidth.
const PACE: f64 = 0.99;

fn close(left: f64, right: f64, tolerance: f64) -> bool {
    (left - right).abs() <= tolerance * right.abs()
}

/// Runs in steps of 1 ms until `what` returns `true`, for at most `most` milliseconds. Returns `true` if `what`
/// returned `true` in this time.
fn run_until_true(w: &mut World, most: u64, mut what: impl FnMut(&BbrV1) -> bool) -> bool {
    let end = w.millis() + most;
    while w.millis() < end {
        if what(&w.bbr()) {
            return true;
        }
        w.run_until(w.millis() + 1);
    }
    false
}

#[test]
fn startup_doubles_each_round_trip() {
    let mut w = World::new();
    w.path.service = Duration::from_micros(10);
    // There are five round trips between 200 ms and 405 ms.
    w.run_until(200);
    let early = w.bbr().max_bw();
    w.run_until(405);
    let doublings = (w.bbr().max_bw() / early).log2();
    assert!((4.5..5.5).contains(&doublings), "{doublings}");
    let bbr = w.bbr();
    assert_eq!(bbr.mode, Startup);
    // The rate is 739/256 of the bandwidth, minus one percent.
    let wanted = PACE * 739.0 / 256.0 * bbr.max_bw();
    assert!(close(bbr.pacing_rate, wanted, 1e-9), "{}", bbr.pacing_rate);
}

#[test]
fn three_round_trips_without_growth_fill_the_pipe_and_then_it_drains() {
    let mut w = World::new();
    assert!(run_until_true(&mut w, 5000, |b| b.full_pipe.count == 2));
    let before = w.bbr();
    assert!(before.mode == Startup && !before.full_pipe.reached);
    assert!(before.ssthresh.is_infinite());
    w.run_until_state(Drain);
    let bbr = w.bbr();
    assert_eq!(bbr.full_pipe.count, 3);
    assert_eq!(bbr.rounds.count, before.rounds.count + 1);
    assert!(close(bbr.max_bw(), RATE, 0.02), "{}", bbr.max_bw());
    // The rate is 88/256 of the bandwidth, minus one percent.
    let wanted = PACE * 0.34375 * bbr.max_bw();
    assert!(close(bbr.pacing_rate, wanted, 1e-9));
    // 41 segments and three bursts of two are 47, which is rounded up to the even number 48.
    assert_eq!(bbr.ssthresh, 48.0);
    w.run_until_state(ProbeBw);
    let bbr = w.bbr();
    assert!(bbr.in_net_at_departure(bbr.in_flight) <= 48.0);
    assert_eq!(w.states(), [Startup, Drain, ProbeBw]);
}

#[test]
fn losses_do_not_end_startup() {
    // Every tenth segment is lost. Version 3 would end Startup because of the loss (§5.3.1.3 of its draft).
    let mut w = World::new();
    w.path.service = Duration::from_micros(10);
    w.path.drop_every = Some(10);
    w.run_until(250);
    assert_eq!(w.bbr().mode, Startup);
    assert!(w.path.lost > 10, "{}", w.path.lost);
}

#[test]
fn the_cycle_probes_yields_and_cruises_for_six_phases() {
    let mut w = World::new();
    w.run_until_state(ProbeBw);
    assert!(run_until_true(&mut w, 2000, |b| b.cycle.phase == 7));
    assert!(run_until_true(&mut w, 2000, |b| b.cycle.phase == 0));
    let mut seen: Vec<(u64, u64, f64)> = Vec::new();
    for _ in 0..700 {
        w.run_until(w.millis() + 1);
        let bbr = w.bbr();
        let phase = bbr.cycle.phase;
        let gain = bbr.pacing_rate / (PACE * bbr.bw());
        match seen.last_mut() {
            Some((last, spent, _)) if *last == phase => *spent += 1,
            _ => seen.push((phase, 1, gain)),
        }
    }
    let (whole, _) = seen.split_at(9);
    let phases: Vec<u64> = whole.iter().map(|(phase, ..)| *phase).collect();
    assert_eq!(phases, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
    let gains = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    for (&(phase, spent, gain), wanted) in whole.iter().zip(gains) {
        assert!(close(gain, wanted, 1e-9), "phase {phase}: {gain}");
        // A phase takes a round trip of 41 ms. The probe lasts until the data in flight has grown by a quarter, which
        // may take two round trips.
        let most = if phase == 0 { 90 } else { 44 };
        assert!(spent <= most, "phase {phase}: {spent} ms");
        if phase >= 2 {
            assert!(spent >= 40, "phase {phase}: {spent} ms");
        }
    }
}

#[test]
fn each_flow_begins_the_cycle_somewhere_but_never_at_the_phase_that_yields() {
    let mut drawn = Vec::new();
    for seed in 0..70 {
        let mut bbr = BbrV1::fresh();
        bbr.seed = seed;
        bbr.enter_probe_bw();
        drawn.push(bbr.cycle.phase);
    }
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn, [0, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn the_round_trip_is_measured_anew_once_it_is_ten_seconds_old() {
    let mut w = World::new();
    w.run_until_state(ProbeBw);
    w.run_until(w.millis() + 500);
    // From now on the path is longer: its round-trip time is 51 ms.
    w.path.delay = Duration::from_millis(25);
    w.run_until_state(ProbeRtt);
    let bbr = w.bbr();
    let before = bbr.prior_cwnd;
    assert!(before > 80.0, "{before}");
    let from = w.millis();
    assert!((10_000..11_000).contains(&from), "{from}");
    assert_eq!(bbr.cwnd, 4.0);
    // After one round trip, at most four segments are in flight. ProbeRTT lasts for another 200 ms from then on.
    w.run_until(from + 240);
    assert_eq!((w.bbr().mode, w.bbr().cwnd), (ProbeRtt, 4.0));
    assert_eq!(w.bbr().min_rtt.value, Some(Duration::from_millis(51)));
    w.run_until_state(ProbeBw);
    let lasted = w.millis() - from;
    assert!((250..310).contains(&lasted), "{lasted}");
    assert!(w.bbr().cwnd >= before.min(88.0), "{}", w.bbr().cwnd);
}

#[test]
fn a_policer_is_found_and_its_rate_kept_to_for_48_round_trips() {
    // The policer allows 300,000 of the link's 1,000,000 B/s, and its bucket holds 30 segments.
    let mut w = World::new();
    w.path.policer = Some(Policer::new(300_000.0, 30_000.0));
    let found = run_until_true(&mut w, 10_000, |b| b.long_term.rate().is_some());
    assert!(found, "{:?}", w.bbr().long_term);
    let rate = w.bbr().long_term.rate().unwrap_or(0.0);
    assert!((0.85..1.15).contains(&(rate / 300_000.0)), "{rate}");
    // While the policer's rate is used, there are no probes. Once ProbeBW is reached, little is lost.
    assert!(run_until_true(&mut w, 2000, |b| b.mode == ProbeBw));
    let (from, began, lost) = (w.millis(), w.bbr().rounds.count, w.path.lost);
    let pace = w.bbr().pacing_rate;
    assert!(close(pace, PACE * rate, 1e-9), "{pace}");
    assert!(run_until_true(&mut w, 9000, |b| b
        .long_term
        .rate()
        .is_none()));
    let rounds = w.bbr().rounds.count - began;
    assert!((46..=48).contains(&rounds), "{rounds}");
    let sent = (w.millis() - from) as f64 * rate / 1e6;
    let share = (w.path.lost - lost) as f64 / sent;
    assert!(share < 0.15, "{share}");
}

#[test]
fn after_an_idle_period_it_paces_at_the_bandwidth_and_measures_no_round_trip() {
    let mut w = World::new();
    w.run_until_state(ProbeBw);
    assert!(run_until_true(&mut w, 2000, |b| b.cycle.phase == 0));
    w.feed = Feed::Paused;
    // Everything arrives, and the minimum round-trip time becomes more than 10 s old.
    w.run_until(w.millis() + 11_000);
    let before = w.bbr();
    w.write(100_000);
    w.run_until(w.millis() + 10);
    let bbr = w.bbr();
    assert!(bbr.idle_restart);
    assert!(close(bbr.pacing_rate, PACE * bbr.bw(), 1e-9));
    assert_eq!(bbr.cwnd, before.cwnd);
    w.run_until(w.millis() + 200);
    assert!(!w.bbr().idle_restart);
    assert!(!w.states().contains(&ProbeRtt), "{:?}", w.states());
}

#[test]
fn a_recovery_conserves_packets_for_a_round_trip_and_returns_to_its_window() {
    let mut w = World::new();
    w.run_until_state(ProbeBw);
    w.run_until(w.millis() + 400);
    let full = w.bbr();
    w.path.drop_next(6);
    assert!(run_until_true(&mut w, 200, |b| b.phase == Phase::Recovery));
    let bbr = w.bbr();
    assert!(bbr.packet_conservation);
    assert_eq!(bbr.prior_cwnd, full.cwnd);
    // A lost segment counts when its loss is detected, not when it is retransmitted.
    let repaired = w.sender.stats().retransmissions;
    assert!(bbr.lost > 1000 * repaired, "{} of {repaired}", bbr.lost);
    // The first ACK of the recovery set the window to the data in flight plus the data that this ACK delivered.
    assert!(
        bbr.cwnd <= bbr.in_flight + 2.0 && bbr.cwnd < full.cwnd,
        "{}",
        bbr.cwnd
    );
    let (from, round) = (w.millis(), bbr.rounds.count);
    assert!(run_until_true(&mut w, 200, |b| !b.packet_conservation));
    assert_eq!(w.bbr().rounds.count, round + 1);
    assert!(
        (38..=70).contains(&(w.millis() - from)),
        "{}",
        w.millis() - from
    );
    assert!(run_until_true(&mut w, 400, |b| b.phase == Phase::Open));
    assert!(
        w.bbr().cwnd >= full.cwnd - 2.0,
        "{} of {}",
        w.bbr().cwnd,
        full.cwnd
    );
    // The model has not changed.
    assert!(close(w.bbr().max_bw(), RATE, 0.03));
}

#[test]
fn a_timeout_leaves_a_segment_and_the_window_returns() {
    let mut w = World::new();
    w.run_until_state(ProbeBw);
    w.run_until(w.millis() + 400);
    let before = w.bbr().cwnd;
    w.path.dead = true;
    w.run_until_timeout();
    let bbr = w.bbr();
    assert_eq!((bbr.phase, bbr.prior_phase), (Phase::Loss, Phase::Loss));
    assert_eq!((bbr.cwnd, bbr.prior_cwnd), (1.0, before));
    assert_eq!(bbr.full_pipe.bw, 0.0);
    w.path.dead = false;
    w.run_until(w.millis() + 3000);
    let bbr = w.bbr();
    assert_eq!(bbr.phase, Phase::Open);
    assert!(bbr.cwnd >= before.min(80.0), "{}", bbr.cwnd);
    let from = bbr.sampler.delivered;
    w.run_until(w.millis() + 2000);
    let delivered = (w.bbr().sampler.delivered - from) as f64;
    assert!(delivered > 0.9 * 2.0 * RATE, "{delivered}");
}

#[test]
fn random_loss_does_not_slow_it_down() {
    // One of twelve segments is lost. This is 8 %, which is below the threshold of the policer detection.
    let mut w = World::new();
    w.path.drop_every = Some(12);
    w.run_until(5000);
    let from = w.bbr().sampler.delivered;
    w.run_until(15_000);
    let rate = (w.bbr().sampler.delivered - from) as f64 / 10.0;
    assert!(rate > 0.85 * 11.0 / 12.0 * RATE, "{rate}");
}

#[test]
fn aggregated_acks_get_a_larger_window() {
    let extra = |slot: u64| {
        let mut w = World::new();
        w.path.ack_slot = Duration::from_millis(slot);
        w.run_until_state(ProbeBw);
        w.run_until(w.millis() + 1500);
        (w.bbr().aggregation.extra_acked(), w.bbr().cwnd)
    };
    let (smooth, window) = extra(1);
    let (aggregated, larger) = extra(20);
    // The ACKs of twenty segments arrive at once, instead of one ACK at a time.
    assert!(smooth <= 6.0, "{smooth}");
    assert!((15.0..=30.0).contains(&aggregated), "{aggregated}");
    assert!(larger >= window + 10.0, "{larger} after {window}");
}
