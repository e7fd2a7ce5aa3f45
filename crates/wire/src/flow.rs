//! One simulated flow as a TCP connection in a capture.
//!
//! The endpoint exchanges data one way and acknowledgments the other, and starts established.
//! Analysers want more: a handshake that tells them the window scale and what was agreed on,
//! an acknowledgment number in data and a sequence number in ACKs, both halves of the
//! timestamps. [`FlowCapture`] makes these up, all else is what was exchanged.
//!
//! The capture stands for one taken at the sender: data at the time it is sent, ACKs at the
//! time they arrive.

use std::io::Write;

use dupack_tcp::segment::{Ack, DataSegment, SackBlocks};
use dupack_tcp::sender::Agreed;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::capture::{CaptureError, CaptureTime, CaptureWriter};
use crate::codec::{CodecError, Control, Direction, Endpoints, Packet, WireSegment};
use crate::options::{self, Options, Order, Timestamps};

/// The largest shift that may be agreed on (RFC 7323 §2.3).
const MAX_WINDOW_SCALE: u8 = 14;

/// The window that the sender advertises, in bytes: it never receives data.
const SENDER_WINDOW: u16 = u16::MAX;

/// Nanoseconds per tick of the receiver's clock: 1 ms (RFC 7323 §5.4).
const RECEIVER_TICK_NS: u64 = 1_000_000;

/// What a capture has to know of a flow beyond its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowConfig {
    /// Addresses and ports.
    pub endpoints: Endpoints,
    /// Sequence number of the first byte of data; the SYN has the one before. Where numbers
    /// wrap, tcptrace 6.6.7 takes ordinary SACK blocks for DSACKs; tshark does not.
    pub first_byte: SeqNumber,
    /// Sequence number of the receiver's SYN. Analysers do without 2³² − 1: tshark takes the
    /// acknowledgment number 0 that follows for none and sees a duplicate ACK in the handshake.
    pub receiver_isn: SeqNumber,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// The largest receive window ever advertised, in bytes. It decides the window scale.
    pub largest_window: u32,
    /// Whether SACK is permitted.
    pub sack: Agreed,
    /// Time between two values of the sender's timestamps, if the flow uses timestamps.
    pub timestamp_tick: Option<Duration>,
    /// Whether the flow carries and echoes the order of transmissions.
    pub order_echo: Agreed,
}

impl FlowConfig {
    /// The least window scale that can express the largest window; 14 if none can.
    #[must_use]
    pub const fn window_scale(&self) -> u8 {
        let mut scale = 0;
        while scale < MAX_WINDOW_SCALE && self.largest_window >> scale > u16::MAX as u32 {
            scale += 1;
        }
        scale
    }

    /// The maximum segment size that permits a payload of `mss`: it counts the options that
    /// every segment carries (RFC 6691 §2).
    fn mss_option(&self) -> u16 {
        let mut bytes = self.mss;
        if self.timestamp_tick.is_some() {
            bytes = bytes.saturating_add(u32::from(options::TIMESTAMPS_BYTES));
        }
        if self.order_echo.is_yes() {
            bytes = bytes.saturating_add(u32::from(options::ORDER_BYTES));
        }
        u16::try_from(bytes).unwrap_or(u16::MAX)
    }
}

/// Writes the packets of one flow to a capture that it may share with others.
///
/// Call [`handshake`](Self::handshake) first, then [`data`](Self::data) and
/// [`ack`](Self::ack) as segments are sent and ACKs arrive, then perhaps [`fin`](Self::fin).
#[derive(Clone, Debug)]
pub struct FlowCapture {
    config: FlowConfig,
    scale: u8,
    /// IPv4 identification of the next packet each way. All differ, as analysers take a
    /// repetition with the same identification for a copy that the network made.
    identification_to_receiver: u16,
    identification_to_sender: u16,
    /// The byte after the last that was sent.
    data_end: SeqNumber,
    /// TSval that the sender used last.
    sender_timestamp: u32,
    /// TSval that the receiver used last.
    receiver_timestamp: u32,
    /// Window field of the last ACK.
    window: u16,
}

