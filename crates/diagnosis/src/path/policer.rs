//! Policers: token buckets that drop packets above their rate and have no queue.
//!
//! A bucket fills at the policing rate. A packet that is larger than the content of the bucket is dropped and takes no
//! tokens. The bucket is simulated for each possible rate. The deficit of the bucket is the amount of tokens that
//! packets have taken and that have not been refilled. At the right rate, the deficit including the packet is at most
//! the bucket size for every transmission that passed, and larger for every one that was lost. At other rates, no
//! bucket size separates passed and lost transmissions. (Flach et al., "An Internet-Wide Analysis of Traffic Policing",
//! SIGCOMM 2016, simulate a bucket only at the throughput between the first loss and the last, which is too low if the
//! bucket is full in between.)
//!
//! Losses on a link do not depend on the deficit. A drop-tail queue fills at the times when such a bucket would empty,
//! but a queue delays packets and a policer does not.
//!
//! If lost packets are not captured, as at the receiver, each one is assumed to be lost right before the next packet of
//! the stream.

use dupack_tcp::time::Duration;

use super::intervals::at_least;
use super::losses::Lost;
use crate::told::Told;

mod course;
#[cfg(test)]
mod tests;

pub(super) use course::Course;
use course::Event;

/// Minimum number of losses at an empty bucket to conclude that there is a policer (Flach et al. require 15).
const LOSSES_MIN: usize = 15;

/// Minimum number of loss bursts, each within a round trip (our choice): fewer bursts may be explained equally well by
/// two rates.
const GROUPS_MIN: usize = 5;

/// Minimum time from the first loss to the last, in round trips (our choice): losses within a few round trips are one
/// burst.
const ROUND_TRIPS_MIN: f64 = 10.0;

/// Fraction of the passed transmissions that may exceed the bucket size (our choice: times are inexact). One
/// transmission may always exceed it.
const ABOVE: f64 = 0.002;

/// Maximum content of the bucket, in packets, for a loss to count as a loss at an empty bucket. The first value applies
/// if the lost packets are captured, and the second one if only their neighbours are (our choice).
const NEAR_SEEN: f64 = 0.25;
const NEAR_UNSEEN: f64 = 1.0;

/// Minimum fraction of the bursts that must be at an empty bucket (our choice): with a smaller fraction, most losses of
/// the path are losses on the link.
const SHARE_MIN: f64 = 0.5;

/// Maximum probability that as many bursts are at an empty bucket by chance, for each rate that is tried (our choice:
/// hundreds of rates are tried, and many captures are analysed).
const CHANCE: f64 = 1e-7;

/// Minimum number of bursts that an equally good rate must explain, as a fraction of those that the best rate explains
/// (our choice: times are inexact).
const AS_GOOD: f64 = 0.9;

/// Number of bursts that an equally good rate may leave unexplained in any case (our choice: one or two losses on the
/// link do not decide the rate).
const AS_GOOD_BURSTS: f64 = 2.0;

/// Minimum number of bursts beyond chance for an equally good rate, as a fraction of the best rate's number (our
/// choice): if many packets find the bucket empty, its losses are no evidence.
const AS_GOOD_BEYOND: f64 = 0.3;

/// Maximum ratio of the equally good rates for one of them to be reported (our choice): a bucket that is full between
/// its losses shows its size but not its rate.
const RATES_ALIKE: f64 = 1.15;

/// Range and step of the rates that are tried, relative to the throughput between the first loss and the last (our
/// choice: a bucket that is full for most of the time hides its rate).
const RATES_FROM: f64 = 0.9;
const RATES_TO: f64 = 8.0;
const RATES_STEP: f64 = 1.04;

/// Number of pairs of bursts, for each distance between the bursts of a pair. The throughput between the bursts of each
/// pair is also tried as the rate (our choice). If the bucket is never full between the bursts, this throughput is its
/// rate. Pairs with longer times give more exact rates.
const PAIRS: usize = 24;

/// Distances of the rates that are tried around the best rate, relative to it: the smallest, and an upper bound. Each
/// distance is twice the previous one (our choice).
const CLOSEST: f64 = 0.0001;
const FARTHEST: f64 = 0.4;

/// Maximum median delay near the losses, as a fraction of the time that the bucket takes to fill (our choice; Flach et
/// al. compare the delays of lost packets with those of others). A queue with the same losses as this bucket would have
/// the whole of this time as its delay.
const DELAY_SHARE: f64 = 0.4;

