//! Observer that checks the invariants of one transfer.
//!
//! The monitor keeps its own record of the bytes that the network has delivered and of the windows that the receiver
//! has offered, independently of both ends.
//!
//! The sender, at each transmission:
//! - *New data* continues the data sent before, is at most one segment, has been written, and
//!   ends within the window last known to the sender, and within the window that the receiver offered.
//! - *New data* fits into the congestion window according to the recovery's own count of bytes in flight,
//!   with the exceptions of [`Monitor::window_limit`].
//! - *A retransmission* is of an outstanding segment that is not sacked (except for go-back-N of ns-2's
//!   SACK), and ends within a window that the receiver once offered.
//! - *A window probe* is empty, and is sent only while data waits and no data is outstanding.
//!
//! The sender, after each event:
//! - The retransmission timer runs if and only if data is outstanding, and is not set beyond its maximum.
//! - The sender does not idle: if nothing is in flight and data is missing, it sends a segment, except as in
//!   [`Idling`], or while the control's pacing delays the next segment.
//! - A timer runs while written data is not acknowledged.
//! - One segment ≤ `cwnd` ≤ the maximum; the number of bytes in flight is bounded by the outstanding bytes.
//! - Only data that the receiver has acknowledged counts as acknowledged.
//!
//! The receiver, at each ACK:
//! - The receiver acknowledges and sacks only delivered data; the ACK never decreases. Unless the receiver reneges, it
//!   acknowledges all data delivered in order; a receiver with an exact echo of marks may first acknowledge the data
//!   before a change of marks (RFC 8257 §3.2).
//! - The right edge of its window never moves left, and the window is at most as large as the buffer.
//!
//! Both: the number of transmissions and events without progress is bounded.

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

/// State of the monitor of one transfer.
pub struct Monitor {
    rules: Rules,
    /// Data that the network has delivered to the receiver.
    delivered: Ranges,
    /// Number of bytes that were delivered in order before the last arrival.
    before: u64,
    /// The highest ACK that the receiver has sent. `offered`: the highest right edge of its window.
    acked: u64,
    offered: u64,
    /// SND.NXT before the current transmission.
    nxt: u64,
    /// Maximum number of bytes in flight since they last fitted into the window, including that moment.
    in_flight_before_excess: u64,
    /// Number of timeouts. `timeout_edge`: SND.NXT at the last timeout, unless it was undone.
    timeouts: u64,
    timeout_edge: u64,
    undone: u64,
    progress: Progress,
    /// Maximum number of outstanding segments.
    pub peak_segments: usize,
    /// Maximum number of outstanding bytes.
    peak_flight: u64,
}

/// Progress of the transfer, and the numbers of transmissions and events since the last progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    una: u64,
    nxt: u64,
    offered: u64,
    /// Time of the last progress.
    pub at: Instant,
    transmissions: u64,
    events: u64,
}

/// Reports a violation. This ends the run like a panic, but does not print the message.
fn object(message: String) -> ! {
    panic::resume_unwind(Box::new(message))
}

/// Reports a violation unless the condition holds.
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
                object(format!("{number} is before the start of the stream"))
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
            "ACK {next}, but {there} bytes are delivered in order"
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
            "the window is {} bytes, the buffer {buffer}",
            ack.window
        );
        (self.acked, self.offered) = (next, edge);
    }

    /// Returns the maximum number of bytes in flight after new data was sent for the reason `why`.
    ///
    /// - Limited transmit may exceed `cwnd` by one segment for every duplicate ACK below the
    ///   threshold (RFC 3042 §2).
    /// - A tail loss probe is sent regardless of the window (RFC 8985 §7.3).
    /// - PRR paces a reduction, and so does rate halving: while more bytes are in flight than the reduced window allows, it sends
    ///   a fraction of the bytes delivered since the recovery began (RFC 9937 §6), so that the bytes in flight
    ///   do not exceed their number at that time, except for rounding to a whole segment.
    fn window_limit(&self, why: SendReason, sender: &Sender) -> u64 {
        let smss = u64::from(self.rules.sender.smss);
        let cwnd = sender.window().whole_bytes();
        // A reduction in response to a mark is paced as well. Segments that are sent on duplicate ACKs during this
        // reduction have the reason limited transmit.
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
            "a new segment has {len} bytes"
        );
        demand!(
            start == self.nxt && end == sender.scoreboard().nxt(),
            "new data {start}..{end} does not continue at {}",
            self.nxt
        );
        demand!(
            end <= self.rules.total_bytes,
            "new data to {end} was never written"
        );
        let edge = sender.peer_edge();
        demand!(
            end <= edge,
            "new data to {end} beyond the known edge {edge}"
        );
        let limit = self.window_limit(transmit.why, sender);
        // Limited transmit without SACK subtracts the segments that it sends from the bytes in flight.
        let limited = transmit.why == SendReason::LimitedTransmit && !self.rules.sack;
        let in_flight = if limited {
            sender.scoreboard().flight_size()
        } else {
            sender.in_flight(at)
        };
        demand!(
            in_flight <= limit,
            "{:?}: {in_flight} bytes in flight, the limit is {limit}",
            transmit.why
        );
    }

    fn retransmission(&self, transmit: &Transmit, sender: &Sender) {
        let board = sender.scoreboard();
        let start = transmit.offset;
        let Some(segment) = board.get(board.id_at(start)) else {
            object(format!("{start} is retransmitted but not outstanding"))
        };
        // If an overtaken ACK has moved the edge left, only the part of the segment that fits is retransmitted.
        let fits = sender.peer_edge().saturating_sub(start);
        let resent = u64::from(transmit.segment.len);
        let is_cut = resent == fits && 0 < resent && resent < u64::from(segment.len);
        demand!(
            segment.start == start && (segment.len == transmit.segment.len || is_cut),
            "{start} is retransmitted with other bounds than {segment:?}"
        );
        demand!(
            segment.reported == Reported::Missing || self.rules.resends_sacked,
            "{start} is retransmitted ({:?}) although it is sacked",
            transmit.why
        );
    }

    fn probe(transmit: &Transmit, sender: &Sender) {
        let board = sender.scoreboard();
        demand!(
            transmit.segment.len == 0 && board.is_empty() && !sender.is_done(),
            "an unnecessary window probe"
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
        // RFC 6675's pipe counts both a segment and its retransmission. NewReno counts data covered by partial ACKs as
        // in flight until the recovery ends (it deflates the window by this amount).
        demand!(
            in_flight <= 2 * self.peak_flight && board.sacked_bytes() <= flight,
            "{in_flight} in flight and {} sacked of {flight}",
            board.sacked_bytes()
        );
    }

    /// Records new timeouts. Must be called before anything is sent after a timeout.
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

    /// Checks that the sender does not idle. A recovery with SACKs considers everything lost after a timeout, and
    /// counts its retransmissions as in flight. If nothing is in flight and nothing is sent, the sender waits for the
    /// next timeout although the window is open.
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
            "{:?} to {end}, beyond the offered edge {}",
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
            "no timer runs while data is not acknowledged"
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
