//! What came out of a paper's experiments, and how a judge asks for it.

use dupack_claims::Facts;
use dupack_lab::results::{Measure, Results};
use dupack_lab::run::{Course, Job};
use dupack_lab::stats::{Summary, paired_ratio};
use dupack_lab::trace::Trace;

/// What a paper's Rust file makes of an experiment that measures do not show; of none, what it would.
pub(crate) type ReadFacts = fn(&str, Option<&Part>) -> Facts;

/// What came out of a paper's experiments.
#[derive(Debug, Default)]
pub struct Evidence {
    /// In the order of the paper's experiments.
    pub parts: Vec<Part>,
}

/// What came out of one experiment.
#[derive(Debug)]
pub struct Part {
    /// The experiment's name.
    pub name: &'static str,
    /// Its measures; without runs if packets were recorded instead.
    pub results: Results,
    /// Its recorded runs, sorted by point, stack and seed.
    pub traces: Vec<Traced>,
    /// Its runs that were followed over time: those of the first seed, if series were asked for.
    pub followed: Vec<Followed>,
    /// What was read off its runs, a run each in the order of point, stack and seed, if their packets
    /// were not kept.
    pub read: Vec<Facts>,
}

/// A run over time.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Which run.
    pub job: Job,
    /// Its first compared flow.
    pub course: Course,
}

/// A recorded run.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Which run.
    pub job: Job,
    /// What happened in it.
    pub trace: Trace,
}

impl Part {
    /// An experiment with what was measured of it, and nothing else.
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

    /// What `facts` makes of it, or made of each of its runs.
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

    /// Runs that are missing because the campaign was interrupted.
    #[must_use]
    pub fn missing(&self) -> usize {
        let kept = self.traces.len() + self.read.len();
        self.results.missing().saturating_sub(kept)
    }

    /// The trace of `stack` at `point`.
    #[must_use]
    pub fn trace(&self, point: usize, stack: usize) -> Option<&Trace> {
        self.traces
            .iter()
            .find(|traced| traced.job.point == point && traced.job.stack == stack)
            .map(|traced| &traced.trace)
    }

    /// The first compared flow of `stack` at `point` over time.
    #[must_use]
    pub fn course(&self, at: At) -> Option<&Course> {
        self.followed
            .iter()
            .find(|f| f.job.point == at.point && f.job.stack == at.stack)
            .map(|followed| &followed.course)
    }
}

impl Evidence {
    /// What came out of the experiment `name`.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// Runs that there should have been.
    #[must_use]
    pub fn planned(&self) -> usize {
        self.parts.iter().map(|part| part.results.planned).sum()
    }

    /// Runs that are missing because the campaign was interrupted.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.parts.iter().map(Part::missing).sum()
    }
}

/// One cell of an experiment: a stack at a point of the sweep, each by its place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The point.
    pub point: usize,
    /// The stack.
    pub stack: usize,
}

impl Part {
    /// A measure over the seeds of a cell.
    #[must_use]
    pub fn summary(&self, at: At, measure: Measure) -> Option<Summary> {
        let samples = self.results.samples(at.point, at.stack, measure);
        let values: Vec<f64> = samples.map(|(_, value)| value).collect();
        Summary::of(&values)
    }

    /// A measure of a stack at every point, in their order; nothing if one is missing.
    #[must_use]
    pub fn curve(&self, stack: usize, measure: Measure) -> Option<Vec<Summary>> {
        (0..self.results.points.len())
            .map(|point| self.summary(At { point, stack }, measure))
            .collect()
    }

    /// A measure of one stack over that of another at a point, paired by seed.
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

    /// A measure of one stack over that of another at every point; nothing if one is missing.
    #[must_use]
    pub fn ratios(&self, stack: usize, base: usize, measure: Measure) -> Option<Vec<Summary>> {
        (0..self.results.points.len())
            .map(|point| self.ratio(At { point, stack }, base, measure))
            .collect()
    }
}
