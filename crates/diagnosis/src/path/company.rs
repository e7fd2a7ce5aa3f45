//! Whether others' packets were in the bottleneck's queue, as far as ours tell.
//!
//! Hosts are uneven, too: a receiver is not scheduled, an interface hands over packets in bursts, a machine that emulates the
//! path is busy. What such a pause holds back comes out at once when it is over, faster than the bottleneck's rate. What others'
//! packets take is gone: ours come out at the bottleneck's rate again, and no faster. So neither a slow stretch nor a long
//! wait counts by itself, but what is left of it when the time next to it is added.
//!
//! A receiver may hold back the last ACK of what is outstanding until a timer expires or its application has something to send:
//! it tells nothing of the queue.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::bins::LogBins;
use super::delivery::{Delivery, Rest};
use super::intervals::at_least;
use super::past::Past;
use super::rate::per_second;

/// Shorter stretches are not asked (ours: a busy host is late by some milliseconds).
const STRETCH_MIN: Duration = Duration::from_millis(5);

/// A stretch is slow if less than this share of the rate of the faster ones came through (ours: a packet of others
/// for six of ours).
const SLOW: f64 = 0.85;
const FASTER: f64 = 0.75;

/// Hosts make so large a share of the stretches slow and uneven (ours: of 180 captures of kernels alone on their path, 176
/// have fewer).
const SLOW_BY_HOSTS: f64 = 0.03;

/// Hosts make so large a share of the stretches uneven (ours: they do in 176 of the same), and so large a share where their
/// rates differ.
const UNEVEN: f64 = 0.25;
const UNEVEN_WIDE: f64 = 0.1;

/// Rates differ if the middle 80 % of them do by more than this share of their median (ours).
const WIDE: f64 = 0.3;

/// While a packet waited, no less than this share of a stretch's rate came through, or it did not wait for
/// that (ours).
const WAITED_FOR: f64 = 0.5;

/// So large a share of the packets waits for more than ours by hosts (ours: up to 0.9 % do in the same).
const FOREIGN: f64 = 0.012;

/// Every so many deliveries one is asked what it waited for (ours: it takes time).
const ASKED_EACH: u64 = 4;

/// A wait is one of at least this, and of so large a part of the least delay (ours: clocks, hosts, receivers).
const WAIT_MIN: Duration = Duration::from_millis(2);
const WAIT_PARTS: u64 = 10;

/// After a wait, the time in which what a host held back comes out: such a part of the wait, and at least so long (ours).
const AFTER_PARTS: u64 = 2;
const AFTER_MIN: Duration = Duration::from_millis(2);

/// So many wait to be judged at once (ours).
const WAITING_MAX: usize = 16;

/// It is more than hosts make if that is as improbable as this in so few cases, and not one case alone.
const BY_CHANCE: f64 = 0.05;
const FOUND_MIN: u64 = 2;

/// Whether others' packets were in the bottleneck's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Nothing shows any.
    NotSeen,
    /// There may have been some: packets came out slower for a while, or waited for more than ours.
    Perhaps,
}

/// Whether packets followed one another evenly in a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Smooth,
    Rough,
}

/// A stretch of packets that all waited at the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub from: Instant,
    pub until: Instant,
    pub bytes: u64,
    pub pattern: Pattern,
}

/// What tells of others.
#[derive(Clone, Debug, Default)]
pub(super) struct Others {
    /// The stretch before, and the highest rate that it has by itself or together with one next to it.
    last: Option<(Stretch, f64)>,
    /// These rates of all stretches, in bit per second, and of the rough ones.
    all: LogBins<7>,
    rough: LogBins<7>,
    /// How many deliveries there were, and how many were asked, whether they had waited or not.
    deliveries: u64,
    asked: u64,
    /// Those that waited, until it is known what came after.
    waiting: VecDeque<Wait>,
    /// What came through while packets waited and just after, in bit per second.
    meanwhile: LogBins<4>,
}

/// A packet that waited.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// When it came.
    until: Instant,
    waited: Duration,
    /// Bit per second that came through in between.
    rate: f64,
}

