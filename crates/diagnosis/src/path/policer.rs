//! Policers: token buckets that drop what exceeds their rate, and queue nothing.
//!
//! After Flach et al., "An Internet-Wide Analysis of Traffic Policing" (SIGCOMM 2016): with a bucket that fills
//! at the policing rate, packets are lost when it is empty, and at no other time. They take for the rate what comes
//! through between the first loss and the last; that is too little if the bucket is full in between, as after a
//! timeout, since a full one gains nothing more. So for each rate that may be the policer's, the bucket is followed:
//! what has passed and not flowed in again is missing from it. At the right rate as much is missing at one loss as at
//! any other, namely all, and more never is.
//!
//! Losses of a link come whatever is missing, and those of a queue at its longest delay, where these come with none.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use dupack_tcp::time::{Duration, Instant};

use super::losses::Lost;
use crate::told::Told;

/// So many losses at an empty bucket make a policer (Flach et al. ask for 15).
const LOSSES_MIN: usize = 15;

/// From the first loss to the last it is so many round trips at least (ours): within a few, all are one burst.
const ROUND_TRIPS_MIN: u64 = 10;

/// Rates that are tried, from what came through between the first loss and the last: so many times as much at most,
/// in steps of so much, and then closer (ours: a policer that lets through twice as much limits nothing).
const RATES_FROM: f64 = 0.9;
const RATES_TO: f64 = 2.0;
const RATES_STEP: f64 = 1.02;
const RATES_FINE: f64 = 1.002;

/// What is missing at so many losses is tried for the whole bucket (ours).
const BURSTS: usize = 256;

/// As much is missing at one loss as at another within so many packets; each is tried (ours: when a lost packet left
/// is known by its neighbours').
const NEAR_PACKETS: [f64; 3] = [1.0, 2.0, 4.0];

/// And within this share of all (ours: with more, a bucket counts as empty that is not).
const NEAR_SHARE: f64 = 0.25;

/// It holds more than so many packets (ours: as many leave together, so that a smaller one is empty whenever
/// something left).
const BURST_PACKETS: f64 = 8.0;

/// Of all that passes, no more than this share does while more is missing (ours: times are not exact).
const ABOVE: f64 = 0.005;

/// A bucket explains the losses if none of all that are tried would do so by chance as well more often than this
/// (ours: many captures are looked at).
const CHANCE: f64 = 0.001;

/// Buckets within so much of the evidence of the best are as good (Wilks: half of 3.84, the bound of 95 %).
const AS_GOOD: f64 = 1.92;

/// The best rate is looked for among those so close to it, in coarse steps.
const AROUND: i32 = 3;

/// So large a share of the losses is at an empty bucket (ours): with less, those of the link say what the path is.
const SHARE_MIN: f64 = 0.3;

/// So many points of the course are kept (ours); when there are more, every second is.
const POINTS: usize = 2048;

/// Its rate is below this share of the bottleneck's, where that is known (ours): a full link has a line, too.
const BELOW_LINK: f64 = 0.7;

/// The queueing delay beside the losses is at most this share of the least round-trip time, in the middle
/// (Flach et al. compare the delays of lost packets with those of others).
const DELAY_SHARE: f64 = 0.2;

/// Or at most so many packets' time at the bottleneck, where its rate is known (ours: what leaves together waits for
/// one another, and a queue that holds no more is no worse than none).
const DELAY_PACKETS: f64 = 2.0;

/// When what of the stream left first.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    points: Vec<(Instant, u64)>,
    /// How many are passed over for each that is kept, and how many of them have been.
    stride: u32,
    passed: u32,
}

