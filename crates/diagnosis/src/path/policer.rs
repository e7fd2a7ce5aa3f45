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

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::losses::Lost;
use crate::told::Told;

/// So many losses at an empty bucket make a policer (Flach et al. ask for 15).
const LOSSES_MIN: usize = 15;

/// From the first loss to the last it is so many round trips at least (ours): within a few, all are one burst.
const ROUND_TRIPS_MIN: u64 = 10;

/// Rates that are tried, from what came through between the first loss and the last. A bucket that is never full in
/// between lets through its rate, within so much, in steps of so much, and then closer (ours) …
const RATES_FROM: f64 = 0.9;
const RATES_NEAR: f64 = 1.5;
const RATES_STEP: f64 = 1.02;
const RATES_FINE: f64 = 1.002;

/// … and one that is often full lets through less, down to one part in so many. There the rate matters less (ours).
const RATES_TO: f64 = 8.0;
const RATES_STRIDE: f64 = 1.06;

/// What is missing at so many losses is tried for the whole bucket (ours).
const BURSTS: usize = 256;

/// As much is missing at one loss as at another within so many packets; each is tried (a packet is dropped for which too
/// little is left; when a lost one left is known by its neighbours').
const NEAR_PACKETS: [f64; 4] = [0.6, 1.0, 2.0, 4.0];

/// And within this share of all, or the least of these (ours: with more, a bucket counts as empty that is not).
const NEAR_SHARE: f64 = 0.25;
const NEAR_LEAST: f64 = 0.6;

/// It holds more than so many packets (ours: with less, nothing that leaves together passes).
const BURST_PACKETS: f64 = 1.5;

/// Of all that passes, no more than this share does while more is missing (ours: times are not exact).
const ABOVE: f64 = 0.002;

/// A bucket explains the losses if none of all that are tried would do so by chance as well more often than this
/// (ours: many captures are looked at).
const CHANCE: f64 = 0.001;

/// Buckets that explain so large a share of what the best one does are as good (ours: times are not exact).
const AS_GOOD: f64 = 0.9;

/// Where rates that are as good differ by more than this, none is told: what is short of bursts alone, and fills up
/// between them, shows its size and not its rate (ours).
const RATES_ALIKE: f64 = 1.25;

/// So large a share of the losses is at an empty bucket (ours): with less, those of the link say what the path is.
const SHARE_MIN: f64 = 0.5;

/// So many points of the course are kept (ours); when there are more, those that follow one another closely are joined.
const POINTS: usize = 2048;

/// The least time that joins them (ours: less than any path's that a rate is told of).
const JOIN: Duration = Duration::from_micros(50);

/// So many transmissions are remembered of which it may turn out that they were lost (ours).
const RECENT: usize = 512;

/// So many losses are kept (ours).
const LOST: usize = 2048;

/// Its rate is below this share of the bottleneck's, where that is known (ours): a full link has a line, too.
const BELOW_LINK: f64 = 0.7;

/// A queue that drops as this bucket does is as long, at its losses, as the bucket takes to fill. The delay beside the
/// losses is at most this share of that, in the middle (ours; Flach et al. compare the delays of lost packets with those
/// of others).
const DELAY_SHARE: f64 = 0.4;

/// In less time than this it fills so soon that a queue would not be seen: then the link's rate must be (ours).
const DELAY_SEEN: f64 = 0.003;

/// What left when, and what of it was lost; at the receiver's end, what came.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// Bytes on the wire by now.
    bytes: u64,
    /// When bytes left, and how many had before.
    points: Vec<(Instant, u64)>,
    /// Points closer to one another are joined.
    join: Duration,
    recent: VecDeque<Transmission>,
    lost: Vec<Transmission>,
}

/// A segment that left, or came.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    start: u64,
    at: Instant,
    /// Bytes on the wire before it.
    before: u64,
    /// Its own; those that the course does not have are none of them.
    bytes: u64,
}

/// Where a lost segment shows in a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// It left: its last transmission is there.
    Itself,
    /// It never came: its neighbour in the stream did.
    ByNeighbour,
}

