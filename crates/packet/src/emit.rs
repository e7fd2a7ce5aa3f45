//! Writing of a connection's segment, as an IPv4 or IPv6 packet, into the caller's buffer.
//!
//! No memory is allocated, and the payload is written once, in place. Real connections and captures of simulated
//! connections use the same code.

use std::net::{IpAddr, SocketAddr};

use dupack_tcp::connection::Segment;
use dupack_tcp::segment::Codepoint;
use etherparse::{IpEcn, IpNumber, Ipv4Header, Ipv6Header, TcpHeader};
use thiserror::Error;

use crate::options::{OptionField, Options, Order};

/// Maximum length of an IPv6 header and a TCP header together; IPv4 needs less.
pub const MAX_HEADER_BYTES: usize = Ipv6Header::LEN + TcpHeader::MAX_LEN;

/// Initial time to live, or hop limit (the IANA default).
const HOP_LIMIT: u8 = 64;

/// Offset of the flags in a TCP header.
const FLAGS_AT: usize = 13;

/// Offset of the checksum in a TCP header.
pub const CHECKSUM_AT: usize = 16;

/// Fields of a packet that are not part of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port, of the same family.
    pub destination: SocketAddr,
    /// The identification field of an IPv4 header.
    pub identification: u16,
    /// Method of computing the TCP checksum.
    pub checksum: Checksum,
}

/// Method of computing a packet's TCP checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The full checksum is written.
    Full,
    /// The receiver of the packet computes the checksum. The written value is the sum over the pseudo-header, as
    /// devices with checksum offload expect. The receiver must sum the packet from the start of the TCP header on,
    /// which includes this value, and store the checksum [`CHECKSUM_AT`] bytes after this start.
    Offloaded,
}

/// Error when writing a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The packet is longer than the caller's buffer.
    #[error("the packet needs {needed} bytes, but the buffer has {given}")]
    BufferTooShort {
        /// Length of the packet.
        needed: usize,
        /// Length of the buffer.
        given: usize,
    },
    /// The payload exceeds the 16-bit length of an IP packet.
    #[error(
        "a payload of {payload_len} bytes does not fit into an IP packet, which holds at most {max} \
         bytes beside these headers"
    )]
    PayloadTooLong {
        /// Length of the payload in bytes.
        payload_len: u32,
        /// Maximum length of a payload that fits, in bytes.
        max: u32,
    },
    /// One address is IPv4 and the other is IPv6.
    #[error(
        "source {source_ip} and destination {destination_ip} are of different address families"
    )]
    MixedFamilies {
        /// Source address.
        source_ip: IpAddr,
        /// Destination address.
        destination_ip: IpAddr,
    },
}

/// Writes the packet that carries `segment` to the start of `buffer`. `fill` writes the payload into exactly
/// `segment.len` bytes. Returns the length of the packet.
///
/// SACK blocks that do not fit into the header are left out, starting with the last.
///
/// # Errors
///
/// Returns an error if the packet does not fit into the buffer, if the payload is too long for an IP packet, or if the
/// addresses are of different families. The contents of the buffer are then undefined.
pub fn emit(
    buffer: &mut [u8],
    envelope: &Envelope,
    segment: &Segment,
    fill: impl FnOnce(&mut [u8]),
) -> Result<usize, EmitError> {
    emit_with_order(buffer, envelope, segment, None, fill)
}

/// Writes a packet in the same way as [`emit`], with the order of a transmission (LE §4.2) as an additional option.
///
/// # Errors
///
/// Returns an error in the same cases as [`emit`].
pub fn emit_with_order(
    buffer: &mut [u8],
    envelope: &Envelope,
    segment: &Segment,
    order: Option<Order>,
    fill: impl FnOnce(&mut [u8]),
) -> Result<usize, EmitError> {
    let headers = Headers::of(envelope, segment, order)?;
    // The sum does not overflow, because `Headers` limits the length of the payload.
    let needed = headers.bytes() + segment.len as usize;
    let packet = room(buffer, needed)?;
    let (head, payload) = packet.split_at_mut(headers.bytes());
    fill(payload);
    let pseudo = headers.write(head, envelope, segment)?;
    let tcp = &mut head[headers.ip_len..];
    let sum = match envelope.checksum {
        Checksum::Full => !fold(pseudo + sum_words(tcp) + sum_words(payload)),
        Checksum::Offloaded => fold(pseudo),
    };
    put(tcp, CHECKSUM_AT, &sum.to_be_bytes());
    Ok(needed)
}

