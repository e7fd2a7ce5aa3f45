//! The runs of a plan, dealt out in batches to whoever has processors, wherever they are.
//!
//! [`Deal::order`] gives the next batch, [`Deal::enter`] takes what came of one, in any order. What is out
//! is known: runs that were ordered and did not come back are dealt out again, and nothing is entered
//! twice. With a [`Journal`], finished runs are kept at once, and those that it holds are not dealt out, as
//! [`Plan::execute_keeping`] does it in one process. The results are the same to the last bit.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::execute::{Execution, Progress};
use super::interrupt::Interrupt;
use super::journal::Journal;
use super::kept::{Kept, Task};
use super::ledger::Ledger;
use super::parcel::{Order, ParcelError};
use super::plan::Plan;
use crate::results::Results;

/// What a run costs beside its packets, in packets: to build it, and to sum it up. Runs of 1 s at 1 Mbit/s
/// (125 packets) take about 0.3 ms, and long ones 0.3 µs a packet
/// (`python/benchmarks/executors.py --costs`).
const RUN_PACKETS: u64 = 1000;

/// The runs of a plan while others do them.
#[derive(Debug)]
pub struct Deal<P> {
    ledger: Ledger<P>,
    kept: Kept<P, Journal>,
    /// What is due and not out.
    due: VecDeque<Task>,
    /// About what that costs, in packets.
    due_packets: u64,
    /// What is out, by the number of its order.
    out: BTreeMap<u64, Vec<Task>>,
    /// The number of the next order.
    next: u64,
}

/// How large a batch may be, if it is more than one run.
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

impl<P: Borrow<Plan> + Clone> Deal<P> {
    /// One that keeps nothing.
    #[must_use]
    pub fn new(plan: P) -> Self {
        Self::with(plan.clone(), Kept::nowhere(plan))
    }

    /// One that keeps finished runs in `journal`. Of those that it holds the shortest of each stack is done
    /// again here, as [`Plan::execute_keeping`] does.
    ///
    /// # Panics
    /// If the threads cannot be started.
    #[must_use]
    pub fn keeping(
        plan: P,
        journal: Journal,
        execution: Execution,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Self {
        let tasks = plan.borrow().tasks(&plan.borrow().jobs());
        let runs = (plan.clone(), &*tasks);
        let kept = Kept::within(runs, journal, execution, progress, interrupt);
        Self::with(plan, kept)
    }

    fn with(plan: P, kept: Kept<P, Journal>) -> Self {
        Self {
            ledger: Ledger::new(plan),
            kept,
            due: VecDeque::new(),
            due_packets: 0,
            out: BTreeMap::new(),
            next: 0,
        }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.ledger.plan()
    }

    /// About what is due and not out costs, in packets. With a precision there may be more to come.
    #[must_use]
    pub const fn due_packets(&self) -> u64 {
        self.due_packets
    }

    /// The next batch, and about what it costs, in packets: at least one run. `None` if there is nothing to
    /// give out before what is out comes back, and if all is done.
    pub fn order(&mut self, size: BatchSize, progress: &dyn Progress) -> Option<(Order, u64)> {
        if self.due.is_empty() && self.out.is_empty() {
            self.next_round(progress);
        }
        let part = self.due_packets.div_ceil(size.parts.max(1));
        let most = size.packets.min(part);
        let (mut tasks, mut cost) = (Vec::new(), 0_u64);
        while let Some(task) = self.due.front() {
            let more = cost.saturating_add(self.cost(*task));
            if !tasks.is_empty() && (more > most || tasks.len() >= size.runs_max) {
                break;
            }
            cost = more;
            tasks.extend(self.due.pop_front());
        }
        if tasks.is_empty() {
            return None;
        }
        self.due_packets = self.due_packets.saturating_sub(cost);
        let number = self.next;
        self.next += 1;
        self.out.insert(number, tasks.clone());
        Some((Order { number, tasks }, cost))
    }

    /// Enters what [`Plan::write_parcel`] made of an order.
    ///
    /// # Errors
    /// If it is no parcel of this plan's runs, or has runs that were not ordered with it. It is still out
    /// then.
    pub fn enter(
        &mut self,
        parcel: &[u8],
        progress: &dyn Progress,
    ) -> Result<Entered, ParcelError> {
        let (number, done) = self.plan().read_parcel(parcel)?;
        let Some(ordered) = self.out.get(&number) else {
            return Ok(Entered::Before);
        };
        let mut left: BTreeSet<Task> = ordered.iter().copied().collect();
        if !done.tasks().all(|task| left.remove(&task)) {
            return Err(ParcelError::Experiment);
        }
        self.out.remove(&number);
        let entered = done.tasks().count();
        for (task, run) in done.runs {
            let run = self.kept.keep(task, run, progress);
            self.ledger.enter([(task, run)]);
            progress.run_done();
        }
        self.due_again(left);
        Ok(Entered::Runs(entered))
    }

    /// What was ordered with that number will not come back: it is due again.
    pub fn give_up(&mut self, number: u64) {
        let tasks = self.out.remove(&number);
        self.due_again(tasks.into_iter().flatten());
    }

    /// What came out; some runs are missing if not all were entered. And the journal, if there is one.
    #[must_use]
    pub fn results(self) -> (Results, Option<Journal>) {
        (self.ledger.results(), self.kept.into_journal())
    }

    /// Takes what is due next, but for what was done before.
    fn next_round(&mut self, progress: &dyn Progress) {
        while self.due.is_empty() {
            let tasks = self.ledger.due();
            if tasks.is_empty() {
                return;
            }
            progress.runs_added(self.ledger.added());
            for task in tasks {
                match self.kept.find(task) {
                    Some(run) => {
                        self.ledger.enter([(task, run)]);
                        progress.run_done();
                    }
                    None => self.due_again([task]),
                }
            }
        }
    }

    fn due_again(&mut self, tasks: impl IntoIterator<Item = Task>) {
        for task in tasks {
            self.due_packets = self.due_packets.saturating_add(self.cost(task));
            self.due.push_back(task);
        }
    }

    fn cost(&self, task: Task) -> u64 {
        let packets = self.plan().likely_packets(task);
        packets.saturating_add(RUN_PACKETS)
    }
}

#[cfg(test)]
mod tests;