impl Others {
    /// Takes the next stretch.
    pub(super) fn stretch(&mut self, stretch: Stretch) {
        let Some(own) = per_second(stretch.bytes, stretch.until.since(stretch.from)) else {
            return;
        };
        let mut best = own;
        if let Some((last, its_best)) = self.last.take() {
            let joined = (last.until == stretch.from)
                .then(|| per_second(last.bytes + stretch.bytes, stretch.until.since(last.from)));
            let joined = joined.flatten().unwrap_or(0.0);
            best = best.max(joined);
            self.record(&last, its_best.max(joined));
        }
        self.last = Some((stretch, best));
    }

    fn record(&mut self, stretch: &Stretch, rate: f64) {
        if stretch.until.since(stretch.from) < STRETCH_MIN {
            return;
        }
        self.all.record(rate as u64);
        if stretch.pattern == Pattern::Rough {
            self.rough.record(rate as u64);
        }
    }

    /// Takes what was delivered: how much of ours came through while it waited. If nobody else's was in the queue, that is
    /// what the bottleneck's rate is. `base` is the least delay so far.
    pub(super) fn delivered(&mut self, delivery: &Delivery, base: Option<Duration>, past: &Past) {
        self.deliveries += 1;
        self.come_to_an_end(delivery.at, past);
        let (Some(delay), Some(base)) = (delivery.delay, base) else {
            return;
        };
        if !self.deliveries.is_multiple_of(ASKED_EACH) || delivery.rest == Rest::Nothing {
            return;
        }
        self.asked += 1;
        let waited = delay.saturating_sub(base);
        if waited >= WAIT_MIN.max(base / WAIT_PARTS)
            && self.waiting.len() < WAITING_MAX
            && let Some(rate) = past.rate(delivery.at, waited)
        {
            self.waiting.push_back(Wait {
                until: delivery.at,
                waited,
                rate,
            });
        }
    }

    /// Those whose time after the wait is over: a burst right after it is what a host held back.
    fn come_to_an_end(&mut self, now: Instant, past: &Past) {
        while let Some(wait) = self.waiting.front()
            && now.since(wait.until) >= AFTER_MIN.max(wait.waited / AFTER_PARTS)
        {
            let with_after = past.rate(now, now.since(wait.until) + wait.waited);
            let rate = wait.rate.max(with_after.unwrap_or(0.0));
            self.meanwhile.record(rate as u64);
            self.waiting.pop_front();
        }
    }

    /// How many of those that were asked waited for more than ours, where `rate` comes out of the bottleneck.
    fn waited_for_others(&self, rate: u64) -> u64 {
        let bound = (rate as f64 * WAITED_FOR) as u64;
        self.meanwhile.count() - self.meanwhile.count_from(bound)
    }

    /// The share of the packets that waited for more than ours, where `rate` comes out of the bottleneck.
    pub(super) fn foreign(&self, rate: u64) -> f64 {
        self.waited_for_others(rate) as f64 / self.asked.max(1) as f64
    }

    /// How many stretches were slow and uneven.
    fn slow(&self) -> u64 {
        let Some(faster) = self.all.quantile(FASTER) else {
            return 0;
        };
        let bound = (faster as f64 * SLOW) as u64;
        self.rough.count() - self.rough.count_from(bound)
    }

    /// Whether the rates of the stretches differ.
    fn is_wide(&self) -> bool {
        let at = |q| self.all.quantile(q).unwrap_or(0) as f64;
        at(0.9) - at(0.1) > WIDE * at(0.5)
    }

