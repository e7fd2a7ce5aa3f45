//! Growth of the window between losses: fitted to a line, a cubic curve and a constant, and compared with the behaviour
//! of Vegas in each round.

use super::report::Counting;
use super::rounds::{Marks, Round};

/// Maximum number of points of an epoch. When it is reached, every second point is dropped. Our choice: this number is
/// enough for a curve with four parameters.
const POINTS: usize = 48;
/// Minimum number of points of an epoch to recognise its shape.
const LEAST_POINTS: usize = 5;

/// CUBIC's constant `C` (RFC 9438 §5.1), in segments/s³.
const CUBIC_C: f32 = 0.4;
/// CUBIC's factor after a loss (RFC 9438 §4.6).
const CUBIC_BETA: f32 = 0.7;
/// CUBIC's growth in its Reno-friendly region, in segments per round trip, below the window before the loss (RFC 9438
/// §4.3).
const CUBIC_ALPHA: f32 = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);

/// Typical error of a model of the window, in segments, due to whole segments and round boundaries.
const OFF_SEGMENTS: f32 = 0.75;
/// Additional error of a model, as a fraction of the window.
const OFF_SHARE: f32 = 0.02;
/// Deviation from the mean, as a fraction of the window, with a control that probes up and down by a quarter (BBR).
const OFF_PROBING: f32 = 0.15;
/// Penalty per point for fitting a plateau, because its level is estimated from the points.
const PLATEAU_PRICE: f32 = 0.4;
/// Penalty per point for fitting a probing control, because it matches almost any shape.
const PROBING_PRICE: f32 = 0.5;
/// Maximum deviation that counts for a point, in multiples of the typical error: a larger deviation has another cause.
const OFF_MOST: f32 = 3.0;
/// Maximum deviation of a point that counts in favour of a model, in multiples of the typical error.
const OFF_OTHER: f32 = 1.3;
/// Maximum number of points per epoch that contribute to the score, because the points of an epoch are not independent.
const POINTS_COUNTED: f32 = 6.0;
/// Maximum number of epochs that contribute to the score.
const EPOCHS_COUNTED: f32 = 12.0;

/// Point of an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// Time since the epoch began, in seconds.
    at: f32,
    /// Number of rounds since the epoch began.
    rounds: f32,
    /// Number of ACKs per delivered segment, summed over the rounds. It is the growth of a window that counts ACKs.
    by_acks: f32,
    /// Number of segments in flight.
    window: f32,
}

/// Fits of the shapes of growth, as natural logarithms of the likelihood relative to a window without a particular
/// shape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fits {
    /// One segment per round trip.
    pub by_bytes: f32,
    /// One segment per ACKed window if ACKs are counted: less than one segment per round trip if ACKs are delayed.
    pub by_acks: f32,
    /// The cubic curve, for each variant in [`Friendly`].
    pub cubics: [f32; 4],
    /// Constant window.
    pub constant: f32,
    /// One segment per round trip up to a plateau.
    pub plateau: f32,
    /// Variation around a mean.
    pub probing: f32,
    /// Number of epochs that were fitted.
    pub epochs: u32,
}

impl Fits {
    /// Returns the best fit among the variants of the cubic curve.
    pub fn cubic(&self) -> f32 {
        self.cubics
            .iter()
            .copied()
            .fold(f32::NEG_INFINITY, f32::max)
    }

    /// Returns the better fit of a line, by bytes or by ACKs.
    pub fn line(&self) -> f32 {
        self.by_bytes.max(self.by_acks)
    }

    /// Returns the weight of each epoch, which is less than 1 if there are more than `EPOCHS_COUNTED`.
    pub fn weight(&self) -> f32 {
        (EPOCHS_COUNTED / (self.epochs.max(1) as f32)).min(1.0)
    }
}

/// State of the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Epoch {
    /// No epoch is in progress.
    None,
    /// An epoch that began with a reduction.
    Since {
        /// Window before the reduction.
        prior: f32,
        /// `W_max`: the window before the reduction. It is reduced further if this window was smaller than the window
        /// before the previous loss (RFC 9438 §4.7).
        maximum: f32,
    },
}

/// Class of a round by the number of its segments in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backlog {
    /// Fewer than one segment: Vegas increases its window.
    Few,
    /// One to three segments: Vegas keeps its window.
    Some,
    /// More than five segments: Vegas reduces its window.
    Many,
}

/// Change of the window from one round to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// The window shrinks by half a segment or more.
    Down,
    /// The window changes by less than half a segment.
    Stays,
    /// The window grows by half a segment or more.
    Up,
}

/// Measurement of the growth of a window.
#[derive(Clone, Debug)]
pub(super) struct Growth {
    epoch: Epoch,
    /// Window before the last loss.
    prior: f32,
    points: Vec<Point>,
    stride: u32,
    skipped: u32,
    clock: Point,
    fits: Fits,
    previous: Option<Round>,
    /// Number of rounds by backlog and move.
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

    /// Ends the epoch because of a loss.
    pub fn lost(&mut self) {
        self.finish();
        self.previous = None;
    }

    /// Begins an epoch after a measured reduction.
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

    /// Records a round without a loss and without a measurement of a reduction.
    pub fn round(&mut self, round: &Round, base: f32) {
        if round.marks.is_bounded() || round.marks.has(Marks::TIMEOUT) {
            self.finish();
            self.previous = None;
            return;
        }
        if matches!(self.epoch, Epoch::Since { .. })
            && round.most > SLOW_START * self.clock.window + 1.0
        {
            // Slow start follows the loss, so the measured window was not the final window after the reduction.
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

    /// Returns the fits of all epochs, including the current one.
    pub fn fits(&self) -> Fits {
        let mut copy = self.clone();
        copy.finish();
        copy.fits
    }

    /// Returns the number of rounds with this backlog and move.
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

/// Minimum growth factor per round in slow start.
const SLOW_START: f32 = 1.4;

/// Returns the log-likelihood of the points under a model, relative to a window without a particular shape.
fn likelihood(points: &[Point], share: f32, model: &dyn Fn(&Point) -> f32) -> f32 {
    let one = |p: &Point| {
        let scale = OFF_SEGMENTS + share * p.window;
        let off = ((p.window - model(p)) / scale).abs().min(OFF_MOST);
        0.5 * (OFF_OTHER * OFF_OTHER - off * off)
    };
    points.iter().map(one).sum::<f32>() / points.len().max(1) as f32 * counted(points)
}

/// Returns the number of independent points to which these points are equivalent.
fn counted(points: &[Point]) -> f32 {
    (points.len() as f32 / 2.0).min(POINTS_COUNTED)
}

/// Variant of CUBIC's estimate of Reno's window (RFC 9438 §4.3), which differs among implementations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Friendly {
    counting: Counting,
    beyond: Beyond,
}

/// Growth of this estimate above the window before the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beyond {
    /// One segment per round trip (RFC 9438).
    One,
    /// The same rate as below that window (RFC 8312, Linux).
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

/// Returns CUBIC's window, which starts at `first` and has its plateau at `maximum`. The estimate of Reno's window uses
/// `prior`, the window before the loss.
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
