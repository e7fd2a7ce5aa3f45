//! Simulated flow as a TCP connection in a capture.
//!
//! A simulated flow sends data in one direction and acknowledgments in the other, and its connection is established
//! from the start. Analysers need more: a handshake with the window scale and the negotiated options, acknowledgment
//! numbers in data, sequence numbers in ACKs, and both halves of the timestamps. [`FlowCapture`] generates these;
//! everything else comes from the simulation.
//!
//! The capture corresponds to one taken at the sender: data has the time of its transmission, and ACKs have the time of
//! their arrival.

use std::io::Write;
use std::net::SocketAddr;

use dupack_tcp::connection::{self, Flags, Segment};
use dupack_tcp::options::{Ecn, OrderEcho, Sack};
use dupack_tcp::segment::{Ack, Bit, Codepoint, DataSegment, EcnEcho};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::capture::{CaptureError, CaptureTime, CaptureWriter};
use crate::emit::{Checksum, EmitError, Envelope, MAX_HEADER_BYTES, emit_with_order};
use crate::options::{self, Options, Order, Timestamps};

/// Maximum window scale (RFC 7323 §2.3).
const MAX_WINDOW_SCALE: u8 = 14;

/// Window in bytes that the sender advertises. The sender never receives data.
const SENDER_WINDOW: u16 = u16::MAX;

/// Nanoseconds per tick of the receiver's clock: 1 ms (RFC 7323 §5.4).
const RECEIVER_TICK_NS: u64 = 1_000_000;

/// ACE field before any marked packet has arrived (RFC 9768 §3.2.1).
const NONE_MARKED: Flags = Flags::of_ace(5);

/// Flags of the answer to a SYN or SYN-ACK that arrived unchanged, that is, not ECN-capable (RFC 9768 §3.1.1, Table 2).
const SYN_CAME_UNMARKED: Flags = Flags::of_ace(0b010);

/// Direction of a packet on a connection with data in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the sender of the data to its receiver.
    ToReceiver,
    /// From the receiver of the data to its sender.
    ToSender,
}

/// Addresses and ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// Sender of the data: IPv4 or IPv6.
    pub sender: SocketAddr,
    /// Receiver of the data, of the same family.
    pub receiver: SocketAddr,
}

impl Endpoints {
    /// Creates the endpoints of flow number `index`, counted from 0: two hosts from the documentation ranges
    /// 192.0.2.0/24 and 198.51.100.0/24 (RFC 5737), which are different for each of the first 254 flows, and dynamic
    /// ports for which no dissector is registered. No two flows have the same endpoints.
    #[must_use]
    pub fn of_flow(index: u16) -> Self {
        // The number is at most 254, so the cast is exact; `round` is at most 258.
        let host = (index % 254 + 1) as u8;
        let round = index / 254;
        Self {
            sender: SocketAddr::from(([192, 0, 2, host], 50_000 + round)),
            receiver: SocketAddr::from(([198, 51, 100, host], 60_000)),
        }
    }

    /// Returns the source and the destination of a packet in `direction`.
    const fn of(&self, direction: Direction) -> (SocketAddr, SocketAddr) {
        match direction {
            Direction::ToReceiver => (self.sender, self.receiver),
            Direction::ToSender => (self.receiver, self.sender),
        }
    }
}

/// Properties of a flow that a capture needs in addition to the flow's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowConfig {
    /// Addresses and ports.
    pub endpoints: Endpoints,
    /// Sequence number of the first byte of data. The SYN has the previous number. If sequence numbers wrap, tcptrace
    /// 6.6.7 mistakes ordinary SACK blocks for DSACKs; tshark does not.
    pub first_byte: SeqNumber,
    /// Sequence number of the receiver's SYN. 2³² − 1 should be avoided: tshark treats the following acknowledgment
    /// number 0 as missing and sees a duplicate ACK in the handshake.
    pub receiver_isn: SeqNumber,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Maximum receive window that is ever advertised, in bytes. It determines the window scale.
    pub largest_window: u32,
    /// Permission to use SACK.
    pub sack: Sack,
    /// Time between two values of the sender's timestamps, if the flow uses timestamps.
    pub timestamp_tick: Option<Duration>,
    /// Use of the transmission order, which segments carry and ACKs echo.
    pub order_echo: OrderEcho,
    /// Explicit congestion notification that the handshake negotiates.
    pub ecn: Ecn,
}

/// Congestion information of a data packet that is not part of its segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// ECN field of the packet's IP header.
    pub field: Codepoint,
    /// CWR flag.
    pub cwr: Bit,
}

