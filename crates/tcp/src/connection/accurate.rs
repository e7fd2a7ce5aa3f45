//! Accurate ECN on a connection (RFC 9768): the negotiation, and the feedback in headers that the sender and the
//! receiver do not handle themselves.
//!
//! ```text
//! SYN                  AE CWR ECE: 111 offers Accurate ECN, 011 classic ECN, 000 none
//! SYN-ACK              ECN field of the SYN (010, 011, 100, 110); 001 classic ECN; 000, 111 none
//! ACK of the SYN-ACK   ECN field of the SYN-ACK, in the same code
//! other segments       the ACE field: number of marked packets that arrived
//! ```
//!
//! SYNs are sent as not ECN-capable. If the peer reports that a SYN arrived with a different ECN field, the path has
//! changed the field: then this end sends no ECN-capable packets, but still responds to reported marks (§3.2.2.3). A
//! mark on a SYN does not reduce the initial window, because no queue can have set the mark.

use alloc::boxed::Box;

use crate::accurate_ecn::{ACE_MASK, EcnCounters, reflected, reflection};
use crate::options::Ecn;
use crate::receiver::{MarkCounts, Wanted};
use crate::segment::{Ack, Codepoint, EcnEcho};
use crate::seq::SeqNumber;

use super::config::{AccurateOption, EctUse};
use super::engine::Engine;
use super::header::{Flags, Segment};
use super::{Config, Connection, EcnOffer, Role, State};

/// Maximum number of bytes for options in a header (RFC 9293 §3.1).
const OPTION_ROOM: usize = 40;

/// Bytes of an AccECN option with all counters, including padding.
const FULL_OPTION_BYTES: u32 = 12;

/// Number of SACK blocks that an AccECN option does not displace (§3.2.3.3).
const BLOCKS_KEPT: usize = 2;

/// ECN state of the handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnHandshake {
    /// ECN that this end's SYNs offer.
    pub(super) offered: Ecn,
    /// ECN field with which the peer's last SYN or SYN-ACK arrived.
    pub(super) came_with: Codepoint,
    /// `true` if this end, as a server, has received or sent a SYN without ECN flags: it then sends no ECN-capable
    /// packets (§3.1.5).
    pub(super) bare: bool,
    /// Number of SYN or SYN-ACK retransmissions after a timeout.
    pub(super) expiries: u32,
    /// `true` if this end has sent a SYN-ACK.
    answered: bool,
}

impl Default for EcnHandshake {
    fn default() -> Self {
        Self {
            offered: Ecn::Absent,
            came_with: Codepoint::NotEct,
            bare: false,
            expiries: 0,
            answered: false,
        }
    }
}

impl EcnOffer {
    /// Returns the ECN that this end accepts if the peer offers it.
    const fn accepts(self) -> Ecn {
        match self {
            Self::Off => Ecn::Absent,
            Self::Accepted | Self::Offered => Ecn::Classic,
            Self::AccurateAccepted | Self::AccurateOrClassicOffered | Self::AccurateOffered => {
                Ecn::Accurate
            }
        }
    }

    /// Returns the ECN that this end offers.
    const fn offers(self) -> Ecn {
        match self {
            Self::Off | Self::Accepted | Self::AccurateAccepted => Ecn::Absent,
            Self::Offered | Self::AccurateOrClassicOffered => Ecn::Classic,
            Self::AccurateOffered => Ecn::Accurate,
        }
    }
}

/// Flags of a SYN that offers classic ECN.
const CLASSIC: u8 = 0b011;
/// Flags of a SYN that offers Accurate ECN. All other non-zero flags except `CLASSIC` also count as this offer
/// (§3.1.3).
const ACCURATE: u8 = 0b111;

impl Connection {
    /// Returns the ECN that the next SYN offers. The first SYN has an offer, and the second SYN has one if the offer is
    /// Accurate ECN (§3.1.4.1). Later SYNs have no offer, because a middlebox may drop SYNs with ECN flags.
    fn offers_now(&self) -> Ecn {
        let offers = self.config.offer.ecn.offers();
        let most = match offers {
            Ecn::Accurate => 2,
            Ecn::Classic | Ecn::Absent => 1,
        };
        if self.opening.attempts < most {
            offers
        } else {
            Ecn::Absent
        }
    }

