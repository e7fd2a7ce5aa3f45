//! Segments that arrive on an established connection (RFC 9293 §3.10.7.4): RST and SYN, whatever
//! their numbers (RFC 5961 §3 and §4), then timestamps and sequence number (RFC 7323 §5.3, R1 and
//! R2), and only for what is acceptable ACK, TS.Recent (R3), data and FIN. What may be forged is
//! answered as RFC 5961 says.

use crate::options::Ecn;
use crate::segment::{Ack, Bit, DataSegment, EcnEcho};
use crate::time::Instant;

use super::clock::{Carries, Clock, Place};
use super::engine::Engine;
use super::header::{Flags, Segment, Store};
use super::overtaken::Fate;
use super::state::Step;
use super::{Connection, Due, LastDuplicate, Reason, State, UnsentAck, Unstamped};

/// Where a segment lies to the receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It is processed.
    Acceptable,
    /// All of it was received before; or it is empty and below the window, as probes are. It is
    /// answered and dropped, its ACK field too.
    Old,
    /// Nothing of it is in the window, or ever was.
    Outside,
}

/// What became of a segment's ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It was taken in.
    Taken,
    /// It is missing: the segment is ignored (RFC 9293 §3.10.7.4, fifth).
    Missing,
    /// It acknowledges what was acknowledged long ago (RFC 5961 §5).
    Ancient,
    /// It acknowledges what was never sent.
    Unsent,
}

