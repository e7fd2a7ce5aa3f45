//! Tests of TCP in tunnels: every tunnel, truncated anywhere, nested, and packets that only look like those of a
//! tunnel.

use dupack_net::random::Stream;
use dupack_packet::captured::{
    Captured, Cut, Kind, Layer, LinkType, NotIp, NotTcp, Portion, Tally, TcpPacket, Tunnel,
};

use super::files::{MICROS, ORDERS, Order, V4, V6, captured, packet, pcap, read, segment};

const GRE: u8 = 47;
const UDP: u8 = 17;

/// Returns an IP packet between hosts that differ from those of the inner packet.
fn outer(version: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let len = payload.len() as u16;
    let mut ip = match version {
        4 => {
            let [high, low] = (20 + len).to_be_bytes();
            let mut ip = vec![0x45, 0, high, low, 0, 7, 0, 0, 64, protocol, 0, 0];
            ip.extend([203, 0, 113, 1, 203, 0, 113, 2]);
            ip
        }
        _ => {
            let [high, low] = len.to_be_bytes();
            let mut ip = vec![0x60, 0, 0, 0, high, low, protocol, 64];
            ip.extend([0x20; 32]);
            ip
        }
    };
    ip.extend(payload);
    ip
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    let header = [
        50_000_u16.to_be_bytes(),
        port.to_be_bytes(),
        len.to_be_bytes(),
        [0; 2],
    ];
    [&header.concat(), payload].concat()
}

fn ethernet(ip: &[u8]) -> Vec<u8> {
    let kind: [u8; 2] = ether_type(ip);
    [&[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8], &kind[..], ip].concat()
}

fn ether_type(ip: &[u8]) -> [u8; 2] {
    match ip[0] >> 4 {
        4 => [8, 0],
        _ => [0x86, 0xdd],
    }
}

/// Payload of a tunnel with its header: the IP protocol, and the bytes after the IP header.
struct Wrapped {
    protocol: u8,
    payload: Vec<u8>,
}

fn in_gre(parts: &[&[u8]]) -> Wrapped {
    Wrapped {
        protocol: GRE,
        payload: parts.concat(),
    }
}

fn in_udp(port: u16, parts: &[&[u8]]) -> Wrapped {
    Wrapped {
        protocol: UDP,
        payload: udp(port, &parts.concat()),
    }
}

/// Returns a GTP-U packet with `flags`, and with `more` between its header and the inner packet.
fn gtp(flags: u8, more: &[u8], ip: &[u8]) -> Wrapped {
    let [high, low] = ((more.len() + ip.len()) as u16).to_be_bytes();
    in_udp(2152, &[&[flags, 255, high, low, 0, 0, 1, 2], more, ip])
}

type Wrap = fn(&[u8]) -> Wrapped;

