//! Opening of a transfer: the first flight, and the growth of the window before the first loss.

use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::{Duration, Instant};

use super::report::{Counting, InitialBound, SlowStartEnd};
use super::rounds::{Marks, Round};
use crate::read::moment::{Arrival, Departure};

/// Maximum number of rounds stored. A window that doubles from one segment exceeds every receive window (RFC 7323 §2.3)
/// in fewer rounds.
const KEPT: usize = 40;

/// Maximum time from an ACK to a segment that it triggers, as a fraction of the round-trip time. Our choice.
const ANSWER_SHARE: f64 = 0.25;

/// First flight, and the rounds that follow it.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    first: First,
    initial_bytes: u64,
    initial_bound: Option<InitialBound>,
    /// Timestamp that the first segment echoes. Any segment with the same echo was sent before an ACK of data arrived
    /// at the sender, regardless of its capture time.
    echo: Option<u32>,
    rounds: Vec<Round>,
    state: Course,
}

/// State of the first flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// No data has been acknowledged.
    Leaving,
    /// Some data was acknowledged at `at`; `rtt` is the round trip.
    Acknowledged { at: Instant, rtt: Option<Duration> },
    /// The first flight is over.
    Over,
}

/// State of the opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// No loss has been detected.
    Growing,
    /// A loss has been detected.
    Lost,
    /// There were too many rounds to store all of them.
    Long,
}

impl Opening {
    pub const fn new() -> Self {
        Self {
            first: First::Leaving,
            initial_bytes: 0,
            initial_bound: None,
            echo: None,
            rounds: Vec::new(),
            state: Course::Growing,
        }
    }

    pub fn departed(&mut self, departure: &Departure<'_>, smss: u64) {
        let echo = departure.timestamps.map(|stamps| stamps.echo);
        if self.initial_bytes == 0 {
            self.echo = echo;
        }
        let with_first = echo.is_some() && echo == self.echo;
        match self.first {
            First::Acknowledged { .. } if with_first && departure.kind == SendingKind::First => {
                let len = departure.end.saturating_sub(departure.start);
                self.initial_bytes = self.initial_bytes.saturating_add(len);
            }
            First::Leaving => {
                if departure.kind == SendingKind::First {
                    let len = departure.end.saturating_sub(departure.start);
                    self.initial_bytes = self.initial_bytes.saturating_add(len);
                    // A short segment shows that there was no more data to send.
                    if !len.is_multiple_of(smss) {
                        self.initial_bound = Some(InitialBound::AtLeast);
                    }
                }
            }
            First::Acknowledged { at, rtt } => {
                if departure.kind == SendingKind::First && departure.unseen_bytes > 0 {
                    // The skipped data belongs to the first flight and was lost before the capture point.
                    let unseen = departure.unseen_bytes;
                    self.initial_bytes = self.initial_bytes.saturating_add(unseen);
                }
                let waited = departure.at.since(at).as_secs_f64();
                let within = rtt.is_some_and(|rtt| waited <= ANSWER_SHARE * rtt.as_secs_f64());
                if self.initial_bound.is_none() {
                    self.initial_bound = Some(if within && departure.kind == SendingKind::First {
                        InitialBound::Window
                    } else {
                        InitialBound::AtLeast
                    });
                }
                self.first = First::Over;
            }
            First::Over => {}
        }
    }

    pub fn arrived(&mut self, arrival: &Arrival<'_>) {
        if self.first == First::Leaving && arrival.facts.acked_bytes > 0 {
            self.first = First::Acknowledged {
                at: arrival.at,
                rtt: arrival.facts.rtt,
            };
        }
    }

    /// Records a loss or a timeout.
    pub fn lost(&mut self) {
        if self.state == Course::Growing {
            self.state = Course::Lost;
        }
    }

    pub fn round(&mut self, round: &Round) {
        if self.state != Course::Growing {
            return;
        }
        if self.rounds.len() < KEPT {
            self.rounds.push(*round);
        } else {
            self.state = Course::Long;
        }
    }

    pub const fn initial_bytes(&self) -> u64 {
        self.initial_bytes
    }

