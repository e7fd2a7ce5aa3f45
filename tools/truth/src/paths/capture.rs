//! Captures of a simulated flow, as taken at either end.
//!
//! A capture at the sender contains segments when they are sent and ACKs when they arrive. A capture at the receiver
//! contains segments when they arrive and ACKs when they are sent. The packets are the same in both captures: at either
//! end, a captured segment echoes the timestamp of the last ACK that the sender had received when it sent the segment.

use std::collections::HashMap;
use std::net::SocketAddr;

use dupack_lab::trace::{Sent, Trace, What};
use dupack_packet::emit::MAX_HEADER_BYTES;
use dupack_packet::{CaptureTime, CaptureWriter, Checksum, Endpoints, Envelope, Snap, emit};
use dupack_tcp::connection::{Flags, Options, Segment, Timestamps};
use dupack_tcp::segment::Ack;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

/// Time between the start of the capture's clock and the start of the simulation. The handshake takes place during this
/// time.
const BEFORE: Duration = Duration::from_secs(10);

/// Value of both timestamp clocks at the start of the simulation.
const CLOCK: u32 = 1_000_000;

/// Initial sequence number of the receiver.
const RECEIVER_ISN: SeqNumber = SeqNumber(5_000_000);

/// End at which a capture is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Sender,
    Receiver,
}

impl End {
    pub const BOTH: [Self; 2] = [Self::Sender, Self::Receiver];
}

/// Returns the capture at one end of `trace`. `rtt` is the round-trip time of its path without queues.
pub fn at(end: End, trace: &Trace, rtt: Duration) -> Vec<u8> {
    let mut taken = Taken::new(trace);
    taken.handshake(end, rtt);
    let mut packets: HashMap<u64, Vec<u8>> = HashMap::new();
    let mut stamps: HashMap<u64, u32> = HashMap::new();
    for event in &trace.events {
        let time = event.at + BEFORE;
        match &event.what {
            What::Sent(sent) => {
                let packet = taken.data(sent);
                if end == End::Sender {
                    taken.write(time, &packet);
                } else {
                    packets.insert(sent.order, packet);
                }
            }
            What::DataArrived { order, .. } if end == End::Receiver => {
                if let Some(packet) = packets.get(order) {
                    taken.write(time, packet);
                }
            }
            What::AckSent { number, ack } => {
                let stamp = CLOCK + (event.at.as_nanos() / 1_000_000) as u32;
                stamps.insert(*number, stamp);
                if end == End::Receiver {
                    let packet = taken.ack(ack, stamp);
                    taken.write(time, &packet);
                }
            }
            What::AckArrived { number, ack } => {
                let stamp = stamps.get(number).copied().unwrap_or(CLOCK);
                taken.heard = taken.heard.max(stamp);
                if end == End::Sender {
                    let packet = taken.ack(ack, stamp);
                    taken.write(time, &packet);
                }
            }
            _ => {}
        }
    }
    taken.writer.finish().expect("memory takes it")
}

struct Taken<'a> {
    trace: &'a Trace,
    writer: CaptureWriter<Vec<u8>>,
    sender: SocketAddr,
    receiver: SocketAddr,
    scale: u8,
    numbers: [u16; 2],
    /// Last timestamp of the receiver that has reached the sender.
    heard: u32,
}

impl<'a> Taken<'a> {
    fn new(trace: &'a Trace) -> Self {
        let Endpoints {
            sender, receiver, ..
        } = Endpoints::of_flow(0);
        let scale = (0..14).find(|scale| trace.receiver.buffer >> scale <= 65_535);
        Self {
            trace,
            writer: CaptureWriter::new(Vec::new(), Snap::Headers).expect("memory takes it"),
            sender,
            receiver,
            scale: scale.unwrap_or(14),
            numbers: [0; 2],
            heard: CLOCK,
        }
    }

    fn write(&mut self, at: Instant, packet: &[u8]) {
        let at = CaptureTime::from_simulation(at);
        self.writer
            .write(at, packet, None)
            .expect("memory takes it");
    }

