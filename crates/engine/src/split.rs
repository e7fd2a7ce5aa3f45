//! How the runs of an experiment are split into shards.
//!
//! Whoever does one shard must come to the same split as whoever does another, without a word between
//! them. So it is a function of the plan alone: of the runs in their order, those that measure harm
//! included, and of about how many packets each of them sends, in whole numbers.
//!
//! The longest goes first, each to the shard that has the least so far (longest processing time first;
//! Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17, 1969). Runs that differ by
//! their seed alone follow each other, so that they are spread evenly: however wrong the estimate is for
//! them, it is as wrong for every shard. All runs of one point and seed, which are compared with each other,
//! stay together where that costs next to nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt::Write;
use std::sync::Arc;

use dupack_lab::experiment::load::{ExperimentError, Source};
use dupack_lab::results::Run;
use dupack_lab::run::{Fingerprint, Plan, Purpose};
use xxhash_rust::xxh3::xxh3_64;

use crate::journal::{Journal, JournalError, Stored};
use crate::ledger::{Made, PlanRuns, id, tasks};
use crate::session::{Keeping, Session};
use crate::set::{Conduct, Evidence, Task};
use crate::shard::Shard;
use crate::threads::carry_out;

/// Runs of a point and a seed stay together if the longest shard is longer by no more than one part in
/// so many: nobody knows the length of a run so exactly.
const TOGETHER: u64 = 50;

/// All runs of a plan, and which shard does which.
#[derive(Clone, Debug)]
pub struct Split<'p> {
    pub(crate) plan: &'p Plan,
    of: u32,
    pub(crate) tasks: Vec<Task>,
    /// About how many packets each of them sends.
    costs: Vec<u64>,
    /// Where each of them is done, from 0 on.
    places: Vec<usize>,
}

/// The runs of one shard.
#[derive(Clone, Debug)]
pub struct Share<'p> {
    plan: &'p Plan,
    tasks: Vec<Task>,
}

/// Returns what the split has to know of `task`.
fn item(plan: &Plan, task: Task) -> Item {
    let job = task.job;
    let point = xxh3_64(&job.point.to_le_bytes());
    let kind = (task.purpose == Purpose::Harm, job.stack, job.point);
    Item {
        place: (job.seed, job.point),
        kind: Kind(xxh3_64(format!("{kind:?}").as_bytes())),
        kind_of_place: Kind(point),
        cost: plan.likely_packets(job, task.purpose),
    }
}

impl<'p> Split<'p> {
    /// Splits the runs of `plan` into so many shards, at least one, of which some are empty where there are fewer
    /// runs. `source` is the text of the experiment.
    ///
    /// # Errors
    /// If the experiment asks for a precision: which runs that takes is known only after the first.
    pub fn of_plan(plan: &'p Plan, of: u32, source: &Source) -> Result<Self, ExperimentError> {
        let of = of.max(1);
        if plan.experiment().precision.is_some() {
            let message = "a precision adds seeds by what all runs so far have shown, and a shard knows its own \
                           runs alone";
            let help = "leave precision and seeds_max out and say how many seeds there are (seeds = 30), or run \
                        it in one piece, without --shard";
            return Err(ExperimentError::at(
                source,
                "precision",
                message.to_owned(),
                Some(help.to_owned()),
            ));
        }
        let tasks = tasks(plan, &plan.jobs());
        let items: Vec<Item> = tasks.iter().map(|task| item(plan, *task)).collect();
        Ok(Self {
            plan,
            of,
            places: places(&items, of as usize),
            costs: items.iter().map(|item| item.cost).collect(),
            tasks,
        })
    }

    /// How many shards there are.
    #[must_use]
    pub const fn of(&self) -> u32 {
        self.of
    }

    /// What `shard` does, which is one of these.
    #[must_use]
    pub fn share(&self, shard: Shard) -> Share<'p> {
        let tasks = self.shards().zip(&self.tasks);
        let own = tasks.filter(|(of, _)| *of == shard);
        Share {
            plan: self.plan,
            tasks: own.map(|(_, task)| *task).collect(),
        }
    }

    /// How many runs each shard has, in their order.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.of as usize];
        for place in &self.places {
            sizes[*place] += 1;
        }
        sizes
    }

    /// The part of all work that each shard has, in their order, from 0 to 1, as far as that can be told
    /// beforehand.
    #[must_use]
    pub fn parts(&self) -> Vec<f64> {
        let mut parts = vec![0.0; self.of as usize];
        let all: f64 = self.costs.iter().map(|cost| *cost as f64).sum();
        for (place, cost) in self.places.iter().zip(&self.costs) {
            parts[*place] += *cost as f64 / all;
        }
        parts
    }

    /// The shard of each run, in the order of the runs.
    pub(crate) fn shards(&self) -> impl Iterator<Item = Shard> + '_ {
        let all: Vec<Shard> = Shard::all(self.of).collect();
        self.places.iter().map(move |place| all[*place])
    }

    /// A name for all runs together: two splits with the same are of the same runs, made by the same
    /// engine.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let mut text = String::new();
        let prints = self.tasks.iter();
        for print in prints.map(|task| self.plan.fingerprint_for(task.job, task.purpose)) {
            writeln!(text, "{print}").expect("memory does not fail");
        }
        Fingerprint::of_text(&text)
    }
}

