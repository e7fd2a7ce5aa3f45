//! Log of the last events, for the analysis of a failure.

use std::collections::VecDeque;

use dupack_net::ids::FlowId;
use dupack_net::observer::{Happening, Observer, PacketEvent};
use dupack_net::packet::Body;
use dupack_tcp::Sender;
use dupack_tcp::sender::Transmit;
use dupack_tcp::time::Instant;

/// Maximum number of events in the log.
const EVENTS_KEPT: usize = 2_000;

/// `On` if events are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logging {
    On,
    Off,
}

/// Last events of a run.
#[derive(Debug)]
pub struct Log {
    logging: Logging,
    lines: VecDeque<String>,
}

impl Log {
    pub fn new(logging: Logging) -> Self {
        Self {
            logging,
            lines: VecDeque::new(),
        }
    }

    /// Prints all events in the log, one per line.
    pub fn print(&self) {
        for line in &self.lines {
            println!("{line}");
        }
    }

    fn note(&mut self, at: Instant, line: impl FnOnce() -> String) {
        if self.logging == Logging::Off {
            return;
        }
        if self.lines.len() == EVENTS_KEPT {
            self.lines.pop_front();
        }
        let line = format!("{:>14.6}  {}", at.as_secs_f64(), line());
        self.lines.push_back(line);
    }
}

impl Observer for Log {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        if matches!(
            event.what,
            Happening::Queued { .. } | Happening::Crossed { .. }
        ) {
            return;
        }
        let what = event.what;
        self.note(event.at, || match &event.packet.body {
            Body::Data(data) => {
                let end = data.offset + u64::from(data.segment.len);
                format!(
                    "data {}..{end} (order {}) {what:?}",
                    data.offset, data.order
                )
            }
            Body::Ack(ack) => {
                let blocks = ack.sacks.as_slice().iter();
                let blocks: Vec<_> = blocks.map(|b| (b.start.0, b.end.0)).collect();
                format!(
                    "\t\t\tack {} window {} {blocks:?} {what:?}",
                    ack.ack, ack.window
                )
            }
            Body::Udp | Body::Media { .. } | Body::Report(_) => format!("{what:?}"),
        });
    }

    fn transmission(&mut self, at: Instant, _: FlowId, transmit: &Transmit, _: &Sender) {
        self.note(at, || format!("{:?}, {:?}:", transmit.kind, transmit.why));
    }

    fn sender(&mut self, at: Instant, _: FlowId, sender: &Sender) {
        self.note(at, || {
            let board = sender.scoreboard();
            let window = sender.window();
            format!(
                "  = una {} nxt {} sacked {} edge {} cwnd {:.1} ssthresh {:.1} in flight {} \
                 rto at {:?} next {:?}",
                board.una(),
                board.nxt(),
                board.sacked_bytes(),
                sender.peer_edge(),
                window.cwnd,
                window.ssthresh,
                sender.in_flight(at),
                sender.rto_at().map(Instant::as_secs_f64),
                sender.next_timeout().map(Instant::as_secs_f64),
            )
        });
    }
}
