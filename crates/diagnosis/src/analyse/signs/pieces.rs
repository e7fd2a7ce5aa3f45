//! Full segment that never arrived and whose data arrives after the segment is split, as in packetization layer path
//! MTU discovery after a few timeouts (RFC 4821 §7.7; Linux: `tcp_mtu_probing`).
//!
//! Losses alone produce this pattern only if they affect all full transmissions of the segment and none of its pieces,
//! and if no full segment arrives from then on.

use super::{BlackHole, Evidence};

/// Minimum number of transmissions of a segment in full size since any segment of this size arrived (our choice: at 10
/// % loss, the probability is 0.001).
const FULL_MIN: u32 = 3;

/// Minimum number of pieces of one size that have arrived since then (our choice: few consecutive segments are short
/// for other reasons).
const PIECES_MIN: u32 = 3;

/// Packet whose bytes had been sent before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) start: u64,
    pub(super) len: u32,
    /// Number of transmissions of the first byte, including this one.
    pub(super) transmissions: u32,
}

/// Packet that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) start: u64,
    pub(super) len: u32,
}

/// Segment that is retransmitted without being split.
#[derive(Clone, Copy, Debug)]
struct Full {
    start: u64,
    len: u32,
    /// Number of transmissions since a segment of at least this size last arrived.
    times: u32,
    /// Total number of transmissions.
    sent: u32,
}

/// Segment that was split.
#[derive(Clone, Copy, Debug)]
struct Cut {
    full: Full,
    piece: u32,
    /// Number of pieces of that size that arrived, and the start of the last one.
    arrived: u32,
    latest: Option<u64>,
}

/// Detector of segments that are retransmitted and split.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pieces {
    full: Option<Full>,
    cut: Option<Cut>,
    /// Last packet, in stream order, among the largest packets that arrived.
    passed: Option<Arrived>,
}

impl Pieces {
    /// Records a departure of bytes that had been sent before.
    pub(super) fn again(&mut self, packet: Again) {
        if let Some(cut) = &mut self.cut
            && cut.full.start == packet.start
        {
            // The segment was split into smaller pieces, or its first piece was lost, too.
            let smaller = packet.len < cut.piece && cut.arrived == 0;
            let start = cut.full.start;
            if smaller {
                cut.piece = packet.len;
            } else {
                self.cut = None;
            }
            self.full = self.full.filter(|full| full.start != start);
            return;
        }
        match self.full.filter(|full| full.start == packet.start) {
            Some(full) if packet.len < full.len && self.was_in_vain(&full) => {
                self.cut = Some(Cut {
                    full,
                    piece: packet.len,
                    arrived: 0,
                    latest: None,
                });
                self.full = None;
            }
            Some(full) if packet.len == full.len => {
                self.full = Some(Full {
                    times: full.times.saturating_add(1),
                    sent: packet.transmissions,
                    ..full
                });
            }
            _ => self.full = Some(self.begun(packet)),
        }
    }

    /// `true` if the segment did not arrive in several transmissions, and no larger packet has arrived.
    fn was_in_vain(&self, full: &Full) -> bool {
        full.times >= FULL_MIN && self.passed.is_none_or(|passed| passed.len <= full.len)
    }

    fn begun(&self, packet: Again) -> Full {
        // If a later packet of the stream has arrived, it was also sent later than this segment.
        let passed = self
            .passed
            .is_some_and(|passed| passed.len >= packet.len && passed.start > packet.start);
        let times = if passed { 1 } else { packet.transmissions };
        Full {
            start: packet.start,
            len: packet.len,
            times,
            sent: packet.transmissions,
        }
    }

    /// Records a packet that arrived.
    pub(super) fn arrived(&mut self, packet: Arrived) {
        let further = |known: Arrived| (packet.len, packet.start) > (known.len, known.start);
        if self.passed.is_none_or(further) {
            self.passed = Some(packet);
        }
        if let Some(full) = &mut self.full
            && packet.len >= full.len
        {
            full.times = 0;
        }
        let Some(cut) = &mut self.cut else {
            return;
        };
        if packet.len >= cut.full.len {
            self.cut = None;
        } else if packet.len == cut.piece && cut.latest != Some(packet.start) {
            cut.arrived = cut.arrived.saturating_add(1);
            cut.latest = Some(packet.start);
        }
    }

    /// Returns the black hole; `None` if the pieces show none.
    pub(super) fn black_hole(&self) -> Option<BlackHole> {
        let cut = self.cut.filter(|cut| cut.arrived >= PIECES_MIN)?;
        Some(BlackHole {
            passes: cut.piece,
            fails: cut.full.len,
            transmissions: cut.full.sent.into(),
            evidence: Evidence::ArrivedCut,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Again, Arrived, Pieces};

    /// Simulates the arrival of a segment of `passed` bytes, the retransmission of another segment in the sizes `lens`,
    /// and then the arrival of pieces of `piece` bytes.
    fn after(passed: u32, lens: &[u32], piece: u32) -> Option<(u32, u32, u64)> {
        let mut pieces = Pieces::default();
        pieces.arrived(Arrived {
            start: 0,
            len: passed,
        });
        for (n, &len) in (2..).zip(lens) {
            pieces.again(Again {
                start: 10_000,
                len,
                transmissions: n,
            });
        }
        for n in 0..3 {
            pieces.arrived(Arrived {
                start: 10_000 + n * u64::from(piece),
                len: piece,
            });
        }
        let hole = pieces.black_hole()?;
        Some((hole.passes, hole.fails, hole.transmissions))
    }

    #[test]
    fn a_segment_may_be_split_more_than_once() {
        let cut = after(1460, &[1460, 1460, 1460, 1024, 512], 512);
        assert_eq!(cut, Some((512, 1460, 4)));
    }

    #[test]
    fn segments_below_the_full_size_are_no_evidence() {
        assert_eq!(after(1460, &[500, 500, 500, 300], 300), None);
        assert_eq!(after(500, &[500, 500, 500, 300], 300), Some((300, 500, 4)));
    }

    #[test]
    fn a_lost_piece_is_no_evidence() {
        assert_eq!(after(1460, &[1460, 1460, 1460, 1024, 1024], 1024), None);
    }
}
