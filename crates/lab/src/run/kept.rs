//! What an execution has to do, and what of it was done before: runs that a [`Journal`] holds are
//! taken from it, and those that are done are kept there.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::build::Scenario;
use super::execute::{Execution, Progress};
use super::fingerprint::Fingerprint;
use super::harm::STANDING;
use super::interrupt::Interrupt;
use super::journal::{Done, Journal, JournalError, changed};
use super::plan::{Job, Plan};
use crate::results::Run;

/// A run to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// One under comparison.
    Compared(Job),
    /// One that measures harm; its companion is in the place of the stack.
    Harm(Job),
}

impl Task {
    /// Which run it is.
    #[must_use]
    pub const fn job(&self) -> &Job {
        match self {
            Self::Compared(job) | Self::Harm(job) => job,
        }
    }

    /// What of it stands for others when it is done again: whether it measures harm, and its stack.
    const fn group(&self) -> Group {
        (matches!(self, Self::Harm(_)), self.job().stack)
    }
}

type Group = (bool, usize);

impl Plan {
    /// All that `jobs` take, and what measures harm beside them: all of a seed together, so that what
    /// is finished early can be compared.
    pub(super) fn tasks(&self, jobs: &[Job]) -> Vec<Task> {
        let mut tasks: Vec<Task> = jobs.iter().copied().map(Task::Compared).collect();
        if let Some(harm) = &self.harm {
            let places: BTreeSet<(u64, usize)> =
                jobs.iter().map(|job| (job.seed, job.point)).collect();
            let beside = { places.into_iter() }
                .flat_map(|(seed, point)| harm.jobs(point, seed).map(Task::Harm));
            tasks.extend(beside);
            tasks.sort_by_key(|task| task.job().seed);
        }
        tasks
    }

    /// Keeps a finished run of `job` in `journal`.
    ///
    /// # Errors
    /// If it cannot be written.
    ///
    /// # Panics
    /// If `job` is none of this plan's.
    pub fn keep(&self, journal: &Journal, job: Job, done: &Done) -> Result<(), JournalError> {
        let stack = self.scenario(job).stack.to_string();
        let place = (&*self.label(job.point), &*stack);
        journal.append(self.fingerprint(job), place, done)
    }

    /// Does `task`, whichever it is; `None` if it was interrupted.
    ///
    /// # Panics
    /// If it is none of this plan's.
    #[must_use]
    pub fn perform(&self, task: Task, interrupt: &Interrupt) -> Option<Run> {
        match task {
            Task::Compared(job) => self.run(job, interrupt),
            Task::Harm(job) => self.harm_run(job, interrupt),
        }
    }

    /// The finished run of `job` in `journal`, if it holds it.
    ///
    /// # Panics
    /// If `job` is none of this plan's.
    #[must_use]
    pub fn find(&self, journal: &Journal, job: Job) -> Option<Done> {
        let (point, stack) = self.place_of(Task::Compared(job));
        journal.find(self.fingerprint(job), (&point, &stack), job)
    }

    /// The point and the stack of `task` in words, as a journal has them.
    pub(super) fn place_of(&self, task: Task) -> (String, String) {
        (self.label(task.job().point), self.stacks_of(task))
    }

    pub(super) fn fingerprint_of(&self, task: Task) -> Option<Fingerprint> {
        Some(match task {
            Task::Compared(job) => self.fingerprint(job),
            Task::Harm(job) => self.harm.as_ref()?.fingerprint(job),
        })
    }

    /// What a run of `task` consists of.
    pub(super) fn scenario_of(&self, task: Task) -> &Scenario {
        match (task, &self.harm) {
            (Task::Harm(job), Some(harm)) => harm.scenario(job),
            _ => self.scenario(*task.job()),
        }
    }

    /// Whose run `task` is, in words.
    fn stacks_of(&self, task: Task) -> String {
        let stack = &self.scenario_of(task).stack;
        match task {
            Task::Compared(_) => stack.to_string(),
            Task::Harm(_) => format!("{STANDING} beside {stack}"),
        }
    }

    /// `task` in words: its point if there are several, its stack, its seed.
    #[must_use]
    pub fn words(&self, task: Task) -> String {
        let (point, seed) = (self.label(task.job().point), task.job().seed);
        let words = [point, self.stacks_of(task), format!("seed {seed}")];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        words.join(", ")
    }

    pub(super) fn keep_task(
        &self,
        journal: &Journal,
        task: Task,
        done: &Done,
    ) -> Result<(), JournalError> {
        let (Task::Harm(job), Some(harm)) = (task, &self.harm) else {
            return self.keep(journal, *task.job(), done);
        };
        let (point, stack) = self.place_of(task);
        journal.append(harm.fingerprint(job), (&point, &stack), done)
    }
}

/// The runs of a plan, those that were done before included.
#[derive(Debug)]
pub(super) struct Kept<P, J> {
    plan: P,
    journal: Option<J>,
    /// The runs that the journal holds of these are not taken.
    changed: Vec<Group>,
    /// Whether somebody was told that nothing can be kept.
    broken: AtomicBool,
}

