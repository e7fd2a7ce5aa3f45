//! The parts of a session: the set of runs, those who perform them, and what comes out.

use std::borrow::Cow;
use std::time::Duration;

use dupack_lab::run::{Fingerprint, Interrupt, Job, Purpose};
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::journal::Done;
use crate::watch::Watch;

/// One run to perform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Task {
    /// Index of its experiment in the set.
    pub part: usize,
    /// Place of the run in the plan of that experiment.
    pub job: Job,
    /// Purpose of the run.
    pub purpose: Purpose,
}

impl Task {
    /// Returns what is verified together: the part, the purpose, and the stack.
    pub(crate) const fn kind(self) -> (usize, Purpose, usize) {
        (self.part, self.purpose, self.job.stack)
    }
}

/// Name of a run in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId {
    /// Everything that it depends on.
    pub fingerprint: Fingerprint,
    /// Its point in words; empty if there is only one.
    pub point: String,
    /// Its stack in words.
    pub stack: String,
}

/// Order in which due tasks are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// As they were listed: an interrupted session has whole seeds, which can be compared.
    Listed,
    /// The longest first: no processor waits for the last run of an experiment while others have work.
    LongestFirst,
}

/// A set of runs, in parts.
pub trait Set: Sync {
    /// What comes out of a run.
    type Outcome: Outcome;

    /// Returns the name of the run of `task` in the journal; `None` if no journal can hold what comes out of it.
    fn id(&self, task: Task) -> Option<RunId>;

    /// Returns about how many packets `task` sends: its time is proportional to it.
    fn packets(&self, task: Task) -> u64;

    /// Returns the whole to which the experiment of `task` belongs, and the experiment, for people; both may be empty.
    fn names(&self, task: Task) -> (Cow<'_, str>, Cow<'_, str>) {
        let _ = task;
        (Cow::Borrowed(""), Cow::Borrowed(""))
    }

    /// Returns the order in which due tasks are begun.
    fn schedule(&self) -> Schedule {
        Schedule::Listed
    }

    /// Returns `true` if tasks with the same fingerprint are performed once for all.
    fn shares(&self) -> bool {
        false
    }

    /// Returns `true` if a run comes out the same whenever it is performed, so that held runs can be verified.
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

/// What comes out of a run.
pub trait Outcome: Clone + Send {
    /// Returns what a journal keeps of it; `None` if it cannot be kept, or is not worth it.
    fn done(&self) -> Option<&Done>;

    /// Returns the outcome of a run that a journal holds.
    fn found(done: Done) -> Self;

    /// Returns it with the processor time that it took.
    #[must_use]
    fn took(self, cpu: Option<Duration>) -> Self;

    /// Returns it as the outcome of `job`, which is the same run in another place.
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

/// Performs runs: in the simulator, or on real packets.
pub trait Worker<O>: Sync {
    /// Performs the run of `task`; returns `None` if it was interrupted or given up.
    fn perform(&self, task: Task, interrupt: &Interrupt) -> Option<O>;
}

/// Collects what comes out, and decides what is to be done next.
pub trait Evidence<O>: Send {
    /// Returns the tasks of the next round, each once; none if all is done. All tasks of a round are entered, or lost, before
    /// this is called again.
    fn due(&mut self) -> Vec<Task>;

    /// Enters what came out of `task`, in any order.
    fn enter(&mut self, task: Task, outcome: O);
}

/// How a session is carried out.
#[derive(Clone, Copy)]
pub struct Conduct<'c> {
    /// How many runs are performed at a time.
    pub execution: Execution,
    /// Observer of the progress.
    pub watch: &'c dyn Watch,
    /// What stops it.
    pub interrupt: &'c Interrupt,
}
