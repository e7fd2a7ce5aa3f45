//! Runs of several plans, without a journal.

use dupack_lab::results::Run;
use dupack_lab::run::{Interrupt, Plan, Purpose};

use crate::journal::Done;
use crate::session::{Keeping, Session};
use crate::set::{Conduct, Evidence, RunId, Set, Task, Worker};
use crate::threads::carry_out;

/// Set of runs in which each plan is a part.
struct Plans<'p>(&'p [Plan]);

impl Set for Plans<'_> {
    type Outcome = Done;

    fn id(&self, _: Task) -> Option<RunId> {
        None
    }

    fn packets(&self, task: Task) -> u64 {
        self.0[task.part].likely_packets(task.job, task.purpose)
    }
}

impl Worker<Done> for Plans<'_> {
    fn perform(&self, task: Task, interrupt: &Interrupt) -> Option<Done> {
        let run = self.0[task.part].perform(task.job, task.purpose, interrupt)?;
        Some(Done { run, cpu: None })
    }
}

/// Evidence of the compared runs of all plans.
struct All {
    due: Vec<Task>,
    done: Vec<(Task, Run)>,
}

impl Evidence<Done> for All {
    fn due(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.due)
    }

    fn enter(&mut self, task: Task, done: Done) {
        self.done.push((task, done.run));
    }
}

/// Performs the compared runs of all `plans`, without the runs that a precision adds. Returns the runs in the order of
/// the plans and their runs. Runs that were interrupted or given up are missing.
///
/// # Panics
/// If the threads cannot be started.
#[must_use]
pub fn carry_out_all(plans: &[Plan], conduct: &Conduct<'_>) -> Vec<(Task, Run)> {
    let tasks = plans.iter().enumerate().flat_map(|(part, plan)| {
        plan.jobs().into_iter().map(move |job| Task {
            part,
            job,
            purpose: Purpose::Comparison,
        })
    });
    let all = All {
        due: tasks.collect(),
        done: Vec::new(),
    };
    let plans = Plans(plans);
    let mut session = Session::new(&plans, all, Keeping::nowhere());
    carry_out(&mut session, &plans, conduct);
    let mut done = session.books.evidence.done;
    done.sort_by_key(|(task, _)| *task);
    done
}
