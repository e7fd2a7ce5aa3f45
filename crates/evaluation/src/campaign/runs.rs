//! The runs of an evaluation as one set: all scenarios of all stacks, with the longest runs first. Each run is
//! performed once. Criteria that the first seeds do not decide get a second round.

use std::borrow::Cow;
use std::sync::Arc;

use dupack_engine::{
    Done, Evidence, Journal, JournalError, Keeping, RunId, Schedule, Session, Set, Task, Watch,
    Worker,
};
use dupack_lab::results::Run;
use dupack_lab::run::{Interrupt, Purpose};

use super::Campaign;
use crate::evidence::{Conduct, ScenarioResults};
use crate::prepare::Prepared;
use crate::suite::Round;

/// Scenarios of both rounds. The scenarios of each round are ordered by stack.
struct Scenarios<'c>(Vec<Place<'c>>);

/// A scenario of a stack in a round.
struct Place<'c> {
    round: Round,
    stack: &'c str,
    prepared: &'c Prepared,
}

impl<'c> Scenarios<'c> {
    fn of(campaign: &'c Campaign<'_>) -> Self {
        let places = [Round::First, Round::More].into_iter().flat_map(|round| {
            campaign.subjects.iter().flat_map(move |subject| {
                let scenarios = subject.scenarios(round).iter();
                scenarios.map(move |prepared| Place {
                    round,
                    stack: &subject.stack,
                    prepared,
                })
            })
        });
        Self(places.collect())
    }

    /// Returns the scenario of `task`.
    fn prepared(&self, task: Task) -> &Prepared {
        self.0[task.part].prepared
    }

    /// Returns the runs of the scenario `part`.
    fn tasks(&self, part: usize) -> impl Iterator<Item = Task> + '_ {
        let jobs = self.0[part].prepared.plan.jobs().into_iter();
        jobs.map(move |job| Task {
            part,
            job,
            purpose: Purpose::Comparison,
        })
    }

    /// Returns the indices of the scenarios of the first round.
    fn first(&self) -> impl Iterator<Item = usize> + '_ {
        let places = self.0.iter().enumerate();
        places
            .filter(|(_, place)| place.round == Round::First)
            .map(|(part, _)| part)
    }

    /// Returns the index of the scenario in the second round that belongs to the scenario `first`, if there is a second
    /// round.
    fn more(&self, first: usize) -> Option<usize> {
        let more = first + self.first().count();
        (more < self.0.len()).then_some(more)
    }
}

impl Set for Scenarios<'_> {
    type Outcome = Done;

    fn id(&self, task: Task) -> Option<RunId> {
        let (plan, job) = (&self.prepared(task).plan, task.job);
        Some(RunId {
            fingerprint: plan.fingerprint(job),
            point: plan.label(job.point),
            stack: plan.stack_words(job, task.purpose),
        })
    }

    fn packets(&self, task: Task) -> u64 {
        self.prepared(task).plan.scenario(task.job).packets()
    }

    fn names(&self, task: Task) -> (Cow<'_, str>, Cow<'_, str>) {
        let place = &self.0[task.part];
        (place.stack.into(), place.prepared.name.as_str().into())
    }

    fn schedule(&self) -> Schedule {
        Schedule::LongestFirst
    }

    /// Returns `true`: the runs of the baselines do not depend on the stack with which they are compared.
    fn shares(&self) -> bool {
        true
    }
}

impl Worker<Done> for Scenarios<'_> {
    fn perform(&self, task: Task, interrupt: &Interrupt) -> Option<Done> {
        let plan = &self.prepared(task).plan;
        let run = plan.perform(task.job, task.purpose, interrupt)?;
        Some(Done { run, cpu: None })
    }
}

/// Results of the scenarios.
struct Came<'c> {
    scenarios: &'c Scenarios<'c>,
    watch: &'c dyn Watch,
    runs: Vec<Vec<Run>>,
    stage: Stage,
    /// Results of the first round, replaced by the results of the second round if there are any.
    parts: Vec<ScenarioResults>,
    /// Scenarios that got more seeds: their indices in the first and in the second round.
    opened: Vec<(usize, usize)>,
}

