//! Somebody else's connection, as its packets tell it: a [`Replay`] is fed what was sent and which
//! ACKs came, as seen at the sender's end, and gives per event the facts that a plug-in of our own
//! sender would have got.
//!
//! It keeps the [`Scoreboard`](crate::scoreboard::Scoreboard) and the round-trip times by the same code as
//! [`Sender`](crate::Sender), and decides nothing: what leaves is what the packets say. To learn
//! by which rule a recovery would have called a segment lost, hand its
//! [`on_sent`](crate::recovery::Recovery::on_sent) and
//! [`on_ack`](crate::recovery::Recovery::on_ack) the facts and views of each event, and look at
//! [`Outcome::loss`](crate::recovery::Outcome::loss).
//!
//! ```
//! use dupack_tcp::SenderConfig;
//! use dupack_tcp::replay::{Replay, ReplayLimits};
//! use dupack_tcp::segment::{Ack, DataSegment};
//! use dupack_tcp::seq::SeqNumber;
//! use dupack_tcp::time::{Duration, Instant};
//!
//! // Two segments of a connection in full swing, the second of them acknowledged 80 ms later.
//! let start = SeqNumber(4_000_000_000);
//! let mut config = SenderConfig::new(1000);
//! config.isn = start;
//! let mut replay = Replay::new(config, ReplayLimits::default());
//! let at = |ms| Instant::ZERO + Duration::from_millis(ms);
//! for n in 0..2 {
//!     let segment = DataSegment { seq: start.at(n * 1000), len: 1000, ..DataSegment::default() };
//!     replay.sent(at(n), &segment)?;
//! }
//! let ack = Ack { ack: start.at(2000), window: 65_535, ..Ack::default() };
//! let heard = replay.acknowledged(at(81), &ack)?;
//! assert_eq!((heard.facts.acked_bytes, heard.facts.delivered.len()), (2000, 2));
//! assert_eq!(heard.facts.rtt, Some(Duration::from_millis(80)));
//! # Ok::<(), dupack_tcp::replay::Unusable>(())
//! ```
//!
//! **What is not in the packets** is said and survived. A capture may begin in the middle: the
//! first byte seen is offset 0 ([`SenderConfig::isn`]). It may miss sends: bytes that were
//! acknowledged, or passed over, without having been seen count as sent, and as sent twice, so
//! that nobody takes their age for a round-trip time ([`Sending::unseen_bytes`],
//! [`Heard::unseen_bytes`]). It cannot show an expiry of the timer: a host that infers one says so
//! ([`Replay::timed_out`]). Of the window nothing is known, and views show one without bound; of
//! what the application has written, no more than what was sent.
//!
//! No input panics, and memory is bounded by [`ReplayLimits`].

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;

use crate::congestion::{Governance, MarkAnswer, Pacing};
use crate::facts::{AckFacts, LossRule, RuleWords, SendReason, Sent, View};
use crate::options::Sack;
use crate::recovery::{RtoTimer, Timing};
use crate::rtt::RttEstimator;
use crate::scoreboard::{Delivered, Segment, SegmentId};
use crate::segment::{Ack, DataSegment};
use crate::sender::SenderConfig;
use crate::sender::state::State;
use crate::time::Instant;
use crate::undo::UndoRules;
use crate::window::Window;

/// Why a segment was sent again, as far as its packet tells: it does not.
pub const SEEN_AGAIN: LossRule = LossRule::new(&RuleWords {
    name: "again",
    meaning: "seen again",
});

/// Bounds on what is believed and remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayLimits {
    /// Most outstanding segments.
    pub segments: usize,
    /// By how many bytes a packet may be beyond everything seen before: farther is no gap in the
    /// capture but garbage. No receive window is larger than 1 GiB (RFC 7323 §2.3).
    pub jump_bytes: u64,
    /// Most repetitions remembered, the latest, for a DSACK to be matched with.
    pub repetitions: usize,
}

