//! The runs of several journals, put together: what one machine would have done, done by many.

use std::collections::BTreeMap;

use miette::Diagnostic;
use thiserror::Error;

use dupack_lab::results::{Measure, Results, Run};
use dupack_lab::run::{Fingerprint, Interrupt, Plan};

use crate::execution::Execution;
use crate::journal::Stored;
use crate::ledger::{Ledger, id};
use crate::samples::samples;
use crate::set::Task;
use crate::shard::Shard;
use crate::split::Split;

/// The runs of a split, as far as journals hold them.
#[derive(Debug)]
pub struct Merge<'s> {
    split: &'s Split<'s>,
    /// What each journal is called.
    names: Vec<String>,
    /// What was found of each of the split's runs, and in which journal.
    found: Vec<Option<(Run, usize)>>,
}

/// The same run came out in two ways.
#[derive(Debug, Error, Diagnostic)]
#[error("{run}: {measure} is {one} in {first}, and {other} {second}")]
#[diagnostic(help("{remedy}"))]
pub struct Disagreement {
    /// Point, stack and seed in words.
    pub run: String,
    /// The first measure that differs.
    pub measure: String,
    /// Its value …
    pub one: String,
    /// … in this journal, …
    pub first: String,
    /// … its other value …
    pub other: String,
    /// … and where that is from.
    pub second: String,
    /// What to do.
    pub remedy: String,
}

impl<'s> Split<'s> {
    /// Puts together what `journals` hold, each with its name for people. A run that several hold is the
    /// same in all.
    ///
    /// # Errors
    /// If it is not.
    pub fn merge(&'s self, journals: &[(String, Stored)]) -> Result<Merge<'s>, Box<Disagreement>> {
        // Where each run is, so that many journals are not searched for each of many runs.
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
                let Some(run) = stored.find(&id, task.job) else {
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
    /// The runs that no journal holds, in words, by the shard that does them.
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

    /// Does the shortest run of each journal again, as long as that costs no more than a small part of
    /// all runs: the fingerprints say that the code was the same there; this says that what was made of it
    /// is. Where it is interrupted, it says nothing.
    ///
    /// # Errors
    /// If a run does not come out as it is held.
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
        // The first of them, whichever was done first.
        differing.sort_by_key(|(name, _)| *name);
        match differing.into_iter().next() {
            Some((_, disagreement)) => Err(disagreement),
            None => Ok(()),
        }
    }

    /// Returns the shortest run of each journal, the shortest of them first, until they cost too much; at least
    /// one.
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

    /// The results, the same to the last bit as of one execution of the plan; `None` if a run is
    /// missing.
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

/// Returns `task` in words.
fn words(plan: &Plan, task: Task) -> String {
    plan.words(task.job, task.purpose)
}

/// In what two runs differ first.
struct Difference {
    measure: String,
    one: String,
    other: String,
}

impl Difference {
    /// `None` if they are the same.
    fn of(one: &Run, other: &Run) -> Option<Self> {
        if one == other {
            return None;
        }
        let new = |measure: String, [one, other]: [String; 2]| Self {
            measure,
            one,
            other,
        };
        let words = |value: Option<f64>| value.map_or("not there".to_owned(), |v| v.to_string());
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
        Some(new("the hash of what happened".to_owned(), hashes))
    }

    /// `run` is held so in `first` and otherwise in `second`.
    fn between(self, run: String, first: &str, second: &str) -> Box<Disagreement> {
        let remedy = format!(
            "equal runs come out equal everywhere: one of the two was changed, or a machine computes wrongly. Do the \
             shards of {first} and {second} again in new folders, and merge those"
        );
        self.told(run, first, format!("in {second}"), remedy)
    }

    /// `run` is held so in `name`, and was otherwise when it was done again.
    fn beside_here(self, run: String, name: &str) -> Box<Disagreement> {
        let remedy = format!(
            "{name} was changed after its runs were done, or made on a machine that computes otherwise than this one: \
             do its shard again, best on this machine, and merge that"
        );
        self.told(run, name, "when it is done again here".to_owned(), remedy)
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