impl FlowCapture {
    /// A flow of which nothing has been captured.
    #[must_use]
    pub fn new(config: FlowConfig) -> Self {
        let scale = config.window_scale();
        Self {
            scale,
            identification_to_receiver: 0,
            identification_to_sender: 0,
            data_end: config.first_byte,
            sender_timestamp: 0,
            receiver_timestamp: receiver_clock(CaptureTime::from_simulation(Instant::ZERO)),
            window: window_field(config.largest_window, scale),
            config,
        }
    }

    /// Schedules SYN, SYN-ACK and ACK: the SYN one `rtt` before `established`, the others at
    /// `established`, when data may flow. `comment` goes with the SYN: the place for the name of
    /// the flow.
    ///
    /// Call it before the capture gets to the SYN. Where flows start at different times, the
    /// simplest is to call it for all of them before anything else is written.
    ///
    /// # Errors
    ///
    /// None today: only a payload can be too long for a packet.
    pub fn handshake<W: Write>(
        &mut self,
        capture: &mut CaptureWriter<W>,
        established: Instant,
        rtt: Duration,
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        let end = CaptureTime::from_simulation(established);
        let start = end.before(rtt);
        // The sender's clock cannot be asked for a time before zero.
        self.sender_timestamp = self.sender_clock(established - rtt);
        let syn = self.syn(Control::Syn, self.sender_timestamp, 0)?;
        capture.schedule(start, syn, comment.map(str::to_owned));

        self.receiver_timestamp = receiver_clock(end);
        let syn_ack = self.syn(
            Control::SynAck,
            self.receiver_timestamp,
            self.sender_timestamp,
        )?;
        capture.schedule(end, syn_ack, None);

        self.sender_timestamp = self.sender_clock(established);
        let ack = self.empty(Direction::ToReceiver, Control::Ack, self.config.first_byte)?;
        capture.schedule(end, ack, None);
        Ok(())
    }

    /// Writes `segment`, sent at `at`. The comment says why it was sent, or what became of it.
    ///
    /// # Errors
    ///
    /// If the writer fails, the segment does not fit an IPv4 packet, or the capture has got
    /// past `at`.
    pub fn data<W: Write>(
        &mut self,
        capture: &mut CaptureWriter<W>,
        at: Instant,
        segment: &DataSegment,
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        let packet = self.data_packet(segment)?;
        capture.write(CaptureTime::from_simulation(at), &packet, comment)
    }

    /// Writes `ack`, received at `at`. A comment is added if the header has no room for all of
    /// its SACK blocks, which it holds three of beside timestamps and two if the order of
    /// transmissions is echoed as well.
    ///
    /// # Errors
    ///
    /// If the writer fails, or the capture has got past `at`.
    pub fn ack<W: Write>(
        &mut self,
        capture: &mut CaptureWriter<W>,
        at: Instant,
        ack: &Ack,
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        let at = CaptureTime::from_simulation(at);
        let packet = self.ack_packet(at, ack)?;
        let left_out = match packet.sacks_left_out() {
            0 => return capture.write(at, &packet, comment),
            1 => "no room for 1 more SACK block".to_owned(),
            n => format!("no room for {n} more SACK blocks"),
        };
        let comment = match comment {
            Some(comment) => format!("{comment}; {left_out}"),
            None => left_out,
        };
        capture.write(at, &packet, Some(&comment))
    }