impl Default for ReplayLimits {
    /// Room for a window of 1 GiB in full segments, at some 50 MB; 64 MiB at a time; a thousand
    /// repetitions.
    fn default() -> Self {
        Self {
            segments: 1 << 20,
            jump_bytes: 1 << 26,
            repetitions: 1000,
        }
    }
}

/// Most pieces that an unseen stretch is cut into.
const UNSEEN_PIECES_MAX: u64 = 4096;

/// Why an event says nothing that the replay could use. Nothing was changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// It lies before the first byte of the replay.
    BeforeStart,
    /// It is farther beyond what was seen than [`ReplayLimits::jump_bytes`].
    TooFar,
    /// More is outstanding than [`ReplayLimits::segments`].
    TooMuchOutstanding,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeStart => "it lies before the first byte that was seen",
            Self::TooFar => "it is too far beyond what was seen to be of the same stream",
            Self::TooMuchOutstanding => "more is outstanding than the limit",
        })
    }
}

impl core::error::Error for Unusable {}

/// What a data packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendingKind {
    /// New data.
    First,
    /// Data that had been seen before and is not acknowledged.
    Repeat,
    /// Some of it the one, some the other.
    Both,
    /// Data that is acknowledged already: needless on the face of it.
    Acknowledged,
    /// No data: a probe.
    Empty,
}

/// What a data packet says.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sending<'a> {
    /// What it was.
    pub kind: SendingKind,
    /// The transmissions that it stands for, in order: pieces of one segment size, as a capture
    /// may show what an interface cuts up later. A segment that it covers in part counts as sent
    /// again.
    pub sent: &'a [Sent],
    /// Bytes just before it that were sent unseen.
    pub unseen_bytes: u64,
    /// The state after it.
    pub view: View<'a>,
}

/// A repetition of data that had arrived: the receiver got it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needless {
    /// Its first byte.
    pub start: u64,
    /// The byte after its last.
    pub end: u64,
    /// When it was sent.
    pub sent_at: Instant,
}

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Heard<'a> {
    /// What a plug-in would be told. `limited_by`, `window_use` and
    /// `prior_in_flight` are not to be known.
    pub facts: AckFacts<'a>,
    /// The latest repetition that a DSACK in it shows to have been needless (RFC 2883 §4).
    pub needless: Option<Needless>,
    /// Bytes that it reports and nobody has seen leave.
    pub unseen_bytes: u64,
    /// The state after it, the retransmission timer restarted as RFC 6298 §5.3 has it.
    pub view: View<'a>,
}

/// Somebody else's connection. See the [module](self) for how to feed it.
#[derive(Debug)]
pub struct Replay {
    state: State,
    limits: ReplayLimits,
    repetitions: VecDeque<Needless>,
    sent: Vec<Sent>,
    delivered: Vec<Delivered>,
}

impl Replay {
    /// A replay of a connection of which nothing has been seen yet.
    ///
    /// Of `config` it takes what the two ends agreed on (`isn`: the first byte that will be seen;
    /// `smss`, `sack`, `timestamps`, `order_echo`, `peer_window`) and how ACKs are read (`rtt`,
    /// `duplicate_ack`, `sacks_after_timeout`).
    #[must_use]
    pub fn new(config: SenderConfig, limits: ReplayLimits) -> Self {
        let config = SenderConfig {
            smss: config.smss.max(1),
            max_window: f64::INFINITY,
            ..config
        };
        let unknown = Window {
            cwnd: f64::INFINITY,
            ssthresh: f64::INFINITY,
        };
        let rtt = RttEstimator::new(config.rtt);
        Self {
            state: State::new(
                config,
                Governance::Window,
                MarkAnswer::AsLoss,
                rtt,
                unknown,
                Pacing::Off,
                UndoRules::OFF,
            ),
            limits,
            repetitions: VecDeque::new(),
            sent: Vec::new(),
            delivered: Vec::new(),
        }
    }

