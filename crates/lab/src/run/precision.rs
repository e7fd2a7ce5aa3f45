//! As many seeds as a precision takes: `precision = "2%"`.
//!
//! After the first seeds, points at which the goodput of a stack is not yet known well enough get
//! more, all stacks alike, in rounds: as many as the spread so far asks for, at most four times as many
//! as there are. What is decided rests on whole rounds, so that it does not depend on which run was
//! finished first. As the rule looks at the intervals that it then reports, they hold the truth a
//! little less often than 95 % of the time (Chow and Robbins 1965: the less, the more seeds).

use super::check::{self, fail};
use super::plan::{Job, Plan};
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::{Experiment, Seeds};
use crate::results::{Measure, Results};
use crate::units::Probability;

/// The most seeds if the file says nothing.
const SEEDS_MAX: u32 = 200;

/// A round has at least this share more seeds than the one before, …
const LEAST_GROWTH: f64 = 1.25;
/// … and at most this many times as many, as the spread of few seeds is a guess.
const MOST_GROWTH: f64 = 4.0;

/// Until when there are more seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Precision {
    /// What the half width of each interval may be, as asked for.
    share: Probability,
    seeds_max: usize,
}

/// A stack that is not known well enough.
struct Coarse {
    stack: usize,
    /// Half its interval as a share of its mean; infinite without an interval.
    share: f64,
}

impl Precision {
    /// What `e` asks for.
    pub(super) fn of(e: &Experiment, source: &Source) -> Result<Option<Self>, ExperimentError> {
        let Some(share) = e.precision else {
            return match e.seeds_max {
                None => Ok(None),
                Some(_) => fail(
                    source,
                    "seeds_max",
                    "without a precision there are as many seeds as `seeds` says".to_owned(),
                    "add precision = \"2%\", for example, or leave seeds_max out",
                ),
            };
        };
        if share.as_fraction() == 0.0 {
            let message = "no number of seeds has a precision of 0%".to_owned();
            return fail(source, "precision", message, "for example \"2%\"");
        }
        let Seeds::Count(first) = e.seeds else {
            let message = "a precision adds seeds, and these are listed one by one".to_owned();
            return fail(source, "seeds", message, "give their number: seeds = 10");
        };
        let seeds_max = e.seeds_max.unwrap_or(SEEDS_MAX.max(first));
        if seeds_max < first {
            let message = format!("there are {first} seeds to begin with, and at most {seeds_max}");
            return fail(source, "seeds_max", message, "at least as many as `seeds`");
        }
        check::number_of_seeds(seeds_max, "seeds_max", source)?;
        Ok(Some(Self {
            share,
            seeds_max: seeds_max as usize,
        }))
    }

    /// The most seeds that a point may have.
    pub(super) const fn seeds_max(self) -> usize {
        self.seeds_max
    }

    /// How many seeds `point` is to have next, if the `has` that it has had are too few and more are
    /// allowed.
    pub(super) fn wanted(self, results: &Results, point: usize, has: usize) -> Option<usize> {
        let coarsest = self.coarse(results, point);
        let coarsest = coarsest.iter().map(|coarse| coarse.share);
        let coarsest = coarsest.max_by(f64::total_cmp)?;
        // Half widths shrink with the root of the number of seeds.
        let times = (coarsest / self.share.as_fraction()).powi(2);
        let times = times.clamp(LEAST_GROWTH, MOST_GROWTH);
        let next = (has as f64 * times).ceil() as usize;
        let next = next.max(has + 1).min(self.seeds_max);
        (next > has).then_some(next)
    }

    /// The stacks that are not known well enough at `point`. Where every seed gives the same run, more
    /// seeds tell nothing more.
    fn coarse(self, results: &Results, point: usize) -> Vec<Coarse> {
        let stacks = 0..results.stacks.len();
        let stacks = stacks.filter(|stack| !results.is_without_chance(point, *stack));
        let shares = stacks.filter_map(|stack| {
            let summary = results.summary(point, stack, Measure::Goodput)?;
            let share = match summary.half_width_95 {
                // Nothing got across, for certain.
                Some(0.0) => 0.0,
                Some(half) => half / summary.mean,
                None => f64::INFINITY,
            };
            Some(Coarse { stack, share })
        });
        shares
            .filter(|coarse| coarse.share > self.share.as_fraction())
            .collect()
    }

    /// Where `point` misses the precision, and by how much, in words.
    pub(super) fn missed(self, results: &Results, point: usize) -> Option<String> {
        let coarse = self.coarse(results, point);
        let worst = coarse.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        let stack = &results.stacks[worst.stack];
        let label = results.points[point].label();
        let at = match label.as_str() {
            "" => stack.clone(),
            label => format!("{label}: {stack}"),
        };
        Some(match worst.share.is_finite() {
            true => format!("{at} ±{:.1} %", worst.share * 100.0),
            false => format!("{at} has no interval"),
        })
    }

    /// What there is to say where as many seeds as are allowed were too few.
    pub(super) fn shortfall(self, missed: impl Iterator<Item = String>) -> Option<String> {
        let missed: Vec<String> = missed.collect();
        (!missed.is_empty()).then(|| {
            format!(
                "With {} seeds the precision of {} is not reached everywhere ({}).",
                self.seeds_max,
                self.share,
                missed.join("; ")
            )
        })
    }
}

