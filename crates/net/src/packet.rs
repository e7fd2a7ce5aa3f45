//! Packets, and the arena that holds them.
//!
//! A packet is a small plain struct without payload. Links and the fabric pass [`PacketHandle`]s. The arena reuses the
//! slots of delivered packets first-in first-out, so that the packets of a queue are stored next to each other, and
//! reading one packet brings the next one into the cache. The memory in use is proportional to the maximum number of
//! packets in transit.

use std::collections::VecDeque;

use dupack_tcp::facts::SendReason;
use dupack_tcp::segment::{Ack, Bit, Codepoint, DataSegment, EcnEcho};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;

use crate::ids::FlowId;
use crate::media::MediaReport;

/// A packet in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Flow that the packet belongs to.
    pub flow: FlowId,
    /// Bytes on the wire, including headers.
    pub wire_bytes: u32,
    /// Number within the flow and kind, from 0. For data, this is the stream offset divided by the segment size, so a
    /// retransmission has the number of its original. For ACKs and UDP, it is the count of packets sent. Loss scripts
    /// identify packets by this number.
    pub number: u64,
    /// Content of the packet.
    pub body: Body,
}

/// Content of a packet.
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
        /// Time of sending.
        sent: Instant,
    },
    /// Report of a receiver of real-time media.
    Report(MediaReport),
}

/// A data segment with the information that the ground truth needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Segment as the receiver sees it.
    pub segment: DataSegment,
    /// Stream offset of the first byte; never wraps.
    pub offset: u64,
    /// Position of the transmission in the sender's order of sending.
    pub order: u64,
    /// Kind of copy.
    pub copy: Copy,
    /// Reason for the transmission.
    pub why: SendReason,
    /// ECN field of the IP header.
    pub ecn: Codepoint,
    /// CWR bit of the TCP header.
    pub cwr: Bit,
}

/// Kind of copy that a data packet is, according to the truth and not to the sender's belief.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// The first transmission.
    First,
    /// A retransmission of bytes of which no copy had arrived or was in flight.
    Needed,
    /// A retransmission of bytes of which a copy had arrived or was in flight.
    Spurious,
    /// A copy made by a link that duplicates packets.
    LinkMade,
}

impl Copy {
    /// Returns `true` if the sender sent the copy, and `false` if a link made it.
    #[must_use]
    pub const fn is_senders(self) -> bool {
        !matches!(self, Self::LinkMade)
    }
}

/// Kind of packet, for loss models and scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// TCP data.
    Data,
    /// TCP ACK.
    Ack,
    /// Datagram or real-time media.
    Udp,
}

impl Packet {
    /// Returns the ECN field.
    #[must_use]
    pub const fn ecn(&self) -> Codepoint {
        match &self.body {
            Body::Data(data) => data.ecn,
            // RFC 3168 §6.1.4: a pure ACK is never ECN-capable.
            Body::Ack(_) | Body::Udp | Body::Media { .. } | Body::Report(_) => Codepoint::NotEct,
        }
    }

    /// Returns the acknowledged sequence number of a plain ACK, which has no SACK blocks and does not echo congestion;
    /// `None` for other packets.
    #[must_use]
    pub fn plainly_acknowledges(&self) -> Option<SeqNumber> {
        match &self.body {
            Body::Ack(ack) if ack.sacks.as_slice().is_empty() && ack.ecn != EcnEcho::Marked => {
                Some(ack.ack)
            }
            _ => None,
        }
    }

    /// Sets the ECN field to CE, if the packet is ECN-capable.
    pub(crate) fn mark(&mut self) {
        if let Body::Data(data) = &mut self.body
            && data.ecn.is_capable()
        {
            data.ecn = Codepoint::Ce;
        }
    }

    /// Returns the packet's kind.
    #[must_use]
    pub const fn kind(&self) -> PacketKind {
        match self.body {
            Body::Data(_) => PacketKind::Data,
            Body::Ack(_) => PacketKind::Ack,
            Body::Udp | Body::Media { .. } | Body::Report(_) => PacketKind::Udp,
        }
    }
}

/// Index of a packet in its [`PacketArena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketHandle(pub u32);

/// All packets in transit.
#[derive(Clone, Debug, Default)]
pub struct PacketArena {
    packets: Vec<Packet>,
    free: VecDeque<PacketHandle>,
}

impl PacketArena {
    /// Inserts `packet`.
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

    /// Frees the packet's slot. The handle is invalid afterwards.
    pub fn remove(&mut self, handle: PacketHandle) {
        debug_assert!(!self.free.contains(&handle) || self.free.len() > 64);
        self.free.push_back(handle);
    }

    /// Returns the packet with `handle`.
    #[must_use]
    pub fn get(&self, handle: PacketHandle) -> &Packet {
        &self.packets[handle.0 as usize]
    }

    /// Returns the packet with `handle`, mutably.
    pub fn get_mut(&mut self, handle: PacketHandle) -> &mut Packet {
        &mut self.packets[handle.0 as usize]
    }

    /// Returns the number of packets in transit.
    #[must_use]
    pub fn live(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Returns the maximum number of packets that were in transit at once.
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
