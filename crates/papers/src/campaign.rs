//! Carrying out papers' experiments: planned, run in one go, resumed, judged.

mod runs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::evidence::Evidence;
use super::judge::Prepared;
use super::readings::Way;
use super::reproduction::Account;
use super::reproduction::Settled;
use super::{Extent, Observe, Paper, Reproduction};
use dupack_algorithms::catalog::Catalog;
use dupack_claims::Cell;
use dupack_engine::{Execution, JournalError, Watch};
use dupack_lab::experiment::load::ExperimentError;
use dupack_lab::experiment::{Experiment, Seeds};
use dupack_lab::results::Results;
use dupack_lab::run::{Interrupt, Job, Plan};

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
    /// How their runs are performed.
    pub runs: dupack_engine::Conduct<'c>,
    /// The folder in which journals are kept, `<paper>/<experiment>/runs.jsonl`; nowhere if
    /// there is none. Runs that they hold already are not performed again.
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

/// Performs every run of `campaigns` and judges their claims. What an interrupt leaves undone is
/// missing in the outcome; claims cannot be told then.
///
/// Runs that a journal holds are taken from it. What a journal cannot hold is performed again: experiments that record
/// packets, and the runs that are followed over time; they take seconds.
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

/// Performs every run of `campaigns`; returns what came out of each, and what it took.
///
/// # Errors
/// If a journal can be neither read nor begun.
pub(super) fn run_campaigns(
    campaigns: &[Campaign],
    conduct: &Conduct<'_>,
) -> Result<Vec<(Evidence, Vec<Account>)>, JournalError> {
    let mut concluded = runs::carry_out(campaigns, conduct)?.into_iter();
    let of = |campaign: &Campaign| {
        let (parts, accounts) = concluded.by_ref().take(campaign.parts.len()).unzip();
        (Evidence { parts }, accounts)
    };
    Ok(campaigns.iter().map(of).collect())
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

    /// Performs every run and judges the claims, as [`carry_out`] does, without a journal.
    ///
    /// # Panics
    /// Never: what could go wrong is the journal.
    #[must_use]
    pub fn execute(
        &self,
        execution: Execution,
        watch: &dyn Watch,
        interrupt: &Interrupt,
    ) -> Reproduction {
        let conduct = Conduct {
            runs: dupack_engine::Conduct {
                execution,
                watch,
                interrupt,
            },
            journals: None,
        };
        let only = carry_out(std::slice::from_ref(self), &conduct).expect("there is no journal");
        only.into_iter().next().expect("there is one campaign")
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
            of_other.is_some_and(|own| own.plan.experiment() == part.plan.experiment())
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
