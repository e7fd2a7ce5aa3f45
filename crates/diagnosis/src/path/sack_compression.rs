//! Whether the receiver holds ACKs back that gaps cause, as Linux has since 4.18 (`tcp_comp_sack_delay_ns`).
//!
//! Beyond a gap the first three ACKs leave at once, and from the fourth on each waits for 1 ms or a twentieth of the
//! round trip, whichever is less, so that one may say what several would have said. So the fourth and the fifth are
//! compared with the second and the third of the same gap, by how long the oldest segment that each is the first to
//! report was under way. In pairs, for segments often leave so, the second behind the first at the bottleneck.

use dupack_tcp::facts::AckFacts;
use dupack_tcp::time::{Duration, Instant};

use super::intervals::wilson;
use crate::told::Told;

/// The longest wait, and the same in parts of a round trip.
const WAIT_MAX: Duration = Duration::from_millis(1);
const WAIT_PARTS: u64 = 20;

/// So many gaps with five ACKs tell it (ours).
const GAPS_MIN: u64 = 8;

/// ACKs beyond gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct BeyondGaps {
    /// ACKs beyond the gap at hand.
    acks: u32,
    /// How long what the second and the third reported was under way, in sum, and what the fourth and the fifth
    /// did; `None` if that is not known of one of them.
    at_once: Option<Duration>,
    later: Option<Duration>,
    gaps: u64,
    /// Those whose later ACKs came later by half of the wait or more.
    held: u64,
}

impl BeyondGaps {
    /// An ACK came; `least` is the least round-trip time until now.
    pub(super) fn came(&mut self, facts: &AckFacts<'_>, least: Option<Duration>) {
        if facts.acked_bytes > 0 {
            // Another left edge is another gap.
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

    /// Five ACKs have come beyond the gap at hand.
    fn compare(&mut self, least: Option<Duration>) {
        let (Some(at_once), Some(later), Some(least)) = (self.at_once, self.later, least) else {
            return;
        };
        // Two ACKs that wait do so for twice as long as one.
        let half = WAIT_MAX.min(least / WAIT_PARTS);
        self.gaps += 1;
        self.held += u64::from(later.saturating_sub(at_once) >= half);
    }

    /// Beyond which share of the gaps the receiver held back ACKs from the fourth on: more than half, if that is
    /// what it does.
    pub(super) fn told(&self) -> Told<f64> {
        if self.gaps < GAPS_MIN {
            return Told::CannotBeTold {
                why: "few gaps were followed by five ACKs with SACK blocks",
                remedy: "a capture with more losses, and SACK",
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

/// When the oldest of the segments that an ACK is the first to report left; `None` if one was sent again, as nobody
/// knows which of its transmissions arrived.
fn oldest(facts: &AckFacts<'_>) -> Option<Instant> {
    let segments = facts.delivered.iter().map(|delivered| &delivered.segment);
    if segments.clone().any(|segment| segment.transmissions > 1) {
        return None;
    }
    segments.map(|segment| segment.sent_at).min()
}
