//! Ledger of the runs of one plan: the set of runs, the rounds, and the results.
//!
//! The first round has the seeds that the experiment specifies. If the experiment specifies a precision, the results
//! determine the number of further seeds. In addition to the compared runs, there are runs that measure harm, and runs
//! that show the stacks over time.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use dupack_lab::results::{Results, Run};
use dupack_lab::run::{
    FlowOverTime, FlowsOverTime, HarmRun, Interrupt, Job, OverTime, Plan, Purpose, Sampled,
};

use crate::execution::Execution;
use crate::journal::Done;
use crate::session::{Keeping, Session};
use crate::set::{Conduct, Evidence, Outcome, RunId, Set, Task, Worker};
use crate::threads::carry_out;
use crate::watch::Watch;

/// Part of a plan's set with the compared runs and the runs that measure harm.
pub(crate) const RUNS: usize = 0;
/// Part of a plan's set with the runs that show every stack over time.
const OVER_TIME: usize = 1;
/// Part of a plan's set with the runs that show every flow over time.
const FLOWS: usize = 2;

/// Runs of a plan as a set. The simulator performs them.
#[derive(Clone, Copy, Debug)]
pub struct PlanRuns<P>(pub P);

/// Outcome of a run of a plan.
#[derive(Clone, Debug)]
pub enum Made {
    /// Measures of a compared run, or of a harm run.
    Run(Box<Done>),
    /// Data of a run over time.
    Sampled(Box<Sampled>),
    /// Data of the flows of a run over time.
    Flows(Vec<FlowOverTime>),
}

impl Outcome for Made {
    fn done(&self) -> Option<&Done> {
        match self {
            Self::Run(done) => Some(done),
            Self::Sampled(_) | Self::Flows(_) => None,
        }
    }

    fn found(done: Done) -> Self {
        Self::Run(Box::new(done))
    }

    fn took(self, cpu: Option<Duration>) -> Self {
        match self {
            Self::Run(done) => Self::Run(Box::new(done.took(cpu))),
            other => other,
        }
    }

    fn at(self, job: Job) -> Self {
        match self {
            Self::Run(done) => Self::Run(Box::new(done.at(job))),
            other => other,
        }
    }
}

impl<P: Borrow<Plan> + Sync> Set for PlanRuns<P> {
    type Outcome = Made;

    fn id(&self, task: Task) -> Option<RunId> {
        (task.part == RUNS).then(|| id(self.0.borrow(), task))
    }

    fn packets(&self, task: Task) -> u64 {
        self.0.borrow().likely_packets(task.job, task.purpose)
    }
}

/// Returns the name of a compared run or of a harm run.
pub(crate) fn id(plan: &Plan, task: Task) -> RunId {
    RunId {
        fingerprint: plan.fingerprint_for(task.job, task.purpose),
        point: plan.label(task.job.point),
        stack: plan.stack_words(task.job, task.purpose),
    }
}

impl<P: Borrow<Plan> + Sync> Worker<Made> for PlanRuns<P> {
    fn perform(&self, task: Task, interrupt: &Interrupt) -> Option<Made> {
        let (plan, job) = (self.0.borrow(), task.job);
        Some(match task.part {
            OVER_TIME => Made::Sampled(Box::new(plan.sample(job, interrupt)?)),
            FLOWS => Made::Flows(plan.follow_flows(job, interrupt)?),
            _ => Made::Run(Box::new(Done {
                run: plan.perform(job, task.purpose, interrupt)?,
                cpu: None,
            })),
        })
    }
}

/// Returns the compared runs `jobs` with their harm runs. If there are harm runs, all runs of a seed are adjacent, so
/// that early results can be compared.
pub(crate) fn tasks(plan: &Plan, jobs: &[Job]) -> Vec<Task> {
    let task = |purpose| {
        move |job| Task {
            part: RUNS,
            job,
            purpose,
        }
    };
    let mut tasks: Vec<Task> = { jobs.iter().copied() }
        .map(task(Purpose::Comparison))
        .collect();
    let compared = tasks.len();
    let places: BTreeSet<(u64, usize)> = jobs.iter().map(|job| (job.seed, job.point)).collect();
    let beside = places
        .into_iter()
        .flat_map(|(seed, point)| plan.harm_jobs(point, seed).map(task(Purpose::Harm)));
    tasks.extend(beside);
    if tasks.len() > compared {
        tasks.sort_by_key(|task| task.job.seed);
    }
    tasks
}

