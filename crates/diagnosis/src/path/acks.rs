//! ACK behaviour of a receiver: segments per ACK, delay, and bursts.

use dupack_tcp::facts::{AckFacts, AckKind};
use dupack_tcp::time::{Duration, Instant};

use super::bins::{Delays, LogBins};
use super::sack_compression::BeyondGaps;
use crate::told::Told;

/// Minimum number of segments without a successor to determine the delay of their ACKs (our choice).
const LONE_MIN: u64 = 3;

/// Minimum number of ACKs per segment of a receiver that acknowledges every segment (our choice: a receiver that
/// acknowledges every second segment sends 0.5 ACKs per segment).
const EACH: f64 = 0.8;

/// Maximum interval between two ACKs of a burst, as a fraction of the transmission time of the acknowledged data at the
/// bottleneck (our choice).
const BURST: f64 = 0.25;

/// Minimum delay that counts as a timer (our choice; RFC 1122 allows 500 ms, and Linux's minimum is 40 ms).
const TIMER_MIN: Duration = Duration::from_millis(5);

/// Statistics about ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    /// Number of ACKs of new data while no data is missing, and the number of segments and bytes that they acknowledge.
    advances: u64,
    segments: u64,
    bytes: u64,
    last: Option<Instant>,
    gaps: LogBins<4>,
    lone: Delays,
    beyond_gaps: BeyondGaps,
}

/// ACK behaviour of a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Acknowledging {
    /// Number of ACKs per segment while no data is missing.
    pub per_segment: Told<f64>,
    /// Average number of bytes per ACK.
    pub bytes_each: Told<f64>,
    /// Delay of the ACK of a segment that no other segment follows. It is zero if the receiver acknowledges every
    /// segment immediately.
    pub delay: Told<Duration>,
    /// Fraction of the ACKs that arrived in a burst with the previous one.
    pub in_bursts: Told<f64>,
    /// Fraction of the gaps after which the receiver delayed the fourth and later ACKs, in order to merge several ACKs
    /// into one (Linux's SACK compression).
    pub sacks_held: Told<f64>,
}

impl Acknowledging {
    /// `true` if the receiver is known to compress SACKs.
    #[must_use]
    pub fn compresses_sacks(&self) -> bool {
        self.sacks_held.value().is_some_and(|share| share > 0.5)
    }
}

impl Acks {
    /// Processes an ACK with `facts`. After it, `outstanding` bytes are unacknowledged, and `sacked` of them are
    /// sacked. `least` is the minimum round-trip time so far.
    pub(super) fn came(
        &mut self,
        facts: &AckFacts<'_>,
        outstanding: u64,
        sacked: u64,
        least: Option<Duration>,
    ) {
        self.beyond_gaps.came(facts, least);
        if facts.kind != AckKind::Advance || sacked > 0 || facts.sacked_bytes > 0 {
            self.last = None;
            return;
        }
        self.advances += 1;
        self.segments += facts.delivered.len() as u64;
        self.bytes += facts.acked_bytes;
        if let Some(last) = self.last.replace(facts.now) {
            self.gaps.record(facts.now.since(last).as_nanos());
        }
        if let (Some(rtt), 0, 1) = (facts.rtt, outstanding, facts.delivered.len()) {
            self.lone.record(rtt.as_nanos());
        }
    }

    /// Returns the estimates. `least` is the minimum round-trip time, and `rate` is the rate of the bottleneck in
    /// bit/s.
    pub(super) fn told(&self, least: Option<Duration>, rate: Option<f64>) -> Acknowledging {
        let per_segment = self.advances as f64 / self.segments.max(1) as f64;
        let bytes_each = self.bytes as f64 / self.advances.max(1) as f64;
        let exactly = |value: f64| match self.advances {
            0 => Told::CannotBeTold {
                why: "the capture has no ACKs",
                remedy: "a capture of both directions",
            },
            _ => Told::Between {
                value,
                low: value,
                high: value,
            },
        };
        Acknowledging {
            per_segment: exactly(per_segment),
            bytes_each: exactly(bytes_each),
            delay: self.delay(per_segment, least),
            sacks_held: self.beyond_gaps.told(),
            in_bursts: match rate {
                Some(rate) => {
                    let expected = bytes_each * 8.0 / rate * 1e9;
                    let below = self.gaps.count() - self.gaps.count_from((expected * BURST) as u64);
                    exactly(below as f64 / self.gaps.count().max(1) as f64)
                }
                None => Told::CannotBeTold {
                    why: "the bottleneck's rate is unknown",
                    remedy: "a capture of a transfer that fills the path",
                },
            },
        }
    }

    fn delay(&self, per_segment: f64, least: Option<Duration>) -> Told<Duration> {
        if self.advances > 0 && per_segment > EACH {
            return Told::Between {
                value: Duration::ZERO,
                low: Duration::ZERO,
                high: Duration::ZERO,
            };
        }
        let waited = |q| {
            let rtt = Duration::from_nanos(self.lone.quantile(q)?);
            Some(rtt.saturating_sub(least?))
        };
        match (waited(0.25), waited(0.5), waited(0.75)) {
            (Some(low), Some(value), Some(high))
                if self.lone.count() >= LONE_MIN && value >= TIMER_MIN =>
            {
                Told::Between { value, low, high }
            }
            _ => Told::CannotBeTold {
                why: "no ACK waited for the receiver's delayed-ACK timer",
                remedy: "a capture with single segments",
            },
        }
    }
}
