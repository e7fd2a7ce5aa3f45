//! Description of connections by server, as lines for the terminal and as tables for the page.

use dupack_report::page::{Block, Cell, Emphasis};
use dupack_report::table::{Colour, beside, paragraph};
use dupack_tcp::time::Duration;

use crate::words;
use dupack_diagnosis::analyse::budget::Group as LimitGroup;
use dupack_diagnosis::analyse::groups::{Group, GroupKey, Groups, service};
use dupack_diagnosis::analyse::requests::Quantiles;

/// Maximum number of groups that the terminal describes (our choice).
const SHOWN: usize = 5;

/// Maximum number of groups that the page lists (our choice). The CSV file contains all groups that are kept.
const LISTED_MAX: usize = 50;

/// Maximum number of causes that are named.
const CAUSES_SHOWN: usize = 3;

/// Minimum fraction of the lost time that a cause must have to be named (our choice).
const CAUSE_SHOWN: f64 = 0.05;

/// Returns the name of a group: a server with its service, such as `"10.0.0.7:443 (https)"`, or a service with the
/// number of its servers.
#[must_use]
pub fn name(group: &Group) -> String {
    let called = service(group.key.port());
    match group.key {
        GroupKey::Server(address) => match called {
            Some(called) => format!("{address} ({called})"),
            None => address.to_string(),
        },
        GroupKey::Service(port) => {
            let servers = words::count(group.servers);
            match called {
                Some(called) => format!("port {port} ({called}), {servers} servers"),
                None => format!("port {port}, {servers} servers"),
            }
        }
    }
}

/// Minimum number of connections of a group that the terminal describes (our choice: two connections are described
/// individually).
const ADDED_UP_MIN: u64 = 3;

/// Returns the groups with at least `connections` connections.
fn of_at_least(connections: u64, groups: &[Group]) -> impl Iterator<Item = &Group> {
    let enough = move |group: &&Group| group.connections >= connections;
    groups.iter().filter(enough)
}

/// Returns the groups with several connections.
fn several(groups: &[Group]) -> impl Iterator<Item = &Group> {
    of_at_least(2, groups)
}

/// Returns the groups for the terminal, with the most lost time first. The result is empty if no group has at least
/// three connections.
#[must_use]
pub fn lines(groups: &Groups, colour: Colour, width: Option<u16>) -> String {
    let servers: Vec<&Group> = of_at_least(ADDED_UP_MIN, &groups.servers).collect();
    let services: Vec<&Group> = of_at_least(ADDED_UP_MIN, &groups.services).collect();
    // A service is described as a whole only if none of its servers is described.
    let scattered = services.into_iter().filter(|service| {
        let port = service.key.port();
        !servers.iter().any(|group| group.key.port() == port)
    });
    let mut told: Vec<&Group> = servers.iter().copied().chain(scattered).collect();
    if told.is_empty() {
        return String::new();
    }
    told.sort_by_key(|group| std::cmp::Reverse((group.lost, group.connections)));
    let mut text = paragraph("Connections by server, most lost time first:", width);
    let shown = told.iter().take(SHOWN);
    let rows = shown.map(|group| (None, [format!("  {}", name(group)), sentences(group)]));
    text += &beside(rows.collect(), colour, width);
    let more = told.len().saturating_sub(SHOWN) as u64;
    if more > 0 {
        let more = words::things(more, "more server", "more servers");
        text += &paragraph(
            &format!("  {more}: see groups.csv, which --out DIR writes."),
            width,
        );
    }
    if let Some(crowded) = crowded(groups) {
        text += &paragraph(&crowded, width);
    }
    text
}

/// Returns all sentences about a group that the terminal prints.
#[must_use]
pub fn sentences(group: &Group) -> String {
    let mut said = vec![format!(
        "{}, {} to it, {} from it",
        connections(group),
        words::bytes(group.to_server as f64),
        words::bytes(group.from_server as f64)
    )];
    said.extend(syns(group));
    said.extend(failed(group));
    said.extend(lost(group));
    said.extend(retransmitted(group));
    said.push(quantiles(group));
    let mut text = said.join(". ");
    text.push('.');
    text
}

fn connections(group: &Group) -> String {
    let all = words::things(group.connections, "connection", "connections");
    let mut text = match group.connections.saturating_sub(group.with_data) {
        0 => all,
        without if without == group.connections => format!("{all} without data"),
        without => format!("{all}, {} without data", words::count(without)),
    };
    if group.by_ports > 0 {
        let all = group.by_ports == group.connections;
        let of = if all {
            String::new()
        } else {
            format!("for {}, ", words::count(group.by_ports))
        };
        text += &format!(" ({of}the server is known only by its port)");
    }
    text
}

