//! Losses: their number, kinds and bursts, and the buffer of a queue that overflowed.
//!
//! A retransmitted segment counts as lost until there is evidence that it had arrived. If a first transmission is lost,
//! the delay of its neighbours in the stream shows the length of the queue. A full queue drops packets when the delay
//! is longest, whereas a link loses them at any time. Therefore, if more losses occur near the longest delay than among
//! the same number of packets with shorter delays, the queue caused the additional losses. The queueing delay at these
//! losses times the rate is the size of the queue's buffer. Some delays are longer for other reasons. Therefore,
//! several of the longest delays at losses are tried as the delay of the full queue, and the one for which the number
//! of losses is least likely by chance is chosen.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::bins::Delays;
use super::intervals::{at_least, wilson};
use crate::told::Told;

/// Maximum number of losses per stream that are stored individually (our choice). Later losses are only counted.
const KEPT: usize = 4096;

/// Number of stored delays, spread over several windows of data (our choice): a loss is detected within a few round
/// trips.
const HISTORY: usize = 256;

/// Number of stored delays for the data in flight at one time.
const PARTS: u64 = 64;

/// Maximum relative difference between two queueing delays that count as near each other (our choice).
const NEAR: f64 = 0.1;
/// Maximum difference between two queueing delays that count as near each other, in transmission times of a packet: a
/// queue of a few packets is either full or one packet short of full.
const NEAR_PACKETS: f64 = 1.25;

/// Minimum queueing delay that differs from noise due to clocks and interrupts (our choice).
const NOISE: Duration = Duration::from_micros(500);
/// Minimum queueing delay that differs from noise, as a fraction of the minimum round-trip time.
const NOISE_SHARE: f64 = 0.02;

/// Maximum probability that the losses near the longest delay occur by chance, for these losses to be attributed to the
/// queue (our choice: a sender that keeps a standing queue has most delays there, and many captures are analysed).
const CHANCE: f64 = 0.001;

/// Minimum fraction of delays that are not near the longest delay (our choice). With a smaller fraction, a single loss
/// at these delays would represent a very large number of losses, and the absence of losses would be no evidence.
const SHARE_MIN: f64 = 0.02;

/// Maximum fraction of delays that are longer than those of a full queue and not caused by the queue (our choice: a
/// receiver's timer may cause them).
const BEYOND: f64 = 0.02;

/// Minimum size of a deep queue in packets. A smaller queue is full too often, and too close to empty, to distinguish
/// its losses from those of a link (our choice).
const DEEP: f64 = 6.0;

/// Maximum number of queueing delays at losses that are tried as the delay of the full queue (our choice).
const ZONES: usize = 64;

/// Minimum number of overflows to conclude that a queue was full (our choice: one or two losses may have any cause).
const OVERFLOWS_MIN: u64 = 3;

/// Fraction of the longest delays that is ignored if no loss shows a full queue (our choice: because of
/// retransmissions, the delay of some segments seems longer).
const UNSURE: f64 = 0.02;

/// Lost transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub start: u64,
    pub end: u64,
    /// Number of the lost transmission among the transmissions of these bytes, counted from 1.
    pub transmission: u32,
    /// Departure time of the transmission or of its neighbour in the stream.
    pub sent: Instant,
    /// Time of the retransmission.
    pub repaired: Instant,
    /// Delay of the nearest segment in the stream that arrived; `None` if it is unknown.
    pub delay: Option<Duration>,
    /// Certainty of the loss.
    pub surety: Surety,
    /// Votes of the loss differentiations: bit n is set if the n-th one attributes the loss to the link. Only the first
    /// loss of a loss event is judged. The other losses have `None`.
    pub votes: Option<u32>,
}

/// Certainty that a retransmitted segment was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surety {
    /// ACKs show that the segment was missing.
    Missed,
    /// The segment was outstanding when a timer expired, and may have arrived.
    Outstanding,
}

#[derive(Clone, Copy, Debug)]
struct Neighbour {
    start: u64,
    sent: Instant,
    delay: Duration,
}

