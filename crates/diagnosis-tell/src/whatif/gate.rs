//! The gate: the captured sender, simulated on the path, does what it did in the capture.

use dupack_algorithms::catalog::StackSpec;
use dupack_engine::Watch;
use dupack_lab::run::Interrupt;
use dupack_lab::stats::Summary;
use dupack_tcp::time::Duration;

use super::WhatIf;
use super::runs::{Outcome, Over};
use crate::experiment::Captured;
use dupack_diagnosis::path::{Company, DEVIATIONS, Path, Steadiness};

/// The simulated duration, on average, is within this share of the captured (what a prediction is to be
/// good for).
const DURATION_SHARE: f64 = 0.15;
/// … or within so many round trips: of a transfer of few, one more is no other behaviour.
const DURATION_ROUND_TRIPS: f64 = 2.0;

/// … or within what chance makes of it, up to this share (ours: a prediction of which no more is known is not
/// offered).
const DURATION_CHANCE: f64 = 0.25;

/// Losses, and timeouts, are within what chance makes of them, and beyond it within this share (ours).
const COUNT_SHARE: f64 = 0.2;

/// Nothing lost in the capture is what chance makes of three losses, on average, in one case of twenty (e^−3).
const LOSSES: f64 = 3.0;

/// The queue made most of the losses if it made more than this share of them.
const MOSTLY: f64 = 0.5;

/// One timeout more or less is within the bounds of any transfer.
const TIMEOUTS: f64 = 1.0;

/// Whether there is a what-if.
#[derive(Debug)]
pub enum Gate<'a> {
    /// There is.
    Passed(Passed<'a>),
    /// There is none.
    Refused {
        /// Why not.
        reason: Reason,
        /// What was compared, as far as it came to that.
        checked: Vec<Checked>,
    },
    /// Somebody asked for the end before it was known.
    Interrupted,
}

/// A transfer of which can be asked what another sender would have taken for it.
#[derive(Debug)]
pub struct Passed<'a> {
    pub(super) question: WhatIf<'a>,
    /// The senders that do what the captured one did, the likeliest first: one at least.
    pub senders: Vec<Simulated>,
}

/// A sender that does what the captured one did.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Which.
    pub captured: Captured,
    pub(super) stack: StackSpec,
    /// What was compared: all is within its bounds.
    pub checked: Vec<Checked>,
    /// What it does with each seed.
    pub(super) outcomes: Vec<Outcome>,
}

impl Simulated {
    /// Its stack and its dialect.
    pub(super) fn name(&self) -> String {
        self.captured.name()
    }

    /// How likely it is beside others: as what is known of it says, and the more the closer it comes to the capture.
    pub(super) fn weight(&self) -> f64 {
        let off = |one: &Checked| {
            let share = (one.captured - one.simulated) / one.allowed.max(f64::MIN_POSITIVE);
            (DEVIATIONS * share).powi(2) / 2.0
        };
        // The goodput is the duration's inverse.
        let compared = self.checked.iter();
        let compared = compared.filter(|one| one.quantity != Quantity::Goodput);
        (-self.captured.behind - compared.map(off).sum::<f64>()).exp()
    }
}

/// Why there is no what-if.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The capture has no data that was acknowledged.
    NothingTransferred,
    /// The least round-trip time is not known.
    NoRoundTrip,
    /// Others may share the bottleneck: they would give way to another sender otherwise.
    PerhapsShared,
    /// The rate varies, and for too long nothing shows how.
    VariesUnseen,
    /// The captured sender is none that can be simulated; in words.
    NoSuchSender(String),
    /// It cannot be simulated on this path; in words.
    Impossible(String),
    /// Simulated, it does something else than in the capture: what is out of bounds says what.
    Differs,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// From the first segment to the last ACK, in seconds.
    Duration,
    /// Acknowledged payload, in Mbit/s.
    Goodput,
    /// Lost segments.
    Losses,
    /// Expiries of the retransmission timer.
    Timeouts,
}

/// A quantity of the capture and of its simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// What it is.
    pub quantity: Quantity,
    /// What it was in the capture.
    pub captured: f64,
    /// What it is in simulations, on average.
    pub simulated: f64,
    /// By how much the two may differ.
    pub allowed: f64,
}

/// Whether a quantity is within its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It is.
    Within,
    /// It is not.
    Beyond,
}

