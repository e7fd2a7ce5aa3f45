//! Both halves of an established connection, and the state that connects them with headers.

use alloc::boxed::Box;

use crate::options::Timestamping;
use crate::receiver::Receiver;
use crate::segment::Ack;
use crate::sender::Sender;
use crate::seq::SeqNumber;
use crate::time::Instant;

use super::accurate::Feedback;
use super::config::{Negotiated, TIMESTAMP_OPTION_BYTES};
use super::header::{Flags, Segment};
use super::path_mtu::PathMtu;
use super::{Config, Due};

/// Number of out-of-order ranges that this end stores in addition to one range for every two full segments of the
/// buffer. Full segments alone leave at most one gap for every two segments. At the limit, only data in order is
/// accepted. Without the limit, a peer that sends single bytes with gaps between them could make this end store more
/// than it receives.
const EXTRA_RANGES: usize = 16;

/// Established connection. Offsets of both streams count from 0 and include the FIN.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) negotiated: Negotiated,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// Offset of this end's FIN, once the stream has ended.
    pub(super) fin: Option<u64>,
    /// Offset of the peer's FIN, once it was accepted.
    pub(super) peer_fin: Option<u64>,
    /// Offset after the highest byte or FIN received.
    pub(super) highest: u64,
    /// Last.ACK.sent (RFC 7323 §4.3).
    pub(super) last_ack_sent: u64,
    /// Sequence and acknowledgment offsets of the segment that last updated the peer's window (SND.WL1 and SND.WL2).
    pub(super) window_news: (u64, u64),
    /// Largest window that the peer has advertised: MAX.SND.WND (RFC 5961 §5.2).
    pub(super) peer_window_max: u32,
    /// `Yes` if an ACK is due for a reason other than new data.
    pub(super) ack: Due,
    /// ACK whose SACK blocks did not fit into a data segment. It is sent separately.
    pub(super) stashed: Option<Ack>,
    /// Time since which unacknowledged or unsent data has been waiting without progress, and SND.UNA at that time.
    pub(super) waiting: Option<(Instant, u64)>,
    /// Time since which the peer's closed window has been blocking data.
    pub(super) shut_out: Option<Instant>,
    /// Time of the peer's last segment.
    pub(super) heard_at: Instant,
    /// Number of keep-alive probes sent since `heard_at`.
    pub(super) probes: u32,
    /// `Yes` if a keep-alive probe is due.
    pub(super) probe: Due,
    /// State of the path MTU discovery.
    pub(super) path: PathMtu,
    /// Maximum number of out-of-order ranges.
    ranges_max: usize,
    /// State of Accurate ECN, if it was agreed on.
    pub(super) feedback: Option<Box<Feedback>>,
}

impl Engine {
    pub(super) fn new(
        config: &Config,
        negotiated: Negotiated,
        sender: Sender,
        receiver: Receiver,
        now: Instant,
    ) -> Self {
        let option_bytes = match negotiated.timestamps {
            Timestamping::Carried => u32::from(TIMESTAMP_OPTION_BYTES),
            Timestamping::Absent => 0,
        };
        Self {
            peer_window_max: sender.config().peer_window,
            sender,
            receiver,
            fin: None,
            peer_fin: None,
            highest: 0,
            last_ack_sent: 0,
            window_news: (0, 0),
            ack: Due::No,
            stashed: None,
            waiting: None,
            shut_out: None,
            heard_at: now,
            probes: 0,
            probe: Due::No,
            path: PathMtu::new(&config.path_mtu, negotiated.smss, option_bytes),
            ranges_max: config.receive_buffer as usize / (2 * negotiated.peer_smss as usize)
                + EXTRA_RANGES,
            feedback: None,
            negotiated,
        }
    }

    /// Returns the sequence number of the first byte of this end's stream.
    pub(super) const fn first(&self) -> SeqNumber {
        self.sender.config().isn
    }

    /// Returns SND.UNA as an offset.
    pub(super) const fn una(&self) -> u64 {
        self.sender.scoreboard().una()
    }

    /// Returns SND.NXT as an offset.
    pub(super) const fn nxt(&self) -> u64 {
        self.sender.scoreboard().nxt()
    }

    /// Returns RCV.NXT as a sequence number.
    pub(super) fn expected(&self) -> SeqNumber {
        let receiver = &self.receiver;
        receiver.config().irs.at(receiver.in_order_bytes())
    }

    /// Returns the sequence number for a segment without data: SND.NXT, or the end of the peer's window if the peer has
    /// shrunk the window, because the peer would not accept a number beyond its window.
    pub(super) fn sequence(&self) -> SeqNumber {
        let edge = self.sender.peer_edge().max(self.una());
        self.first().at(self.nxt().min(edge))
    }

    /// Returns the number of acknowledged bytes of this end's stream, without the FIN.
    pub(super) fn acknowledged(&self) -> u64 {
        let una = self.una();
        self.fin.map_or(una, |fin| una.min(fin))
    }

    /// Returns the offset up to which the peer's stream is complete, without the FIN.
    pub(super) fn readable(&self) -> u64 {
        let next = self.receiver.in_order_bytes();
        self.peer_fin.map_or(next, |fin| next.min(fin))
    }

    pub(super) fn read(&mut self, bytes: u64) -> u64 {
        self.receiver.read(bytes)
    }

    /// Ends the stream after `written` bytes with a FIN.
    pub(super) fn finish(&mut self, written: u64) {
        if self.fin.is_none() {
            self.fin = Some(written);
            self.sender.finish();
        }
    }

    /// Returns `true` if the peer has acknowledged the FIN.
    pub(super) fn fin_acknowledged(&self) -> bool {
        self.fin.is_some_and(|fin| self.una() > fin)
    }

    /// Returns `true` if the peer's FIN and all data before it have arrived.
    pub(super) fn peer_finished(&self) -> bool {
        self.peer_fin
            .is_some_and(|fin| self.receiver.in_order_bytes() > fin)
    }

    /// Returns `true` if the maximum number of out-of-order ranges is reached.
    pub(super) fn is_fragmented(&self) -> bool {
        self.receiver.out_of_order_ranges() >= self.ranges_max
    }

    /// Returns the RST that reports an abort to the peer.
    pub(super) fn abort(&self) -> Segment {
        let mut reset = Segment::new(self.sequence());
        reset.flags = Flags::RST;
        reset.ack = Some(self.expected());
        reset
    }
}
