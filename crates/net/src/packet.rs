//! Packets, and the arena they live in.
//!
//! A packet is a small plain struct without payload. Links and the fabric pass
//! [`PacketHandle`]s; the arena reuses the slots of delivered packets first-in first-out, so that
//! packets of a queue stand beside each other: one that is due was fetched with those before it. The
//! memory in use stays as small as the number of packets in flight.

use std::collections::VecDeque;

use dupack_tcp::facts::SendReason;
use dupack_tcp::segment::{Ack, Bit, Codepoint, DataSegment, EcnEcho};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

use crate::ids::FlowId;
use crate::media::MediaReport;

/// One packet under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Bytes on the wire, headers included.
    pub wire_bytes: u32,
    /// Its number within the flow and kind, from 0: for data the stream offset divided by the
    /// segment size (so a retransmission has the number of its original), for ACKs and UDP the
    /// count of packets sent. Loss scripts name packets by it.
    pub number: u64,
    /// What it carries.
    pub body: Body,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A TCP segment with data, or a window probe.
    Data(Data),
    /// A TCP acknowledgment.
    Ack(Ack),
    /// A datagram.
    Udp,
    /// A packet of real-time media.
    Media {
        /// When it was sent.
        sent: Instant,
    },
    /// What a receiver of real-time media reports.
    Report(MediaReport),
}

/// A data segment and what the ground truth needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// What the receiver sees.
    pub segment: DataSegment,
    /// Stream offset of the first byte; never wraps.
    pub offset: u64,
    /// The transmission's place in the sender's order of sending.
    pub order: u64,
    /// Which copy of its bytes it is.
    pub copy: Copy,
    /// Why the sender sent it.
    pub why: SendReason,
    /// The ECN field of its IP header.
    pub ecn: Codepoint,
    /// Whether it carries CWR.
    pub cwr: Bit,
}

/// Which copy of its bytes a data packet is, by the truth and not by the sender's belief.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// The first transmission.
    First,
    /// A retransmission of bytes of which no copy had arrived or was still under way.
    Needed,
    /// A retransmission of bytes of which a copy had arrived or was still under way.
    Spurious,
    /// Made by a link that delivers packets twice.
    LinkMade,
}

impl Copy {
    /// Whether the sender sent it: links make copies of their own.
    #[must_use]
    pub const fn is_senders(self) -> bool {
        !matches!(self, Self::LinkMade)
    }
}

/// What loss models and scripts tell packets apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// TCP data.
    Data,
    /// A TCP acknowledgment.
    Ack,
    /// A datagram, or real-time media.
    Udp,
}

impl Packet {
    /// Its ECN field.
    #[must_use]
    pub const fn ecn(&self) -> Codepoint {
        match &self.body {
            Body::Data(data) => data.ecn,
            // RFC 3168 §6.1.4: no pure ACK is ECN-capable.
            Body::Ack(_) | Body::Udp | Body::Media { .. } | Body::Report(_) => Codepoint::NotEct,
        }
    }

    /// What it acknowledges, if it is an ACK that says nothing else: no SACK blocks, no echo of
    /// congestion.
    #[must_use]
    pub fn plainly_acknowledges(&self) -> Option<SeqNumber> {
        match &self.body {
            Body::Ack(ack) if ack.sacks.as_slice().is_empty() && ack.ecn != EcnEcho::Marked => {
                Some(ack.ack)
            }
            _ => None,
        }
    }

    /// Writes CE into its ECN field, if it is ECN-capable.
    pub(crate) fn mark(&mut self) {
        if let Body::Data(data) = &mut self.body
            && data.ecn.is_capable()
        {
            data.ecn = Codepoint::Ce;
        }
    }

    /// The packet's kind.
    #[must_use]
    pub const fn kind(&self) -> PacketKind {
        match self.body {
            Body::Data(_) => PacketKind::Data,
            Body::Ack(_) => PacketKind::Ack,
            Body::Udp | Body::Media { .. } | Body::Report(_) => PacketKind::Udp,
        }
    }
}

/// A packet's place in its [`PacketArena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketHandle(pub u32);

/// All packets under way.
#[derive(Clone, Debug, Default)]
pub struct PacketArena {
    packets: Vec<Packet>,
    free: VecDeque<PacketHandle>,
}

impl PacketArena {
    /// Takes in `packet`.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> PacketHandle {
        if let Some(handle) = self.free.pop_front() {
            self.packets[handle.0 as usize] = packet;
            return handle;
        }
        let handle = PacketHandle(self.packets.len() as u32);
        self.packets.push(packet);
        handle
    }

    /// Releases the packet's slot; the handle is void from then on.
    pub fn remove(&mut self, handle: PacketHandle) {
        debug_assert!(!self.free.contains(&handle) || self.free.len() > 64);
        self.free.push_back(handle);
    }

    /// The packet of `handle`.
    #[must_use]
    pub fn get(&self, handle: PacketHandle) -> &Packet {
        &self.packets[handle.0 as usize]
    }

    /// The packet of `handle`, to be changed.
    pub fn get_mut(&mut self, handle: PacketHandle) -> &mut Packet {
        &mut self.packets[handle.0 as usize]
    }

    /// How many packets are under way.
    #[must_use]
    pub fn live(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// How many packets were under way at most.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.packets.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u64) -> Packet {
        Packet {
            flow: FlowId(0),
            wire_bytes: 40,
            number,
            body: Body::Udp,
        }
    }

    #[test]
    fn the_slot_freed_first_is_used_first() {
        let mut arena = PacketArena::default();
        let handles: Vec<_> = (0..3).map(|n| arena.insert(packet(n))).collect();
        arena.remove(handles[0]);
        arena.remove(handles[2]);
        assert_eq!(arena.live(), 1);
        assert_eq!(arena.insert(packet(7)), handles[0]);
        assert_eq!(arena.insert(packet(8)), handles[2]);
        assert_eq!(arena.get(handles[0]).number, 7);
        assert_eq!((arena.live(), arena.peak()), (3, 3));
    }

    #[test]
    fn a_packet_is_small() {
        assert!(size_of::<Packet>() <= 96, "{}", size_of::<Packet>());
    }
}
