//! Segments that arrive on an established connection (RFC 9293 §3.10.7.4).
//!
//! RST and SYN are processed first, regardless of their sequence numbers (RFC 5961 §3 and §4), then timestamps and the
//! sequence number (RFC 7323 §5.3, R1 and R2). For acceptable segments only, ACK, TS.Recent (R3), data and FIN follow.
//! The responses to segments that may be forged are those of RFC 5961.

use crate::options::Ecn;
use crate::segment::{Ack, Bit, DataSegment, EcnEcho};
use crate::time::Instant;

use super::clock::{Carries, Clock, Place};
use super::engine::Engine;
use super::header::{Flags, Segment, Store};
use super::overtaken::Fate;
use super::state::Step;
use super::{Connection, Due, LastDuplicate, Reason, State, UnsentAck, Unstamped};

/// Position of a segment relative to the receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The segment is processed.
    Acceptable,
    /// The segment was completely received before, or it is empty and below the window, like a probe. An ACK is sent in
    /// response, and the segment is dropped without processing its ACK field.
    Old,
    /// No part of the segment is or ever was in the window.
    Outside,
}

/// Result of processing a segment's ACK field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckCheck {
    /// The ACK was processed.
    Taken,
    /// There is no ACK: the segment is ignored (RFC 9293 §3.10.7.4, fifth).
    Missing,
    /// The ACK is far below SND.UNA (RFC 5961 §5).
    Ancient,
    /// The ACK acknowledges data that was never sent.
    Unsent,
}

impl Connection {
    /// Processes a segment in a synchronized state.
    pub(super) fn arrive(&mut self, now: Instant, segment: &Segment) -> Option<Store> {
        let engine = self.engine.as_mut()?;
        if segment.is(Flags::RST) {
            self.arrive_reset(now, segment);
            return None;
        }
        if segment.is(Flags::SYN) {
            // A challenge ACK is sent for a SYN with any sequence number (RFC 5961 §4).
            engine.note_syn_again(segment);
            self.challenge(now);
            return None;
        }
        if let Some(clock) = &self.clock {
            // Timestamps must not be missing if both ends agreed on them (RFC 7323 §3.2).
            let missing = segment.options.timestamps.is_none();
            if missing && self.config.unstamped == Unstamped::Dropped {
                return None;
            }
            let stamps = segment.options.timestamps;
            if let Some(stamps) = stamps.filter(|stamps| clock.is_stale(now, stamps.value)) {
                let behind = clock.ahead(stamps.value).unsigned_abs();
                match engine.fate_of_overtaken(self.config.old_stamp, segment, behind) {
                    Fate::Taken => {}
                    Fate::Ignored => return None,
                    Fate::Answered => {
                        self.challenge_or_acknowledge(now, segment);
                        return None;
                    }
                }
            }
        }
        match engine.standing(segment) {
            Standing::Acceptable => {}
            Standing::Old => {
                engine.report_duplicate(now, segment);
                self.challenge_or_acknowledge(now, segment);
                return None;
            }
            Standing::Outside => {
                self.challenge_or_acknowledge(now, segment);
                return None;
            }
        }
        match self.take_ack(now, segment) {
            AckCheck::Taken => {}
            AckCheck::Missing => return None,
            AckCheck::Ancient => {
                self.challenge(now);
                return None;
            }
            AckCheck::Unsent => {
                let ignored = self.config.unsent_ack == UnsentAck::Ignored;
                if !(ignored && self.state == State::Established) {
                    self.challenge(now);
                }
                return None;
            }
        }
        if let Some(engine) = &mut self.engine
            && engine.feedback.is_some()
        {
            engine.count_marks(segment);
        }
        self.note_heard(now, segment);
        self.after_ack(now);
        if self.state == State::Closed {
            return None;
        }
        if segment.sequence_len() > 0 {
            return self.take_data(now, segment);
        }
        None
    }

    /// Processes a RST. It ends the connection only if it has exactly the expected sequence number (RFC 5961 §3). In
    /// TIME-WAIT, a RST is ignored (RFC 1337).
    fn arrive_reset(&mut self, now: Instant, segment: &Segment) {
        let Some(engine) = &self.engine else { return };
        if self.state == State::TimeWait {
            return;
        }
        if segment.seq == engine.expected() {
            self.end(Reason::Reset);
        } else if engine.is_in_window(segment) {
            self.challenge(now);
        }
    }

