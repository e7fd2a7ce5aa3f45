//! Adaptive ACKs: each segment at first, later every second segment or after a delay that follows the
//! pace of the data, as in Linux (`tcp_event_data_recv`, `__tcp_ack_snd_check` and
//! `tcp_send_delayed_ack`).
//!
//! - **Quick ACKs.** The first segments are acknowledged one by one, because a sender in slow start
//!   counts ACKs; so are segments after a long pause, and after a duplicate, because the peer may
//!   wait for an ACK then. A connection with data in both directions has no quick ACKs: its ACKs
//!   ride on data.
//! - **The delay** halves towards its minimum while data arrives fast, follows the time between
//!   segments, and doubles when it expires. A round-trip time bounds it.

use super::Answer;
use crate::time::{Duration, Instant};

/// The least MSS that is believed, and the most that is presumed before anything has come, in bytes
/// (`TCP_MIN_MSS`, `TCP_MSS_DEFAULT`).
const PRESUMED_SEGMENT: (u32, u32) = (88, 536);

/// The timeout of an end that has sent nothing (RFC 6298 §2.1).
const FIRST_RTO: Duration = Duration::from_secs(1);

/// ACKs whose timing follows the data, as Linux has it. See the [module](self).
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
