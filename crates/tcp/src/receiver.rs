//! The receiving half of the endpoint.
//!
//! Driven like the sender: data comes in by [`Receiver::handle_data`], time by
//! [`Receiver::handle_timeout`], reads by [`Receiver::read`]; after each, ACKs are taken with
//! [`Receiver::poll_ack`] until there are none.

mod bandwidth;
mod marks;
mod timing;

use alloc::boxed::Box;

use crate::options::{Dsack, Ecn, MarkEcho, OrderEcho, Sack};
use crate::reassembly::Reassembly;
use crate::segment::{
    Ack, Bit, Codepoint, DataSegment, EcnEcho, MAX_SACK_BLOCKS, SackBlock, SackBlocks,
};
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use bandwidth::Arrivals;
pub use bandwidth::BandwidthWindow;
use marks::{Answered, CountedPacket};
pub(crate) use marks::{MarkCounts, Wanted};
use timing::{Adaptive, Answer, Compressed, Timing};
pub use timing::{AdaptiveAcks, SackCompression};

/// When the receiver acknowledges data that arrives in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every segment at once.
    Immediate,
    /// Every second full segment, and no later than this after the first (RFC 1122 §4.2.3.2,
    /// RFC 5681 §4.2: at most 500 ms). Gaps and what fills them are acknowledged at once.
    Delayed(Duration),
    /// As Linux does it: one by one at first, then as with `Delayed`, with a delay that follows the
    /// data.
    Adaptive(AdaptiveAcks),
}

/// Which timestamp an ACK echoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampEcho {
    /// That of the segment which last advanced the window, the earliest if several did since
    /// the last ACK (RFC 7323 §4.3).
    Standard,
    /// That of the segment which caused the ACK, in order or not: what LE §2.2.1 presumes.
    Trigger,
}

/// The parameters of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceiverConfig {
    /// Sequence number of the first byte that will come.
    pub irs: SeqNumber,
    /// Payload bytes of a full segment, as the peer will send them.
    pub mss: u32,
    /// Receive buffer in bytes: the largest window.
    pub buffer: u32,
    /// Acknowledgment of data in order.
    pub ack_policy: AckPolicy,
    /// Of the ACKs that a gap causes some wait for others; with SACK only.
    pub sack_compression: Option<SackCompression>,
    /// SACK blocks are sent (RFC 2018).
    pub sack: Sack,
    /// Duplicate data is reported (RFC 2883).
    pub dsack: Dsack,
    /// Timestamps are echoed (RFC 7323), and how; `None` for no timestamps.
    pub timestamps: Option<TimestampEcho>,
    /// The order of transmissions is echoed (LE §4.2).
    pub order_echo: OrderEcho,
    /// How marks of congestion are told of.
    pub ecn: Ecn,
    /// With classic ECN, for how long.
    pub mark_echo: MarkEcho,
    /// Who empties the buffer.
    pub application: Reading,
    /// The window follows the bandwidth, as far as the buffer permits (Westwood §II).
    pub bandwidth_window: Option<BandwidthWindow>,
}

impl ReceiverConfig {
    /// What the RFCs say, for segments of `mss` bytes and a peer with whom nothing is agreed on:
    /// a buffer of 64 KiB, ACKs delayed by at most 40 ms (RFC 1122 §4.2.3.2: less than 0.5 s), an
    /// application that reads when it likes.
    #[must_use]
    pub const fn new(mss: u32) -> Self {
        Self {
            irs: SeqNumber(0),
            mss,
            buffer: 65_535,
            ack_policy: AckPolicy::Delayed(Duration::from_millis(40)),
            sack_compression: None,
            sack: Sack::Absent,
            dsack: Dsack::Absent,
            timestamps: None,
            order_echo: OrderEcho::Absent,
            ecn: Ecn::Absent,
            mark_echo: MarkEcho::UntilCwr,
            application: Reading::OnDemand,
            bandwidth_window: None,
        }
    }
}

/// How the receiving application takes data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reading {
    /// As soon as it is in order.
    AtOnce,
    /// When [`Receiver::read`] is called.
    OnDemand,
}

