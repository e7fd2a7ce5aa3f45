//! Timelines: BBR with a real sender, over a path with configurable rate, buffer and losses.
//!
//! The draft's own test cases (§10) are in `tests/example_cases.rs`. Unless a test says otherwise, the path transmits a
//! segment of 1000 bytes in 1 ms (1,000,000 B/s) and has a delay of 20 ms in each direction. The round-trip time of a
//! single segment is then 41 ms, and 41 segments fill the path.

mod example_cases;

use dupack_tcp::facts::{LimitedBy, LossRule, SendReason};
use dupack_tcp::rtt::{RttConfig, RttEstimator};
use dupack_tcp::scoreboard::SegmentId;
use dupack_tcp::testing;
use dupack_tcp::time::Duration;

use super::State::{
    Drain, ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp, ProbeRtt, Startup,
};
use super::parameters::Constants;
use super::probe_bw::AckPhase;
use super::*;
use crate::catalog::{Dialect, typed};
use crate::congestion::bench::{CONTEXT, ack_facts};
use crate::congestion::bottleneck::{self, Observed};
use crate::congestion::delivery_rate::Supply;

type World = bottleneck::World<Bbr>;

impl Observed for Bbr {
    type State = State;

    fn fresh() -> Self {
        let parameters = typed::parameters(Dialect::Rfc, &[]).expect("defaults");
        Self::new(&parameters, &CONTEXT)
    }

    fn state(&self) -> State {
        self.state
    }
}

/// Rate in bytes per second.
const RATE: f64 = 1e6;
pub(super) const BDP: f64 = 41_000.0;

fn close(left: f64, right: f64, tolerance: f64) -> bool {
    (left - right).abs() <= tolerance * right.abs()
}

/// Returns a control without a connection that has been in `state` for a long time, with a model of the path.
pub(super) fn settled(state: State) -> Bbr {
    let mut bbr = Bbr::new(
        &typed::parameters(Dialect::Rfc, &[]).expect("defaults"),
        &CONTEXT,
    );
    bbr.state = state;
    bbr.full_pipe.reached = true;
    bbr.has_selective_acks = true;
    bbr.initial_cwnd = Some(10_000.0);
    bbr.cwnd = 2.0 * BDP;
    bbr.now = Instant::from_nanos(1_000_000_000);
    bbr.min_rtt.begin(bbr.now, None);
    bbr.update_min_rtt(Some(Duration::from_millis(41)));
    bbr.max_bw.update(RATE, 0, 2);
    bbr.bound_bw_for_model();
    bbr.cycle.stamp = bbr.now;
    bbr.cycle.bw_probe_wait = Duration::from_secs(2);
    bbr
}

/// Returns a sample with the path's rate.
pub(super) fn sample() -> RateSample {
    RateSample {
        delivery_rate: RATE,
        delivered: 41_000,
        prior_delivered: 0,
        newly_acked: 1000,
        lost: 0,
        tx_in_flight: 41_000,
        supply: Supply::Ample,
    }
}

#[test]
fn startup_doubles_each_round_trip() {
    let mut w = World::new();
    w.path.service = Duration::from_micros(10);
    // There are five round trips between 200 ms and 405 ms.
    w.run_until(200);
    let early = w.bbr().max_bw.max();
    w.run_until(405);
    let doublings = (w.bbr().max_bw.max() / early).log2();
    assert!((4.5..5.5).contains(&doublings), "{doublings}");
    assert_eq!(w.bbr().state, Startup);
}

#[test]
fn startup_ends_on_loss() {
    // §5.3.1.3: the buffer holds 10 segments. Startup paces at 2.77 times the path's rate, so most of a flight is lost
    // long before three round trips have shown a plateau.
    let mut w = World::new();
    w.path.buffer = 10;
    w.run_until_state(Drain);
    let bbr = w.bbr();
    assert!(bbr.full_pipe.reached && bbr.full_pipe.count < 3);
    let bound = bbr.inflight_longterm;
    assert!(bound >= bbr.bdp() && bound < 2.0 * BDP, "{bound}");
    assert_eq!(bbr.undo.map(|undo| undo.state), Some(Some(Startup)));
}

