//! What a link is given, and what it answers.

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
    /// What the link will give out at the far end.
    pub packet: PacketHandle,
    /// Where on its route the packet is; the link hands it back.
    pub hop: Hop,
    /// The packet's kind, for filters and scripts.
    pub kind: PacketKind,
    /// Its flow, for scripts.
    pub flow: FlowId,
    /// Its number within flow and kind, for scripts.
    pub number: u64,
    /// Its size on the wire.
    pub bytes: u32,
    /// What it acknowledges, if it is an ACK that says nothing else: no SACK blocks, no echo of
    /// congestion.
    pub acknowledges: Option<SeqNumber>,
    /// Its ECN field: RED with `ecn` marks what is ECN-capable instead of dropping it.
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

/// What a link makes of an offered packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is on its way; come back for it at [`Link::next_arrival`](super::Link::next_arrival).
    Accepted {
        /// How long it waits for its transmission to begin.
        wait: Duration,
    },
    /// The same, and it is marked: CE is to be written into its ECN field.
    Marked {
        /// How long it waits for its transmission to begin.
        wait: Duration,
    },
    /// It is gone, and the link knows nothing of it any more.
    Dropped(DropCause),
}
