//! The runs of all experiments of several papers as one set. The longest runs come first, so that no processor waits
//! for the last run of an experiment while other runs are pending.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dupack_claims::Facts;
use dupack_engine::{
    Done, Evidence, Journal, JournalError, Keeping, Outcome, RunId, Schedule, Session, Set, Stored,
    Task, Worker,
};
use dupack_lab::run::{Interrupt, Job, Purpose};
use dupack_lab::trace::Trace;

use super::facts_store::FactsStore;
use super::{Campaign, Conduct, Journals, Planned};
use crate::evidence::{ExperimentResults, Followed, ReadFacts, Traced};
use crate::reproduction::Account;
use crate::{Observe, Paper};

/// The experiments of all campaigns, one after the other.
struct Experiments<'c> {
    list: Vec<(&'static Paper, &'c Planned)>,
    /// Stored facts of each experiment that reads facts.
    stores: Vec<Option<Mutex<FactsStore>>>,
}

/// Outcome of a run.
#[derive(Clone)]
enum Observed {
    Measured(Box<Done>, Option<Followed>),
    Recorded(Box<Traced>, Duration),
    Read(ReadRun),
}

/// Facts that were read from the packets of a run.
#[derive(Clone)]
struct ReadRun {
    job: Job,
    facts: Facts,
    cpu: Duration,
    /// `true` if the facts were stored by an earlier campaign.
    is_stored: bool,
}

impl Outcome for Observed {
    fn done(&self) -> Option<&Done> {
        match self {
            Self::Measured(done, None) => Some(done),
            _ => None,
        }
    }

    fn found(done: Done) -> Self {
        Self::Measured(Box::new(done), None)
    }

    fn took(self, cpu: Option<Duration>) -> Self {
        match self {
            Self::Measured(done, followed) => Self::Measured(Box::new(done.took(cpu)), followed),
            Self::Recorded(traced, _) => Self::Recorded(traced, cpu.unwrap_or_default()),
            Self::Read(run) if run.is_stored => Self::Read(run),
            Self::Read(run) => Self::Read(ReadRun {
                cpu: cpu.unwrap_or_default(),
                ..run
            }),
        }
    }

    /// Returns the outcome unchanged, because tasks of papers never share a run.
    fn at(self, _: Job) -> Self {
        self
    }
}

impl Experiments<'_> {
    fn of(&self, task: Task) -> &Planned {
        self.list[task.part].1
    }

    /// Returns the store of the facts of the task's experiment.
    fn store(&self, task: Task) -> Option<MutexGuard<'_, FactsStore>> {
        let store = self.stores[task.part].as_ref()?;
        Some(store.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the stored facts of a run.
    fn stored(&self, task: Task) -> Option<ReadRun> {
        let (paper, part) = self.list[task.part];
        let job = task.job;
        let asked = (paper.facts)(part.name, None);
        let (facts, cpu) = self
            .store(task)?
            .find(part.plan.fingerprint(job), job, asked)?;
        Some(ReadRun {
            job,
            facts,
            cpu,
            is_stored: true,
        })
    }
}

impl Set for Experiments<'_> {
    type Outcome = Observed;

    fn id(&self, task: Task) -> Option<RunId> {
        let (plan, job) = (&self.of(task).plan, task.job);
        (task.purpose == Purpose::Comparison).then(|| RunId {
            fingerprint: plan.fingerprint(job),
            point: plan.label(job.point),
            stack: plan.stack_words(job, Purpose::Comparison),
        })
    }

    fn packets(&self, task: Task) -> u64 {
        self.of(task).plan.scenario(task.job).packets()
    }

    fn names(&self, task: Task) -> (Cow<'_, str>, Cow<'_, str>) {
        let (paper, part) = self.list[task.part];
        (paper.key.into(), part.name.into())
    }

    fn schedule(&self) -> Schedule {
        Schedule::LongestFirst
    }
}

impl Worker<Observed> for Experiments<'_> {
    fn perform(&self, task: Task, interrupt: &Interrupt) -> Option<Observed> {
        if let Some(run) = self.stored(task) {
            return Some(Observed::Read(run));
        }
        let (paper, part) = self.list[task.part];
        part.perform(task, paper.facts, interrupt)
    }
}

/// Outcomes of the experiments.
struct Came<'c> {
    due: Vec<Task>,
    experiments: &'c Experiments<'c>,
    observed: Vec<Vec<Observed>>,
}

impl Evidence<Observed> for Came<'_> {
    fn due(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.due)
    }

    fn enter(&mut self, task: Task, observed: Observed) {
        if let Observed::Read(run) = &observed
            && !run.is_stored
            && let Some(mut store) = self.experiments.store(task)
        {
            let fingerprint = self.experiments.of(task).plan.fingerprint(run.job);
            store.put(fingerprint, run.job, &run.facts, run.cpu);
        }
        self.observed[task.part].push(observed);
    }
}

