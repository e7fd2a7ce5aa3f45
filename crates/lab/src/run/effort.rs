//! How long a run takes, about, before it is run.

use super::build::Scenario;
use crate::experiment::AppWrite;
use crate::units::Rate;

/// Where a rate is not known, as with recorded traces.
const ASSUMED_MBIT_S: f64 = 10.0;
/// Bytes of a packet, about.
const PACKET_BYTES: f64 = 1000.0;

impl Scenario {
    /// About how many packets a run sends: what its bottleneck can carry, or all that its flows have.
    /// It orders runs and tells the remaining time; nothing else rests on it.
    #[must_use]
    pub fn packets(&self) -> u64 {
        let e = &self.experiment;
        let rates = e.path.iter().chain(&e.links).filter_map(|link| link.rate);
        let rate = rates
            .map(Rate::as_megabits_per_second)
            .reduce(f64::max)
            .unwrap_or(ASSUMED_MBIT_S);
        let carried = rate * 1e6 / 8.0 * e.duration.as_seconds();
        let finite = e.flows.iter().map(|group| {
            let bytes = match group.writes.as_slice() {
                [] => group.bytes?.as_bytes() as f64,
                writes => {
                    let of = |w: &AppWrite| w.bytes.as_bytes() as f64 * w.times(e.duration) as f64;
                    writes.iter().map(of).sum()
                }
            };
            Some(bytes * f64::from(group.count))
        });
        let bytes = match finite.sum::<Option<f64>>() {
            Some(sent) if !e.flows.is_empty() => sent.min(carried),
            _ => carried,
        };
        (bytes / PACKET_BYTES).ceil().max(1.0) as u64
    }
}
