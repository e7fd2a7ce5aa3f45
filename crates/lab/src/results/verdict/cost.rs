//! Verdicts in plain sentences.

use super::contrast::{Side, better_side, paired};
use super::limits::{HARM_MOST, Margins, WASTE_MOST_PERCENT};
use super::{Answer, Contest, JUDGED, Prefer};
use crate::results::measure::STANDING;
use crate::results::medium::{NO_ANSWER_HERE, SOUND_LEAST};
use crate::results::{Better, HarmRecord, Measure, Medium, Results};
use crate::significance::Family;
use crate::stats::{ratio, times};

impl Contest {
    /// Returns the gain and the costs of a stack: `2.89 × (2.85–2.94) the goodput of newreno/reno; takes 24 % of a
    /// CUBIC flow's goodput`. The costs are the measures by which another stack without excessive harm or waste is
    /// significantly better.
    #[must_use]
    pub fn sentence(&self, stack: usize) -> String {
        let mut parts: Vec<String> = self.gain(stack).into_iter().collect();
        let warnings = &self.stacks[stack].warnings;
        parts.extend(warnings.iter().map(ToString::to_string));
        let warned = !warnings.is_empty();
        let costs_goodput = self.is_won(0, stack, Measure::Goodput);
        let costs: Vec<String> = JUDGED
            .into_iter()
            .filter_map(|measure| self.cost(stack, measure))
            .collect();
        if costs.is_empty() && !warned && !costs_goodput {
            let seeds = self.contenders[stack].samples(Measure::Goodput).len();
            parts.push(format!("no significant cost over {seeds} seeds"));
        }
        parts.extend(costs);
        parts.join("; ")
    }

    /// Returns `true` if `one` is significantly better than `other` by `measure`.
    pub(super) fn is_won(&self, one: usize, other: usize, measure: Measure) -> bool {
        let here = self.contrast(one, other, measure);
        here.is_some_and(|c| c.is_won_by(one))
    }

    /// Compares the goodput with that of the first stack.
    fn gain(&self, stack: usize) -> Option<String> {
        let first = &self.contenders[0].name;
        let pairs = paired(
            &self.contenders[0],
            &self.contenders[stack],
            Measure::Goodput,
        );
        let (base, other): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let ratio = ratio(&base, &other)?;
        if stack == 0 {
            return Some("baseline of the comparison".to_owned());
        }
        let here = self.contrast(0, stack, Measure::Goodput);
        let (better, alone) = here.map_or((Side::Neither, Side::Neither), |c| (c.better, c.alone));
        if alone == Side::Neither {
            return Some(format!("no significant difference in goodput from {first}"));
        }
        let text = times(&ratio);
        let gain = match text.split_once(' ') {
            _ if ratio.reaches_zero => {
                let more = if ratio.mean > 1.0 { "more" } else { "less" };
                format!("{more} goodput than {first}, by an unknown factor")
            }
            Some((mean, interval)) => format!("{mean} × {interval} the goodput of {first}"),
            None => format!("{text} × the goodput of {first}"),
        };
        Some(match better {
            Side::Neither => format!("{gain}, but not significant among so many comparisons"),
            _ => gain,
        })
    }

