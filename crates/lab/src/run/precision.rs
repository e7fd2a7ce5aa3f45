//! Additional seeds until a precision is reached: `precision = "2%"`.
//!
//! If the goodput of a stack at a point is not precise enough after the first seeds, the point gets more seeds in
//! rounds. All stacks get the same seeds. The number of seeds of a round follows from the spread so far, and is at most
//! four times the current number. Decisions are based on complete rounds, so they do not depend on the order in which
//! runs finish. The rule decides by the same intervals that it then reports, so these contain the true mean slightly
//! less often than 95 % of the time (Chow and Robbins 1965: the effect decreases with the number of seeds).

use super::check::{self, fail};
use super::plan::{Job, Plan};
use crate::experiment::load::{ExperimentError, Source};
use crate::experiment::{Experiment, Seeds};
use crate::results::{Measure, Results};
use crate::units::Probability;

/// Default maximum number of seeds.
const SEEDS_MAX: u32 = 200;

/// Minimum ratio of the numbers of seeds of successive rounds.
const LEAST_GROWTH: f64 = 1.25;
/// Maximum ratio of the numbers of seeds of successive rounds. The spread of few seeds is only a rough estimate.
const MOST_GROWTH: f64 = 4.0;

/// Stopping rule for additional seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Precision {
    /// Maximum half width of each interval, relative to the mean.
    share: Probability,
    seeds_max: usize,
}

/// A stack whose goodput is not precise enough.
struct Coarse {
    stack: usize,
    /// Half width of the confidence interval, relative to the mean. Infinite without an interval.
    share: f64,
}

impl Precision {
    /// Returns the rule that `e` specifies, if any.
    pub(super) fn of(e: &Experiment, source: &Source) -> Result<Option<Self>, ExperimentError> {
        let Some(share) = e.precision else {
            return match e.seeds_max {
                None => Ok(None),
                Some(_) => fail(
                    source,
                    "seeds_max",
                    "without `precision`, the number of seeds is `seeds`".to_owned(),
                    "add precision = \"2%\", for example, or remove seeds_max",
                ),
            };
        };
        if share.as_fraction() == 0.0 {
            let message = "no number of seeds reaches a precision of 0%".to_owned();
            return fail(source, "precision", message, "for example \"2%\"");
        }
        let Seeds::Count(first) = e.seeds else {
            let message =
                "`precision` adds seeds, so it cannot be combined with a list of seeds".to_owned();
            return fail(
                source,
                "seeds",
                message,
                "give a number of seeds: seeds = 10",
            );
        };
        let seeds_max = e.seeds_max.unwrap_or(SEEDS_MAX.max(first));
        if seeds_max < first {
            let message = format!("`seeds` is {first}, but `seeds_max` is only {seeds_max}");
            return fail(source, "seeds_max", message, "at least as many as `seeds`");
        }
        check::number_of_seeds(seeds_max, "seeds_max", source)?;
        Ok(Some(Self {
            share,
            seeds_max: seeds_max as usize,
        }))
    }

    /// Returns the maximum number of seeds of a point.
    pub(super) const fn seeds_max(self) -> usize {
        self.seeds_max
    }

    /// Returns the next number of seeds of `point` if the current number `has` is too small and more are allowed.
    pub(super) fn wanted(self, results: &Results, point: usize, has: usize) -> Option<usize> {
        let coarsest = self.coarse(results, point);
        let coarsest = coarsest.iter().map(|coarse| coarse.share);
        let coarsest = coarsest.max_by(f64::total_cmp)?;
        // Half widths decrease with the square root of the number of seeds.
        let times = (coarsest / self.share.as_fraction()).powi(2);
        let times = times.clamp(LEAST_GROWTH, MOST_GROWTH);
        let next = (has as f64 * times).ceil() as usize;
        let next = next.max(has + 1).min(self.seeds_max);
        (next > has).then_some(next)
    }

