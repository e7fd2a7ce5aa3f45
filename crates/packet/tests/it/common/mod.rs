//! Two flows that together contain everything that a capture can show: losses, limited transmit, retransmissions, SACK,
//! DSACK, timestamps, and an echoed order. The sender is scripted, and the receiver is the real one.

use dupack_packet::{CaptureWriter, Endpoints, FlowCapture, FlowConfig, Marking, Snap};
use dupack_tcp::options::{Dsack, OrderEcho, Sack};
use dupack_tcp::receiver::{AckPolicy, Reading, TimestampEcho};
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{Receiver, ReceiverConfig};

/// Round-trip time of both flows; each direction takes half of it.
pub const RTT: Duration = Duration::from_millis(100);
/// Receive buffer of both flows in bytes.
pub const BUFFER: u32 = 1_000_000;

/// Fate of a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    Dropped,
}

/// One transmission of the script: time in ms, segment, reason, and fate.
pub type Send = (u64, u64, &'static str, Fate);

/// Packet that passes the capture point at the sender.
#[derive(Clone, Copy)]
pub enum Passing {
    Data(DataSegment, &'static str),
    Ack(Ack),
}

use Fate::{Arrives, Dropped};

/// Segments 2 and 4 of 12 are lost; the losses are detected by three duplicate ACKs and by SACK. Segment 7 is
/// retransmitted spuriously.
pub const TIMESTAMPS_SCRIPT: &[Send] = &[
    (0, 0, "new data", Arrives),
    (1, 1, "new data", Arrives),
    (2, 2, "new data; dropped: queue full", Dropped),
    (3, 3, "new data", Arrives),
    (4, 4, "new data; dropped: random loss", Dropped),
    (5, 5, "new data", Arrives),
    (6, 6, "new data", Arrives),
    (7, 7, "new data", Arrives),
    (103, 8, "limited transmit", Arrives),
    (105, 9, "limited transmit", Arrives),
    (106, 2, "retransmission: 3 duplicate ACKs", Arrives),
    (107, 4, "retransmission: 3 segments sacked above", Arrives),
    (205, 7, "retransmission: timeout", Arrives),
    (250, 10, "new data", Arrives),
    (251, 11, "new data", Arrives),
];

/// Every second segment of 8 is lost, so there are more holes than SACK blocks fit into the header.
pub const ORDER_SCRIPT: &[Send] = &[
    (300, 0, "new data", Arrives),
    (301, 1, "new data", Dropped),
    (302, 2, "new data", Arrives),
    (303, 3, "new data", Dropped),
    (304, 4, "new data", Arrives),
    (305, 5, "new data", Dropped),
    (306, 6, "new data", Arrives),
    (307, 7, "new data", Dropped),
    (308, 8, "new data", Arrives),
    (407, 1, "retransmission: transmission order", Arrives),
    (408, 3, "retransmission: transmission order", Arrives),
    (409, 5, "retransmission: transmission order", Arrives),
    (410, 7, "retransmission: transmission order", Arrives),
];

/// Returns the flow with timestamps.
pub fn timestamps_flow() -> FlowConfig {
    let mut flow = FlowConfig::new(Endpoints::of_flow(0), 1448);
    flow.first_byte = SeqNumber(1_000_001);
    flow.receiver_isn = SeqNumber(5_000_000);
    flow.largest_window = BUFFER;
    flow.sack = Sack::Permitted;
    flow.timestamp_tick = Some(Duration::from_millis(1));
    flow
}

/// Returns the flow with an echoed order.
pub fn order_flow() -> FlowConfig {
    let mut flow = FlowConfig::new(Endpoints::of_flow(1), 1452);
    flow.first_byte = SeqNumber(3000);
    flow.receiver_isn = SeqNumber(7_000_000);
    flow.largest_window = BUFFER;
    flow.sack = Sack::Permitted;
    flow.order_echo = OrderEcho::Carried;
    flow
}

/// Returns the packets that pass the sender, in the order of time.
pub fn run(flow: &FlowConfig, script: &[Send]) -> Vec<(Instant, Passing)> {
    let mut config = ReceiverConfig::new(flow.mss);
    config.irs = flow.first_byte;
    config.buffer = BUFFER;
    config.ack_policy = AckPolicy::Immediate;
    config.sack = flow.sack;
    config.dsack = Dsack::Reported;
    config.timestamps = flow.timestamp_tick.map(|_| TimestampEcho::Standard);
    config.order_echo = flow.order_echo;
    config.application = Reading::AtOnce;
    let mut receiver = Receiver::new(config);
    let mut passing = Vec::new();
    for (order, &(at_ms, index, why, fate)) in (1..).zip(script) {
        let at = Instant::from_nanos(at_ms * 1_000_000);
        let segment = DataSegment {
            seq: flow.first_byte.at(index * u64::from(flow.mss)),
            len: flow.mss,
            timestamp: flow.timestamp_tick.map(|_| at_ms as u32),
            order: flow.order_echo.is_on().then_some(order),
        };
        passing.push((at, Passing::Data(segment, why)));
        if fate == Dropped {
            continue;
        }
        receiver.handle_data(at + RTT / 2, &segment);
        while let Some(ack) = receiver.poll_ack() {
            passing.push((at + RTT, Passing::Ack(ack)));
        }
    }
    passing.sort_by_key(|&(at, _)| at);
    passing
}

/// Returns a capture of both flows. The first flow is opened and closed; the second is only opened.
pub fn capture(snap: Snap) -> Vec<u8> {
    capture_of(snap, timestamps_flow(), order_flow())
}

/// Returns the same capture with other parameters of the flows.
pub fn capture_of(snap: Snap, first: FlowConfig, second: FlowConfig) -> Vec<u8> {
    let mut all: Vec<(Instant, usize, Passing)> = Vec::new();
    for (flow, (config, script)) in [(first, TIMESTAMPS_SCRIPT), (second, ORDER_SCRIPT)]
        .iter()
        .enumerate()
    {
        let passing = run(config, script).into_iter();
        all.extend(passing.map(|(at, passing)| (at, flow, passing)));
    }
    all.sort_by_key(|&(at, _, _)| at);

    let mut capture = CaptureWriter::new(Vec::new(), snap).expect("a Vec takes everything");
    let mut flows = [FlowCapture::new(first), FlowCapture::new(second)];
    for (flow, start_ms, name) in [(0, 0, "flow 1: sack/reno"), (1, 300, "flow 2: le/westwood")] {
        let start = Instant::from_nanos(start_ms * 1_000_000);
        flows[flow]
            .handshake(&mut capture, start, RTT, Some(name))
            .expect("a handshake fits");
    }
    for (at, flow, passing) in all {
        match passing {
            Passing::Data(segment, why) => {
                flows[flow].data(&mut capture, at, &segment, Marking::default(), Some(why))
            }
            Passing::Ack(ack) => flows[flow].ack(&mut capture, at, &ack, None),
        }
        .expect("in order, and small enough");
    }
    flows[0]
        .fin(&mut capture, Instant::from_nanos(520_000_000), RTT)
        .expect("a FIN fits");
    capture.finish().expect("all in order")
}