/// Losses of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    history: VecDeque<Neighbour>,
    /// Distribution of the longer delay of each two consecutive segments. The delay of a loss is determined in the same
    /// way, from its two neighbours.
    pairs: Delays,
    last: Duration,
    kept: Vec<Lost>,
    /// Number of all losses, including those that are not stored.
    count: u64,
    /// Number of lost transmissions that may have arrived.
    doubtful: u64,
    /// Number of all transmissions, and of those up to the last stored loss.
    transmissions: u64,
    among: u64,
}

/// Evidence from the queue about the causes of the losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kinds {
    /// Number of losses with a delay near the longest.
    near: u64,
    /// Number of losses with a known delay.
    known: u64,
    /// Fraction of all delays that are near the longest.
    share_near: f64,
    /// Minimum queueing delay that counts as near the longest.
    threshold: Duration,
    /// Maximum queueing delay of the full queue. Longer delays have other causes.
    highest: Duration,
    /// Queueing delay that certainly occurred.
    pub sure: Duration,
    depth: Depth,
    /// Overflow of the queue.
    pub overflow: Overflow,
}

/// Range of similar queueing delays at which losses occurred.
#[derive(Clone, Copy, Debug)]
struct Zone {
    low: Duration,
    high: Duration,
    /// Number of losses in this range, where a burst counts as one loss, and the probability of at least as many losses
    /// by chance.
    near: u64,
    by_chance: f64,
}

/// Returns the number of values in `sorted` from `low` to `high`, including both.
fn between_of(sorted: &[Duration], low: Duration, high: Duration) -> u64 {
    let below = sorted.partition_point(|delay| *delay < low);
    let up_to = sorted.partition_point(|delay| *delay <= high);
    up_to.saturating_sub(below) as u64
}

/// A fraction and its interval.
pub(super) type Share = (f64, (f64, f64));

/// Length of the queue at losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// The queue is no longer than noise.
    None,
    /// The queue is too short to distinguish its losses from random losses of the link.
    Shallow,
    Deep,
}

/// Overflow of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    Seen,
    NotSeen,
}

impl Kinds {
    /// Returns the fraction of the losses that the queue caused, with its interval; `None` if no loss has a known
    /// delay, if the queue is too short, or if it is nearly always full. `clumping` is the factor by which bursts
    /// reduce the information.
    pub(super) fn congestive(&self, clumping: f64) -> Option<Share> {
        if self.known == 0 {
            return None;
        }
        let known = self.known as f64;
        // The losses at shorter delays show how many of the losses near the longest delay the queue did not cause.
        let elsewhere = (self.known - self.near) as f64;
        let others = 1.0 - self.share_near;
        let untold = others < SHARE_MIN && self.depth != Depth::None;
        if untold || self.depth == Depth::Shallow {
            return None;
        }
        let others = others.max(SHARE_MIN);
        let of_queue = |elsewhere: f64| (1.0 - elsewhere / others / known).clamp(0.0, 1.0);
        let (low, high) = wilson(elsewhere, known, clumping);
        let (low, high) = (of_queue(high * known), of_queue(low * known));
        match self.overflow {
            Overflow::Seen => Some((of_queue(elsewhere), (low, high))),
            // There is no evidence that the queue caused any loss, but it may have caused some.
            Overflow::NotSeen if self.depth == Depth::Deep => Some((low, (low, high))),
            Overflow::NotSeen => Some((0.0, wilson(0.0, known, clumping))),
        }
    }

    /// `true` if the queue caused a loss at the queueing delay `delay`.
    pub(super) fn is_congestive(&self, delay: Duration) -> bool {
        self.overflow == Overflow::Seen && delay >= self.threshold
    }
}

/// Bursts of losses: the two-state chain of Gilbert (1960), in which every packet of the bad state is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Probability per packet of entering the bad state.
    pub enter: Told<f64>,
    /// Probability per packet of leaving the bad state.
    pub leave: Told<f64>,
    /// Comparison with independent losses.
    pub clustering: Clustering,
}

