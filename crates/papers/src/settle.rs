//! Decision of claims that the seeds of the files leave open. Each claim is judged again with more seeds for the runs
//! on which its verdict depends.
//!
//! A projection finds these runs and the number of seeds that they need: it is the verdict of the rule if there were
//! more runs with the same spread. A claim is judged by the runs of the files and the runs that were made for it, not
//! by runs that were made for other claims.
//!
//! At a confidence of 95 %, each judgement of a claim is wrong in at most one case in twenty, so n judgements are wrong
//! in at most n cases in twenty.

mod field;
mod projection;
mod said;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use self::field::{Field, Weight};
use self::projection::Projection;
pub(super) use self::said::said;
use super::campaign::{Campaign, Conduct, Fixed, Growth, Growths, run_campaigns};
use super::claims::{Finding, Verdict};
use super::evidence::ExperimentResults;
use super::judge::Bench;
use super::reproduction::{Account, Settled};
use super::{Extent, Paper, Reproduction, find};
use dupack_claims::{Asked, Cell, World};
use dupack_engine::JournalError;
use dupack_lab::results::Results;

/// Multiples of the files' seeds that a claim may get.
const TIMES: [u32; 3] = [4, 16, 64];
/// Maximum number of times that a claim is judged again.
const ROUNDS: usize = 3;
/// Maximum cost of a claim in a round, in packets, by the same estimate that the schedule uses. The runs of all files
/// send nine billion packets and take three quarters of an hour of CPU time, and a campaign with readings should take
/// 90 minutes on two processors. A claim that would cost more gets four times the seeds once. If these do not decide
/// the claim, it stays open, and its entry states how many times the seeds it needs. The limit is not in CPU time
/// because the choice of runs must not depend on the machine.
const PACKETS_MAX: u64 = 2_000_000_000;

const CHECKED: &str = "the tests hold every rule against the experiments";

/// Judges again the claims of `reproductions` that cannot be told. The runs on which their verdicts depend get as many
/// more seeds as the claims need. All other claims and exhibits do not change.
///
/// Experiments that keep every packet or list their seeds get no more seeds. Quick looks are not changed, because their
/// verdicts are not meant to be relied on.
///
/// # Errors
/// If a journal cannot be read or created.
pub fn settle(
    reproductions: &mut [Reproduction],
    conduct: &Conduct<'_>,
) -> Result<(), JournalError> {
    let looked_at = reproductions.iter().enumerate();
    let dockets = looked_at.filter_map(|(n, own)| Some((n, Docket::of(own)?)));
    let mut dockets: Vec<(usize, Docket<'_>)> = dockets.collect();
    for _ in 0..ROUNDS {
        dockets
            .iter_mut()
            .for_each(|(_, docket)| docket.look_ahead());
        if dockets.iter().all(|(_, docket)| docket.is_at_rest()) {
            break;
        }
        let campaigns: Vec<Campaign> = dockets.iter().map(|(_, docket)| docket.more()).collect();
        let came = run_campaigns(&campaigns, conduct)?;
        for ((_, docket), (more, accounts)) in dockets.iter_mut().zip(came) {
            docket.take(more.parts, &accounts);
        }
        if dockets.iter().any(|(_, docket)| docket.missing > 0) {
            break;
        }
    }
    let concluded: Vec<_> = dockets
        .into_iter()
        .map(|(n, docket)| (n, docket.conclude()))
        .collect();
    for (n, (settled, findings)) in concluded {
        reproductions[n].enter(settled, findings);
    }
    Ok(())
}

/// A claim that was judged again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Anew {
    /// Maximum number of seeds of the claim's cells, as a multiple of the files' seeds.
    pub(super) times: u32,
    /// Number of times that the claim was judged again.
    pub(super) looks: u32,
}

/// Reason why a claim still cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// This multiple of the seeds would decide the claim, but a claim may not get so many.
    Needs(u32),
    /// Even this multiple of the seeds would not decide the claim.
    Beyond(u32),
    /// There can be no more runs.
    Fixed(Fixed),
}

/// A cell of a paper: the index of its experiment, and the cell in the experiment.
type Place = (usize, Cell);

/// The claims of a paper that cannot be told, and the results by which they may be judged.
struct Docket<'r> {
    paper: &'static Paper,
    bench: Bench,
    /// Every experiment at full scale, to estimate the cost of its runs.
    full: Campaign,
    fields: Vec<Field<'r>>,
    cases: BTreeMap<usize, Case>,
    runs: usize,
    cpu: Duration,
    missing: usize,
}

