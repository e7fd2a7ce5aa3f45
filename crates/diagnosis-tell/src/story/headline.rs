//! First sentence about a connection. It describes the main stream, an endpoint that does not respond, or a connection
//! that was never opened.

use dupack_diagnosis::findings::ConnectionFindings;
use dupack_diagnosis::read::handshake::Syn;
use dupack_diagnosis::read::silence::Silence;
use dupack_diagnosis::{Side, StreamFindings};

use super::story;
use crate::words;

/// Minimum fraction of the connection's time for an endpoint's silence to be the first sentence (our choice).
const MOST: f64 = 0.5;

/// Returns the first sentence about a connection.
#[must_use]
pub fn headline(connection: &ConnectionFindings) -> String {
    let Some(stream) = connection.main_stream() else {
        return without_data(connection);
    };
    match &connection.silence {
        Some(silence) if took_most(connection, silence) => {
            format!("{}.", silent(connection, silence))
        }
        _ => acks_alone(connection, stream).unwrap_or_else(|| story(stream)),
    }
}

/// `true` if the first sentence says that the limit is unknown because the capture has only ACKs for most of the data.
#[must_use]
pub fn has_acks_alone(connection: &ConnectionFindings) -> bool {
    let stream = connection.main_stream();
    stream.is_some_and(|stream| acks_alone(connection, stream).is_some())
}

/// Returns the sentence about a capture of one endpoint that mostly acknowledges data of the other endpoint.
fn acks_alone(connection: &ConnectionFindings, stream: &StreamFindings) -> Option<String> {
    let other = stream.side.other();
    let counts = connection.counts.of(other);
    let unseen = counts.unseen_bytes();
    (counts.packets == 0 && unseen > stream.bytes()).then(|| {
        format!(
            "{} sent {}, but this capture has none of its packets, only the ACKs of {}: the limit cannot be determined.",
            connection.addresses.of(other),
            words::bytes(unseen as f64),
            connection.addresses.of(stream.side)
        )
    })
}

/// `true` if packets to the silent endpoint got no response for most of the time of the connection.
fn took_most(connection: &ConnectionFindings, silence: &Silence) -> bool {
    silence.asked.duration().as_secs_f64() >= MOST * connection.duration().as_secs_f64()
}

/// Returns a sentence about a silent endpoint, unless the first sentence already mentions it.
#[must_use]
pub fn silent_later(connection: &ConnectionFindings) -> Option<String> {
    let silence = connection.silence.as_ref()?;
    let told = connection.main_stream().is_some() && took_most(connection, silence);
    (!told).then(|| silent(connection, silence))
}

/// Returns a sentence about an endpoint that stopped responding: `"10.0.0.2:443 sent nothing more after 61 ms: 9
/// keep-alives in 135 s got no answer"`.
#[must_use]
pub fn silent(connection: &ConnectionFindings, silence: &Silence) -> String {
    let asked = &silence.asked;
    let part = |number: u32, one: &str, several: &str| {
        (number > 0).then(|| words::things(u64::from(number), one, several))
    };
    let parts: Vec<String> = [
        part(asked.data, "segment with data", "segments with data"),
        part(asked.keep_alives, "keep-alive", "keep-alives"),
        part(asked.fins, "FIN", "FINs"),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!(
        "{} sent nothing more after {} (packet {}): {} in {} got no answer",
        connection.addresses.of(silence.side),
        words::time(silence.since.since(connection.first_at)),
        silence.last,
        parts.join(", "),
        words::time(asked.duration())
    )
}

/// Returns the sentence about a connection without data.
#[must_use]
pub fn without_data(connection: &ConnectionFindings) -> String {
    let [opener, answerer] = Side::BOTH.map(|side| connection.addresses.of(side));
    let counts = &connection.counts;
    let syns = &connection.handshake.syns;
    let reset = connection.ending.reset;
    let was_opened = connection.handshake.established_at.is_some();
    let alone = |side: Side| {
        let packets = words::things(counts.of(side).packets, "packet", "packets");
        let (own, other) = (
            connection.addresses.of(side),
            connection.addresses.of(side.other()),
        );
        let acknowledged = match connection.counts.of(side.other()).unseen_bytes() {
            // A single acknowledged byte that was not captured may be a FIN.
            0 | 1 => String::new(),
            bytes => format!(
                ", although {} from it were acknowledged",
                words::bytes(bytes as f64)
            ),
        };
        format!(
            "{own} sent {packets} without data; the capture has no packet of {other}{acknowledged}."
        )
    };
    match (&syns.opener, &syns.answerer) {
        (Some(syn), None) if reset.is_some_and(|reset| reset.side == Side::Answerer) => {
            let times = words::things(counts.answerer.resets, "reset", "resets");
            let asked = sent("SYN", syn);
            format!("{answerer} refused the connection: {opener} {asked} and got {times}.")
        }
        (Some(syn), None)
            if counts.answerer.packets == 0 && counts.opener.packets == counts.opener.syns =>
        {
            format!(
                "The SYN got no answer: {opener} {}, and the capture has no packet of {answerer}.",
                sent("SYN", syn)
            )
        }
        (_, Some(answer)) if counts.opener.packets == 0 && answer.times == 1 => {
            alone(Side::Answerer)
        }
        (_, Some(answer)) if !was_opened && reset.is_none() && answer.acknowledges.is_some() => {
            format!(
                "The SYN-ACK got no answer: {answerer} {}, and the capture has no ACK of {opener}.",
                sent("SYN-ACK", answer)
            )
        }
        _ if counts.answerer.packets == 0 => alone(Side::Opener),
        _ if counts.opener.packets == 0 => alone(Side::Answerer),
        _ => quiet(connection, was_opened),
    }
}

/// Returns the number of transmissions of a SYN: `"sent its SYN 6 times in 31 s"`.
fn sent(what: &str, syn: &Syn) -> String {
    match syn.times {
        0 | 1 => format!("sent its {what} once"),
        times => format!(
            "sent its {what} {} times in {}",
            words::count(u64::from(times)),
            words::time(syn.last_at.since(syn.first_at))
        ),
    }
}

/// Returns the sentence about a connection without data, if the capture has packets of both endpoints.
fn quiet(connection: &ConnectionFindings, was_opened: bool) -> String {
    let long = words::time(connection.duration());
    let opened = if was_opened {
        "was opened, and carried"
    } else {
        "carried"
    };
    let ended = match connection.ending.reset {
        Some(reset) => format!("; {} reset it", connection.addresses.of(reset.side)),
        None => String::new(),
    };
    format!("The connection {opened} no data in {long}{ended}.")
}
