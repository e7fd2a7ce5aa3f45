//! One stream of data: every packet of it becomes one of the two events that all analyses are told.
//!
//! It keeps the sender's scoreboard by [`Replay`], lets ACKs wait until the sender has had them
//! (`waiting`), and tells its [`Follower`] of segments and ACKs in the order in
//! which they were so at the sender.

use dupack_tcp::SenderConfig;
use dupack_tcp::connection::Flags;
use dupack_tcp::options::{Ecn, Sack};
use dupack_tcp::replay::{Replay, ReplayLimits, Unusable};
use dupack_tcp::rtt::{BackoffReset, RttConfig, VarianceFloor};
use dupack_tcp::segment::{Ack, DataSegment, EcnEcho};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::read::follow::{Beginning, Follower, Onlooker, StreamId, Timer};
use crate::read::moment::{Arrival, Departure};
use crate::read::packet::{Packet, is_after};
use crate::read::scale::Scale;
use crate::read::segment_size::SegmentSize;
use crate::read::turns::Turn;
use crate::read::vantage::{Place, Vantage};
use crate::read::waiting::{Heard, Waiting};

/// Most segments outstanding: of 256 Ki segments, 370 MB of them full, a path of 10 Gbit/s and 300 ms has room
/// for. At 48 bytes each they are 12 MB (ours).
const SEGMENTS_MAX: usize = 1 << 18;

/// A SACK block is foreign if it lies so far from all that was sent (ours: twice what the largest windows have).
const FOREIGN: i32 = 1 << 28;

/// So many data packets in a row that are of no known stretch of the stream: it is another stream (ours; one
/// may be garbage).
const ASTRAY_MAX: u32 = 8;

/// Bytes that a segment takes in a scoreboard, about, and an ACK that waits: for the bounds on memory.
const SEGMENT_BYTES: usize = 48;

/// How the timeouts of a sender are worked out until somebody knows it better: as most senders do, which are
/// Linux's. RFC 6298's least timeout of a second would be later than what is seen.
const LEAST_RTO: Duration = Duration::from_millis(200);
/// Linux: `TCP_RTO_MAX`.
const GREATEST_RTO: Duration = Duration::from_secs(120);

/// What a stream begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// What followers are told.
    pub(crate) beginning: Beginning,
    /// The sequence number of its first byte.
    pub(crate) first: SeqNumber,
    /// The bytes of a full segment, if SYNs announced it.
    pub(crate) size: SegmentSize,
    /// The shift of the receiver's windows, if it is known.
    pub(crate) scale: Option<u8>,
    /// The end of the receive window as it was granted last.
    pub(crate) granted: Option<SeqNumber>,
}

/// Packets that say nothing of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Astray {
    /// Before the first byte that the capture has.
    pub before_start: u64,
    /// Too far beyond everything.
    pub too_far: u64,
    /// More was outstanding than is remembered.
    pub too_much: u64,
    /// Data packets in a row, the last ones, that are too far.
    row: u32,
}

/// One stream of data.
#[derive(Debug)]
pub struct Stream<F> {
    id: StreamId,
    first: SeqNumber,
    replay: Replay,
    follower: F,
    waiting: Waiting,
    size: SegmentSize,
    sack: Sack,
    ecn: Ecn,
    scale: Option<u8>,
    /// How far the sender goes, where the scale is not known.
    guess: Option<Box<Scale>>,
    /// The last ACK that the sender has had, as an offset, and its window field.
    granted: Option<(u64, u16)>,
    /// All before this had been sent when that ACK came.
    sent_to: u64,
    /// The right edge of the receive window as an offset, and the window as the last ACK had it.
    edge: Option<u64>,
    last_window: Option<u16>,
    /// The highest ACK that was captured, whether the sender has had it or not.
    last_ack: Option<SeqNumber>,
    /// The latest event.
    now: Instant,
    astray: Astray,
}

