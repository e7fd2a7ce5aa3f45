//! Startup and Drain, and the two estimators of a full pipe (§5.3.1, §5.3.2).

use super::loss::Episode;
use super::{Bbr, State};
use crate::congestion::delivery_rate::{RateSample, Supply};

/// Plateau estimator (§5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// Baseline from which growth is measured (`full_bw`).
    pub bw: f64,
    pub count: u64,
    /// `true` if the pipe was found full since the estimator was last reset (`full_bw_now`).
    pub now: bool,
    /// `true` if the pipe has ever been found full (`full_bw_reached`).
    pub reached: bool,
}

impl FullPipe {
    /// `ResetFullBW`, with `bw` as the new baseline.
    pub(super) fn reset(&mut self, bw: f64) {
        *self = Self {
            bw,
            count: 0,
            now: false,
            reached: self.reached,
        };
    }
}

impl Bbr {
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    pub(super) fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if self.full_pipe.now || !self.rounds.start || rs.supply == Supply::AppLimited {
            return;
        }
        if rs.delivery_rate >= self.full_pipe.bw * self.constants.full_bw_growth {
            self.full_pipe.reset(rs.delivery_rate);
            return;
        }
        self.full_pipe.count += 1;
        self.full_pipe.now = self.full_pipe.count >= self.constants.full_bw_rounds;
        self.full_pipe.reached |= self.full_pipe.now;
    }

    pub(super) fn check_startup_done(&mut self, rs: &RateSample) {
        self.check_startup_high_loss(rs);
        if self.state == State::Startup && self.full_pipe.reached {
            self.state = State::Drain;
            self.drain_start_round = self.rounds.count;
        }
    }

    /// `CheckStartupHighLoss` (§5.3.1.3).
    fn check_startup_high_loss(&mut self, rs: &RateSample) {
        if !self.signals.loss_round_start {
            return;
        }
        let ranges = self.signals.take_lost_ranges();
        if self.full_pipe.reached || !matches!(self.episode, Episode::Fast { .. }) {
            return;
        }
        let high = if self.has_selective_acks {
            ranges >= self.constants.full_loss_count
                && self.is_inflight_too_high(rs.lost, rs.tx_in_flight)
        } else {
            ranges > 0
        };
        if high {
            if let Some(undo) = &mut self.undo {
                undo.state = Some(State::Startup);
            }
            // §10.2 sets both flags, §5.3.1.3 only the second. The first flag is used only in ProbeBW_UP.
            self.full_pipe.now = true;
            self.full_pipe.reached = true;
            self.inflight_longterm = self.bdp().max(self.signals.inflight_latest);
        }
    }

    pub(super) fn check_drain_done(&mut self) {
        let drained = self.in_flight as f64 <= self.inflight(self.bw, 1.0);
        let rounds = self.rounds.count - self.drain_start_round;
        if self.state == State::Drain && (drained || rounds > self.constants.drain_rounds) {
            self.start_probe_bw_down();
        }
    }
}
