//! The answer: how long another stack would have taken.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_algorithms::catalog::StackSpec;
use dupack_lab::run::{Interrupt, Progress};
use dupack_lab::stats::{Ratio, ratio};

use super::estimate::{Did, Estimate, Guess, Outcomes, guess, together};
use super::gate::{Passed, Simulated};
use super::replies::{Replies, replies};
use super::runs::{End, Outcome, Over};

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
    /// How it compares with the captured sender, simulated beside it.
    pub beside: Gain,
    /// Whether it can be relied on.
    pub offer: Offer,
    /// The senders on which it rests: each did what the captured one did, which may have been any of them.
    pub senders: Vec<String>,
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
    /// may have been slow by chance, and the same sender faster the next time.
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

    /// What all of these ratios to the captured sender say.
    fn of_all<'a>(ratios: impl Iterator<Item = Option<&'a Ratio>>) -> Self {
        let each = ratios.map(|ratio| {
            let interval = ratio.and_then(|ratio| ratio.interval_95);
            interval.map_or(Self::None, |interval| Self::of(interval, 1.0))
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
    ratio: Option<Ratio>,
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
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Answer>>, String> {
        let mut environments: Vec<(f64, Vec<Part>)> = Vec::new();
        for (weight, sender) in self.environments() {
            let Some(parts) = self.ask_as(sender, stacks, progress, interrupt)? else {
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

    /// Of the senders that passed one of each kind, with how likely the kind is: another stack would have had the
    /// dialect and the options of the captured one, and nothing else of it.
    fn environments(&self) -> Vec<(f64, &Simulated)> {
        let mut kinds: Vec<(f64, &Simulated)> = Vec::new();
        for sender in &self.senders {
            let same = |(_, known): &&mut (f64, &Simulated)| {
                let (one, other) = (&known.captured, &sender.captured);
                one.dialect == other.dialect && one.sender == other.sender
            };
            match kinds.iter_mut().find(same) {
                Some((weight, _)) => *weight += sender.weight(),
                None => kinds.push((sender.weight(), sender)),
            }
        }
        kinds
    }

    /// What `stacks` would have taken if the captured sender was this one.
    fn ask_as(
        &self,
        sender: &Simulated,
        stacks: &[StackSpec],
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Option<Vec<Part>>, String> {
        let question = &self.question;
        let simulation = question.simulation(&sender.captured, progress, interrupt);
        // A plan has every stack once.
        let is_captured = |stack: &&StackSpec| stack.to_string() == sender.stack.to_string();
        let others = stacks.iter().filter(|stack| !is_captured(stack));
        let beside = std::iter::once(&sender.stack).chain(others);
        let beside: Vec<StackSpec> = beside.cloned().collect();
        let drawn = simulation.of(&beside, Over::Drawn, question.seeds)?;
        let best = simulation.of(stacks, Over::Best, question.seeds)?;
        let (Some(drawn), Some(best)) = (drawn, best) else {
            return Ok(None);
        };
        let Some((captured, others)) = drawn.split_first() else {
            return Ok(None);
        };
        let mut others = others.iter();
        let drawn = stacks.iter().filter_map(|stack| match is_captured(&stack) {
            true => Some(captured),
            false => others.next(),
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
            beside: Gain::of_all(parts.iter().map(|(_, part)| part.ratio.as_ref())),
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
        match (
            self.senders.iter().any(is_it),
            self.senders.iter().all(is_it),
        ) {
            (true, true) => Role::Captured,
            (true, false) => Role::PerhapsCaptured,
            (false, _) => Role::Another,
        }
    }

    /// The likeliest stack of those that do what the captured one did; several senders may have it, by different rules.
    #[must_use]
    pub fn likeliest(&self) -> Option<&StackSpec> {
        self.senders.first().map(|sender| &sender.stack)
    }
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
        let of = |all: &[Option<Ratio>]| Gain::of_all(all.iter().map(Option::as_ref));
        assert_eq!(of(&[faster]), Gain::Faster);
        assert_eq!(of(&[slower, slower]), Gain::Slower);
        assert_eq!(of(&[unsure]), Gain::None);
        assert_eq!(of(&[faster, unsure]), Gain::None);
        assert_eq!(of(&[faster, slower]), Gain::None);
        assert_eq!(of(&[faster, None]), Gain::None);
        assert_eq!(of(&[]), Gain::None);
    }
}
