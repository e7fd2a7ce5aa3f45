//! Tests of the individual formulas.

use super::*;
use crate::congestion::delivery_rate::Supply;

/// Returns a control without a connection that has been in `mode` for a long time, with a model of the path.
fn settled(mode: Mode) -> BbrV1 {
    let mut bbr = BbrV1::fresh();
    bbr.begun = true;
    bbr.mode = mode;
    bbr.now = Instant::from_nanos(1_000_000_000);
    bbr.full_pipe.reached = true;
    bbr.cycle.phase = 2;
    bbr.cwnd = 88.0;
    bbr.srtt = Some(Duration::from_millis(41));
    bbr.has_seen_rtt = true;
    bbr.min_rtt.begin(bbr.now, Some(Duration::from_millis(41)));
    bbr.max_bw.update(RATE, 0, 11);
    bbr.set_pacing_rate(1.0);
    bbr
}

/// Returns a sample of `rate`, of a segment that was sent when `prior_delivered` bytes had been delivered.
fn sample(rate: f64, prior_delivered: u64) -> RateSample {
    RateSample {
        delivery_rate: rate,
        delivered: 41_000,
        prior_delivered,
        newly_acked: 1000,
        lost: 0,
        tx_in_flight: 41_000,
        supply: Supply::Ample,
    }
}

#[test]
fn the_window_has_room_for_three_bursts_and_is_even() {
    let mut bbr = settled(Mode::ProbeBw);
    // 41 and 3 · 2 are 47, rounded up to 48.
    assert_eq!(bbr.inflight(RATE, 1.0), 48.0);
    assert_eq!(bbr.inflight(RATE, 2.0), 88.0);
    // The probing phase adds two segments.
    bbr.cycle.phase = 0;
    assert_eq!(bbr.inflight(RATE, 1.0), 50.0);
    bbr.cycle.phase = 2;
    // Below 1.2 Mbit/s, which are 150,000 B/s, a burst has one segment.
    bbr.pacing_rate = 149_999.0;
    assert_eq!(bbr.inflight(RATE, 1.0), 44.0);
    // At this high rate, a burst has 20,480,000/1024 bytes, which are 20 segments.
    bbr.pacing_rate = 20_480_000.0;
    assert_eq!(bbr.inflight(RATE, 1.0), 102.0);
    // A burst has at most 64 KiB.
    bbr.pacing_rate = 1e9;
    assert_eq!(bbr.burst(), 65.0);
    // Without a round-trip time, the initial window of ten segments is used.
    bbr.min_rtt.value = None;
    bbr.pacing_rate = 0.0;
    assert_eq!(bbr.inflight(RATE, 2.0), 14.0);
}

#[test]
fn the_volume_is_rounded_up_to_segments() {
    let mut bbr = settled(Mode::ProbeBw);
    bbr.min_rtt.value = Some(Duration::from_micros(40_100));
    // 40.1 is rounded up to 41.
    assert_eq!(bbr.inflight(RATE, 1.0), 48.0);
    bbr.min_rtt.value = Some(Duration::from_millis(40));
    assert_eq!(bbr.inflight(RATE, 1.0), 46.0);
}

#[test]
fn the_pace_begins_with_the_initial_window_in_a_round_trip() {
    let mut bbr = settled(Mode::Startup);
    bbr.full_pipe.reached = false;
    bbr.cwnd = 10.0;
    bbr.srtt = Some(Duration::from_millis(100));
    bbr.init_pacing_rate();
    // The pacing rate is 10,000 B in 0.1 s, times 739/256, times 0.99.
    let wanted = 100_000.0 * 739.0 / 256.0 * 0.99;
    assert!(close(bbr.pacing_rate, wanted, 1e-9));
    // The first ten segments of a connection are not paced.
    bbr.sent = 9;
    assert_eq!(bbr.pacing_rate(), None);
    bbr.sent = 10;
    assert_eq!(bbr.pacing_rate(), Some(bbr.pacing_rate));
}

#[test]
fn the_pace_does_not_fall_before_the_pipe_is_full() {
    let mut bbr = settled(Mode::Startup);
    bbr.full_pipe.reached = false;
    bbr.pacing_rate = 9e6;
    bbr.set_pacing_rate(bbr.pacing_gain());
    assert_eq!(bbr.pacing_rate, 9e6);
    bbr.full_pipe.reached = true;
    bbr.set_pacing_rate(bbr.pacing_gain());
    assert!(close(bbr.pacing_rate, 0.99 * 739.0 / 256.0 * RATE, 1e-9));
}

