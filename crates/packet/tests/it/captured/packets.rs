//! Tests of IP and TCP as interfaces and networks produce them: offload, fragments, extension headers, tunnels.

use std::net::IpAddr;

use dupack_packet::captured::{Captured, Cut, Layer, LinkType, NotTcp, Portion, TcpPacket};
use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::segment::Codepoint;

use super::files::{V4, V6, captured, packet, segment};

fn found(ip: &[u8]) -> Result<TcpPacket, NotTcp> {
    captured(LinkType::RAW, ip).tcp()
}

/// Inserts `headers` after a packet's fixed header. `next` is the number of the first of these headers.
fn extend(ip: &mut Vec<u8>, next: u8, headers: &[u8]) {
    let (at, protocol, length) = if ip[0] >> 4 == 4 {
        (20, 9, 2)
    } else {
        (40, 6, 4)
    };
    ip[protocol] = next;
    ip.splice(at..at, headers.iter().copied());
    let said = u16::from_be_bytes([ip[length], ip[length + 1]]) + headers.len() as u16;
    ip[length..length + 2].copy_from_slice(&said.to_be_bytes());
}

#[test]
fn a_zero_length_of_an_offloaded_packet_comes_from_the_frame() {
    for (ends, length) in [(V4, 2), (V6, 4)] {
        // The packet is longer than a 16-bit length permits, as large IPv6 segments are.
        let mut ip = packet(ends, &segment(9));
        ip[length..length + 2].fill(0);
        let headers = ip.len() - 100;
        for payload in [100, 30_000, 200_000] {
            let captured = Captured {
                original_len: (headers + payload) as u32,
                ..captured(LinkType::RAW, &ip)
            };
            assert_eq!(captured.tcp().unwrap().segment.len, payload as u32);
        }
    }
}

#[test]
fn a_segment_may_exceed_an_ethernet_frame() {
    for ends in [V4, V6] {
        let large = Segment {
            len: 64_000,
            ..segment(9)
        };
        let ip = packet(ends, &large);
        assert_eq!(found(&ip).unwrap().segment, large);
        assert_eq!(found(&ip[..96]).unwrap().segment.len, 64_000);
    }
}

#[test]
fn ipv4_options_are_skipped() {
    let mut ip = packet(V4, &segment(9));
    ip[0] = 0x47;
    ip.splice(20..20, [7, 7, 4, 0, 0, 0, 0, 0]);
    let said = ip.len() as u16;
    ip[2..4].copy_from_slice(&said.to_be_bytes());
    assert_eq!(found(&ip).unwrap().segment, segment(9));
    // The header length is smaller than the minimum.
    ip[0] = 0x44;
    assert_eq!(found(&ip), Err(NotTcp::Damaged(Layer::Ip)));
}

#[test]
fn ipv6_extension_headers_are_skipped() {
    let hop_by_hop = |next| vec![next, 0, 5, 2, 0, 0, 1, 0];
    let destination = |next| vec![next, 1, 1, 4, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0];
    let routing = |next| vec![next, 0, 4, 0, 0, 0, 0, 0];
    let authentication = |next| {
        vec![
            next, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ]
    };
    let cases = [
        (0, hop_by_hop(6)),
        (60, destination(6)),
        (43, routing(6)),
        (51, authentication(6)),
        (
            0,
            [
                hop_by_hop(60),
                destination(43),
                routing(51),
                authentication(6),
            ]
            .concat(),
        ),
    ];
    for (next, headers) in cases {
        let mut ip = packet(V6, &segment(9));
        extend(&mut ip, next, &headers);
        assert_eq!(found(&ip).unwrap().segment, segment(9), "{next}");
        for len in 40..40 + headers.len() {
            let cut = found(&ip[..len]);
            assert_eq!(cut, Err(NotTcp::Cut(Layer::Ip)), "{next} at {len}");
        }
    }
    let mut ip = packet(V4, &segment(9));
    extend(&mut ip, 51, &authentication(6));
    assert_eq!(found(&ip).unwrap().segment, segment(9));
}