impl<F: Follower> Stream<F> {
    pub(crate) fn new(opening: &Opening) -> Self {
        let beginning = &opening.beginning;
        let mut config = SenderConfig::new(beginning.smss);
        config.isn = opening.first;
        config.sack = beginning.sack;
        config.ecn = beginning.ecn;
        config.rtt = rtt_config();
        let mut limits = ReplayLimits::default();
        limits.segments = SEGMENTS_MAX;
        let granted = opening.granted;
        let mut stream = Self {
            id: beginning.stream,
            first: opening.first,
            replay: Replay::new(config, limits),
            follower: F::begin(beginning),
            waiting: Waiting::default(),
            size: opening.size,
            sack: beginning.sack,
            ecn: beginning.ecn,
            scale: opening.scale,
            guess: opening.scale.is_none().then(Box::default),
            granted: None,
            sent_to: 0,
            edge: granted.and_then(|edge| edge.offset(opening.first, 0)),
            last_window: None,
            last_ack: None,
            now: Instant::ZERO,
            astray: Astray::default(),
        };
        stream.set_vantage(&beginning.vantage);
        stream
    }

    /// Its connection has another number.
    pub(crate) const fn rename(&mut self, id: StreamId) {
        self.id = id;
    }

    /// Where the capture was taken is known, or known better.
    pub(crate) fn set_vantage(&mut self, vantage: &Vantage) {
        self.waiting.set_least(match vantage.place {
            Place::Sender => Duration::ZERO,
            _ => vantage.to_sender,
        });
    }

    /// Who follows it.
    pub const fn follower(&self) -> &F {
        &self.follower
    }

    /// `true` if the scale of the receiver's window is not known, and the sender hardly ever went to where the window ends,
    /// whatever it is.
    pub(crate) fn never_fills_its_window(&self) -> bool {
        let guess = self.guess.as_ref().filter(|_| self.scale.is_none());
        guess.is_some_and(|guess| guess.is_never_filled())
    }

    /// Who follows it, to keep.
    pub fn into_follower(self) -> F {
        self.follower
    }

    /// Its scoreboard, round-trip times and timer, as they are by its last event.
    pub const fn replay(&self) -> &Replay {
        &self.replay
    }

    /// The sequence number of its first byte: offset 0.
    pub const fn first(&self) -> SeqNumber {
        self.first
    }

    /// Packets of it that said nothing.
    pub const fn astray(&self) -> Astray {
        self.astray
    }

    /// From where the capture was taken to the sender and back, as of the last segment.
    pub const fn delay(&self) -> Duration {
        self.waiting.delay()
    }

    /// Whether its packets are of another stream altogether.
    pub(crate) const fn is_lost(&self) -> bool {
        self.astray.row >= ASTRAY_MAX
    }

    /// Bytes of memory that grow with what is outstanding, about.
    pub(crate) fn memory(&self) -> usize {
        let segments = self.replay.view(self.now).scoreboard.len();
        segments * SEGMENT_BYTES + self.waiting.len() * size_of::<Heard>()
    }

    /// The sender has sent a packet: data, or an ACK that tells what it has heard.
    pub(crate) fn sent(&mut self, packet: &Packet, onlooker: &mut dyn Onlooker) {
        self.learn_from_echo(packet, onlooker);
        if packet.is_of_stream() || self.is_probe(packet) {
            self.depart(packet, onlooker);
        } else if let Some(id) = packet.ip_id {
            self.follower.numbered(id);
        }
    }

    fn learn_from_echo(&mut self, packet: &Packet, onlooker: &mut dyn Onlooker) {
        if self.waiting.is_at_sender() {
            return;
        }
        self.waiting.learn(packet.at, packet.echo());
        while let Some((heard, at)) = self.waiting.next_before(packet.at) {
            self.arrive(&heard, at, onlooker);
        }
    }

    /// Whether a packet without data asks the peer for an ACK: it lies just before what is not acknowledged
    /// (RFC 9293 §3.8.4). Other packets without data carry SND.NXT.
    fn is_probe(&self, packet: &Packet) -> bool {
        let board = self.replay.view(self.now).scoreboard;
        let silent = packet.segment.sequence_len() == 0 && !packet.segment.is(Flags::RST);
        silent
            && board.una().checked_sub(1).is_some_and(|before| {
                packet.segment.seq.offset(self.first, board.una()) == Some(before)
            })
    }

