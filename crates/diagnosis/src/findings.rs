//! Findings about a capture, each connection, and each data stream.
//!
//! Findings remain after all packets are gone. The size of each finding is bounded, and so is their number: if there
//! are many connections, the findings are stored for those connections for whose data an endpoint waited longest
//! ([`WorstConnections`]). The other connections are only counted.

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

/// Maximum number of connections whose findings are stored, the worst ones. The others are only counted (our choice: a
/// table of this size is long, and the findings take at most about 100 MB).
pub const KEPT_MAX: usize = 1000;

/// Extent to which the capture contains a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Presence of packets from the receiver.
    pub acks: AcksSeen,
    /// Number of data bytes in the capture, each counted once.
    pub bytes: u64,
    /// Number of bytes that were acknowledged but are missing from the capture.
    pub unseen_bytes: u64,
    /// Presence of TCP options, such as SACK, timestamps and window scale.
    pub options: OptionsSeen,
}

/// Presence of TCP options in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsSeen {
    /// The options of most packets were captured.
    Whole,
    /// The options of at least half of the packets are cut off.
    Cut,
}

/// Presence of a stream's ACKs in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcksSeen {
    /// The capture contains ACKs.
    Some,
    /// The capture contains only the sender's packets.
    None,
}

impl Coverage {
    /// Returns the fraction of the acknowledged data that is missing from the capture, from 0 to 1.
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

/// Closures of a receive window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shut {
    /// Number of times that the window was closed and blocked the sender: it was zero, or was smaller than a segment
    /// while no data was outstanding. If it never blocked the sender, it is the number of times that the window was
    /// zero.
    pub times: u64,
    /// Time for which the closed window blocked the sender: `Limit::ZeroWindow` of the shares.
    pub time: Duration,
    /// Number of window probes from the sender.
    pub probes: u64,
}

/// Turns of a stream's data, each with a request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnsTold {
    /// `true` if the stream's sender sends the requests; `false` if it responds.
    pub asks: bool,
    /// Number of turns.
    pub count: u64,
    /// Minimum round-trip time; `None` if the capture does not show it.
    pub round_trip: Option<Duration>,
    /// Total time from the end of each response to the beginning of the next one, in the capture. The next request is
    /// sent in this time, so no part of the next response was sent before it.
    pub between: Duration,
    /// Total time from the end of each request to the end of its response, in the capture.
    pub answering: Duration,
    /// Total time by which the requesting endpoint delayed the ACKs of whole responses. In this time, data is
    /// outstanding but not in flight.
    pub ack_held: Duration,
    /// Total time of waits in which neither an ACK of a request nor its response arrived, and that were longer than any
    /// host delays an ACK.
    pub unheard: Duration,
}

/// Findings about one data stream.
#[derive(Clone, Debug)]
pub struct StreamFindings {
    /// Endpoint that sent the data.
    pub side: Side,
    /// Number of data bytes in a full segment.
    pub smss: u32,
    /// Capture point.
    pub vantage: Vantage,
    /// Extent to which the capture contains the stream.
    pub coverage: Coverage,
    /// Counts of retransmissions and losses.
    pub account: Account,
    /// Details of the last retransmissions.
    pub retransmissions: Vec<Retransmission>,
    /// Time of the last departure of data. A FIN without data does not count.
    pub last_data_at: Instant,
    /// Window closures, probes, keep-alives and resets.
    pub happenings: Happenings,
    /// Number of segments that were captured late because other segments overtook them before the capture point.
    pub overtaken: u64,
    /// Number of segments that other segments overtook after the capture point.
    pub reordered: u64,
    /// Closures of the receive window.
    pub shut: Shut,
    /// Time of the stream, divided among its limits.
    pub shares: Shares,
    /// Stalls: times without progress.
    pub stalls: StallList,
    /// Signs of middleboxes and shapers.
    pub signs: Signs,
    /// Estimates of the path.
    pub path: Path,
    /// Bottleneck that the stream shares with others of the capture; `None` if none was found.
    pub sharing: Option<Sharing>,
    /// Identification of the sender.
    pub sender: SenderReport,
    /// Turns of the stream's data; `None` if there are fewer than two.
    pub turns: Option<TurnsTold>,
    /// Findings that were withdrawn because they contradicted others.
    pub withdrawn: Vec<Withdrawn>,
}