/// Conditions that exclude a queue (our choice). If the link's rate is known, a policer's rate must be at most
/// [`BELOW_LINK`] times this rate. At a higher rate, the losses are due to the link's queue or to the link itself. If
/// the link's rate is unknown, a bucket that fills in less than [`DELAY_SEEN`] seconds may be a queue that is too short
/// to be visible.
const DELAY_SEEN: f64 = 0.003;
pub(super) const BELOW_LINK: f64 = 0.7;

/// Token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Rate at which the bucket fills, in bit/s.
    pub rate: Told<f64>,
    /// Size of the bucket in bytes.
    pub burst: Told<f64>,
    /// Rate of the policed link in bit/s: the packets that pass arrive at this rate.
    pub link: Told<f64>,
}

/// Result of the search for a policer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    One(Policer),
    /// Several rates explain the losses, and a short queue may also explain them. The value is the lowest rate in
    /// bit/s.
    Perhaps(f64),
}

impl Found {
    /// Returns the policer, if it is certain.
    pub(super) const fn one(self) -> Option<Policer> {
        match self {
            Self::One(policer) => Some(policer),
            Self::Perhaps(_) => None,
        }
    }
}

/// Searches for a policer that explains the losses. `packet` is the size of a full packet on the wire in bytes, and
/// `link` is the rate of the bottleneck in bit/s.
pub(super) fn find(
    losses: &[Lost],
    course: &Course,
    least: Duration,
    packet: f64,
    link: Told<f64>,
) -> Option<Found> {
    let passing = Passing::of(course, least, packet)?;
    if !link
        .value()
        .is_none_or(|link| is_below(passing.lowest(), link))
    {
        return None;
    }
    let mut fits: Vec<Fit> = passing.rates().map(|rate| passing.fit(rate)).collect();
    for _ in 0..2 {
        let around = best(&fits)?.rate;
        let outwards = std::iter::successors(Some(CLOSEST), |off| Some(off * 2.0));
        for off in outwards.take_while(|off| *off < FARTHEST) {
            fits.push(passing.fit(around * (1.0 + off)));
            fits.push(passing.fit(around / (1.0 + off)));
        }
    }
    let best = best(&fits)?;
    if !passing.is_one(&best) || !without_queue(losses, least, &best, link.value()) {
        return None;
    }
    let found = told(&best, &fits, packet, link);
    let (low, high) = found.rate.interval()?;
    Some(match high <= RATES_ALIKE * low {
        true => Found::One(found),
        false => Found::Perhaps(low),
    })
}

/// Returns the fit with the most bursts at an empty bucket beyond the number expected by chance.
fn best(fits: &[Fit]) -> Option<Fit> {
    let ordered = |one: &&Fit, other: &&Fit| {
        let beyond = one.beyond_chance.total_cmp(&other.beyond_chance);
        beyond.then(one.near.cmp(&other.near))
    };
    fits.iter().max_by(ordered).copied()
}

/// Returns the policer of the best fit. The interval of its rate is the range of all equally good fits, extended to the
/// next worse fit on each side.
fn told(best: &Fit, fits: &[Fit], packet: f64, link: Told<f64>) -> Policer {
    let most = best.groups as f64;
    let least = (AS_GOOD * most).min(most - AS_GOOD_BURSTS);
    let beyond = AS_GOOD_BEYOND * best.beyond_chance;
    let explains = |fit: &&Fit| fit.groups as f64 >= least && fit.beyond_chance >= beyond;
    let as_good = || fits.iter().filter(explains);
    let lowest = |of: fn(&Fit) -> f64| as_good().map(of).fold(f64::INFINITY, f64::min);
    let highest = |of: fn(&Fit) -> f64| as_good().map(of).fold(0.0, f64::max);
    let (low, high) = (lowest(|fit| fit.rate), highest(|fit| fit.rate));
    let rates = || fits.iter().map(|fit| fit.rate);
    let below = rates().filter(|rate| *rate < low).fold(0.0, f64::max);
    let above = rates()
        .filter(|rate| *rate > high)
        .fold(f64::INFINITY, f64::min);
    Policer {
        rate: Told::Between {
            value: best.rate * 8.0,
            low: if below > 0.0 { below } else { low } * 8.0,
            high: if above.is_finite() { above } else { high } * 8.0,
        },
        burst: Told::Between {
            value: best.burst,
            low: lowest(|fit| fit.burst) - packet,
            high: highest(|fit| fit.burst) + packet,
        },
        link,
    }
}

