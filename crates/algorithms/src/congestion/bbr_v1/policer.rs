//! Long-term sampler: detects a token bucket that polices the flow, and its rate (`bbr_lt_bw_sampling`).
//!
//! A policer lets a burst pass and then drops the packets that exceed its rate. The delivery rate of a round trip is
//! the rate of the burst, and a pacing rate based on it causes heavy losses. The sampler therefore computes the mean
//! rate of intervals that begin and end with a loss, when the tokens are used up. If two consecutive intervals have
//! many losses and about the same rate, that rate is used as the bandwidth for some time.

use dupack_tcp::time::{Duration, Instant};

use super::{BbrV1, Mode};
use crate::congestion::delivery_rate::Supply;

/// State of the sampler. Rates are in bytes per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    /// Rate of the last interval, or of the detected policer.
    bw: Option<f64>,
    state: State,
    /// Number of round trips in the current interval, or since the policer's rate came into use.
    rounds: u64,
    /// Start of the interval: its time, and the bytes delivered and lost by then.
    since: Instant,
    delivered: u64,
    lost: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Waiting for a loss.
    #[default]
    Waiting,
    Sampling,
    /// The policer's rate is used as the bandwidth.
    InUse,
}

impl LongTerm {
    /// Returns the policer's rate while it is used as the bandwidth.
    pub(super) fn rate(&self) -> Option<f64> {
        self.bw.filter(|_| self.state == State::InUse)
    }
}

/// Minimum duration of an interval from which a rate is computed.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

impl BbrV1 {
    /// Discards the measured rate and waits for the next loss.
    pub(super) fn reset_long_term(&mut self) {
        self.long_term.bw = None;
        self.long_term.state = State::Waiting;
        self.begin_interval();
    }

    fn begin_interval(&mut self) {
        self.long_term = LongTerm {
            rounds: 0,
            since: self.sampler.delivered_time,
            delivered: self.sampler.delivered,
            lost: self.lost,
            ..self.long_term
        };
    }

    /// Updates the sampler after an ACK, or after a timeout, for which `supply` is `None`.
    pub(super) fn sample_long_term(&mut self, supply: Option<Supply>) {
        let lossy = self.losses > 0.0;
        match self.long_term.state {
            State::InUse => return self.use_long_term(),
            State::Waiting if !lossy => return,
            State::Waiting => {
                self.begin_interval();
                self.long_term.state = State::Sampling;
            }
            State::Sampling => {}
        }
        if supply == Some(Supply::AppLimited) {
            self.reset_long_term();
            return;
        }
        self.long_term.rounds += u64::from(self.rounds.start);
        let least = self.parameters.policer_rounds;
        if self.long_term.rounds > 4 * least {
            self.reset_long_term();
        } else if self.long_term.rounds >= least && lossy {
            self.end_interval();
        }
    }

    /// Counts the round trips of ProbeBW for which the rate is used, and stops using it after a number of them.
    fn use_long_term(&mut self) {
        if self.mode != Mode::ProbeBw || !self.rounds.start {
            return;
        }
        self.long_term.rounds += 1;
        if self.long_term.rounds >= self.parameters.policer_use_rounds {
            self.reset_long_term();
            self.enter_probe_bw();
        }
    }

    /// Handles a loss, which ends the interval if enough data was lost in it.
    fn end_interval(&mut self) {
        let interval = &self.long_term;
        let lost = self.lost.saturating_sub(interval.lost) as f64;
        let delivered = (self.sampler.delivered - interval.delivered) as f64;
        if delivered <= 0.0 || lost < self.parameters.policer_loss * delivered {
            return;
        }
        let lasted = self.sampler.delivered_time.since(interval.since);
        if lasted < LEAST_INTERVAL {
            return;
        }
        let bw = delivered / lasted.as_secs_f64();
        match interval.bw {
            Some(before) if self.are_consistent(before, bw) => {
                self.long_term.bw = Some((before + bw) / 2.0);
                self.long_term.state = State::InUse;
                self.long_term.rounds = 0;
            }
            _ => {
                self.long_term.bw = Some(bw);
                self.begin_interval();
            }
        }
    }

    fn are_consistent(&self, before: f64, bw: f64) -> bool {
        let apart = (bw - before).abs();
        let paced = apart * (1.0 - self.parameters.pacing_margin);
        apart <= self.parameters.policer_bw_ratio * before
            || paced * 8.0 <= self.parameters.policer_bw_diff
    }
}
