//! Reordering: packets that later packets overtook.
//!
//! At the sender, SACK shows reordering: a segment that was sent once was overtaken if its arrival becomes known after
//! that of a later segment. The extent of reordering is the number of packets that overtook the segment (RFC 4737
//! §4.2.2), and the time since the arrival of the first of these packets. At the receiver, the order of the packets
//! shows reordering.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::bins::LogBins;
use super::intervals::wilson;
use crate::told::Told;

/// Maximum number of stored arrivals, each of which was the latest transmission so far (our choice: few packets
/// overtake a packet).
const REMEMBERED: usize = 128;

/// Statistics about reordering.
#[derive(Clone, Debug, Default)]
pub(super) struct Overtaking {
    /// Arrivals that were the latest transmission so far: their numbers and times, in ascending order.
    latest: VecDeque<(u64, Instant)>,
    arrived: u64,
    overtaken: u64,
    packets: LogBins<6>,
    times: LogBins<6>,
}

/// Knowledge of the order in which packets arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Known,
    Unknown,
}

/// Reordering of packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Reordering {
    /// Fraction of the packets that were overtaken.
    pub share: Told<f64>,
    /// Median number of packets that overtook an overtaken packet.
    pub packets_median: u64,
    /// Maximum number of packets that overtook an overtaken packet.
    pub packets_max: u64,
    /// Median time from the arrival of the first packet that overtook to the arrival of the overtaken packet.
    pub late_median: Duration,
    /// Maximum of this time.
    pub late_max: Duration,
}

impl Overtaking {
    /// Records the arrival at `at` of the transmission `order`. Its segment was sent only once.
    pub(super) fn arrived(&mut self, order: u64, at: Instant) {
        self.arrived += 1;
        let latest = self.latest.back().map_or(0, |&(latest, _)| latest);
        if order > latest {
            return;
        }
        let first_over = self.latest.partition_point(|&(other, _)| other < order);
        let Some(&(_, since)) = self.latest.get(first_over) else {
            return;
        };
        let late = at.since(since);
        if late.is_zero() {
            // The same ACK reports both packets, so their order is unknown.
            return;
        }
        self.overtaken += 1;
        self.packets.record(latest - order);
        self.times.record(late.as_nanos());
    }

    /// Records that all arrivals up to `order` have been reported by `at`.
    pub(super) fn up_to(&mut self, order: u64, at: Instant) {
        if self
            .latest
            .back()
            .is_some_and(|&(latest, _)| latest >= order)
        {
            return;
        }
        if self.latest.len() >= REMEMBERED {
            self.latest.pop_front();
        }
        self.latest.push_back((order, at));
    }

    /// Records a packet that arrived in order.
    pub(super) fn in_order(&mut self) {
        self.arrived += 1;
    }

    /// Records a packet that `packets` other packets overtook and that arrived `late` after the first of them.
    pub(super) fn came_late(&mut self, packets: u64, late: Duration) {
        self.arrived += 1;
        self.overtaken += 1;
        self.packets.record(packets);
        self.times.record(late.as_nanos());
    }

    /// Returns the estimates.
    pub(super) fn told(&self, order: Order) -> Reordering {
        let share = if self.arrived == 0 || order == Order::Unknown {
            Told::CannotBeTold {
                why: "the capture does not show the order in which packets arrived",
                remedy: "a capture at the receiver, or of a connection with SACK",
            }
        } else {
            let (hits, trials) = (self.overtaken as f64, self.arrived as f64);
            let (low, high) = wilson(hits, trials, 1.0);
            Told::Between {
                value: hits / trials,
                low,
                high,
            }
        };
        let span = |q| Duration::from_nanos(self.times.quantile(q).unwrap_or_default());
        Reordering {
            share,
            packets_median: self.packets.quantile(0.5).unwrap_or_default(),
            packets_max: self.packets.quantile(1.0).unwrap_or_default(),
            late_median: span(0.5),
            late_max: span(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_packet_that_arrives_after_a_later_one_was_overtaken() {
        let mut seen = Overtaking::default();
        for (order, at) in [(1, 10), (2, 11), (4, 13), (5, 14), (3, 18), (6, 19)] {
            seen.arrived(order, ms(at));
            seen.up_to(order, ms(at));
        }
        let told = seen.told(Order::Known);
        assert!((told.share.value().unwrap() - 1.0 / 6.0).abs() < 1e-9);
        assert_eq!(told.packets_max, 2);
        assert!(told.late_max.abs_diff(Duration::from_millis(5)) < Duration::from_micros(50));
    }

    #[test]
    fn segments_reported_by_one_ack_have_no_order() {
        let mut seen = Overtaking::default();
        seen.arrived(2, ms(10));
        seen.up_to(2, ms(10));
        seen.arrived(1, ms(10));
        assert_eq!(seen.told(Order::Known).share.value(), Some(0.0));
    }
}
