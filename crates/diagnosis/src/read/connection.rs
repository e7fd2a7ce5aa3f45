//! State of one connection: two data streams and facts about both endpoints.

use std::net::SocketAddr;

use dupack_tcp::connection::Flags;
use dupack_tcp::options::Sack;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::read::copies::Copies;
use crate::read::counts::Counts;
use crate::read::ending::{Ending, Endings};
use crate::read::follow::{Attention, Beginning, Follower, Onlooker, StreamId};
use crate::read::handshake::{Agreement, Handshake};
use crate::read::packet::{Packet, is_after};
use crate::read::segment_size::SegmentSize;
use crate::read::side::{Both, Side};
use crate::read::silence::{Silence, Silences};
use crate::read::stream::{Opening, Stream};
use crate::read::turns::{Spent, Turn, Turns};
use crate::read::vantage::{Place, Vantage};
use crate::read::ways::{News, Ways};

/// Maximum number of packets held back at the beginning of a connection whose SYN is missing from the capture (our
/// choice). Packets are held back until the capture point is known, but not for longer than [`HELD_FOR_MAX`] (our
/// choice: a few round trips of most paths).
const HELD_PACKETS_MAX: usize = 64;
const HELD_FOR_MAX: Duration = Duration::from_secs(1);
/// Number of answers of each endpoint after which the capture point counts as known (our choice: delayed ACKs make
/// single answers late).
const ANSWERS_WANTED: u32 = 4;

/// Maximum distance in bytes from the last ACK to the first captured data (our choice). This much data may be
/// outstanding when the capture begins.
const OUTSTANDING_MAX: u32 = 1 << 24;

/// Time without packets after which a SYN with another sequence number starts a new connection even if the old one is
/// not closed: the end of the old connection is missing from the capture. No host sends such a SYN in the middle of a
/// connection; a SYN that arrives sooner is spoofed (RFC 5961 §4).
const SILENT_FOR: Duration = Duration::from_secs(1);

/// Relation of a packet to the connection between its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// The packet belongs to this connection.
    Here,
    /// The packet is the first of another connection.
    ToAnother,
}

/// Last ACK of one endpoint, stored until a stream is opened, which then stores it.
#[derive(Clone, Copy, Debug)]
struct LastAck {
    ack: SeqNumber,
    window: u16,
    /// `true` if the ACK was in a SYN, so that its window is not scaled.
    is_syn: bool,
}

/// TCP connection of a capture.
#[derive(Debug)]
pub struct Connection<F> {
    number: u64,
    first_packet: u64,
    addresses: Both<SocketAddr>,
    handshake: Handshake,
    /// Window scale shift of each endpoint, as far as the SYNs show it.
    scales: Both<Option<u8>>,
    endings: Endings,
    silences: Silences,
    /// SYNs with data (TCP Fast Open, RFC 7413), stored until an answer shows whether the data was accepted.
    syn_data: Both<Option<Box<Packet>>>,
    first_at: Instant,
    last_at: Instant,
    ways: Ways,
    counts: Both<Counts>,
    copies: Both<Copies>,
    last_acks: Both<Option<LastAck>>,
    streams: Both<Option<Box<Stream<F>>>>,
    /// Requests and responses; `None` before the first data.
    turns: Option<Box<Turns>>,
    /// First packets, held back until the capture point is known; `None` afterwards.
    held: Option<Vec<Packet>>,
}

impl<F: Follower> Connection<F> {
    /// Creates the connection whose first packet is `packet`, without processing that packet.
    pub(crate) fn new(number: u64, packet: &Packet) -> Self {
        let answers = packet.segment.is(Flags::SYN) && packet.segment.ack.is_some();
        let (opener, answerer) = if answers {
            (packet.destination, packet.source)
        } else {
            (packet.source, packet.destination)
        };
        let begins = packet.segment.is(Flags::SYN) || packet.segment.is(Flags::RST);
        Self {
            number,
            first_packet: packet.number,
            addresses: Both { opener, answerer },
            handshake: Handshake::default(),
            scales: Both::default(),
            endings: Endings::default(),
            silences: Silences::default(),
            syn_data: Both::default(),
            first_at: packet.at,
            last_at: packet.at,
            ways: Ways::default(),
            counts: Both::default(),
            copies: Both::default(),
            last_acks: Both::default(),
            streams: Both::default(),
            turns: None,
            held: (!begins).then(Vec::new),
        }
    }

    /// Returns the connection number. Connections are numbered from 1 in the order of their first packets.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the capture number of the first packet.
    pub(crate) const fn first_packet(&self) -> u64 {
        self.first_packet
    }

    /// Changes the connection number. The followers of the connection's streams are not notified.
    pub(crate) fn renumber(&mut self, number: u64) {
        self.number = number;
        for side in Side::BOTH {
            let id = self.stream_id(side);
            if let Some(stream) = self.streams.of_mut(side) {
                stream.rename(id);
            }
        }
    }

