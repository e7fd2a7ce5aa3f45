//! Explicit congestion notification at the sender (RFC 3168 §6.1.2, RFC 9768): evaluation of marks that ACKs report,
//! the response to them, and CWR, which informs the receiver of the response.
//!
//! A mark is treated like a loss event, but nothing is retransmitted. At most once per window of data, the control
//! reduces the window with [`LossRule::MARK`]. The window does not grow until the data that was outstanding at the
//! reduction is acknowledged. After a reduction for a loss or a timeout, marks of the same window of data cause no
//! further reduction; after a reduction for a mark, losses of the same window of data cause none. The first new segment
//! after any reduction carries CWR.
//!
//! With Accurate ECN, the ACK has the low three bits of a count of marked packets, and CWR is not used. A control may
//! respond to the fraction of marked packets instead (L4S): then new data carries ECT(1), and a mark does not stop the
//! growth. If an ACK reports more than seven packets, the count may have wrapped since the previous ACK. In this case,
//! the sender assumes the maximum number of marks, unless an option gives the number of marked bytes (RFC 9768
//! §3.2.2.5.2, Appendix A.2).

use alloc::boxed::Box;

use super::Sender;
use super::config::WrappedMarks;
use super::state::State;
use crate::accurate_ecn::{ACE_MASK, EcnCounters, FIRST_COUNT, first_bytes, growth};
use crate::congestion::{Governance, MarkAnswer};
use crate::facts::{AckFacts, LossCause, LossRule};
use crate::options::Ecn;
use crate::recovery::{Growth, Outcome};
use crate::scoreboard::{Applied, Segment};
use crate::segment::{Ack, Bit, Codepoint, EcnEcho};
use crate::time::Instant;
use crate::window::WindowCause;

/// Maximum number of packets that the ACE field can count between two ACKs.
const COUNTED_MAX: u64 = ACE_MASK as u64;

/// Ratio of a full segment to the assumed minimum size of marked packets (RFC 9768 Appendix A.2.2: `SAFETY_FACTOR`).
const SAFETY_FACTOR: u64 = 2;

/// Average number of packets per ACK above which the path is assumed to thin ACKs (Linux, `ACK_COMP_THRESH`).
const THINNED_BEYOND: u64 = 4;

/// Fixed-point scale of the average number of packets per ACK: one packet is this many units (Linux,
/// `PKTS_ACKED_PREC`).
const USUAL_PARTS: u64 = 1 << 6;

/// Inverse weight of an ACK in that average (Linux, `PKTS_ACKED_WEIGHT`).
const USUAL_WEIGHT: u64 = 1 << 6;

/// Fields whose bytes are counted.
const COUNTED: [Codepoint; 3] = [Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce];

/// State of a sender on an ECN-capable connection.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    ecn: Ecn,
    /// SND.NXT at the last window reduction for congestion. Marks and losses of the data that was outstanding then
    /// cause no further reduction.
    answered: Option<u64>,
    /// `true` if that reduction was for a mark, and no data beyond `answered` is acknowledged.
    reducing: bool,
    /// Set if CWR is due.
    cwr: Bit,
    /// Number of packets that the peer has reported as marked.
    reported: u64,
    /// `true` if new data is sent as ECN-capable; `false` if the path changes the ECN field.
    capable: bool,
    /// `true` if the sender responds to marks; `false` if the peer's counts cannot be trusted.
    heeded: bool,
    counts: Counts,
    /// The control's response to marks.
    answer: MarkAnswer,
    /// Number of marked packets that the current ACK reports for the first time.
    latest: u64,
}

/// The sender's copy of the receiver's counters (RFC 9768 §3.2).
#[derive(Clone, Copy, Debug)]
struct Counts {
    /// The low three bits of `s.cep`.
    packets: u8,
    /// `s.e1b`, `s.e0b` and `s.ceb`, in the order of the codepoints.
    bytes: [u32; 3],
    /// Option of the current ACK.
    option: Option<EcnCounters>,
    /// `true` until the first count arrives.
    awaited: bool,
    rule: WrappedMarks,
    /// Average number of packets that an ACK reports, in units of 1/[`USUAL_PARTS`] packet; 0 before the first ACK.
    usual: u64,
}