/// Returns a sentence about retransmitted SYNs: `"20 of 2,000 connections retransmitted a SYN: 20 s of waiting"`.
#[must_use]
pub fn syns(group: &Group) -> Option<String> {
    let syns = &group.syns;
    (syns.connections > 0).then(|| {
        let of = words::count(syns.connections);
        let all = words::things(group.connections, "connection", "connections");
        format!(
            "{of} of {all} retransmitted a SYN: {} of waiting",
            words::time(syns.waited)
        )
    })
}

/// Returns the counts of connections that were refused, reset or unanswered.
fn failed(group: &Group) -> Option<String> {
    let failures = &group.failures;
    let part =
        |number: u64, what: &str| (number > 0).then(|| format!("{} {what}", words::count(number)));
    let mut parts: Vec<String> = [
        part(failures.refused, "refused"),
        part(failures.reset, "reset"),
        part(failures.unanswered, "unanswered"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let Some(last) = parts.last_mut()
        && !failures.unanswered_for.is_zero()
    {
        *last += &format!(
            " ({} of retransmitted SYNs)",
            words::time(failures.unanswered_for)
        );
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Name of the time that connections spent waiting for the retransmission timers of SYNs.
pub const SYNS: &str = "SYN retransmissions";

/// Returns the causes of lost time with their times, the largest first.
#[must_use]
pub fn causes(group: &Group) -> Vec<(&'static str, Duration)> {
    let mut causes: Vec<(&str, Duration)> = LimitGroup::ALL
        .into_iter()
        .map(|limit| (of_limits(limit), group.lost_to(limit)))
        .collect();
    causes.push((SYNS, group.syns.waited + group.failures.unanswered_for));
    causes.retain(|(_, time)| !time.is_zero());
    causes.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    causes
}

/// Returns the name of a group of limits.
const fn of_limits(group: LimitGroup) -> &'static str {
    match group {
        LimitGroup::Handshake => "handshakes",
        LimitGroup::Application => "the application",
        LimitGroup::Receiver => "full receive windows",
        LimitGroup::Nagle => "Nagle's algorithm",
        LimitGroup::Sender => "the sender's buffer, or unknown",
        LimitGroup::SlowStart => "slow start",
        LimitGroup::Losses => "losses and the small window after them",
        LimitGroup::Timers => "retransmission and probe timers",
        LimitGroup::Path => "the bottleneck",
    }
}

/// Returns the causes that took a large part of the lost time: `"15 s to SYN retransmissions"`.
fn named_causes(group: &Group) -> Vec<String> {
    let all = group.lost.as_secs_f64();
    let causes = causes(group).into_iter().take(CAUSES_SHOWN);
    causes
        .filter(|(_, time)| time.as_secs_f64() >= CAUSE_SHOWN * all)
        .map(|(cause, time)| format!("{} to {cause}", words::time(time)))
        .collect()
}

fn lost(group: &Group) -> Option<String> {
    let worst = group.most_lost?;
    let mut text = format!(
        "Time lost: {}, of which {}",
        words::time(group.lost),
        named_causes(group).join(", ")
    );
    if group.connections > 1 {
        text += &format!(
            "; #{} lost the most ({}, `--flow {}`)",
            worst.connection,
            words::time(worst.time),
            worst.connection
        );
    }
    if group.in_doubt > 0 {
        text += &format!(
            "; this is a lower bound, as {} may have lost more",
            words::things(group.in_doubt, "connection", "connections")
        );
    }
    if group.untold > 0 {
        text += &format!(
            "; without {} whose limits cannot be determined",
            words::things(group.untold, "connection", "connections")
        );
    }
    Some(text)
}

fn retransmitted(group: &Group) -> Option<String> {
    (group.retransmissions > 0).then(|| {
        format!(
            "{} of {} segments retransmitted ({})",
            words::count(group.retransmissions),
            words::count(group.segments),
            words::share(group.retransmissions as f64 / group.segments.max(1) as f64)
        )
    })
}

/// Returns the quantiles of the handshakes' round-trip times and of the connections' durations.
fn quantiles(group: &Group) -> String {
    let say = |quantiles: &Quantiles| {
        format!(
            "p50 {}, p95 {}",
            words::time(quantiles.p50),
            words::time(quantiles.p95)
        )
    };
    let mut parts = Vec::new();
    if let Some(handshakes) = group.handshakes.quantiles() {
        parts.push(format!("Handshake {}", say(&handshakes)));
    }
    if let Some(durations) = group.durations.quantiles() {
        let worst = group.longest;
        parts.push(format!(
            "Duration {}, the longest {} (#{})",
            say(&durations),
            words::time(worst.time),
            worst.connection
        ));
    }
    parts.join("; ").replacen("; D", "; d", 1)
}

fn number(text: String) -> Cell {
    Cell::new(text, Emphasis::Number)
}

const HEADER: [&str; 7] = [
    "server",
    "connections",
    "data to it, from it",
    "retransmitted",
    "handshake",
    "duration",
    "time lost",
];

fn row(group: &Group) -> Vec<Cell> {
    let both = |quantiles: Option<Quantiles>| {
        number(quantiles.map_or(NONE.to_owned(), |quantiles| {
            let Quantiles { p50, p95, .. } = quantiles;
            format!("{}, {}", words::time(p50), words::time(p95))
        }))
    };
    let again = match group.retransmissions {
        0 => NONE.to_owned(),
        some => format!(
            "{} ({})",
            words::count(some),
            words::share(some as f64 / group.segments.max(1) as f64)
        ),
    };
    let data = format!(
        "{}, {}",
        words::bytes(group.to_server as f64),
        words::bytes(group.from_server as f64)
    );
    vec![
        Cell::new(name(group), Emphasis::Group),
        how_many(group).into(),
        number(data),
        number(again),
        both(group.handshakes.quantiles()),
        both(group.durations.quantiles()),
        time_lost(group).into(),
    ]
}

/// Text of a cell without a value.
const NONE: &str = "–";

/// Returns the counts of connections: `"300, 3 without data, 20 retransmitted a SYN (20 s), 3 refused"`.
fn how_many(group: &Group) -> String {
    let mut parts = vec![words::count(group.connections)];
    let without = group.connections.saturating_sub(group.with_data);
    if without > 0 {
        parts.push(format!("{} without data", words::count(without)));
    }
    let syns = &group.syns;
    if syns.connections > 0 {
        let of = words::count(syns.connections);
        let waited = words::time(syns.waited);
        parts.push(format!("{of} retransmitted a SYN ({waited})"));
    }
    parts.extend(failed(group));
    parts.join(", ")
}

/// Returns the lost time with its causes: `"27 s (#126 the most): 15 s to SYN retransmissions, 12 s to slow start"`.
fn time_lost(group: &Group) -> String {
    group.most_lost.map_or(NONE.to_owned(), |worst| {
        format!(
            "{} (#{} the most): {}",
            words::time(group.lost),
            worst.connection,
            named_causes(group).join(", ")
        )
    })
}

/// Returns the tables of the servers and of the services with several connections.
#[must_use]
pub fn tables(groups: &Groups) -> Vec<Block> {
    let mut blocks = Vec::new();
    let lists = [
        (&groups.servers, "Servers with several connections"),
        (&groups.services, "Services with several servers"),
    ];
    for (list, what) in lists {
        let all = several(list).count();
        if all == 0 {
            continue;
        }
        let mut caption = format!(
            "{what}, most lost time first. Handshake and duration: median, 95th percentile. Time lost: sum over all connections."
        );
        if all > LISTED_MAX {
            let more = words::count((all - LISTED_MAX) as u64);
            caption += &format!(" {more} more are in groups.csv.");
        }
        blocks.push(Block::Table {
            caption,
            header: HEADER.map(str::to_owned).to_vec(),
            rows: several(list).take(LISTED_MAX).map(row).collect(),
        });
    }
    if let (false, Some(left)) = (blocks.is_empty(), left_out(groups)) {
        blocks.push(Block::text(left));
    }
    blocks
}

/// Returns a text with the counts of connections that are in no listed group.
fn left_out(groups: &Groups) -> Option<String> {
    let mut parts = Vec::new();
    if groups.unknown > 0 {
        parts.push(format!(
            "For {}, the capture does not show which end is the server: it has no SYN, and both ports are of the same kind.",
            words::things(groups.unknown, "connection", "connections")
        ));
    }
    if groups.beyond > 0 {
        parts.push(format!(
            "{} to further servers are not listed.",
            words::things(groups.beyond, "connection", "connections")
        ));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Returns a text with the number of connections to servers beyond the maximum number of servers. No sum includes them.
fn crowded(groups: &Groups) -> Option<String> {
    (groups.crowded > 0).then(|| {
        format!(
            "  {} to further servers are not included in these sums.",
            words::things(groups.crowded, "connection", "connections")
        )
    })
}
