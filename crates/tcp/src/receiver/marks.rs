//! Accurate ECN at the receiver (RFC 9768 §3.2): counters of marks, the ACKs that marks cause, and the content of the
//! AccECN option.

use crate::accurate_ecn::{ACE_MASK, CounterOrder, EcnCounters, FIRST_COUNT, first_bytes};
use crate::segment::Codepoint;

/// Number of marked packets after which an ACK is due (§3.2.2.5.1). `MARKS_PER_ACK_WITHOUT_DATA` applies if no data
/// waits for an ACK.
const MARKS_PER_ACK: u32 = 2;
const MARKS_PER_ACK_WITHOUT_DATA: u32 = 3;

/// Number of counters in an option.
const COUNTERS: usize = 3;

/// Initial values of the counters: bytes with ECT(1), ECT(0) and CE. Every array of counters in this file has this
/// order.
const INITIAL: [u32; COUNTERS] = [
    first_bytes(Codepoint::Ect1),
    first_bytes(Codepoint::Ect0),
    first_bytes(Codepoint::Ce),
];

/// Counts of the packets and bytes that arrived, by ECN field.
#[derive(Clone, Debug)]
pub(crate) struct MarkCounts {
    /// Number of marked packets that arrived.
    packets: u64,
    /// Number of payload bytes by ECN field.
    bytes: [u32; COUNTERS],
    /// Number of payload bytes by ECN field, as last reported to the peer.
    told: [u32; COUNTERS],
    /// ECN field of the last packet.
    last: Codepoint,
    /// Number of marked packets since the last ACK.
    unanswered: u32,
    /// `true` if the next ACK acknowledges ACKs. It then has no SACK blocks, so that the peer does not treat it as a
    /// duplicate.
    for_acks: bool,
}

/// Packet to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedPacket {
    /// ECN field of the packet.
    pub(crate) field: Codepoint,
    /// Payload length in bytes.
    pub(crate) len: u32,
    /// Number of packets that were merged into this one.
    pub(crate) packets: u32,
}

/// Effect of a packet's mark on the next ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// No effect.
    AsEver,
    /// The ACK is due at once.
    Now,
}

/// Counters to put into an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Every counter that has ever changed, if a counter has changed since the last report (§3.2.3.3, the recommended
    /// simple scheme).
    Changed,
    /// As many counters as fit, with ECT(1) first, if all changed counters are among them (Linux, `tcp_ecn_option` =
    /// 2).
    All,
}

impl Default for MarkCounts {
    fn default() -> Self {
        Self {
            packets: 0,
            bytes: INITIAL,
            told: INITIAL,
            last: Codepoint::NotEct,
            unanswered: 0,
            for_acks: false,
        }
    }
}

/// Returns the index of the counter for this field.
const fn place(field: Codepoint) -> Option<usize> {
    match field {
        Codepoint::NotEct => None,
        Codepoint::Ect1 => Some(0),
        Codepoint::Ect0 => Some(1),
        Codepoint::Ce => Some(2),
    }
}

impl MarkCounts {
    /// Counts a marked packet of the handshake. The handshake also reports this mark separately (§3.2.2.2).
    pub(crate) const fn begin_marked(&mut self) {
        self.packets = 1;
    }

    /// Counts a packet. `waiting` is `true` if data waits for an ACK.
    pub(crate) fn count(&mut self, packet: CountedPacket, waiting: bool) -> Answered {
        let field = packet.field;
        let edge = (field == Codepoint::Ce) != (self.last == Codepoint::Ce);
        self.last = field;
        if let Some(at) = place(field) {
            self.bytes[at] = self.bytes[at].wrapping_add(packet.len);
        }
        if field == Codepoint::Ce {
            self.packets += u64::from(packet.packets);
            self.unanswered = self.unanswered.saturating_add(packet.packets);
        }
        // A change between marked and unmarked packets causes no ACK if the packet has no data.
        if edge && packet.len > 0 {
            return Answered::Now;
        }
        let enough = match waiting || packet.len > 0 {
            true => MARKS_PER_ACK,
            false => MARKS_PER_ACK_WITHOUT_DATA,
        };
        if self.unanswered < enough {
            return Answered::AsEver;
        }
        self.for_acks = !waiting && packet.len == 0;
        Answered::Now
    }

    /// Called when an ACK is sent. Returns its ACE field, and `true` if the ACK may carry SACK blocks.
    pub(crate) const fn acked(&mut self) -> (u8, bool) {
        self.unanswered = 0;
        let for_acks = self.for_acks;
        self.for_acks = false;
        (
            (self.packets as u8).wrapping_add(FIRST_COUNT) & ACE_MASK,
            !for_acks,
        )
    }

    /// Number of marked packets that arrived.
    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of counters that an option needs so that it includes all counters that have changed since the
    /// last report.
    pub(crate) fn needed(&self, wanted: Wanted) -> usize {
        self.up_to(self.order(wanted), |at| self.bytes[at] != self.told[at])
    }

    fn order(&self, wanted: Wanted) -> CounterOrder {
        match wanted {
            // No data has arrived with ECT(1), so the counter of ECT(1) is last.
            Wanted::Changed if self.bytes[0] == INITIAL[0] => CounterOrder::Ect0First,
            Wanted::Changed | Wanted::All => CounterOrder::Ect1First,
        }
    }

