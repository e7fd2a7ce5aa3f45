//! Data stream: converts each of its packets to one of the two events that all analyses receive.
//!
//! The stream maintains the sender's scoreboard with [`Replay`], holds ACKs until the sender has received them
//! (`waiting`), and reports segments and ACKs to its [`Follower`] in the order in which they occurred at the sender.

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

/// Maximum number of outstanding segments (our choice): 256 Ki full segments are 370 MB, the capacity of a path with 10
/// Gbit/s and 300 ms. At 48 bytes each, the segments take 12 MB of memory.
const SEGMENTS_MAX: usize = 1 << 18;

/// Distance from all data sent so far beyond which a SACK block is foreign (our choice: twice the largest window).
const FOREIGN: i32 = 1 << 28;

/// Number of consecutive data packets outside the known range after which the packets count as another stream (our
/// choice: a single packet may be garbage).
const ASTRAY_MAX: u32 = 8;

/// Approximate memory for each segment in a scoreboard and for each ACK held, for the limits on memory.
const SEGMENT_BYTES: usize = 48;

/// Assumed minimum timeout until the sender's timer is known: that of Linux, which most senders run. With the minimum
/// of RFC 6298 (one second), the expected timeouts would be later than the observed ones.
const LEAST_RTO: Duration = Duration::from_millis(200);
/// Maximum timeout (Linux: `TCP_RTO_MAX`).
const GREATEST_RTO: Duration = Duration::from_secs(120);

/// Initial state of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// Facts passed to the followers.
    pub(crate) beginning: Beginning,
    /// Sequence number of the first byte.
    pub(crate) first: SeqNumber,
    /// Estimator of the size of a full segment; it has the size that SYNs announced, if there were any.
    pub(crate) size: SegmentSize,
    /// Window scale shift of the receiver; `None` if unknown.
    pub(crate) scale: Option<u8>,
    /// Right edge of the last granted receive window; `None` if unknown.
    pub(crate) granted: Option<SeqNumber>,
}

/// Numbers of packets that do not fit into the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Astray {
    /// Number of packets before the first byte of the capture.
    pub before_start: u64,
    /// Number of packets too far beyond all data.
    pub too_far: u64,
    /// Number of packets that exceed the maximum number of stored outstanding segments.
    pub too_much: u64,
    /// Number of consecutive data packets that are too far beyond all data, up to the last packet.
    row: u32,
}

/// One data stream.
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
    /// Statistics to infer the window scale; `None` if the scale is known.
    guess: Option<Box<Scale>>,
    /// Offset and window field of the last ACK that the sender received.
    granted: Option<(u64, u16)>,
    /// End of the data that had been sent when the last ACK arrived.
    sent_to: u64,
    /// Right edge of the receive window as an offset, and the window field of the last ACK.
    edge: Option<u64>,
    last_window: Option<u16>,
    /// Highest captured ACK, regardless of whether the sender has received it.
    last_ack: Option<SeqNumber>,
    /// Time of the latest event.
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

    /// Changes the number of the connection.
    pub(crate) const fn rename(&mut self, id: StreamId) {
        self.id = id;
    }

    /// Sets the capture point when it becomes known or when it changes.
    pub(crate) fn set_vantage(&mut self, vantage: &Vantage) {
        self.waiting.set_least(match vantage.place {
            Place::Sender => Duration::ZERO,
            _ => vantage.to_sender,
        });
    }

    /// Returns the follower of the stream.
    pub const fn follower(&self) -> &F {
        &self.follower
    }

    /// Returns `true` if the receiver's window scale is unknown and the sender hardly ever reached the end of the
    /// window for any possible scale.
    pub(crate) fn never_fills_its_window(&self) -> bool {
        let guess = self.guess.as_ref().filter(|_| self.scale.is_none());
        guess.is_some_and(|guess| guess.is_never_filled())
    }

    /// Consumes the stream and returns its follower.
    pub fn into_follower(self) -> F {
        self.follower
    }

    /// Returns the scoreboard, the round-trip times and the timer as of the last event.
    pub const fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Returns the sequence number of the first byte, which has offset 0.
    pub const fn first(&self) -> SeqNumber {
        self.first
    }

    /// Returns the counts of packets that do not fit into the stream.
    pub const fn astray(&self) -> Astray {
        self.astray
    }

    /// Returns the round-trip time between the capture point and the sender, as of the last segment.
    pub const fn delay(&self) -> Duration {
        self.waiting.delay()
    }

    /// Returns `true` if the packets belong to another stream.
    pub(crate) const fn is_lost(&self) -> bool {
        self.astray.row >= ASTRAY_MAX
    }

    /// Returns the approximate memory, in bytes, that grows with the outstanding data.
    pub(crate) fn memory(&self) -> usize {
        let segments = self.replay.view(self.now).scoreboard.len();
        segments * SEGMENT_BYTES + self.waiting.len() * size_of::<Heard>()
    }

    /// Processes a packet from the sender: data, or an ACK whose timestamp shows the packets that the sender has
    /// received.
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

    /// Returns `true` if a packet without data requests an ACK from the peer: its sequence number is one byte before
    /// the unacknowledged data (RFC 9293 §3.8.4). Other packets without data carry SND.NXT.
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

    /// Processes a packet with an ACK from the receiver.
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

    /// Processes data from the receiver. If an earlier ACK acknowledges all data sent and is due, the sender has
    /// received this ACK. No timestamp echo would show this, because the sender sends nothing more.
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

    /// Reports the end of a response that was carried by this stream.
    pub(crate) fn answered(&mut self, turn: &Turn) {
        self.follower.answered(turn);
    }

    /// Processes the end of the capture. Every ACK that is held takes effect.
    pub(crate) fn finish(&mut self, onlooker: &mut dyn Onlooker) {
        while let Some((heard, at)) = self.waiting.next_at_end() {
            self.arrive(&heard, at, onlooker);
        }
    }

    /// Returns the ACK in a packet from the receiver; `None` if the packet contains no relevant ACK.
    fn read_ack(&mut self, packet: &Packet) -> Option<Heard> {
        let segment = &packet.segment;
        let number = segment.ack?;
        if segment.is(Flags::RST) || segment.is(Flags::SYN) {
            return None;
        }
        if !segment.options.sacks.is_empty() && !self.sack.is_on() {
            // A host sends no SACK blocks without permission (RFC 2018 §2), so the SYNs were changed along the path.
            self.sack = Sack::Permitted;
            self.replay.learn(self.size.smss(), self.sack);
        }
        let window = u64::from(segment.window);
        let scale = self.scale.filter(|_| packet.window().is_some());
        let scaled = scale.map(|shift| window << shift.min(14));
        // A zero window is known without the scale.
        let scaled = scaled.or_else(|| (packet.window() == Some(0)).then_some(0));
        let ecn = match self.ecn {
            Ecn::Classic if segment.is(Flags::ECE) => EcnEcho::Marked,
            Ecn::Accurate => EcnEcho::Count(segment.flags.ace()),
            _ => EcnEcho::Silent,
        };
        // An ACK without new information in a data packet is not a duplicate ACK (RFC 5681 §2).
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

    /// Updates the statistics for the window scale when the sender receives another window. Before, the sender had sent
    /// everything before `nxt` under the current window.
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

    /// Returns `true` if all SACK blocks of an ACK are far away from all data sent so far (our choice: farther than the
    /// outstanding data can extend).
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
    /// Counts a data packet or an ACK that does not fit into the stream. `data_at` is `None` for an ACK.
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

/// Returns the configuration of the round-trip time estimator and of the retransmission timer.
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