#[test]
fn few_losses_do_not_end_startup() {
    let mut w = World::new();
    w.path.drop_orders([20, 40]);
    w.run_until_state(Drain);
    assert!(w.bbr().full_pipe.now && w.bbr().inflight_longterm.is_infinite());
}

#[test]
fn the_cycle_goes_down_cruise_refill_up() {
    let mut w = World::new();
    w.run_until_state(ProbeBwCruise);
    let began = w.bbr().cycle.stamp;
    assert!(close(w.bbr().pacing_rate, 0.99 * w.bbr().bw, 1e-9));
    w.run_until_state(ProbeBwRefill);
    // 41 segments fill the path, so Reno's time scale of 41 round trips ends the wait.
    let waited = w.now.since(began);
    assert!(
        (39 * 41..=42 * 41 + 41).contains(&(waited.as_nanos() / 1_000_000)),
        "{waited}"
    );
    let refill = w.now;
    w.run_until_state(ProbeBwUp);
    assert!(w.now.since(refill) <= Duration::from_millis(45));
    assert!(close(w.bbr().pacing_rate, 1.25 * 0.99 * w.bbr().bw, 1e-9));
    assert_eq!(w.bbr().cycle.ack_phase, AckPhase::ProbeStarting);
    w.run_until_state(ProbeBwDown);
    // §10.5: the bandwidth has not grown by a quarter in three round trips.
    assert!(w.bbr().full_pipe.now);
    assert!(close(w.bbr().pacing_rate, 0.9 * 0.99 * w.bbr().bw, 1e-9));
    assert!(close(w.bbr().max_bw.max(), RATE, 0.02));
    w.run_until_state(ProbeBwCruise);
    let cycle = [ProbeBwRefill, ProbeBwUp, ProbeBwDown, ProbeBwCruise];
    assert_eq!(w.states()[3..7], cycle);
}

#[test]
fn a_long_path_waits_two_to_three_seconds() {
    let mut waits = Vec::new();
    for seed in 0..20_u64 {
        let mut bbr = settled(ProbeBwUp);
        bbr.constants.seed = seed;
        bbr.start_probe_bw_down();
        let wait = bbr.cycle.bw_probe_wait.as_secs_f64();
        assert!((2.0..3.0).contains(&wait), "{wait}");
        waits.push(wait);
        // The window exceeds 63 segments, so the round trips end the wait only at the 63rd.
        bbr.cwnd = 1e9;
        bbr.bw = 1e9;
        bbr.rounds.since_probe_up = 62;
        assert!(!bbr.is_time_to_probe_bw());
        bbr.rounds.since_probe_up = 63;
        assert!(bbr.is_time_to_probe_bw());
        bbr.rounds.since_probe_up = 0;
        bbr.now += bbr.cycle.bw_probe_wait + Duration::from_nanos(1);
        assert!(bbr.is_time_to_probe_bw());
    }
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((2.3..2.7).contains(&mean), "{mean}");
    waits.sort_by(f64::total_cmp);
    waits.dedup();
    assert_eq!(waits.len(), 20);
}

#[test]
fn two_connections_in_step_do_not_probe_together() {
    let wait = |seed| {
        let mut bbr = settled(ProbeBwUp);
        let parameters = typed::parameters(Dialect::Rfc, &[]).expect("defaults");
        bbr.constants = Constants::new(&parameters, &CONTEXT.seeded(seed));
        bbr.start_probe_bw_down();
        bbr.cycle.bw_probe_wait
    };
    assert_eq!(wait(1), wait(1));
    assert_ne!(wait(1), wait(2));
}

