//! The long-term sampler: it detects a token bucket that polices the flow, and its rate (`bbr_lt_bw_sampling`).
//!
//! A policer lets a burst pass and then drops the packets that exceed its rate. The delivery rate of a round trip is
//! that of the burst, and the pace that follows from it causes heavy losses. The sampler therefore takes the mean rate
//! of intervals that begin and end with a loss, when the tokens are used up. Two intervals in a row with many losses
//! and about the same rate make that rate the bandwidth, for some time.

use dupack_tcp::time::{Duration, Instant};

use super::{BbrV1, Mode};
use crate::congestion::delivery_rate::Supply;

/// State of the sampler. Rates are in bytes per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    /// Rate of the last interval, or of the policer.
    bw: Option<f64>,
    state: State,
    /// Number of round trips of the interval, or for which the rate has been in use.
    rounds: u64,
    /// Beginning of the interval: its time, and the bytes delivered and lost by then.
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
    /// The rate is that of a policer.
    InUse,
}

impl LongTerm {
    /// Returns the policer's rate, while it is the bandwidth.
    pub(super) fn rate(&self) -> Option<f64> {
        self.bw.filter(|_| self.state == State::InUse)
    }
}

/// Shortest interval from which a rate is taken.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

impl BbrV1 {
    /// Forgets everything.
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

    /// Takes an ACK; a timeout has no `supply`.
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

    /// Uses the rate, for a number of round trips of ProbeBW.
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

    /// Handles a loss that may end the interval, if enough was lost in it.
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
