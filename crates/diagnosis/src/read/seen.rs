//! Bytes of a stream that the capture has shown so far.

use dupack_tcp::seq::SeqNumber;

use crate::read::packet::is_after;

/// Maximum number of stored holes. If it is exceeded, the lowest holes are discarded as if they had been filled (our
/// choice: a filled hole is never queried again, and a window has few holes).
const HOLES_MAX: usize = 64;

/// Maximum distance of an ACK from all data seen so far. An ACK farther away does not belong to this stream (our
/// choice: the outstanding data of the largest path).
const BEYOND_MAX: u64 = 1 << 30;

/// Maximum number of zero-window probes that are stored until they are acknowledged (our choice: a sender repeats one
/// byte).
const PROBES_MAX: usize = 8;

/// Position of the first byte seen. It is not 0, because earlier bytes may be captured later.
const ORIGIN: u64 = 1 << 32;

/// Range of bytes that was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    start: u64,
    end: u64,
    /// End of the segment that arrived just after the hole.
    next_end: u64,
    /// State of the hole's acknowledgment.
    acked: Acked,
}

/// Acknowledgment of a hole by the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acked {
    No,
    Yes,
}

/// Starts and ends of zero-window probes. Few connections have such probes.
#[derive(Clone, Debug, Default)]
struct Probes(Vec<(SeqNumber, SeqNumber)>);

/// Effect of a segment on the bytes seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addition {
    /// Number of bytes that were seen before.
    pub(crate) again: u32,
    /// `true` if the segment begins in a hole and ends before the end of the segment that follows the hole.
    pub(crate) out_of_order: bool,
}

/// Bytes seen in one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenBytes {
    /// Sequence number of the first byte seen.
    first: Option<SeqNumber>,
    highest: u64,
    /// Holes, in stream order.
    holes: Vec<Hole>,
    /// Number of acknowledged bytes in discarded holes.
    forgotten: u64,
    /// Position of the highest ACK.
    acked: u64,
    /// First ACK and the number of bytes acknowledged since; used only as long as no data is seen.
    blind: Option<Box<(SeqNumber, u64)>>,
    /// Zero-window probes. They count as seen when the receiver accepts them. Otherwise, their bytes are sent again as
    /// new data.
    probes: Option<Box<Probes>>,
}

impl SeenBytes {
    /// Records a segment of `len` sequence numbers that begins at `seq`.
    pub(crate) fn add(&mut self, seq: SeqNumber, len: u32) -> Addition {
        let Some(first) = self.first else {
            self.first = Some(seq);
            self.highest = ORIGIN + u64::from(len);
            self.holes.push(Hole {
                start: 0,
                end: ORIGIN,
                next_end: self.highest,
                acked: Acked::No,
            });
            self.acked = ORIGIN;
            return Addition::default();
        };
        let Some(start) = place(first, seq, self.highest) else {
            return Addition::default();
        };
        let end = start.saturating_add(u64::from(len));
        if start >= self.highest {
            if start > self.highest {
                self.push_hole(Hole {
                    start: self.highest,
                    end: start,
                    next_end: end,
                    acked: Acked::No,
                });
            }
            self.highest = end;
            return Addition::default();
        }
        let beyond = end.saturating_sub(self.highest);
        self.highest = self.highest.max(end);
        let (filled, out_of_order) = self.fill(start, end);
        let new = beyond.saturating_add(filled);
        Addition {
            again: u32::try_from((end - start).saturating_sub(new)).unwrap_or(u32::MAX),
            out_of_order,
        }
    }

    /// Records a zero-window probe of `len` sequence numbers that begins at `seq`.
    pub(crate) fn probe(&mut self, seq: SeqNumber, len: u32) {
        let end = SeqNumber(seq.0.wrapping_add(len));
        let Probes(probes) = &mut **self.probes.get_or_insert_default();
        if probes.contains(&(seq, end)) {
            return;
        }
        if probes.len() >= PROBES_MAX {
            probes.remove(0);
        }
        probes.push((seq, end));
    }

    /// Adds the bytes of probes before `ack`, because the receiver has accepted them.
    fn take_probes(&mut self, ack: SeqNumber) {
        let Some(mut probes) = self.probes.take() else {
            return;
        };
        probes.0.retain(|(start, end)| {
            let is_taken = is_after(ack.0, start.0);
            if is_taken {
                let end = if is_after(end.0, ack.0) { ack } else { *end };
                self.add(*start, end.0.wrapping_sub(start.0));
            }
            !is_taken
        });
        self.probes = Some(probes).filter(|probes| !probes.0.is_empty());
    }

