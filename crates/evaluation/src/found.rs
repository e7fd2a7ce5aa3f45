//! What the parts of an evaluation show of every criterion.

use crate::campaign::Part;
use crate::card::{Found, Mark};
use crate::prepare::place;

/// What was found of every criterion.
pub(crate) fn found_in(parts: &[Part], stack_folder: Option<&str>) -> Vec<Found> {
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

/// The same on real packets: nothing can be told where too few runs of a sender kept their time.
pub(crate) fn found_on_wire(parts: &[Part], stack_folder: Option<&str>) -> Vec<Found> {
    let found = parts.iter().flat_map(|part| {
        let too_few = !part.results.points_of_too_few().is_empty();
        let found = found_in(std::slice::from_ref(part), stack_folder);
        found.into_iter().map(move |mut found| {
            if too_few {
                found.mark = Mark::CannotBeTold;
                found.found = "too few runs kept their time".to_owned();
            }
            found
        })
    });
    found.collect()
}