    /// Returns the stacks that are not precise enough at `point`. If every seed gives the same run, more seeds add no
    /// information.
    fn coarse(self, results: &Results, point: usize) -> Vec<Coarse> {
        let stacks = 0..results.stacks.len();
        let stacks = stacks.filter(|stack| !results.is_without_chance(point, *stack));
        let shares = stacks.filter_map(|stack| {
            let summary = results.summary(point, stack, Measure::Goodput)?;
            let share = match summary.half_width_95 {
                // Without variation the share is zero, even if the mean is zero.
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

    /// Describes by how much `point` misses the precision.
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

    /// Returns the note for points that missed the precision with the maximum number of seeds.
    pub(super) fn shortfall(self, missed: impl Iterator<Item = String>) -> Option<String> {
        let missed: Vec<String> = missed.collect();
        (!missed.is_empty()).then(|| {
            format!(
                "With {} seeds the precision of {} was not reached everywhere ({}).",
                self.seeds_max,
                self.share,
                missed.join("; ")
            )
        })
    }
}

impl Plan {
    /// Returns the additional runs that the experiment's precision requires. There are none if the experiment specifies
    /// no precision or has reached it. Point 0 of `results` is the point `first` of the plan. `begun` is the number of
    /// seeds that each point has had, including seeds whose runs were given up. This method updates `begun`.
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

    /// Returns the note for results that missed the experiment's precision.
    #[must_use]
    pub fn shortfall(&self, results: &Results) -> Option<String> {
        let points = 0..results.points.len();
        self.shortfall_of(points.filter_map(|point| self.missed(results, point)))
    }

    /// Describes by how much `point` of `results` misses the experiment's precision.
    #[must_use]
    pub fn missed(&self, results: &Results, point: usize) -> Option<String> {
        self.precision?.missed(results, point)
    }

    /// Returns the note for points that [`missed`](Self::missed) the experiment's precision.
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

    /// Creates results in which the runs of each stack have these goodputs, one per seed.
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
                    // Runs with the same goodput have the same hash, so they count as the same run.
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
    fn precision_is_the_half_width_relative_to_the_mean() {
        // The values 9, 10 and 11 have a standard deviation of 1. With t = 4.303 for two degrees of freedom, the half
        // width is 4.303/√3 = 2.484, on a mean of 10.
        let spread: &[f64] = &[9.0, 10.0, 11.0];
        let same: &[f64] = &[5.0; 3];
        assert_eq!(wanted("24.9%", 100, [spread, same]), None);
        // (24.84/24.8)² is slightly more than 1. The minimum growth of a quarter gives 3.75 seeds, rounded up to 4.
        assert_eq!(wanted("24.8%", 100, [spread, same]), Some(4));
        // (24.84/15)² = 2.74 times as many seeds are needed.
        assert_eq!(wanted("15%", 100, [same, spread]), Some(9));
        // The next number of seeds is at most four times the current number, and at most `seeds_max`.
        assert_eq!(wanted("1%", 100, [spread, same]), Some(12));
        assert_eq!(wanted("1%", 8, [spread, same]), Some(8));
        assert_eq!(wanted("1%", 3, [spread, same]), None);
    }

    #[test]
    fn identical_runs_need_no_more_seeds() {
        assert_eq!(wanted("1%", 100, [&[5.0; 3], &[7.0; 3]]), None);
        assert_eq!(wanted("1%", 100, [&[0.0; 3], &[7.0; 3]]), None);
        // One seed has no interval.
        assert_eq!(wanted("1%", 100, [&[5.0], &[7.0]]), Some(4));
    }

    #[test]
    fn invalid_precisions_are_errors() {
        for (head, part) in [
            ("precision = \"0%\"\n", "0%"),
            ("seeds_max = 20\n", "without `precision`"),
            ("precision = \"2%\"\nseeds = [1, 2]\n", "list of seeds"),
            (
                "precision = \"2%\"\nseeds = 10\nseeds_max = 5\n",
                "`seeds_max` is only 5",
            ),
            ("precision = \"2%\"\nseeds_max = 1000000\n", "100000"),
        ] {
            let error = plan(head, "").unwrap_err();
            assert!(error.contains(part), "{head}: {error}");
        }
        // Runs are the same for any number of seeds.
        let print = |head: &str| {
            let plan = plan(head, "").unwrap();
            plan.fingerprint(plan.jobs()[0])
        };
        assert_eq!(print("precision = \"2%\"\nseeds_max = 20\n"), print(""));
        let swept = plan("", "[sweep]\nprecision = [\"1%\", \"2%\"]\n").unwrap_err();
        assert!(swept.contains("cannot be swept"), "{swept}");
    }
}