    fn depart(&mut self, packet: &Packet, onlooker: &mut dyn Onlooker) {
        let at = self.now.max(packet.at);
        let nxt = self.replay.view(at).scoreboard.nxt();
        let segment = DataSegment {
            seq: packet.data_seq(),
            len: packet.data_len(),
            timestamp: packet.value(),
            order: None,
        };
        if self.size.take(packet.segment.len) {
            self.replay.learn(self.size.smss(), self.sack);
        }
        let sending = self.replay.sent(at, &segment);
        let sending = match &sending {
            Ok(sending) => sending,
            Err(why) => return self.astray.note(*why, Some(packet.at)),
        };
        self.now = at;
        self.astray.row = 0;
        let start = segment.seq.offset(self.first, nxt).unwrap_or(nxt);
        let end = sending.view.scoreboard.nxt();

        let departure = Departure {
            at,
            packet: packet.number,
            start,
            end: start.saturating_add(u64::from(segment.len)),
            kind: sending.kind,
            unseen_bytes: sending.unseen_bytes,
            flags: packet.segment.flags,
            timestamps: packet.segment.options.timestamps,
            ip_id: packet.ip_id,
            window_left: self.edge.map(|edge| edge.saturating_sub(end)),
            sent: sending.sent,
            view: sending.view,
        };
        let timer = self
            .follower
            .departed(&departure, onlooker.analysis(self.id));
        if timer == Timer::Expired {
            self.replay.timed_out(at);
        }
    }

    /// The receiver has sent a packet that acknowledges.
    pub(crate) fn heard(&mut self, packet: &Packet, onlooker: &mut dyn Onlooker) {
        if packet.segment.len > 0 {
            self.ask(packet, onlooker);
        }
        let Some(heard) = self.read_ack(packet) else {
            return;
        };
        if self.waiting.is_at_sender() {
            self.arrive(&heard, packet.at, onlooker);
            return;
        }
        if let Some(first) = self.waiting.push(heard) {
            self.arrive(&first, packet.at, onlooker);
        }
        while let Some((heard, at)) = self.waiting.next_overdue(packet.at) {
            self.arrive(&heard, at, onlooker);
        }
    }

    /// The receiver has sent data. If an ACK of everything that was sent came before and is due, the sender has had it: with
    /// nothing more of the sender's, no echo tells.
    fn ask(&mut self, packet: &Packet, onlooker: &mut dyn Onlooker) {
        let nxt = self.replay.view(self.now).scoreboard.nxt();
        let first = self.first;
        let rest = |ack: SeqNumber| ack.offset(first, nxt).map(|ack| nxt.saturating_sub(ack));
        let of_all = |ack: SeqNumber| rest(ack) == Some(0);
        while let Some((heard, at)) = self.waiting.next_before_silence(packet.at, of_all) {
            self.arrive(&heard, at, onlooker);
        }
        let at = self.now.max(packet.at + self.waiting.delay());
        let acks_all = packet.segment.ack.is_some_and(of_all);
        let before = self.last_ack.map_or(Some(nxt), rest);
        let rest = before.filter(|_| acks_all);
        self.follower.asked(at, packet.number, rest);
    }

    /// Its data answers a request, and the answer is over.
    pub(crate) fn answered(&mut self, turn: &Turn) {
        self.follower.answered(turn);
    }

    /// Nothing more is to come: every ACK that waits arrives.
    pub(crate) fn finish(&mut self, onlooker: &mut dyn Onlooker) {
        while let Some((heard, at)) = self.waiting.next_at_end() {
            self.arrive(&heard, at, onlooker);
        }
    }

    /// What a packet of the receiver's says as an ACK, if it is one.
    fn read_ack(&mut self, packet: &Packet) -> Option<Heard> {
        let segment = &packet.segment;
        let number = segment.ack?;
        if segment.is(Flags::RST) || segment.is(Flags::SYN) {
            return None;
        }
        if !segment.options.sacks.is_empty() && !self.sack.is_on() {
            // A host that was not asked sends none (RFC 2018 §2): the SYNs were not seen as they were.
            self.sack = Sack::Permitted;
            self.replay.learn(self.size.smss(), self.sack);
        }
        let window = u64::from(segment.window);
        let scale = self.scale.filter(|_| packet.window().is_some());
        let scaled = scale.map(|shift| window << shift.min(14));
        // A window of zero needs no scale.
        let scaled = scaled.or_else(|| (packet.window() == Some(0)).then_some(0));
        let ecn = match self.ecn {
            Ecn::Classic if segment.is(Flags::ECE) => EcnEcho::Marked,
            Ecn::Accurate => EcnEcho::Count(segment.flags.ace()),
            _ => EcnEcho::Silent,
        };
        // An ACK that says nothing new beside data is no duplicate (RFC 5681 §2).
        let same_window = self.last_window.replace(segment.window) == Some(segment.window);
        let is_news = self.last_ack.is_none_or(|last| is_after(number.0, last.0));
        if is_news {
            self.last_ack = Some(number);
        }
        let silent = segment.sequence_len() > 0
            && segment.options.sacks.is_empty()
            && ecn == EcnEcho::Silent
            && same_window
            && !is_news;
        if silent {
            return None;
        }
        Some(Heard {
            captured: packet.at,
            packet: packet.number,
            ack: Ack {
                ack: number,
                window: u32::try_from(scaled.unwrap_or(window)).unwrap_or(u32::MAX),
                timestamp_echo: packet.echo(),
                order_echo: None,
                sacks: segment.options.sacks,
                ecn,
            },
            timestamps: segment.options.timestamps,
            window: scaled,
            field: packet.window(),
            len: segment.len,
        })
    }

