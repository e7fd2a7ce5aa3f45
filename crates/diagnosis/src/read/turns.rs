//! Turns of a connection: one end asks, the other answers.
//!
//! A request begins when the asking end sends data after data of the other end. Its answer begins with the first data of the other
//! end that acknowledges the request. Data that goes on after the next request was sent, without acknowledging it, still belongs
//! to the answer before: the requests are pipelined (RFC 9112 §9.3.2), and are joined into one turn, as their answers
//! have no visible boundary.
//!
//! The end that opened the connection asks. Where the capture has no SYN, the end with the higher port does: servers listen on low
//! ones (RFC 6335 §6). Data of the other end before the first request, such as the greeting of a mail server, is no answer.
//!
//! Bytes that are repeated before they are acknowledged count as the end of their message: the receiver may have had to wait for
//! them.

use dupack_tcp::connection::Flags;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::{Packet, is_after};
use crate::read::side::{Both, Side};

/// Data that lies farther than this from all data before it is not of this stream (ours: the largest window, RFC 7323 §2.3).
const FARTHEST: u32 = 1 << 30;

/// A receiver delays an ACK for no less (Linux: `TCP_DELACK_MIN`).
const DELAYED_ACK: Duration = Duration::from_millis(40);

/// Time that a sender spent otherwise than in sending, summed up since its stream began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Repairing losses: recoveries, and timers that had to expire.
    pub repair: Duration,
    /// Stopped by the receive window.
    pub window: Duration,
    /// Waiting for its application.
    pub paused: Duration,
}

impl Spent {
    const fn since(&self, before: &Self) -> Self {
        Self {
            repair: self.repair.saturating_sub(before.repair),
            window: self.window.saturating_sub(before.window),
            paused: self.paused.saturating_sub(before.paused),
        }
    }
}

/// Data that one end sends until it is the other's turn. Times and packets are those of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Time of its first byte.
    pub first_at: Instant,
    /// Packet of its first byte.
    pub first_packet: u64,
    /// Time of the last packet that carried some of it before all was acknowledged.
    pub last_at: Instant,
    /// That packet.
    pub last_packet: u64,
    /// Bytes of the stream.
    pub bytes: u64,
    /// Time of its last byte at the other end, plus the least time from there to here: the last packet may have waited in a queue, as
    /// its ACK shows. [`Self::last_at`] where that tells nothing.
    pub over_at: Instant,
    /// Time that the ACK of all of it came later than the end of the message explains: the other end delayed it.
    pub ack_held: Duration,
    /// When its last byte was sent first.
    pub sent_at: Instant,
    /// When the other end acknowledged all of it by a packet without data, if it did.
    pub heard_at: Option<Instant>,
    /// Time that its sender spent otherwise, between the two: after the last new byte everything is repair.
    pub spent: Spent,
    start: SeqNumber,
    end: SeqNumber,
    before: Spent,
    acks: Acks,
}

/// ACKs of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Acks {
    /// The last two that advanced and were not of all of it, the later one second.
    parts: [Option<(Instant, SeqNumber)>; 2],
    /// When the first of all of it came.
    whole_at: Option<Instant>,
    /// `true` if that ACK travelled alone, `false` if with data or a FIN, which its application had to send.
    alone: bool,
}

impl Acks {
    /// The other end has acknowledged everything before `ack` of a message that ends with `end`. An ACK that does not advance tells
    /// nothing.
    fn take(&mut self, at: Instant, ack: SeqNumber, end: SeqNumber, alone: bool) {
        let [_, last] = self.parts;
        if self.whole_at.is_some() || last.is_some_and(|(_, last)| !is_after(ack.0, last.0)) {
            return;
        }
        if is_after(end.0, ack.0) {
            self.parts = [last, Some((at, ack))];
        } else {
            (self.whole_at, self.alone) = (Some(at), alone);
        }
    }

    /// More of the message was sent. What came before a pause in which nothing was outstanding tells nothing of it.
    fn goes_on(&mut self) {
        if self.whole_at.is_some() {
            *self = Self::default();
        }
    }

    /// When an ACK of all that ends with `end` would have come without delay. It is that which came, if it travelled alone less than
    /// [`DELAYED_ACK`] after another, or after all could have arrived, at `arrived`. Otherwise the rest is taken to have come as the
    /// part before it did.
    fn prompt(&self, arrived: Instant, end: SeqNumber) -> Option<Instant> {
        let [before, last] = self.parts;
        let sure = last.map_or(arrived, |(at, _)| arrived.max(at));
        let prompt = |whole: &Instant| self.alone && whole.since(sure) < DELAYED_ACK;
        if let Some(whole_at) = self.whole_at.filter(prompt) {
            return Some(whole_at);
        }
        let (at, ack) = last?;
        let Some(whole_at) = self.whole_at else {
            return Some(at);
        };
        let rest = before.map_or(Duration::ZERO, |(before_at, before_ack)| {
            let part = u64::from(ack.0.wrapping_sub(before_ack.0)).max(1);
            at.since(before_at) / part * u64::from(end.0.wrapping_sub(ack.0))
        });
        Some(whole_at.min(at + rest))
    }
}

