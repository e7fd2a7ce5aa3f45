//! How the window grows between losses: fitted against a line, a cubic curve and a constant, and
//! counted round by round against what Vegas would have done.

use super::report::Counting;
use super::rounds::{Marks, Round};

/// Points of an epoch that are kept; of more, every second is dropped. Ours: enough for a curve
/// of four parameters.
const POINTS: usize = 48;
/// An epoch of fewer rounds tells nothing of its shape.
const LEAST_POINTS: usize = 5;

/// RFC 9438 §5.1, in segments/s³.
const CUBIC_C: f32 = 0.4;
/// RFC 9438 §4.6.
const CUBIC_BETA: f32 = 0.7;
/// RFC 9438 §4.3: segments per round trip below the last maximum.
const CUBIC_ALPHA: f32 = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);

/// How far a window is off its model, in segments: what whole segments and a round's border make.
const OFF_SEGMENTS: f32 = 0.75;
/// The same as a share of the window.
const OFF_SHARE: f32 = 0.02;
/// How far a window is off its mean with a control that probes up and down by a quarter (BBR).
const OFF_PROBING: f32 = 0.15;
/// What a point costs a plateau's fit: where it lies is taken from the points.
const PLATEAU_PRICE: f32 = 0.4;
/// What a point costs that control's fit, as it would take almost any shape.
const PROBING_PRICE: f32 = 0.5;
/// Beyond so many deviations a point is no worse: something else happened.
const OFF_MOST: f32 = 3.0;
/// So many deviations is what a model must do better than.
const OFF_OTHER: f32 = 1.3;
/// Points of an epoch are not independent: it counts as no more than so many.
const POINTS_COUNTED: f32 = 6.0;
/// Epochs in all count as no more than so many.
const EPOCHS_COUNTED: f32 = 12.0;

/// A point of an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// Seconds since the epoch began.
    at: f32,
    /// Rounds since then.
    rounds: f32,
    /// ACKs over delivered segments, summed over the rounds: what counting ACKs would have added.
    by_acks: f32,
    /// In flight, in segments.
    window: f32,
}

/// How well each shape fits, as natural logarithms of how much likelier the windows are with it than
/// with nothing in particular.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fits {
    /// One segment per round trip.
    pub by_bytes: f32,
    /// One segment per window's worth of ACKs: less, where ACKs are delayed.
    pub by_acks: f32,
    /// The cubic curve, by what counts and bounds it ([`Friendly`]).
    pub cubics: [f32; 4],
    /// A constant.
    pub constant: f32,
    /// One segment per round trip up to a plateau.
    pub plateau: f32,
    /// Up and down about a mean.
    pub probing: f32,
    /// Epochs that were fitted.
    pub epochs: u32,
}

impl Fits {
    /// The cubic curve, as whatever counts and bounds it.
    pub fn cubic(&self) -> f32 {
        self.cubics
            .iter()
            .copied()
            .fold(f32::NEG_INFINITY, f32::max)
    }

    /// A line, as whatever is counted makes it.
    pub fn line(&self) -> f32 {
        self.by_bytes.max(self.by_acks)
    }

    /// The weight of each epoch where there are many.
    pub fn weight(&self) -> f32 {
        (EPOCHS_COUNTED / (self.epochs.max(1) as f32)).min(1.0)
    }
}

/// Where growth stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Epoch {
    /// None is under way.
    None,
    /// One began with a reduction, from this window.
    Since {
        /// The window before.
        prior: f32,
        /// `W_max`: the same, or less where it was less than the one before (RFC 9438 §4.7).
        maximum: f32,
    },
}

/// What a round was, by the segments that it had in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backlog {
    /// Fewer than one: Vegas grows.
    Few,
    /// One to three: Vegas stays.
    Some,
    /// More than five: Vegas shrinks.
    Many,
}

/// How a window moved from one round to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// By half a segment or more, down.
    Down,
    /// By less.
    Stays,
    /// By half a segment or more, up.
    Up,
}

/// Follows the growth of a window.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    epoch: Epoch,
    /// The window before the last loss.
    prior: f32,
    points: Vec<Point>,
    stride: u32,
    skipped: u32,
    clock: Point,
    fits: Fits,
    previous: Option<Round>,
    /// Rounds by backlog and move.
    table: [[u32; 3]; 3],
}