    /// Schedules the end of a finished transfer: the sender's FIN at `at`, the receiver's
    /// FIN-ACK and the last ACK one `rtt` later. To be called at `at`, when all data has been
    /// acknowledged.
    ///
    /// # Errors
    ///
    /// None today: only a payload can be too long for a packet.
    pub fn fin<W: Write>(
        &mut self,
        capture: &mut CaptureWriter<W>,
        at: Instant,
        rtt: Duration,
    ) -> Result<(), CaptureError> {
        let fin_at = CaptureTime::from_simulation(at);
        let closed_at = fin_at.after(rtt);
        self.advance_sender_clock(at);
        let fin = self.empty(Direction::ToReceiver, Control::FinAck, self.data_end)?;
        capture.schedule(fin_at, fin, None);

        self.receiver_timestamp = later(self.receiver_timestamp, receiver_clock(closed_at));
        let answer = self.empty(Direction::ToSender, Control::FinAck, self.data_end.at(1))?;
        capture.schedule(closed_at, answer, None);

        self.advance_sender_clock(at + rtt);
        let last = WireSegment {
            // One past the receiver's FIN.
            ack: self.config.receiver_isn.at(2),
            ..self.segment(Direction::ToReceiver, Control::Ack, self.data_end.at(1))
        };
        let last = self.packet(Direction::ToReceiver, &last)?;
        capture.schedule(closed_at, last, None);
        Ok(())
    }

    fn data_packet(&mut self, segment: &DataSegment) -> Result<Packet, CodecError> {
        let end = segment.seq.at(u64::from(segment.len));
        self.data_end = SeqNumber(later(self.data_end.0, end.0));
        if let Some(value) = segment.timestamp {
            self.sender_timestamp = value;
        }
        let wire = WireSegment {
            options: Options {
                timestamps: segment.timestamp.map(|value| Timestamps {
                    value,
                    echo: self.receiver_timestamp,
                }),
                order: segment.order.map(Order::Sent),
                ..Options::NONE
            },
            payload_len: segment.len,
            ..self.segment(Direction::ToReceiver, Control::Ack, segment.seq)
        };
        self.packet(Direction::ToReceiver, &wire)
    }

    fn ack_packet(&mut self, at: CaptureTime, ack: &Ack) -> Result<Packet, CodecError> {
        self.window = window_field(ack.window, self.scale);
        if ack.timestamp_echo.is_some() {
            self.receiver_timestamp = later(self.receiver_timestamp, receiver_clock(at));
        }
        let wire = WireSegment {
            options: Options {
                timestamps: ack.timestamp_echo.map(|echo| Timestamps {
                    value: self.receiver_timestamp,
                    echo,
                }),
                order: ack.order_echo.map(Order::Echo),
                sacks: ack.sacks,
                ..Options::NONE
            },
            ..self.segment(Direction::ToSender, Control::Ack, ack.ack)
        };
        self.packet(Direction::ToSender, &wire)
    }

    /// A SYN or SYN-ACK. Its window is not scaled (RFC 7323 §2.2).
    fn syn(&mut self, control: Control, value: u32, echo: u32) -> Result<Packet, CodecError> {
        let sender_isn = SeqNumber(self.config.first_byte.0.wrapping_sub(1));
        let (direction, seq, window, scale) = match control {
            Control::SynAck => (
                Direction::ToSender,
                self.config.receiver_isn,
                window_field(self.config.largest_window, 0),
                self.scale,
            ),
            _ => (Direction::ToReceiver, sender_isn, SENDER_WINDOW, 0),
        };
        let segment = WireSegment {
            control,
            seq,
            ack: self.config.first_byte,
            window,
            options: Options {
                mss: Some(self.config.mss_option()),
                window_scale: Some(scale),
                sack_permitted: self.config.sack,
                timestamps: self
                    .config
                    .timestamp_tick
                    .map(|_| Timestamps { value, echo }),
                order: None,
                sacks: SackBlocks::NONE,
            },
            payload_len: 0,
        };
        self.packet(direction, &segment)
    }

    /// A packet without data. `number` is its sequence number on the way to the receiver, its
    /// acknowledgment number on the way back: the number on the data's side.
    fn empty(
        &mut self,
        direction: Direction,
        control: Control,
        number: SeqNumber,
    ) -> Result<Packet, CodecError> {
        let segment = self.segment(direction, control, number);
        self.packet(direction, &segment)
    }

