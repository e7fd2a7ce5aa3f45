//! The packets with data in a capture, and which packet of one capture is which of another's.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::Path;

use dupack_packet::captured::CaptureReader;
use dupack_tcp::connection::Flags;

/// Where the receivers of all transfers listen.
pub const PORT: u16 = 5001;

/// Two captures' clocks are one, but a packet's time in one is that before it was handed on, in the other after.
const CLOCKS_NANOS: u64 = 2_000_000;

/// A packet with data, or a FIN.
#[derive(Clone, Copy, Debug)]
pub struct DataPacket {
    /// In its capture, from 1.
    pub number: u64,
    /// Since 1970, in nanoseconds.
    pub at: u64,
    pub seq: u32,
    /// Bytes of data, and one more for a FIN.
    pub len: u32,
    pub stamp: Option<u32>,
}

impl DataPacket {
    /// Where it begins, counted from `origin`.
    pub const fn start(&self, origin: u32) -> u64 {
        self.seq.wrapping_sub(origin) as u64
    }

    pub const fn end(&self, origin: u32) -> u64 {
        self.start(origin) + self.len as u64
    }

    /// Whether it has all of `other`, which was cut off it.
    fn holds(&self, other: &Self) -> bool {
        let (start, end) = (other.start(self.seq), other.end(self.seq));
        self.stamp == other.stamp && start < u64::from(self.len) && end <= u64::from(self.len)
    }
}

/// Reads them.
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

/// By the place of each packet that came, the place of the same packet where it left.
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

/// By the place of each packet that a host handed to its device, the place of the first packet on the path that was
/// cut off it.
pub fn cut_from(host: &[DataPacket], path: &[DataPacket]) -> Vec<Option<usize>> {
    /// Packets of one end come to the path in their order, but for a few.
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
