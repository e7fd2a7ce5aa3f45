//! Summary for the terminal: one screen, with the worst connections first.

mod path;
mod senders;
#[cfg(test)]
mod tests;

pub use path::{PathLine, path_in_words};
pub use senders::what_if;

use dupack_report::table::{Colour, Ink, PADDING, Plain, beside, columns_of, paragraph};
use dupack_tcp::time::Duration;

use crate::asking::Asked;
use crate::both;
use crate::groups;
use crate::notes::notes;
use crate::requests::requests;
use crate::shared;
use crate::story::{has_acks_alone, headline, story};
use crate::words;
use dupack_diagnosis::analyse::budget::Limit;
use dupack_diagnosis::analyse::cause::Class;
use dupack_diagnosis::analyse::stalls::StallKind;
use dupack_diagnosis::consistency::Withdrawn;
use dupack_diagnosis::findings::{AcksSeen, ConnectionFindings, Shut, StreamFindings};
use dupack_diagnosis::read::side::Side;
use dupack_diagnosis::read::vantage::{Place, Reason, Vantage};
use dupack_diagnosis::sender::{Identification, SenderReport};
use dupack_diagnosis::shared::SharedBottleneck;
use dupack_diagnosis::{Diagnosis, Extent};

/// Format of a summary.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Use of colour.
    pub colour: Colour,
    /// Width in columns, or `None` for the width of the terminal.
    pub width: Option<u16>,
    /// Maximum number of connections that are described in detail.
    pub detailed: usize,
    /// Maximum number of further connections that are listed.
    pub listed: usize,
}

/// Returns the summary of a diagnosis.
#[must_use]
pub fn summary(diagnosis: &Diagnosis, asked: Option<&Asked>, look: &Look) -> String {
    let width = look.width;
    let mut text = String::new();
    let told = diagnosis.connections.iter().take(look.detailed);
    for (place, connection) in told.enumerate() {
        if place > 0 {
            text.push('\n');
        }
        let asked = asked.filter(|_| place == 0);
        text += &detailed(connection, &diagnosis.shared.found, asked, look);
    }
    let others: Vec<&ConnectionFindings> = diagnosis
        .connections
        .iter()
        .skip(look.detailed)
        .take(look.listed)
        .collect();
    if !others.is_empty() {
        text.push('\n');
        text += &table(&others, width);
    }
    for sentence in shared::sentences(&diagnosis.shared) {
        text.push('\n');
        text += &paragraph(&sentence, width);
    }
    let groups = groups::lines(&diagnosis.groups, look.colour, width);
    if !groups.is_empty() {
        text.push('\n');
        text += &groups;
    }
    text.push('\n');
    text += &paragraph(&of_the_capture(diagnosis, look), width);
    text
}

/// Returns one or two sentences about the whole capture.
fn of_the_capture(diagnosis: &Diagnosis, look: &Look) -> String {
    let shown = look.detailed.saturating_add(look.listed);
    let found = diagnosis.connections.len();
    let more = found.saturating_sub(shown) as u64 + diagnosis.beyond.connections;
    let mut text = format!(
        "In the capture: {} in {}; {}",
        words::things(diagnosis.connections_all, "connection", "connections"),
        words::time(diagnosis.duration),
        packets(diagnosis),
    );
    if diagnosis.without_data > 0 {
        text += &format!(
            "; {} without data",
            words::things(diagnosis.without_data, "connection", "connections")
        );
    }
    if more > 0 {
        let verb = if more == 1 { "is" } else { "are" };
        let things = words::things(more, "connection", "connections");
        text += &format!("; {things} {verb} not shown");
    }
    text.push('.');
    if diagnosis.extent == Extent::Interrupted {
        text += " Interrupted: only the part that was read is described.";
    }
    text
}

/// Returns a text with the number of packets of each kind.
#[must_use]
pub fn packets(diagnosis: &Diagnosis) -> String {
    let kinds = diagnosis.tally.by_kind().into_iter();
    let kinds = kinds.map(|(kind, number)| format!("{} {kind}", words::count(number)));
    let kinds: Vec<String> = kinds.collect();
    format!("packets: {}", kinds.join(", "))
}