/// Data of one packet.
#[derive(Clone, Copy, Debug)]
struct Piece {
    at: Instant,
    packet: u64,
    start: SeqNumber,
    end: SeqNumber,
    spent: Spent,
}

impl Message {
    fn new(piece: &Piece) -> Self {
        let mut message = Self {
            first_at: piece.at,
            first_packet: piece.packet,
            last_at: piece.at,
            last_packet: piece.packet,
            over_at: piece.at,
            ack_held: Duration::ZERO,
            sent_at: piece.at,
            heard_at: None,
            bytes: 0,
            spent: Spent::default(),
            start: piece.start,
            end: piece.start,
            before: piece.spent,
            acks: Acks::default(),
        };
        message.extend(piece);
        message
    }

    fn extend(&mut self, piece: &Piece) {
        self.bytes += u64::from(piece.end.0.wrapping_sub(self.end.0));
        self.end = piece.end;
        self.last_at = self.last_at.max(piece.at);
        self.last_packet = piece.packet;
        self.spent = piece.spent.since(&self.before);
        self.over_at = self.last_at;
        self.sent_at = piece.at;
        self.heard_at = None;
        self.acks.goes_on();
    }

    /// The other end has acknowledged everything before `ack`, by a packet that carries nothing else if `alone`.
    fn acknowledged(&mut self, at: Instant, ack: SeqNumber, alone: bool) {
        if is_after(ack.0, self.start.0) {
            self.acks.take(at, ack, self.end, alone);
        }
    }

    /// Works out when it was over, if ACKs take `way` at the least from here to the other end and back; `None` where the capture was
    /// taken at that end.
    pub(crate) fn close(&mut self, way: Option<Duration>) {
        let arrived = self.last_at + way.unwrap_or_default();
        if let Some(way) = way
            && let Some(prompt) = self.acks.prompt(arrived, self.end)
        {
            self.over_at = self.last_at.max(prompt - way);
        }
        let due = self.over_at + way.unwrap_or_default();
        self.ack_held = self.acks.whole_at.unwrap_or(due).since(due);
    }

    /// Bytes of it were sent again.
    fn repeat(&mut self, piece: &Piece) {
        let last_at = self.last_at.max(piece.at);
        self.spent.repair += last_at.since(self.last_at);
        self.last_at = last_at;
        self.over_at = last_at;
        self.last_packet = piece.packet;
    }
}

/// A request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// End that asks.
    pub asker: Side,
    /// Request; of pipelined ones the first, with the bytes of all.
    pub request: Message,
    /// Answer; of pipelined requests all of them.
    pub answer: Message,
    /// Pipelined requests beyond the first.
    pub joined: u32,
    /// Time at which the answer before was over.
    pub answered_before: Option<Instant>,
}

/// Turn whose answer is not over yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    request: Message,
    answer: Option<Message>,
    joined: u32,
    answered_before: Option<Instant>,
}

impl Open {
    const fn new(request: Message, answered_before: Option<Instant>) -> Self {
        Self {
            request,
            answer: None,
            joined: 0,
            answered_before,
        }
    }

    fn close(self, asker: Side) -> Option<Turn> {
        Some(Turn {
            asker,
            request: self.request,
            answer: self.answer?,
            joined: self.joined,
            answered_before: self.answered_before,
        })
    }
}

/// Sequence numbers of the data of one end.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    /// Number after the last byte that was sent.
    next: Option<SeqNumber>,
    /// Highest number that the other end has acknowledged.
    acked: Option<SeqNumber>,
}

/// Finds the turns of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    asker: Side,
    numbers: Both<Numbers>,
    /// End that sent new data last.
    last: Option<Side>,
    open: Option<Open>,
    /// Request that was sent after the answer of the open turn had begun.
    coming: Option<Message>,
}

impl Turns {
    /// Turns of a connection in which `asker` asks.
    pub(crate) const fn new(asker: Side) -> Self {
        let numbers = Numbers {
            next: None,
            acked: None,
        };
        Self {
            asker,
            numbers: Both {
                opener: numbers,
                answerer: numbers,
            },
            last: None,
            open: None,
            coming: None,
        }
    }