/// Form of a tunnel's header: name, function that wraps a packet, and expected tunnel.
type Form = (&'static str, Wrap, Tunnel);

const VXLAN: [u8; 8] = [8, 0, 0, 0, 0x01, 0x02, 0x03, 0];
const VNI: u32 = 0x01_02_03;

fn udp_forms() -> Vec<Form> {
    let vxlan = Tunnel::Vxlan { vni: VNI };
    let geneve = Tunnel::Geneve { vni: VNI };
    let gtp_u = Tunnel::GtpU { teid: 0x0102 };
    vec![
        ("VXLAN", |ip| in_udp(4789, &[&VXLAN, &ethernet(ip)]), vxlan),
        (
            "VXLAN, Linux's port",
            |ip| in_udp(8472, &[&VXLAN, &ethernet(ip)]),
            vxlan,
        ),
        (
            "VXLAN, 802.1Q",
            |ip| {
                let mut frame = ethernet(ip);
                frame.splice(12..12, [0x81, 0, 0, 5]);
                in_udp(4789, &[&VXLAN, &frame])
            },
            vxlan,
        ),
        (
            "GENEVE",
            |ip| in_udp(6081, &[&[0, 0, 0x65, 0x58, 1, 2, 3, 0], &ethernet(ip)]),
            geneve,
        ),
        (
            "GENEVE, options",
            |ip| {
                let options = [0x01, 0x02, 0x80, 1, 9, 9, 9, 9];
                let header = [2, 0x40, 0x65, 0x58, 1, 2, 3, 0];
                in_udp(6081, &[&header, &options, &ethernet(ip)])
            },
            geneve,
        ),
        (
            "GENEVE, IP",
            |ip| {
                let [a, b] = ether_type(ip);
                in_udp(6081, &[&[0, 0, a, b, 1, 2, 3, 0], ip])
            },
            geneve,
        ),
        ("GTP-U", |ip| gtp(0x30, &[], ip), gtp_u),
        ("GTP-U, sequence", |ip| gtp(0x32, &[0, 7, 0, 5], ip), gtp_u),
        ("GTP-U, N-PDU", |ip| gtp(0x31, &[0, 7, 3, 5], ip), gtp_u),
        (
            "GTP-U, extension",
            // This is the PDU session container of 5G.
            |ip| gtp(0x34, &[0, 0, 0, 0x85, 1, 0x10, 9, 0], ip),
            gtp_u,
        ),
        (
            "GTP-U, extensions",
            |ip| {
                let chain = [0, 7, 3, 0x40, 1, 1, 1, 0x85, 2, 0x10, 9, 0, 0, 0, 0, 0];
                gtp(0x37, &chain, ip)
            },
            gtp_u,
        ),
    ]
}

fn gre_forms() -> Vec<Form> {
    let key = 0x0a0b_0c0d;
    vec![
        (
            "GRE",
            |ip| in_gre(&[&[0, 0], &ether_type(ip), ip]),
            Tunnel::Gre { key: None },
        ),
        (
            "GRE, checksum",
            |ip| in_gre(&[&[0x80, 0], &ether_type(ip), &[1, 2, 0, 0], ip]),
            Tunnel::Gre { key: None },
        ),
        (
            "GRE, key",
            |ip| in_gre(&[&[0x20, 0], &ether_type(ip), &[10, 11, 12, 13], ip]),
            Tunnel::Gre { key: Some(key) },
        ),
        (
            "GRE, all",
            |ip| {
                let fields = [1, 2, 0, 0, 10, 11, 12, 13, 0, 0, 0, 5];
                in_gre(&[&[0xb0, 0], &ether_type(ip), &fields, ip])
            },
            Tunnel::Gre { key: Some(key) },
        ),
        (
            "GRE, Ethernet",
            |ip| in_gre(&[&[0x10, 0, 0x65, 0x58, 0, 0, 0, 5], &ethernet(ip)]),
            Tunnel::Gre { key: None },
        ),
        (
            "GRE, MPLS",
            |ip| in_gre(&[&[0, 0, 0x88, 0x47, 0, 2, 1, 64], ip]),
            Tunnel::Gre { key: None },
        ),
    ]
}

/// Returns the header of ERSPAN III before its subheader, with version 2, session 0x2a5, and these last two bytes.
fn erspan_3(last: [u8; 2]) -> Vec<u8> {
    let [a, b] = last;
    vec![
        0x10, 0, 0x22, 0xeb, 0, 0, 0, 5, 0x20, 5, 2, 0xa5, 1, 2, 3, 4, 0, 0, a, b,
    ]
}

fn erspan_forms() -> Vec<Form> {
    let session = Some(0x2a5);
    vec![
        (
            "ERSPAN I",
            |ip| in_gre(&[&[0, 0, 0x88, 0xbe], &ethernet(ip)]),
            Tunnel::Erspan { session: None },
        ),
        (
            "ERSPAN II",
            |ip| {
                let header = [0x10, 5, 0xfe, 0xa5, 0, 0, 0, 9];
                let gre = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 5];
                in_gre(&[&gre, &header, &ethernet(ip)])
            },
            Tunnel::Erspan { session },
        ),
        (
            "ERSPAN III",
            |ip| in_gre(&[&erspan_3([0, 0]), &ethernet(ip)]),
            Tunnel::Erspan { session },
        ),
        (
            "ERSPAN III, subheader",
            |ip| in_gre(&[&erspan_3([0, 1]), &[9; 8], &ethernet(ip)]),
            Tunnel::Erspan { session },
        ),
        (
            "ERSPAN III, IP",
            |ip| in_gre(&[&erspan_3([2 << 2, 0]), ip]),
            Tunnel::Erspan { session },
        ),
    ]
}

