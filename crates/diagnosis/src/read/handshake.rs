//! Options that the two endpoints agreed on in their SYNs, as far as the capture shows them.

mod again;

pub use again::{SYNS_AGAIN_MAX, SynAgain, SynCause, SynsAgain};

use dupack_tcp::connection::{Flags, Timestamps};
use dupack_tcp::options::{Ecn, Sack};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use dupack_packet::captured::Cut;

use crate::read::packet::Packet;
use crate::read::side::{Both, Side};

/// Largest window scale shift (RFC 7323 §2.3).
const WINDOW_SHIFT_MAX: u8 = 14;

/// MSS of an endpoint that announces none, over IPv4 and IPv6 (RFC 9293 §3.7.1).
const DEFAULT_MSS: [u16; 2] = [536, 1220];

/// Length of the timestamps option in every segment, in bytes, including padding (RFC 7323 appendix A).
const TIMESTAMPS_LEN: u32 = 12;

/// ACE field of a SYN that offers Accurate ECN (RFC 9768 §3.1.1), and of a SYN that offers the ECN of RFC 3168.
const ACE_ACCURATE: u8 = 0b111;
const ACE_CLASSIC: u8 = 0b011;

/// SYN of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syn {
    /// Capture number of the first transmission.
    pub packet: u64,
    /// Capture time of the first transmission.
    pub first_at: Instant,
    /// Capture time of the last transmission.
    pub last_at: Instant,
    /// Number of transmissions in the capture.
    pub times: u32,
    /// Initial sequence number.
    pub isn: SeqNumber,
    /// Window field. It is in bytes, because the window of a SYN is never scaled.
    pub window: u16,
    /// MSS that the SYN announces.
    pub mss: Option<u16>,
    /// Shift of later windows; `None` if the SYN has no window scale option.
    pub window_scale: Option<u8>,
    /// Presence of the SACK-permitted option.
    pub sack: Sack,
    /// Timestamps of the last transmission; `None` if the SYN has none.
    pub timestamps: Option<Timestamps>,
    /// Control bits.
    pub flags: Flags,
    /// Sequence number that the SYN acknowledges; `None` if it does not answer the other SYN.
    pub acknowledges: Option<SeqNumber>,
    /// Capture time of the first transmission that answers the other SYN; `None` if there is none.
    pub answered_at: Option<Instant>,
    /// `true` if the SYN was first sent without an ACK, and a later transmission answers the other SYN.
    pub answers_later: bool,
    /// Number of data bytes in the SYN (TCP Fast Open, RFC 7413).
    pub len: u32,
    /// Point at which the capture cut the SYN off. If options are missing, the agreed options are unknown.
    pub cut: Cut,
}

impl Syn {
    fn new(packet: &Packet) -> Self {
        let options = &packet.segment.options;
        let default_mss = DEFAULT_MSS[usize::from(packet.source.is_ipv6())];
        Self {
            packet: packet.number,
            first_at: packet.at,
            last_at: packet.at,
            times: 1,
            isn: packet.segment.seq,
            window: packet.segment.window,
            mss: options.mss.or(Some(default_mss)),
            window_scale: options.window_scale,
            sack: options.sack_permitted,
            timestamps: options.timestamps,
            flags: packet.segment.flags,
            acknowledges: packet.segment.ack,
            answered_at: packet.segment.ack.map(|_| packet.at),
            answers_later: false,
            len: packet.segment.len,
            cut: packet.cut,
        }
    }
}

/// Agreement on an option, as far as the capture shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Both endpoints request the option.
    Agreed,
    /// At least one endpoint does not request the option.
    Refused,
    /// The capture lacks the SYNs that would show the agreement.
    Unseen,
}

/// SYNs of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// SYN of each endpoint; `None` if the capture lacks it.
    pub syns: Both<Option<Syn>>,
    /// Capture time of the opener's ACK of the answerer's SYN; `None` if the capture lacks it.
    pub established_at: Option<Instant>,
    /// Capture number of this ACK.
    pub established_by: Option<u64>,
    /// SYNs that were retransmitted.
    pub again: SynsAgain,
    /// Number of data bytes in a SYN that the other endpoint did not accept (RFC 7413). They were retransmitted without
    /// a loss.
    pub fast_open_refused: Option<u32>,
}

