//! Execution of experiments whose runs do not fit into memory: the runs are performed block by block, and a [`Sink`]
//! stores the results.
//!
//! A block consists of some points of the sweep with all of their runs, because the runs of a point are compared and
//! summarised together. Therefore, memory does not grow with the number of points. The results are computed by the same
//! code as for experiments in memory.

use std::ops::Range;

use dupack_lab::results::{Answered, Results};
use dupack_lab::run::Plan;

use crate::execution::Execution;
use crate::ledger::{Ledger, Made, PlanRuns};
use crate::session::{Keeping, Session};
use crate::set::{Conduct, Evidence, Task};
use crate::threads::carry_out;

/// Size of a block. A block ends with the point at which it reaches one of these limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockSize {
    /// Number of runs, including runs that measure harm. This number limits the memory.
    pub runs: usize,
    /// Approximate number of packets. This number limits the work that is lost by an interruption.
    pub packets: u64,
}

impl Default for BlockSize {
    /// Returns limits of 50,000 runs (about 20 MB) and 10⁹ packets (a few minutes).
    fn default() -> Self {
        Self {
            runs: 50_000,
            packets: 1_000_000_000,
        }
    }
}

/// Cost of a run in addition to its packets, in packets, for setup, measurement and summary.
const PACKETS_PER_RUN: u64 = 500;

/// Points of an experiment whose runs are performed together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// Number of the block, counted from 1.
    pub number: usize,
    /// Indices of the block's points in the plan.
    pub points: Range<usize>,
    /// Number of runs of the block, including runs that measure harm, but without the runs that a precision adds.
    pub runs: usize,
}

/// Consumer of finished runs.
pub trait Sink: Send + Sync {
    /// Data to store for a point.
    type Kept: Send;
    /// Error when storing a block.
    type Error: Send;

    /// Extracts the data to store for a point. `at` is the index of the point in `results`, and `point` is its index in
    /// the plan. Called from several threads at the same time.
    fn point(&self, results: &Answered<'_>, at: usize, point: usize) -> Self::Kept;

    /// Stores a complete block. `points` are the results of [`point`](Self::point), in order.
    ///
    /// # Errors
    /// If the block cannot be stored. No further block is started.
    fn block(&mut self, block: &Block, points: Vec<Self::Kept>) -> Result<(), Self::Error>;
}

/// Progress of the blocks of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progressed {
    /// All blocks are done.
    ToTheEnd,
    /// The execution was interrupted after this number of the requested blocks.
    ToBlock(usize),
}

/// Divides the points of `plan` into blocks of `size`. The result is deterministic.
#[must_use]
pub fn blocks(plan: &Plan, size: BlockSize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut start, mut runs, mut packets) = (0, 0, 0_u64);
    let points = plan.points().len();
    for point in 0..points {
        let here = plan.work_at(point..point + 1);
        // `each` is the cost of one run. `here` includes the runs that measure harm.
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
/// If the sink cannot store a block.
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

/// Evidence that passes each complete block to the sink.
struct Streamed<'s, S: Sink> {
    plan: &'s Plan,
    execution: Execution,
    /// Blocks that have not been started.
    blocks: &'s [Block],
    current: Option<(&'s Block, Ledger<&'s Plan>)>,
    sink: &'s mut S,
    failure: Option<S::Error>,
}

impl<S: Sink> Streamed<'_, S> {
    /// Passes the results of `block` to the sink.
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
