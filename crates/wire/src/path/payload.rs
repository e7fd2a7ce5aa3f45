//! Count of the payload that one direction of the path has delivered. TCP retransmissions do not count twice.
//!
//! The bytes of a stream are identified by their sequence numbers, beginning with the first one seen. Ranges that
//! arrive out of order are stored until the gap below them is filled.

use std::collections::{BTreeMap, HashMap};

use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use super::frame::Frame;

/// Maximum number of streams to distinguish. In later streams, duplicate bytes are counted each time.
const MAX_STREAMS: usize = 65_536;

/// Maximum number of out-of-order ranges to store for all streams together. If there are more, a stream gives up its
/// lowest gap: bytes that fill the gap later are not counted.
const MAX_RANGES: usize = 65_536;

/// SYN flag of TCP, and the offsets of the flags and of the sequence number (RFC 9293 §3.1).
const SYN: u8 = 2;
const FLAGS: usize = 13;
const SEQUENCE: usize = 4;

/// Payload that was delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Payload {
    /// Delivered bytes: for TCP, every byte once; for UDP, all bytes, including duplicates.
    pub bytes: u64,
    /// Times of the first and the last delivery, on the path's clock. `None` if nothing was delivered.
    pub delivered: Option<(Instant, Instant)>,
}

impl Payload {
    /// Returns the time from the first delivery to the last.
    #[must_use]
    pub fn lasted(&self) -> Duration {
        self.delivered
            .map_or(Duration::ZERO, |(first, last)| last.since(first))
    }

    fn add(&mut self, at: Instant, bytes: u64) {
        if bytes > 0 {
            self.bytes += bytes;
            self.delivered = Some((self.delivered.map_or(at, |(first, _)| first), at));
        }
    }
}

/// Counter of delivered payload.
#[derive(Debug, Default)]
pub(super) struct PayloadCount {
    payload: Payload,
    /// Streams, identified by both addresses and ports.
    streams: HashMap<[u8; 36], Stream>,
    /// Total number of ranges in all streams.
    ranges: usize,
}

/// One direction of a connection.
#[derive(Debug)]
struct Stream {
    /// Sequence number of offset 0.
    origin: SeqNumber,
    /// Offset of the first byte that is missing.
    front: u64,
    /// Ranges beyond `front` that have arrived, as start and end.
    beyond: BTreeMap<u64, u64>,
}

impl PayloadCount {
    /// Counts segment `index` of `frame`, which was delivered at `at`.
    pub(super) fn arrives(&mut self, at: Instant, frame: &Frame, index: usize) {
        let shape = frame.shape();
        let length = shape.payload_bytes(index) as u64;
        let Some(transport) = shape.transport(frame.bytes()) else {
            return;
        };
        if !shape.is_tcp() {
            return self.payload.add(at, length);
        }
        let (Some(stream), Some(field), Some(flags)) = (
            name(shape.addresses(frame.bytes()), transport),
            transport.get(SEQUENCE..SEQUENCE + 4),
            transport.get(FLAGS),
        ) else {
            return;
        };
        let seq = SeqNumber(u32::from_be_bytes([field[0], field[1], field[2], field[3]]));
        let seq = seq.at((index * shape.segment_payload()) as u64);
        let new = self.count(stream, seq, length, flags & SYN != 0);
        self.payload.add(at, new);
    }

    /// Returns the number of these bytes that have arrived for the first time.
    fn count(&mut self, name: [u8; 36], seq: SeqNumber, length: u64, is_syn: bool) -> u64 {
        if is_syn && let Some(old) = self.streams.remove(&name) {
            self.ranges -= old.beyond.len();
        }
        let is_known = self.streams.contains_key(&name);
        if !is_known && (self.streams.len() >= MAX_STREAMS || (length == 0 && !is_syn)) {
            return length;
        }
        let stream = self.streams.entry(name).or_insert_with(|| Stream {
            origin: if is_syn { seq.at(1) } else { seq },
            front: 0,
            beyond: BTreeMap::new(),
        });
        if length == 0 {
            return 0;
        }
        let before = stream.beyond.len();
        let new = stream.add(seq, length);
        self.ranges = self.ranges + stream.beyond.len() - before;
        if self.ranges > MAX_RANGES && stream.skip() {
            self.ranges -= 1;
        }
        new
    }