impl Course {
    /// What begins at `start` and has so many bytes on the wire left at `at`. Only what `may_show` is looked for later.
    pub(super) fn sent(&mut self, at: Instant, (start, bytes): (u64, u64), may_show: bool) {
        let before = self.bytes;
        self.bytes += bytes;
        if may_show {
            if self.recent.len() >= RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(Transmission {
                start,
                at,
                before,
                bytes,
            });
        }
        if self.points.last().is_some_and(|last| at.since(last.0) < self.join) {
            return;
        }
        if self.points.len() >= POINTS {
            self.join = (self.join * 2).max(JOIN);
            let mut last = None;
            self.points.retain(|&(at, _)| {
                let keep = last.is_none_or(|last| at.since(last) >= self.join);
                if keep {
                    last = Some(at);
                }
                keep
            });
        }
        self.points.push((at, before));
    }

    /// What begins at `start` was lost.
    pub(super) fn lost(&mut self, start: u64, shows: Shows) {
        if self.lost.len() >= LOST {
            return;
        }
        let mut recent = self.recent.iter().rev();
        let found = match shows {
            Shows::Itself => recent.find(|sent| sent.start == start).copied(),
            Shows::ByNeighbour => recent.find(|came| came.start < start).map(|came| Transmission {
                start,
                at: came.at,
                before: came.before + came.bytes,
                bytes: 0,
            }),
        };
        self.lost.extend(found);
    }

