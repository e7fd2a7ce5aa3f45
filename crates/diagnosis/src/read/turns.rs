//! Turns of a connection: one endpoint sends a request, and the other endpoint responds.
//!
//! A request begins when the requesting endpoint sends data after data from the other endpoint. Its response begins
//! with the first data from the other endpoint that acknowledges the request. Data that follows the next request
//! without acknowledging it still belongs to the previous response: the requests are pipelined (RFC 9112 §9.3.2).
//! Pipelined requests are joined into one turn, because the boundaries of their responses are not visible.
//!
//! The endpoint that opened the connection sends requests. If the capture has no SYN, the endpoint with the higher port
//! sends requests, because servers listen on low ports (RFC 6335 §6). Data from the other endpoint before the first
//! request, such as the greeting of a mail server, is not a response.
//!
//! If bytes are retransmitted before they are acknowledged, the retransmission counts as the end of their message,
//! because the receiver may have had to wait for it.

use dupack_tcp::connection::Flags;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::read::packet::{Packet, is_after};
use crate::read::side::{Both, Side};

/// Maximum distance of data from all earlier data of its stream (our choice: the maximum window, RFC 7323 §2.3).
const FARTHEST: u32 = 1 << 30;

/// Minimum time by which a receiver delays an ACK (Linux: `TCP_DELACK_MIN`).
const DELAYED_ACK: Duration = Duration::from_millis(40);

/// Total time that a sender has spent on anything other than sending since its stream began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Time spent on loss repair: recoveries, and waiting for timers.
    pub repair: Duration,
    /// Time during which the receive window blocked the sender.
    pub window: Duration,
    /// Time spent waiting for the sender's application.
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

/// Data that one endpoint sends in its turn. Times and packets are those of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Capture time of the first byte.
    pub first_at: Instant,
    /// Capture number of the packet with the first byte.
    pub first_packet: u64,
    /// Capture time of the last packet that carried a part of the message before all of it was acknowledged.
    pub last_at: Instant,
    /// Capture number of that packet.
    pub last_packet: u64,
    /// Number of bytes of the message in the stream.
    pub bytes: u64,
    /// Arrival time of the last byte at the other endpoint, plus the minimum delay from there to the capture point. The
    /// ACK shows whether the last packet waited in a queue. If the ACKs do not show the time, it is [`Self::last_at`].
    pub over_at: Instant,
    /// Delay of the final ACK after the end of the message, caused by the other endpoint.
    pub ack_held: Duration,
    /// Time of the first transmission of the last byte.
    pub sent_at: Instant,
    /// Time at which the other endpoint acknowledged the whole message in a packet without data; `None` if it did not.
    pub heard_at: Option<Instant>,
    /// Time between the first and the last byte that the sender spent on anything other than sending. All time after
    /// the last new byte counts as repair.
    pub spent: Spent,
    start: SeqNumber,
    end: SeqNumber,
    before: Spent,
    acks: Acks,
}

/// ACKs of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Acks {
    /// Last two ACKs that acknowledged new data but not the whole message, in the order of arrival.
    parts: [Option<(Instant, SeqNumber)>; 2],
    /// Time of the first ACK of the whole message.
    whole_at: Option<Instant>,
    /// `true` if that ACK arrived alone; `false` if it arrived with data or a FIN, which the application had to send.
    alone: bool,
}

impl Acks {
    /// Processes an ACK of everything before `ack`, for a message that ends at `end`. An ACK without new data is
    /// ignored.
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

    /// Continues the message. The ACKs before a pause in which nothing was outstanding are discarded.
    fn goes_on(&mut self) {
        if self.whole_at.is_some() {
            *self = Self::default();
        }
    }

    /// Returns the time at which an undelayed ACK of everything up to `end` would have arrived. This is the time of the
    /// actual ACK if it arrived alone and less than [`DELAYED_ACK`] after the previous ACK, or after `arrived`, the
    /// time at which everything could have arrived. Otherwise, the remaining data is assumed to have arrived at the
    /// rate of the data before it.
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

/// Data in one packet.
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

    /// Processes an ACK of everything before `ack`. `alone` is `true` if the ACK arrived without data or a FIN.
    fn acknowledged(&mut self, at: Instant, ack: SeqNumber, alone: bool) {
        if is_after(ack.0, self.start.0) {
            self.acks.take(at, ack, self.end, alone);
        }
    }

