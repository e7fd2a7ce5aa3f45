//! Comparison of real packets with the simulator.

use dupack_lab::results::{Measure, Results};
use dupack_lab::stats::Summary;

/// Goodput of a sender at one point, on real packets and in the simulator.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Index of the point in the results on real packets.
    pub point: usize,
    /// Index of the sender in the results on real packets.
    pub sender: usize,
    /// Goodput on real packets, in Mbit/s.
    pub wire: Option<Summary>,
    /// Goodput in the simulator, in Mbit/s. `None` for a sender that the simulator does not have.
    pub simulated: Option<Summary>,
}

impl Beside {
    /// Returns the difference of the means, real packets minus simulator, in percent of the simulator's mean.
    #[must_use]
    pub fn difference_percent(&self) -> Option<f64> {
        let (wire, simulated) = (self.wire?, self.simulated?);
        (simulated.mean > 0.0).then(|| (wire.mean / simulated.mean - 1.0) * 100.0)
    }
}

/// Compares every sender at every point, in the order of the results on real packets. The same seed gives different
/// losses in the two results, because real packets begin with the handshake. Therefore the runs are not paired, and
/// only means are compared.
#[must_use]
pub fn compare(wire: &Results, simulated: &Results) -> Vec<Beside> {
    let summary = |results: &Results, point, stack| {
        let samples = results.samples(point, stack, Measure::Goodput);
        let samples: Vec<f64> = samples.map(|(_, value)| value).collect();
        Summary::of(&samples)
    };
    let mut all = Vec::new();
    for point in 0..wire.points.len() {
        for (sender, name) in wire.stacks.iter().enumerate() {
            let same = simulated.stacks.iter().position(|stack| stack == name);
            all.push(Beside {
                point,
                sender,
                wire: summary(wire, point, sender),
                simulated: same.and_then(|stack| summary(simulated, point, stack)),
            });
        }
    }
    all
}