    /// Returns the limit of the first flight; `None` if no segment followed it.
    pub const fn initial_bound(&self) -> Option<InitialBound> {
        self.initial_bound
    }

    /// Returns the growth factor of the window from each round to the next, for as long as the window was the only
    /// limit.
    pub fn growth(&self) -> impl Iterator<Item = f32> + '_ {
        let bounded = |r: &Round| r.marks.is_bounded() || r.marks.has(Marks::UNSETTLED);
        self.rounds.windows(2).map_while(move |pair| match pair {
            [one, next] if !bounded(one) && !bounded(next) && one.most > 0.0 => {
                Some(next.most / one.most)
            }
            _ => None,
        })
    }

    /// Returns the quantity that slow start counts, derived from the growth per round and the segments per ACK.
    pub fn counting(&self) -> Option<Counting> {
        let (mut acks, mut segments, mut grown) = (0.0_f32, 0.0_f32, 0.0_f32);
        for pair in self.rounds.windows(2).take_while(|pair| grows(pair)) {
            let [one, next] = pair else { break };
            acks += next.acks as f32;
            segments += next.delivered;
            grown += next.most - one.most;
        }
        // With about one ACK per segment, both ways of counting give the same growth.
        if segments < COUNTED_LEAST || acks > ACKS_SHARE * segments {
            return None;
        }
        let by_bytes = grown / segments;
        let by_acks = grown / acks;
        if (by_bytes - 1.0).abs() < COUNT_TOLERANCE {
            Some(Counting::Bytes)
        } else if (by_acks - 1.0).abs() < COUNT_TOLERANCE {
            Some(Counting::Acks)
        } else {
            None
        }
    }

    /// Returns the reason for the end of the first slow start.
    pub fn end(&self) -> Option<SlowStartEnd> {
        let growth: Vec<f32> = self.growth().collect();
        let grew = growth.iter().take_while(|&&g| g > STOPPED).count();
        let doubled = growth.iter().take(grew).filter(|&&g| g > DOUBLES).count();
        if doubled == 0 || grew == 0 {
            return None;
        }
        let after = growth.get(grew..).unwrap_or_default();
        let css = growth.get(..grew).unwrap_or_default();
        let slower = css.iter().rev().take_while(|&&g| g < CSS_MOST).count();
        if after.len() < STOPPED_ROUNDS {
            return match self.state {
                Course::Lost => Some(SlowStartEnd::Loss),
                _ => Some(SlowStartEnd::NotEnded),
            };
        }
        let lowest = after.iter().scan(1.0_f32, |at, &g| {
            *at *= g;
            Some(*at)
        });
        let lowest = lowest.fold(1.0_f32, f32::min);
        if lowest < DRAINED {
            Some(SlowStartEnd::Drained)
        } else if slower >= CSS_ROUNDS {
            Some(SlowStartEnd::Gradual)
        } else {
            Some(SlowStartEnd::AtOnce)
        }
    }
}

/// Maximum growth factor per round after slow start. The factor of a window of 10 segments that grows by one segment is
/// smaller.
const STOPPED: f32 = 1.15;
/// Minimum growth factor per round in slow start: the factor is 1.5 if ACKs are counted and delayed, and 2 otherwise.
const DOUBLES: f32 = 1.4;
/// Upper bound of the growth factor per round in HyStart++'s conservative slow start, which is at most 1.25 (RFC 9406
/// §4.2).
const CSS_MOST: f32 = 1.35;
/// Minimum number of rounds that show conservative slow start, which lasts for up to 5 rounds. One or two rounds with
/// slower growth may also occur because slow start ended within a round.
const CSS_ROUNDS: usize = 3;
/// Number of rounds without growth after which slow start is over.
const STOPPED_ROUNDS: usize = 2;
/// Maximum fraction of the window that remains if a reduction without a loss counts as draining.
const DRAINED: f32 = 0.85;
/// Minimum number of acknowledged segments to determine which quantity slow start counts.
const COUNTED_LEAST: f32 = 20.0;
/// Maximum number of ACKs per segment for which the two ways of counting differ.
const ACKS_SHARE: f32 = 0.7;
/// Tolerance around 1 of the growth per acknowledged segment or per ACK.
const COUNT_TOLERANCE: f32 = 0.2;