fn forms() -> Vec<Form> {
    let ip_in_ip: Wrap = |ip| Wrapped {
        protocol: if ip[0] >> 4 == 4 { 4 } else { 41 },
        payload: ip.to_vec(),
    };
    [udp_forms(), gre_forms(), erspan_forms()]
        .concat()
        .into_iter()
        .chain([("IP in IP", ip_in_ip, Tunnel::IpInIp)])
        .collect()
}

/// Wraps an IP packet and adds an IP header.
fn around(version: u8, wrap: Wrap, ip: &[u8]) -> Vec<u8> {
    let Wrapped { protocol, payload } = wrap(ip);
    outer(version, protocol, &payload)
}

fn found(ip: &[u8]) -> Result<TcpPacket, NotTcp> {
    captured(LinkType::RAW, ip).tcp()
}

/// Returns the packet found in the first `kept` bytes of an IP packet.
fn cut_at(ip: &[u8], kept: usize) -> Result<TcpPacket, NotTcp> {
    let captured = Captured {
        original_len: ip.len() as u32,
        ..captured(LinkType::RAW, &ip[..kept])
    };
    captured.tcp()
}

/// Returns every form, with both versions of the outer and the inner packet: name, packet, inner packet, tunnel.
fn all() -> Vec<(String, Vec<u8>, Vec<u8>, Tunnel)> {
    let mut all = Vec::new();
    for (name, wrap, tunnel) in forms() {
        for version in [4, 6] {
            for inner in [V4, V6].map(|ends| packet(ends, &segment(9))) {
                let name = format!("{name}: IPv{} in IPv{version}", inner[0] >> 4);
                let whole = around(version, wrap, &inner);
                all.push((name, whole, inner, tunnel));
            }
        }
    }
    all
}

#[test]
fn every_tunnel_yields_the_inner_packet() {
    for (name, whole, inner, tunnel) in all() {
        let expected = TcpPacket {
            tunnel: Some(tunnel),
            ..found(&inner).unwrap()
        };
        assert_eq!(found(&whole), Ok(expected), "{name}");
        assert_eq!(expected.segment, segment(9), "{name}");
        assert_eq!(expected.cut, Cut::Whole, "{name}");
        assert!(name.starts_with(&tunnel.to_string()), "{name}");
    }
}

#[test]
fn tunnels_have_identifiers() {
    let ids = |forms: Vec<Form>| {
        let ids: Vec<_> = forms.iter().map(|(_, _, tunnel)| tunnel.id()).collect();
        ids
    };
    assert_eq!(ids(udp_forms())[0], Some(VNI));
    assert_eq!(ids(udp_forms())[10], Some(0x0102));
    assert_eq!(ids(gre_forms())[..3], [None, None, Some(0x0a0b_0c0d)]);
    assert_eq!(ids(erspan_forms())[..2], [None, Some(0x2a5)]);
    assert_eq!(Tunnel::IpInIp.id(), None);
}