    /// Computes the time at which the message was complete. `way` is the minimum time from the capture point to the
    /// other endpoint and back; `None` if the capture was taken at that endpoint.
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

    /// Records a retransmission of bytes of the message.
    fn repeat(&mut self, piece: &Piece) {
        let last_at = self.last_at.max(piece.at);
        self.spent.repair += last_at.since(self.last_at);
        self.last_at = last_at;
        self.over_at = last_at;
        self.last_packet = piece.packet;
    }
}

/// Request and response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Endpoint that sends the request.
    pub asker: Side,
    /// Request. If requests were pipelined, it is the first one, with the bytes of all of them.
    pub request: Message,
    /// Response. If requests were pipelined, it consists of the responses to all of them.
    pub answer: Message,
    /// Number of pipelined requests after the first one.
    pub joined: u32,
    /// Time at which the previous response was complete.
    pub answered_before: Option<Instant>,
}

/// Turn whose response is not complete.
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

/// Sequence numbers of the data of one endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    /// Sequence number after the last byte sent.
    next: Option<SeqNumber>,
    /// Highest sequence number that the other endpoint has acknowledged.
    acked: Option<SeqNumber>,
}

/// Detector of the turns of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    asker: Side,
    numbers: Both<Numbers>,
    /// Endpoint that last sent new data.
    last: Option<Side>,
    open: Option<Open>,
    /// Request that was sent after the response of the open turn had begun.
    coming: Option<Message>,
}

impl Turns {
    /// Creates a detector for a connection in which `asker` sends the requests.
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

    /// Processes a packet from `side`. `spent` returns the time that the stream of `side` has spent so far. Returns the
    /// turn that was completed before this packet, if there is one.
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

    /// Records that the responding endpoint acknowledged everything before `ack` without a response.
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

    /// Records new data from the requesting endpoint.
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
            // The requesting endpoint has not received the whole response, so the requests are pipelined.
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

    /// Records new data from the responding endpoint. Returns the previous turn if this data begins the next response.
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

    /// Records a retransmission of data that is not acknowledged.
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

    /// Sets the time at which the response before the open turn was completed.
    pub(crate) fn answered_before(&mut self, over_at: Instant) {
        if let Some(open) = &mut self.open {
            open.answered_before = open.answered_before.and(Some(over_at));
        }
    }

    /// Processes the end of the connection. Returns the last turn; `None` if it has no response.
    pub(crate) fn finish(&mut self) -> Option<Turn> {
        self.open.take()?.close(self.asker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::{from, ms};

    /// Returns all turns that the packets show.
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

    /// Returns the times of the first and last packets of request and response in milliseconds, the bytes of both, and
    /// the number of joined requests.
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
    fn a_turn_ends_when_the_next_request_is_answered() {
        let found = turns(&[
            // A greeting is not a response.
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
    fn requests_sent_during_a_response_are_joined() {
        // Captured at the client: the response continues without acknowledging the second request.
        let crossing = turns(&[
            asks(0.0, 1, 1),
            answers(10.0, 1, 101),
            asks(10.1, 101, 1001),
            answers(10.2, 1001, 101),
            answers(20.0, 2001, 201),
        ]);
        // Captured at the server: the second request does not acknowledge the whole response.
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
    fn a_message_ends_with_its_last_retransmission_before_it_is_acknowledged() {
        let found = turns(&[
            asks(0.0, 1, 1),
            asks(200.0, 1, 1),
            answers(210.0, 1, 101),
            answers(210.1, 1001, 101),
            answers(410.0, 1, 101),
            from(Side::Opener, 420.0, 101).ack(2001),
            // This is a late retransmission, after everything was acknowledged.
            answers(600.0, 1001, 101),
        ]);
        let all: Vec<_> = found.iter().map(told).collect();
        assert_eq!(all, [([0.0, 200.0, 210.0, 410.0], [100, 2000], 0)]);
    }

    #[test]
    fn a_request_without_a_response_is_not_a_turn() {
        assert_eq!(turns(&[asks(0.0, 1, 1)]), []);
        assert_eq!(turns(&[answers(0.0, 1, 1)]), []);
    }
}
