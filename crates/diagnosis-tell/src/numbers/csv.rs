//! CSV tables with one line per stream, limit, retransmission, stall or request.

use dupack_lab::results::sheet::to_sheet;
use dupack_tcp::time::Duration;

use super::requests::RequestNumbers;
use super::{RetransmissionNumbers, StallNumbers, long, secs};
use crate::keys::{self, key};
use crate::story::story;
use dupack_diagnosis::Diagnosis;
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::cause::Cause;
use dupack_diagnosis::findings::{ConnectionFindings, StreamFindings};

/// A table as CSV.
pub(super) struct Table(::csv::Writer<Vec<u8>>);

impl Table {
    pub(super) fn new(header: &[&str]) -> Self {
        let mut this = Self(::csv::Writer::from_writer(Vec::new()));
        this.row(header.iter().map(ToString::to_string));
        this
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // The contents of requests are untrusted.
        let cells = { cells.into_iter() }.map(|cell| to_sheet(&cell).into_owned());
        let cells: Vec<String> = cells.collect();
        // Writing cannot fail: all rows have the same length, and the output is in memory.
        let _ = self.0.write_record(cells);
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap_or_default()
    }
}

pub(super) fn number(value: f64) -> String {
    format!("{value:.6}")
}

/// Returns each stream with its connection.
fn streams(diagnosis: &Diagnosis) -> impl Iterator<Item = (&ConnectionFindings, &StreamFindings)> {
    let all = diagnosis.connections.iter();
    all.flat_map(|found| found.all_streams().map(move |stream| (found, stream)))
}

/// Returns one line per stream of data.
#[must_use]
pub fn connections_csv(diagnosis: &Diagnosis) -> Vec<u8> {
    let mut table = Table::new(&[
        "connection",
        "sent_by",
        "sender",
        "receiver",
        "began_s",
        "duration_s",
        "bytes",
        "goodput_bit_per_s",
        "lost_s",
        "segments",
        "sent_again",
        "timeouts",
        "needless",
        "lost_again",
        "rtt_min_s",
        "rtt_mean_s",
        "seen_from",
        "recovery",
        "control",
        "story",
    ]);
    for (found, stream) in streams(diagnosis) {
        let shares = &stream.shares;
        let time = |told: Option<Duration>| told.map_or(String::new(), |time| number(long(time)));
        let again = |count: u64| {
            if stream.tells_retransmissions() {
                count.to_string()
            } else {
                String::new()
            }
        };
        let round_trips = stream.round_trips();
        let (recovery, control) = (stream.sender.recovery.name, stream.sender.control.name);
        table.row([
            found.number.to_string(),
            key(&stream.side),
            found.addresses.of(stream.side).to_string(),
            found.addresses.of(stream.side.other()).to_string(),
            number(secs(shares.started)),
            number(long(shares.duration())),
            stream.bytes().to_string(),
            stream.goodput_told().map_or(String::new(), number),
            time(stream.lost()),
            shares.segments.to_string(),
            again(stream.account.retransmissions),
            stream
                .timeouts()
                .map_or(String::new(), |count| count.to_string()),
            again(stream.account.needless()),
            again(stream.account.lost_again),
            time(round_trips.map(|(least, _)| least)),
            time(round_trips.map(|(_, mean)| mean)),
            key(&stream.vantage.place),
            recovery.map_or("unknown".to_owned(), |name| name.to_string()),
            control.map_or("unknown".to_owned(), |name| name.to_string()),
            story(stream),
        ]);
    }
    table.bytes()
}

/// Returns one line per stream and limit, with the other possible causes of the limit's time. If the limits cannot be
/// determined, the cells with times and shares are empty.
#[must_use]
pub fn limits_csv(diagnosis: &Diagnosis) -> Vec<u8> {
    let mut table = Table::new(&["connection", "sent_by", "limit", "time_s", "share", "or"]);
    for (found, stream) in streams(diagnosis) {
        let told = stream.limits_untold().is_none();
        let cell = |value: f64| if told { number(value) } else { String::new() };
        for limit in Limit::ALL {
            let time = stream.shares.of(limit);
            table.row([
                found.number.to_string(),
                key(&stream.side),
                key(&limit),
                cell(long(time)),
                cell(stream.shares.share(time)),
                keys::doubts(stream, limit),
            ]);
        }
    }
    table.bytes()
}

