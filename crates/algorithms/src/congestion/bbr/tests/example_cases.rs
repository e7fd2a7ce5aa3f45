//! The draft's example test cases, one test for each, named after their headings (§10).

use super::*;
use crate::congestion::bottleneck::{Feed, Policer};

/// Round-trip time of the path without a queue, in milliseconds.
const ROUND: u64 = 41;

/// Runs in steps of 1 ms while `what` returns `true`, for at most `most` milliseconds.
fn run_while(w: &mut World, most: u64, mut what: impl FnMut(&Bbr) -> bool) {
    let end = w.millis() + most;
    while w.millis() < end && what(&w.bbr()) {
        w.run_until(w.millis() + 1);
    }
}

/// Returns the delivery rate of the next `ms` milliseconds, in bytes per second.
fn rate_over(w: &mut World, ms: u64) -> f64 {
    let from = w.bbr().sampler.delivered;
    w.run_until(w.millis() + ms);
    (w.bbr().sampler.delivered - from) as f64 * 1000.0 / ms as f64
}

/// Returns a simulation that has just entered `state` for the first time.
fn world_in(state: State) -> World {
    let mut w = World::new();
    w.run_until_state(state);
    w
}

/// §10.1
#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let mut w = World::new();
    // Two round trips without growth by a quarter are not enough.
    run_while(&mut w, 5000, |bbr| bbr.full_pipe.count < 2);
    assert!(w.bbr().state == Startup && !w.bbr().full_pipe.reached);
    assert_eq!(w.bbr().sampler.supply(), Supply::Ample);
    let rounds = w.bbr().rounds.count;
    w.run_until_state(Drain);
    let bbr = w.bbr();
    assert_eq!((bbr.full_pipe.count, bbr.rounds.count), (3, rounds + 1));
    assert!(bbr.full_pipe.now && bbr.full_pipe.reached);
    assert!(close(bbr.max_bw.max(), RATE, 0.02), "{}", bbr.max_bw.max());
    assert_eq!(w.states(), [Startup, Drain]);
}

/// §10.2
#[test]
fn exiting_startup_on_loss_when_application_limited() {
    // The application writes 800 kB/s on a path of 1000 kB/s, so every sample is application-limited. Later, every
    // fourth segment is lost.
    let mut w = World::dripping(Duration::from_micros(1250));
    w.run_until(2000);
    let before = w.bbr();
    assert_eq!(before.state, Startup);
    assert_eq!(before.sampler.supply(), Supply::AppLimited);
    assert_eq!(before.full_pipe.count, 0);
    w.path.drop_every = Some(4);
    run_while(&mut w, 5000, |bbr| bbr.state == Startup);
    let bbr = w.bbr();
    assert!(bbr.full_pipe.now && bbr.full_pipe.reached);
    // Little is in flight, so the ACK that ends Startup may also end Drain.
    assert_eq!(bbr.drain_start_round, bbr.rounds.count);
    assert!(bbr.state == Drain || bbr.state.is_probe_bw());
    assert!(bbr.inflight_longterm >= bbr.bdp() && bbr.inflight_longterm.is_finite());
}

/// §10.3
#[test]
fn exiting_drain_based_on_inflight() {
    let mut w = world_in(Drain);
    assert!(close(w.bbr().pacing_rate, 0.5 * 0.99 * w.bbr().bw, 1e-9));
    let began = w.bbr().rounds.count;
    run_while(&mut w, 1000, |bbr| {
        let full = bbr.in_flight as f64 > bbr.inflight(bbr.bw, 1.0);
        assert_eq!(bbr.state == Drain, full, "{}", bbr.in_flight);
        full
    });
    assert!(w.bbr().state.is_probe_bw());
    assert!(w.bbr().rounds.count <= began + 3);
}

/// §10.4. The path's rate is halved. If it fell by only a tenth, the queue would drain before the time limit.
#[test]
fn exiting_drain_based_on_time() {
    let mut w = world_in(Drain);
    w.slow_down(2);
    let began = w.bbr().drain_start_round;
    assert_eq!(began, w.bbr().rounds.count);
    run_while(&mut w, 5000, |bbr| bbr.state == Drain);
    let bbr = w.bbr();
    assert_eq!(bbr.rounds.count, began + 4);
    assert!(bbr.in_flight as f64 > bbr.inflight(bbr.bw, 1.0));
    assert_eq!(bbr.state, ProbeBwDown);
}

