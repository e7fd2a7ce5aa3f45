//! Tests that all link layers lead to the same IP packet.

use dupack_packet::captured::{CaptureReader, Heading, Layer, LinkType, NotIp, NotTcp, Tally};
use dupack_packet::{Verify, parse};

use super::files::{MICROS, ORDERS, V4, V6, captured, packet, pcap, segment};

use Heading::{Incoming, Outgoing, Unknown};

/// Two Ethernet addresses.
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// Returns an Ethernet frame with `rest` after the addresses.
fn ethernet(rest: &[u8]) -> Vec<u8> {
    [&ADDRESSES, rest].concat()
}

fn cooked(kind: u8, protocol: [u8; 2]) -> Vec<u8> {
    let [a, b] = protocol;
    vec![0, kind, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, a, b]
}

fn cooked_2(kind: u8, protocol: [u8; 2]) -> Vec<u8> {
    let [a, b] = protocol;
    vec![
        a, b, 0, 0, 0, 0, 1, 3, 0, 1, kind, 6, 2, 0, 0, 0, 0, 1, 0, 0,
    ]
}

/// Name and link type, the bytes before an IPv4 packet and before an IPv6 packet, and the direction.
type Before = (&'static str, LinkType, [Vec<u8>; 2], Heading);

const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];

fn ethernets() -> Vec<Before> {
    let both = |name, rest: &[u8], ends: [&[u8]; 2]| {
        let frames = ends.map(|end| ethernet(&[rest, end].concat()));
        (name, LinkType::ETHERNET, frames, Unknown)
    };
    let (v4, v6): (&[u8], &[u8]) = (&[8, 0], &[0x86, 0xdd]);
    let ppp = [&[0, 0x21][..], &[0, 0x57]];
    vec![
        both("plain", &[], [v4, v6]),
        both("802.1Q", &[0x81, 0, 0, 5], [v4, v6]),
        both("QinQ", &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6], [v4, v6]),
        both(
            "five tags",
            &[
                0x91, 0, 0, 5, 0x92, 0, 0, 6, 0x93, 0, 0, 7, 0x81, 0, 0, 8, 0x81, 0, 0, 9,
            ],
            [v4, v6],
        ),
        both("802.3 and SNAP", &[&[0, 160][..], &SNAP].concat(), [v4, v6]),
        both(
            "802.1Q and SNAP",
            &[&[0x81, 0, 0, 5, 0, 160][..], &SNAP].concat(),
            [v4, v6],
        ),
        both("LLC's own number", &[0, 160, 6, 6], [&[3], &[3]]),
        both("PPPoE", &[0x88, 0x64, 0x11, 0, 0, 1, 0, 160], ppp),
        both(
            "PPPoE, short",
            &[0x88, 0x64, 0x11, 0, 0, 1, 0, 160],
            [&[0x21], &[0x57]],
        ),
        both(
            "PPPoE in 802.1Q",
            &[0x81, 0, 0, 5, 0x88, 0x64, 0x11, 0, 0, 1, 0, 160],
            ppp,
        ),
        both(
            "MPLS",
            &[0x88, 0x47, 0, 1, 0, 64],
            [&[0, 2, 1, 64], &[0, 2, 1, 64]],
        ),
    ]
}

