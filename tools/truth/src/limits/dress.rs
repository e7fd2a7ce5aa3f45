//! Packets of a simulated flow as each end would capture them, with real headers. The timestamp echo of a packet is a
//! timestamp that its sender has received.

use std::net::SocketAddr;

use dupack_packet::{CaptureTime, CaptureWriter, Checksum, Envelope, Snap, emit};
use dupack_tcp::connection::{Flags, Options, Segment, Timestamps};
use dupack_tcp::segment::{Ack, DataSegment, EcnEcho};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{ReceiverConfig, SenderConfig};

/// Initial sequence number of the receiver.
const RECEIVER_ISN: SeqNumber = SeqNumber(1_000_000);
/// Unit of the receiver's timestamps in nanoseconds: one millisecond.
const TICK_NANOS: u64 = 1_000_000;
/// Timestamp of the receiver at the start of the simulation.
const CLOCK_AT_ZERO: u64 = 1_000_000;
/// Time between the start of the capture and the start of the simulation. The handshake takes place during this time.
pub const LEAD: Duration = Duration::from_secs(10);
const SENDER_WINDOW: u16 = 65_535;

/// Builder of the packets of a flow.
pub struct Wardrobe {
    /// Addresses and ports of the sender and the receiver.
    ends: [SocketAddr; 2],
    sender: SenderConfig,
    receiver: ReceiverConfig,
    scale: u8,
    ids: [u16; 2],
    /// Latest TSval of the receiver that has reached the sender.
    echo: u32,
    /// Last window field of the receiver.
    window: u16,
}

fn ends() -> [SocketAddr; 2] {
    [
        ([192, 0, 2, 1], 50_000).into(),
        ([198, 51, 100, 1], 443).into(),
    ]
}

/// Returns the receiver's timestamp at a time.
pub fn clock(at: Instant) -> u32 {
    (at.as_nanos() / TICK_NANOS + CLOCK_AT_ZERO) as u32
}

impl Wardrobe {
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig) -> Self {
        let mut scale = 0;
        while scale < 14 && receiver.buffer >> scale > u32::from(u16::MAX) {
            scale += 1;
        }
        Self {
            ends: ends(),
            sender,
            receiver,
            scale,
            ids: [0; 2],
            echo: clock(Instant::ZERO),
            window: u16::try_from(receiver.buffer >> scale).unwrap_or(u16::MAX),
        }
    }

    /// Sets the addresses and ports of the sender and the receiver.
    #[must_use]
    pub fn between(mut self, ends: [SocketAddr; 2]) -> Self {
        self.ends = ends;
        self
    }

    fn packet(&mut self, from: usize, segment: &Segment) -> Vec<u8> {
        let ends = self.ends;
        self.ids[from] = self.ids[from].wrapping_add(1);
        let envelope = Envelope {
            source: ends[from],
            destination: ends[1 - from],
            identification: self.ids[from],
            checksum: Checksum::Full,
        };
        let mut buffer = vec![0; segment.len as usize + 100];
        let len = emit(&mut buffer, &envelope, segment, |_| {}).expect("a packet");
        buffer.truncate(len);
        buffer
    }

    /// Returns a data segment, with PSH if `pushed`.
    pub fn data(&mut self, sent: &DataSegment, pushed: bool) -> Vec<u8> {
        let segment = Segment {
            ack: Some(RECEIVER_ISN.at(1)),
            flags: if pushed { Flags::PSH } else { Flags::NONE },
            window: SENDER_WINDOW,
            options: Options {
                timestamps: sent.timestamp.map(|value| Timestamps {
                    value,
                    echo: self.echo,
                }),
                ..Options::NONE
            },
            len: sent.len,
            ..Segment::new(sent.seq)
        };
        self.packet(0, &segment)
    }

    /// Returns an ACK that is sent at `at`.
    pub fn ack(&mut self, at: Instant, ack: &Ack) -> Vec<u8> {
        self.window = u16::try_from(ack.window >> self.scale).unwrap_or(u16::MAX);
        let segment = Segment {
            ack: Some(ack.ack),
            flags: match ack.ecn {
                EcnEcho::Marked => Flags::ECE,
                _ => Flags::NONE,
            },
            window: self.window,
            options: Options {
                timestamps: ack.timestamp_echo.map(|echo| Timestamps {
                    value: clock(at),
                    echo,
                }),
                sacks: ack.sacks,
                ..Options::NONE
            },
            ..Segment::new(RECEIVER_ISN.at(1))
        };
        self.packet(1, &segment)
    }

    /// Records that an ACK that was sent at `left_at` has reached the sender.
    pub fn heard(&mut self, left_at: Instant) {
        self.echo = self.echo.max(clock(left_at));
    }

    /// Returns the packets of the handshake: SYN, SYN-ACK and ACK.
    pub fn handshake(&mut self) -> [Vec<u8>; 3] {
        let first = SeqNumber(self.sender.isn.0.wrapping_sub(1));
        let with_timestamps = self.sender.timestamps.is_some();
        let mss = self.sender.smss + if with_timestamps { 12 } else { 0 };
        let options = |echo, scale| Options {
            mss: u16::try_from(mss).ok(),
            window_scale: Some(scale),
            sack_permitted: self.receiver.sack,
            timestamps: with_timestamps.then_some(Timestamps {
                value: clock(Instant::ZERO),
                echo,
            }),
            ..Options::NONE
        };
        let syn = Segment {
            flags: Flags::SYN,
            window: SENDER_WINDOW,
            options: options(0, 7),
            ..Segment::new(first)
        };
        let answer = Segment {
            ack: Some(first.at(1)),
            flags: Flags::SYN,
            window: u16::try_from(self.receiver.buffer).unwrap_or(u16::MAX),
            options: options(clock(Instant::ZERO), self.scale),
            ..Segment::new(RECEIVER_ISN)
        };
        let last = Segment {
            ack: Some(RECEIVER_ISN.at(1)),
            window: SENDER_WINDOW,
            options: Options {
                timestamps: with_timestamps.then_some(Timestamps {
                    value: clock(Instant::ZERO),
                    echo: self.echo,
                }),
                ..Options::NONE
            },
            ..Segment::new(first.at(1))
        };
        [(0, syn), (1, answer), (0, last)].map(|(from, segment)| self.packet(from, &segment))
    }
}

/// The packets of one capture.
#[derive(Default)]
pub struct Film(Vec<(Instant, Vec<u8>)>);

impl Film {
    pub fn push(&mut self, at: Instant, packet: Vec<u8>) {
        self.0.push((at, packet));
    }

    /// Returns the capture as a file. `times` are the times of the handshake's packets.
    pub fn file(&self, handshake: &[Vec<u8>; 3], times: [Instant; 3]) -> Vec<u8> {
        let mut writer = CaptureWriter::new(Vec::new(), Snap::Headers).expect("memory");
        for (packet, at) in handshake.iter().zip(times) {
            writer.schedule(CaptureTime::from_simulation(at), packet.clone(), None);
        }
        for (at, packet) in &self.0 {
            let at = CaptureTime::from_simulation(*at + LEAD);
            writer.write(at, packet, None).expect("memory");
        }
        writer.finish().expect("memory")
    }
}
