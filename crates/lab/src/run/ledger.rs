//! Which runs of a plan are due, and what came out of those that are done: the whole of an execution
//! but the doing.
//!
//! Whoever has processors takes what is [`due`](Ledger::due), does it in whatever order and wherever
//! ([`Plan::perform`]), and [`enters`](Ledger::enter) what came out. Threads of this process do so in
//! [`Plan::execute`]; other processes and other machines can as well. The results are the same to the
//! last bit.

use std::borrow::Borrow;
use std::ops::Range;

use super::execute::Outcomes;
use super::kept::Task;
use super::plan::{Job, Plan};
use crate::results::{Results, Run};

/// The books of one execution.
#[derive(Debug)]
pub struct Ledger<P> {
    plan: P,
    points: Range<usize>,
    scope: Scope,
    outcomes: Outcomes,
    stage: Stage,
    /// How many seeds each point has had.
    begun: Vec<u64>,
    /// Runs that a precision added to what was planned, since last asked.
    added: usize,
}

/// Whether it has all points of the plan, of which something can be said in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Whole,
    Part,
}

/// How far an execution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first seeds are not given out yet.
    Fresh,
    /// They are: what is due now is what a precision still wants.
    Begun,
}

impl<P: Borrow<Plan>> Ledger<P> {
    /// One in which nothing is done.
    #[must_use]
    pub fn new(plan: P) -> Self {
        let points = 0..plan.borrow().points().len();
        Self {
            scope: Scope::Whole,
            ..Self::at(plan, points)
        }
    }

    /// One for the runs at these points alone, which are those of the results.
    pub(super) fn at(plan: P, points: Range<usize>) -> Self {
        let seeds = plan.borrow().seeds().len() as u64;
        Self {
            outcomes: Outcomes::none_at(plan.borrow(), points.clone()),
            plan,
            begun: vec![seeds; points.len()],
            points,
            scope: Scope::Part,
            stage: Stage::Fresh,
            added: 0,
        }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.plan.borrow()
    }

    /// The runs that are to be done next, each once; none if all is done. What is given out must be
    /// entered before this is asked again: where the experiment asks for a precision, what has come out
    /// decides how many more there are.
    pub fn due(&mut self) -> Vec<Task> {
        let plan = self.plan.borrow();
        let jobs: Vec<Job> = match self.stage {
            Stage::Fresh => plan.jobs_at(self.points.clone()),
            Stage::Begun => {
                // What a precision asks for rests on sums, and their last bits on the order.
                self.outcomes.sort();
                plan.more_jobs(&self.outcomes.results, self.points.start, &mut self.begun)
            }
        };
        let tasks = plan.tasks(&jobs);
        self.outcomes.expect(&tasks);
        if self.stage == Stage::Begun {
            self.outcomes.results.planned += jobs.len();
            self.added += tasks.len();
        }
        self.stage = Stage::Begun;
        tasks
    }

    /// How many runs a precision has added to what was known, since this was last asked.
    pub const fn added(&mut self) -> usize {
        std::mem::replace(&mut self.added, 0)
    }

    /// Enters runs that were done, in whatever order.
    pub fn enter(&mut self, done: impl IntoIterator<Item = (Task, Run)>) {
        for (task, run) in done {
            self.outcomes.take(task, run);
        }
    }

    /// What came out; some runs are missing if not all that were due were entered.
    #[must_use]
    pub fn results(self) -> Results {
        let plan = self.plan.borrow();
        let mut results = self.outcomes.with_harm(plan);
        if self.scope == Scope::Whole && results.missing() == 0 {
            results.warnings.extend(plan.shortfall(&results));
        }
        results
    }
}

impl Plan {
    /// About how many packets `task` sends, for those who deal runs out evenly.
    ///
    /// # Panics
    /// If it is none of this plan's.
    #[must_use]
    pub fn likely_packets(&self, task: Task) -> u64 {
        self.scenario_of(task).likely_packets()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::experiment::load::Source;
    use crate::run::{Execution, Interrupt};

    const TEXT: &str = "stacks = [\"sack/reno\", \"le/reno\"]\nseeds = 3\nprecision = \"3%\"\nseeds_max = 8\n\
                        duration = \"5s\"\n[path]\nrate = \"2Mbit/s\"\nloss = \"2%\"\n";

    fn plan() -> Plan {
        let source = Source::new("test.toml", TEXT);
        let catalog = Catalog::builtin();
        let plan = Plan::new(source.parse().unwrap(), &source, &catalog).unwrap();
        plan.measuring_harm(&catalog)
    }

    #[test]
    fn whoever_does_the_runs_the_results_are_the_same() {
        let plan = plan();
        let interrupt = Interrupt::new();
        let mut ledger = Ledger::new(Arc::new(plan.clone()));
        let mut batches = 0;
        loop {
            let mut due = ledger.due();
            if due.is_empty() {
                break;
            }
            batches += 1;
            due.reverse();
            let done = due.into_iter().map(|task| {
                let run = plan.perform(task, &interrupt).unwrap();
                (task, run)
            });
            let done: Vec<_> = done.collect();
            ledger.enter(done);
        }
        assert!(batches > 1, "the precision took no more seeds");
        let theirs = ledger.results();
        let ours = plan.execute(Execution::default(), &(), &interrupt);
        assert_eq!(theirs.runs, ours.runs);
        assert_eq!(
            (theirs.planned, theirs.warnings),
            (ours.planned, ours.warnings)
        );
    }
}