    /// Whether others' packets were in the queue, where `rate` comes out of the bottleneck.
    pub(super) fn company(&self, rate: u64) -> Company {
        let beyond = |found: u64, of: u64, by_hosts: f64| {
            found >= FOUND_MIN && at_least(found, of, by_hosts) < BY_CHANCE
        };
        let uneven = if self.is_wide() { UNEVEN_WIDE } else { UNEVEN };
        let stretches = self.all.count();
        if beyond(self.slow(), stretches, SLOW_BY_HOSTS)
            || beyond(self.rough.count(), stretches, uneven)
            || beyond(self.waited_for_others(rate), self.asked, FOREIGN)
        {
            Company::Perhaps
        } else {
            Company::NotSeen
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::delivery::News;
    use super::*;

    const BASE: Duration = Duration::from_millis(20);
    /// 1250 bytes at 10 Mbit/s.
    const RATE: u64 = 10_000_000;

    /// Stretches of 20 packets, each of which takes so many milliseconds and begins when the one before ends.
    fn stretches(lasting: impl IntoIterator<Item = u64>, pattern: Pattern) -> Others {
        let mut others = Others::default();
        let mut from = Instant::ZERO;
        for millis in lasting {
            let until = from + Duration::from_millis(millis);
            others.stretch(Stretch {
                from,
                until,
                bytes: 25_000,
                pattern,
            });
            from = until;
        }
        others
    }

    #[test]
    fn what_a_host_held_back_comes_out_at_once_after_it() {
        // One of ten takes half as long again, and the next is faster by as much.
        let paused = |n: u64| match n % 10 {
            8 => 30,
            9 => 10,
            _ => 20,
        };
        let others = stretches((0..100).map(paused), Pattern::Rough);
        assert_eq!(others.slow(), 0);
        // What others took is gone.
        let beside = |n: u64| 20 + u64::from(n % 10 == 8) * 10;
        let others = stretches((0..100).map(beside), Pattern::Rough);
        assert_eq!(others.slow(), 10);
        assert_eq!(others.company(RATE), Company::Perhaps);
        // A link whose rate varies is slow, but even.
        let others = stretches((0..100).map(beside), Pattern::Smooth);
        assert_eq!(others.company(RATE), Company::NotSeen);
    }

    #[test]
    fn some_stretches_are_uneven_by_the_host_and_most_beside_others() {
        let mut others = stretches([20; 80], Pattern::Smooth);
        others.rough = stretches([20; 15], Pattern::Rough).rough;
        assert_eq!(others.company(RATE), Company::NotSeen);
        let others = stretches([20; 80], Pattern::Rough);
        assert_eq!(others.company(RATE), Company::Perhaps);
    }

    /// A packet every 2 ms, each of which is under way for as long as `delay` says.
    fn waits(delay: impl Fn(u64) -> u64, rest: Rest) -> Others {
        let (mut others, mut past) = (Others::default(), Past::default());
        for n in 0..2000 {
            let delay = Duration::from_millis(delay(n));
            let sent = Instant::ZERO + Duration::from_millis(2 * n);
            let delivery = Delivery {
                at: sent + delay,
                orders: (n + 1, n + 1),
                segments: 1,
                bytes: 1250,
                sent: (sent, sent),
                start: n * 1250,
                delay: Some(delay),
                news: News::AsAlways,
                rest,
            };
            past.delivered(delivery.at, delivery.bytes, delay);
            others.delivered(&delivery, Some(BASE), &past);
        }
        others
    }

    #[test]
    fn who_waits_for_more_than_its_own_is_not_alone() {
        // Half of the link's rate goes through in front of each.
        let beside = |_| 60;
        let others = waits(beside, Rest::More);
        assert!(
            others.foreign(2 * RATE) > 0.9,
            "{}",
            others.foreign(2 * RATE)
        );
        assert_eq!(others.company(2 * RATE), Company::Perhaps);
        // A receiver that may hold back its ACKs tells nothing.
        let others = waits(beside, Rest::Nothing);
        assert_eq!(others.company(2 * RATE), Company::NotSeen);
    }

    #[test]
    fn what_waited_for_a_host_is_followed_by_a_burst() {
        // For 40 of 400 ms nothing comes; then all of it does, within a millisecond.
        let held = |n: u64| match n % 200 {
            n @ 0..20 => 20 + 2 * (20 - n),
            _ => 20,
        };
        let others = waits(held, Rest::More);
        assert!(others.asked > 400);
        assert_eq!(others.waited_for_others(RATE / 2), 0);
    }
}