#[test]
fn malformed_extension_headers_are_reported() {
    // Hop-by-hop options are valid only as the first header (RFC 8200 §4.1).
    let mut ip = packet(V6, &segment(9));
    extend(
        &mut ip,
        60,
        &[0, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0],
    );
    assert_eq!(found(&ip), Err(NotTcp::Damaged(Layer::Ip)));
    // The options after the fragment header are longer than the packet.
    let mut ip = packet(V6, &segment(9));
    extend(
        &mut ip,
        44,
        &[60, 0, 0, 1, 0, 0, 0, 1, 6, 255, 1, 4, 0, 0, 0, 0],
    );
    assert!(found(&ip).is_err());
    // The authentication header is too short.
    let mut ip = packet(V4, &segment(9));
    extend(&mut ip, 51, &[6, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(found(&ip), Err(NotTcp::Damaged(Layer::Ip)));
}

#[test]
fn the_first_fragment_is_parsed_and_the_others_counted() {
    let mut ip = packet(V4, &segment(9));
    ip[6..8].copy_from_slice(&[0x20, 0]);
    let first = found(&ip).unwrap();
    assert_eq!(
        (first.portion, first.segment),
        (Portion::FirstFragment, segment(9))
    );
    ip[6..8].copy_from_slice(&[0x20, 5]);
    assert_eq!(found(&ip), Err(NotTcp::Fragment));
    ip[6..8].copy_from_slice(&[0, 5]);
    assert_eq!(found(&ip), Err(NotTcp::Fragment));
    ip[9] = 17;
    assert_eq!(found(&ip), Err(NotTcp::Protocol(17)));
    // A packet with the don't-fragment flag is not a fragment.
    ip[6..10].copy_from_slice(&[0x40, 0, 64, 6]);
    assert_eq!(found(&ip).unwrap().portion, Portion::Whole);

    for (offset, more, expected) in [
        (0, 0, Ok(Portion::Whole)),
        (0, 1, Ok(Portion::FirstFragment)),
        (80, 1, Err(NotTcp::Fragment)),
        (80, 0, Err(NotTcp::Fragment)),
    ] {
        let mut ip = packet(V6, &segment(9));
        extend(&mut ip, 44, &[6, 0, 0, offset | more, 0, 0, 0, 7]);
        assert_eq!(found(&ip).map(|packet| packet.portion), expected);
    }
}

#[test]
fn ip_in_ip_is_followed() {
    for (outer, inner) in [(V4, V4), (V4, V6), (V6, V4), (V6, V6)] {
        let tcp = packet(inner, &segment(9));
        let protocol = if tcp[0] >> 4 == 4 { 4 } else { 41 };
        let wrap = |inside: &[u8], protocol: u8| {
            let mut around = packet(outer, &Segment::new(segment(0).seq));
            let fixed = if around[0] >> 4 == 4 { 20 } else { 40 };
            around.truncate(fixed);
            around.extend(inside);
            let (at, length, said) = match fixed {
                20 => (9, 2, around.len()),
                _ => (6, 4, inside.len()),
            };
            around[at] = protocol;
            around[length..length + 2].copy_from_slice(&(said as u16).to_be_bytes());
            around
        };
        let once = wrap(&tcp, protocol);
        let packet = found(&once).unwrap();
        assert_eq!(packet.segment, segment(9));
        assert_eq!(packet.source.to_string(), inner[0]);
        let number = |packet: &[u8]| if packet[0] >> 4 == 4 { 4 } else { 41 };
        let twice = wrap(&once, number(&once));
        assert!(found(&twice).is_ok());
        let thrice = wrap(&twice, number(&twice));
        assert!(matches!(found(&thrice), Err(NotTcp::Protocol(4 | 41))));
    }
}

#[test]
fn fields_that_distinguish_copies_are_parsed() {
    let mut ip = packet(V4, &segment(9));
    ip[8] = 63;
    let packet4 = found(&ip).unwrap();
    assert_eq!((packet4.ip_id, packet4.hop_limit), (Some(0x1234), 63));
    assert!(matches!(packet4.source.ip(), IpAddr::V4(_)));
    let mut ip = packet(V6, &segment(9));
    ip[7] = 12;
    let packet6 = found(&ip).unwrap();
    assert_eq!((packet6.ip_id, packet6.hop_limit), (None, 12));
}

#[test]
fn ecn_marks_and_control_bits_are_parsed_despite_bad_checksums() {
    for (ends, ip_len) in [(V4, 20), (V6, 40)] {
        for ecn in [
            Codepoint::NotEct,
            Codepoint::Ect0,
            Codepoint::Ect1,
            Codepoint::Ce,
        ] {
            let bits = Flags::SYN.with(Flags::ECE).with(Flags::CWR).with(Flags::AE);
            let marked = Segment {
                ecn,
                ack: None,
                flags: bits,
                ..segment(9)
            };
            let mut ip = packet(ends, &marked);
            ip[ip_len + 16] ^= 0x55;
            assert_eq!(found(&ip).unwrap().segment, marked);
        }
    }
}

#[test]
fn malformed_headers_are_reported() {
    let whole = packet(V4, &segment(9));
    let with = |at: usize, byte: u8| {
        let mut ip = whole.clone();
        ip[at] = byte;
        found(&ip)
    };
    // The TCP header is too short, or longer than the packet.
    assert_eq!(with(20 + 12, 0x40), Err(NotTcp::Damaged(Layer::Tcp)));
    let mut short = packet(
        V4,
        &Segment {
            len: 0,
            ..segment(9)
        },
    );
    short[20 + 12] = 0xf0;
    assert_eq!(found(&short), Err(NotTcp::Damaged(Layer::Tcp)));
    // The version is not that of IP.
    assert_eq!(with(0, 0x75), Err(NotTcp::Damaged(Layer::Ip)));
    // The packet is shorter than its IP header, or than its TCP header.
    assert_eq!(with(3, 19), Err(NotTcp::Damaged(Layer::Ip)));
    let mut tiny = whole.clone();
    tiny[2..4].copy_from_slice(&[0, 30]);
    assert_eq!(found(&tiny), Err(NotTcp::Damaged(Layer::Tcp)));
    tiny[2..4].copy_from_slice(&[0, 10]);
    assert_eq!(found(&tiny), Err(NotTcp::Damaged(Layer::Ip)));
}

#[test]
fn only_an_uncut_packet_is_whole() {
    let ip = packet(V4, &segment(9));
    assert_eq!(found(&ip).unwrap().cut, Cut::Whole);
    assert_eq!(found(&ip[..ip.len() - 1]).unwrap().cut, Cut::Payload);
}