    /// Writes the handshake as captured at `end`. The handshake ends before the simulation starts, so that data may
    /// follow immediately.
    fn handshake(&mut self, end: End, rtt: Duration) {
        let begin = Instant::ZERO + BEFORE;
        let half = rtt / 2;
        let isn = self.trace.sender.isn;
        let stamps = |value, echo| {
            let stamped = self.trace.sender.timestamps.is_some();
            stamped.then_some(Timestamps { value, echo })
        };
        let spent = (rtt.as_nanos() / 1_000_000) as u32;
        let agreement = |timestamps: Option<Timestamps>, scale| Options {
            mss: Some(self.trace.sender.smss as u16 + if timestamps.is_some() { 12 } else { 0 }),
            window_scale: Some(scale),
            sack_permitted: self.trace.receiver.sack,
            timestamps,
            ..Options::NONE
        };
        let syn = Segment {
            flags: Flags::SYN,
            window: u16::MAX,
            options: agreement(stamps(CLOCK - spent, 0), 0),
            ..Segment::new(SeqNumber(isn.0.wrapping_sub(1)))
        };
        let answer = Segment {
            ack: Some(isn),
            flags: Flags::SYN,
            window: u16::try_from(self.trace.receiver.buffer).unwrap_or(u16::MAX),
            options: agreement(stamps(CLOCK - spent / 2, CLOCK - spent), self.scale),
            ..Segment::new(RECEIVER_ISN)
        };
        self.heard = CLOCK - spent / 2;
        let last = Segment {
            ack: Some(RECEIVER_ISN.at(1)),
            window: u16::MAX,
            options: Options {
                timestamps: stamps(CLOCK, self.heard),
                ..Options::NONE
            },
            ..Segment::new(isn)
        };
        let times = match end {
            End::Sender => [begin - rtt, begin, begin],
            End::Receiver => [begin - half, begin - half, begin + half],
        };
        for ((segment, at), way) in [syn, answer, last].iter().zip(times).zip([0, 1, 0]) {
            let packet = self.packet(way, segment);
            let at = CaptureTime::from_simulation(at);
            self.writer.schedule(at, packet, None);
        }
    }

    fn data(&mut self, sent: &Sent) -> Vec<u8> {
        let mut segment = Segment::new(sent.segment.seq);
        segment.ack = Some(RECEIVER_ISN.at(1));
        segment.window = u16::MAX;
        segment.len = sent.segment.len;
        segment.options.timestamps = sent.segment.timestamp.map(|value| Timestamps {
            value: value.wrapping_add(CLOCK),
            echo: self.heard,
        });
        self.packet(0, &segment)
    }

    fn ack(&mut self, ack: &Ack, stamp: u32) -> Vec<u8> {
        let mut segment = Segment::new(RECEIVER_ISN.at(1));
        segment.ack = Some(ack.ack);
        segment.window = u16::try_from(ack.window >> self.scale).unwrap_or(u16::MAX);
        segment.options.sacks = ack.sacks;
        segment.options.timestamps = ack.timestamp_echo.map(|echo| Timestamps {
            value: stamp,
            echo: echo.wrapping_add(CLOCK),
        });
        self.packet(1, &segment)
    }

    /// Returns a packet to the receiver if `way` is 0, or to the sender if `way` is 1.
    fn packet(&mut self, way: usize, segment: &Segment) -> Vec<u8> {
        self.numbers[way] = self.numbers[way].wrapping_add(1);
        let ends = [self.sender, self.receiver];
        let envelope = Envelope {
            source: ends[way],
            destination: ends[1 - way],
            identification: self.numbers[way],
            checksum: Checksum::Full,
        };
        let mut packet = vec![0; MAX_HEADER_BYTES + segment.len as usize];
        let length = emit(&mut packet, &envelope, segment, |_| {}).expect("it has room");
        packet.truncate(length);
        packet
    }
}
