//! Tests that read files back with pcap-file, and their packets with etherparse, and check every field and both
//! checksums.

use std::net::SocketAddr;

use crate::common;
use crate::common::Passing;
use dupack_packet::{CaptureTime, FlowConfig, Snap};
use dupack_tcp::segment::{Ack, DataSegment};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Instant;
use etherparse::{Ipv4Header, TcpHeader, TcpOptionElement as Element};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use pcap_file::pcapng::{Block, PcapNgReader};

/// Packet in the file.
struct Read {
    at: CaptureTime,
    comment: Option<String>,
    original_len: u32,
    ip: Ipv4Header,
    tcp: TcpHeader,
    payload: Vec<u8>,
}

impl Read {
    fn new(block: &EnhancedPacketBlock<'_>) -> Self {
        let (ip, rest) = Ipv4Header::from_slice(&block.data).expect("an IPv4 header");
        let (tcp, payload) = TcpHeader::from_slice(rest).expect("a TCP header");
        let comment = block.options.iter().find_map(|option| match option {
            EnhancedPacketOption::Comment(text) => Some(text.to_string()),
            _ => None,
        });
        let nanos = u64::try_from(block.timestamp.as_nanos()).expect("64 bits in the file");
        Self {
            at: CaptureTime::from_unix_nanos(nanos),
            comment,
            original_len: block.original_len,
            ip,
            tcp,
            payload: payload.to_vec(),
        }
    }

    fn endpoints(&self) -> (SocketAddr, SocketAddr) {
        (
            SocketAddr::from((self.ip.source, self.tcp.source_port)),
            SocketAddr::from((self.ip.destination, self.tcp.destination_port)),
        )
    }

    fn is_of(&self, flow: &FlowConfig) -> bool {
        let (sender, receiver) = (flow.endpoints.sender, flow.endpoints.receiver);
        [(sender, receiver), (receiver, sender)].contains(&self.endpoints())
    }

    fn elements(&self) -> Vec<Element> {
        // etherparse stops at an unknown option, so the order is removed first.
        let (_, known) = split_order(self.tcp.options.as_slice());
        etherparse::TcpOptionsIterator::from_slice(known)
            .map(|element| element.expect("a well-formed option"))
            .filter(|element| *element != Element::Noop)
            .collect()
    }

    /// Returns the order with its experiment identifier.
    fn order(&self) -> Option<(u16, u32)> {
        split_order(self.tcp.options.as_slice()).0
    }

    /// Asserts that the checksums are correct for the captured headers and payload.
    fn assert_checksums(&self) {
        assert_eq!(self.ip.header_checksum, self.ip.calc_header_checksum());
        let expected = self.tcp.calc_checksum_ipv4(&self.ip, &self.payload);
        assert_eq!(Ok(self.tcp.checksum), expected);
    }
}

/// Splits off the order, which is the first option in flows without timestamps.
fn split_order(options: &[u8]) -> (Option<(u16, u32)>, &[u8]) {
    match *options {
        [253, 8, e0, e1, o0, o1, o2, o3, ..] => (
            Some((
                u16::from_be_bytes([e0, e1]),
                u32::from_be_bytes([o0, o1, o2, o3]),
            )),
            &options[8..],
        ),
        _ => (None, options),
    }
}

fn read(file: &[u8]) -> Vec<Read> {
    let mut reader = PcapNgReader::new(file).expect("a section header");
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(block) = block.expect("a well-formed block") {
            packets.push(Read::new(&block));
        }
    }
    packets
}

#[test]
fn the_file_names_its_writer_and_resolution() {
    for (snap, bytes) in [(Snap::Headers, 128), (Snap::Full, 65_535)] {
        let file = common::capture(snap);
        let mut reader = PcapNgReader::new(file.as_slice()).expect("a section header");
        let Some(Ok(Block::InterfaceDescription(interface))) = reader.next_block() else {
            panic!("no interface description");
        };
        assert_eq!(interface.linktype, DataLink::RAW);
        assert_eq!(interface.snaplen, bytes);
        assert!(
            interface
                .options
                .contains(&InterfaceDescriptionOption::IfTsResol(9))
        );
        let application = concat!("dupack ", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            reader.section().options,
            [SectionHeaderOption::UserApplication(application.into())]
        );
    }
}

