//! Dips of what is in flight that no loss explains: BBR's `ProbeRTT`.
//!
//! BBR lets the queue drain now and then to see the least round-trip time: version 1 every 10 s down
//! to four segments, version 3 every 5 s down to half of what it takes to fill the path, both
//! for 200 ms or a round trip. No control by loss has that: its window stays down.

use dupack_tcp::time::{Duration, Instant};

use super::rounds::Round;

/// Below this share of the usual, in flight is low. Version 3 goes to 0.5 of the path's product,
/// of which there are 1 to 2 in flight otherwise.
const LOW: f32 = 0.68;
/// Above this share it is back.
const BACK: f32 = 0.82;
/// How long a dip lasts at least: 200 ms (`ProbeRTTDuration`), less what the way down takes of it.
const SHORTEST: Duration = Duration::from_millis(140);
/// The least in flight, usually, in segments, at which half of it is told from it.
const LEAST_USUAL: f32 = 8.0;
/// A dip takes no more than this beside `ROUNDS_MOST` round trips.
const LONGEST: Duration = Duration::from_millis(300);
/// Round trips that a dip takes at most, until in flight is no longer low.
const ROUNDS_MOST: u32 = 3;
/// Round trips that it takes at most from there to what is usual: BBR's window is restored at once, where
/// one that grows by a segment per round trip takes longer.
const ROUNDS_BACK: f64 = 1.7;
/// A loss within so many rounds before a dip, or in it, explains it.
const ROUNDS_LOSS: u32 = 2;
/// In flight of version 1 in a dip: four segments, and what a delayed ACK makes of them.
const FOUR_SEGMENTS: f32 = 4.5;
/// Half of what is usual must be as many segments to be told from four.
const HALF_LEAST: f32 = 10.0;
/// Fewer rounds per repair than this leave no room for dips to be seen.
const ROUNDS_PER_LOSS: u32 = 12;
/// Dips tell if no more than one in so many rounds was bounded by something else than a window. Ours.
const BOUNDED_PART: u32 = 8;
/// Dips that are kept.
const KEPT: usize = 32;
/// Dips are no closer together with either version: version 3 makes one after 5 s, less what the clock that it
/// goes by began before.
const APART: Duration = Duration::from_millis(4500);

/// A dip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dip {
    /// The least that was in flight after a segment had left, in segments.
    pub least: f32,
    /// What was usual.
    pub usual: f32,
}

/// How deep the dips are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Four segments: version 1.
    Four,
    /// Half of what is usual, or a little more: version 3.
    Half,
    /// Half of what is usual is about four segments, or some are like this and some like that.
    Unclear,
}

/// Looks for dips.
#[derive(Clone, Debug)]
pub(super) struct Probing {
    /// The usual most of a round.
    usual: f32,
    low: Option<Low>,
    /// Up to this round a loss explains what is low.
    lost_until: u32,
    /// Repairs.
    losses: u32,
    dips: Vec<Dip>,
    count: u32,
    /// Rounds, and those in which something else than a window was the bound.
    rounds: u32,
    bounded: u32,
    /// When the last one began, and how many came too soon after another.
    last: Option<Instant>,
    hasty: u32,
}

#[derive(Clone, Copy, Debug)]
struct Low {
    since: Instant,
    round: u32,
    least: f32,
    departures: u32,
    /// When it was no longer low; back is more than that.
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

    /// How deep most of the dips are.
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

    /// Whether the application and the receiver hardly ever were what bounded it: they make dips, too.
    pub const fn is_unbounded(&self) -> bool {
        self.bounded.saturating_mul(BOUNDED_PART) <= self.rounds
    }

    /// Dips that came sooner after another than BBR makes them.
    pub const fn hasty(&self) -> u32 {
        self.hasty
    }

    /// A timeout, or another bound than the window: no dip.
    pub fn spoil(&mut self) {
        self.low = None;
    }

    /// Something was found lost in this round.
    pub fn lost(&mut self, round: u32) {
        self.low = None;
        self.lost_until = round.saturating_add(ROUNDS_LOSS);
        self.losses = self.losses.saturating_add(1);
    }

    /// Whether so few repairs came in so many rounds that dips could be seen.
    pub fn could_see(&self, rounds: u32) -> bool {
        self.usual >= LEAST_USUAL && self.losses < rounds / ROUNDS_PER_LOSS
    }

    /// A segment left in this round, with which so much is in flight, in segments; a round trip takes
    /// `rtt` seconds.
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

    /// A round ended.
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
            // It stays low: that is the usual from now on.
            self.low = None;
            self.usual = round.most;
        }
    }
}

/// What one round leaves of what was usual.
const USUAL_KEPT: f32 = 0.75;
/// Rounds beyond `ROUNDS_MOST` after which low is usual: 200 ms may be many short round trips.
const LONG_ROUNDS: u32 = 400;
