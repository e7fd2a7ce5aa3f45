//! Effect of losses on the window: the flight before and after a loss.

use super::flight::{Flight, Sack};
use super::rounds::{Marks, Round};
use crate::analyse::cause::Cause;
use crate::read::moment::{Explained, Stage};

/// Maximum number of reductions stored. When it is reached, every second one is dropped. Our choice: with this number,
/// a factor is known to within 0.01.
const KEPT: usize = 64;

/// Minimum window in segments: in smaller windows, whole segments make the factor inaccurate.
const LEAST_BEFORE: f32 = 10.0;

/// Minimum growth factor per round in slow start.
const SLOW_START: f32 = 1.3;

/// If the window of a round is below this fraction of the previous round's window, it was reduced again: a sender
/// without a recovery phase detected more losses.
const CUT_AGAIN: f32 = 0.8;

/// Measured loss event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reduction {
    /// Flight before the loss was detected, in segments.
    pub before: f32,
    /// Flight in the first round that shows the new window or, if slow start follows, at the end of slow start.
    pub after: f32,
    /// Flight in the first round that shows the new window.
    pub first: f32,
    /// Bandwidth-delay product of the path, in segments: the number of segments delivered in the round before the loss,
    /// times the minimum round-trip time, divided by the duration of this round.
    pub pipe: f32,
}

impl Reduction {
    pub fn factor(&self) -> f32 {
        self.after / self.before
    }

    /// Returns the flight in the first round as a fraction of the previous window.
    pub fn first_factor(&self) -> f32 {
        self.first / self.before
    }
}

/// State of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measuring {
    /// No loss is being measured.
    Idle,
    /// A loss was detected; its recovery, or the first round of the recovery, is in progress.
    Recovering(Pending),
    /// The next round shows the new window.
    Next(Pending),
    /// The new window is known. The values are the flights of the first and the latest round after the loss. Slow start
    /// may be in progress.
    Settling(Pending, f32, f32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pending {
    before: f32,
    pipe: f32,
    /// SND.NXT when the loss was detected.
    recover: u64,
    /// Round in which the loss was detected.
    round: u32,
}

impl Pending {
    const fn reduction(&self, after: f32, first: f32) -> Reduction {
        Reduction {
            before: self.before,
            after,
            first,
            pipe: self.pipe,
        }
    }
}

/// `true` if a round does not show the window, because another limit or a timeout occurred.
const fn is_spoilt(round: &Round) -> bool {
    round.marks.is_bounded() || round.marks.has(Marks::TIMEOUT)
}

/// Result of a step of the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// No new information.
    Nothing,
    /// A new loss event, which ends the previous growth of the window.
    Loss,
    /// A reduction was measured.
    Measured(Reduction),
}

/// Measurement of reductions.
#[derive(Clone, Debug)]
pub(super) struct Reductions {
    measuring: Measuring,
    /// Sequence number from which on data belongs to another loss event.
    recover: u64,
    previous: Option<Round>,
    kept: Vec<Reduction>,
    /// Number of measured reductions per stored one.
    stride: u32,
    measured: u32,
    events: u32,
}

impl Reductions {
    pub const fn new() -> Self {
        Self {
            measuring: Measuring::Idle,
            recover: 0,
            previous: None,
            kept: Vec::new(),
            stride: 1,
            measured: 0,
            events: 0,
        }
    }

    pub fn kept(&self) -> &[Reduction] {
        &self.kept
    }

    /// Returns the number of loss events detected without a timeout.
    pub const fn events(&self) -> u32 {
        self.events
    }

    /// Records a departure.
    pub fn departed(
        &mut self,
        explained: &Explained<'_>,
        (current, base): (&Round, f32),
        flight: &Flight,
    ) -> Found {
        let Some(retransmission) = explained.retransmission else {
            return Found::Nothing;
        };
        match retransmission.cause {
            Cause::Timeout { .. } => {
                self.measuring = Measuring::Idle;
                self.recover = flight.nxt();
                return Found::Loss;
            }
            Cause::AfterTimeout
            | Cause::TailLossProbe
            | Cause::KeepAlive
            | Cause::WindowProbe
            | Cause::LostAgain
            | Cause::Unknown => return Found::Nothing,
            _ => {}
        }
        if retransmission.start < self.recover || explained.stage == Stage::Loss {
            return Found::Nothing;
        }
        self.recover = flight.nxt();
        self.events = self.events.saturating_add(1);
        let is_free = match self.measuring {
            Measuring::Idle => true,
            // Another loss was detected before slow start was observed.
            Measuring::Settling(pending, first, last) if first == last => {
                self.keep(pending.reduction(first, first));
                true
            }
            _ => false,
        };
        self.measuring = match self.pending(current, base) {
            Some(pending) if is_free => Measuring::Recovering(pending),
            _ => Measuring::Idle,
        };
        Found::Loss
    }

    /// Returns the window and the bandwidth-delay product before the loss that is now detected; `None` if the window is
    /// unknown or too small.
    fn pending(&self, current: &Round, base: f32) -> Option<Pending> {
        let previous = self.previous?;
        let before = current.most.max(previous.most);
        let bounded = current.marks.is_bounded() || previous.marks.is_bounded();
        let seconds = previous.seconds();
        let tells = before >= LEAST_BEFORE && seconds > 0.0 && base > 0.0 && !bounded;
        tells.then(|| Pending {
            before,
            pipe: previous.delivered / seconds * base,
            recover: self.recover,
            round: current.number,
        })
    }

