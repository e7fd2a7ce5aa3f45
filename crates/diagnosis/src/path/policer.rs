//! Policers: token buckets that drop packets above their rate and have no queue.
//!
//! A bucket fills at the policing rate. A packet that is larger than its content is dropped and takes nothing. So the
//! bucket is simulated for each possible rate: the deficit of the bucket is the data that has passed and has not been
//! refilled. At the right rate the deficit including the packet is at most the bucket size for every transmission that
//! passed, and larger for every one that was lost; at other rates no bucket size separates them. (Flach et al., "An
//! Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016, simulate a bucket only at the throughput between the
//! first loss and the last, which is too low if the bucket is full in between.)
//!
//! Losses of a link do not depend on the deficit. A drop-tail queue fills as such a bucket empties, but its packets are
//! late; here they are not.
//!
//! If lost packets are not captured, as at the receiver, each is assumed lost right before the next packet of the
//! stream.

use dupack_tcp::time::Duration;

use super::intervals::at_least;
use super::losses::Lost;
use crate::told::Told;

mod course;
#[cfg(test)]
mod tests;

pub(super) use course::Course;
use course::Event;

/// Minimum number of losses at an empty bucket that show a policer (Flach et al. require 15).
const LOSSES_MIN: usize = 15;

/// Minimum number of bursts, each within a round trip (ours): with fewer, two rates may explain them equally well.
const GROUPS_MIN: usize = 5;

/// Minimum time from the first loss to the last, in round trips (ours): losses within a few round trips are one burst.
const ROUND_TRIPS_MIN: f64 = 10.0;

/// Share of the passed transmissions that may exceed the bucket size, at least one (ours: times are inexact).
const ABOVE: f64 = 0.002;

/// Distance from an empty bucket in packets, within which a loss counts as at the empty bucket: if the lost packets are
/// captured, and if only their neighbours are (ours).
const NEAR_SEEN: f64 = 0.25;
const NEAR_UNSEEN: f64 = 1.0;

/// Minimum share of the bursts at an empty bucket (ours): with less, losses of the link characterize the path.
const SHARE_MIN: f64 = 0.5;

/// Maximum probability of as many bursts at an empty bucket by chance, for each rate that is tried (ours: hundreds of
/// rates are tried, and many captures are analysed).
const CHANCE: f64 = 1e-7;

/// Share of the bursts explained by the best rate that another rate must explain to be equally good (ours: times are
/// inexact).
const AS_GOOD: f64 = 0.9;

/// Number of bursts fewer that such a rate may explain in any case (ours: one or two losses of the link decide no
/// rate).
const AS_GOOD_BURSTS: f64 = 2.0;

/// Share of the best rate's bursts beyond chance that such a rate must reach (ours): a bucket that most packets find
/// empty, such as every second one at a high rate, is no evidence.
const AS_GOOD_BEYOND: f64 = 0.3;

/// Maximum ratio of equally good rates for one to be reported: a bucket that is full between its losses shows its size
/// and not its rate (ours).
const RATES_ALIKE: f64 = 1.15;

/// Range and step of the rates that are tried, relative to the throughput between the first loss and the last (ours: a
/// bucket that limits nothing for longer hides its rate).
const RATES_FROM: f64 = 0.9;
const RATES_TO: f64 = 8.0;
const RATES_STEP: f64 = 1.04;

/// Number of pairs of bursts, for each distance between them, whose throughput in between is tried as well (ours). If
/// the bucket is never full in between, that is its rate, more exactly the longer the time; greater precision is not
/// needed.
const PAIRS: usize = 24;

/// Search for the interval: from the best rate outwards, first by this step, then twice that, and so on (ours).
const CLOSEST: f64 = 0.0001;
const FARTHEST: f64 = 0.4;

