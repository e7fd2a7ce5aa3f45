//! Policers: token buckets that drop what exceeds their rate, and queue nothing.
//!
//! After Flach et al., "An Internet-Wide Analysis of Traffic Policing" (SIGCOMM 2016): the policing rate
//! is what comes through between the first loss and the last, and with a bucket that fills at this rate,
//! packets are lost when it is empty. So at losses what has been sent since the first is what the rate
//! allows, within some packets; and at all other times it is less, as then there is something in the bucket.
//! Losses of a link fall on either side of such a line as often as any packet, and losses of a queue come at
//! its longest delay, where these come with none.

use dupack_tcp::time::{Duration, Instant};

use super::losses::Lost;
use crate::told::Told;

/// So many losses make a line (Flach et al. ask for 15).
const LOSSES_MIN: usize = 15;

/// The line is as long as so many round trips at least (ours): within a few, all losses are one burst.
const ROUND_TRIPS_MIN: u64 = 10;

/// Nine of ten losses are so close to the line, in packets, or in shares of all that was sent (ours).
const OFF_PACKETS: f64 = 16.0;
const OFF_SHARE: f64 = 0.02;

/// Of all times, no more than this share is above the line by more than so many packets (ours: half are, if
/// losses are the link's).
const ABOVE: f64 = 0.1;
const ABOVE_PACKETS: f64 = 4.0;

/// Losses are closer to the line than other times are, by this factor, in the middle (ours).
const CLOSER: f64 = 2.0;

/// So many points of the course are kept (ours); when there are more, every second is.
const POINTS: usize = 512;

/// Its rate is below this share of the bottleneck's, where that is known (ours): a full link has a line, too.
const BELOW_LINK: f64 = 0.7;

/// The queueing delay beside the losses is at most this share of the least round-trip time, in the middle
/// (Flach et al. compare the delays of lost packets with those of others).
const DELAY_SHARE: f64 = 0.2;

/// When what of the stream left first.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    points: Vec<(Instant, u64)>,
    /// How many are passed over for each that is kept, and how many of them have been.
    stride: u32,
    passed: u32,
}

impl Course {
    /// What begins at `start` left first at `at`.
    pub(super) fn sent(&mut self, at: Instant, start: u64) {
        if self.passed < self.stride {
            self.passed += 1;
            return;
        }
        self.passed = 0;
        if self.points.len() >= POINTS {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride.saturating_mul(2).saturating_add(1);
        }
        self.points.push((at, start));
    }
}

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// How fast it fills, in bit per second.
    pub rate: Told<f64>,
    /// What it holds, in bytes.
    pub burst: Told<f64>,
}

/// What there is of one in the losses, if they look like one's; `course` is when what left, `wire` the bytes on the wire per byte of the stream, `packet` those of a full one, `link` the rate of the
/// bottleneck in bit per second.
pub(super) fn find(
    losses: &[Lost],
    course: &Course,
    least: Duration,
    (wire, packet): (f64, f64),
    link: Option<f64>,
) -> Option<Policer> {
    let mut firsts: Vec<&Lost> = losses
        .iter()
        .filter(|lost| lost.transmission == 1)
        .collect();
    if firsts.len() < LOSSES_MIN || !without_queue(&firsts, least) {
        return None;
    }
    firsts.sort_unstable_by_key(|lost| lost.start);
    let begin = course.points.first()?.0;
    let holes = Holes::of(losses);
    let place = |at: Instant, start: u64| {
        let passed = start as f64 * wire - holes.at(at) * packet;
        (at.since(begin).as_secs_f64(), passed)
    };
    let at_losses: Vec<(f64, f64)> = firsts.iter().map(|l| place(l.sent, l.start)).collect();
    let (&(from, before), &(until, after)) = (at_losses.first()?, at_losses.last()?);
    if until - from < least.saturating_mul(ROUND_TRIPS_MIN).as_secs_f64() || after <= before {
        return None;
    }
    let slope = (after - before) / (until - from);
    let above = |&(at, sent): &(f64, f64)| sent - before - slope * (at - from);
    let between = |(at, _): &(f64, f64)| (from..=until).contains(at);
    let points = course.points.iter().map(|&(at, start)| place(at, start));
    let elsewhere: Vec<f64> = points.filter(between).map(|point| above(&point)).collect();
    let losses: Vec<f64> = at_losses.iter().map(above).collect();
    let high = elsewhere.iter().filter(|&&a| a > ABOVE_PACKETS * packet);
    let often_above = high.count() as f64 > ABOVE * elsewhere.len() as f64;
    let ninth = distance(&losses, 0.9)?;
    let far = ninth > (OFF_PACKETS * packet).max(OFF_SHARE * (after - before));
    let no_closer = distance(&losses, 0.5)? * CLOSER > distance(&elsewhere, 0.5)?;
    let of_link = link.is_some_and(|link| slope * 8.0 > BELOW_LINK * link);
    if often_above || far || no_closer || of_link {
        return None;
    }
    let uncertain = ninth / (until - from);
    let burst = before - slope * from;
    Some(Policer {
        rate: Told::Between {
            value: slope * 8.0,
            low: (slope - uncertain) * 8.0,
            high: (slope + uncertain) * 8.0,
        },
        burst: told_burst(burst, ninth.max(packet) + uncertain * from, packet),
    })
}

