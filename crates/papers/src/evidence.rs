//! Results of a paper's experiments, and queries for the judgement of claims.

use dupack_claims::Facts;
use dupack_lab::results::{Measure, Results};
use dupack_lab::run::{Course, Job};
use dupack_lab::stats::{Summary, paired_ratio};
use dupack_lab::trace::Trace;

/// Reads the facts of an experiment that its measures do not contain. Without results, returns the names of the facts
/// without values.
pub(crate) type ReadFacts = fn(&str, Option<&ExperimentResults>) -> Facts;

/// Results of all experiments of a paper.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Results of each experiment, in the order of the paper's list.
    pub parts: Vec<ExperimentResults>,
}

/// Results of one experiment.
#[derive(Debug)]
pub struct ExperimentResults {
    /// Name of the experiment.
    pub name: &'static str,
    /// Measures of the runs. Contains no runs if packets were recorded instead.
    pub results: Results,
    /// Recorded runs, sorted by point, stack and seed.
    pub traces: Vec<Traced>,
    /// Runs that were followed over time: the runs of the first seed, if series were requested.
    pub followed: Vec<Followed>,
    /// Facts read from each run, in the order of point, stack and seed, if the packets were not kept.
    pub read: Vec<Facts>,
}

/// A run followed over time.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Point, stack and seed of the run.
    pub job: Job,
    /// The first compared flow over time.
    pub course: Course,
}

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Point, stack and seed of the run.
    pub job: Job,
    /// Recorded events of the run.
    pub trace: Trace,
}

impl ExperimentResults {
    /// Creates results that contain only measures.
    #[must_use]
    pub const fn new(name: &'static str, results: Results) -> Self {
        Self {
            name,
            results,
            traces: Vec::new(),
            followed: Vec::new(),
            read: Vec::new(),
        }
    }

    /// Returns the facts of this experiment: the facts that were read from its runs, or the facts that `facts` reads
    /// now.
    pub(crate) fn facts(&self, facts: ReadFacts) -> Facts {
        if self.read.is_empty() {
            return facts(self.name, Some(self));
        }
        let mut all = facts(self.name, None);
        for one in &self.read {
            for (all, one) in all.0.iter_mut().zip(&one.0) {
                all.values.extend(one.values.iter().cloned());
            }
        }
        all
    }

    /// Returns the number of runs that are missing because the campaign was interrupted.
    #[must_use]
    pub fn missing(&self) -> usize {
        let kept = self.traces.len() + self.read.len();
        self.results.missing().saturating_sub(kept)
    }

    /// Returns the trace of `stack` at `point`.
    #[must_use]
    pub fn trace(&self, point: usize, stack: usize) -> Option<&Trace> {
        self.traces
            .iter()
            .find(|traced| traced.job.point == point && traced.job.stack == stack)
            .map(|traced| &traced.trace)
    }

    /// Returns the first compared flow of a cell over time.
    #[must_use]
    pub fn course(&self, at: At) -> Option<&Course> {
        self.followed
            .iter()
            .find(|f| f.job.point == at.point && f.job.stack == at.stack)
            .map(|followed| &followed.course)
    }
}

impl Evidence {
    /// Returns the results of the experiment `name`.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&ExperimentResults> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// Returns the number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        let of = |part: &ExperimentResults| {
            part.results.runs.len() + part.traces.len() + part.read.len()
        };
        self.parts.iter().map(of).sum()
    }

    /// Returns the number of planned runs.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.parts.iter().map(|part| part.results.planned).sum()
    }

    /// Returns the number of runs that are missing because the campaign was interrupted.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.parts.iter().map(ExperimentResults::missing).sum()
    }
}

/// A cell of an experiment: a stack at a point of the sweep, each by its index in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Index of the point.
    pub point: usize,
    /// Index of the stack.
    pub stack: usize,
}

impl ExperimentResults {
    /// Returns a measure of a cell, summarized over the seeds.
    #[must_use]
    pub fn summary(&self, at: At, measure: Measure) -> Option<Summary> {
        let samples = self.results.samples(at.point, at.stack, measure);
        let values: Vec<f64> = samples.map(|(_, value)| value).collect();
        Summary::of(&values)
    }

    /// Returns a measure of a stack at every point, in order, or `None` if a value is missing.
    #[must_use]
    pub fn curve(&self, stack: usize, measure: Measure) -> Option<Vec<Summary>> {
        (0..self.results.points.len())
            .map(|point| self.summary(At { point, stack }, measure))
            .collect()
    }

    /// Returns the ratio of a measure between two stacks at a point, paired by seed.
    #[must_use]
    pub fn ratio(&self, at: At, base: usize, measure: Measure) -> Option<Summary> {
        let bases: Vec<(u64, f64)> = self.results.samples(at.point, base, measure).collect();
        let others: Vec<(u64, f64)> = self.results.samples(at.point, at.stack, measure).collect();
        let pairs = bases.iter().filter_map(|(seed, value)| {
            let (_, other) = others.iter().find(|(s, _)| s == seed)?;
            Some((*value, *other))
        });
        let (bases, others): (Vec<f64>, Vec<f64>) = pairs.unzip();
        paired_ratio(&bases, &others).ratio
    }

    /// Returns the ratio of a measure between two stacks at every point, or `None` if a value is missing.
    #[must_use]
    pub fn ratios(&self, stack: usize, base: usize, measure: Measure) -> Option<Vec<Summary>> {
        (0..self.results.points.len())
            .map(|point| self.ratio(At { point, stack }, base, measure))
            .collect()
    }
}