fn others() -> Vec<Before> {
    let same = |name, link, bytes: &[u8]| (name, link, [bytes.to_vec(), bytes.to_vec()], Unknown);
    let two = |name, link, v4: &[u8], v6: &[u8]| (name, link, [v4.to_vec(), v6.to_vec()], Unknown);
    let (v4, v6) = ([8, 0], [0x86, 0xdd]);
    let sll = |name, kind, heading| {
        let frames = [cooked(kind, v4), cooked(kind, v6)];
        (name, LinkType::LINUX_SLL, frames, heading)
    };
    let sll2 = |name, kind, heading| {
        let frames = [cooked_2(kind, v4), cooked_2(kind, v6)];
        (name, LinkType::LINUX_SLL2, frames, heading)
    };
    let address: [u8; 13] = [0x57, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7];
    let fddi = |kind: [u8; 2]| [&address[..], &SNAP, &kind].concat();
    vec![
        same("raw", LinkType::RAW, &[]),
        same("raw of BSD/OS", LinkType(12), &[]),
        same("raw of OpenBSD", LinkType(14), &[]),
        sll("cooked, in", 0, Incoming),
        sll("cooked, others'", 3, Incoming),
        sll("cooked, out", 4, Outgoing),
        sll("cooked, looped", 5, Unknown),
        sll2("cooked 2, in", 0, Incoming),
        sll2("cooked 2, out", 4, Outgoing),
        two(
            "cooked with a tag",
            LinkType::LINUX_SLL,
            &[cooked(7, [0x81, 0]), vec![0, 5, 8, 0]].concat(),
            &[cooked(7, [0x81, 0]), vec![0, 5, 0x86, 0xdd]].concat(),
        ),
        two(
            "loopback, big",
            LinkType::NULL,
            &[0, 0, 0, 2],
            &[0, 0, 0, 24],
        ),
        two(
            "loopback, little",
            LinkType::NULL,
            &[2, 0, 0, 0],
            &[30, 0, 0, 0],
        ),
        two(
            "loopback of FreeBSD",
            LinkType::NULL,
            &[2, 0, 0, 0],
            &[28, 0, 0, 0],
        ),
        two(
            "loopback of OpenBSD",
            LinkType::LOOP,
            &[0, 0, 0, 2],
            &[0, 0, 0, 24],
        ),
        two("PPP", LinkType::PPP, &[0, 0x21], &[0, 0x57]),
        two("PPP, short", LinkType::PPP, &[0x21], &[0x57]),
        two(
            "PPP with HDLC",
            LinkType::PPP,
            &[0xff, 3, 0, 0x21],
            &[0xff, 3, 0, 0x57],
        ),
        two(
            "PPP in HDLC",
            LinkType::PPP_HDLC,
            &[0xff, 3, 0, 0x21],
            &[0xff, 3, 0, 0x57],
        ),
        two(
            "Cisco in HDLC",
            LinkType::PPP_HDLC,
            &[0x0f, 0, 8, 0],
            &[0x8f, 0, 0x86, 0xdd],
        ),
        two(
            "Cisco",
            LinkType::CISCO_HDLC,
            &[0x0f, 0, 8, 0],
            &[0x0f, 0, 0x86, 0xdd],
        ),
        two(
            "PPPoE alone",
            LinkType::PPP_ETHER,
            &[0x11, 0, 0, 1, 0, 160, 0, 0x21],
            &[0x11, 0, 0, 1, 0, 160, 0, 0x57],
        ),
        (
            "pppd",
            LinkType::PPP_PPPD,
            [vec![1, 3, 0, 0x21], vec![1, 3, 0, 0x57]],
            Outgoing,
        ),
        (
            "PPP with direction",
            LinkType::PPP_WITH_DIRECTION,
            [vec![0, 0xff, 3, 0, 0x21], vec![0, 0, 0x57]],
            Incoming,
        ),
        two("FDDI", LinkType::FDDI, &fddi(v4), &fddi(v6)),
    ]
}

fn all() -> Vec<Before> {
    ethernets().into_iter().chain(others()).collect()
}

#[test]
fn every_link_type_yields_the_same_packet() {
    for (name, link, before, heading) in all() {
        for (ends, before) in [V4, V6].into_iter().zip(before) {
            let ip = packet(ends, &segment(9));
            let strict = parse(&ip, Verify::Checksums).unwrap();
            let mut frame = before;
            frame.extend(&ip);
            // The padding of a short frame is not payload.
            frame.extend([0; 7]);
            for order in ORDERS {
                let file = pcap(order, MICROS, link.0, std::slice::from_ref(&frame));
                let mut reader = CaptureReader::new(file.as_slice()).unwrap();
                let captured = reader.next_packet().unwrap().expect("a packet");
                let found = captured.tcp().unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(found.segment, strict.segment, "{name}");
                let ends = (found.source, found.destination);
                assert_eq!(ends, (strict.source, strict.destination), "{name}");
                assert_eq!(found.heading, heading, "{name}");
                let on = if link == LinkType::LINUX_SLL2 { 259 } else { 0 };
                assert_eq!(found.interface, on, "{name}");
            }
        }
    }
    for (link, ends) in [(LinkType::IPV4, V4), (LinkType::IPV6, V6)] {
        let ip = packet(ends, &segment(9));
        assert_eq!(captured(link, &ip).tcp().unwrap().segment.seq.0, 9);
    }
}