    /// Describes how much worse `stack` is by `measure` than the best of the stacks that are significantly better.
    fn cost(&self, stack: usize, measure: Measure) -> Option<String> {
        let better = |other: &usize| {
            self.stacks[*other].warnings.is_empty() && self.is_won(*other, stack, measure)
        };
        let others = (0..self.stacks.len()).filter(|other| *other != stack);
        let others: Vec<usize> = others.filter(better).collect();
        let mean = |stack: usize| self.contenders[stack].mean(measure).unwrap_or(f64::NAN);
        let best = others.into_iter().reduce(|best, other| {
            let is_more = mean(other) > mean(best);
            match (better_side(measure) == Better::Higher) == is_more {
                true => other,
                false => best,
            }
        })?;
        let name = &self.contenders[best].name;
        // `gain` already reports the goodput relative to the first stack.
        if measure == Measure::Goodput && best == 0 {
            return None;
        }
        let (own, best) = (mean(stack), mean(best));
        let more = own - best;
        let warned = !self.stacks[stack].warnings.is_empty();
        Some(match measure {
            Measure::Goodput => format!("{:.2} × the goodput of {name}", own / best),
            // If the 95th percentile is also worse, only the percentile is reported.
            Measure::DelayMedian if self.cost(stack, Measure::DelayP95).is_some() => return None,
            Measure::DelayMedian => {
                format!("median queueing delay {own:.1} ms, {more:.1} ms above {name}")
            }
            Measure::DelayP95 => {
                format!("queueing delay {own:.1} ms (95th percentile), {more:.1} ms above {name}")
            }
            Measure::RetransmissionShare if warned => return None,
            Measure::RetransmissionShare => {
                format!("retransmits {own:.1} % of its segments, {name} {best:.1} %")
            }
            Measure::Timeouts => format!("{own:.1} timeouts per run, {name} {best:.1}"),
            Measure::Fairness => {
                format!("fairness among its own flows {own:.2}, {name} {best:.2}")
            }
            Measure::HarmGoodput if own > HARM_MOST => return None,
            Measure::HarmGoodput if own > 0.0 => {
                format!("takes {:.0} % of a CUBIC flow's goodput", own * 100.0)
            }
            Measure::HarmDelay if own > 0.0 => {
                format!("makes a CUBIC flow wait {own:.1} ms longer (95th percentile)")
            }
            // The stack is worse than another stack, but does not harm the competing flow.
            Measure::HarmGoodput | Measure::HarmDelay => return None,
            Measure::FramesInTime => {
                format!("{own:.1} % of video frames in time, {name} {best:.1} %")
            }
            Measure::StallTime => format!("video stalls for {own:.1} s, {name} {best:.1} s"),
            _ => return None,
        })
    }

    /// Returns the text that replaces a ★ if no stack has one.
    #[must_use]
    pub fn no_answer(&self) -> Option<String> {
        Some(match &self.answer {
            Answer::Stars(_) => return None,
            Answer::TooMany(front) => {
                let leads = Prefer::ALL.into_iter().filter_map(|prefer| {
                    let first = &self.contenders[self.first_by(prefer)?].name;
                    Some(format!("--prefer {} selects {first}", prefer.name()))
                });
                let leads: Vec<String> = leads.collect();
                format!(
                    "no answer by these measures: {} of {} stacks are undominated (☆). Choose a \
                     criterion: {}",
                    front.len(),
                    self.stacks.len(),
                    leads.join(", ")
                )
            }
            Answer::NotTold(front) => {
                let prefer = self.prefer.unwrap_or(Prefer::Goodput).name();
                format!(
                    "no answer by {prefer} either: {} of {} stacks are undominated and do not \
                     differ significantly from the best of them (☆). Use more seeds: --seeds, --precision",
                    front.len(),
                    self.stacks.len()
                )
            }
            Answer::SameRuns => {
                "no ★: every seed gave the same run, because nothing in it is random".to_owned()
            }
            Answer::SameRunsOf(stacks) => {
                let names = stacks.iter().map(|stack| &*self.contenders[*stack].name);
                format!(
                    "no ★: undominated, but with the same run for every seed, because nothing \
                     in it is random: {}",
                    names.collect::<Vec<_>>().join(", ")
                )
            }
            Answer::OneRun => "no ★: one run per stack shows no random variation".to_owned(),
            Answer::Alone => "no ★: there is no other stack to compare with".to_owned(),
            Answer::Nobody => {
                "no ★: every stack is dominated, or has excessive harm or waste".to_owned()
            }
            Answer::Worthless => NO_ANSWER_HERE.to_owned(),
            Answer::TooFew(few) => {
                let few = few.iter().map(|stack| {
                    let contender = &self.contenders[*stack];
                    let left = contender.samples(Measure::Goodput).len();
                    format!("{left} of {}", contender.name)
                });
                let few: Vec<String> = few.collect();
                format!(
                    "no answer: too few runs can be trusted (†): {}. Each stack needs at least \
                     {SOUND_LEAST}, and half of its runs",
                    few.join(", ")
                )
            }
        })
    }
}

