//! Helpers for tests of event sequences: a capture is a list of packets, and the events of a stream's follower are a
//! list of lines.

use std::fmt::Write;

use dupack_lab::trace;
use dupack_packet::captured::CaptureReader;
use dupack_tcp::facts::AckKind;
use dupack_tcp::replay::SendingKind;
use dupack_tcp::time::Instant;
use dupack_truth::paths::judge::run;

use crate::diagnose;
use crate::findings::{ConnectionFindings, Flow};
use crate::read::connection::Connection;
use crate::read::follow::{Beginning, Follower, Nobody, Timer};
use crate::read::moment::{Analysis, Arrival, Departure};
use crate::read::packet::Packet;
use crate::read::packet::tests::from;
use crate::read::side::Side;
use crate::read::table::{Limits, Table};

/// Follower that records its events.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) beginning: Beginning,
    pub(crate) lines: Vec<String>,
    /// Time of the last event in milliseconds. A retransmission at least [`TIMER_MS`] after it counts as sent by a
    /// timer.
    last_ms: f64,
}

/// Minimum time in milliseconds without events before a retransmission by a timer, according to the recorder.
const TIMER_MS: f64 = 200.0;

/// Converts to milliseconds, rounded down to a microsecond.
fn in_ms(at: Instant) -> f64 {
    (at.as_nanos() / 1000) as f64 / 1e3
}

impl Follower for Recorder {
    fn begin(beginning: &Beginning) -> Self {
        Self {
            beginning: *beginning,
            lines: Vec::new(),
            last_ms: 0.0,
        }
    }

    fn departed(
        &mut self,
        departure: &Departure<'_>,
        _: Option<&mut (dyn Analysis + '_)>,
    ) -> Timer {
        let at = in_ms(departure.at);
        let (start, end) = (departure.start, departure.end);
        let kind = match departure.kind {
            SendingKind::First => "",
            SendingKind::Repeat => " again",
            SendingKind::Both => " again and new",
            SendingKind::Acknowledged => " acknowledged before",
            _ => " empty",
        };
        let mut line = format!("{at}: #{} {start}..{end}{kind}", departure.packet);
        if departure.unseen_bytes > 0 {
            let _ = write!(line, ", {} unseen", departure.unseen_bytes);
        }
        self.lines.push(line);
        let silent = at - self.last_ms >= TIMER_MS;
        self.last_ms = at;
        if silent && departure.kind == SendingKind::Repeat {
            Timer::Expired
        } else {
            Timer::Ran
        }
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, _: Option<&mut (dyn Analysis + '_)>) {
        let at = in_ms(arrival.at);
        let facts = &arrival.facts;
        let kind = match facts.kind {
            AckKind::Advance => String::new(),
            AckKind::Duplicate => format!(" duplicate {}", facts.dup_acks),
            AckKind::Other => " old".to_owned(),
        };
        let mut line = format!("{at}: #{} ack {}{kind}", arrival.packet, facts.una);
        if facts.sacked_bytes > 0 {
            let _ = write!(line, ", {} sacked", facts.sacked_bytes);
        }
        self.lines.push(line);
        self.last_ms = at;
    }
}

/// Returns a capture, in which the packets are numbered in their order.
pub(crate) fn capture(packets: impl IntoIterator<Item = Packet>) -> Vec<Packet> {
    let numbered = |(n, packet): (u64, Packet)| packet.numbered(n);
    (1..).zip(packets).map(numbered).collect()
}

/// Returns all connections of a capture.
pub(crate) fn connections(packets: &[Packet]) -> Vec<Connection<Recorder>> {
    let mut table = Table::new(Limits::default());
    let mut all: Vec<Connection<Recorder>> = Vec::new();
    for packet in packets {
        table.take(packet, &mut Nobody);
        all.extend(std::iter::from_fn(|| table.take_finished()));
    }
    all.extend(table.finish(&mut Nobody));
    all.sort_by_key(Connection::number);
    all
}

/// Returns the events of the follower of `sender`'s data, in the capture's first connection.
pub(crate) fn told(packets: &[Packet], sender: Side) -> Vec<String> {
    let all = connections(packets);
    let stream = all.first().and_then(|connection| connection.stream(sender));
    stream.map_or(Vec::new(), |stream| stream.follower().lines.clone())
}

/// Returns a handshake with an MSS of 1000 and SACK, and with initial sequence numbers of 0. The answer is captured
/// `there` ms after the SYN, and the ACK `back` ms after the answer.
pub(crate) fn handshake(there: f64, back: f64) -> [Packet; 3] {
    let permitted = |mut packet: Packet| {
        packet.segment.options.sack_permitted = dupack_tcp::options::Sack::Permitted;
        packet.segment.options.window_scale = Some(0);
        packet.syn(1000)
    };
    [
        permitted(from(Side::Opener, 0.0, 0)),
        permitted(from(Side::Answerer, there, 0)),
        from(Side::Opener, there + back, 1),
    ]
}

/// Returns a data packet from the opener with `len` bytes that begin at offset `start`.
pub(crate) fn data(at: f64, start: u32, len: u32) -> Packet {
    from(Side::Opener, at, start + 1).len(len)
}

/// Returns an ACK from the answerer of all bytes before offset `ack`.
pub(crate) fn ack(at: f64, ack: u32) -> Packet {
    from(Side::Answerer, at, 1).ack(ack + 1)
}

/// Returns the findings about a transfer of 2 MB over a path with 10 Mbit/s, 40 ms and some losses, captured at its
/// sender.
pub(crate) fn transfer() -> ConnectionFindings {
    let text = "stacks = [\"rack/cubic\"]\nseeds = 1\nduration = \"60s\"\ndialect = \"linux\"\n\
                [path]\nrate = \"10Mbit/s\"\ndelay = \"20ms\"\nbuffer = \"60pkt\"\nloss = \"1%\"\n\
                [[flows]]\nbytes = \"2MB\"\n";
    let recorded = run(text, 1);
    let file = trace::capture(&recorded).unwrap();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let mut all = diagnose(&mut reader, Flow::All, &mut ()).unwrap();
    all.connections.remove(0)
}