/// What a segment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// Bytes by which the stream grew in order.
    pub in_order_bytes: u64,
    /// Bytes of the segment that had been received before.
    pub duplicate_bytes: u64,
    /// Bytes of the segment beyond the advertised window, which were thrown away.
    pub beyond_window_bytes: u64,
}

/// Blocks remembered for the next SACK options. Twice what fits, as blocks merge and older ones
/// are to fill the room (RFC 2018 §4: as many as possible).
const RECENT_BLOCKS: usize = 8;

/// Segments after a mark that are acknowledged one by one, by [`AckPolicy::Adaptive`].
const HURRY_AFTER_MARK: u32 = 2;

/// The receiving half of a connection. See the [module](self) for how to drive it.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    /// RCV.NXT as a stream offset.
    next: u64,
    /// Right edge of the window ever advertised; it never moves left.
    edge: u64,
    /// Bytes that the application has read.
    read: u64,
    /// Shift with which windows are told.
    window_shift: u8,
    out_of_order: Reassembly,
    /// Starts of blocks to report, most recent first: any offset inside the block will do.
    recent: [u64; RECENT_BLOCKS],
    recent_len: usize,
    duplicate: Option<(u64, u64)>,
    /// TS.Recent (RFC 7323 §4.3).
    ts_recent: u32,
    /// RCV.NXT of the last ACK sent.
    last_ack: u64,
    order: Option<u32>,
    /// Bytes in order that are not acknowledged yet.
    unacked: u64,
    delayed_until: Option<Instant>,
    due: Due,
    /// Whether ACKs carry ECE.
    ecn_echo: Bit,
    /// Whether a segment has come that could be marked.
    ecn_seen: Bit,
    acks_sent: u64,
    /// What few receivers have: ACKs whose time follows the data, and counts of marks.
    timing: Option<Box<Timing>>,
}

/// Whether an ACK is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    No,
    Yes,
}