#[test]
fn a_tunnel_packet_of_any_length_is_parsed_or_cut() {
    for (name, whole, inner, tunnel) in all() {
        let uncut = found(&whole).unwrap();
        let before = whole.len() - inner.len();
        let header = if whole[0] >> 4 == 4 { 20 } else { 40 };
        let is_udp = whole[if header == 20 { 9 } else { 6 }] == UDP;
        let mut has_been_found = false;
        for kept in 0..=whole.len() {
            match cut_at(&whole, kept) {
                Ok(packet) => {
                    has_been_found = true;
                    // All other fields equal those of the inner packet, truncated at the same byte.
                    let plain = cut_at(&inner, kept - before).unwrap();
                    let expected = TcpPacket {
                        tunnel: Some(tunnel),
                        ..plain
                    };
                    assert_eq!(packet, expected, "{name} at {kept}");
                    assert_eq!(packet.segment.len, uncut.segment.len, "{name} at {kept}");
                }
                // Without its ports, the tunnel is unknown.
                Err(NotTcp::Protocol(UDP)) => {
                    assert!(
                        is_udp && (header..header + 4).contains(&kept),
                        "{name} at {kept}"
                    );
                }
                Err(error) => {
                    let inner_kept = kept.checked_sub(before);
                    let layer = match (kept < header, inner_kept) {
                        (true, _) => Layer::Ip,
                        (false, None) => Layer::Link,
                        (false, Some(kept)) => match cut_at(&inner, kept) {
                            Err(NotTcp::Cut(layer)) => layer,
                            other => panic!("{name} at {kept}: {other:?}"),
                        },
                    };
                    // For an IP packet directly after a tunnel's header, the first byte determines the version.
                    let is_at_ip = inner_kept == Some(0) && layer == Layer::Ip;
                    let expected = [NotTcp::Cut(layer), NotTcp::Cut(Layer::Link)];
                    let expected = &expected[..=usize::from(is_at_ip)];
                    assert!(expected.contains(&error), "{name} at {kept}: {error:?}");
                    assert!(!has_been_found, "{name} at {kept}");
                }
            }
        }
        assert!(has_been_found, "{name}");
    }
}

#[test]
fn at_most_two_tunnels_are_followed() {
    let inner = packet(V4, &segment(9));
    for (name, wrap, tunnel) in forms() {
        for (name_2, wrap_2, _) in forms() {
            let once = around(4, wrap, &inner);
            let twice = around(6, wrap_2, &once);
            let packet = found(&twice).unwrap_or_else(|e| panic!("{name} in {name_2}: {e}"));
            assert_eq!(packet.segment, segment(9), "{name} in {name_2}");
            assert_eq!(packet.tunnel, Some(tunnel), "{name} in {name_2}");
            let thrice = around(4, wrap_2, &twice);
            let number = once[9];
            assert_eq!(
                found(&thrice),
                Err(NotTcp::Protocol(number)),
                "{name} in {name_2}, twice"
            );
        }
    }
}

#[test]
fn a_port_alone_does_not_make_a_tunnel() {
    let inner = packet(V4, &segment(9));
    let mut stream = Stream::derive(1, "ports");
    for port in [4789, 8472, 6081, 2152] {
        for len in [0, 1, 4, 7, 8, 12, 22, 34, 54, 200] {
            for _ in 0..200 {
                let payload: Vec<u8> = (0..len).map(|_| stream.bits() as u8).collect();
                let ip = outer(4, UDP, &udp(port, &payload));
                assert_eq!(
                    found(&ip),
                    Err(NotTcp::Protocol(UDP)),
                    "{port}: {payload:?}"
                );
            }
            let ip = outer(6, UDP, &udp(port, &vec![0; len]));
            assert_eq!(found(&ip), Err(NotTcp::Protocol(UDP)), "{port}: zeros");
        }
        // Packets of a tunnel are sent to the port, not from it.
        let mut ip = around(4, |ip| in_udp(4789, &[&VXLAN, &ethernet(ip)]), &inner);
        ip[20..24].copy_from_slice(&[[0, 53], port.to_be_bytes()].concat());
        ip[20..24].rotate_left(2);
        assert_eq!(found(&ip), Err(NotTcp::Protocol(UDP)));
    }
}