/// A claim that cannot be told.
struct Case {
    places: BTreeSet<Place>,
    pools: bool,
    /// Cells that got more seeds for the claim, with the multiple of the file's seeds.
    times: BTreeMap<Place, u32>,
    looks: u32,
    /// Next step for the claim.
    next: Option<Step>,
    /// Finding of the last judgement.
    finding: Option<Finding>,
}

/// More seeds for some cells of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    times: u32,
    places: BTreeSet<Place>,
}

impl Case {
    fn times_of(&self, place: &Place) -> u32 {
        self.times.get(place).copied().unwrap_or(1)
    }

    fn is_open(&self) -> bool {
        let found = self.finding.as_ref();
        found.is_none_or(|finding| finding.verdict == Verdict::CannotBeTold)
    }
}

impl<'r> Docket<'r> {
    /// Returns the docket of a paper, or `None` if the paper is not at full scale, has no open claims, or has missing
    /// runs.
    fn of(reproduction: &'r Reproduction) -> Option<Self> {
        let open = reproduction.open();
        let whole = reproduction.extent == Extent::Full && reproduction.evidence.missing() == 0;
        if open.is_empty() || !whole {
            return None;
        }
        let paper = find(reproduction.key).expect("it is of a paper");
        let full = paper.plan(Extent::Full).expect(CHECKED);
        let bench = paper.bench(reproduction.book.clone()).expect(CHECKED);
        Some(Self::new(bench, full, &reproduction.evidence.parts, &open))
    }

    fn new(
        bench: Bench,
        full: Campaign,
        parts: &'r [ExperimentResults],
        open: &BTreeSet<usize>,
    ) -> Self {
        let paper = full.paper();
        let declared = &bench.book.experiments;
        let fields = parts.iter().map(|part| {
            let declared = declared.iter().find(|own| own.name == part.name);
            let declared = declared.expect("it is an experiment of the paper");
            Field::new(part, declared.keep, part.facts(paper.facts))
        });
        let mut docket = Self {
            paper,
            fields: fields.collect(),
            bench,
            full,
            cases: BTreeMap::new(),
            runs: 0,
            cpu: Duration::ZERO,
            missing: 0,
        };
        let asked = docket.within(&BTreeMap::new(), |world| {
            let asked = open.iter().map(|&claim| docket.bench.asked(claim, world));
            asked.collect::<Vec<_>>()
        });
        let cases = open.iter().zip(asked);
        let cases = cases.map(|(&claim, asked)| (claim, docket.case(&asked)));
        docket.cases = cases.collect();
        docket
    }

    fn case(&self, asked: &Asked) -> Case {
        let places = self.fields.iter().enumerate().flat_map(|(n, field)| {
            let cells = asked.cells.get(field.part.name).into_iter().flatten();
            cells.map(move |&cell| (n, cell))
        });
        Case {
            places: places.collect(),
            pools: asked.pools,
            times: BTreeMap::new(),
            looks: 0,
            next: None,
            finding: None,
        }
    }