/// Returns all lines about a connection that the terminal shows.
fn detailed(
    connection: &ConnectionFindings,
    shared: &[SharedBottleneck],
    asked: Option<&Asked>,
    look: &Look,
) -> String {
    let width = look.width;
    let Some(stream) = connection.main_stream() else {
        return unopened(connection, look);
    };
    let mut text = paragraph(&headline(connection), width);
    text.push('\n');
    text += &paragraph(&title(connection), width);
    let has_acks = stream.coverage.acks == AcksSeen::Some;
    text += &limits(stream, columns_of(width));
    let mut rows: Vec<(Option<Ink>, [String; 2])> = Vec::new();
    let mut row = |name: &str, sentence: String| {
        rows.push((None, [format!("  {name}"), sentence]));
    };
    if let Some(syns) = syns_again(connection) {
        row("handshake", syns);
    }
    row("retransmitted", sent_again(stream));
    if let Some(stalls) = stalls(stream) {
        row("stalls", stalls);
    }
    if let Some(requests) = requests(connection) {
        row("requests", requests);
    }
    if let Some(windows) = closed_windows(stream) {
        row("window shut", windows);
    }
    if let Some(probes) = probes(stream) {
        row("probes", probes);
    }
    if has_acks {
        row("sender", sender(&stream.sender));
        row("path", path::path(stream));
        row("seen from", seen_from(&stream.vantage));
    }
    for (name, line) in both::lines(connection) {
        row(name, line);
    }
    if let Some(others) = shared::of_connection(shared, connection.number, stream.side) {
        row("shares", others);
    }
    if let Some(asked) = asked {
        row("what if", what_if(asked));
    }
    if let Some(ending) = ending(connection) {
        row("ended", ending);
    }
    if let Some(other) = connection.other_stream() {
        row("reverse data", other_way(connection, other));
    }
    for note in notes(connection) {
        row("note", note);
    }
    text += &beside(rows, look.colour, width);
    text
}

/// Returns all lines about a connection without data that the terminal shows.
fn unopened(connection: &ConnectionFindings, look: &Look) -> String {
    let mut text = paragraph(&headline(connection), look.width);
    text.push('\n');
    let long = words::time(connection.duration());
    let title = format!("{}: no data in {long}", title(connection));
    text += &paragraph(&title, look.width);
    let mut rows = Vec::new();
    let mut row = |name: &str, sentence| rows.push((None, [format!("  {name}"), sentence]));
    if let Some(syns) = syns_again(connection) {
        row("handshake", syns);
    }
    if let Some(ending) = ending(connection) {
        row("ended", ending);
    }
    for note in notes(connection) {
        row("note", note);
    }
    text += &beside(rows, look.colour, look.width);
    text
}

/// Returns a line about the stream in the other direction.
#[must_use]
pub fn other_way(connection: &ConnectionFindings, stream: &StreamFindings) -> String {
    let (from, _) = ends(connection, stream);
    let bytes = words::bytes(stream.bytes() as f64);
    let again = match stream.account.retransmissions {
        0 => String::new(),
        _ if !stream.tells_retransmissions() => String::new(),
        again => format!(
            ", {}{} retransmitted",
            words::at_least(stream.may_lack_repairs()),
            words::things(again, "segment", "segments")
        ),
    };
    format!("{bytes} from {from}{again}. {}", story(stream))
}

/// Returns the title of a connection: its number and its endpoints, and the amount, the duration and the rate of its
/// data.
#[must_use]
pub fn title(connection: &ConnectionFindings) -> String {
    let (one, other) = (connection.addresses.opener, connection.addresses.answerer);
    let number = connection.number;
    let Some(stream) = connection.main_stream() else {
        return format!("#{number} {one} – {other}");
    };
    let (from, to) = ends(connection, stream);
    let shares = &stream.shares;
    format!(
        "#{number} {from} → {to}: {} in {}, {}",
        words::bytes(stream.bytes() as f64),
        words::time(shares.duration()),
        words::rate(stream.goodput())
    )
}

