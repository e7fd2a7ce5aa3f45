//! Gate for predictions: the captured sender, simulated on the path, must behave as it did in the capture.

use dupack_algorithms::catalog::StackSpec;
use dupack_engine::Watch;
use dupack_lab::run::Interrupt;
use dupack_lab::stats::Summary;
use dupack_tcp::time::Duration;

use super::WhatIf;
use super::runs::{Over, SimulatedTransfer};
use crate::experiment::Captured;
use dupack_diagnosis::path::{Company, DEVIATIONS, Path, Steadiness};

/// Maximum difference of the mean simulated duration from the captured duration, as a fraction of the captured duration
/// (our choice: the accuracy that a prediction should have).
const DURATION_SHARE: f64 = 0.15;
/// Maximum difference of the durations in round trips: if a transfer has few round trips, one more does not show
/// different behaviour. The largest of the allowed differences applies.
const DURATION_ROUND_TRIPS: f64 = 2.0;

/// Maximum allowance for chance, as a fraction of the captured duration (our choice: a prediction that is less certain
/// is not offered).
const DURATION_CHANCE: f64 = 0.25;

/// Maximum difference of the numbers of losses and timeouts in addition to chance, as a fraction of the captured number
/// (our choice).
const COUNT_SHARE: f64 = 0.2;

/// Difference in the number of losses that is always allowed: with a mean of this number, the probability of no losses
/// is one in twenty (e^−3).
const LOSSES: f64 = 3.0;

/// Minimum fraction of the losses that a queue must cause to count as the main cause.
const MOSTLY: f64 = 0.5;

/// Difference in the number of timeouts that is always allowed.
const TIMEOUTS: f64 = 1.0;

/// Outcome of the gate.
#[derive(Debug)]
pub enum Gate<'a> {
    /// A sender behaves like the captured one, so predictions are possible.
    Passed(Passed<'a>),
    /// No predictions are possible.
    Refused {
        /// Reason for the refusal.
        reason: Reason,
        /// Quantities that were compared. The list is empty if nothing was compared.
        checked: Vec<Checked>,
    },
    /// The simulation was interrupted.
    Interrupted,
}

/// Transfer that passed the gate, so that other senders can be predicted.
#[derive(Debug)]
pub struct Passed<'a> {
    pub(super) question: WhatIf<'a>,
    /// The senders that behave like the captured one, the likeliest first. There is at least one.
    pub senders: Vec<Simulated>,
}

/// Sender that behaves like the captured one.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The sender.
    pub captured: Captured,
    pub(super) stack: StackSpec,
    /// Quantities that were compared. All of them are within their bounds.
    pub checked: Vec<Checked>,
    /// Outcomes of the simulations, one per seed.
    pub(super) outcomes: Vec<SimulatedTransfer>,
}

impl Simulated {
    /// Returns the stack and the dialect of the sender.
    pub(super) fn name(&self) -> String {
        self.captured.name()
    }

    /// Returns the likelihood relative to other senders. It depends on the evidence for the sender, and on the distance
    /// of its simulation from the capture.
    pub(super) fn weight(&self) -> f64 {
        let off = |one: &Checked| {
            let share = (one.captured - one.simulated) / one.allowed.max(f64::MIN_POSITIVE);
            (DEVIATIONS * share).powi(2) / 2.0
        };
        // The goodput is not included, because it is the inverse of the duration.
        let compared = self.checked.iter();
        let compared = compared.filter(|one| one.quantity != Quantity::Goodput);
        (-self.captured.behind - compared.map(off).sum::<f64>()).exp()
    }
}

/// Reason why no predictions are possible.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The capture has no acknowledged data.
    NothingTransferred,
    /// The minimum round-trip time is unknown.
    NoRoundTrip,
    /// Other traffic may share the bottleneck, and it may react differently to another sender.
    PerhapsShared,
    /// The rate varies, and the sender did not fill the path for long enough to show how it varies.
    VariesUnseen,
    /// The captured sender cannot be simulated. The text gives the reason.
    NoSuchSender(String),
    /// The captured sender cannot be simulated on this path. The text gives the reason.
    Impossible(String),
    /// The simulation differs from the capture. The quantities that are out of bounds show the differences.
    Differs,
}