impl Marks {
    /// Returns the state at the start of a connection; `None` without ECN.
    pub(super) fn of(ecn: Ecn, rule: WrappedMarks, answer: MarkAnswer) -> Option<Box<Self>> {
        // ECT(1) requires a receiver that counts marks (RFC 9331 §4.2).
        let answer = match ecn {
            Ecn::Accurate => answer,
            Ecn::Classic | Ecn::Absent => MarkAnswer::AsLoss,
        };
        ecn.is_on().then(|| {
            Box::new(Self {
                ecn,
                answered: None,
                reducing: false,
                cwr: Bit::Clear,
                reported: 0,
                capable: true,
                heeded: true,
                counts: Counts {
                    packets: FIRST_COUNT,
                    bytes: COUNTED.map(first_bytes),
                    option: None,
                    awaited: true,
                    rule,
                    usual: 0,
                },
                answer,
                latest: 0,
            })
        })
    }

    /// Records that the window was reduced while SND.NXT was `nxt`. `reducing` is `true` if a mark was the cause.
    const fn reduced(&mut self, nxt: u64, reducing: bool) {
        self.answered = Some(nxt);
        self.reducing = reducing;
        self.cwr = match self.ecn {
            // Accurate ECN does not use CWR (RFC 9768 §3.1.5).
            Ecn::Accurate => Bit::Clear,
            Ecn::Classic | Ecn::Absent => Bit::Set,
        };
    }

    /// Returns `true` if this mark is the first of a window of data. A control that is governed by a model gets a mark
    /// once per window, because the receiver echoes the mark until CWR arrives.
    fn begins_window(&mut self, una: u64, nxt: u64) -> bool {
        if self.answered.is_some_and(|nxt| una <= nxt) {
            return false;
        }
        self.reduced(nxt, false);
        true
    }

    /// Number of marked packets that the current ACK reports for the first time; `None` if the receiver does not count
    /// them.
    pub(super) fn told(&self) -> Option<u64> {
        (self.ecn == Ecn::Accurate).then_some(self.latest)
    }

    /// Returns the ECN field and the CWR flag of a segment that is about to be sent. Retransmissions are not
    /// ECN-capable (RFC 3168 §6.1.5).
    pub(super) fn stamp(&mut self, is_new: bool) -> (Codepoint, Bit) {
        if is_new && self.capable {
            let field = match self.answer {
                MarkAnswer::AsLoss => Codepoint::Ect0,
                MarkAnswer::ByShare => Codepoint::Ect1,
            };
            (field, core::mem::take(&mut self.cwr))
        } else {
            (Codepoint::NotEct, Bit::Clear)
        }
    }

    /// Returns the number of marked packets that an ACK reports for the first time in its ACE field. `packets` is the
    /// number of segments that the ACK reports.
    fn count(&mut self, ace: u8, packets: u64, smss: u32) -> u64 {
        let counts = &mut self.counts;
        if core::mem::take(&mut counts.awaited) && ace == 0 {
            // No count starts with zero: a middlebox has overwritten the field (§3.2.2.4).
            self.capable = false;
            self.heeded = false;
        }
        let least = u64::from(ace.wrapping_sub(counts.packets) & ACE_MASK);
        let bytes = counts.marked_bytes();
        counts.note_usual(packets);
        let certain = packets <= COUNTED_MAX;
        let marked = match certain {
            true => least,
            false => counts.decide(least, packets, bytes, u64::from(smss)),
        };
        counts.packets = ace & ACE_MASK;
        if certain && marked == 0 && bytes.is_some_and(|bytes| bytes > 0) {
            // The ACE field and the option contradict each other (§3.2.3.2.5).
            self.capable = false;
        }
        marked
    }
}

impl Counts {
    /// Returns the increase of the counter of marked bytes, if the ACK reports this counter.
    fn marked_bytes(&mut self) -> Option<u64> {
        let option = self.option.take()?;
        let mut marked = None;
        for (field, known) in COUNTED.into_iter().zip(&mut self.bytes) {
            let Some(told) = option.of(field) else {
                continue;
            };
            let more = growth(told, *known);
            *known = known.wrapping_add_signed(more);
            if field == Codepoint::Ce {
                marked = Some(u64::try_from(more).unwrap_or(0));
            }
        }
        marked
    }

    /// Updates the average with the number of packets that an ACK has reported.
    fn note_usual(&mut self, packets: u64) {
        let now = packets.min(u64::from(u16::MAX)) * USUAL_PARTS;
        match self.usual {
            _ if packets == 0 => {}
            0 => self.usual = now,
            before => self.usual = (before * (USUAL_WEIGHT - 1) + now) / USUAL_WEIGHT,
        }
    }

    /// Returns `true` if ACKs report so many packets on average that the count is assumed not to have wrapped.
    fn is_thinned(&self) -> bool {
        self.rule == WrappedMarks::ByUsualAck && self.usual > THINNED_BEYOND * USUAL_PARTS
    }