    /// Returns the payload delivered so far.
    pub(super) const fn payload(&self) -> Payload {
        self.payload
    }
}

impl Stream {
    fn add(&mut self, seq: SeqNumber, length: u64) -> u64 {
        // The first data seen may not be the first data sent.
        let Some(from) = seq.offset(self.origin, self.front) else {
            return 0;
        };
        let (mut from, mut to) = (from.max(self.front), from + length);
        if from >= to {
            return 0;
        }
        let mut new = to - from;
        // These ranges overlap the new range or are adjacent to it: the last range that begins before the new range,
        // and all ranges that begin inside it.
        let before = self.beyond.range(..from).next_back();
        let before = before.filter(|(_, end)| **end >= from);
        let inside = self.beyond.range(from..=to);
        let touched: Vec<(u64, u64)> = before
            .into_iter()
            .chain(inside)
            .map(|(b, e)| (*b, *e))
            .collect();
        for (begin, end) in touched {
            new -= end.min(to).saturating_sub(begin.max(from)).min(new);
            self.beyond.remove(&begin);
            (from, to) = (from.min(begin), to.max(end));
        }
        if from <= self.front {
            self.front = to;
        } else {
            self.beyond.insert(from, to);
        }
        new
    }

    /// Gives up the lowest gap. Returns `false` if there is none.
    fn skip(&mut self) -> bool {
        let lowest = self.beyond.pop_first();
        if let Some((_, end)) = lowest {
            self.front = end;
        }
        lowest.is_some()
    }
}

/// Returns both addresses and ports.
fn name(addresses: Option<&[u8]>, transport: &[u8]) -> Option<[u8; 36]> {
    let mut name = [0; 36];
    let bytes = addresses?.iter().chain(transport.get(..4)?);
    for (slot, byte) in name.iter_mut().zip(bytes) {
        *slot = *byte;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: [u8; 36] = [7; 36];
    const ISN: SeqNumber = SeqNumber(u32::MAX - 50);

    /// Returns a counter for a connection whose SYN has passed, and a function that counts the bytes `from..to` of the
    /// connection.
    fn counting() -> (PayloadCount, impl FnMut(&mut PayloadCount, u64, u64) -> u64) {
        let mut count = PayloadCount::default();
        assert_eq!(count.count(FLOW, ISN, 0, true), 0);
        let add = |count: &mut PayloadCount, from: u64, to: u64| {
            count.count(FLOW, ISN.at(1 + from), to - from, false)
        };
        (count, add)
    }

    #[test]
    fn each_byte_counts_once_in_any_order() {
        let (mut count, mut add) = counting();
        for (from, to, new) in [
            (0, 10, 10),
            (0, 10, 0),
            (20, 30, 10),
            (40, 50, 10),
            (5, 15, 5),
            (25, 45, 10),
            (15, 20, 5),
            (0, 60, 10),
            // The sequence numbers wrap around within this range.
            (60, 160, 100),
        ] {
            assert_eq!(add(&mut count, from, to), new, "{from}..{to}");
        }
        assert_eq!(count.ranges, 0);
    }

    #[test]
    fn reused_ports_are_a_new_stream() {
        let (mut count, mut add) = counting();
        assert_eq!(add(&mut count, 0, 10) + add(&mut count, 20, 30), 20);
        assert_eq!(count.ranges, 1);
        assert_eq!(count.count(FLOW, ISN, 0, true), 0);
        assert_eq!((count.ranges, add(&mut count, 0, 10)), (0, 10));
    }

    #[test]
    fn gaps_are_bounded() {
        let (mut count, mut add) = counting();
        let gaps = MAX_RANGES as u64 + 10;
        let new: u64 = (1..=gaps)
            .map(|n| add(&mut count, n * 10, n * 10 + 5))
            .sum();
        assert_eq!((new, count.ranges), (gaps * 5, MAX_RANGES));
        // The stream has given up the first gap.
        assert_eq!(add(&mut count, 0, 10), 0);
    }
}