/// Maximum median delay next to the losses, as a share of the time that the bucket takes to fill (ours; Flach et al.
/// compare the delays of lost packets with those of others). A queue that drops like this bucket would be that long at
/// its losses.
const DELAY_SHARE: f64 = 0.4;

/// Conditions that exclude a queue (ours). If the link's rate is known, a policer's rate must be below [`BELOW_LINK`]
/// of it: other losses are those of the link's queue and of the link itself, without a queue. If it is unknown, a
/// bucket that fills within [`DELAY_SEEN`] seconds may be a queue too short to be visible.
const DELAY_SEEN: f64 = 0.003;
pub(super) const BELOW_LINK: f64 = 0.7;

/// Token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Rate at which it fills, in bit/s.
    pub rate: Told<f64>,
    /// Size in bytes.
    pub burst: Told<f64>,
    /// Rate of the policed link in bit/s: packets that pass arrive at that rate.
    pub link: Told<f64>,
}

/// Result of the search for a policer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    One(Policer),
    /// Several rates explain the losses, perhaps also a short queue. Contains the lowest rate in bit/s.
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

/// Searches for a policer that explains the losses. `packet` is the wire size of a full packet in bytes, and `link` the
/// rate of the bottleneck in bit/s.
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

/// Returns the fit with the most bursts at an empty bucket beyond those by chance.
fn best(fits: &[Fit]) -> Option<Fit> {
    let ordered = |one: &&Fit, other: &&Fit| {
        let beyond = one.beyond_chance.total_cmp(&other.beyond_chance);
        beyond.then(one.near.cmp(&other.near))
    };
    fits.iter().max_by(ordered).copied()
}

/// Returns the best fit with its interval: the range of all equally good fits, extended to the next worse one.
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

/// Passed and lost transmissions, burst by burst.
struct Passing {
    events: Vec<Event>,
    groups: Vec<Group>,
    /// Throughput between the first loss and the last, in bytes per second.
    slope: f64,
    /// Distance in bytes from an empty bucket, within which a loss counts as at the empty bucket.
    near: f64,
}

/// Losses within a round trip.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Time of the first loss, in seconds since the first transmission.
    at_s: f64,
    /// Bytes that had passed by then.
    passed: u64,
    losses: usize,
}

/// Bucket, and how well it separates lost from passed transmissions.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Rate in bytes per second.
    rate: f64,
    /// Size in bytes.
    burst: f64,
    /// Number of losses at an empty bucket.
    near: usize,
    /// Number of bursts of which most losses were at an empty bucket.
    groups: usize,
    /// Number of such bursts beyond those expected if bursts come at any transmission.
    beyond_chance: f64,
    /// Share of the passed transmissions that found the bucket equally empty.
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
        // Losses at the end of the capture may not have been retransmitted yet.
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

    /// Returns the bucket of this rate with the fewest passed transmissions that should have been dropped.
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
                // The lost packets found the bucket as empty as the captured packet before them.
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

    /// Returns the number of bursts of which most losses are among these.
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

    /// Returns `true` if the losses are at the empty bucket, and not by chance.
    fn is_one(&self, fit: &Fit) -> bool {
        let all = self.groups.len();
        let by_chance = at_least(fit.groups as u64, all as u64, fit.share);
        fit.near >= LOSSES_MIN
            && fit.groups >= GROUPS_MIN
            && fit.groups as f64 >= SHARE_MIN * all as f64
            && by_chance <= CHANCE
    }
}

/// Returns the largest value except the `but` largest ones; `None` if there are no more than these. `but` is small, so
/// these are kept sorted.
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
    /// Returns the fit for a course in which nothing passed.
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

/// Returns `true` if a rate in bytes per second may be that of a policer on a link of `link` bit/s.
fn is_below(rate: f64, link: f64) -> bool {
    rate * 8.0 <= BELOW_LINK * link
}

/// Returns `true` if the losses come with less delay than in a queue that fills like the bucket. `link` is the rate of
/// the bottleneck in bit/s.
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