    /// Returns the ECN flags of a SYN without ACK.
    pub(super) fn ecn_flags_of_syn(&mut self) -> Flags {
        let offers = self.offers_now();
        let handshake = &mut self.opening.ecn;
        match offers {
            // A SYN-ACK may acknowledge any of the SYNs (§3.1.4.1). With classic ECN, it acknowledges the last SYN (RFC
            // 3168 §6.1.1.1).
            Ecn::Absent if handshake.offered == Ecn::Accurate => {}
            offers => handshake.offered = offers,
        }
        match offers {
            Ecn::Absent => Flags::NONE,
            Ecn::Classic => Flags::of_ace(CLASSIC),
            Ecn::Accurate => Flags::of_ace(ACCURATE),
        }
    }

    /// Returns the ECN flags and the option of a SYN-ACK, for the ECN that was `agreed` on (§3.2.3.2.2).
    pub(super) fn ecn_of_syn_ack(&mut self, agreed: Ecn) -> (Flags, Option<EcnCounters>) {
        let handshake = &mut self.opening.ecn;
        // In a simultaneous open, the previous SYN had no ACK.
        let again = core::mem::replace(&mut handshake.answered, true);
        match agreed {
            Ecn::Absent => (Flags::NONE, None),
            Ecn::Classic => (Flags::ECE, None),
            Ecn::Accurate if handshake.expiries > 1 => {
                handshake.bare = true;
                (Flags::NONE, None)
            }
            Ecn::Accurate => {
                let flags = Flags::of_ace(reflection(handshake.came_with));
                let wanted = self.config.accurate_option != AccurateOption::Off && !again;
                (flags, wanted.then(MarkCounts::beginning))
            }
        }
    }

    /// Returns the ECN that both ends agree on, given the peer's SYN or SYN-ACK (§3.1.1, Table 2; RFC 3168 §6.1.1).
    pub(super) fn agreed_ecn(&self, syn: &Segment) -> Ecn {
        let ace = syn.flags.ace();
        let offered = self.opening.ecn.offered;
        match (self.state, syn.ack) {
            (State::Listen, _) => accepted(self.config.offer.ecn.accepts(), ace),
            // In a simultaneous open, the same rules apply as in LISTEN (§3.1.2). RFC 3168 does not describe this case.
            (_, None) if offered == Ecn::Accurate => accepted(Ecn::Accurate, ace),
            (_, None) => Ecn::Absent,
            (_, Some(_)) => answered(offered, ace),
        }
    }

    /// Processes a retransmitted SYN of the peer, which arrived because the peer did not receive the SYN-ACK. Returns
    /// `Contradiction::Yes` if its offer contradicts that of the earlier SYN: then the two ends may have different
    /// views of the agreement (§3.1.5).
    pub(super) fn takes_another_syn(&mut self, syn: &Segment) -> Contradiction {
        let accurate = self.config.offer.ecn.accepts() == Ecn::Accurate;
        let Some(peer) = &mut self.peer else {
            return Contradiction::No;
        };
        let ace = syn.flags.ace();
        let handshake = &mut self.opening.ecn;
        match peer.negotiated.ecn {
            Ecn::Absent => {}
            Ecn::Classic if accurate && accepted(Ecn::Accurate, ace) == Ecn::Accurate => {
                return Contradiction::Yes;
            }
            // The peer no longer offers ECN (RFC 3168 §6.1.1.1).
            Ecn::Classic if accepted(Ecn::Classic, ace) == Ecn::Absent => {
                peer.negotiated.ecn = Ecn::Absent;
            }
            Ecn::Classic => {}
            Ecn::Accurate if ace == CLASSIC => return Contradiction::Yes,
            Ecn::Accurate => {
                handshake.came_with = syn.ecn;
                handshake.bare |= ace == 0;
            }
        }
        Contradiction::No
    }

    /// Returns the number of bytes to reserve for the AccECN option in every segment, given the peer's `answer` in the
    /// handshake.
    pub(super) fn option_bytes(&self, agreed: Ecn, answer: &Segment) -> u32 {
        let wanted = self.config.accurate_option == AccurateOption::Always;
        let seen = answer.options.accurate_ecn.is_some();
        match agreed {
            Ecn::Accurate if wanted && seen => FULL_OPTION_BYTES,
            _ => 0,
        }
    }

