//! Input and output of a link: the offered packet and the verdict.

use dupack_tcp::segment::Codepoint;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Duration;

use super::counters::DropCause;
use crate::ids::FlowId;
use crate::packet::{PacketHandle, PacketKind};
use crate::route::Hop;

/// A packet as a link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Handle that the link returns at the far end.
    pub packet: PacketHandle,
    /// Position on the packet's route. The link returns it at the far end.
    pub hop: Hop,
    /// Kind of packet, for filters and scripts.
    pub kind: PacketKind,
    /// Flow of the packet, for scripts.
    pub flow: FlowId,
    /// Number of the packet within its flow and kind, for scripts.
    pub number: u64,
    /// Size on the wire in bytes.
    pub bytes: u32,
    /// Acknowledged sequence number of a plain ACK, which has no SACK blocks and does not echo congestion; `None` for
    /// other packets.
    pub acknowledges: Option<SeqNumber>,
    /// ECN field of the packet. RED with `ecn` marks ECN-capable packets instead of dropping them.
    pub ecn: Codepoint,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            packet: PacketHandle(0),
            hop: Hop::default(),
            kind: PacketKind::Udp,
            flow: FlowId(0),
            number: 0,
            bytes: 0,
            acknowledges: None,
            ecn: Codepoint::NotEct,
        }
    }
}

/// Verdict on an offered packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The packet was accepted and must be taken at [`Link::next_arrival`](super::Link::next_arrival).
    Accepted {
        /// Waiting time until its transmission begins.
        wait: Duration,
    },
    /// The packet was accepted and marked: its ECN field must be set to CE.
    Marked {
        /// Waiting time until its transmission begins.
        wait: Duration,
    },
    /// The packet was dropped, and the link keeps no state about it.
    Dropped(DropCause),
}
