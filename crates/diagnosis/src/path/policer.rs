//! Policers: token buckets that drop what exceeds their rate, and queue nothing.
//!
//! A bucket fills at the policing rate; a packet that finds less in it than it has bytes is dropped and takes
//! nothing. So for each rate that may be the policer's, the bucket is followed: what has passed and not flowed in again
//! is missing from it. At the right rate every transmission that passed found, with its own bytes, no more missing than
//! the bucket holds, and every one that was lost found more; at others no size of the bucket tells them apart.
//! (Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016, follow a bucket at the one rate that
//! comes through between the first loss and the last; that is too little if it is full in between.)
//!
//! Losses of a link come whatever is missing. A queue that drops at its tail fills as such a bucket empties, but what
//! waits in it is late; here nothing is.
//!
//! Where lost packets are not seen, as at the receiver's end, each was lost right before the next of the stream came.

use dupack_tcp::time::Duration;

use super::intervals::at_least;
use super::losses::Lost;
use crate::told::Told;

mod course;
#[cfg(test)]
mod tests;

pub(super) use course::Course;
use course::Event;

/// So many losses at an empty bucket make a policer (Flach et al. ask for 15).
const LOSSES_MIN: usize = 15;

/// In so many bursts, a round trip each (ours): with fewer, two rates may explain them as well as one.
const GROUPS_MIN: usize = 5;

/// From the first loss to the last it is so many round trips at least (ours): within a few, all are one burst.
const ROUND_TRIPS_MIN: f64 = 10.0;

/// Of all that passes, this share may find more missing than the bucket holds, or one packet (ours: times are not
/// exact).
const ABOVE: f64 = 0.002;

/// A loss is at an empty bucket if it finds it empty within so many packets: where what is lost is seen, and where its
/// neighbours are (ours).
const NEAR_SEEN: f64 = 0.25;
const NEAR_UNSEEN: f64 = 1.0;

/// So large a share of the bursts is at an empty bucket (ours): with less, those of the link say what the path is.
const SHARE_MIN: f64 = 0.5;

/// As many bursts are at an empty bucket by chance in one of so many cases at most, for each rate that is tried (ours:
/// hundreds of rates are tried, and many captures are looked at).
const CHANCE: f64 = 1e-7;

/// Rates that explain so large a share of what the best one does are as good (ours: times are not exact).
const AS_GOOD: f64 = 0.9;

/// And those that explain so many bursts fewer, or less (ours: one or two losses of the link settle no rate).
const AS_GOOD_BURSTS: f64 = 2.0;

/// And so large a share of what it does beyond chance (ours): a bucket that most packets find empty, as one of two packets
/// at a high rate, tells nothing.
const AS_GOOD_BEYOND: f64 = 0.3;

/// Where rates that are as good differ by more than this, none is told: a bucket that is full between its losses shows
/// its size and not its rate (ours).
const RATES_ALIKE: f64 = 1.15;

/// Rates are tried from this share of what came through between the first loss and the last to so many times as much,
/// in steps of so much (ours: a bucket that limits nothing for longer hides its rate).
const RATES_FROM: f64 = 0.9;
const RATES_TO: f64 = 8.0;
const RATES_STEP: f64 = 1.04;

/// And those that came through between two bursts of losses: so many pairs of each distance (ours). While the bucket is
/// not full in between, that is its rate, the closer the longer it lasts; and no closer need it be known.
const PAIRS: usize = 24;

/// The interval is looked for from the best rate outwards, first by so much, then twice that, and so on (ours).
const CLOSEST: f64 = 0.0001;
const FARTHEST: f64 = 0.4;

/// A queue that drops as this bucket does is as long, at its losses, as the bucket takes to fill. The delay beside the
/// losses is at most this share of that, in the middle (ours; Flach et al. compare the delays of lost packets with those
/// of others).
const DELAY_SHARE: f64 = 0.4;

/// Where the link's rate is known, a policer's is below so large a share of it: other losses are its queue's, beside those of
/// the link, which come without one. Where it is not, a bucket that fills in less time than this may be a queue that is too
/// short to be seen (ours).
const DELAY_SEEN: f64 = 0.003;
pub(super) const BELOW_LINK: f64 = 0.7;

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// How fast it fills, in bit per second.
    pub rate: Told<f64>,
    /// What it holds, in bytes.
    pub burst: Told<f64>,
    /// The rate of the link that it polices, in bit per second: what passes comes through at that rate.
    pub link: Told<f64>,
}

/// What losses that look like a policer's tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    One(Policer),
    /// Several rates explain the losses, of at least so many bit per second; perhaps a short queue does, too.
    Perhaps(f64),
}

impl Found {
    /// The policer, if it is one for sure.
    pub(super) const fn one(self) -> Option<Policer> {
        match self {
            Self::One(policer) => Some(policer),
            Self::Perhaps(_) => None,
        }
    }
}

/// What losses tell of a policer, if they look like one's; `packet` is the bytes of a full one on the wire, `link` the rate
/// of the bottleneck in bit per second.
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

/// Fit with the most bursts at an empty bucket beyond those that chance puts there.
fn best(fits: &[Fit]) -> Option<Fit> {
    let ordered = |one: &&Fit, other: &&Fit| {
        let beyond = one.beyond_chance.total_cmp(&other.beyond_chance);
        beyond.then(one.near.cmp(&other.near))
    };
    fits.iter().max_by(ordered).copied()
}

/// The best with its interval: what all have that are as good, and on to the next that is not.
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

/// What passed and what was lost, burst by burst.
struct Passing {
    events: Vec<Event>,
    groups: Vec<Group>,
    /// What came through between the first loss and the last, in bytes per second.
    slope: f64,
    /// A loss may find so many bytes less missing than the bucket holds.
    near: f64,
}

/// What was lost within a round trip.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// When its first loss came, in seconds since the first transmission.
    at_s: f64,
    /// What had passed by then.
    passed: u64,
    losses: usize,
}

/// A bucket, and how well it tells what was lost from what passed.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// In bytes per second.
    rate: f64,
    /// In bytes.
    burst: f64,
    /// So many losses were at an empty bucket …
    near: usize,
    /// … and of so many bursts most.
    groups: usize,
    /// As many more than there are if bursts come whenever something passes.
    beyond_chance: f64,
    /// The share of what passed when it was as empty.
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
        // What was lost at the end of the capture may not have been repaired yet.
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

    /// The lowest rate that is tried, in bytes per second.
    fn lowest(&self) -> f64 {
        self.slope * RATES_FROM
    }

    /// The rates that are tried, in bytes per second.
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

    /// The bucket of that rate with the fewest transmissions that passed and should not have.
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
                // As empty as what is seen before them found it.
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

    /// Of how many bursts most losses are among these.
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

    /// Whether the losses are at the empty bucket, and not by chance.
    fn is_one(&self, fit: &Fit) -> bool {
        let all = self.groups.len();
        let by_chance = at_least(fit.groups as u64, all as u64, fit.share);
        fit.near >= LOSSES_MIN
            && fit.groups >= GROUPS_MIN
            && fit.groups as f64 >= SHARE_MIN * all as f64
            && by_chance <= CHANCE
    }
}

/// The largest but so many; `None` if there are no more than these. So few are left out that they are kept in order.
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
    /// Nothing passed that would tell.
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

/// Whether a rate in bytes per second may be that of a policer before a link of so many bit per second.
fn is_below(rate: f64, link: f64) -> bool {
    rate * 8.0 <= BELOW_LINK * link
}

/// Whether the losses come with less delay than in a queue that fills as the bucket does; `link` is the rate of the
/// bottleneck, in bit per second.
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
