//! Round-trip times between the capture point and each endpoint.
//!
//! For each endpoint, one packet to it is observed at a time, until the endpoint answers the packet. An answer is an
//! ACK of the packet's data or an echo of its timestamp. SYNs count like other packets, so the handshake gives the
//! first two values. The minimum is stored, because delays at an endpoint (delayed ACKs, a slow application) only add
//! to it.
//!
//! If there is little other evidence, retransmissions bound the time: a retransmission that three duplicate ACKs
//! triggered takes at least the time of an ACK to the sender and of a segment back. If a handshake took much longer,
//! for example over a radio link that was in sleep mode, it does not show the round-trip time.

use dupack_tcp::connection::Flags;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::read::nearness::Nearness;
use crate::read::packet::{Packet, is_after};
use crate::read::side::{Both, Side};
use crate::read::vantage::{Place, Reason, Vantage};

/// Maximum response time of an endpoint at the capture point: the kernel of a host needs about 10 µs, and a virtual
/// machine or an interface with interrupt coalescing needs about 100 µs (our choice).
const AT_END: Duration = Duration::from_millis(1);

/// Minimum ratio of the distance to the far endpoint to the distance to the near endpoint, if the capture was taken at
/// an endpoint (our choice).
const FARTHER: u64 = 4;

/// Maximum response time of both endpoints if they are on one machine (our choice: the stacks of two hosts and the
/// network take longer).
const IN_ONE_MACHINE: Duration = Duration::from_micros(50);

/// Maximum response time: a later packet is not an answer (our choice: this is also the maximum timeout of RFC 6298
/// §2.5).
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Packet to which an answer is expected.
#[derive(Clone, Copy, Debug)]
struct Question {
    at: Instant,
    /// Sequence number after the packet's last byte; `None` if the packet carries no new data.
    end: Option<SeqNumber>,
    /// TSval; `None` if an earlier packet had the same value.
    value: Option<u32>,
    is_syn: bool,
}

/// Path between the capture point and one endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    least: Option<(Duration, Reason)>,
    /// Packet that the endpoint has not answered yet.
    question: Option<Question>,
    /// Number of answers so far.
    answers: u32,
    /// Sequence number after the last byte sent *to* the endpoint, and the last TSval sent to it.
    sent_end: Option<SeqNumber>,
    sent_value: Option<u32>,
    /// Time of the last ACK of new data to the endpoint; `None` after the endpoint has sent data in response.
    acked_at: Option<Instant>,
    /// Highest ACK sent to the endpoint.
    acked: Option<SeqNumber>,
    /// Minimum time between an ACK of new data and the next new data from the endpoint. At the sender, it is near zero.
    quickest: Option<Duration>,
    repairs: Repairs,
}

/// Number of duplicate ACKs that trigger a retransmission (RFC 5681 §3.2).
const DUP_THRESHOLD: u32 = 3;

/// Number of retransmissions for which the time is stored.
const REPAIRS: usize = 8;

/// Minimum number of measured retransmissions if no identification shows that they were sent after the packets before
/// them (our choice).
const REPAIRS_MIN: u32 = 3;

/// If the time of the retransmissions is below this fraction of the time of the answers, the answers are not trusted
/// (our choice).
const DOUBTED: (u64, u64) = (3, 5);

/// Segment that duplicate ACKs request.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    seq: SeqNumber,
    since: Instant,
    asked: u32,
}

/// Times between duplicate ACKs and the retransmissions that they trigger.
#[derive(Clone, Copy, Debug, Default)]
struct Repairs {
    wanted: Option<Wanted>,
    /// `true` if the receiver had no hole when it last acknowledged new data. In this case, the segment that duplicate
    /// ACKs request was lost after that ACK.
    is_whole: bool,
    times: [Duration; REPAIRS],
    count: u32,
    /// Median time of the retransmissions; zero if it is unknown.
    typical: Duration,
    /// Number of retransmissions with a later identification than the previous packet.
    sent_later: u32,
    last_id: Option<u16>,
    /// Minimum time from an ACK to new data, among the times between half of `typical` and `typical`: one round trip.
    round: Option<Duration>,
}