    /// Returns an option with at most `room` counters; `None` if no option is due or a changed counter does not fit.
    pub(crate) fn option(&mut self, wanted: Wanted, room: usize) -> Option<EcnCounters> {
        let order = self.order(wanted);
        let len = match wanted {
            Wanted::All => COUNTERS,
            Wanted::Changed if self.bytes == self.told => return None,
            Wanted::Changed => self.up_to(order, |at| self.bytes[at] != INITIAL[at]),
        };
        let len = len.min(room);
        if len < self.needed(wanted) {
            return None;
        }
        let mut counters = [0; COUNTERS];
        for (field, counter) in order.fields().into_iter().zip(&mut counters).take(len) {
            if let Some(at) = place(field) {
                *counter = self.bytes[at];
                self.told[at] = self.bytes[at];
            }
        }
        Some(EcnCounters::new(order, &counters[..len]))
    }

    /// Returns all counters with their initial values, for the handshake.
    pub(crate) fn beginning() -> EcnCounters {
        let order = CounterOrder::Ect1First;
        EcnCounters::new(order, &order.fields().map(first_bytes))
    }

    /// Returns the number of leading counters that includes all counters that satisfy `wants`.
    fn up_to(&self, order: CounterOrder, wants: impl Fn(usize) -> bool) -> usize {
        let fields = order.fields();
        let last = fields
            .iter()
            .rposition(|field| place(*field).is_some_and(&wants));
        last.map_or(0, |at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(field: Codepoint, len: u32) -> CountedPacket {
        CountedPacket {
            field,
            len,
            packets: 1,
        }
    }

    #[test]
    fn a_change_to_or_from_marked_data_is_answered_at_once() {
        use Codepoint::{Ce, Ect0};
        let mut counts = MarkCounts::default();
        let answers = [Ect0, Ce, Ce, Ect0, Ect0].map(|field| {
            let answered = counts.count(packet(field, 1000), false) == Answered::Now;
            if answered {
                counts.acked();
            }
            answered
        });
        assert_eq!(answers, [false, true, false, true, false]);
        assert_eq!(counts.acked(), (7, true));
    }

    #[test]
    fn two_marks_make_an_ack_due_or_three_without_data() {
        let mut counts = MarkCounts::default();
        let pure = packet(Codepoint::Ce, 0);
        let answers = [(); 3].map(|()| counts.count(pure, false));
        assert_eq!(answers, [Answered::AsEver, Answered::AsEver, Answered::Now]);
        assert_eq!(
            counts.acked(),
            (0, false),
            "an ACK for ACKs has no SACK blocks"
        );
        let answers = [(); 2].map(|()| counts.count(pure, true));
        assert_eq!(answers, [Answered::AsEver, Answered::Now]);
        assert_eq!(counts.acked(), (2, true));
    }

    #[test]
    fn joined_packets_count_one_by_one() {
        let mut counts = MarkCounts::default();
        let joined = CountedPacket {
            packets: 4,
            ..packet(Codepoint::Ce, 4000)
        };
        counts.count(joined, false);
        assert_eq!((counts.packets(), counts.acked().0), (4, 1));
    }

    #[test]
    fn the_option_has_only_changed_counters() {
        let mut counts = MarkCounts::default();
        assert_eq!(
            counts.option(Wanted::Changed, 3),
            None,
            "no packet has arrived"
        );
        counts.count(packet(Codepoint::Ect0, 1000), false);
        let option = counts
            .option(Wanted::Changed, 3)
            .expect("a counter has changed");
        let expected = EcnCounters::new(CounterOrder::Ect0First, &[1001]);
        assert_eq!(option, expected);
        assert_eq!(counts.option(Wanted::Changed, 3), None, "it was reported");
        counts.count(packet(Codepoint::Ce, 500), false);
        assert_eq!(counts.option(Wanted::Changed, 1), None, "no room for CE");
        let option = counts
            .option(Wanted::Changed, 3)
            .expect("a counter has changed");
        let expected = EcnCounters::new(CounterOrder::Ect0First, &[1001, 500]);
        assert_eq!(option, expected);
        counts.count(packet(Codepoint::Ect1, 10), false);
        let option = counts
            .option(Wanted::Changed, 3)
            .expect("a counter has changed");
        let expected = EcnCounters::new(CounterOrder::Ect1First, &[11, 500, 1001]);
        assert_eq!(option, expected);
    }

    #[test]
    fn a_full_option_is_cut_down_to_changed_counters() {
        let mut counts = MarkCounts::default();
        let option = counts.option(Wanted::All, 3);
        assert_eq!(option, Some(MarkCounts::beginning()));
        counts.count(packet(Codepoint::Ect1, 10), false);
        let option = counts.option(Wanted::All, 1).expect("there is room");
        assert_eq!(option, EcnCounters::new(CounterOrder::Ect1First, &[11]));
        counts.count(packet(Codepoint::Ect0, 10), false);
        assert_eq!(counts.option(Wanted::All, 2), None);
    }
}
