//! Dips of the flight without a loss: BBR's `ProbeRTT`.
//!
//! BBR sometimes lets the queue drain in order to measure the minimum round-trip time. Version 1 reduces the flight to
//! four segments every 10 s, and version 3 to half of the bandwidth-delay product every 5 s, both for 200 ms or one
//! round trip. A loss-based control does not do this: after a reduction, its window stays low.

use dupack_tcp::time::{Duration, Instant};

use super::rounds::Round;

/// Maximum low flight, as a fraction of the usual flight. Version 3 reduces the flight to 0.5 of the bandwidth-delay
/// product, and usually has 1 to 2 times this product in flight.
const LOW: f32 = 0.68;
/// Minimum flight after a recovery from a dip, as a fraction of the usual flight.
const BACK: f32 = 0.82;
/// Minimum duration of a dip: 200 ms (`ProbeRTTDuration`), minus the time in which the flight falls.
const SHORTEST: Duration = Duration::from_millis(140);
/// Minimum usual flight, in segments, for dips to be detected: half of a smaller flight cannot be distinguished.
const LEAST_USUAL: f32 = 8.0;
/// Maximum duration of a dip, in addition to `ROUNDS_MOST` round trips.
const LONGEST: Duration = Duration::from_millis(300);
/// Maximum number of round trips in which the flight is low, in addition to `LONGEST`.
const ROUNDS_MOST: u32 = 3;
/// Maximum number of round trips from the end of the low flight to the usual flight. BBR restores its window at once,
/// while a window that grows by a segment per round trip takes longer.
const ROUNDS_BACK: f64 = 1.7;
/// Number of rounds for which a loss explains a low flight that begins after it. A loss during a dip explains the dip
/// as well.
const ROUNDS_LOSS: u32 = 2;
/// Maximum flight of version 1 in a dip, in segments: four, plus half a segment because of delayed ACKs.
const FOUR_SEGMENTS: f32 = 4.5;
/// Minimum value of half the usual flight, in segments, at which it can be distinguished from four segments.
const HALF_LEAST: f32 = 10.0;
/// Minimum number of rounds per loss for dips to be visible.
const ROUNDS_PER_LOSS: u32 = 12;
/// Inverse of the maximum fraction of rounds with a limit other than the congestion window for dips to count. Our
/// choice.
const BOUNDED_PART: u32 = 8;
/// Maximum number of dips stored.
const KEPT: usize = 32;
/// Minimum time between dips of either version: version 3 dips after 5 s, and the tolerance allows for the start of the
/// clock that it uses.
const APART: Duration = Duration::from_millis(4500);

/// Dip of the flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dip {
    /// Minimum flight after a departure, in segments.
    pub least: f32,
    /// Usual flight, in segments.
    pub usual: f32,
}

/// Depth of dips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Four segments: version 1.
    Four,
    /// Half of the usual flight, or a little more: version 3.
    Half,
    /// Half of the usual flight is about four segments, or the dips have different depths.
    Unclear,
}

/// Detector of dips.
#[derive(Clone, Debug)]
pub(super) struct Probing {
    /// Usual maximum flight of a round, in segments.
    usual: f32,
    low: Option<Low>,
    /// Round up to which a loss explains a low flight.
    lost_until: u32,
    /// Number of retransmissions.
    losses: u32,
    dips: Vec<Dip>,
    count: u32,
    /// Number of rounds, and of rounds with a limit other than the congestion window.
    rounds: u32,
    bounded: u32,
    /// Start of the last dip, and the number of dips that began too soon after the previous one.
    last: Option<Instant>,
    hasty: u32,
}

#[derive(Clone, Copy, Debug)]
struct Low {
    since: Instant,
    round: u32,
    least: f32,
    departures: u32,
    /// Time at which the flight was no longer low. The dip ends later, when the flight is above `BACK`.
    until: Option<Instant>,
}

impl Probing {
    pub const fn new() -> Self {
        Self {
            usual: 0.0,
            low: None,
            lost_until: 0,
            losses: 0,
            dips: Vec::new(),
            count: 0,
            rounds: 0,
            bounded: 0,
            last: None,
            hasty: 0,
        }
    }

    /// Returns the depth of the majority of dips.
    pub fn depth(&self) -> Depth {
        let clear = self.dips.iter().filter(|dip| dip.usual >= 2.0 * HALF_LEAST);
        let (deep, shallow): (Vec<f32>, Vec<f32>) = clear
            .map(|dip| dip.least)
            .partition(|&least| least <= FOUR_SEGMENTS);
        if deep.len() > 2 * shallow.len() {
            Depth::Four
        } else if shallow.len() > 2 * deep.len() {
            Depth::Half
        } else {
            Depth::Unclear
        }
    }

    pub const fn count(&self) -> u32 {
        self.count
    }

    /// `true` if the application and the receiver were rarely the limit. If they are the limit, they also cause dips.
    pub const fn is_unbounded(&self) -> bool {
        self.bounded.saturating_mul(BOUNDED_PART) <= self.rounds
    }

