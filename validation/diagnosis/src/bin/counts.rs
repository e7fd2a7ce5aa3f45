//! Counts of the connections in a capture, in the format of `tcptrace -l`:
//!
//! ```text
//! cargo run --release --manifest-path validation/Cargo.toml --bin counts -- FILE
//! ```
//!
//! With `--events`, prints a line for every segment and every ACK, in their order at the sender. With any other second
//! argument, such as `--quiet`, prints nothing, so that the analysis can be timed.

use std::error::Error;
use std::fs::File;
use std::io::Write;

use dupack_diagnosis::{
    Analysis, Arrival, Beginning, Connection, Counts, Departure, Explained, Follower, Limits,
    Onlooker, Packet, Side, Stage, StreamId, Table, Timer,
};
use dupack_packet::captured::CaptureReader;

/// An observer that records nothing.
#[derive(Debug)]
struct Silent;

const NOTHING: Explained<'static> = Explained {
    stage: Stage::Open,
    repeat: None,
    retransmission: None,
    needless: None,
};

impl Follower for Silent {
    fn begin(_: &Beginning) -> Self {
        Self
    }

    fn departed(
        &mut self,
        departure: &Departure<'_>,
        onlooker: Option<&mut (dyn Analysis + '_)>,
    ) -> Timer {
        if let Some(onlooker) = onlooker {
            onlooker.departed(departure, &NOTHING);
        }
        Timer::Ran
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, onlooker: Option<&mut (dyn Analysis + '_)>) {
        if let Some(onlooker) = onlooker {
            onlooker.arrived(arrival, &NOTHING);
        }
    }
}

/// Observer that prints the events of each stream if `events` is `true`.
struct Printer {
    events: bool,
    stream: StreamId,
}

impl Onlooker for Printer {
    fn analysis(&mut self, stream: StreamId) -> Option<&mut (dyn Analysis + '_)> {
        self.stream = stream;
        self.events.then_some(self as &mut dyn Analysis)
    }
}

impl Printer {
    fn name(&self) -> String {
        let sender = match self.stream.sender {
            Side::Opener => ">",
            Side::Answerer => "<",
        };
        format!("{}{sender}", self.stream.connection)
    }
}

impl Analysis for Printer {
    fn departed(&mut self, departure: &Departure<'_>, _: &Explained<'_>) {
        let Departure {
            at,
            packet,
            start,
            end,
            kind,
            unseen_bytes,
            flags,
            window_left,
            ..
        } = departure;
        let bits = flags.bits();
        let left = window_left.map_or("?".to_owned(), |left| left.to_string());
        let unseen = if *unseen_bytes > 0 {
            format!(" unseen {unseen_bytes}")
        } else {
            String::new()
        };
        let flight = departure.view.flight_size();
        let name = self.name();
        println!(
            "{name} {at} #{packet} {start}..{end} {kind:?} flags {bits:#x} window left {left} flight {flight}{unseen}"
        );
    }

    fn arrived(&mut self, arrival: &Arrival<'_>, _: &Explained<'_>) {
        let Arrival {
            at,
            captured,
            packet,
            facts,
            window,
            ..
        } = arrival;
        let rtt = facts.rtt.map_or(String::new(), |rtt| format!(" rtt {rtt}"));
        let dsack = facts
            .dsack
            .map_or(String::new(), |(from, to)| format!(" dsack {from}..{to}"));
        let wait = at.since(*captured);
        let name = self.name();
        println!(
            "{name} {at} #{packet} ack {} {:?} acked {} sacked {} dup {} window {window:?} waited {wait}{rtt}{dsack}",
            facts.una, facts.kind, facts.acked_bytes, facts.sacked_bytes, facts.dup_acks
        );
    }
}

/// A row of the output: its name and its count.
type Row = (&'static str, fn(&Counts) -> u64);

/// The rows, in the words and the order of tcptrace.
const ROWS: &[Row] = &[
    ("total packets", |c| c.packets),
    ("ack pkts sent", |c| c.acks),
    ("pure acks sent", |c| c.pure_acks),
    ("sack pkts sent", |c| c.sacks),
    ("dsack pkts sent", |c| c.dsacks),
    ("max sack blks/ack", |c| c.sack_blocks_max),
    ("unique bytes sent", |c| c.unique_bytes),
    ("actual data pkts", |c| c.data_packets),
    ("actual data bytes", |c| c.data_bytes),
    ("rexmt data pkts", |c| c.retransmitted_packets),
    ("rexmt data bytes", |c| c.retransmitted_bytes),
    ("zwnd probe pkts", |c| c.window_probe_packets),
    ("zwnd probe bytes", |c| c.window_probe_bytes),
    ("outoforder pkts", |c| c.out_of_order_packets),
    ("pushed data pkts", |c| c.pushed_packets),
    ("SYN pkts sent", |c| c.syns),
    ("FIN pkts sent", |c| c.fins),
    ("urgent data pkts", |c| c.urgent_packets),
    ("max segm size", |c| u64::from(c.segment_max)),
    ("min segm size", |c| c.segment_min.unwrap_or(0).into()),
    ("max win adv", |c| c.window_max),
    ("min win adv", |c| c.window_min.unwrap_or(0)),
    ("zero win adv", |c| c.zero_windows),
    ("avg win adv", Counts::window_average),
    ("truncated packets", |c| c.truncated_packets),
    ("duplicate acks", |c| c.duplicate_acks),
    ("triple dupacks", |c| c.triple_duplicate_acks),
    ("copies", |c| c.copies),
];

fn print(connection: &Connection<Silent>, out: &mut impl Write) -> std::io::Result<()> {
    let [a, b] = Side::BOTH.map(|side| connection.address(side));
    writeln!(out, "TCP connection {}: {a} {b}", connection.number())?;
    for side in Side::BOTH {
        let vantage = connection.vantage(side);
        let Some(stream) = connection.stream(side) else {
            continue;
        };
        let delay = stream.delay();
        let astray = stream.astray();
        writeln!(
            out,
            "  data of the {side:?}: {vantage:?}, delay {delay}, {astray:?}"
        )?;
    }
    for (name, of) in ROWS {
        // Duplicate ACKs are sent by the receiver, but tcptrace counts them at the sender of the acknowledged data.
        let swapped = name.contains("dup");
        let [a, b] = Side::BOTH.map(|side| if swapped { side.other() } else { side });
        let [a, b] = [a, b].map(|side| of(connection.counts(side)));
        writeln!(out, "     {name:20} {a:12} {b:12}")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name a capture")?;
    let how = arguments.next().unwrap_or_default();
    let mut printer = Printer {
        events: how == "--events",
        stream: StreamId {
            connection: 0,
            sender: Side::Opener,
        },
    };
    let mut reader = CaptureReader::new(File::open(path)?)?;
    let mut table = Table::<Silent>::new(Limits::default());
    let mut first = None;
    let mut out = std::io::stdout().lock();
    while let Some(captured) = reader.next_packet()? {
        let Ok(packet) = captured.tcp() else { continue };
        let first = *first.get_or_insert(packet.at);
        table.take(&Packet::new(&packet, first), &mut printer);
        while let Some(connection) = table.take_finished() {
            if how.is_empty() {
                print(&connection, &mut out)?;
            }
        }
    }
    let rest = table.finish(&mut printer);
    for connection in &rest {
        if how.is_empty() {
            print(connection, &mut out)?;
        }
    }
    Ok(())
}