/// Passed and lost transmissions, with the losses grouped into bursts.
struct Passing {
    events: Vec<Event>,
    groups: Vec<Group>,
    /// Throughput between the first loss and the last, in bytes per second.
    slope: f64,
    /// Maximum distance from an empty bucket, in bytes, for a loss at the empty bucket.
    near: f64,
}

/// Burst of losses within a round trip.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Time of the first loss, in seconds since the first transmission.
    at_s: f64,
    /// Number of bytes that had passed before the first loss.
    passed: u64,
    losses: usize,
}

/// Token bucket, and a measure of how well it separates lost from passed transmissions.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Rate in bytes per second.
    rate: f64,
    /// Size in bytes.
    burst: f64,
    /// Number of losses at an empty bucket.
    near: usize,
    /// Number of bursts with most of their losses at an empty bucket.
    groups: usize,
    /// Number of these bursts beyond the number expected if bursts occur at random transmissions.
    beyond_chance: f64,
    /// Fraction of the passed transmissions that found the bucket equally empty.
    share: f64,
}

impl Passing {
    fn of(course: &Course, least: Duration, packet: f64) -> Option<Self> {
        if course.losses < LOSSES_MIN {
            return None;
        }
        let mut groups: Vec<Group> = Vec::new();
        let least = least.as_secs_f64();
        let (mut passed, mut all, mut unseen) = (0, 0, 0);
        let mut events = course.events();
        for event in &events {
            let after = u64::from(event.lost_after > 0) * event.passed();
            match groups.last_mut() {
                _ if event.losses() == 0 => {}
                Some(last) if event.at_s() - last.at_s <= least => last.losses += event.losses(),
                _ => groups.push(Group {
                    at_s: event.at_s(),
                    passed: passed + after,
                    losses: event.losses(),
                }),
            }
            all += event.losses();
            unseen += usize::from(event.lost_after);
            passed += event.passed();
        }
        let (first, last) = (groups.first()?, groups.last()?);
        let lasts = last.at_s - first.at_s;
        let enough =
            all >= LOSSES_MIN && groups.len() >= GROUPS_MIN && lasts >= least * ROUND_TRIPS_MIN;
        let slope = (last.passed - first.passed) as f64 / lasts;
        let slope = Some(slope).filter(|slope| enough && slope.is_normal())?;
        // The losses at the end of the capture may not have been retransmitted yet.
        let known = events.iter().rposition(|event| event.losses() > 0)?;
        events.truncate(known + 1);
        Some(Self {
            events,
            groups,
            slope,
            near: packet
                * if unseen * 2 > all {
                    NEAR_UNSEEN
                } else {
                    NEAR_SEEN
                },
        })
    }

    /// Returns the lowest rate that is tried, in bytes per second.
    fn lowest(&self) -> f64 {
        self.slope * RATES_FROM
    }

    /// Returns the rates that are tried, in bytes per second.
    fn rates(&self) -> impl Iterator<Item = f64> {
        let range = self.lowest()..self.slope * RATES_TO;
        let most = range.end;
        let even = std::iter::successors(Some(range.start), |rate| Some(rate * RATES_STEP));
        let distances = std::iter::successors(Some(1), |distance| Some(distance * 2));
        let distances = distances.take_while(|distance| *distance < self.groups.len());
        let between = distances.flat_map(move |distance| {
            let pairs = self.groups.iter().zip(self.groups.iter().skip(distance));
            let step = (self.groups.len() - distance).div_ceil(PAIRS).max(1);
            pairs
                .step_by(step)
                .map(|(from, to)| (to.passed - from.passed) as f64 / (to.at_s - from.at_s))
        });
        let between = between.filter(move |rate| range.contains(rate));
        even.take_while(move |rate| *rate <= most).chain(between)
    }

