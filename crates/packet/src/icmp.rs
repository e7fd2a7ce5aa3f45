//! ICMP errors about TCP segments. This module reads the errors that hosts and routers send about a packet, and writes
//! the error that a router sends about a packet that is too long (RFC 792, RFC 1191 §4, RFC 4443 §3).
//!
//! An error quotes the packet that it concerns: the IP header and at least eight bytes after it, which contain the
//! ports and the sequence number. The input is untrusted and may be truncated or forged. The connection decides whether
//! to believe a message ([`Connection::handle_icmp`](dupack_tcp::connection::Connection::handle_icmp)).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dupack_tcp::connection::{IcmpError, IcmpReport, Unreachable};
use dupack_tcp::seq::SeqNumber;
use etherparse::{IpNumber, IpSlice};
use thiserror::Error;

use crate::emit::{fold, sum_words};
use crate::parse::Verify;

/// Length of an ICMP header in bytes.
const HEADER: usize = 8;

/// Minimum number of bytes of a TCP header that an error quotes (RFC 792).
const QUOTED_TCP: usize = 8;

/// Lengths in bytes of an IPv6 header without extensions, and of an IPv4 header without options.
const IPV6_HEADER: usize = 40;
const IPV4_HEADER: usize = 20;

/// Maximum lengths in bytes of the errors that are written (RFC 1812 §4.3.2.3, RFC 4443 §2.4 (c)).
const LONGEST_V4: usize = 576;
const LONGEST_V6: usize = 1280;

/// ICMP error about a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpNotice {
    /// Sender of the segment, which receives the error.
    pub local: SocketAddr,
    /// Receiver of the segment.
    pub remote: SocketAddr,
    /// Reported error.
    pub error: IcmpError,
}

/// Reason why a packet is not an ICMP error about a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IcmpParseError {
    /// The packet is not a complete IP packet, or not ICMP.
    #[error("not a complete ICMP message")]
    NotIcmp,
    /// A checksum is wrong.
    #[error("the checksum is wrong")]
    Checksum,
    /// The message reports no error about a packet: echo, redirect or source quench.
    #[error("not an ICMP error that concerns TCP")]
    NoError,
    /// The quoted packet is not a TCP segment, is too short, or was not sent by the receiver of the message.
    #[error("the message does not quote a TCP segment sent by its receiver")]
    Quote,
}

/// Parses one packet.
///
/// # Errors
///
/// Returns an error if the packet is not an ICMP error about a TCP segment.
pub fn parse_icmp(packet: &[u8], verify: Verify) -> Result<IcmpNotice, IcmpParseError> {
    let ip = IpSlice::from_slice(packet).map_err(|_| IcmpParseError::NotIcmp)?;
    if ip.is_fragmenting_payload() {
        return Err(IcmpParseError::NotIcmp);
    }
    let (receiver, protocol) = (ip.destination_addr(), ip.payload_ip_number());
    let payload = ip.payload().payload;
    let (Some(header), Some(quote)) = (payload.get(..HEADER), payload.get(HEADER..)) else {
        return Err(IcmpParseError::NotIcmp);
    };
    let (kind, code) = (header[0], header[1]);
    let rest = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let (says, sum) = match protocol {
        IpNumber::ICMP => {
            let header_sum = ip.ipv4().map_or(0, |v4| sum_words(v4.header().slice()));
            if verify == Verify::Checksums && fold(header_sum) != 0xffff {
                return Err(IcmpParseError::Checksum);
            }
            (v4_report(kind, code, rest & 0xffff), 0)
        }
        IpNumber::IPV6_ICMP => {
            let pseudo = pseudo_header_sum(ip.source_addr(), receiver, payload.len());
            (v6_report(kind, code, rest), pseudo)
        }
        _ => return Err(IcmpParseError::NotIcmp),
    };
    if verify == Verify::Checksums && fold(sum + sum_words(payload)) != 0xffff {
        return Err(IcmpParseError::Checksum);
    }
    let says = says.ok_or(IcmpParseError::NoError)?;
    let quoted = Quoted::read(quote).ok_or(IcmpParseError::Quote)?;
    if quoted.source.ip() != receiver {
        return Err(IcmpParseError::Quote);
    }
    Ok(IcmpNotice {
        local: quoted.source,
        remote: quoted.destination,
        error: IcmpError::new(quoted.seq, says),
    })
}

/// Returns the report of an ICMPv4 message. `mtu` is the field of RFC 1191 §4.
const fn v4_report(kind: u8, code: u8, mtu: u32) -> Option<IcmpReport> {
    let what = match (kind, code) {
        (3, 4) => return Some(IcmpReport::PacketTooBig { mtu }),
        (3, 0 | 6 | 11) => Unreachable::Network,
        (3, 1 | 7 | 8 | 12) => Unreachable::Host,
        (3, 2) => Unreachable::Protocol,
        (3, 3) => Unreachable::Port,
        (3, 5) => Unreachable::SourceRoute,
        (3, 9 | 10 | 13 | 14 | 15) => Unreachable::Prohibited,
        (11, _) => Unreachable::TimeExceeded,
        (12, _) => Unreachable::Header,
        // Source quench is ignored (RFC 6633).
        _ => return None,
    };
    Some(IcmpReport::Unreachable(what))
}