    /// Records an ACK of everything before `ack`.
    pub(crate) fn acknowledged(&mut self, ack: SeqNumber) {
        self.take_probes(ack);
        let Some(first) = self.first else {
            let blind = self.blind.get_or_insert_with(|| Box::new((ack, 0)));
            if let Some(at) = ack.offset(blind.0, blind.1) {
                blind.1 = at.max(blind.1);
            }
            return;
        };
        let Some(at) = place(first, ack, self.highest) else {
            return;
        };
        if at <= self.acked || at > self.highest.saturating_add(BEYOND_MAX) {
            return;
        }
        self.acked = at;
        if at > self.highest {
            self.push_hole(Hole {
                start: self.highest,
                end: at,
                next_end: at,
                acked: Acked::No,
            });
            self.highest = at;
        }
        // Bytes before the first one seen may have been sent before the capture began.
        let holes = self.holes.iter_mut().rev();
        for hole in holes.take_while(|hole| hole.acked == Acked::No) {
            if hole.end <= at && hole.end > ORIGIN {
                hole.acked = Acked::Yes;
            }
        }
    }

    /// Returns the number of bytes that were acknowledged but are missing from the capture.
    pub(crate) fn unseen(&self) -> u64 {
        if let (None, Some(blind)) = (self.first, &self.blind) {
            return blind.1;
        }
        let acked = self.holes.iter().filter(|hole| hole.acked == Acked::Yes);
        acked.fold(self.forgotten, |sum, hole| {
            sum.saturating_add(hole.end - hole.start)
        })
    }

    /// Returns `true` if the byte before `seq` was seen, so that an ACK of `seq` acknowledges known data.
    pub(crate) fn has_before(&self, seq: SeqNumber) -> bool {
        let Some(at) = self.first.and_then(|first| place(first, seq, self.highest)) else {
            return false;
        };
        let within = |hole: &Hole| hole.start < at && at <= hole.end;
        at <= self.highest && !self.holes.iter().any(within)
    }

    /// Fills holes. Returns the number of filled bytes, and `true` if the segment was out of order.
    fn fill(&mut self, start: u64, end: u64) -> (u64, bool) {
        let mut filled = 0;
        let mut out_of_order = false;
        let mut index = self.holes.partition_point(|hole| hole.end <= start);
        while let Some(hole) = self.holes.get(index).copied()
            && hole.start < end
        {
            if hole.start <= start && end < hole.next_end {
                out_of_order = true;
            }
            let from = hole.start.max(start);
            let to = hole.end.min(end);
            filled += to.saturating_sub(from);
            self.holes.remove(index);
            let left = (hole.start, from, to);
            let right = (to, hole.end, hole.next_end);
            for (start, end, next_end) in [right, left] {
                if start < end {
                    let part = Hole {
                        start,
                        end,
                        next_end,
                        acked: hole.acked,
                    };
                    self.holes.insert(index, part);
                }
            }
            index += usize::from(hole.start < from) + usize::from(to < hole.end);
        }
        (filled, out_of_order)
    }

    fn push_hole(&mut self, hole: Hole) {
        if self.holes.len() >= HOLES_MAX {
            let oldest = self.holes.remove(0);
            if oldest.acked == Acked::Yes {
                self.forgotten = self.forgotten.saturating_add(oldest.end - oldest.start);
            }
        }
        self.holes.push(hole);
    }
}