/// Returns the rules of the verdicts on `results` in a few sentences: measures, thresholds and harm.
#[must_use]
pub fn rules(results: &Results) -> Vec<String> {
    rules_among(results, results.has_several_flows())
}

/// Returns the same rules for results that do not contain their runs. `several_flows` is `true` if the runs have
/// several flows.
#[must_use]
pub fn rules_among(results: &Results, several_flows: bool) -> Vec<String> {
    let mut rules = vec![
        format!(
            "★: undominated: no other stack is at least as good by all of these measures and \
             better by one: goodput, queueing delay (median and 95th percentile), retransmitted \
             share, timeouts{}{}. A stack is better if the paired difference over the seeds is \
             significant (t-test, 5 %, Holm's correction for all comparisons {}) and larger than \
             {}. It is not as good if a single comparison without correction finds it worse (5 %). \
             ≈: dominated, but not significantly different from the best by {}.",
            match several_flows {
                true => ", fairness among its own flows",
                false => "",
            },
            match results.harm {
                HarmRecord::Measured => ", harm (goodput and delay)",
                _ => "",
            },
            match (&results.family, results.points.len()) {
                (Family::Sweep(_), _) => "of the whole sweep",
                (Family::Point, ..2) => "at a point",
                (Family::Point, _) => "at a point, not over the sweep",
            },
            margins(results),
            match results.prefer.unwrap_or(Prefer::Goodput) {
                Prefer::Goodput => "goodput",
                Prefer::Delay => "delay (95th percentile)",
                Prefer::Friendly => "harm to goodput",
            },
        ),
        format!(
            "!: harm above {HARM_MOST}, or more than {WASTE_MOST_PERCENT} % of segments \
             retransmitted beyond link losses (thresholds of this project); never a ★."
        ),
    ];
    rules.push(harm(results));
    rules
}

fn margins(results: &Results) -> String {
    let at = |point| Margins::at(results, point);
    let delays: Vec<f64> = (0..results.points.len()).map(|p| at(p).delay_ms).collect();
    let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
    let most = delays.iter().copied().fold(0.0, f64::max);
    let delay = match least < most {
        true => format!("{}–{} ms", rounded(least), rounded(most)),
        false => format!("{} ms", rounded(most)),
    };
    let Margins {
        goodput,
        waste_percent,
        timeouts,
        share,
        ..
    } = Margins::default();
    format!(
        "{} % of goodput, {delay} of delay, {waste_percent} % retransmitted, {timeouts} timeouts \
         per run, {share} of fairness or harm",
        rounded(goodput * 100.0)
    )
}

/// Rounds the computed `value` to nine significant digits, so that rounding errors are not printed.
fn rounded(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// Returns the definition of harm, or the reason why it was not measured.
fn harm(results: &Results) -> String {
    match (&results.harm, &results.medium) {
        (HarmRecord::Measured, _) => format!(
            "Harm: the share of its goodput that a competing {STANDING} flow loses beside these \
             flows, relative to the same flow beside as many {STANDING} flows (0: none, 1: all, \
             negative: a gain), and the increase of the queueing delay of its packets (95th \
             percentile). After Ware et al. (HotNets 2019), who use the flow alone as the \
             baseline."
        ),
        (HarmRecord::Senseless { why }, _) => format!("Harm was not measured: {why}."),
        (HarmRecord::NotAsked, Medium::Wire(_)) => {
            "Harm was not measured: it is only measured in the simulator.".to_owned()
        }
        (HarmRecord::NotAsked, Medium::Simulated) => {
            "Harm was not measured: it was not requested.".to_owned()
        }
    }
}