/// Use of a bottleneck that other streams of the capture share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// Total rate of all these streams while several of them waited, in bit/s.
    pub rate: f64,
    /// Fraction of this rate that the stream had.
    pub share: f64,
    /// Number of the other streams.
    pub others: usize,
}

impl StreamFindings {
    /// Returns the reason why the limits, stalls and lost time are not reported; `None` if they are reported.
    #[must_use]
    pub fn limits_untold(&self) -> Option<Untold> {
        if !self.tells_retransmissions() {
            return Some(Untold::Contradictory);
        }
        Untold::of(&self.coverage, &self.shares, self.account.needless())
    }

    /// Returns the limits that may have another cause; `None` if there are none, or if limits are not reported.
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

    /// Returns `true` if retransmissions are reported, because there are not more retransmissions than segments.
    #[must_use]
    pub fn tells_retransmissions(&self) -> bool {
        let contradictory = Withdrawn::RetransmissionsBeyondSegments;
        !self.withdrawn.contains(&contradictory)
    }

    /// Returns `true` if the triggers of retransmissions are reported.
    #[must_use]
    pub fn tells_causes(&self) -> bool {
        use Withdrawn::{PacketsMissing, RetransmissionsBeyondSegments, WithoutAcks};
        let untold = [WithoutAcks, PacketsMissing, RetransmissionsBeyondSegments];
        let mut withdrawn = self.withdrawn.iter();
        !withdrawn.any(|why| untold.contains(why))
    }

    /// Returns the number of retransmission timeouts; `None` if the capture does not show which retransmissions are
    /// timeouts.
    #[must_use]
    pub fn timeouts(&self) -> Option<u64> {
        let told = self.tells_causes() || self.account.retransmissions == 0;
        told.then(|| self.account.of(Class::Timeout))
    }

    /// Returns the minimum and the mean round-trip time of the segments; `None` if no ACK shows them, or if the path's
    /// minimum is unknown.
    #[must_use]
    pub fn round_trips(&self) -> Option<(Duration, Duration)> {
        let least = self.path.least_rtt.value()?;
        self.shares.rtt_mean.map(|mean| (least, mean))
    }

    /// Returns the time lost to causes that a sender, a receiver or a host could change: all time except that at the
    /// bottleneck, that of waiting for the application, and that of the handshake. Returns `None` if limits are not
    /// reported. If [`Self::may_have_lost_more`] returns `true`, the result is only a lower bound.
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

    /// Returns `true` if time that does not count as lost may have a cause that would count as lost; see
    /// [`Self::limits_in_doubt`].
    #[must_use]
    pub fn may_have_lost_more(&self) -> bool {
        let doubt = self.limits_in_doubt();
        doubt.is_some_and(|doubt| doubt.hides_lost_time())
    }

    /// Returns the number of data bytes that arrived, without a FIN; if the capture has no ACKs, the number of bytes
    /// sent.
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

    /// Returns [`Self::goodput`]; `None` if the capture has no ACKs, because arrivals are unknown then.
    #[must_use]
    pub fn goodput_told(&self) -> Option<f64> {
        (self.coverage.acks == AcksSeen::Some).then(|| self.goodput())
    }

    /// Returns the total duration of stalls; `None` if limits are not reported.
    #[must_use]
    pub fn stalled(&self) -> Option<Duration> {
        let told = self.limits_untold().is_none();
        told.then(|| self.stalls.time())
    }

