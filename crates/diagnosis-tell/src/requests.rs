//! Description of the requests of a connection: a line for the terminal, and a table for the page.

use dupack_report::page::{Block, Cell, Emphasis};
use dupack_tcp::time::{Duration, Instant};

use crate::words;
use dupack_diagnosis::analyse::hints::{Hint, TlsRecord};
use dupack_diagnosis::findings::ConnectionFindings;
use dupack_diagnosis::{Request, Requests};

/// Maximum number of requests that the page lists (our choice). The CSV file contains all requests that are kept.
const LISTED_MAX: usize = 40;

/// Minimum fraction of a request's time that a part must have to be named (our choice).
const PART_SHOWN: f64 = 0.25;
/// Maximum number of parts that are named.
const PARTS_SHOWN: usize = 2;

/// Returns a line for the terminal with the number of requests, the quantiles of their durations, and the longest
/// request: `"137 requests: p50 43 ms, p95 210 ms; the worst 3.1 s at packet 5120: server 2.9 s"`.
#[must_use]
pub fn requests(connection: &ConnectionFindings) -> Option<String> {
    let requests = connection.requests.as_ref()?;
    let worst = requests.worst.first()?;
    let content = content(worst).map_or(String::new(), |content| format!(" ({content})"));
    let mut text = format!(
        "{}: p50 {}, p95 {}; the worst {} at packet {}{content}: {}",
        words::things(requests.count, "request", "requests"),
        words::time(requests.duration.p50),
        words::time(requests.duration.p95),
        words::time(worst.duration()),
        worst.request.first_packet,
        largest_parts(worst),
    );
    if let Some(joined) = joined(requests) {
        text += &format!("; {joined}");
    }
    Some(text)
}

/// Returns the beginning of a request or an answer in words. The text contains only printable characters.
#[must_use]
pub fn hint_in_words(hint: &Hint) -> String {
    match hint {
        Hint::HttpRequest { method, path } => format!("{method} {path}"),
        Hint::HttpStatus(code) => format!("status {code}"),
        Hint::Tls(record) => {
            let name = match record {
                TlsRecord::ChangeCipherSpec => "change cipher spec",
                TlsRecord::Alert => "alert",
                TlsRecord::Handshake => "handshake",
                TlsRecord::ApplicationData => "application data",
            };
            format!("TLS {name}")
        }
    }
}

/// Returns the beginnings of a request and of its answer. An unknown beginning is omitted: `"GET /index.html → status
/// 200"`, `"TLS application data"`.
fn content(request: &Request) -> Option<String> {
    let (asked, answered) = (request.request.hint, request.answer.hint);
    let say = |hint: Option<Hint>| hint.as_ref().map(hint_in_words);
    match (say(asked), say(answered)) {
        (Some(one), Some(other)) if one == other => Some(one),
        (Some(one), Some(other)) => Some(format!("{one} → {other}")),
        (Some(one), None) => Some(one),
        (None, Some(other)) => Some(format!("→ {other}")),
        (None, None) => None,
    }
}

/// Returns a text with the number of turns that consist of several pipelined requests.
fn joined(requests: &Requests) -> Option<String> {
    (requests.joined > 0).then(|| {
        format!(
            "{} of several pipelined requests",
            words::things(requests.joined, "consists", "consist")
        )
    })
}

/// Returns the names of the parts that took most of a request's time, each with its time.
fn largest_parts(request: &Request) -> String {
    let mut parts = request.parts.named();
    parts.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let all = request.duration().as_secs_f64();
    let shown = parts
        .into_iter()
        .take(PARTS_SHOWN)
        .enumerate()
        .filter(|(place, (_, time))| *place == 0 || time.as_secs_f64() >= all * PART_SHOWN);
    let shown = shown.map(|(_, (name, time))| format!("{name} {}", words::time(time)));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the table of the longest requests.
#[must_use]
pub fn table(connection: &ConnectionFindings) -> Vec<Block> {
    let Some(requests) = &connection.requests else {
        return Vec::new();
    };
    let listed: Vec<&Request> = requests.worst.iter().take(LISTED_MAX).collect();
    // A part that is zero in all requests has no column.
    let names = requests.worst.first().map(|worst| worst.parts.named());
    let names: Vec<(usize, &str)> = names
        .into_iter()
        .flatten()
        .enumerate()
        .filter(|(place, _)| {
            let part = |request: &&Request| request.parts.named().get(*place).copied();
            let mut times = listed.iter().filter_map(part);
            times.any(|(_, time)| !time.is_zero())
        })
        .map(|(place, (name, _))| (place, name))
        .collect();
    let mut header = vec![
        "#",
        "sent (s)",
        "first byte (s)",
        "last byte (s)",
        "packets",
        "request",
        "answer",
        "time",
    ];
    header.extend(names.iter().map(|(_, name)| *name));
    let has_content = listed.iter().any(|request| content(request).is_some());
    header.push("think time before");
    header.extend(has_content.then_some("content"));
    let rows = listed.iter().map(|request| {
        let mut row = beginning(request);
        let parts = request.parts.named();
        for (place, _) in &names {
            let time = parts.get(*place).map_or(Duration::ZERO, |(_, time)| *time);
            row.push(number(words::time(time)));
        }
        row.push(number(request.think.map_or("–".to_owned(), words::time)));
        if has_content {
            row.push(content(request).unwrap_or_default().into());
        }
        row
    });
    vec![Block::Table {
        caption: caption(requests, listed.len()),
        rows: rows.collect(),
        header: header.into_iter().map(str::to_owned).collect(),
    }]
}

/// Returns a time of the capture in seconds.
fn at(time: Instant) -> Cell {
    number(format!("{:.3}", time.as_secs_f64()))
}

fn number(text: String) -> Cell {
    Cell::new(text, Emphasis::Number)
}

/// Returns the first cells of a request, which precede the parts of its time.
fn beginning(request: &Request) -> Vec<Cell> {
    let pipelined = match request.joined {
        0 => String::new(),
        more => format!(" and {more} pipelined"),
    };
    vec![
        number(format!("{}{pipelined}", request.number)),
        at(request.request.first_at),
        at(request.answer.first_at),
        at(request.answer.last_at),
        number(format!(
            "#{} to #{}",
            request.request.first_packet, request.answer.last_packet
        )),
        number(words::bytes(request.request.bytes as f64)),
        number(words::bytes(request.answer.bytes as f64)),
        number(words::time(request.duration())),
    ]
}

fn caption(requests: &Requests, listed: usize) -> String {
    let duration = &requests.duration;
    let server = &requests.server;
    let mut text = format!(
        "{}: half took {} or less, 95 % took {} or less, the longest {}; the server's part was {} or less in half, {} or less in 95 %, and {} at most.",
        words::things(requests.count, "request", "requests"),
        words::time(duration.p50),
        words::time(duration.p95),
        words::time(duration.max),
        words::time(server.p50),
        words::time(server.p95),
        words::time(server.max),
    );
    if let Some(joined) = joined(requests) {
        text += &format!(" {joined}, whose answers have no visible boundary.");
    }
    if (listed as u64) < requests.count {
        text += &format!(" The {listed} longest are listed.");
    }
    text +=
        " Sent: first byte of the request; first and last byte: of the answer, all as captured.";
    text += match requests.round_trip {
        Some(_) => {
            " Network is one round trip, the least of the capture; the parts sum to the time at the client."
        }
        None => {
            " The capture shows no round-trip time: the time of the server includes that of the network."
        }
    };
    text
}