/// Returns the position of a sequence number. If several positions are possible, it is the one nearest to `near`.
fn place(first: SeqNumber, seq: SeqNumber, near: u64) -> Option<u64> {
    let origin = SeqNumber(first.0.wrapping_sub(ORIGIN as u32));
    seq.offset(origin, near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(seen: &mut SeenBytes, start: u32, end: u32) -> (u32, bool) {
        let added = seen.add(SeqNumber(start), end.wrapping_sub(start));
        (added.again, added.out_of_order)
    }

    #[test]
    fn repeated_bytes_are_retransmitted_and_skipped_ones_out_of_order() {
        let mut seen = SeenBytes::default();
        assert_eq!(add(&mut seen, 100, 200), (0, false));
        // The bytes 200..300 are skipped.
        assert_eq!(add(&mut seen, 300, 400), (0, false));
        assert!(seen.has_before(SeqNumber(200)) && seen.has_before(SeqNumber(301)));
        assert!(!seen.has_before(SeqNumber(300)) && !seen.has_before(SeqNumber(401)));
        assert_eq!(add(&mut seen, 220, 240), (0, true));
        // Twenty bytes of this segment were seen before.
        assert_eq!(add(&mut seen, 210, 250), (20, false));
        // Several segments are retransmitted at once, from the hole to the end of the segment after the hole.
        assert_eq!(add(&mut seen, 200, 400), (140, false));
        assert_eq!(add(&mut seen, 100, 450), (300, false));
        assert!(seen.holes.len() == 1 && seen.highest == ORIGIN + 350);
    }

    #[test]
    fn acknowledged_but_uncaptured_bytes_are_missing() {
        let mut seen = SeenBytes::default();
        add(&mut seen, 1000, 2000);
        add(&mut seen, 3000, 4000);
        seen.acknowledged(SeqNumber(2000));
        assert_eq!(seen.unseen(), 0);
        seen.acknowledged(SeqNumber(4000));
        assert_eq!(seen.unseen(), 1000);
        // The data was captured late, as in a capture with packets out of order.
        add(&mut seen, 2000, 2500);
        assert_eq!(seen.unseen(), 500);
        // These ACKs acknowledge data beyond everything seen.
        seen.acknowledged(SeqNumber(6000));
        assert_eq!(seen.unseen(), 2500);
        add(&mut seen, 6000, 7000);
        seen.acknowledged(SeqNumber(7000));
        assert_eq!(seen.unseen(), 2500);
        for n in 4..200 {
            add(&mut seen, n * 2000, n * 2000 + 1000);
            seen.acknowledged(SeqNumber(n * 2000 + 1000));
        }
        assert_eq!(seen.unseen(), 2500 + 1000 * 196);
    }

    #[test]
    fn a_window_probe_counts_when_the_receiver_accepts_it() {
        let mut seen = SeenBytes::default();
        add(&mut seen, 1000, 2000);
        // The receiver accepts the byte of each probe.
        for at in 2000..2005 {
            seen.probe(SeqNumber(at), 1);
            seen.acknowledged(SeqNumber(at + 1));
        }
        assert_eq!(seen.unseen(), 0);
        // The receiver does not accept the byte of this probe. The byte is sent as new data when the window is open.
        seen.probe(SeqNumber(2005), 1);
        seen.acknowledged(SeqNumber(2005));
        assert_eq!(add(&mut seen, 2005, 3005), (0, false));
        seen.acknowledged(SeqNumber(3005));
        assert_eq!(seen.unseen(), 0);
        // The receiver accepts a part of a full segment. The number of stored probes is bounded.
        for n in 0..100 {
            seen.probe(SeqNumber(3005 + n), 1000);
        }
        assert_eq!(seen.probes.as_ref().unwrap().0.len(), PROBES_MAX);
        seen.probe(SeqNumber(3005), 1000);
        seen.acknowledged(SeqNumber(3505));
        assert_eq!(seen.unseen(), 0);
    }

    #[test]
    fn acks_show_the_size_of_an_uncaptured_stream() {
        let mut seen = SeenBytes::default();
        for ack in [u32::MAX - 999, u32::MAX, 500, 100, 1000] {
            seen.acknowledged(SeqNumber(ack));
        }
        assert_eq!(seen.unseen(), 2000);
        // Data is seen from now on. Earlier bytes may have been sent before the capture began.
        add(&mut seen, 1000, 2000);
        assert_eq!(seen.unseen(), 0);
    }

    #[test]
    fn data_before_the_first_byte_is_out_of_order() {
        let mut seen = SeenBytes::default();
        add(&mut seen, 1000, 2000);
        assert_eq!(add(&mut seen, 0, 1000), (0, true));
        assert_eq!(add(&mut seen, 0, 1000), (1000, false));
    }

    #[test]
    fn numbers_wrap_around_and_holes_are_bounded() {
        let mut seen = SeenBytes::default();
        add(&mut seen, u32::MAX - 99, 0);
        assert_eq!(add(&mut seen, 0, 100), (0, false));
        assert_eq!(add(&mut seen, u32::MAX - 49, 50), (100, false));
        for n in 1..1000 {
            add(&mut seen, n * 1000, n * 1000 + 1);
        }
        assert_eq!(seen.holes.len(), HOLES_MAX);
    }
}