    /// Returns `true` if retransmissions may be missing from the capture, because they were lost before the capture
    /// point or were not captured.
    #[must_use]
    pub fn may_lack_repairs(&self) -> bool {
        self.vantage.place != Place::Sender || self.coverage.unseen_bytes > 0
    }

    /// Returns the time for which an endpoint waited for this data, excluding pauses of the application. If limits are
    /// not reported, it is an estimate that only serves to choose between two streams.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let idle = self.shares.of_group(Group::Application);
        self.shares.duration().saturating_sub(idle)
    }

    /// Returns the rate of [`Self::bytes`] in bit/s; 0 if the transfer took no time.
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

/// Two waiting times count as equal if their difference, multiplied by this number, does not exceed the duration of the
/// connection (our choice).
const EQUALS_OF: u64 = 10;

/// Findings about a connection.
#[derive(Clone, Debug)]
pub struct ConnectionFindings {
    /// Connection number. Connections are numbered from 1 in the order of their first packets.
    pub number: u64,
    /// Address and port of each endpoint.
    pub addresses: Both<SocketAddr>,
    /// Capture time of the first packet, counted from the first packet of the capture.
    pub first_at: Instant,
    /// Capture time of the last packet.
    pub last_at: Instant,
    /// SYNs of the connection.
    pub handshake: Handshake,
    /// End of the connection: FINs and resets.
    pub ending: Ending,
    /// Endpoint that stopped sending although an answer was requested; `None` if there is none.
    pub silence: Option<Silence>,
    /// Packet counts of each endpoint.
    pub counts: Both<Counts>,
    /// Data stream of each endpoint; `None` if the endpoint sent no data.
    pub streams: Both<Option<StreamFindings>>,
    /// Requests and responses; `None` if there are fewer than two turns.
    pub requests: Option<Requests>,
    /// Findings from a second capture at the other endpoint; `None` if there is none.
    pub both: Option<Box<BothEnds>>,
}

impl ConnectionFindings {
    /// Returns the streams that carried data.
    pub fn all_streams(&self) -> impl Iterator<Item = &StreamFindings> {
        [&self.streams.opener, &self.streams.answerer]
            .into_iter()
            .flatten()
    }

    /// Returns the stream to report first: the one for which an endpoint waited longer. If the waiting times differ by
    /// at most a tenth of the connection's duration, it is the stream whose data took longer. If these times differ by
    /// at most half of the duration, it is the stream with more data. The time before a FIN without data does not
    /// count, because clients close connections at any time.
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

    /// Returns the stream of the other direction; `None` unless both carry data.
    #[must_use]
    pub fn other_stream(&self) -> Option<&StreamFindings> {
        let main = self.main_stream()?.side;
        self.streams.of(main.other()).as_ref()
    }

    /// Returns the reason why the limits of the main stream are not reported; `None` if they are reported, or if
    /// there is no data.
    #[must_use]
    pub fn limits_untold(&self) -> Option<Untold> {
        self.main_stream().and_then(StreamFindings::limits_untold)
    }

