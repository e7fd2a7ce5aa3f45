//! What the seeds of the files leave open: the runs that such a claim's rule asks about are done with
//! more seeds, and the claim is judged once more.
//!
//! A claim that is looked at twice errs more often than one that is looked at once: at 95 % each, in
//! at most one case of ten.

use std::collections::BTreeSet;

use super::campaign::{Campaign, Conduct, run_campaigns};
use super::claims::{Judged, Verdict};
use super::evidence::Part;
use super::judge::Cells;
use super::readings::Way;
use super::reproduction::Settled;
use super::{Extent, Reproduction, find};
use dupack_lab::run::JournalError;

/// How many times the seeds of the files a claim has that they cannot tell.
const TIMES: u32 = 4;

const CHECKED: &str = "the tests hold every rule against the experiments";

/// Gives claims of `reproductions` that cannot be told four times the seeds, and judges them anew.
/// Only the runs that their rules ask about are done; every other claim, and what is shown, stay.
///
/// No more seeds has what is recorded packet by packet, or an experiment that lists its seeds. A quick
/// look is not settled: it is none to rest on.
///
/// # Errors
/// If a journal can be neither read nor begun.
pub fn settle(
    reproductions: &mut [Reproduction],
    conduct: &Conduct<'_>,
) -> Result<(), JournalError> {
    let campaigns: Vec<Campaign> = reproductions.iter().map(Reproduction::more).collect();
    let came = run_campaigns(&campaigns, conduct)?;
    for (reproduction, (more, accounts)) in reproductions.iter_mut().zip(came) {
        reproduction.settled = Settled {
            claims: BTreeSet::new(),
            runs: accounts.iter().map(|account| account.runs).sum(),
            cpu: accounts.iter().map(|account| account.cpu).sum(),
            missing: more.missing(),
        };
        if reproduction.settled.missing == 0 {
            reproduction.judge_with(more.parts);
        }
    }
    Ok(())
}

/// What a page says of it; nothing if no claim was judged by more seeds.
pub(super) fn said(reproductions: &[Reproduction]) -> Option<String> {
    let settled = || reproductions.iter().map(|r| &r.settled);
    let claims: usize = settled().map(|own| own.claims.len()).sum();
    let runs: usize = settled().map(|own| own.runs).sum();
    (claims > 0).then(|| {
        format!(
            "{claims} claims that the seeds of the files cannot tell were judged once more, with {TIMES} times the seeds for \
             the runs that their rules ask about ({runs} more runs); their numbers say so. Of claims that are looked at \
             twice at most one in ten errs."
        )
    })
}

impl Reproduction {
    /// The claims that cannot be told, by their places.
    fn open(&self) -> BTreeSet<usize> {
        let open = self.judged.iter().enumerate();
        open.filter(|(_, judged)| judged.finding.verdict == Verdict::CannotBeTold)
            .map(|(claim, _)| claim)
            .collect()
    }

    /// What has to be run to tell what cannot be told.
    fn more(&self) -> Campaign {
        let paper = find(self.key).expect("it is of a paper");
        let mut cells = Cells::new();
        if self.extent == Extent::Full && self.evidence.missing() == 0 {
            let asked = paper.cells_of(&self.evidence, &self.open()).expect(CHECKED);
            for (experiment, own) in asked.into_values().flatten() {
                cells.entry(experiment).or_default().extend(own);
            }
        }
        paper.plan_more(TIMES, &cells).expect(CHECKED)
    }

    /// Judges the claims that cannot be told by what there is and more runs of it.
    fn judge_with(&mut self, more: Vec<Part>) {
        let paper = find(self.key).expect("it is of a paper");
        let names: Vec<&str> = more.iter().map(|part| part.name).collect();
        let asked = paper.cells_of(&self.evidence, &self.open()).expect(CHECKED);
        let given = |cells: &Cells| names.iter().any(|name| cells.contains_key(*name));
        let with_more = asked.into_iter().filter(|(_, cells)| given(cells));
        self.settled.claims = with_more.map(|(claim, _)| claim).collect();
        let judged = self.judged_with(more);
        for &claim in &self.settled.claims {
            let finding = &mut self.judged[claim].finding;
            *finding = judged[claim].finding.clone();
            let found = &finding.found;
            finding.found = format!("{found} (with {TIMES} times the seeds where the rule asks)");
        }
    }