/// Returns the addresses of a stream's sender and receiver.
#[must_use]
pub fn ends(connection: &ConnectionFindings, stream: &StreamFindings) -> (String, String) {
    let of = |side| connection.addresses.of(side).to_string();
    (of(stream.side), of(stream.side.other()))
}

/// Returns the reason why a connection has no data, in a few words.
pub(crate) fn without_data(connection: &ConnectionFindings) -> String {
    let syns = &connection.handshake.syns;
    let was_opened = connection.handshake.established_at.is_some();
    let said = match (&syns.opener, &syns.answerer) {
        _ if was_opened => "no data",
        (Some(_), None) if connection.ending.reset.is_some() => "refused",
        (Some(syn), None) if syn.times > 1 => {
            return format!("no answer to {} SYNs", words::count(u64::from(syn.times)));
        }
        (Some(_), None) => "no answer to the SYN",
        (_, Some(_)) => "no answer to the SYN-ACK",
        (None, None) => "no data",
    };
    said.to_owned()
}

/// Returns a text with the number of retransmitted SYNs, and the time that they took.
#[must_use]
pub fn syns_again(connection: &ConnectionFindings) -> Option<String> {
    let handshake = &connection.handshake;
    let again = |side| {
        let known = handshake.syns.of(side).as_ref();
        known.map_or(0, |syn| u64::from(syn.times.saturating_sub(1)))
    };
    let times = |number| words::things(number, "time", "times");
    let said = match (again(Side::Opener), again(Side::Answerer)) {
        (0, 0) => return None,
        (syns, 0) => format!("the SYN was retransmitted {}", times(syns)),
        (0, answers) => format!("the answer to the SYN was retransmitted {}", times(answers)),
        (syns, answers) => format!(
            "the SYN was retransmitted {}, its answer {}",
            times(syns),
            times(answers)
        ),
    };
    let waited = handshake.again.waited();
    Some(if waited.is_zero() {
        said
    } else {
        format!("{said}: {} of waiting for a timer", words::time(waited))
    })
}

/// Minimum number of columns of a line without its bar.
const BESIDE_BAR: usize = 52;
/// Number of columns before the name of the limit, without the bar.
const BEFORE_NAME: usize = 20;
/// Maximum and minimum length of a bar in columns. If less space is available, there is no bar.
const BAR_MAX: usize = 24;
const BAR_MIN: usize = 4;
/// Minimum fraction of the time that a limit must have to be shown (our choice: smaller fractions are noise). The first
/// three limits are always shown.
const SHARE_SHOWN: f64 = 0.005;

/// Returns the limits of a stream with their shares of the time, which sum to 100 %.
fn limits(stream: &StreamFindings, width: usize) -> String {
    let shares = &stream.shares;
    let named = in_percent(stream).into_iter();
    let names = named.map(|(limit, ..)| words::limit_of(stream, limit));
    let longest = names.map(|name| name.chars().count()).max();
    let beside = BESIDE_BAR.max(BEFORE_NAME + longest.unwrap_or(0));
    let room = width.saturating_sub(beside).min(BAR_MAX);
    let mut text = String::new();
    let mut rest = (0_u32, 0_usize);
    for (place, (limit, time, percent)) in in_percent(stream).into_iter().enumerate() {
        let share = shares.share(time);
        if share < SHARE_SHOWN && place >= 3 {
            rest = (rest.0 + percent, rest.1 + 1);
            continue;
        }
        let name = words::limit_of(stream, limit);
        text += &match room {
            BAR_MIN.. => {
                // A share that is printed as 0 % has no bar.
                let bar = if percent == 0 {
                    String::new()
                } else {
                    words::bar(share, room)
                };
                let time = words::time(time);
                format!("  {bar:<room$} {percent:>3} %  {time:>7}  {name}\n")
            }
            _ => format!("  {percent:>3} % {name}\n"),
        };
    }
    if rest.0 > 0 {
        let indent = if room >= BAR_MIN { room + 1 } else { 0 };
        text += &format!("  {:indent$}{:>3} %  {} others\n", "", rest.0, rest.1);
    }
    text
}

