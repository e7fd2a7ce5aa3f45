//! SACK compression, as in Linux (`tcp_comp_sack_delay_ns` and related settings). Beyond a gap, the first three ACKs
//! are sent at once, because the sender's fast retransmit needs them. Later ACKs are delayed, and one ACK replaces
//! several. RFC 5681 §4.2 recommends an immediate ACK instead.

use super::Answer;
use crate::time::Duration;

/// Number of ACKs beyond a gap that are always sent at once (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u32 = 3;

/// Parameters of SACK compression: ACKs that a gap causes are delayed, and one ACK replaces several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SackCompression {
    /// Maximum delay (`tcp_comp_sack_delay_ns`).
    pub delay: Duration,
    /// Maximum delay in per cent of the round-trip time, if the round-trip time is known: 5 in the code of Linux 4.18
    /// to 6.18 (`tcp_comp_sack_rtt_percent` in later versions).
    pub round_trip_percent: u32,
    /// Tolerance of the timer (`tcp_comp_sack_slack_ns`). It is added to the delay.
    pub slack: Duration,
    /// Maximum number of consecutive ACKs that are delayed; the next ACK is sent (`tcp_comp_sack_nr`).
    pub held_max: u32,
}

impl SackCompression {
    /// Parameters of Linux: a delay of 1 ms or 5 % of the round-trip time, 100 µs of slack, and at most 44 delayed
    /// ACKs.
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

/// State of [`SackCompression`].
#[derive(Clone, Debug)]
pub(super) struct Compressed {
    config: SackCompression,
    /// RCV.NXT when `at_once` was counted.
    next: u64,
    /// Number of ACKs that were sent at once.
    at_once: u32,
    /// Number of ACKs that are delayed.
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

    /// Returns the time of the ACK for a segment beyond a gap at `next`.
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