    /// Every verdict by what there is and more runs of it; what there is stays as it was.
    fn judged_with(&mut self, more: Vec<Part>) -> Vec<Judged> {
        let paper = find(self.key).expect("it is of a paper");
        let mut before = Vec::new();
        for own in more {
            let parts = &mut self.evidence.parts;
            let n = parts.iter().position(|part| part.name == own.name);
            let n = n.expect("it is an experiment of the paper");
            let results = &mut parts[n].results;
            before.push((n, results.planned, results.runs.clone()));
            results.planned += own.results.planned;
            results.runs.extend(own.results.runs);
            let place = |run: &dupack_lab::results::Run| (run.point, run.stack, run.seed);
            results.runs.sort_by_key(place);
        }
        let parts: Vec<&Part> = self.evidence.parts.iter().collect();
        let judged = paper.judge_as(&Way::default(), &parts).expect(CHECKED);
        for (n, planned, runs) in before {
            let results = &mut self.evidence.parts[n].results;
            (results.planned, results.runs) = (planned, runs);
        }
        judged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Paper;
    use dupack_lab::run::{Execution, Interrupt};

    /// A quick look of which only the first claim cannot be told.
    fn quick() -> (&'static Paper, Reproduction) {
        let paper = find("newreno-smooth").unwrap();
        let campaign = paper.plan(Extent::Quick).unwrap();
        let execution = Execution { jobs: None };
        let mut looked = campaign.execute(execution, &(), &Interrupt::new());
        for judged in &mut looked.judged {
            judged.finding.verdict = Verdict::Holds;
        }
        looked.judged[0].finding.verdict = Verdict::CannotBeTold;
        (paper, looked)
    }

    /// Two points of one stack, four times the seeds: three quarters of these runs are new.
    #[test]
    fn only_the_cells_that_are_asked_about_are_run_and_only_with_new_seeds() {
        let paper = find("newreno-smooth").unwrap();
        let full = paper.plan(Extent::Full).unwrap();
        let (name, results) = full.planned().next().unwrap();
        let seeds = results.experiment.seeds.to_vec().len();
        let cells = Cells::from([(name.to_owned(), BTreeSet::from([(0, 1), (2, 1)]))]);
        assert_eq!(paper.plan_more(4, &cells).unwrap().runs(), 2 * 3 * seeds);
        assert_eq!(paper.plan_more(4, &Cells::new()).unwrap().runs(), 0);
    }

    /// The drawn scenarios have one seed each, which is listed: more would be no more scenarios.
    #[test]
    fn listed_seeds_stay_as_they_are() {
        let paper = find("responding").unwrap();
        let cells = |name: &str| Cells::from([(name.to_owned(), BTreeSet::from([(0, 1)]))]);
        assert_eq!(paper.plan_more(4, &cells("drawn-c")).unwrap().runs(), 0);
        assert_ne!(paper.plan_more(4, &cells("c")).unwrap().runs(), 0);
    }

    #[test]
    fn a_quick_look_is_left_alone() {
        let (paper, looked) = quick();
        assert_eq!(looked.open(), BTreeSet::from([0]));
        assert_eq!(looked.more().runs(), 0);
        let asked = paper.cells_of(&looked.evidence, &looked.open()).unwrap();
        assert!(asked[&0].values().all(|cells| !cells.is_empty()) && !asked[&0].is_empty());
    }

    /// The same runs once more, with other seeds: only the claim that could not be told is judged by
    /// them, and what is shown rests on what there was.
    #[test]
    fn only_what_cannot_be_told_is_judged_by_more_runs() {
        let (_, mut looked) = quick();
        let before = looked.evidence.parts[0].results.clone();
        looked.judged[1].finding.found = "as it was".to_owned();
        let mut more = before.clone();
        more.runs.iter_mut().for_each(|run| run.seed += 1000);
        more.planned = more.runs.len();
        let more = Part::new(looked.evidence.parts[0].name, more);
        looked.judge_with(vec![more]);
        assert_eq!(looked.settled.claims, BTreeSet::from([0]));
        assert!(looked.judged[0].finding.found.contains("4 times the seeds"));
        assert_eq!(looked.judged[1].finding.found, "as it was");
        let after = &looked.evidence.parts[0].results;
        assert_eq!((after.planned, &after.runs), (before.planned, &before.runs));
    }
}
