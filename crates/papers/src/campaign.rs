//! Carrying out papers' experiments: planned, run in one go, resumed, judged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::evidence::{Evidence, Followed, Part, ReadFacts, Traced};
use super::judge::Prepared;
use super::readings::Way;
use super::reproduction::Account;
use super::reproduction::Settled;
use super::schedule::{Task, run_all, tasks};
use super::watch::{Amount, Counting, Watch};
use super::{Extent, Observe, Paper, Reproduction};
use dupack_algorithms::catalog::Catalog;
use dupack_claims::{Cell, Facts};
use dupack_lab::experiment::load::ExperimentError;
use dupack_lab::experiment::{Experiment, Seeds};
use dupack_lab::results::Results;
use dupack_lab::run::journal::{Done, Journal, JournalError, changed};
use dupack_lab::run::{Execution, Interrupt, Job, Plan, Progress};
use dupack_lab::trace::Trace;

/// A paper's experiments, checked and ready to run.
#[derive(Debug)]
pub struct Campaign {
    paper: &'static Paper,
    extent: Extent,
    parts: Vec<Planned>,
    /// Where its journals are below the folder of all.
    folder: PathBuf,
}

/// An experiment of a campaign.
#[derive(Debug)]
struct Planned {
    name: &'static str,
    observe: Observe,
    plan: Plan,
    /// Its runs, or those of them that are wanted.
    jobs: Vec<Job>,
}

/// How campaigns are carried out.
#[derive(Clone, Copy)]
pub struct Conduct<'c> {
    /// How many runs at a time.
    pub execution: Execution,
    /// Who looks on.
    pub watch: &'c dyn Watch,
    /// What stops it.
    pub interrupt: &'c Interrupt,
    /// The folder in which journals are kept, `<paper>/<experiment>/runs.jsonl`; nowhere if
    /// there is none. Runs that stand in them already are not done again.
    pub journals: Option<&'c Path>,
}

impl Paper {
    /// Its experiments, checked and ready to run.
    ///
    /// # Errors
    /// If one of them is impossible, which the tests would show.
    pub fn plan(&'static self, extent: Extent) -> Result<Campaign, ExperimentError> {
        self.plan_as(extent, &Way::default())
    }

    /// The same for a way to read it.
    ///
    /// # Errors
    /// If one of them is impossible, which the tests would show.
    pub fn plan_as(
        &'static self,
        extent: Extent,
        way: &Way<'_>,
    ) -> Result<Campaign, ExperimentError> {
        let prepared = self.prepare_as(extent, way)?.into_iter();
        let parts = prepared.map(Planned::new);
        Ok(Campaign {
            paper: self,
            extent,
            parts: parts.collect::<Result<_, ExperimentError>>()?,
            folder: PathBuf::from(self.key),
        })
    }

    /// The runs at full scale that cells get beyond those of the file. Left out is what is kept packet
    /// by packet and what lists its seeds.
    ///
    /// # Errors
    /// If one of them is impossible, which the tests would show.
    pub(super) fn plan_more(&'static self, growths: &Growths) -> Result<Campaign, ExperimentError> {
        let mut parts = Vec::new();
        for prepared in self.prepare_as(Extent::Full, &Way::default())? {
            let Some(cells) = growths.get(prepared.name) else {
                continue;
            };
            let Ok(seeds) = may_grow(prepared.observe, &prepared.experiment) else {
                continue;
            };
            let mut part = Planned::new(prepared)?;
            let jobs = cells.iter().flat_map(|(&(point, stack), growth)| {
                let new = seeds * u64::from(growth.from) + 1..=seeds * u64::from(growth.to);
                new.map(move |seed| Job { point, stack, seed })
            });
            part.jobs = jobs.collect();
            parts.push(part);
        }
        Ok(Campaign {
            paper: self,
            extent: Extent::Full,
            parts,
            folder: PathBuf::from(self.key),
        })
    }
}