/// `true` if slow start was in progress in both rounds.
fn grows(pair: &[Round]) -> bool {
    match pair {
        [one, next] => {
            one.marks.is_clear() && next.marks.is_clear() && next.most > DOUBLES * one.most
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::testing::{marked, round};

    /// Returns an opening with these numbers of segments in flight, one per round.
    fn of(windows: &[f32]) -> Opening {
        let mut opening = Opening::new();
        for (n, window) in (0..).zip(windows) {
            opening.round(&round(n, *window));
        }
        opening
    }

    #[test]
    fn slow_start_ends_with_a_loss_or_has_not_ended() {
        let mut opening = of(&[10.0, 20.0, 40.0]);
        assert_eq!(opening.end(), Some(SlowStartEnd::NotEnded));
        opening.lost();
        assert_eq!(opening.end(), Some(SlowStartEnd::Loss));
        // Rounds after the loss do not belong to the opening.
        for n in 3..6 {
            opening.round(&round(n, 20.0));
        }
        assert_eq!(opening.end(), Some(SlowStartEnd::Loss));
        assert_eq!(opening.growth().collect::<Vec<_>>(), [2.0, 2.0]);
    }

    #[test]
    fn a_window_without_a_loss_stops_at_once_or_slowly_or_is_drained() {
        let at_once = of(&[10.0, 20.0, 40.0, 41.0, 42.0]);
        assert_eq!(at_once.end(), Some(SlowStartEnd::AtOnce));
        // Two rounds without growth are required, because one may be chance.
        assert_eq!(
            of(&[10.0, 20.0, 40.0, 41.0]).end(),
            Some(SlowStartEnd::NotEnded)
        );
        let slowly = of(&[10.0, 20.0, 40.0, 50.0, 62.0, 77.0, 78.0, 79.0]);
        assert_eq!(slowly.end(), Some(SlowStartEnd::Gradual));
        let two_rounds = of(&[10.0, 20.0, 40.0, 50.0, 62.0, 63.0, 64.0]);
        assert_eq!(two_rounds.end(), Some(SlowStartEnd::AtOnce));
        let drained = of(&[10.0, 20.0, 40.0, 36.0, 32.0]);
        assert_eq!(drained.end(), Some(SlowStartEnd::Drained));
        // There was no slow start.
        assert_eq!(of(&[10.0, 11.0, 12.0, 13.0]).end(), None);
    }

    #[test]
    fn rounds_with_another_limit_show_no_growth() {
        let mut opening = of(&[10.0, 20.0]);
        opening.round(&marked(2, 40.0, Marks::APPLICATION));
        opening.round(&round(3, 80.0));
        opening.round(&round(4, 160.0));
        assert_eq!(opening.growth().collect::<Vec<_>>(), [2.0]);
    }

    #[test]
    fn with_delayed_acks_growth_shows_what_is_counted() {
        let counting = |windows: &[f32], segments_per_ack: f32| {
            let mut opening = Opening::new();
            let mut before = windows[0] / 2.0;
            for (n, window) in (0..).zip(windows) {
                opening.round(&Round {
                    delivered: before,
                    acks: (before / segments_per_ack) as u32,
                    ..round(n, *window)
                });
                before = *window;
            }
            opening.counting()
        };
        let doubled = [10.0, 20.0, 40.0, 80.0];
        assert_eq!(counting(&doubled, 2.0), Some(Counting::Bytes));
        let by_half = [16.0, 24.0, 36.0, 54.0];
        assert_eq!(counting(&by_half, 2.0), Some(Counting::Acks));
        // In the first case, both ways of counting give the same growth. In the second case, there is too little data.
        assert_eq!(counting(&doubled, 1.0), None);
        assert_eq!(counting(&[10.0, 20.0], 2.0), None);
        // The growth fits neither way of counting.
        assert_eq!(counting(&[10.0, 15.0, 23.0, 36.0], 5.0), None);
    }
}
