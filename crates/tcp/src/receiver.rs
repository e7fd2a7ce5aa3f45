//! Receiving half of the endpoint.
//!
//! The host drives it like the sender: it passes in data by [`Receiver::handle_data`], the time by
//! [`Receiver::handle_timeout`], and reads of the application by [`Receiver::read`]. After each call, the host takes
//! ACKs by [`Receiver::poll_ack`] until there are none.

mod bandwidth;
mod blocks;
mod config;
mod ecn;
mod extras;
mod marks;
mod timing;
mod window;

use alloc::boxed::Box;

use crate::reassembly::Reassembly;
use crate::segment::{Ack, Bit, DataSegment, EcnEcho, SackBlocks};
use crate::time::Instant;
pub use bandwidth::BandwidthWindow;
use blocks::Reports;
pub use config::{AckPolicy, Reading, ReceiverConfig, TimestampEcho};
use extras::Extras;
pub(crate) use marks::{MarkCounts, Wanted};
pub use timing::{AdaptiveAcks, SackCompression};

/// Effect of a segment on the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// Number of bytes that became available in order.
    pub in_order_bytes: u64,
    /// Bytes of the segment that were received before.
    pub duplicate_bytes: u64,
    /// Bytes of the segment beyond the advertised window, which were discarded.
    pub beyond_window_bytes: u64,
}

/// Receiving half of a connection. The [module](self) explains the calls.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    /// RCV.NXT as a stream offset.
    next: u64,
    /// Right edge of the advertised window, as a stream offset; it never moves back.
    edge: u64,
    /// Bytes that the application has read.
    read: u64,
    /// Window scale of the advertised windows (RFC 7323 §2.3).
    window_shift: u8,
    out_of_order: Reassembly,
    reports: Reports,
    /// TS.Recent (RFC 7323 §4.3).
    ts_recent: u32,
    /// RCV.NXT of the last ACK sent.
    last_ack: u64,
    /// Transmission number of the last segment, for the next ACK (LE §4.2).
    order: Option<u32>,
    /// Bytes in order that are not yet acknowledged.
    unacked: u64,
    delayed_until: Option<Instant>,
    due: Due,
    /// Set if ACKs carry ECE.
    ecn_echo: Bit,
    /// Set once a segment has arrived with ECT or CE.
    ecn_seen: Bit,
    acks_sent: u64,
    extras: Option<Box<Extras>>,
}

/// `Yes` if an ACK is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    No,
    Yes,
}