    /// Returns the number of dips that began sooner after the previous one than BBR's dips do.
    pub const fn hasty(&self) -> u32 {
        self.hasty
    }

    /// Discards the current dip, because of a timeout or a limit other than the congestion window.
    pub fn spoil(&mut self) {
        self.low = None;
    }

    /// Records a loss that was detected in `round`.
    pub fn lost(&mut self, round: u32) {
        self.low = None;
        self.lost_until = round.saturating_add(ROUNDS_LOSS);
        self.losses = self.losses.saturating_add(1);
    }

    /// `true` if the losses were few enough, in this number of rounds, for dips to be visible.
    pub fn could_see(&self, rounds: u32) -> bool {
        self.usual >= LEAST_USUAL && self.losses < rounds / ROUNDS_PER_LOSS
    }

    /// Records a departure in `round` with `in_flight` segments in flight; `rtt` is the round-trip time in seconds.
    pub fn departed(&mut self, at: Instant, in_flight: f32, (round, rtt): (u32, f64)) {
        if self.usual < LEAST_USUAL {
            return;
        }
        let share = in_flight / self.usual;
        match &mut self.low {
            None if share < LOW && round > self.lost_until => {
                self.low = Some(Low {
                    since: at,
                    round,
                    least: in_flight,
                    departures: 0,
                    until: None,
                });
            }
            None => {}
            Some(low) if share < LOW && low.until.is_none() => {
                low.departures = low.departures.saturating_add(1);
                low.least = low.least.min(in_flight);
            }
            Some(low) => {
                let until = *low.until.get_or_insert(at);
                let took = until.since(low.since);
                let back_in = at.since(until).as_secs_f64();
                let longest = LONGEST.as_secs_f64() + f64::from(ROUNDS_MOST) * rtt;
                let is_long = took.as_secs_f64() > longest || back_in > ROUNDS_BACK * rtt;
                if took < SHORTEST || is_long {
                    self.low = None;
                } else if share > BACK {
                    let dip = Dip {
                        least: low.least,
                        usual: self.usual,
                    };
                    let since = low.since;
                    if low.departures > 0 {
                        self.keep(since, dip);
                    }
                    self.low = None;
                }
            }
        }
    }

    fn keep(&mut self, since: Instant, dip: Dip) {
        self.count = self.count.saturating_add(1);
        let before = self.last.replace(since);
        if before.is_some_and(|before| since.since(before) < APART) {
            self.hasty = self.hasty.saturating_add(1);
        }
        if self.dips.len() < KEPT {
            self.dips.push(dip);
        }
    }

    /// Records the end of a round.
    pub fn round(&mut self, round: &Round) {
        self.rounds = self.rounds.saturating_add(1);
        if round.marks.is_bounded() {
            self.bounded = self.bounded.saturating_add(1);
            self.spoil();
            return;
        }
        let is_low = self.low.is_some() && round.most < LOW * self.usual;
        if !is_low {
            self.usual = if self.usual == 0.0 {
                round.most
            } else {
                USUAL_KEPT * self.usual + (1.0 - USUAL_KEPT) * round.most
            };
        } else if self
            .low
            .is_some_and(|low| round.number.saturating_sub(low.round) > ROUNDS_MOST + LONG_ROUNDS)
        {
            // The flight remains low, so this flight becomes the usual flight.
            self.low = None;
            self.usual = round.most;
        }
    }
}

