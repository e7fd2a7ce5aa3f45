//! Effect of a loss on the model, and the undo if the loss was spurious (§5.5.10, §5.5.11).

use dupack_tcp::facts::{AckFacts, LossFacts, LossRule, SendReason, Sent, View};

use super::{Bbr, State};
use crate::congestion::delivery_rate::{LossSample, Supply};

/// Recovery episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Episode {
    /// No episode.
    Open,
    /// Fast recovery, until the data before this offset is acknowledged.
    Fast { point: u64 },
    /// After a timeout, before the first transmission after it.
    TimedOut,
    /// Recovery after a timeout, until the data before this offset is acknowledged.
    Timeout { point: u64 },
}

/// Values that are restored if the last episode is undone (§2.15).
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// State that ended because of the losses of the episode.
    pub state: Option<State>,
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    /// Bytes retransmitted in the episode that no DSACK has reported.
    pub unexplained: u64,
    /// Start and end of the retransmitted data. A DSACK outside this range has another cause, for example a tail loss
    /// probe.
    pub from: u64,
    pub to: u64,
}

impl Bbr {
    /// `IsInflightTooHigh` (§5.5.10.2).
    pub(super) fn is_inflight_too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost as f64 > tx_in_flight as f64 * self.constants.loss_thresh
            || lost > 0 && !self.has_selective_acks
    }

    /// Records a loss if the segment is retransmitted because it was judged lost.
    pub(super) fn note_retransmission(&mut self, sent: &Sent, view: &View<'_>) {
        let SendReason::Retransmit(rule) = sent.why else {
            return;
        };
        let (segment, nxt) = (sent.segment, view.scoreboard.nxt());
        match self.episode {
            Episode::Open => {
                self.save_state_upon_loss();
                self.episode = if rule == LossRule::TIMEOUT {
                    Episode::Timeout { point: nxt }
                } else {
                    Episode::Fast { point: nxt }
                };
            }
            Episode::TimedOut => self.episode = Episode::Timeout { point: nxt },
            Episode::Fast { .. } | Episode::Timeout { .. } => {}
        }
        if let Some(undo) = &mut self.undo {
            undo.unexplained += u64::from(segment.len);
            undo.from = undo.from.min(segment.start);
            undo.to = undo.to.max(segment.end());
        }
        if let Some(loss) = self.sampler.on_lost(sent.id) {
            self.signals.note_lost_range(segment.start, segment.end());
            self.handle_lost_packet(&loss);
        }
    }

    /// Records a loss event without a retransmission: a tail loss probe has repaired the loss.
    pub(super) fn note_loss_event(&mut self, loss: &LossFacts) {
        if loss.rule == LossRule::PROBE {
            self.sampler.lost += u64::from(loss.segment.len);
            self.note_loss();
        }
    }

    /// `OnEnterRTO` (§5.6.4.4). Everything outstanding counts as lost once, now. The retransmissions may take many
    /// round trips, and each of these would otherwise look like a round trip with losses.
    pub(super) fn enter_rto(&mut self, loss: &LossFacts) {
        if loss.timeouts <= 1 || self.episode == Episode::Open {
            self.save_state_upon_loss();
        }
        let mut from = 0;
        while let Some((slot, lost)) = self.sampler.next_timed_out(from) {
            from = slot + 1;
            self.handle_lost_packet(&lost);
        }
        self.episode = Episode::TimedOut;
        self.cwnd = self.constants.smss;
    }

    /// Ends the episode if the data before its end offset is acknowledged.
    pub(super) fn end_episode(&mut self, una: u64) {
        if let Episode::Fast { point } | Episode::Timeout { point } = self.episode
            && una >= point
        {
            self.restore_cwnd();
            self.episode = Episode::Open;
        }
    }

    /// `NoteLoss` (§5.5.10.2).
    pub(super) fn note_loss(&mut self) {
        if !self.signals.loss_in_round {
            self.signals.loss_round_delivered = self.sampler.delivered;
        }
        self.signals.loss_in_round = true;
    }

    /// `HandleLostPacket`.
    fn handle_lost_packet(&mut self, loss: &LossSample) {
        self.note_loss();
        if self.cycle.is_bw_probe_sample && self.is_inflight_too_high(loss.lost, loss.tx_in_flight)
        {
            let at_loss = self.inflight_at_loss(loss);
            self.handle_inflight_too_high(at_loss, loss.supply);
        }
    }

    /// `InflightAtLoss`: the bytes in flight at which the losses crossed the threshold.
    fn inflight_at_loss(&self, loss: &LossSample) -> f64 {
        let size = f64::from(loss.size);
        let inflight_prev = loss.tx_in_flight as f64 - size;
        let lost_prev = loss.lost as f64 - size;
        let thresh = self.constants.loss_thresh;
        let lost_prefix = (thresh * inflight_prev - lost_prev) / (1.0 - thresh);
        inflight_prev + lost_prefix
    }

    fn handle_inflight_too_high(&mut self, tx_in_flight: f64, supply: Supply) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_bw_probe_sample = false;
        if supply == Supply::Ample {
            let least = self.target_inflight() * self.constants.beta;
            self.inflight_longterm = tx_in_flight.max(least);
        }
        if self.state == State::ProbeBwUp {
            if let Some(undo) = &mut self.undo {
                undo.state = Some(State::ProbeBwUp);
            }
            self.start_probe_bw_down();
        }
    }

    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Some(Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
            unexplained: 0,
            from: u64::MAX,
            to: 0,
        });
    }

    /// `SaveCwnd` (§5.6.4.4).
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.episode == Episode::Open && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Undoes the episode if DSACKs report all data that it retransmitted: then none of this data was lost.
    pub(super) fn note_dsack(&mut self, ack: &AckFacts<'_>) {
        let (Some((start, end)), Some(undo)) = (ack.dsack, &mut self.undo) else {
            return;
        };
        if undo.unexplained == 0 || start < undo.from || end > undo.to {
            return;
        }
        undo.unexplained = undo.unexplained.saturating_sub(end - start);
        if undo.unexplained == 0
            && let Some(undo) = self.undo.take()
        {
            self.handle_spurious_loss_detection(undo);
        }
    }

    /// `HandleSpuriousLossDetection` (§5.5.11.2).
    pub(super) fn handle_spurious_loss_detection(&mut self, undo: Undo) {
        self.restore_cwnd();
        self.episode = Episode::Open;
        self.signals.loss_in_round = false;
        self.full_pipe.reset(0.0);
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::ProbeBwUp)
                if self.state != State::ProbeBwUp && self.state != State::ProbeRtt =>
            {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::settled;
    use super::*;

    #[test]
    fn more_than_two_per_cent_is_too_much_and_without_sack_any_loss() {
        let mut bbr = settled(State::ProbeBwUp);
        assert!(!bbr.is_inflight_too_high(2_000, 100_000));
        assert!(bbr.is_inflight_too_high(2_001, 100_000));
        bbr.has_selective_acks = false;
        assert!(bbr.is_inflight_too_high(1, 100_000));
        assert!(!bbr.is_inflight_too_high(0, 100_000));
    }

    #[test]
    fn the_volume_at_which_losses_crossed_the_threshold() {
        // Before the last segment of 1000 bytes, 1000 of 100,000 bytes were lost, and 2000 are tolerated. The threshold
        // is reached after (0.02 · 100,000 − 1000)/0.98 more bytes.
        let loss = LossSample {
            size: 1000,
            tx_in_flight: 101_000,
            lost: 2_000,
            supply: Supply::Ample,
        };
        let at_loss = settled(State::ProbeBwUp).inflight_at_loss(&loss);
        assert!((at_loss - (100_000.0 + 1_000.0 / 0.98)).abs() < 1e-6);
    }

    #[test]
    fn the_window_to_return_to_is_the_largest_of_the_episode() {
        let mut bbr = settled(State::ProbeBwCruise);
        bbr.prior_cwnd = 90_000.0;
        bbr.cwnd = 50_000.0;
        bbr.save_cwnd();
        assert_eq!(bbr.prior_cwnd, 50_000.0);
        // The larger window is kept within an episode, and in ProbeRTT, which keeps the window low for its measurement.
        for (state, episode) in [
            (State::ProbeBwCruise, Episode::Fast { point: 1 }),
            (State::ProbeRtt, Episode::Open),
        ] {
            bbr.state = state;
            bbr.episode = episode;
            bbr.cwnd = 20_000.0;
            bbr.save_cwnd();
            assert_eq!(bbr.prior_cwnd, 50_000.0);
        }
        bbr.restore_cwnd();
        assert_eq!(bbr.cwnd, 50_000.0);
        bbr.cwnd = 60_000.0;
        bbr.restore_cwnd();
        assert_eq!(bbr.cwnd, 60_000.0);
    }
}
