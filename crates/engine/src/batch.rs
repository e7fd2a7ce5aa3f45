//! Batches of due tasks, for drivers that are slow to reach.

use std::collections::{BTreeMap, BTreeSet};

use dupack_lab::run::Interrupt;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::session::{Due, Session};
use crate::set::{Conduct, Evidence, Set, Task, Worker};
use crate::watch::Watch;

/// Runs to perform together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Number of the order among all that a session gives out.
    pub number: u64,
    /// The runs.
    pub tasks: Vec<Task>,
}

/// Upper bounds of a batch of more than one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchSize {
    /// The most that it may cost, in packets.
    pub packets: u64,
    /// The most runs.
    pub runs_max: usize,
    /// It costs at most one of so many parts of what is due, so that there is something for every worker
    /// until the end.
    pub parts: u64,
}

/// What of a batch was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// So many of its runs, those included that will never be done; the others that were ordered with them
    /// are due again.
    Runs(usize),
    /// It was entered before, or given up.
    Before,
}

impl<S: Set, E: Evidence<S::Outcome>> Session<S, E> {
    /// Returns about what all due tasks cost, in packets. A later round may have more.
    #[must_use]
    pub const fn due_packets(&self) -> u64 {
        self.books.due_packets
    }

    /// Returns the next batch, and about what it costs, in packets: at least one run. `None` if there is nothing to give out
    /// before what is out comes back, and if all is done. `worker` performs samples of held runs.
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

    /// Returns `true` if all of `tasks`, each named once, were ordered by the order with that number and are out; `None` if
    /// the order is not out.
    pub(crate) fn is_of_order(
        &self,
        number: u64,
        tasks: impl IntoIterator<Item = Task>,
    ) -> Option<bool> {
        let out = self.books.out.get(&number)?.iter();
        let mut left: BTreeSet<Task> = out.map(|due| due.task).collect();
        Some(tasks.into_iter().all(|task| left.remove(&task)))
    }

    /// Enters what came out of the order with that number. Runs that are neither `done` nor `given_up` are due again; those
    /// that were given up will never be done.
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

    /// Makes the tasks of the order with that number due again: it will not come back.
    pub fn give_up(&mut self, number: u64) {
        let out = self.books.out.remove(&number);
        let out = out.into_iter().flatten();
        out.for_each(|due| self.books.push(due));
    }
}