    /// Records the end of a round; `stage` is the sender's stage after the round.
    pub fn round(&mut self, round: &Round, stage: Stage, sack: Sack) -> Found {
        self.previous = Some(*round);
        match self.measuring {
            Measuring::Idle => Found::Nothing,
            Measuring::Recovering(pending) => {
                // With SACK, the flight is also known during a recovery, from the second round of the recovery on.
                let is_known = sack == Sack::Seen && round.number > pending.round;
                if stage == Stage::Open || is_known {
                    self.measuring = Measuring::Next(pending);
                }
                Found::Nothing
            }
            Measuring::Next(pending) => {
                self.measuring = if is_spoilt(round) {
                    Measuring::Idle
                } else {
                    Measuring::Settling(pending, round.most, round.most)
                };
                Found::Nothing
            }
            Measuring::Settling(pending, first, last) => self.settle(round, (pending, first, last)),
        }
    }

    fn settle(&mut self, round: &Round, (pending, first, last): (Pending, f32, f32)) -> Found {
        self.measuring = Measuring::Idle;
        if is_spoilt(round) || round.most < CUT_AGAIN * last {
            return Found::Nothing;
        }
        if round.most > SLOW_START * last + 1.0 {
            self.measuring = Measuring::Settling(pending, first, round.most);
            return Found::Nothing;
        }
        let after = if first == last { first } else { round.most };
        let reduction = pending.reduction(after, first);
        self.keep(reduction);
        Found::Measured(reduction)
    }

    fn keep(&mut self, reduction: Reduction) {
        if self.measured.is_multiple_of(self.stride) {
            if self.kept.len() >= KEPT {
                let mut place = 0_u32;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.stride = self.stride.saturating_mul(2);
            }
            self.kept.push(reduction);
        }
        self.measured = self.measured.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::testing::{marked, round};

    /// Returns a state in which a loss was detected in round 5, with 100 segments in flight before the loss.
    fn recovering() -> Reductions {
        let mut reductions = Reductions::new();
        reductions.measuring = Measuring::Recovering(Pending {
            before: 100.0,
            pipe: 60.0,
            recover: 0,
            round: 5,
        });
        reductions
    }

    /// Returns the results of round 6 and of later rounds. Round 6 ends the recovery.
    fn found(windows: &[f32]) -> Vec<Found> {
        let mut reductions = recovering();
        let rounds = (6..).zip(windows);
        let found =
            rounds.map(|(n, most)| reductions.round(&round(n, *most), Stage::Open, Sack::Unseen));
        found.collect()
    }

    fn measured(after: f32, first: f32) -> Found {
        Found::Measured(Reduction {
            before: 100.0,
            after,
            first,
            pipe: 60.0,
        })
    }

    #[test]
    fn the_first_round_after_the_recovery_shows_the_reduced_window() {
        let found = found(&[80.0, 50.0, 51.0, 52.0]);
        let nothing = Found::Nothing;
        assert_eq!(found, [nothing, nothing, measured(50.0, 50.0), nothing]);
        let Found::Measured(reduction) = found[2] else {
            panic!("{found:?}");
        };
        assert!((reduction.factor() - 0.5).abs() < 1e-6);
    }

    #[test]
    fn if_slow_start_follows_the_reduced_window_is_the_one_at_its_end() {
        let found = found(&[80.0, 10.0, 20.0, 40.0, 50.0]);
        assert_eq!(found.last(), Some(&measured(50.0, 10.0)));
    }

    #[test]
    fn a_window_reduced_again_or_limited_otherwise_is_not_measured() {
        assert!(
            found(&[80.0, 50.0, 39.0, 39.0, 39.0])
                .iter()
                .all(|found| *found == Found::Nothing)
        );
        for (place, mark) in [
            (7, Marks::APPLICATION),
            (7, Marks::TIMEOUT),
            (8, Marks::RECEIVE_WINDOW),
        ] {
            let mut reductions = recovering();
            for n in 6..10 {
                let this = match n == place {
                    true => marked(n, 50.0, mark),
                    false => round(n, 50.0),
                };
                let found = reductions.round(&this, Stage::Open, Sack::Unseen);
                assert_eq!(found, Found::Nothing, "{n} {mark:?}");
            }
            assert_eq!(reductions.kept(), []);
        }
    }

    #[test]
    fn with_sack_the_window_shows_from_the_second_round_of_the_recovery_on() {
        let measured_in = |sack| {
            let mut reductions = recovering();
            let mut rounds = 5..12;
            rounds.find(|n| {
                let found = reductions.round(&round(*n, 50.0), Stage::Recovery, sack);
                matches!(found, Found::Measured(_))
            })
        };
        assert_eq!(measured_in(Sack::Seen), Some(8));
        assert_eq!(measured_in(Sack::Unseen), None);
    }

    #[test]
    fn a_uniform_sample_of_many_reductions_is_kept() {
        let mut reductions = Reductions::new();
        for n in 0..1000_u16 {
            reductions.keep(Reduction {
                before: f32::from(n),
                after: 1.0,
                first: 1.0,
                pipe: 1.0,
            });
        }
        let kept: Vec<f32> = reductions.kept().iter().map(|one| one.before).collect();
        assert!((KEPT / 2..=KEPT).contains(&kept.len()), "{}", kept.len());
        let apart = kept[1] - kept[0];
        assert!(kept.windows(2).all(|pair| pair[1] - pair[0] == apart));
        assert!(kept[0] == 0.0 && kept.last() > Some(&960.0), "{kept:?}");
    }
}