/// What cells get, by experiment.
pub(super) type Growths = BTreeMap<String, BTreeMap<Cell, Growth>>;

/// How many times the seeds of the file a cell has, and how many times them it is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Why an experiment has no more runs than those of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fixed {
    /// Its seeds are listed: what is made for each of them has no others.
    Listed,
    /// Every packet is kept.
    Packets,
}

/// How many seeds the file of an experiment has, if there may be more.
pub(super) const fn may_grow(observe: Observe, experiment: &Experiment) -> Result<u64, Fixed> {
    match (observe, &experiment.seeds) {
        (Observe::Packets, _) => Err(Fixed::Packets),
        (_, Seeds::List(_)) => Err(Fixed::Listed),
        (_, Seeds::Count(count)) => Ok(*count as u64),
    }
}

/// Does every run of `campaigns` and judges their claims. What an interrupt leaves undone is
/// missing in the outcome; claims cannot be told then.
///
/// Runs that a journal holds are taken from it. Of these, the shortest of each stack in each
/// experiment is done again, as long as all that costs little: if one does not come out the same, the
/// program has changed, and none is taken. What a journal cannot hold is done again: experiments that record packets,
/// and the runs that are followed over time; they take seconds.
///
/// # Errors
/// If a journal can be neither read nor begun.
pub fn carry_out(
    campaigns: &[Campaign],
    conduct: &Conduct<'_>,
) -> Result<Vec<Reproduction>, JournalError> {
    let came = run_campaigns(campaigns, conduct)?;
    let judged = campaigns.iter().zip(came);
    Ok(judged
        .map(|(campaign, (evidence, accounts))| campaign.judge(evidence, accounts))
        .collect())
}

/// Does every run of `campaigns`; what came out of each, and what it took.
///
/// # Errors
/// If a journal can be neither read nor begun.
pub(super) fn run_campaigns(
    campaigns: &[Campaign],
    conduct: &Conduct<'_>,
) -> Result<Vec<(Evidence, Vec<Account>)>, JournalError> {
    let journals = journals(campaigns, conduct)?;
    let plans = campaigns.iter().map(|campaign| {
        let parts = campaign.parts.iter();
        parts.map(|part| (&part.plan, &part.jobs[..])).collect()
    });
    let all = tasks(&plans.collect::<Vec<_>>());
    let (before, to_do) = taken(&all, campaigns, &journals, conduct);
    let sum = |tasks: &mut dyn Iterator<Item = &Task>| {
        tasks.fold(Amount::default(), |sum, task| sum.and(task.packets))
    };
    let total = sum(&mut all.iter());
    let done = sum(&mut before.iter().map(|(task, _)| task));
    conduct.watch.begins(total, done);
    let broken = AtomicBool::new(false);
    let finished = run_all(to_do, conduct.execution, conduct.interrupt, |task| {
        let campaign = &campaigns[task.campaign];
        let part = &campaign.parts[task.part];
        conduct.watch.run_begins(campaign.paper.key, part.name);
        let outcome = part.run(task, campaign.paper.facts, conduct)?;
        let journal = &journals[task.campaign][task.part];
        if let (Outcome::Measured(done, None), Some(journal)) = (&outcome, journal)
            && let Err(error) = part.plan.keep(journal, task.job, done)
            && !broken.swap(true, Ordering::Relaxed)
        {
            let lost = "the runs go on, but after an interruption they begin anew";
            conduct.watch.note(&format!("{error}; {lost}"));
        }
        conduct.watch.run_done(task.packets);
        Some(outcome)
    });
    let mut outcomes: Vec<Vec<Vec<Outcome>>> = campaigns
        .iter()
        .map(|campaign| campaign.parts.iter().map(|_| Vec::new()).collect())
        .collect();
    for (task, outcome) in before.into_iter().chain(finished) {
        outcomes[task.campaign][task.part].push(outcome);
    }
    let came = campaigns.iter().zip(outcomes);
    Ok(came.map(|(campaign, of)| campaign.conclude(of)).collect())
}