    /// Starts Accurate ECN at the end of the handshake. `answer` is the segment that completed it.
    pub(super) fn begin_accurate_ecn(&self, engine: &mut Engine, answer: &Segment) {
        let handshake = &self.opening.ecn;
        let mut feedback = Feedback::new(&self.config, self.role);
        feedback.note_option(answer);
        feedback.reserved = self.option_bytes(Ecn::Accurate, answer);
        match self.role {
            Role::Active => {
                // The ACE field reports the ECN field with which this end's SYN arrived.
                let ace = answer.flags.ace();
                if reflected(ace).is_some_and(|field| field != Codepoint::NotEct) {
                    engine.sender.forgo_ecn();
                }
                feedback.reflects = Some(answer.ecn);
                feedback.first_data = true;
                if answer.ecn == Codepoint::Ce
                    && let Some(counts) = engine.receiver.mark_counts()
                {
                    counts.begin_marked();
                }
            }
            Role::Passive => {
                if handshake.bare {
                    engine.sender.forgo_ecn();
                }
                if answer.len == 0 && answer.options.sacks.is_empty() && !answer.is(Flags::FIN) {
                    heed_reflection(engine, answer);
                    feedback.passes_over = true;
                }
            }
        }
        engine.feedback = Some(Box::new(feedback));
    }
}

/// `Yes` if a SYN contradicts the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contradiction {
    No,
    Yes,
}

/// Returns the ECN to which an end agrees if it accepts at most `accepts` and the peer's SYN has these flags.
const fn accepted(accepts: Ecn, ace: u8) -> Ecn {
    match (accepts, ace) {
        (Ecn::Absent, _) | (_, 0) => Ecn::Absent,
        (Ecn::Accurate, CLASSIC) => Ecn::Classic,
        (Ecn::Accurate, _) => Ecn::Accurate,
        // RFC 3168 does not define AE, so this flag is ignored.
        (Ecn::Classic, _) if ace & CLASSIC == CLASSIC => Ecn::Classic,
        (Ecn::Classic, _) => Ecn::Absent,
    }
}

/// Returns the ECN to which a SYN-ACK with these flags agrees, after an offer of `offered`.
const fn answered(offered: Ecn, ace: u8) -> Ecn {
    match (offered, ace) {
        // A peer that reflects all flags does not support them.
        (Ecn::Accurate, 0b000 | 0b111) => Ecn::Absent,
        (Ecn::Accurate, 0b001) => Ecn::Classic,
        // The value 101 is reserved, and counts as agreement (§3.1.3).
        (Ecn::Accurate, _) => Ecn::Accurate,
        (Ecn::Classic, _) if ace & CLASSIC == 0b001 => Ecn::Classic,
        (Ecn::Classic | Ecn::Absent, _) => Ecn::Absent,
    }
}

/// Processes the client's report of the ECN field with which the server's SYN-ACK arrived (§3.2.2.1, Table 4).
fn heed_reflection(engine: &mut Engine, ack: &Segment) {
    let ace = ack.flags.ace();
    if ace == 0 {
        engine.sender.forgo_ecn();
        engine.sender.ignore_marks();
        return;
    }
    match reflected(ace) {
        None | Some(Codepoint::NotEct) => {}
        Some(changed) => {
            engine.sender.forgo_ecn();
            if changed == Codepoint::Ce {
                engine.sender.begin_marked();
            }
        }
    }
}

/// Accurate ECN state of an established connection, in addition to the counters of the sender and the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    role: Role,
    /// Maximum length of a segment from the peer, in bytes.
    mss: u16,
    /// Bytes reserved for the option in every segment.
    reserved: u32,
    ect: EctUse,
    option: AccurateOption,
    /// ECN field of the SYN-ACK, which the next ACK without data reports.
    reflects: Option<Codepoint>,
    /// `true` until the first data segment is sent: it carries an option if the option fits (§3.2.3.2.1).
    first_data: bool,
    /// `true` if the ACE field of the current segment is not a count.
    passes_over: bool,
    peers_option: PeersOption,
    /// Sequence number of the last segment, if all of its data had been received before.
    repeated: Option<SeqNumber>,
}

/// AccECN options received from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeersOption {
    /// No option so far.
    Unseen,
    /// At least one option.
    Seen,
    /// A counter of the first option was an impossible zero (§3.2.3.2.4), so options are ignored.
    Zeroed,
}

