//! What a verdict says, in plain sentences.

use super::contrast::{Side, better_side, paired};
use super::limits::{HARM_MOST, Margins, WASTE_MOST_PERCENT};
use super::{Answer, JUDGED, Prefer, Verdict};
use crate::results::medium::{NO_ANSWER_HERE, SOUND_LEAST};
use crate::results::{Better, HarmRecord, Measure, Medium, Results};
use crate::run::STANDING;
use crate::significance::Family;
use crate::stats::{ratio, times};

impl Verdict {
    /// What a stack gains and what that costs: `2.89 × (2.85–2.94) the goodput of newreno/reno; takes
    /// 24 % of a CUBIC flow's goodput`. The costs are the measures by which another stack
    /// that neither harms nor wastes too much is better for certain.
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
            parts.push(format!("no cost that {seeds} seeds tell"));
        }
        parts.extend(costs);
        parts.join("; ")
    }

    /// Whether `one` is better than `other` by `measure` for certain.
    pub(super) fn is_won(&self, one: usize, other: usize, measure: Measure) -> bool {
        let here = self.contrast(one, other, measure);
        here.is_some_and(|c| c.is_won_by(one))
    }

    /// The goodput against that of the first stack.
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
            return Some("the stack that the others are measured against".to_owned());
        }
        let here = self.contrast(0, stack, Measure::Goodput);
        let (better, alone) = here.map_or((Side::Neither, Side::Neither), |c| (c.better, c.alone));
        if alone == Side::Neither {
            return Some(format!("goodput not told apart from {first}"));
        }
        let text = times(&ratio);
        let gain = match text.split_once(' ') {
            _ if ratio.reaches_zero => {
                let more = if ratio.mean > 1.0 { "more" } else { "less" };
                format!("{more} goodput than {first}, how many times is not known")
            }
            Some((mean, interval)) => format!("{mean} × {interval} the goodput of {first}"),
            None => format!("{text} × the goodput of {first}"),
        };
        Some(match better {
            Side::Neither => format!("{gain}, but too few seeds for so many comparisons"),
            _ => gain,
        })
    }

    /// What is worse with `stack` by `measure` than with the best of those that are better for certain.
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
        // The gain has said it.
        if measure == Measure::Goodput && best == 0 {
            return None;
        }
        let (own, best) = (mean(stack), mean(best));
        let more = own - best;
        let warned = !self.stacks[stack].warnings.is_empty();
        Some(match measure {
            Measure::Goodput => format!("{:.2} × the goodput of {name}", own / best),
            // Said by the 95th percentile, if that is worse, too.
            Measure::DelayMedian if self.cost(stack, Measure::DelayP95).is_some() => return None,
            Measure::DelayMedian => {
                format!("half of its packets wait {own:.1} ms or more, {more:.1} ms above {name}")
            }
            Measure::DelayP95 => {
                format!("its queue: {own:.1} ms (95th percentile), {more:.1} ms above {name}")
            }
            Measure::RetransmissionShare if warned => return None,
            Measure::RetransmissionShare => format!("resends {own:.1} %, {name} {best:.1} %"),
            Measure::Timeouts => format!("{own:.1} timeouts a run, {name} {best:.1}"),
            Measure::Fairness => {
                format!("shares less evenly among its own: {own:.2}, {name} {best:.2}")
            }
            Measure::HarmGoodput if own > HARM_MOST => return None,
            Measure::HarmGoodput if own > 0.0 => {
                format!("takes {:.0} % of a CUBIC flow's goodput", own * 100.0)
            }
            Measure::HarmDelay if own > 0.0 => {
                format!("makes a CUBIC flow wait {own:.1} ms longer (95th percentile)")
            }
            // Less good than others, and no harm.
            Measure::HarmGoodput | Measure::HarmDelay => return None,
            Measure::FramesInTime => format!("{own:.1} % of frames in time, {name} {best:.1} %"),
            Measure::StallTime => format!("stands still for {own:.1} s, {name} {best:.1} s"),
            _ => return None,
        })
    }

    /// What stands in the place of a ★ where there is none.
    #[must_use]
    pub fn no_answer(&self) -> Option<String> {
        Some(match &self.answer {
            Answer::Stars(_) => return None,
            Answer::TooMany(front) => {
                let leads = Prefer::ALL.into_iter().filter_map(|prefer| {
                    let first = &self.contenders[self.first_by(prefer)?].name;
                    Some(format!("--prefer {} leads to {first}", prefer.name()))
                });
                let leads: Vec<String> = leads.collect();
                format!(
                    "no answer by these measures: {} of {} stacks are beaten by none (☆). Say what \
                     counts: {}",
                    front.len(),
                    self.stacks.len(),
                    leads.join(", ")
                )
            }
            Answer::NotTold(front) => {
                let prefer = self.prefer.unwrap_or(Prefer::Goodput).name();
                format!(
                    "no answer by {prefer}, either: {} of {} stacks are beaten by none and not told from the first \
                     of them by that (☆). More seeds tell more: --seeds, --precision",
                    front.len(),
                    self.stacks.len()
                )
            }
            Answer::SameRuns => {
                "no ★: every seed gave the same run, as nothing was left to chance".to_owned()
            }
            Answer::SameRunsOf(stacks) => {
                let names = stacks.iter().map(|stack| &*self.contenders[*stack].name);
                format!(
                    "no ★: nothing beats {}, but every seed gave the same run of it, as nothing was left to chance",
                    names.collect::<Vec<_>>().join(", ")
                )
            }
            Answer::OneRun => "no ★: one run of each stack says nothing about chance".to_owned(),
            Answer::Alone => "no ★: there is no other stack to compare with".to_owned(),
            Answer::Nobody => {
                "no ★: every stack is beaten by another, or harms or wastes too much".to_owned()
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
                    "no answer: too few runs can be trusted, {} (†); it takes {SOUND_LEAST} of each stack, and half of \
                     its runs",
                    few.join(", ")
                )
            }
        })
    }
}

