//! ProbeBW cycle, and the long-term bound on the bytes in flight (§5.3.3).

use dupack_tcp::time::{Duration, Instant};

use super::{Bbr, State};
use crate::congestion::chance;
use crate::congestion::delivery_rate::{RateSample, Supply};

/// Relation of the arriving ACKs to the probe for bandwidth (`ack_phase`, §2.14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// The ACKs do not belong to a probe.
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    /// The probe is over, but its ACKs still arrive.
    ProbeStopping,
}

/// State of the cycle (§2.14).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    /// Virtual time of the bandwidth filter (`cycle_count`).
    pub count: u64,
    pub ack_phase: AckPhase,
    pub is_bw_probe_sample: bool,
    pub prev_probe_too_high: bool,
    pub prev_probe_precautionary: bool,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    pub bw_probe_up_rounds: u32,
    pub bw_probe_wait: Duration,
    /// Start time of the cycle (`cycle_stamp`).
    pub stamp: Instant,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            count: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            bw_probe_up_rounds: 0,
            bw_probe_wait: Duration::ZERO,
            stamp: Instant::ZERO,
        }
    }
}

/// Maximum exponent of the growth of `inflight_longterm`; its slope does not double after that.
const MAX_UP_ROUNDS: u32 = 30;

impl Bbr {
    pub(super) fn start_probe_bw_down(&mut self) {
        self.reset_congestion_signals();
        self.cycle.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle.stamp = self.now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBwDown;
    }

    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::ProbeBwCruise;
    }

    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.cycle.bw_probe_up_rounds = 0;
        self.cycle.bw_probe_up_acked = 0.0;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBwRefill;
    }

    fn start_probe_bw_up(&mut self, rs: &RateSample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(rs.delivery_rate);
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    /// `UpdateProbeBWCyclePhase` (§5.3.3.9).
    pub(super) fn update_probe_bw_cycle_phase(&mut self, rs: &RateSample) {
        if !self.full_pipe.reached || self.adapt_long_term_model(rs) == Decided::Yes {
            return;
        }
        match self.state {
            State::ProbeBwDown => {
                if self.is_time_to_probe_bw() {
                    self.start_probe_bw_refill();
                } else if self.is_time_to_cruise() {
                    self.start_probe_bw_cruise();
                }
            }
            State::ProbeBwCruise => {
                if self.is_time_to_probe_bw() {
                    self.start_probe_bw_refill();
                }
            }
            State::ProbeBwRefill => {
                if self.rounds.start {
                    self.cycle.is_bw_probe_sample = true;
                    self.start_probe_bw_up(rs);
                }
            }
            State::ProbeBwUp => {
                if self.is_time_to_go_down(rs) {
                    self.cycle.prev_probe_too_high = false;
                    self.start_probe_bw_down();
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// Returns `true` if it is time to probe for bandwidth (§5.3.3.8.3).
    pub(super) fn is_time_to_probe_bw(&self) -> bool {
        let rounds = (self.target_inflight() / self.constants.smss)
            .min(self.constants.probe_rounds_max as f64);
        self.now.since(self.cycle.stamp) > self.cycle.bw_probe_wait
            || self.rounds.since_probe_up as f64 >= rounds
    }

    fn is_time_to_cruise(&self) -> bool {
        let in_flight = self.in_flight as f64;
        in_flight <= self.inflight_with_headroom()
            && in_flight <= self.inflight(self.max_bw.max(), 1.0)
    }

    fn is_time_to_go_down(&mut self, rs: &RateSample) -> bool {
        // Data in flight consists of whole segments, so the bound is reached when no further segment fits.
        let reached = self.prior_in_flight as f64 + self.constants.smss > self.inflight_longterm;
        if self.cycle.prev_probe_too_high && reached {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.full_pipe.reset(rs.delivery_rate);
            return false;
        }
        self.full_pipe.now
    }

    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (self.constants.headroom * self.inflight_longterm).max(self.constants.smss);
        (self.inflight_longterm - headroom).max(self.constants.min_pipe_cwnd)
    }

    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth = f64::from(1_u32 << self.cycle.bw_probe_up_rounds);
        self.cycle.bw_probe_up_rounds = (self.cycle.bw_probe_up_rounds + 1).min(MAX_UP_ROUNDS);
        self.cycle.probe_up_acked_per_inc = (self.cwnd / growth).max(self.constants.smss);
    }

    fn probe_inflight_longterm_upward(&mut self, rs: &RateSample) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.cycle.bw_probe_up_acked += rs.newly_acked as f64;
        let per_inc = self.cycle.probe_up_acked_per_inc;
        if self.cycle.bw_probe_up_acked >= per_inc {
            let delta = libm::floor(self.cycle.bw_probe_up_acked / per_inc);
            self.cycle.bw_probe_up_acked -= delta * per_inc;
            self.inflight_longterm += delta * self.constants.smss;
        }
        if self.rounds.start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// `AdaptLongTermModel` (§5.3.3.9).
    fn adapt_long_term_model(&mut self, rs: &RateSample) -> Decided {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.rounds.start {
            self.cycle.is_bw_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && rs.supply == Supply::Ample {
                self.cycle.count += 1;
            }
            let safe = self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high;
            if self.state.is_probe_bw() && safe {
                self.start_probe_bw_refill();
                return Decided::Yes;
            }
        }
        if self.is_inflight_too_high(rs.lost, rs.tx_in_flight) {
            return Decided::No;
        }
        if self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight as f64);
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward(rs);
            }
        }
        Decided::No
    }

    /// `PickProbeWait` (§5.3.3.8.3).
    fn pick_probe_wait(&mut self) {
        let parts = [self.now.as_nanos(), self.sampler.delivered];
        let random = chance::drawn(self.constants.seed, &parts);
        self.rounds.since_probe_up = random & 1;
        // The upper 53 bits give a real number below 1.
        let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
        let spread = self.constants.probe_wait_spread.as_secs_f64() * share;
        self.cycle.bw_probe_wait = self.constants.probe_wait + Duration::from_secs_f64(spread);
    }
}