impl Receiver {
    /// A receiver on an established connection.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            next: 0,
            edge: u64::from(config.buffer),
            read: 0,
            window_shift: 0,
            out_of_order: Reassembly::default(),
            recent: [0; RECENT_BLOCKS],
            recent_len: 0,
            duplicate: None,
            ts_recent: 0,
            last_ack: 0,
            order: None,
            unacked: 0,
            delayed_until: None,
            due: Due::No,
            ecn_echo: Bit::Clear,
            ecn_seen: Bit::Clear,
            acks_sent: 0,
            timing: timing_of(&config),
            config,
        }
    }

    /// The same where windows are told shifted by `shift`, in steps of 2^`shift` bytes (RFC 7323
    /// §2.3): what the peer does not see of a window is not open to it.
    #[must_use]
    pub const fn telling_shifted(mut self, shift: u8) -> Self {
        self.window_shift = shift;
        self
    }

    /// Takes in a segment.
    #[inline(always)]
    pub fn handle_data(&mut self, now: Instant, segment: &DataSegment) -> Accepted {
        let mut accepted = Accepted::default();
        let Some(start) = segment.seq.offset(self.config.irs, self.next) else {
            // Before the first byte of the stream: only a probe does that, and it wants an ACK.
            self.due = Due::Yes;
            return accepted;
        };
        self.note_timestamp(segment, start);
        self.order = segment.order;
        let end = start + u64::from(segment.len);
        if segment.len == 0 || end <= self.next {
            // Nothing new: a probe, or a repetition. Answered at once (RFC 9293 §3.10.7.4).
            accepted.duplicate_bytes = u64::from(segment.len);
            if segment.len > 0 {
                self.duplicate = Some((start, end));
                self.hurry(None);
            }
            self.due = Due::Yes;
            return accepted;
        }
        accepted.beyond_window_bytes = end.saturating_sub(self.edge.max(start));
        let (from, until) = (start.max(self.next), end.min(self.edge));
        accepted.duplicate_bytes = from - start;
        if from > start {
            // The part that was there before (RFC 2883 §4.2).
            self.duplicate = Some((start, from));
        } else if !self.out_of_order.is_empty() {
            // The first of the parts that were, in order or beyond a gap (§4.2.3).
            self.duplicate = self.out_of_order.overlap(from, until).or(self.duplicate);
        }
        if from >= until {
            self.hurry(None);
            self.due = Due::Yes;
            return accepted;
        }
        if from == self.next {
            self.in_order(now, until, &mut accepted);
        } else {
            self.beyond_gap(now, from, until, &mut accepted);
        }
        if self.timing.is_some() {
            self.measure(now, until - start - accepted.duplicate_bytes);
        }
        accepted
    }

    /// `bytes` arrived that had not been there before.
    #[inline(never)]
    fn measure(&mut self, now: Instant, bytes: u64) {
        if let Some(timing) = &mut self.timing
            && let Some(arrivals) = &mut timing.arrivals
        {
            arrivals.take(now, bytes);
        }
    }

    /// On a connection that uses ECN: the ECN field of the packet that carried `segment`, which is
    /// handed in next, and its CWR.
    ///
    /// From a mark on ACKs carry ECE, until CWR comes (RFC 3168 §6.1.3), and a mark on what is not
    /// new in the window says nothing (§6.1.5). With [`MarkEcho::WhileMarked`] each change of what data
    /// came with is answered at once (RFC 8257 §3.2). With Accurate ECN every packet counts, so that one
    /// without data is to be told of, too (RFC 9768 §3.2).
    pub fn note_ecn(&mut self, segment: &DataSegment, field: Codepoint, cwr: Bit) {
        if self.config.ecn == Ecn::Accurate {
            let packets = segment.len.div_ceil(self.config.mss.max(1)).max(1);
            self.count_marks(field, segment.len, packets);
            return;
        }
        if self.config.mark_echo == MarkEcho::WhileMarked {
            self.follow_marks(segment, field);
            return;
        }
        if cwr.is_set() {
            self.ecn_echo = Bit::Clear;
            if self.timing.is_some() && segment.len > 0 {
                // The peer's window may be very small by now (Linux, `tcp_ecn_accept_cwr`).
                self.due = Due::Yes;
            }
        }
        if !self.is_news(segment) {
            return;
        }
        match field {
            Codepoint::Ce => {
                if !self.ecn_echo.is_set() {
                    self.hurry(Some(HURRY_AFTER_MARK));
                }
                self.ecn_echo = Bit::Set;
                self.ecn_seen = Bit::Set;
            }
            // Between others that could be marked it is a repetition (Linux,
            // `__tcp_ecn_check_ce`).
            Codepoint::NotEct if self.ecn_seen.is_set() => self.hurry(Some(HURRY_AFTER_MARK)),
            Codepoint::NotEct => {}
            Codepoint::Ect0 | Codepoint::Ect1 => self.ecn_seen = Bit::Set,
        }
    }

    /// Whether the segment has data in the window that had not been acknowledged.
    fn is_news(&self, segment: &DataSegment) -> bool {
        let start = segment.seq.offset(self.config.irs, self.next);
        start.is_some_and(|start| start < self.edge && start + u64::from(segment.len) > self.next)
    }

    /// ACKs carry ECE while what comes is marked (RFC 8257 §3.2). What waits for an ACK came otherwise
    /// than this segment if it changes that, and has one of its own before. CWR changes nothing: it is
    /// processed before the mark of its segment, which decides.
    #[inline(never)]
    fn follow_marks(&mut self, segment: &DataSegment, field: Codepoint) {
        let marked = Bit::when(field == Codepoint::Ce);
        if marked == self.ecn_echo || !self.is_news(segment) {
            return;
        }
        if self.unacked > 0 {
            let before = self.ack();
            if let Some(timing) = &mut self.timing {
                timing.before_change = Some(before);
            }
        }
        self.ecn_echo = marked;
        self.due = Due::Yes;
    }

    /// Counts a packet with `len` bytes of payload for Accurate ECN, or several that were joined.
    pub(crate) fn count_marks(&mut self, field: Codepoint, len: u32, packets: u32) {
        let waiting = self.unacked > 0;
        let packet = CountedPacket {
            field,
            len,
            packets,
        };
        let Some(counts) = self.mark_counts() else {
            return;
        };
        if counts.count(packet, waiting) == Answered::Now {
            self.due = Due::Yes;
        }
    }

    /// What is counted for Accurate ECN, on a connection that uses it.
    pub(crate) fn mark_counts(&mut self) -> Option<&mut MarkCounts> {
        self.timing.as_mut()?.marks.as_mut()
    }

    /// Packets that came marked, as Accurate ECN counts them (RFC 9768 §3.2, `r.cep` without its
    /// beginning); none with other ECN.
    #[must_use]
    pub fn marked_packets(&self) -> u64 {
        let counts = self
            .timing
            .as_ref()
            .and_then(|timing| timing.marks.as_ref());
        counts.map_or(0, MarkCounts::packets)
    }

    fn note_timestamp(&mut self, segment: &DataSegment, start: u64) {
        let (Some(echo), Some(value)) = (self.config.timestamps, segment.timestamp) else {
            return;
        };
        match echo {
            TimestampEcho::Trigger => self.ts_recent = value,
            TimestampEcho::Standard => {
                // RFC 7323 §4.3 (2): SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent.
                let newer = (value.wrapping_sub(self.ts_recent) as i32) >= 0;
                if newer && start <= self.last_ack {
                    self.ts_recent = value;
                }
            }
        }
    }

    #[inline(always)]
    fn in_order(&mut self, now: Instant, until: u64, accepted: &mut Accepted) {
        let before = self.next;
        let filled = !self.out_of_order.is_empty();
        if filled {
            let kept = self.out_of_order.bytes();
            self.next = self.out_of_order.advance(until);
            let joined = kept - self.out_of_order.bytes();
            accepted.duplicate_bytes += until + joined - self.next;
        } else {
            self.next = until;
        }
        accepted.in_order_bytes = self.next - before;
        if self.config.application == Reading::AtOnce {
            self.read = self.next;
        }
        self.unacked += self.next - before;
        match self.config.ack_policy {
            AckPolicy::Immediate => self.due = Due::Yes,
            AckPolicy::Delayed(_) if filled => self.due = Due::Yes,
            AckPolicy::Delayed(_) if self.unacked >= 2 * u64::from(self.config.mss) => {
                self.due = Due::Yes;
            }
            AckPolicy::Delayed(timeout) => {
                self.delayed_until.get_or_insert(now + timeout);
            }
            AckPolicy::Adaptive(_) => self.answer_in_order(now, until - before, filled),
        }
    }

    /// `len` bytes came in order to a receiver whose ACKs follow the data; they may have `filled`
    /// a gap, or part of it.
    #[inline(never)]
    fn answer_in_order(&mut self, now: Instant, len: u64, filled: bool) {
        let window = self.edge - self.last_ack;
        let (gap, unread) = (!self.out_of_order.is_empty(), self.next - self.read);
        let Some(timing) = &mut self.timing else {
            return;
        };
        let round_trip = timing.round_trip;
        let Some(adaptive) = &mut timing.adaptive else {
            return;
        };
        // A segment is shorter than 4 GiB.
        adaptive.data_came(now, len as u32, self.config.mss, window);
        let mut answer = adaptive.answer(self.unacked, round_trip);
        if filled && !gap {
            // RFC 5681 §4.2: what fills a gap is acknowledged at once.
            answer = Answer::Now;
        } else if gap && answer != Answer::Now {
            answer = beyond(timing, self.next);
        } else if self.config.application == Reading::AtOnce
            && adaptive.is_due_after_read(self.unacked, unread)
        {
            answer = Answer::Now;
        }
        self.answer(now, answer);
    }

    fn answer(&mut self, now: Instant, answer: Answer) {
        match answer {
            Answer::Now => self.due = Due::Yes,
            Answer::After(delay) => {
                let at = now + delay;
                self.delayed_until = Some(self.delayed_until.map_or(at, |until| until.min(at)));
            }
        }
    }

    /// The peer seems to need ACKs: the next are not delayed, at most so many of them.
    fn hurry(&mut self, most: Option<u32>) {
        let window = self.edge - self.last_ack;
        if let Some(timing) = &mut self.timing
            && let Some(adaptive) = &mut timing.adaptive
        {
            adaptive.hurry_up(window, most);
        }
    }

    #[inline(never)]
    fn beyond_gap(&mut self, now: Instant, from: u64, until: u64, accepted: &mut Accepted) {
        let kept = self.out_of_order.bytes();
        self.out_of_order.insert(from, until);
        let new = self.out_of_order.bytes() - kept;
        accepted.duplicate_bytes += until - from - new;
        self.report_first(from);
        match &mut self.timing {
            None => self.due = Due::Yes,
            Some(timing) => {
                let answer = beyond(timing, self.next);
                self.answer(now, answer);
            }
        }
    }

    /// Moves the block containing `offset` to the front of what the next ACK reports
    /// (RFC 2018 §4: the block with the segment that caused the ACK comes first).
    fn report_first(&mut self, offset: u64) {
        let block = self.out_of_order.containing(offset);
        let mut kept = [offset; RECENT_BLOCKS];
        let mut len = 1;
        for &other in &self.recent[..self.recent_len] {
            let same = block.is_some_and(|(start, end)| start <= other && other < end);
            if !same && other >= self.next && len < RECENT_BLOCKS {
                kept[len] = other;
                len += 1;
            }
        }
        self.recent = kept;
        self.recent_len = len;
    }

    /// Time has passed: the delayed ACK may be due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.delayed_until.is_some_and(|at| at <= now) {
            if let Some(timing) = &mut self.timing {
                timing.expired();
            }
            self.due = Due::Yes;
        }
    }

    /// Whether the host is to tell round-trip times ([`tell_round_trip`](Self::tell_round_trip)).
    #[inline]
    #[must_use]
    pub const fn wants_round_trip(&self) -> bool {
        self.timing.is_some()
    }

    /// What this end knows of the round trip: the smoothed time, if there was a sample, and the
    /// retransmission timeout. For [`AckPolicy::Adaptive`] and [`SackCompression`], before data is
    /// handed in; without, full delays and a timeout of 1 s are taken for granted.
    pub fn tell_round_trip(&mut self, smoothed: Option<Duration>, rto: Duration) {
        if let Some(timing) = &mut self.timing {
            timing.round_trip = smoothed;
            if let Some(adaptive) = &mut timing.adaptive {
                adaptive.rto = rto;
            }
        }
    }

    /// This end has sent data: if it answers what came, ACKs ride on it
    /// ([`AckPolicy::Adaptive`]).
    #[inline]
    pub fn note_data_sent(&mut self, now: Instant) {
        if let Some(timing) = &mut self.timing
            && let Some(adaptive) = &mut timing.adaptive
        {
            adaptive.data_left(now);
        }
    }

    /// The segment that is handed in next ends the peer's stream behind `len` bytes: the
    /// application will soon answer by ending its own, and the ACK may wait for that
    /// ([`AckPolicy::Adaptive`]). Whether it does.
    pub fn note_end(&mut self, len: u32) -> bool {
        let adaptive = self.timing.as_mut().and_then(|t| t.adaptive.as_mut());
        adaptive.map(|adaptive| adaptive.ends(len)).is_some()
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called at the latest.
    #[must_use]
    pub const fn next_timeout(&self) -> Option<Instant> {
        self.delayed_until
    }

    /// The application reads up to `bytes` bytes; returns how many there were. The window may
    /// have opened: poll for an ACK.
    pub fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.next - self.read);
        self.read += taken;
        // Receiver's half of silly window avoidance (RFC 9293 §3.8.6.2.2): tell only of an
        // opening of a segment or half the buffer.
        let (edge, told) = (self.edge_now(), self.told(self.edge));
        let worth = self.worthwhile_opening();
        if edge - self.edge >= worth
            && self.told(edge) - told >= worth
            && told < u64::from(self.config.mss) * 2
        {
            self.due = Due::Yes;
        }
        if let Some(timing) = &self.timing
            && let Some(adaptive) = &timing.adaptive
            && taken > 0
            && adaptive.is_due_after_read(self.unacked, self.next - self.read)
        {
            self.due = Due::Yes;
        }
        taken
    }

    /// The least opening of the window that is told: a segment or half the buffer (RFC 9293
    /// §3.8.6.2.2).
    fn worthwhile_opening(&self) -> u64 {
        u64::from(self.config.mss).min(u64::from(self.config.buffer / 2).max(1))
    }

    /// What a peer sees of a window whose right edge is `edge`, in bytes.
    const fn told(&self, edge: u64) -> u64 {
        edge.saturating_sub(self.next) >> self.window_shift << self.window_shift
    }

    /// The right edge that the buffer permits now, and the bandwidth if the window follows that; never
    /// left of what was advertised.
    fn edge_now(&self) -> u64 {
        let permitted = self.read + u64::from(self.config.buffer);
        let arrivals = self.timing.as_ref().and_then(|t| t.arrivals.as_ref());
        let followed = arrivals.and_then(Arrivals::window);
        let edge = followed.map_or(permitted, |window| permitted.min(self.next + window));
        edge.max(self.edge)
    }

    /// Whether an ACK is due.
    #[inline]
    #[must_use]
    pub fn is_ack_due(&self) -> bool {
        self.due == Due::Yes
    }

    /// The next ACK to send, if one is due.
    #[inline]
    #[must_use]
    pub fn poll_ack(&mut self) -> Option<Ack> {
        self.is_ack_due().then(|| self.ack())
    }

    /// An ACK, whether one is due or not, for a segment that goes out anyway. None is due after, unless
    /// this one is for what came before a mark ([`MarkEcho::WhileMarked`]).
    #[inline]
    pub fn ack(&mut self) -> Ack {
        let mut ecn = match self.ecn_echo {
            Bit::Clear => EcnEcho::Silent,
            Bit::Set => EcnEcho::Marked,
        };
        let mut for_acks = false;
        if let Some(timing) = &mut self.timing {
            if let Some(before) = timing.before_change.take() {
                return before;
            }
            timing.acked(self.due == Due::Yes || self.delayed_until.is_some());
            if let Some(marks) = &mut timing.marks {
                let (ace, sacks) = marks.acked();
                ecn = EcnEcho::Count(ace);
                for_acks = !sacks;
            }
        }
        self.due = Due::No;
        self.delayed_until = None;
        self.unacked = 0;
        self.last_ack = self.next;
        self.acks_sent += 1;
        let edge = self.edge_now();
        let at_once = self.config.application == Reading::AtOnce;
        if at_once || edge - self.edge >= self.worthwhile_opening() {
            self.edge = edge;
        }
        let sacks = if self.out_of_order.is_empty() && self.duplicate.is_none() {
            self.recent_len = 0;
            SackBlocks::NONE
        } else if for_acks {
            SackBlocks::NONE
        } else {
            self.sack_blocks()
        };
        Ack {
            ack: self.config.irs.at(self.next),
            window: u32::try_from(self.edge - self.next).unwrap_or(u32::MAX),
            timestamp_echo: self.config.timestamps.map(|_| self.ts_recent),
            order_echo: self.order.take().filter(|_| self.config.order_echo.is_on()),
            sacks,
            ecn,
        }
    }

    /// No fewer SACK blocks than the next ACK will have.
    #[inline]
    pub(crate) fn sack_blocks_at_most(&self) -> usize {
        if self.out_of_order.is_empty() && self.duplicate.is_none() || !self.config.sack.is_on() {
            return 0;
        }
        let duplicate = usize::from(self.duplicate.is_some() && self.config.dsack.is_on());
        let blocks = duplicate + self.recent_len.min(self.out_of_order.len());
        blocks.min(self.most_blocks())
    }

    /// Timestamps take the room of one block (RFC 2018 §3).
    const fn most_blocks(&self) -> usize {
        match self.config.timestamps {
            Some(_) => MAX_SACK_BLOCKS - 1,
            None => MAX_SACK_BLOCKS,
        }
    }

    fn sack_blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        let duplicate = self.duplicate.take();
        if !self.config.sack.is_on() {
            return blocks;
        }
        let mut room = self.most_blocks();
        let mut push = |start: u64, end: u64| {
            if room > 0 {
                room -= 1;
                blocks.push(SackBlock {
                    start: self.config.irs.at(start),
                    end: self.config.irs.at(end),
                });
            }
        };
        if let Some((start, end)) = duplicate.filter(|_| self.config.dsack.is_on()) {
            push(start, end);
        }
        if self.out_of_order.is_empty() {
            self.recent_len = 0;
            return blocks;
        }
        // Blocks may have merged or been delivered since they were noted: report each once.
        let mut kept = 0;
        let mut seen = [(0, 0); RECENT_BLOCKS];
        for i in 0..self.recent_len {
            let offset = self.recent[i];
            if let Some(block) = self.out_of_order.containing(offset)
                && !seen[..kept].contains(&block)
            {
                push(block.0, block.1);
                seen[kept] = block;
                self.recent[kept] = offset;
                kept += 1;
            }
        }
        self.recent_len = kept;
        blocks
    }

    /// Forgets that data came again: no ACK reports it.
    pub(crate) const fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Throws away everything received out of order, sacked or not, as a host short of memory
    /// may (RFC 2018 §8).
    pub fn renege(&mut self) {
        self.out_of_order.clear();
        self.recent_len = 0;
    }

    /// The parameters.
    #[must_use]
    pub const fn config(&self) -> &ReceiverConfig {
        &self.config
    }

    /// Stream bytes received in order.
    #[must_use]
    pub const fn in_order_bytes(&self) -> u64 {
        self.next
    }

    /// Right edge of the window that was advertised, as a stream offset.
    #[must_use]
    pub const fn advertised_edge(&self) -> u64 {
        self.edge
    }

    /// Whether the byte at `offset` has been received and kept.
    #[must_use]
    pub fn holds(&self, offset: u64) -> bool {
        offset < self.next || self.out_of_order.containing(offset).is_some()
    }

    /// Bytes received out of order and kept.
    #[must_use]
    pub const fn out_of_order_bytes(&self) -> u64 {
        self.out_of_order.bytes()
    }

    /// Separate ranges received out of order and kept.
    #[must_use]
    pub fn out_of_order_ranges(&self) -> usize {
        self.out_of_order.len()
    }

    /// ACKs sent so far.
    #[must_use]
    pub const fn acks_sent(&self) -> u64 {
        self.acks_sent
    }
}