/// §10.5
#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    let mut w = world_in(ProbeBwUp);
    let began = w.bbr().rounds.count;
    assert!(!w.bbr().full_pipe.now);
    run_while(&mut w, 5000, |bbr| bbr.full_pipe.count < 2);
    assert_eq!(w.bbr().state, ProbeBwUp);
    run_while(&mut w, 5000, |bbr| bbr.state == ProbeBwUp);
    let bbr = w.bbr();
    assert_eq!((bbr.state, bbr.full_pipe.count), (ProbeBwDown, 3));
    assert!(bbr.full_pipe.now && bbr.rounds.count >= began + 3);
    assert!(!bbr.cycle.prev_probe_too_high && w.path.lost == 0);
}

/// §10.6
#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    let mut w = world_in(ProbeBwUp);
    // The application writes at half of the path's rate. This limits the sender once the data that was already written
    // has been sent.
    w.feed = Feed::Drip(Duration::from_millis(2));
    run_while(&mut w, 1000, |bbr| {
        bbr.sampler.supply() == Supply::Ample || bbr.in_flight > 30_000
    });
    assert_eq!(w.bbr().state, ProbeBwUp);
    w.path.drop_every = Some(5);
    w.run_until_state(ProbeBwDown);
    let bbr = w.bbr();
    assert!(bbr.cycle.prev_probe_too_high && !bbr.full_pipe.now);
    // Application-limited data in flight does not show the capacity of the path, so no bound is set.
    assert!(bbr.inflight_longterm.is_infinite());
}

/// §10.7
#[test]
fn never_exiting_probe_up_or_startup_when_application_limited_with_no_loss() {
    let mut w = World::dripping(Duration::from_millis(20));
    w.run_until(20_000);
    assert!(!w.bbr().full_pipe.reached);
    assert!(w.states().iter().all(|s| [Startup, ProbeRtt].contains(s)));

    let mut w = world_in(ProbeBwUp);
    w.feed = Feed::Drip(Duration::from_millis(20));
    let states = w.states().len();
    w.run_until(w.millis() + 10_000);
    // Only a ProbeRTT may end ProbeUP.
    let after = &w.states()[states..];
    assert!(after.first().is_none_or(|&s| s == ProbeRtt), "{after:?}");
}

/// §10.8
#[test]
fn exiting_probe_down_on_inflight() {
    let mut w = world_in(ProbeBwUp);
    w.run_until_state(ProbeBwDown);
    assert!(close(w.bbr().pacing_rate, 0.9 * 0.99 * w.bbr().bw, 1e-9));
    run_while(&mut w, 1000, |bbr| {
        let in_flight = bbr.in_flight as f64;
        let full = in_flight > bbr.inflight_with_headroom()
            || in_flight > bbr.inflight(bbr.max_bw.max(), 1.0);
        assert_eq!(bbr.state == ProbeBwDown, full, "{in_flight}");
        full
    });
    assert_eq!(w.bbr().state, ProbeBwCruise);
}

/// §10.9. In DOWN, the pacing rate is 0.891 of the measured bandwidth, but the path's rate falls to 0.8 of it, so the
/// queue does not drain.
#[test]
fn exiting_probe_down_after_max_time() {
    let mut w = world_in(ProbeBwUp);
    // The wait ends before Reno's time scale (41 round trips here) and before the next ProbeRTT.
    w.control().constants.probe_wait = Duration::from_millis(200);
    w.control().constants.probe_wait_spread = Duration::from_millis(100);
    w.run_until_state(ProbeBwDown);
    w.path.service = Duration::from_micros(1250);
    let cycle = w.bbr().cycle;
    run_while(&mut w, 5000, |bbr| bbr.state == ProbeBwDown);
    let bbr = w.bbr();
    assert_eq!(bbr.state, ProbeBwRefill);
    assert!(bbr.in_flight as f64 > bbr.inflight(bbr.max_bw.max(), 1.0));
    let waited = w.now.since(cycle.stamp);
    let late = waited - cycle.bw_probe_wait;
    assert!(late < Duration::from_millis(5), "{waited}");
}

