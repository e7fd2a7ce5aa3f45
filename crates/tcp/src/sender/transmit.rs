//! Transmission of segments, and the limits that stop the sender.

use super::pacing::{self, Paced, Pacer};
use super::state::{Persist, State};
use super::{IdleRule, Sender, TimestampValues};
use crate::congestion::Governance;
use crate::facts::{Departure, LimitedBy, SendReason, Sent, View};
use crate::recovery::{Clearance, Next};
use crate::scoreboard::{Segment, SegmentId};
use crate::segment::{Bit, Codepoint, DataSegment};
use crate::time::{Duration, Instant};
use crate::window::{Window, WindowCause};

/// Segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transmit {
    /// Header fields. The host adds the payload bytes `offset .. offset + segment.len`.
    pub segment: DataSegment,
    /// Stream offset of the first byte.
    pub offset: u64,
    /// Number of the transmission, from 1; 0 for a window probe.
    pub order: u64,
    /// New data, retransmission or probe.
    pub kind: TransmitKind,
    /// Reason for the transmission.
    pub why: SendReason,
    /// ECN field of the packet. A packet without payload, such as a FIN alone, is not sent as ECN-capable, regardless
    /// of this field.
    pub ecn: Codepoint,
    /// Set if the segment carries CWR.
    pub cwr: Bit,
}

/// Kind of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitKind {
    /// New data.
    First,
    /// Data that was sent before.
    Repeat,
    /// Window probe without data.
    Probe,
}