#[test]
fn a_full_capture_has_every_field_and_valid_checksums() {
    let mut wrapping = common::order_flow();
    wrapping.first_byte = SeqNumber(u32::MAX - 3000);
    wrapping.receiver_isn = SeqNumber(u32::MAX);
    for second in [common::order_flow(), wrapping] {
        let first = common::timestamps_flow();
        let packets = read(&common::capture_of(Snap::Full, first, second));
        for packet in &packets {
            packet.assert_checksums();
            assert_eq!(packet.original_len, u32::from(packet.ip.total_len));
            assert!(packet.payload.iter().all(|&byte| byte == 0));
            assert!(packet.ip.dont_fragment);
        }
        for (flow, script, name) in [
            (first, common::TIMESTAMPS_SCRIPT, "flow 1: sack/reno"),
            (second, common::ORDER_SCRIPT, "flow 2: le/westwood"),
        ] {
            let of_flow: Vec<&Read> = packets.iter().filter(|p| p.is_of(&flow)).collect();
            let passing = common::run(&flow, script);
            let (handshake, rest) = of_flow.split_at(3);
            let (established, fin) = rest.split_at(passing.len());
            assert_handshake(&flow, handshake, passing[0].0, name);
            for (packet, (at, passing)) in established.iter().zip(&passing) {
                assert_eq!(packet.at, CaptureTime::from_simulation(*at));
                match passing {
                    Passing::Data(segment, why) => assert_data(&flow, packet, segment, why),
                    Passing::Ack(ack) => assert_ack(&flow, packet, ack),
                }
            }
            match flow.timestamp_tick {
                Some(_) => assert_fin(&flow, fin),
                None => assert!(fin.is_empty()),
            }
        }
    }
}

fn flags(tcp: &TcpHeader) -> String {
    let set = [
        (tcp.syn, "S"),
        (tcp.fin, "F"),
        (tcp.ack, "A"),
        (tcp.psh, "P"),
        (tcp.rst, "R"),
        (tcp.urg, "U"),
        (tcp.ece, "E"),
        (tcp.cwr, "C"),
        (tcp.ns, "N"),
    ];
    set.iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| *name)
        .collect()
}

fn assert_handshake(flow: &FlowConfig, packets: &[&Read], start: Instant, name: &str) {
    let [syn, syn_ack, ack] = packets else {
        panic!("{} packets", packets.len());
    };
    let to_receiver = (flow.endpoints.sender, flow.endpoints.receiver);
    let established = CaptureTime::from_simulation(start);
    assert_eq!(syn.at, established.before(common::RTT));
    assert_eq!((syn_ack.at, ack.at), (established, established));
    assert_eq!(syn.comment.as_deref(), Some(name));
    assert_eq!(syn.endpoints(), to_receiver);
    assert_eq!(syn_ack.endpoints(), (to_receiver.1, to_receiver.0));
    assert_eq!(ack.endpoints(), to_receiver);
    assert_eq!(flags(&syn.tcp), "S");
    assert_eq!(flags(&syn_ack.tcp), "SA");
    assert_eq!(flags(&ack.tcp), "A");

    let first = flow.first_byte.0;
    let second = flow.receiver_isn.0.wrapping_add(1);
    assert_eq!(syn.tcp.sequence_number, first.wrapping_sub(1));
    assert_eq!(syn.tcp.acknowledgment_number, 0);
    assert_eq!(syn_ack.tcp.sequence_number, flow.receiver_isn.0);
    assert_eq!(syn_ack.tcp.acknowledgment_number, first);
    assert_eq!(ack.tcp.sequence_number, first);
    assert_eq!(ack.tcp.acknowledgment_number, second);
    for (packet, scale) in [(syn, 0), (syn_ack, 4)] {
        assert_eq!(packet.tcp.window_size, 65_535, "not scaled");
        let elements = packet.elements();
        assert!(elements.contains(&Element::MaximumSegmentSize(1460)));
        assert!(elements.contains(&Element::WindowScale(scale)));
        assert!(elements.contains(&Element::SelectiveAcknowledgementPermitted));
        let timestamps = timestamps(packet).is_some();
        assert_eq!(timestamps, flow.timestamp_tick.is_some());
    }
    if let (Some(syn), Some(syn_ack)) = (timestamps(syn), timestamps(syn_ack)) {
        assert_eq!(syn.1, 0);
        assert_eq!(syn_ack.1, syn.0);
        assert_eq!(timestamps(ack), Some((0, syn_ack.0)));
    }
}

fn timestamps(packet: &Read) -> Option<(u32, u32)> {
    packet
        .elements()
        .into_iter()
        .find_map(|element| match element {
            Element::Timestamp(value, echo) => Some((value, echo)),
            _ => None,
        })
}