impl Handshake {
    /// Processes a packet from `side`.
    pub(crate) fn take(&mut self, side: Side, packet: &Packet) {
        if packet.segment.is(Flags::SYN) {
            self.take_syn(side, packet);
        } else if side == Side::Opener && self.established_at.is_none() {
            let answered = self.syns.answerer.zip(packet.segment.ack);
            if answered.is_some_and(|(syn, ack)| ack != syn.isn) {
                self.established_at = Some(packet.at);
                self.established_by = Some(packet.number);
            }
        }
    }

    fn take_syn(&mut self, side: Side, packet: &Packet) {
        match self.syns.of_mut(side) {
            // Simultaneous open: this SYN acknowledges the other one (RFC 9293 §3.5, figure 7).
            Some(known)
                if known.isn == packet.segment.seq
                    && known.acknowledges.is_none()
                    && packet.segment.ack.is_some() =>
            {
                known.acknowledges = packet.segment.ack;
                known.answered_at = Some(packet.at);
                known.answers_later = true;
            }
            Some(known) if known.isn == packet.segment.seq => {
                let waited = packet.at.since(known.last_at);
                known.times = known.times.saturating_add(1);
                known.last_at = packet.at;
                self.again.sent(side, packet.at, packet.number, waited);
                known.timestamps = packet.segment.options.timestamps;
            }
            Some(_) => {}
            unknown => *unknown = Some(Syn::new(packet)),
        }
    }

    /// Records that the data of a SYN was not accepted.
    pub(crate) const fn refused(&mut self, bytes: u32) {
        self.fast_open_refused = Some(bytes);
    }

    /// Returns `true` for a simultaneous open (RFC 9293 §3.5, figure 7): each endpoint sent a SYN before it received
    /// the other endpoint's SYN, and then answered that SYN.
    #[must_use]
    pub fn is_simultaneous(&self) -> bool {
        let (Some(one), Some(other)) = (&self.syns.opener, &self.syns.answerer) else {
            return false;
        };
        let answers =
            |syn: &Syn, of: &Syn| syn.answers_later && syn.acknowledges == Some(of.isn.at(1));
        answers(one, other) && answers(other, one)
    }

    /// Returns the capture time of the first SYN, from either endpoint.
    #[must_use]
    pub fn opened_at(&self) -> Option<Instant> {
        let syns = [self.syns.opener, self.syns.answerer].into_iter().flatten();
        syns.map(|syn| syn.first_at).min()
    }

    /// Returns the round-trip time of the handshake between the capture point and `sender`; `None` if the capture lacks
    /// it.
    #[must_use]
    pub fn round_trip_to(&self, sender: Side) -> Option<Duration> {
        let answer = self.syns.answerer?;
        match sender {
            // The opener's ACK follows the last transmission of the answer.
            Side::Opener => Some(self.established_at?.since(answer.last_at)),
            Side::Answerer => Some(answer.answered_at?.since(self.syns.opener?.last_at)),
        }
    }

    /// Returns the agreement on an option that both SYNs must request. `asks` is `true` for a SYN that requests the
    /// option.
    fn agreement(&self, asks: impl Fn(&Syn) -> bool) -> Agreement {
        let answers = |syn: &&Syn| syn.acknowledges.is_some();
        let seen = [&self.syns.opener, &self.syns.answerer];
        let seen = seen.map(|syn| syn.as_ref().filter(|syn| syn.cut < Cut::Options));
        match seen {
            [Some(one), Some(other)] if asks(one) && asks(other) => Agreement::Agreed,
            [Some(one), _] | [_, Some(one)] if !asks(one) => Agreement::Refused,
            [_, Some(_)] if seen[0].is_some() => Agreement::Refused,
            // A SYN-ACK has an option only if the SYN had it (RFC 7323 §1.3, RFC 2018 §2).
            [_, Some(one)] | [Some(one), _] if answers(&one) => Agreement::Agreed,
            _ => Agreement::Unseen,
        }
    }

    /// Returns the agreement on SACK: if both endpoints agreed, ACKs may carry SACK blocks.
    #[must_use]
    pub fn sack(&self) -> Agreement {
        self.agreement(|syn| syn.sack.is_on())
    }

    /// Returns the agreement on timestamps: if both endpoints agreed, segments carry timestamps.
    #[must_use]
    pub fn timestamps(&self) -> Agreement {
        self.agreement(|syn| syn.timestamps.is_some())
    }

