//! What leaves the sender, and what holds it back.

use super::{IdleRule, Persist, Sender, TimestampValues};
use crate::congestion::Governance;
use crate::facts::{Departure, LimitedBy, SendReason, Sent, View};
use crate::recovery::{Clearance, Next, RtoTimer};
use crate::rtt::RttSampling;
use crate::scoreboard::{Segment, SegmentId};
use crate::segment::DataSegment;
use crate::time::{Duration, Instant};
use crate::window::{Window, WindowCause};

/// A segment to put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The header fields. The host adds the bytes `offset .. offset + segment.len`.
    pub segment: DataSegment,
    /// Stream offset of the first byte.
    pub offset: u64,
    /// Place in the order of transmissions, from 1; 0 for a window probe.
    pub order: u64,
    /// Whether it has been sent before.
    pub kind: TransmitKind,
    /// Why it is sent.
    pub why: SendReason,
}

/// Whether a transmission is the first of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitKind {
    /// New data.
    First,
    /// Sent before.
    Repeat,
    /// A window probe: no data.
    Probe,
}

impl Sender {
    /// The next segment to put on the wire now; `None` if there is none. Call it until it
    /// returns `None`, after every `write`, `handle_ack` and `handle_timeout`.
    #[inline(always)]
    #[must_use]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.pacing = false;
        if self.persist.due && self.new_len() == 0 {
            self.persist.due = false;
            return self.window_probe(now);
        }
        if now < self.pace_until {
            self.pacing = true;
            self.limited_by = LimitedBy::Pacing;
            return None;
        }
        self.end_idle(now);
        let view = self.view(now);
        match self.stack.recovery.next(&view) {
            Next::Nothing => {
                self.limited_by = LimitedBy::Congestion;
                None
            }
            Next::Retransmit { id, why, clearance } => self.retransmit(now, id, why, clearance),
            Next::New { why, clearance } => {
                let len = view.new_len;
                if len == 0 {
                    self.stopped_short(now);
                    return None;
                }
                if !self.cleared(&view, clearance, len) {
                    self.limited_by = LimitedBy::Congestion;
                    return None;
                }
                Some(self.send_new(now, why, len))
            }
        }
    }

    fn cleared(&self, view: &View<'_>, clearance: Clearance, len: u32) -> bool {
        clearance == Clearance::Immediate || self.stack.recovery.allowance(view) >= u64::from(len)
    }

    #[inline(never)]
    fn retransmit(
        &mut self,
        now: Instant,
        id: SegmentId,
        why: SendReason,
        clearance: Clearance,
    ) -> Option<Transmit> {
        let Some(segment) = self.scoreboard.get(id).copied() else {
            debug_assert!(
                false,
                "a recovery resends a segment that is not outstanding"
            );
            return None;
        };
        if !self.cleared(&self.view(now), clearance, segment.len) {
            self.limited_by = LimitedBy::Congestion;
            return None;
        }
        self.order += 1;
        let resent = self.scoreboard.resend(id, now, self.order);
        self.stats.retransmissions += 1;
        // Karn: a segment sent twice is not timed.
        if self.timed.is_some_and(|(end, _)| end == segment.end()) {
            self.timed = None;
        }
        Some(self.emit(now, id, resent, why, TransmitKind::Repeat))
    }

    #[inline(always)]
    fn send_new(&mut self, now: Instant, why: SendReason, len: u32) -> Transmit {
        self.persist = Persist::default();
        self.order += 1;
        let (id, segment) = self.scoreboard.push(len, now, self.order);
        if why == SendReason::LimitedTransmit {
            self.limited_transmit_bytes += u64::from(len);
        }
        if self.rtt.sampling() == RttSampling::OnePerWindow && self.timed.is_none() {
            self.timed = Some((self.scoreboard.nxt(), now));
        }
        self.emit(now, id, segment, why, TransmitKind::First)
    }

    /// The application or the peer permits no new segment. If only the peer can change that and
    /// nothing is outstanding that would make it speak, it will have to be probed.
    #[inline(never)]
    fn stopped_short(&mut self, now: Instant) {
        let waiting = self.written > self.scoreboard.nxt();
        self.limited_by = if waiting {
            LimitedBy::ReceiveWindow
        } else {
            LimitedBy::Application
        };
        if waiting && self.scoreboard.is_empty() && self.persist.at.is_none() {
            let factor = 1_u64.checked_shl(self.persist.backoff).unwrap_or(u64::MAX);
            let wait = self.rtt.rto().saturating_mul(factor);
            self.persist.at = Some(now + wait.min(self.config.rtt.max_rto));
        }
    }

    /// Bookkeeping common to every data segment, and the segment itself.
    #[inline(always)]
    fn emit(
        &mut self,
        now: Instant,
        id: SegmentId,
        segment: Segment,
        why: SendReason,
        kind: TransmitKind,
    ) -> Transmit {
        let timestamp = self.timestamp(now);
        let sent = Sent {
            id,
            segment,
            timestamp,
            why,
        };
        let new_len = self.new_len();
        let timer = self.stack.recovery.on_sent(
            &sent,
            &View {
                now,
                scoreboard: &self.scoreboard,
                window: self.window,
                rtt: &self.rtt,
                new_len,
            },
        );
        if timer == RtoTimer::Restart {
            self.rto_at = None;
        }
        self.arm_rto(now);
        self.stats.segments_sent += 1;
        self.last_sent = now;
        if self.governance == Governance::Model {
            self.tell_control(now, &sent);
        }
        if let Some(rate) = self.stack.control.pacing_rate() {
            let gap = Duration::from_secs_f64(f64::from(segment.len) / rate.max(1.0));
            self.pace_until = self.pace_until.max(now) + gap;
        }
        Transmit {
            segment: DataSegment {
                seq: self.config.isn.at(segment.start),
                len: segment.len,
                timestamp,
                order: self
                    .config
                    .order_echo
                    .is_yes()
                    .then_some(segment.order as u32),
            },
            offset: segment.start,
            order: segment.order,
            kind,
            why,
        }
    }

    /// Tells a control that models the path of a transmission.
    #[inline(never)]
    fn tell_control(&mut self, now: Instant, sent: &Sent) {
        let new_len = self.new_len();
        let view = View {
            now,
            scoreboard: &self.scoreboard,
            window: self.window,
            rtt: &self.rtt,
            new_len,
        };
        let departure = Departure {
            in_flight: self.stack.recovery.in_flight(&view),
            limited_by: self.limited_by,
        };
        self.stack.control.on_sent(sent, departure, &view);
    }

    /// An empty segment just below the window: the peer must answer it with its window
    /// (RFC 9293 §3.10.7.4), and no byte is sent that it has no room for.
    #[cold]
    #[inline(never)]
    fn window_probe(&mut self, now: Instant) -> Option<Transmit> {
        if self.written == self.scoreboard.nxt() || !self.scoreboard.is_empty() {
            return None;
        }
        self.stats.window_probes += 1;
        let una = self.scoreboard.una();
        Some(Transmit {
            segment: DataSegment {
                seq: crate::seq::SeqNumber(self.config.isn.at(una).0.wrapping_sub(1)),
                len: 0,
                timestamp: self.timestamp(now),
                order: None,
            },
            offset: una,
            order: 0,
            kind: TransmitKind::Probe,
            why: SendReason::WindowProbe,
        })
    }

    fn timestamp(&mut self, now: Instant) -> Option<u32> {
        let clock = self.config.timestamps?;
        let reading = self.clock_reading(now, clock);
        let value = match (clock.values, self.last_timestamp) {
            (TimestampValues::Unique, Some(last)) if (reading.wrapping_sub(last) as i32) <= 0 => {
                last.wrapping_add(1)
            }
            _ => reading,
        };
        self.last_timestamp = Some(value);
        Some(value)
    }

    /// RFC 5681 §4.1: after an idle period longer than the timeout the ACK clock is gone, and
    /// the window starts over.
    fn end_idle(&mut self, now: Instant) {
        if self.config.idle != IdleRule::Restart
            || !self.scoreboard.is_empty()
            || self.order == 0
            || self.new_len() == 0
            || now.since(self.last_sent) <= self.rtt.rto()
        {
            return;
        }
        self.stack.control.on_idle_end(now);
        let opening = super::opening(&self.config, &self.stack);
        let restart = Window {
            cwnd: self.window.cwnd.min(opening.cwnd),
            ..self.window
        };
        self.set_window(now, restart, WindowCause::Idle);
    }

    /// Length of the new segment that the application and the peer's window permit, with the
    /// sender's half of silly window avoidance (RFC 9293 §3.8.6.2.1): a segment cut short by
    /// the window goes out only if it fills half the largest window ever seen, or when the
    /// persist timer says so.
    pub(super) fn new_len(&self) -> u32 {
        let nxt = self.scoreboard.nxt();
        let waiting = self.written - nxt;
        let room = self.peer_edge.saturating_sub(nxt);
        let full = waiting.min(u64::from(self.config.smss));
        if room >= full {
            return full as u32;
        }
        if room >= u64::from(self.peer_window_max / 2).max(1) || self.persist.due {
            return room as u32;
        }
        0
    }
}
