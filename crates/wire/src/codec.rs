//! Builds IPv4 and TCP headers, with checksums, for segments that have none.
//!
//! The payload of a simulated segment does not exist; on the wire it is zeros. Checksums cover
//! these zeros, so a capture in full verifies.

use std::net::{Ipv4Addr, SocketAddrV4};

use dupack_tcp::seq::SeqNumber;
use etherparse::{IpNumber, Ipv4Header, TcpHeader};
use thiserror::Error;

use crate::options::{OptionField, Options};

/// Most bytes of an IPv4 header without options and a TCP header together.
pub const MAX_HEADER_BYTES: usize = Ipv4Header::MIN_LEN + TcpHeader::MAX_LEN;

/// Initial time to live (RFC 9293 §3.9.1.3 leaves it to the system; 64 is the IANA default).
const TIME_TO_LIVE: u8 = 64;

/// The payload of every segment. Longer than any payload that fits an IPv4 packet.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// Which way a packet goes on a connection that carries data one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the sender of the data to its receiver.
    ToReceiver,
    /// Back.
    ToSender,
}

/// The addresses and ports of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoints {
    /// Where the data comes from.
    pub sender: SocketAddrV4,
    /// Where it goes.
    pub receiver: SocketAddrV4,
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
            sender: SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, host), 50_000 + round),
            receiver: SocketAddrV4::new(Ipv4Addr::new(198, 51, 100, host), 60_000),
        }
    }

    /// The addresses of a packet that goes `direction`.
    #[must_use]
    pub const fn route(&self, direction: Direction) -> Route {
        match direction {
            Direction::ToReceiver => Route {
                source: self.sender,
                destination: self.receiver,
            },
            Direction::ToSender => Route {
                source: self.receiver,
                destination: self.sender,
            },
        }
    }
}

/// The addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// Where it comes from.
    pub source: SocketAddrV4,
    /// Where it goes.
    pub destination: SocketAddrV4,
}

/// The control bits of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Control {
    /// SYN: opens the connection.
    Syn,
    /// SYN and ACK: answers a SYN.
    SynAck,
    /// ACK alone: data and acknowledgments.
    Ack,
    /// FIN and ACK: no more data from this end.
    FinAck,
}

/// Everything that a TCP header says but the ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireSegment {
    /// Control bits.
    pub control: Control,
    /// Number of the first byte, or of the SYN or FIN.
    pub seq: SeqNumber,
    /// The next byte expected from the other end; written as 0 in a SYN.
    pub ack: SeqNumber,
    /// The window field as it stands in the header, before scaling.
    pub window: u16,
    /// Options.
    pub options: Options,
    /// Payload length in bytes.
    pub payload_len: u32,
}

/// Why a segment has no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// IPv4 counts the length of a packet in 16 bits.
    #[error(
        "a segment of {payload_len} bytes at sequence number {seq} does not fit an IPv4 packet, \
         which holds {max} bytes of payload beside these headers"
    )]
    PayloadTooLong {
        /// The segment.
        seq: SeqNumber,
        /// Payload bytes.
        payload_len: u32,
        /// Payload bytes that would fit.
        max: u32,
    },
}

/// An IPv4 packet with a TCP segment: the headers, and so many zeros of payload.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    headers: [u8; MAX_HEADER_BYTES],
    header_len: u8,
    payload_len: u16,
    sacks_left_out: u8,
}

impl Packet {
    /// Builds the packet that carries `segment` along `route`. `identification` is the
    /// identification field of the IPv4 header: analysers take two packets with the same for
    /// copies of each other.
    ///
    /// # Errors
    ///
    /// If the segment is longer than an IPv4 packet can be.
    pub fn build(
        route: Route,
        identification: u16,
        segment: &WireSegment,
    ) -> Result<Self, CodecError> {
        let field = OptionField::of(&segment.options);
        let header_len = Ipv4Header::MIN_LEN + TcpHeader::MIN_LEN + field.as_slice().len();
        let max = usize::from(u16::MAX) - header_len;
        let too_long = CodecError::PayloadTooLong {
            seq: segment.seq,
            payload_len: segment.payload_len,
            max: u32::try_from(max).unwrap_or(u32::MAX),
        };
        let payload_len = u16::try_from(segment.payload_len).map_err(|_| too_long)?;
        let payload = ZEROS
            .get(..usize::from(payload_len))
            .filter(|payload| payload.len() <= max)
            .ok_or(too_long)?;

        // etherparse reports nothing but lengths out of range, which have just been checked.
        let mut tcp = tcp_header(route, segment);
        tcp.set_options_raw(field.as_slice())
            .map_err(|_| too_long)?;
        let mut ip = Ipv4Header::new(
            tcp.header_len_u16() + payload_len,
            TIME_TO_LIVE,
            IpNumber::TCP,
            route.source.ip().octets(),
            route.destination.ip().octets(),
        )
        .map_err(|_| too_long)?;
        ip.identification = identification;
        ip.header_checksum = ip.calc_header_checksum();
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).map_err(|_| too_long)?;

        let mut headers = [0; MAX_HEADER_BYTES];
        for (slot, byte) in headers
            .iter_mut()
            .zip(ip.to_bytes().iter().chain(tcp.to_bytes().iter()))
        {
            *slot = *byte;
        }
        Ok(Self {
            headers,
            // At most 80, and at most 4.
            header_len: header_len as u8,
            payload_len,
            sacks_left_out: field.sacks_left_out as u8,
        })
    }

    /// The IPv4 and TCP headers.
    #[must_use]
    pub fn headers(&self) -> &[u8] {
        &self.headers[..usize::from(self.header_len)]
    }

    /// The payload: zeros.
    #[must_use]
    pub fn payload(&self) -> &'static [u8] {
        &ZEROS[..usize::from(self.payload_len)]
    }

    /// Length of the packet in bytes, headers included.
    #[must_use]
    pub fn total_len(&self) -> u32 {
        u32::from(self.header_len) + u32::from(self.payload_len)
    }

    /// SACK blocks for which the header had no room.
    #[must_use]
    pub const fn sacks_left_out(&self) -> u8 {
        self.sacks_left_out
    }
}

/// The header without options and checksum.
fn tcp_header(route: Route, segment: &WireSegment) -> TcpHeader {
    let mut tcp = TcpHeader::new(
        route.source.port(),
        route.destination.port(),
        segment.seq.0,
        segment.window,
    );
    match segment.control {
        Control::Syn => tcp.syn = true,
        Control::SynAck => {
            tcp.syn = true;
            tcp.ack = true;
        }
        Control::Ack => tcp.ack = true,
        Control::FinAck => {
            tcp.fin = true;
            tcp.ack = true;
        }
    }
    if tcp.ack {
        tcp.acknowledgment_number = segment.ack.0;
    }
    tcp
}