impl Repairs {
    /// Records a retransmission that took `time`. `later` is `true` if its identification is later than that of the
    /// previous packet.
    fn took(&mut self, time: Duration, later: bool) -> News {
        if let Some(slot) = self.times.get_mut(self.count as usize % REPAIRS) {
            *slot = time;
        }
        self.count = self.count.saturating_add(1);
        self.sent_later = self.sent_later.saturating_add(u32::from(later));
        let typical = self.median().unwrap_or_default();
        News::when(core::mem::replace(&mut self.typical, typical) != typical)
    }

    fn time(&self) -> Option<Duration> {
        Some(self.typical).filter(|time| !time.is_zero())
    }

    fn median(&self) -> Option<Duration> {
        let enough = self.sent_later > 0 || self.count >= REPAIRS_MIN;
        let mut times = self.times;
        let known = times.get_mut(..REPAIRS.min(self.count as usize))?;
        known.sort_unstable();
        known.get(known.len() / 2).copied().filter(|_| enough)
    }

    /// Returns the round-trip time, as far as retransmissions and round trips show it.
    fn way(&self) -> Option<Duration> {
        let time = self.time()?;
        Some(self.round.map_or(time, |round| round.min(time)))
    }

    /// Records an ACK of new data to the sender, with or without SACK blocks.
    fn advanced(&mut self, at: Instant, seq: SeqNumber, has_blocks: bool) {
        // If there was a hole before, it may be only a part of the current one.
        self.is_whole = self.wanted.is_none();
        self.wanted = has_blocks.then_some(Wanted {
            seq,
            since: at,
            asked: 1,
        });
    }

    /// Records an ACK to the sender that acknowledges no new data.
    fn asked(&mut self, at: Instant, seq: SeqNumber) {
        match &mut self.wanted {
            Some(wanted) if wanted.seq == seq => wanted.asked = wanted.asked.saturating_add(1),
            wanted => {
                *wanted = Some(Wanted {
                    seq,
                    since: at,
                    asked: 1,
                });
            }
        }
    }

    /// Processes a packet from the sender. `acked_at` is the time of an ACK of new data to which the sender has not
    /// responded.
    fn sent(&mut self, packet: &Packet, acked_at: Option<Instant>) -> News {
        let before = match packet.ip_id {
            Some(id) if id != 0 => self.last_id.replace(id),
            _ => None,
        };
        let step = packet
            .ip_id
            .zip(before)
            .map(|(id, before)| id.wrapping_sub(before) as i16);
        if !packet.is_of_stream() || step.is_some_and(|step| step <= 0) {
            // A packet that was overtaken is not a retransmission.
            return News::None;
        }
        if let Some(wanted) = self.wanted
            && wanted.seq == packet.segment.seq
        {
            return match wanted.asked >= DUP_THRESHOLD && self.is_whole {
                true => self.took(packet.at.since(wanted.since), step.is_some()),
                false => News::None,
            };
        }
        let Some((time, acked_at)) = self.time().zip(acked_at) else {
            return News::None;
        };
        let round = packet.at.since(acked_at);
        let is_least = self.round.is_none_or(|known| round < known);
        if !is_least || round < time / 2 || round > time {
            return News::None;
        }
        self.round = Some(round);
        News::Some
    }
}

/// Time after an ACK beyond which data is no response to the ACK, if no data was outstanding (our choice: for a path of
/// this length, other packets show the round-trip time).
const BY_ITSELF: Duration = Duration::from_millis(100);

/// Effect of a packet on the knowledge about the paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// A path may be shorter than was known, or another endpoint may be nearer.
    Some,
    /// Nothing changed.
    None,
}

impl News {
    pub(super) const fn when(is_news: bool) -> Self {
        if is_news { Self::Some } else { Self::None }
    }

    const fn or(self, other: Self) -> Self {
        match self {
            Self::Some => self,
            Self::None => other,
        }
    }
}

/// Paths between the capture point and both endpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    of: Both<Way>,
    nearness: Nearness,
}

impl Ways {
    /// Processes a packet from `side`.
    pub(crate) fn take(&mut self, side: Side, packet: &Packet) -> News {
        let in_one_machine = self.in_one_machine();
        let nearer = self.nearness.take(side, packet, in_one_machine);
        let news = self.of.of_mut(side).answer(packet);
        self.of.of_mut(side.other()).ask(packet);
        news.or(nearer)
    }

