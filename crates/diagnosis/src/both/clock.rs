//! Clocks of two captures, and the endpoint to which each capture is nearer.

use dupack_tcp::time::Duration;

use super::Clock;
use super::error::Apart;
use super::matching;
use super::pieces::{Piece, Pieces};
use crate::read::side::{Both, Side};
use crate::told::Told;

/// Minimum number of neighbouring packets in a hundred that must agree on the order of the two captures along the path
/// (our choice).
const AGREE_OF_HUNDRED: usize = 90;

/// Minimum duration of a connection in seconds for an estimate of the skew (our choice): in a shorter connection, the
/// skew of a common clock is negligible.
const SKEW_SPAN_S: f64 = 10.0;
/// Minimum number of packets in each direction for an estimate of the skew (our choice).
const SKEW_PACKETS: usize = 20;
/// Maximum skew of a clock: quartz clocks are accurate to 100 ppm, and NTP slews a clock by at most 500 ppm.
const SKEW_MAX: f64 = 1e-3;

/// Minimum ratio of the minimum round-trip time that follows from the line to the one that follows from neighbouring
/// packets (our choice).
const LINE_SHARE: f64 = 0.3;

/// Minimum number of matching packets (our choice): fewer may match by chance, and a handshake has three.
const ALIKE_MIN: usize = 3;

/// Segment that both captures contain.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Capture time in this capture, in nanoseconds.
    at: i64,
    /// Capture time in the other capture minus that in this capture, each on its own clock, in nanoseconds.
    later: i64,
    side: Side,
}

/// Number of nanoseconds by which the other clock is ahead, as a linear function of this clock.
#[derive(Clone, Copy, Debug)]
struct Line {
    from: i64,
    offset: f64,
    skew: f64,
    /// Minimum round-trip time according to the line, in nanoseconds.
    round_trip: f64,
}

/// Relation between the clocks of both captures.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// Endpoint to which this capture is nearer.
    pub(super) near: Side,
    pub(super) round_trip: Duration,
    line: Option<Line>,
    /// Median difference between the clocks in nanoseconds, used if there is no line.
    usual: i64,
    skew: Told<f64>,
}

impl Times {
    /// Compares the times of the segments that both captures contain.
    pub(super) fn of(pieces: &Both<Pieces>, pairs: [&[(u32, u32)]; 2]) -> Result<Self, Apart> {
        let mut seen = Vec::new();
        for (side, pairs) in Side::BOTH.into_iter().zip(pairs) {
            let Pieces { here, there } = pieces.of(side);
            let both = pairs
                .iter()
                .filter_map(|&pair| matching::at(here, there, pair));
            seen.extend(both.map(|(one, two): (&Piece, &Piece)| Seen {
                at: one.at,
                later: two.at.saturating_sub(one.at),
                side,
            }));
        }
        if seen.len() < ALIKE_MIN {
            return Err(Apart::NotShared);
        }
        if pairs.iter().any(|pairs| pairs.is_empty()) {
            return Err(Apart::OneDirection);
        }
        seen.sort_by_key(|one| one.at);
        if seen.iter().all(|one| one.later == 0) {
            return Err(Apart::SameCapture);
        }
        Self::from_seen(&seen)
    }

    fn from_seen(seen: &[Seen]) -> Result<Self, Apart> {
        let turns = seen.windows(2).filter_map(|pair| {
            let &[one, two] = pair else { return None };
            let (opener, answerer) = match (one.side, two.side) {
                (Side::Opener, Side::Answerer) => (one, two),
                (Side::Answerer, Side::Opener) => (two, one),
                _ => return None,
            };
            Some(opener.later.saturating_sub(answerer.later))
        });
        let turns: Vec<i64> = turns.collect();
        let forward = turns.iter().filter(|&&turn| turn > 0).count();
        let backward = turns.iter().filter(|&&turn| turn < 0).count();
        let enough = turns.len() * AGREE_OF_HUNDRED;
        let near = if forward * 100 >= enough {
            Side::Opener
        } else if backward * 100 >= enough {
            Side::Answerer
        } else {
            return Err(Apart::SamePlace);
        };
        let way = |turn: i64| match near {
            Side::Opener => turn,
            Side::Answerer => turn.saturating_neg(),
        };
        let turns = turns.into_iter().map(way).filter(|&turn| turn > 0);
        let least = turns.min().ok_or(Apart::SamePlace)?;
        let mut usual: Vec<i64> = seen.iter().map(|one| one.later).collect();
        let middle = usual.len() / 2;
        let (_, &mut usual, _) = usual.select_nth_unstable(middle);
        let (line, skew) = line(seen, near, least);
        Ok(Self {
            near,
            round_trip: Duration::from_nanos(least.unsigned_abs()),
            line,
            usual,
            skew,
        })
    }

