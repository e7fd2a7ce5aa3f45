//! What more runs would tell: the verdict by copies of the runs that there are. It takes the runs for
//! what they are drawn from, as their intervals do.

use std::collections::{BTreeMap, BTreeSet};

use super::field::Weight;
use super::{Case, Docket, PACKETS_MAX, Place, Step, TIMES, Why};
use crate::campaign::Fixed;

/// So many runs are copied at the most: they are all in memory.
const COPIED_MAX: u64 = 300_000;

/// What more runs would tell of a claim.
pub(super) struct Projection<'d> {
    pub(super) docket: &'d Docket<'d>,
    pub(super) claim: usize,
    pub(super) case: &'d Case,
}

/// What is to be expected of more seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// With more for these cells the claim would be decided.
    Decided(Step),
    /// Not even so many times the seeds would decide.
    Beyond(u32),
    /// There can be no more.
    Fixed(Fixed),
    /// The runs do not show what it is about.
    NotShown,
}

impl Outlook {
    /// Why a claim stays open of which this is the outlook.
    pub(super) const fn why(&self) -> Option<Why> {
        match self {
            Self::Decided(step) => Some(Why::Needs(step.times)),
            Self::Beyond(times) => Some(Why::Beyond(*times)),
            Self::Fixed(fixed) => Some(Why::Fixed(*fixed)),
            Self::NotShown => None,
        }
    }
}

/// What of a claim goes as one: it gets more seeds, or does not.
#[derive(Clone, Copy)]
enum Unit {
    /// The stacks of a point, which are paired by seed.
    Points,
    /// A stack at a point. Paired are the seeds that both have.
    Cells,
    /// A stack at all points of all experiments: where samples are pooled, a point that has more of
    /// them counts for more.
    Stacks,
}

impl Projection<'_> {
    /// What is done for the claim: what it needs, or as much of it as its cost allows; the least that is done is
    /// done once whatever it costs.
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

    /// The least number of seeds that would decide the claim, and the cells that need them.
    pub(super) fn outlook(&self) -> Outlook {
        let fields = &self.docket.fields;
        let may_grow = |place: &&Place| fields[place.0].seeds.is_ok();
        let all: BTreeSet<Place> = self.case.places.iter().filter(may_grow).copied().collect();
        if all.is_empty() {
            let first = self.case.places.first();
            let fixed = first.and_then(|place| fields[place.0].seeds.err());
            return fixed.map_or(Outlook::NotShown, Outlook::Fixed);
        }
        // What was not enough the last time probably is not yet, and its runs are paired as they are.
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

    /// Whether the claim would be decided if these cells had so many times the seeds: each has the runs
    /// that there are so often.
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

    /// Those of `places` without which the claim would not be decided.
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

    /// The least number of times the seeds that one of `places` has.
    fn least(&self, places: &BTreeSet<Place>) -> u32 {
        let times = places.iter().map(|place| self.case.times_of(place));
        times.min().unwrap_or(1)
    }

    /// How many runs there would be of `places` with so many times the seeds.
    fn copied(&self, places: &BTreeSet<Place>, times: u32) -> u64 {
        let seeds = places.iter().map(|(n, _)| self.seeds(*n));
        seeds.sum::<u64>() * u64::from(times)
    }

    /// About how many packets the runs send that are new if `places` have so many times the seeds.
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
