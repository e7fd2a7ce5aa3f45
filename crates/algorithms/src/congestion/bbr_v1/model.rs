//! Model of the path: bandwidth, round trips, full pipe, the ProbeBW cycle, aggregation, and the minimum round-trip
//! time with ProbeRTT (`bbr_update_model`).

use dupack_tcp::time::{Duration, Instant};

use super::{BbrV1, Mode};
use crate::congestion::chance;
use crate::congestion::delivery_rate::{RateSample, Supply};

/// Round trips, counted by packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    pub count: u64,
    /// `true` if the current ACK begins a round trip.
    pub start: bool,
    /// Bytes delivered when the current round trip began.
    pub next_delivered: u64,
}

/// State of the pipe in Startup.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Bandwidth from which growth is measured.
    pub bw: f64,
    /// Number of round trips without growth.
    pub count: u64,
    pub reached: bool,
}

impl FullPipe {
    /// Restarts the measurement of growth.
    pub(super) fn forget(&mut self) {
        self.bw = 0.0;
        self.count = 0;
    }
}

/// ProbeBW cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// Phase: 0 probes, 1 drains the queue, the others cruise.
    pub phase: u64,
    /// Start time of the phase.
    pub began: Instant,
}

/// Minimum round-trip time, and the state of ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    pub value: Option<Duration>,
    pub stamp: Instant,
    /// Earliest time at which ProbeRTT may end; `None` until the bytes in flight are low enough.
    done: Option<Instant>,
    round_done: bool,
}

impl MinRtt {
    /// Initializes the minimum at the beginning of the connection, with `least` if it is known.
    pub(super) fn begin(&mut self, now: Instant, least: Option<Duration>) {
        self.value = least;
        self.stamp = now;
    }
}

/// Excess of the acknowledged data over the expected data when ACKs are aggregated, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch: Instant,
    acked: f64,
    /// Maximum excess in each of two windows: the current one and the previous one.
    extra: [f64; 2],
    index: usize,
    /// Number of round trips in the current window so far.
    rounds: u64,
}

/// Number of segments after which a new epoch begins (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_MAX: f64 = (1_u64 << 20) as f64;

impl Aggregation {
    /// Begins a new epoch.
    pub(super) fn restart(&mut self, now: Instant) {
        self.epoch = now;
        self.acked = 0.0;
    }

    /// Returns the maximum excess, in segments.
    pub(super) fn extra_acked(&self) -> f64 {
        self.extra[0].max(self.extra[1])
    }

    /// Counts a new round trip. A filter window has `window` round trips.
    fn on_round(&mut self, window: u64) {
        self.rounds += 1;
        if self.rounds >= window {
            self.rounds = 0;
            self.index = 1 - self.index;
            self.extra[self.index] = 0.0;
        }
    }

    /// Adds `acked` segments that an ACK reports, at a bandwidth of `bw` segments per second.
    fn take(&mut self, now: Instant, acked: f64, bw: f64, cwnd: f64) {
        let mut expected = bw * now.since(self.epoch).as_secs_f64();
        if self.acked <= expected || self.acked + acked >= EPOCH_MAX {
            self.restart(now);
            expected = 0.0;
        }
        self.acked = (self.acked + acked).min(EPOCH_MAX - 1.0);
        let excess = (self.acked - expected).min(cwnd);
        self.extra[self.index] = self.extra[self.index].max(excess);
    }
}

