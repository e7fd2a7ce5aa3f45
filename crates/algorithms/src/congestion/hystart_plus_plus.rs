//! HyStart++: when the round-trip time rises, slow start first grows more slowly, and then ends.
//!
//! RFC 9406. In the first slow start, by rounds:
//!
//! ```text
//! slow start   cwnd += min(N, L · SMSS) per ACK of N bytes                         (§4.2, L = 8)
//!              the round's minimum RTT ≥ the last round's + T, T = max(4 ms, min(last / 8, 16 ms)):
//!              baseline = the round's minimum RTT, on to CSS
//! CSS          cwnd += min(N, L · SMSS) / 4 per ACK                     conservative slow start
//!              the round's minimum RTT < baseline: it was a false alarm, back to slow start
//!              after 5 rounds: ssthresh = cwnd, congestion avoidance
//! ```
//!
//! A round is evaluated once it has 8 samples. A loss ends HyStart++, because it ends slow start.
//!
//! Unlike HyStart, HyStart++ does not rely on a single round. Jitter may end HyStart's slow start early; in HyStart++
//! it only reduces the growth to a quarter for a few rounds.
//!
//! Readings:
//! - "Used for the initial slow start only" (§4.3) means: while `ssthresh` is infinite, as at the
//!   beginning.
//! - An ACK of exactly the data of a round gives that round its last sample; an ACK beyond it gives the next round
//!   its first. The very first ACK therefore begins the first round: SND.NXT was 0 before.
//! - Samples are also used if the sender was not limited by the window (§4.2 does not mention it);
//!   the control decides whether the window may grow.
//! - L is the value of RFC 9406 for senders without pacing. It replaces the control's own L until
//!   slow start ends.

use dupack_tcp::facts::{AckFacts, View};
use dupack_tcp::time::Duration;

use super::aimd::{Increase, Pace};
use super::slow_start::SlowStartParameters;
use crate::catalog::{Context, Switch};

/// State of HyStart++.
#[derive(Clone, Debug)]
pub struct HystartPlusPlus {
    parameters: SlowStartParameters,
    /// L in bytes.
    limit: f64,
    phase: Phase,
    /// Offset that ends the round when the data before it is acknowledged (`windowEnd`).
    window_end: u64,
    /// `lastRoundMinRTT`.
    last_least: Option<Duration>,
    /// `currentRoundMinRTT`.
    least: Option<Duration>,
    /// `rttSampleCount`.
    samples: u64,
}

/// Phase of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// CSS, which began when the minimum round-trip time had risen to `baseline`.
    Conservative {
        baseline: Duration,
        rounds: u64,
    },
    Over,
}

impl HystartPlusPlus {
    /// Creates HyStart++ with these parameters.
    #[must_use]
    pub fn new(parameters: &SlowStartParameters, paced: Switch, context: &Context) -> Self {
        Self {
            parameters: *parameters,
            limit: match paced {
                Switch::Off => parameters.css_limit as f64 * f64::from(context.smss),
                Switch::On => f64::INFINITY,
            },
            phase: Phase::SlowStart,
            window_end: 0,
            last_least: None,
            least: None,
            samples: 0,
        }
    }

    /// Changes the size of a full segment to `to` bytes.
    pub(super) fn resize(&mut self, to: u32) {
        self.limit = self.parameters.css_limit as f64 * f64::from(to);
    }

    /// Examines an ACK, and sets the speed of slow start in `increase`. Returns `true` if slow start ends now.
    pub(super) fn finds_exit(
        &mut self,
        ack: &AckFacts<'_>,
        view: &View<'_>,
        increase: &mut Increase,
    ) -> bool {
        if self.phase == Phase::Over {
            return false;
        }
        if view.window.ssthresh.is_finite() {
            self.end(increase);
            return false;
        }
        let nxt = view.scoreboard.nxt();
        let begins = ack.una > self.window_end;
        let ends = ack.una == self.window_end && ack.acked_bytes > 0;
        let mut over = begins && self.end_round(nxt);
        if let Some(rtt) = ack.rtt {
            self.take_sample(rtt);
        }
        over |= ends && self.end_round(nxt);
        if over {
            self.end(increase);
            return true;
        }
        increase.set_pace(Some(Pace {
            limit: self.limit,
            divisor: match self.phase {
                Phase::Conservative { .. } => self.parameters.css_growth_divisor as f64,
                Phase::SlowStart | Phase::Over => 1.0,
            },
        }));
        false
    }

    fn end(&mut self, increase: &mut Increase) {
        self.phase = Phase::Over;
        increase.set_pace(None);
    }

    fn take_sample(&mut self, rtt: Duration) {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        self.samples += 1;
        if self.samples < self.parameters.rtt_samples {
            return;
        }
        match self.phase {
            Phase::SlowStart => {
                let Some(last) = self.last_least else { return };
                if least >= last + self.parameters.rtt_thresh(last) {
                    self.phase = Phase::Conservative {
                        baseline: least,
                        rounds: 0,
                    };
                }
            }
            Phase::Conservative { baseline, .. } => {
                if least < baseline {
                    self.phase = Phase::SlowStart;
                }
            }
            Phase::Over => {}
        }
    }