impl Connection {
    /// Takes in a segment in a synchronized state.
    pub(super) fn arrive(&mut self, now: Instant, segment: &Segment) -> Option<Store> {
        let engine = self.engine.as_mut()?;
        if segment.is(Flags::RST) {
            self.arrive_reset(now, segment);
            return None;
        }
        if segment.is(Flags::SYN) {
            // Whatever its number (RFC 5961 §4).
            engine.note_syn_again(segment);
            self.challenge(now);
            return None;
        }
        if let Some(clock) = &self.clock {
            // Without timestamps after they were agreed on (RFC 7323 §3.2).
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
            Verdict::Taken => {}
            Verdict::Missing => return None,
            Verdict::Ancient => {
                self.challenge(now);
                return None;
            }
            Verdict::Unsent => {
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

    /// RFC 5961 §3: only a RST with exactly the expected number ends the connection; in
    /// TIME-WAIT none does (RFC 1337).
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

    /// Answers with an ACK, unless too many such answers have been given.
    fn challenge(&mut self, now: Instant) {
        if let Some(engine) = &mut self.engine
            && self.limiter.admits(now)
        {
            engine.ack = Due::Yes;
        }
    }

    /// Answers a segment that is not taken. Data is answered each time (an ACK for a segment
    /// makes no storm); what carries none is, within bounds.
    fn challenge_or_acknowledge(&mut self, now: Instant, segment: &Segment) {
        match &mut self.engine {
            Some(engine) if segment.sequence_len() > 0 => engine.ack = Due::Yes,
            _ => self.challenge(now),
        }
    }

    fn take_ack(&mut self, now: Instant, segment: &Segment) -> Verdict {
        let (Some(engine), Some(number)) = (&mut self.engine, segment.ack) else {
            return Verdict::Missing;
        };
        let una = engine.una();
        let distance = number.0.wrapping_sub(engine.first().at(una).0) as i32;
        let ahead = i64::from(distance);
        if ahead > (engine.nxt() - una) as i64 {
            return Verdict::Unsent;
        }
        if -ahead > i64::from(engine.peer_window_max) {
            return Verdict::Ancient;
        }
        let Some(offset) = una.checked_add_signed(ahead) else {
            return Verdict::Taken;
        };
        let window = engine.window_in(segment, offset);
        // An ACK that says nothing new beside data is no duplicate (RFC 5681 §2).
        let silent = ahead <= 0
            && segment.sequence_len() > 0
            && !engine.tells_of_marks(segment, self.clock.as_ref())
            && segment.options.sacks.is_empty()
            && offset + u64::from(window) == engine.sender.peer_edge();
        if silent {
            return Verdict::Taken;
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
        Verdict::Taken
    }

    /// The peer is alive, and its clock has moved on.
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

    /// Moves on if this end's FIN is acknowledged.
    fn after_ack(&mut self, now: Instant) {
        if self.engine.as_ref().is_some_and(Engine::fin_acknowledged) {
            self.step(now, Step::FinAcknowledged);
        }
    }

    /// Data and FIN.
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
        // The ACK of a FIN may wait for the application's, as long as this end may still send.
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

    /// Moves on if the peer's stream is complete.
    fn after_data(&mut self, now: Instant, segment: &Segment) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        if !engine.peer_finished() {
            return;
        }
        match self.state {
            // The FIN again: the ACK was lost (RFC 9293 §3.10.7.4, eighth).
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
    /// What the segment says of marks; one that acknowledges nothing new is no reason to look at it but
    /// for them.
    fn tells_of_marks(&self, segment: &Segment, clock: Option<&Clock>) -> bool {
        match self.negotiated.ecn {
            Ecn::Absent => false,
            Ecn::Classic => segment.is(Flags::ECE),
            Ecn::Accurate => is_newest(segment, clock),
        }
    }

    /// What the segment tells the sender of marks.
    fn echo(&mut self, segment: &Segment, clock: Option<&Clock>) -> EcnEcho {
        match self.negotiated.ecn {
            Ecn::Classic if segment.is(Flags::ECE) && !segment.is(Flags::SYN) => EcnEcho::Marked,
            Ecn::Classic | Ecn::Absent => EcnEcho::Silent,
            Ecn::Accurate => self.count_told(segment, is_newest(segment, clock)),
        }
    }

    /// How far `segment` begins behind RCV.NXT, negative if before it.
    pub(super) fn distance(&self, segment: &Segment) -> i64 {
        i64::from(segment.seq.0.wrapping_sub(self.expected().0) as i32)
    }

    /// Bytes of the window as it was last told, from RCV.NXT on.
    fn window(&self) -> i64 {
        (self.receiver.advertised_edge() - self.receiver.in_order_bytes()) as i64
    }

    /// Whether the segment begins in the window: RCV.NXT <= SEG.SEQ < RCV.NXT + RCV.WND.
    fn is_in_window(&self, segment: &Segment) -> bool {
        (0..self.window()).contains(&self.distance(segment))
    }

    /// Whether all of the segment was received before.
    pub(super) fn is_old(&self, segment: &Segment) -> bool {
        self.distance(segment) + i64::from(segment.sequence_len()) <= 0
    }

    /// RFC 9293 §3.10.7.4, first, a little wider, as Linux has it (`tcp_sequence`) and Appendix
    /// A.2 suggests:
    /// - Below, it need not reach RCV.NXT but what was last acknowledged. So the last segment
    ///   counts when it is repeated because its ACK was lost (a FIN whose sender may have ours by
    ///   now), and so does an ACK that data has overtaken while their ACK is delayed. What ends
    ///   further below is dropped, a repetition and a probe one below RCV.NXT alike: the peer's
    ///   next segment says all that they say.
    /// - Above, it may begin where the window ends: with a window of zero at RCV.NXT (its ACK
    ///   counts, its data is cut off), and else the ACKs of a peer whose whole window is in
    ///   flight with its beginning lost.
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

    /// Takes down that data came again, for the ACK that answers it (RFC 2883 §4).
    fn report_duplicate(&mut self, now: Instant, segment: &Segment) {
        if segment.sequence_len() > 0 {
            let _ = self.receiver.handle_data(now, &data(segment));
        }
    }

    /// The peer's window in bytes, counted from `ack`, if the segment brings news of it (RFC
    /// 9293 §3.10.7.4: SND.WL1 and SND.WL2); else what is known already.
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

    /// Position of the segment's FIN in the peer's stream, if it has one.
    fn fin_in(&self, segment: &Segment, next: u64) -> Option<u64> {
        if !segment.is(Flags::FIN) {
            return None;
        }
        let start = next.checked_add_signed(self.distance(segment))?;
        start.checked_add(u64::from(segment.len))
    }

    /// Whether the segment ends the stream elsewhere than an earlier one did, or goes on after
    /// its end. Such a peer is broken, or such a segment forged: nothing of it is taken.
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

    /// Whether the segment would leave one gap more than this end is ready to remember.
    fn leaves_too_many_gaps(&self, segment: &Segment) -> bool {
        self.distance(segment) > 0 && self.is_fragmented()
    }

    /// What of the payload is new and inside the window.
    fn store(&self, segment: &Segment, next: u64) -> Option<Store> {
        let distance = self.distance(segment);
        let start = next.checked_add_signed(distance)?;
        let end = start + u64::from(segment.len);
        let from = start.max(next);
        let until = end.min(self.receiver.advertised_edge());
        (from < until).then(|| Store {
            offset: from,
            // Both are bounded by the segment's length.
            skip: (from - start) as u32,
            len: (until - from) as u32,
        })
    }
}

/// Whether the segment's timestamp is later than all before it.
fn is_newest(segment: &Segment, clock: Option<&Clock>) -> bool {
    let stamps = segment.options.timestamps.zip(clock);
    stamps.is_some_and(|(stamps, clock)| clock.ahead(stamps.value) > 0)
}

/// What the receiver is to know of a segment; timestamps are the connection's.
fn data(segment: &Segment) -> DataSegment {
    DataSegment {
        seq: segment.seq,
        len: segment.sequence_len(),
        timestamp: None,
        order: None,
    }
}
