//! Losses: how many, of which kind, in what bursts, and what the queue held when it overflowed.
//!
//! A segment is held for lost when it is repaired, until something shows that it had arrived. Of a loss
//! of a first transmission the delay of its neighbours in the stream is known, which says how long the
//! queue was. A full queue drops packets when the delay is at its longest; a link loses them whenever. So
//! if the losses near the longest delay are more than those of as many packets elsewhere would be, the
//! excess are the queue's, and the delay there, times the rate, is its room. As some delays are longer for other
//! reasons, all those near the longest at which losses came are tried, and what is least likely by chance is it.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::bins::Delays;
use super::intervals::{at_least, wilson};
use crate::told::Told;

/// Of one stream so many losses are kept one by one (ours); later ones are only counted.
const KEPT: usize = 4096;

/// So many delays are kept, spread over some windows of data (ours): a loss is found within a few round
/// trips.
const HISTORY: usize = 256;

/// A delay is kept for every so many parts of what is outstanding.
const PARTS: u64 = 64;

/// A delay within this share of the longest queueing delay is near it (ours) …
const NEAR: f64 = 0.1;
/// … and so is one within so many packets' time: a queue of a few packets is full or a packet short of it.
const NEAR_PACKETS: f64 = 1.25;

/// Less than this queueing delay is no queue that could be told from noise (ours): clocks, interrupts.
const NOISE: Duration = Duration::from_micros(500);
/// The same as a share of the least round-trip time.
const NOISE_SHARE: f64 = 0.02;

/// Losses near the longest delay are the queue's if so many would come by chance less often than this
/// (ours: a sender that keeps its queue has most delays there, and many captures are looked at).
const CHANCE: f64 = 0.001;

/// So large a share of the delays at least is elsewhere (ours): with less, a single loss there would stand for
/// any number, and none would tell nothing.
const SHARE_MIN: f64 = 0.02;

/// How much of the delays may be longer than those of a full queue, which no queue made (ours: a receiver's timer).
const BEYOND: f64 = 0.02;

/// A queue of fewer packets than this is full too often, and too close to empty, for its losses to be told from
/// a link's (ours).
const DEEP: f64 = 6.0;

/// So many lengths of the queue at which losses came are tried for the full one (ours).
const ZONES: usize = 64;

/// So many overflows show that a queue was full (ours: a single one or two are any two losses).
const OVERFLOWS_MIN: u64 = 3;

/// The same where no loss shows that a queue was full (ours: a repair makes some look late).
const UNSURE: f64 = 0.02;

/// A lost transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub start: u64,
    pub end: u64,
    /// Which transmission of these bytes was lost, from 1.
    pub transmission: u32,
    /// When it left, or a neighbour of it.
    pub sent: Instant,
    /// When it was sent again.
    pub repaired: Instant,
    /// The delay of the nearest in the stream that arrived, if that is known.
    pub delay: Option<Duration>,
    /// Whether it was lost for sure.
    pub surety: Surety,
    /// Bit n is set if the n-th differentiation says that it was the link's, and only the first of a loss
    /// event is judged.
    pub votes: Option<u32>,
}

/// Whether what was sent again was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surety {
    /// ACKs say that it was missing.
    Missed,
    /// It was outstanding when a timer expired, and nothing tells whether it had arrived.
    Outstanding,
}

#[derive(Clone, Copy, Debug)]
struct Neighbour {
    start: u64,
    sent: Instant,
    delay: Duration,
}

/// The losses of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    history: VecDeque<Neighbour>,
    /// The longer of each two delays in a row, as that of a loss is the longer of its neighbours'.
    pairs: Delays,
    last: Duration,
    kept: Vec<Lost>,
    /// All, those that are not kept included.
    count: u64,
    /// Those of them that may have arrived.
    doubtful: u64,
    /// All transmissions, and those among which the kept losses are.
    transmissions: u64,
    among: u64,
}

