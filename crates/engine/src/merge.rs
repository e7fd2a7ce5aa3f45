//! Merging of journals: combines the results of many machines into the results of a single execution.

use std::collections::BTreeMap;

use miette::Diagnostic;
use thiserror::Error;

use dupack_lab::results::{Measure, Results, Run};
use dupack_lab::run::{Fingerprint, Interrupt, Plan};

use crate::execution::Execution;
use crate::journal::{Done, Stored};
use crate::ledger::{Ledger, id};
use crate::samples::samples;
use crate::set::Task;
use crate::shard::Shard;
use crate::split::Split;

/// Runs of a split that were found in journals.
#[derive(Debug)]
pub struct Merge<'s> {
    split: &'s Split<'s>,
    /// Names of the journals.
    names: Vec<String>,
    /// For each run of the split: the run and the index of its journal, if a journal contains it.
    found: Vec<Option<(Run, usize)>>,
}

/// Error: two different results of the same run.
#[derive(Debug, Error, Diagnostic)]
#[error("{run}: {measure} is {one} in {first}, but {other} {second}")]
#[diagnostic(help("{remedy}"))]
pub struct Disagreement {
    /// Description of the run: point, stack and seed.
    pub run: String,
    /// First measure that differs.
    pub measure: String,
    /// First value of the measure.
    pub one: String,
    /// Journal of the first value.
    pub first: String,
    /// Second value of the measure.
    pub other: String,
    /// Description of the source of the second value.
    pub second: String,
    /// Suggestion.
    pub remedy: String,
}

impl<'s> Split<'s> {
    /// Merges the runs of `journals`. Each journal has a name for messages. A run in several journals must have the
    /// same result in all of them.
    ///
    /// # Errors
    /// If the results of a run differ.
    pub fn merge(&'s self, journals: &[(String, Stored)]) -> Result<Merge<'s>, Box<Disagreement>> {
        // An index of the journals by run avoids searching every journal for every run.
        let journal_of = |(place, (_, stored)): (usize, &(String, Stored))| {
            let prints: Vec<_> = stored.fingerprints().collect();
            prints.into_iter().map(move |print| (print, place))
        };
        let mut held: Vec<(Fingerprint, usize)> =
            journals.iter().enumerate().flat_map(journal_of).collect();
        held.sort_unstable();
        let mut found = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let id = id(self.plan, *task);
            let print = id.fingerprint;
            let places = &held[held.partition_point(|(of, _)| *of < print)..];
            let places = places.iter().take_while(|(of, _)| *of == print);
            let mut first: Option<(Run, usize)> = None;
            for &(_, place) in places {
                let (name, stored) = &journals[place];
                let Some(Done { run, .. }) = stored.find(&id, task.job) else {
                    continue;
                };
                let Some((known, at)) = &first else {
                    first = Some((run, place));
                    continue;
                };
                if let Some(difference) = Difference::of(known, &run) {
                    let run = words(self.plan, *task);
                    return Err(difference.between(run, &journals[*at].0, name));
                }
            }
            found.push(first);
        }
        Ok(Merge {
            split: self,
            names: journals.iter().map(|(name, _)| name.clone()).collect(),
            found,
        })
    }
}