impl Share<'_> {
    /// How many runs it has.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.tasks.len()
    }

    /// Performs its runs: each is kept in `journal` at once, and those that it holds are not performed again. Returns how many
    /// are done.
    ///
    /// # Errors
    /// If a run cannot be kept. No other is begun then: what is not kept is lost.
    ///
    /// # Panics
    /// If the threads cannot be started.
    pub fn execute(
        &self,
        journal: Arc<Journal>,
        conduct: &Conduct<'_>,
    ) -> Result<usize, JournalError> {
        let runs = PlanRuns(self.plan);
        let count = Count {
            due: self.tasks.clone(),
            entered: 0,
        };
        let mut session = Session::new(runs, count, Keeping::within(journal).or_stop());
        carry_out(&mut session, &runs, conduct);
        Ok(session.end()?.entered)
    }

    /// How many of its runs `stored` does not hold.
    #[must_use]
    pub fn missing(&self, stored: &Stored) -> usize {
        let tasks = self.tasks.iter();
        let is_missing = |task: &&Task| find(self.plan, stored, **task).is_none();
        tasks.filter(is_missing).count()
    }
}

/// Counts runs: what comes out is kept in the journal alone.
struct Count {
    due: Vec<Task>,
    entered: usize,
}

impl Evidence<Made> for Count {
    fn due(&mut self) -> Vec<Task> {
        std::mem::take(&mut self.due)
    }

    fn enter(&mut self, _: Task, _: Made) {
        self.entered += 1;
    }
}

/// Returns the run of `task`, if `stored` holds it.
fn find(plan: &Plan, stored: &Stored, task: Task) -> Option<Run> {
    stored.find(&id(plan, task), task.job)
}

/// What is compared with each other: a seed at a point.
type Place = (u64, usize);

/// What runs have in common that differ by their seed alone. Its order is any, but always the same: an order
/// by stack would give one shard what is left over of the slow stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind(u64);

/// What the split has to know of a run.
#[derive(Clone, Copy, Debug)]
struct Item {
    place: Place,
    kind: Kind,
    /// The kind of all runs at its place together.
    kind_of_place: Kind,
    cost: u64,
}

/// The shard of each run, from 0 on, of so many.
fn places(items: &[Item], shards: usize) -> Vec<usize> {
    let mut known: BTreeMap<Place, usize> = BTreeMap::new();
    let mut bundles: Vec<(u64, Kind)> = Vec::new();
    let mut bundle_of = Vec::with_capacity(items.len());
    for item in items {
        let bundle = *known.entry(item.place).or_insert(bundles.len());
        match bundles.get_mut(bundle) {
            Some((sum, _)) => *sum = sum.saturating_add(item.cost),
            None => bundles.push((item.cost, item.kind_of_place)),
        }
        bundle_of.push(bundle);
    }
    let alone: Vec<(u64, Kind)> = { items.iter() }
        .map(|item| (item.cost, item.kind))
        .collect();
    let together = deal(&bundles, shards);
    let apart = deal(&alone, shards);
    let least = longest(&alone, &apart, shards);
    if longest(&bundles, &together, shards) <= least.saturating_add(least / TOGETHER) {
        return bundle_of
            .into_iter()
            .map(|bundle| together[bundle])
            .collect();
    }
    apart
}

/// The shard of each of `costs`, of so many: longest first, each to the shard with the least so far. What
/// costs the same goes by its kind, then in its order, and of shards that have the same the first is taken.
fn deal(costs: &[(u64, Kind)], shards: usize) -> Vec<usize> {
    let mut longest_first: Vec<usize> = (0..costs.len()).collect();
    longest_first.sort_by_key(|&n| (Reverse(costs[n].0), costs[n].1));
    let mut least: BinaryHeap<Reverse<(u64, usize)>> =
        (0..shards).map(|shard| Reverse((0, shard))).collect();
    let mut dealt = vec![0; costs.len()];
    for n in longest_first {
        if let Some(mut shard) = least.peek_mut() {
            dealt[n] = shard.0.1;
            shard.0.0 = shard.0.0.saturating_add(costs[n].0);
        }
    }
    dealt
}

/// What the shard costs that costs most.
fn longest(costs: &[(u64, Kind)], dealt: &[usize], shards: usize) -> u64 {
    let mut sums = vec![0_u64; shards];
    for ((cost, _), shard) in costs.iter().zip(dealt) {
        sums[*shard] = sums[*shard].saturating_add(*cost);
    }
    sums.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
