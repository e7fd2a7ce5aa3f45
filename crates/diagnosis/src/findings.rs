//! What was found: of a capture, of each connection, of each stream of data.
//!
//! Findings are what is left when all packets are gone. They are bounded each, and in their number: of many
//! connections those are kept whose data an end waited for the longest ([`Kept`]); the others are counted.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use dupack_tcp::time::{Duration, Instant};

use crate::analyse::budget::{Group, Shares};
use crate::analyse::cause::{Class, Retransmission};
use crate::analyse::explain::{Account, Happenings};
use crate::analyse::requests::Requests;
use crate::analyse::signs::Signs;
use crate::analyse::stalls::StallList;
use crate::both::BothEnds;
use crate::consistency::Withdrawn;
use crate::doubt::{Evidence, InDoubt};
use crate::path::Path;
use crate::read::counts::Counts;
use crate::read::ending::Ending;
use crate::read::handshake::Handshake;
use crate::read::side::{Both, Side};
use crate::read::silence::Silence;
use crate::read::vantage::{Place, Vantage};
use crate::sender::SenderReport;
use crate::untold::Untold;

/// Connections whose findings are kept, the worst: those beyond are counted (ours: a table of so many is
/// long, and they take some 100 MB at worst).
pub const KEPT_MAX: usize = 1000;

/// How much of a stream the capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Presence of the receiver's packets.
    pub acks: AcksSeen,
    /// Bytes of data that it shows, each counted once.
    pub bytes: u64,
    /// Bytes that were acknowledged, and that it does not have.
    pub unseen_bytes: u64,
    /// Presence of TCP options: SACK, timestamps, the scale of windows.
    pub options: OptionsSeen,
}

/// Presence of TCP options in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsSeen {
    /// It has them, where packets have any.
    Whole,
    /// They are cut off from half of the packets, or more.
    Cut,
}

/// Presence of a stream's ACKs in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcksSeen {
    /// It has.
    Some,
    /// It has the sender's packets alone.
    None,
}

impl Coverage {
    /// The share of the data that was acknowledged and is missing from the capture, from 0 to 1.
    #[must_use]
    pub fn missing(&self) -> f64 {
        let all = self.bytes.saturating_add(self.unseen_bytes);
        if all > 0 {
            self.unseen_bytes as f64 / all as f64
        } else {
            0.0
        }
    }
}

/// A receive window that was shut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shut {
    /// How often it was shut and held the sender: it was zero, or had no room for a segment while nothing was outstanding. If it never
    /// held the sender, how often it was zero.
    pub times: u64,
    /// Time in which it held the sender, `Limit::ZeroWindow` of the shares.
    pub time: Duration,
    /// How often the sender probed it.
    pub probes: u64,
}

/// The turns that a stream's data was part of: a request and its answer each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnsTold {
    /// `true` if the sender of the stream asks, `false` if it answers.
    pub asks: bool,
    /// How many turns.
    pub count: u64,
    /// The least round-trip time, if the capture tells one.
    pub round_trip: Option<Duration>,
    /// Time between answers: from the end of each to the beginning of the next, in the capture. A request lies within, so that
    /// nothing of the next answer had left before.
    pub between: Duration,
    /// Time from the end of each request until its answer was over, in the capture.
    pub answering: Duration,
    /// Time by which the asking end delayed the ACKs of whole answers: data is outstanding that is not on its way.
    pub ack_held: Duration,
    /// Time of waits with neither an ACK of a request nor its answer that were longer than any host delays an ACK.
    pub unheard: Duration,
}

/// What was found of one stream of data.
#[derive(Clone, Debug)]
pub struct StreamFindings {
    /// Which end sent it.
    pub side: Side,
    /// Bytes of data in a full segment.
    pub smss: u32,
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// How much of it the capture has.
    pub coverage: Coverage,
    /// What was sent again and lost, in numbers.
    pub account: Account,
    /// The last retransmissions, one by one.
    pub retransmissions: Vec<Retransmission>,
    /// When its last data left: a FIN without data is none.
    pub last_data_at: Instant,
    /// Closed windows, probes, keep-alives, resets.
    pub happenings: Happenings,
    /// Segments that the capture shows late, overtaken on the way.
    pub overtaken: u64,
    /// Segments that were overtaken beyond the capture.
    pub reordered: u64,
    /// The receive window, as far as it was shut.
    pub shut: Shut,
    /// What its time was spent on.
    pub shares: Shares,
    /// Times in which nothing happened.
    pub stalls: StallList,
    /// Signs of middleboxes and shapers.
    pub signs: Signs,
    /// What it tells of its path.
    pub path: Path,
    /// The bottleneck that it was found to share with others of the capture.
    pub sharing: Option<Sharing>,
    /// Which sender it was.
    pub sender: SenderReport,
    /// The turns that its data was part of; `None` if there are fewer than two.
    pub turns: Option<TurnsTold>,
    /// Findings that contradicted others.
    pub withdrawn: Vec<Withdrawn>,
}

