//! SACK compression: beyond a gap the first three ACKs leave at once, because a sender's fast
//! retransmit waits for them; later ones are held back, and one ACK stands for several, as in Linux
//! (`tcp_comp_sack_delay_ns` and related settings). RFC 5681 §4.2 asks for an immediate ACK instead.

use super::Answer;
use crate::time::Duration;

/// ACKs beyond a gap that leave at once, whatever is compressed (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u32 = 3;

/// How ACKs that a gap causes are held back and answered by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SackCompression {
    /// The longest delay (`tcp_comp_sack_delay_ns`).
    pub delay: Duration,
    /// The longest delay in hundredths of the round-trip time, where that is known: 5 in the code
    /// of Linux 4.18 to 6.18 (`tcp_comp_sack_rtt_percent` after them).
    pub round_trip_percent: u32,
    /// By how much the timer may be late (`tcp_comp_sack_slack_ns`): it is set for the end of it.
    pub slack: Duration,
    /// ACKs that are held back at most; the next one leaves (`tcp_comp_sack_nr`).
    pub held_max: u32,
}

impl SackCompression {
    /// 1 ms or 5 % of a round trip, 100 µs of slack, 44 ACKs.
    pub const LINUX: Self = Self {
        delay: Duration::from_millis(1),
        round_trip_percent: 5,
        slack: Duration::from_micros(100),
        held_max: 44,
    };

    fn delay_for(&self, round_trip: Option<Duration>) -> Duration {
        let share = round_trip.map_or(self.delay, |rtt| {
            rtt.saturating_mul(u64::from(self.round_trip_percent)) / 100
        });
        self.delay.min(share) + self.slack
    }
}

/// The state of [`SackCompression`].
#[derive(Clone, Debug)]
pub(super) struct Compressed {
    config: SackCompression,
    /// RCV.NXT when the ACKs below were counted.
    next: u64,
    /// ACKs that left at once since.
    at_once: u32,
    /// ACKs held back.
    pub(super) held: u32,
}

impl Compressed {
    pub(super) const fn new(config: SackCompression) -> Self {
        Self {
            config,
            next: 0,
            at_once: 0,
            held: 0,
        }
    }

    /// When a segment is answered that came beyond a gap at `next`.
    pub(super) fn answer(&mut self, next: u64, round_trip: Option<Duration>) -> Answer {
        if self.held >= self.config.held_max {
            return Answer::Now;
        }
        if self.next != next {
            self.next = next;
            self.at_once = 0;
        }
        if self.at_once < DUPLICATES_AT_ONCE {
            self.at_once += 1;
            return Answer::Now;
        }
        self.held += 1;
        Answer::After(self.config.delay_for(round_trip))
    }
}
