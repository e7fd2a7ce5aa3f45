//! Random early detection (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993), which drops or marks packets.
//!
//! On each arrival, the average queue is updated: `avg ← (1 − w)·avg + w·q`. If the link was idle, the average is aged
//! as if `m` small packets had arrived at an empty queue: `avg ← (1 − w)^m·avg` (§4). Between the thresholds, a packet
//! is dropped with probability `p_a = p_b / (1 − count·p_b)`, which spreads drops evenly (§7, method 2). Above the
//! maximum threshold, it is always dropped. In the gentle variant (Floyd, 2000), `p_b` rises from `max_p` to 1 between
//! `max_threshold` and twice that value.
//!
//! With ECN, ECN-capable packets are marked instead of dropped (RFC 3168 §7), except where the average forces a drop.
//!
//! The averaged queue is the [backlog](super), without the packet in transmission.

use dupack_tcp::segment::Codepoint;
use dupack_tcp::time::{Duration, Instant};

use super::backlog::Backlog;
use super::counters::DropCause;
use crate::random::Stream;

/// RED's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RedConfig {
    /// Unit of the queue and the thresholds.
    pub unit: RedUnit,
    /// `min_th`: no packet is dropped below this average.
    pub min_threshold: f64,
    /// `max_th`: above this average all packets are dropped, or the gentle slope begins.
    pub max_threshold: f64,
    /// `max_p`: drop probability at `max_threshold`.
    pub max_probability: f64,
    /// `w_q`: weight of the current queue in the average.
    pub weight: f64,
    /// Behaviour above `max_threshold`.
    pub above: RedAbove,
    /// Mean packet size: the size of the small packets in the idle-time correction, and the reference for the packet's
    /// own size if the unit is bytes.
    pub mean_packet_bytes: u32,
    /// Treatment of ECN-capable packets.
    pub capable: Capable,
    /// Implementation to follow in details.
    pub like: RedLike,
}

/// Implementation that RED follows in details that the papers leave open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedLike {
    /// The paper of 1993.
    #[default]
    Paper,
    /// ns-2 and ns-3: a packet that finds at most one other packet waiting passes, regardless of the average, and so
    /// does the next packet that finds more packets. A packet that arrives after an idle period ages the average once
    /// more.
    Ns2,
}

/// Treatment of ECN-capable packets that would be dropped early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Capable {
    /// Drops them like all others.
    #[default]
    Drop,
    /// Marks them (RFC 3168 §7).
    Mark,
}

/// Unit in which RED measures the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedUnit {
    /// Packets: all packets are dropped with the same probability.
    #[default]
    Packets,
    /// Bytes: larger packets are dropped with proportionally higher probability.
    Bytes,
}

/// Behaviour of RED above `max_threshold`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedAbove {
    /// Drops all packets, as in the paper of 1993.
    DropAll,
    /// Raises the probability to 1 at twice the threshold ("gentle").
    #[default]
    Gentle,
}

impl RedConfig {
    /// Creates a configuration with thresholds in packets, `max_p` 0.1, `w_q` 0.002, gentle, and 1000-byte packets.
    #[must_use]
    pub const fn packets(min_threshold: f64, max_threshold: f64) -> Self {
        Self {
            unit: RedUnit::Packets,
            min_threshold,
            max_threshold,
            max_probability: 0.1,
            weight: 0.002,
            above: RedAbove::Gentle,
            mean_packet_bytes: 1000,
            capable: Capable::Drop,
            like: RedLike::Paper,
        }
    }

    /// Returns `true` if the parameters are valid: `0 ≤ min < max`, `0 < max_p ≤ 1`, `0 < w_q ≤ 1`, and a mean packet
    /// size above zero.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let in_unit = |value: f64| value > 0.0 && value <= 1.0;
        self.min_threshold >= 0.0
            && self.max_threshold > self.min_threshold
            && self.max_threshold.is_finite()
            && in_unit(self.max_probability)
            && in_unit(self.weight)
            && self.mean_packet_bytes > 0
    }
}

/// RED at run time.
#[derive(Clone, Debug)]
pub(super) struct Red {
    config: RedConfig,
    /// Transmission time of a packet of the mean size: the duration of one ageing step while the link is idle.
    step: Duration,
    average: f64,
    /// Packets accepted since the last drop while the average is between the thresholds; −1 below them.
    count: i64,
    stream: Stream,
}