impl Checked {
    /// Whether it is within its bounds.
    #[must_use]
    pub fn bound(&self) -> Bound {
        if (self.captured - self.simulated).abs() <= self.allowed {
            Bound::Within
        } else {
            Bound::Beyond
        }
    }
}

pub(super) fn gate<'a>(
    question: &WhatIf<'a>,
    progress: &dyn Watch,
    interrupt: &Interrupt,
) -> Gate<'a> {
    let refused = |reason| Gate::Refused {
        reason,
        checked: Vec::new(),
    };
    if let Some(reason) = hopeless(question.path) {
        return refused(reason);
    }
    let mut senders = Vec::new();
    let mut refusal = None;
    for captured in question.captured {
        let (reason, checked) = match simulate(question, captured, progress, interrupt) {
            Ok(Some(simulated)) => {
                let beyond = |one: &Checked| one.bound() == Bound::Beyond;
                if !simulated.checked.iter().any(beyond) {
                    senders.push(simulated);
                    continue;
                }
                (Reason::Differs, simulated.checked)
            }
            Ok(None) => return Gate::Interrupted,
            Err(reason) => (reason, Vec::new()),
        };
        // What is said is of the likeliest.
        refusal.get_or_insert(Gate::Refused { reason, checked });
    }
    if senders.is_empty() {
        let nobody = Reason::NoSuchSender("none is known".to_owned());
        return refusal.unwrap_or_else(|| refused(nobody));
    }
    Gate::Passed(Passed {
        question: question.clone(),
        senders,
    })
}

/// What `captured` does on the path, beside what was captured; nothing if it was interrupted.
fn simulate(
    question: &WhatIf<'_>,
    captured: &Captured,
    progress: &dyn Watch,
    interrupt: &Interrupt,
) -> Result<Option<Simulated>, Reason> {
    let stack = StackSpec::parse(&captured.stack, question.catalog)
        .map_err(|error| Reason::NoSuchSender(error.to_string()))?;
    let simulation = question.simulation(captured, progress, interrupt);
    let stacks = std::slice::from_ref(&stack);
    let outcomes = simulation.of(stacks, Over::Best, question.seeds);
    let Some(outcomes) = outcomes.map_err(Reason::Impossible)? else {
        return Ok(None);
    };
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    let checked = compare(question.path, &outcomes);
    Ok(Some(Simulated {
        captured: captured.clone(),
        stack,
        checked,
        outcomes,
    }))
}

/// Why a path cannot be simulated, if it is plain from the capture.
fn hopeless(path: &Path) -> Option<Reason> {
    if path.transfer.bytes == 0 || path.transfer.duration.is_zero() {
        return Some(Reason::NothingTransferred);
    }
    if path.least_rtt.value().is_none() {
        return Some(Reason::NoRoundTrip);
    }
    if path.company == Company::Perhaps {
        return Some(Reason::PerhapsShared);
    }
    let unseen = path.steadiness == Steadiness::LinkVaries && path.trace.is_none();
    unseen.then_some(Reason::VariesUnseen)
}

fn compare(path: &Path, outcomes: &[Outcome]) -> Vec<Checked> {
    let transfer = &path.transfer;
    let captured = transfer.duration.as_secs_f64();
    let rtt = path.least_rtt.value().unwrap_or(Duration::ZERO);
    let of = |of: fn(&Outcome) -> f64| -> Vec<f64> { outcomes.iter().map(of).collect() };
    let seconds = of(|outcome| outcome.seconds);
    let deviation = Summary::of(&seconds).and_then(|summary| summary.standard_deviation);
    let chance = DEVIATIONS * deviation.unwrap_or(0.0);
    let allowed = (DURATION_SHARE * captured)
        .max(chance.min(DURATION_CHANCE * captured))
        .max(DURATION_ROUND_TRIPS * rtt.as_secs_f64());
    let megabits = transfer.bytes as f64 * 8.0 / 1e6;
    let simulated = mean(&seconds);
    let goodput = megabits / simulated.max(f64::MIN_POSITIVE);
    vec![
        Checked {
            quantity: Quantity::Duration,
            captured,
            simulated,
            allowed,
        },
        Checked {
            quantity: Quantity::Goodput,
            captured: megabits / captured,
            simulated: goodput,
            // The same bound, for what is the inverse.
            allowed: goodput * allowed / captured,
        },
        counted(
            Quantity::Losses,
            path.losses as f64,
            &of(|outcome| outcome.losses),
            LOSSES + one_overflow(path),
        ),
        counted(
            Quantity::Timeouts,
            transfer.timeouts as f64,
            &of(|outcome| outcome.timeouts),
            TIMEOUTS,
        ),
    ]
}