impl FlowConfig {
    /// Creates a flow with segments of `mss` bytes, without options, and with a window of at most 64 KiB. The data of
    /// both endpoints begins with sequence number 1, and their SYNs have number 0.
    #[must_use]
    pub const fn new(endpoints: Endpoints, mss: u32) -> Self {
        Self {
            endpoints,
            first_byte: SeqNumber(1),
            receiver_isn: SeqNumber(0),
            mss,
            largest_window: 65_535,
            sack: Sack::Absent,
            timestamp_tick: None,
            order_echo: OrderEcho::Absent,
            ecn: Ecn::Absent,
        }
    }

    /// Returns the smallest window scale that can express the largest window; 14 if none can.
    #[must_use]
    pub const fn window_scale(&self) -> u8 {
        let mut scale = 0;
        while scale < MAX_WINDOW_SCALE && self.largest_window >> scale > u16::MAX as u32 {
            scale += 1;
        }
        scale
    }

    /// Returns the maximum segment size that allows a payload of `mss` bytes. It includes the options that every
    /// segment carries (RFC 6691 §2).
    fn mss_option(&self) -> u16 {
        let mut bytes = self.mss;
        if self.timestamp_tick.is_some() {
            bytes = bytes.saturating_add(u32::from(options::TIMESTAMPS_BYTES));
        }
        if self.order_echo.is_on() {
            bytes = bytes.saturating_add(u32::from(options::ORDER_BYTES));
        }
        u16::try_from(bytes).unwrap_or(u16::MAX)
    }
}

/// Writes the packets of one flow to a capture, which several flows may share.
///
/// [`handshake`](Self::handshake) must be called first, then [`data`](Self::data) and [`ack`](Self::ack) as segments
/// are sent and ACKs arrive, and optionally [`fin`](Self::fin).
#[derive(Clone, Debug)]
pub struct FlowCapture {
    config: FlowConfig,
    scale: u8,
    /// IPv4 identification of the last packet in each direction. Each packet of a direction has a different one,
    /// because analysers treat a repetition with the same identification as a duplicate made by the network.
    identification_to_receiver: u16,
    identification_to_sender: u16,
    /// Sequence number after the last byte that was sent.
    data_end: SeqNumber,
    /// Last TSval of the sender.
    sender_timestamp: u32,
    /// Last TSval of the receiver.
    receiver_timestamp: u32,
    /// Window field of the last ACK.
    window: u16,
    /// ECN echo of the last ACK.
    echo: Flags,
}