/// A stream's part of a bottleneck that others of the capture share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// What came through of all of them while several waited, in bit/s.
    pub rate: f64,
    /// This stream's share of it.
    pub share: f64,
    /// The other streams.
    pub others: usize,
}

impl StreamFindings {
    /// Why its limits are not told, nor its stalls and its lost time; `None` if they are.
    #[must_use]
    pub fn limits_untold(&self) -> Option<Untold> {
        if !self.tells_retransmissions() {
            return Some(Untold::Contradictory);
        }
        Untold::of(&self.coverage, &self.shares, self.account.needless())
    }

    /// Its limits that may have another cause; `None` if there are none, or if no limit is told.
    #[must_use]
    pub fn limits_in_doubt(&self) -> Option<InDoubt> {
        if self.limits_untold().is_some() {
            return None;
        }
        let evidence = Evidence {
            shares: &self.shares,
            stalls: &self.stalls,
            shut: self.shut,
            signs: &self.signs,
            place: self.vantage.place,
            to_sender: self.vantage.to_sender,
            bytes_per_second: self.path.facts().bytes_per_second,
            turns: self.turns,
        };
        evidence.in_doubt()
    }

    /// `true` if its retransmissions are told: their number does not contradict that of the segments.
    #[must_use]
    pub fn tells_retransmissions(&self) -> bool {
        let contradictory = Withdrawn::RetransmissionsBeyondSegments;
        !self.withdrawn.contains(&contradictory)
    }

    /// `true` if it is told what set its retransmissions off.
    #[must_use]
    pub fn tells_causes(&self) -> bool {
        use Withdrawn::{PacketsMissing, RetransmissionsBeyondSegments, WithoutAcks};
        let untold = [WithoutAcks, PacketsMissing, RetransmissionsBeyondSegments];
        let mut withdrawn = self.withdrawn.iter();
        !withdrawn.any(|why| untold.contains(why))
    }

    /// Its retransmission timeouts; `None` if the capture does not tell which of its retransmissions they are.
    #[must_use]
    pub fn timeouts(&self) -> Option<u64> {
        let told = self.tells_causes() || self.account.retransmissions == 0;
        told.then(|| self.account.of(Class::Timeout))
    }

    /// The least and the mean round-trip time of its segments; `None` if no ACK tells, or the path's least one cannot be told.
    #[must_use]
    pub fn round_trips(&self) -> Option<(Duration, Duration)> {
        let least = self.path.least_rtt.value()?;
        self.shares.rtt_mean.map(|mean| (least, mean))
    }

    /// The time that it lost to something that a sender, a receiver or a host could do something about:
    /// all that was spent neither at the bottleneck, nor waiting for the application, nor on the handshake. `None` if its limits are
    /// not told; at least this if [`Self::may_have_lost_more`].
    #[must_use]
    pub fn lost(&self) -> Option<Duration> {
        if self.limits_untold().is_some() {
            return None;
        }
        let idle = [Group::Path, Group::Application, Group::Handshake];
        let spent = idle.into_iter().map(|group| self.shares.of_group(group));
        let spent = spent.fold(Duration::ZERO, |sum, time| sum + time);
        Some(self.shares.duration().saturating_sub(spent))
    }

    /// `true` if time that is not counted as lost may have a cause that is: see [`Self::limits_in_doubt`].
    #[must_use]
    pub fn may_have_lost_more(&self) -> bool {
        let doubt = self.limits_in_doubt();
        doubt.is_some_and(|doubt| doubt.hides_lost_time())
    }