impl Plan {
    /// The runs that the experiment's precision takes beside those that there are: none if it asks for
    /// none, or has it. The first point of `results` is the `first` of the plan's. `begun` is how many seeds
    /// each of them has had, those whose runs were given up included; it is brought up to date.
    #[must_use]
    pub fn more_jobs(&self, results: &Results, first: usize, begun: &mut [u64]) -> Vec<Job> {
        let Some(rule) = self.precision else {
            return Vec::new();
        };
        let mut jobs = Vec::new();
        for (at, had) in begun.iter_mut().enumerate() {
            if let Some(wanted) = rule.wanted(results, at, *had as usize) {
                let seeds = *had + 1..=wanted as u64;
                jobs.extend(seeds.flat_map(|seed| self.jobs_of(first + at, seed)));
                *had = wanted as u64;
            }
        }
        jobs
    }

    /// What there is to say where the experiment's precision is not reached.
    #[must_use]
    pub fn shortfall(&self, results: &Results) -> Option<String> {
        let points = 0..results.points.len();
        self.shortfall_of(points.filter_map(|point| self.missed(results, point)))
    }

    /// Where `point` of `results` misses the experiment's precision, in words.
    #[must_use]
    pub fn missed(&self, results: &Results, point: usize) -> Option<String> {
        self.precision?.missed(results, point)
    }

    /// What there is to say of points that [`missed`](Self::missed) the experiment's precision.
    #[must_use]
    pub fn shortfall_of(&self, missed: impl Iterator<Item = String>) -> Option<String> {
        self.precision?.shortfall(missed)
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;

    use super::*;
    use crate::results::{Run, Values};
    use crate::run::Plan;

    const TEXT: &str = "stacks = [\"sack/reno\", \"rack/cubic\"]\nduration = \"5s\"\n\
        [path]\nrate = \"2Mbit/s\"\ndelay = \"10ms\"\n";

    fn source(head: &str, tail: &str) -> Source {
        Source::new("test.toml", format!("{head}{TEXT}{tail}"))
    }

    fn plan(head: &str, tail: &str) -> Result<Plan, String> {
        let source = source(head, tail);
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin());
        plan.map_err(|error| error.to_string())
    }

    /// Results in which each stack has these goodputs, a seed each.
    fn results(goodputs: [&[f64]; 2]) -> Results {
        let mut results = plan("", "").unwrap().empty_results();
        for (stack, goodputs) in goodputs.into_iter().enumerate() {
            for (seed, &goodput) in (1..).zip(goodputs) {
                let mut values = Values::default();
                values.set(Measure::Goodput, goodput);
                results.runs.push(Run {
                    point: 0,
                    stack,
                    seed,
                    values,
                    flow_goodputs: vec![goodput],
                    // Those of the same goodput are the same run.
                    trace_hash: goodput.to_bits(),
                });
            }
        }
        results
    }

    fn wanted(percent: &str, seeds_max: usize, goodputs: [&[f64]; 2]) -> Option<usize> {
        let rule = Precision {
            share: percent.parse().unwrap(),
            seeds_max,
        };
        let results = results(goodputs);
        rule.wanted(&results, 0, results.seeds_at(0).len())
    }

    #[test]
    fn it_is_half_the_interval_as_a_share_of_the_mean() {
        // 9, 10, 11: deviation 1, t = 4.303 for two degrees of freedom: 4.303/√3 = 2.484 on a mean of 10.
        let spread: &[f64] = &[9.0, 10.0, 11.0];
        let same: &[f64] = &[5.0; 3];
        assert_eq!(wanted("24.9%", 100, [spread, same]), None);
        // (24.84/24.8)² is hardly more than 1: a quarter more than three seeds, at least one.
        assert_eq!(wanted("24.8%", 100, [spread, same]), Some(4));
        // (24.84/15)² = 2.74 times as many.
        assert_eq!(wanted("15%", 100, [same, spread]), Some(9));
        // At most four times as many, and at most as many as allowed.
        assert_eq!(wanted("1%", 100, [spread, same]), Some(12));
        assert_eq!(wanted("1%", 8, [spread, same]), Some(8));
        assert_eq!(wanted("1%", 3, [spread, same]), None);
    }

    #[test]
    fn more_seeds_of_the_same_run_are_not_asked_for() {
        assert_eq!(wanted("1%", 100, [&[5.0; 3], &[7.0; 3]]), None);
        assert_eq!(wanted("1%", 100, [&[0.0; 3], &[7.0; 3]]), None);
        // One seed has no interval.
        assert_eq!(wanted("1%", 100, [&[5.0], &[7.0]]), Some(4));
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        for (head, part) in [
            ("precision = \"0%\"\n", "0%"),
            ("seeds_max = 20\n", "without a precision"),
            ("precision = \"2%\"\nseeds = [1, 2]\n", "one by one"),
            (
                "precision = \"2%\"\nseeds = 10\nseeds_max = 5\n",
                "at most 5",
            ),
            ("precision = \"2%\"\nseeds_max = 1000000\n", "100000"),
        ] {
            let error = plan(head, "").unwrap_err();
            assert!(error.contains(part), "{head}: {error}");
        }
        // Runs are the same however many there are.
        let print = |head: &str| {
            let plan = plan(head, "").unwrap();
            plan.fingerprint(plan.jobs()[0])
        };
        assert_eq!(print("precision = \"2%\"\nseeds_max = 20\n"), print(""));
        let swept = plan("", "[sweep]\nprecision = [\"1%\", \"2%\"]\n").unwrap_err();
        assert!(swept.contains("cannot be swept"), "{swept}");
    }
}
