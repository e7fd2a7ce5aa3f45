//! Projections: the verdict that more runs would give. It is found by copying the existing runs. A projection assumes
//! that these runs represent the population, as their confidence intervals do.

use std::collections::{BTreeMap, BTreeSet};

use super::field::Weight;
use super::{Case, Docket, PACKETS_MAX, Place, Step, TIMES, Why};
use crate::campaign::Fixed;

/// Maximum number of copied runs, which are all in memory.
const COPIED_MAX: u64 = 300_000;

/// Projection for a claim.
pub(super) struct Projection<'d> {
    pub(super) docket: &'d Docket<'d>,
    pub(super) claim: usize,
    pub(super) case: &'d Case,
}

/// Expected effect of more seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// More seeds for these cells would decide the claim.
    Decided(Step),
    /// Even this multiple of the seeds would not decide the claim.
    Beyond(u32),
    /// There can be no more runs.
    Fixed(Fixed),
    /// The claim has no cells: the runs do not contain its quantities.
    NotShown,
}

impl Outlook {
    /// Returns the reason why a claim with this outlook stays open.
    pub(super) const fn why(&self) -> Option<Why> {
        match self {
            Self::Decided(step) => Some(Why::Needs(step.times)),
            Self::Beyond(times) => Some(Why::Beyond(*times)),
            Self::Fixed(fixed) => Some(Why::Fixed(*fixed)),
            Self::NotShown => None,
        }
    }
}

/// Cells of a claim that get more seeds together.
#[derive(Clone, Copy)]
enum Unit {
    /// All stacks at a point, which are paired by seed.
    Points,
    /// A single stack at a point. Only seeds that both stacks have are paired.
    Cells,
    /// A stack at all points of all experiments. If samples are pooled, a point with more samples would have more
    /// weight.
    Stacks,
}

impl Projection<'_> {
    /// Returns the next step: the seeds that the claim needs, or as many as its cost limit allows. The smallest step is
    /// taken once, even if it exceeds the limit.
    pub(super) fn step(&self) -> Option<Step> {
        let Outlook::Decided(needed) = self.outlook() else {
            return None;
        };
        let least = self.least(&needed.places);
        let fitting = TIMES.into_iter().rev();
        let mut fitting = fitting.filter(|&times| least < times && times <= needed.times);
        let affordable = fitting.find(|&times| self.packets(&needed.places, times) <= PACKETS_MAX);
        let times = affordable.or_else(|| (self.case.looks == 0).then_some(TIMES[0]))?;
        Some(Step { times, ..needed })
    }

    /// Returns the minimum number of seeds that would decide the claim, and the cells that need them.
    pub(super) fn outlook(&self) -> Outlook {
        let fields = &self.docket.fields;
        let may_grow = |place: &&Place| fields[place.0].seeds.is_ok();
        let all: BTreeSet<Place> = self.case.places.iter().filter(may_grow).copied().collect();
        if all.is_empty() {
            let first = self.case.places.first();
            let fixed = first.and_then(|place| fields[place.0].seeds.err());
            return fixed.map_or(Outlook::NotShown, Outlook::Fixed);
        }
        // The cells that have already grown are tried first, because their runs stay paired. A multiple that failed
        // before probably fails again.
        let grown: BTreeSet<Place> = self.case.times.keys().copied().collect();
        let mut tried = self.case.times.values().copied().max().unwrap_or(1);
        for times in TIMES {
            for from in [&grown, &all] {
                let more = !from.is_empty() && self.least(from) < times;
                if !more || self.copied(from, times) > COPIED_MAX {
                    continue;
                }
                tried = tried.max(times);
                if self.decides(from, times) {
                    let places = self.lean(from.clone(), times);
                    return Outlook::Decided(Step { times, places });
                }
            }
        }
        Outlook::Beyond(tried)
    }

    /// Returns `true` if the claim would be decided with this multiple of the seeds for the cells in `grown`. Each of
    /// these cells gets copies of its own runs.
    fn decides(&self, grown: &BTreeSet<Place>, times: u32) -> bool {
        let weights = self.case.places.iter().map(|place| {
            let there_are = self.case.times_of(place);
            let copies = match grown.contains(place) {
                true => (times / there_are).max(1),
                false => 1,
            };
            let times = there_are;
            (*place, Weight { times, copies })
        });
        let docket = self.docket;
        docket.within(&weights.collect(), |world| {
            docket.bench.decides(self.claim, world)
        })
    }

    /// Returns `places` without the cells that do not need more seeds for a decision.
    fn lean(&self, mut places: BTreeSet<Place>, times: u32) -> BTreeSet<Place> {
        let units: &[Unit] = if self.case.pools {
            &[Unit::Stacks]
        } else {
            &[Unit::Points, Unit::Cells]
        };
        for &unit in units {
            let mut size = self.units(&places, unit).len().div_ceil(2);
            while size > 0 {
                for some in self.units(&places, unit).chunks(size) {
                    let some: BTreeSet<Place> = some.iter().flatten().copied().collect();
                    let rest: BTreeSet<Place> = places.difference(&some).copied().collect();
                    if !rest.is_empty() && self.decides(&rest, times) {
                        places = rest;
                    }
                }
                size /= 2;
            }
        }
        places
    }

    fn units(&self, places: &BTreeSet<Place>, unit: Unit) -> Vec<Vec<Place>> {
        let mut units: BTreeMap<(usize, usize, &str), Vec<Place>> = BTreeMap::new();
        for &place in places {
            let (n, (point, stack)) = place;
            let stack = self.docket.fields[n].part.results.stacks[stack].as_str();
            let unit = match unit {
                Unit::Points => (n, point, ""),
                Unit::Cells => (n, point, stack),
                Unit::Stacks => (0, 0, stack),
            };
            units.entry(unit).or_default().push(place);
        }
        units.into_values().collect()
    }

    /// Returns the minimum multiple of the seeds among `places`.
    fn least(&self, places: &BTreeSet<Place>) -> u32 {
        let times = places.iter().map(|place| self.case.times_of(place));
        times.min().unwrap_or(1)
    }

    /// Returns the number of runs of `places` with this multiple of the seeds.
    fn copied(&self, places: &BTreeSet<Place>, times: u32) -> u64 {
        let seeds = places.iter().map(|(n, _)| self.seeds(*n));
        seeds.sum::<u64>() * u64::from(times)
    }

    /// Returns the approximate number of packets in the additional runs if `places` have this multiple of the seeds.
    fn packets(&self, places: &BTreeSet<Place>, times: u32) -> u64 {
        let new = places.iter().map(|place| {
            let (n, cell) = *place;
            let name = self.docket.fields[n].part.name;
            let more = times.saturating_sub(self.case.times_of(place));
            u64::from(more) * self.seeds(n) * self.docket.full.packets(name, cell)
        });
        new.sum()
    }

    fn seeds(&self, field: usize) -> u64 {
        self.docket.fields[field].seeds.unwrap_or(0)
    }
}
