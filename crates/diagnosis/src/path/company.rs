//! Evidence of cross traffic in the bottleneck's queue.
//!
//! Hosts also cause irregularities: a receiver is not scheduled, an interface delivers packets in bursts, or a machine
//! that emulates the path is busy. After such a pause, the delayed data is delivered in a burst, faster than the
//! bottleneck's rate. In contrast, the capacity that cross traffic takes is lost to the flow: afterwards, the flow's
//! own packets arrive at the bottleneck's rate, and no faster. Therefore, a stretch counts as slow only if it is also
//! slow when it is combined with an adjacent stretch, and a wait counts only if the time after it does not compensate
//! for it.
//!
//! A receiver may delay the last ACK of the outstanding data until a timer expires or its application sends data.
//! Therefore, this ACK shows nothing about the queue.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::bins::LogBins;
use super::delivery::{Delivery, Rest};
use super::intervals::at_least;
use super::past::Past;
use super::rate::per_second;

/// Minimum duration of an evaluated stretch (our choice: a busy host is late by a few milliseconds).
const STRETCH_MIN: Duration = Duration::from_millis(5);

/// Maximum rate of a slow stretch, as a fraction of the [`FASTER`] quantile of all rates (our choice: one packet of
/// cross traffic for six of the flow's own packets).
const SLOW: f64 = 0.85;
const FASTER: f64 = 0.75;

/// Assumed fraction of stretches that are slow and uneven because of hosts alone (our choice: in 176 of 180 captures of
/// kernels without cross traffic, the fraction is smaller).
const SLOW_BY_HOSTS: f64 = 0.03;

/// Assumed fraction of stretches that are uneven because of hosts alone (our choice: 176 of the same captures have at
/// most this fraction). The second value applies if the rates of the stretches differ.
const UNEVEN: f64 = 0.25;
const UNEVEN_WIDE: f64 = 0.1;

/// Minimum width of the middle 80 % of the rates, as a fraction of their median, for rates that differ (our choice).
const WIDE: f64 = 0.3;

/// Minimum rate of the flow's own packets during a wait, as a fraction of the bottleneck's rate. If the rate is lower,
/// the packet waited for other traffic (our choice).
const WAITED_FOR: f64 = 0.5;

/// Assumed fraction of the packets that hosts alone delay, so that they seem to wait for other traffic (our choice: at
/// most 0.9 % in the same captures).
const FOREIGN: f64 = 0.012;

/// One in this many deliveries is evaluated (our choice: an evaluation takes time).
const ASKED_EACH: u64 = 4;

/// Minimum length of a wait, absolute and as the inverse of a fraction of the minimum delay. A wait must reach both
/// (our choice: clocks, hosts and receivers cause shorter waits).
const WAIT_MIN: Duration = Duration::from_millis(2);
const WAIT_PARTS: u64 = 10;

/// Time after a wait in which data that a host delayed is delivered: the inverse of a fraction of the wait, and the
/// minimum time (our choice).
const AFTER_PARTS: u64 = 2;
const AFTER_MIN: Duration = Duration::from_millis(2);

/// Maximum number of waits that are evaluated at the same time (our choice).
const WAITING_MAX: usize = 16;

/// Maximum probability that hosts alone cause an observation for it to be evidence of cross traffic, and the minimum
/// number of cases.
const BY_CHANCE: f64 = 0.05;
const FOUND_MIN: u64 = 2;

/// Presence of cross traffic in the bottleneck's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// No evidence of cross traffic.
    NotSeen,
    /// Possible cross traffic: packets were delivered more slowly for some time, or waited longer than the flow's own
    /// packets explain.
    Perhaps,
}

/// Regularity of the packets in a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Smooth,
    Rough,
}

/// Stretch in which all packets waited at the bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub from: Instant,
    pub until: Instant,
    pub bytes: u64,
    pub pattern: Pattern,
}

/// Statistics that show cross traffic.
#[derive(Clone, Debug, Default)]
pub(super) struct Others {
    /// Previous stretch, and its rate in bit/s: the higher one of its own rate and its rate combined with the stretch
    /// before it.
    last: Option<(Stretch, f64)>,
    /// Distribution of these rates over all stretches, in bit/s, and over the uneven stretches.
    all: LogBins<7>,
    rough: LogBins<7>,
    /// Number of deliveries, and the number of evaluated ones, regardless of whether they had waited.
    deliveries: u64,
    asked: u64,
    /// Waits for which the time after the wait has not ended.
    waiting: VecDeque<Wait>,
    /// Distribution of the rate of the flow's own packets during each wait and just after it, in bit/s.
    meanwhile: LogBins<4>,
}

