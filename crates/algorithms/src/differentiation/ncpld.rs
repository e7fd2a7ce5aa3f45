//! NCPLD: a loss is wireless if the delay is below the knee of the load curve.
//!
//! N. K. G. Samaraweera, "Non-congestion packet loss detection for TCP error recovery using wireless links", IEE
//! Proceedings Communications 146(4), 1999; Park et al. §2.
//!
//! At low load, throughput grows with the load and the delay is constant; beyond the knee, the delay grows and
//! throughput is constant. A full queue cannot cause a loss below the knee:
//!
//! ```text
//! RTT < threshold  →  wireless
//! ```
//!
//! **Our reading** of the threshold is the textbook definition of the knee, because the paper's own calculation was not
//! available: the point of maximum power, throughput / delay (R. Jain, "A delay-based approach for congestion
//! avoidance", ACM CCR 19(5), 1989). The connection measures its own curve, one point per round trip:
//!
//! ```text
//! throughput = bytes delivered in the round trip / its length
//! delay      = mean RTT of its samples
//! knee       = delay of the round trip with the maximum throughput / delay so far
//! threshold  = (1 + m) · knee,   m = 0.1
//! ```
//!
//! The margin m prevents the noise of the samples from affecting the decision: on a path without a queue, the samples
//! scatter around the knee. RTT is the last sample. A round trip ends with the ACK of a segment sent after it began. A
//! round trip with a duplicate ACK, or with an ACK of new data without a sample, is not a point of the curve, because a
//! recovery is in progress. Until there is a knee, a loss is congestion.
//!
//! For comparison: [`lda_eq`](super::lda_eq) and [`spike`](super::spike) must have seen a full queue to recognize a
//! long delay; for NCPLD it is enough that the path has been filled once.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, AckKind, LossCause, LossFacts, View};
use dupack_tcp::time::{Duration, Instant};

use crate::catalog::{Entry, Parameters};

/// NCPLD's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct NcpldParameters {
    /// distance of the threshold above the delay at the knee, as a fraction of that delay (m)
    #[parameter(
        source = "our reading: a tenth, for the noise of a sample",
        range = 0.0..=100.0,
        default = 0.1,
    )]
    margin: f64,
}

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("ncpld", file!())
        .summary(
            "wireless if the delay is below that of the greatest throughput/delay (our reading)",
        )
        .citation(
            "Samaraweera, NCPLD, IEE Proceedings Communications 146(4), 1999; we know only the account in Park et al. §2",
        )
        .build(|parameters, _| Box::new(Ncpld::new(parameters)))
}

/// State of a round trip as a point of the load curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    Valid,
    InRecovery,
}

/// Round trip in progress.
#[derive(Clone, Copy, Debug)]
struct Round {
    start: Instant,
    bytes: u64,
    /// Sum of the samples in seconds, and their number.
    delays: f64,
    samples: u32,
    point: Point,
}

/// Point of the maximum power so far.
#[derive(Clone, Copy, Debug)]
struct Knee {
    /// Throughput / delay, in bytes per second squared.
    power: f64,
    /// Delay in seconds.
    delay: f64,
}

/// Differentiation of NCPLD.
#[derive(Clone, Debug)]
pub struct Ncpld {
    margin: f64,
    round: Option<Round>,
    knee: Option<Knee>,
}

impl Ncpld {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &NcpldParameters) -> Self {
        Self {
            margin: parameters.margin,
            round: None,
            knee: None,
        }
    }

    fn sample(&mut self, now: Instant, rtt: Duration) {
        if let Some(round) = &mut self.round {
            round.delays += rtt.as_secs_f64();
            round.samples += 1;
            if now.since(round.start) < rtt {
                return;
            }
            let round = *round;
            self.close(now, &round);
        }
        self.round = Some(Round {
            start: now,
            bytes: 0,
            delays: 0.0,
            samples: 0,
            point: Point::Valid,
        });
    }

    /// Ends a round trip. It becomes the knee if its power is the maximum so far.
    fn close(&mut self, now: Instant, round: &Round) {
        let length = now.since(round.start).as_secs_f64();
        let delay = round.delays / f64::from(round.samples.max(1));
        if round.point == Point::InRecovery || length <= 0.0 || delay <= 0.0 {
            return;
        }
        let power = round.bytes as f64 / length / delay;
        if self.knee.is_none_or(|knee| power >= knee.power) {
            self.knee = Some(Knee { power, delay });
        }
    }
}