/// Writes only the headers, for a payload that is stored elsewhere. The receiver of the packet computes the checksum
/// ([`Checksum::Offloaded`]). Returns the length of the headers.
///
/// # Errors
///
/// Returns an error in the same cases as [`emit`].
pub fn emit_headers(
    buffer: &mut [u8],
    envelope: &Envelope,
    segment: &Segment,
) -> Result<usize, EmitError> {
    let headers = Headers::of(envelope, segment, None)?;
    let head = room(buffer, headers.bytes())?;
    let pseudo = headers.write(head, envelope, segment)?;
    put(
        &mut head[headers.ip_len..],
        CHECKSUM_AT,
        &fold(pseudo).to_be_bytes(),
    );
    Ok(headers.bytes())
}

fn room(buffer: &mut [u8], needed: usize) -> Result<&mut [u8], EmitError> {
    let given = buffer.len();
    buffer
        .get_mut(..needed)
        .ok_or(EmitError::BufferTooShort { needed, given })
}

/// Headers before the payload.
struct Headers {
    ip_len: usize,
    options: OptionField,
    /// Length of TCP header and payload in bytes, as in the IP header.
    transport_len: u16,
}

impl Headers {
    fn of(envelope: &Envelope, segment: &Segment, order: Option<Order>) -> Result<Self, EmitError> {
        let options = OptionField::of(&Options {
            order,
            ..segment.options.into()
        });
        let (ip_len, transport_max) = match envelope.source {
            SocketAddr::V4(_) => (Ipv4Header::MIN_LEN, 0xffff - Ipv4Header::MIN_LEN),
            SocketAddr::V6(_) => (Ipv6Header::LEN, 0xffff),
        };
        let tcp_len = TcpHeader::MIN_LEN + options.as_slice().len();
        let transport_len = usize::try_from(segment.len)
            .ok()
            .and_then(|payload_len| payload_len.checked_add(tcp_len))
            .filter(|len| *len <= transport_max)
            .and_then(|len| u16::try_from(len).ok())
            .ok_or(EmitError::PayloadTooLong {
                payload_len: segment.len,
                // The difference is positive and below 64 KiB: `transport_max` is at most 65,535, and a TCP header is
                // much shorter.
                max: (transport_max - tcp_len) as u32,
            })?;
        Ok(Self {
            ip_len,
            options,
            transport_len,
        })
    }

    fn bytes(&self) -> usize {
        self.ip_len + TcpHeader::MIN_LEN + self.options.as_slice().len()
    }

    /// Writes everything except for the TCP checksum, and returns the sum over the pseudo-header.
    fn write(
        &self,
        head: &mut [u8],
        envelope: &Envelope,
        segment: &Segment,
    ) -> Result<u64, EmitError> {
        let (ip, tcp) = head.split_at_mut(self.ip_len);
        write_tcp(tcp, envelope, segment, self.options.as_slice());
        write_ip(ip, envelope, segment.ecn, self.transport_len)
    }
}

/// Writes a TCP header except for its checksum, which remains zero.
fn write_tcp(tcp: &mut [u8], envelope: &Envelope, segment: &Segment, options: &[u8]) {
    let mut header = TcpHeader::new(
        envelope.source.port(),
        envelope.destination.port(),
        segment.seq.0,
        segment.window,
    );
    header.ack = segment.ack.is_some();
    header.acknowledgment_number = segment.ack.unwrap_or_default().0;
    // The only possible error is an option field of more than 40 bytes, which `OptionField` excludes.
    let _ = header.set_options_raw(options);
    put(tcp, 0, &header.to_bytes());
    // The AE flag is the lowest bit of the byte before the other flags.
    let flags = segment.flags.bits().to_be_bytes();
    if let Some(bytes) = tcp.get_mut(FLAGS_AT - 1..=FLAGS_AT) {
        bytes[0] |= flags[0];
        bytes[1] |= flags[1];
    }
}

