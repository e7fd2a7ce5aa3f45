//! The answer: how long another stack would have taken.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_algorithms::catalog::StackSpec;
use dupack_engine::Watch;
use dupack_lab::run::Interrupt;
use dupack_lab::stats::{Ratio, ratio};

use super::estimate::{Did, Estimate, Guess, MODEL, Outcomes, guess, together};
use super::gate::{Passed, Simulated};
use super::replies::{Replies, replies};
use super::runs::{End, Outcome, Over};
use crate::experiment::Captured;

/// A prediction with a half width above this share of it is of no use, and not offered.
const WIDEST: f64 = 0.25;

/// A prediction of more than this many times the captured duration is not offered (ours): a path on which the captured sender
/// does so much better is more likely to be another one than the capture tells.
const FAR_SLOWER: f64 = 3.0;

/// Relation of a stack to the captured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It is.
    Captured,
    /// It may be: it is one of several that do what the captured one did.
    PerhapsCaptured,
    /// It is another one.
    Another,
}

/// What a stack would have taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The stack.
    pub stack: StackSpec,
    /// Whether it is the captured one.
    pub role: Role,
    /// From the first segment to the last ACK, in seconds.
    pub duration: Estimate,
    /// The duration of the captured transfer, in seconds.
    pub captured: f64,
    /// Acknowledged payload, in Mbit/s.
    pub goodput: Estimate,
    /// How many times as long as the captured sender, simulated beside it on the same paths; nothing where it may
    /// have been one of several.
    pub ratio: Option<Ratio>,
    /// How it compares with each sender that may be the captured one, simulated beside it.
    pub beside: Gain,
    /// Whether it can be relied on.
    pub offer: Offer,
    /// The senders on which it rests: each did what the captured one did, which may have been any of them.
    pub senders: Vec<String>,
    /// `true` if it is not known which sender was captured, and this one is not faster than each that may be, nor slower.
    pub is_rivalled: bool,
    /// What it would have made of each answer, where the captured connection has turns and this was asked.
    pub replies: Option<Replies>,
}

/// How another stack compares with what was captured, as far as the intervals tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// All of the interval is below what the captured one took.
    Faster,
    /// All of it is above.
    Slower,
    /// What the captured one took lies within it.
    None,
}

impl Answer {
    /// How it compares with what was captured: with that transfer, and with what its sender takes in simulations. One transfer
    /// may have been slow by chance, and the same sender faster the next time. Where several may be
    /// the captured one, it compares with each in the same way.
    #[must_use]
    pub fn gain(&self) -> Gain {
        let of_capture = self.beside_capture();
        match self.role {
            Role::Another | Role::PerhapsCaptured if of_capture == self.beside => of_capture,
            _ => Gain::None,
        }
    }

    /// How it compares with the captured transfer alone.
    fn beside_capture(&self) -> Gain {
        Gain::of((self.duration.low, self.duration.high), self.captured)
    }

    /// Returns `true` if the captured transfer took as long as this.
    #[must_use]
    pub fn contains_captured(&self) -> bool {
        self.beside_capture() == Gain::None
    }

    /// The difference to the captured duration, as a share of it: negative if it is less.
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

    /// Gain by all of these ratios to the captured sender, whose intervals have no part of the error of simulations.
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

/// Whether an answer can be relied on, the more the earlier it stands here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Offer {
    /// It can.
    Given,
    /// The capture does not tell the path well enough: the interval is too wide.
    TooWide,
    /// It is several times slower than the captured sender.
    FarSlower,
    /// The transfer does not end in so many times the captured time.
    DoesNotEnd,
}

/// An answer that rests on one environment.
#[derive(Debug)]
struct Part {
    duration: Guess,
    /// To the likeliest sender.
    ratio: Option<Ratio>,
    /// To each sender that may have been captured there.
    ratios: Vec<Option<Ratio>>,
    end: End,
}

impl Passed<'_> {
    /// What `stacks` would have taken; nothing if it was interrupted.
    ///
    /// # Errors
    /// If one of them cannot run on the path: in words.
    pub fn ask(
        &self,
        stacks: &[StackSpec],
        progress: &dyn Watch,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Answer>>, String> {
        let mut environments: Vec<(f64, Vec<Part>)> = Vec::new();
        for (weight, senders) in self.environments() {
            let Some(parts) = self.ask_as(&senders, stacks, progress, interrupt)? else {
                return Ok(None);
            };
            environments.push((weight, parts));
        }
        let answers = stacks.iter().enumerate().filter_map(|(n, stack)| {
            let parts = environments.iter();
            let parts = parts.filter_map(|(weight, parts)| Some((*weight, parts.get(n)?)));
            let parts: Vec<(f64, &Part)> = parts.collect();
            self.answer(stack, &parts)
        });
        Ok(Some(answers.collect()))
    }

    /// The senders that passed by their kinds, with how likely each kind is: another stack would have had the
    /// dialect and the options of the captured one, and nothing else of it.
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

    /// Runs `stacks` as if the captured sender was one of these, which are of one kind, the likeliest first.
    fn ask_as(
        &self,
        senders: &[&Simulated],
        stacks: &[StackSpec],
        progress: &dyn Watch,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Part>>, String> {
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
            Part {
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

    /// What the environments come to for `stack`; nothing without any.
    fn answer(&self, stack: &StackSpec, parts: &[(f64, &Part)]) -> Option<Answer> {
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

    /// What each of `stacks` makes of the answers of a connection with turns; nothing where it has none.
    ///
    /// # Errors
    /// If one of them cannot run on the path, in words.
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

    /// Whether `stack` is the captured one.
    fn role(&self, stack: &StackSpec) -> Role {
        let name = stack.to_string();
        let is_it = |sender: &Simulated| sender.stack.to_string() == name;
        match self.senders.iter().any(is_it) {
            true if self.is_certain() => Role::Captured,
            true => Role::PerhapsCaptured,
            false => Role::Another,
        }
    }

    /// `true` if the capture names the sender, and no other does what it did.
    fn is_certain(&self) -> bool {
        self.question.is_named && unique(self.stacks()).len() == 1
    }

    /// The stacks that do what the captured one did, the likeliest first; one several times if several senders have it.
    fn stacks(&self) -> impl Iterator<Item = &StackSpec> {
        self.senders.iter().map(|sender| &sender.stack)
    }

    /// The likeliest stack of those that do what the captured one did; several senders may have it, by different rules.
    #[must_use]
    pub fn likeliest(&self) -> Option<&StackSpec> {
        self.senders.first().map(|sender| &sender.stack)
    }
}

/// Each of `stacks` once, in their order: a plan has every stack once.
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

fn seconds(outcomes: &[Outcome]) -> Vec<f64> {
    outcomes.iter().map(|outcome| outcome.seconds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_one_in_every_environment() {
        let base = [10.0, 11.0, 9.0, 10.0];
        let times = |by: [f64; 4]| {
            let other: Vec<f64> = base.iter().zip(by).map(|(base, by)| base * by).collect();
            ratio(&base, &other)
        };
        let faster = times([0.5, 0.52, 0.49, 0.5]);
        let slower = times([1.5, 1.52, 1.49, 1.5]);
        let unsure = times([0.5, 1.4, 0.9, 1.1]);
        // Less than a simulation is off by.
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