impl Sender {
    /// Returns the next segment to send now, if any. After every `write`, `handle_ack` and `handle_timeout`, call this
    /// method until it returns `None`.
    #[inline(always)]
    #[must_use]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.state.check();
        let transmit = self.next_transmit(now);
        self.state.check();
        transmit
    }

    #[inline(always)]
    fn next_transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.state.pacing = false;
        if self.state.persist.due && self.state.new_len() == 0 {
            self.state.persist.due = false;
            return self.window_probe(now);
        }
        if now < self.state.pace_until && !self.state.pacer.lets_burst_go_on(now) {
            self.state.pacing = true;
            self.state.limited_by = LimitedBy::Pacing;
            self.note_use(now);
            return None;
        }
        self.end_idle(now);
        let view = self.state.view(now);
        match self.stack.recovery.next(&view) {
            Next::Nothing => {
                self.state.stop_at_window();
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
                    self.state.stop_at_window();
                    return None;
                }
                Some(self.send_new(now, why, len))
            }
        }
    }

    fn cleared(&self, view: &View<'_>, clearance: Clearance, len: u32) -> bool {
        // A FIN does not count against the window. Otherwise, it might have to wait for an ACK although its segment may
        // be sent.
        let len = u64::from(len.min(self.state.config.smss));
        clearance == Clearance::Immediate || self.stack.recovery.allowance(view) >= len
    }

    #[inline(never)]
    fn retransmit(
        &mut self,
        now: Instant,
        id: SegmentId,
        why: SendReason,
        clearance: Clearance,
    ) -> Option<Transmit> {
        let Some(segment) = self.state.scoreboard.get(id).copied() else {
            debug_assert!(
                false,
                "a recovery retransmits a segment that is not outstanding"
            );
            return None;
        };
        if why != SendReason::TailLossProbe && self.state.withholds() {
            let new_len = self.state.new_len();
            if new_len > 0 || self.in_flight(now) > 0 {
                return self.new_in_place(now, new_len);
            }
        }
        let Some(len) = self.state.repeatable(&segment) else {
            self.stopped_short(now);
            return None;
        };
        if !self.cleared(&self.state.view(now), clearance, len) {
            self.state.stop_at_window();
            return None;
        }
        let resent = self.state.record_repeat(now, id, &segment);
        let mut repeat = self.emit(now, id, resent, why, TransmitKind::Repeat);
        repeat.segment.len = len;
        Some(repeat)
    }

    /// Sends new data instead of a retransmission that is withheld.
    fn new_in_place(&mut self, now: Instant, len: u32) -> Option<Transmit> {
        if len == 0 {
            self.stopped_short(now);
            return None;
        }
        let cleared = self.cleared(&self.state.view(now), Clearance::Window, len);
        if !cleared || !self.state.take_place() {
            self.state.limited_by = LimitedBy::Congestion;
            return None;
        }
        Some(self.send_new(now, SendReason::NewData, len))
    }

    #[inline(always)]
    pub(super) fn send_new(&mut self, now: Instant, why: SendReason, len: u32) -> Transmit {
        self.state.persist = Persist::default();
        let (id, segment) = self.state.record_first(now, len);
        debug_assert!(
            segment.end() <= self.state.peer_edge,
            "new data is within the peer's window"
        );
        if why == SendReason::LimitedTransmit {
            self.state.limited_transmit_bytes += u64::from(len);
        }
        self.emit(now, id, segment, why, TransmitKind::First)
    }

    /// Records the use of the window when something other than the window stops the sender. The window counts as filled
    /// if it does not permit another full segment.
    fn note_use(&mut self, now: Instant) {
        let order = self.state.order;
        if !self.state.usage.has_news(order) {
            return;
        }
        let in_flight = self.in_flight(now) + u64::from(self.state.config.smss);
        let (usage, board) = (&mut self.state.usage, &self.state.scoreboard);
        if in_flight > self.state.window.whole_bytes() {
            usage.filled(board, order);
        } else {
            usage.partly(board, order);
        }
    }

    /// Handles the case that the application's data or the peer's window permits no segment. If data waits for the
    /// peer's window and no data is outstanding, no ACK will arrive, so the persist timer is started to probe the
    /// window.
    #[inline(never)]
    fn stopped_short(&mut self, now: Instant) {
        let waiting = self.state.written > self.state.scoreboard.nxt();
        self.state.limited_by = if waiting || self.state.is_window_shrunk() {
            LimitedBy::ReceiveWindow
        } else {
            LimitedBy::Application
        };
        self.note_use(now);
        if waiting && self.state.scoreboard.is_empty() && self.state.persist.at.is_none() {
            let factor = 1_u64
                .checked_shl(self.state.persist.backoff)
                .unwrap_or(u64::MAX);
            let wait = self.state.rtt.rto().saturating_mul(factor);
            self.state.persist.at = Some(now + wait.min(self.state.config.rtt.max_rto));
        }
    }

    /// Records the transmission of a data segment, and returns the segment.
    #[inline(always)]
    fn emit(
        &mut self,
        now: Instant,
        id: SegmentId,
        segment: Segment,
        why: SendReason,
        kind: TransmitKind,
    ) -> Transmit {
        let timestamp = self.state.timestamp(now);
        let sent = Sent {
            id,
            segment,
            timestamp,
            why,
        };
        if kind == TransmitKind::Repeat {
            self.state.undo.on_repeat(&sent);
        }
        let timer = self.stack.recovery.on_sent(&sent, &self.state.view(now));
        self.state.set_timer(now, timer);
        self.state.stats.segments_sent += 1;
        self.state.last_sent = now;
        if self.state.governance == Governance::Model {
            self.tell_control(now, &sent);
        }
        if !self.state.pacer.is_off() {
            self.pace(now, segment.len);
        }
        let (ecn, cwr) = match &mut self.state.marks {
            Some(marks) => marks.stamp(kind == TransmitKind::First),
            None => (Codepoint::NotEct, Bit::Clear),
        };
        Transmit {
            segment: DataSegment {
                seq: self.state.config.isn.at(segment.start),
                len: segment.len,
                timestamp,
                order: self
                    .state
                    .config
                    .order_echo
                    .is_on()
                    .then_some(segment.order as u32),
            },
            offset: segment.start,
            order: segment.order,
            kind,
            why,
            ecn,
            cwr,
        }
    }

    /// Sets the time of the next segment after a segment of `len` bytes.
    #[inline(never)]
    fn pace(&mut self, now: Instant, len: u32) {
        let state = &mut self.state;
        match &mut state.pacer {
            Pacer::Off => {}
            Pacer::Rate => {
                if let Some(rate) = self.stack.control.pacing_rate() {
                    let gap = Duration::from_secs_f64(f64::from(len) / rate.max(1.0));
                    let due = pacing::due(now, state.pace_until, state.limited_by);
                    state.pace_until = due + gap;
                }
            }
            Pacer::Window(bursts) => {
                if let Some(srtt) = state.rtt.srtt() {
                    let path = Paced {
                        window: state.window,
                        outstanding: state.scoreboard.flight_size(),
                        srtt,
                        min_rtt: state.rtt.min().unwrap_or(srtt),
                        smss: state.config.smss,
                        order: state.order,
                    };
                    state.pace_until = bursts.sent(now, len, state.pace_until, &path);
                }
            }
        }
    }

    /// Reports a transmission to a control that is governed by a model.
    #[inline(never)]
    fn tell_control(&mut self, now: Instant, sent: &Sent) {
        if matches!(sent.why, SendReason::Retransmit(_)) {
            self.state.repaired_bytes += u64::from(sent.segment.len);
        }
        let view = self.state.view(now);
        let departure = Departure {
            in_flight: self.stack.recovery.in_flight(&view),
            lost_bytes: self.lost_bytes(),
            limited_by: self.state.limited_by,
        };
        self.stack.control.on_sent(sent, departure, &view);
    }

    /// Returns an empty segment whose sequence number is just below the window. The peer must respond to it with an ACK
    /// that contains its window (RFC 9293 §3.10.7.4), and no byte beyond the window is sent.
    #[cold]
    #[inline(never)]
    fn window_probe(&mut self, now: Instant) -> Option<Transmit> {
        if self.state.written == self.state.scoreboard.nxt() || !self.state.scoreboard.is_empty() {
            return None;
        }
        self.state.stats.window_probes += 1;
        let una = self.state.scoreboard.una();
        Some(Transmit {
            segment: DataSegment {
                seq: crate::seq::SeqNumber(self.state.config.isn.at(una).0.wrapping_sub(1)),
                len: 0,
                timestamp: self.state.timestamp(now),
                order: None,
            },
            offset: una,
            order: 0,
            kind: TransmitKind::Probe,
            why: SendReason::WindowProbe,
            ecn: Codepoint::NotEct,
            cwr: Bit::Clear,
        })
    }

    /// Ends an idle period if new data is about to be sent while no data is outstanding, and informs the control. After
    /// an idle period longer than the timeout, there is no ACK clock, so the window restarts (RFC 5681 §4.1).
    pub(super) fn end_idle(&mut self, now: Instant) {
        if !self.state.scoreboard.is_empty() || self.state.order == 0 || self.state.new_len() == 0 {
            return;
        }
        self.stack.control.on_idle_end(now, self.state.last_sent);
        if self.state.config.idle != IdleRule::Restart
            || now.since(self.state.last_sent) <= self.state.rtt.rto()
        {
            return;
        }
        let opening = super::opening(&self.state.config, &self.stack);
        let restart = Window {
            cwnd: self.state.window.cwnd.min(opening.cwnd),
            ..self.state.window
        };
        self.state.set_window(now, restart, WindowCause::Idle);
    }
}