    /// Sends an ACK, within the rate limit for challenge ACKs.
    fn challenge(&mut self, now: Instant) {
        if let Some(engine) = &mut self.engine
            && self.limiter.admits(now)
        {
            engine.ack = Due::Yes;
        }
    }

    /// Sends an ACK for a segment that is not processed. For a segment with data, the ACK is always sent, because one
    /// ACK per data segment cannot cause an endless exchange. For a segment without data, the rate limit applies.
    fn challenge_or_acknowledge(&mut self, now: Instant, segment: &Segment) {
        match &mut self.engine {
            Some(engine) if segment.sequence_len() > 0 => engine.ack = Due::Yes,
            _ => self.challenge(now),
        }
    }

    fn take_ack(&mut self, now: Instant, segment: &Segment) -> AckCheck {
        let (Some(engine), Some(number)) = (&mut self.engine, segment.ack) else {
            return AckCheck::Missing;
        };
        let una = engine.una();
        let distance = number.0.wrapping_sub(engine.first().at(una).0) as i32;
        let ahead = i64::from(distance);
        if ahead > (engine.nxt() - una) as i64 {
            return AckCheck::Unsent;
        }
        if -ahead > i64::from(engine.peer_window_max) {
            return AckCheck::Ancient;
        }
        let Some(offset) = una.checked_add_signed(ahead) else {
            return AckCheck::Taken;
        };
        let window = engine.window_in(segment, offset);
        // An ACK in a data segment that reports nothing new is not a duplicate ACK (RFC 5681 §2).
        let silent = ahead <= 0
            && segment.sequence_len() > 0
            && !engine.tells_of_marks(segment, self.clock.as_ref())
            && segment.options.sacks.is_empty()
            && offset + u64::from(window) == engine.sender.peer_edge();
        if silent {
            return AckCheck::Taken;
        }
        let stamps = segment.options.timestamps.zip(self.clock.as_ref());
        let ack = Ack {
            ack: number,
            window,
            timestamp_echo: stamps.and_then(|(stamps, clock)| clock.echoed(stamps.echo)),
            order_echo: None,
            sacks: segment.options.sacks,
            ecn: engine.echo(segment, self.clock.as_ref()),
        };
        engine.sender.handle_ack(now, &ack);
        if engine.una() > una {
            self.pending.acknowledged = Some(engine.acknowledged());
            self.unreachable = None;
        }
        if engine.path.awaits_ack() || engine.sender.is_probing_path() {
            engine.path_acknowledged(now, &mut self.path_counters);
        }
        AckCheck::Taken
    }

    /// Records that the peer sent a segment, and the timestamp of the segment.
    pub(super) fn note_heard(&mut self, now: Instant, segment: &Segment) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        engine.heard_at = now;
        engine.probes = 0;
        engine.probe = Due::No;
        if let (Some(clock), Some(stamps)) = (&mut self.clock, segment.options.timestamps) {
            let last_ack = engine.receiver.config().irs.at(engine.last_ack_sent);
            let later = segment.seq.0.wrapping_sub(last_ack.0) as i32 > 0;
            let place = if later {
                Place::Later
            } else {
                Place::AtOrBeforeLastAck
            };
            let carries = if segment.sequence_len() > 0 {
                Carries::Data
            } else {
                Carries::Nothing
            };
            clock.note(now, stamps.value, place, carries);
        }
    }

    /// Changes the state if this end's FIN is acknowledged.
    fn after_ack(&mut self, now: Instant) {
        if self.engine.as_ref().is_some_and(Engine::fin_acknowledged) {
            self.step(now, Step::FinAcknowledged);
        }
    }

    /// Processes data and FIN.
    fn take_data(&mut self, now: Instant, segment: &Segment) -> Option<Store> {
        let engine = self.engine.as_mut()?;
        let next = engine.receiver.in_order_bytes();
        let fin = engine.fin_in(segment, next);
        if engine.contradicts_fin(segment, fin) || engine.leaves_too_many_gaps(segment) {
            engine.ack = Due::Yes;
            return None;
        }
        let store = engine.store(segment, next);
        if engine.receiver.wants_round_trip() {
            let rtt = engine.sender.rtt();
            engine.receiver.tell_round_trip(rtt.srtt(), rtt.rto());
        }
        if engine.negotiated.ecn == Ecn::Classic {
            let cwr = Bit::when(segment.is(Flags::CWR));
            engine.receiver.note_ecn(&data(segment), segment.ecn, cwr);
        }
        // The ACK of the peer's FIN may be delayed until the application closes, as long as this end may still send
        // data.
        let waits = fin.is_some()
            && engine.distance(segment) <= 0
            && self.state == State::Established
            && engine.receiver.note_end(segment.len);
        let _ = engine.receiver.handle_data(now, &data(segment));
        let edge = engine.receiver.advertised_edge();
        if let Some(store) = store {
            engine.highest = engine.highest.max(store.offset + u64::from(store.len));
        }
        if let Some(fin) = fin.filter(|&fin| fin < edge) {
            engine.peer_fin = Some(fin);
            engine.highest = engine.highest.max(fin + 1);
            if !waits {
                engine.ack = Due::Yes;
            }
        }
        if self.config.last_duplicate == LastDuplicate::Forgotten
            && engine.peer_fin.is_some_and(|fin| next <= fin)
            && engine.peer_finished()
        {
            engine.receiver.forget_duplicate();
        }
        let readable = engine.readable();
        if readable > next {
            self.pending.readable = Some(readable);
        }
        self.after_data(now, segment);
        store
    }

    /// Changes the state if the peer's stream is complete.
    fn after_data(&mut self, now: Instant, segment: &Segment) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        if !engine.peer_finished() {
            return;
        }
        match self.state {
            // The FIN was retransmitted because its ACK was lost (RFC 9293 §3.10.7.4, eighth).
            State::TimeWait if segment.is(Flags::FIN) => self.restart_time_wait(now),
            State::Established | State::FinWait1 | State::FinWait2 => {
                self.pending.finished = engine.peer_fin;
                self.step(now, Step::PeerFinished);
            }
            _ => {}
        }
    }
}

