//! Watches one transfer and objects to everything that must not be.
//!
//! The monitor keeps books of its own: which bytes the network has delivered, and what the
//! receiver has offered. It believes neither end about them.
//!
//! The sender, after each transmission:
//! - *New data* continues what was sent before, is at most one segment, has been written, and
//!   ends within the window as the sender last knew it, and as the receiver offered it.
//! - *New data* fits into the congestion window by the recovery's own count of what is in flight,
//!   with the exceptions of [`Monitor::window_limit`].
//! - *A retransmission* is of an outstanding segment that is not sacked (go-back-N in ns-2's
//!   SACK may know no better), and ends within what the receiver once offered.
//! - *A window probe* is empty, and sent only while data waits and none is outstanding.
//!
//! The sender, after each event:
//! - The retransmission timer runs exactly while data is outstanding, and not beyond its maximum.
//! - Nothing in flight, data missing and nothing sent is objected to as [`Idling`] says, unless
//!   the control's pace holds the next segment back.
//! - Some timer runs while anything is written and not acknowledged.
//! - One segment ≤ `cwnd` ≤ the maximum; what is in flight is no more than there is.
//! - It believes acknowledged only what the receiver has acknowledged.
//!
//! The receiver, at each ACK:
//! - It acknowledges, and sacks, only what has been delivered; the ACK never falls. Unless it
//!   reneges, it acknowledges all that has been delivered in order; a receiver whose echo is exact
//!   may first acknowledge what came before a change of marks (RFC 8257 §3.2).
//! - The right edge of its window never moves left, and the window is no larger than the buffer.
//!
//! Both: transmissions and events without any progress are finite in number.

use std::panic;

use dupack_net::ids::FlowId;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::{Body, Packet};
use dupack_tcp::Sender;
use dupack_tcp::facts::SendReason;
use dupack_tcp::scoreboard::Reported;
use dupack_tcp::segment::Ack;
use dupack_tcp::sender::{Transmit, TransmitKind};
use dupack_tcp::time::Instant;

use super::ranges::Ranges;
use super::run::{Idling, Rules};

/// The books of one transfer.
pub struct Monitor {
    rules: Rules,
    /// What the network has delivered to the receiver.
    delivered: Ranges,
    /// What had been delivered in order before the last arrival.
    before: u64,
    /// The highest ACK that the receiver has sent, and the highest right edge.
    acked: u64,
    offered: u64,
    /// SND.NXT before the transmission at hand.
    nxt: u64,
    /// Most bytes in flight since they last fitted into the window, that moment included.
    in_flight_before_excess: u64,
    /// Timeouts so far, and SND.NXT at the last, unless it was undone.
    timeouts: u64,
    timeout_edge: u64,
    undone: u64,
    progress: Progress,
    /// Most segments outstanding so far.
    pub peak_segments: usize,
    /// Most bytes outstanding so far.
    peak_flight: u64,
}

/// How far the transfer has come, and what has happened since it last moved.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    una: u64,
    nxt: u64,
    offered: u64,
    /// When it last moved.
    pub at: Instant,
    transmissions: u64,
    events: u64,
}

/// Objects: ends the run like a panic, but without its message on the screen.
fn object(message: String) -> ! {
    panic::resume_unwind(Box::new(message))
}

/// Objects unless the condition holds.
macro_rules! demand {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            object(format!($($message)+));
        }
    };
}

impl Monitor {
    pub fn new(rules: Rules) -> Self {
        Self {
            offered: u64::from(rules.sender.peer_window),
            rules,
            delivered: Ranges::default(),
            before: 0,
            acked: 0,
            nxt: 0,
            in_flight_before_excess: 0,
            timeouts: 0,
            timeout_edge: 0,
            undone: 0,
            progress: Progress {
                una: 0,
                nxt: 0,
                offered: 0,
                at: Instant::ZERO,
                transmissions: 0,
                events: 0,
            },
            peak_segments: 0,
            peak_flight: 0,
        }
    }

    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    fn ack_sent(&mut self, ack: &Ack) {
        let offset = |number: dupack_tcp::seq::SeqNumber| {
            let isn = self.rules.sender.isn;
            let Some(offset) = number.offset(isn, self.acked) else {
                object(format!("{number} lies before the stream"))
            };
            offset
        };
        let next = offset(ack.ack);
        demand!(next >= self.acked, "ACK {next} after {}", self.acked);
        let there = self.delivered.prefix();
        demand!(
            next == there
                || next < there && self.rules.reneges
                || next == self.before && self.rules.exact_echo,
            "ACK {next}, but delivered is {there}"
        );
        for block in ack.sacks.as_slice() {
            let (start, end) = (offset(block.start), offset(block.end));
            demand!(
                start < end && self.delivered.contains(start, end),
                "SACK {start}..{end} was not delivered"
            );
        }
        let edge = next + u64::from(ack.window);
        demand!(
            edge >= self.offered,
            "the window shrinks from {} to {edge}",
            self.offered
        );
        let buffer = self.rules.receiver_buffer;
        demand!(
            ack.window <= buffer,
            "a window of {} with a buffer of {buffer}",
            ack.window
        );
        (self.acked, self.offered) = (next, edge);
    }