#[test]
fn a_header_with_reserved_bits_is_not_a_tunnel() {
    let inner = packet(V4, &segment(9));
    let refused = |wrap: Wrap, at: usize, byte: u8| {
        let mut ip = around(4, wrap, &inner);
        let protocol = ip[9];
        assert!(found(&ip).is_ok());
        ip[at] = byte;
        let expected = Err(NotTcp::Protocol(protocol));
        assert_eq!(found(&ip), expected, "{byte:#x} at {at}");
    };
    let vxlan: Wrap = |ip| in_udp(4789, &[&VXLAN, &ethernet(ip)]);
    for (at, byte) in [(28, 0), (28, 0x0c), (29, 1), (30, 1), (31, 1), (35, 1)] {
        refused(vxlan, at, byte);
    }
    let geneve: Wrap = |ip| in_udp(6081, &[&[0, 0, 0x65, 0x58, 1, 2, 3, 0], &ethernet(ip)]);
    // In turn: version, control message, reserved bits, protocol, reserved byte, and options beyond the end.
    for (at, byte) in [
        (28, 0x40),
        (29, 0x80),
        (29, 1),
        (30, 0x66),
        (35, 1),
        (28, 0x3f),
    ] {
        refused(geneve, at, byte);
    }
    let gtp_u: Wrap = |ip| gtp(0x30, &[], ip);
    // In turn: version 2, GTP', the reserved bit, another message type, and a length beyond the end.
    for (at, byte) in [(28, 0x50), (28, 0x20), (28, 0x38), (29, 254), (30, 0xff)] {
        refused(gtp_u, at, byte);
    }
    // This extension header has length zero.
    refused(|ip| gtp(0x34, &[0, 0, 0, 0x85, 1, 0x10, 9, 0], ip), 40, 0);
    let gre: Wrap = |ip| in_gre(&[&[0, 0], &ether_type(ip), ip]);
    // In turn: routing, strict source route, recursion, version 1 of PPTP, and protocols other than IP.
    for (at, byte) in [
        (20, 0x40),
        (20, 0x08),
        (20, 0x04),
        (21, 1),
        (22, 0x66),
        (22, 0),
    ] {
        refused(gre, at, byte);
    }
    let erspan: Wrap = |ip| in_gre(&[&erspan_3([0, 0]), &ethernet(ip)]);
    refused(erspan, 28, 0x10);
}

#[test]
fn a_mismatched_inner_header_is_not_a_udp_tunnel() {
    for (name, wrap, _) in udp_forms() {
        for ends in [V4, V6] {
            let inner = packet(ends, &segment(9));
            let is_v4 = inner[0] >> 4 == 4;
            let refused = |at: usize, bytes: &[u8]| {
                let mut inner = inner.clone();
                inner[at..at + bytes.len()].copy_from_slice(bytes);
                // The packet is wrapped before it is changed, because forms that state the protocol take it from the
                // version.
                let mut ip = around(4, wrap, &packet(ends, &segment(9)));
                let before = ip.len() - inner.len();
                ip[before..].copy_from_slice(&inner);
                assert_eq!(
                    found(&ip),
                    Err(NotTcp::Protocol(UDP)),
                    "{name}: {bytes:?} at {at}"
                );
            };
            refused(0, &[0x75]);
            match is_v4 {
                true => {
                    refused(0, &[0x44]);
                    refused(2, &[0xff, 0xff]);
                    refused(2, &[0, 19]);
                }
                false => refused(4, &[0xff, 0xff]),
            }
        }
    }
    // The UDP length is longer than the IP packet, or shorter than the UDP header.
    for len in [[0xff, 0xff], [0, 7]] {
        let inner = packet(V4, &segment(9));
        let mut ip = around(4, |ip| gtp(0x30, &[], ip), &inner);
        ip[24..26].copy_from_slice(&len);
        assert_eq!(found(&ip), Err(NotTcp::Protocol(UDP)));
    }
}

#[test]
fn an_inner_packet_of_another_protocol_is_reported() {
    for (name, wrap, _) in forms() {
        let mut inner = packet(V4, &segment(9));
        inner[9] = 1;
        let ip = around(4, wrap, &inner);
        assert_eq!(found(&ip), Err(NotTcp::Protocol(1)), "{name}");
    }
    // ARP in a tunnel is not parsed.
    let arp = [&[2_u8; 12][..], &[8, 6, 0, 1, 8, 0]].concat();
    let ip = outer(4, UDP, &udp(4789, &[&VXLAN, &arp[..]].concat()));
    assert_eq!(found(&ip), Err(NotTcp::Protocol(UDP)));
    let ip = outer(4, GRE, &[&[0, 0, 0x65, 0x58], &arp[..]].concat());
    assert_eq!(found(&ip), Err(NotTcp::Protocol(GRE)));
}