/// What came of a run.
enum Outcome {
    Measured(Box<Done>, Option<Followed>),
    Recorded(Box<Traced>, Duration),
    /// Which run, and what was read off it.
    Read(Job, Facts, Duration),
}

/// The journal of every experiment that keeps one.
type Journals = Vec<Vec<Option<Journal>>>;

fn journals(campaigns: &[Campaign], conduct: &Conduct<'_>) -> Result<Journals, JournalError> {
    let of_part = |campaign: &Campaign, part: &Planned| {
        let folder = match (conduct.journals, part.observe) {
            (Some(folder), Observe::Measures | Observe::Series) => {
                folder.join(&campaign.folder).join(part.name)
            }
            _ => return Ok(None),
        };
        let journal = Journal::open(&folder)?;
        for complaint in journal.complaints() {
            conduct.watch.note(&complaint);
        }
        Ok(Some(journal))
    };
    let of_campaign = |campaign: &Campaign| {
        let parts = campaign.parts.iter();
        parts.map(|part| of_part(campaign, part)).collect()
    };
    campaigns.iter().map(of_campaign).collect()
}

/// The runs that the journals hold, and those that are still to do.
fn taken(
    all: &[Task],
    campaigns: &[Campaign],
    journals: &Journals,
    conduct: &Conduct<'_>,
) -> (Vec<(Task, Outcome)>, Vec<Task>) {
    let (mut held, mut to_do) = (Vec::new(), Vec::new());
    for &task in all {
        let part = &campaigns[task.campaign].parts[task.part];
        let journal = journals[task.campaign][task.part].as_ref();
        let journal = journal.filter(|journal| !journal.is_empty() && !part.follows(task.job));
        let found = journal.and_then(|journal| part.plan.find(journal, task.job));
        match found {
            Some(done) => held.push((task, done)),
            None => to_do.push(task),
        }
    }
    if !is_believed(&held, campaigns, conduct) {
        to_do.extend(held.drain(..).map(|(task, _)| task));
    }
    let held = held.into_iter();
    let held = held.map(|(task, done)| (task, Outcome::Measured(Box::new(done), None)));
    (held.collect(), to_do)
}

/// A stack of an experiment of a campaign.
type Group = (usize, usize, usize);

const fn group(task: &Task) -> Group {
    (task.campaign, task.part, task.job.stack)
}

/// Runs that are done again to see whether they come out as they are held cost at most one part in so
/// many of all that are held: a campaign with readings holds those of some hundred experiments, and the
/// shortest of each stack of each took longer than what was left to do.
const SAMPLES_PART: u64 = 50;

/// The shortest run of each stack, the shortest of these first, until they cost too much; at least one.
fn samples(held: &[(Task, Done)]) -> Vec<(Task, &Done)> {
    let mut shortest: BTreeMap<Group, (Task, &Done)> = BTreeMap::new();
    for (task, done) in held {
        let known = shortest.entry(group(task)).or_insert((*task, done));
        if task.packets < known.0.packets {
            *known = (*task, done);
        }
    }
    let mut samples: Vec<(Task, &Done)> = shortest.into_values().collect();
    samples.sort_by_key(|(task, _)| task.packets);
    let all: u64 = held.iter().map(|(task, _)| task.packets).sum();
    let mut spent = 0_u64;
    let within = samples.iter().take_while(|(task, _)| {
        let first = spent == 0;
        spent = spent.saturating_add(task.packets);
        first || spent <= all / SAMPLES_PART
    });
    let count = within.count();
    samples.truncate(count);
    samples
}