impl Course {
    /// What begins at `start` left first at `at`; what was passed over does not count.
    pub(super) fn sent(&mut self, at: Instant, start: u64) {
        if self.points.last().is_some_and(|last| start < last.1) {
            return;
        }
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

/// What there is of one in the losses, if they look like one's; `course` is when what left, `wire` the bytes on the
/// wire per byte of the stream, `packet` those of a full one, `link` the rate of the bottleneck in bit per second.
pub(super) fn find(
    losses: &[Lost],
    course: &Course,
    least: Duration,
    (wire, packet): (f64, f64),
    link: Option<f64>,
) -> Option<Policer> {
    let ahead = link.map_or(0.0, |link| DELAY_PACKETS * packet * 8.0 / link);
    if !without_queue(losses, least, ahead) {
        return None;
    }
    let passing = Passing::of(losses, course, least, (wire, packet))?;
    let most = link.map_or(f64::INFINITY, |link| BELOW_LINK * link / 8.0);
    let to = (passing.slope * RATES_TO).min(most);
    let coarse = passing.fits(steps(passing.slope * RATES_FROM, to, RATES_STEP), packet);
    let coarse = best(&coarse)?;
    let around = RATES_STEP.powi(AROUND);
    let to = (coarse.rate * around).min(most);
    let fits = passing.fits(steps(coarse.rate / around, to, RATES_FINE), packet);
    let fit = best(&fits)?;
    let enough = fit.near >= LOSSES_MIN && fit.groups >= SHARE_MIN * passing.groups;
    (enough && fit.evidence >= passing.by_chance()).then(|| told(&fit, &fits, packet))
}

/// That of `fits` with the most evidence.
fn best(fits: &[Fit]) -> Option<Fit> {
    let best = fits
        .iter()
        .max_by(|one, other| one.evidence.total_cmp(&other.evidence));
    best.copied()
}

/// The best with its interval: what all have that are as good.
fn told(best: &Fit, fits: &[Fit], packet: f64) -> Policer {
    let least = best.evidence - AS_GOOD;
    let as_good = || fits.iter().filter(|fit| fit.evidence >= least);
    let lowest = |of: fn(&Fit) -> f64| as_good().map(of).fold(f64::INFINITY, f64::min);
    let highest = |of: fn(&Fit) -> f64| as_good().map(of).fold(0.0, f64::max);
    Policer {
        rate: Told::Between {
            value: best.rate * 8.0,
            low: lowest(|fit| fit.rate) / RATES_FINE * 8.0,
            high: highest(|fit| fit.rate) * RATES_FINE * 8.0,
        },
        // Less than a packet is left at a loss.
        burst: Told::Between {
            value: best.burst + packet / 2.0,
            low: lowest(|fit| fit.burst - fit.off),
            high: highest(|fit| fit.burst + fit.off) + packet,
        },
    }
}

/// From `low` to `high`, each so many times the one before.
fn steps(low: f64, high: f64, by: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(low), move |rate| Some(rate * by))
        .take_while(move |rate| *rate <= high)
}

/// What passes, and what is lost.
struct Passing {
    events: Vec<Event>,
    /// What came through between the first loss and the last, in bytes per second.
    slope: f64,
    losses: usize,
    /// Losses, those of a burst counted once.
    groups: f64,
}

/// A point in time.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// In seconds.
    at: f64,
    /// Bytes that have passed before.
    passed: f64,
    /// Of a loss, its part of its burst; zero if nothing was lost.
    weight: f64,
}

/// A bucket, and how well it explains the losses.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// In bytes per second.
    rate: f64,
    /// In bytes.
    burst: f64,
    /// Within so many bytes of it …
    off: f64,
    /// … so much was missing at so many losses …
    near: usize,
    /// … in so many bursts.
    groups: f64,
    /// The share of what passes while more is missing.
    above: f64,
    /// How much likelier the losses are with it than without, as a logarithm.
    evidence: f64,
}

impl Passing {
    fn of(
        losses: &[Lost],
        course: &Course,
        least: Duration,
        (wire, packet): (f64, f64),
    ) -> Option<Self> {
        let mut firsts: Vec<&Lost> = losses
            .iter()
            .filter(|lost| lost.transmission == 1)
            .collect();
        if firsts.len() < LOSSES_MIN {
            return None;
        }
        firsts.sort_unstable_by_key(|lost| lost.start);
        let begin = course.points.first()?.0;
        let (first, last) = (firsts.first()?, firsts.last()?);
        if last.sent.since(first.sent) < least.saturating_mul(ROUND_TRIPS_MIN) {
            return None;
        }
        let mut marks: Vec<(Instant, u64, f64)> = Vec::new();
        let mut groups = 0.0;
        for burst in firsts.chunk_by(|one, next| next.sent.since(one.sent) <= least) {
            groups += 1.0;
            let weight = 1.0 / burst.len() as f64;
            marks.extend(burst.iter().map(|lost| (lost.sent, lost.start, weight)));
        }
        marks.extend(course.points.iter().map(|&(at, start)| (at, start, 0.0)));
        marks.sort_by_key(|&(_, start, _)| start);
        let mut holes = Holes::of(losses);
        let mut latest = Instant::ZERO;
        let events: Vec<Event> = marks
            .iter()
            .map(|&(at, start, weight)| {
                latest = latest.max(at);
                Event {
                    at: latest.since(begin).as_secs_f64(),
                    passed: start as f64 * wire - holes.before(start, latest) * packet,
                    weight,
                }
            })
            .collect();
        let mut lost = events.iter().filter(|event| event.weight > 0.0);
        let (from, until) = (lost.next()?, lost.next_back()?);
        let slope = (until.passed - from.passed) / (until.at - from.at);
        Some(Self {
            slope: Some(slope).filter(|slope| slope.is_finite() && *slope > 0.0)?,
            losses: firsts.len(),
            groups,
            events,
        })
    }