/// The current round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    First,
    More,
    Done,
}

impl Came<'_> {
    /// Judges the first round, and returns the tasks of the second round.
    fn open(&mut self) -> Vec<Task> {
        let scenarios = self.scenarios;
        for part in scenarios.first() {
            let runs = std::mem::take(&mut self.runs[part]);
            self.parts
                .push(scenarios.0[part].prepared.conclude(runs, false));
        }
        let open = { self.parts.iter().enumerate() }.filter(|(_, part)| part.is_open());
        let open = open.filter_map(|(first, _)| Some((first, scenarios.more(first)?)));
        self.opened = open.collect();
        { self.opened.iter() }
            .flat_map(|&(_, more)| scenarios.tasks(more))
            .collect()
    }

    /// Returns the results of each scenario in the order of the first round, each with its number of missing runs. An
    /// incomplete second round is ignored.
    fn conclude(mut self) -> Vec<(ScenarioResults, usize)> {
        if self.stage != Stage::Done {
            // The evaluation was interrupted before the first round was complete.
            self.open();
        }
        let mut missing = vec![0; self.parts.len()];
        for (first, more) in std::mem::take(&mut self.opened) {
            let runs = std::mem::take(&mut self.runs[more]);
            let part = self.scenarios.0[more].prepared.conclude(runs, true);
            match part.results.missing() {
                0 => self.parts[first] = part,
                undone => missing[first] = undone,
            }
        }
        self.parts.into_iter().zip(missing).collect()
    }
}

impl Evidence<Done> for Came<'_> {
    fn due(&mut self) -> Vec<Task> {
        match self.stage {
            Stage::First => {
                self.stage = Stage::More;
                let scenarios = self.scenarios;
                scenarios
                    .first()
                    .flat_map(|part| scenarios.tasks(part))
                    .collect()
            }
            Stage::More => {
                self.stage = Stage::Done;
                let tasks = self.open();
                if !tasks.is_empty() {
                    let note = "criteria that these runs do not decide get more seeds";
                    self.watch.note(note);
                }
                tasks
            }
            Stage::Done => Vec::new(),
        }
    }

    fn enter(&mut self, task: Task, done: Done) {
        self.runs[task.part].push(done.run);
    }
}

/// Returns the number of runs of the first round. Runs that several stacks share are counted once.
pub(super) fn first_runs(campaign: &Campaign<'_>) -> usize {
    let scenarios = Scenarios::of(campaign);
    let tasks = scenarios.first().flat_map(|part| scenarios.tasks(part));
    let prints = tasks.filter_map(|task| Some(scenarios.id(task)?.fingerprint));
    prints.collect::<std::collections::BTreeSet<_>>().len()
}

/// Performs all runs of `campaign`. Returns the results of each scenario of each stack, in order, each with its number
/// of missing runs.
pub(super) fn carry_out(
    campaign: &Campaign<'_>,
    conduct: &Conduct<'_>,
) -> Result<Vec<(ScenarioResults, usize)>, JournalError> {
    let journal = conduct.journal.map(Journal::open).transpose()?;
    let keeping = journal.map_or_else(Keeping::nowhere, |own| Keeping::within(Arc::new(own)));
    let scenarios = Scenarios::of(campaign);
    let came = Came {
        scenarios: &scenarios,
        watch: conduct.runs.watch,
        runs: scenarios.0.iter().map(|_| Vec::new()).collect(),
        stage: Stage::First,
        parts: Vec::new(),
        opened: Vec::new(),
    };
    let mut session = Session::new(&scenarios, came, keeping);
    dupack_engine::carry_out(&mut session, &scenarios, &conduct.runs);
    Ok(session.end()?.conclude())
}

impl Prepared {
    /// Returns the results of the scenario.
    fn conclude(&self, mut runs: Vec<Run>, has_more_seeds: bool) -> ScenarioResults {
        runs.sort_by_key(|run| (run.point, run.stack, run.seed));
        let mut results = self.plan.empty_results();
        results.runs = runs;
        ScenarioResults {
            name: self.name.clone(),
            source: self.source.clone(),
            has_more_seeds,
            judged: self.rules.judge_results(&results),
            results,
        }
    }
}