/// What a receiver with this configuration has to remember of time.
fn timing_of(config: &ReceiverConfig) -> Option<Box<Timing>> {
    let adaptive = match config.ack_policy {
        AckPolicy::Adaptive(acks) => Some(Adaptive::new(acks, config.mss, config.buffer)),
        AckPolicy::Immediate | AckPolicy::Delayed(_) => None,
    };
    let compression = config.sack_compression.filter(|_| config.sack.is_on());
    let compressed = compression.map(Compressed::new);
    let marks = (config.ecn == Ecn::Accurate).then(MarkCounts::default);
    let arrivals = config
        .bandwidth_window
        .map(|w| Arrivals::new(w, config.mss));
    let follows = config.ecn == Ecn::Classic && config.mark_echo == MarkEcho::WhileMarked;
    let any = adaptive.is_some() || compressed.is_some() || marks.is_some() || arrivals.is_some();
    (any || follows).then(|| {
        Box::new(Timing {
            adaptive,
            compressed,
            round_trip: None,
            marks,
            before_change: None,
            arrivals,
        })
    })
}

/// When a segment is answered that leaves, or leaves open, a gap at `next`.
fn beyond(timing: &mut Timing, next: u64) -> Answer {
    if timing.adaptive.as_ref().is_some_and(Adaptive::is_quick) {
        return Answer::Now;
    }
    let round_trip = timing.round_trip;
    let compressed = timing.compressed.as_mut();
    compressed.map_or(Answer::Now, |held| held.answer(next, round_trip))
}

#[cfg(test)]
mod tests;