    /// Returns the address and port of an endpoint.
    pub const fn address(&self, side: Side) -> SocketAddr {
        *self.addresses.of(side)
    }

    /// Returns the SYNs of the connection.
    pub const fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    /// Returns the end of the connection: FINs and resets.
    pub const fn ending(&self) -> &Ending {
        self.endings.ending()
    }

    /// Returns the endpoint that stopped sending; `None` if there is none, or if this endpoint reset the connection.
    pub fn silence(&self) -> Option<Silence> {
        let reset = self.ending().reset.map(|reset| reset.side);
        self.silences
            .silence()
            .filter(|silence| reset != Some(silence.side))
    }

    /// Returns the capture time of the first packet.
    pub const fn first_at(&self) -> Instant {
        self.first_at
    }

    /// Returns the capture time of the last packet.
    pub const fn last_at(&self) -> Instant {
        self.last_at
    }

    /// Returns the capture point relative to `sender`, the endpoint that sends the data.
    pub fn vantage(&self, sender: Side) -> Vantage {
        self.ways.vantage(sender)
    }

    /// Returns the counts of the packets that `side` sent.
    pub const fn counts(&self, side: Side) -> &Counts {
        self.counts.of(side)
    }

    /// Returns the data stream of `sender`; `None` if it sent no data.
    pub fn stream(&self, sender: Side) -> Option<&Stream<F>> {
        self.streams.of(sender).as_deref()
    }

    /// Removes and returns the data stream of `sender`.
    pub fn take_stream(&mut self, sender: Side) -> Option<Stream<F>> {
        self.streams.of_mut(sender).take().map(|stream| *stream)
    }

    /// Returns `true` if the connection has carried data.
    pub const fn has_data(&self) -> bool {
        self.streams.opener.is_some() || self.streams.answerer.is_some()
    }

    /// Returns the approximate memory, in bytes, that grows with the number of packets.
    pub(crate) fn memory(&self) -> usize {
        let held = self.held.as_ref().map_or(0, Vec::capacity);
        let of = |stream: &Option<Box<Stream<F>>>| {
            stream
                .as_ref()
                .map_or(0, |s| size_of::<Stream<F>>() + s.memory())
        };
        held * size_of::<Packet>() + of(&self.streams.opener) + of(&self.streams.answerer)
    }

    /// Returns the relation of a packet between these addresses to this connection.
    pub(crate) fn belongs(&self, packet: &Packet) -> Belongs {
        let side = self.side(packet);
        let lost = self.streams.of(side).as_ref().is_some_and(|s| s.is_lost());
        let segment = &packet.segment;
        if lost && packet.is_of_stream() {
            return Belongs::ToAnother;
        }
        if !segment.is(Flags::SYN) || segment.ack.is_some() {
            return Belongs::Here;
        }
        let known = self.handshake.syns.of(side);
        let silent = packet.at.since(self.last_at) >= SILENT_FOR;
        let other = match known {
            Some(syn) => syn.isn != segment.seq,
            // This is a simultaneous open (RFC 9293 §3.5, figure 7), or the SYN-ACK was captured before the SYN.
            None => self.has_data() || self.held.is_some() || self.ending().is_over(),
        };
        let unanswered = !self.has_data() && self.handshake.syns.of(side.other()).is_none();
        if other && (self.ending().is_over() || silent || (unanswered && known.is_some())) {
            Belongs::ToAnother
        } else {
            Belongs::Here
        }
    }

    fn side(&self, packet: &Packet) -> Side {
        if packet.source == self.addresses.opener {
            Side::Opener
        } else {
            Side::Answerer
        }
    }

    /// Processes a packet of this connection.
    pub(crate) fn take(&mut self, packet: &Packet, onlooker: &mut dyn Onlooker) {
        let side = self.side(packet);
        self.last_at = self.last_at.max(packet.at);
        if let Some(held) = &mut self.held {
            self.ways.take(side, packet);
            held.push(*packet);
            let long = packet.at.since(self.first_at) > HELD_FOR_MAX;
            let known = self.ways.answers() >= ANSWERS_WANTED;
            if held.len() >= HELD_PACKETS_MAX || long || known {
                self.release(onlooker);
            }
        } else if self.enter(side, packet, onlooker) {
            if self.ways.take(side, packet) == News::Some {
                self.tell_vantage();
            }
            self.feed(side, packet, onlooker);
        }
    }

