//! Data packets in a capture, and the matching packets in another capture.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::Path;

use dupack_packet::captured::CaptureReader;
use dupack_tcp::connection::Flags;

/// Port of the receivers of all transfers.
pub const PORT: u16 = 5001;

/// Maximum time by which the capture at the sender may record a packet later than the capture at the receiver. The
/// captures have the same clock, but one capture records a packet before the packet is forwarded, and the other capture
/// afterwards.
const CLOCKS_NANOS: u64 = 2_000_000;

/// A packet with data or a FIN.
#[derive(Clone, Copy, Debug)]
pub struct DataPacket {
    /// Number of the packet in its capture, counted from 1.
    pub number: u64,
    /// Nanoseconds since 1970.
    pub at: u64,
    pub seq: u32,
    /// Number of sequence numbers: data bytes, plus one for a FIN.
    pub len: u32,
    pub stamp: Option<u32>,
}

impl DataPacket {
    /// Returns the offset of the first byte from `origin`.
    pub const fn start(&self, origin: u32) -> u64 {
        self.seq.wrapping_sub(origin) as u64
    }

    pub const fn end(&self, origin: u32) -> u64 {
        self.start(origin) + self.len as u64
    }

    /// Returns `true` if the packet contains all bytes of `other` and has the same timestamp, so that `other` is a part
    /// of it.
    fn holds(&self, other: &Self) -> bool {
        let (start, end) = (other.start(self.seq), other.end(self.seq));
        self.stamp == other.stamp && start < u64::from(self.len) && end <= u64::from(self.len)
    }
}

/// Reads the data packets of a capture.
pub fn read(path: &Path) -> Result<Vec<DataPacket>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(|error| failed(&error))?;
    let mut reader = CaptureReader::new(file).map_err(|error| failed(&error))?;
    let mut packets = Vec::new();
    while let Some(captured) = reader.next_packet().map_err(|error| failed(&error))? {
        let Ok(packet) = captured.tcp() else { continue };
        let segment = &packet.segment;
        let len = segment.len + u32::from(segment.is(Flags::FIN));
        if packet.destination.port() != PORT || len == 0 || segment.is(Flags::SYN) {
            continue;
        }
        packets.push(DataPacket {
            number: packet.number,
            at: packet.at.as_unix_nanos(),
            seq: segment.seq.0,
            len,
            stamp: segment.options.timestamps.map(|stamps| stamps.value),
        });
    }
    Ok(packets)
}

/// Returns, for each packet in `came` that arrived, the index of the same packet in `left`, the capture at the sender.
pub fn arrivals(left: &[DataPacket], came: &[DataPacket]) -> Vec<Option<usize>> {
    let mut waiting: HashMap<_, VecDeque<usize>> = HashMap::new();
    for (place, packet) in left.iter().enumerate() {
        let key = (packet.seq, packet.len, packet.stamp);
        waiting.entry(key).or_default().push_back(place);
    }
    let matched = came.iter().map(|packet| {
        let places = waiting.get_mut(&(packet.seq, packet.len, packet.stamp))?;
        let first = *places.front()?;
        if left[first].at > packet.at + CLOCKS_NANOS {
            return None;
        }
        places.pop_front()
    });
    matched.collect()
}

/// Returns, for each packet that a host passed to its device, the index of the first packet on the path that is a part
/// of this packet.
pub fn cut_from(host: &[DataPacket], path: &[DataPacket]) -> Vec<Option<usize>> {
    /// Number of host packets that are searched for a match. A small number is enough, because packets reach the path
    /// in order, with few exceptions.
    const AHEAD: usize = 64;
    let mut first = vec![None; host.len()];
    let mut next = 0;
    for (place, packet) in path.iter().enumerate() {
        let ahead = host.iter().enumerate().skip(next).take(AHEAD);
        let found = ahead
            .filter(|(_, one)| one.holds(packet))
            .map(|(n, _)| n)
            .next();
        if let Some(found) = found {
            next = found;
            first[found].get_or_insert(place);
        }
    }
    first
}
