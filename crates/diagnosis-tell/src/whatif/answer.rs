//! Answer to a what-if question: the time that another stack would have taken.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_algorithms::catalog::StackSpec;
use dupack_engine::Watch;
use dupack_lab::run::Interrupt;
use dupack_lab::stats::{Ratio, ratio};

use super::estimate::{Did, Estimate, Guess, MODEL, Outcomes, guess, together};
use super::gate::{Passed, Simulated};
use super::replies::{Replies, replies};
use super::runs::{End, Over, SimulatedTransfer};
use crate::experiment::Captured;

/// Maximum half width of the confidence interval, as a fraction of the prediction, for a prediction to be offered.
const WIDEST: f64 = 0.25;

/// Maximum prediction that is offered, as a multiple of the captured duration (our choice). A longer prediction is more
/// likely caused by a difference between the real path and the estimated one.
const FAR_SLOWER: f64 = 3.0;

/// Relation of a stack to the captured sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The stack is the captured sender.
    Captured,
    /// The stack may be the captured sender, because it is one of several that behave like the captured sender.
    PerhapsCaptured,
    /// The stack is a different sender.
    Another,
}

/// Prediction for a stack.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The stack.
    pub stack: StackSpec,
    /// Relation to the captured sender.
    pub role: Role,
    /// Time from the first segment to the last ACK, in seconds.
    pub duration: Estimate,
    /// Duration of the captured transfer, in seconds.
    pub captured: f64,
    /// Goodput in Mbit/s: the acknowledged payload per second.
    pub goodput: Estimate,
    /// Ratio of the duration to the captured sender's duration in simulations on the same paths; `None` if the captured
    /// sender may be one of several kinds.
    pub ratio: Option<Ratio>,
    /// Comparison with each sender that may be the captured one, in simulations on the same paths.
    pub beside: Gain,
    /// Reliability of the answer.
    pub offer: Offer,
    /// The senders that the answer is based on. Each of them behaves like the captured sender, and may be the captured
    /// sender.
    pub senders: Vec<String>,
    /// `true` if the captured sender is uncertain, and this stack is neither faster than all possible senders nor
    /// slower than all of them.
    pub is_rivalled: bool,
    /// Predicted single answers, if the connection has turns and this prediction was requested.
    pub replies: Option<Replies>,
}

/// Comparison of a duration with another one by confidence intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// The whole interval is below the captured duration.
    Faster,
    /// The whole interval is above the captured duration.
    Slower,
    /// The captured duration lies within the interval.
    None,
}

impl Answer {
    /// Returns the comparison with the captured transfer if the comparison with simulations of its sender has the same
    /// result, and [`Gain::None`] otherwise. A single captured transfer may be slow by chance, so both results must
    /// agree. If the captured sender may be one of several, the comparison with each of them must have the same result.
    #[must_use]
    pub fn gain(&self) -> Gain {
        let of_capture = self.beside_capture();
        match self.role {
            Role::Another | Role::PerhapsCaptured if of_capture == self.beside => of_capture,
            _ => Gain::None,
        }
    }

    /// Returns the comparison with the captured transfer alone.
    fn beside_capture(&self) -> Gain {
        Gain::of((self.duration.low, self.duration.high), self.captured)
    }

    /// Returns `true` if the confidence interval contains the captured duration.
    #[must_use]
    pub fn contains_captured(&self) -> bool {
        self.beside_capture() == Gain::None
    }

    /// Returns the difference from the captured duration, as a fraction of the captured duration. The difference is
    /// negative if the prediction is shorter.
    #[must_use]
    pub fn change(&self) -> Estimate {
        let of = |seconds: f64| seconds / self.captured.max(f64::MIN_POSITIVE) - 1.0;
        let Estimate { mean, low, high } = self.duration;
        Estimate {
            mean: of(mean),
            low: of(low),
            high: of(high),
        }
    }
}

impl Gain {
    fn of((low, high): (f64, f64), captured: f64) -> Self {
        if high < captured {
            Self::Faster
        } else if low > captured {
            Self::Slower
        } else {
            Self::None
        }
    }

    /// Returns the gain that all of these ratios to the captured sender show, or [`Gain::None`] if they do not agree.
    /// The error of simulations is added to the intervals of the ratios, which do not include it.
    fn of_all<'a>(ratios: impl Iterator<Item = Option<&'a Ratio>>) -> Self {
        let each = ratios.map(|ratio| {
            let interval = ratio.and_then(|ratio| ratio.interval_95);
            interval.map_or(Self::None, |(low, high)| {
                Self::of((low / (1.0 + MODEL), high * (1.0 + MODEL)), 1.0)
            })
        });
        let all: Vec<Self> = each.collect();
        match all.split_first() {
            Some((first, others)) if others.iter().all(|other| other == first) => *first,
            _ => Self::None,
        }
    }
}