/// Returns the number of retransmissions, or `None` if the number is unknown.
#[must_use]
pub fn retransmissions(stream: &StreamFindings) -> Option<u64> {
    let told = stream.tells_retransmissions();
    told.then_some(stream.account.retransmissions)
}

/// Returns a text with the number of retransmissions of each cause.
#[must_use]
pub fn sent_again(stream: &StreamFindings) -> String {
    let account = &stream.account;
    if account.retransmissions == 0 {
        return "nothing".to_owned();
    }
    if !stream.tells_retransmissions() {
        let why = Withdrawn::RetransmissionsBeyondSegments.why();
        return format!("{UNTOLD}: {why}");
    }
    let segments = stream.shares.segments.max(1);
    let classes = Class::ALL.into_iter().filter(|class| !class.is_probe());
    let classes = classes.filter_map(|class| {
        let number = account.of(class);
        (number > 0).then(|| format!("{} {}", words::count(number), class_in_words(class, number)))
    });
    let classes: Vec<String> = classes.collect();
    let mut text = format!(
        "{}{} of {} segments ({}): {}",
        words::at_least(stream.may_lack_repairs()),
        words::count(account.retransmissions),
        words::count(segments),
        words::share(account.retransmissions as f64 / segments as f64),
        classes.join(", ")
    );
    if account.needless() > 0 {
        text += &format!("; {} spurious", words::count(account.needless()));
    }
    if account.lost_again > 0 {
        text += &format!("; {} lost again", words::count(account.lost_again));
    }
    let overtaken = stream.overtaken + stream.reordered;
    if overtaken > 0 {
        let overtaken = words::things(
            overtaken,
            "segment was overtaken",
            "segments were overtaken",
        );
        text += &format!("; {overtaken} and arrived late");
    }
    text
}

const fn class_in_words(class: Class, number: u64) -> &'static str {
    match (class, number) {
        (Class::Fast, _) => "fast",
        (Class::Further, _) => "further in the same recoveries",
        (Class::Timeout, 1) => "by a timeout",
        (Class::Timeout, _) => "by timeouts",
        (Class::AfterTimeout, _) => "after timeouts",
        (Class::TailLossProbe, 1) => "tail loss probe",
        (Class::TailLossProbe, _) => "tail loss probes",
        // Probes do not count as retransmissions.
        (Class::KeepAlive | Class::WindowProbe | Class::Unknown, _) => "of unknown cause",
    }
}

/// Maximum number of kinds of stalls that are named. The other kinds are only counted.
const KINDS_SHOWN: usize = 3;

/// Returns a text with the stalls of each kind and the longest stall. Returns `None` if there are no stalls, or if the
/// limits are unknown.
#[must_use]
pub fn stalls(stream: &StreamFindings) -> Option<String> {
    let stalls = &stream.stalls;
    if stalls.count() == 0 || stream.limits_untold().is_some() {
        return None;
    }
    let mut kinds = StallKind::ALL.map(|kind| (kind, stalls.of(kind)));
    kinds.sort_by_key(|(_, total)| std::cmp::Reverse(total.time));
    let there = kinds.iter().filter(|(_, total)| total.count > 0);
    let named = there.clone().take(KINDS_SHOWN);
    let mut named: Vec<String> = named
        .map(|(kind, total)| {
            let time = words::time(total.time);
            let kind = words::stall_of(stream, *kind);
            format!("{} × {kind} ({time})", words::count(total.count))
        })
        .collect();
    let rest = there.skip(KINDS_SHOWN);
    let rest = rest.fold(0, |sum, (_, total)| sum + total.count);
    if rest > 0 {
        named.push(format!("{} others", words::count(rest)));
    }
    let mut text = format!(
        "{}, {} in all: {}",
        words::count(stalls.count()),
        words::time(stalls.time()),
        named.join(", ")
    );
    let longest = stalls.longest.iter().max_by_key(|stall| stall.duration());
    if let Some(longest) = longest {
        let at = longest.from.since(stream.shares.started);
        text += &format!(
            "; the longest {}, {} after the start",
            words::time(longest.duration()),
            words::time(at)
        );
    }
    Some(text)
}