impl Engine {
    /// Returns `true` if the segment may report marks. Otherwise, a segment that acknowledges nothing new need not be
    /// passed to the sender.
    fn tells_of_marks(&self, segment: &Segment, clock: Option<&Clock>) -> bool {
        match self.negotiated.ecn {
            Ecn::Absent => false,
            Ecn::Classic => segment.is(Flags::ECE),
            Ecn::Accurate => is_newest(segment, clock),
        }
    }

    /// Returns the segment's report of marks.
    fn echo(&mut self, segment: &Segment, clock: Option<&Clock>) -> EcnEcho {
        match self.negotiated.ecn {
            Ecn::Classic if segment.is(Flags::ECE) && !segment.is(Flags::SYN) => EcnEcho::Marked,
            Ecn::Classic | Ecn::Absent => EcnEcho::Silent,
            Ecn::Accurate => self.count_told(segment, is_newest(segment, clock)),
        }
    }

    /// Returns the distance from RCV.NXT to the start of `segment`; negative if the segment starts below RCV.NXT.
    pub(super) fn distance(&self, segment: &Segment) -> i64 {
        i64::from(segment.seq.0.wrapping_sub(self.expected().0) as i32)
    }

    /// Returns the size of the advertised window from RCV.NXT on, in bytes.
    fn window(&self) -> i64 {
        (self.receiver.advertised_edge() - self.receiver.in_order_bytes()) as i64
    }

    /// Returns `true` if the segment starts in the window: RCV.NXT <= SEG.SEQ < RCV.NXT + RCV.WND.
    fn is_in_window(&self, segment: &Segment) -> bool {
        (0..self.window()).contains(&self.distance(segment))
    }

    /// Returns `true` if the segment was completely received before.
    pub(super) fn is_old(&self, segment: &Segment) -> bool {
        self.distance(segment) + i64::from(segment.sequence_len()) <= 0
    }

