//! Test bench: one differentiation, and the ACKs and losses that its tests pass to it.

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{LimitedBy, LossCause, LossFacts, View};
use dupack_tcp::rtt::RttEstimator;
use dupack_tcp::scoreboard::Scoreboard;
use dupack_tcp::testing;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;

use crate::catalog::dialect;
use crate::catalog::{Dialect, Entry, Needs, Value};
use crate::congestion::bench::{SMSS, ack_facts, built, loss_facts};

/// Differentiation with the clock and the round-trip time samples of its tests.
pub(super) struct Bench {
    lda: Box<dyn Differentiation>,
    scoreboard: Scoreboard,
    rtt: RttEstimator,
    now_ms: u64,
    latest: Option<Duration>,
    least: Option<Duration>,
    /// Facts of every loss, except for its time and its round-trip times.
    pub(super) loss: LossFacts,
}

impl Bench {
    /// Returns a bench for `entry` with `changes`. Losses report a window of 10 segments.
    pub(super) fn new(entry: Entry<dyn Differentiation>, changes: &[(&str, Value)]) -> Self {
        Self {
            lda: built(&entry, Dialect::Rfc, changes),
            scoreboard: Scoreboard::new(SMSS),
            rtt: RttEstimator::new(dialect::sender_config(Dialect::Rfc, SMSS, &Needs::NONE).rtt),
            now_ms: 0,
            latest: None,
            least: None,
            loss: loss_facts(0, 10),
        }
    }

    /// Passes an ACK at `now_ms` of one segment that was sent `rtt_ms` earlier.
    pub(super) fn ack(&mut self, now_ms: u64, rtt_ms: u64) {
        self.acks(now_ms, 1, Some(rtt_ms));
    }

    /// Passes an ACK of `segments` at `now_ms` (0 segments for a duplicate ACK), with a round-trip time sample if
    /// given.
    pub(super) fn acks(&mut self, now_ms: u64, segments: u64, rtt_ms: Option<u64>) {
        self.now_ms = now_ms;
        let sample = rtt_ms.map(Duration::from_millis);
        if let Some(rtt) = sample {
            self.latest = Some(rtt);
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
        let now = at(now_ms);
        let ack = ack_facts(now, segments, LimitedBy::Congestion, sample);
        self.lda
            .on_ack(&ack, &view(now, &self.scoreboard, &self.rtt));
    }

    /// Passes ACKs with these samples, one millisecond apart.
    pub(super) fn samples(&mut self, rtts_ms: &[u64]) {
        for &rtt_ms in rtts_ms {
            self.ack(self.now_ms + 1, rtt_ms);
        }
    }

    /// Returns the classification of a loss that is detected now. SRTT is the last sample.
    pub(super) fn judge(&mut self) -> LossCause {
        let mut loss = self.loss;
        loss.now = at(self.now_ms);
        loss.srtt = self.latest;
        loss.rtt_min = self.least;
        loss.rtt_latest = self.latest;
        self.lda.judge(&loss)
    }

    /// Returns the classification of a loss after these samples.
    pub(super) fn judge_after(&mut self, rtts_ms: &[u64]) -> LossCause {
        self.samples(rtts_ms);
        self.judge()
    }
}

/// Returns the instant `ms` milliseconds after the origin.
pub(super) fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn view<'a>(now: Instant, scoreboard: &'a Scoreboard, rtt: &'a RttEstimator) -> View<'a> {
    let window = Window {
        cwnd: 10.0 * f64::from(SMSS),
        ssthresh: f64::INFINITY,
    };
    testing::view(now, scoreboard, window, rtt)
}