/// Returns one line per retransmission. Only the last retransmissions of each stream are included.
#[must_use]
pub fn retransmissions_csv(diagnosis: &Diagnosis) -> Vec<u8> {
    let mut table = Table::new(&[
        "connection",
        "sent_by",
        "at_s",
        "packet",
        "start_byte",
        "end_byte",
        "transmission",
        "cause",
        "timeout_in_a_row",
        "set_off_by_packet",
        "waited_s",
        "need",
        "lost_again",
    ]);
    let told = streams(diagnosis).filter(|(_, stream)| stream.tells_retransmissions());
    for (found, stream) in told {
        for again in &stream.retransmissions {
            let numbers = RetransmissionNumbers::of(again);
            let or_nothing = |number: Option<String>| number.unwrap_or_default();
            table.row([
                found.number.to_string(),
                key(&stream.side),
                number(numbers.at_s),
                numbers.packet.to_string(),
                numbers.start_byte.to_string(),
                numbers.end_byte.to_string(),
                numbers.transmission.to_string(),
                keys::cause(again.cause),
                or_nothing(match again.cause {
                    Cause::Timeout { expiry } => Some(expiry.to_string()),
                    _ => None,
                }),
                or_nothing(numbers.set_off_by_packet.map(|n| n.to_string())),
                number(numbers.waited_s),
                key(&numbers.need),
                numbers.lost_again.to_string(),
            ]);
        }
    }
    table.bytes()
}

/// Returns one line per stall. Only the longest stalls of each stream are included.
#[must_use]
pub fn stalls_csv(diagnosis: &Diagnosis) -> Vec<u8> {
    let mut table = Table::new(&[
        "connection",
        "sent_by",
        "from_s",
        "duration_s",
        "kind",
        "due_to",
        "waited_for",
        "packet_before",
        "packet_after",
        "in_flight_bytes",
        "something_else_would_have_acted_after_s",
    ]);
    let told = streams(diagnosis).filter(|(_, stream)| stream.limits_untold().is_none());
    for (found, stream) in told {
        for stall in &stream.stalls.longest {
            let numbers = StallNumbers::of(stall);
            table.row([
                found.number.to_string(),
                key(&stream.side),
                number(numbers.from_s),
                number(numbers.duration_s),
                key(&numbers.kind),
                key(&numbers.due_to),
                key(&numbers.waited_for),
                numbers.packet_before.to_string(),
                numbers.packet_after.to_string(),
                numbers.in_flight_bytes.to_string(),
                numbers
                    .something_else_would_have_acted_after_s
                    .map_or(String::new(), number),
            ]);
        }
    }
    table.bytes()
}

/// Returns one line per request. Only the longest requests of each connection are included.
#[must_use]
pub fn requests_csv(diagnosis: &Diagnosis) -> Vec<u8> {
    let mut table = Table::new(&[
        "connection",
        "number",
        "asked_by",
        "pipelined",
        "first_s",
        "first_packet",
        "last_s",
        "last_packet",
        "bytes",
        "answer_first_s",
        "answer_first_packet",
        "answer_last_s",
        "answer_last_packet",
        "answer_bytes",
        "duration_s",
        "network_s",
        "request_transfer_s",
        "server_s",
        "transfer_s",
        "repair_s",
        "receive_window_s",
        "server_pauses_s",
        "think_s",
        "content",
        "answer_content",
    ]);
    for found in &diagnosis.connections {
        let Some(requests) = &found.requests else {
            continue;
        };
        for request in &requests.worst {
            let numbers = RequestNumbers::of(request);
            let (asked, answered) = (&numbers.request, &numbers.answer);
            table.row([
                found.number.to_string(),
                numbers.number.to_string(),
                key(&requests.asker),
                numbers.pipelined.to_string(),
                number(asked.first_s),
                asked.first_packet.to_string(),
                number(asked.last_s),
                asked.last_packet.to_string(),
                asked.bytes.to_string(),
                number(answered.first_s),
                answered.first_packet.to_string(),
                number(answered.last_s),
                answered.last_packet.to_string(),
                answered.bytes.to_string(),
                number(numbers.duration_s),
                number(numbers.network_s),
                number(numbers.request_transfer_s),
                number(numbers.server_s),
                number(numbers.transfer_s),
                number(numbers.repair_s),
                number(numbers.receive_window_s),
                number(numbers.server_pauses_s),
                numbers.think_s.map_or(String::new(), number),
                asked.content.clone().unwrap_or_default(),
                answered.content.clone().unwrap_or_default(),
            ]);
        }
    }
    table.bytes()
}