#[test]
fn tcp_is_never_mistaken_for_a_tunnel() {
    for (at, port) in [(0, 4789_u16), (2, 4789), (2, 8472), (2, 6081), (2, 2152)] {
        let mut ip = packet(V4, &segment(9));
        ip[20 + at..22 + at].copy_from_slice(&port.to_be_bytes());
        // The payload looks like the packet of a tunnel.
        let header = ip.len() - 100;
        ip[header..header + 8].copy_from_slice(&VXLAN);
        let packet = found(&ip).unwrap();
        assert_eq!((packet.tunnel, packet.segment), (None, segment(9)));
    }
}

#[test]
fn the_first_fragment_of_a_tunnel_has_the_inner_headers() {
    for (name, wrap, tunnel) in forms() {
        let whole = around(4, wrap, &packet(V4, &segment(9)));
        let before = whole.len() - packet(V4, &segment(9)).len();
        // The fragment has the inner headers, and 8 bytes of payload.
        let kept = (before + 20 + 44 + 8).next_multiple_of(8) + 4;
        let mut first = whole[..kept].to_vec();
        let said = (kept as u16).to_be_bytes();
        first[2..4].copy_from_slice(&said);
        first[6] = 0x20;
        let packet = found(&first).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(packet.tunnel, Some(tunnel), "{name}");
        // The inner packet is not a fragment.
        assert_eq!(
            (packet.segment, packet.portion),
            (segment(9), Portion::Whole)
        );
        assert_eq!(packet.cut, Cut::Payload, "{name}");

        let mut later = outer(4, whole[9], &whole[kept..]);
        later[7] = 9;
        let expected = match whole[9] {
            // Without its ports, the tunnel is unknown.
            UDP => NotTcp::Protocol(UDP),
            _ => NotTcp::Fragment,
        };
        assert_eq!(found(&later), Err(expected), "{name}");
    }
}

#[test]
fn lengths_come_from_the_inner_header_if_a_mirror_cuts_packets() {
    // The outer headers state the length of the mirrored bytes, or leave the length to the interface.
    let inner = packet(V4, &segment(9));
    for (name, wrap, _) in forms() {
        let ip = around(4, wrap, &inner[..inner.len() - 100]);
        let captured = Captured {
            original_len: ip.len() as u32 + 100,
            ..captured(LinkType::RAW, &ip)
        };
        let packet = captured.tcp().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((packet.segment, packet.cut), (segment(9), Cut::Payload));
        let mut ip = around(4, wrap, &inner);
        ip[2..4].fill(0);
        assert_eq!(found(&ip).unwrap().segment, segment(9), "{name}");
    }
}

/// Returns a frame of Linux's netfilter log.
fn nflog(order: Order, family: u8, ip: &[u8]) -> Vec<u8> {
    let attribute = |kind: u16, value: &[u8]| {
        let len = 4 + value.len() as u16;
        let mut attribute = [order.u16(len), order.u16(kind)].concat();
        attribute.extend(value);
        attribute.resize(attribute.len().next_multiple_of(4), 0);
        attribute
    };
    [
        vec![family, 0, 0, 5],
        attribute(1, &[8, 0, 3, 0]),
        attribute(10, b"prefix\0"),
        attribute(4, &[0, 0, 0, 2]),
        attribute(9, ip),
    ]
    .concat()
}