impl Growth {
    pub const fn new() -> Self {
        Self {
            epoch: Epoch::None,
            prior: 0.0,
            points: Vec::new(),
            stride: 1,
            skipped: 0,
            clock: Point {
                at: 0.0,
                rounds: 0.0,
                by_acks: 0.0,
                window: 0.0,
            },
            fits: Fits {
                by_bytes: 0.0,
                by_acks: 0.0,
                cubics: [0.0; 4],
                constant: 0.0,
                plateau: 0.0,
                probing: 0.0,
                epochs: 0,
            },
            previous: None,
            table: [[0; 3]; 3],
        }
    }

    /// Whatever grew is over: a loss.
    pub fn lost(&mut self) {
        self.finish();
        self.previous = None;
    }

    /// A reduction was measured: from this window the next epoch grows.
    pub fn reduced(&mut self, prior: f32, round: &Round) {
        self.finish();
        let converges = prior < self.prior;
        let maximum = if converges {
            prior * (1.0 + CUBIC_BETA) / 2.0
        } else {
            prior
        };
        self.prior = prior;
        self.epoch = Epoch::Since { prior, maximum };
        self.clock = Point {
            at: 0.0,
            rounds: 0.0,
            by_acks: 0.0,
            window: round.most,
        };
        self.points.push(self.clock);
    }

    /// A round ended, in which nothing was amiss or measured.
    pub fn round(&mut self, round: &Round, base: f32) {
        if round.marks.is_bounded() || round.marks.has(Marks::TIMEOUT) {
            self.finish();
            self.previous = None;
            return;
        }
        if matches!(self.epoch, Epoch::Since { .. })
            && round.most > SLOW_START * self.clock.window + 1.0
        {
            // Slow start after the loss: what was measured was no end of it.
            self.epoch = Epoch::None;
            self.points.clear();
        }
        if let Epoch::Since { .. } = self.epoch {
            let acks = round.acks as f32 / round.delivered.max(1.0);
            self.clock.at += round.seconds();
            self.clock.rounds += 1.0;
            self.clock.by_acks += acks.min(1.0);
            self.clock.window = round.most;
            self.point();
        }
        if round.marks.is_clear() {
            self.compare(round, base);
            self.previous = Some(*round);
        } else {
            self.previous = None;
        }
    }

    /// What every epoch so far says; the one under way included.
    pub fn fits(&self) -> Fits {
        let mut copy = self.clone();
        copy.finish();
        copy.fits
    }

    /// How often the window moved so with so much in the queue.
    pub fn count(&self, backlog: Backlog, step: Move) -> u32 {
        let row = self.table.get(backlog as usize);
        row.and_then(|row| row.get(step as usize))
            .copied()
            .unwrap_or(0)
    }

    fn compare(&mut self, round: &Round, base: f32) {
        let Some(previous) = self.previous else {
            return;
        };
        let growth = round.most / previous.most.max(1.0);
        if growth > SLOW_START || previous.rtt_min <= 0.0 {
            return;
        }
        let queued = previous.most * (1.0 - base / previous.rtt_min);
        let backlog = if queued < 0.8 {
            Backlog::Few
        } else if (1.3..2.7).contains(&queued) {
            Backlog::Some
        } else if queued > 5.0 {
            Backlog::Many
        } else {
            return;
        };
        let step = match round.most - previous.most {
            change if change <= -0.5 => Move::Down,
            change if change >= 0.5 => Move::Up,
            _ => Move::Stays,
        };
        let row = self.table.get_mut(backlog as usize);
        if let Some(count) = row.and_then(|row| row.get_mut(step as usize)) {
            *count = count.saturating_add(1);
        }
    }

    fn point(&mut self) {
        self.skipped += 1;
        if self.skipped < self.stride {
            return;
        }
        self.skipped = 0;
        if self.points.len() >= POINTS {
            let mut place = 0_u32;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride = self.stride.saturating_mul(2);
        }
        self.points.push(self.clock);
    }

