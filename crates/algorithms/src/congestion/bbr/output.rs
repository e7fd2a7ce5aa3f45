//! Pacing rate, send quantum and congestion window of the model (§5.6).

use dupack_tcp::time::Duration;

use super::{Bbr, State};
use crate::congestion::delivery_rate::RateSample;

impl Bbr {
    /// `pacing_gain` of the state (§5.6.1).
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.constants.startup_pacing_gain,
            State::Drain => self.constants.drain_pacing_gain,
            State::ProbeBwDown => self.constants.down_pacing_gain,
            State::ProbeBwUp => self.constants.up_pacing_gain,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
        }
    }

    /// `cwnd_gain` of the state (§5.6.1).
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::ProbeBwUp => self.constants.up_cwnd_gain,
            State::ProbeRtt => self.constants.probe_rtt_cwnd_gain,
            _ => self.constants.cwnd_gain,
        }
    }

    /// `InitPacingRate` (§5.6.2), with a round-trip time of `rtt`.
    pub(super) fn init_pacing_rate(&mut self, rtt: Duration) {
        let initial = self.initial_cwnd.unwrap_or(0.0);
        let rtt = rtt.max(Duration::from_nanos(1)).as_secs_f64();
        self.pacing_rate = self.constants.startup_pacing_gain * initial / rtt;
    }

    pub(super) fn set_pacing_rate(&mut self) {
        self.set_pacing_rate_with_gain(self.pacing_gain());
    }

    /// Sets the pacing rate. Without a bandwidth estimate, the rate does not change.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - self.constants.pacing_margin);
        if rate > 0.0 && (self.full_pipe.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// `SetSendQuantum` (§5.6.3).
    pub(super) fn set_send_quantum(&mut self) {
        let quantum = self.pacing_rate * self.constants.quantum_time.as_secs_f64();
        self.send_quantum = quantum
            .min(self.constants.quantum_max)
            .max(self.constants.quantum_min);
    }

    /// Returns the bandwidth-delay product in bytes.
    pub(super) fn bdp(&self) -> f64 {
        self.bdp_multiple(self.bw, 1.0)
    }

    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt.secs() {
            None => self.initial_cwnd.unwrap_or(0.0),
            Some(min_rtt) => gain * bw * min_rtt,
        }
    }

    /// `QuantizationBudget` (§5.6.4.2).
    fn quantization_budget(&self, cap: f64) -> f64 {
        let offload_budget = self.constants.offload_quanta * self.send_quantum;
        let cap = cap.max(offload_budget).max(self.constants.min_pipe_cwnd);
        if self.state == State::ProbeBwUp {
            cap + 2.0 * self.constants.smss
        } else {
            cap
        }
    }

    /// `Inflight`: the bytes in flight for `gain` bandwidth-delay products at `bw`.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// Returns the target for the bytes in flight: the bandwidth-delay product, or the window if it is smaller
    /// (§5.3.3.8.3).
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp().min(self.cwnd)
    }

    fn max_inflight(&self) -> f64 {
        let cap = self.bdp_multiple(self.bw, self.cwnd_gain());
        self.quantization_budget(cap + self.aggregation.extra_acked())
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, self.constants.probe_rtt_cwnd_gain)
            .max(self.constants.min_pipe_cwnd)
    }

    /// `SetCwnd` (§5.6.4.6).
    pub(super) fn set_cwnd(&mut self, rs: &RateSample) {
        let max_inflight = self.max_inflight();
        let grown = self.cwnd + rs.newly_acked as f64;
        let initial = self.initial_cwnd.unwrap_or(0.0);
        if self.full_pipe.reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight || (self.sampler.delivered as f64) < initial {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.constants.min_pipe_cwnd);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.cap_of_model());
    }

    /// `BoundCwndForModel` (§5.6.4.7).
    fn cap_of_model(&self) -> f64 {
        let cap = match self.state {
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => self.inflight_longterm,
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        cap.min(self.inflight_shortterm)
            .max(self.constants.min_pipe_cwnd)
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::congestion::CongestionControl;

    use super::super::tests::{BDP, sample, settled};
    use super::*;

    #[test]
    fn a_probe_has_two_segments_more_in_flight() {
        // A probe adds two segments (§5.6.4.2).
        let needs = |state| {
            let bbr = settled(state);
            bbr.inflight(bbr.max_bw.max(), 1.0)
        };
        assert_eq!(needs(State::ProbeBwCruise), BDP);
        assert_eq!(needs(State::ProbeBwUp), BDP + 2_000.0);
        // The result is never less than four segments.
        let bbr = settled(State::ProbeBwCruise);
        assert!(bbr.inflight(1.0, 1.0) >= 4_000.0);
    }

    #[test]
    fn the_window_grows_by_acknowledged_data_up_to_its_bound() {
        let mut bbr = settled(State::ProbeBwCruise);
        bbr.cwnd = 50_000.0;
        bbr.set_cwnd(&sample());
        assert_eq!(bbr.cwnd, 51_000.0);
        // The bound is two bandwidth-delay products.
        bbr.cwnd = 2.0 * BDP - 500.0;
        bbr.set_cwnd(&sample());
        assert!((bbr.cwnd - 2.0 * BDP).abs() < 1.0, "{}", bbr.cwnd);
    }

    #[test]
    fn the_least_window_is_in_segments_of_the_size_that_the_path_carries_now() {
        let mut bbr = settled(State::ProbeBwCruise);
        bbr.on_segment_size(1000, 500);
        // With very little bandwidth, the window is four segments and a burst is two.
        (bbr.bw, bbr.pacing_rate) = (1.0, 1.0);
        bbr.set_send_quantum();
        assert_eq!((bbr.probe_rtt_cwnd(), bbr.send_quantum), (2000.0, 1000.0));
    }
}
