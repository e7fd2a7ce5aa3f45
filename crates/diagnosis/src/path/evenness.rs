//! Whether packets come out of a queue evenly: one after the other, with nobody else's between them.
//!
//! Beside other flows a packet comes out later by what they had before it, and so do all behind it. A host that is
//! late with one is not late with the next: what it lost comes back at once. So the times of a stretch are held
//! against a line over the bytes that came. Without others most of them lie on it, whatever those are off that a
//! host held back; with others they lie about it, as chance puts packets between ours.

use dupack_tcp::time::Duration;

/// So many points of a stretch are kept; of a longer one every second, fourth, … (ours).
const POINTS: usize = 32;

/// With fewer points a line says nothing (ours).
const POINTS_MIN: usize = 4;

/// The first line is fitted to all points, the second to so large a part of them that lies nearest to it: a host
/// that was late once does not bend it (ours).
const NEAREST: (usize, usize) = (3, 4);

/// When how many bytes of a stretch had come.
#[derive(Clone, Debug)]
pub(super) struct Course {
    points: Vec<Point>,
    /// Every so many are kept: a power of two.
    each: u32,
    came: u32,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    bytes: f64,
    seconds: f64,
}

/// A straight line: seconds over bytes.
#[derive(Clone, Copy, Debug)]
struct Line {
    middle: Point,
    slope: f64,
}

impl Default for Course {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            each: 1,
            came: 0,
        }
    }
}

impl Course {
    /// A stretch begins.
    pub(super) fn begin(&mut self) {
        *self = Self {
            points: std::mem::take(&mut self.points),
            ..Self::default()
        };
        self.points.clear();
        self.came(0, Duration::ZERO);
    }

    /// So many bytes of it had come, so long after it began.
    pub(super) fn came(&mut self, bytes: u64, since: Duration) {
        self.came += 1;
        if self.came & (self.each - 1) != 0 {
            return;
        }
        if self.points.len() >= POINTS {
            let mut odd = false;
            self.points.retain(|_| {
                odd = !odd;
                !odd
            });
            self.each *= 2;
        }
        self.points.push(Point {
            bytes: bytes as f64,
            seconds: since.as_secs_f64(),
        });
    }

    /// How far the times are off a line, in the median; nothing of too few.
    pub(super) fn scatter(&self) -> Option<Duration> {
        let first = Line::through(&self.points)?;
        let mut nearest = self.points.clone();
        nearest.sort_by(|one, other| first.off(*one).total_cmp(&first.off(*other)));
        nearest.truncate((nearest.len() * NEAREST.0 / NEAREST.1).max(POINTS_MIN));
        let line = Line::through(&nearest)?;
        let mut off: Vec<f64> = self.points.iter().map(|&point| line.off(point)).collect();
        off.sort_by(f64::total_cmp);
        off.get(off.len() / 2)
            .map(|&off| Duration::from_secs_f64(off))
    }
}

impl Line {
    /// By least squares.
    fn through(points: &[Point]) -> Option<Self> {
        if points.len() < POINTS_MIN {
            return None;
        }
        let count = points.len() as f64;
        let sum = |of: fn(&Point) -> f64| points.iter().map(of).sum::<f64>();
        let middle = Point {
            bytes: sum(|point| point.bytes) / count,
            seconds: sum(|point| point.seconds) / count,
        };
        let (mut together, mut square) = (0.0, 0.0);
        for point in points {
            let bytes = point.bytes - middle.bytes;
            together += bytes * (point.seconds - middle.seconds);
            square += bytes * bytes;
        }
        (square > 0.0).then(|| Self {
            middle,
            slope: together / square,
        })
    }

    fn off(&self, point: Point) -> f64 {
        let expected = self.middle.seconds + self.slope * (point.bytes - self.middle.bytes);
        (point.seconds - expected).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 packets that take 1 ms each, of which each is late by what `late` says, in microseconds.
    fn scatter(late: impl Fn(u64) -> u64) -> f64 {
        let mut course = Course::default();
        course.begin();
        for n in 1..=40 {
            course.came(n * 1250, Duration::from_micros(n * 1000 + late(n)));
        }
        course.scatter().unwrap().as_secs_f64() * 1e3
    }

    #[test]
    fn a_host_that_is_late_at_times_does_not_bend_the_line() {
        assert!(scatter(|_| 0) < 1e-6);
        let now_and_then = scatter(|n| if n % 9 == 0 { 3000 } else { 0 });
        assert!(now_and_then < 0.05, "{now_and_then}");
        let once_for_long = scatter(|n| if (10..14).contains(&n) { 5000 } else { 0 });
        assert!(once_for_long < 0.1, "{once_for_long}");
    }

    #[test]
    fn packets_of_others_do() {
        // Others' packets come in groups, each of which takes 3 ms.
        let groups = scatter(|n| n / 7 * 3000 + u64::from(n > 20) * 4000);
        assert!(groups > 0.5, "{groups}");
    }
}