    /// For each rate the bucket that explains the losses best.
    fn fits(&self, rates: impl Iterator<Item = f64>, packet: f64) -> Vec<Fit> {
        rates.filter_map(|rate| self.fit(rate, packet)).collect()
    }

    /// So much evidence comes by chance.
    fn by_chance(&self) -> f64 {
        let rates = (RATES_TO / RATES_FROM).ln() / RATES_STEP.ln();
        let buckets = rates * self.losses.min(BURSTS) as f64 * NEAR_PACKETS.len() as f64;
        (buckets / CHANCE).ln()
    }

    /// What is missing from a bucket that fills at `rate`, at every event.
    fn missing(&self, rate: f64) -> impl Iterator<Item = (f64, f64)> {
        let mut missing: f64 = 0.0;
        let mut before = self.events.first().copied();
        self.events.iter().map(move |event| {
            if let Some(before) = before.replace(*event) {
                missing += event.passed - before.passed - rate * (event.at - before.at);
                missing = missing.max(0.0);
            }
            (missing, event.weight)
        })
    }

    fn fit(&self, rate: f64, packet: f64) -> Option<Fit> {
        let (mut at_losses, mut elsewhere) = (Vec::new(), Vec::new());
        for (missing, weight) in self.missing(rate) {
            if weight > 0.0 {
                at_losses.push((missing, weight));
            } else {
                elsewhere.push(missing);
            }
        }
        at_losses.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        elsewhere.sort_unstable_by(f64::total_cmp);
        let all = elsewhere.len().max(1) as f64;
        let share = |low: f64, high: f64| {
            let below = elsewhere.partition_point(|missing| *missing < low);
            let up_to = elsewhere.partition_point(|missing| *missing <= high);
            up_to.saturating_sub(below) as f64 / all
        };
        let zone = |burst: f64, off: f64| {
            let low = at_losses.partition_point(|loss| loss.0 < burst - off);
            let high = at_losses.partition_point(|loss| loss.0 <= burst + off);
            let near = at_losses.get(low..high).unwrap_or_default();
            let groups = near.iter().map(|loss| loss.1).sum();
            let share_near = share(burst - off, burst + off).max(1.0 / all);
            Fit {
                rate,
                burst,
                off,
                near: near.len(),
                groups,
                above: share(burst + off, f64::INFINITY),
                evidence: evidence((groups, self.groups), share_near),
            }
        };
        let bursts = at_losses
            .iter()
            .step_by(at_losses.len() / BURSTS + 1)
            .map(|loss| loss.0);
        let zones = bursts
            .filter(|burst| *burst > BURST_PACKETS * packet)
            .flat_map(|burst| NEAR_PACKETS.map(|off| zone(burst, off * packet)))
            .filter(|fit| fit.above <= ABOVE && fit.off <= NEAR_SHARE * fit.burst);
        zones.max_by(|one, other| one.evidence.total_cmp(&other.evidence))
    }
}

/// How much more likely it is, as a logarithm, that `near` of `all` losses come where a `share` of all passes if they
/// come there more often, than if they come anywhere.
fn evidence((near, all): (f64, f64), share: f64) -> f64 {
    let far = all - near;
    if near <= share * all {
        return 0.0;
    }
    let term = |losses: f64, share: f64| {
        if losses > 0.0 {
            losses * (losses / (all * share).max(f64::MIN_POSITIVE)).ln()
        } else {
            0.0
        }
    };
    term(near, share) + term(far, 1.0 - share)
}