/// What the queue's evidence makes of the losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kinds {
    /// Losses with a delay near the longest.
    near: u64,
    /// Losses of which the delay is known.
    known: u64,
    /// The share of all delays that is near the longest.
    share_near: f64,
    /// The queueing delay from which on one is near the longest.
    threshold: Duration,
    /// Beyond this it is no queue's.
    highest: Duration,
    /// A queueing delay that there was for sure.
    pub sure: Duration,
    depth: Depth,
    /// Whether the queue overflowed.
    pub overflow: Overflow,
}

/// Queueing delays that are close to one another, at which losses came.
#[derive(Clone, Copy, Debug)]
struct Zone {
    low: Duration,
    high: Duration,
    /// How many losses came there, those of a burst counted once, and how likely it is that as many do by chance.
    near: u64,
    by_chance: f64,
}

/// How many of `sorted` are no less than `low` and no more than `high`.
fn between_of(sorted: &[Duration], low: Duration, high: Duration) -> u64 {
    let below = sorted.partition_point(|delay| *delay < low);
    let up_to = sorted.partition_point(|delay| *delay <= high);
    up_to.saturating_sub(below) as u64
}

/// A share, and the ends of its interval.
pub(super) type Share = (f64, (f64, f64));

/// How long a queue was at losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// No more than noise.
    None,
    /// Losses of the link that come by chance while it is full are as many as its own.
    Shallow,
    Deep,
}

/// Whether a queue overflowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    Seen,
    NotSeen,
}

impl Kinds {
    /// The share of the losses that were the queue's, with its interval; `None` if of no loss the delay is
    /// known. `clumping` says how much less losses tell than single ones.
    pub(super) fn congestive(&self, clumping: f64) -> Option<Share> {
        if self.known == 0 {
            return None;
        }
        let known = self.known as f64;
        // Those elsewhere tell how many near the longest delay are not the queue's.
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
            // Nothing shows that any was the queue's; but some may have been.
            Overflow::NotSeen if self.depth == Depth::Deep => Some((low, (low, high))),
            Overflow::NotSeen => Some((0.0, wilson(0.0, known, clumping))),
        }
    }

    /// Whether a loss beside a queueing delay of `delay` was the queue's.
    pub(super) fn is_congestive(&self, delay: Duration) -> bool {
        self.overflow == Overflow::Seen && delay >= self.threshold
    }
}

/// Losses in bursts: the two-state chain of Gilbert (1960), in which every packet of the bad state is
/// lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Probability per packet of entering the bad state.
    pub enter: Told<f64>,
    /// Probability per packet of leaving it.
    pub leave: Told<f64>,
    /// Whether that differs from losses one by one.
    pub clustering: Clustering,
}

/// Whether losses come in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clustering {
    /// One is lost more often after one that was lost.
    Bursts,
    /// Each by itself, as far as can be told.
    Single,
}

impl Losses {
    /// So many segments left.
    pub(super) fn sent(&mut self, segments: u64) {
        self.transmissions += segments;
        if self.kept.len() < KEPT {
            self.among = self.transmissions;
        }
    }

