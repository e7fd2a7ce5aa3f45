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
use std::net::SocketAddr;

use dupack_tcp::connection::{self, Flags, Segment};
use dupack_tcp::options::{Ecn, OrderEcho, Sack};
use dupack_tcp::segment::{Ack, Bit, Codepoint, DataSegment, EcnEcho};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use crate::capture::{CaptureError, CaptureTime, CaptureWriter};
use crate::emit::{Checksum, EmitError, Envelope, MAX_HEADER_BYTES, emit_with_order};
use crate::options::{self, Options, Order, Timestamps};

/// The largest shift that may be agreed on (RFC 7323 §2.3).
const MAX_WINDOW_SCALE: u8 = 14;

/// The window that the sender advertises, in bytes: it never receives data.
const SENDER_WINDOW: u16 = u16::MAX;

/// Nanoseconds per tick of the receiver's clock: 1 ms (RFC 7323 §5.4).
const RECEIVER_TICK_NS: u64 = 1_000_000;

/// The ACE field before any packet has come marked (RFC 9768 §3.2.1).
const NONE_MARKED: Flags = Flags::of_ace(5);

/// The flags that answer a SYN, or a SYN with ACK, which came as it was sent: not ECN-capable (RFC
/// 9768 §3.1.1, Table 2).
const SYN_CAME_UNMARKED: Flags = Flags::of_ace(0b010);

/// Which way a packet goes on a connection that carries data one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the sender of the data to its receiver.
    ToReceiver,
    /// From its receiver to the sender.
    ToSender,
}

/// The addresses and ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// Where the data comes from: IPv4 or IPv6.
    pub sender: SocketAddr,
    /// Where it goes; of the same family.
    pub receiver: SocketAddr,
}

impl Endpoints {
    /// Addresses for the flow numbered `index`, counted from 0: a pair of hosts from the
    /// documentation ranges 192.0.2.0/24 and 198.51.100.0/24 (RFC 5737), another for each of
    /// the first 254 flows, and dynamic ports that no dissector claims. No two flows have the
    /// same.
    #[must_use]
    pub fn of_flow(index: u16) -> Self {
        // Below 254 + 1, so the cast is exact; `round` is at most 258.
        let host = (index % 254 + 1) as u8;
        let round = index / 254;
        Self {
            sender: SocketAddr::from(([192, 0, 2, host], 50_000 + round)),
            receiver: SocketAddr::from(([198, 51, 100, host], 60_000)),
        }
    }

    /// Where a packet that goes `direction` comes from, and where it goes.
    const fn of(&self, direction: Direction) -> (SocketAddr, SocketAddr) {
        match direction {
            Direction::ToReceiver => (self.sender, self.receiver),
            Direction::ToSender => (self.receiver, self.sender),
        }
    }
}

/// What a capture has to know of a flow beyond its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    pub sack: Sack,
    /// Time between two values of the sender's timestamps, if the flow uses timestamps.
    pub timestamp_tick: Option<Duration>,
    /// Whether the flow carries and echoes the order of transmissions.
    pub order_echo: OrderEcho,
    /// Explicit congestion notification, for the handshake to agree on.
    pub ecn: Ecn,
}

/// What a data packet says of congestion beside its segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// The ECN field of its IP header.
    pub field: Codepoint,
    /// Whether it carries CWR.
    pub cwr: Bit,
}

impl FlowConfig {
    /// A flow with segments of `mss` bytes that carries no option, under a window of 64 KiB. Both
    /// ends count from 1, their SYNs have number 0.
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
        if self.order_echo.is_on() {
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
    /// What the last ACK said of marks.
    echo: Flags,
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
            echo: match config.ecn {
                Ecn::Accurate => NONE_MARKED,
                Ecn::Classic | Ecn::Absent => Flags::NONE,
            },
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
    /// If the endpoints are of different families.
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

    /// Writes `segment`, sent at `at` and marked so. The comment says why it was sent, or what became
    /// of it.
    ///
    /// # Errors
    ///
    /// If the writer fails, the segment does not fit an IP packet, or the capture has got
    /// past `at`.
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

    /// Schedules the end of a finished transfer: the sender's FIN at `at`, the receiver's
    /// FIN-ACK and the last ACK one `rtt` later. To be called at `at`, when all data has been
    /// acknowledged.
    ///
    /// # Errors
    ///
    /// If the endpoints are of different families.
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
            // One past the receiver's FIN.
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

    /// The packet, and how many SACK blocks it has no room for.
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

    /// As in every SYN, its window is not scaled (RFC 7323 §2.2).
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

    /// The options of a SYN.
    fn agreement(&self, scale: u8, timestamps: Timestamps) -> connection::Options {
        connection::Options {
            mss: Some(self.config.mss_option()),
            window_scale: Some(scale),
            sack_permitted: self.config.sack,
            timestamps: self.config.timestamp_tick.map(|_| timestamps),
            ..connection::Options::NONE
        }
    }

    /// A packet without data; `number` as for [`segment`](Self::segment).
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

    /// A segment without data. `number` is its sequence number on the way to the receiver, its
    /// acknowledgment number on the way back: the number on the data's side.
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
            // Nothing comes marked that goes to the sender.
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

    /// The packet that carries `segment`, with zeros for a payload: a simulated segment has none.
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
        // No packet carries more than 16 bits can count, and `emit` says so of one that should.
        let payload = segment.len.min(u32::from(u16::MAX)) as usize;
        let mut packet = vec![0; MAX_HEADER_BYTES + payload];
        let length = emit_with_order(&mut packet, &envelope, segment, order, |_| {})?;
        packet.truncate(length);
        Ok(packet)
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
            sack: Sack::Permitted,
            timestamp_tick: None,
            order_echo: OrderEcho::Absent,
            ecn: Ecn::Absent,
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