/// What was lost and is not repaired yet.
struct Holes {
    /// Where each begins, and when the last repair of it left, in the order of the stream.
    all: Vec<(u64, Instant)>,
    next: usize,
    /// When those are repaired that have begun.
    open: BinaryHeap<Reverse<Instant>>,
}

impl Holes {
    fn of(losses: &[Lost]) -> Self {
        let mut repaired: BTreeMap<u64, Instant> = BTreeMap::new();
        for lost in losses {
            let last = repaired.entry(lost.start).or_insert(lost.repaired);
            *last = lost.repaired.max(*last);
        }
        Self {
            all: repaired.into_iter().collect(),
            next: 0,
            open: BinaryHeap::new(),
        }
    }

    /// How many segments before `start` at `at`; both never less than before.
    fn before(&mut self, start: u64, at: Instant) -> f64 {
        while let Some(&(_, repaired)) = self.all.get(self.next).filter(|hole| hole.0 < start) {
            self.open.push(Reverse(repaired));
            self.next += 1;
        }
        while self.open.peek().is_some_and(|first| first.0 <= at) {
            self.open.pop();
        }
        self.open.len() as f64
    }
}

/// Whether the losses come with no queueing delay to speak of; `ahead` is what few packets take, in seconds.
fn without_queue(losses: &[Lost], least: Duration, ahead: f64) -> bool {
    let firsts = losses.iter().filter(|lost| lost.transmission == 1);
    let mut delays: Vec<Duration> = firsts.filter_map(|lost| lost.delay).collect();
    delays.sort_unstable();
    let middle = delays.get(delays.len() / 2);
    let least = least.as_secs_f64();
    let most = least + (least * DELAY_SHARE).max(ahead);
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

    /// A stream that loses something at 50 times, 40 ms apart, where `off(n)` bytes less have been sent than 1 MB/s
    /// lets through after a burst of 100 kB; in the middle between them it is 10 kB behind. After half of them it
    /// pauses for so long, and the bucket is full again.
    fn line(off: impl Fn(u64) -> u64, delay_ms: u64, pause_us: u64) -> Option<Policer> {
        let mut course = Course::default();
        course.sent(Instant::ZERO, 0);
        let losses: Vec<Lost> = (0..50)
            .map(|n| {
                let line_us = 100_000 + n * 40_000;
                let paused = n >= 25 && pause_us > 0;
                let (later, more) = if paused { (pause_us, 70_000) } else { (0, 0) };
                let (at_us, sent) = (line_us + later, 100_000 + line_us + more);
                let behind = Instant::ZERO + Duration::from_micros(at_us + 20_000);
                course.sent(behind, sent + 10_000);
                lost(sent - off(n), at_us, delay_ms)
            })
            .collect();
        find(&losses, &course, LEAST, (1.0, 1000.0), None)
    }

    #[track_caller]
    fn is_of_a_megabyte(policer: Option<Policer>) {
        let policer = policer.unwrap();
        let rate = policer.rate.value().unwrap();
        assert!((rate / 8e6 - 1.0).abs() < 0.02, "{rate}");
        let burst = policer.burst.value().unwrap();
        assert!((burst / 1e5 - 1.0).abs() < 0.05, "{burst}");
    }

    #[test]
    fn losses_on_a_line_without_queue_are_a_policers() {
        is_of_a_megabyte(line(|_| 0, 20, 0));
    }

    #[test]
    fn a_bucket_that_is_full_after_a_pause_breaks_the_line() {
        is_of_a_megabyte(line(|_| 0, 20, 1_000_000));
    }

    #[test]
    fn losses_of_the_link_do_not_hide_a_policer() {
        let scattered = |n: u64| {
            if n % 3 == 1 {
                2_000 + n * 7919 % 28_000
            } else {
                0
            }
        };
        is_of_a_megabyte(line(scattered, 20, 0));
    }

    #[test]
    fn losses_beside_a_queue_or_anywhere_are_not() {
        assert_eq!(line(|_| 0, 60, 0), None);
        assert_eq!(line(|n| n * 7919 % 30_000, 20, 0), None);
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
