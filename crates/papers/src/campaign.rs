//! Campaigns: the experiments of papers, planned, run, resumed and judged.

mod facts_store;
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
use dupack_engine::{Execution, JournalError, SharedTrust, Watch};
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
    /// Folder of the journals, relative to the folder of all journals.
    folder: PathBuf,
    /// Folders of other campaigns whose runs need not be repeated.
    kin: Vec<PathBuf>,
}

/// An experiment of a campaign.
#[derive(Debug)]
struct Planned {
    name: &'static str,
    observe: Observe,
    plan: Plan,
    /// Runs to perform: all runs of the experiment, or a selection.
    jobs: Vec<Job>,
}

/// Settings for carrying out campaigns.
#[derive(Clone, Copy)]
pub struct Conduct<'c> {
    /// Settings for performing the runs.
    pub runs: dupack_engine::Conduct<'c>,
    /// Journals of the campaigns. `None` to keep no journals. Runs that a journal already contains are not performed
    /// again.
    pub journals: Option<&'c Journals>,
}

/// Journals of the campaigns of one command: `<paper>/<experiment>/runs.jsonl` for measures and `facts.jsonl` for facts.
#[derive(Clone, Debug)]
pub struct Journals {
    folder: PathBuf,
    trust: SharedTrust,
}

impl Journals {
    /// Returns the journals in `folder`.
    #[must_use]
    pub fn within(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            trust: SharedTrust::default(),
        }
    }
}

impl Paper {
    /// Returns the paper's experiments, checked and ready to run.
    ///
    /// # Errors
    /// If one of the experiments is invalid; the tests would catch that.
    pub fn plan(&'static self, extent: Extent) -> Result<Campaign, ExperimentError> {
        self.plan_as(extent, &Way::default())
    }

    /// Works like [`plan`](Self::plan), but under a reading of the paper.
    ///
    /// # Errors
    /// If one of the experiments is invalid; the tests would catch that.
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
            kin: Vec::new(),
        })
    }

    /// Returns the additional full-scale runs for the cells in `growths`. Experiments that keep every packet and
    /// experiments that list their seeds get none.
    ///
    /// # Errors
    /// If one of the experiments is invalid; the tests would catch that.
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
            kin: Vec::new(),
        })
    }
}

/// Growth of cells, by the name of their experiment.
pub(super) type Growths = BTreeMap<String, BTreeMap<Cell, Growth>>;

/// Growth of a cell, in multiples of the file's number of seeds: before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Reason why an experiment cannot have more runs than its file specifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fixed {
    /// The file lists the seeds: each of them belongs to data that was made for this seed.
    Listed,
    /// The experiment keeps every packet.
    Packets,
}

/// Returns the number of seeds in an experiment's file, if the experiment may have more.
pub(super) const fn may_grow(observe: Observe, experiment: &Experiment) -> Result<u64, Fixed> {
    match (observe, &experiment.seeds) {
        (Observe::Packets, _) => Err(Fixed::Packets),
        (_, Seeds::List(_)) => Err(Fixed::Listed),
        (_, Seeds::Count(count)) => Ok(*count as u64),
    }
}

/// Performs all runs of `campaigns` and judges their claims. After an interrupt, the remaining runs are missing in the
/// outcome, and the claims that need them cannot be told.
///
/// Runs that a journal contains are taken from it, and so are the facts that were read from a run's packets. Runs whose
/// packets are kept, and runs that are followed over time, are performed again, which takes seconds.
///
/// # Errors
/// If a journal cannot be read or created.
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

