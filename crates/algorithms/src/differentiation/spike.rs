//! Spike: a loss is congestion if the delays are in a spike.
//!
//! S. Cen, P. C. Cosman, G. M. Voelker, "End-to-end differentiation of congestion and wireless losses", IEEE/ACM Trans.
//! Networking 11(5), 2003, after Y. Tobe et al., 2000; Park et al. §2.
//!
//! ```text
//! the spike begins above  RTTmin + α (RTTmax − RTTmin)
//!           and ends below RTTmin + β (RTTmax − RTTmin)
//! in the spike  →  congestion, otherwise  →  wireless
//! ```
//!
//! Two entries use this algorithm:
//!
//! | entry | α | β | from |
//! | --- | --- | --- | --- |
//! | `spike` | 1/2 | 1/3 | Cen, Cosman, Voelker 2003 |
//! | `spike-bulk-repeat` | 0.4 | 0.05 | Yang et al., TCPW Bulk Repeat, 2005; Park et al.'s "West" |
//!
//! Between the thresholds the state does not change. [`lda_eq`](super::lda_eq) has no such hysteresis. With the second
//! pair of thresholds, a spike rarely ends before the queue is empty.
//!
//! Readings: the original measures relative one-way trip times at a receiver. Here the round-trip time at the sender is
//! used, as in TCPW and Park et al., so a queue on the reverse path counts, too. RTTmin and RTTmax are those of the
//! connection. A sample exactly at a threshold changes nothing. β > α is permitted and gives no hysteresis: each sample
//! between the thresholds changes the state. Without a sample, a loss is congestion.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use super::delays::Delays;
use crate::catalog::{Entry, Parameters};

const ORIGINAL: &str = "Cen, Cosman, Voelker 2003";
const BULK_REPEAT: &str = "Yang et al., TCPW Bulk Repeat, 2005";

/// Spike's parameters.
#[derive(Clone, Copy, Debug, Parameters)]
pub struct SpikeParameters {
    /// fraction of the range of delays above which the spike begins
    #[parameter(source = ORIGINAL, range = 0.0..=1.0, default = 0.5)]
    alpha: f64,
    /// fraction of the range of delays below which the spike ends
    #[parameter(source = ORIGINAL, range = 0.0..=1.0, default = 1.0 / 3.0)]
    beta: f64,
}

/// Spike's parameters with TCPW Bulk Repeat's thresholds.
#[derive(Clone, Copy, Debug, Parameters)]
struct BulkRepeatParameters {
    #[embed(change(
        alpha(source = BULK_REPEAT, default = 0.4),
        beta(source = BULK_REPEAT, default = 0.05),
    ))]
    spike: SpikeParameters,
}

/// Returns the entry with the thresholds of the original.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("spike", file!())
        .summary(
            "congestion while delays are in a spike: begins at 1/2, ends at 1/3 of their range",
        )
        .citation("Cen, Cosman, Voelker, IEEE/ACM Trans. Networking 11(5), 2003; Tobe et al., 2000")
        .build(|parameters, _| Box::new(Spike::new(parameters)))
}

/// Returns the entry with TCPW Bulk Repeat's thresholds.
#[must_use]
pub fn bulk_repeat_entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("spike-bulk-repeat", file!())
        .summary(
            "Spike as in TCPW Bulk Repeat (\"West\"): begins at 0.4, ends at 0.05 of the range",
        )
        .citation(
            "Yang, Wang, Gerla, Sanadidi, TCPW bulk repeat, Computer Communications 28(5), 2005",
        )
        .build(|parameters: &BulkRepeatParameters, _| Box::new(Spike::new(&parameters.spike)))
}

/// State of the delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unknown,
    Calm,
    Spike,
}

/// Differentiation of Spike.
#[derive(Clone, Debug)]
pub struct Spike {
    alpha: f64,
    beta: f64,
    delays: Delays,
    state: State,
}