    /// A data packet left at `now`. A SYN is no data, and its data, if any, begins one number
    /// later; a FIN is one more byte.
    ///
    /// # Errors
    /// If it is not of this stretch of the stream, or more than the limits allow.
    pub fn sent(&mut self, now: Instant, segment: &DataSegment) -> Result<Sending<'_>, Unusable> {
        self.sent.clear();
        let nxt = self.state.scoreboard.nxt();
        let start = segment.seq.offset(self.state.config.isn, nxt);
        let start = start.ok_or(Unusable::BeforeStart)?;
        let end = start.saturating_add(u64::from(segment.len));
        if segment.len == 0 {
            return Ok(self.sending(now, SendingKind::Empty, 0));
        }
        if end <= self.state.scoreboard.una() {
            self.remember(start, end, now);
            return Ok(self.sending(now, SendingKind::Acknowledged, 0));
        }
        self.make_room(end)?;
        let unseen_bytes = self.assume_sent(now, start);
        let repeated = self.send_again(now, start, end, segment.timestamp);
        let first = self.send_first(now, end, segment.timestamp);
        let kind = match (repeated, first) {
            (false, _) => SendingKind::First,
            (true, false) => SendingKind::Repeat,
            (true, true) => SendingKind::Both,
        };
        self.state.set_timer(now, RtoTimer::Keep);
        self.state.check();
        Ok(self.sending(now, kind, unseen_bytes))
    }

    /// An ACK arrived at `now`.
    ///
    /// # Errors
    /// If it is not of this stretch of the stream, or more than the limits allow.
    pub fn acknowledged(&mut self, now: Instant, ack: &Ack) -> Result<Heard<'_>, Unusable> {
        let una = self.state.scoreboard.una();
        let offset = ack.ack.offset(self.state.config.isn, una);
        let offset = offset.ok_or(Unusable::BeforeStart)?;
        self.make_room(offset)?;
        let edge = self.reported_edge(ack, offset);
        let unseen_bytes = self.assume_sent(now, edge);
        self.delivered.clear();
        let facts = self
            .state
            .take_in(now, ack, offset, None, &mut self.delivered);
        self.state.take_timed_sample(now, &facts, Timing::Sample);
        let timer = if facts.acked_bytes > 0 {
            RtoTimer::Restart
        } else {
            RtoTimer::Keep
        };
        self.state.set_timer(now, timer);
        self.state.check();
        let needless = facts.dsack.and_then(|range| {
            let touches = |r: &Needless| r.start < range.1 && range.0 < r.end;
            let latest = self.repetitions.iter().rposition(touches)?;
            self.repetitions.remove(latest)
        });
        Ok(Heard {
            facts,
            needless,
            unseen_bytes,
            view: self.state.view(now),
        })
    }

    /// The sender's retransmission timer expired, as far as whoever reads the packets can tell.
    pub fn timed_out(&mut self, now: Instant) {
        if self.state.time_out().is_some() {
            self.state.rtt.back_off();
            self.state.start_over();
        }
        self.state.set_timer(now, RtoTimer::Restart);
    }

    /// It turned out what the two ends have agreed on, as the packets show it: the bytes of a full segment, and
    /// whether SACK blocks are believed. It holds from the next event on.
    pub fn learn(&mut self, smss: u32, sack: Sack) {
        self.state.config.smss = smss.max(1);
        self.state.config.sack = sack;
    }

    /// The state, as it is shown to plug-ins.
    #[must_use]
    pub fn view(&self, now: Instant) -> View<'_> {
        self.state.view(now)
    }

    fn sending(&self, now: Instant, kind: SendingKind, unseen_bytes: u64) -> Sending<'_> {
        Sending {
            kind,
            sent: &self.sent,
            unseen_bytes,
            view: self.state.view(now),
        }
    }

    /// Whether the stream may reach to `end` now.
    fn make_room(&self, end: u64) -> Result<(), Unusable> {
        let board = &self.state.scoreboard;
        if end.saturating_sub(board.nxt()) > self.limits.jump_bytes {
            return Err(Unusable::TooFar);
        }
        if end > board.nxt() && board.len() >= self.limits.segments {
            return Err(Unusable::TooMuchOutstanding);
        }
        Ok(())
    }

    /// Up to where an ACK reports the stream, by SACK blocks that can be believed.
    fn reported_edge(&self, ack: &Ack, offset: u64) -> u64 {
        let config = &self.state.config;
        let reference = offset.max(self.state.scoreboard.una());
        let believed = reference.saturating_add(self.limits.jump_bytes);
        let ends = ack.sacks.as_slice().iter().filter_map(|block| {
            let start = block.start.offset(config.isn, reference)?;
            let end = block.end.offset(config.isn, reference)?;
            (reference < start && start < end && end <= believed).then_some(end)
        });
        if config.sack.is_on() && self.make_room(believed.min(offset)).is_ok() {
            ends.fold(offset, u64::max)
        } else {
            offset
        }
    }

    /// Everything before `edge` has been sent, seen or not; says how many bytes were not.
    fn assume_sent(&mut self, now: Instant, edge: u64) -> u64 {
        let nxt = self.state.scoreboard.nxt();
        let unseen = edge.saturating_sub(nxt);
        let piece = u64::from(self.state.config.smss).max(unseen / UNSEEN_PIECES_MAX + 1);
        let mut left = unseen;
        while left > 0 {
            let len = left.min(piece);
            let (id, _) = self.push(now, len as u32);
            // Twice, as far as anybody knows.
            self.state.scoreboard.resend(id, now, self.state.order);
            left -= len;
        }
        unseen
    }

    fn push(&mut self, now: Instant, len: u32) -> (SegmentId, Segment) {
        self.state.written = self.state.scoreboard.nxt() + u64::from(len);
        self.state.record_first(now, len)
    }

    /// Sends again what of `start..end` is outstanding; says whether anything was.
    fn send_again(&mut self, now: Instant, start: u64, end: u64, timestamp: Option<u32>) -> bool {
        let mut id = self.holding(start);
        let mut any = false;
        while let Some(&segment) = self.state.scoreboard.get(id)
            && segment.start < end
        {
            any = true;
            let again = self.state.record_repeat(now, id, &segment);
            self.remember(segment.start, segment.end(), now);
            self.note(id, again, timestamp, SendReason::Retransmit(SEEN_AGAIN));
            id = id.next();
        }
        any
    }

    /// The outstanding segment that the byte at `offset` is in, or the first after it.
    fn holding(&self, offset: u64) -> SegmentId {
        let board = &self.state.scoreboard;
        let at_or_after = board.id_at(offset);
        let before = at_or_after.0.checked_sub(1).map(SegmentId);
        let reaches = |id: &SegmentId| board.get(*id).is_some_and(|s| s.end() > offset);
        before.filter(reaches).unwrap_or(at_or_after)
    }

    /// Sends what is new before `end`; says whether anything was.
    fn send_first(&mut self, now: Instant, end: u64, timestamp: Option<u32>) -> bool {
        let smss = u64::from(self.state.config.smss);
        let mut any = false;
        while self.state.scoreboard.nxt() < end {
            any = true;
            let len = (end - self.state.scoreboard.nxt()).min(smss);
            let (id, segment) = self.push(now, len as u32);
            self.note(id, segment, timestamp, SendReason::NewData);
        }
        any
    }

    fn note(&mut self, id: SegmentId, segment: Segment, timestamp: Option<u32>, why: SendReason) {
        self.state.stats.segments_sent += 1;
        self.sent.push(Sent {
            id,
            segment,
            timestamp,
            why,
        });
    }

    fn remember(&mut self, start: u64, end: u64, sent_at: Instant) {
        if self.repetitions.len() >= self.limits.repetitions.max(1) {
            self.repetitions.pop_front();
        }
        self.repetitions.push_back(Needless {
            start,
            end,
            sent_at,
        });
    }
}