/// §10.10
#[test]
fn entering_and_exiting_probe_rtt() {
    let mut w = world_in(ProbeBwCruise);
    for _ in 0..3 {
        let stamp = w.bbr().min_rtt.probe_stamp;
        w.run_until_state(ProbeRtt);
        let entered = w.now;
        assert!(entered.since(w.bbr().min_rtt.probe_stamp) < Duration::from_secs(5));
        assert!(entered.since(stamp) > Duration::from_secs(5));
        assert!(close(w.bbr().cwnd, 0.5 * w.bbr().bdp(), 1e-9));
        w.run_until_state(ProbeBwCruise);
        let lasted = w.now.since(entered);
        assert!(
            lasted >= Duration::from_millis(200) && lasted < Duration::from_millis(330),
            "{lasted}"
        );
        assert_eq!(w.bbr().min_rtt.secs(), Some(0.041));
        // Low bandwidth samples during ProbeRTT do not lower the estimate, and the sender continues at the full rate.
        assert!(close(w.bbr().max_bw.max(), RATE, 0.02));
        assert!(rate_over(&mut w, 500) > 0.9 * RATE);
    }
}

/// §10.11
#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    let mut w = world_in(ProbeBwCruise);
    w.feed = Feed::Paused;
    w.run_until(w.millis() + 500);
    assert!(w.sender.is_done());
    let (before, states) = (w.bbr(), w.states().len());
    w.run_until(w.millis() + 6000);
    w.feed = Feed::Ample;
    w.run_until(w.millis() + 30);
    assert!(w.bbr().idle_restart);
    assert_eq!((w.bbr().cwnd, w.bbr().bw), (before.cwnd, before.bw));
    assert_eq!(w.sender.window().cwnd, before.cwnd);
    assert!(close(w.bbr().pacing_rate, 0.99 * before.bw, 1e-9));
    w.run_until(w.millis() + 1000);
    assert!(!w.bbr().idle_restart);
    assert!(!w.states()[states..].contains(&ProbeRtt));
}

/// §10.12. ACKs arrive only every 30 ms.
#[test]
fn achieving_expected_startup_bandwidth_on_a_link_with_aggregation() {
    let mut w = World::new();
    w.path.ack_slot = Duration::from_millis(30);
    w.run_until_state(Drain);
    let bbr = w.bbr();
    // Bursts of ACKs raise the bandwidth estimate at most to the rate at which Startup sent the segments.
    let bw = bbr.max_bw.max();
    assert!((RATE..1.5 * RATE).contains(&bw), "{bw}");
    assert!(bbr.aggregation.extra_acked() > 10_000.0);
    assert!(bbr.cwnd > 2.0 * BDP, "{}", bbr.cwnd);
}

/// §10.13
#[test]
fn achieving_expected_cruise_bandwidth_on_a_link_with_aggregation() {
    let mut w = world_in(ProbeBwCruise);
    assert!(w.bbr().aggregation.extra_acked() < 5000.0);
    w.path.ack_slot = Duration::from_millis(30);
    w.run_until(w.millis() + 500);
    let bbr = w.bbr();
    assert!(bbr.aggregation.extra_acked() > 10_000.0);
    assert!(bbr.cwnd > 2.0 * bbr.bdp());
    let rate = rate_over(&mut w, 1000);
    assert!(rate > 0.95 * RATE, "{rate}");
    // After a burst of 30 segments, one segment is acknowledged per round trip. The filter remembers the burst for nine
    // more round trips and forgets it in the tenth.
    let mut bbr = settled(ProbeBwCruise);
    let mut acked = |ms, newly_acked| {
        bbr.now += Duration::from_millis(ms);
        bbr.update_ack_aggregation(&RateSample {
            newly_acked,
            ..sample()
        });
        bbr.rounds.count += 1;
        bbr.aggregation.extra_acked()
    };
    assert_eq!(acked(0, 30_000), 30_000.0);
    for _ in 1..10 {
        assert_eq!(acked(ROUND, 1000), 30_000.0);
    }
    assert_eq!(acked(ROUND, 1000), 1000.0);
}

/// §10.14. The path has 8 kB/s, which is 125 ms per segment, and a negligible delay.
#[test]
fn correctly_managing_sub_packet_bdps() {
    let mut w = World::new();
    w.path.service = Duration::from_millis(125);
    w.path.delay = Duration::from_micros(500);
    w.run_until(20_000);
    let from = w.bbr().sampler.delivered;
    let mut least = f64::INFINITY;
    for ms in (20_000..60_000).step_by(100) {
        w.run_until(ms);
        least = least.min(w.bbr().cwnd);
    }
    assert!(least >= 4000.0, "{least}");
    assert!(close(w.bbr().bw, 8000.0, 0.02), "{}", w.bbr().bw);
    let rate = (w.bbr().sampler.delivered - from) as f64 / 40.0;
    assert!(rate > 0.95 * 8000.0, "{rate}");
}