impl Spike {
    /// Builds the algorithm with these parameters.
    #[must_use]
    pub fn new(parameters: &SpikeParameters) -> Self {
        Self {
            alpha: parameters.alpha,
            beta: parameters.beta,
            delays: Delays::default(),
            state: State::Unknown,
        }
    }

    /// Returns the state after a sample at `position` in the range of delays.
    fn next(&self, position: f64) -> State {
        match self.state {
            State::Unknown | State::Calm if position > self.alpha => State::Spike,
            State::Unknown | State::Calm => State::Calm,
            State::Spike if position < self.beta => State::Calm,
            State::Spike => State::Spike,
        }
    }
}

impl Differentiation for Spike {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _view: &View<'_>) {
        let Some(rtt) = ack.rtt else {
            return;
        };
        self.delays.observe(ack.now, rtt);
        if let Some(position) = self.delays.position(rtt) {
            self.state = self.next(position);
        }
    }

    fn judge(&mut self, _loss: &LossFacts) -> LossCause {
        match self.state {
            State::Calm => LossCause::Wireless,
            State::Spike | State::Unknown => LossCause::Congestion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Value;
    use crate::differentiation::bench::Bench;

    #[test]
    fn between_the_thresholds_the_state_stays() {
        // After 100 and 220 ms the range is 120 ms: the spike begins above 100 + 60 = 160 ms and ends below 100 + 40 =
        // 140 ms.
        let mut bench = Bench::new(entry(), &[]);
        assert_eq!(bench.judge_after(&[100, 220]), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[150]), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[139]), LossCause::Wireless);
        assert_eq!(bench.judge_after(&[150]), LossCause::Wireless);
        assert_eq!(bench.judge_after(&[160]), LossCause::Wireless);
        assert_eq!(bench.judge_after(&[161]), LossCause::Congestion);
    }

    #[test]
    fn the_thresholds_move_with_the_range() {
        let mut bench = Bench::new(entry(), &[]);
        assert_eq!(bench.judge_after(&[100, 220]), LossCause::Congestion);
        // The range is now 300 ms: the spike ends below 100 + 100 = 200 ms.
        assert_eq!(bench.judge_after(&[400, 199]), LossCause::Wireless);
        // The spike begins above 100 + 150 = 250 ms.
        assert_eq!(bench.judge_after(&[220]), LossCause::Wireless);
    }

    #[test]
    fn bulk_repeat_begins_earlier_and_ends_later() {
        // With a range from 100 to 200 ms, the spike begins above 140 ms and ends below 105 ms.
        let mut bench = Bench::new(bulk_repeat_entry(), &[]);
        assert_eq!(bench.judge_after(&[100, 200, 106]), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[104]), LossCause::Wireless);
        assert_eq!(bench.judge_after(&[139]), LossCause::Wireless);
        assert_eq!(bench.judge_after(&[141]), LossCause::Congestion);
        // With the original thresholds and the same samples, 106 ms ends the spike, because it is below 133 ms.
        let mut original = Bench::new(entry(), &[]);
        assert_eq!(original.judge_after(&[100, 200, 106]), LossCause::Wireless);
        assert_eq!(original.judge_after(&[141]), LossCause::Wireless);
    }

    #[test]
    fn the_thresholds_are_parameters() {
        let changes = [("alpha", Value::Real(0.4)), ("beta", Value::Real(0.05))];
        let mut bench = Bench::new(entry(), &changes);
        assert_eq!(bench.judge_after(&[100, 200, 106]), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[104, 141]), LossCause::Congestion);
    }

    #[test]
    fn without_a_sample_congestion_and_without_a_spike_wireless() {
        let mut bench = Bench::new(entry(), &[]);
        bench.acks(1, 1, None);
        assert_eq!(bench.judge(), LossCause::Congestion);
        assert_eq!(bench.judge_after(&[100]), LossCause::Wireless);
    }
}