#[test]
fn a_frame_cut_before_its_ip_header_is_reported() {
    for (name, link, before, _) in all() {
        let [before, _] = before;
        for len in 0..before.len() {
            let found = captured(link, &before[..len]).tcp().unwrap_err();
            assert_eq!(found, NotTcp::Cut(Layer::Link), "{name} at {len}");
        }
        let found = captured(link, &before).tcp().unwrap_err();
        assert_eq!(
            found,
            NotTcp::Cut(if name == "MPLS" {
                Layer::Link
            } else {
                Layer::Ip
            }),
            "{name}"
        );
    }
}

#[test]
fn other_protocols_are_counted_by_kind() {
    let fddi_token = vec![0x80; 30];
    let cases = [
        (
            LinkType::ETHERNET,
            ethernet(&[8, 6]),
            NotIp::EtherType(0x0806),
        ),
        (
            LinkType::ETHERNET,
            ethernet(&[0x81, 0, 0, 5, 0x88, 0xcc]),
            NotIp::EtherType(0x88cc),
        ),
        (
            LinkType::ETHERNET,
            ethernet(&[0, 38, 0x42, 0x42, 3]),
            NotIp::Llc,
        ),
        (
            LinkType::ETHERNET,
            ethernet(&[0, 38, 0xaa, 0xaa, 3, 0, 0, 12, 1, 0]),
            NotIp::Llc,
        ),
        // A length within LLC would lead to LLC again.
        (
            LinkType::ETHERNET,
            ethernet(&[0, 38, 0xaa, 0xaa, 3, 0, 0, 0, 0, 38]),
            NotIp::Llc,
        ),
        (
            LinkType::ETHERNET,
            ethernet(&[0x88, 0x47, 0, 1, 1, 64, 0, 0]),
            NotIp::Mpls,
        ),
        (LinkType::PPP, vec![0xc0, 0x21, 1, 1], NotIp::Ppp(0xc021)),
        (LinkType::NULL, vec![0, 0, 0, 7, 1, 1], NotIp::Family(7)),
        (LinkType::LINUX_SLL, cooked(0, [0, 3]), NotIp::EtherType(3)),
        (LinkType::FDDI, fddi_token, NotIp::Control),
    ];
    for (link, frame, expected) in cases {
        let found = captured(link, &frame).tcp();
        assert_eq!(found, Err(NotTcp::NotIp(expected)));
        assert!(!expected.to_string().is_empty());
    }
    let wireless = captured(LinkType(105), &[0; 100]).tcp();
    assert_eq!(wireless, Err(NotTcp::UnknownLink(LinkType(105))));
}

#[test]
fn a_tally_names_what_it_counts() {
    let mut tally = Tally::default();
    let mut frames = vec![ethernet(&[8, 6, 0, 0]), ethernet(&[8, 6, 0, 0])];
    frames.push([ethernet(&[8, 0]), packet(V4, &segment(9))].concat());
    let mut udp = [ethernet(&[8, 0]), packet(V4, &segment(9))].concat();
    udp[14 + 9] = 17;
    frames.extend(vec![udp; 3]);
    for frame in &frames {
        let captured = captured(LinkType::ETHERNET, frame);
        tally.count(&captured, &captured.tcp());
    }
    assert_eq!((tally.packets, tally.with_tcp()), (6, 1));
    assert_eq!(tally.to_string(), "6 packets: 3 UDP, 2 ARP, 1 TCP");
}

#[test]
fn a_tally_is_bounded() {
    let mut tally = Tally::default();
    for kind in 0x0800..0x0900_u16 {
        let frame = ethernet(&kind.to_be_bytes());
        let captured = captured(LinkType::ETHERNET, &frame);
        tally.count(&captured, &captured.tcp());
    }
    assert_eq!(tally.by_kind().len(), 64);
    let all: u64 = tally.by_kind().iter().map(|(_, count)| count).sum();
    assert_eq!(all, 256);
}