    fn in_one_machine(&self) -> bool {
        let ways = self.of.opener.least.zip(self.of.answerer.least);
        ways.is_some_and(|((one, _), (other, _))| one.max(other) <= IN_ONE_MACHINE)
    }

    /// Returns the number of answers from the endpoint with fewer answers.
    pub(crate) fn answers(&self) -> u32 {
        self.of.opener.answers.min(self.of.answerer.answers)
    }

    /// Returns the capture point relative to `sender`, the endpoint that sends the data.
    pub(crate) fn vantage(&self, sender: Side) -> Vantage {
        let (near, far) = (self.of.of(sender), self.of.of(sender.other()));
        let (near_least, far_least) = (near.shortest(), far.shortest());
        let place = match (near_least, far_least) {
            (Some((to_sender, _)), Some((to_receiver, _))) => match place(to_sender, to_receiver) {
                None if self.nearness.nearest() == Some(sender.other()) => Place::Receiver,
                None => Place::Sender,
                Some(place) => place,
            },
            (None, Some((to_receiver, _))) => near.place_by_quickness(to_receiver),
            (Some((to_sender, _)), None) if to_sender <= AT_END => Place::Sender,
            _ => Place::Unknown,
        };
        let guessed = near_least.is_none() && place == Place::Sender;
        let least = near_least.or_else(|| {
            let quickest = near.quickest.filter(|_| guessed)?;
            Some((quickest, Reason::Responses))
        });
        // Without answers, a retransmission that duplicate ACKs requested is an upper bound of the round-trip time.
        let repaired = || Some((near.repairs.way()?, Reason::Repairs));
        let least = match place {
            Place::Receiver => least.or_else(repaired),
            _ => least,
        };
        let either = least.or(far_least);
        Vantage {
            place,
            to_sender: least.map_or(Duration::ZERO, |(way, _)| way),
            to_receiver: far_least.map_or(Duration::ZERO, |(way, _)| way),
            reason: either.map_or(Reason::Nothing, |(_, reason)| reason),
        }
    }
}

/// Returns the capture point between two paths of these lengths; `None` if both endpoints are close to it, for example
/// on one machine.
fn place(to_sender: Duration, to_receiver: Duration) -> Option<Place> {
    let is_end = |near: Duration, far: Duration| near <= AT_END && near * FARTHER <= far;
    if is_end(to_sender, to_receiver) {
        Some(Place::Sender)
    } else if is_end(to_receiver, to_sender) {
        Some(Place::Receiver)
    } else if to_sender <= AT_END && to_receiver <= AT_END {
        None
    } else {
        Some(Place::Middle)
    }
}

impl Way {
    /// Processes a packet from the endpoint of this path.
    fn answer(&mut self, packet: &Packet) -> News {
        let mut news = self.repairs.sent(packet, self.acked_at);
        let acknowledged = packet.segment.ack;
        if let Some(question) = self.question {
            let waited = packet.at.since(question.at);
            let echoes = question.value.is_some() && packet.echo() == question.value;
            let acknowledges = question.end.zip(acknowledged);
            let acknowledges = acknowledges.is_some_and(|(end, ack)| !is_after(end.0, ack.0));
            // Data that is sent while no data is outstanding is sent when the application writes, and may echo a much
            // earlier timestamp.
            let is_first = packet.is_of_stream() && self.acked == Some(packet.data_seq());
            let echoes = echoes && !(is_first && waited > BY_ITSELF);
            if echoes || acknowledges {
                let reason = match (question.is_syn, echoes) {
                    (true, _) => Reason::Handshake,
                    (false, true) => Reason::Timestamps,
                    (false, false) => Reason::Responses,
                };
                news = news.or(self.note(waited, reason));
            }
            let passed = question.value.zip(packet.echo());
            let passed = passed.is_some_and(|(value, echo)| is_after(echo, value));
            if echoes || acknowledges || passed || waited > ANSWER_MAX {
                self.question = None;
            }
        }
        if packet.is_of_stream()
            && let Some(acked_at) = self.acked_at.take()
        {
            let waited = packet.at.since(acked_at);
            if self.quickest.is_none_or(|known| waited < known) {
                self.quickest = Some(waited);
                return News::Some;
            }
        }
        news
    }