/// Weight of the previous usual flight when a round is added.
const USUAL_KEPT: f32 = 0.75;
/// Number of rounds, in addition to `ROUNDS_MOST`, after which a low flight becomes the usual flight. It is large
/// because 200 ms may be many short round trips.
const LONG_ROUNDS: u32 = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::rounds::Marks;
    use crate::sender::testing::{marked, round};

    const RTT: f64 = 0.05;

    /// Returns a detector with this usual flight in segments.
    fn usually(segments: f32) -> Probing {
        let mut probing = Probing::new();
        for n in 0..10 {
            probing.round(&round(n, segments));
        }
        probing
    }

    /// Simulates a departure every 10 ms from `from` (in ms) on: first with `low` in flight, then with `between` (each
    /// a flight in segments and a duration in ms), and finally one departure with `high` in flight.
    fn dip(
        probing: &mut Probing,
        from: u64,
        (low, long): (f32, u64),
        between: (f32, u64),
        high: f32,
    ) {
        let mut at = from;
        let mut leave = |in_flight, at| {
            let at = Instant::ZERO + Duration::from_millis(at);
            probing.departed(at, in_flight, (20, RTT));
        };
        for (in_flight, long) in [(low, long), between] {
            for n in 0..long / 10 {
                leave(in_flight, at + n * 10);
            }
            at += long;
        }
        leave(high, at);
    }

    /// Returns the number of dips if the flight falls from 40 segments to `low` for `long` milliseconds.
    fn dips(low: f32, long: u64) -> u32 {
        let mut probing = usually(40.0);
        dip(&mut probing, 1000, (low, long), (0.0, 0), 40.0);
        probing.count()
    }

    #[test]
    fn a_dip_lasts_for_about_200_ms_and_falls_to_two_thirds_or_less() {
        assert_eq!(dips(20.0, 200), 1);
        assert_eq!(dips(4.0, 200), 1);
        assert_eq!(dips(27.0, 200), 1);
        assert_eq!(dips(28.0, 200), 0);
        assert_eq!(dips(20.0, 130), 0);
        // A dip lasts for at most three round trips in addition to 300 ms.
        assert_eq!(dips(20.0, 440), 1);
        assert_eq!(dips(20.0, 470), 0);
    }

    #[test]
    fn a_window_that_recovers_slowly_is_no_dip() {
        let back_in = |long| {
            let mut probing = usually(40.0);
            dip(&mut probing, 1000, (20.0, 200), (30.0, long), 34.0);
            probing.count()
        };
        assert_eq!(back_in(80), 1);
        assert_eq!(back_in(90), 0);
        // The flight does not recover completely.
        let mut probing = usually(40.0);
        dip(&mut probing, 1000, (20.0, 200), (30.0, 50), 32.0);
        assert_eq!(probing.count(), 0);
    }

    #[test]
    fn a_low_flight_after_a_loss_or_with_another_limit_is_no_dip() {
        let after = |spoil: fn(&mut Probing)| {
            let mut probing = usually(40.0);
            spoil(&mut probing);
            dip(&mut probing, 1000, (20.0, 200), (0.0, 0), 40.0);
            probing.count()
        };
        assert_eq!(after(|probing| probing.lost(18)), 0);
        assert_eq!(after(|probing| probing.lost(17)), 1);
        let mut probing = usually(40.0);
        dip(&mut probing, 1000, (20.0, 200), (0.0, 0), 20.0);
        probing.spoil();
        dip(&mut probing, 1200, (40.0, 10), (0.0, 0), 40.0);
        assert_eq!(probing.count(), 0);
        // Half of a few segments cannot be distinguished from the usual flight.
        let mut few = usually(7.0);
        dip(&mut few, 1000, (3.0, 200), (0.0, 0), 7.0);
        assert_eq!(few.count(), 0);
    }

    #[test]
    fn the_depth_of_dips_is_that_of_the_majority() {
        let of = |usual: f32, lows: &[f32]| {
            let mut probing = usually(usual);
            for (n, low) in (0..).zip(lows) {
                dip(
                    &mut probing,
                    1000 + n * 10_000,
                    (*low, 200),
                    (0.0, 0),
                    usual,
                );
            }
            assert_eq!((probing.count(), probing.hasty()), (lows.len() as u32, 0));
            probing.depth()
        };
        assert_eq!(of(40.0, &[4.0, 4.0, 20.0, 4.0]), Depth::Four);
        assert_eq!(of(40.0, &[20.0, 24.0, 20.0, 4.0]), Depth::Half);
        assert_eq!(of(40.0, &[20.0, 4.0]), Depth::Unclear);
        // Half of this flight is about four segments.
        assert_eq!(of(12.0, &[4.0, 4.0, 4.0]), Depth::Unclear);
    }

    #[test]
    fn dips_sooner_than_bbrs_are_counted() {
        let hasty = |apart: u64| {
            let mut probing = usually(40.0);
            for n in 0..3_u64 {
                dip(&mut probing, 1000 + n * apart, (20.0, 200), (0.0, 0), 40.0);
            }
            (probing.count(), probing.hasty())
        };
        assert_eq!(hasty(4400), (3, 2));
        assert_eq!(hasty(4600), (3, 0));
    }

    #[test]
    fn a_flight_that_stays_low_becomes_the_usual() {
        let mut probing = usually(40.0);
        dip(&mut probing, 1000, (20.0, 200), (0.0, 0), 20.0);
        for n in 20..500 {
            probing.round(&round(n, 20.0));
        }
        assert_eq!(probing.usual, 20.0);
    }

    #[test]
    fn dips_count_if_few_rounds_had_another_limit_and_few_losses_occurred() {
        let bounded = |every: u32| {
            let mut probing = Probing::new();
            for n in 0..every * 5 {
                let mark = match n % every {
                    0 => Marks::APPLICATION,
                    _ => Marks::default(),
                };
                probing.round(&marked(n, 40.0, mark));
            }
            probing.is_unbounded()
        };
        assert!(bounded(8));
        assert!(!bounded(7));
        let seen = |usual, losses, rounds| {
            let mut probing = usually(usual);
            (0..losses).for_each(|n| probing.lost(n));
            probing.could_see(rounds)
        };
        assert!(seen(40.0, 2, 36));
        assert!(!seen(40.0, 3, 36));
        assert!(!seen(7.0, 0, 36));
    }
}