    /// Counts a packet, and processes everything in it that is not part of a stream. Returns `false` if the packet is a
    /// copy of an earlier one.
    fn enter(&mut self, side: Side, packet: &Packet, onlooker: &mut dyn Onlooker) -> bool {
        if self.copies.of_mut(side).is_copy(packet) {
            self.counts.of_mut(side).copies += 1;
            onlooker.copied(self.stream_id(side), packet.number);
            return false;
        }
        self.count(side, packet);
        self.handshake.take(side, packet);
        if packet.segment.is(Flags::SYN) {
            for side in Side::BOTH {
                *self.scales.of_mut(side) = self.handshake.window_scale(side);
            }
        }
        let scale = *self.scales.of(side);
        self.endings.take(side, packet, &self.handshake, scale);
        self.silences.take(side, packet);
        true
    }

    fn stream_id(&self, sender: Side) -> StreamId {
        StreamId {
            connection: self.number,
            sender,
        }
    }

    fn count(&mut self, side: Side, packet: &Packet) {
        let scale = *self.scales.of(side);
        let (this, other) = match side {
            Side::Opener => (&mut self.counts.opener, &mut self.counts.answerer),
            Side::Answerer => (&mut self.counts.answerer, &mut self.counts.opener),
        };
        this.take(other, packet, scale);
    }

    fn tell_vantage(&mut self) {
        for side in Side::BOTH {
            let vantage = self.ways.vantage(side);
            if let Some(stream) = self.streams.of_mut(side) {
                stream.set_vantage(&vantage);
            }
        }
    }

    /// Processes all packets that were held back.
    fn release(&mut self, onlooker: &mut dyn Onlooker) {
        let Some(mut held) = self.held.take() else {
            return;
        };
        for side in Side::BOTH {
            let source = *self.addresses.of(side);
            let own = held.iter().filter(|packet| packet.source == source);
            self.copies.of_mut(side).learn(own);
        }
        held.retain(|packet| self.enter(self.side(packet), packet, onlooker));
        for side in Side::BOTH {
            self.begin_in_the_middle(side, &held, onlooker);
        }
        for packet in &held {
            self.feed(self.side(packet), packet, onlooker);
        }
    }

    /// Opens a stream whose SYN is missing from the capture. The stream starts with the lowest byte that the first
    /// packets send or acknowledge.
    fn begin_in_the_middle(&mut self, sender: Side, held: &[Packet], onlooker: &mut dyn Onlooker) {
        let of = |side: Side| {
            let source = *self.addresses.of(side);
            held.iter().filter(move |packet| packet.source == source)
        };
        let mut data = of(sender).filter(|packet| packet.is_of_stream());
        let Some(beginning) = data.next() else {
            return;
        };
        let first = beginning.data_seq();
        let lowest = data.map(Packet::data_seq).fold(first, earlier);
        let acks = of(sender.other()).filter_map(|packet| packet.segment.ack);
        let lowest = acks.fold(lowest, |lowest, ack| {
            let before = lowest.0.wrapping_sub(ack.0);
            if before <= OUTSTANDING_MAX {
                ack
            } else {
                lowest
            }
        });
        let beyond = first.0.wrapping_sub(lowest.0);
        let first = if beyond <= OUTSTANDING_MAX {
            lowest
        } else {
            first
        };
        let mut size = SegmentSize::new(self.handshake.smss());
        for packet in of(sender) {
            size.take(packet.segment.len);
        }
        let sacked = of(sender.other()).any(|packet| !packet.segment.options.sacks.is_empty());
        let sack = Sack::when(sacked);
        self.open(sender, beginning.at, (first, size, sack), onlooker);
    }

    /// Passes a packet to both streams. The data of a SYN is stored until the answer. If the server does not accept the
    /// data, it is not part of the stream, and the client sends it again as new data (RFC 7413 §4.1.2).
    fn feed(&mut self, side: Side, packet: &Packet, onlooker: &mut dyn Onlooker) {
        if packet.segment.is(Flags::SYN) && packet.segment.len > 0 {
            self.syn_data
                .of_mut(side)
                .get_or_insert_with(|| Box::new(*packet));
            let mut bare = *packet;
            bare.segment.len = 0;
            return self.hand_on(side, &bare, onlooker);
        }
        if let Some(ack) = packet.segment.ack
            && let Some(syn) = self.syn_data.of_mut(side.other()).take()
        {
            let taken = ack.0.wrapping_sub(syn.data_seq().0);
            if (1..=syn.segment.len).contains(&taken) || !packet.segment.is(Flags::SYN) {
                self.hand_on(side.other(), &syn, onlooker);
            } else {
                self.handshake.refused(syn.segment.len);
            }
        }
        self.hand_on(side, packet, onlooker);
    }

