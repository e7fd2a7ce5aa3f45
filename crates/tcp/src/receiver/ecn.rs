//! Explicit congestion notification at the receiver: the echo of marks by ECE (RFC 3168 §6.1.3, RFC 8257 §3.2). With
//! Accurate ECN (RFC 9768), [`MarkCounts`] counts marks instead.

use super::marks::{Answered, CountedPacket, MarkCounts};
use super::{Due, Receiver};
use crate::options::{Ecn, MarkEcho};
use crate::segment::{Bit, Codepoint, DataSegment};

/// Number of segments after a mark that are acknowledged one by one with
/// [`AckPolicy::Adaptive`](super::AckPolicy::Adaptive).
const HURRY_AFTER_MARK: u32 = 2;

impl Receiver {
    /// Processes the ECN field of the packet that carried `segment`, and its CWR bit, on a connection that uses ECN.
    /// Call this method before [`handle_data`](Self::handle_data).
    ///
    /// After a mark, ACKs carry ECE until CWR arrives (RFC 3168 §6.1.3). A mark on a packet without new data in the
    /// window is ignored (§6.1.5). With [`MarkEcho::WhileMarked`], each change between marked and unmarked data is
    /// acknowledged at once (RFC 8257 §3.2). With Accurate ECN, every packet counts, so call this method for packets
    /// without data as well (RFC 9768 §3.2).
    pub fn note_ecn(&mut self, segment: &DataSegment, field: Codepoint, cwr: Bit) {
        if self.config.ecn == Ecn::Accurate {
            let packets = segment.len.div_ceil(self.config.mss.max(1)).max(1);
            self.count_marks(field, segment.len, packets);
            return;
        }
        if self.config.mark_echo == MarkEcho::WhileMarked {
            self.follow_marks(segment, field);
            return;
        }
        if cwr.is_set() {
            self.ecn_echo = Bit::Clear;
            if self.extras.is_some() && segment.len > 0 {
                // The peer's congestion window may now be very small, so the peer needs an ACK at once (Linux,
                // `tcp_ecn_accept_cwr`).
                self.due = Due::Yes;
            }
        }
        if !self.is_news(segment) {
            return;
        }
        match field {
            Codepoint::Ce => {
                if !self.ecn_echo.is_set() {
                    self.hurry(Some(HURRY_AFTER_MARK));
                }
                self.ecn_echo = Bit::Set;
                self.ecn_seen = Bit::Set;
            }
            // If other segments are ECN-capable, a segment that is not ECN-capable is a retransmission (Linux,
            // `__tcp_ecn_check_ce`).
            Codepoint::NotEct if self.ecn_seen.is_set() => self.hurry(Some(HURRY_AFTER_MARK)),
            Codepoint::NotEct => {}
            Codepoint::Ect0 | Codepoint::Ect1 => self.ecn_seen = Bit::Set,
        }
    }

    /// Returns `true` if the segment has new data inside the window.
    fn is_news(&self, segment: &DataSegment) -> bool {
        let start = segment.seq.offset(self.config.irs, self.next);
        start.is_some_and(|start| start < self.edge && start + u64::from(segment.len) > self.next)
    }

    /// Sets ECE while the arriving data is marked (RFC 8257 §3.2). If this segment changes the echo, the data that
    /// waits for an ACK is first acknowledged with the former echo. CWR has no effect, because the mark of the same
    /// segment is processed after CWR and determines the echo.
    #[inline(never)]
    fn follow_marks(&mut self, segment: &DataSegment, field: Codepoint) {
        let marked = Bit::when(field == Codepoint::Ce);
        if marked == self.ecn_echo || !self.is_news(segment) {
            return;
        }
        if self.unacked > 0 {
            let before = self.ack();
            if let Some(extras) = &mut self.extras {
                extras.before_change = Some(before);
            }
        }
        self.ecn_echo = marked;
        self.due = Due::Yes;
    }

    /// For Accurate ECN, counts a packet with `len` bytes of payload, or several merged packets.
    pub(crate) fn count_marks(&mut self, field: Codepoint, len: u32, packets: u32) {
        let waiting = self.unacked > 0;
        let packet = CountedPacket {
            field,
            len,
            packets,
        };
        let Some(counts) = self.mark_counts() else {
            return;
        };
        if counts.count(packet, waiting) == Answered::Now {
            self.due = Due::Yes;
        }
    }

    /// Returns the counters of Accurate ECN, on a connection that uses it.
    pub(crate) fn mark_counts(&mut self) -> Option<&mut MarkCounts> {
        self.extras.as_mut()?.marks.as_mut()
    }

    /// Number of marked packets that arrived, with Accurate ECN (`r.cep` of RFC 9768 §3.2 without its initial value); 0
    /// without Accurate ECN.
    #[must_use]
    pub fn marked_packets(&self) -> u64 {
        let counts = self
            .extras
            .as_ref()
            .and_then(|extras| extras.marks.as_ref());
        counts.map_or(0, MarkCounts::packets)
    }
}