    /// Returns the shift of the windows that `side` advertises; 0 if the window scale was not agreed on, `None` if it
    /// is unknown.
    #[must_use]
    pub fn window_scale(&self, side: Side) -> Option<u8> {
        match self.agreement(|syn| syn.window_scale.is_some()) {
            Agreement::Agreed => {
                let shift = self.syns.of(side).as_ref()?.window_scale;
                shift.map(|shift| shift.min(WINDOW_SHIFT_MAX))
            }
            Agreement::Refused => Some(0),
            Agreement::Unseen => None,
        }
    }

    /// Returns the maximum number of data bytes in a segment, as the endpoints announced it; `None` if the capture has
    /// no SYN.
    #[must_use]
    pub fn smss(&self) -> Option<u32> {
        let known = Side::BOTH.iter().filter_map(|&side| *self.syns.of(side));
        let known = known.filter(|syn| syn.cut < Cut::Options);
        let least = known.filter_map(|syn| syn.mss).min()?;
        let options = match self.timestamps() {
            Agreement::Agreed => TIMESTAMPS_LEN,
            Agreement::Refused | Agreement::Unseen => 0,
        };
        Some(u32::from(least).saturating_sub(options).max(1))
    }

    /// Returns the kind of ECN feedback (RFC 3168 §6.1.1, RFC 9768 §3.1.1); `Absent` if a SYN is missing.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        let (Some(syn), Some(answer)) = (self.syns.opener, self.syns.answerer) else {
            return Ecn::Absent;
        };
        match (syn.flags.ace(), answer.flags.ace()) {
            (ACE_ACCURATE | ACE_CLASSIC, 0b001) => Ecn::Classic,
            // The value encodes the ECN field with which the SYN arrived: Not-ECT, ECT(1), ECT(0) or CE.
            (ACE_ACCURATE, 0b010 | 0b011 | 0b100 | 0b110) => Ecn::Accurate,
            _ => Ecn::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::{from, ms};

    /// Returns a handshake of two SYNs, which are modified by `syn` and `answer`.
    fn handshake(syn: impl Fn(&mut Packet), answer: impl Fn(&mut Packet)) -> Handshake {
        let mut first = from(Side::Opener, 0.0, 99).syn(1460).stamps(1, 0);
        let mut second = from(Side::Answerer, 1.0, 299).syn(1400).ack(100);
        second = second.stamps(1, 1);
        for packet in [&mut first, &mut second] {
            packet.segment.options.window_scale = Some(7);
            packet.segment.options.sack_permitted = Sack::Permitted;
        }
        syn(&mut first);
        answer(&mut second);
        let mut handshake = Handshake::default();
        handshake.take(Side::Opener, &first);
        handshake.take(Side::Answerer, &second);
        handshake
    }

    #[test]
    fn options_that_both_request_are_agreed_on() {
        let both = handshake(|_| {}, |syn| syn.segment.options.window_scale = Some(20));
        assert_eq!(both.sack(), Agreement::Agreed);
        assert_eq!(both.timestamps(), Agreement::Agreed);
        // The size is the smaller MSS, 1400, minus 12 bytes of timestamps.
        assert_eq!(both.smss(), Some(1388));
        let scales = Side::BOTH.map(|side| both.window_scale(side));
        assert_eq!(scales, [Some(7), Some(14)]);
    }

    #[test]
    fn options_that_one_does_not_request_are_refused() {
        let none = |syn: &mut Packet| {
            syn.segment.options = dupack_tcp::connection::Options::NONE;
        };
        for refused in [handshake(none, |_| {}), handshake(|_| {}, none)] {
            assert_eq!(refused.sack(), Agreement::Refused);
            assert_eq!(refused.timestamps(), Agreement::Refused);
            assert_eq!(refused.window_scale(Side::Opener), Some(0));
            // The MSS is 536 if a SYN announces none (RFC 9293).
            assert_eq!(refused.smss(), Some(536));
        }
    }

    #[test]
    fn a_syn_ack_alone_shows_agreement_and_a_syn_alone_does_not() {
        let both = handshake(|_| {}, |_| {});
        let mut answer = both.clone();
        answer.syns.opener = None;
        assert_eq!(answer.sack(), Agreement::Agreed);
        assert_eq!(answer.window_scale(Side::Answerer), Some(7));
        assert_eq!(answer.window_scale(Side::Opener), None);
        let mut question = both.clone();
        question.syns.answerer = None;
        assert_eq!(question.sack(), Agreement::Unseen);
        assert_eq!(question.window_scale(Side::Opener), None);
        assert_eq!(Handshake::default().smss(), None);
    }

    #[test]
    fn ecn_follows_the_bits_of_both_syns() {
        let with = |syn: u8, answer: u8| {
            let set = |ace: u8| move |p: &mut Packet| *p = p.flags(Flags::of_ace(ace));
            handshake(set(syn), set(answer)).ecn()
        };
        assert_eq!(with(0b011, 0b001), Ecn::Classic);
        assert_eq!(with(0b111, 0b001), Ecn::Classic);
        assert_eq!(with(0b111, 0b010), Ecn::Accurate);
        assert_eq!(with(0b011, 0b000), Ecn::Absent);
        // A host that reflects unknown bits returns both bits.
        assert_eq!(with(0b011, 0b011), Ecn::Absent);
    }

    #[test]
    fn the_third_packet_establishes_the_connection() {
        let mut both = handshake(|_| {}, |_| {});
        both.take(Side::Answerer, &from(Side::Answerer, 2.0, 300).ack(100));
        assert_eq!(both.established_at, None);
        both.take(Side::Opener, &from(Side::Opener, 3.0, 100).ack(300));
        both.take(Side::Opener, &from(Side::Opener, 9.0, 100).ack(300));
        assert_eq!(both.established_at, Some(ms(3.0)));
        // The answer was captured 2 ms before the opener's ACK, and 1 ms after the SYN.
        let ways = Side::BOTH.map(|side| both.round_trip_to(side));
        assert_eq!(ways, [2, 1].map(|ms| Some(Duration::from_millis(ms))));
    }

    #[test]
    fn a_retransmitted_syn_is_counted() {
        let mut both = handshake(|_| {}, |_| {});
        both.take(Side::Opener, &from(Side::Opener, 1000.0, 99).syn(1460));
        let syn = both.syns.opener.expect("a SYN");
        assert_eq!(
            (syn.times, syn.first_at, syn.last_at),
            (2, ms(0.0), ms(1000.0))
        );
    }

    #[test]
    fn a_syn_ack_is_retransmitted_by_a_timer_or_because_the_syn_was() {
        let mut both = handshake(|_| {}, |_| {});
        let again = |side: Side, at: f64, isn: u32| from(side, at, isn).syn(1460);
        both.take(Side::Answerer, &again(Side::Answerer, 1001.0, 299).ack(100));
        both.take(Side::Opener, &again(Side::Opener, 3000.0, 99));
        both.take(Side::Answerer, &again(Side::Answerer, 3001.0, 299).ack(100));
        let told = both.again.kept().iter().map(|syn| (syn.side, syn.cause));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                (Side::Answerer, SynCause::Timer),
                (Side::Opener, SynCause::Timer),
                (Side::Answerer, SynCause::Answer)
            ]
        );
        let first = both.again.kept().first().map(|syn| syn.waited);
        assert_eq!(first, Some(Duration::from_millis(1000)));
    }

    #[test]
    fn endless_syns_take_bounded_memory() {
        let mut both = handshake(|_| {}, |_| {});
        for n in 0..100 {
            let at = 1000.0 * f64::from(n + 1);
            both.take(Side::Opener, &from(Side::Opener, at, 99).syn(1460));
        }
        assert_eq!(both.again.kept().len(), SYNS_AGAIN_MAX);
        assert_eq!(both.syns.opener.map(|syn| syn.times), Some(101));
    }

    #[test]
    fn an_open_is_simultaneous_if_each_acknowledges_the_others_syn() {
        // The second SYN of each endpoint acknowledges these numbers. The first SYN has no ACK.
        let opened = |by_opener: u32, by_answerer: u32| {
            let mut handshake = Handshake::default();
            for (at, side, seq, ack) in [
                (0.0, Side::Opener, 99, None),
                (0.5, Side::Answerer, 299, None),
                (1.0, Side::Opener, 99, Some(by_opener)),
                (1.5, Side::Answerer, 299, Some(by_answerer)),
            ] {
                let mut syn = from(side, at, seq).syn(1460);
                syn.segment.ack = ack.map(SeqNumber);
                handshake.take(side, &syn);
            }
            handshake.is_simultaneous()
        };
        assert!(opened(300, 100));
        assert!(!opened(301, 100) && !opened(300, 7));
        assert!(!handshake(|_| {}, |_| {}).is_simultaneous());
    }
}