/// Returns the report of an ICMPv6 message (RFC 4443 §3).
const fn v6_report(kind: u8, code: u8, mtu: u32) -> Option<IcmpReport> {
    let what = match (kind, code) {
        (2, _) => return Some(IcmpReport::PacketTooBig { mtu }),
        (1, 0 | 2) => Unreachable::Network,
        (1, 3) => Unreachable::Host,
        (1, 4) => Unreachable::Port,
        (1, 1 | 5 | 6) => Unreachable::Prohibited,
        (3, _) => Unreachable::TimeExceeded,
        (4, 1) => Unreachable::Protocol,
        (4, _) => Unreachable::Header,
        _ => return None,
    };
    Some(IcmpReport::Unreachable(what))
}

/// Beginning of a quoted segment.
struct Quoted {
    source: SocketAddr,
    destination: SocketAddr,
    seq: SeqNumber,
}

impl Quoted {
    /// Parses a packet that may be truncated after its first bytes.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (source, destination, tcp) = match bytes.first()? >> 4 {
            4 => {
                let length = usize::from(bytes[0] & 0x0f) * 4;
                let header = bytes.get(..length.max(IPV4_HEADER))?;
                let is_first = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
                if header[9] != IpNumber::TCP.0 || !is_first || length < IPV4_HEADER {
                    return None;
                }
                let address = |at: usize| -> Option<IpAddr> {
                    let bytes: [u8; 4] = header.get(at..at + 4)?.try_into().ok()?;
                    Some(Ipv4Addr::from(bytes).into())
                };
                (address(12)?, address(16)?, bytes.get(length..)?)
            }
            6 => {
                // This project's hosts send no extension headers.
                let header = bytes.get(..IPV6_HEADER)?;
                if header[6] != IpNumber::TCP.0 {
                    return None;
                }
                let address = |at: usize| -> Option<IpAddr> {
                    let bytes: [u8; 16] = header.get(at..at + 16)?.try_into().ok()?;
                    Some(Ipv6Addr::from(bytes).into())
                };
                (address(8)?, address(24)?, bytes.get(IPV6_HEADER..)?)
            }
            _ => return None,
        };
        let tcp: [u8; QUOTED_TCP] = tcp.get(..QUOTED_TCP)?.try_into().ok()?;
        let [a, b, c, d, seq @ ..] = tcp;
        Some(Self {
            source: SocketAddr::new(source, u16::from_be_bytes([a, b])),
            destination: SocketAddr::new(destination, u16::from_be_bytes([c, d])),
            seq: SeqNumber(u32::from_be_bytes(seq)),
        })
    }
}

/// Returns the sum over ICMPv6's pseudo-header (RFC 4443 §2.3).
fn pseudo_header_sum(source: IpAddr, destination: IpAddr, length: usize) -> u64 {
    let addresses = match (source, destination) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            sum_words(&source.octets()) + sum_words(&destination.octets())
        }
        _ => 0,
    };
    addresses + length as u64 + u64::from(IpNumber::IPV6_ICMP.0)
}

/// Returns the Packet Too Big message that a router sends to the sender of `dropped`, which is longer than the MTU of
/// the next link. The source of the message is the destination of `dropped`. `dropped` may be truncated after its
/// headers. Returns `None` if it is not an IP packet.
#[must_use]
pub fn packet_too_big(dropped: &[u8], mtu: u16) -> Option<Vec<u8>> {
    match dropped.first()? >> 4 {
        4 => {
            let header = dropped.get(..IPV4_HEADER)?;
            let quoted = dropped.len().min(LONGEST_V4 - IPV4_HEADER - HEADER);
            let length = IPV4_HEADER + HEADER + quoted;
            let [high, low] = (length as u16).to_be_bytes();
            // The precedence is 6 (RFC 1812 §4.3.2.5), and the time to live is 64 hops.
            let mut packet = vec![
                0x45,
                0xc0,
                high,
                low,
                0,
                0,
                0,
                0,
                64,
                IpNumber::ICMP.0,
                0,
                0,
            ];
            packet.extend_from_slice(&header[16..20]);
            packet.extend_from_slice(&header[12..16]);
            complete(&mut packet, 10, 0, 0);
            let [high, low] = mtu.to_be_bytes();
            packet.extend_from_slice(&[3, 4, 0, 0, 0, 0, high, low]);
            packet.extend_from_slice(&dropped[..quoted]);
            complete(&mut packet, IPV4_HEADER + 2, IPV4_HEADER, 0);
            Some(packet)
        }
        6 => {
            let header = dropped.get(..IPV6_HEADER)?;
            let quoted = dropped.len().min(LONGEST_V6 - IPV6_HEADER - HEADER);
            let length = HEADER + quoted;
            let [high, low] = (length as u16).to_be_bytes();
            let mut packet = vec![0x60, 0, 0, 0, high, low, IpNumber::IPV6_ICMP.0, 64];
            packet.extend_from_slice(&header[24..40]);
            packet.extend_from_slice(&header[8..24]);
            let pseudo =
                sum_words(&packet[8..40]) + length as u64 + u64::from(IpNumber::IPV6_ICMP.0);
            let [high, low] = mtu.to_be_bytes();
            packet.extend_from_slice(&[2, 0, 0, 0, 0, 0, high, low]);
            packet.extend_from_slice(&dropped[..quoted]);
            complete(&mut packet, IPV6_HEADER + 2, IPV6_HEADER, pseudo);
            Some(packet)
        }
        _ => None,
    }
}