    fn finish(&mut self) {
        if let Epoch::Since { prior, maximum } = self.epoch
            && self.points.len() >= LEAST_POINTS
        {
            self.fit(prior, maximum);
        }
        self.epoch = Epoch::None;
        self.points.clear();
        self.stride = 1;
        self.skipped = 0;
    }

    fn fit(&mut self, prior: f32, maximum: f32) {
        let Some(first) = self.points.first().map(|p| p.window) else {
            return;
        };
        let points = &self.points;
        let of = |model: &dyn Fn(&Point) -> f32| likelihood(points, OFF_SHARE, model);
        let by_bytes = of(&|p| first + p.rounds);
        let by_acks = of(&|p| first + p.by_acks);
        let cubics = Friendly::ALL
            .map(|friendly| of(&|p| cubic_curve(p, first, (maximum, prior), friendly)));
        let constant = of(&|_| first);
        let tail = points.get(points.len() * 2 / 3..).unwrap_or_default();
        let level = tail.iter().map(|p| p.window).sum::<f32>() / tail.len().max(1) as f32;
        let plateau = of(&|p| (first + p.rounds).min(level.max(first)));
        let mean = points.iter().map(|p| p.window).sum::<f32>() / points.len() as f32;
        let probing = likelihood(points, OFF_PROBING, &|_| mean);
        let counted = counted(points);
        let fits = &mut self.fits;
        fits.by_bytes += by_bytes;
        fits.by_acks += by_acks;
        for (sum, fit) in fits.cubics.iter_mut().zip(cubics) {
            *sum += fit;
        }
        fits.constant += constant;
        fits.plateau += plateau - PLATEAU_PRICE * counted;
        fits.probing += probing - PROBING_PRICE * counted;
        fits.epochs = fits.epochs.saturating_add(1);
    }
}

/// Growth per round above which it is slow start.
const SLOW_START: f32 = 1.4;

/// How much likelier the points are with a model than with nothing in particular.
fn likelihood(points: &[Point], share: f32, model: &dyn Fn(&Point) -> f32) -> f32 {
    let one = |p: &Point| {
        let scale = OFF_SEGMENTS + share * p.window;
        let off = ((p.window - model(p)) / scale).abs().min(OFF_MOST);
        0.5 * (OFF_OTHER * OFF_OTHER - off * off)
    };
    points.iter().map(one).sum::<f32>() / points.len().max(1) as f32 * counted(points)
}

/// As how many independent points these count.
fn counted(points: &[Point]) -> f32 {
    (points.len() as f32 / 2.0).min(POINTS_COUNTED)
}

/// How CUBIC reckons what Reno would have (RFC 9438 §4.3), in which implementations differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Friendly {
    counting: Counting,
    beyond: Beyond,
}

/// How fast that grows beyond the window before the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beyond {
    /// By one segment per round trip (RFC 9438).
    One,
    /// As before (RFC 8312, Linux).
    Alpha,
}

impl Friendly {
    const ALL: [Self; 4] = [
        Self::new(Counting::Bytes, Beyond::One),
        Self::new(Counting::Bytes, Beyond::Alpha),
        Self::new(Counting::Acks, Beyond::One),
        Self::new(Counting::Acks, Beyond::Alpha),
    ];

    const fn new(counting: Counting, beyond: Beyond) -> Self {
        Self { counting, beyond }
    }
}

/// The window of CUBIC, from `first` on, with the plateau at `maximum`; what Reno would have is
/// reckoned with the window before the loss, `prior`.
fn cubic_curve(point: &Point, first: f32, (maximum, prior): (f32, f32), friendly: Friendly) -> f32 {
    let k = ((maximum - first).max(0.0) / CUBIC_C).cbrt();
    let curve = CUBIC_C * (point.at - k).powi(3) + maximum.max(first);
    let grown = match friendly.counting {
        Counting::Bytes => point.rounds,
        Counting::Acks => point.by_acks,
    };
    let below = match friendly.beyond {
        Beyond::One => ((prior - first) / CUBIC_ALPHA).max(0.0),
        Beyond::Alpha => f32::INFINITY,
    };
    let reno = if grown <= below {
        first + CUBIC_ALPHA * grown
    } else {
        prior.max(first) + (grown - below)
    };
    curve.max(reno).max(first)
}

#[cfg(test)]
mod tests;