/// Clustering of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clustering {
    /// A loss is more likely after another loss than elsewhere.
    Bursts,
    /// The capture shows no dependence between the losses.
    Single,
}

impl Losses {
    /// Records the departure of segments.
    pub(super) fn sent(&mut self, segments: u64) {
        self.transmissions += segments;
        if self.kept.len() < KEPT {
            self.among = self.transmissions;
        }
    }

    /// Records the arrival of a segment that begins at `start` and was sent at `sent`, with this delay, while
    /// `outstanding` bytes were in flight.
    pub(super) fn arrived(&mut self, start: u64, sent: Instant, delay: Duration, outstanding: u64) {
        self.pairs.record(delay.max(self.last).as_nanos());
        self.last = delay;
        // A retransmission is not stored: it begins before the last segment, and was sent later than its neighbours in
        // the stream.
        let next = |last: &Neighbour| last.start.saturating_add((outstanding / PARTS).max(1));
        if self.history.back().is_some_and(|last| start < next(last)) {
            return;
        }
        if self.history.len() >= HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Neighbour { start, sent, delay });
    }

    /// Records a lost transmission, and determines its delay.
    pub(super) fn lost(&mut self, mut lost: Lost) {
        self.count += 1;
        self.doubtful += u64::from(lost.surety == Surety::Outstanding);
        if self.kept.len() >= KEPT {
            return;
        }
        if lost.transmission == 1
            && let Some((sent, delay)) = self.near(lost.start)
        {
            lost.sent = sent;
            lost.delay = Some(delay);
        } else if let Some(before) = self.kept.iter().rfind(|known| known.start == lost.start) {
            lost.sent = before.repaired;
        }
        self.kept.push(lost);
    }

    /// Returns the departure time of the neighbours of `start` in the stream, and the longer of their delays.
    fn near(&self, start: u64) -> Option<(Instant, Duration)> {
        let before = self.history.iter().rev().find(|n| n.start < start);
        let after = self.history.iter().rev().take_while(|n| n.start > start);
        let after = after.last();
        let both = before.into_iter().chain(after);
        let delay = both.clone().map(|n| n.delay).max()?;
        let sent = before.or(after)?.sent;
        Some((sent, delay))
    }

    /// Returns the arrival time of the nearest segment in the stream that begins after `start`, if it has arrived.
    pub(super) fn came_after(&self, start: u64) -> Option<Instant> {
        let after = self.history.iter().rev().take_while(|n| n.start > start);
        after.last().map(|n| n.sent + n.delay)
    }

    /// Removes the latest loss in `start..end`, because its retransmission was spurious.
    pub(super) fn had_arrived(&mut self, start: u64, end: u64) {
        let touches = |lost: &Lost| lost.start < end && start < lost.end;
        if let Some(place) = self.kept.iter().rposition(touches) {
            let lost = self.kept.remove(place);
            self.count = self.count.saturating_sub(1);
            let doubtful = u64::from(lost.surety == Surety::Outstanding);
            self.doubtful = self.doubtful.saturating_sub(doubtful);
        }
    }

    /// Removes the losses of all segments in one packet that segmentation offload had combined.
    pub(super) fn all_had_arrived(&mut self, start: u64, end: u64) {
        let within = self
            .kept
            .iter()
            .filter(|lost| start <= lost.start && lost.end <= end);
        let mut segments: Vec<(u64, u64)> = within.map(|lost| (lost.start, lost.end)).collect();
        segments.sort_unstable();
        segments.dedup();
        if segments.is_empty() {
            segments.push((start, end));
        }
        for (start, end) in segments {
            self.had_arrived(start, end);
        }
    }

    /// Returns the stored losses.
    pub(super) fn kept(&self) -> &[Lost] {
        &self.kept
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// Evaluates the evidence from the queue. `base` is the minimum delay, and `packet` is the transmission time of a
    /// packet at the bottleneck.
    pub(super) fn kinds(&self, base: Duration, packet: Duration) -> Kinds {
        let queueing = |delay: Duration| delay.saturating_sub(base);
        let sorted = |mut delays: Vec<Duration>| {
            delays
                .iter_mut()
                .for_each(|delay| *delay = queueing(*delay));
            delays.sort_unstable();
            delays
        };
        let known = sorted(self.kept.iter().filter_map(|lost| lost.delay).collect());
        let alone = sorted(self.firsts_of_bursts());
        let noise = Duration::from_secs_f64(base.as_secs_f64() * NOISE_SHARE).max(NOISE);
        let apart = packet.as_secs_f64() * NEAR_PACKETS + noise.min(packet).as_secs_f64();
        let zones = self.zones(base, Duration::from_secs_f64(apart), &known, &alone);
        let is_queue = |zone: &&Zone| zone.high > noise && zone.low > noise.min(packet);
        let best = zones.iter().filter(is_queue).min_by(|one, other| {
            let by_chance = one.by_chance.total_cmp(&other.by_chance);
            by_chance.then(other.near.cmp(&one.near))
        });
        let seen = best.filter(|zone| zone.by_chance < CHANCE && zone.near >= OVERFLOWS_MIN);
        let threshold = best.map_or(Duration::ZERO, |zone| zone.low);
        let deep = |zone: &Zone| zone.high.as_secs_f64() >= DEEP * packet.as_secs_f64();
        let near = self.pairs.count_from((base + threshold).as_nanos());
        let sure = self.pairs.quantile(1.0 - UNSURE);
        Kinds {
            near: between_of(&known, threshold, Duration::MAX),
            known: known.len() as u64,
            share_near: near as f64 / self.pairs.count().max(1) as f64,
            threshold,
            highest: best.map_or(Duration::ZERO, |zone| zone.high),
            sure: sure.map_or(Duration::ZERO, |sure| queueing(Duration::from_nanos(sure))),
            depth: match best {
                None => Depth::None,
                Some(zone) if deep(zone) => Depth::Deep,
                Some(_) => Depth::Shallow,
            },
            overflow: match seen {
                Some(_) => Overflow::Seen,
                None => Overflow::NotSeen,
            },
        }
    }

    /// Returns the candidates for the queueing delay of the full queue, the longest first. Each candidate is a range
    /// around one of the delays in `known`, the queueing delays at losses. At most the fraction [`BEYOND`] of all
    /// delays is longer. `apart` is the minimum half-width of a range. `alone` contains one delay per burst.
    fn zones(
        &self,
        base: Duration,
        apart: Duration,
        known: &[Duration],
        alone: &[Duration],
    ) -> Vec<Zone> {
        let from = |delay: Duration| self.pairs.count_from((base + delay).as_nanos());
        let all = self.pairs.count().max(1) as f64;
        let mut zones: Vec<Zone> = Vec::new();
        for &top in known.iter().rev() {
            let passed = zones.last().is_some_and(|last| top > last.low);
            if passed || zones.len() >= ZONES {
                continue;
            }
            let slack = Duration::from_secs_f64(top.as_secs_f64() * NEAR).max(apart);
            let (low, high) = (top.saturating_sub(slack), top + slack);
            let beyond = from(high);
            if beyond as f64 / all > BEYOND {
                break;
            }
            let share = from(low).saturating_sub(beyond) as f64 / all;
            let near = between_of(alone, low, high);
            zones.push(Zone {
                low,
                high,
                near,
                by_chance: at_least(near, alone.len() as u64, share),
            });
        }
        zones
    }

    /// Returns the delays at the losses. If losses follow one another without a gap, only the first of them is
    /// included.
    fn firsts_of_bursts(&self) -> Vec<Duration> {
        let mut ends = None;
        let mut firsts = Vec::new();
        for lost in &self.kept {
            let follows = ends.replace(lost.end) == Some(lost.start);
            if let Some(delay) = lost.delay.filter(|_| !follows) {
                firsts.push(delay);
            }
        }
        firsts
    }

    /// Returns the sorted queueing delays at the losses that the queue caused.
    pub(super) fn at_overflow(&self, kinds: &Kinds, base: Duration) -> Vec<Duration> {
        let delays = self.kept.iter().filter_map(|lost| lost.delay);
        let queueing = delays.map(|delay| delay.saturating_sub(base));
        let at_full = |q: &Duration| kinds.is_congestive(*q) && *q <= kinds.highest;
        let mut full: Vec<Duration> = queueing.filter(at_full).collect();
        full.sort_unstable();
        full
    }

    /// Returns the loss rate of one kind of loss, which is the fraction `share` of all losses. `clumping` is the factor
    /// by which bursts reduce the information.
    pub(super) fn rate(&self, share: Share, clumping: f64) -> Told<f64> {
        if self.transmissions == 0 {
            return Told::CannotBeTold {
                why: "the capture has no data in this direction",
                remedy: "a capture of both directions",
            };
        }
        let trials = self.transmissions as f64;
        let (value, (few, many)) = share;
        let hits = |share: f64| (self.count as f64 * share).min(trials);
        let (_, high) = wilson(hits(value), trials, clumping);
        let sure = 1.0 - self.doubtful as f64 / self.count.max(1) as f64;
        let (low, _) = wilson(hits(value) * sure, trials, clumping);
        // The uncertainty of the fraction is added to that of the number of losses.
        let best = hits(value) / trials;
        let less = (best - low).hypot(best - hits(few) / trials);
        let more = (high - best).hypot(hits(many) / trials - best);
        Told::Between {
            value: best,
            low: (best - less).max(0.0),
            high: (best + more).min(1.0),
        }
    }

    /// Estimates the bursts of the losses that `belongs` selects, by the maximum-likelihood method.
    pub(super) fn bursts(&self, belongs: &dyn Fn(&Lost) -> bool) -> Bursts {
        let firsts = self.kept.iter().filter(|lost| lost.transmission == 1);
        let mut lost: Vec<(u64, u64)> = firsts
            .filter(|lost| belongs(lost))
            .map(|lost| (lost.start, lost.end))
            .collect();
        lost.sort_unstable();
        let follows = lost.windows(2).filter(|pair| match pair {
            [(_, end), (start, _)] => end == start,
            _ => false,
        });
        let follows = follows.count() as f64;
        let losses = lost.len() as f64;
        let runs = losses - follows;
        let arrived = (self.among as f64 - losses).max(0.0);
        let (enter, leave) = (wilson(runs, arrived, 1.0), wilson(runs, losses, 1.0));
        // If losses are independent, a loss follows another one with the probability with which any packet is lost.
        let independent = losses / (self.among.max(1)) as f64;
        let clustered = at_least(follows as u64, lost.len() as u64, independent) < CHANCE;
        Bursts {
            enter: between(runs, arrived, enter),
            leave: between(runs, losses, leave),
            clustering: if clustered && follows > 0.0 {
                Clustering::Bursts
            } else {
                Clustering::Single
            },
        }
    }
}