/// What was lost and not repaired yet, over time.
struct Holes {
    from: Vec<Instant>,
    until: Vec<Instant>,
}

impl Holes {
    fn of(losses: &[Lost]) -> Self {
        let mut from: Vec<Instant> = losses.iter().map(|lost| lost.sent).collect();
        let mut until: Vec<Instant> = losses.iter().map(|lost| lost.repaired).collect();
        from.sort_unstable();
        until.sort_unstable();
        Self { from, until }
    }

    /// How many segments at `at`.
    fn at(&self, at: Instant) -> f64 {
        let begun = self.from.partition_point(|from| *from < at);
        let ended = self.until.partition_point(|until| *until <= at);
        begun.saturating_sub(ended) as f64
    }
}

/// How far from the line a share of these is.
fn distance(above: &[f64], share: f64) -> Option<f64> {
    let mut far: Vec<f64> = above.iter().map(|above| above.abs()).collect();
    far.sort_unstable_by(f64::total_cmp);
    far.get((far.len() as f64 * share) as usize).copied()
}

fn told_burst(burst: f64, off: f64, packet: f64) -> Told<f64> {
    if burst < packet {
        return Told::CannotBeTold {
            why: "the bucket was not full when the capture began",
            remedy: "a capture from the beginning of a transfer",
        };
    }
    Told::Between {
        value: burst,
        low: (burst - off).max(0.0),
        high: burst + off,
    }
}

/// Whether the losses come with no queueing delay to speak of.
fn without_queue(losses: &[&Lost], least: Duration) -> bool {
    let mut delays: Vec<Duration> = losses.iter().filter_map(|lost| lost.delay).collect();
    delays.sort_unstable();
    let middle = delays.get(delays.len() / 2);
    let most = least.as_secs_f64() * (1.0 + DELAY_SHARE);
    middle.is_some_and(|delay| delay.as_secs_f64() <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_tcp::time::Instant;

    const LEAST: Duration = Duration::from_millis(20);

    fn lost(start: u64, at_us: u64, delay_ms: u64) -> Lost {
        Lost {
            start,
            end: start + 1000,
            transmission: 1,
            sent: Instant::ZERO + Duration::from_micros(at_us),
            repaired: Instant::ZERO + Duration::from_micros(at_us),
            delay: Some(Duration::from_millis(delay_ms)),
            surety: crate::path::losses::Surety::Missed,
            votes: None,
        }
    }

    /// A stream of which `lost(n)` says at which of 50 times, 40 ms apart, something was lost, and how far from
    /// 1 MB/s after a burst of 100 kB it was then; in the middle between the losses it is 10 kB behind.
    fn line(off: impl Fn(u64) -> u64, delay_ms: u64) -> Option<Policer> {
        let mut course = Course::default();
        course.sent(Instant::ZERO, 0);
        let losses: Vec<Lost> = (0..50)
            .map(|n| {
                let at_us = 100_000 + n * 40_000;
                let behind = Instant::ZERO + Duration::from_micros(at_us + 20_000);
                course.sent(behind, 100_000 + at_us + 10_000);
                lost(100_000 + at_us + off(n), at_us, delay_ms)
            })
            .collect();
        find(&losses, &course, LEAST, (1.0, 1000.0), None)
    }

    #[test]
    fn losses_on_a_line_without_queue_are_a_policers() {
        let policer = line(|_| 0, 20).unwrap();
        let rate = policer.rate.value().unwrap();
        assert!((rate / 8e6 - 1.0).abs() < 0.01, "{rate}");
        let burst = policer.burst.value().unwrap();
        assert!((burst / 1e5 - 1.0).abs() < 0.05, "{burst}");
    }

    #[test]
    fn losses_beside_a_queue_or_off_the_line_are_not() {
        assert_eq!(line(|_| 0, 60), None);
        assert_eq!(line(|n| if n % 20 < 10 { 0 } else { 60_000 }, 20), None);
        assert_eq!(
            line(|n| if n % 3 == 0 || n == 49 { 0 } else { 8_000 }, 20),
            None
        );
    }

    #[test]
    fn a_long_course_takes_no_more_memory() {
        let mut course = Course::default();
        for n in 0..100_000 {
            course.sent(Instant::from_nanos(n), n);
        }
        assert!((POINTS / 2..=POINTS).contains(&course.points.len()));
        assert!(
            course
                .points
                .last()
                .is_some_and(|&(_, start)| start > 99_000)
        );
    }
}