/// §10.15
#[test]
fn increasing_bandwidth_10x_and_ensuring_full_bandwidth_is_reached() {
    // An earlier probe has set a finite bound. Then the bandwidth increases tenfold.
    let mut w = world_in(ProbeBwUp);
    w.path.drop_every = Some(10);
    w.run_until_state(ProbeBwDown);
    w.path.drop_every = None;
    let bound = w.bbr().inflight_longterm;
    assert!(bound.is_finite());
    w.path.service = Duration::from_micros(100);
    // The next probe is cautious. The probe after it raises the bound by 1, 2, 4, … segments per round trip.
    run_while(&mut w, 20_000, |bbr| {
        bbr.state != ProbeBwUp || bbr.cycle.prev_probe_too_high
    });
    let mut bounds = Vec::new();
    run_while(&mut w, 5000, |bbr| {
        let round = bbr.cycle.bw_probe_up_rounds as usize;
        if round > bounds.len() {
            bounds.push(bbr.inflight_longterm / 1000.0);
        }
        bbr.state == ProbeBwUp
    });
    let steps: Vec<f64> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Each step is about twice the previous one, or a little more because the window also grows within a round trip.
    assert!(steps.len() >= 7, "{steps:?}");
    for pair in steps[2..steps.len() - 1].windows(2) {
        let factor = pair[1] / pair[0];
        assert!((1.7..=2.7).contains(&factor), "{steps:?}");
    }
    w.run_until(w.millis() + 15_000);
    let bw = w.bbr().max_bw.max();
    assert!(bw > 0.9 * 10.0 * RATE, "{bw}");
}

/// §10.16
#[test]
fn decreasing_bandwidth_10x_and_ensuring_max_bandwidth_adapts_down() {
    let mut w = world_in(ProbeBwCruise);
    w.path.service = Duration::from_millis(10);
    w.path.buffer = 20;
    let cycle = w.bbr().cycle.count;
    // First, the short-term bandwidth falls: each round trip with a loss multiplies it by 0.7.
    run_while(&mut w, 5000, |bbr| bbr.bw_shortterm >= 0.5 * RATE);
    assert!(w.bbr().bw < 0.5 * RATE && close(w.bbr().max_bw.max(), RATE, 0.02));
    assert!(w.bbr().cycle.count <= cycle + 1);
    // Then, after two cycles, the maximum bandwidth falls as well.
    run_while(&mut w, 60_000, |bbr| bbr.cycle.count < cycle + 3);
    w.run_until(w.millis() + 5000);
    assert!(
        close(w.bbr().max_bw.max(), RATE / 10.0, 0.1),
        "{}",
        w.bbr().max_bw.max()
    );
}

/// §10.17. The path has 4 MB/s, policed to 1 MB/s with a bucket of 50 segments.
#[test]
fn handling_token_bucket_policers() {
    let mut w = World::new();
    w.path.service = Duration::from_micros(250);
    w.path.policer = Some(Policer::new(RATE, 50_000.0));
    w.run_until_state(ProbeBwCruise);
    let mut short = false;
    run_while(&mut w, 20_000, |bbr| {
        short |= bbr.bw_shortterm.is_finite() && bbr.inflight_shortterm.is_finite();
        true
    });
    assert!(short);
    let (lost, from) = (w.path.lost, w.bbr().sampler.delivered);
    w.run_until(w.millis() + 20_000);
    let delivered = (w.bbr().sampler.delivered - from) as f64;
    assert!(delivered > 0.8 * 20.0 * RATE, "{delivered}");
    let lost = (w.path.lost - lost) as f64 * 1000.0 / delivered;
    assert!(lost < 0.05, "{lost}");
}

/// §10.18. In UP, three segments are delayed by 100 ms and arrive after their retransmissions.
#[test]
fn handling_spurious_fast_recovery() {
    let mut w = world_in(ProbeBwUp);
    let before = w.bbr();
    w.path.delay_next(0, 3, Duration::from_millis(100));
    run_while(&mut w, 1000, |bbr| bbr.undo.is_none());
    run_while(&mut w, 200, |bbr| bbr.state == ProbeBwUp);
    let bbr = w.bbr();
    let undo = bbr.undo.expect("the state of the time before is kept");
    assert_eq!(bbr.state, ProbeBwDown);
    assert_eq!(undo.state, Some(ProbeBwUp));
    assert_eq!(undo.bw_shortterm, before.bw_shortterm);
    assert_eq!(undo.inflight_shortterm, before.inflight_shortterm);
    assert_eq!(undo.inflight_longterm, before.inflight_longterm);
    assert!(bbr.inflight_longterm.is_finite());
    run_while(&mut w, 1000, |bbr| bbr.undo.is_some());
    let bbr = w.bbr();
    assert_eq!(bbr.state, ProbeBwRefill);
    assert!(bbr.inflight_longterm.is_infinite() && bbr.inflight_shortterm.is_infinite());
    w.run_until(w.millis() + 2 * ROUND);
    assert_eq!(w.bbr().state, ProbeBwUp);
}