fn assert_data(flow: &FlowConfig, packet: &Read, segment: &DataSegment, why: &str) {
    assert_eq!(
        packet.endpoints(),
        (flow.endpoints.sender, flow.endpoints.receiver)
    );
    assert_eq!(packet.comment.as_deref(), Some(why));
    assert_eq!(flags(&packet.tcp), "A");
    assert_eq!(packet.tcp.sequence_number, segment.seq.0);
    let ack = flow.receiver_isn.0.wrapping_add(1);
    assert_eq!(packet.tcp.acknowledgment_number, ack);
    assert_eq!(packet.tcp.window_size, 65_535);
    assert_eq!(packet.payload.len(), segment.len as usize);
    assert_eq!(packet.original_len, 1500, "full segments fill an MTU");
    assert_eq!(
        timestamps(packet).map(|(value, _)| value),
        segment.timestamp
    );
    assert_eq!(packet.order(), segment.order.map(|order| (0x4c4f, order)));
}

fn assert_ack(flow: &FlowConfig, packet: &Read, ack: &Ack) {
    assert_eq!(
        packet.endpoints(),
        (flow.endpoints.receiver, flow.endpoints.sender)
    );
    assert_eq!(flags(&packet.tcp), "A");
    assert_eq!(packet.tcp.acknowledgment_number, ack.ack.0);
    let seq = flow.receiver_isn.0.wrapping_add(1);
    assert_eq!(packet.tcp.sequence_number, seq);
    assert_eq!(u32::from(packet.tcp.window_size) << 4, ack.window);
    assert!(packet.payload.is_empty());
    let echo = timestamps(packet).map(|(_, echo)| echo);
    assert_eq!(echo, ack.timestamp_echo);
    assert_eq!(packet.order(), ack.order_echo.map(|order| (0x4c45, order)));

    let expected: Vec<(u32, u32)> = ack
        .sacks
        .as_slice()
        .iter()
        .map(|block| (block.start.0, block.end.0))
        .collect();
    let written: Vec<(u32, u32)> = packet
        .elements()
        .iter()
        .filter_map(|element| match element {
            Element::SelectiveAcknowledgement(first, rest) => {
                Some(std::iter::once(*first).chain(rest.iter().flatten().copied()))
            }
            _ => None,
        })
        .flatten()
        .collect();
    let fitting = expected.len().min(3);
    assert_eq!(written, expected[..fitting]);
    let left_out = (expected.len() > fitting).then_some("no room for 1 more SACK block");
    assert_eq!(packet.comment.as_deref(), left_out);
}

fn assert_fin(flow: &FlowConfig, packets: &[&Read]) {
    let [fin, answer, last] = packets else {
        panic!("{} packets", packets.len());
    };
    let end = flow.first_byte.0.wrapping_add(12 * flow.mss);
    let theirs = flow.receiver_isn.0.wrapping_add(1);
    let numbers = |tcp: &TcpHeader| (tcp.sequence_number, tcp.acknowledgment_number);
    assert_eq!(
        (flags(&fin.tcp), numbers(&fin.tcp)),
        ("FA".into(), (end, theirs))
    );
    assert_eq!(
        (flags(&answer.tcp), numbers(&answer.tcp)),
        ("FA".into(), (theirs, end + 1))
    );
    assert_eq!(
        (flags(&last.tcp), numbers(&last.tcp)),
        ("A".into(), (end + 1, theirs + 1))
    );
    assert_eq!(answer.at, fin.at.after(common::RTT));
    assert_eq!(last.at, answer.at);
}

#[test]
fn a_capture_of_headers_keeps_128_bytes_and_the_original_length() {
    let full = read(&common::capture(Snap::Full));
    let headers = read(&common::capture(Snap::Headers));
    assert_eq!(full.len(), headers.len());
    for (full, cut) in full.iter().zip(&headers) {
        assert_eq!((&full.ip, &full.tcp), (&cut.ip, &cut.tcp));
        assert_eq!(full.original_len, cut.original_len);
        let captured = cut.ip.header_len() + cut.tcp.header_len() + cut.payload.len();
        assert_eq!(captured, cut.original_len.min(128) as usize);
    }
}

#[test]
fn no_two_packets_of_a_flow_look_like_duplicates() {
    let packets = read(&common::capture(Snap::Headers));
    let mut seen = std::collections::HashSet::new();
    for packet in &packets {
        assert!(seen.insert((packet.endpoints(), packet.ip.identification)));
    }
}

#[test]
fn the_same_packets_give_the_same_file() {
    assert_eq!(common::capture(Snap::Full), common::capture(Snap::Full));
}