/// Whether all samples of what is held come out the same again.
fn is_believed(held: &[(Task, Done)], campaigns: &[Campaign], conduct: &Conduct<'_>) -> bool {
    let costs = (group, |task: &Task| task.packets);
    let samples = samples(held).into_iter();
    let changed = changed(samples, costs, conduct.execution, |task| {
        let part = &campaigns[task.campaign].parts[task.part];
        part.plan.run(task.job, conduct.interrupt)
    });
    if let Some(&(campaign, part, stack)) = changed.first() {
        let campaign = &campaigns[campaign];
        let part = &campaign.parts[part];
        conduct.watch.note(&format!(
            "{}/{}: a run of {} does not come out as the journal says: the program has changed, and all runs are done again",
            campaign.paper.key,
            part.name,
            part.plan.empty_results().stacks[stack]
        ));
    }
    changed.is_empty()
}

impl Planned {
    fn new(prepared: Prepared) -> Result<Self, ExperimentError> {
        let plan = Plan::new(prepared.experiment, &prepared.source, &Catalog::builtin())?;
        Ok(Self {
            name: prepared.name,
            observe: prepared.observe,
            jobs: plan.jobs(),
            plan,
        })
    }

    /// Whether a run is followed over time: of an experiment with series, those of the first seed.
    fn follows(&self, job: Job) -> bool {
        let first = || self.plan.jobs().first().map(|first| first.seed);
        self.observe == Observe::Series && first() == Some(job.seed)
    }

    fn run(&self, task: &Task, facts: ReadFacts, conduct: &Conduct<'_>) -> Option<Outcome> {
        let before = conduct.watch.cpu_time();
        let spent = || conduct.watch.cpu_time().saturating_sub(before);
        match self.observe {
            Observe::Series if self.follows(task.job) => {
                let (run, course) = self.plan.follow(task.job, conduct.interrupt)?;
                let followed = Followed {
                    job: task.job,
                    course,
                };
                let done = Done {
                    run,
                    cpu: Some(spent()),
                };
                Some(Outcome::Measured(Box::new(done), Some(followed)))
            }
            Observe::Measures | Observe::Series => {
                let run = self.plan.run(task.job, conduct.interrupt)?;
                let cpu = Some(spent());
                Some(Outcome::Measured(Box::new(Done { run, cpu }), None))
            }
            Observe::Packets | Observe::Facts => {
                let scenario = self.plan.scenario(task.job);
                let trace = Trace::record(scenario, task.job.seed, conduct.interrupt)
                    .expect("the plan has built it before");
                if conduct.interrupt.is_asked() {
                    // It may have ended early.
                    return None;
                }
                let job = task.job;
                let traced = Traced { job, trace };
                Some(match self.observe {
                    Observe::Facts => Outcome::Read(job, self.read(facts, traced), spent()),
                    _ => Outcome::Recorded(Box::new(traced), spent()),
                })
            }
        }
    }

    /// What `facts` reads off a recorded run.
    fn read(&self, facts: ReadFacts, traced: Traced) -> Facts {
        let alone = Part {
            traces: vec![traced],
            ..Part::new(self.name, self.plan.empty_results())
        };
        facts(self.name, Some(&alone))
    }

    /// What came out of it, in an order that does not depend on which run was finished first.
    fn conclude(&self, outcomes: Vec<Outcome>) -> (Part, Account) {
        let mut results = self.plan.empty_results();
        results.planned = self.jobs.len();
        let (mut traces, mut followed, mut read) = (Vec::new(), Vec::new(), Vec::new());
        let mut cpu = Duration::ZERO;
        for outcome in outcomes {
            match outcome {
                Outcome::Measured(done, course) => {
                    cpu += done.cpu.unwrap_or_default();
                    results.runs.push(done.run);
                    followed.extend(course);
                }
                Outcome::Recorded(traced, spent) => {
                    cpu += spent;
                    traces.push(*traced);
                }
                Outcome::Read(job, facts, spent) => {
                    cpu += spent;
                    read.push((job, facts));
                }
            }
        }
        results
            .runs
            .sort_by_key(|run| (run.point, run.stack, run.seed));
        let place = |job: &Job| (job.point, job.stack, job.seed);
        traces.sort_by_key(|traced| place(&traced.job));
        read.sort_by_key(|(job, _)| place(job));
        let account = Account {
            experiment: self.name,
            runs: results.runs.len() + traces.len() + read.len(),
            cpu,
        };
        let part = Part {
            traces,
            followed,
            read: read.into_iter().map(|(_, facts)| facts).collect(),
            ..Part::new(self.name, results)
        };
        (part, account)
    }
}

