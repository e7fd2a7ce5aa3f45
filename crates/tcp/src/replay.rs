//! Reconstruction of another endpoint's connection from its packets. A [`Replay`] takes the segments and ACKs seen at
//! the sender's end, and returns for each event the facts that a plug-in of our own sender would get.
//!
//! A replay maintains the [`Scoreboard`](crate::scoreboard::Scoreboard) and the round-trip times with the same code as
//! [`Sender`](crate::Sender). It does not decide which segments are sent: the packets show that. To find the rule by
//! which a recovery would have judged a segment lost, pass the facts and views of each event to its
//! [`on_sent`](crate::recovery::Recovery::on_sent) and [`on_ack`](crate::recovery::Recovery::on_ack), and check
//! [`Outcome::loss`](crate::recovery::Outcome::loss).
//!
//! ```
//! use dupack_tcp::SenderConfig;
//! use dupack_tcp::replay::{Replay, ReplayLimits};
//! use dupack_tcp::segment::{Ack, DataSegment};
//! use dupack_tcp::seq::SeqNumber;
//! use dupack_tcp::time::{Duration, Instant};
//!
//! // Two segments in the middle of a connection, the second of them acknowledged 80 ms later.
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
//! **Information missing from the packets** is reported and tolerated. A capture may begin in the middle of a
//! connection: the first byte seen has offset 0 ([`SenderConfig::isn`]). A capture may lack transmissions: bytes that
//! were acknowledged or skipped without having been seen count as sent twice, so that their age is not used as a
//! round-trip time ([`Sending::unseen_bytes`], [`Heard::unseen_bytes`]). A capture cannot show a timeout: a host that
//! infers a timeout reports it ([`Replay::timed_out`]). The congestion window is unknown, and views show an infinite
//! window. The application is assumed to have written only the data that was sent.
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

/// Rule of every retransmission, because a packet does not show the reason for its transmission.
pub const SEEN_AGAIN: LossRule = LossRule::new(&RuleWords {
    name: "again",
    meaning: "seen again",
});

/// Limits on the accepted input and on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayLimits {
    /// Maximum number of outstanding segments.
    pub segments: usize,
    /// Maximum distance, in bytes, of a packet beyond the highest byte seen before. A packet at a larger distance is
    /// treated as invalid, not as the first packet after a gap in the capture. No receive window is larger than 1 GiB
    /// (RFC 7323 §2.3).
    pub jump_bytes: u64,
    /// Number of latest retransmissions that are stored to match DSACKs.
    pub repetitions: usize,
}

impl Default for ReplayLimits {
    /// Returns limits that permit a window of 1 GiB in full segments (about 50 MB of memory), jumps of up to 64 MiB,
    /// and a thousand stored retransmissions.
    fn default() -> Self {
        Self {
            segments: 1 << 20,
            jump_bytes: 1 << 26,
            repetitions: 1000,
        }
    }
}

/// Maximum number of segments into which an unseen range is divided.
const UNSEEN_PIECES_MAX: u64 = 4096;

/// Reason for which the replay cannot use an event. The event has not changed the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// The event refers to data before the first byte of the replay.
    BeforeStart,
    /// The event refers to data more than [`ReplayLimits::jump_bytes`] beyond the data seen.
    TooFar,
    /// At least [`ReplayLimits::segments`] segments are outstanding.
    TooMuchOutstanding,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeStart => "the data lies before the first byte seen",
            Self::TooFar => {
                "the data is too far beyond everything seen to belong to the same stream"
            }
            Self::TooMuchOutstanding => "too many segments are outstanding",
        })
    }
}

impl core::error::Error for Unusable {}

/// Kind of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendingKind {
    /// New data.
    First,
    /// Data that was seen before and is not acknowledged yet.
    Repeat,
    /// Partly new data, partly data that was seen before.
    Both,
    /// Data that is already acknowledged: apparently a spurious retransmission.
    Acknowledged,
    /// No data: a probe.
    Empty,
}

/// Content of a data packet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sending<'a> {
    /// Kind of the packet.
    pub kind: SendingKind,
    /// Transmissions that the packet represents, in order. A packet is divided into full segments, because a capture
    /// may show a packet that the interface splits later. A segment that the packet covers in part counts as
    /// retransmitted.
    pub sent: &'a [Sent],
    /// Number of bytes directly before the packet whose transmission was not seen.
    pub unseen_bytes: u64,
    /// State after the packet.
    pub view: View<'a>,
}