/// Returns a text with the number of keep-alives, or `None` if there are none.
#[must_use]
pub fn probes(stream: &StreamFindings) -> Option<String> {
    let keep_alives = stream.happenings.keep_alives();
    (keep_alives > 0).then(|| words::things(keep_alives, "keep-alive", "keep-alives"))
}

/// Returns a text with the number of times that the receive window was closed, the total time, and the number of window
/// probes. Returns `None` if the window was never closed.
#[must_use]
pub fn closed_windows(stream: &StreamFindings) -> Option<String> {
    let Shut {
        times,
        time,
        probes,
    } = stream.shut;
    let long = match time.is_zero() {
        true => String::new(),
        false => format!(", {} in all", words::time(time)),
    };
    (times > 0).then(|| {
        format!(
            "{}{long}; {}",
            words::things(times, "time", "times"),
            words::things(probes, "probe", "probes"),
        )
    })
}

/// Returns a text with the sender's loss recovery and congestion control, and the evidence for them.
#[must_use]
pub fn sender(report: &SenderReport) -> String {
    fn named<N: ToString>(verdict: &Identification<N>) -> String {
        verdict
            .name
            .as_ref()
            .map_or("unknown".to_owned(), ToString::to_string)
    }
    format!(
        "recovery {}: {}; control {}: {}",
        named(&report.recovery),
        report.recovery.why,
        named(&report.control),
        report.control.why
    )
}

/// Returns a text with the place where the capture was taken, and the evidence for it.
#[must_use]
pub fn seen_from(vantage: &Vantage) -> String {
    let place = match vantage.place {
        Place::Sender => "the sender's end",
        Place::Receiver => "the receiver's end",
        Place::Middle => "between both ends",
        Place::Unknown => {
            return "an unknown place: the capture shows no answer of either end".to_owned();
        }
    };
    let by = match vantage.reason {
        Reason::Handshake => "shown by the handshake",
        Reason::Timestamps => "shown by the echoed timestamps",
        Reason::Responses => "shown by the time between ACKs and the data that follows",
        Reason::Repairs => "shown by the time between duplicate ACKs and repairs",
        Reason::Nothing => "assumed, as nothing indicates otherwise",
    };
    if vantage.place == Place::Receiver && vantage.to_sender.is_zero() {
        return format!(
            "{place}, shown by the time between data and its ACKs; the distance to the sender is unknown"
        );
    }
    let to = |end: &str, way| format!("{} to the {end} and back", words::way(way));
    let ways = match vantage.place {
        Place::Sender => to("receiver", vantage.to_receiver),
        Place::Receiver => to("sender", vantage.to_sender),
        Place::Middle | Place::Unknown => format!(
            "{}, {}",
            to("sender", vantage.to_sender),
            to("receiver", vantage.to_receiver)
        ),
    };
    format!("{place}: {ways}, {by}")
}

/// Returns a text about the reset that ended a connection, if there is one.
#[must_use]
pub fn ending(connection: &ConnectionFindings) -> Option<String> {
    let reset = connection.ending.reset?;
    let who = connection.addresses.of(reset.side);
    let at = words::time(reset.at.since(connection.first_at));
    let packet = reset.packet;
    Some(format!(
        "by a reset from {who}, after {at} (packet {packet})"
    ))
}