    /// Returns the relation of the other clock to this clock, as it is reported in the findings; `None` if there is no
    /// line.
    pub(super) fn clock(&self) -> Option<Clock> {
        let line = self.line?;
        Some(Clock {
            offset_s: line.offset / 1e9,
            uncertainty: Duration::from_nanos((line.round_trip / 2.0) as u64),
            skew: self.skew,
        })
    }

    /// Returns `true` if one-way delays are known.
    pub(super) const fn has_delays(&self) -> bool {
        self.line.is_some()
    }

    /// Returns the nanoseconds by which the other clock is ahead when this clock shows `at`.
    fn ahead(&self, at: i64) -> i64 {
        match self.line {
            Some(line) => (line.offset + line.skew * at.saturating_sub(line.from) as f64) as i64,
            None => self.usual,
        }
    }

    /// Returns the delay of a segment from `side` between the two captures, in nanoseconds.
    pub(super) fn delay(&self, side: Side, sent: &Piece, arrived: &Piece) -> i64 {
        if side == self.near {
            (arrived.at.saturating_sub(sent.at)).saturating_sub(self.ahead(sent.at))
        } else {
            (arrived.at.saturating_sub(sent.at)).saturating_add(self.ahead(arrived.at))
        }
    }

    /// Returns the earliest time at which a segment from `side`, captured at `at` near its sender, arrives at the other
    /// capture, on the clock of that capture.
    pub(super) fn arrival(&self, side: Side, at: i64) -> i64 {
        let least = self.least();
        let at = at.saturating_add(least);
        if side == self.near {
            at.saturating_add(self.ahead(at))
        } else {
            // The offset at this time is only approximate, but the skew makes this error much shorter than a round
            // trip.
            at.saturating_sub(self.ahead(at.saturating_sub(self.ahead(at))))
        }
    }

    /// Returns the minimum one-way delay in nanoseconds.
    pub(super) fn least(&self) -> i64 {
        (self.round_trip.as_nanos() / 2) as i64
    }

    /// Returns `true` if a segment may have had this delay. Without a line, every delay is possible.
    pub(super) fn allows(&self, delay: i64) -> bool {
        let least = match self.line {
            Some(line) => (line.round_trip / 2.0) as i64,
            None => return true,
        };
        delay >= least - least / 20 - 100_000
    }
}

/// Returns the line of the other clock, or `None` if no line fits, and the clock's skew.
fn line(seen: &[Seen], near: Side, least: i64) -> (Option<Line>, Told<f64>) {
    let from = seen.first().map_or(0, |first| first.at);
    let points = |side: Side, sign: f64| -> Vec<(f64, f64)> {
        let own = seen.iter().filter(|one| one.side == side);
        own.map(|one| ((one.at - from) as f64, sign * one.later as f64))
            .collect()
    };
    // Delays increase the difference between the capture times in one direction and decrease it in the other, so the
    // offset has an upper and a lower bound.
    let (ahead, behind) = (points(near, 1.0), points(near.other(), -1.0));
    let (slope, skew) = skew(&ahead, &behind, least as f64);
    let lowest = |points: &[(f64, f64)], slope: f64| {
        let rest = points.iter().map(|(x, y)| y - slope * x);
        rest.fold(f64::INFINITY, f64::min)
    };
    let (high, low) = (lowest(&ahead, slope), -lowest(&behind, -slope));
    let round_trip = high - low;
    let fits = round_trip > 0.0 && round_trip >= LINE_SHARE * least as f64;
    let line = Line {
        from,
        offset: f64::midpoint(high, low),
        skew: slope,
        round_trip,
    };
    (fits.then_some(line), skew)
}

