//! Real packets beside the simulator: how far apart the two are.

use dupack_lab::results::{Measure, Results};
use dupack_lab::stats::Summary;

/// A sender's goodput at a point, on the wire and simulated.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The point, by its place in the results of the wire.
    pub point: usize,
    /// The sender, by its place there.
    pub sender: usize,
    /// On real packets, in Mbit/s.
    pub wire: Option<Summary>,
    /// In the simulator, in Mbit/s; `None` for a sender that it does not have.
    pub simulated: Option<Summary>,
}

impl Beside {
    /// By how much the mean on the wire is above that of the simulator, in percent of the
    /// latter.
    #[must_use]
    pub fn difference_percent(&self) -> Option<f64> {
        let (wire, simulated) = (self.wire?, self.simulated?);
        (simulated.mean > 0.0).then(|| (wire.mean / simulated.mean - 1.0) * 100.0)
    }
}

/// Every sender at every point, in the order of the results of the wire. The same seed draws
/// other losses here and there (a handshake comes first on the wire), so that runs are not
/// paired and means are compared.
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