/// Reliability of an answer. The most reliable value comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Offer {
    /// The answer is reliable.
    Given,
    /// The confidence interval is too wide, because the capture does not show the path precisely enough.
    TooWide,
    /// The predicted duration is several times the captured one.
    FarSlower,
    /// The transfer does not end within the maximum simulated time.
    DoesNotEnd,
}

/// Prediction for a stack that is based on one kind of captured sender.
#[derive(Debug)]
struct Prediction {
    duration: Guess,
    /// Ratio of the duration to the likeliest sender's duration.
    ratio: Option<Ratio>,
    /// Ratio of the duration to the duration of each possible sender of this kind.
    ratios: Vec<Option<Ratio>>,
    end: End,
}

impl Passed<'_> {
    /// Predicts the time that each of `stacks` would have taken. Returns `None` if the simulation was interrupted.
    ///
    /// # Errors
    /// Returns a message if a stack cannot run on the path.
    pub fn ask(
        &self,
        stacks: &[StackSpec],
        progress: &dyn Watch,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Answer>>, String> {
        let mut environments: Vec<(f64, Vec<Prediction>)> = Vec::new();
        for (weight, senders) in self.environments() {
            let Some(parts) = self.ask_as(&senders, stacks, progress, interrupt)? else {
                return Ok(None);
            };
            environments.push((weight, parts));
        }
        let answers = stacks.iter().enumerate().filter_map(|(n, stack)| {
            let parts = environments.iter();
            let parts = parts.filter_map(|(weight, parts)| Some((*weight, parts.get(n)?)));
            let parts: Vec<(f64, &Prediction)> = parts.collect();
            self.answer(stack, &parts)
        });
        Ok(Some(answers.collect()))
    }

    /// Returns the senders that passed the gate, grouped by kind, with the likelihood of each kind. Senders of one kind
    /// have the same dialect and the same options. Another stack is simulated with the dialect and the options of the
    /// captured sender, but with none of its other properties.
    fn environments(&self) -> Vec<(f64, Vec<&Simulated>)> {
        let mut kinds: Vec<(f64, Vec<&Simulated>)> = Vec::new();
        for sender in &self.senders {
            let same = |(_, known): &&mut (f64, Vec<&Simulated>)| {
                let other = &sender.captured;
                let is_like =
                    |one: &Captured| one.dialect == other.dialect && one.sender == other.sender;
                known.first().is_some_and(|known| is_like(&known.captured))
            };
            match kinds.iter_mut().find(same) {
                Some((weight, known)) => {
                    *weight += sender.weight();
                    known.push(sender);
                }
                None => kinds.push((sender.weight(), vec![sender])),
            }
        }
        kinds
    }

    /// Runs `stacks` as if the captured sender was one of `senders`, which are of one kind and ordered by likelihood.
    fn ask_as(
        &self,
        senders: &[&Simulated],
        stacks: &[StackSpec],
        progress: &dyn Watch,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Prediction>>, String> {
        let question = &self.question;
        let Some(sender) = senders.first() else {
            return Ok(Some(Vec::new()));
        };
        let simulation = question.simulation(&sender.captured, progress, interrupt);
        let perhaps = unique(senders.iter().map(|sender| &sender.stack));
        let beside = unique(perhaps.iter().chain(stacks));
        let drawn = simulation.of(&beside, Over::Drawn, question.seeds)?;
        let best = simulation.of(stacks, Over::Best, question.seeds)?;
        let (Some(drawn), Some(best)) = (drawn, best) else {
            return Ok(None);
        };
        let Some(captured) = drawn.first() else {
            return Ok(None);
        };
        let took: Vec<Vec<f64>> = drawn.iter().map(|outcomes| seconds(outcomes)).collect();
        let took = took.get(..perhaps.len()).unwrap_or_default();
        let names: Vec<String> = beside.iter().map(ToString::to_string).collect();
        let drawn = stacks.iter().filter_map(|stack| {
            let name = stack.to_string();
            drawn.get(names.iter().position(|known| *known == name)?)
        });
        let its = Outcomes {
            best: &sender.outcomes,
            drawn: captured,
        };
        let path = question.path;
        let did = Did {
            seconds: path.transfer.duration.as_secs_f64(),
            losses: path.losses as f64,
        };
        let parts = best.iter().zip(drawn).map(|(best, drawn)| {
            let mut all = best.iter().chain(drawn);
            let ended = all.all(|outcome| outcome.end == End::Reached);
            Prediction {
                duration: guess(Outcomes { best, drawn }, its, did),
                ratio: ratio(&seconds(captured), &seconds(drawn)),
                ratios: took
                    .iter()
                    .map(|took| ratio(took, &seconds(drawn)))
                    .collect(),
                end: if ended { End::Reached } else { End::NotReached },
            }
        });
        Ok(Some(parts.collect()))
    }

    /// Combines the predictions for all kinds of captured senders into an answer for `stack`. Returns `None` if there
    /// are no predictions.
    fn answer(&self, stack: &StackSpec, parts: &[(f64, &Prediction)]) -> Option<Answer> {
        let guesses = parts.iter().map(|(weight, part)| (*weight, part.duration));
        let guesses: Vec<(f64, Guess)> = guesses.collect();
        let duration = together(&guesses)?.estimate();
        let reached = parts.iter().all(|(_, part)| part.end == End::Reached);
        let half = (duration.high - duration.low) / 2.0;
        let megabits = self.question.path.transfer.bytes as f64 * 8.0 / 1e6;
        let per = |seconds: f64| megabits / seconds.max(f64::MIN_POSITIVE);
        let captured = self.question.path.transfer.duration.as_secs_f64();
        let role = self.role(stack);
        let ratios = parts.iter().flat_map(|(_, part)| &part.ratios);
        let beside = Gain::of_all(ratios.map(Option::as_ref));
        Some(Answer {
            stack: stack.clone(),
            role,
            duration,
            captured,
            goodput: Estimate {
                mean: per(duration.mean),
                low: per(duration.high),
                high: per(duration.low),
            },
            ratio: match parts {
                [(_, one)] => one.ratio,
                _ => None,
            },
            beside,
            offer: if !reached {
                Offer::DoesNotEnd
            } else if half > WIDEST * duration.mean {
                Offer::TooWide
            } else if role == Role::Another && duration.mean > FAR_SLOWER * captured {
                Offer::FarSlower
            } else {
                Offer::Given
            },
            senders: self.senders.iter().map(Simulated::name).collect(),
            is_rivalled: !self.is_certain() && beside == Gain::None,
            replies: None,
        })
    }

    /// Predicts the single answers of a connection with turns for each of `stacks`. Returns `None` if the connection
    /// has no turns.
    ///
    /// # Errors
    /// Returns a message if a stack cannot run on the path.
    pub fn replies(
        &self,
        stacks: &[StackSpec],
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Replies>>, String> {
        let Some(sender) = self.senders.first() else {
            return Ok(None);
        };
        let question = &self.question;
        let with = (question.catalog, question.seeds);
        replies(question.path, &sender.captured, stacks, with, interrupt)
    }

    /// Returns the relation of `stack` to the captured sender.
    fn role(&self, stack: &StackSpec) -> Role {
        let name = stack.to_string();
        let is_it = |sender: &Simulated| sender.stack.to_string() == name;
        match self.senders.iter().any(is_it) {
            true if self.is_certain() => Role::Captured,
            true => Role::PerhapsCaptured,
            false => Role::Another,
        }
    }

    /// `true` if the capture identifies the sender, and no other stack behaves like the captured one.
    fn is_certain(&self) -> bool {
        self.question.is_named && unique(self.stacks()).len() == 1
    }

    /// Returns the stacks that behave like the captured one, the likeliest first. A stack is repeated if several
    /// senders use it.
    fn stacks(&self) -> impl Iterator<Item = &StackSpec> {
        self.senders.iter().map(|sender| &sender.stack)
    }

    /// Returns the likeliest of the stacks that behave like the captured one. Several senders with different rules may
    /// use this stack.
    #[must_use]
    pub fn likeliest(&self) -> Option<&StackSpec> {
        self.senders.first().map(|sender| &sender.stack)
    }
}

/// Returns each of `stacks` once, in their order, because a plan must not contain a stack twice.
fn unique<'a>(stacks: impl IntoIterator<Item = &'a StackSpec>) -> Vec<StackSpec> {
    let mut names = Vec::new();
    let mut all = Vec::new();
    for stack in stacks {
        let name = stack.to_string();
        if !names.contains(&name) {
            names.push(name);
            all.push(stack.clone());
        }
    }
    all
}

fn seconds(outcomes: &[SimulatedTransfer]) -> Vec<f64> {
    outcomes.iter().map(|outcome| outcome.seconds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_a_gain_in_every_environment() {
        let base = [10.0, 11.0, 9.0, 10.0];
        let times = |by: [f64; 4]| {
            let other: Vec<f64> = base.iter().zip(by).map(|(base, by)| base * by).collect();
            ratio(&base, &other)
        };
        let faster = times([0.5, 0.52, 0.49, 0.5]);
        let slower = times([1.5, 1.52, 1.49, 1.5]);
        let unsure = times([0.5, 1.4, 0.9, 1.1]);
        // The difference is smaller than the error of simulations.
        let alike = times([0.97, 0.971, 0.97, 0.969]);
        let of = |all: &[Option<Ratio>]| Gain::of_all(all.iter().map(Option::as_ref));
        assert_eq!(of(&[faster]), Gain::Faster);
        assert_eq!(of(&[slower, slower]), Gain::Slower);
        assert_eq!(of(&[unsure]), Gain::None);
        assert_eq!(of(&[alike]), Gain::None);
        assert_eq!(of(&[faster, alike]), Gain::None);
        assert_eq!(of(&[faster, unsure]), Gain::None);
        assert_eq!(of(&[faster, slower]), Gain::None);
        assert_eq!(of(&[faster, None]), Gain::None);
        assert_eq!(of(&[]), Gain::None);
    }
}
