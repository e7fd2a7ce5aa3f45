//! Parses packets: IPv4 or IPv6, then TCP, with checksums.
//!
//! The input is untrusted. Every input other than a complete TCP segment gives an error with the reason. Invalid
//! options of a valid segment are skipped, as hosts do.

use std::net::{IpAddr, SocketAddr};

use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::segment::Codepoint;
use dupack_tcp::seq::SeqNumber;
use etherparse::{IpNumber, IpSlice, TcpSlice};
use thiserror::Error;

use crate::emit::{fold, sum_words};
use crate::options::{Options, Order};

/// TCP segment as it came from the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// TCP header.
    pub segment: Segment,
    /// Order of a transmission (LE §4.2), if the segment carries one.
    pub order: Option<Order>,
    /// Payload of `segment.len` bytes.
    pub payload: &'a [u8],
}

/// Verification of checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Checksums must be correct.
    Checksums,
    /// Checksums are not verified. The device has already verified them, or the packet never left the machine and its
    /// checksum was never computed.
    Nothing,
}

/// Reason why a packet is not a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The input is not a complete IP packet.
    #[error("not a complete IPv4 or IPv6 packet")]
    Ip,
    /// The checksum of the IPv4 header is wrong.
    #[error("the checksum of the IPv4 header is wrong")]
    IpChecksum,
    /// The packet is a fragment.
    #[error("the packet is a fragment")]
    Fragment,
    /// The packet is IP, but not TCP.
    #[error("expected TCP, found protocol {protocol}")]
    NotTcp {
        /// Protocol number assigned by IANA.
        protocol: u8,
    },
    /// The TCP header is truncated, or its stated length is too short.
    #[error("the TCP header is incomplete")]
    Tcp,
    /// The TCP checksum is wrong.
    #[error("the TCP checksum is wrong")]
    TcpChecksum,
}

/// Parses one packet. Bytes after the end of the packet, which pad short frames, are ignored.
///
/// IPv6 extension headers are skipped if they are valid (hop-by-hop, destination, routing, authentication). Fragments
/// are always rejected.
///
/// # Errors
///
/// Returns an error if the input is not a complete TCP segment.
pub fn parse(packet: &[u8], verify: Verify) -> Result<Parsed<'_>, ParseError> {
    let ip = IpSlice::from_slice(packet).map_err(|_| ParseError::Ip)?;
    if let (Some(v4), Verify::Checksums) = (ip.ipv4(), verify)
        && fold(sum_words(v4.header().slice())) != 0xffff
    {
        return Err(ParseError::IpChecksum);
    }
    if ip.is_fragmenting_payload() {
        return Err(ParseError::Fragment);
    }
    let protocol = ip.payload_ip_number();
    if protocol != IpNumber::TCP {
        return Err(ParseError::NotTcp {
            protocol: protocol.0,
        });
    }
    let (source, destination) = (ip.source_addr(), ip.destination_addr());
    let traffic_class = traffic_class(&ip);
    let bytes = transport(ip);
    if verify == Verify::Checksums && !verifies(source, destination, bytes) {
        return Err(ParseError::TcpChecksum);
    }
    let tcp = TcpSlice::from_slice(bytes).map_err(|_| ParseError::Tcp)?;
    let options = Options::parse(tcp.options());
    let payload = tcp.payload();
    Ok(Parsed {
        source: SocketAddr::new(source, tcp.source_port()),
        destination: SocketAddr::new(destination, tcp.destination_port()),
        segment: Segment {
            seq: SeqNumber(tcp.sequence_number()),
            ack: tcp.ack().then(|| SeqNumber(tcp.acknowledgment_number())),
            flags: flags(&tcp),
            window: tcp.window_size(),
            options: options.into(),
            // The payload is part of a packet of at most 64 KiB (IPv6 jumbograms are not parsed as such).
            len: u32::try_from(payload.len()).map_err(|_| ParseError::Ip)?,
            ecn: Codepoint::from_bits(traffic_class),
        },
        order: options.order,
        payload,
    })
}

/// Returns the field whose lowest bits are the ECN field: IPv4's TOS field or IPv6's traffic class.
fn traffic_class(ip: &IpSlice<'_>) -> u8 {
    match ip {
        IpSlice::Ipv4(v4) => v4.header().slice().get(1).copied().unwrap_or(0),
        IpSlice::Ipv6(v6) => v6.header().traffic_class(),
    }
}

/// Returns the bytes after the IP headers.
fn transport(ip: IpSlice<'_>) -> &[u8] {
    match ip {
        IpSlice::Ipv4(v4) => v4.payload().payload,
        IpSlice::Ipv6(v6) => v6.payload().payload,
    }
}

/// Offset of the flags in a TCP header.
const FLAGS_AT: usize = 13;

fn flags(tcp: &TcpSlice<'_>) -> Flags {
    match tcp.header_slice().get(FLAGS_AT - 1..=FLAGS_AT) {
        Some(&[before, flags]) => Flags::from_bits(u16::from_be_bytes([before, flags])),
        _ => Flags::NONE,
    }
}

/// Returns `true` if the checksum over pseudo-header, header and payload is correct (RFC 9293 §3.1).
fn verifies(source: IpAddr, destination: IpAddr, bytes: &[u8]) -> bool {
    let addresses = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            sum_words(&source.octets()) + sum_words(&destination.octets())
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            sum_words(&source.octets()) + sum_words(&destination.octets())
        }
        _ => return false,
    };
    let sum = addresses + bytes.len() as u64 + u64::from(IpNumber::TCP.0) + sum_words(bytes);
    fold(sum) == 0xffff
}
