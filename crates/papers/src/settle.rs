//! What the seeds of the files leave open: the runs that such a claim's rule asks about are done with
//! more seeds, until it is told.

use std::collections::{BTreeMap, BTreeSet};

use super::campaign::{Campaign, Conduct, run_campaigns};
use super::claims::Verdict;
use super::evidence::{Evidence, Part};
use super::journal::JournalError;
use super::reproduction::Account;
use super::{Extent, Reproduction, find};

/// How many times the seeds of the files there are, step by step.
const TIMES: [u32; 2] = [4, 16];

const CHECKED: &str = "the tests hold every rule and exhibit against the experiments";

/// Gives claims of `reproductions` that cannot be told more seeds: four times those of the files, and
/// if that is not enough sixteen times. Only the runs that their rules ask about are done, and
/// every claim is judged anew by all runs that there are.
///
/// A quick look is not settled: it is none to rest on.
///
/// # Errors
/// If a journal can be neither read nor begun.
pub fn settle(
    reproductions: &mut [Reproduction],
    conduct: &Conduct<'_>,
) -> Result<(), JournalError> {
    TIMES.into_iter().try_for_each(|times| {
        if conduct.interrupt.is_asked() {
            return Ok(());
        }
        let campaigns: Vec<Campaign> = reproductions
            .iter()
            .map(|reproduction| reproduction.more(times))
            .collect();
        let came = run_campaigns(&campaigns, conduct)?;
        for (reproduction, (more, accounts)) in reproductions.iter_mut().zip(came) {
            if !more.parts.is_empty() {
                reproduction.add(times, more, &accounts);
            }
        }
        Ok(())
    })
}

impl Reproduction {
    /// What has to be run to tell what cannot be told, with `times` the seeds of the files.
    fn more(&self, times: u32) -> Campaign {
        let paper = find(self.key).expect("it is of a paper");
        let cells = if self.extent == Extent::Full && self.evidence.missing() == 0 {
            paper.cells_of(&self.evidence, &self.open()).expect(CHECKED)
        } else {
            BTreeMap::new()
        };
        let more = paper.plan_more(times, &cells, &self.evidence);
        more.expect(CHECKED)
    }

    /// The claims that cannot be told, by their places.
    fn open(&self) -> BTreeSet<usize> {
        let open = self.judged.iter().enumerate();
        open.filter(|(_, judged)| judged.finding.verdict == Verdict::CannotBeTold)
            .map(|(claim, _)| claim)
            .collect()
    }

    /// Takes more runs to what there is, and judges everything anew.
    fn add(&mut self, times: u32, more: Evidence, accounts: &[Account]) {
        self.seeds
            .extend(self.open().into_iter().map(|claim| (claim, times)));
        for (own, account) in more.parts.into_iter().zip(accounts) {
            let part = self.evidence.parts.iter_mut().find(|p| p.name == own.name);
            part.expect("it is an experiment of the paper").add(own);
            let mut known = self.accounts.iter_mut();
            if let Some(known) = known.find(|known| known.experiment == account.experiment) {
                known.runs += account.runs;
                known.cpu += account.cpu;
            }
        }
        let paper = find(self.key).expect("it is of a paper");
        (self.judged, self.exhibits) = paper.judge(&self.book, &self.evidence).expect(CHECKED);
        for (&claim, times) in &self.seeds {
            let found = &mut self.judged[claim].finding.found;
            *found = format!("{found} (where the rule asks, with {times} times the seeds)");
        }
    }
}

impl Part {
    /// Takes the runs of `other` to its own.
    fn add(&mut self, other: Self) {
        self.results.planned += other.results.planned;
        self.results.runs.extend(other.results.runs);
        let runs = &mut self.results.runs;
        runs.sort_by_key(|run| (run.point, run.stack, run.seed));
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
        let cells = BTreeMap::from([(name.to_owned(), BTreeSet::from([(0, 1), (2, 1)]))]);
        let nothing = Evidence::default();
        let more = paper.plan_more(4, &cells, &nothing).unwrap();
        assert_eq!(more.runs(), 2 * 4 * seeds);
        let (_, done) = quick();
        let again = paper.plan_more(4, &cells, &done.evidence).unwrap();
        let known = done.evidence.parts[0].results.runs.iter();
        let known = known.filter(|run| [(0, 1), (2, 1)].contains(&(run.point, run.stack)));
        assert_eq!(again.runs(), more.runs() - known.count());
        assert_eq!(
            paper
                .plan_more(4, &BTreeMap::new(), &nothing)
                .unwrap()
                .runs(),
            0
        );
    }

    #[test]
    fn what_is_told_is_left_alone_and_so_is_a_quick_look() {
        let (paper, looked) = quick();
        assert_eq!(looked.open(), BTreeSet::from([0]));
        assert_eq!(looked.more(4).runs(), 0, "a quick look");
        let asked = paper.cells_of(&looked.evidence, &looked.open()).unwrap();
        assert!(asked.values().all(|cells| !cells.is_empty()) && !asked.is_empty());
    }

    #[test]
    fn more_runs_are_judged_with_the_others() {
        let (_, mut looked) = quick();
        let before = looked.evidence.planned();
        let mut more = looked.evidence.parts[0].results.clone();
        more.runs.iter_mut().for_each(|run| run.seed += 1000);
        let (runs, name) = (more.runs.len(), looked.evidence.parts[0].name);
        more.planned = runs;
        let more = Part {
            name,
            results: more,
            traces: Vec::new(),
            followed: Vec::new(),
        };
        let account = Account {
            experiment: name,
            runs,
            cpu: std::time::Duration::from_secs(1),
        };
        looked.add(4, Evidence { parts: vec![more] }, &[account]);
        assert_eq!(looked.evidence.planned(), before + runs);
        assert_eq!(looked.evidence.missing(), 0);
        assert_eq!(looked.accounts[0].runs, 2 * runs);
        let with_more =
            |judged: &&crate::Judged| judged.finding.found.contains("4 times the seeds");
        assert!(with_more(&&looked.judged[0]));
        assert_eq!(looked.judged.iter().filter(with_more).count(), 1);
    }
}