#[test]
fn the_netfilter_log_is_read_in_either_byte_order() {
    for host in ORDERS {
        for (family, ends) in [(2, V4), (10, V6)] {
            let inner = packet(ends, &segment(9));
            let frame = nflog(host, family, &inner);
            let expected = found(&inner).unwrap();
            let before = frame.len() - inner.len();
            for kept in 0..=frame.len() {
                let captured = Captured {
                    original_len: frame.len() as u32,
                    ..captured(LinkType::NFLOG, &frame[..kept])
                };
                let plain = kept.checked_sub(before).map(|kept| cut_at(&inner, kept));
                let expected = plain.unwrap_or(Err(NotTcp::Cut(Layer::Link)));
                assert_eq!(captured.tcp(), expected, "{host:?} at {kept}");
            }
            // The file may come from a host with the other byte order.
            for order in ORDERS {
                let file = pcap(order, MICROS, 239, std::slice::from_ref(&frame));
                let tcp = read(file.as_slice()).tcp;
                assert_eq!(tcp[0].segment, expected.segment, "{host:?} in {order:?}");
                assert_eq!(tcp[0].tunnel, None);
            }
        }
    }
}

#[test]
fn a_malformed_netfilter_log_is_reported() {
    let inner = packet(V4, &segment(9));
    let with = |at: usize, bytes: &[u8]| {
        let mut frame = nflog(Order::Little, 2, &inner);
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        captured(LinkType::NFLOG, &frame).tcp()
    };
    assert_eq!(with(0, &[7]), Err(NotTcp::NotIp(NotIp::Family(7))));
    assert_eq!(with(1, &[1]), Err(NotTcp::UnknownLink(LinkType::NFLOG)));
    let damaged = Err(NotTcp::Damaged(Layer::Link));
    // These types do not show the byte order, and these lengths are below the header's four bytes.
    assert_eq!(with(6, &[0, 0]), damaged);
    assert_eq!(with(6, &[1, 1]), damaged);
    assert_eq!(with(4, &[3, 0]), damaged);
    assert_eq!(with(12, &[0, 0]), damaged);
    assert_eq!(with(4, &[0xff, 0xff]), Err(NotTcp::Cut(Layer::Link)));
}

#[test]
fn a_tally_names_tunnels() {
    let mut tally = Tally::default();
    let inner = packet(V4, &segment(9));
    let mut count = |ip: &[u8], kept: usize| {
        let captured = captured(LinkType::RAW, &ip[..kept]);
        tally.count(&captured, &captured.tcp());
    };
    let vxlan = around(4, |ip| in_udp(4789, &[&VXLAN, &ethernet(ip)]), &inner);
    let gre = around(4, |ip| in_gre(&[&[0, 0], &ether_type(ip), ip]), &inner);
    for _ in 0..3 {
        count(&vxlan, vxlan.len());
    }
    for _ in 0..2 {
        count(&gre, gre.len());
    }
    count(&inner, inner.len());
    // This packet is truncated before its options.
    count(&vxlan, vxlan.len() - 124);
    assert_eq!(tally.with_tcp(), 7);
    let kind = Tunnel::Vxlan { vni: 1 }.kind();
    assert_eq!(tally.of(Kind::TcpIn(kind)), 3);
    assert_eq!(
        tally.to_string(),
        "7 packets: 3 TCP in VXLAN, 2 TCP in GRE, 1 TCP, 1 TCP in VXLAN, truncated in the header"
    );
}

#[test]
fn tcp_in_tunnels_is_always_counted_by_kind() {
    let mut tally = Tally::default();
    let inner = packet(V4, &segment(9));
    for protocol in 100..200 {
        let mut ip = inner.clone();
        ip[9] = protocol;
        let captured = captured(LinkType::RAW, &ip);
        tally.count(&captured, &captured.tcp());
    }
    let forms = forms();
    for (_, wrap, _) in &forms {
        let ip = around(4, *wrap, &inner);
        let captured = captured(LinkType::RAW, &ip);
        tally.count(&captured, &captured.tcp());
    }
    assert_eq!(tally.with_tcp(), forms.len() as u64);
    assert_eq!(tally.by_kind().len(), 64 + 6);
    assert_eq!(tally.of(Kind::Others), 100 - 63);
}