#[test]
fn loss_in_a_probe_ends_it_and_the_next_one_is_cautious() {
    // §10.6, §10.21 and precautionary probing (§5.3.3.6). In UP, every tenth segment is lost.
    let mut w = World::new();
    w.run_until_state(ProbeBwUp);
    w.path.drop_every = Some(10);
    w.run_until_state(ProbeBwDown);
    w.path.drop_every = None;
    let bbr = w.bbr();
    assert!(bbr.cycle.prev_probe_too_high && !bbr.cycle.is_bw_probe_sample);
    let bound = bbr.inflight_longterm;
    assert!((0.7 * BDP..1.5 * BDP).contains(&bound), "{bound}");
    // BBR leaves headroom, and the window does not stay above the bound in CRUISE.
    w.run_until_state(ProbeBwCruise);
    w.run_until(w.millis() + 100);
    assert!(
        w.bbr().cwnd <= 0.85 * w.bbr().inflight_longterm + 1.0,
        "{}",
        w.bbr().cwnd
    );
    let before = w.states().len();
    w.run_until_state(ProbeBwUp);
    w.run_until_state(ProbeBwDown);
    assert!(w.bbr().cycle.prev_probe_precautionary);
    // The cautious probe lost nothing, so the next probe begins one round trip later, without a wait.
    w.run_until_state(ProbeBwUp);
    assert!(!w.bbr().cycle.prev_probe_too_high);
    let after = w.states()[before..].iter().copied();
    let after: Vec<State> = after.filter(|&s| s != ProbeBwCruise).collect();
    assert_eq!(
        after,
        [
            ProbeBwRefill,
            ProbeBwUp,
            ProbeBwDown,
            ProbeBwRefill,
            ProbeBwUp
        ]
    );
}

#[test]
fn the_long_term_bound_grows_ever_faster() {
    let mut bbr = settled(ProbeBwUp);
    bbr.inflight_longterm = 40_000.0;
    bbr.cwnd = 40_000.0;
    bbr.cwnd_limited.this_round = true;
    // The bound grows by 1 segment in the first round trip, then by 2, then by 4.
    let mut grown = Vec::new();
    bbr.raise_inflight_longterm_slope();
    for _ in 0..3 {
        let before = bbr.inflight_longterm;
        let acks = (before / 1000.0) as u32;
        for n in 1..=acks {
            bbr.rounds.start = n == acks;
            bbr.cwnd = bbr.inflight_longterm;
            let rs = RateSample {
                tx_in_flight: 0,
                ..sample()
            };
            bbr.update_probe_bw_cycle_phase(&rs);
        }
        grown.push((bbr.inflight_longterm - before) / 1000.0);
    }
    assert_eq!(grown, [1.0, 2.0, 4.0]);
}

#[test]
fn loss_while_cruising_is_answered_for_the_short_term_only() {
    let mut w = World::new();
    w.run_until_state(ProbeBwCruise);
    w.run_until(w.millis() + 100);
    let full = w.bbr().cwnd;
    w.path.drop_next(3);
    w.run_until(w.millis() + 120);
    let bbr = w.bbr();
    // max(inflight_latest, 0.7 · cwnd): 0.7 · cwnd is larger because only half of cwnd is in flight.
    assert!(
        close(bbr.inflight_shortterm, 0.7 * full, 1e-6),
        "{}",
        bbr.inflight_shortterm
    );
    assert!(bbr.bw_shortterm >= 0.7 * RATE && bbr.bw_shortterm <= 1.02 * RATE);
    assert!(bbr.cwnd <= bbr.inflight_shortterm);
    assert!(bbr.inflight_longterm.is_infinite());
    w.run_until_state(ProbeBwRefill);
    assert!(w.bbr().bw_shortterm.is_infinite() && w.bbr().inflight_shortterm.is_infinite());
}

#[test]
fn samples_limited_by_the_application_do_not_lower_the_bandwidth() {
    // An application-limited sample counts only if it raises the bandwidth (§10.22, §5.5.4).
    let mut bbr = settled(ProbeBwRefill);
    let low = RateSample {
        delivery_rate: RATE / 10.0,
        supply: Supply::AppLimited,
        ..sample()
    };
    for count in 0..5 {
        bbr.cycle.count = count;
        bbr.update_congestion_signals(&low);
    }
    assert_eq!(bbr.max_bw.max(), RATE);
    let high = RateSample {
        delivery_rate: 2.0 * RATE,
        ..low
    };
    bbr.update_congestion_signals(&high);
    assert_eq!(bbr.max_bw.max(), 2.0 * RATE);
}

#[test]
fn the_bandwidth_is_that_of_two_cycles() {
    let mut bbr = settled(ProbeBwCruise);
    let low = RateSample {
        delivery_rate: RATE / 2.0,
        ..sample()
    };
    bbr.cycle.count = 1;
    bbr.update_congestion_signals(&low);
    assert_eq!(bbr.max_bw.max(), RATE);
    bbr.cycle.count = 2;
    bbr.update_congestion_signals(&low);
    assert_eq!(bbr.max_bw.max(), RATE / 2.0);
}