    /// The segment behind [`empty`](Self::empty).
    fn segment(&self, direction: Direction, control: Control, number: SeqNumber) -> WireSegment {
        let (seq, ack, window, value, echo) = match direction {
            Direction::ToReceiver => (
                number,
                self.config.receiver_isn.at(1),
                SENDER_WINDOW,
                self.sender_timestamp,
                self.receiver_timestamp,
            ),
            Direction::ToSender => (
                self.config.receiver_isn.at(1),
                number,
                self.window,
                self.receiver_timestamp,
                self.sender_timestamp,
            ),
        };
        WireSegment {
            control,
            seq,
            ack,
            window,
            options: Options {
                timestamps: self
                    .config
                    .timestamp_tick
                    .map(|_| Timestamps { value, echo }),
                ..Options::NONE
            },
            payload_len: 0,
        }
    }

    fn packet(
        &mut self,
        direction: Direction,
        segment: &WireSegment,
    ) -> Result<Packet, CodecError> {
        let identification = match direction {
            Direction::ToReceiver => &mut self.identification_to_receiver,
            Direction::ToSender => &mut self.identification_to_sender,
        };
        *identification = identification.wrapping_add(1);
        Packet::build(
            self.config.endpoints.route(direction),
            *identification,
            segment,
        )
    }

    /// The sender's clock as the endpoint reads it: ticks since the simulation's origin.
    fn sender_clock(&self, at: Instant) -> u32 {
        let tick = self.config.timestamp_tick.unwrap_or(Duration::ZERO);
        (at.as_nanos() / tick.as_nanos().max(1)) as u32
    }

    fn advance_sender_clock(&mut self, at: Instant) {
        self.sender_timestamp = later(self.sender_timestamp, self.sender_clock(at));
    }
}

/// The window field for a window of `bytes`, rounded down; what it cannot express is cut.
fn window_field(bytes: u32, scale: u8) -> u16 {
    u16::try_from(bytes >> scale).unwrap_or(u16::MAX)
}

/// TSval of a packet of the receiver's that arrives `at`. The simulated receiver has no such
/// clock, and nobody but the analyser sees it: it may as well run half an RTT behind.
const fn receiver_clock(at: CaptureTime) -> u32 {
    (at.as_unix_nanos() / RECEIVER_TICK_NS) as u32
}

/// The later of two modular numbers less than half the space apart.
const fn later(a: u32, b: u32) -> u32 {
    if (b.wrapping_sub(a) as i32) > 0 { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(largest_window: u32) -> FlowConfig {
        FlowConfig {
            endpoints: Endpoints::of_flow(0),
            first_byte: SeqNumber(0),
            receiver_isn: SeqNumber(0),
            mss: 1460,
            largest_window,
            sack: Agreed::Yes,
            timestamp_tick: None,
            order_echo: Agreed::No,
        }
    }

    #[test]
    fn the_window_scale_is_the_least_that_can_express_the_largest_window() {
        for (window, scale, field) in [
            (0, 0, 0),
            (65_535, 0, 65_535),
            (65_536, 1, 32_768),
            (131_071, 1, 65_535),
            (131_072, 2, 32_768),
            (65_535 << 14, 14, 65_535),
            (u32::MAX, 14, 65_535),
        ] {
            assert_eq!(config(window).window_scale(), scale, "{window}");
            assert_eq!(window_field(window, scale), field, "{window}");
        }
    }

    #[test]
    fn the_maximum_segment_size_counts_the_options_of_every_segment() {
        let plain = config(0);
        assert_eq!(plain.mss_option(), 1460);
        let full = FlowConfig {
            mss: 1448,
            timestamp_tick: Some(Duration::from_millis(1)),
            ..plain
        };
        assert_eq!(full.mss_option(), 1460);
        let echoing = FlowConfig {
            order_echo: Agreed::Yes,
            ..full
        };
        assert_eq!(echoing.mss_option(), 1468);
        let jumbo = FlowConfig {
            mss: u32::MAX,
            ..echoing
        };
        assert_eq!(jumbo.mss_option(), u16::MAX);
    }

    #[test]
    fn no_two_flows_share_their_endpoints() {
        let mut seen = std::collections::HashSet::new();
        for index in 0..=u16::MAX {
            assert!(seen.insert(Endpoints::of_flow(index)), "{index}");
        }
    }
}