/// Spurious retransmission: the receiver reported that it received the data twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needless {
    /// Stream offset of the first byte.
    pub start: u64,
    /// Stream offset after the last byte.
    pub end: u64,
    /// Time of the transmission.
    pub sent_at: Instant,
}

/// Content of an ACK.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Heard<'a> {
    /// Facts that a plug-in would get. `limited_by`, `window_use` and `prior_in_flight` are unknown.
    pub facts: AckFacts<'a>,
    /// The latest retransmission that a DSACK in the ACK shows to be spurious (RFC 2883 §4).
    pub needless: Option<Needless>,
    /// Number of bytes that the ACK reports and whose transmission was not seen.
    pub unseen_bytes: u64,
    /// State after the ACK, with the retransmission timer restarted as in RFC 6298 §5.3.
    pub view: View<'a>,
}

/// Reconstruction of another endpoint's connection. The [module](self) explains the calls.
#[derive(Debug)]
pub struct Replay {
    state: State,
    limits: ReplayLimits,
    repetitions: VecDeque<Needless>,
    sent: Vec<Sent>,
    delivered: Vec<Delivered>,
}

impl Replay {
    /// Returns a replay in the state before the first packet.
    ///
    /// The replay uses only some fields of `config`: the options on which the two ends agreed (`smss`, `sack`,
    /// `timestamps`, `order_echo`, `peer_window`), the first byte that will be seen (`isn`), and the interpretation of
    /// ACKs (`rtt`, `duplicate_ack`, `sacks_after_timeout`).
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

    /// Processes a data packet sent at `now`. A SYN is not data: data in a SYN begins one sequence number later. A FIN
    /// counts as one more byte.
    ///
    /// # Errors
    ///
    /// Returns an error if the packet does not belong to this part of the stream or exceeds the limits.
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

    /// Processes an ACK that arrived at `now`.
    ///
    /// # Errors
    ///
    /// Returns an error if the ACK does not belong to this part of the stream or exceeds the limits.
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

    /// Processes a retransmission timeout that the observer of the packets inferred.
    pub fn timed_out(&mut self, now: Instant) {
        if self.state.time_out().is_some() {
            self.state.rtt.back_off();
            self.state.start_over();
        }
        self.state.set_timer(now, RtoTimer::Restart);
    }

    /// Sets options that become known only from later packets: the size of a full segment in bytes, and the use of SACK
    /// blocks. They apply from the next event on.
    pub fn learn(&mut self, smss: u32, sack: Sack) {
        self.state.config.smss = smss.max(1);
        self.state.config.sack = sack;
    }

    /// Returns the plug-ins' view of the state.
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

    /// Returns an error if extending the stream to `end` exceeds the limits.
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

    /// Returns the highest offset up to which an ACK reports data, cumulatively or by plausible SACK blocks.
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

    /// Records all bytes before `edge` as sent, including unseen bytes. Returns the number of unseen bytes.
    fn assume_sent(&mut self, now: Instant, edge: u64) -> u64 {
        let nxt = self.state.scoreboard.nxt();
        let unseen = edge.saturating_sub(nxt);
        let piece = u64::from(self.state.config.smss).max(unseen / UNSEEN_PIECES_MAX + 1);
        let mut left = unseen;
        while left > 0 {
            let len = left.min(piece);
            let (id, _) = self.push(now, len as u32);
            // The segment counts as sent twice, so that it is not timed.
            self.state.scoreboard.resend(id, now, self.state.order);
            left -= len;
        }
        unseen
    }

    fn push(&mut self, now: Instant, len: u32) -> (SegmentId, Segment) {
        self.state.written = self.state.scoreboard.nxt() + u64::from(len);
        self.state.record_first(now, len)
    }

    /// Records a retransmission of the outstanding segments in `start..end`. Returns `true` if there were any.
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

    /// Returns the outstanding segment that contains the byte at `offset`, or otherwise the first segment after it.
    fn holding(&self, offset: u64) -> SegmentId {
        let board = &self.state.scoreboard;
        let at_or_after = board.id_at(offset);
        let before = at_or_after.0.checked_sub(1).map(SegmentId);
        let reaches = |id: &SegmentId| board.get(*id).is_some_and(|s| s.end() > offset);
        before.filter(reaches).unwrap_or(at_or_after)
    }

    /// Records the first transmission of the new data before `end`. Returns `true` if there was any.
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
