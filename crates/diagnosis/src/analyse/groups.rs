//! Groups of connections by server and by service.
//!
//! The server is the endpoint to which the opening SYN was sent (RFC 9293 §3.5). If the capture does not contain this
//! SYN, the ports decide: a port of a well-known service, or else a port below 1024 (system ports, RFC 6335 §6), or
//! else a port below the range of client ports. If these rules do not distinguish the endpoints, the server is unknown,
//! and the connection belongs to no group.
//!
//! A group is a sum: each connection is added as a group of one connection, and a service is the sum of its servers. No
//! details of finished connections are stored, and memory is bounded by [`SERVERS_MAX`] and by the size of quantiles
//! ([`EXACT_MAX`]).
//!
//! Lost time comes from the budgets. For each connection, the stream that lost the most time counts, as in
//! [`ConnectionFindings::lost`], together with the wait for SYNs.

mod service;
#[cfg(test)]
mod tests;
mod times;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use dupack_tcp::time::{Duration, Instant};

pub use service::service;
pub use times::{EXACT_MAX, Times};

use crate::analyse::budget::{Group as LimitGroup, Limit};
use crate::findings::ConnectionFindings;
use crate::read::side::Side;

/// Maximum number of servers whose connections are counted separately (our choice: at most about 30 MB). Connections to
/// further servers are counted together.
pub const SERVERS_MAX: usize = 1 << 14;

/// Maximum number of groups that are reported: those that lost the most time (our choice).
pub const GROUPS_MAX: usize = 1000;

/// Time after which a SYN counts as unanswered if the capture continues: the initial retransmission timeout (RFC 6298
/// §2.1).
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// First client port: the start of Linux's range (`ip_local_port_range`), which contains that of RFC 6335.
const CLIENT_PORTS: u16 = 32_768;

/// First port after the system ports (RFC 6335 §6).
const SYSTEM_PORTS: u16 = 1024;

/// Common property of the connections of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupKey {
    /// The address and port of the server.
    Server(SocketAddr),
    /// The port of the servers.
    Service(u16),
}

impl GroupKey {
    /// Returns the server's port.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Server(address) => address.port(),
            Self::Service(port) => port,
        }
    }
}

/// Evidence that identifies the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerBy {
    /// The direction of the SYN.
    Syn,
    /// The ports.
    Ports,
}

/// Returns the endpoint that is the server, and the evidence; `None` if it is unknown.
#[must_use]
pub fn server(found: &ConnectionFindings) -> Option<(Side, ServerBy)> {
    let syns = &found.handshake.syns;
    let acknowledges = |side| syns.of(side).as_ref().map(|syn| syn.acknowledges.is_some());
    match (acknowledges(Side::Opener), acknowledges(Side::Answerer)) {
        (Some(false), None | Some(true)) | (None, Some(true)) => {
            Some((Side::Answerer, ServerBy::Syn))
        }
        // There is no SYN, or each endpoint sent one at the same time (RFC 9293 §3.5, figure 7).
        _ => {
            let [one, other] = Side::BOTH.map(|side| standing(found.addresses.of(side).port()));
            match one.cmp(&other) {
                std::cmp::Ordering::Less => Some((Side::Answerer, ServerBy::Ports)),
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Greater => Some((Side::Opener, ServerBy::Ports)),
            }
        }
    }
}

/// Returns a rank of a port: a higher rank means that the port is more likely that of a server.
fn standing(port: u16) -> u8 {
    if service(port).is_some() {
        3
    } else if port < SYSTEM_PORTS {
        2
    } else {
        u8::from(port < CLIENT_PORTS)
    }
}

/// Connection with the longest time of a certain kind in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Connection number.
    pub connection: u64,
    /// This time.
    pub time: Duration,
}

impl Worst {
    /// Returns the connection with the longer time, or the one with the lower number if both times are equal.
    fn or(self, other: Self) -> Self {
        let rank = |worst: &Self| (worst.time, std::cmp::Reverse(worst.connection));
        if rank(&other) > rank(&self) {
            other
        } else {
            self
        }
    }
}

/// Numbers of connections that were not opened, or that did not end with FINs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Number of connections whose SYN the server answered with a reset.
    pub refused: u64,
    /// Number of connections in which the server sent nothing, although the capture continues for at least one second.
    pub unanswered: u64,
    /// Total time from the first to the last transmission of unanswered SYNs.
    pub unanswered_for: Duration,
    /// Number of connections that ended with a reset after they were opened.
    pub reset: u64,
}

/// Retransmitted SYNs of connections in which the SYN was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syns {
    /// Number of connections with retransmitted SYNs.
    pub connections: u64,
    /// Number of retransmitted SYNs.
    pub again: u64,
    /// Total time that these connections waited for SYN timers.
    pub waited: Duration,
}