    /// The sender has sent all before `nxt` by the window that it had, and hears of another.
    fn guess_scale(&mut self, nxt: u64) {
        let (Some(guess), Some((ack, field))) = (&mut self.guess, self.granted) else {
            return;
        };
        if core::mem::replace(&mut self.sent_to, nxt) < nxt {
            let mss = u64::from(self.size.smss());
            guess.stopped(nxt.saturating_sub(ack), field, mss);
            self.scale = guess.shift();
        }
    }

    /// `true` if all SACK blocks of an ACK name bytes far from all that was sent (ours: by more than is outstanding at once).
    fn are_foreign(&self, ack: &Ack, nxt: u64) -> bool {
        let blocks = ack.sacks.as_slice();
        let foreign = |number: SeqNumber| {
            let beyond = number.0.wrapping_sub(self.first.at(nxt).0) as i32;
            !(-FOREIGN..=FOREIGN).contains(&beyond)
        };
        !blocks.is_empty()
            && blocks
                .iter()
                .all(|block| foreign(block.start) && foreign(block.end))
    }

    fn arrive(&mut self, heard: &Heard, at: Instant, onlooker: &mut dyn Onlooker) {
        let at = self.now.max(at);
        let board = self.replay.view(at).scoreboard;
        let (una, nxt) = (board.una(), board.nxt());
        self.guess_scale(nxt);
        if self.are_foreign(&heard.ack, nxt) {
            self.follower.foreign_sack();
        }
        let result = match self.replay.acknowledged(at, &heard.ack) {
            Ok(result) => result,
            Err(why) => return self.astray.note(why, None),
        };
        self.now = at;
        let offset = heard.ack.ack.offset(self.first, una);
        if let Some(offset) = offset.filter(|&offset| offset >= una) {
            let granted = heard.field.map(|field| (offset, field));
            if let Some(guess) = &mut self.guess
                && let Some(((before, field), (_, now))) = self.granted.zip(granted)
            {
                guess.acknowledged(offset.saturating_sub(before), field, now);
            }
            self.granted = granted;
            self.edge = heard.window.map(|window| offset.saturating_add(window));
        }
        let nxt = result.view.scoreboard.nxt();
        let arrival = Arrival {
            at,
            captured: heard.captured,
            packet: heard.packet,
            facts: result.facts,
            needless: result.needless,
            timestamps: heard.timestamps,
            window: heard.window,
            field: heard.field,
            carried: heard.len,
            window_left: self.edge.map(|edge| edge.saturating_sub(nxt)),
            view: result.view,
        };
        self.follower.arrived(&arrival, onlooker.analysis(self.id));
    }
}

impl Astray {
    /// A data packet, or an ACK, was of no use.
    fn note(&mut self, why: Unusable, data_at: Option<Instant>) {
        match why {
            Unusable::BeforeStart => self.before_start += 1,
            Unusable::TooFar => {
                self.too_far += 1;
                self.row += u32::from(data_at.is_some());
            }
            _ => self.too_much += 1,
        }
    }
}

/// How round-trip times and timeouts are kept.
fn rtt_config() -> RttConfig {
    let mut config = RttConfig::default();
    config.min_rto = LEAST_RTO;
    config.max_rto = GREATEST_RTO;
    config.variance_floor = VarianceFloor::MinRto;
    config.backoff_reset = BackoffReset::OnAdvance;
    config
}

#[cfg(test)]
mod tests;
