//! A trace as a capture file, as if captured at the sender.

use std::io::Write;

use dupack_packet::{CaptureError, CaptureWriter, Endpoints, FlowCapture, FlowConfig, Snap};
use dupack_tcp::facts::SendReason;
use dupack_tcp::time::{Duration, Instant};

use super::{Event, Fate, Flow, Sent, Trace, What};

/// Duration of the handshake in the capture of a run without a round-trip sample.
const RTT_IF_UNKNOWN: Duration = Duration::from_millis(1);

/// Returns the capture in pcapng format. The comment of each segment gives the reason for its transmission and, if the
/// segment was lost, the cause.
///
/// # Errors
/// If a packet cannot be written, for example because it is longer than IP allows.
pub fn capture(trace: &Trace) -> Result<Vec<u8>, CaptureError> {
    let mut capture = Capture::new(Vec::new(), &trace.flow())?;
    let first = trace.sends().next().map(|(at, _)| at);
    let rtt = trace.states().find_map(|(_, state)| state.rtt);
    capture.handshake(first, rtt, &trace.stack)?;
    for event in &trace.events {
        capture.event(event)?;
    }
    capture.finish()
}

/// Writer of a capture, one event at a time.
#[derive(Debug)]
pub(super) struct Capture<W: Write> {
    writer: CaptureWriter<W>,
    flow: FlowCapture,
}

impl<W: Write> Capture<W> {
    pub fn new(out: W, flow: &Flow) -> Result<Self, CaptureError> {
        let Flow { sender, receiver } = flow;
        let mut config = FlowConfig::new(Endpoints::of_flow(0), sender.smss);
        config.first_byte = sender.isn;
        config.receiver_isn = dupack_tcp::seq::SeqNumber(1_000_000);
        config.largest_window = receiver.buffer;
        config.sack = receiver.sack;
        config.timestamp_tick = sender.timestamps.map(|clock| clock.tick);
        config.order_echo = receiver.order_echo;
        config.ecn = sender.ecn;
        Ok(Self {
            writer: CaptureWriter::new(out, Snap::Headers)?,
            flow: FlowCapture::new(config),
        })
    }

    /// Writes the handshake, which takes a round trip and ends when the first segment is sent. Must be called before
    /// any event.
    pub fn handshake(
        &mut self,
        first: Option<Instant>,
        rtt: Option<Duration>,
        stack: &str,
    ) -> Result<(), CaptureError> {
        let first = first.unwrap_or(Instant::ZERO);
        let rtt = rtt.unwrap_or(RTT_IF_UNKNOWN);
        self.flow
            .handshake(&mut self.writer, first, rtt, Some(stack))
    }

    pub fn event(&mut self, event: &Event) -> Result<(), CaptureError> {
        match &event.what {
            What::Sent(sent) => {
                let comment = comment(sent);
                self.flow.data(
                    &mut self.writer,
                    event.at,
                    &sent.segment,
                    sent.marking,
                    comment.as_deref(),
                )
            }
            What::AckArrived { ack, .. } => self.flow.ack(&mut self.writer, event.at, ack, None),
            _ => Ok(()),
        }
    }

    pub fn finish(self) -> Result<W, CaptureError> {
        self.writer.finish()
    }
}

/// Returns the comment of a segment. New data that arrives has no comment.
fn comment(sent: &Sent) -> Option<String> {
    match (sent.why, sent.fate) {
        (SendReason::NewData, Fate::Arrived | Fate::Open) => None,
        (why, Fate::Dropped(cause)) => Some(format!("{why}; lost in transit: {}", cause.name())),
        (why, _) => Some(why.to_string()),
    }
}
