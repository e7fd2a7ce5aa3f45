//! ProbeRTT: reduces the data in flight to half a bandwidth-delay product for a short time, to measure the path without
//! a queue (§5.3.4).

use dupack_tcp::time::Instant;

use super::probe_bw::AckPhase;
use super::{Bbr, State};
use crate::congestion::delivery_rate::RateSample;

/// State of a ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// Earliest time at which ProbeRTT may end; `None` until the bytes in flight are low enough.
    done_stamp: Option<Instant>,
    round_done: bool,
}

impl Bbr {
    /// `CheckProbeRTT` (§5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, rs: &RateSample) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            // This must come before the state changes: `save_cwnd` must save the window from before ProbeRTT.
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt.done_stamp = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt();
        }
        if rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self) {
        // Low rates in ProbeRTT are caused by ProbeRTT itself and show nothing about the path.
        self.sampler.mark_app_limited(self.in_flight);
        if self.probe_rtt.done_stamp.is_some() {
            self.probe_rtt.round_done |= self.rounds.start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done();
            }
        } else if self.in_flight as f64 <= self.probe_rtt_cwnd() {
            self.probe_rtt.done_stamp = Some(self.now + self.constants.probe_rtt_duration);
            self.probe_rtt.round_done = false;
            self.start_round();
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self) {
        if self.probe_rtt.done_stamp.is_some_and(|at| self.now > at) {
            self.min_rtt.probe_stamp = self.now;
            self.restore_cwnd();
            self.exit_probe_rtt();
        }
    }

    /// `ExitProbeRTT` (§5.3.4.4).
    fn exit_probe_rtt(&mut self) {
        self.reset_short_term_model();
        if self.full_pipe.reached {
            self.start_probe_bw_down();
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }
}
