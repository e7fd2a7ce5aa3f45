//! Distribution of an experiment's runs among shards.
//!
//! All shards must compute the same distribution without communication. Therefore, the distribution depends only on the
//! plan: on the ordered runs, including runs that measure harm, and on their estimated numbers of packets (integers).
//!
//! Runs are assigned in order of decreasing length, each to the shard with the least work so far (longest processing
//! time first; Graham, "Bounds on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17, 1969). Runs that differ
//! only in their seed are adjacent in this order, so they are distributed evenly, and an error of their estimate
//! affects all shards equally. The runs of a point and a seed are compared with each other. They stay together if this
//! hardly increases the work of the longest shard.

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

/// Reciprocal of the maximum relative increase of the longest shard for which the runs of a point and a seed stay
/// together. Estimates of the length of a run are not more precise than this.
const TOGETHER: u64 = 50;

/// All runs of a plan with their shards.
#[derive(Clone, Debug)]
pub struct Split<'p> {
    pub(crate) plan: &'p Plan,
    of: u32,
    pub(crate) tasks: Vec<Task>,
    /// Estimated number of packets of each run.
    costs: Vec<u64>,
    /// Index of the shard of each run, counted from 0.
    places: Vec<usize>,
}

/// Runs of one shard.
#[derive(Clone, Debug)]
pub struct Share<'p> {
    plan: &'p Plan,
    tasks: Vec<Task>,
}

/// Returns the properties of `task` that determine its shard.
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
    /// Splits the runs of `plan` into `of` shards, but at least one. If there are fewer runs than shards, some shards
    /// are empty. `source` is the text of the experiment.
    ///
    /// # Errors
    /// If the experiment specifies a precision, because its additional runs depend on the results of the first ones.
    pub fn of_plan(plan: &'p Plan, of: u32, source: &Source) -> Result<Self, ExperimentError> {
        let of = of.max(1);
        if plan.experiment().precision.is_some() {
            let message = "a precision adds seeds depending on the results of all runs, but a shard knows \
                 only its own";
            let help = "remove precision and seeds_max and give the number of seeds (seeds = 30), or run \
                 without --shard";
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

    /// Returns the number of shards.
    #[must_use]
    pub const fn of(&self) -> u32 {
        self.of
    }

    /// Returns the runs of `shard`.
    #[must_use]
    pub fn share(&self, shard: Shard) -> Share<'p> {
        let tasks = self.shards().zip(&self.tasks);
        let own = tasks.filter(|(of, _)| *of == shard);
        Share {
            plan: self.plan,
            tasks: own.map(|(_, task)| *task).collect(),
        }
    }

    /// Returns the number of runs of each shard, in order.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.of as usize];
        for place in &self.places {
            sizes[*place] += 1;
        }
        sizes
    }

    /// Returns the estimated fraction of the work in each shard, in order, from 0 to 1.
    #[must_use]
    pub fn parts(&self) -> Vec<f64> {
        let mut parts = vec![0.0; self.of as usize];
        let all: f64 = self.costs.iter().map(|cost| *cost as f64).sum();
        for (place, cost) in self.places.iter().zip(&self.costs) {
            parts[*place] += *cost as f64 / all;
        }
        parts
    }

    /// Returns the shard of each run, in the order of the runs.
    pub(crate) fn shards(&self) -> impl Iterator<Item = Shard> + '_ {
        let all: Vec<Shard> = Shard::all(self.of).collect();
        self.places.iter().map(move |place| all[*place])
    }

    /// Returns the fingerprint of all runs together. Splits with the same fingerprint have the same runs, made by the
    /// same engine.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let mut text = String::new();
        let prints = self.tasks.iter();
        for print in prints.map(|task| self.plan.fingerprint_for(task.job, task.purpose)) {
            writeln!(text, "{print}").expect("writing to memory cannot fail");
        }
        Fingerprint::of_text(&text)
    }
}

impl Share<'_> {
    /// Returns the number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.tasks.len()
    }

    /// Performs the runs of the shard. Each run is stored in `journal` at once, and runs that the journal contains are
    /// not repeated. Returns the number of finished runs.
    ///
    /// # Errors
    /// If a run cannot be stored. Then no further run is started, because runs that are not stored are lost.
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

    /// Returns the number of runs of the shard that are missing in `stored`.
    #[must_use]
    pub fn missing(&self, stored: &Stored) -> usize {
        let tasks = self.tasks.iter();
        let is_missing = |task: &&Task| find(self.plan, stored, **task).is_none();
        tasks.filter(is_missing).count()
    }
}

/// Evidence that only counts runs, because the journal stores their outcomes.
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

/// Returns the run of `task`, if `stored` contains it.
fn find(plan: &Plan, stored: &Stored, task: Task) -> Option<Run> {
    Some(stored.find(&id(plan, task), task.job)?.run)
}

/// Seed and point. Runs with the same seed and point are compared with each other.
type Place = (u64, usize);

/// Kind of runs that differ only in their seed. The order of kinds is arbitrary but fixed. If kinds were ordered by
/// stack, one shard would get the remaining runs of all slow stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind(u64);

/// Properties of a run that determine its shard.
#[derive(Clone, Copy, Debug)]
struct Item {
    place: Place,
    kind: Kind,
    /// Kind of the bundle of all runs with the same place.
    kind_of_place: Kind,
    cost: u64,
}

/// Returns the index of the shard of each run, counted from 0.
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

/// Returns the index of the shard for each of `costs`. In decreasing order of cost, each is assigned to the shard with
/// the lowest total cost so far. Equal costs are ordered by kind and then by position. Among equal shards, the first is
/// chosen.
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

/// Returns the cost of the most expensive shard.
fn longest(costs: &[(u64, Kind)], dealt: &[usize], shards: usize) -> u64 {
    let mut sums = vec![0_u64; shards];
    for ((cost, _), shard) in costs.iter().zip(dealt) {
        sums[*shard] = sums[*shard].saturating_add(*cost);
    }
    sums.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