    /// Bytes that may be in flight after new data was sent for the reason `why`.
    ///
    /// - Limited transmit may exceed `cwnd` by one segment for every duplicate ACK below the
    ///   threshold (RFC 3042 §2).
    /// - A tail loss probe goes out whatever the window says (RFC 8985 §7.3).
    /// - PRR paces a reduction: while more is in flight than the reduced window, it lets go out
    ///   a share of what was delivered since the recovery began (RFC 9937 §6), so that in flight
    ///   does not rise above what it was then, but for the rounding to a whole segment.
    fn window_limit(&self, why: SendReason, sender: &Sender) -> u64 {
        let smss = u64::from(self.rules.sender.smss);
        let cwnd = sender.window().whole_bytes();
        // A reduction for a mark is paced, too, and what leaves meanwhile on duplicate ACKs is
        // limited transmit by name.
        let paced = match self.rules.prr {
            true => self.in_flight_before_excess + smss,
            false => 0,
        };
        match why {
            SendReason::LimitedTransmit => {
                let duplicates = self.rules.dup_threshold.saturating_sub(1);
                paced.max(cwnd + smss * duplicates)
            }
            SendReason::TailLossProbe => u64::MAX,
            _ => paced.max(cwnd),
        }
    }

    fn new_data(&self, at: Instant, transmit: &Transmit, sender: &Sender) {
        let len = transmit.segment.len;
        let (start, end) = (transmit.offset, transmit.offset + u64::from(len));
        demand!(
            len > 0 && len <= self.rules.sender.smss,
            "a new segment of {len} bytes"
        );
        demand!(
            start == self.nxt && end == sender.scoreboard().nxt(),
            "new data {start}..{end} after {}",
            self.nxt
        );
        demand!(end <= self.rules.total_bytes, "{end} was never written");
        let edge = sender.peer_edge();
        demand!(
            end <= edge,
            "new data to {end} beyond the known edge {edge}"
        );
        let limit = self.window_limit(transmit.why, sender);
        // Limited transmit without SACK takes what it lets out off what is in flight.
        let limited = transmit.why == SendReason::LimitedTransmit && !self.rules.sack;
        let in_flight = if limited {
            sender.scoreboard().flight_size()
        } else {
            sender.in_flight(at)
        };
        demand!(
            in_flight <= limit,
            "{:?} makes {in_flight} in flight, the limit is {limit}",
            transmit.why
        );
    }

    fn retransmission(&self, transmit: &Transmit, sender: &Sender) {
        let board = sender.scoreboard();
        let start = transmit.offset;
        let Some(segment) = board.get(board.id_at(start)) else {
            object(format!("{start} is resent and not outstanding"))
        };
        // Where an overtaken ACK has moved the edge left, only what fits is resent.
        let fits = sender.peer_edge().saturating_sub(start);
        let resent = u64::from(transmit.segment.len);
        let is_cut = resent == fits && 0 < resent && resent < u64::from(segment.len);
        demand!(
            segment.start == start && (segment.len == transmit.segment.len || is_cut),
            "{start} is resent in other bounds than {segment:?}"
        );
        demand!(
            segment.reported == Reported::Missing || self.rules.resends_sacked,
            "{start} is resent ({:?}) although it is sacked",
            transmit.why
        );
    }

    fn probe(transmit: &Transmit, sender: &Sender) {
        let board = sender.scoreboard();
        demand!(
            transmit.segment.len == 0 && board.is_empty() && !sender.is_done(),
            "a needless window probe"
        );
    }

    fn retransmission_timer(&self, at: Instant, sender: &Sender) {
        let board = sender.scoreboard();
        let rto_at = sender.rto_at();
        demand!(
            board.is_empty() == rto_at.is_none(),
            "{} segments outstanding, retransmission timer {rto_at:?}",
            board.len()
        );
        let latest = at + self.rules.sender.rtt.max_rto;
        demand!(
            rto_at.is_none_or(|rto| at <= rto && rto <= latest),
            "at {at:?} the retransmission timer is set to {rto_at:?}"
        );
    }