/// `Yes` if a state transition was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decided {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::super::tests::{BDP, sample, settled};
    use super::*;

    #[test]
    fn it_cruises_once_both_bounds_have_room() {
        // The bounds are the headroom below the long-term bound, and one bandwidth-delay product (§5.3.3.8).
        let cruises = |in_flight: u64, longterm: f64| {
            let mut bbr = settled(State::ProbeBwDown);
            bbr.inflight_longterm = longterm;
            bbr.in_flight = in_flight;
            bbr.is_time_to_cruise()
        };
        assert!(cruises(41_000, f64::INFINITY));
        assert!(!cruises(41_001, f64::INFINITY));
        // The bound is 85 % of 40,000.
        assert!(cruises(34_000, 40_000.0));
        assert!(!cruises(34_001, 40_000.0));
    }

    #[test]
    fn a_cautious_probe_ends_where_the_last_one_found_losses() {
        // The probe ends when no further segment fits below the bound (§5.3.3.6).
        let ends = |prior_in_flight: u64, too_high: bool| {
            let mut bbr = settled(State::ProbeBwUp);
            bbr.inflight_longterm = 41_500.0;
            bbr.prior_in_flight = prior_in_flight;
            bbr.cycle.prev_probe_too_high = too_high;
            let ends = bbr.is_time_to_go_down(&sample());
            assert_eq!(bbr.cycle.prev_probe_precautionary, ends);
            ends
        };
        assert!(ends(41_000, true));
        assert!(!ends(40_500, true));
        assert!(!ends(41_000, false));
    }

    #[test]
    fn headroom_is_left_and_four_segments_at_least() {
        let with = |longterm: f64| {
            let mut bbr = settled(State::ProbeBwCruise);
            bbr.inflight_longterm = longterm;
            bbr.inflight_with_headroom()
        };
        assert_eq!(with(40_000.0), 34_000.0);
        // 15 % of 6000 is less than a segment.
        assert_eq!(with(6_000.0), 5_000.0);
        assert_eq!(with(2_000.0), 4_000.0);
        assert_eq!(with(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn the_long_term_bound_rises_by_a_segment_for_so_many_acknowledged() {
        let mut bbr = settled(State::ProbeBwUp);
        bbr.cwnd = BDP;
        bbr.inflight_longterm = BDP;
        bbr.cycle.probe_up_acked_per_inc = 10_000.0;
        bbr.rounds.start = false;
        bbr.cwnd_limited.this_round = true;
        let mut rs = sample();
        rs.newly_acked = 9_000;
        bbr.probe_inflight_longterm_upward(&rs);
        assert_eq!(bbr.inflight_longterm, BDP);
        // 9000 and 16,000 bytes are 25,000: two increments, and 5000 bytes remain.
        rs.newly_acked = 16_000;
        bbr.probe_inflight_longterm_upward(&rs);
        assert_eq!(bbr.inflight_longterm, BDP + 2_000.0);
        assert_eq!(bbr.cycle.bw_probe_up_acked, 5_000.0);
    }

    #[test]
    fn losses_of_a_probe_leave_the_short_term_bounds_alone() {
        // ResetCongestionSignals (§5.3.3.9): the loss round in which a probe ends belongs to the probe.
        let bound_after = |next: fn(&mut Bbr)| {
            let mut bbr = settled(State::ProbeBwUp);
            bbr.signals.loss_in_round = true;
            next(&mut bbr);
            bbr.update_latest_delivery_signals(&sample());
            bbr.update_congestion_signals(&sample());
            (bbr.bw_shortterm, bbr.inflight_shortterm)
        };
        let (bw, inflight) = bound_after(Bbr::start_probe_bw_down);
        assert!(bw.is_infinite() && inflight.is_infinite());
        let (bw, inflight) = bound_after(Bbr::start_probe_bw_cruise);
        assert!(bw.is_finite() && inflight.is_finite());
    }
}