    /// Returns the minimum time and the evidence for it; `None` if it is unknown.
    fn shortest(&self) -> Option<(Duration, Reason)> {
        let (least, reason) = self.least?;
        let (part, of) = DOUBTED;
        let repaired = self.repairs.way();
        let doubted = |way: &Duration| *way * of < least * part;
        Some(match repaired.filter(doubted) {
            Some(way) => (way, Reason::Repairs),
            None => (least, reason),
        })
    }

    fn note(&mut self, waited: Duration, reason: Reason) -> News {
        self.answers = self.answers.saturating_add(1);
        let is_least = self.least.is_none_or(|(least, _)| waited < least);
        if is_least {
            self.least = Some((waited, reason));
        }
        News::when(is_least)
    }

    /// Processes a packet to the endpoint of this path.
    fn ask(&mut self, packet: &Packet) {
        let start = packet.segment.seq;
        let len = packet.segment.sequence_len();
        let end = start.at(u64::from(len));
        let is_new = len > 0 && self.sent_end.is_none_or(|sent| is_after(end.0, sent.0));
        let value = packet.value();
        let is_new_value = match (value, self.sent_value) {
            (Some(value), Some(sent)) => is_after(value, sent),
            (value, None) => value.is_some(),
            (None, _) => false,
        };
        if let Some(question) = &mut self.question
            && let Some(asked) = question.end
            && len > 0
            && is_after(asked.0, start.0)
        {
            // This packet or an earlier one was retransmitted, so its ACK is ambiguous.
            question.end = None;
        }
        if is_new {
            self.sent_end = Some(end);
        }
        if is_new_value {
            self.sent_value = value;
        }
        self.ask_anew(
            packet,
            is_new.then_some(end),
            value.filter(|_| is_new_value),
        );
        if let Some(ack) = packet.segment.ack {
            if self.acked.is_none_or(|acked| is_after(ack.0, acked.0)) {
                self.acked = Some(ack);
                self.acked_at = Some(packet.at);
                let has_blocks = !packet.segment.options.sacks.is_empty();
                self.repairs.advanced(packet.at, ack, has_blocks);
            } else if self.acked == Some(ack) && len == 0 {
                self.repairs.asked(packet.at, ack);
            }
        }
    }

    fn ask_anew(&mut self, packet: &Packet, end: Option<SeqNumber>, value: Option<u32>) {
        let dead = |q: &Question| {
            (q.end.is_none() && q.value.is_none()) || packet.at.since(q.at) > ANSWER_MAX
        };
        let free = self.question.as_ref().is_none_or(dead);
        if free && (end.is_some() || value.is_some()) && !packet.segment.is(Flags::RST) {
            self.question = Some(Question {
                at: packet.at,
                end,
                value,
                is_syn: packet.segment.is(Flags::SYN),
            });
        }
    }