    /// Takes in a packet of `side`, whose stream has spent that much time so far. Returns the turn that it shows to be over.
    pub(crate) fn take(
        &mut self,
        side: Side,
        packet: &Packet,
        spent: impl FnOnce() -> Spent,
    ) -> Option<Turn> {
        if packet.segment.is(Flags::RST) {
            return None;
        }
        let ack = packet.segment.ack;
        if let Some(ack) = ack {
            if side != self.asker && packet.segment.len == 0 {
                self.heard(packet.at, ack);
            }
            if side == self.asker
                && let Some(answer) = self.open.as_mut().and_then(|open| open.answer.as_mut())
            {
                let alone = packet.segment.len == 0 && !packet.segment.is(Flags::FIN);
                answer.acknowledged(packet.at, ack, alone);
            }
            let acked = &mut self.numbers.of_mut(side.other()).acked;
            if acked.is_none_or(|acked| is_after(ack.0, acked.0)) {
                *acked = Some(ack);
            }
        }
        if packet.segment.len == 0 {
            return None;
        }
        let numbers = self.numbers.of_mut(side);
        let first = packet.data_seq();
        let end = first.at(u64::from(packet.segment.len));
        let start = numbers.next.unwrap_or(first);
        let mut piece = Piece {
            at: packet.at,
            packet: packet.number,
            start,
            end,
            spent: Spent::default(),
        };
        if !is_after(end.0, start.0) {
            if numbers.acked.is_none_or(|acked| is_after(end.0, acked.0)) {
                self.repeated(side, &piece);
            }
            return None;
        }
        if end.0.wrapping_sub(start.0) > FARTHEST {
            return None;
        }
        numbers.next = Some(end);
        piece.spent = spent();
        let over = if side == self.asker {
            self.asked(&piece, ack);
            None
        } else {
            self.answered(&piece, ack)
        };
        self.last = Some(side);
        over
    }

    /// The answering end has acknowledged everything before `ack`, without an answer.
    fn heard(&mut self, at: Instant, ack: SeqNumber) {
        let unanswered = self.open.as_mut().filter(|open| open.answer.is_none());
        let request = self
            .coming
            .as_mut()
            .or(unanswered.map(|open| &mut open.request));
        if let Some(request) = request.filter(|request| !is_after(request.end.0, ack.0)) {
            request.heard_at.get_or_insert(at);
        }
    }

    /// The asking end has sent new data.
    fn asked(&mut self, piece: &Piece, ack: Option<SeqNumber>) {
        let goes_on = self.last == Some(self.asker);
        let answered = self.numbers.of(self.asker.other()).next;
        let Some(open) = &mut self.open else {
            self.open = Some(Open::new(Message::new(piece), None));
            return;
        };
        if open.answer.is_none() {
            open.request.extend(piece);
        } else if let Some(coming) = &mut self.coming {
            coming.extend(piece);
        } else {
            // The asking end did not have all of the answer yet.
            let lacks = answered.zip(ack);
            let lacks = lacks.is_some_and(|(next, ack)| is_after(next.0, ack.0));
            if lacks || goes_on {
                open.joined += u32::from(!goes_on);
                open.request.bytes += u64::from(piece.end.0.wrapping_sub(piece.start.0));
            } else {
                self.coming = Some(Message::new(piece));
            }
        }
    }

    /// The other end has sent new data.
    fn answered(&mut self, piece: &Piece, ack: Option<SeqNumber>) -> Option<Turn> {
        let knows = |request: &Message| ack.is_none_or(|ack| is_after(ack.0, request.start.0));
        let open = self.open.as_mut()?;
        let mut over = None;
        if let Some(coming) = self.coming.take() {
            if knows(&coming) {
                let before = open.answer.map(|answer| answer.last_at);
                over = core::mem::replace(open, Open::new(coming, before)).close(self.asker);
            } else {
                open.joined += 1;
                open.request.bytes += coming.bytes;
            }
        }
        match &mut open.answer {
            Some(answer) => answer.extend(piece),
            None if knows(&open.request) => {
                let partly = ack.is_some_and(|ack| is_after(open.request.end.0, ack.0));
                open.joined += u32::from(partly);
                open.answer = Some(Message::new(piece));
            }
            None => {}
        }
        over
    }

    /// An end has sent something again that is not acknowledged.
    fn repeated(&mut self, side: Side, piece: &Piece) {
        let Some(open) = &mut self.open else {
            return;
        };
        let message = match (side == self.asker, &mut self.coming, &mut open.answer) {
            (true, Some(coming), _) => coming,
            (true, None, None) => &mut open.request,
            (false, _, Some(answer)) => answer,
            (true, None, Some(_)) | (false, _, None) => return,
        };
        if is_after(piece.end.0, message.start.0) {
            message.repeat(piece);
        }
    }