/// Connections of one server or service.
#[derive(Clone, Debug)]
pub struct Group {
    /// Common property of the connections.
    pub key: GroupKey,
    /// Number of servers: 1, or the number of servers of a service.
    pub servers: u64,
    /// Number of connections.
    pub connections: u64,
    /// Number of connections whose server is identified only by ports.
    pub by_ports: u64,
    /// Number of connections that carried data.
    pub with_data: u64,
    /// Number of data bytes to the server, each counted once.
    pub to_server: u64,
    /// Number of data bytes from the server, each counted once.
    pub from_server: u64,
    /// Failed connections.
    pub failures: Failures,
    /// Retransmitted SYNs.
    pub syns: Syns,
    /// Round-trip times of handshakes without a retransmitted SYN (Karn's algorithm, RFC 6298 §3).
    pub handshakes: Times,
    /// Number of segments from both endpoints.
    pub segments: u64,
    /// Number of retransmitted segments.
    pub retransmissions: u64,
    /// Number of connections with data whose limits are not reported ([`crate::untold`]).
    pub untold: u64,
    /// Number of connections that may have lost more time than [`Self::lost`] counts ([`crate::doubt`]).
    pub in_doubt: u64,
    /// Total time of each limit, in the order of [`Limit::ALL`]. For each connection, only the stream that lost the
    /// most time counts.
    pub times: [Duration; Limit::COUNT],
    /// Lost time: the sum of [`ConnectionFindings::lost`], except for connections whose limits are not reported.
    pub lost: Duration,
    /// Connection that lost the most time; `None` if none lost any time.
    pub most_lost: Option<Worst>,
    /// Durations of the connections, from the first to the last packet.
    pub durations: Times,
    /// Connection with the longest of these durations.
    pub longest: Worst,
}

impl Group {
    /// Returns the group of one connection; `None` if the server is unknown. The capture was read up to `until`.
    #[must_use]
    pub fn of(found: &ConnectionFindings, until: Instant) -> Option<Self> {
        let (side, by) = server(found)?;
        let bytes = |side| found.counts.of(side).unique_bytes;
        let streams = || found.all_streams();
        let longest = Worst {
            connection: found.number,
            time: found.duration(),
        };
        let mut group = Self {
            key: GroupKey::Server(*found.addresses.of(side)),
            servers: 1,
            connections: 1,
            by_ports: u64::from(by == ServerBy::Ports),
            with_data: u64::from(streams().next().is_some()),
            to_server: bytes(side.other()),
            from_server: bytes(side),
            failures: failures(found, side, until),
            syns: Syns::default(),
            handshakes: Times::default(),
            segments: streams().map(|stream| stream.shares.segments).sum(),
            retransmissions: found.retransmissions(),
            untold: 0,
            in_doubt: 0,
            times: [Duration::ZERO; Limit::COUNT],
            lost: Duration::ZERO,
            most_lost: None,
            durations: Times::of(longest.time),
            longest,
        };
        group.take_handshake(found);
        group.take_times(found);
        Some(group)
    }

    fn take_handshake(&mut self, found: &ConnectionFindings) {
        let again = |side| {
            let syn = found.handshake.syns.of(side).as_ref();
            syn.map_or(0, |syn| u64::from(syn.times.saturating_sub(1)))
        };
        let again: u64 = Side::BOTH.map(again).iter().sum();
        if again > 0 && self.failures.unanswered == 0 {
            self.syns = Syns {
                connections: 1,
                again,
                waited: found.handshake.again.waited(),
            };
        }
        let ways = Side::BOTH.map(|side| found.handshake.round_trip_to(side));
        if let ([Some(one), Some(other)], 0) = (ways, again) {
            self.handshakes = Times::of(one + other);
        }
    }

    fn take_times(&mut self, found: &ConnectionFindings) {
        self.untold = u64::from(found.limits_untold().is_some());
        self.in_doubt = u64::from(self.untold == 0 && found.may_have_lost_more());
        self.lost = found.handshake.again.waited();
        let told = found.all_streams().filter(|_| self.untold == 0);
        let told = told.filter_map(|stream| Some((stream, stream.lost()?)));
        if let Some((stream, lost)) = told.max_by_key(|(_, lost)| *lost) {
            self.times = Limit::ALL.map(|limit| stream.shares.of(limit));
            self.lost += lost;
        }
        self.most_lost = (!self.lost.is_zero()).then_some(Worst {
            connection: found.number,
            time: self.lost,
        });
    }

    /// Adds the connections of another group.
    fn add(&mut self, other: &Self) {
        self.servers += other.servers;
        self.connections += other.connections;
        self.by_ports += other.by_ports;
        self.with_data += other.with_data;
        self.to_server = self.to_server.saturating_add(other.to_server);
        self.from_server = self.from_server.saturating_add(other.from_server);
        self.failures.refused += other.failures.refused;
        self.failures.unanswered += other.failures.unanswered;
        self.failures.unanswered_for += other.failures.unanswered_for;
        self.failures.reset += other.failures.reset;
        self.syns.connections += other.syns.connections;
        self.syns.again += other.syns.again;
        self.syns.waited += other.syns.waited;
        self.handshakes.add(&other.handshakes);
        self.segments += other.segments;
        self.retransmissions += other.retransmissions;
        self.untold += other.untold;
        self.in_doubt += other.in_doubt;
        for (sum, time) in self.times.iter_mut().zip(other.times) {
            *sum += time;
        }
        self.lost += other.lost;
        self.most_lost = match (self.most_lost, other.most_lost) {
            (Some(one), Some(other)) => Some(one.or(other)),
            (one, other) => one.or(other),
        };
        self.durations.add(&other.durations);
        self.longest = self.longest.or(other.longest);
    }

