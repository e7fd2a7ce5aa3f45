//! The runs of one plan: the set, its rounds, and the results.
//!
//! The first round has the seeds of the file. Where the experiment asks for a precision, what has come out decides how many
//! more there are. Beside the compared runs stand those that measure harm, and those that show the stacks over time.

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

/// Part of a plan's set with the compared runs, and those that measure harm.
pub(crate) const RUNS: usize = 0;
/// Part with the runs that show every stack over time.
const OVER_TIME: usize = 1;
/// Part with the runs in which every flow is followed.
const FLOWS: usize = 2;

/// The runs of a plan as a set, performed by the simulator.
#[derive(Clone, Copy, Debug)]
pub struct PlanRuns<P>(pub P);

/// What comes out of a run of a plan.
#[derive(Clone, Debug)]
pub enum Made {
    /// Measures of a compared run, or of one that measures harm.
    Run(Box<Done>),
    /// A run over time.
    Sampled(Box<Sampled>),
    /// The flows of a run over time.
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

/// Returns the name of a compared run, or of one that measures harm.
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

/// Returns the compared runs `jobs`, and those that measure harm beside them: all of a seed together, so that what is
/// finished early can be compared.
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

/// What is shown beside the results of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Nothing.
    #[default]
    Nothing,
    /// One run of every stack over time.
    OverTime,
    /// The same, and every flow with every seed.
    OverTimeAndFlows,
}

/// What came out of the runs of a plan.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The results; some runs are missing if the session was interrupted.
    pub results: Results,
    /// One run of every stack over time, if that was asked for.
    pub over_time: Option<OverTime>,
    /// Every flow with every seed, if that was asked for.
    pub flows_over_time: Option<FlowsOverTime>,
}

/// The rounds of a plan, and what came out of them.
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
    /// How many seeds each point has had.
    begun: Vec<u64>,
}

/// Whether it has all points of the plan, of which something can be said in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Whole,
    Part,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first seeds are not due yet.
    Fresh,
    /// What is due now is what a precision still wants.
    Begun,
}

impl<P: Borrow<Plan>> Ledger<P> {
    /// Begins with all points of `plan`.
    #[must_use]
    pub fn new(plan: P) -> Self {
        let points = 0..plan.borrow().points().len();
        Self {
            scope: Scope::Whole,
            ..Self::at(plan, points)
        }
    }

    /// Begins with these points alone, which are those of the results.
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

    /// Returns it such that the first round has the runs that are `shown`, too.
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

    /// Puts the runs in their order.
    fn sort(&mut self) {
        let place = |run: &Run| (run.point, run.stack, run.seed);
        self.results.runs.sort_unstable_by_key(place);
    }

    /// Returns what came out; some runs are missing if not all that were due were entered.
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

/// Returns the runs of `plan` that show it.
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
                // Exactly: there may be a million of them.
                self.results.runs.reserve_exact(compared);
                self.harm.reserve_exact(tasks.len() - compared);
                tasks.extend(shown_tasks(plan, self.shown));
                tasks
            }
            Stage::Begun => {
                // What a precision asks for rests on sums, and their last bits on the order.
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

/// Performs every run of `plan`, and those that are `shown`. Where the experiment asks for a precision, it performs as many
/// more as that takes.
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

/// Performs the runs of `plan` that are `shown`, and no others: the results have none.
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

/// What is shown of a plan, without its results.
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

/// Performs the runs of a plan.
pub trait Execute {
    /// Performs every run, on as many threads as `execution` says, and keeps nothing.
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