#[test]
fn a_timeout_leaves_one_segment_and_the_window_returns() {
    let mut w = World::new();
    w.run_until_state(ProbeBwCruise);
    w.run_until(w.millis() + 100);
    let before = w.bbr().cwnd;
    w.path.dead = true;
    w.run_until_timeout();
    assert_eq!(w.bbr().cwnd, 1000.0);
    assert_eq!(w.bbr().prior_cwnd, before);
    w.path.dead = false;
    w.run_until(w.millis() + 3000);
    assert_eq!(w.bbr().episode, Episode::Open);
    assert!(w.bbr().cwnd >= 0.7 * before, "{}", w.bbr().cwnd);
    // The sender returns to the rate of the path.
    let from = w.bbr().sampler.delivered;
    w.run_until(w.millis() + 2000);
    let delivered = (w.bbr().sampler.delivered - from) as f64;
    assert!(delivered > 0.85 * 2.0 * RATE, "{delivered}");
}

#[test]
fn a_recovery_that_dsacks_show_to_be_spurious_is_undone() {
    // §10.18: one segment is delayed by more than three round trips and arrives after its retransmission.
    let mut w = World::new();
    w.run_until_state(ProbeBwCruise);
    w.run_until(w.millis() + 100);
    w.path.delay_next(5, 1, Duration::from_millis(150));
    w.run_until(w.millis() + 110);
    assert!(w.bbr().inflight_shortterm.is_finite());
    assert!(w.bbr().undo.is_some());
    w.run_until(w.millis() + 150);
    assert!(w.bbr().inflight_shortterm.is_infinite() && w.bbr().bw_shortterm.is_infinite());
    assert!(w.bbr().undo.is_none());
}

#[test]
fn an_undone_probe_begins_again() {
    let mut bbr = settled(ProbeBwUp);
    let saved = |bbr: &mut Bbr, state| {
        bbr.save_state_upon_loss();
        let saved = bbr.undo.take().expect("it was saved");
        Undo {
            state: Some(state),
            ..saved
        }
    };
    let undo = saved(&mut bbr, ProbeBwUp);
    bbr.inflight_longterm = 30_000.0;
    bbr.state = ProbeBwDown;
    bbr.handle_spurious_loss_detection(undo);
    assert_eq!(bbr.state, ProbeBwRefill);
    assert!(bbr.inflight_longterm.is_infinite());
    let undo = saved(&mut bbr, Startup);
    bbr.state = Drain;
    bbr.handle_spurious_loss_detection(undo);
    assert_eq!(bbr.state, Startup);
    assert!(!bbr.full_pipe.reached);
}

#[test]
fn dsacks_of_something_else_undo_nothing() {
    let mut bbr = settled(ProbeBwCruise);
    bbr.save_state_upon_loss();
    bbr.bw_shortterm = 0.7 * RATE;
    let resent = bbr.undo.as_mut().expect("it was saved");
    (resent.unexplained, resent.from, resent.to) = (2000, 10_000, 15_000);
    let mut told = |start, end| {
        let mut facts = ack_facts(bbr.now, 1, LimitedBy::Congestion, None);
        facts.dsack = Some((start, end));
        bbr.note_dsack(&facts);
        bbr.bw_shortterm
    };
    assert_eq!(told(10_000, 11_000), 0.7 * RATE);
    // This segment was sent later than the last one of the episode: a tail loss probe.
    assert_eq!(told(15_000, 16_000), 0.7 * RATE);
    assert_eq!(told(14_000, 15_000), f64::INFINITY);
}

#[test]
fn the_control_works_without_prr() {
    // A recovery with PRR may send no more than was delivered; BBR's window permits more.
    let mut w = World::new();
    w.run_until_state(ProbeBwCruise);
    w.run_until(w.millis() + 100);
    w.path.drop_next(10);
    let flight = w.bbr().in_flight;
    w.run_until(w.millis() + 70);
    assert!(matches!(w.bbr().episode, Episode::Fast { .. }));
    // The lost segments have been retransmitted at the pacing rate: the bytes in flight are unchanged.
    let now = w.bbr().in_flight;
    assert!(
        close(now as f64, flight as f64, 0.15),
        "{now} after {flight}"
    );
}

