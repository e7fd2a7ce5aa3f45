//! Results of every criterion, collected from the parts of an evaluation.

use crate::card::{Found, Mark};
use crate::evidence::ScenarioResults;
use crate::prepare::place;

/// Returns the results of all criteria in the simulator.
pub(crate) fn found_in(parts: &[ScenarioResults], stack_folder: Option<&str>) -> Vec<Found> {
    let found = parts.iter().flat_map(|part| {
        let file = place(stack_folder, &part.name).join(part.file());
        part.judged.iter().map(move |judged| Found {
            key: judged.claim.id.clone(),
            mark: Mark::from(judged.finding.verdict),
            found: judged.finding.found.clone(),
            rule: judged.claim.rule.trim().to_owned(),
            expression: judged.claim.holds_if.trim().to_owned(),
            scenario: file.display().to_string(),
        })
    });
    found.collect()
}

/// Returns the results of all criteria on real packets. A criterion is undecided if too few runs of a sender are valid
/// because the emulated path missed its timing.
pub(crate) fn found_on_wire(parts: &[ScenarioResults], stack_folder: Option<&str>) -> Vec<Found> {
    let found = parts.iter().flat_map(|part| {
        let too_few = !part.results.points_of_too_few().is_empty();
        let found = found_in(std::slice::from_ref(part), stack_folder);
        found.into_iter().map(move |mut found| {
            if too_few {
                found.mark = Mark::CannotBeTold;
                found.found = "too few runs kept time".to_owned();
            }
            found
        })
    });
    found.collect()
}