/// A quantity that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Time from the first segment to the last ACK, in seconds.
    Duration,
    /// Acknowledged payload, in Mbit/s.
    Goodput,
    /// Number of lost segments.
    Losses,
    /// Number of retransmission timeouts.
    Timeouts,
}

/// A quantity in the capture and in simulations.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Checked {
    /// The quantity.
    pub quantity: Quantity,
    /// Value in the capture.
    pub captured: f64,
    /// Mean value in simulations.
    pub simulated: f64,
    /// Maximum difference between the two values.
    pub allowed: f64,
}

/// Position of a quantity relative to its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The quantity is within its bounds.
    Within,
    /// The quantity is out of bounds.
    Beyond,
}

impl Checked {
    /// Returns the position of the quantity relative to its bounds.
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
        // Only the reason for the likeliest sender is reported.
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

/// Simulates `captured` on the path and compares the simulation with the capture. Returns `None` if the simulation was
/// interrupted.
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
    let outcomes: Vec<SimulatedTransfer> = outcomes.into_iter().flatten().collect();
    let checked = compare(question.path, &outcomes);
    Ok(Some(Simulated {
        captured: captured.clone(),
        stack,
        checked,
        outcomes,
    }))
}

/// Returns the reason why a path cannot be simulated, or `None` if it can.
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

fn compare(path: &Path, outcomes: &[SimulatedTransfer]) -> Vec<Checked> {
    let transfer = &path.transfer;
    let captured = transfer.duration.as_secs_f64();
    let rtt = path.least_rtt.value().unwrap_or(Duration::ZERO);
    let of = |of: fn(&SimulatedTransfer) -> f64| -> Vec<f64> { outcomes.iter().map(of).collect() };
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
            // The bound of the duration is converted to a bound of the goodput.
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

/// Returns the number of packets that one overflow of the queue may drop, or 0 if the queue did not cause most of the
/// losses. Depending on the end of slow start, an overflow drops up to as many packets as the queue holds. These losses
/// depend only on the capacity of the queue, which is estimated separately, and on no other property of the path.
pub(super) fn one_overflow(path: &Path) -> f64 {
    let by_queue = path.queue_share.value();
    let room = path.room.value().map_or(0.0, |room| room.packets);
    if by_queue.is_some_and(|share| share > MOSTLY) {
        room
    } else {
        0.0
    }
}

/// Compares a count in the capture with the counts in simulations. The captured count is a single random value, and the
/// path was estimated from such counts.
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
    fn counts_may_differ_by_a_fifth_beyond_chance() {
        // Chance alone changes a count of 100 to between 80 and 120.
        for (simulated, bound) in [
            (139.0, Bound::Within),
            (141.0, Bound::Beyond),
            (61.0, Bound::Within),
            (59.0, Bound::Beyond),
        ] {
            assert_eq!(losses(100.0, &[simulated; 3]), bound, "{simulated}");
        }
        // A larger difference is allowed if the simulations differ among themselves.
        assert_eq!(losses(100.0, &[141.0, 111.0, 171.0]), Bound::Within);
    }

    #[test]
    fn no_losses_are_compatible_with_a_mean_of_three() {
        assert_eq!(losses(0.0, &[3.0; 3]), Bound::Within);
        assert_eq!(losses(0.0, &[4.0; 3]), Bound::Beyond);
    }

    /// Returns a sender whose simulation differs from the capture by `off` times the allowed difference.
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
    fn a_sender_closer_to_the_capture_has_more_weight() {
        let weight = |behind, off| simulated(behind, off).weight();
        assert!((weight(0.0, 0.0) - 1.0).abs() < 1e-12);
        assert!(weight(0.0, 0.2) > weight(0.0, 0.5));
        assert!((weight(0.0, 0.5) - weight(0.0, -0.5)).abs() < 1e-12);
        // At the bound, the likelihood of a sender is that of a value at the end of a 95 % interval.
        assert!(
            (weight(0.0, 1.0) - 0.1465).abs() < 1e-3,
            "{}",
            weight(0.0, 1.0)
        );
        // According to its evidence, the second sender is half as likely.
        assert!((weight(2.0_f64.ln(), 0.0) - 0.5).abs() < 1e-12);
    }
}
