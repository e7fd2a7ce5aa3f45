//! The runs of an experiment, cell by cell, and views of them with copied runs.

use std::collections::BTreeMap;

use crate::Observe;
use crate::campaign::{Fixed, may_grow};
use crate::evidence::ExperimentResults;
use dupack_claims::{Cell, Facts};
use dupack_lab::results::{Results, Run};

/// An experiment: the runs of its file, and the runs added later.
pub(super) struct Field<'r> {
    pub(super) part: &'r ExperimentResults,
    /// Number of seeds in the experiment's file, if there may be more.
    pub(super) seeds: Result<u64, Fixed>,
    /// Facts read from the runs of the file.
    pub(super) facts: Facts,
    /// `true` if facts were read from each run.
    is_read: bool,
    /// The results without runs.
    bare: Results,
    /// Added runs, by cell.
    more: BTreeMap<Cell, Vec<Run>>,
    /// Facts read from the added runs.
    more_facts: Vec<Facts>,
    /// Multiples of the file's seeds, for cells with added runs.
    times: BTreeMap<Cell, u32>,
}

/// Runs of a cell in a view: the runs of the first `times` multiples of the file's seeds, `copies` times each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) times: u32,
    pub(super) copies: u32,
}

impl Weight {
    pub(super) const fn once(times: u32) -> Self {
        Self { times, copies: 1 }
    }
}

impl<'r> Field<'r> {
    pub(super) fn new(part: &'r ExperimentResults, observe: Observe, facts: Facts) -> Self {
        let mut bare = part.results.clone();
        bare.runs.clear();
        Self {
            part,
            seeds: may_grow(observe, &part.results.experiment),
            facts,
            is_read: observe == Observe::Facts,
            bare,
            more: BTreeMap::new(),
            more_facts: Vec::new(),
            times: BTreeMap::new(),
        }
    }

    /// Returns all cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = Cell> + use<> {
        let stacks = self.bare.stacks.len();
        (0..self.bare.points.len()).flat_map(move |point| (0..stacks).map(move |s| (point, s)))
    }

    /// Returns the number of seeds of a cell, as a multiple of the file's seeds.
    pub(super) fn times_of(&self, cell: Cell) -> u32 {
        self.times.get(&cell).copied().unwrap_or(1)
    }

    /// Adds runs to cells. The multiple of each cell becomes the multiple to which the highest seed of its runs
    /// belongs.
    pub(super) fn keep(&mut self, part: ExperimentResults) {
        let seeds = self.seeds.unwrap_or(1).max(1);
        let runs = part.results.runs;
        let read = part.read.iter().flat_map(|facts| &facts.0);
        let read =
            read.flat_map(|fact| fact.values.iter().map(|(p, s, seed, _)| ((*p, *s), *seed)));
        let run = runs.iter().map(|run| ((run.point, run.stack), run.seed));
        for (cell, seed) in run.chain(read) {
            let times = u32::try_from(seed.div_ceil(seeds)).unwrap_or(u32::MAX);
            let own = self.times.entry(cell).or_insert(1);
            *own = times.max(*own);
        }
        for run in runs {
            self.more
                .entry((run.point, run.stack))
                .or_default()
                .push(run);
        }
        self.more_facts.extend(part.read);
    }

    /// Returns the results and facts of these cells only. Each copy of a run gets a new seed. Copies of runs with the
    /// same seed get the same new seed.
    pub(super) fn view(&self, cells: &[(Cell, Weight)]) -> (Results, Facts) {
        let mut results = self.bare.clone();
        for &(cell, weight) in cells {
            let block = self.block(weight);
            for copy in 0..u64::from(weight.copies) {
                let own = self.runs_of(cell, weight).cloned();
                results.runs.extend(own.map(|run| Run {
                    seed: run.seed + copy * block,
                    ..run
                }));
            }
        }
        (results, self.facts_of(cells))
    }

    /// Returns the number of seeds that are copied as a block.
    fn block(&self, weight: Weight) -> u64 {
        self.seeds.unwrap_or(0) * u64::from(weight.times)
    }

    fn runs_of(&self, cell: Cell, weight: Weight) -> impl Iterator<Item = &Run> {
        let of_file = &self.part.results.runs;
        let place = |run: &Run| (run.point, run.stack);
        let from = of_file.partition_point(|run| place(run) < cell);
        let to = of_file.partition_point(|run| place(run) <= cell);
        let block = self.block(weight);
        let more = self.more.get(&cell).into_iter().flatten();
        let more = more.filter(move |run| run.seed <= block);
        of_file[from..to].iter().chain(more)
    }

    fn facts_of(&self, cells: &[(Cell, Weight)]) -> Facts {
        let mut facts = self.facts.clone();
        if !self.is_read {
            return facts;
        }
        let weights: BTreeMap<Cell, Weight> = cells.iter().copied().collect();
        for (n, fact) in facts.0.iter_mut().enumerate() {
            let more = self.more_facts.iter().filter_map(|facts| facts.0.get(n));
            let more: Vec<_> = more.flat_map(|fact| fact.values.iter().cloned()).collect();
            let there_are = std::mem::take(&mut fact.values).into_iter().chain(more);
            for (point, stack, seed, value) in there_are {
                let Some(&weight) = weights.get(&(point, stack)) else {
                    continue;
                };
                let block = self.block(weight);
                let copies = 0..u64::from(weight.copies);
                let copies = copies.filter(|_| self.seeds.is_err() || seed <= block);
                let seeds = copies.map(|copy| seed + copy * block);
                let copied = seeds.map(|seed| (point, stack, seed, value.clone()));
                fact.values.extend(copied);
            }
            fact.values
                .sort_by_key(|(point, stack, seed, _)| (*point, *stack, *seed));
        }
        facts
    }
}