    /// Returns the position of a segment relative to the window (RFC 9293 §3.10.7.4, first). The range of acceptable
    /// segments is slightly larger than the window, as in Linux (`tcp_sequence`) and as Appendix A.2 suggests:
    /// - Below the window, the segment must reach the last acknowledged number, which may be less than RCV.NXT.
    ///   Two kinds of segments are therefore accepted: a retransmission of the last segment, whose ACK was lost
    ///   (the segment may be a FIN whose sender has received our FIN), and a segment without data that arrives
    ///   after later data while the ACK of that data is delayed. A segment that ends below the last acknowledged
    ///   number is dropped, even if it is a retransmission, or a probe with the number RCV.NXT − 1: the peer's
    ///   next segment repeats all its information.
    /// - Above, the segment may start at the end of the window. With a window of zero, this is RCV.NXT (the
    ///   ACK is processed, the data is discarded). Otherwise, such segments are ACKs of a peer that has a full
    ///   window in flight and whose first segment was lost.
    fn standing(&self, segment: &Segment) -> Standing {
        let receiver = &self.receiver;
        let begin = self.distance(segment);
        let end = begin + i64::from(segment.sequence_len());
        let acknowledged = self.last_ack_sent as i64 - receiver.in_order_bytes() as i64;
        let lowest = -i64::from(receiver.config().buffer).max(i64::from(u16::MAX));
        if begin <= self.window() && end >= acknowledged {
            Standing::Acceptable
        } else if begin < 0 && begin >= lowest {
            Standing::Old
        } else {
            Standing::Outside
        }
    }

    /// Records duplicate data, so that the next ACK reports it (RFC 2883 §4).
    fn report_duplicate(&mut self, now: Instant, segment: &Segment) {
        if segment.sequence_len() > 0 {
            let _ = self.receiver.handle_data(now, &data(segment));
        }
    }

    /// Returns the peer's window in bytes, counted from `ack`: the window in the segment if the segment is newer (RFC
    /// 9293 §3.10.7.4: SND.WL1 and SND.WL2), otherwise the known window.
    fn window_in(&mut self, segment: &Segment, ack: u64) -> u32 {
        let next = self.receiver.in_order_bytes();
        let seq = next.saturating_add_signed(self.distance(segment));
        let (last_seq, last_ack) = self.window_news;
        if seq > last_seq || (seq == last_seq && ack >= last_ack) {
            self.window_news = (seq, ack);
            let window = u32::from(segment.window) << self.negotiated.shifts.peers;
            self.peer_window_max = self.peer_window_max.max(window);
            return window;
        }
        let known = self.sender.peer_edge().saturating_sub(ack);
        u32::try_from(known).unwrap_or(u32::MAX)
    }

    /// Returns the offset of the segment's FIN in the peer's stream, if the segment has a FIN.
    fn fin_in(&self, segment: &Segment, next: u64) -> Option<u64> {
        if !segment.is(Flags::FIN) {
            return None;
        }
        let start = next.checked_add_signed(self.distance(segment))?;
        start.checked_add(u64::from(segment.len))
    }

    /// Returns `true` if the segment contradicts the end of the stream: its FIN is at a different offset than an
    /// earlier FIN or before received data, or it has data after the end. Either the peer is faulty or the segment is
    /// forged, so no part of the segment is processed.
    fn contradicts_fin(&self, segment: &Segment, fin: Option<u64>) -> bool {
        let next = self.receiver.in_order_bytes();
        let end = next.saturating_add_signed(self.distance(segment) + i64::from(segment.len));
        match (self.peer_fin, fin) {
            (Some(known), Some(fin)) => fin != known,
            (Some(known), None) => end > known,
            (None, Some(fin)) => fin < self.highest.max(next),
            (None, None) => false,
        }
    }

    /// Returns `true` if the segment would leave more gaps than this end stores.
    fn leaves_too_many_gaps(&self, segment: &Segment) -> bool {
        self.distance(segment) > 0 && self.is_fragmented()
    }

    /// Returns the part of the payload that is new and inside the window.
    fn store(&self, segment: &Segment, next: u64) -> Option<Store> {
        let distance = self.distance(segment);
        let start = next.checked_add_signed(distance)?;
        let end = start + u64::from(segment.len);
        let from = start.max(next);
        let until = end.min(self.receiver.advertised_edge());
        (from < until).then(|| Store {
            offset: from,
            // Both values are at most the segment's length.
            skip: (from - start) as u32,
            len: (until - from) as u32,
        })
    }
}

/// Returns `true` if the segment's timestamp is later than all timestamps before it.
fn is_newest(segment: &Segment, clock: Option<&Clock>) -> bool {
    let stamps = segment.options.timestamps.zip(clock);
    stamps.is_some_and(|(stamps, clock)| clock.ahead(stamps.value) > 0)
}

/// Returns the segment for the receiver. It has no timestamps, because the connection handles them.
fn data(segment: &Segment) -> DataSegment {
    DataSegment {
        seq: segment.seq,
        len: segment.sequence_len(),
        timestamp: None,
        order: None,
    }
}