    /// Returns the time that an endpoint is known to have waited for data and for retransmitted SYNs. Data counts only
    /// if limits are reported.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let is_told = |stream: &&StreamFindings| stream.limits_untold().is_none();
        let told = self.limits_untold().is_none();
        let told = self.all_streams().filter(|_| told).filter(is_told);
        let waited = told.map(StreamFindings::waited);
        waited.max().unwrap_or(Duration::ZERO) + self.handshake.again.waited()
    }

    /// Returns the time from the first packet to the last.
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.last_at.since(self.first_at)
    }

    /// Returns the time spent on waiting for retransmitted SYNs, plus the maximum of the times that the streams lost.
    /// `None` if the limits of the main stream are not reported.
    #[must_use]
    pub fn lost(&self) -> Option<Duration> {
        if self.limits_untold().is_some() {
            return None;
        }
        let lost = self.all_streams().filter_map(StreamFindings::lost);
        Some(lost.max().unwrap_or(Duration::ZERO) + self.handshake.again.waited())
    }

    /// Returns `true` if the lost time may be longer than [`Self::lost`].
    #[must_use]
    pub fn may_have_lost_more(&self) -> bool {
        self.all_streams().any(StreamFindings::may_have_lost_more)
    }

    /// Returns the number of data bytes from both endpoints, each counted once.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let [one, other] = Side::BOTH.map(|side| self.counts.of(side).unique_bytes);
        one.saturating_add(other)
    }

    /// Returns `true` if the retransmissions of both endpoints are reported.
    #[must_use]
    pub fn tells_retransmissions(&self) -> bool {
        self.all_streams()
            .all(StreamFindings::tells_retransmissions)
    }

    /// Returns the number of retransmitted segments from both endpoints, as far as retransmissions are reported.
    #[must_use]
    pub fn retransmissions(&self) -> u64 {
        let all = self.all_streams();
        let all = all.filter(|stream| stream.tells_retransmissions());
        all.map(|stream| stream.account.retransmissions).sum()
    }

    /// Returns the sort key of connections in a report. The worst connection is the one for whose data an endpoint
    /// waited longest; if these times are equal, it is the one that lost the most time to avoidable causes. If limits
    /// are not reported, both times are unknown, and only SYNs and the amount of data count.
    fn badness(&self) -> (Duration, Duration, u64, std::cmp::Reverse<u64>) {
        (
            self.waited(),
            self.lost().unwrap_or_default(),
            self.bytes(),
            std::cmp::Reverse(self.number),
        )
    }
}

/// Selection of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// All connections.
    #[default]
    All,
    /// The connection with this number.
    Number(u64),
    /// The connections of this host and, if there is a port, of this port.
    Host(IpAddr, Option<u16>),
    /// The connections of this port.
    Port(u16),
}

impl Flow {
    /// Returns `true` if a connection is selected.
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
            "expected the number of a connection in the table (3), an address (10.0.0.1), an address with a port \
             (10.0.0.1:443, [::1]:443) or a port (:443)"
                .to_owned(),
        )
    }
}

/// Totals over the connections whose findings are not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// Number of connections.
    pub connections: u64,
    /// Number of data bytes, each counted once.
    pub bytes: u64,
    /// Number of retransmitted segments.
    pub retransmissions: u64,
}

/// Findings about the worst connections.
#[derive(Debug)]
pub struct WorstConnections {
    most: usize,
    flow: Flow,
    found: Vec<ConnectionFindings>,
    beyond: Beyond,
    /// Number of connections without data.
    without_data: u64,
    all: u64,
}

impl WorstConnections {
    /// Creates an empty list for at most `most` of the connections that `flow` selects.
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

    /// Adds a finished connection.
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
        // The list is sorted rarely, so the time for sorting is negligible.
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

    /// Returns the selection of connections.
    #[must_use]
    pub const fn flow(&self) -> Flow {
        self.flow
    }

    /// Returns the number of all connections so far.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.all
    }

    /// Returns the number of connections without data.
    #[must_use]
    pub const fn without_data(&self) -> u64 {
        self.without_data
    }

    /// Returns the findings, the worst first, and the totals over the other connections.
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

    /// Returns a list to which five connections with the same findings were added, and these findings.
    fn kept(flow: Flow, most: usize) -> (WorstConnections, ConnectionFindings) {
        let one = transfer();
        let mut kept = WorstConnections::new(flow, most);
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
    fn unselected_connections_are_counted_too() {
        let (kept, one) = kept("#4".parse().unwrap(), 1000);
        assert_eq!(kept.all(), 5);
        let (found, beyond) = kept.finish();
        assert_eq!(numbers(&found), [4]);
        assert_eq!((beyond.connections, beyond.bytes), (4, 4 * one.bytes()));
    }

    #[test]
    fn a_flow_selects_by_number_address_or_port() {
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
            assert!(
                error.contains("expected the number of a connection"),
                "{text}"
            );
        }
    }
}