/// Writes the IP header, and returns the sum over the pseudo-header.
fn write_ip(
    ip: &mut [u8],
    envelope: &Envelope,
    ecn: Codepoint,
    transport_len: u16,
) -> Result<u64, EmitError> {
    let fixed = u64::from(transport_len) + u64::from(IpNumber::TCP.0);
    match (envelope.source.ip(), envelope.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let (source, destination) = (source.octets(), destination.octets());
            let mut header = Ipv4Header {
                // The sum does not saturate, because `Headers` limits the length.
                total_len: transport_len.saturating_add(Ipv4Header::MIN_LEN_U16),
                identification: envelope.identification,
                ecn: match ecn {
                    Codepoint::NotEct => IpEcn::NotEct,
                    Codepoint::Ect1 => IpEcn::Ect1,
                    Codepoint::Ect0 => IpEcn::Ect0,
                    Codepoint::Ce => IpEcn::CongestionExperienced,
                },
                dont_fragment: true,
                time_to_live: HOP_LIMIT,
                protocol: IpNumber::TCP,
                source,
                destination,
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            put(ip, 0, &header.to_bytes());
            Ok(fixed + sum_words(&source) + sum_words(&destination))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let (source, destination) = (source.octets(), destination.octets());
            let header = Ipv6Header {
                traffic_class: ecn.bits(),
                payload_length: transport_len,
                next_header: IpNumber::TCP,
                hop_limit: HOP_LIMIT,
                source,
                destination,
                ..Ipv6Header::default()
            };
            put(ip, 0, &header.to_bytes());
            Ok(fixed + sum_words(&source) + sum_words(&destination))
        }
        (source_ip, destination_ip) => Err(EmitError::MixedFamilies {
            source_ip,
            destination_ip,
        }),
    }
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    debug_assert!(at + what.len() <= bytes.len());
    if let Some(room) = bytes.get_mut(at..at + what.len()) {
        room.copy_from_slice(what);
    }
}

/// Returns the sum of `bytes` as big-endian 16-bit words, folded into 16 bits (RFC 1071). An odd last byte is padded
/// with a zero.
pub(crate) fn sum_words(bytes: &[u8]) -> u64 {
    // The words are summed in native byte order; this gives the same sum with its bytes swapped (RFC 1071 §2 (B)).
    // 32-bit words are summed first, which is valid because 2³² ≡ 1 (mod 2¹⁶ − 1). The sum cannot overflow for inputs
    // of up to 16 GiB.
    let (wide, rest) = bytes.as_chunks::<4>();
    let wide: u64 = wide
        .iter()
        .map(|word| u64::from(u32::from_ne_bytes(*word)))
        .sum();
    let (words, last) = rest.as_chunks::<2>();
    let words: u64 = words
        .iter()
        .map(|word| u64::from(u16::from_ne_bytes(*word)))
        .sum();
    let last: u64 = last
        .iter()
        .map(|byte| u64::from(u16::from_ne_bytes([*byte, 0])))
        .sum();
    u64::from(u16::from_be(fold(wide + words + last)))
}

/// Folds the carries into 16 bits.
pub(crate) const fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use dupack_tcp::seq::SeqNumber;

    #[test]
    fn headers_alone_equal_those_of_the_whole_packet() {
        let mut segment = Segment::new(SeqNumber(7));
        segment.ack = Some(SeqNumber(9));
        segment.len = 3000;
        for (source, destination) in [("10.0.0.1:1", "10.0.0.2:2"), ("[fd00::1]:1", "[fd00::2]:2")]
        {
            let envelope = Envelope {
                source: source.parse().expect("an address"),
                destination: destination.parse().expect("an address"),
                identification: 5,
                checksum: Checksum::Offloaded,
            };
            let (mut whole, mut head) = ([1; 4000], [2; MAX_HEADER_BYTES]);
            let all = emit(&mut whole, &envelope, &segment, |room| room.fill(3));
            let length = emit_headers(&mut head, &envelope, &segment);
            let length = length.expect("they fit");
            assert_eq!(all, Ok(length + 3000));
            assert_eq!(head[..length], whole[..length]);
        }
    }

    #[test]
    fn checksums_equal_the_sum_of_big_endian_words() {
        let bytes: Vec<u8> = (0..1500_u32).map(|i| ((i * i) >> 3) as u8).collect();
        for length in [0, 1, 2, 3, 4, 5, 20, 1459, 1500] {
            let words = bytes[..length].chunks(2);
            let word =
                |two: &[u8]| u64::from(two[0]) << 8 | two.get(1).map_or(0, |b| u64::from(*b));
            let slow = fold(words.map(word).sum());
            assert_eq!(sum_words(&bytes[..length]), u64::from(slow), "{length}");
        }
    }
}