impl<P: Borrow<Plan>, J: Borrow<Journal>> Kept<P, J> {
    /// Keeps nothing.
    pub(super) const fn nowhere(plan: P) -> Self {
        Self {
            plan,
            journal: None,
            changed: Vec::new(),
            broken: AtomicBool::new(false),
        }
    }

    /// Keeps runs of `tasks` in `journal`. Of those that it holds, the shortest of each stack is done
    /// again: if it does not come out the same, none of that stack is taken.
    pub(super) fn within(
        (plan, tasks): (P, &[Task]),
        journal: J,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Self {
        let is_empty = journal.borrow().is_empty();
        let kept = Self {
            journal: Some(journal),
            ..Self::nowhere(plan)
        };
        if is_empty {
            return kept;
        }
        let plan = kept.plan.borrow();
        let find = |task: &Task| kept.find(*task);
        let held =
            |task: Task| Some((task, find(&task)?)).map(|(task, run)| (task, unmeasured(run)));
        let cost = |task: &Task| {
            let point = &plan.points()[task.job().point];
            point.experiment.duration.as_nanos()
        };
        let found = tasks.iter().filter(|task| find(task).is_some()).count();
        let changed = changed(
            tasks.iter().copied().filter_map(held),
            (Task::group, cost),
            execution,
            |task| plan.perform(*task, interrupt),
        );
        progress.note(&format!("{found} of {} runs were done before", tasks.len()));
        let strange = tasks.iter().filter(|task| kept.is_contradicted(**task));
        let strange = strange.count();
        if strange > 0 {
            progress.note(&format!(
                "{strange} line(s) of the journal name another point, stack or seed than their runs have: these runs are \
                 done again"
            ));
        }
        for &(of_harm, stack) in &changed {
            let (point, seed) = (0, 0);
            let job = Job { point, stack, seed };
            let task = match of_harm {
                true => Task::Harm(job),
                false => Task::Compared(job),
            };
            progress.note(&format!(
                "a run of {} does not come out as the journal says: its runs are done again",
                plan.stacks_of(task)
            ));
        }
        Self { changed, ..kept }
    }

    /// The run of `task`: one that was done before, or done now and kept. `None` if it was interrupted.
    /// Where it cannot be kept, somebody is told once.
    pub(super) fn run(
        &self,
        task: Task,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Option<Run> {
        let (run, kept) = self.done(task, interrupt)?;
        self.told(kept, progress);
        Some(run)
    }

    /// Keeps `run`, which was done now, and gives it back. Where it cannot be kept, somebody is told once.
    pub(super) fn keep(&self, task: Task, run: Run, progress: &dyn Progress) -> Run {
        let (run, kept) = self.kept(task, run);
        self.told(kept, progress);
        run
    }

    fn told(&self, kept: Result<(), JournalError>, progress: &dyn Progress) {
        if let Err(error) = kept
            && !self.broken.swap(true, Ordering::Relaxed)
        {
            let lost = "the runs go on, but an interruption would lose them";
            progress.note(&format!("{error}; {lost}"));
        }
    }

    /// The run of `task`, and what hindered it from being kept. `None` if it was interrupted.
    pub(super) fn done(
        &self,
        task: Task,
        interrupt: &Interrupt,
    ) -> Option<(Run, Result<(), JournalError>)> {
        if let Some(run) = self.find(task) {
            return Some((run, Ok(())));
        }
        let run = self.plan.borrow().perform(task, interrupt)?;
        Some(self.kept(task, run))
    }

    /// Keeps `run`, which was done now.
    fn kept(&self, task: Task, run: Run) -> (Run, Result<(), JournalError>) {
        let done = unmeasured(run);
        let keep = |journal: &J| {
            let plan = self.plan.borrow();
            plan.keep_task(journal.borrow(), task, &done)
        };
        let kept = self.journal.as_ref().map_or(Ok(()), keep);
        (done.run, kept)
    }

    /// The run of `task` that was done before.
    pub(super) fn find(&self, task: Task) -> Option<Run> {
        let journal = self.journal.as_ref().map(Borrow::borrow);
        let journal = journal.filter(|journal| !journal.is_empty())?;
        if self.changed.contains(&task.group()) {
            return None;
        }
        let print = self.plan.borrow().fingerprint_of(task)?;
        let (point, stack) = self.plan.borrow().place_of(task);
        Some(journal.find(print, (&point, &stack), *task.job())?.run)
    }

    /// Whether the journal has a line for `task` that is of another run than it says.
    fn is_contradicted(&self, task: Task) -> bool {
        let plan = self.plan.borrow();
        let (Some(journal), Some(print)) = (&self.journal, plan.fingerprint_of(task)) else {
            return false;
        };
        let (point, stack) = plan.place_of(task);
        { journal.borrow() }.contradicts(print, (&point, &stack), *task.job())
    }

    /// The journal.
    pub(super) fn into_journal(self) -> Option<J> {
        self.journal
    }
}

/// Nobody here looks at a clock.
const fn unmeasured(run: Run) -> Done {
    Done { run, cpu: None }
}