impl Red {
    pub(super) fn new(config: RedConfig, mean_packet_time: Duration, stream: Stream) -> Self {
        Self {
            config,
            step: mean_packet_time,
            average: 0.0,
            count: -1,
            stream,
        }
    }

    /// Returns the average queue in the configured unit.
    pub(super) const fn average(&self) -> f64 {
        self.average
    }

    /// Decides about a packet of `bytes`. `idle_since` is the time at which the link became idle, if the link is idle.
    pub(super) fn decide(
        &mut self,
        now: Instant,
        idle_since: Option<Instant>,
        backlog: &Backlog,
        bytes: u32,
    ) -> Option<DropCause> {
        self.update_average(now, idle_since, backlog);
        let p_b = self.marking_probability();
        if p_b <= 0.0 {
            self.count = -1;
            return None;
        }
        let spares = self.config.like == RedLike::Ns2;
        if spares && backlog.packets() <= 1 {
            self.count = -1;
            return None;
        }
        if p_b >= 1.0 {
            self.count = 0;
            return Some(DropCause::RedForced);
        }
        if spares && self.count < 0 {
            self.count = 1;
            return None;
        }
        let p_b = match self.config.unit {
            RedUnit::Packets => p_b,
            RedUnit::Bytes => p_b * f64::from(bytes) / f64::from(self.config.mean_packet_bytes),
        };
        self.count += 1;
        if self.stream.unit() >= spread(p_b, self.count) {
            return None;
        }
        self.count = 0;
        Some(DropCause::RedEarly)
    }

    /// Returns `true` if RED marks the packet instead of dropping it for `cause`.
    pub(super) fn marks(&self, cause: DropCause, ecn: Codepoint) -> bool {
        cause == DropCause::RedEarly && ecn.is_capable() && self.config.capable == Capable::Mark
    }

    /// Updates the state after a packet that RED accepted was dropped because the buffer was full.
    pub(super) const fn overflowed(&mut self) {
        self.count = 0;
    }

    fn update_average(&mut self, now: Instant, idle_since: Option<Instant>, backlog: &Backlog) {
        let weight = self.config.weight;
        if let Some(since) = idle_since
            && !self.step.is_zero()
        {
            let own = u64::from(self.config.like == RedLike::Ns2);
            let steps = now.since(since).as_nanos() / self.step.as_nanos() + own;
            self.average *= libm::pow(1.0 - weight, steps as f64);
            return;
        }
        let queue = match self.config.unit {
            RedUnit::Packets => backlog.packets(),
            RedUnit::Bytes => backlog.bytes(),
        };
        self.average += weight * (queue as f64 - self.average);
    }

    /// Returns `p_b` at the current average.
    fn marking_probability(&self) -> f64 {
        let RedConfig {
            min_threshold: min,
            max_threshold: max,
            max_probability: max_p,
            ..
        } = self.config;
        if self.average < min {
            return 0.0;
        }
        if self.average < max {
            return max_p * (self.average - min) / (max - min);
        }
        match self.config.above {
            RedAbove::DropAll => 1.0,
            RedAbove::Gentle => max_p + (1.0 - max_p) * (self.average - max) / max,
        }
    }
}