impl Receiver {
    /// Returns the receiver of an established connection.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            next: 0,
            edge: u64::from(config.buffer),
            read: 0,
            window_shift: 0,
            out_of_order: Reassembly::default(),
            reports: Reports::default(),
            ts_recent: 0,
            last_ack: 0,
            order: None,
            unacked: 0,
            delayed_until: None,
            due: Due::No,
            ecn_echo: Bit::Clear,
            ecn_seen: Bit::Clear,
            acks_sent: 0,
            extras: Extras::of(&config),
            config,
        }
    }

    /// Processes a segment.
    #[inline(always)]
    pub fn handle_data(&mut self, now: Instant, segment: &DataSegment) -> Accepted {
        let mut accepted = Accepted::default();
        let Some(start) = segment.seq.offset(self.config.irs, self.next) else {
            // The segment starts before the first byte of the stream: it is a probe, which requests an ACK.
            self.due = Due::Yes;
            return accepted;
        };
        self.note_timestamp(segment, start);
        self.order = segment.order;
        let end = start + u64::from(segment.len);
        if segment.len == 0 || end <= self.next {
            // The segment has no new data: it is a probe or a duplicate. The receiver sends an ACK at once (RFC 9293
            // §3.10.7.4).
            accepted.duplicate_bytes = u64::from(segment.len);
            if segment.len > 0 {
                self.reports.duplicate = Some((start, end));
                self.hurry(None);
            }
            self.due = Due::Yes;
            return accepted;
        }
        accepted.beyond_window_bytes = end.saturating_sub(self.edge.max(start));
        let (from, until) = (start.max(self.next), end.min(self.edge));
        accepted.duplicate_bytes = from - start;
        if from > start {
            // A DSACK reports the part that was received before (RFC 2883 §4.2).
            self.reports.duplicate = Some((start, from));
        } else if !self.out_of_order.is_empty() {
            // A DSACK reports the first part that was received before, in order or beyond a gap (§4.2.3).
            self.reports.duplicate = self
                .out_of_order
                .overlap(from, until)
                .or(self.reports.duplicate);
        }
        if from >= until {
            self.hurry(None);
            self.due = Due::Yes;
            return accepted;
        }
        if from == self.next {
            self.in_order(now, until, &mut accepted);
        } else {
            self.beyond_gap(now, from, until, &mut accepted);
        }
        if self.extras.is_some() {
            self.measure(now, until - start - accepted.duplicate_bytes);
        }
        accepted
    }

    /// Passes the number of new bytes to the bandwidth estimate.
    #[inline(never)]
    fn measure(&mut self, now: Instant, bytes: u64) {
        if let Some(extras) = &mut self.extras
            && let Some(arrivals) = &mut extras.arrivals
        {
            arrivals.take(now, bytes);
        }
    }

    fn note_timestamp(&mut self, segment: &DataSegment, start: u64) {
        let (Some(echo), Some(value)) = (self.config.timestamps, segment.timestamp) else {
            return;
        };
        match echo {
            TimestampEcho::Trigger => self.ts_recent = value,
            TimestampEcho::Standard => {
                // RFC 7323 §4.3 (2): SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent.
                let newer = (value.wrapping_sub(self.ts_recent) as i32) >= 0;
                if newer && start <= self.last_ack {
                    self.ts_recent = value;
                }
            }
        }
    }

    #[inline(always)]
    fn in_order(&mut self, now: Instant, until: u64, accepted: &mut Accepted) {
        let before = self.next;
        let filled = !self.out_of_order.is_empty();
        if filled {
            let kept = self.out_of_order.bytes();
            self.next = self.out_of_order.advance(until);
            let joined = kept - self.out_of_order.bytes();
            accepted.duplicate_bytes += until + joined - self.next;
        } else {
            self.next = until;
        }
        accepted.in_order_bytes = self.next - before;
        if self.config.application == Reading::AtOnce {
            self.read = self.next;
        }
        self.unacked += self.next - before;
        match self.config.ack_policy {
            AckPolicy::Immediate => self.due = Due::Yes,
            AckPolicy::Delayed(_) if filled => self.due = Due::Yes,
            AckPolicy::Delayed(_) if self.unacked >= 2 * u64::from(self.config.mss) => {
                self.due = Due::Yes;
            }
            AckPolicy::Delayed(timeout) => {
                self.delayed_until.get_or_insert(now + timeout);
            }
            AckPolicy::Adaptive(_) => self.answer_in_order(now, until - before, filled),
        }
    }

    #[inline(never)]
    fn beyond_gap(&mut self, now: Instant, from: u64, until: u64, accepted: &mut Accepted) {
        let kept = self.out_of_order.bytes();
        self.out_of_order.insert(from, until);
        let new = self.out_of_order.bytes() - kept;
        accepted.duplicate_bytes += until - from - new;
        self.reports.put_first(from, &self.out_of_order, self.next);
        self.answer_beyond_gap(now);
    }

    /// Returns `true` if an ACK is due.
    #[inline]
    #[must_use]
    pub fn is_ack_due(&self) -> bool {
        self.due == Due::Yes
    }

    /// Returns the next ACK to send, if one is due.
    #[inline]
    #[must_use]
    pub fn poll_ack(&mut self) -> Option<Ack> {
        self.is_ack_due().then(|| self.ack())
    }

    /// Returns an ACK, due or not, for a segment that is sent anyway. Afterwards, no ACK is due, unless the returned
    /// ACK is for the data before a change of marks ([`MarkEcho::WhileMarked`](crate::options::MarkEcho::WhileMarked)).
    #[inline]
    pub fn ack(&mut self) -> Ack {
        let mut ecn = match self.ecn_echo {
            Bit::Clear => EcnEcho::Silent,
            Bit::Set => EcnEcho::Marked,
        };
        let mut for_acks = false;
        if let Some(extras) = &mut self.extras {
            if let Some(before) = extras.before_change.take() {
                return before;
            }
            let wanted = self.due == Due::Yes || self.delayed_until.is_some();
            extras.timing.acked(wanted);
            if let Some(marks) = &mut extras.marks {
                let (ace, sacks) = marks.acked();
                ecn = EcnEcho::Count(ace);
                for_acks = !sacks;
            }
        }
        self.due = Due::No;
        self.delayed_until = None;
        self.unacked = 0;
        self.last_ack = self.next;
        self.acks_sent += 1;
        let edge = self.edge_now();
        let at_once = self.config.application == Reading::AtOnce;
        if at_once || edge - self.edge >= self.worthwhile_opening() {
            self.edge = edge;
        }
        let sacks = if self.out_of_order.is_empty() && self.reports.duplicate.is_none() {
            self.reports.forget_recent();
            SackBlocks::NONE
        } else if for_acks {
            SackBlocks::NONE
        } else {
            self.reports.take(&self.config, &self.out_of_order)
        };
        Ack {
            ack: self.config.irs.at(self.next),
            window: u32::try_from(self.edge - self.next).unwrap_or(u32::MAX),
            timestamp_echo: self.config.timestamps.map(|_| self.ts_recent),
            order_echo: self.order.take().filter(|_| self.config.order_echo.is_on()),
            sacks,
            ecn,
        }
    }

    /// Returns an upper bound on the number of SACK blocks in the next ACK.
    #[inline]
    pub(crate) fn sack_blocks_at_most(&self) -> usize {
        self.reports.at_most(&self.config, &self.out_of_order)
    }

    /// Discards the record of duplicate data, so that no ACK reports it.
    pub(crate) const fn forget_duplicate(&mut self) {
        self.reports.duplicate = None;
    }

    /// Discards all data received out of order, sacked or not, as a host that lacks memory may do (RFC 2018 §8).
    pub fn renege(&mut self) {
        self.out_of_order.clear();
        self.reports.forget_recent();
    }

    /// Parameters of the receiver.
    #[must_use]
    pub const fn config(&self) -> &ReceiverConfig {
        &self.config
    }

    /// Number of stream bytes received in order.
    #[must_use]
    pub const fn in_order_bytes(&self) -> u64 {
        self.next
    }

    /// Returns `true` if the byte at `offset` was received and is kept.
    #[must_use]
    pub fn holds(&self, offset: u64) -> bool {
        offset < self.next || self.out_of_order.containing(offset).is_some()
    }

    /// Number of bytes received out of order and kept.
    #[must_use]
    pub const fn out_of_order_bytes(&self) -> u64 {
        self.out_of_order.bytes()
    }

    /// Number of separate ranges received out of order and kept.
    #[must_use]
    pub fn out_of_order_ranges(&self) -> usize {
        self.out_of_order.len()
    }

    /// Number of ACKs sent so far.
    #[must_use]
    pub const fn acks_sent(&self) -> u64 {
        self.acks_sent
    }
}

#[cfg(test)]
mod tests;