impl Differentiation for Ncpld {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _view: &View<'_>) {
        if let Some(round) = &mut self.round {
            round.bytes += ack.delivered_bytes;
            if ack.kind == AckKind::Duplicate || (ack.acked_bytes > 0 && ack.rtt.is_none()) {
                round.point = Point::InRecovery;
            }
        }
        if let Some(rtt) = ack.rtt {
            self.sample(ack.now, rtt);
        }
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        let threshold = self.knee.map(|knee| (1.0 + self.margin) * knee.delay);
        match (loss.rtt_latest, threshold) {
            (Some(rtt), Some(threshold)) if rtt.as_secs_f64() < threshold => LossCause::Wireless,
            _ => LossCause::Congestion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Value;
    use crate::differentiation::bench::Bench;

    /// Returns a bench with the curve of a path that carries 8 segments in 100 ms. There is one ACK per round trip:
    /// - from 100 to 200 ms: 4 segments with a delay of 100 ms, power 4/0.1/0.1 = 400 segments/s²;
    /// - to 300 ms: 8 segments with 100 ms, power 800;
    /// - to 500 ms: 16 segments with 200 ms, power 16/0.2/0.2 = 400.
    fn curve(changes: &[(&str, Value)]) -> Bench {
        let mut bench = Bench::new(entry(), changes);
        for (now, segments, rtt) in [(100, 2, 100), (200, 4, 100), (300, 8, 100), (500, 16, 200)] {
            bench.acks(now, segments, Some(rtt));
        }
        bench
    }

    #[test]
    fn a_loss_below_the_knee_is_wireless() {
        // The knee is at 100 ms, so the threshold is 110 ms.
        assert_eq!(curve(&[]).judge(), LossCause::Congestion);
        assert_eq!(curve(&[]).judge_after(&[109]), LossCause::Wireless);
        assert_eq!(curve(&[]).judge_after(&[111]), LossCause::Congestion);
    }

    #[test]
    fn the_knee_moves_to_the_greatest_power() {
        let mut bench = curve(&[]);
        // The path becomes faster: 40 segments in 200 ms with a delay of 200 ms, power 1000. The threshold is 220 ms.
        bench.acks(700, 40, Some(200));
        assert_eq!(bench.judge_after(&[219]), LossCause::Wireless);
        assert_eq!(bench.judge_after(&[221]), LossCause::Congestion);
    }

    #[test]
    fn the_delay_of_a_point_is_the_mean_of_its_samples() {
        let mut bench = Bench::new(entry(), &[]);
        bench.ack(100, 100);
        // The mean of 120 and 140 ms is 130 ms, so the threshold is 143 ms.
        bench.ack(150, 120);
        bench.ack(240, 140);
        assert_eq!(bench.judge_after(&[142]), LossCause::Wireless);
        assert_eq!(bench.judge_after(&[144]), LossCause::Congestion);
    }

    #[test]
    fn recoveries_are_no_points_of_the_curve() {
        // Without the duplicate ACK, or the ACK without a sample, the power would be 40/0.2/0.2 again.
        for (segments, rtt) in [(0, Some(200)), (1, None)] {
            let mut bench = curve(&[]);
            bench.acks(600, segments, rtt);
            bench.acks(700, 40, Some(200));
            assert_eq!(bench.judge(), LossCause::Congestion, "{segments}");
            // The next round trip counts again.
            bench.acks(900, 40, Some(200));
            assert_eq!(bench.judge(), LossCause::Wireless, "{segments}");
        }
    }

    #[test]
    fn the_margin_is_a_parameter() {
        let none = [("margin", Value::Real(0.0))];
        assert_eq!(curve(&none).judge_after(&[109]), LossCause::Congestion);
        assert_eq!(curve(&none).judge_after(&[99]), LossCause::Wireless);
        let double = [("margin", Value::Real(1.5))];
        assert_eq!(curve(&double).judge(), LossCause::Wireless);
    }

    #[test]
    fn without_a_round_trip_a_loss_is_congestion() {
        let mut bench = Bench::new(entry(), &[]);
        bench.acks(50, 1, None);
        assert_eq!(bench.judge(), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[100, 100]), LossCause::Congestion);
    }
}