#[test]
fn the_window_approaches_its_target_by_the_arrived_segments() {
    let mut bbr = settled(Mode::ProbeBw);
    bbr.cwnd = 50.0;
    bbr.set_cwnd(3.0);
    assert_eq!(bbr.cwnd, 53.0);
    bbr.cwnd = 87.0;
    bbr.set_cwnd(3.0);
    assert_eq!(bbr.cwnd, 88.0);
    // A window above the target is reduced to it.
    bbr.cwnd = 200.0;
    bbr.set_cwnd(1.0);
    assert_eq!(bbr.cwnd, 88.0);
    // An ACK of no new data does not change the window.
    bbr.cwnd = 200.0;
    bbr.set_cwnd(0.0);
    assert_eq!(bbr.cwnd, 200.0);
    // Before the pipe is full, the window is not reduced, and it grows only below the target.
    bbr.full_pipe.reached = false;
    bbr.set_cwnd(1.0);
    assert_eq!(bbr.cwnd, 201.0, "ten segments have not been delivered yet");
    bbr.sampler.delivered = 10_000;
    bbr.set_cwnd(1.0);
    assert_eq!(bbr.cwnd, 201.0);
}

#[test]
fn packet_conservation_releases_as_many_as_arrived() {
    let mut bbr = settled(Mode::ProbeBw);
    bbr.save_cwnd();
    bbr.phase = Phase::Recovery;
    // Three segments are lost, one arrives, and 60 remain in flight.
    (bbr.losses, bbr.in_flight) = (3.0, 60.0);
    bbr.set_cwnd(1.0);
    assert_eq!((bbr.cwnd, bbr.packet_conservation), (61.0, true));
    // 61 segments are in flight again; two arrive and one more is lost, so 58 remain.
    (bbr.losses, bbr.in_flight) = (1.0, 58.0);
    bbr.set_cwnd(2.0);
    assert_eq!(bbr.cwnd, 60.0);
    // A round trip later, the window grows by the number of segments that arrive.
    (bbr.losses, bbr.in_flight) = (0.0, 58.0);
    bbr.packet_conservation = false;
    bbr.set_cwnd(2.0);
    assert_eq!(bbr.cwnd, 62.0);
    // Another loss is subtracted first: 62 − 4 + 2.
    bbr.losses = 4.0;
    bbr.set_cwnd(2.0);
    assert_eq!(bbr.cwnd, 60.0);
    // At the end, the window from before the recovery is restored, up to the target.
    (bbr.losses, bbr.phase) = (0.0, Phase::Open);
    bbr.set_cwnd(1.0);
    assert_eq!(bbr.cwnd, 88.0);
}

#[test]
fn the_window_to_return_to_is_the_largest_of_the_episode() {
    let mut bbr = settled(Mode::ProbeBw);
    bbr.prior_cwnd = 90.0;
    bbr.cwnd = 50.0;
    bbr.save_cwnd();
    assert_eq!(bbr.prior_cwnd, 50.0);
    for (mode, prior) in [
        (Mode::ProbeBw, Phase::Recovery),
        (Mode::ProbeRtt, Phase::Open),
    ] {
        (bbr.mode, bbr.prior_phase) = (mode, prior);
        bbr.cwnd = 20.0;
        bbr.save_cwnd();
        assert_eq!(bbr.prior_cwnd, 50.0);
    }
}

#[test]
fn the_bandwidth_is_of_the_last_ten_round_trips() {
    let mut bbr = settled(Mode::ProbeBw);
    bbr.update_model(Some(&sample(2.0 * RATE, 0)), 1.0, None);
    assert_eq!(bbr.max_bw(), 2.0 * RATE);
    for round in 1..=11 {
        // Each sample is of a segment that was sent after the round trip began.
        bbr.sampler.delivered += 41_000;
        let prior = bbr.rounds.next_delivered;
        bbr.update_model(Some(&sample(RATE, prior)), 1.0, None);
        let wanted = if round <= 10 { 2.0 * RATE } else { RATE };
        assert_eq!(bbr.max_bw(), wanted, "round {round}");
    }
}

#[test]
fn application_limited_samples_do_not_lower_the_bandwidth() {
    let mut bbr = settled(Mode::ProbeBw);
    let limited = |rate| RateSample {
        supply: Supply::AppLimited,
        ..sample(rate, 0)
    };
    bbr.rounds.count = 30;
    bbr.update_model(Some(&limited(RATE / 10.0)), 1.0, None);
    assert_eq!(bbr.max_bw(), RATE);
    bbr.update_model(Some(&limited(3.0 * RATE)), 1.0, None);
    assert_eq!(bbr.max_bw(), 3.0 * RATE);
}