/// Returns `p_a`, the probability that makes the gaps between drops uniform.
fn spread(p_b: f64, count: i64) -> f64 {
    let rest = 1.0 - count.max(0) as f64 * p_b;
    if rest <= p_b { 1.0 } else { p_b / rest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn backlog(packets: u64) -> Backlog {
        let mut backlog = Backlog::default();
        for _ in 0..packets {
            backlog.push(Instant::FAR_FUTURE, 1000);
        }
        backlog
    }

    fn red(config: RedConfig) -> Red {
        Red::new(config, Duration::from_micros(100), Stream::derive(1, "red"))
    }

    #[test]
    fn the_average_follows_the_queue_and_ages_while_idle() {
        let mut red = red(RedConfig {
            weight: 0.5,
            ..RedConfig::packets(100.0, 200.0)
        });
        // The average is 0 → 0.5·8 = 4 → 2 + 4 = 6 → 3 + 0 = 3.
        red.decide(at(0), None, &backlog(8), 1000);
        assert!((red.average() - 4.0).abs() < 1e-12);
        red.decide(at(0), None, &backlog(8), 1000);
        assert!((red.average() - 6.0).abs() < 1e-12);
        red.decide(at(0), None, &backlog(0), 1000);
        assert!((red.average() - 3.0).abs() < 1e-12);
        // The link was idle for 450 µs: four whole steps of 100 µs give 3/16.
        red.decide(at(1450), Some(at(1000)), &backlog(0), 1000);
        assert!((red.average() - 0.1875).abs() < 1e-12);
    }

    #[test]
    fn the_probability_has_two_slopes() {
        let mut red = red(RedConfig::packets(5.0, 15.0));
        let mut at_average = |average: f64| {
            red.average = average;
            red.marking_probability()
        };
        assert!(at_average(4.9).abs() < 1e-12);
        // Half way between the thresholds: 0.1 · 5/10.
        assert!((at_average(10.0) - 0.05).abs() < 1e-12);
        assert!((at_average(15.0) - 0.1).abs() < 1e-12);
        // Half way up the gentle slope: 0.1 + 0.9/2.
        assert!((at_average(22.5) - 0.55).abs() < 1e-12);
        assert!(at_average(30.0) >= 1.0);
        red.config.above = RedAbove::DropAll;
        assert!(red.marking_probability() >= 1.0);
    }

    #[test]
    fn ns2_passes_packets_that_find_a_short_queue() {
        let mut red = red(RedConfig {
            like: RedLike::Ns2,
            weight: 0.5,
            ..RedConfig::packets(1.0, 2.0)
        });
        // The average is 0.5·16 = 8, far above twice the threshold of 2.
        let decided = red.decide(at(0), None, &backlog(16), 1000);
        assert_eq!(decided, Some(DropCause::RedForced));
        // The average is 4 + 0.5, still far above, but only one packet waits.
        assert_eq!(red.decide(at(0), None, &backlog(1), 1000), None);
        // The average is 2.25 + 1, on the gentle slope. The first packet after that passes, regardless of the random
        // number.
        assert_eq!(red.decide(at(0), None, &backlog(2), 1000), None);
        // The link was idle for 450 µs: four steps and the additional step of ns-2 give 1/32 of 3.25.
        red.decide(at(1450), Some(at(1000)), &backlog(0), 1000);
        assert!((red.average() - 3.25 / 32.0).abs() < 1e-12);
    }

    #[test]
    fn gaps_between_drops_are_uniform() {
        // With p_b constant at 0.1, a gap is uniform on 1…10 (§7, method 2), with mean 5.5 and maximum 10. But the
        // first packet after a drop has count 1, so gaps are 1…9, with mean 5.
        let mut red = red(RedConfig {
            weight: 1.0,
            max_probability: 0.2,
            ..RedConfig::packets(0.0, 20.0)
        });
        let queue = backlog(10);
        let drops: Vec<usize> = (0..100_000)
            .filter(|_| red.decide(at(0), None, &queue, 1000).is_some())
            .collect();
        let gaps: Vec<usize> = (0..100_000)
            .scan(0, |since, _| {
                *since += 1;
                let dropped = red.decide(at(0), None, &queue, 1000).is_some();
                Some(dropped.then(|| core::mem::take(since)))
            })
            .flatten()
            .collect();
        assert!(!drops.is_empty());
        assert_eq!(gaps.iter().skip(1).max(), Some(&9));
        let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
    }

    #[test]
    fn in_bytes_a_small_packet_is_rarely_dropped() {
        let drops = |bytes| {
            let mut red = red(RedConfig {
                unit: RedUnit::Bytes,
                weight: 1.0,
                ..RedConfig::packets(0.0, 20_000.0)
            });
            // p_b = 0.1 · 10000/20000 = 0.05, times bytes/1000.
            let queue = backlog(10);
            (0..100_000)
                .filter(|_| red.decide(at(0), None, &queue, bytes).is_some())
                .count()
        };
        let (large, small) = (drops(1000), drops(40));
        // The mean gaps are about (1/p_b)/2: 10 and 250 packets.
        assert!((9_000..11_500).contains(&large), "{large}");
        assert!((350..450).contains(&small), "{small}");
    }

    #[test]
    fn invalid_parameters_are_detected() {
        let good = RedConfig::packets(5.0, 15.0);
        assert!(good.is_valid());
        assert!(!RedConfig::packets(15.0, 5.0).is_valid());
        assert!(
            !RedConfig {
                weight: 0.0,
                ..good
            }
            .is_valid()
        );
        assert!(
            !RedConfig {
                max_probability: 1.5,
                ..good
            }
            .is_valid()
        );
        assert!(
            !RedConfig {
                max_threshold: f64::NAN,
                ..good
            }
            .is_valid()
        );
    }
}
