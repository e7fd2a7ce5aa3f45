//! Batches of due tasks, for workers to which each message is expensive.

use std::collections::{BTreeMap, BTreeSet};

use dupack_lab::run::Interrupt;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::session::{Due, Session};
use crate::set::{Conduct, Evidence, Set, Task, Worker};
use crate::watch::Watch;

/// Batch of runs that one worker performs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Number of the order within its session.
    pub number: u64,
    /// Runs of the batch.
    pub tasks: Vec<Task>,
}

/// Limits of a batch that has more than one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// Maximum cost, in packets.
    pub packets: u64,
    /// Maximum number of runs.
    pub runs_max: usize,
    /// Reciprocal of the maximum fraction of the total due cost, so that all workers have work until the end.
    pub parts: u64,
}

/// Result of entering a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// Number of runs that were entered, including runs that were given up. The other runs of the order are due again.
    Runs(usize),
    /// The order was entered or given up before.
    Before,
}

impl<S: Set, E: Evidence<S::Outcome>> Session<S, E> {
    /// Returns the estimated cost of all due tasks in packets. A later round may add tasks.
    #[must_use]
    pub const fn due_packets(&self) -> u64 {
        self.books.due_packets
    }

    /// Returns the next batch, which has at least one run, and its estimated cost in packets. Returns `None` if all
    /// runs are done, or if the next round needs the results of outstanding orders. `worker` repeats samples of the
    /// runs found in journals.
    pub fn order(
        &mut self,
        size: BatchSize,
        worker: &dyn Worker<S::Outcome>,
        watch: &dyn Watch,
    ) -> Option<(Order, u64)> {
        let interrupt = Interrupt::new();
        let conduct = Conduct {
            execution: Execution { jobs: Some(1) },
            watch,
            interrupt: &interrupt,
        };
        while self.books.front().is_none() && self.books.out.is_empty() {
            if !self.next_round(worker, &conduct) {
                return None;
            }
        }
        let part = self.due_packets().div_ceil(size.parts.max(1));
        let most = size.packets.min(part);
        let (mut batch, mut sum) = (Vec::new(), 0_u64);
        while let Some(due) = self.books.front() {
            let more = sum.saturating_add(due.cost());
            if !batch.is_empty() && (more > most || batch.len() >= size.runs_max) {
                break;
            }
            sum = more;
            batch.extend(self.books.pop());
        }
        if batch.is_empty() {
            return None;
        }
        let number = self.books.next_order;
        self.books.next_order += 1;
        let tasks = batch.iter().map(|due| due.task).collect();
        self.books.out.insert(number, batch);
        Some((Order { number, tasks }, sum))
    }

    /// Returns `true` if all of `tasks` belong to the outstanding order `number` and none is listed twice. Returns
    /// `None` if the order is not outstanding.
    pub(crate) fn is_of_order(
        &self,
        number: u64,
        tasks: impl IntoIterator<Item = Task>,
    ) -> Option<bool> {
        let out = self.books.out.get(&number)?.iter();
        let mut left: BTreeSet<Task> = out.map(|due| due.task).collect();
        Some(tasks.into_iter().all(|task| left.remove(&task)))
    }

    /// Enters the outcomes of the order `number`. Runs that are neither in `done` nor in `given_up` are due again. Runs
    /// in `given_up` are not performed again.
    pub(crate) fn enter(
        &mut self,
        number: u64,
        done: Vec<(Task, S::Outcome)>,
        given_up: &[Task],
        watch: &dyn Watch,
    ) -> Entered {
        let Some(out) = self.books.out.remove(&number) else {
            return Entered::Before;
        };
        let mut out: BTreeMap<Task, Due> = out.into_iter().map(|due| (due.task, due)).collect();
        let entered = done.len() + given_up.len();
        for (task, outcome) in done {
            if let Some(due) = out.remove(&task) {
                self.books.done(&self.set, due, outcome, watch);
            }
        }
        for task in given_up {
            out.remove(task);
        }
        out.into_values().for_each(|due| self.books.push(due));
        Entered::Runs(entered)
    }

    /// Makes the tasks of the order `number` due again, because no result will arrive.
    pub fn give_up(&mut self, number: u64) {
        let out = self.books.out.remove(&number);
        let out = out.into_iter().flatten();
        out.for_each(|due| self.books.push(due));
    }
}