/// Writes the checksum of all bytes from `from` on, plus `sum`, to `at`.
fn complete(packet: &mut [u8], at: usize, from: usize, sum: u64) {
    let sum = !fold(sum + sum_words(&packet[from..]));
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::{Checksum, Envelope, emit};
    use dupack_tcp::connection::Segment;

    fn ends(family: u8) -> [SocketAddr; 2] {
        let text = match family {
            4 => ["10.0.0.1:50000", "10.0.0.2:80"],
            _ => ["[fd00::1]:50000", "[fd00::2]:80"],
        };
        text.map(|text| text.parse().expect("an address"))
    }

    fn segment(family: u8) -> Vec<u8> {
        let [source, destination] = ends(family);
        let envelope = Envelope {
            source,
            destination,
            identification: 7,
            checksum: Checksum::Full,
        };
        let mut segment = Segment::new(SeqNumber(0xfedc_ba98));
        segment.len = 1400;
        let mut packet = vec![0; 1500];
        let length = emit(&mut packet, &envelope, &segment, |room| room.fill(5)).expect("it fits");
        packet.truncate(length);
        packet
    }

    #[test]
    fn icmp_errors_are_parsed() {
        for family in [4, 6] {
            let packet = segment(family);
            // The error quotes the whole packet, or only the minimum that a router must quote.
            let least = if family == 4 { 28 } else { 48 };
            for quoted in [packet.len(), least] {
                let message = packet_too_big(&packet[..quoted], 1300).expect("an IP packet");
                assert!(message.len() <= 1280);
                let notice = parse_icmp(&message, Verify::Checksums).expect("an error");
                let [local, remote] = ends(family);
                assert_eq!((notice.local, notice.remote), (local, remote));
                assert_eq!(notice.error.seq, SeqNumber(0xfedc_ba98));
                assert_eq!(notice.error.says, IcmpReport::PacketTooBig { mtu: 1300 });
            }
        }
    }

    #[test]
    fn damaged_icmp_errors_and_short_quotes_are_rejected() {
        for family in [4, 6] {
            let packet = segment(family);
            let whole = packet_too_big(&packet, 1300).expect("an IP packet");
            for index in 0..whole.len() {
                let mut damaged = whole.clone();
                damaged[index] ^= 0x10;
                let read = parse_icmp(&damaged, Verify::Checksums);
                // ICMPv6's checksum does not cover the hop limit, the traffic class and the flow label.
                assert!(read.is_err() || (family == 6 && index < 8), "{index}");
                let _ = parse_icmp(&damaged, Verify::Nothing);
            }
            let least = if family == 4 { 28 } else { 48 };
            let short = packet_too_big(&packet[..least - 1], 1300).expect("an IP packet");
            assert_eq!(
                parse_icmp(&short, Verify::Checksums),
                Err(IcmpParseError::Quote)
            );
            for length in 0..whole.len() {
                assert!(parse_icmp(&whole[..length], Verify::Checksums).is_err());
            }
        }
        assert_eq!(packet_too_big(&[], 1300), None);
    }

    #[test]
    fn types_and_codes() {
        use Unreachable::{Header, Host, Network, Port, Prohibited, Protocol, TimeExceeded};
        let v4 = [
            (3, 0, Network),
            (3, 1, Host),
            (3, 2, Protocol),
            (3, 3, Port),
            (3, 13, Prohibited),
        ];
        for (kind, code, what) in v4
            .into_iter()
            .chain([(11, 0, TimeExceeded), (12, 0, Header)])
        {
            assert_eq!(
                v4_report(kind, code, 0),
                Some(IcmpReport::Unreachable(what))
            );
        }
        let v6 = [
            (1, 0, Network),
            (1, 3, Host),
            (1, 4, Port),
            (1, 1, Prohibited),
            (4, 1, Protocol),
        ];
        for (kind, code, what) in v6.into_iter().chain([(3, 0, TimeExceeded), (4, 0, Header)]) {
            assert_eq!(
                v6_report(kind, code, 0),
                Some(IcmpReport::Unreachable(what))
            );
        }
        // Source quench (which RFC 6633 ignores), redirect, and echo.
        for kind in [4, 5, 8, 0] {
            assert_eq!(v4_report(kind, 0, 0), None);
        }
        assert_eq!(v6_report(128, 0, 0), None);
    }
}