/// Wait of a packet.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// Time at which the packet was delivered.
    until: Instant,
    waited: Duration,
    /// Rate of the flow's own packets during the wait, in bit/s.
    rate: f64,
}

impl Others {
    /// Processes the next stretch.
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

    /// Processes a delivery. The rate of the flow's own packets during the wait of this packet is measured. Without
    /// cross traffic in the queue, this rate is the bottleneck's rate. `base` is the minimum delay so far.
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

    /// Evaluates the waits for which the time after the wait has ended. If a burst follows a wait, a host caused the
    /// delay.
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

    /// Returns the number of evaluated packets that waited for other traffic, if the bottleneck's rate is `rate` bit/s.
    fn waited_for_others(&self, rate: u64) -> u64 {
        let bound = (rate as f64 * WAITED_FOR) as u64;
        self.meanwhile.count() - self.meanwhile.count_from(bound)
    }

    /// Returns the fraction of the evaluated packets that waited for other traffic, if the bottleneck's rate is `rate`
    /// bit/s.
    pub(super) fn foreign(&self, rate: u64) -> f64 {
        self.waited_for_others(rate) as f64 / self.asked.max(1) as f64
    }

    /// Returns the number of stretches that are both slow and uneven.
    fn slow(&self) -> u64 {
        let Some(faster) = self.all.quantile(FASTER) else {
            return 0;
        };
        let bound = (faster as f64 * SLOW) as u64;
        self.rough.count() - self.rough.count_from(bound)
    }

    /// `true` if the rates of the stretches differ.
    fn is_wide(&self) -> bool {
        let at = |q| self.all.quantile(q).unwrap_or(0) as f64;
        at(0.9) - at(0.1) > WIDE * at(0.5)
    }

    /// Returns the evidence of cross traffic in the queue, if the bottleneck's rate is `rate` bit/s.
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
    /// Rate of 10 Mbit/s, which is 1250 bytes per millisecond.
    const RATE: u64 = 10_000_000;

    /// Returns statistics of consecutive stretches of 20 packets. `lasting` gives their durations in milliseconds.
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
    fn data_delayed_by_a_host_comes_out_in_a_burst_afterwards() {
        // One of ten stretches takes 10 ms longer, and the next one is 10 ms shorter.
        let paused = |n: u64| match n % 10 {
            8 => 30,
            9 => 10,
            _ => 20,
        };
        let others = stretches((0..100).map(paused), Pattern::Rough);
        assert_eq!(others.slow(), 0);
        // If cross traffic takes capacity, no faster stretch follows.
        let beside = |n: u64| 20 + u64::from(n % 10 == 8) * 10;
        let others = stretches((0..100).map(beside), Pattern::Rough);
        assert_eq!(others.slow(), 10);
        assert_eq!(others.company(RATE), Company::Perhaps);
        // A link with a variable rate is sometimes slow, but its packets are evenly spaced.
        let others = stretches((0..100).map(beside), Pattern::Smooth);
        assert_eq!(others.company(RATE), Company::NotSeen);
    }

    #[test]
    fn hosts_make_some_stretches_uneven_and_cross_traffic_most() {
        let mut others = stretches([20; 80], Pattern::Smooth);
        others.rough = stretches([20; 15], Pattern::Rough).rough;
        assert_eq!(others.company(RATE), Company::NotSeen);
        let others = stretches([20; 80], Pattern::Rough);
        assert_eq!(others.company(RATE), Company::Perhaps);
    }

    /// Returns statistics of a packet every 2 ms, with a delay of `delay(n)` milliseconds each.
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
    fn waiting_for_more_than_own_packets_shows_cross_traffic() {
        // Cross traffic takes half of the link's rate.
        let beside = |_| 60;
        let others = waits(beside, Rest::More);
        assert!(
            others.foreign(2 * RATE) > 0.9,
            "{}",
            others.foreign(2 * RATE)
        );
        assert_eq!(others.company(2 * RATE), Company::Perhaps);
        // ACKs that a receiver may delay show nothing.
        let others = waits(beside, Rest::Nothing);
        assert_eq!(others.company(2 * RATE), Company::NotSeen);
    }

    #[test]
    fn a_wait_for_a_host_is_followed_by_a_burst() {
        // For 40 ms in every 400 ms, no packet is delivered. Then all of them are delivered within a millisecond.
        let held = |n: u64| match n % 200 {
            n @ 0..20 => 20 + 2 * (20 - n),
            _ => 20,
        };
        let others = waits(held, Rest::More);
        assert!(others.asked > 400);
        assert_eq!(others.waited_for_others(RATE / 2), 0);
    }
}