impl Feedback {
    const fn new(config: &Config, role: Role) -> Self {
        Self {
            role,
            mss: config.mss,
            reserved: 0,
            ect: config.ect,
            option: config.accurate_option,
            reflects: None,
            first_data: false,
            passes_over: false,
            peers_option: PeersOption::Unseen,
            repeated: None,
        }
    }

    /// Records the first option of the peer.
    fn note_option(&mut self, segment: &Segment) {
        if let (PeersOption::Unseen, Some(option)) =
            (self.peers_option, segment.options.accurate_ecn)
        {
            self.peers_option = match option.is_zeroed() {
                true => PeersOption::Zeroed,
                false => PeersOption::Seen,
            };
        }
    }

    /// Records a segment of old data. If the same data arrives twice in a row, ACKs with options are assumed to be
    /// lost, and later ACKs have no option (§3.2.3.2.2).
    fn note_repetition(&mut self, again: Option<SeqNumber>) {
        if again.is_some() && self.repeated == again {
            self.option = AccurateOption::Off;
        }
        self.repeated = again;
    }

    /// Repeats the report of the SYN-ACK's ECN field after a retransmitted SYN-ACK (§3.2.2.1).
    fn reflect_again(&mut self, counts: Option<&mut MarkCounts>, field: Codepoint) {
        self.reflects = Some(field);
        if let Some(counts) = counts
            && field == Codepoint::Ce
            && counts.packets() == 0
        {
            counts.begin_marked();
        }
    }

    /// Returns the counters that this connection puts into an option, if it sends options.
    fn wanted(&self) -> Option<Wanted> {
        match self.option {
            AccurateOption::Off => None,
            AccurateOption::Changed => Some(Wanted::Changed),
            // Linux does not send an option before it has received one.
            AccurateOption::Always => {
                (self.peers_option != PeersOption::Unseen).then_some(Wanted::All)
            }
        }
    }
}

impl Engine {
    /// Counts the ECN field of an accepted segment.
    #[inline(never)]
    pub(super) fn count_marks(&mut self, segment: &Segment) {
        let longest = self.feedback.as_ref().map_or(0, |feedback| feedback.mss);
        let packets = match segment.len > u32::from(longest) {
            // Receive offload has merged several packets.
            true => segment.len.div_ceil(self.negotiated.peer_smss.max(1)),
            false => 1,
        };
        self.receiver.count_marks(segment.ecn, segment.len, packets);
        let repeated = segment.len > 0 && self.is_old(segment);
        if let Some(feedback) = &mut self.feedback {
            feedback.note_repetition(repeated.then_some(segment.seq));
        }
    }

    /// Processes a SYN on an established connection: it may be a retransmission of the SYN-ACK that opened the
    /// connection.
    pub(super) fn note_syn_again(&mut self, segment: &Segment) {
        let is_again =
            segment.seq.at(1) == self.receiver.config().irs && segment.ack == Some(self.first());
        if let Some(feedback) = &mut self.feedback
            && is_again
            && feedback.role == Role::Active
        {
            feedback.reflect_again(self.receiver.mark_counts(), segment.ecn);
        }
    }

    /// Returns the report of marks in a segment with an ACK. `newest` is `true` if the segment's timestamp is later
    /// than all timestamps before it.
    #[inline(never)]
    pub(super) fn count_told(&mut self, segment: &Segment, newest: bool) -> EcnEcho {
        let Some(feedback) = &mut self.feedback else {
            return EcnEcho::Silent;
        };
        if core::mem::take(&mut feedback.passes_over) {
            return EcnEcho::Silent;
        }
        feedback.note_option(segment);
        if feedback.peers_option == PeersOption::Seen
            && let Some(option) = segment.options.accurate_ecn
        {
            self.sender.note_counters(option);
        }
        let ace = segment.flags.ace();
        match newest {
            true => EcnEcho::LatestCount(ace),
            false => EcnEcho::Count(ace),
        }
    }