    /// Ends a round; the next round lasts until `nxt` is acknowledged. Returns `true` if CSS has lasted for the
    /// configured number of rounds. If CSS began in the middle of a round, that round counts.
    fn end_round(&mut self, nxt: u64) -> bool {
        self.window_end = nxt;
        self.last_least = self.least.take();
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            return *rounds >= self.parameters.css_rounds;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use dupack_tcp::congestion::CongestionControl;
    use dupack_tcp::facts::LimitedBy;
    use dupack_tcp::time::Duration;

    use crate::catalog::{Dialect, Entry, Value};
    use crate::congestion::bench::Bench;
    use crate::congestion::{cubic, reno};

    const HYSTART: (&str, Value) = ("slow_start", Value::word("hystart++"));

    fn bench(entry: Entry<dyn CongestionControl>, cwnd: f64) -> Bench {
        let mut b = Bench::new(entry, Dialect::Rfc, &[HYSTART], cwnd, f64::INFINITY);
        b.fly();
        b
    }

    /// Passes ACKs one by one, with a round-trip time of `ms` milliseconds.
    fn acks(b: &mut Bench, ms: u64, count: u64) {
        b.rtt_sample = Some(Duration::from_millis(ms));
        for _ in 0..count {
            b.ack(1);
        }
    }

    /// Passes ACKs up to the end of the round.
    fn round(b: &mut Bench, ms: u64) {
        let left = b.left_of_round();
        acks(b, ms, left);
    }

    #[test]
    fn conservative_slow_start_grows_by_a_quarter_and_ends_after_five_rounds() {
        for entry in [reno::entry, cubic::entry] {
            let mut b = bench(entry(), 10.0);
            round(&mut b, 100);
            assert_eq!(b.cwnd(), 20.0);
            // 18 segments have been sent by the last ACK. 112 ms is no sign of a queue: the minimum of the last round
            // was 100 ms, and the threshold is a rise of 12.5 ms.
            round(&mut b, 112);
            assert_eq!(b.cwnd(), 38.0);
            // 112 + 14 ms is a sign of a queue, but seven ACKs are not enough to judge a round.
            acks(&mut b, 126, 7);
            assert_eq!(b.cwnd(), 45.0);
            acks(&mut b, 126, 1);
            assert_eq!(b.cwnd(), 45.25);
            let left = b.left_of_round();
            acks(&mut b, 126, left);
            assert_eq!(b.cwnd(), 45.25 + left as f64 / 4.0);
            // This was the first of five rounds. The last ACK of the fifth round ends slow start.
            for _ in 2..5 {
                round(&mut b, 126);
                assert!(b.window.ssthresh.is_infinite());
            }
            let left = b.left_of_round();
            acks(&mut b, 126, left - 1);
            assert!(b.window.ssthresh.is_infinite());
            let before = b.cwnd();
            acks(&mut b, 126, 1);
            assert_eq!(b.ssthresh(), before);
            assert!(b.cwnd() - before < 0.1);
        }
    }

    #[test]
    fn a_rise_that_was_jitter_is_taken_back() {
        let mut b = bench(reno::entry(), 10.0);
        round(&mut b, 100);
        // Seven ACKs are in slow start, and eleven in CSS.
        round(&mut b, 130);
        assert_eq!(b.cwnd(), 27.0 + 11.0 / 4.0);
        // The next round's minimum is below the baseline, as its eighth sample shows.
        acks(&mut b, 100, 7);
        assert_eq!(b.cwnd(), 27.0 + 18.0 / 4.0);
        acks(&mut b, 100, 1);
        assert_eq!(b.cwnd(), 28.0 + 18.0 / 4.0);
    }

    #[test]
    fn a_round_of_few_samples_is_not_judged() {
        let mut b = bench(reno::entry(), 7.0);
        b.limited_by = LimitedBy::Application;
        for ms in [100, 300, 600] {
            assert!(b.left_of_round() < 8);
            round(&mut b, ms);
        }
        b.limited_by = LimitedBy::Congestion;
        acks(&mut b, 600, 1);
        assert_eq!(b.cwnd(), 8.0);
    }

    #[test]
    fn an_ack_adds_eight_segments_at_most() {
        let mut b = bench(reno::entry(), 20.0);
        b.ack(12);
        assert_eq!(b.cwnd(), 28.0);
        // A loss ends HyStart++, and the control's own L of 1 is used from then on.
        b.loss(12, 28);
        assert_eq!((b.cwnd(), b.ssthresh()), (14.0, 14.0));
        b.window.cwnd = 5000.0;
        b.ack(4);
        assert_eq!(b.cwnd(), 6.0);
    }

    #[test]
    fn an_ack_adds_all_of_it_with_a_pace() {
        let paced = [HYSTART, ("pacing", Value::word("on"))];
        let mut b = Bench::new(reno::entry(), Dialect::Rfc, &paced, 20.0, f64::INFINITY);
        b.fly();
        b.ack(12);
        assert_eq!(b.cwnd(), 32.0);
    }

    #[test]
    fn it_is_for_the_first_slow_start_only() {
        let mut b = bench(reno::entry(), 20.0);
        round(&mut b, 100);
        b.timeout(0, 40);
        b.window.cwnd = 20_000.0;
        b.window.ssthresh = 1_000_000.0;
        for _ in 0..7 {
            round(&mut b, 500);
            assert_eq!(b.ssthresh(), 1000.0);
        }
    }

    #[test]
    fn the_standard_slow_start_knows_nothing_of_it() {
        let mut b = Bench::new(reno::entry(), Dialect::Rfc, &[], 10.0, f64::INFINITY);
        b.fly();
        for (ms, cwnd) in [(100, 20.0), (300, 38.0), (600, 74.0)] {
            round(&mut b, ms);
            assert_eq!(b.cwnd(), cwnd);
        }
    }
}