    fn hand_on(&mut self, side: Side, packet: &Packet, onlooker: &mut dyn Onlooker) {
        if packet.is_of_stream() && self.streams.of(side).is_none() {
            self.open_at(side, packet, onlooker);
        }
        if let Some(stream) = self.streams.of_mut(side) {
            stream.sent(packet, onlooker);
        }
        match self.streams.of_mut(side.other()) {
            Some(stream) => stream.heard(packet, onlooker),
            None => {
                if let Some(ack) = packet.segment.ack {
                    *self.last_acks.of_mut(side) = Some(LastAck {
                        ack,
                        window: packet.segment.window,
                        is_syn: packet.segment.is(Flags::SYN),
                    });
                }
            }
        }
        self.turn(side, packet);
    }

    /// Processes the packet for the detection of turns, after both streams have processed it.
    fn turn(&mut self, side: Side, packet: &Packet) {
        if self.turns.is_none() {
            if !self.has_data() {
                return;
            }
            self.turns = Some(Box::new(Turns::new(self.asker())));
        }
        let Some(turns) = &mut self.turns else {
            return;
        };
        let stream = self.streams.of(side).as_ref();
        let spent = || stream.map_or_else(Spent::default, |stream| stream.follower().spent());
        if let Some(mut turn) = turns.take(side, packet, spent) {
            close(&mut turn, &self.ways);
            turns.answered_before(turn.answer.over_at);
            self.answered(&turn);
        }
    }

    fn answered(&mut self, turn: &Turn) {
        if let Some(stream) = self.streams.of_mut(turn.asker.other()) {
            stream.answered(turn);
        }
    }

    /// Returns the endpoint that sends requests: the client, as far as the capture shows it.
    fn asker(&self) -> Side {
        let syns = &self.handshake.syns;
        let Both { opener, answerer } = self.addresses;
        let is_known = syns.opener.is_some() || syns.answerer.is_some();
        if is_known || opener.port() >= answerer.port() {
            Side::Opener
        } else {
            Side::Answerer
        }
    }

    /// Opens a stream at the first data of `sender`.
    fn open_at(&mut self, sender: Side, packet: &Packet, onlooker: &mut dyn Onlooker) {
        let seq = packet.data_seq();
        let acked = self.last_acks.of(sender.other()).as_ref();
        let first = match (self.handshake.syns.of(sender), acked) {
            (Some(syn), _) => syn.isn.at(1),
            (None, Some(last)) if seq.0.wrapping_sub(last.ack.0) <= OUTSTANDING_MAX => last.ack,
            _ => seq,
        };
        let sack = Sack::when(self.handshake.sack() == Agreement::Agreed);
        let size = SegmentSize::new(self.handshake.smss());
        self.open(sender, packet.at, (first, size, sack), onlooker);
    }

    /// Opens a stream whose first packet was captured at `at`. If the packet was held back, `at` is in the past.
    fn open(
        &mut self,
        sender: Side,
        at: Instant,
        (first, size, sack): (SeqNumber, SegmentSize, Sack),
        onlooker: &mut dyn Onlooker,
    ) {
        let receiver = sender.other();
        let scale = *self.scales.of(receiver);
        let acked = self.last_acks.of(receiver).as_ref();
        let granted = acked.zip(scale).map(|(last, shift)| {
            let window = u64::from(last.window);
            last.ack.at(if last.is_syn {
                window
            } else {
                window << shift.min(14)
            })
        });
        let opening = Opening {
            beginning: Beginning {
                stream: self.stream_id(sender),
                at,
                opened_at: self.handshake.opened_at(),
                established_at: self.handshake.established_at,
                established_by: self.handshake.established_by,
                smss: size.smss(),
                window_shift: scale,
                sack,
                ecn: self.handshake.ecn(),
                vantage: self.ways.vantage(sender),
                attention: match onlooker.analysis(self.stream_id(sender)) {
                    Some(_) => Attention::Close,
                    None => Attention::Usual,
                },
            },
            first,
            size,
            scale,
            granted,
        };
        *self.streams.of_mut(sender) = Some(Box::new(Stream::new(&opening)));
    }

    /// Processes the end of the capture.
    pub(crate) fn finish(&mut self, onlooker: &mut dyn Onlooker) {
        self.release(onlooker);
        for side in Side::BOTH {
            if let Some(stream) = self.streams.of_mut(side) {
                stream.finish(onlooker);
            }
        }
        if let Some(mut turn) = self.turns.as_mut().and_then(|turns| turns.finish()) {
            close(&mut turn, &self.ways);
            self.answered(&turn);
        }
    }
}

/// Computes the time at which a response was complete.
fn close(turn: &mut Turn, ways: &Ways) {
    let vantage = ways.vantage(turn.asker);
    let way = (vantage.place != Place::Sender).then_some(vantage.to_sender);
    turn.answer.close(way);
}

/// Returns the earlier of two sequence numbers.
fn earlier(one: SeqNumber, other: SeqNumber) -> SeqNumber {
    if is_after(one.0, other.0) { other } else { one }
}

#[cfg(test)]
mod tests;