    /// Calls `ask` with a world in which the cells of `weights` have the given runs. An experiment without such cells
    /// has the runs of its file.
    fn within<T>(&self, weights: &BTreeMap<Place, Weight>, ask: impl FnOnce(&World<'_>) -> T) -> T {
        let viewed = self.fields.iter().enumerate().map(|(n, field)| {
            let own = weights.iter().filter(|((of, _), _)| *of == n);
            let own: Vec<(Cell, Weight)> =
                own.map(|((_, cell), weight)| (*cell, *weight)).collect();
            (!own.is_empty()).then(|| field.view(&own))
        });
        let viewed: Vec<Option<_>> = viewed.collect();
        let scenes = self.fields.iter().zip(&viewed).map(|(field, viewed)| {
            let of_file = || (&field.part.results, &field.facts);
            let own: Option<(&Results, _)> =
                viewed.as_ref().map(|(results, facts)| (results, facts));
            let (results, facts) = own.unwrap_or_else(of_file);
            (field.part.name, results, facts.clone())
        });
        ask(&self.bench.world(scenes))
    }

    /// Chooses the next step for each claim that is open.
    fn look_ahead(&mut self) {
        let steps = self.cases.iter().map(|(&claim, case)| {
            let open = case.is_open().then(|| self.projection(claim, case));
            (claim, open.and_then(|projection| projection.step()))
        });
        let steps: Vec<(usize, Option<Step>)> = steps.collect();
        for (claim, step) in steps {
            self.cases.get_mut(&claim).expect("it is a case").next = step;
        }
    }

    fn is_at_rest(&self) -> bool {
        self.cases.values().all(|case| case.next.is_none())
    }

    const fn projection<'d>(&'d self, claim: usize, case: &'d Case) -> Projection<'d> {
        Projection {
            docket: self,
            claim,
            case,
        }
    }

    /// Plans the runs that the next steps need and that do not exist yet. Each cell gets as many as the most demanding
    /// claim requires.
    fn more(&self) -> Campaign {
        let mut growths = Growths::new();
        for step in self.cases.values().filter_map(|case| case.next.as_ref()) {
            for &(n, cell) in &step.places {
                let field = &self.fields[n];
                let from = field.times_of(cell);
                if step.times > from {
                    let own = growths.entry(field.part.name.to_owned()).or_default();
                    let growth = own.entry(cell).or_insert(Growth { from, to: from });
                    growth.to = growth.to.max(step.times);
                }
            }
        }
        self.paper.plan_more(&growths).expect(CHECKED)
    }

    /// Adds the new runs, and judges the claims for which they were made. If runs are missing, only their number and
    /// cost are recorded.
    fn take(&mut self, more: Vec<ExperimentResults>, accounts: &[Account]) {
        self.runs += accounts.iter().map(|account| account.runs).sum::<usize>();
        self.cpu += accounts.iter().map(|account| account.cpu).sum::<Duration>();
        self.missing += more.iter().map(ExperimentResults::missing).sum::<usize>();
        if self.missing > 0 {
            return;
        }
        for part in more {
            let field = self
                .fields
                .iter_mut()
                .find(|own| own.part.name == part.name);
            field.expect("it is an experiment of the paper").keep(part);
        }
        for case in self.cases.values_mut() {
            if let Some(step) = &case.next {
                let times = step.places.iter().map(|&place| (place, step.times));
                case.times.extend(times);
                case.looks += 1;
            }
        }
        let stepped = self.cases.iter().filter(|(_, case)| case.next.is_some());
        let judged = stepped.map(|(&claim, case)| (claim, self.judge(claim, case)));
        for (claim, finding) in judged.collect::<Vec<_>>() {
            self.cases.get_mut(&claim).expect("it is a case").finding = Some(finding);
        }
    }

    /// Judges a claim by the runs of the files and the runs that were made for it.
    fn judge(&self, claim: usize, case: &Case) -> Finding {
        let grown: BTreeSet<usize> = case.times.keys().map(|(n, _)| *n).collect();
        let places = grown.into_iter().flat_map(|n| {
            let cells = self.fields[n].cells();
            cells.map(move |cell| (n, cell))
        });
        let weights = places.map(|place| (place, Weight::once(case.times_of(&place))));
        let found = self.within(&weights.collect(), |world| self.bench.judge(claim, world));
        Finding::settled(found, 0)
    }

    /// Returns the outcome, and the findings of the claims that were judged again.
    fn conclude(self) -> (Settled, BTreeMap<usize, Finding>) {
        let mut settled = Settled {
            runs: self.runs,
            cpu: self.cpu,
            missing: self.missing,
            ..Settled::default()
        };
        let mut findings = BTreeMap::new();
        for (&claim, case) in self.cases.iter().filter(|_| self.missing == 0) {
            if case.is_open()
                && let Some(why) = self.projection(claim, case).outlook().why()
            {
                settled.open.insert(claim, why);
            }
            if let Some(finding) = &case.finding {
                let times = case.times.values().copied().max().unwrap_or(1);
                let looks = case.looks;
                settled.claims.insert(claim, Anew { times, looks });
                findings.insert(claim, finding.clone());
            }
        }
        (settled, findings)
    }
}

impl Reproduction {
    /// Returns the indices of the claims that cannot be told.
    fn open(&self) -> BTreeSet<usize> {
        let open = self.judged.iter().enumerate();
        open.filter(|(_, judged)| judged.finding.verdict == Verdict::CannotBeTold)
            .map(|(claim, _)| claim)
            .collect()
    }

    /// Applies the outcome: each claim gets a note about the runs by which it was judged, or the reason why it is open.
    fn enter(&mut self, settled: Settled, mut findings: BTreeMap<usize, Finding>) {
        for (n, judged) in self.judged.iter_mut().enumerate() {
            if let Some(finding) = findings.remove(&n) {
                judged.finding = finding;
            }
            let (anew, why) = (settled.claims.get(&n), settled.open.get(&n));
            judged.finding.found += &said::beside(anew, why);
        }
        self.settled = settled;
    }
}
