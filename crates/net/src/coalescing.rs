//! Receive coalescing: segments that arrive within a short time reach the receiver as one segment.
//!
//! A network card delays its interrupt a little and then hands up all packets that have arrived in the meantime. Linux
//! joins consecutive segments of a flow (generic receive offload, `tcp_gro_receive`). The receiver sees one long
//! segment and acknowledges it. A segment is joined to the previous ones if it continues the stream without a gap, is
//! not longer than the first segment, has the same timestamp and ECN field, and the total does not exceed 64 KiB. A
//! segment that is shorter than the first ends the sequence. A segment with CWR or with a transmission order is never
//! joined.

use dupack_tcp::segment::{Bit, Codepoint, DataSegment};
use dupack_tcp::time::{Duration, Instant};

use crate::packet::Data;

/// Maximum payload of a joined segment in bytes: an IPv4 packet minus its headers and 12 bytes of options.
const JOINED_MAX: u32 = 65_535 - 52;

/// One segment, or several joined segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) segment: DataSegment,
    pub(crate) ecn: Codepoint,
    pub(crate) cwr: Bit,
    /// Payload of the first segment in bytes.
    piece: u32,
    /// Time at which the segment must be handed up at the latest.
    due: Instant,
}

/// Segments that wait to be handed up to the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Coalescing {
    wait: Duration,
    held: Option<Joined>,
}

impl Coalescing {
    /// Creates a joiner for segments that arrive within `wait` of the first segment.
    pub(crate) const fn new(wait: Duration) -> Self {
        Self { wait, held: None }
    }

    /// Takes a segment that has arrived. Returns the segments to hand up now, in stream order.
    pub(crate) fn take(&mut self, now: Instant, data: &Data) -> [Option<Joined>; 2] {
        let next = Joined {
            segment: data.segment,
            ecn: data.ecn,
            cwr: data.cwr,
            piece: data.segment.len,
            due: now + self.wait,
        };
        let alone = data.segment.len == 0 || data.cwr.is_set() || data.segment.order.is_some();
        let Some(held) = &mut self.held else {
            if alone {
                return [Some(next), None];
            }
            self.held = Some(next);
            return [None, None];
        };
        if alone {
            return [self.held.take(), Some(next)];
        }
        if !held.admits(&next) {
            return [self.held.replace(next), None];
        }
        held.segment.len += next.segment.len;
        let is_last = next.piece < held.piece || held.segment.len + held.piece > JOINED_MAX;
        match is_last {
            true => [self.held.take(), None],
            false => [None, None],
        }
    }

    /// Returns the waiting segment if it is due at `now`.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Joined> {
        self.held.take_if(|held| held.due <= now)
    }

    /// Returns the time at which [`expire`](Self::expire) must be called.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.held.map(|held| held.due)
    }
}

impl Joined {
    fn admits(&self, next: &Self) -> bool {
        next.segment.seq == self.segment.seq.at(u64::from(self.segment.len))
            && next.piece <= self.piece
            && self.segment.len + next.piece <= JOINED_MAX
            && next.segment.timestamp == self.segment.timestamp
            && next.ecn == self.ecn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Copy;
    use dupack_tcp::facts::SendReason;
    use dupack_tcp::seq::SeqNumber;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn data(start: u32, len: u32) -> Data {
        Data {
            segment: DataSegment {
                seq: SeqNumber(start),
                len,
                timestamp: Some(7),
                order: None,
            },
            offset: u64::from(start),
            order: 1,
            copy: Copy::First,
            why: SendReason::NewData,
            ecn: Codepoint::NotEct,
            cwr: Bit::Clear,
        }
    }

    /// Returns the first byte and the length of each segment that is handed up.
    fn handed(up: [Option<Joined>; 2]) -> Vec<(u32, u32)> {
        let all = up.into_iter().flatten();
        all.map(|j| (j.segment.seq.0, j.segment.len)).collect()
    }

    #[test]
    fn consecutive_segments_are_joined_until_the_deadline() {
        let mut coalescing = Coalescing::new(Duration::from_micros(50));
        for n in 0..3 {
            let up = coalescing.take(at(u64::from(n)), &data(n * 1000, 1000));
            assert!(handed(up).is_empty());
        }
        assert_eq!(coalescing.next_timeout(), Some(at(50)));
        assert_eq!(coalescing.expire(at(49)), None);
        let joined = coalescing.expire(at(50)).expect("a segment is due");
        assert_eq!((joined.segment.seq.0, joined.segment.len), (0, 3000));
        assert_eq!(coalescing.next_timeout(), None);
    }

    #[test]
    fn a_gap_or_another_timestamp_or_ecn_field_starts_a_new_segment() {
        for change in [
            |_: &mut Data| {},
            |data: &mut Data| data.segment.timestamp = Some(8),
            |data: &mut Data| data.ecn = Codepoint::Ce,
        ] {
            let mut coalescing = Coalescing::new(Duration::from_micros(50));
            let mut next = data(1000, 1000);
            change(&mut next);
            if next == data(1000, 1000) {
                next = data(2000, 1000);
            }
            assert!(handed(coalescing.take(at(0), &data(0, 1000))).is_empty());
            assert_eq!(handed(coalescing.take(at(1), &next)), [(0, 1000)]);
            assert_eq!(coalescing.next_timeout(), Some(at(51)));
        }
    }

    #[test]
    fn a_shorter_segment_or_64_kib_end_the_joining() {
        let mut coalescing = Coalescing::new(Duration::from_micros(50));
        assert!(handed(coalescing.take(at(0), &data(0, 1000))).is_empty());
        assert_eq!(handed(coalescing.take(at(0), &data(1000, 5))), [(0, 1005)]);
        let ups: Vec<_> = (0..66)
            .flat_map(|n| handed(coalescing.take(at(0), &data(n * 1000, 1000))))
            .collect();
        assert_eq!(ups, [(0, 65_000)]);
    }

    #[test]
    fn probes_and_segments_with_cwr_or_an_order_are_not_joined() {
        for change in [
            |data: &mut Data| data.segment.len = 0,
            |data: &mut Data| data.cwr = Bit::Set,
            |data: &mut Data| data.segment.order = Some(3),
        ] {
            let mut coalescing = Coalescing::new(Duration::from_micros(50));
            let mut single = data(1000, 1000);
            change(&mut single);
            assert_eq!(handed(coalescing.take(at(0), &single)).len(), 1);
            assert!(handed(coalescing.take(at(0), &data(0, 1000))).is_empty());
            assert_eq!(handed(coalescing.take(at(1), &single)).len(), 2);
        }
    }
}
