//! Adaptive ACKs, as in Linux: at first, each segment is acknowledged; later, every second segment, or after a delay
//! that adapts to the times between arrivals (`tcp_event_data_recv`, `__tcp_ack_snd_check` and `tcp_send_delayed_ack`).
//!
//! - **Quick ACKs.** The first segments are acknowledged one by one, because a sender in slow start
//!   counts ACKs. The same applies to segments after a long pause and after a duplicate, because the
//!   peer may wait for an ACK. A connection with data in both directions has no quick ACKs: its ACKs are
//!   piggybacked on data.
//! - **The delay** is reduced towards its minimum while data arrives fast, follows the time between
//!   segments, and doubles when it expires. The round-trip time limits it.

use super::Answer;
use crate::time::{Duration, Instant};

/// Minimum and maximum of the segment size that is assumed before data arrives, in bytes (`TCP_MIN_MSS`,
/// `TCP_MSS_DEFAULT`).
const PRESUMED_SEGMENT: (u32, u32) = (88, 536);

/// Retransmission timeout of an end that has not sent any data (RFC 6298 §2.1).
const FIRST_RTO: Duration = Duration::from_secs(1);

/// Parameters of adaptive ACKs, as in Linux: at first, each segment is acknowledged (quick ACKs); later, every second
/// segment, or after an adaptive delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdaptiveAcks {
    /// Minimum delay, which is also the initial delay (`TCP_ATO_MIN`).
    pub delay_min: Duration,
    /// Maximum delay (`TCP_DELACK_MAX`; RFC 1122 §4.2.3.2: less than 0.5 s).
    pub delay_max: Duration,
    /// Maximum number of consecutive quick ACKs (`TCP_MAX_QUICKACKS`).
    pub quick: u32,
}

impl AdaptiveAcks {
    /// Parameters of Linux: delays from 40 ms to 200 ms, and 16 quick ACKs.
    pub const LINUX: Self = Self {
        delay_min: Duration::from_millis(40),
        delay_max: Duration::from_millis(200),
        quick: 16,
    };
}

/// Directions in which data flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Talk {
    OneWay,
    /// ACKs are piggybacked on data (`icsk_ack.pingpong`).
    BothWays,
}

/// State of [`AdaptiveAcks`].
#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    config: AdaptiveAcks,
    /// Number of remaining quick ACKs.
    quick: u32,
    /// Current delay; `None` before data has arrived.
    delay: Option<Duration>,
    data_at: Instant,
    talk: Talk,
    /// Estimated size of the peer's full segments. `shorter` is the length of the last segment if it was shorter.
    segment: u32,
    shorter: u32,
    /// Number of segments since the last ACK that were shorter than a full segment.
    short: u32,
    /// Retransmission timeout of this end.
    pub(super) rto: Duration,
    /// `true` if the next segment ends the peer's stream and carries no data.
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

    /// Updates the delay and the quick ACKs when `len` bytes arrived in order. The window has `window` bytes, and a
    /// full segment has at most `mss` bytes.
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
                    // After this pause, the peer has probably restarted its congestion window.
                    self.hurry(window, self.config.quick);
                }
            }
        }
        self.data_at = now;
    }

    /// Estimates the size of a full segment (`tcp_measure_rcv_mss`).
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

    /// Acknowledges the next segments one by one: at most `most`, and at most half of the segments that fit into the
    /// window (two if the window is smaller than two segments).
    fn hurry(&mut self, window: u64, most: u32) {
        let fit = window / (2 * u64::from(self.segment.max(1)));
        let fit = u32::try_from(fit).unwrap_or(u32::MAX);
        let quick = if fit == 0 { 2 } else { fit };
        self.quick = self.quick.max(quick.min(most));
    }

    /// Returns to quick ACKs, because the peer probably needs them: at most `most` ACKs, or the configured number.
    pub(super) fn hurry_up(&mut self, window: u64, most: Option<u32>) {
        self.hurry(window, most.unwrap_or(self.config.quick));
        self.talk = Talk::OneWay;
        self.delay = Some(self.config.delay_min);
    }

    /// Returns `true` if each segment is acknowledged at once.
    pub(super) fn is_quick(&self) -> bool {
        self.quick > 0 && self.talk == Talk::OneWay
    }

    /// Returns the time of the ACK for data in order, of which `unacked` bytes are not acknowledged.
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

    /// Returns `true` if an ACK is due after a read that leaves `left` bytes unread, while `unacked` bytes are not
    /// acknowledged (`tcp_cleanup_rbuf`).
    pub(super) fn is_due_after_read(&self, unacked: u64, left: u64) -> bool {
        let pushed = self.short > 1 || (self.short > 0 && self.talk == Talk::OneWay);
        unacked > u64::from(self.segment) || (unacked > 0 && left == 0 && pushed)
    }

    /// Called when an ACK was sent. `wanted` is `true` if an ACK was due or delayed.
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

    /// Called when data was sent. Data that is sent soon after data has arrived counts as a response.
    pub(super) fn data_left(&mut self, now: Instant) {
        if self
            .delay
            .is_some_and(|delay| now.since(self.data_at) < delay)
        {
            self.talk = Talk::BothWays;
        }
    }

    /// Called when the delay has expired: it was too short, or the application sends no response.
    pub(super) fn expired(&mut self) {
        match self.talk {
            Talk::OneWay => self.delay = self.delay.map(|delay| (delay * 2).min(self.rto)),
            Talk::BothWays => {
                self.talk = Talk::OneWay;
                self.delay = Some(self.config.delay_min);
            }
        }
    }

    /// Announces that the next segment ends the peer's stream after `len` bytes. The application will probably close
    /// its own stream soon (`tcp_fin`).
    pub(super) fn ends(&mut self, len: u32) {
        self.talk = Talk::BothWays;
        self.end_alone = len == 0;
    }
}