    /// Adds the feedback to a segment without data: an AccECN option, and the reflection of the SYN-ACK in the ACE
    /// field.
    #[inline(never)]
    pub(super) fn finish_accurate_ack(&mut self, segment: &mut Segment) {
        let Some(feedback) = &mut self.feedback else {
            return;
        };
        if segment.options.sacks.is_empty()
            && let Some(field) = feedback.reflects.take()
        {
            segment.flags = segment
                .flags
                .without(Flags::of_ace(ACE_MASK))
                .with(Flags::of_ace(reflection(field)));
            if feedback.option == AccurateOption::Changed {
                // The client's first ACK carries an option, to test that the path transports options (§3.2.3.2.1).
                segment.options.accurate_ecn = Some(MarkCounts::beginning());
            }
        }
        if feedback.ect == EctUse::Everything && self.sender.is_ecn_capable() {
            segment.ecn = Codepoint::Ect0;
        }
        if segment.options.accurate_ecn.is_some() {
            return;
        }
        let blocks = segment.options.sacks.as_slice().len();
        let stamps = segment.options.timestamps.is_some();
        if let (Some(wanted), Some(counts)) = (feedback.wanted(), self.receiver.mark_counts()) {
            let (option, kept) = fit(wanted, counts, option_room(stamps), blocks);
            segment.options.accurate_ecn = option;
            segment.options.sacks.truncate(kept);
        }
    }

    /// Adds the feedback to a segment with data, in which `room` bytes are free. Before any data is acknowledged, a
    /// retransmission has no option, because the path may have dropped the segment for its option (§3.2.3.2.2).
    #[inline(never)]
    pub(super) fn finish_accurate_data(&mut self, segment: &mut Segment, room: u32, again: bool) {
        let Some(feedback) = &mut self.feedback else {
            return;
        };
        // In data segments, the ACE field is always a count.
        feedback.reflects = None;
        if feedback.ect == EctUse::Everything && self.sender.is_ecn_capable() {
            segment.ecn = Codepoint::Ect0;
        }
        let first = core::mem::take(&mut feedback.first_data);
        let room = room + feedback.reserved;
        let board = self.sender.scoreboard();
        let suspect = again && board.una() == 0 && board.sacked_segments() == 0;
        if suspect || !segment.options.sacks.is_empty() {
            return;
        }
        let (Some(wanted), Some(counts)) = (feedback.wanted(), self.receiver.mark_counts()) else {
            return;
        };
        let stamps = segment.options.timestamps.is_some();
        let room = option_room(stamps).min(room as usize);
        let (option, _) = fit(wanted, counts, room, 0);
        segment.options.accurate_ecn = option.or_else(|| {
            let fits = option_bytes(3) <= room;
            (first && fits).then(MarkCounts::beginning)
        });
    }
}

/// Returns the flags that report the marks in `ack`.
pub(super) const fn echo_flags(ack: &Ack) -> Flags {
    match ack.ecn {
        EcnEcho::Silent => Flags::NONE,
        EcnEcho::Marked => Flags::ECE,
        EcnEcho::Count(ace) | EcnEcho::LatestCount(ace) => Flags::of_ace(ace),
    }
}

/// Returns the number of header bytes for options other than timestamps.
const fn option_room(stamps: bool) -> usize {
    match stamps {
        true => OPTION_ROOM - super::config::TIMESTAMP_OPTION_BYTES as usize,
        false => OPTION_ROOM,
    }
}

/// Returns the size in bytes of an AccECN option with this number of counters, including padding.
const fn option_bytes(counters: usize) -> usize {
    (2 + 3 * counters).next_multiple_of(4)
}

/// Returns the size in bytes of a SACK option with this number of blocks, including padding (RFC 2018 §3).
const fn sack_bytes(blocks: usize) -> usize {
    match blocks {
        0 => 0,
        blocks => 4 + 8 * blocks,
    }
}

/// Returns the option that fits into `room` bytes next to `blocks` SACK blocks, and the number of blocks to keep.
/// Changed counters displace SACK blocks, except for two blocks (§3.2.3.3; Linux, `tcp_options_fit_accecn`).
fn fit(
    wanted: Wanted,
    counts: &mut MarkCounts,
    room: usize,
    blocks: usize,
) -> (Option<EcnCounters>, usize) {
    let needed = counts.needed(wanted);
    let mut kept = blocks;
    loop {
        let left = room.saturating_sub(sack_bytes(kept));
        let fitting = (0..=3)
            .rev()
            .find(|&counters| option_bytes(counters) <= left);
        if let Some(counters) = fitting.filter(|&counters| counters >= needed) {
            let option = counts.option(wanted, counters);
            let kept = if option.is_some() { kept } else { blocks };
            return (option, kept);
        }
        if kept <= BLOCKS_KEPT || needed == 0 {
            return (None, blocks);
        }
        kept -= 1;
    }
}

#[cfg(test)]
mod tests;