    /// Returns the number of marked packets for a count that may have wrapped. `least` is the number without a wrap
    /// (Appendix A.2).
    fn decide(&self, least: u64, packets: u64, bytes: Option<u64>, smss: u64) -> u64 {
        // The largest possible number of marks with the same low three bits.
        let most = packets - ((packets - least) & COUNTED_MAX);
        match bytes {
            Some(0) => least,
            Some(bytes) if bytes > least * smss => most,
            Some(bytes) if bytes < most * smss / SAFETY_FACTOR => least,
            None if self.is_thinned() => least,
            _ => most,
        }
    }
}

impl Sender {
    /// Number of packets that the peer has reported as marked: the peer's count with Accurate ECN (RFC 9768), or the
    /// number of packets reported by ACKs with ECE. Of the packets of such an ACK, at least one was marked (RFC 3168;
    /// same as Linux's `tcpi_delivered_ce`).
    #[must_use]
    pub fn marks_reported(&self) -> u64 {
        self.state.marks.as_ref().map_or(0, |marks| marks.reported)
    }

    /// Number of payload bytes with the ECN field `field` that the peer has reported in AccECN options (the low 32
    /// bits); 0 without options.
    #[must_use]
    pub fn bytes_reported(&self, field: Codepoint) -> u32 {
        let place = COUNTED.iter().position(|counted| *counted == field);
        let counts = self.state.marks.as_ref().map(|marks| &marks.counts.bytes);
        let known = place.zip(counts).map(|(place, bytes)| bytes[place]);
        known.map_or(0, |bytes| bytes.wrapping_sub(first_bytes(field)))
    }

    /// Returns `true` if new data is sent as ECN-capable.
    #[must_use]
    pub fn is_ecn_capable(&self) -> bool {
        self.state.marks.as_ref().is_some_and(|marks| marks.capable)
    }

    /// Stops sending data as ECN-capable, because the path changes ECN fields.
    pub(crate) fn forgo_ecn(&mut self) {
        if let Some(marks) = &mut self.state.marks {
            marks.capable = false;
        }
    }

    /// Ignores the peer's counts of marks from now on, because they cannot be trusted or do not exist.
    pub(crate) fn ignore_marks(&mut self) {
        if let Some(marks) = &mut self.state.marks {
            marks.heeded = false;
        }
    }

    /// Records that a packet of the handshake was marked, and that the peer has counted it (RFC 9768 §3.2.2.1).
    pub(crate) fn begin_marked(&mut self) {
        if let Some(marks) = &mut self.state.marks {
            marks.counts.packets = FIRST_COUNT + 1;
            marks.reported += 1;
        }
    }

    /// Stores the option of the ACK that [`handle_ack`](Self::handle_ack) gets next.
    pub(crate) fn note_counters(&mut self, option: EcnCounters) {
        if let Some(marks) = &mut self.state.marks {
            marks.counts.option = Some(option);
        }
    }

    /// Responds to the echo of a mark, if the ACK has one. After a reduction for a mark, the window does not grow until
    /// the data outstanding at the reduction is acknowledged. `outcome` has been applied except for the growth.
    #[inline(never)]
    pub(super) fn heed_marks(&mut self, facts: &AckFacts<'_>, outcome: &mut Outcome) {
        if self.state.governance == Governance::Model {
            // A control with a model gets the marks in the facts of the ACK (`take_echo`) and decides on its response.
            return;
        }
        let Some(marks) = &mut self.state.marks else {
            return;
        };
        // The ACK must be beyond `nxt`, because only then has CWR reached the receiver (Linux,
        // `tcp_fastretrans_alert`).
        if marks.answered.is_some_and(|nxt| facts.una > nxt) {
            marks.answered = None;
            marks.reducing = false;
        }
        let waits = marks.answered.is_none();
        let holds_back = marks.answer == MarkAnswer::AsLoss;
        let reducing = marks.reducing && holds_back;
        if facts.ecn_echo.is_set() {
            // The mark proves congestion, so no reduction in this window of data was spurious (RFC 4015 §3.4).
            self.state.undo.forbid();
            if waits && self.answer_mark(facts) {
                self.stack
                    .recovery
                    .on_mark(facts, &self.state.view(facts.now));
            }
            // RFC 3168 §6.1.2: the window does not grow on an ACK with ECE.
            if holds_back {
                outcome.growth = Growth::Frozen;
            }
        } else if reducing {
            outcome.growth = Growth::Frozen;
        }
    }