    /// Returns the smallest bucket with this rate that lets all passed transmissions through, except the fraction
    /// [`ABOVE`], and a measure of how well it explains the losses.
    fn fit(&self, rate: f64) -> Fit {
        let mut passed = Vec::with_capacity(self.events.len());
        let mut lost = Vec::new();
        let (mut missing, mut before) = (0.0_f64, 0.0_f64);
        for event in &self.events {
            let at = event.at_s();
            missing = (missing - rate * (at - before).max(0.0)).max(0.0);
            before = before.max(at);
            let with_it = missing + event.bytes();
            if event.is_lost {
                lost.push((with_it, at));
            } else {
                passed.push(with_it);
                missing = with_it;
            }
            if event.lost_after > 0 {
                // The lost packets are assumed to find the bucket as empty as the captured packet before them left it.
                let after = std::iter::repeat_n((missing, at), usize::from(event.lost_after));
                lost.extend(after);
            }
        }
        let above = ((passed.len() as f64 * ABOVE) as usize).max(1);
        let Some(burst) = largest(&passed, above) else {
            return Fit::none(rate);
        };
        let from = burst - self.near;
        let empty: Vec<f64> = lost
            .iter()
            .filter(|lost| lost.0 > from)
            .map(|lost| lost.1)
            .collect();
        let share =
            passed.iter().filter(|passed| **passed > from).count() as f64 / passed.len() as f64;
        let groups = self.most_of(&empty);
        Fit {
            rate,
            burst,
            near: empty.len(),
            groups,
            beyond_chance: groups as f64 - share * self.groups.len() as f64,
            share,
        }
    }

    /// Returns the number of bursts with most of their losses in `losses`.
    fn most_of(&self, losses: &[f64]) -> usize {
        let mut losses = losses.iter().peekable();
        let mut count = 0;
        let mut groups = self.groups.iter().peekable();
        while let Some(group) = groups.next() {
            let next = groups.peek().map(|next| next.at_s);
            let mut near = 0;
            while losses
                .next_if(|at| next.is_none_or(|next| **at < next))
                .is_some()
            {
                near += 1;
            }
            count += usize::from(near * 2 >= group.losses.max(1));
        }
        count
    }

    /// `true` if enough losses are at the empty bucket to exclude chance.
    fn is_one(&self, fit: &Fit) -> bool {
        let all = self.groups.len();
        let by_chance = at_least(fit.groups as u64, all as u64, fit.share);
        fit.near >= LOSSES_MIN
            && fit.groups >= GROUPS_MIN
            && fit.groups as f64 >= SHARE_MIN * all as f64
            && by_chance <= CHANCE
    }
}

/// Returns the largest of the values that remain after the `but` largest ones have been excluded; `None` if there are
/// at most `but` values. The largest values are kept in a sorted vector, because `but` is small.
fn largest(of: &[f64], but: usize) -> Option<f64> {
    let mut most = Vec::with_capacity(but + 2);
    let mut least = f64::NEG_INFINITY;
    for &value in of {
        if value <= least {
            continue;
        }
        let place = most.partition_point(|one| *one < value);
        most.insert(place, value);
        if most.len() > but + 1 {
            most.remove(0);
        }
        if most.len() > but {
            least = most.first().copied().unwrap_or(least);
        }
    }
    most.first().filter(|_| most.len() > but).copied()
}

impl Fit {
    /// Returns the fit for a stream in which no transmission passed.
    const fn none(rate: f64) -> Self {
        Self {
            rate,
            burst: 0.0,
            near: 0,
            groups: 0,
            beyond_chance: 0.0,
            share: 1.0,
        }
    }
}

/// `true` if a rate in bytes per second may be that of a policer on a link of `link` bit/s.
fn is_below(rate: f64, link: f64) -> bool {
    rate * 8.0 <= BELOW_LINK * link
}

/// `true` if the delays at the losses are shorter than in a queue with the same losses as the bucket. `link` is the
/// rate of the bottleneck in bit/s.
fn without_queue(losses: &[Lost], least: Duration, fit: &Fit, link: Option<f64>) -> bool {
    let fills = fit.burst / fit.rate;
    let told = match link {
        Some(link) => is_below(fit.rate, link),
        None => fills >= DELAY_SEEN,
    };
    let firsts = losses.iter().filter(|lost| lost.transmission == 1);
    let mut delays: Vec<Duration> = firsts.filter_map(|lost| lost.delay).collect();
    delays.sort_unstable();
    let short = |delay: &Duration| delay.saturating_sub(least).as_secs_f64() <= DELAY_SHARE * fills;
    told && delays.get(delays.len() / 2).is_some_and(short)
}