    /// Bytes of data that arrived, without a FIN; where the capture has no ACKs, bytes that were sent.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let all = self
            .coverage
            .bytes
            .saturating_add(self.coverage.unseen_bytes);
        match self.coverage.acks {
            AcksSeen::Some => self.shares.delivered.min(all),
            AcksSeen::None => self.coverage.bytes,
        }
    }

    /// [`Self::goodput`]; `None` if the capture has no ACKs: then nothing tells what arrived.
    #[must_use]
    pub fn goodput_told(&self) -> Option<f64> {
        (self.coverage.acks == AcksSeen::Some).then(|| self.goodput())
    }

    /// The duration of all its stalls; `None` if its limits are not told.
    #[must_use]
    pub fn stalled(&self) -> Option<Duration> {
        let told = self.limits_untold().is_none();
        told.then(|| self.stalls.time())
    }

    /// `true` if retransmissions may be missing from the capture: those that were lost before they came where it was taken, or those
    /// that it lacks.
    #[must_use]
    pub fn may_lack_repairs(&self) -> bool {
        self.vantage.place != Place::Sender || self.coverage.unseen_bytes > 0
    }

    /// The time in which somebody waited for this data: all that the application let pass is not among it. An estimate for the choice
    /// between two streams where the limits are not told.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let idle = self.shares.of_group(Group::Application);
        self.shares.duration().saturating_sub(idle)
    }

    /// [`Self::bytes`] in a second, in bit/s; 0 if it took no time.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        let seconds = self.shares.duration().as_secs_f64();
        if seconds > 0.0 {
            self.bytes() as f64 * 8.0 / seconds
        } else {
            0.0
        }
    }
}

/// Times are equal if they differ by less than one part in so many of the connection's (ours).
const EQUALS_OF: u64 = 10;

/// What was found of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionFindings {
    /// Its number: connections are numbered from 1 in the order of their first packets.
    pub number: u64,
    /// The address and port of each end.
    pub addresses: Both<SocketAddr>,
    /// When its first packet was captured, counted from the first of the capture.
    pub first_at: Instant,
    /// When its last packet was.
    pub last_at: Instant,
    /// Its SYNs.
    pub handshake: Handshake,
    /// How it ended.
    pub ending: Ending,
    /// The end that sent nothing any more though it was asked; `None` if both did.
    pub silence: Option<Silence>,
    /// What was counted of the packets of each end.
    pub counts: Both<Counts>,
    /// The data of each end that sent some.
    pub streams: Both<Option<StreamFindings>>,
    /// Its requests and answers; `None` if it has fewer than two turns.
    pub requests: Option<Requests>,
    /// What a second capture at the other end tells beside this one, if there is one.
    pub both: Option<Box<BothEnds>>,
}

impl ConnectionFindings {
    /// Both streams, as far as there was data.
    pub fn all_streams(&self) -> impl Iterator<Item = &StreamFindings> {
        [&self.streams.opener, &self.streams.answerer]
            .into_iter()
            .flatten()
    }

    /// The stream to tell of first: the one that somebody waited for the longest; of equals the one whose data took the connection's
    /// time, or else the one with more data. Times are equal if they differ by less than a tenth of the connection's. A FIN without
    /// data takes no time: clients close when they like.
    #[must_use]
    pub fn main_stream(&self) -> Option<&StreamFindings> {
        let [opener, answerer] = [&self.streams.opener, &self.streams.answerer];
        let (Some(one), Some(other)) = (opener, answerer) else {
            return opener.as_ref().or(answerer.as_ref());
        };
        let whole = self.duration();
        let longer = |of: fn(&StreamFindings) -> Duration, parts: u64| {
            let (time, of_other) = (of(one), of(other));
            let differ = time.max(of_other) - time.min(of_other);
            (differ.saturating_mul(parts) > whole).then_some(time > of_other)
        };
        let with_data = |stream: &StreamFindings| stream.last_data_at.since(stream.shares.started);
        let by_time = longer(StreamFindings::waited, EQUALS_OF).or_else(|| longer(with_data, 2));
        let first = by_time.unwrap_or_else(|| one.bytes() >= other.bytes());
        Some(if first { one } else { other })
    }

    /// The stream of the other direction, if both carry data.
    #[must_use]
    pub fn other_stream(&self) -> Option<&StreamFindings> {
        let main = self.main_stream()?.side;
        self.streams.of(main.other()).as_ref()
    }

