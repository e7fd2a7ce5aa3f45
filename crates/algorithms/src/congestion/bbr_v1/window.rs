//! Pacing rate and congestion window of the model, and the window during recovery.

use dupack_tcp::time::Duration;

use super::{BbrV1, Mode, Phase};

/// Number of bursts per second at the pacing rate (`sk_pacing_shift`).
const BURSTS_PER_SECOND: f64 = 1024.0;

/// Maximum size of a burst: in bytes (`GSO_MAX_SIZE` minus a header) and in segments.
const BURST_MAX: f64 = 65_215.0;
const BURST_SEGMENTS_MAX: f64 = 127.0;

/// Number of bursts by which the window exceeds the bandwidth-delay product of the model (`bbr_quantization_budget`).
const BURSTS: f64 = 3.0;

/// Target without a round-trip time sample, and number of delivered segments below which Startup ignores its target; in
/// segments (`TCP_INIT_CWND`).
const INITIAL_WINDOW: f64 = 10.0;

/// Round-trip time assumed for the first pacing rate if there is no sample yet.
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// Tolerance for rounding errors that raise a number of segments slightly above an integer.
const ROUNDING: f64 = 1e-6;

impl BbrV1 {
    /// Sets the initial pacing rate from the round-trip time (`bbr_init_pacing_rate_from_rtt`).
    pub(super) fn init_pacing_rate(&mut self) {
        self.has_seen_rtt = self.srtt.is_some();
        let rtt = self.srtt.unwrap_or(NOMINAL_RTT);
        let rtt = rtt.max(Duration::from_micros(1)).as_secs_f64();
        let bw = self.cwnd * self.smss / rtt;
        self.pacing_rate = self.pace(bw, self.parameters.high_gain);
    }

    fn pace(&self, bw: f64, gain: f64) -> f64 {
        bw * gain * (1.0 - self.parameters.pacing_margin)
    }

    /// Sets the pacing rate. The rate does not decrease until the pipe has been full.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.pace(self.bw(), gain);
        if !self.has_seen_rtt && self.srtt.is_some() {
            self.init_pacing_rate();
        }
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Returns the number of segments in a burst (`bbr_tso_segs_goal`).
    pub(super) fn burst(&self) -> f64 {
        let slow = self.pacing_rate * 8.0 < self.parameters.burst_rate;
        let least = if slow { 1.0 } else { 2.0 };
        let bytes = (self.pacing_rate / BURSTS_PER_SECOND).min(BURST_MAX);
        let segments = libm::floor(bytes / self.smss);
        segments.max(least).min(BURST_SEGMENTS_MAX)
    }

    /// Returns `gain` bandwidth-delay products at `bw`, in whole segments (`bbr_bdp`).
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt.value {
            None => INITIAL_WINDOW,
            Some(least) => {
                let segments = gain * bw * least.as_secs_f64() / self.smss;
                libm::ceil(segments - ROUNDING).max(0.0)
            }
        }
    }

    /// Adds three bursts to the window, rounds it up to an even number of segments (for delayed ACKs), and adds two
    /// segments in the probing phase.
    fn quantization_budget(&self, cwnd: f64) -> f64 {
        let roomy = cwnd + BURSTS * self.burst();
        let even = 2.0 * libm::ceil(roomy / 2.0 - ROUNDING);
        let probes = self.mode == Mode::ProbeBw && self.cycle.phase == 0;
        even + if probes { 2.0 } else { 0.0 }
    }

    /// Returns the number of segments in flight for `gain` bandwidth-delay products at `bw` (`bbr_inflight`).
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp(bw, gain))
    }

    /// Returns the number of segments in flight when the next burst is sent, given that `in_flight` segments are in
    /// flight now (`bbr_packets_in_net_at_edt`).
    pub(super) fn in_net_at_departure(&self, in_flight: f64) -> f64 {
        let wait = self.next_departure.since(self.now).as_secs_f64();
        let delivered = libm::floor(self.bw() * wait / self.smss);
        let raising = self.pacing_gain() > 1.0;
        let then = in_flight + if raising { self.burst() } else { 0.0 };
        (then - delivered).max(0.0)
    }

    /// Returns the addition to the window for aggregated ACKs, in segments (`bbr_ack_aggregation_cwnd`).
    fn aggregation_cwnd(&self) -> f64 {
        if !self.full_pipe.reached {
            return 0.0;
        }
        let most = self.bw() * self.parameters.extra_acked_max.as_secs_f64() / self.smss;
        let excess = self.parameters.extra_acked_gain * self.aggregation.extra_acked();
        libm::floor(excess.min(most))
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => self.parameters.high_gain,
            Mode::ProbeBw => self.parameters.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Sets the window after an ACK for `acked` segments (`bbr_set_cwnd`).
    pub(super) fn set_cwnd(&mut self, acked: f64) {
        if acked > 0.0 {
            self.recover_or_restore(acked);
            if self.packet_conservation {
                self.cwnd = self.cwnd.max(self.in_flight + acked);
            } else {
                self.approach_target(acked);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.parameters.min_cwnd as f64);
        }
    }

    /// Begins packet conservation at the start of a recovery, and restores the earlier window at its end. Lost segments
    /// reduce the window.
    fn recover_or_restore(&mut self, acked: f64) {
        if self.losses > 0.0 {
            self.cwnd = (self.cwnd - self.losses).max(1.0);
        }
        let recovering = self.phase == Phase::Recovery;
        if recovering && self.prior_phase != Phase::Recovery {
            self.packet_conservation = true;
            self.rounds.next_delivered = self.sampler.delivered;
            self.cwnd = self.in_flight + acked;
        } else if self.prior_phase != Phase::Open && self.phase == Phase::Open {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prior_phase = self.phase;
    }

    fn approach_target(&mut self, acked: f64) {
        let wanted = self.bdp(self.bw(), self.cwnd_gain()) + self.aggregation_cwnd();
        let target = self.quantization_budget(wanted);
        let grown = self.cwnd + acked;
        let delivered = self.sampler.delivered as f64 / self.smss;
        if self.full_pipe.reached {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || delivered < INITIAL_WINDOW {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.parameters.min_cwnd as f64);
    }

    /// Saves the window that is restored after a recovery or ProbeRTT (`bbr_save_cwnd`).
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.prior_phase == Phase::Open && self.mode != Mode::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }
}