/// What one overflow of the queue drops, in packets, where the queue made most of the losses: by when a sender ends slow start
/// this is as many as the queue holds, or few. Its losses tell nothing of the path beyond its room, which is told by itself.
pub(super) fn one_overflow(path: &Path) -> f64 {
    let by_queue = path.queue_share.value();
    let room = path.room.value().map_or(0.0, |room| room.packets);
    if by_queue.is_some_and(|share| share > MOSTLY) {
        room
    } else {
        0.0
    }
}

/// A count of the capture beside those of simulations: it is one draw of what they are, and of a path whose
/// own numbers are of counts.
fn counted(quantity: Quantity, captured: f64, simulated: &[f64], at_least: f64) -> Checked {
    let deviation = Summary::of(simulated).and_then(|summary| summary.standard_deviation);
    let variance = deviation.unwrap_or(0.0).powi(2) + captured;
    let chance = DEVIATIONS * variance.sqrt();
    Checked {
        quantity,
        captured,
        simulated: mean(simulated),
        allowed: chance + (COUNT_SHARE * captured).max(at_least),
    }
}

fn mean(samples: &[f64]) -> f64 {
    dupack_lab::stats::mean(samples).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(captured: f64, simulated: &[f64]) -> Bound {
        counted(Quantity::Losses, captured, simulated, LOSSES).bound()
    }

    #[test]
    fn counts_differ_by_a_fifth_beyond_what_chance_makes_of_them() {
        // Of a hundred chance makes 80 to 120.
        for (simulated, bound) in [
            (139.0, Bound::Within),
            (141.0, Bound::Beyond),
            (61.0, Bound::Within),
            (59.0, Bound::Beyond),
        ] {
            assert_eq!(losses(100.0, &[simulated; 3]), bound, "{simulated}");
        }
        // Simulations that differ among themselves tell less.
        assert_eq!(losses(100.0, &[141.0, 111.0, 171.0]), Bound::Within);
    }

    #[test]
    fn nothing_lost_is_what_chance_makes_of_three_losses() {
        assert_eq!(losses(0.0, &[3.0; 3]), Bound::Within);
        assert_eq!(losses(0.0, &[4.0; 3]), Bound::Beyond);
    }

    /// A sender that comes as close to the capture as so many parts of what is allowed.
    fn simulated(behind: f64, off: f64) -> Simulated {
        let checked = |quantity, off| Checked {
            quantity,
            captured: 10.0,
            simulated: 10.0 + 2.0 * off,
            allowed: 2.0,
        };
        Simulated {
            captured: Captured {
                stack: "rack/cubic".to_owned(),
                dialect: dupack_algorithms::catalog::Dialect::Linux,
                sender: dupack_lab::experiment::SenderOptions::default(),
                behind,
            },
            stack: StackSpec::parse(
                "rack/cubic",
                &dupack_algorithms::catalog::Catalog::builtin(),
            )
            .expect("there is one"),
            checked: vec![
                checked(Quantity::Duration, off),
                checked(Quantity::Goodput, 7.0),
            ],
            outcomes: Vec::new(),
        }
    }

    #[test]
    fn the_closer_a_sender_comes_to_the_capture_the_more_it_counts() {
        let weight = |behind, off| simulated(behind, off).weight();
        assert!((weight(0.0, 0.0) - 1.0).abs() < 1e-12);
        assert!(weight(0.0, 0.2) > weight(0.0, 0.5));
        assert!((weight(0.0, 0.5) - weight(0.0, -0.5)).abs() < 1e-12);
        // On the bound it is as likely as a value at the end of an interval of 95 %.
        assert!(
            (weight(0.0, 1.0) - 0.1465).abs() < 1e-3,
            "{}",
            weight(0.0, 1.0)
        );
        // One that is less likely by itself.
        assert!((weight(2.0_f64.ln(), 0.0) - 0.5).abs() < 1e-12);
    }
}
