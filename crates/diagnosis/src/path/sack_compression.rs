//! SACK compression: a receiver that delays the ACKs caused by gaps, as Linux has done since version 4.18
//! (`tcp_comp_sack_delay_ns`).
//!
//! After a gap, the receiver sends the first three ACKs immediately. It delays the fourth and later ACKs by 1 ms or a
//! twentieth of the round-trip time, whichever is shorter, so that one ACK can replace several. Therefore, the fourth
//! and the fifth ACK are compared with the second and the third ACK after the same gap. The comparison uses the time
//! since the departure of the oldest segment that each ACK newly reports. ACKs are compared in pairs, because segments
//! are often sent in pairs, and the second segment of a pair waits for the first one at the bottleneck.

use dupack_tcp::facts::AckFacts;
use dupack_tcp::time::{Duration, Instant};

use super::intervals::wilson;
use crate::told::Told;

/// Maximum delay of an ACK, absolute and as the inverse of a fraction of the round-trip time.
const WAIT_MAX: Duration = Duration::from_millis(1);
const WAIT_PARTS: u64 = 20;

/// Minimum number of gaps with five ACKs for a result (our choice).
const GAPS_MIN: u64 = 8;

/// Statistics about the ACKs after gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct BeyondGaps {
    /// Number of ACKs since the current gap.
    acks: u32,
    /// Sum of the delays of the segments reported by the second and the third ACK, and the same sum for the fourth and
    /// the fifth ACK; `None` if one of the delays is unknown.
    at_once: Option<Duration>,
    later: Option<Duration>,
    gaps: u64,
    /// Number of gaps after which the later ACKs were delayed by at least half of the expected delay.
    held: u64,
}

impl BeyondGaps {
    /// Processes an ACK. `least` is the minimum round-trip time so far.
    pub(super) fn came(&mut self, facts: &AckFacts<'_>, least: Option<Duration>) {
        if facts.acked_bytes > 0 {
            // A new left edge of the window starts a new gap.
            self.acks = 0;
        }
        if facts.acked_bytes > 0 || facts.sacked_bytes == 0 {
            return;
        }
        self.acks = self.acks.saturating_add(1);
        let trip = oldest(facts).map(|sent| facts.now.since(sent));
        let with = |sum: Option<Duration>| Some(sum? + trip?);
        match self.acks {
            2 => self.at_once = trip,
            3 => self.at_once = with(self.at_once),
            4 => self.later = trip,
            5 => {
                self.later = with(self.later);
                self.compare(least);
            }
            _ => {}
        }
    }

    /// Evaluates the current gap after its fifth ACK.
    fn compare(&mut self, least: Option<Duration>) {
        let (Some(at_once), Some(later), Some(least)) = (self.at_once, self.later, least) else {
            return;
        };
        // The total delay of two ACKs is twice the delay of one, so half of the total is the delay of one ACK.
        let half = WAIT_MAX.min(least / WAIT_PARTS);
        self.gaps += 1;
        self.held += u64::from(later.saturating_sub(at_once) >= half);
    }

    /// Returns the fraction of the gaps after which the receiver delayed the fourth and fifth ACKs. It is more than
    /// half for a receiver with SACK compression.
    pub(super) fn told(&self) -> Told<f64> {
        if self.gaps < GAPS_MIN {
            return Told::CannotBeTold {
                why: "too few gaps were followed by five ACKs with SACK blocks",
                remedy: "a capture with SACK and more losses",
            };
        }
        let (held, gaps) = (self.held as f64, self.gaps as f64);
        let (low, high) = wilson(held, gaps, 1.0);
        Told::Between {
            value: held / gaps,
            low,
            high,
        }
    }
}

/// Returns the departure time of the oldest segment that an ACK newly reports; `None` if one of these segments was
/// retransmitted, because it is unknown which of its transmissions arrived.
fn oldest(facts: &AckFacts<'_>) -> Option<Instant> {
    let segments = facts.delivered.iter().map(|delivered| &delivered.segment);
    if segments.clone().any(|segment| segment.transmissions > 1) {
        return None;
    }
    segments.map(|segment| segment.sent_at).min()
}