    /// The answer before the open turn was over then.
    pub(crate) fn answered_before(&mut self, over_at: Instant) {
        if let Some(open) = &mut self.open {
            open.answered_before = open.answered_before.and(Some(over_at));
        }
    }

    /// Nothing more is to come. Returns the last turn, if it was answered.
    pub(crate) fn finish(&mut self) -> Option<Turn> {
        self.open.take()?.close(self.asker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::{from, ms};

    /// All turns of the packets.
    fn turns(packets: &[Packet]) -> Vec<Turn> {
        let mut turns = Turns::new(Side::Opener);
        let mut found = Vec::new();
        for packet in packets {
            let side = match packet.source == crate::read::packet::tests::address(Side::Opener) {
                true => Side::Opener,
                false => Side::Answerer,
            };
            found.extend(turns.take(side, packet, Spent::default));
        }
        found.extend(turns.finish());
        found
    }

    fn asks(at: f64, seq: u32, ack: u32) -> Packet {
        from(Side::Opener, at, seq).len(100).ack(ack)
    }

    fn answers(at: f64, seq: u32, ack: u32) -> Packet {
        from(Side::Answerer, at, seq).len(1000).ack(ack)
    }

    /// First and last times of request and answer in milliseconds, the bytes of both, and the requests joined.
    fn told(turn: &Turn) -> ([f64; 4], [u64; 2], u32) {
        let (request, answer) = (turn.request, turn.answer);
        let times = [
            request.first_at,
            request.last_at,
            answer.first_at,
            answer.last_at,
        ];
        (
            times.map(|at| at.since(ms(0.0)).as_secs_f64() * 1e3),
            [request.bytes, answer.bytes],
            turn.joined,
        )
    }

    #[test]
    fn a_turn_is_over_when_the_next_request_is_answered() {
        let found = turns(&[
            // A greeting answers nothing.
            answers(0.0, 1, 1),
            asks(10.0, 1, 1001),
            asks(11.0, 101, 1001),
            answers(20.0, 1001, 201),
            answers(21.0, 2001, 201),
            asks(30.0, 201, 3001),
            answers(50.0, 3001, 301),
        ]);
        let all: Vec<_> = found.iter().map(told).collect();
        assert_eq!(
            all,
            [
                ([10.0, 11.0, 20.0, 21.0], [200, 2000], 0),
                ([30.0, 30.0, 50.0, 50.0], [100, 1000], 0)
            ]
        );
        assert_eq!(found[0].answered_before, None);
        assert_eq!(found[1].answered_before, Some(ms(21.0)));
    }

    #[test]
    fn requests_sent_before_the_answer_is_over_are_joined() {
        // The answer goes on without acknowledging the second request, as captured at the client.
        let crossing = turns(&[
            asks(0.0, 1, 1),
            answers(10.0, 1, 101),
            asks(10.1, 101, 1001),
            answers(10.2, 1001, 101),
            answers(20.0, 2001, 201),
        ]);
        // The second request does not acknowledge all of the answer, as captured at the server.
        let behind = turns(&[
            asks(0.0, 1, 1),
            answers(10.0, 1, 101),
            answers(10.1, 1001, 101),
            asks(15.0, 101, 1001),
            asks(15.1, 201, 2001),
            answers(20.0, 2001, 301),
        ]);
        let all: Vec<_> = crossing.iter().chain(&behind).map(told).collect();
        assert_eq!(
            all,
            [
                ([0.0, 0.0, 10.0, 20.0], [200, 3000], 1),
                ([0.0, 0.0, 10.0, 20.0], [300, 3000], 1)
            ]
        );
    }

    #[test]
    fn a_message_ends_with_its_last_repair_before_it_is_acknowledged() {
        let found = turns(&[
            asks(0.0, 1, 1),
            asks(200.0, 1, 1),
            answers(210.0, 1, 101),
            answers(210.1, 1001, 101),
            answers(410.0, 1, 101),
            from(Side::Opener, 420.0, 101).ack(2001),
            // A late copy, after everything was acknowledged.
            answers(600.0, 1001, 101),
        ]);
        let all: Vec<_> = found.iter().map(told).collect();
        assert_eq!(all, [([0.0, 200.0, 210.0, 410.0], [100, 2000], 0)]);
    }

    #[test]
    fn a_request_without_an_answer_is_no_turn() {
        assert_eq!(turns(&[asks(0.0, 1, 1)]), []);
        assert_eq!(turns(&[answers(0.0, 1, 1)]), []);
    }
}