    /// `true` if limits are not reported for any connection with data, so that the lost time is unknown.
    #[must_use]
    pub const fn is_untold(&self) -> bool {
        self.untold > 0 && self.untold == self.with_data
    }

    /// Returns the time of a limit.
    #[must_use]
    pub fn time(&self, limit: Limit) -> Duration {
        self.times.get(limit.index()).copied().unwrap_or_default()
    }

    /// Returns the time lost to a group of limits; zero if it is unavoidable.
    #[must_use]
    pub fn lost_to(&self, group: LimitGroup) -> Duration {
        if matches!(
            group,
            LimitGroup::Path | LimitGroup::Application | LimitGroup::Handshake
        ) {
            return Duration::ZERO;
        }
        let members = Limit::ALL.into_iter().filter(|l| l.group() == group);
        members.fold(Duration::ZERO, |sum, limit| sum + self.time(limit))
    }
}

fn failures(found: &ConnectionFindings, server: Side, until: Instant) -> Failures {
    let mut failures = Failures::default();
    let client = server.other();
    let asked = found.handshake.syns.of(client).is_some();
    let answered = found.handshake.syns.of(server).is_some();
    let reset = found.ending.reset;
    let sent = found.counts.of(client);
    let silent = found.counts.of(server).packets == 0 && sent.packets == sent.syns;
    let has_data = found.all_streams().next().is_some();
    if asked && !answered && !has_data && reset.is_some_and(|reset| reset.side == server) {
        failures.refused = 1;
    } else if reset.is_some() {
        failures.reset = 1;
    } else if asked && silent && (sent.syns > 1 || until.since(found.last_at) >= ANSWER_WITHIN) {
        failures.unanswered = 1;
        failures.unanswered_for = found.handshake.again.waited();
    }
    failures
}

/// Groups of a capture.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// Servers, at most [`GROUPS_MAX`], in descending order of lost time.
    pub servers: Vec<Group>,
    /// Services with several servers, in the same order.
    pub services: Vec<Group>,
    /// Number of servers that are not in this list.
    pub servers_beyond: u64,
    /// Number of connections of these other servers.
    pub beyond: u64,
    /// Number of those connections that are in no total, because there was no space for their servers.
    pub crowded: u64,
    /// Number of connections whose server is unknown.
    pub unknown: u64,
}

/// Collector of groups.
#[derive(Debug, Default)]
pub(crate) struct Grouping {
    servers: HashMap<GroupKey, Box<Group>>,
    /// Number of connections to servers for which there was no space.
    crowded: u64,
    unknown: u64,
}

impl Grouping {
    /// Adds the group of one connection, or counts a connection whose server is unknown. The order matters if there are
    /// more than [`SERVERS_MAX`] servers.
    pub(crate) fn take(&mut self, one: Option<Group>) {
        let Some(one) = one else {
            self.unknown += 1;
            return;
        };
        if let Some(group) = self.servers.get_mut(&one.key) {
            group.add(&one);
            // The connection has the same server, so the number of servers remains 1.
            group.servers = 1;
        } else if self.servers.len() < SERVERS_MAX {
            self.servers.insert(one.key, Box::new(one));
        } else {
            self.crowded += one.connections;
        }
    }

    /// Returns all groups.
    pub(crate) fn finish(self) -> Groups {
        let mut servers: Vec<Group> = self.servers.into_values().map(|group| *group).collect();
        servers.sort_by_key(|group| group.key);
        let mut services: BTreeMap<u16, Group> = BTreeMap::new();
        for group in &servers {
            let port = group.key.port();
            if let Some(service) = services.get_mut(&port) {
                service.add(group);
            } else {
                let key = GroupKey::Service(port);
                let first = group.clone();
                services.insert(port, Group { key, ..first });
            }
        }
        let several = services.into_values().filter(|group| group.servers > 1);
        let mut services: Vec<Group> = several.collect();
        for groups in [&mut servers, &mut services] {
            groups.sort_by_key(|group| {
                std::cmp::Reverse((group.lost, group.connections, group.from_server))
            });
        }
        let least = servers.split_off(GROUPS_MAX.min(servers.len()));
        services.truncate(GROUPS_MAX);
        Groups {
            servers,
            services,
            servers_beyond: least.len() as u64,
            beyond: least.iter().map(|group| group.connections).sum::<u64>() + self.crowded,
            crowded: self.crowded,
            unknown: self.unknown,
        }
    }
}
