//! When Linux's receiver acknowledges: quickly at first, later every second segment or after a
//! delay that follows the data's pace, and with few of the ACKs that gaps cause.
//!
//! RFC 1122 §4.2.3.2 and RFC 5681 §4.2 say how long an ACK may wait, not how long it should. Linux
//! (`tcp_event_data_recv`, `__tcp_ack_snd_check` and `tcp_send_delayed_ack`) answers so:
//!
//! - **Quick ACKs.** The first segments are acknowledged one by one, for a sender in slow start
//!   counts ACKs; so are those after a long pause, and after a duplicate, for then the peer may wait
//!   for one. A connection on which data goes both ways has none: its ACKs ride on data.
//! - **The delay** halves towards its least while data comes fast, follows the time between
//!   segments, and doubles when it expires; a round-trip time is enough of it.
//! - **SACK compression** (`tcp_comp_sack_delay_ns` and its kin, RFC 5681 §4.2 notwithstanding):
//!   beyond a gap the first three ACKs leave at once, for they are what a sender's fast retransmit
//!   waits for; of those after them one says what several would have said.

use super::bandwidth::Arrivals;
use super::marks::MarkCounts;
use crate::segment::Ack;
use crate::time::{Duration, Instant};

/// The least MSS that is believed, and the most that is presumed before anything has come, in bytes
/// (`TCP_MIN_MSS`, `TCP_MSS_DEFAULT`).
const PRESUMED_SEGMENT: (u32, u32) = (88, 536);

/// The timeout of an end that has sent nothing (RFC 6298 §2.1).
const FIRST_RTO: Duration = Duration::from_secs(1);

/// ACKs beyond a gap that leave at once, whatever is compressed (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u32 = 3;

/// ACKs whose timing follows the data, as Linux has it. See the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdaptiveAcks {
    /// The least delay, and the one to begin with (`TCP_ATO_MIN`).
    pub delay_min: Duration,
    /// The longest (`TCP_DELACK_MAX`; RFC 1122 §4.2.3.2: less than 0.5 s).
    pub delay_max: Duration,
    /// The most segments in a row that are acknowledged one by one (`TCP_MAX_QUICKACKS`).
    pub quick: u32,
}

impl AdaptiveAcks {
    /// 40 ms to 200 ms, 16 quick ACKs.
    pub const LINUX: Self = Self {
        delay_min: Duration::from_millis(40),
        delay_max: Duration::from_millis(200),
        quick: 16,
    };
}

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

/// When an ACK leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// At once.
    Now,
    /// No later than after this.
    After(Duration),
}

/// What a receiver whose ACKs follow the data remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct Timing {
    pub(super) adaptive: Option<Adaptive>,
    pub(super) compressed: Option<Compressed>,
    /// The round-trip time, if the host has told it.
    pub(super) round_trip: Option<Duration>,
    /// Accurate ECN's counts, which have little to do with time, but are as rare.
    pub(super) marks: Option<MarkCounts>,
    /// An ACK for what came before the data that is answered now, and otherwise than it: marked, or not.
    pub(super) before_change: Option<Ack>,
    /// The bandwidth by which the window goes.
    pub(super) arrivals: Option<Arrivals>,
}

impl Timing {
    /// An ACK left, which was wanted or not.
    pub(super) fn acked(&mut self, wanted: bool) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.acked(wanted);
        }
        if let Some(compressed) = &mut self.compressed {
            compressed.held = 0;
        }
    }

    /// The ACK that was put off is due.
    pub(super) fn expired(&mut self) {
        let held = self.compressed.as_ref().is_some_and(|c| c.held > 0);
        if let Some(adaptive) = &mut self.adaptive
            && !held
        {
            adaptive.expired();
        }
    }
}

/// Data that goes one way, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Talk {
    OneWay,
    /// ACKs ride on data (`icsk_ack.pingpong`).
    BothWays,
}

/// The state of [`AdaptiveAcks`].
#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    config: AdaptiveAcks,
    /// Quick ACKs left.
    quick: u32,
    /// The present delay; none before data has come.
    delay: Option<Duration>,
    data_at: Instant,
    talk: Talk,
    /// What the peer's full segments seem to hold, and the length of the last that was shorter.
    segment: u32,
    shorter: u32,
    /// Segments shorter than a full one that no ACK has answered: none, one, or more.
    short: u32,
    /// The retransmission timeout of this end.
    pub(super) rto: Duration,
    /// The peer's stream ends with what comes next, and that is nothing else.
    end_alone: bool,
}

