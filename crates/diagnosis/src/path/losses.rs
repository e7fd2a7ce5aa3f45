//! Losses: how many, of which kind, in what bursts, and what the queue held when it overflowed.
//!
//! A segment is held for lost when it is repaired, until something shows that it had arrived. Of a loss
//! of a first transmission the delay of its neighbours in the stream is known, which says how long the
//! queue was. A full queue drops packets when the delay is at its longest; a link loses them whenever. So
//! if the losses near the longest delay are more than those of as many packets elsewhere would be, the
//! excess are the queue's, and the delay there, times the rate, is its room.

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
const NEAR_PACKETS: f64 = 2.0;

/// Less than this queueing delay is no queue that could be told from noise (ours): clocks, interrupts.
const NOISE: Duration = Duration::from_micros(500);
/// The same as a share of the least round-trip time.
const NOISE_SHARE: f64 = 0.02;

/// Losses near the longest delay are the queue's if so many would come by chance less often than this
/// (the usual 1 %).
const CHANCE: f64 = 0.01;

/// So large a share of the delays at least is taken to be elsewhere (ours): with less, a single loss
/// there would stand for any number.
const SHARE_MIN: f64 = 0.02;

/// How much of the longest delays may be outliers, which no queue made.
const OUTLIERS: f64 = 0.002;

/// A lost transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lost {
    pub start: u64,
    pub end: u64,
    /// Which transmission of these bytes was lost, from 1.
    pub transmission: u32,
    /// When it left, or a neighbour of it.
    pub sent: Instant,
    /// The delay of the nearest in the stream that arrived, if that is known.
    pub delay: Option<Duration>,
    /// Bit n is set if the n-th differentiation says that it was the link's, and only the first of a loss
    /// event is judged.
    pub votes: Option<u32>,
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
    /// The longest queueing delay.
    pub longest: Duration,
    /// Whether the queue overflowed.
    pub overflow: Overflow,
}

/// A share, and the ends of its interval.
pub(super) type Share = (f64, (f64, f64));

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
        if self.overflow == Overflow::NotSeen {
            return Some((0.0, wilson(0.0, known, clumping)));
        }
        // Those elsewhere tell how many near the longest delay are not the queue's.
        let elsewhere = (self.known - self.near) as f64;
        let others = (1.0 - self.share_near).max(SHARE_MIN);
        let of_queue = |elsewhere: f64| (1.0 - elsewhere / others / known).clamp(0.0, 1.0);
        let (low, high) = wilson(elsewhere, known, clumping);
        Some((
            of_queue(elsewhere),
            (of_queue(high * known), of_queue(low * known)),
        ))
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
        if self.kept.len() >= KEPT {
            return;
        }
        if lost.transmission == 1
            && let Some((sent, delay)) = self.near(lost.start)
        {
            lost.sent = sent;
            lost.delay = Some(delay);
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
            self.kept.remove(place);
            self.count = self.count.saturating_sub(1);
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
        let delays = &self.pairs;
        let queueing = |delay: Duration| delay.saturating_sub(base);
        let known: Vec<Duration> = self.kept.iter().filter_map(|lost| lost.delay).collect();
        let of_losses = known.iter().map(|&delay| queueing(delay)).max();
        let top = delays.quantile(1.0 - OUTLIERS).map(Duration::from_nanos);
        let top = top.map_or(Duration::ZERO, queueing);
        let longest = of_losses.unwrap_or_default().min(top);
        let slack = longest.as_secs_f64() * NEAR;
        let slack = slack.max(packet.as_secs_f64() * NEAR_PACKETS);
        let threshold = Duration::from_secs_f64(longest.as_secs_f64() - slack);
        let near = known.iter().filter(|&&d| queueing(d) >= threshold).count() as u64;
        let near_all = delays.count_from((base + threshold).as_nanos());
        let share_near = near_all as f64 / delays.count().max(1) as f64;
        let noise = Duration::from_secs_f64(base.as_secs_f64() * NOISE_SHARE).max(NOISE);
        let unlikely = at_least(near, known.len() as u64, share_near) < CHANCE;
        let overflow = if longest > noise && threshold > noise.min(packet) && unlikely {
            Overflow::Seen
        } else {
            Overflow::NotSeen
        };
        Kinds {
            near,
            known: known.len() as u64,
            share_near,
            threshold,
            longest: top,
            overflow,
        }
    }

    /// The queueing delays beside the losses that were the queue's, in order.
    pub(super) fn at_overflow(&self, kinds: &Kinds, base: Duration) -> Vec<Duration> {
        let delays = self.kept.iter().filter_map(|lost| lost.delay);
        let queueing = delays.map(|delay| delay.saturating_sub(base));
        let mut full: Vec<Duration> = queueing.filter(|&q| kinds.is_congestive(q)).collect();
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
        let (low, high) = wilson(hits(value), trials, clumping);
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
