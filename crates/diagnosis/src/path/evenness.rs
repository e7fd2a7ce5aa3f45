//! Regularity of packets that leave a queue: packets of one flow leave directly one after the other if there is no
//! cross traffic between them.
//!
//! With cross traffic, a packet is delayed by the foreign packets before it, and so are all later packets. In contrast,
//! if a host delays one packet, the next packet is on time again, because the delayed data is delivered in a burst.
//! Therefore, the times of a stretch are compared with a straight line over the delivered bytes. Without cross traffic,
//! most points lie on the line, regardless of the delay of the other points, which a host delayed. With cross traffic,
//! the points scatter around the line, because foreign packets arrive at random.

use dupack_tcp::time::Duration;

/// Maximum number of points stored per stretch. In a longer stretch, only every second, fourth, … point is stored (our
/// choice).
const POINTS: usize = 32;

/// Minimum number of points for a meaningful line (our choice).
const POINTS_MIN: usize = 4;

/// Fraction of the points to which the second line is fitted: those nearest to the first line. A host that was late
/// once does not affect the second line (our choice).
const NEAREST: (usize, usize) = (3, 4);

/// Delivered bytes of a stretch over time.
#[derive(Clone, Debug)]
pub(super) struct Course {
    points: Vec<Point>,
    /// One in this many points is stored. The number is a power of two.
    each: u32,
    came: u32,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    bytes: f64,
    seconds: f64,
}

/// Straight line that gives seconds as a function of bytes.
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
    /// Starts a new stretch.
    pub(super) fn begin(&mut self) {
        *self = Self {
            points: std::mem::take(&mut self.points),
            ..Self::default()
        };
        self.points.clear();
        self.came(0, Duration::ZERO);
    }

    /// Adds a point: `bytes` were delivered in total, `since` after the start of the stretch.
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

    /// Returns the median distance of the times from the fitted line; `None` if there are too few points.
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
    /// Fits a line by the method of least squares; `None` if there are too few points.
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

    /// Returns the scatter, in milliseconds, of 40 packets that take 1 ms each, delayed by `late(n)` microseconds.
    fn scatter(late: impl Fn(u64) -> u64) -> f64 {
        let mut course = Course::default();
        course.begin();
        for n in 1..=40 {
            course.came(n * 1250, Duration::from_micros(n * 1000 + late(n)));
        }
        course.scatter().unwrap().as_secs_f64() * 1e3
    }

    #[test]
    fn occasional_host_delays_do_not_bend_the_line() {
        assert!(scatter(|_| 0) < 1e-6);
        let now_and_then = scatter(|n| if n % 9 == 0 { 3000 } else { 0 });
        assert!(now_and_then < 0.05, "{now_and_then}");
        let once_for_long = scatter(|n| if (10..14).contains(&n) { 5000 } else { 0 });
        assert!(once_for_long < 0.1, "{once_for_long}");
    }

    #[test]
    fn cross_traffic_scatters_the_points() {
        // Packets of cross traffic arrive in groups that take 3 ms each.
        let groups = scatter(|n| n / 7 * 3000 + u64::from(n > 20) * 4000);
        assert!(groups > 0.5, "{groups}");
    }
}