#[test]
fn a_probe_lasts_until_it_has_reached_its_volume_or_lost_something() {
    let next = |phase: u64, in_flight: f64, losses: f64, ms: u64| {
        let mut bbr = settled(Mode::ProbeBw);
        bbr.cycle.phase = phase;
        bbr.cycle.began = Instant::ZERO;
        bbr.sampler.delivered_time = Instant::ZERO + Duration::from_millis(ms);
        bbr.prior_in_flight = in_flight;
        bbr.losses = losses;
        bbr.next_departure = bbr.now;
        bbr.is_next_phase()
    };
    // The target is 1.25 · 41 = 51.25, rounded up to 52, plus 6 for three bursts and 2 for the probe: 60 segments. The
    // next burst of two segments also counts as in flight.
    assert!(!next(0, 57.0, 0.0, 42));
    assert!(next(0, 58.0, 0.0, 42));
    assert!(next(0, 10.0, 1.0, 42));
    assert!(!next(0, 58.0, 1.0, 41), "not before min_rtt has passed");
    // The second phase ends when the queue is empty, at 48 segments.
    assert!(next(1, 48.0, 0.0, 1));
    assert!(!next(1, 49.0, 0.0, 41));
    assert!(next(1, 49.0, 0.0, 42));
    assert!(!next(2, 0.0, 0.0, 41));
    assert!(next(2, 0.0, 0.0, 42));
}

#[test]
fn segments_that_leave_the_network_before_the_next_burst_do_not_count() {
    let mut bbr = settled(Mode::ProbeBw);
    bbr.next_departure = bbr.now + Duration::from_millis(5);
    // Five segments arrive in 5 ms.
    assert_eq!(bbr.in_net_at_departure(40.0), 35.0);
    assert_eq!(bbr.in_net_at_departure(3.0), 0.0);
    bbr.cycle.phase = 0;
    assert_eq!(bbr.in_net_at_departure(40.0), 37.0);
}

#[test]
fn a_delayed_ack_is_no_measure_of_the_round_trip_when_the_last_one_is_too_old() {
    let after = |ms: u64, rtt: u64, delayed: bool| {
        let mut bbr = settled(Mode::ProbeBw);
        bbr.idle_restart = true;
        bbr.now += Duration::from_millis(ms);
        bbr.update_model(None, 0.0, Some((Duration::from_millis(rtt), delayed)));
        bbr.min_rtt.value
    };
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(after(10_000, 60, false), ms(41));
    assert_eq!(after(10_001, 60, false), ms(60));
    assert_eq!(after(10_001, 60, true), ms(41));
    assert_eq!(after(10, 40, true), ms(40));
}

/// Passes an interval of the policer detection: `delivered` and `lost` bytes in `rounds` round trips of 41 ms.
fn interval(bbr: &mut BbrV1, rounds: u64, delivered: u64, lost: u64) {
    for round in 1..=rounds {
        bbr.rounds.start = true;
        bbr.sampler.delivered += delivered / rounds;
        bbr.sampler.delivered_time += Duration::from_millis(41);
        bbr.lost += lost / rounds;
        bbr.losses = if round == rounds { 1.0 } else { 0.0 };
        bbr.sample_long_term(Some(Supply::Ample));
    }
}

/// Returns a control that has just begun an interval, with a loss.
fn suspicious() -> BbrV1 {
    let mut bbr = settled(Mode::ProbeBw);
    bbr.losses = 1.0;
    bbr.rounds.start = false;
    bbr.sample_long_term(Some(Supply::Ample));
    bbr
}

#[test]
fn two_intervals_with_a_fifth_lost_at_one_rate_are_a_policer() {
    let mut bbr = suspicious();
    interval(&mut bbr, 4, 16_400, 4_000);
    assert_eq!(bbr.long_term.rate(), None);
    // 16,400 B in 164 ms are 100,000 B/s, and 18,448 B are 112,488 B/s. The rates differ by an eighth.
    interval(&mut bbr, 4, 18_448, 4_000);
    let rate = bbr.long_term.rate().expect("a policer");
    assert!(close(rate, 106_243.9, 1e-4), "{rate}");
    assert_eq!((bbr.pacing_gain(), bbr.bw()), (1.0, rate));
    // The rate is used for 48 round trips.
    for round in 1..=48 {
        assert!(bbr.long_term.rate().is_some(), "round {round}");
        bbr.rounds.start = true;
        bbr.sample_long_term(Some(Supply::Ample));
    }
    assert_eq!((bbr.long_term.rate(), bbr.bw()), (None, RATE));
}

