//! Parts of a session: the set of runs, the workers, and the evidence.

use std::borrow::Cow;
use std::time::Duration;

use dupack_lab::run::{Fingerprint, Interrupt, Job, Purpose};
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::journal::Done;
use crate::watch::Watch;

/// Run to perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Task {
    /// Index of the run's experiment in the set.
    pub part: usize,
    /// Position of the run in the plan of that experiment.
    pub job: Job,
    /// Purpose of the run.
    pub purpose: Purpose,
}

impl Task {
    /// Returns the kind of the run for verification: part, purpose and stack.
    pub(crate) const fn kind(self) -> (usize, Purpose, usize) {
        (self.part, self.purpose, self.job.stack)
    }
}

/// Name of a run in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId {
    /// Fingerprint of all data on which the run depends.
    pub fingerprint: Fingerprint,
    /// Description of the run's point. Empty if the experiment has only one point.
    pub point: String,
    /// Description of the run's stack.
    pub stack: String,
}

/// Order in which due tasks are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Tasks are started in the listed order. An interrupted session then has complete seeds, which can be compared.
    Listed,
    /// The longest tasks are started first, so that processors are not idle at the end while a long run is in progress.
    LongestFirst,
}

/// Set of runs, divided into parts.
pub trait Set: Sync {
    /// Outcome of a run.
    type Outcome: Outcome;

    /// Returns the name of the run of `task` in a journal, or `None` if a journal cannot store its outcome.
    fn id(&self, task: Task) -> Option<RunId>;

    /// Returns the estimated number of packets of `task`. Its running time is proportional to this number.
    fn packets(&self, task: Task) -> u64;

    /// Returns two names for messages: the name of the whole to which the experiment of `task` belongs, such as a
    /// paper, and the name of the experiment. Both names may be empty.
    fn names(&self, task: Task) -> (Cow<'_, str>, Cow<'_, str>) {
        let _ = task;
        (Cow::Borrowed(""), Cow::Borrowed(""))
    }

    /// Returns the order in which due tasks are started.
    fn schedule(&self) -> Schedule {
        Schedule::Listed
    }

    /// Returns `true` if tasks with the same fingerprint share one run.
    fn shares(&self) -> bool {
        false
    }

    /// Returns `true` if a run always has the same outcome, so that stored runs can be verified.
    fn is_reproducible(&self) -> bool {
        true
    }
}

impl<S: Set + ?Sized> Set for &S {
    type Outcome = S::Outcome;

    fn id(&self, task: Task) -> Option<RunId> {
        (**self).id(task)
    }

    fn packets(&self, task: Task) -> u64 {
        (**self).packets(task)
    }

    fn names(&self, task: Task) -> (Cow<'_, str>, Cow<'_, str>) {
        (**self).names(task)
    }

    fn schedule(&self) -> Schedule {
        (**self).schedule()
    }

    fn shares(&self) -> bool {
        (**self).shares()
    }

    fn is_reproducible(&self) -> bool {
        (**self).is_reproducible()
    }
}

/// Outcome of a run.
pub trait Outcome: Clone + Send {
    /// Returns the data for a journal, or `None` if the outcome cannot or should not be stored.
    fn done(&self) -> Option<&Done>;

    /// Creates the outcome from the data of a journal.
    fn found(done: Done) -> Self;

    /// Returns the outcome with its processor time.
    #[must_use]
    fn took(self, cpu: Option<Duration>) -> Self;

    /// Returns the outcome for `job`, which shares the run.
    #[must_use]
    fn at(self, job: Job) -> Self;
}

impl Outcome for Done {
    fn done(&self) -> Option<&Done> {
        Some(self)
    }

    fn found(done: Done) -> Self {
        done
    }

    fn took(mut self, cpu: Option<Duration>) -> Self {
        self.cpu = cpu;
        self
    }

    fn at(mut self, job: Job) -> Self {
        (self.run.point, self.run.stack, self.run.seed) = (job.point, job.stack, job.seed);
        self
    }
}

/// Performs runs, in the simulator or on real packets.
pub trait Worker<O>: Sync {
    /// Performs the run of `task`. Returns `None` if the run was interrupted or given up.
    fn perform(&self, task: Task, interrupt: &Interrupt) -> Option<O>;
}

/// Collects outcomes and decides on the next round.
pub trait Evidence<O>: Send {
    /// Returns the tasks of the next round, without duplicates, or no tasks if the session is complete. Before the next
    /// call, each task of the round is either entered or lost.
    fn due(&mut self) -> Vec<Task>;

    /// Enters the outcome of `task`. Outcomes arrive in any order.
    fn enter(&mut self, task: Task, outcome: O);
}

/// Environment of a session.
#[derive(Clone, Copy)]
pub struct Conduct<'c> {
    /// Number of runs that are performed at the same time.
    pub execution: Execution,
    /// Observer of the progress.
    pub watch: &'c dyn Watch,
    /// Interrupt of the session.
    pub interrupt: &'c Interrupt,
}
