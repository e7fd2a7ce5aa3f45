//! The conditions of a trace in one line.

use dupack_lab::experiment::{Experiment, FlowGroup, LinkOptions, Starts};
use dupack_lab::results::Parameter;

use crate::setting;

/// Returns the conditions of an experiment in one line, taken from the experiment and its effective parameters. The
/// line contains the seed if the experiment is random.
#[must_use]
pub fn setting(experiment: &Experiment, parameters: &[Parameter], seed: u64) -> String {
    let mut parts = setting::parts(experiment, parameters);
    parts.extend(listed_losses(experiment));
    if has_chance(experiment) {
        parts.push(format!("seed {seed}"));
    }
    parts.join(" · ")
}

/// Returns the losses that the experiment lists for the path, in both directions.
fn listed_losses(e: &Experiment) -> Option<String> {
    let path = e.path.as_ref()?;
    let back = path.reverse.iter().flat_map(|back| &back.drop);
    let rules = path.drop.iter().chain(back).map(ToString::to_string);
    let rules: Vec<String> = rules.collect();
    (!rules.is_empty()).then(|| format!("lost: {}", rules.join(", ")))
}

/// Returns `true` if the seed has an effect that readers need to know.
fn has_chance(e: &Experiment) -> bool {
    let links = e.path.iter().chain(&e.links);
    let by_chance = |link: &LinkOptions| {
        let back = link.reverse.as_ref();
        link.loss.as_fraction() > 0.0
            || link.burst_loss.is_some()
            || link.reorder.is_some()
            || link.jitter.as_nanos() > 0
            || back.is_some_and(|b| b.loss.as_fraction() > 0.0 || b.burst_loss.is_some())
    };
    let spread = |group: &FlowGroup| group.start_spread.is_some_and(|s| s.as_nanos() > 0);
    let flows: u32 = e.flows.iter().map(|group| group.count).sum();
    let recorded = links.clone().any(|link| link.trace.is_some());
    let drawn = e.starts() == Starts::Drawn && (flows > 1 || recorded);
    let chance = { links }.any(by_chance) || e.flows.iter().any(spread);
    chance || drawn || e.radio.is_some()
}