/// How verdicts on `results` were found, in a few sentences: measures, thresholds, harm.
#[must_use]
pub fn rules(results: &Results) -> Vec<String> {
    rules_among(results, results.has_several_flows())
}

/// The same where the runs are not in `results`: whether they have several flows.
#[must_use]
pub fn rules_among(results: &Results, several_flows: bool) -> Vec<String> {
    let mut rules = vec![
        format!(
            "★: no other stack is as good by all of these measures and better by one: goodput, queueing delay \
             (median and 95th percentile), resent share, timeouts{}{}. Better is what the seeds tell, \
             paired (t-test, Holm's correction for all comparisons {}, 5 %), and is more than \
             {}; what a comparison by itself would call worse (5 %) is not as good. ≈: beaten, but not told from the best by {}.",
            match several_flows {
                true => ", fairness among its own",
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
            "!: harm above {HARM_MOST}, or more than {WASTE_MOST_PERCENT} % resent beyond what the links lost \
             (thresholds of ours); never a ★."
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
        "{} % of goodput, {delay}, {waste_percent} % resent, {timeouts} timeouts a run, {share} of fairness or harm",
        rounded(goodput * 100.0)
    )
}

/// `value`, which was computed, for people: to nine significant digits, without what the last bits add.
fn rounded(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// What harm is, or why there is none.
fn harm(results: &Results) -> String {
    match (&results.harm, &results.medium) {
        (HarmRecord::Measured, _) => format!(
            "Harm: the share of its goodput that one standing {STANDING} flow loses beside these flows, against \
             beside as many of {STANDING} (0: none, 1: all, below 0: it gains), and by how much longer its \
             packets wait in queues (95th percentile). After Ware et al. (HotNets 2019), who compare with \
             being alone."
        ),
        (HarmRecord::Senseless { why }, _) => format!("Harm was not measured: {why}."),
        (HarmRecord::NotAsked, Medium::Wire(_)) => {
            "Harm was not measured: that is done in the simulator only.".to_owned()
        }
        (HarmRecord::NotAsked, Medium::Simulated) => {
            "Harm was not measured: it was not asked for.".to_owned()
        }
    }
}
