//! Segments that a connection sends, with their headers.

use crate::segment::Ack;
use crate::sender::{Transmit, TransmitKind};
use crate::seq::SeqNumber;
use crate::time::Instant;

use super::accurate::echo_flags;
use super::clock::Clock;
use super::engine::Engine;
use super::header::{Flags, Outgoing, Segment};
use super::path_mtu::PathTurn;
use super::{Connection, Due, State};

/// Returns the size in bytes of a SACK option with `blocks` blocks, including padding (RFC 2018 §3).
const fn sack_option_bytes(blocks: usize) -> u32 {
    4 + 8 * blocks as u32
}

impl Connection {
    /// Returns the next segment to send now, if any. After every other call, call this method until it returns `None`.
    /// If several segments arrive together, the host may pass in all of them before this call; one ACK then
    /// acknowledges all of them.
    #[must_use]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(mut reply) = self.reply.take() {
            if let (Some(_), Some(clock)) = (reply.options.timestamps, &mut self.clock) {
                reply.options.timestamps = Some(clock.stamp(now, None));
            }
            return Some(bare(reply));
        }
        match self.state {
            State::Closed | State::Listen => None,
            State::SynSent | State::SynReceived => self.poll_syn(now),
            _ => self.poll_established(now),
        }
    }

    fn poll_syn(&mut self, now: Instant) -> Option<Outgoing> {
        if self.opening.due == Due::No {
            return None;
        }
        self.opening.due = Due::No;
        let syn = self.syn(now);
        self.arm_opening(now);
        Some(bare(syn))
    }

    fn poll_established(&mut self, now: Instant) -> Option<Outgoing> {
        let engine = self.engine.as_mut()?;
        let clock = &mut self.clock;
        if engine.ack == Due::Yes {
            engine.ack = Due::No;
            let ack = engine.receiver.ack();
            return Some(engine.pure_ack(now, &ack, clock));
        }
        if let Some(ack) = engine.stashed.take() {
            return Some(engine.pure_ack(now, &ack, clock));
        }
        engine.leave_room_for_sacks();
        let turn = match engine.path.is_busy() {
            true => {
                let (config, counters) = (&self.config.path_mtu, &mut self.path_counters);
                engine.path_turn(now, config, counters)
            }
            false => PathTurn::None,
        };
        let transmit = match turn {
            PathTurn::None => engine.sender.poll_transmit(now),
            PathTurn::Probe(probe) => Some(probe),
            PathTurn::Wait => None,
        };
        engine.note_progress(now);
        if let Some(transmit) = transmit {
            return Some(engine.data(now, &transmit, clock, self.written));
        }
        if let Some(ack) = engine.receiver.poll_ack() {
            return Some(engine.pure_ack(now, &ack, clock));
        }
        if engine.probe == Due::Yes {
            engine.probe = Due::No;
            let ack = engine.receiver.ack();
            let mut probe = engine.pure_ack(now, &ack, clock);
            // The sequence number is just below the peer's window, so that the peer must respond (RFC 9293 §3.8.4).
            probe.segment.seq = SeqNumber(engine.first().at(engine.nxt()).0.wrapping_sub(1));
            return Some(probe);
        }
        None
    }
}

impl Engine {
    /// Returns a segment without data.
    fn pure_ack(&mut self, now: Instant, ack: &Ack, clock: &mut Option<Clock>) -> Outgoing {
        let stamps = clock.as_mut().map(|clock| clock.stamp(now, None));
        let mut segment = self.header(self.sequence(), ack);
        segment.options.timestamps = stamps;
        segment.options.sacks = ack.sacks;
        if self.feedback.is_some() {
            self.finish_accurate_ack(&mut segment);
        }
        bare(segment)
    }

    /// Shortens new segments by the SACK blocks that they will carry (Linux, `tcp_current_mss`).
    fn leave_room_for_sacks(&mut self) {
        let room = match self.receiver.sack_blocks_at_most() {
            0 => 0,
            blocks => sack_option_bytes(blocks),
        };
        self.sender.leave_room(room);
    }

    /// Returns a segment of the stream, or a probe of the peer's window. The segment carries the acknowledgment and
    /// SACK blocks (RFC 2018 §4).
    fn data(
        &mut self,
        now: Instant,
        transmit: &Transmit,
        clock: &mut Option<Clock>,
        written: u64,
    ) -> Outgoing {
        let pending = self.receiver.is_ack_due() || self.receiver.next_timeout().is_some();
        let ack = self.receiver.ack();
        let mut segment = self.header(transmit.segment.seq, &ack);
        segment.options.timestamps = clock
            .as_mut()
            .map(|clock| clock.stamp(now, transmit.segment.timestamp));
        if transmit.cwr.is_set() {
            segment.flags = segment.flags.with(Flags::CWR);
        }
        let mut end = transmit.offset + u64::from(transmit.segment.len);
        if transmit.segment.len > 0 && self.fin.is_some_and(|fin| end > fin) {
            end -= 1;
            segment.flags = segment.flags.with(Flags::FIN);
        }
        if end > transmit.offset && end == written {
            segment.flags = segment.flags.with(Flags::PSH);
        }
        if end > transmit.offset {
            self.receiver.note_data_sent(now);
        }
        let data = transmit.offset..end;
        // The range is not longer than the sender's segment, whose length has 32 bits.
        segment.len = (data.end - data.start) as u32;
        if segment.len > 0 {
            segment.ecn = transmit.ecn;
        }
        let blocks = ack.sacks.as_slice().len();
        if segment.len > 0 {
            self.path.note_sent(segment.len, data.end, self.una());
        }
        let room = self.sender.config().smss.saturating_sub(segment.len);
        if blocks > 0 && sack_option_bytes(blocks) <= room {
            segment.options.sacks = ack.sacks;
        } else if blocks > 0 && pending {
            self.stashed = Some(ack);
        }
        if self.feedback.is_some() {
            let again = transmit.kind != TransmitKind::First;
            self.finish_accurate_data(&mut segment, room, again);
        }
        Outgoing {
            segment,
            data,
            why: Some(transmit.why),
        }
    }

    /// Returns a header with the fields that every segment of an established connection has.
    fn header(&mut self, seq: SeqNumber, ack: &Ack) -> Segment {
        self.last_ack_sent = self.receiver.in_order_bytes();
        let window = ack.window >> self.negotiated.shifts.ours;
        Segment {
            ack: Some(ack.ack),
            flags: echo_flags(ack),
            window: u16::try_from(window).unwrap_or(u16::MAX),
            ..Segment::new(seq)
        }
    }
}

/// Returns a segment without data of the stream.
fn bare(segment: Segment) -> Outgoing {
    Outgoing {
        segment,
        data: 0..0,
        why: None,
    }
}
