//! Notes on unusual properties of a connection and of its capture.

use dupack_diagnosis::Side;
use dupack_diagnosis::consistency::Withdrawn;
use dupack_diagnosis::findings::{ConnectionFindings, Coverage};
use dupack_diagnosis::read::ending::{Ignored, WhyIgnored};

use crate::story::silent_later;
use crate::summary::ends;
use crate::words;

/// Returns a note on resets that had no effect.
fn ignored_resets(connection: &ConnectionFindings) -> Option<String> {
    let ending = &connection.ending;
    let Ignored { reset, why } = ending.ignored?;
    let who = connection.addresses.of(reset.side);
    let because = match why {
        WhyIgnored::NotOfTheSyn => "it does not acknowledge the SYN (RFC 9293 §3.10.7.3)",
        WhyIgnored::OutsideWindow => {
            "its sequence number is outside the receive window (RFC 5961 §3.2)"
        }
        WhyIgnored::WentOn => "that end continued to send",
    };
    let more = match ending.ignored_resets.saturating_sub(1) {
        0 => String::new(),
        more => format!(
            "; {} had no effect either",
            words::things(more, "more reset", "more resets")
        ),
    };
    let packet = reset.packet;
    Some(format!(
        "a reset with the source address {who} (packet {packet}) had no effect: {because}{more}"
    ))
}

/// Returns notes on data that is missing from the capture: the packets of one endpoint, or TCP options.
fn not_in_the_capture(connection: &ConnectionFindings) -> Vec<String> {
    let mut notes = Vec::new();
    for side in Side::BOTH {
        let counts = connection.counts.of(side);
        // A single acknowledged byte that was not captured may be a FIN.
        if counts.packets == 0 && counts.unseen_bytes() > 1 {
            notes.push(format!(
                "{} from {} were acknowledged, but the capture has none of its packets",
                words::bytes(counts.unseen_bytes() as f64),
                connection.addresses.of(side)
            ));
        }
    }
    let counts = Side::BOTH.map(|side| connection.counts.of(side).packets_without_options);
    let cut: u64 = counts.into_iter().map(u64::from).sum();
    if cut > 0 {
        notes.push(format!(
            "the TCP options of {} are cut off (SACK blocks, timestamps, window scale); 128 bytes of each packet would keep \
             them",
            words::things(cut, "packet", "packets")
        ));
    }
    notes
}

/// Returns a note if the beginning of the connection is missing from the capture.
fn in_the_middle(connection: &ConnectionFindings) -> Option<String> {
    let syns = &connection.handshake.syns;
    let has_data = connection.main_stream().is_some();
    (has_data && syns.opener.is_none() && syns.answerer.is_none()).then(|| {
        "the capture has no SYN of this connection: all times and counts refer to the captured part".to_owned()
    })
}

/// Returns notes on unusual properties of a connection and of its capture. Each note is a sentence.
#[must_use]
pub fn notes(connection: &ConnectionFindings) -> Vec<String> {
    let mut notes: Vec<String> = in_the_middle(connection).into_iter().collect();
    let copies = Side::BOTH.map(|side| connection.counts.of(side).copies);
    let copies: u64 = copies.iter().sum();
    if copies > 0 {
        notes.push(format!(
            "the capture contains {} twice, as happens if it was taken on two interfaces; copies are ignored",
            words::things(copies, "packet", "packets")
        ));
    }
    for stream in connection.all_streams() {
        let Coverage { unseen_bytes, .. } = stream.coverage;
        if unseen_bytes > 0 {
            let (from, _) = ends(connection, stream);
            let packets = unseen_bytes.div_ceil(u64::from(stream.smss.max(1)));
            notes.push(format!(
                "{} from {from} ({} or more, {} of the data) were acknowledged but are not in the capture",
                words::bytes(unseen_bytes as f64),
                words::things(packets, "packet", "packets"),
                words::share(stream.coverage.missing())
            ));
        }
    }
    notes.extend(not_in_the_capture(connection));
    notes.extend(fast_open(connection));
    if connection.handshake.is_simultaneous() {
        notes.push("both ends opened the connection at once (RFC 9293 §3.5, figure 7)".to_owned());
    }
    for stream in connection.all_streams() {
        let is_said_elsewhere = |why: &&Withdrawn| {
            use Withdrawn as W;
            !matches!(
                why,
                W::RateBelowGoodput
                    | W::LossesWithoutRepairs
                    | W::RetransmissionsUnseen
                    | W::RetransmissionsBeyondSegments
            )
        };
        let withdrawn = stream.withdrawn.iter();
        let withdrawn = withdrawn.filter(|why| !is_said_elsewhere(why));
        notes.extend(withdrawn.map(|why| format!("findings contradict each other: {}", why.why())));
    }
    notes.extend(ignored_resets(connection));
    notes.extend(silent_later(connection));
    notes
}

/// Returns a note on the data in a SYN, if the answer to the SYN does not acknowledge this data. If the SYN was
/// retransmitted, the server may never have received the data.
fn fast_open(connection: &ConnectionFindings) -> Option<String> {
    let handshake = &connection.handshake;
    let bytes = words::bytes(f64::from(handshake.fast_open_refused?));
    let syn = handshake.syns.opener.as_ref()?;
    Some(if syn.times > 1 {
        format!(
            "the answer to the SYN does not acknowledge the {bytes} in the SYN (TCP Fast Open, RFC 7413), and \
             they were retransmitted; the SYN was retransmitted, too: it or its answer was lost, or the answer arrived late"
        )
    } else {
        format!(
            "the server did not accept the {bytes} in the SYN (TCP Fast Open, RFC 7413): they were retransmitted, and nothing was \
             lost"
        )
    })
}