/// §10.19. In UP, the path is stalled for 1.5 s: the retransmission timer expires although nothing is lost.
#[test]
fn handling_spurious_rto_recovery() {
    let mut w = world_in(ProbeBwUp);
    let before = w.bbr();
    w.path.stall(w.now, Duration::from_millis(1500));
    w.run_until_timeout();
    let bbr = w.bbr();
    let undo = bbr.undo.expect("the state of the time before is kept");
    assert_eq!(bbr.cwnd, 1000.0);
    assert_eq!(undo.bw_shortterm, before.bw_shortterm);
    assert_eq!(undo.inflight_shortterm, before.inflight_shortterm);
    assert_eq!(undo.inflight_longterm, before.inflight_longterm);
    run_while(&mut w, 3000, |bbr| bbr.undo.is_some());
    let bbr = w.bbr();
    assert!(bbr.inflight_longterm.is_infinite() && bbr.inflight_shortterm.is_infinite());
    assert!(
        bbr.cwnd >= 0.9 * before.cwnd,
        "{} of {}",
        bbr.cwnd,
        before.cwnd
    );
    assert!(bbr.state.is_probing_bw(), "{:?}", bbr.state);
    assert!(rate_over(&mut w, 1000) > 0.9 * RATE);
}

/// §10.20. A segment every 20 ms keeps two or three segments in flight and never fills the pipe.
#[test]
fn entering_and_exiting_probe_rtt_during_startup() {
    let mut w = World::dripping(Duration::from_millis(20));
    w.run_until_state(ProbeRtt);
    assert!(!w.bbr().full_pipe.reached);
    w.run_until_state(Startup);
    // BBR finds the bandwidth once the application has enough data to send.
    w.feed = Feed::Ample;
    w.run_until_state(Drain);
    assert!(close(w.bbr().max_bw.max(), RATE, 0.02));
}

/// §10.21
#[test]
fn handling_loss_during_probe_up_after_inflight_longterm_is_set() {
    let mut w = world_in(ProbeBwUp);
    w.path.drop_every = Some(10);
    w.run_until_state(ProbeBwDown);
    w.path.drop_every = None;
    let first = w.bbr().inflight_longterm;
    assert!((0.7 * BDP..1.5 * BDP).contains(&first), "{first}");
    // The next probe is cautious; the probe after it is not.
    run_while(&mut w, 20_000, |bbr| {
        bbr.state != ProbeBwUp || bbr.cycle.prev_probe_too_high
    });
    let before = w.bbr();
    assert!(before.state == ProbeBwUp && before.inflight_longterm.is_finite());
    w.path.drop_every = Some(5);
    w.run_until_state(ProbeBwDown);
    let bbr = w.bbr();
    assert!(bbr.cycle.prev_probe_too_high && !bbr.cycle.is_bw_probe_sample);
    assert!(!bbr.full_pipe.now);
    // The bound does not fall below Beta (0.7) times the target flight.
    let least = 0.7 * before.target_inflight();
    assert!(
        (0.99 * least..before.inflight_longterm).contains(&bbr.inflight_longterm),
        "{} after {}",
        bbr.inflight_longterm,
        before.inflight_longterm
    );
}

/// §10.22
#[test]
fn handling_application_limited_sending_during_probe_refill() {
    let mut w = world_in(ProbeBwRefill);
    let max_bw = w.bbr().max_bw.max();
    w.feed = Feed::Drip(Duration::from_millis(10));
    run_while(&mut w, 3000, |bbr| {
        assert!(bbr.max_bw.max() >= 0.99 * max_bw);
        bbr.state == ProbeBwRefill
    });
    assert_eq!(w.bbr().state, ProbeBwUp);
    w.run_until(w.millis() + 10 * ROUND);
    assert_eq!(w.bbr().sampler.supply(), Supply::AppLimited);
    assert!(close(w.bbr().max_bw.max(), max_bw, 0.01));
    // When the application has data again, the probe ends as usual.
    w.feed = Feed::Ample;
    run_while(&mut w, 3000, |bbr| bbr.state != ProbeBwDown);
    assert!(close(w.bbr().max_bw.max(), RATE, 0.02));
}