    /// Why the limits of the stream to tell of first are not told; `None` if they are, or if there is no data.
    #[must_use]
    pub fn limits_untold(&self) -> Option<Untold> {
        self.main_stream().and_then(StreamFindings::limits_untold)
    }

    /// The time that somebody is known to have waited: for its data, as far as its limits are told, and for its SYNs to be sent again.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let is_told = |stream: &&StreamFindings| stream.limits_untold().is_none();
        let told = self.limits_untold().is_none();
        let told = self.all_streams().filter(|_| told).filter(is_told);
        let waited = told.map(StreamFindings::waited);
        waited.max().unwrap_or(Duration::ZERO) + self.handshake.again.waited()
    }

    /// From its first packet to its last.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.last_at.since(self.first_at)
    }

    /// The time that it waited for SYNs to be sent again, and the most that one of its streams lost. `None` if the limits of the stream to
    /// tell of first are not told.
    #[must_use]
    pub fn lost(&self) -> Option<Duration> {
        if self.limits_untold().is_some() {
            return None;
        }
        let lost = self.all_streams().filter_map(StreamFindings::lost);
        Some(lost.max().unwrap_or(Duration::ZERO) + self.handshake.again.waited())
    }

    /// `true` if it may have lost more time than [`Self::lost`].
    #[must_use]
    pub fn may_have_lost_more(&self) -> bool {
        self.all_streams().any(StreamFindings::may_have_lost_more)
    }

    /// Bytes of data of both ends, each counted once.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let [one, other] = Side::BOTH.map(|side| self.counts.of(side).unique_bytes);
        one.saturating_add(other)
    }

    /// `true` if the retransmissions of both ends are told.
    #[must_use]
    pub fn tells_retransmissions(&self) -> bool {
        self.all_streams()
            .all(StreamFindings::tells_retransmissions)
    }

    /// Segments of both ends that were sent again, of the streams whose retransmissions are told.
    #[must_use]
    pub fn retransmissions(&self) -> u64 {
        let all = self.all_streams();
        let all = all.filter(|stream| stream.tells_retransmissions());
        all.map(|stream| stream.account.retransmissions).sum()
    }

    /// The first to tell of: whose data somebody waited for the longest; of equals, that which lost the most time to
    /// something avoidable. Where the limits are not told, neither is known, and only SYNs and the amount of data count.
    fn badness(&self) -> (Duration, Duration, u64, std::cmp::Reverse<u64>) {
        (
            self.waited(),
            self.lost().unwrap_or_default(),
            self.bytes(),
            std::cmp::Reverse(self.number),
        )
    }
}

/// Which connections are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// All of them.
    #[default]
    All,
    /// That of this number.
    Number(u64),
    /// Those of this host, and port if there is one.
    Host(IpAddr, Option<u16>),
    /// Those of this port.
    Port(u16),
}

impl Flow {
    /// Whether a connection is asked for.
    #[must_use]
    pub fn takes(self, number: u64, addresses: &Both<SocketAddr>) -> bool {
        let ends = [addresses.opener, addresses.answerer];
        match self {
            Self::All => true,
            Self::Number(wanted) => number == wanted,
            Self::Host(ip, port) => ends
                .into_iter()
                .any(|end| end.ip() == ip && port.is_none_or(|port| port == end.port())),
            Self::Port(port) => ends.into_iter().any(|end| end.port() == port),
        }
    }
}

impl FromStr for Flow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(number) = text.strip_prefix('#').unwrap_or(text).parse() {
            return Ok(Self::Number(number));
        }
        if let Some(port) = text.strip_prefix(':').and_then(|port| port.parse().ok()) {
            return Ok(Self::Port(port));
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self::Host(address.ip(), Some(address.port())));
        }
        if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self::Host(ip, None));
        }
        Err(
            "write a connection's number as the table has it (3), an address (10.0.0.1), one with a port \
             (10.0.0.1:443, [::1]:443) or a port (:443)"
                .to_owned(),
        )
    }
}

/// What was not kept, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Connections.
    pub connections: u64,
    /// Bytes of their data, each counted once.
    pub bytes: u64,
    /// Segments that were sent again.
    pub retransmissions: u64,
}

/// The findings of the worst connections.
#[derive(Debug)]
pub struct Kept {
    most: usize,
    flow: Flow,
    found: Vec<ConnectionFindings>,
    beyond: Beyond,
    /// Connections that carried no data.
    without_data: u64,
    all: u64,
}

