//! A trace as a capture file, as if taken at the sender.

use dupack_tcp::facts::SendReason;
use dupack_tcp::time::{Duration, Instant};
use dupack_wire::{CaptureError, CaptureWriter, Endpoints, FlowCapture, FlowConfig, Snap};

use super::{Fate, Sent, Trace, What};

/// The capture in pcapng, every segment with a comment that says why it was sent and, if it was
/// lost, that and why.
///
/// # Errors
/// If a packet cannot be written, such as one longer than IP allows.
pub fn capture(trace: &Trace) -> Result<Vec<u8>, CaptureError> {
    let mut writer = CaptureWriter::new(Vec::new(), Snap::Headers)?;
    let mut flow = FlowCapture::new(FlowConfig {
        endpoints: Endpoints::of_flow(0),
        first_byte: trace.sender.isn,
        receiver_isn: dupack_tcp::seq::SeqNumber(1_000_000),
        mss: trace.sender.smss,
        largest_window: trace.receiver.buffer,
        sack: trace.receiver.sack,
        timestamp_tick: trace.sender.timestamps.map(|clock| clock.tick),
        order_echo: trace.receiver.order_echo,
    });
    let first = trace.sends().next().map_or(Instant::ZERO, |(at, _)| at);
    let rtt = trace
        .states()
        .find_map(|(_, state)| state.rtt)
        .unwrap_or(Duration::from_millis(1));
    flow.handshake(&mut writer, first, rtt, Some(&trace.stack))?;
    for event in &trace.events {
        match &event.what {
            What::Sent(sent) => {
                flow.data(
                    &mut writer,
                    event.at,
                    &sent.segment,
                    comment(sent).as_deref(),
                )?;
            }
            What::AckArrived(ack) => flow.ack(&mut writer, event.at, ack, None)?,
            _ => {}
        }
    }
    writer.finish()
}

/// New data that arrives needs no comment.
fn comment(sent: &Sent) -> Option<String> {
    match (sent.why, sent.fate) {
        (SendReason::NewData, Fate::Arrived | Fate::Open) => None,
        (why, Fate::Dropped(cause)) => Some(format!("{why}; lost on the way: {}", cause.name())),
        (why, _) => Some(why.to_string()),
    }
}