    /// What begins at `start` and left at `sent` arrived after `delay`, while `outstanding` bytes were.
    pub(super) fn arrived(&mut self, start: u64, sent: Instant, delay: Duration, outstanding: u64) {
        self.pairs.record(delay.max(self.last).as_nanos());
        self.last = delay;
        // What was sent again lies before: it left later than its neighbours in the stream.
        let next = |last: &Neighbour| last.start.saturating_add((outstanding / PARTS).max(1));
        if self.history.back().is_some_and(|last| start < next(last)) {
            return;
        }
        if self.history.len() >= HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Neighbour { start, sent, delay });
    }

    /// A transmission was lost: what is known of it, but its delay.
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

    /// When the neighbours in the stream of what begins at `start` left, and the longer of their delays.
    fn near(&self, start: u64) -> Option<(Instant, Duration)> {
        let before = self.history.iter().rev().find(|n| n.start < start);
        let after = self.history.iter().rev().take_while(|n| n.start > start);
        let after = after.last();
        let both = before.into_iter().chain(after);
        let delay = both.clone().map(|n| n.delay).max()?;
        let sent = before.or(after)?.sent;
        Some((sent, delay))
    }

    /// When the nearest in the stream that begins after `start` came, if it has come.
    pub(super) fn came_after(&self, start: u64) -> Option<Instant> {
        let after = self.history.iter().rev().take_while(|n| n.start > start);
        after.last().map(|n| n.sent + n.delay)
    }

    /// A repetition of `start..end` was needless: the latest loss there was none.
    pub(super) fn had_arrived(&mut self, start: u64, end: u64) {
        let touches = |lost: &Lost| lost.start < end && start < lost.end;
        if let Some(place) = self.kept.iter().rposition(touches) {
            let lost = self.kept.remove(place);
            self.count = self.count.saturating_sub(1);
            let doubtful = u64::from(lost.surety == Surety::Outstanding);
            self.doubtful = self.doubtful.saturating_sub(doubtful);
        }
    }

    /// What was sent again in one packet, as offload makes it, was not lost: none of its segments.
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

    /// Those that are kept.
    pub(super) fn kept(&self) -> &[Lost] {
        &self.kept
    }

    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// What the queue's evidence makes of them: `base` is the least delay, `packet` the time that a packet
    /// takes at the bottleneck.
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

    /// The lengths of the queue that may have been the full one's: near which of `known`, the queueing delays beside
    /// losses, there are some, from the longest down, as far as hardly any delay is longer. `alone` are those
    /// of which each burst has one.
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

    /// The delays beside the losses, of those that follow one another without a gap only the first's.
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

    /// The queueing delays beside the losses that were the queue's, in order.
    pub(super) fn at_overflow(&self, kinds: &Kinds, base: Duration) -> Vec<Duration> {
        let delays = self.kept.iter().filter_map(|lost| lost.delay);
        let queueing = delays.map(|delay| delay.saturating_sub(base));
        let at_full = |q: &Duration| kinds.is_congestive(*q) && *q <= kinds.highest;
        let mut full: Vec<Duration> = queueing.filter(at_full).collect();
        full.sort_unstable();
        full
    }

    /// The share of transmissions that were lost, of all or of one kind of them: `share` of the losses
    /// are of that kind. `clumping` says how much less they tell than single ones.
    pub(super) fn rate(&self, share: Share, clumping: f64) -> Told<f64> {
        if self.transmissions == 0 {
            return Told::CannotBeTold {
                why: "the capture has no data of this direction",
                remedy: "a capture that has it",
            };
        }
        let trials = self.transmissions as f64;
        let (value, (few, many)) = share;
        let hits = |share: f64| (self.count as f64 * share).min(trials);
        let (_, high) = wilson(hits(value), trials, clumping);
        let sure = 1.0 - self.doubtful as f64 / self.count.max(1) as f64;
        let (low, _) = wilson(hits(value) * sure, trials, clumping);
        // What is uncertain of the share is so beside what is of the losses.
        let best = hits(value) / trials;
        let less = (best - low).hypot(best - hits(few) / trials);
        let more = (high - best).hypot(hits(many) / trials - best);
        Told::Between {
            value: best,
            low: (best - less).max(0.0),
            high: (best + more).min(1.0),
        }
    }

    /// In what bursts those came that `belongs` names, by maximum likelihood.
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
        // Independent losses are followed by one as often as any packet is lost.
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
    /// By how much fewer independent losses tell as much: the variance of the number of losses of the
    /// chain over that of single ones, (1 + r)/(1 − r) for r = 1 − enter − leave.
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

/// The bursts of losses of which nothing tells the cause.
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