    fn windows(&self, at: Instant, sender: &Sender) {
        let smss = f64::from(self.rules.sender.smss);
        let window = sender.window();
        let most = self.rules.sender.max_window.max(smss);
        demand!(
            window.cwnd >= smss && window.cwnd <= most && window.ssthresh >= smss,
            "the window is {window:?}"
        );
        let board = sender.scoreboard();
        demand!(
            board.una() <= self.acked && board.nxt() <= self.rules.total_bytes,
            "una {} of {}, nxt {}",
            board.una(),
            self.acked,
            board.nxt()
        );
        let flight = board.flight_size();
        let in_flight = sender.in_flight(at);
        // RFC 6675's pipe counts a segment and its retransmission; NewReno counts what partial
        // ACKs covered as in flight until the recovery ends (it deflates the window by it).
        demand!(
            in_flight <= 2 * self.peak_flight && board.sacked_bytes() <= flight,
            "{in_flight} in flight and {} sacked of {flight}",
            board.sacked_bytes()
        );
    }

    /// To be called before anything is sent after a timeout.
    fn note_timeouts(&mut self, sender: &Sender) {
        let timeouts = sender.stats().timeouts;
        if timeouts > self.timeouts {
            self.timeouts = timeouts;
            self.timeout_edge = self.nxt;
        }
        let undone = sender.stats().undone();
        if undone > self.undone {
            self.undone = undone;
            self.timeout_edge = 0;
        }
    }

    /// A recovery with SACKs takes everything for lost after a timeout, and counts as in flight
    /// what it has resent: nothing in flight and nothing sent would mean to wait for the next
    /// timeout in an open window.
    fn no_idling(&self, at: Instant, sender: &Sender) {
        let board = sender.scoreboard();
        let paced = sender.paced_until().is_some_and(|until| at < until);
        if sender.in_flight(at) > 0 || paced || self.rules.idling == Idling::Always {
            return;
        }
        let mut outstanding = board.iter_from(board.first());
        let missing = outstanding.find(|(_, s)| s.reported == Reported::Missing);
        let Some((_, missing)) = missing else {
            return;
        };
        demand!(
            self.rules.idling == Idling::BeforeTimeout && missing.start >= self.timeout_edge,
            "nothing is in flight, {} is missing, and nothing is sent",
            missing.start
        );
    }

    fn note_progress(&mut self, at: Instant, sender: &Sender) {
        let (una, nxt) = (sender.scoreboard().una(), sender.scoreboard().nxt());
        let offered = sender.peer_edge().max(self.progress.offered);
        let before = (self.progress.una, self.progress.nxt, self.progress.offered);
        if (una, nxt, offered) != before || sender.is_done() {
            self.progress = Progress {
                una,
                nxt,
                offered,
                at,
                transmissions: 0,
                events: 0,
            };
        }
        self.progress.events += 1;
        let limit = self.rules.most_without_progress(self.peak_segments);
        demand!(
            self.progress.transmissions <= limit && self.progress.events <= limit,
            "no progress since {:?}: {:?}",
            self.progress.at,
            self.progress
        );
    }
}

impl Observer for Monitor {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        let Packet { body, .. } = event.packet;
        match (event.what, body) {
            (Happening::Sent, Body::Ack(ack)) => self.ack_sent(ack),
            (Happening::Delivered, Body::Data(data)) if data.segment.len > 0 => {
                let end = data.offset + u64::from(data.segment.len);
                self.before = self.delivered.prefix();
                self.delivered.insert(data.offset, end);
            }
            _ => {}
        }
    }

    fn transmission(&mut self, at: Instant, _: FlowId, transmit: &Transmit, sender: &Sender) {
        self.note_timeouts(sender);
        let end = transmit.offset + u64::from(transmit.segment.len);
        demand!(
            end <= self.offered,
            "{:?} to {end}, {} was offered",
            transmit.why,
            self.offered
        );
        match transmit.kind {
            TransmitKind::First => self.new_data(at, transmit, sender),
            TransmitKind::Repeat => self.retransmission(transmit, sender),
            TransmitKind::Probe => Self::probe(transmit, sender),
        }
        self.nxt = sender.scoreboard().nxt();
        self.progress.transmissions += 1;
        self.peak_segments = self.peak_segments.max(sender.scoreboard().len());
        self.peak_flight = self.peak_flight.max(sender.scoreboard().flight_size());
        self.retransmission_timer(at, sender);
    }

    fn sender(&mut self, at: Instant, _: FlowId, sender: &Sender) {
        self.retransmission_timer(at, sender);
        demand!(
            sender.is_done() || sender.next_timeout().is_some(),
            "no timer runs while data waits"
        );
        self.windows(at, sender);
        self.note_timeouts(sender);
        self.no_idling(at, sender);
        self.note_progress(at, sender);
        let in_flight = sender.in_flight(at);
        self.in_flight_before_excess = if in_flight <= sender.window().whole_bytes() {
            in_flight
        } else {
            self.in_flight_before_excess.max(in_flight)
        };
    }
}