impl Merge<'_> {
    /// Returns descriptions of the runs that no journal contains, by shard.
    #[must_use]
    pub fn missing(&self) -> BTreeMap<Shard, Vec<String>> {
        let mut missing: BTreeMap<Shard, Vec<String>> = BTreeMap::new();
        let tasks = self.split.shards().zip(&self.split.tasks);
        for ((shard, task), found) in tasks.zip(&self.found) {
            if found.is_none() {
                let words = words(self.split.plan, *task);
                missing.entry(shard).or_default().push(words);
            }
        }
        missing
    }

    /// Repeats the shortest run of each journal, as long as the cost is a small fraction of the cost of all runs.
    /// Fingerprints ensure that the code was the same; this check shows that the compiled program and the machine give
    /// the same results. An interrupted check is inconclusive and succeeds.
    ///
    /// # Errors
    /// If the result of a run differs from its journal.
    ///
    /// # Panics
    /// If the threads cannot be started.
    pub fn check(
        &self,
        execution: Execution,
        interrupt: &Interrupt,
    ) -> Result<(), Box<Disagreement>> {
        let samples = self.samples();
        let mut differing = execution.each(&samples, |(name, task, held)| {
            let run = { self.split.plan }.perform(task.job, task.purpose, interrupt)?;
            let difference = Difference::of(held, &run)?;
            let run = words(self.split.plan, *task);
            Some((*name, difference.beside_here(run, &self.names[*name])))
        });
        // The first journal is reported, regardless of the order in which the runs were performed.
        differing.sort_by_key(|(name, _)| *name);
        match differing.into_iter().next() {
            Some((_, disagreement)) => Err(disagreement),
            None => Ok(()),
        }
    }

    /// Returns the shortest run of each journal in ascending order until the cost limit is reached, and at least one.
    fn samples(&self) -> Vec<(usize, Task, &Run)> {
        let found = self.split.tasks.iter().zip(&self.found);
        let found = found.filter_map(|(task, found)| Some((*task, found.as_ref()?)));
        let found: Vec<(Task, &(Run, usize))> = found.collect();
        let costs = found.iter().map(|(task, (_, name))| {
            let cost = self.split.plan.likely_packets(task.job, task.purpose);
            (*name, cost)
        });
        let samples = samples(costs, 1).into_iter().map(|sample| {
            let (task, (run, name)) = found[sample];
            (*name, task, run)
        });
        samples.collect()
    }

    /// Returns the results, or `None` if a run is missing. The results are identical to the last bit to those of a
    /// single execution of the plan.
    #[must_use]
    pub fn results(self) -> Option<Results> {
        let plan = self.split.plan;
        let runs = self.found.into_iter().zip(&self.split.tasks);
        let mut all = Ledger::new(plan);
        for (found, task) in runs {
            all.enter_run(task.purpose, found?.0);
        }
        Some(all.results())
    }
}

/// Returns a description of `task`.
fn words(plan: &Plan, task: Task) -> String {
    plan.words(task.job, task.purpose)
}

/// First difference between two runs.
struct Difference {
    measure: String,
    one: String,
    other: String,
}

impl Difference {
    /// Returns the difference, or `None` if the runs are equal.
    fn of(one: &Run, other: &Run) -> Option<Self> {
        if one == other {
            return None;
        }
        let new = |measure: String, [one, other]: [String; 2]| Self {
            measure,
            one,
            other,
        };
        let words = |value: Option<f64>| value.map_or("missing".to_owned(), |v| v.to_string());
        for measure in Measure::ALL {
            let values = [one, other].map(|run| run.values.get(measure));
            if values[0] != values[1] {
                return Some(new(measure.key().to_owned(), values.map(words)));
            }
        }
        let flows = one.flow_goodputs.len().max(other.flow_goodputs.len());
        for flow in 0..flows {
            let values = [one, other].map(|run| run.flow_goodputs.get(flow).copied());
            if values[0] != values[1] {
                let measure = format!("the goodput of flow {} in Mbit/s", flow + 1);
                return Some(new(measure, values.map(words)));
            }
        }
        let hashes = [one, other].map(|run| format!("{:016x}", run.trace_hash));
        Some(new("the trace hash".to_owned(), hashes))
    }

    /// Returns the error for a `run` that differs between two journals.
    fn between(self, run: String, first: &str, second: &str) -> Box<Disagreement> {
        let remedy = format!(
            "equal runs have equal results on every machine: one of the two folders was changed, \
             or a machine computes incorrectly. Repeat the shards of {first} and {second} in new \
             folders, and merge those"
        );
        self.told(run, first, format!("in {second}"), remedy)
    }

    /// Returns the error for a `run` that differs from its repetition on this machine.
    fn beside_here(self, run: String, name: &str) -> Box<Disagreement> {
        let remedy = format!(
            "{name} was changed after its runs were done, or made on a machine that computes \
             differently: repeat its shard, preferably on this machine, and merge that"
        );
        self.told(run, name, "when repeated here".to_owned(), remedy)
    }

    fn told(self, run: String, first: &str, second: String, remedy: String) -> Box<Disagreement> {
        Box::new(Disagreement {
            run,
            measure: self.measure,
            one: self.one,
            first: first.to_owned(),
            other: self.other,
            second,
            remedy,
        })
    }
}

#[cfg(test)]
mod tests;