impl Adaptive {
    pub(super) fn new(config: AdaptiveAcks, mss: u32, buffer: u32) -> Self {
        let (least, most) = PRESUMED_SEGMENT;
        Self {
            config,
            quick: 0,
            delay: None,
            data_at: Instant::ZERO,
            talk: Talk::OneWay,
            segment: mss.min(buffer / 2).min(most).max(least),
            shorter: 0,
            short: 0,
            rto: FIRST_RTO,
            end_alone: false,
        }
    }

    /// `len` bytes came in order, with a window of `window` bytes; a full segment has no more than
    /// `mss`.
    pub(super) fn data_came(&mut self, now: Instant, len: u32, mss: u32, window: u64) {
        if core::mem::take(&mut self.end_alone) {
            return;
        }
        self.measure(len, mss);
        let least = self.config.delay_min;
        match self.delay {
            None => {
                self.hurry(window, self.config.quick);
                self.delay = Some(least);
            }
            Some(delay) => {
                let gap = now.since(self.data_at);
                if gap <= least / 2 {
                    self.delay = Some(delay / 2 + least / 2);
                } else if gap < delay {
                    self.delay = Some((delay / 2 + gap).min(self.rto));
                } else if gap > self.rto {
                    // The peer has begun its window anew.
                    self.hurry(window, self.config.quick);
                }
            }
        }
        self.data_at = now;
    }

    /// Learns what a full segment is (`tcp_measure_rcv_mss`).
    fn measure(&mut self, len: u32, mss: u32) {
        let before = core::mem::take(&mut self.shorter);
        if len >= self.segment {
            self.segment = len.min(mss.max(1));
            return;
        }
        if len >= PRESUMED_SEGMENT.1 {
            self.shorter = len;
            if len == before {
                self.segment = len;
                return;
            }
        }
        self.short = self.short.saturating_add(1);
    }

    /// The next segments are acknowledged one by one: no more than `most`, and no more than half
    /// the window holds.
    fn hurry(&mut self, window: u64, most: u32) {
        let fit = window / (2 * u64::from(self.segment.max(1)));
        let fit = u32::try_from(fit).unwrap_or(u32::MAX);
        let quick = if fit == 0 { 2 } else { fit };
        self.quick = self.quick.max(quick.min(most));
    }

    /// The peer seems to need ACKs: at most so many come at once, none for as many as are
    /// configured.
    pub(super) fn hurry_up(&mut self, window: u64, most: Option<u32>) {
        self.hurry(window, most.unwrap_or(self.config.quick));
        self.talk = Talk::OneWay;
        self.delay = Some(self.config.delay_min);
    }

    /// Whether each segment is acknowledged at once.
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && self.talk == Talk::OneWay
    }

    /// When data in order is answered, of which `unacked` bytes no ACK has told.
    pub(super) fn answer(&self, unacked: u64, round_trip: Option<Duration>) -> Answer {
        if unacked > u64::from(self.segment) || self.is_quick() {
            return Answer::Now;
        }
        let Some(delay) = self.delay else {
            return Answer::Now;
        };
        let most = self.config.delay_max;
        let most = round_trip.map_or(most, |rtt| most.min(rtt.max(self.config.delay_min)));
        Answer::After(delay.min(most))
    }

    /// Whether an ACK is due as the application has read all that there is, or `left` bytes are
    /// left, while `unacked` bytes are to be acknowledged (`tcp_cleanup_rbuf`).
    pub(super) fn is_due_after_read(&self, unacked: u64, left: u64) -> bool {
        let pushed = self.short > 1 || (self.short > 0 && self.talk == Talk::OneWay);
        unacked > u64::from(self.segment) || (unacked > 0 && left == 0 && pushed)
    }

    /// An ACK left, which was wanted or not.
    pub(super) fn acked(&mut self, wanted: bool) {
        self.short = 0;
        if self.quick == 0 || !wanted {
            return;
        }
        self.quick -= 1;
        if self.quick == 0 {
            self.delay = Some(self.config.delay_min);
        }
    }

    /// Data left: soon after some came, it is an answer.
    pub(super) fn data_left(&mut self, now: Instant) {
        if self
            .delay
            .is_some_and(|delay| now.since(self.data_at) < delay)
        {
            self.talk = Talk::BothWays;
        }
    }

    /// The delay has expired: it was too short, or nobody answers.
    pub(super) fn expired(&mut self) {
        match self.talk {
            Talk::OneWay => self.delay = self.delay.map(|delay| (delay * 2).min(self.rto)),
            Talk::BothWays => {
                self.talk = Talk::OneWay;
                self.delay = Some(self.config.delay_min);
            }
        }
    }

    /// The peer's stream ends with the segment that comes next, behind `len` bytes: the
    /// application will soon answer by ending its own (`tcp_fin`).
    pub(super) fn ends(&mut self, len: u32) {
        self.talk = Talk::BothWays;
        self.end_alone = len == 0;
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

#[cfg(test)]
mod tests;