    /// What lies between these offsets had arrived: it was not lost the last time.
    pub(super) fn had_arrived(&mut self, start: u64, end: u64) {
        let touches = |lost: &Transmission| (start..end).contains(&lost.start);
        if let Some(place) = self.lost.iter().rposition(touches) {
            self.lost.remove(place);
        }
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

/// What there is of one in the losses, if they look like one's; `packet` is the bytes of a full one on the wire, `link` the
/// rate of the bottleneck in bit per second.
pub(super) fn find(
    losses: &[Lost],
    course: &Course,
    least: Duration,
    packet: f64,
    link: Option<f64>,
) -> Option<Policer> {
    let passing = Passing::of(course, least)?;
    let mut fits = passing.fits(rates(passing.slope), packet);
    let coarse = best(&alike(&fits))?;
    let around = RATES_STRIDE;
    let close = steps((coarse.rate / around, coarse.rate * around), RATES_FINE);
    fits.extend(passing.fits(close, packet));
    let fits = alike(&fits);
    let fit = best(&fits)?;
    let enough = fit.near >= LOSSES_MIN && fit.groups >= SHARE_MIN * passing.groups;
    let certain = enough && fit.evidence >= passing.by_chance();
    let found = told(&fit, &fits, packet);
    let (low, high) = found.rate.interval()?;
    let is_known = high <= RATES_ALIKE * low;
    (certain && is_known && without_queue(losses, least, &fit, link)).then_some(found)
}

/// Those that explain about as many losses as any.
fn alike(fits: &[Fit]) -> Vec<Fit> {
    let most = fits.iter().map(|fit| fit.groups).fold(0.0, f64::max);
    let as_good = fits.iter().filter(|fit| fit.groups >= AS_GOOD * most);
    as_good.copied().collect()
}

/// That of `fits` with the most evidence.
fn best(fits: &[Fit]) -> Option<Fit> {
    let best = fits
        .iter()
        .max_by(|one, other| one.evidence.total_cmp(&other.evidence));
    best.copied()
}

/// The best with its interval: what all have that are as good.
fn told(best: &Fit, as_good: &[Fit], packet: f64) -> Policer {
    let lowest = |of: fn(&Fit) -> f64| as_good.iter().map(of).fold(f64::INFINITY, f64::min);
    let highest = |of: fn(&Fit) -> f64| as_good.iter().map(of).fold(0.0, f64::max);
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

/// The rates that are tried for one, in bytes per second, where so much comes through.
fn rates(slope: f64) -> impl Iterator<Item = f64> {
    let near = steps((slope * RATES_FROM, slope * RATES_NEAR), RATES_STEP);
    near.chain(steps((slope * RATES_NEAR, slope * RATES_TO), RATES_STRIDE))
}

/// From `low` to `high`, each so many times the one before.
fn steps((low, high): (f64, f64), by: f64) -> impl Iterator<Item = f64> {
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
    fn of(course: &Course, least: Duration) -> Option<Self> {
        let mut lost = course.lost.clone();
        if lost.len() < LOSSES_MIN {
            return None;
        }
        lost.sort_unstable_by_key(|lost| lost.before);
        let begin = course.points.first()?.0;
        let (first, last) = (lost.first()?, lost.last()?);
        if last.at.since(first.at) < least.saturating_mul(ROUND_TRIPS_MIN) {
            return None;
        }
        let mut marks: Vec<(Instant, u64, u64, f64)> = Vec::new();
        let mut groups = 0.0;
        for burst in lost.chunk_by(|one, next| next.at.since(one.at) <= least) {
            groups += 1.0;
            let weight = 1.0 / burst.len() as f64;
            marks.extend(burst.iter().map(|lost| (lost.at, lost.before, lost.bytes, weight)));
        }
        marks.extend(course.points.iter().map(|&(at, before)| (at, before, 0, 0.0)));
        marks.sort_by_key(|&(_, before, _, _)| before);
        let (mut gone, mut latest) = (0, Instant::ZERO);
        let events = marks.iter().map(|&(at, before, bytes, weight)| {
            latest = latest.max(at);
            let passed = before.saturating_sub(gone) as f64;
            gone += bytes;
            Event {
                at: latest.since(begin).as_secs_f64(),
                passed,
                weight,
            }
        });
        let events: Vec<Event> = events.collect();
        let mut at_losses = events.iter().filter(|event| event.weight > 0.0);
        let (from, until) = (at_losses.next()?, at_losses.next_back()?);
        let slope = (until.passed - from.passed) / (until.at - from.at);
        Some(Self {
            slope: Some(slope).filter(|slope| slope.is_finite() && *slope > 0.0)?,
            losses: lost.len(),
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
        let rates = (RATES_NEAR / RATES_FROM).ln() / RATES_STEP.ln()
            + (RATES_TO / RATES_NEAR).ln() / RATES_STRIDE.ln();
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
            .filter(|fit| fit.above <= ABOVE && fit.off <= (NEAR_SHARE * fit.burst).max(NEAR_LEAST * packet));
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

/// Whether the losses come with less delay than in a queue that fills as the bucket does; `link` is the rate of the
/// bottleneck, in bit per second.
fn without_queue(losses: &[Lost], least: Duration, fit: &Fit, link: Option<f64>) -> bool {
    let below = link.map(|link| fit.rate * 8.0 <= BELOW_LINK * link);
    let fills = fit.burst / fit.rate;
    let firsts = losses.iter().filter(|lost| lost.transmission == 1);
    let mut delays: Vec<Duration> = firsts.filter_map(|lost| lost.delay).collect();
    delays.sort_unstable();
    let middle = delays.get(delays.len() / 2);
    let short = middle.is_some_and(|delay| {
        delay.saturating_sub(least).as_secs_f64() <= DELAY_SHARE * fills
    });
    short && below.unwrap_or(fills >= DELAY_SEEN)
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
        course.sent(Instant::ZERO, (0, 0), false);
        let mut losses = Vec::new();
        for n in 0..50 {
            let line_us = 100_000 + n * 40_000;
            let paused = n >= 25 && pause_us > 0;
            let (later, more) = if paused { (pause_us, 70_000) } else { (0, 0) };
            let (at_us, passed) = (line_us + later, 100_000 + line_us + more);
            let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
            // All that passes before the loss leaves at once, and what is lost takes nothing from the bucket.
            let bytes = (passed - off(n)).saturating_sub(course.bytes - n * 1000);
            course.sent(at(at_us), (n, bytes), false);
            course.sent(at(at_us), (passed, 1000), true);
            course.lost(passed, Shows::Itself);
            course.sent(at(at_us + 20_000), (n, 10_000), false);
            losses.push(lost(passed, at_us, delay_ms));
        }
        find(&losses, &course, LEAST, 1000.0, None)
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
        assert_eq!(line(|_| 0, 90, 0), None);
        assert_eq!(line(|n| n * 7919 % 30_000, 20, 0), None);
    }

    #[test]
    fn a_long_course_takes_no_more_memory() {
        let mut course = Course::default();
        for n in 0..100_000 {
            course.sent(Instant::from_nanos(n * 10_000), (n, 1), true);
        }
        assert!((POINTS / 2..=POINTS).contains(&course.points.len()));
        assert!(course.points.last().is_some_and(|&(_, before)| before > 99_000));
        assert_eq!(course.recent.len(), RECENT);
        for n in 0..10_000 {
            course.lost(99_000 + n % 1000, Shows::Itself);
        }
        assert_eq!(course.lost.len(), LOST);
    }
}