impl FlowCapture {
    /// Creates a flow without captured packets.
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
            echo: match config.ecn {
                Ecn::Accurate => NONE_MARKED,
                Ecn::Classic | Ecn::Absent => Flags::NONE,
            },
            config,
        }
    }

    /// Schedules SYN, SYN-ACK and ACK: the SYN one `rtt` before `established`, and the others at `established`, when
    /// data may be sent. `comment` is stored with the SYN, and usually contains the name of the flow.
    ///
    /// This method must be called before the capture reaches the time of the SYN. If flows start at different times, it
    /// must be called for all of them before any other packet is written.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoints are of different families.
    pub fn handshake<W: Write>(
        &mut self,
        capture: &mut CaptureWriter<W>,
        established: Instant,
        rtt: Duration,
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        let end = CaptureTime::from_simulation(established);
        let start = end.before(rtt);
        // The sender's clock has no times before zero.
        self.sender_timestamp = self.sender_clock(established - rtt);
        let syn = self.syn(self.sender_timestamp)?;
        capture.schedule(start, syn, comment.map(str::to_owned));

        self.receiver_timestamp = receiver_clock(end);
        let syn_ack = self.syn_ack(self.receiver_timestamp, self.sender_timestamp)?;
        capture.schedule(end, syn_ack, None);

        self.sender_timestamp = self.sender_clock(established);
        let mut ack = self.segment(Direction::ToReceiver, self.config.first_byte);
        if self.config.ecn == Ecn::Accurate {
            ack.flags = SYN_CAME_UNMARKED;
        }
        let ack = self.packet(Direction::ToReceiver, &ack, None)?;
        capture.schedule(end, ack, None);
        Ok(())
    }

    /// Writes `segment`, which was sent at `at` with `marking`. The comment gives the reason for the transmission, or
    /// the segment's fate.
    ///
    /// # Errors
    ///
    /// Returns an error if the writer fails, if the segment does not fit into an IP packet, or if the capture has
    /// passed `at`.
    pub fn data<W: Write>(
        &mut self,
        capture: &mut CaptureWriter<W>,
        at: Instant,
        segment: &DataSegment,
        marking: Marking,
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        let packet = self.data_packet(segment, marking)?;
        capture.write(CaptureTime::from_simulation(at), &packet, comment)
    }

    /// Writes `ack`, which was received at `at`. Adds a comment if not all SACK blocks fit into the header. With
    /// timestamps, three blocks fit; if the order of transmissions is echoed as well, two fit.
    ///
    /// # Errors
    ///
    /// Returns an error if the writer fails, or if the capture has passed `at`.
    pub fn ack<W: Write>(
        &mut self,
        capture: &mut CaptureWriter<W>,
        at: Instant,
        ack: &Ack,
        comment: Option<&str>,
    ) -> Result<(), CaptureError> {
        let at = CaptureTime::from_simulation(at);
        let (packet, left_out) = self.ack_packet(at, ack)?;
        let left_out = match left_out {
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

    /// Schedules the end of a finished transfer: the sender's FIN at `at`, and the receiver's FIN-ACK and the last ACK
    /// one `rtt` later. This method must be called at `at`, when all data has been acknowledged.
    ///
    /// # Errors
    ///
    /// Returns an error if the endpoints are of different families.
    pub fn fin<W: Write>(
        &mut self,
        capture: &mut CaptureWriter<W>,
        at: Instant,
        rtt: Duration,
    ) -> Result<(), CaptureError> {
        let fin_at = CaptureTime::from_simulation(at);
        let closed_at = fin_at.after(rtt);
        self.advance_sender_clock(at);
        let fin = self.empty(Direction::ToReceiver, Flags::FIN, self.data_end)?;
        capture.schedule(fin_at, fin, None);

        self.receiver_timestamp = later(self.receiver_timestamp, receiver_clock(closed_at));
        let answer = self.empty(Direction::ToSender, Flags::FIN, self.data_end.at(1))?;
        capture.schedule(closed_at, answer, None);

        self.advance_sender_clock(at + rtt);
        let last = Segment {
            // This is the number after the receiver's FIN.
            ack: Some(self.config.receiver_isn.at(2)),
            ..self.segment(Direction::ToReceiver, self.data_end.at(1))
        };
        let last = self.packet(Direction::ToReceiver, &last, None)?;
        capture.schedule(closed_at, last, None);
        Ok(())
    }

    fn data_packet(&mut self, sent: &DataSegment, marking: Marking) -> Result<Vec<u8>, EmitError> {
        let end = sent.seq.at(u64::from(sent.len));
        self.data_end = SeqNumber(later(self.data_end.0, end.0));
        if let Some(value) = sent.timestamp {
            self.sender_timestamp = value;
        }
        let mut segment = self.segment(Direction::ToReceiver, sent.seq);
        segment.len = sent.len;
        segment.ecn = marking.field;
        if marking.cwr.is_set() {
            segment.flags = segment.flags.with(Flags::CWR);
        }
        segment.options.timestamps = sent.timestamp.map(|value| Timestamps {
            value,
            echo: self.receiver_timestamp,
        });
        let order = sent.order.map(Order::Sent);
        self.packet(Direction::ToReceiver, &segment, order)
    }

    /// Returns the packet, and the number of SACK blocks that do not fit.
    fn ack_packet(&mut self, at: CaptureTime, ack: &Ack) -> Result<(Vec<u8>, usize), EmitError> {
        self.window = window_field(ack.window, self.scale);
        if ack.timestamp_echo.is_some() {
            self.receiver_timestamp = later(self.receiver_timestamp, receiver_clock(at));
        }
        self.echo = match ack.ecn {
            EcnEcho::Silent => Flags::NONE,
            EcnEcho::Marked => Flags::ECE,
            EcnEcho::Count(ace) | EcnEcho::LatestCount(ace) => Flags::of_ace(ace),
        };
        let mut segment = self.segment(Direction::ToSender, ack.ack);
        segment.options.timestamps = ack.timestamp_echo.map(|echo| Timestamps {
            value: self.receiver_timestamp,
            echo,
        });
        segment.options.sacks = ack.sacks;
        let order = ack.order_echo.map(Order::Echo);
        let options = Options {
            order,
            ..segment.options.into()
        };
        let packet = self.packet(Direction::ToSender, &segment, order)?;
        Ok((packet, options.sacks_without_room()))
    }

    fn syn(&mut self, value: u32) -> Result<Vec<u8>, EmitError> {
        let asks = match self.config.ecn {
            Ecn::Absent => Flags::NONE,
            Ecn::Classic => Flags::ECE.with(Flags::CWR),
            Ecn::Accurate => Flags::AE.with(Flags::ECE).with(Flags::CWR),
        };
        let syn = Segment {
            flags: Flags::SYN.with(asks),
            window: SENDER_WINDOW,
            options: self.agreement(0, Timestamps { value, echo: 0 }),
            ..Segment::new(SeqNumber(self.config.first_byte.0.wrapping_sub(1)))
        };
        self.packet(Direction::ToReceiver, &syn, None)
    }

    /// Returns the SYN-ACK. Its window is not scaled, as in every SYN (RFC 7323 §2.2).
    fn syn_ack(&mut self, value: u32, echo: u32) -> Result<Vec<u8>, EmitError> {
        let agrees = match self.config.ecn {
            Ecn::Absent => Flags::NONE,
            Ecn::Classic => Flags::ECE,
            Ecn::Accurate => SYN_CAME_UNMARKED,
        };
        let syn_ack = Segment {
            ack: Some(self.config.first_byte),
            flags: Flags::SYN.with(agrees),
            window: window_field(self.config.largest_window, 0),
            options: self.agreement(self.scale, Timestamps { value, echo }),
            ..Segment::new(self.config.receiver_isn)
        };
        self.packet(Direction::ToSender, &syn_ack, None)
    }

    /// Returns the options of a SYN.
    fn agreement(&self, scale: u8, timestamps: Timestamps) -> connection::Options {
        connection::Options {
            mss: Some(self.config.mss_option()),
            window_scale: Some(scale),
            sack_permitted: self.config.sack,
            timestamps: self.config.timestamp_tick.map(|_| timestamps),
            ..connection::Options::NONE
        }
    }

    /// Returns a packet without data. `number` has the same meaning as in [`segment`](Self::segment).
    fn empty(
        &mut self,
        direction: Direction,
        flags: Flags,
        number: SeqNumber,
    ) -> Result<Vec<u8>, EmitError> {
        let mut segment = self.segment(direction, number);
        segment.flags = segment.flags.with(flags);
        self.packet(direction, &segment, None)
    }

    /// Returns a segment without data. `number` refers to the data: it is the sequence number towards the receiver, and
    /// the acknowledgment number towards the sender.
    fn segment(&self, direction: Direction, number: SeqNumber) -> Segment {
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
        let timestamps = Timestamps { value, echo };
        let flags = match (direction, self.config.ecn) {
            (Direction::ToSender, _) => self.echo,
            // No packet to the sender is marked with CE.
            (Direction::ToReceiver, Ecn::Accurate) => NONE_MARKED,
            (Direction::ToReceiver, Ecn::Classic | Ecn::Absent) => Flags::NONE,
        };
        Segment {
            ack: Some(ack),
            flags,
            window,
            options: connection::Options {
                timestamps: self.config.timestamp_tick.map(|_| timestamps),
                ..connection::Options::NONE
            },
            ..Segment::new(seq)
        }
    }

    /// Returns the packet that carries `segment`. The payload consists of zeros, because a simulated segment has none.
    fn packet(
        &mut self,
        direction: Direction,
        segment: &Segment,
        order: Option<Order>,
    ) -> Result<Vec<u8>, EmitError> {
        let identification = match direction {
            Direction::ToReceiver => &mut self.identification_to_receiver,
            Direction::ToSender => &mut self.identification_to_sender,
        };
        *identification = identification.wrapping_add(1);
        let (source, destination) = self.config.endpoints.of(direction);
        let envelope = Envelope {
            source,
            destination,
            identification: *identification,
            checksum: Checksum::Full,
        };
        // No packet carries more than 65,535 bytes; `emit` reports a longer payload.
        let payload = segment.len.min(u32::from(u16::MAX)) as usize;
        let mut packet = vec![0; MAX_HEADER_BYTES + payload];
        let length = emit_with_order(&mut packet, &envelope, segment, order, |_| {})?;
        packet.truncate(length);
        Ok(packet)
    }

    /// Returns the sender's clock as the endpoint reads it: the number of ticks since the simulation's time zero.
    fn sender_clock(&self, at: Instant) -> u32 {
        let tick = self.config.timestamp_tick.unwrap_or(Duration::ZERO);
        (at.as_nanos() / tick.as_nanos().max(1)) as u32
    }

    fn advance_sender_clock(&mut self, at: Instant) {
        self.sender_timestamp = later(self.sender_timestamp, self.sender_clock(at));
    }
}

/// Returns the window field for a window of `bytes`, rounded down and saturated.
fn window_field(bytes: u32, scale: u8) -> u16 {
    u16::try_from(bytes >> scale).unwrap_or(u16::MAX)
}

/// Returns the TSval of a packet from the receiver that arrives at `at`. The simulated receiver has no clock for
/// timestamps, and only analysers use this value, so an offset of half a round-trip time does not matter.
const fn receiver_clock(at: CaptureTime) -> u32 {
    (at.as_unix_nanos() / RECEIVER_TICK_NS) as u32
}

/// Returns the later of two modular numbers, which must be less than half of the number space apart.
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
            sack: Sack::Permitted,
            timestamp_tick: None,
            order_echo: OrderEcho::Absent,
            ecn: Ecn::Absent,
        }
    }

    #[test]
    fn the_window_scale_is_the_smallest_that_fits_the_largest_window() {
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
            order_echo: OrderEcho::Carried,
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