    /// Reduces the window for a mark. Returns `false` if no segment can have been marked.
    fn answer_mark(&mut self, facts: &AckFacts<'_>) -> bool {
        let now = facts.now;
        let Some(segment) = self.state.marked_segment(facts) else {
            return false;
        };
        let flight_size = facts.prior_flight_unlimited;
        let loss = self
            .state
            .loss_facts(now, segment, LossRule::MARK, flight_size);
        if loss.window.cwnd <= f64::from(self.state.config.smss) {
            // A window of one segment cannot be halved. Instead, the next segment waits for one retransmission timeout
            // (RFC 3168 §6.1.2).
            let wait = now + self.state.rtt.rto();
            self.state.pace_until = self.state.pace_until.max(wait);
        }
        let chosen = self.state.rounded(self.stack.control.reduction(&loss));
        self.stack
            .control
            .on_loss(&loss, LossCause::Congestion, chosen);
        self.state.growth = 1.0;
        self.state.reduced_at = Some(now);
        self.state.set_window(now, chosen, WindowCause::Ecn);
        self.state.stats.marks_answered += 1;
        let nxt = self.state.scoreboard.nxt();
        if let Some(marks) = &mut self.state.marks {
            marks.reduced(nxt, true);
        }
        true
    }
}

impl State {
    /// Returns `Bit::Set` if the ACK reports a mark: with classic ECN, if it carries ECE; with Accurate ECN, if it
    /// reports a mark for the first time. A control with a model gets at most one mark per window of data. `packets` is
    /// the number of segments that the ACK reports for the first time.
    #[inline(never)]
    pub(super) fn take_echo(&mut self, ack: &Ack, applied: &Applied, packets: u64) -> Bit {
        let smss = self.config.smss;
        let (una, nxt) = (self.scoreboard.una(), self.scoreboard.nxt());
        let modelled = self.governance == Governance::Model;
        let Some(marks) = &mut self.marks else {
            return Bit::Clear;
        };
        marks.latest = 0;
        let progress = applied.acked_bytes > 0 || applied.sacked_bytes > 0;
        let marked = match (marks.ecn, ack.ecn) {
            (Ecn::Classic, EcnEcho::Marked) => {
                marks.reported += packets;
                if modelled && !marks.begins_window(una, nxt) {
                    return Bit::Clear;
                }
                self.stats.marks_answered += u32::from(modelled);
                return Bit::Set;
            }
            // An ACK that reports no new data may have been reordered, so its count is ignored (RFC 9768 §3.2.2.2,
            // Appendix A.1; Linux, `__tcp_accecn_process`).
            (Ecn::Accurate, EcnEcho::Count(ace)) if progress => marks.count(ace, packets, smss),
            (Ecn::Accurate, EcnEcho::LatestCount(ace)) => marks.count(ace, packets, smss),
            _ => {
                marks.counts.option = None;
                return Bit::Clear;
            }
        };
        marks.reported += marked;
        let told = marked > 0 && marks.heeded;
        marks.latest = if told { marked } else { 0 };
        if !modelled {
            return Bit::when(told);
        }
        let first = told && marks.begins_window(una, nxt);
        self.stats.marks_answered += u32::from(first);
        Bit::when(first)
    }