impl Bursts {
    /// Returns the factor by which bursts reduce the information from losses. It is the variance of the number of
    /// losses of the chain, divided by that of independent losses: (1 + r)/(1 − r) with r = 1 − enter − leave.
    pub(super) fn clumping(&self) -> f64 {
        match (self.enter.value(), self.leave.value(), self.clustering) {
            (Some(enter), Some(leave), Clustering::Bursts) if enter + leave > 0.0 => {
                let r = (1.0 - enter - leave).max(0.0);
                (1.0 + r) / (1.0 - r).max(f64::MIN_POSITIVE)
            }
            _ => 1.0,
        }
    }
}

/// Returns the bursts of losses whose cause is unknown.
pub(super) const fn bursts_of_unknown_cause(why: &'static str, remedy: &'static str) -> Bursts {
    Bursts {
        enter: Told::CannotBeTold { why, remedy },
        leave: Told::CannotBeTold { why, remedy },
        clustering: Clustering::Single,
    }
}

fn between(hits: f64, trials: f64, (low, high): (f64, f64)) -> Told<f64> {
    if trials <= 0.0 {
        return Told::CannotBeTold {
            why: "nothing was lost",
            remedy: "a longer capture",
        };
    }
    Told::Between {
        value: hits / trials,
        low,
        high,
    }
}