/// Performs all runs of `campaigns`. Returns the outcome of each experiment, campaign by campaign.
pub(super) fn carry_out(
    campaigns: &[Campaign],
    conduct: &Conduct<'_>,
) -> Result<Vec<(ExperimentResults, Account)>, JournalError> {
    let (keeping, stores) = journals(campaigns, conduct)?;
    let all = campaigns.iter().flat_map(|campaign| {
        let parts = campaign.parts.iter();
        parts.map(|part| (campaign.paper, part))
    });
    let set = Experiments {
        list: all.collect(),
        stores,
    };
    let tasks = set
        .list
        .iter()
        .enumerate()
        .flat_map(|(part, (_, planned))| {
            planned.jobs.iter().map(move |&job| Task {
                part,
                job,
                purpose: planned.purpose(job),
            })
        });
    let came = Came {
        due: tasks.collect(),
        experiments: &set,
        observed: set.list.iter().map(|_| Vec::new()).collect(),
    };
    let mut session = Session::new(&set, came, keeping);
    dupack_engine::carry_out(&mut session, &set, &conduct.runs);
    let came = session.end()?;
    let concluded = came.experiments.list.iter().zip(came.observed);
    Ok(concluded
        .map(|((_, part), observed)| part.conclude(observed))
        .collect())
}

/// Journals and stored facts of the experiments, one per experiment.
type Stores = (Keeping, Vec<Option<Mutex<FactsStore>>>);

/// Opens the journal of every experiment that keeps one, and the stored facts of every experiment that reads facts.
fn journals(campaigns: &[Campaign], conduct: &Conduct<'_>) -> Result<Stores, JournalError> {
    let parts = campaigns
        .iter()
        .flat_map(|campaign| campaign.parts.iter().map(move |part| (campaign, part)));
    let Some(Journals { folder, trust }) = conduct.journals else {
        return Ok((Keeping::nowhere(), parts.map(|_| None).collect()));
    };
    let (mut journals, mut stores) = (Vec::new(), Vec::new());
    for (campaign, part) in parts {
        let own = folder.join(&campaign.folder).join(part.name);
        let kin = campaign.kin.iter();
        let kin: Vec<PathBuf> = kin.map(|kin| folder.join(kin).join(part.name)).collect();
        let (journal, store) = match part.observe {
            Observe::Measures | Observe::Series => {
                let mut journal = Journal::open(&own)?;
                for kin in &kin {
                    journal = journal.with_runs_of(Stored::read(kin)?);
                }
                (Some(Arc::new(journal)), None)
            }
            Observe::Facts => (None, Some(Mutex::new(FactsStore::open(&own, &kin)?))),
            Observe::Packets => (None, None),
        };
        journals.push(journal);
        stores.push(store);
    }
    Ok((Keeping::by_part(journals).trusted_with(trust), stores))
}

impl Planned {
    /// Returns the purpose of a run. In an experiment with series, the runs of the first seed are followed over time.
    /// In an experiment that observes packets or facts, every run is recorded.
    fn purpose(&self, job: Job) -> Purpose {
        let is_first = || self.plan.seeds().first() == Some(&job.seed);
        match self.observe {
            Observe::Measures => Purpose::Comparison,
            Observe::Series if !is_first() => Purpose::Comparison,
            Observe::Series | Observe::Packets | Observe::Facts => Purpose::Show,
        }
    }

    fn perform(&self, task: Task, facts: ReadFacts, interrupt: &Interrupt) -> Option<Observed> {
        let job = task.job;
        let done = |run| Box::new(Done { run, cpu: None });
        Some(match (self.observe, task.purpose) {
            (Observe::Series, Purpose::Show) => {
                let (run, course) = self.plan.follow(job, interrupt)?;
                Observed::Measured(done(run), Some(Followed { job, course }))
            }
            (Observe::Measures | Observe::Series, _) => {
                let run = self.plan.perform(job, Purpose::Comparison, interrupt)?;
                Observed::Measured(done(run), None)
            }
            (Observe::Packets | Observe::Facts, _) => {
                let scenario = self.plan.scenario(job);
                let trace = Trace::record(&scenario, job.seed, interrupt)
                    .expect("the plan has built it before");
                if interrupt.is_asked() {
                    // The recording may be incomplete.
                    return None;
                }
                let traced = Traced { job, trace };
                match self.observe {
                    Observe::Facts => Observed::Read(ReadRun {
                        job,
                        facts: self.read(facts, traced),
                        cpu: Duration::ZERO,
                        is_stored: false,
                    }),
                    _ => Observed::Recorded(Box::new(traced), Duration::ZERO),
                }
            }
        })
    }

    /// Returns the facts that `facts` reads from a recorded run.
    fn read(&self, facts: ReadFacts, traced: Traced) -> Facts {
        let alone = ExperimentResults {
            traces: vec![traced],
            ..ExperimentResults::new(self.name, self.plan.empty_results())
        };
        facts(self.name, Some(&alone))
    }

    /// Returns the results of the experiment, in an order that does not depend on which run finished first.
    fn conclude(&self, observed: Vec<Observed>) -> (ExperimentResults, Account) {
        let mut results = self.plan.empty_results();
        results.planned = self.jobs.len();
        let (mut traces, mut followed, mut read) = (Vec::new(), Vec::new(), Vec::new());
        let mut cpu = Duration::ZERO;
        for observed in observed {
            match observed {
                Observed::Measured(done, course) => {
                    cpu += done.cpu.unwrap_or_default();
                    results.runs.push(done.run);
                    followed.extend(course);
                }
                Observed::Recorded(traced, spent) => {
                    cpu += spent;
                    traces.push(*traced);
                }
                Observed::Read(run) => {
                    cpu += run.cpu;
                    read.push((run.job, run.facts));
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
        let part = ExperimentResults {
            traces,
            followed,
            read: read.into_iter().map(|(_, facts)| facts).collect(),
            ..ExperimentResults::new(self.name, results)
        };
        (part, account)
    }
}
