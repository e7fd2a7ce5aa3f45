//! Hash of all events of a run. Two runs with the same hash were identical.

use xxhash_rust::xxh3::Xxh3Default;

use crate::link::DropCause;
use crate::observer::{Happening, Observer, PacketEvent};
use crate::packet::{Body, Packet, PacketKind};

/// Observer that hashes (time, flow, packet, link, fate) of every event with XXH3.
///
/// The hash covers values and not memory, so it is the same on every platform.
#[derive(Clone, Default)]
pub struct TraceHash {
    hasher: Xxh3Default,
    events: u64,
}

impl core::fmt::Debug for TraceHash {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "TraceHash({:016x}, {} events)",
            self.digest(),
            self.events
        )
    }
}

impl TraceHash {
    /// Returns the hash of all events so far.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.hasher.digest()
    }

    /// Returns the number of hashed events.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }
}

impl Observer for TraceHash {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        let (code, link, detail) = code_of(event.what);
        let mut record = [0; RECORD_BYTES];
        let fields = [
            event.at.as_nanos(),
            u64::from(event.packet.flow.0) << 32 | u64::from(link),
            event.packet.number,
            content_of(event.packet),
            u64::from(event.packet.wire_bytes) << 16
                | u64::from(kind_code(event.packet.kind())) << 8
                | u64::from(code),
            detail,
        ];
        for (slot, field) in record.chunks_exact_mut(8).zip(fields) {
            slot.copy_from_slice(&field.to_le_bytes());
        }
        self.hasher.update(&record);
        self.events += 1;
    }
}

const RECORD_BYTES: usize = 48;
const NO_LINK: u32 = u32::MAX;

fn code_of(what: Happening) -> (u8, u32, u64) {
    match what {
        Happening::Sent => (0, NO_LINK, 0),
        Happening::Queued { link, wait } => (1, link.0, wait.as_nanos()),
        Happening::Dropped { link, cause } => (2, link.0, cause_code(cause)),
        Happening::Crossed { link } => (3, link.0, 0),
        Happening::Delivered => (4, NO_LINK, 0),
    }
}

const fn cause_code(cause: DropCause) -> u64 {
    cause as u64
}

const fn kind_code(kind: PacketKind) -> u8 {
    match kind {
        PacketKind::Data => 0,
        PacketKind::Ack => 1,
        PacketKind::Udp => 2,
    }
}

/// Returns a value that distinguishes this packet from others with the same number: the transmission for data, the
/// acknowledgment number and window for an ACK.
fn content_of(packet: &Packet) -> u64 {
    match &packet.body {
        Body::Data(data) => data.order << 32 | u64::from(data.segment.seq.0),
        Body::Ack(ack) => u64::from(ack.ack.0) << 32 | u64::from(ack.window),
        Body::Udp => 0,
        Body::Media { sent } => sent.as_nanos(),
        Body::Report(report) => report.received ^ report.expected.rotate_left(32),
    }
}