/// Returns the skew used in calculations, and its estimate.
fn skew(ahead: &[(f64, f64)], behind: &[(f64, f64)], least: f64) -> (f64, Told<f64>) {
    let unknown = |why| Told::CannotBeTold {
        why,
        remedy: "a longer capture of a path without a queue",
    };
    let span = |points: &[(f64, f64)]| match points {
        [first, .., last] => last.0 - first.0,
        _ => 0.0,
    };
    let span = span(ahead).min(span(behind));
    if span < SKEW_SPAN_S * 1e9 || ahead.len().min(behind.len()) < SKEW_PACKETS {
        return (0.0, unknown("the connection is too short"));
    }
    let slopes = [hull_slope(ahead), hull_slope(behind).map(|slope| -slope)];
    let is_clock = |slope: &f64| slope.abs() <= SKEW_MAX;
    let mut slopes: Vec<f64> = slopes.into_iter().flatten().filter(is_clock).collect();
    slopes.sort_by(f64::total_cmp);
    match slopes[..] {
        [low, high] => {
            // The direction with less queueing gives the better estimate of the skew, because its packets are closer to
            // its line.
            let spread = |points: &[(f64, f64)], slope: f64| {
                let mut rest: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
                rest.sort_by(f64::total_cmp);
                let middle = rest.get(rest.len() / 2).copied().unwrap_or(0.0);
                middle - rest.first().copied().unwrap_or(0.0)
            };
            let [one, other] = [hull_slope(ahead), hull_slope(behind).map(|slope| -slope)];
            let [one, other] = [one.unwrap_or(low), other.unwrap_or(low)];
            let value = match spread(ahead, one) <= spread(behind, -other) {
                true => one,
                false => other,
            };
            if (high - low) * span <= (least / 4.0).max(1e6) {
                (value, Told::Between { value, low, high })
            } else {
                (
                    value,
                    unknown("the minimum delays of both directions drift apart"),
                )
            }
        }
        [value] => (
            value,
            unknown("the minimum delay of one direction does not drift like a clock"),
        ),
        _ => (0.0, unknown("the minimum delays do not drift like a clock")),
    }
}

/// Returns the slope of the lower convex hull at the mean time of the points, which are sorted by their first
/// coordinate.
fn hull_slope(points: &[(f64, f64)]) -> Option<f64> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &point in points {
        while let [.., a, b] = hull[..] {
            let turn = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
            if turn > 0.0 {
                break;
            }
            hull.pop();
        }
        if hull.last().is_some_and(|last| last.0 >= point.0) {
            // If several points have the same time, the lowest one counts.
            let lower = hull.last().is_some_and(|last| last.1 > point.1);
            if !lower {
                continue;
            }
            hull.pop();
        }
        hull.push(point);
    }
    let sum: f64 = points.iter().map(|(x, _)| x).sum();
    let middle = sum / points.len().max(1) as f64;
    let side = hull.windows(2).find(|pair| {
        let [_, right] = pair else { return false };
        right.0 >= middle
    })?;
    let [left, right] = side else { return None };
    let run = right.0 - left.0;
    (run > 0.0).then(|| (right.1 - left.1) / run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hull_slope_follows_the_lowest_points() {
        let points = (0..100_i32).map(|n| {
            let queue = if n % 7 == 0 { 0.0 } else { f64::from(n % 13) };
            (f64::from(n), 3.0 + 0.5 * f64::from(n) + queue)
        });
        let points: Vec<(f64, f64)> = points.collect();
        let slope = hull_slope(&points).unwrap();
        assert!((slope - 0.5).abs() < 1e-9, "{slope}");
        assert_eq!(hull_slope(&[]), None);
        assert_eq!(hull_slope(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }
}