impl BbrV1 {
    /// Returns the maximum recent delivery rate.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw.max()
    }

    /// Returns the bandwidth in use (`bbr_bw`).
    pub(super) fn bw(&self) -> f64 {
        self.long_term.rate().unwrap_or_else(|| self.max_bw())
    }

    /// Updates the model with an ACK. `sample` is `None` if the sample is not reliable. The flag next to `rtt` is
    /// `true` if the receiver may have delayed the ACK.
    pub(super) fn update_model(
        &mut self,
        sample: Option<&RateSample>,
        acked: f64,
        rtt: Option<(Duration, bool)>,
    ) {
        self.update_bw(sample);
        if sample.is_some() && acked > 0.0 {
            self.update_aggregation(acked);
        }
        if self.mode == Mode::ProbeBw && self.is_next_phase() {
            self.advance_phase();
        }
        self.check_full_pipe(sample);
        self.check_drain();
        self.update_min_rtt(rtt);
        if acked > 0.0 {
            self.idle_restart = false;
        }
    }

    fn update_bw(&mut self, sample: Option<&RateSample>) {
        self.rounds.start = false;
        let Some(sample) = sample else {
            return;
        };
        if sample.prior_delivered >= self.rounds.next_delivered {
            self.rounds.next_delivered = self.sampler.delivered;
            self.rounds.count += 1;
            self.rounds.start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term(Some(sample.supply));
        let rate = sample.delivery_rate;
        if sample.supply == Supply::Ample || rate >= self.max_bw() {
            // A value counts in its own round trip and in `bw_rounds` round trips after it.
            let window = self.parameters.bw_rounds + 1;
            self.max_bw.update(rate, self.rounds.count, window);
        }
    }

    fn update_aggregation(&mut self, acked: f64) {
        if self.parameters.extra_acked_gain <= 0.0 {
            return;
        }
        if self.rounds.start {
            self.aggregation
                .on_round(self.parameters.extra_acked_rounds);
        }
        let bw = self.bw() / self.smss;
        self.aggregation.take(self.now, acked, bw, self.cwnd);
    }

    /// Returns `true` if a phase of the cycle is over, which is after min_rtt. However, a probing phase must also have
    /// reached its target in flight or lost a segment, and the second phase ends as soon as the queue is empty.
    pub(super) fn is_next_phase(&self) -> bool {
        let lasted = self.sampler.delivered_time.since(self.cycle.began);
        let is_full_length = self.min_rtt.value.is_some_and(|least| lasted > least);
        let gain = self.pacing_gain();
        if gain == 1.0 {
            return is_full_length;
        }
        let in_flight = self.in_net_at_departure(self.prior_in_flight);
        let bw = self.max_bw();
        if gain > 1.0 {
            is_full_length && (self.losses > 0.0 || in_flight >= self.inflight(bw, gain))
        } else {
            is_full_length || in_flight <= self.inflight(bw, 1.0)
        }
    }

    fn advance_phase(&mut self) {
        self.cycle.phase = (self.cycle.phase + 1) % self.parameters.cycle_phases;
        self.cycle.began = self.sampler.delivered_time;
    }

    /// Begins the cycle at a random phase, except the second one.
    pub(super) fn enter_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        let phases = self.parameters.cycle_phases;
        let parts = [self.now.as_nanos(), self.sampler.delivered];
        let drawn = chance::drawn(self.seed, &parts) % (phases - 1);
        self.cycle.phase = phases - 1 - drawn;
        self.advance_phase();
    }

    /// Returns the gain of the pacing rate (`bbr_update_gains`).
    pub(super) fn pacing_gain(&self) -> f64 {
        let parameters = &self.parameters;
        match self.mode {
            Mode::Startup => parameters.high_gain,
            Mode::Drain => parameters.drain_gain,
            Mode::ProbeBw if self.long_term.rate().is_some() => 1.0,
            Mode::ProbeBw => match self.cycle.phase {
                0 => parameters.probe_gain,
                1 => parameters.yield_gain,
                _ => 1.0,
            },
            Mode::ProbeRtt => 1.0,
        }
    }

    fn check_full_pipe(&mut self, sample: Option<&RateSample>) {
        let limited = sample.is_none_or(|sample| sample.supply == Supply::AppLimited);
        if self.full_pipe.reached || !self.rounds.start || limited {
            return;
        }
        let bw = self.max_bw();
        let pipe = &mut self.full_pipe;
        if bw >= pipe.bw * self.parameters.full_bw_growth {
            (pipe.bw, pipe.count) = (bw, 0);
            return;
        }
        pipe.count += 1;
        pipe.reached = pipe.count >= self.parameters.full_bw_rounds;
    }

    fn check_drain(&mut self) {
        let bdp = || self.inflight(self.max_bw(), 1.0);
        if self.mode == Mode::Startup && self.full_pipe.reached {
            self.ssthresh = bdp();
            self.mode = Mode::Drain;
        }
        let bdp = self.inflight(self.max_bw(), 1.0);
        if self.mode == Mode::Drain && self.in_net_at_departure(self.in_flight) <= bdp {
            self.enter_probe_bw();
        }
    }

    fn update_min_rtt(&mut self, rtt: Option<(Duration, bool)>) {
        let age = self.now.since(self.min_rtt.stamp);
        let expired = age > self.parameters.min_rtt_window;
        if let Some((rtt, delayed)) = rtt
            && (self.min_rtt.value.is_none_or(|least| rtt <= least) || expired && !delayed)
        {
            self.min_rtt.value = Some(rtt);
            self.min_rtt.stamp = self.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            // This must come before the mode changes: `save_cwnd` must save the window of the previous mode.
            self.save_cwnd();
            self.mode = Mode::ProbeRtt;
            self.min_rtt.done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt();
        }
    }

    fn probe_rtt(&mut self) {
        // Low rates in ProbeRTT are caused by ProbeRTT itself and show nothing about the path.
        let in_flight = self.in_flight * self.smss;
        self.sampler.mark_app_limited(in_flight as u64);
        if self.min_rtt.done.is_some() {
            self.min_rtt.round_done |= self.rounds.start;
            if self.min_rtt.round_done {
                self.check_probe_rtt_done();
            }
        } else if self.in_flight <= self.parameters.min_cwnd as f64 {
            self.min_rtt.done = Some(self.now + self.parameters.probe_rtt_duration);
            self.min_rtt.round_done = false;
            self.rounds.next_delivered = self.sampler.delivered;
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self) {
        if self.min_rtt.done.is_none_or(|done| self.now <= done) {
            return;
        }
        self.min_rtt.stamp = self.now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached {
            self.enter_probe_bw();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