impl State {
    /// Records that the window or the recovery stops the sender.
    #[inline(always)]
    fn stop_at_window(&mut self) {
        self.limited_by = LimitedBy::Congestion;
        self.usage.filled(&self.scoreboard, self.order);
    }

    /// Records the first transmission of `len` bytes at SND.NXT.
    #[inline(always)]
    pub(crate) fn record_first(&mut self, now: Instant, len: u32) -> (SegmentId, Segment) {
        self.order += 1;
        let recorded = self.scoreboard.push(len, now, self.order);
        if let Some(timed) = &mut self.timing
            && timed.segment.is_none()
        {
            timed.segment = Some((self.scoreboard.nxt(), now));
        }
        recorded
    }

    /// Returns `true` if the peer's window has shrunk below outstanding data.
    const fn is_window_shrunk(&self) -> bool {
        self.peer_edge < self.scoreboard.nxt()
    }

    /// Returns the number of bytes of a segment that may be retransmitted: only bytes inside the peer's window, which
    /// may have shrunk (RFC 9293 §3.8.6, SHLD-16). While the window is closed, the first outstanding segment is sent
    /// completely, as a probe (Linux, `__tcp_retransmit_skb`).
    fn repeatable(&self, segment: &Segment) -> Option<u32> {
        let room = self.peer_edge.saturating_sub(segment.start);
        match u32::try_from(room) {
            Ok(0) => (segment.start == self.scoreboard.una()).then_some(segment.len),
            Ok(room) => Some(segment.len.min(room)),
            Err(_) => Some(segment.len),
        }
    }

    /// Records a retransmission of an outstanding segment.
    pub(crate) fn record_repeat(
        &mut self,
        now: Instant,
        id: SegmentId,
        segment: &Segment,
    ) -> Segment {
        self.order += 1;
        let resent = self.scoreboard.resend(id, now, self.order);
        self.stats.retransmissions += 1;
        if self.probe.is_some() {
            self.note_repeat_of_probe(segment.start);
        }
        // Karn's algorithm: a retransmitted segment is not timed.
        if let Some(timed) = &mut self.timing
            && timed.segment.is_some_and(|(end, _)| end == segment.end())
        {
            timed.segment = None;
        }
        resent
    }

    /// Returns the TSval for a transmission.
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
}