impl Kept {
    /// Of those that `flow` asks for, at most so many.
    #[must_use]
    pub const fn new(flow: Flow, most: usize) -> Self {
        Self {
            most,
            flow,
            found: Vec::new(),
            beyond: Beyond {
                connections: 0,
                bytes: 0,
                retransmissions: 0,
            },
            without_data: 0,
            all: 0,
        }
    }

    /// One more connection is over.
    pub fn push(&mut self, findings: ConnectionFindings) {
        self.all += 1;
        if findings.all_streams().next().is_none() {
            self.without_data += 1;
        }
        if !self.flow.takes(findings.number, &findings.addresses) {
            self.leave_out(&findings);
            return;
        }
        self.found.push(findings);
        // Seldom enough for the order to cost nothing.
        if self.found.len() >= self.most.saturating_mul(2).max(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.found
            .sort_by_key(|one| std::cmp::Reverse(one.badness()));
        for findings in self.found.split_off(self.most.min(self.found.len())) {
            self.leave_out(&findings);
        }
    }

    fn leave_out(&mut self, findings: &ConnectionFindings) {
        let beyond = &mut self.beyond;
        beyond.connections += 1;
        beyond.bytes = beyond.bytes.saturating_add(findings.bytes());
        beyond.retransmissions += findings.retransmissions();
    }

    /// The connections that are asked for.
    #[must_use]
    pub const fn flow(&self) -> Flow {
        self.flow
    }

    /// All connections so far.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.all
    }

    /// Connections without data.
    #[must_use]
    pub const fn without_data(&self) -> u64 {
        self.without_data
    }

    /// The worst first, and what was left out.
    #[must_use]
    pub fn finish(mut self) -> (Vec<ConnectionFindings>, Beyond) {
        self.cut();
        (self.found, self.beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::transfer;

    /// Five connections, of each of which the same was found.
    fn kept(flow: Flow, most: usize) -> (Kept, ConnectionFindings) {
        let one = transfer();
        let mut kept = Kept::new(flow, most);
        for number in 1..=5 {
            let mut next = one.clone();
            next.number = number;
            kept.push(next);
        }
        (kept, one)
    }

    fn numbers(found: &[ConnectionFindings]) -> Vec<u64> {
        found.iter().map(|one| one.number).collect()
    }

    #[test]
    fn the_worst_connections_are_kept_and_the_others_counted() {
        let (kept, one) = kept(Flow::All, 2);
        assert_eq!((kept.all(), kept.without_data()), (5, 0));
        assert_eq!(one.bytes(), 2_000_000);
        assert!(one.retransmissions() > 0);
        let (found, beyond) = kept.finish();
        assert_eq!(numbers(&found), [1, 2]);
        let sums = (beyond.connections, beyond.bytes, beyond.retransmissions);
        assert_eq!(sums, (3, 6_000_000, 3 * one.retransmissions()));
    }

    #[test]
    fn connections_that_nobody_asks_for_are_counted_too() {
        let (kept, one) = kept("#4".parse().unwrap(), 1000);
        assert_eq!(kept.all(), 5);
        let (found, beyond) = kept.finish();
        assert_eq!(numbers(&found), [4]);
        assert_eq!((beyond.connections, beyond.bytes), (4, 4 * one.bytes()));
    }

    #[test]
    fn a_flow_is_asked_for_by_number_address_or_port() {
        let ends = Both {
            opener: "10.0.0.1:4000".parse().unwrap(),
            answerer: "[2001:db8::1]:443".parse().unwrap(),
        };
        for (text, taken) in [
            ("7", true),
            ("#7", true),
            ("8", false),
            ("10.0.0.1", true),
            ("10.0.0.1:4000", true),
            ("10.0.0.1:443", false),
            ("2001:db8::1", true),
            ("[2001:db8::1]:443", true),
            (":443", true),
            (":80", false),
        ] {
            let flow: Flow = text.parse().unwrap();
            assert_eq!(flow.takes(7, &ends), taken, "{text}");
        }
        assert!(Flow::All.takes(1, &ends));
        for text in ["", "x", "10.0.0", "10.0.0.1:x", ":99999", "-1"] {
            let error = text.parse::<Flow>().unwrap_err();
            assert!(error.contains("write a connection's number"), "{text}");
        }
    }
}