/// Columns of the table of connections, and subsets of the columns for narrower terminals.
const COLUMNS: [&str; 8] = [
    "#",
    "from",
    "to",
    "bytes",
    "time",
    "rate",
    "retransmitted",
    "main limit",
];
const FORMS: [&[usize]; 4] = [
    &[0, 1, 2, 3, 4, 5, 6, 7],
    &[0, 1, 2, 3, 4, 7],
    &[0, 2, 3, 4, 7],
    &[0, 3, 4, 7],
];

/// Minimum width of the last column, whose text may be wrapped.
const LOST_TO_MIN: usize = 20;

/// Returns the table of the connections that are not described in detail.
fn table(connections: &[&ConnectionFindings], width: Option<u16>) -> String {
    let rows: Vec<[String; 8]> = connections.iter().map(|one| table_row(one)).collect();
    let columns = columns_of(width);
    let needs = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let head = COLUMNS.get(column).map_or(0, |name| name.len());
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        match column {
            7 => widest.min(LOST_TO_MIN),
            _ => widest.max(head),
        }
    };
    let fits = |form: &&&[usize]| {
        let gaps = PADDING * form.len();
        form.iter().map(|column| needs(*column)).sum::<usize>() + gaps <= columns
    };
    let form = FORMS.iter().find(fits).or(FORMS.last()).copied();
    let form = form.unwrap_or_default();
    let header: Vec<&str> = form
        .iter()
        .filter_map(|column| COLUMNS.get(*column).copied())
        .collect();
    let room = u16::try_from(columns).unwrap_or(u16::MAX);
    let mut table = Plain::new(&header, usize::MAX, Some(room));
    for row in &rows {
        let cells = form.iter().filter_map(|column| row.get(*column).cloned());
        table.add(cells.collect::<Vec<_>>());
    }
    let text = table.text();
    let lines = text.lines().map(str::trim_end);
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn table_row(connection: &ConnectionFindings) -> [String; 8] {
    let number = connection.number.to_string();
    let Some(stream) = connection.main_stream() else {
        let (one, other) = (connection.addresses.opener, connection.addresses.answerer);
        return [
            number,
            one.to_string(),
            other.to_string(),
            "0 B".to_owned(),
            words::time(connection.duration()),
            String::new(),
            String::new(),
            without_data(connection),
        ];
    };
    let (from, to) = ends(connection, stream);
    [
        number,
        from,
        to,
        words::bytes(stream.bytes() as f64),
        words::time(stream.shares.duration()),
        words::rate(stream.goodput()),
        retransmissions(stream).map_or("–".to_owned(), words::count),
        lost_to(connection, stream),
    ]
}

/// Text that replaces an unknown limit.
pub(crate) const UNTOLD: &str = "cannot be determined";

/// Returns the limit that took most of the time of a connection's main stream, with its share of the time.
#[must_use]
pub fn lost_to(connection: &ConnectionFindings, stream: &StreamFindings) -> String {
    if stream.limits_untold().is_some() || has_acks_alone(connection) {
        return UNTOLD.to_owned();
    }
    let most = in_percent(stream).into_iter().next();
    most.map_or(String::new(), |(limit, _, percent)| {
        format!("{percent} % {}", words::limit_of(stream, limit))
    })
}

/// Returns the limits with nonzero time, the longest time first, with whole percentages that sum to 100. The result is
/// empty if the limits are unknown.
#[must_use]
pub fn in_percent(stream: &StreamFindings) -> Vec<(Limit, Duration, u32)> {
    if stream.limits_untold().is_some() {
        return Vec::new();
    }
    let shares = &stream.shares;
    let all = Limit::ALL
        .into_iter()
        .map(|limit| (limit, shares.of(limit)));
    let mut all: Vec<(Limit, Duration)> = all.filter(|(_, time)| !time.is_zero()).collect();
    all.sort_by_key(|&(limit, time)| (std::cmp::Reverse(time), limit));
    let parts: Vec<f64> = all.iter().map(|(_, time)| time.as_secs_f64()).collect();
    let percents = words::whole_percents(&parts);
    let all = all.into_iter().zip(percents);
    all.map(|((limit, time), percent)| (limit, time, percent))
        .collect()
}