    /// Returns `true` if a mark of this window of data has reduced the window.
    pub(super) fn is_reducing(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.reducing)
    }

    /// Returns a segment that may have been marked: the first segment that the ACK reports, or else the first
    /// outstanding segment.
    fn marked_segment(&self, facts: &AckFacts<'_>) -> Option<Segment> {
        let reported = facts.delivered.first().map(|delivered| delivered.segment);
        let board = &self.scoreboard;
        reported.or_else(|| board.get(board.first()).copied())
    }

    /// Records that the window was reduced for congestion other than a mark.
    pub(super) fn note_reduction(&mut self, now: Instant) {
        self.reduced_at = Some(now);
        let nxt = self.scoreboard.nxt();
        if let Some(marks) = &mut self.marks {
            marks.reduced(nxt, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accurate_ecn::CounterOrder;

    const SMSS: u32 = 1000;

    fn marks() -> Marks {
        marks_by(WrappedMarks::Safest)
    }

    fn marks_by(rule: WrappedMarks) -> Marks {
        *Marks::of(Ecn::Accurate, rule, MarkAnswer::AsLoss).expect("ECN is on")
    }

    /// Returns an option that reports this number of marked bytes.
    fn marked(bytes: u32) -> EcnCounters {
        EcnCounters::new(CounterOrder::Ect0First, &[1, bytes])
    }

    #[test]
    fn up_to_seven_packets_the_count_is_certain() {
        let mut marks = marks();
        assert_eq!(marks.count(5, 2, SMSS), 0);
        assert_eq!(marks.count(7, 2, SMSS), 2);
        // The count wraps: 7 + 3 = 10, whose low three bits are 2.
        assert_eq!(marks.count(2, 7, SMSS), 3);
        // The ACK reports more marks than packets, because control packets were also marked (RFC 9768 §3.2.2.5.2).
        assert_eq!(marks.count(6, 1, SMSS), 4);
    }

    #[test]
    fn beyond_seven_packets_the_safest_case_counts() {
        // The ACK reports 10 packets, and the three bits are unchanged: either none or eight packets were marked.
        assert_eq!(marks().count(5, 10, SMSS), 8);
        // The ACK reports 20 packets, and the count is one higher: 1, 9 or 17 packets were marked.
        assert_eq!(marks().count(6, 20, SMSS), 17);
    }

    #[test]
    fn with_thinned_acks_the_count_is_taken_not_to_have_wrapped() {
        let by_usual = || marks_by(WrappedMarks::ByUsualAck);
        // After the first ACK, the average is ten packets, which is more than four.
        assert_eq!(by_usual().count(6, 10, SMSS), 1);
        // The average is two packets per ACK. After an ACK of ten, it is (2 * 63 + 10) / 64, which is only slightly
        // more than two.
        let mut usual = by_usual();
        usual.count(5, 2, SMSS);
        assert_eq!(usual.count(5, 10, SMSS), 8);
        // An average of four packets per ACK does not exceed the threshold. An ACK of no packets does not change the
        // average.
        let mut four = by_usual();
        four.count(5, 4, SMSS);
        four.count(5, 0, SMSS);
        assert_eq!(four.counts.usual, 4 * USUAL_PARTS);
        assert!(!four.counts.is_thinned());
        // An option that reports many marked bytes overrides this assumption.
        let mut told = by_usual();
        told.counts.option = Some(marked(9000));
        assert_eq!(told.count(6, 10, SMSS), 9);
    }

    #[test]
    fn an_option_shows_whether_the_count_has_wrapped() {
        for (ace, packets, bytes, expected) in [
            (5, 10, 0, 0),
            (5, 10, 8000, 8),
            // The option reports less than half the bytes of eight segments.
            (5, 10, 3999, 8),
            (6, 10, 1000, 1),
            (6, 10, 1001, 9),
            (6, 10, 9000, 9),
        ] {
            let mut marks = marks();
            marks.counts.option = Some(marked(bytes));
            let case = (ace, packets, bytes);
            assert_eq!(marks.count(ace, packets, SMSS), expected, "{case:?}");
        }
    }

    #[test]
    fn a_first_count_of_zero_is_ignored() {
        let mut zeroed = marks();
        zeroed.count(0, 1, SMSS);
        assert!(!zeroed.capable && !zeroed.heeded);
        let mut wrapped = marks();
        wrapped.count(5, 1, SMSS);
        assert_eq!(wrapped.count(0, 3, SMSS), 3);
        assert!(wrapped.capable && wrapped.heeded);
    }

    #[test]
    fn marked_bytes_without_marked_packets_end_ecn() {
        let mut marks = marks();
        marks.counts.option = Some(marked(1000));
        assert_eq!(marks.count(5, 2, SMSS), 0);
        assert!(!marks.capable && marks.heeded);
    }

    #[test]
    fn accurate_ecn_has_no_cwr_and_retransmissions_are_not_capable() {
        let mut accurate = marks();
        accurate.reduced(1000, true);
        assert_eq!(accurate.stamp(true), (Codepoint::Ect0, Bit::Clear));
        assert_eq!(accurate.stamp(false), (Codepoint::NotEct, Bit::Clear));
        let rule = WrappedMarks::Safest;
        // A control cannot respond to the fraction of marked packets if the peer does not count marks.
        let by_share = MarkAnswer::ByShare;
        let mut scalable = *Marks::of(Ecn::Accurate, rule, by_share).expect("ECN is on");
        assert_eq!(scalable.stamp(true), (Codepoint::Ect1, Bit::Clear));
        assert_eq!(scalable.stamp(false), (Codepoint::NotEct, Bit::Clear));
        let mut classic = *Marks::of(Ecn::Classic, rule, by_share).expect("ECN is on");
        classic.reduced(1000, true);
        assert_eq!(classic.stamp(true), (Codepoint::Ect0, Bit::Set));
        assert_eq!(classic.told(), None);
        assert!(Marks::of(Ecn::Absent, rule, by_share).is_none());
    }
}
