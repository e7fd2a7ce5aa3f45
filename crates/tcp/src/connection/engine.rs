//! The two halves of an established connection, and what lies between them and the header.

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

/// Ranges out of order beyond which only data in order is taken, beside one for every two full
/// segments of the buffer: as many gaps as full segments can leave. A peer that sends single
/// bytes with gaps between them would have this end remember more than it receives.
const EXTRA_RANGES: usize = 16;

/// The established connection. Offsets of both streams count from 0 and include the FIN.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) negotiated: Negotiated,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// Position of this end's FIN, once there is one.
    pub(super) fin: Option<u64>,
    /// Position of the peer's FIN, once one has been taken.
    pub(super) peer_fin: Option<u64>,
    /// The offset after the highest position received.
    pub(super) highest: u64,
    /// Last.ACK.sent (RFC 7323 §4.3).
    pub(super) last_ack_sent: u64,
    /// The segment that last told the peer's window: its number and its acknowledgment
    /// (SND.WL1 and SND.WL2).
    pub(super) window_news: (u64, u64),
    /// The largest window that the peer ever told: MAX.SND.WND (RFC 5961 §5.2).
    pub(super) peer_window_max: u32,
    /// An ACK is due for another reason than data.
    pub(super) ack: Due,
    /// An ACK whose SACK blocks did not fit beside data.
    pub(super) stashed: Option<Ack>,
    /// Since when the oldest thing unacknowledged or unsent waits without progress, and SND.UNA
    /// then.
    pub(super) waiting: Option<(Instant, u64)>,
    /// Since when the peer's window has been closed to something that waits.
    pub(super) shut_out: Option<Instant>,
    /// When the peer was last heard.
    pub(super) heard_at: Instant,
    /// Keep-alive probes sent since.
    pub(super) probes: u32,
    /// A keep-alive probe is due.
    pub(super) probe: Due,
    /// What is known of the path's MTU.
    pub(super) path: PathMtu,
    /// Most ranges kept out of order.
    ranges_max: usize,
    /// What Accurate ECN wants, where it was agreed on.
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

    /// Sequence number of the first byte of this end's stream.
    pub(super) const fn first(&self) -> SeqNumber {
        self.sender.config().isn
    }

    /// SND.UNA as an offset.
    pub(super) const fn una(&self) -> u64 {
        self.sender.scoreboard().una()
    }

    /// SND.NXT as an offset.
    pub(super) const fn nxt(&self) -> u64 {
        self.sender.scoreboard().nxt()
    }

    /// RCV.NXT as a sequence number.
    pub(super) fn expected(&self) -> SeqNumber {
        let receiver = &self.receiver;
        receiver.config().irs.at(receiver.in_order_bytes())
    }

    /// The sequence number for a segment without data: SND.NXT, or as far as the peer's window
    /// goes if it was taken back, for the peer would not believe a number beyond it.
    pub(super) fn sequence(&self) -> SeqNumber {
        let edge = self.sender.peer_edge().max(self.una());
        self.first().at(self.nxt().min(edge))
    }

    /// Bytes of this end's stream that are acknowledged; the FIN is none.
    pub(super) fn acknowledged(&self) -> u64 {
        let una = self.una();
        self.fin.map_or(una, |fin| una.min(fin))
    }

    /// Up to where the peer's stream is complete; the FIN is no part of it.
    pub(super) fn readable(&self) -> u64 {
        let next = self.receiver.in_order_bytes();
        self.peer_fin.map_or(next, |fin| next.min(fin))
    }

    pub(super) fn read(&mut self, bytes: u64) -> u64 {
        self.receiver.read(bytes)
    }

    /// The stream ends after `written` bytes: a FIN follows them.
    pub(super) fn finish(&mut self, written: u64) {
        if self.fin.is_none() {
            self.fin = Some(written);
            self.sender.finish();
        }
    }

    /// Whether the peer has acknowledged the FIN.
    pub(super) fn fin_acknowledged(&self) -> bool {
        self.fin.is_some_and(|fin| self.una() > fin)
    }

    /// Whether the peer's FIN has arrived and everything before it.
    pub(super) fn peer_finished(&self) -> bool {
        self.peer_fin
            .is_some_and(|fin| self.receiver.in_order_bytes() > fin)
    }

    /// Whether a segment that leaves a gap would need more memory than it is worth.
    pub(super) fn is_fragmented(&self) -> bool {
        self.receiver.out_of_order_ranges() >= self.ranges_max
    }

    /// The RST that tells the peer of an abort.
    pub(super) fn abort(&self) -> Segment {
        let mut reset = Segment::new(self.sequence());
        reset.flags = Flags::RST;
        reset.ack = Some(self.expected());
        reset
    }
}
