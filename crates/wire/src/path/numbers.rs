//! Flow and packet numbers, for links that distinguish packets (loss scripts).
//!
//! The simulator numbers a data packet by its position in the stream, so that a retransmission has the number of the
//! original. The simulator numbers other packets consecutively. Here, the stream starts after the SYN's sequence
//! number, and the unit is the length of the first segment with data.

use std::collections::HashMap;

use dupack_net::ids::FlowId;
use dupack_net::packet::PacketKind;
use dupack_tcp::seq::SeqNumber;

use super::frame::Frame;

/// Maximum number of flows to store. Packets of later flows count as one flow.
const MAX_FLOWS: usize = 65_536;

/// Both ends of a flow. The smaller address and port come first.
type Ends = ([u8; 18], [u8; 18]);

/// All flows seen, numbered in the order of their first packets.
#[derive(Debug, Default)]
pub(super) struct FlowNumbers {
    flows: HashMap<Ends, Flow>,
}

#[derive(Debug)]
struct Flow {
    id: FlowId,
    /// Streams from the smaller and from the larger end.
    streams: [Stream; 2],
}

/// One direction of a flow.
#[derive(Debug, Default)]
struct Stream {
    /// Sequence number of the first data byte.
    origin: Option<SeqNumber>,
    /// Length of the first segment with data, in bytes.
    unit: Option<u64>,
    /// Highest stream offset seen.
    reference: u64,
    others: u64,
}

/// Identification of a packet in a loss script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) flow: FlowId,
    /// Number of the packet's first segment.
    pub(super) number: u64,
}

impl Name {
    /// Name for links that do not distinguish packets.
    pub(super) const NOBODY: Self = Self {
        flow: FlowId(0),
        number: 0,
    };

    const UNKNOWN: Self = Self {
        flow: FlowId(u32::MAX),
        number: u64::MAX,
    };
}

impl FlowNumbers {
    /// Returns the name of `frame`.
    pub(super) fn name(&mut self, frame: &Frame) -> Name {
        let (shape, bytes) = (frame.shape(), frame.bytes());
        let (Some(transport), Some(addresses)) = (shape.transport(bytes), shape.addresses(bytes))
        else {
            return Name::UNKNOWN;
        };
        let (from, to) = addresses.split_at(addresses.len() / 2);
        let (source, destination) = (end(from, &transport[..2]), end(to, &transport[2..4]));
        let (ends, way) = if source <= destination {
            ((source, destination), 0)
        } else {
            ((destination, source), 1)
        };
        let count = self.flows.len();
        if count >= MAX_FLOWS && !self.flows.contains_key(&ends) {
            return Name::UNKNOWN;
        }
        let flow = self.flows.entry(ends).or_insert_with(|| Flow {
            // `count` is less than MAX_FLOWS.
            id: FlowId(count as u32),
            streams: Default::default(),
        });
        let number = flow.streams[way].number(shape.kind, transport, shape.segment_payload());
        Name {
            flow: flow.id,
            number,
        }
    }
}

impl Stream {
    fn number(&mut self, kind: PacketKind, transport: &[u8], payload: usize) -> u64 {
        const SYN: u8 = 2;
        if kind == PacketKind::Udp {
            return self.count();
        }
        let seq = SeqNumber(u32::from_be_bytes([
            transport[4],
            transport[5],
            transport[6],
            transport[7],
        ]));
        if transport[13] & SYN != 0 {
            *self = Self {
                origin: Some(seq.at(1)),
                others: self.others,
                ..Self::default()
            };
        }
        if kind != PacketKind::Data {
            return self.count();
        }
        let origin = *self.origin.get_or_insert(seq);
        let unit = *self.unit.get_or_insert(payload.max(1) as u64);
        let offset = seq.offset(origin, self.reference).unwrap_or(0);
        self.reference = self.reference.max(offset);
        offset / unit
    }

    fn count(&mut self) -> u64 {
        self.others += 1;
        self.others - 1
    }
}

fn end(address: &[u8], port: &[u8]) -> [u8; 18] {
    let mut end = [0; 18];
    let bytes = address.iter().chain(port);
    for (slot, byte) in end.iter_mut().zip(bytes) {
        *slot = *byte;
    }
    end
}
