//! Numbers about groups of connections, for the JSON document and for tables.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::csv::{Table, number};
use super::long;
use super::requests::QuantileNumbers;
use dupack_diagnosis::Diagnosis;
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::groups::{Group, GroupKey, Groups, service};

/// Connections grouped by server and by service.
#[derive(Serialize, JsonSchema)]
pub(super) struct GroupsNumbers {
    /// One group for each server, at most 1,000. Servers whose connections lost the most time come first.
    pub(super) servers: Vec<GroupNumbers>,
    /// One group for each port that several servers have, in the same order.
    pub(super) services: Vec<GroupNumbers>,
    /// Number of connections to servers that are not listed.
    pub(super) connections_not_listed: u64,
    /// Number of these connections that are in no sum, because only the first 16,384 servers have sums.
    pub(super) connections_in_no_sum: u64,
    /// Number of connections whose server the capture does not show.
    pub(super) connections_of_unknown_server: u64,
}

/// Connections of one server or of one service.
#[derive(Serialize, JsonSchema)]
pub(super) struct GroupNumbers {
    /// Address and port of the server; null for a service.
    pub(super) server: Option<String>,
    /// Port of the server.
    pub(super) port: u16,
    /// Service that usually has this port; null if the port is not a common one.
    pub(super) service: Option<&'static str>,
    /// Number of servers.
    pub(super) servers: u64,
    /// Number of connections.
    pub(super) connections: u64,
    /// Number of connections that carried data.
    pub(super) connections_with_data: u64,
    /// Number of connections without a SYN in the capture, for which only the ports show which endpoint is the server.
    pub(super) connections_by_ports: u64,
    /// Bytes of data to the server. Each byte counts once.
    pub(super) bytes_to_server: u64,
    /// Bytes of data from the server. Each byte counts once.
    pub(super) bytes_from_server: u64,
    /// Number of connections whose SYN the server answered with a reset.
    pub(super) refused: u64,
    /// Number of connections whose SYN got no answer for at least one second.
    pub(super) unanswered: u64,
    /// Total time from the first to the last SYN of unanswered connections.
    pub(super) unanswered_s: f64,
    /// Number of connections that a reset ended after they were opened.
    pub(super) reset: u64,
    /// Number of answered connections with a retransmitted SYN.
    pub(super) connections_with_syns_retransmitted: u64,
    /// Number of retransmitted SYNs of answered connections.
    pub(super) syns_retransmitted: u64,
    /// Total time that answered connections waited for the retransmission timers of SYNs.
    pub(super) syns_waited_s: f64,
    /// Round-trip time of the handshakes without a retransmitted SYN; null if the capture has no such handshake. The
    /// quantiles are exact for up to 64 handshakes, and otherwise within 1.6 %.
    pub(super) handshake_s: Option<QuantileNumbers>,
    /// Number of handshakes without a retransmitted SYN.
    pub(super) handshakes: u64,
    /// Number of segments of both endpoints, including retransmissions.
    pub(super) segments: u64,
    /// Number of retransmitted segments.
    pub(super) retransmissions: u64,
    /// Sum of the `lost_s` of the connections, without those whose limits cannot be determined; null if no limits can
    /// be determined.
    pub(super) lost_s: Option<f64>,
    /// Number of the connection that lost the most time; null if no connection lost time.
    pub(super) most_lost_connection: Option<u64>,
    /// Time that `most_lost_connection` lost.
    pub(super) most_lost_s: f64,
    /// Time by limit, summed over the connections. For each connection, the stream that lost the most time counts. Null
    /// if no limits can be determined.
    pub(super) limits_s: Option<BTreeMap<Limit, f64>>,
    /// Number of connections whose limits cannot be determined, because packets, all ACKs or TCP options are missing
    /// from the capture.
    pub(super) connections_untold: u64,
    /// Number of connections that may have lost more than `lost_s`, according to their `limits_in_doubt`.
    pub(super) connections_lost_at_least: u64,
    /// Time from the first packet of a connection to its last packet. The quantiles are exact for up to 64 connections,
    /// and otherwise within 1.6 %.
    pub(super) duration_s: Option<QuantileNumbers>,
    /// Number of the connection with the longest duration.
    pub(super) longest_connection: u64,
}

impl GroupsNumbers {
    pub(super) fn of(groups: &Groups) -> Self {
        let numbers = |list: &[Group]| list.iter().map(GroupNumbers::of).collect();
        Self {
            servers: numbers(&groups.servers),
            services: numbers(&groups.services),
            connections_not_listed: groups.beyond,
            connections_in_no_sum: groups.crowded,
            connections_of_unknown_server: groups.unknown,
        }
    }
}