    /// Returns the capture point if the only evidence is the sender's response time to ACKs. `to_receiver` is the time
    /// to the receiver.
    fn place_by_quickness(&self, to_receiver: Duration) -> Place {
        let at_once = self.quickest.is_some_and(|quickest| quickest <= AT_END);
        if to_receiver <= AT_END {
            Place::Receiver
        } else if at_once && to_receiver >= AT_END * FARTHER {
            Place::Sender
        } else {
            Place::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::packet::tests::from;

    fn ways(packets: &[Packet]) -> Ways {
        let mut ways = Ways::default();
        for packet in packets {
            let answers = packet.source.port() == 80;
            let side = if answers {
                Side::Answerer
            } else {
                Side::Opener
            };
            ways.take(side, packet);
        }
        ways
    }

    fn place_of(packets: &[Packet], sender: Side) -> (Place, Duration, Duration, Reason) {
        let vantage = ways(packets).vantage(sender);
        (
            vantage.place,
            vantage.to_sender,
            vantage.to_receiver,
            vantage.reason,
        )
    }

    /// Returns a handshake: the answer follows the SYN after `there` ms, and the opener's ACK follows the answer after
    /// `back` ms.
    fn handshake(there: f64, back: f64) -> [Packet; 3] {
        [
            from(Side::Opener, 0.0, 9).syn(1000),
            from(Side::Answerer, there, 99).syn(1000).ack(10),
            from(Side::Opener, there + back, 10).ack(100),
        ]
    }

    #[test]
    fn the_handshake_shows_both_paths() {
        let [short, long] = [0.5, 40.0].map(|ms| Duration::from_secs_f64(ms / 1e3));
        let at_opener = handshake(40.0, 0.5);
        let told = place_of(&at_opener, Side::Opener);
        assert_eq!(told, (Place::Sender, short, long, Reason::Handshake));
        let told = place_of(&at_opener, Side::Answerer);
        assert_eq!(told, (Place::Receiver, long, short, Reason::Handshake));
        let told = place_of(&handshake(40.0, 40.0), Side::Opener);
        assert_eq!(told, (Place::Middle, long, long, Reason::Handshake));
        // Both endpoints are close to the capture point.
        let told = place_of(&handshake(0.5, 0.5), Side::Opener);
        assert_eq!(told.0, Place::Sender);
    }

    #[test]
    fn of_two_near_endpoints_the_one_behind_no_router_is_here() {
        // The server's packets have passed a router, but the client's have not.
        let mut packets = handshake(0.02, 0.02);
        packets[1].hop_limit = 63;
        assert_eq!(place_of(&packets, Side::Answerer).0, Place::Receiver);
        assert_eq!(place_of(&packets, Side::Opener).0, Place::Sender);
        // The reverse case: the client's packets have passed a router.
        let mut packets = handshake(0.02, 0.02);
        (packets[0].hop_limit, packets[2].hop_limit) = (127, 127);
        assert_eq!(place_of(&packets, Side::Answerer).0, Place::Sender);
        assert_eq!(place_of(&packets, Side::Opener).0, Place::Receiver);
    }

    #[test]
    fn the_ack_of_a_retransmitted_syn_is_ambiguous() {
        let [syn, mut answer, mut ack] = handshake(0.0, 20.0);
        let again = from(Side::Opener, 1000.0, 9).syn(1000);
        answer.at = again.at + Duration::from_millis(40);
        ack.at = answer.at + Duration::from_millis(20);
        let told = ways(&[syn, again, answer, ack]).vantage(Side::Answerer);
        assert_eq!(told.to_sender, Duration::ZERO);
        assert_eq!(told.to_receiver, Duration::from_millis(20));
    }

    #[test]
    fn without_a_handshake_the_fastest_timestamp_echo_counts() {
        let packets = [
            from(Side::Opener, 0.0, 1).len(100).stamps(50, 7),
            from(Side::Answerer, 0.3, 1).ack(101).stamps(70, 50),
            // The opener echoes that timestamp 30 ms later, and its packet is answered late.
            from(Side::Opener, 30.3, 101).len(100).stamps(80, 70),
            from(Side::Answerer, 70.3, 1).ack(201).stamps(140, 80),
            from(Side::Opener, 120.3, 201).len(100).stamps(170, 140),
        ];
        let (place, to_sender, to_receiver, reason) = place_of(&packets, Side::Opener);
        assert_eq!((place, reason), (Place::Receiver, Reason::Timestamps));
        assert_eq!(to_sender, Duration::from_millis(30));
        assert_eq!(to_receiver, Duration::from_micros(300));
    }

    #[test]
    fn without_timestamps_data_right_after_an_ack_counts() {
        let packets = [
            from(Side::Opener, 0.0, 1).len(100),
            from(Side::Answerer, 30.0, 1).ack(101),
            from(Side::Opener, 30.2, 101).len(100),
            from(Side::Answerer, 60.2, 1).ack(201),
        ];
        let (place, to_sender, _, reason) = place_of(&packets, Side::Opener);
        assert_eq!((place, reason), (Place::Sender, Reason::Responses));
        assert_eq!(to_sender, Duration::from_micros(200));
    }

    #[test]
    fn an_unanswered_packet_is_not_awaited_forever() {
        let packets = [
            from(Side::Opener, 0.0, 1).len(100),
            // Another segment is answered after 30 ms, two minutes later.
            from(Side::Opener, 120_000.0, 5001).len(100),
            from(Side::Answerer, 120_030.0, 1).ack(5101),
        ];
        let told = ways(&packets).vantage(Side::Opener);
        assert_eq!(told.to_receiver, Duration::from_millis(30));
    }

    #[test]
    fn one_direction_alone_shows_nothing() {
        let packets = [0.0, 1.0].map(|at| from(Side::Opener, at, at as u32 * 100).len(100));
        let (place, _, _, reason) = place_of(&packets, Side::Opener);
        assert_eq!((place, reason), (Place::Unknown, Reason::Nothing));
    }
}