#[test]
fn without_selective_acks_any_loss_in_a_probe_ends_it() {
    let mut bbr = settled(ProbeBwUp);
    assert!(!bbr.is_inflight_too_high(1000, 1_000_000));
    assert!(bbr.is_inflight_too_high(21_000, 1_000_000));
    bbr.has_selective_acks = false;
    assert!(bbr.is_inflight_too_high(1000, 1_000_000));
    assert!(!bbr.is_inflight_too_high(0, 1_000_000));
}

#[test]
fn data_that_arrives_twice_counts_as_delivered_if_it_was_sent_twice() {
    // §2.2: a delayed segment is retransmitted, and a DSACK reports its second copy.
    let mut w = World::new();
    w.run_until_state(ProbeBwCruise);
    w.path.delay_next(0, 1, Duration::from_millis(150));
    w.run_until(w.millis() + 500);
    let resent = w.sender.stats().retransmissions * 1000;
    let (delivered, una) = (w.bbr().sampler.delivered, w.sender.scoreboard().una());
    assert_eq!(resent, 1000);
    assert_eq!(delivered, una + resent);
    // If a receiver reports more data than was retransmitted, the excess is ignored.
    let mut bbr = settled(ProbeBwCruise);
    let mut facts = ack_facts(bbr.now, 1, LimitedBy::Congestion, None);
    facts.dsack = Some((0, 1 << 40));
    let before = bbr.sampler.delivered;
    let board = testing::outstanding(0, bbr.now);
    let rtt = RttEstimator::new(RttConfig::default());
    let view = testing::view(bbr.now, &board, bbr.window(), &rtt);
    bbr.sampler.on_ack(&facts, 0, 1.0, &view);
    assert_eq!(bbr.sampler.delivered, before + 1000);
}

#[test]
fn a_dsack_counts_once_and_only_for_data_sent_twice() {
    let mut bbr = settled(ProbeBwCruise);
    let board = testing::outstanding(3, bbr.now);
    let rtt = RttEstimator::new(RttConfig::default());
    let view = testing::view(bbr.now, &board, bbr.window(), &rtt);
    // Segments 0 and 1 are sent, and then 0 is retransmitted.
    for (number, transmissions) in [(0, 1), (1, 1), (0, 2)] {
        let mut segment = testing::segment(number, bbr.now);
        segment.transmissions = transmissions;
        let sent = testing::sent(SegmentId(number), segment, SendReason::NewData);
        let departure = testing::departure(3000, LimitedBy::Congestion);
        bbr.sampler.on_sent(&sent, departure, &view);
    }
    // Each of two ACKs delivers one segment and has a DSACK of one segment.
    let mut facts = ack_facts(bbr.now, 1, LimitedBy::Congestion, None);
    facts.dsack = Some((0, 1000));
    let delivered = [(); 2].map(|()| {
        let before = bbr.sampler.delivered;
        bbr.sampler.on_ack(&facts, 0, 1.0, &view);
        bbr.sampler.delivered - before
    });
    assert_eq!(delivered, [2000, 1000]);
}

#[test]
fn transmissions_by_timers_of_an_idle_application_begin_a_bubble() {
    // New data and retransmissions by timers begin an application-limited phase; a retransmission caused by an ACK does
    // not (§4.1.2.4).
    let after = |why, transmissions| {
        let mut bbr = settled(ProbeBwCruise);
        let board = testing::outstanding(3, bbr.now);
        let rtt = RttEstimator::new(RttConfig::default());
        let view = testing::view(bbr.now, &board, bbr.window(), &rtt);
        let mut segment = testing::segment(2, bbr.now);
        segment.transmissions = transmissions;
        let sent = testing::sent(SegmentId(2), segment, why);
        bbr.on_sent(
            &sent,
            testing::departure(3000, LimitedBy::Application),
            &view,
        );
        bbr.sampler.supply()
    };
    assert_eq!(after(SendReason::NewData, 1), Supply::AppLimited);
    assert_eq!(after(SendReason::TailLossProbe, 2), Supply::AppLimited);
    let timeout = SendReason::Retransmit(LossRule::TIMEOUT);
    assert_eq!(after(timeout, 2), Supply::AppLimited);
    let found = SendReason::Retransmit(crate::recovery::DUPLICATE_ACKS);
    assert_eq!(after(found, 2), Supply::Ample);
}
