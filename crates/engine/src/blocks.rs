//! Execution of experiments with more runs than fit into memory: block by block, with a [`Sink`] that keeps the
//! results.
//!
//! A block consists of some points of the sweep with all of their runs, because these are compared and summarised
//! together. Memory therefore does not grow with the number of points. Results are computed by the same code as for
//! complete results.

use std::ops::Range;

use dupack_lab::results::{Answered, Results};
use dupack_lab::run::Plan;

use crate::execution::Execution;
use crate::ledger::{Ledger, Made, PlanRuns};
use crate::session::{Keeping, Session};
use crate::set::{Conduct, Evidence, Task};
use crate::threads::carry_out;

/// Size of a block. A block ends with the point at which it reaches one of these limits. A point that exceeds them is a
/// block of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockSize {
    /// Number of runs, including those that measure harm. It limits memory.
    pub runs: usize,
    /// Approximate number of packets. It limits the work that an interruption loses.
    pub packets: u64,
}

impl Default for BlockSize {
    /// 50,000 runs, which take about 20 MB, or 10⁹ packets, which take a few minutes.
    fn default() -> Self {
        Self {
            runs: 50_000,
            packets: 1_000_000_000,
        }
    }
}

/// Cost of a run in addition to its packets, in packets: it is built, measured and summarised.
const PACKETS_PER_RUN: u64 = 500;

/// Points of an experiment whose runs are performed together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// Number of the block, counted from 1.
    pub number: usize,
    /// Indices of its points in the plan.
    pub points: Range<usize>,
    /// Number of its runs, including those that measure harm, but not those that a precision adds.
    pub runs: usize,
}

/// Consumer of finished runs.
pub trait Sink: Send + Sync {
    /// Data that is kept of a point.
    type Kept: Send;
    /// Error in keeping a block.
    type Error: Send;

    /// Extracts the data to keep of a point. `at` is its index in `results`, and `point` is its index in the plan.
    /// Called from several threads at once.
    fn point(&self, results: &Answered<'_>, at: usize, point: usize) -> Self::Kept;

    /// Keeps a complete block. `points` are the results of [`point`](Self::point), in order.
    ///
    /// # Errors
    /// If the block cannot be kept. No further block is begun.
    fn block(&mut self, block: &Block, points: Vec<Self::Kept>) -> Result<(), Self::Error>;
}

/// Progress of the blocks of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progressed {
    /// All blocks are done.
    ToTheEnd,
    /// Interrupted: this many of the requested blocks are done, from the first on.
    ToBlock(usize),
}

/// Divides the points of `plan` into blocks of `size`. The result is the same for the same plan.
#[must_use]
pub fn blocks(plan: &Plan, size: BlockSize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut start, mut runs, mut packets) = (0, 0, 0_u64);
    let points = plan.points().len();
    for point in 0..points {
        let here = plan.work_at(point..point + 1);
        // Harm doubles the cost of each stack.
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

/// Estimates the number of packets of a run at `point` of `plan`.
fn packets_at(plan: &Plan, point: usize) -> u64 {
    plan.scenario(plan.first_job(point)).packets()
}

/// Performs all runs of `blocks`, which are some of the [blocks of `plan`](blocks), one block after the other, and
/// passes each to `sink`. The runs of an interrupted block are lost.
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

/// Evidence that passes each block on when it is complete.
struct Streamed<'s, S: Sink> {
    plan: &'s Plan,
    execution: Execution,
    /// Blocks that have not begun.
    blocks: &'s [Block],
    current: Option<(&'s Block, Ledger<&'s Plan>)>,
    sink: &'s mut S,
    failure: Option<S::Error>,
}

impl<S: Sink> Streamed<'_, S> {
    /// Passes the runs of `block` on.
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