/// Performs all runs of `campaigns`. Returns the results and the cost of each campaign.
///
/// # Errors
/// If a journal cannot be read or created.
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
    /// Returns `true` if `other` has the same experiment.
    fn is_in(&self, other: &Campaign) -> bool {
        let own = other.parts.iter().find(|own| own.name == self.name);
        own.is_some_and(|own| own.plan.experiment() == self.plan.experiment())
    }

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
    /// Returns the paper.
    #[must_use]
    pub const fn paper(&self) -> &'static Paper {
        self.paper
    }

    /// Keeps only the runs of the experiments called `names`, for a look at a part of a paper. Claims about other
    /// experiments then cannot be told.
    #[must_use]
    pub fn only(mut self, names: &[&str]) -> Self {
        let others = self.parts.iter_mut();
        let others = others.filter(|part| !names.contains(&part.name));
        others.for_each(|part| part.jobs.clear());
        self
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.parts.iter().map(|part| part.jobs.len()).sum()
    }

    /// Returns the names of the experiments, each with its number of runs.
    pub fn experiments(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        let parts = self.parts.iter();
        parts.map(|part| (part.name, part.jobs.len()))
    }

    /// Performs all runs and judges the claims, as [`carry_out`] does, without a journal.
    ///
    /// # Panics
    /// Never, because only a journal could fail.
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

    /// Returns a campaign of `paper` without experiments.
    pub(super) const fn nothing(paper: &'static Paper) -> Self {
        Self {
            paper,
            extent: Extent::Quick,
            parts: Vec::new(),
            folder: PathBuf::new(),
            kin: Vec::new(),
        }
    }

    /// Keeps only the runs of the cells for which `wanted` returns `true`, given the experiment's name and the cell.
    #[must_use]
    pub(super) fn cells(mut self, wanted: impl Fn(&str, Cell) -> bool) -> Self {
        for part in &mut self.parts {
            let name = part.name;
            part.jobs.retain(|job| wanted(name, (job.point, job.stack)));
        }
        self
    }

    /// Keeps a share of the seeds of each experiment, at least `min`. Returns the maximum number of seeds that remain.
    pub(super) fn thin(&mut self, share: f64, min: usize) -> usize {
        let mut most = 0;
        for part in self.parts.iter_mut().filter(|part| !part.jobs.is_empty()) {
            let seeds = part.plan.experiment().seeds.to_vec();
            let kept = ((seeds.len() as f64 * share) as usize)
                .max(min)
                .min(seeds.len());
            part.jobs.retain(|job| seeds[..kept].contains(&job.seed));
            most = most.max(kept);
        }
        most
    }

    /// Returns the maximum number of seeds of an experiment that has runs.
    pub(super) fn seeds(&self) -> usize {
        let parts = self.parts.iter().filter(|part| !part.jobs.is_empty());
        let seeds = parts.map(|part| part.plan.experiment().seeds.to_vec().len());
        seeds.max().unwrap_or(0)
    }

    /// Returns the approximate number of packets of all runs.
    pub(super) fn all_packets(&self) -> u64 {
        let parts = self.parts.iter();
        let jobs = parts.flat_map(|part| part.jobs.iter().map(|&job| part.plan.scenario(job)));
        jobs.map(|scenario| scenario.likely_packets()).sum()
    }

    /// Returns the campaign with its journals in `folder`.
    #[must_use]
    pub(super) fn in_folder(self, folder: PathBuf) -> Self {
        Self { folder, ..self }
    }

    /// Returns the campaign with the runs of the campaigns in `folders`, as far as it has them in common with them.
    #[must_use]
    pub(super) fn with_runs_of(self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            kin: folders.into_iter().collect(),
            ..self
        }
    }

    /// Keeps only the experiments that differ from the same experiment in `other` and for which `asked` returns `true`.
    #[must_use]
    pub(super) fn beyond(mut self, other: &Self, asked: impl Fn(&str) -> bool) -> Self {
        self.parts
            .retain(|part| asked(part.name) && !part.is_in(other));
        self
    }

    /// Returns `true` if the experiment called `name` is the same in both campaigns.
    pub(super) fn is_alike(&self, other: &Self, name: &str) -> bool {
        let part = self.parts.iter().find(|part| part.name == name);
        part.is_some_and(|part| part.is_in(other))
    }

    /// Returns the approximate number of packets that a run of the given cell sends.
    pub(super) fn packets(&self, experiment: &str, (point, stack): Cell) -> u64 {
        let part = self.parts.iter().find(|part| part.name == experiment);
        let job = Job {
            point,
            stack,
            seed: 1,
        };
        part.map_or(0, |part| part.plan.scenario(job).packets())
    }

    /// Returns the experiments by name, with results that have no runs yet.
    pub(super) fn planned(&self) -> impl Iterator<Item = (&'static str, Results)> + '_ {
        let parts = self.parts.iter();
        parts.map(|part| (part.name, part.plan.empty_results()))
    }

    fn judge(&self, evidence: Evidence, accounts: Vec<Account>) -> Reproduction {
        let book = self.paper.book();
        let judgements = self
            .paper
            .judge(&book, &evidence)
            .expect("the tests hold every rule and exhibit against the experiments");
        Reproduction {
            key: self.paper.key,
            readme: self.paper.readme,
            extent: self.extent,
            judged: judgements.judged,
            conclusion: judgements.conclusion,
            exhibits: judgements.exhibits,
            evidence,
            accounts,
            book,
            settled: Settled::default(),
            readings: None,
        }
    }
}