impl Campaign {
    /// The paper.
    #[must_use]
    pub const fn paper(&self) -> &'static Paper {
        self.paper
    }

    /// The same without the runs of experiments that are not among `names`, for a look at a part of a paper. Claims about
    /// them cannot be told.
    #[must_use]
    pub fn only(mut self, names: &[&str]) -> Self {
        let others = self.parts.iter_mut();
        let others = others.filter(|part| !names.contains(&part.name));
        others.for_each(|part| part.jobs.clear());
        self
    }

    /// How many runs it has.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.parts.iter().map(|part| part.jobs.len()).sum()
    }

    /// Its experiments: their names and how many runs each has.
    pub fn experiments(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        let parts = self.parts.iter();
        parts.map(|part| (part.name, part.jobs.len()))
    }

    /// Does every run and judges the claims, as [`carry_out`] does, without a journal.
    ///
    /// # Panics
    /// Never: what could go wrong is the journal.
    #[must_use]
    pub fn execute(
        &self,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Reproduction {
        let conduct = Conduct {
            execution,
            watch: &Counting(progress),
            interrupt,
            journals: None,
        };
        let only = carry_out(std::slice::from_ref(self), &conduct).expect("there is no journal");
        only.into_iter().next().expect("there is one campaign")
    }

    fn conclude(&self, outcomes: Vec<Vec<Outcome>>) -> (Evidence, Vec<Account>) {
        let parts = self.parts.iter().zip(outcomes);
        let concluded = parts.map(|(part, outcomes)| part.conclude(outcomes));
        let (parts, accounts) = concluded.unzip();
        (Evidence { parts }, accounts)
    }

    /// The same with its journals in `folder`.
    #[must_use]
    pub(super) fn in_folder(self, folder: PathBuf) -> Self {
        Self { folder, ..self }
    }

    /// Those of its experiments that are not what they are in `other`, of which only those that are
    /// asked for.
    #[must_use]
    pub(super) fn beyond(mut self, other: &Self, asked: impl Fn(&str) -> bool) -> Self {
        let same = |part: &Planned| {
            let of_other = other.parts.iter().find(|own| own.name == part.name);
            of_other.is_some_and(|own| {
                own.plan.empty_results().experiment == part.plan.empty_results().experiment
            })
        };
        self.parts.retain(|part| asked(part.name) && !same(part));
        self
    }

    /// About how many packets a run of a cell of an experiment sends.
    pub(super) fn packets(&self, experiment: &str, (point, stack): Cell) -> u64 {
        let part = self.parts.iter().find(|part| part.name == experiment);
        let job = Job {
            point,
            stack,
            seed: 1,
        };
        part.map_or(0, |part| part.plan.scenario(job).packets())
    }

    /// Its experiments by name, without a run.
    pub(super) fn planned(&self) -> impl Iterator<Item = (&'static str, Results)> + '_ {
        let parts = self.parts.iter();
        parts.map(|part| (part.name, part.plan.empty_results()))
    }

    fn judge(&self, evidence: Evidence, accounts: Vec<Account>) -> Reproduction {
        let book = self.paper.book();
        let (judged, exhibits) = self
            .paper
            .judge(&book, &evidence)
            .expect("the tests hold every rule and exhibit against the experiments");
        Reproduction {
            key: self.paper.key,
            readme: self.paper.readme,
            extent: self.extent,
            judged,
            exhibits,
            evidence,
            accounts,
            book,
            settled: Settled::default(),
            readings: None,
        }
    }
}