#[test]
fn few_losses_other_rates_and_pauses_are_no_policer() {
    let rate_after = |change: fn(&mut BbrV1)| {
        let mut bbr = suspicious();
        interval(&mut bbr, 4, 16_400, 4_000);
        change(&mut bbr);
        bbr.long_term.rate()
    };
    assert!(rate_after(|b| interval(b, 4, 16_400, 4_000)).is_some());
    // 3,200 of 16,400 are 19.51 %, which is less than 50/256.
    assert_eq!(rate_after(|b| interval(b, 4, 16_400, 3_200)), None);
    assert_eq!(
        rate_after(|b| interval(b, 4, 19_000, 4_000)),
        None,
        "more than an eighth"
    );
    assert_eq!(
        rate_after(|b| interval(b, 3, 16_400, 4_000)),
        None,
        "three round trips"
    );
    // An interval that no loss ends is abandoned after sixteen round trips.
    let long = |b: &mut BbrV1| {
        for _ in 0..17 {
            b.rounds.start = true;
            b.losses = 0.0;
            b.sample_long_term(Some(Supply::Ample));
        }
        interval(b, 4, 16_400, 4_000);
    };
    assert_eq!(rate_after(long), None);
    let pause = |b: &mut BbrV1| {
        b.sample_long_term(Some(Supply::AppLimited));
        interval(b, 4, 16_400, 4_000);
    };
    assert_eq!(rate_after(pause), None);
}

#[test]
fn slow_rates_are_alike_if_they_are_4_kbit_apart() {
    let rate_after = |delivered| {
        let mut bbr = suspicious();
        interval(&mut bbr, 4, 164, 164);
        interval(&mut bbr, 4, delivered, 164);
        bbr.long_term.rate()
    };
    // The first rate is 1000 B/s, and the second is 1487.8 or 1536.6 B/s. With the pacing margin, they differ by 482.9
    // and 531.2 B/s; the limit is 500 B/s.
    assert!(rate_after(244).is_some());
    assert_eq!(rate_after(252), None);
}

#[test]
fn the_excess_of_acks_is_of_five_to_ten_round_trips() {
    let mut bbr = settled(Mode::ProbeBw);
    let round = |bbr: &mut BbrV1, acked: f64| {
        bbr.sampler.delivered += 41_000;
        bbr.now += Duration::from_millis(41);
        let prior = bbr.rounds.next_delivered;
        bbr.update_model(Some(&sample(RATE, prior)), acked, None);
    };
    // The first ACK begins an epoch in which 30 segments arrive at once.
    round(&mut bbr, 30.0);
    assert_eq!(bbr.aggregation.extra_acked(), 30.0);
    for _ in 0..4 {
        round(&mut bbr, 1.0);
        assert_eq!(bbr.aggregation.extra_acked(), 30.0);
    }
    for _ in 0..10 {
        round(&mut bbr, 1.0);
    }
    assert_eq!(bbr.aggregation.extra_acked(), 1.0);
    // 88 + 1 is rounded up to the next even number.
    bbr.cwnd = 200.0;
    bbr.cycle.phase = 2;
    bbr.set_cwnd(1.0);
    assert_eq!(bbr.cwnd, 90.0);
}

#[test]
fn an_undone_loss_event_resets_the_state() {
    let mut bbr = suspicious();
    interval(&mut bbr, 4, 16_400, 4_000);
    bbr.full_pipe.count = 2;
    (bbr.phase, bbr.prior_phase) = (Phase::Recovery, Phase::Recovery);
    (bbr.cwnd, bbr.prior_cwnd, bbr.losses) = (20.0, 88.0, 0.0);
    let prior = Prior::new(bbr.window());
    bbr.on_spurious(&prior, bbr.window());
    assert_eq!((bbr.full_pipe.bw, bbr.full_pipe.count), (0.0, 0));
    bbr.set_cwnd(1.0);
    assert_eq!(bbr.cwnd, 88.0);
    interval(&mut bbr, 4, 16_400, 4_000);
    assert_eq!(bbr.long_term.rate(), None, "the sampling restarted");
}