/// Additional data to show with the results of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// No additional data.
    #[default]
    Nothing,
    /// One run of every stack over time.
    OverTime,
    /// One run of every stack over time, and every flow with every seed.
    OverTimeAndFlows,
}

/// Outcomes of a plan's runs.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Results of the plan. Runs are missing if the session was interrupted.
    pub results: Results,
    /// One run of every stack over time, if requested.
    pub over_time: Option<OverTime>,
    /// Every flow with every seed, if requested.
    pub flows_over_time: Option<FlowsOverTime>,
}

/// Rounds of a plan with their outcomes.
#[derive(Debug)]
pub struct Ledger<P> {
    plan: P,
    points: Range<usize>,
    scope: Scope,
    stage: Stage,
    shown: Shown,
    results: Results,
    harm: Vec<HarmRun>,
    sampled: Vec<(Job, Sampled)>,
    flows: Vec<(Job, Vec<FlowOverTime>)>,
    /// Number of seeds that each point has so far.
    begun: Vec<u64>,
}

/// Scope of the results: all points of the plan, or a part. Warnings about the whole experiment need all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Whole,
    Part,
}

/// Stage of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first round has not started.
    Fresh,
    /// The first round has started. Further rounds have the seeds that a precision requires.
    Begun,
}

impl<P: Borrow<Plan>> Ledger<P> {
    /// Creates a ledger of all points of `plan`.
    #[must_use]
    pub fn new(plan: P) -> Self {
        let points = 0..plan.borrow().points().len();
        Self {
            scope: Scope::Whole,
            ..Self::at(plan, points)
        }
    }

    /// Creates a ledger of some points of `plan`. The results have only these points.
    pub(crate) fn at(plan: P, points: Range<usize>) -> Self {
        let seeds = plan.borrow().seeds().len() as u64;
        Self {
            results: plan.borrow().empty_results_at(points.clone()),
            plan,
            begun: vec![seeds; points.len()],
            points,
            scope: Scope::Part,
            stage: Stage::Fresh,
            shown: Shown::Nothing,
            harm: Vec::new(),
            sampled: Vec::new(),
            flows: Vec::new(),
        }
    }

    /// Returns the ledger with the runs in `shown` added to the first round.
    #[must_use]
    pub fn showing(mut self, shown: Shown) -> Self {
        self.shown = shown;
        self
    }

    /// Enters a finished run.
    pub(crate) fn enter_run(&mut self, purpose: Purpose, mut run: Run) {
        run.point -= self.points.start;
        match purpose {
            Purpose::Harm => self.harm.push(HarmRun::of(&run)),
            Purpose::Comparison | Purpose::Show => self.results.runs.push(run),
        }
    }

    /// Sorts the runs.
    fn sort(&mut self) {
        let place = |run: &Run| (run.point, run.stack, run.seed);
        self.results.runs.sort_unstable_by_key(place);
    }

    /// Returns the outcomes. Due runs that were not entered are missing.
    #[must_use]
    pub fn carried(mut self) -> Carried {
        self.sort();
        let plan = self.plan.borrow();
        let mut results = self.results;
        plan.set_harm(&mut results.runs, &self.harm);
        if self.scope == Scope::Whole && results.missing() == 0 {
            results.warnings.extend(plan.shortfall(&results));
        }
        self.sampled.sort_by_key(|(job, _)| (job.stack, job.seed));
        self.flows.sort_by_key(|(job, _)| (job.seed, job.stack));
        let sampled = self.sampled.into_iter().map(|(_, run)| run);
        let flows = self.flows.into_iter().map(|(_, run)| run);
        Carried {
            results,
            over_time: { self.shown != Shown::Nothing }.then(|| plan.over_time(sampled.collect())),
            flows_over_time: { self.shown == Shown::OverTimeAndFlows }
                .then(|| plan.flows_over_time(flows.collect())),
        }
    }

    /// Returns the results.
    #[must_use]
    pub fn results(self) -> Results {
        self.carried().results
    }
}

