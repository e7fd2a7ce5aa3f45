//! Experiments of more runs than memory holds: their runs are done block by block, and are gone when a
//! [`Sink`] has taken what is to be kept of them.
//!
//! A block is some points of the sweep with all of their runs, as these are compared with each other and
//! summarised together. So memory does not grow with the number of points, and what a block has is
//! computed by the very code that computes it of all results at once.

use std::ops::Range;

use dupack_lab::results::{Answered, Results};
use dupack_lab::run::Plan;

use crate::execution::Execution;
use crate::ledger::{Ledger, Made, PlanRuns};
use crate::session::{Keeping, Session};
use crate::set::{Conduct, Evidence, Task};
use crate::threads::carry_out;

/// How large a block is: it ends with the point with which it has so much. A point with more is a block of
/// its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockSize {
    /// So many runs, those that measure harm included: what memory holds at a time.
    pub runs: usize,
    /// So many packets, about: what an interruption loses.
    pub packets: u64,
}

impl Default for BlockSize {
    /// 50,000 runs, which take some 20 MB, or a milliard of packets, which take some minutes.
    fn default() -> Self {
        Self {
            runs: 50_000,
            packets: 1_000_000_000,
        }
    }
}

/// What a run costs beside its packets, in packets: it is built, watched and summarised.
const PACKETS_PER_RUN: u64 = 500;

/// Some points of an experiment, whose runs are done together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// Its place among the blocks, from 1 on.
    pub number: usize,
    /// Its points, by their places in the plan.
    pub points: Range<usize>,
    /// How many runs it takes, those that measure harm included, and those that a precision adds not.
    pub runs: usize,
}

/// Takes what is to be kept of runs.
pub trait Sink: Send + Sync {
    /// What is kept of a point.
    type Kept: Send;
    /// Why it cannot be kept.
    type Error: Send;

    /// What is kept of the point of `results` at the place `at`, which is the `point` of the plan. Called from
    /// several threads at once.
    fn point(&self, results: &Answered<'_>, at: usize, point: usize) -> Self::Kept;

    /// Keeps a block whose runs are all done: what [`point`](Self::point) made of its points, in their order.
    ///
    /// # Errors
    /// If it cannot: no further block is begun.
    fn block(&mut self, block: &Block, points: Vec<Self::Kept>) -> Result<(), Self::Error>;
}

/// How far the blocks of an experiment came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progressed {
    /// All are done.
    ToTheEnd,
    /// It was interrupted: the first so many of those that were asked for are done.
    ToBlock(usize),
}

/// Returns the points of `plan` in blocks of `size`: the same for the same plan.
#[must_use]
pub fn blocks(plan: &Plan, size: BlockSize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut start, mut runs, mut packets) = (0, 0, 0_u64);
    let points = plan.points().len();
    for point in 0..points {
        let here = plan.work_at(point..point + 1);
        // Harm takes about as much of each stack again.
        let each = packets_at(plan, point) + PACKETS_PER_RUN;
        runs += here;
        packets = packets.saturating_add(each.saturating_mul(here as u64));
        if runs >= size.runs || packets >= size.packets || point + 1 == points {
            blocks.push(Block {
                number: blocks.len() + 1,
                points: start..point + 1,
                runs,
            });
            (start, runs, packets) = (point + 1, 0, 0);
        }
    }
    blocks
}

/// Returns about how many packets a run at `point` of `plan` sends.
fn packets_at(plan: &Plan, point: usize) -> u64 {
    plan.scenario(plan.first_job(point)).packets()
}

/// Performs all runs of `blocks`, which are some of [those of `plan`](blocks), one block after the other, and hands
/// each to `sink`. Runs of a block that is interrupted are lost.
///
/// # Errors
/// If the sink cannot keep a block.
///
/// # Panics
/// If the threads cannot be started.
pub fn stream<S: Sink>(
    plan: &Plan,
    blocks: &[Block],
    sink: &mut S,
    conduct: &Conduct<'_>,
) -> Result<Progressed, S::Error> {
    let runs = PlanRuns(plan);
    let evidence = Streamed {
        plan,
        execution: conduct.execution,
        blocks,
        current: None,
        sink,
        failure: None,
    };
    let mut session = Session::new(runs, evidence, Keeping::nowhere());
    carry_out(&mut session, &runs, conduct);
    let left = session.books.evidence;
    match (
        left.failure,
        left.blocks.len() + usize::from(left.current.is_some()),
    ) {
        (Some(failure), _) => Err(failure),
        (None, 0) => Ok(Progressed::ToTheEnd),
        (None, left) => Ok(Progressed::ToBlock(blocks.len() - left)),
    }
}

/// Blocks, each of which is handed on when it is done.
struct Streamed<'s, S: Sink> {
    plan: &'s Plan,
    execution: Execution,
    /// Those that are not begun.
    blocks: &'s [Block],
    current: Option<(&'s Block, Ledger<&'s Plan>)>,
    sink: &'s mut S,
    failure: Option<S::Error>,
}

impl<S: Sink> Streamed<'_, S> {
    /// Hands the runs of `block` on.
    fn keep(&mut self, block: &Block, results: Results) {
        let places: Vec<usize> = (0..block.points.len()).collect();
        let (sink, first) = (&*self.sink, block.points.start);
        let answered = Answered::owning(results);
        let point = |&at: &usize| Some((at, sink.point(&answered, at, first + at)));
        let mut kept = self.execution.each(&places, point);
        drop(answered);
        kept.sort_unstable_by_key(|(at, _)| *at);
        let kept = kept.into_iter().map(|(_, kept)| kept);
        self.failure = self.sink.block(block, kept.collect()).err();
    }
}

impl<S: Sink> Evidence<Made> for Streamed<'_, S> {
    fn due(&mut self) -> Vec<Task> {
        while self.failure.is_none() {
            if let Some((block, mut ledger)) = self.current.take() {
                let tasks = ledger.due();
                if !tasks.is_empty() {
                    self.current = Some((block, ledger));
                    return tasks;
                }
                self.keep(block, ledger.results());
            } else if let Some((block, left)) = self.blocks.split_first() {
                self.blocks = left;
                self.current = Some((block, Ledger::at(self.plan, block.points.clone())));
            } else {
                break;
            }
        }
        Vec::new()
    }

    fn enter(&mut self, task: Task, made: Made) {
        if let Some((_, ledger)) = &mut self.current {
            ledger.enter(task, made);
        }
    }
}

#[cfg(test)]
mod tests;