impl GroupNumbers {
    pub(super) fn of(group: &Group) -> Self {
        let limits = Limit::ALL.into_iter();
        let limits = limits.map(|limit| (limit, long(group.time(limit))));
        let told = !group.is_untold();
        Self {
            server: match group.key {
                GroupKey::Server(address) => Some(address.to_string()),
                GroupKey::Service(_) => None,
            },
            port: group.key.port(),
            service: service(group.key.port()),
            servers: group.servers,
            connections: group.connections,
            connections_with_data: group.with_data,
            connections_by_ports: group.by_ports,
            bytes_to_server: group.to_server,
            bytes_from_server: group.from_server,
            refused: group.failures.refused,
            unanswered: group.failures.unanswered,
            unanswered_s: long(group.failures.unanswered_for),
            reset: group.failures.reset,
            connections_with_syns_retransmitted: group.syns.connections,
            syns_retransmitted: group.syns.again,
            syns_waited_s: long(group.syns.waited),
            handshake_s: group
                .handshakes
                .quantiles()
                .as_ref()
                .map(QuantileNumbers::of),
            handshakes: group.handshakes.count(),
            segments: group.segments,
            retransmissions: group.retransmissions,
            lost_s: told.then(|| long(group.lost)),
            most_lost_connection: group.most_lost.map(|worst| worst.connection),
            most_lost_s: group.most_lost.map_or(0.0, |worst| long(worst.time)),
            limits_s: told.then(|| limits.collect()),
            connections_untold: group.untold,
            connections_lost_at_least: group.in_doubt,
            duration_s: group
                .durations
                .quantiles()
                .as_ref()
                .map(QuantileNumbers::of),
            longest_connection: group.longest.connection,
        }
    }
}

/// Columns of the tables.
const COLUMNS: [&str; 29] = [
    "server",
    "port",
    "service",
    "servers",
    "connections",
    "connections_with_data",
    "connections_by_ports",
    "bytes_to_server",
    "bytes_from_server",
    "refused",
    "unanswered",
    "unanswered_s",
    "reset",
    "connections_with_syns_retransmitted",
    "syns_retransmitted",
    "syns_waited_s",
    "handshake_p50_s",
    "handshake_p95_s",
    "segments",
    "retransmissions",
    "lost_s",
    "most_lost_connection",
    "most_lost_s",
    "connections_untold",
    "duration_p50_s",
    "duration_p95_s",
    "duration_max_s",
    "longest_connection",
    "connections_lost_at_least",
];

impl GroupNumbers {
    /// Returns one cell for each of [`COLUMNS`]. A cell is empty if the capture does not show the value.
    fn cells(self) -> [String; COLUMNS.len()] {
        let quantile = |of: &Option<QuantileNumbers>, pick: fn(&QuantileNumbers) -> f64| {
            of.as_ref().map_or(String::new(), |all| number(pick(all)))
        };
        let worst = self.most_lost_connection;
        [
            self.server.unwrap_or_default(),
            self.port.to_string(),
            self.service.unwrap_or_default().to_owned(),
            self.servers.to_string(),
            self.connections.to_string(),
            self.connections_with_data.to_string(),
            self.connections_by_ports.to_string(),
            self.bytes_to_server.to_string(),
            self.bytes_from_server.to_string(),
            self.refused.to_string(),
            self.unanswered.to_string(),
            number(self.unanswered_s),
            self.reset.to_string(),
            self.connections_with_syns_retransmitted.to_string(),
            self.syns_retransmitted.to_string(),
            number(self.syns_waited_s),
            quantile(&self.handshake_s, |all| all.p50),
            quantile(&self.handshake_s, |all| all.p95),
            self.segments.to_string(),
            self.retransmissions.to_string(),
            self.lost_s.map_or(String::new(), number),
            worst.map_or(String::new(), |worst| worst.to_string()),
            number(self.most_lost_s),
            self.connections_untold.to_string(),
            quantile(&self.duration_s, |all| all.p50),
            quantile(&self.duration_s, |all| all.p95),
            quantile(&self.duration_s, |all| all.max),
            self.longest_connection.to_string(),
            self.connections_lost_at_least.to_string(),
        ]
    }
}

/// Returns one line per server, and one per service of several servers.
#[must_use]
pub fn groups_csv(diagnosis: &Diagnosis) -> Vec<u8> {
    let mut table = Table::new(&COLUMNS);
    let groups = &diagnosis.groups;
    for group in groups.servers.iter().chain(&groups.services) {
        table.row(GroupNumbers::of(group).cells());
    }
    table.bytes()
}

/// Returns a header and one line per server, in tab-separated columns. A value that the capture does not show is `-`.
#[must_use]
pub fn server_lines(diagnosis: &Diagnosis) -> String {
    let mut text = COLUMNS.join("\t");
    for group in &diagnosis.groups.servers {
        let cells = GroupNumbers::of(group).cells();
        let cells = cells.map(|cell| {
            if cell.is_empty() {
                "-".to_owned()
            } else {
                cell
            }
        });
        text.push('\n');
        text += &cells.join("\t");
    }
    text.push('\n');
    text
}