/// Returns the runs of `plan` for `shown`.
fn shown_tasks(plan: &Plan, shown: Shown) -> Vec<Task> {
    let task = |part| {
        move |job| Task {
            part,
            job,
            purpose: Purpose::Show,
        }
    };
    let over_time = || plan.jobs_over_time().into_iter().map(task(OVER_TIME));
    match shown {
        Shown::Nothing => Vec::new(),
        Shown::OverTime => over_time().collect(),
        Shown::OverTimeAndFlows => {
            let flows = plan.jobs_of_flows_over_time().into_iter();
            over_time().chain(flows.map(task(FLOWS))).collect()
        }
    }
}

impl<P: Borrow<Plan> + Send> Evidence<Made> for Ledger<P> {
    fn due(&mut self) -> Vec<Task> {
        match self.stage {
            Stage::Fresh => {
                self.stage = Stage::Begun;
                let plan = self.plan.borrow();
                let mut tasks = tasks(plan, &plan.jobs_at(self.points.clone()));
                let compared = { tasks.iter() }.filter(|task| task.purpose != Purpose::Harm);
                let compared = compared.count();
                // The capacity is exact, because there may be a million runs.
                self.results.runs.reserve_exact(compared);
                self.harm.reserve_exact(tasks.len() - compared);
                tasks.extend(shown_tasks(plan, self.shown));
                tasks
            }
            Stage::Begun => {
                // The seeds that a precision requires depend on sums. Sorting is necessary because the last bits of a
                // sum depend on the order.
                self.sort();
                let plan = self.plan.borrow();
                let jobs = plan.more_jobs(&self.results, self.points.start, &mut self.begun);
                self.results.planned += jobs.len();
                tasks(plan, &jobs)
            }
        }
    }

    fn enter(&mut self, task: Task, made: Made) {
        match made {
            Made::Run(done) => self.enter_run(task.purpose, done.run),
            Made::Sampled(run) => self.sampled.push((task.job, *run)),
            Made::Flows(flows) => self.flows.push((task.job, flows)),
        }
    }
}

/// Performs every run of `plan`, and the additional runs for `shown`. If the experiment specifies a precision, further
/// runs are performed until the precision is reached.
///
/// # Panics
/// If the threads cannot be started.
#[must_use]
pub fn carry_out_plan(
    plan: &Plan,
    keeping: Keeping,
    shown: Shown,
    conduct: &Conduct<'_>,
) -> Carried {
    let runs = PlanRuns(plan);
    let mut session = Session::new(runs, Ledger::new(plan).showing(shown), keeping);
    carry_out(&mut session, &runs, conduct);
    session.books.evidence.carried()
}

/// Performs only the runs of `plan` for `shown`. The results contain no runs.
///
/// # Panics
/// If the threads cannot be started.
#[must_use]
pub fn show(plan: &Plan, shown: Shown, conduct: &Conduct<'_>) -> Carried {
    let runs = PlanRuns(plan);
    let evidence = ShownAlone {
        tasks: shown_tasks(plan, shown),
        ledger: Ledger::new(plan).showing(shown),
    };
    let mut session = Session::new(runs, evidence, Keeping::nowhere());
    carry_out(&mut session, &runs, conduct);
    session.books.evidence.ledger.carried()
}

/// Evidence of the shown runs, without results.
struct ShownAlone<'p> {
    tasks: Vec<Task>,
    ledger: Ledger<&'p Plan>,
}

impl Evidence<Made> for ShownAlone<'_> {
    fn due(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.tasks)
    }

    fn enter(&mut self, task: Task, made: Made) {
        self.ledger.enter(task, made);
    }
}

/// Execution of a plan.
pub trait Execute {
    /// Performs every run with `execution`, without a journal.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[must_use]
    fn execute(&self, execution: Execution, watch: &dyn Watch, interrupt: &Interrupt) -> Results;
}

impl Execute for Plan {
    fn execute(&self, execution: Execution, watch: &dyn Watch, interrupt: &Interrupt) -> Results {
        let conduct = Conduct {
            execution,
            watch,
            interrupt,
        };
        carry_out_plan(self, Keeping::nowhere(), Shown::Nothing, &conduct).results
    }
}

#[cfg(test)]
mod tests;
