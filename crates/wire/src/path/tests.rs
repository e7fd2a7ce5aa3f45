//! Tests of segmentation: another parser reads the packets that are written to a device, and the tests reassemble them.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};

use dupack_net::packet::PacketKind;
use dupack_tcp::segment::Codepoint;
use dupack_tcp::time::Instant;

use super::frame::{Frame, Piece, Unfit};
use crate::device::{ChecksumState, Pending, Received, Segmentation};
use crate::family::Family;

const SIZE: usize = 1000;
const SEQ: u32 = u32::MAX - 1500;

fn payload(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 % 251) as u8).collect()
}

/// Returns a TCP packet with `length` payload bytes as the kernel delivers it: flags CWR, PSH, FIN and ACK, and a
/// partial checksum.
fn tcp(family: Family, length: usize) -> Vec<u8> {
    let builder = match family {
        Family::V4 => etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
        Family::V6 => etherparse::PacketBuilder::ipv6([1; 16], [2; 16], 64),
    };
    let builder = builder
        .tcp(50_000, 80, SEQ, 1000)
        .ack(77)
        .psh()
        .fin()
        .cwr()
        .options_raw(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2])
        .expect("options fit");
    let mut packet = Vec::new();
    builder
        .write(&mut packet, &payload(length))
        .expect("a vector");
    packet
}

fn udp(length: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(50_000, 53)
        .write(&mut packet, &payload(length))
        .expect("a vector");
    packet
}

fn transport_at(family: Family) -> u16 {
    match family {
        Family::V4 => 20,
        Family::V6 => 40,
    }
}

fn pending(family: Family, segmentation: Segmentation) -> Pending {
    let offset = match segmentation {
        Segmentation::Udp { .. } => 6,
        _ => 16,
    };
    Pending {
        checksum: ChecksumState::Partial {
            start: transport_at(family),
            offset,
        },
        segmentation,
    }
}

fn load(bytes: &[u8], pending: Pending) -> Frame {
    let mut frame = Frame::default();
    frame
        .load(&Received {
            at: Instant::ZERO,
            pending,
            bytes,
        })
        .expect("a good packet");
    frame
}

fn tcp_frame(family: Family, length: usize) -> Frame {
    let segmentation = Segmentation::Tcp {
        size: SIZE as u16,
        header_len: transport_at(family) + 32,
        family,
    };
    load(&tcp(family, length), pending(family, segmentation))
}

/// Returns the bytes of a piece. A partial checksum is completed as the kernel completes it.
fn packet(piece: &Piece<'_>) -> Vec<u8> {
    let mut bytes = [piece.head(), piece.tail].concat();
    if let ChecksumState::Partial { start, offset } = piece.pending.checksum {
        let (start, at) = (usize::from(start), usize::from(start + offset));
        let sum = super::checksum::Checksum::default().and(&bytes[start..]);
        bytes[at..at + 2].copy_from_slice(&sum.complement());
    }
    bytes
}

/// Checks the checksums of a segment. Returns the sequence number, the flags (FIN, PSH, CWR) and the payload.
fn read_tcp(bytes: &[u8]) -> (u32, [bool; 3], Vec<u8>) {
    let sliced = SlicedPacket::from_ip(bytes).expect("a packet");
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else {
        panic!("no TCP");
    };
    let header = tcp.to_header();
    let sum = match sliced.net.as_ref().expect("IP") {
        NetSlice::Ipv4(ip) => {
            let ip_header = ip.header().to_header();
            assert_eq!(ip_header.header_checksum, ip_header.calc_header_checksum());
            header.calc_checksum_ipv4(&ip_header, tcp.payload())
        }
        NetSlice::Ipv6(ip) => header.calc_checksum_ipv6(&ip.header().to_header(), tcp.payload()),
        NetSlice::Arp(_) => panic!("not IP"),
    };
    assert_eq!(Ok(header.checksum), sum);
    let flags = [header.fin, header.psh, header.cwr];
    (header.sequence_number, flags, tcp.payload().to_vec())
}

#[test]
fn a_completed_udp_checksum_is_never_zero() {
    let mut bytes = udp(4);
    let end = bytes.len();
    let mut all_ones = 0;
    for last in 0..=u16::MAX {
        bytes[end - 2..].copy_from_slice(&last.to_be_bytes());
        let frame = load(&bytes, pending(Family::V4, Segmentation::Whole));
        let checksum = packet(&frame.cut_plain(0))[26..28].to_vec();
        assert_ne!(checksum, [0, 0], "zero means that there is no checksum");
        all_ones += u32::from(checksum == [0xff, 0xff]);
    }
    assert!(all_ones > 0, "one of the datagrams has the checksum zero");
}

#[test]
fn each_segment_is_a_complete_packet() {
    for family in [Family::V4, Family::V6] {
        // The packet has three full segments and a remainder, and the sequence numbers wrap around.
        let frame = tcp_frame(family, 3210);
        assert_eq!(frame.shape().segments(), 4);
        assert_eq!(frame.shape().kind, PacketKind::Data);
        let headers = u32::from(transport_at(family)) + 32;
        assert_eq!(frame.shape().wire_bytes(0), headers + 1000);
        assert_eq!(frame.shape().wire_bytes(3), headers + 210);
        for index in 0..4 {
            for piece in [frame.cut(index, 1), frame.cut_plain(index)] {
                assert_eq!(piece.pending.segmentation, Segmentation::Whole);
                let (seq, [fin, psh, cwr], data) = read_tcp(&packet(&piece));
                assert_eq!(seq, SEQ.wrapping_add(index as u32 * 1000));
                assert_eq!((fin, psh, cwr), (index == 3, index == 3, index == 0));
                let end = 3210.min(index * SIZE + SIZE);
                assert_eq!(data, payload(3210)[index * SIZE..end]);
            }
        }
    }
}

/// Returns the ECN field of a packet whose checksums are correct.
fn ecn(piece: &Piece<'_>) -> Codepoint {
    let bytes = packet(piece);
    read_tcp(&bytes);
    let parsed = dupack_packet::parse(&bytes, dupack_packet::Verify::Checksums).expect("a packet");
    parsed.segment.ecn
}

#[test]
fn a_mark_is_only_on_its_segment_and_checksums_are_correct() {
    for family in [Family::V4, Family::V6] {
        let mut frame = tcp_frame(family, 3210);
        frame.mark(1);
        for index in 0..4 {
            let wanted = match index {
                1 => Codepoint::Ce,
                _ => Codepoint::NotEct,
            };
            assert_eq!(frame.is_marked(index), index == 1);
            assert_eq!(ecn(&frame.cut(index, 1)), wanted);
            assert_eq!(ecn(&frame.cut_plain(index)), wanted);
        }
        // The same for a packet that is not cut, with and without a complete checksum.
        for pending in [Pending::NOTHING, pending(family, Segmentation::Whole)] {
            let mut frame = load(&tcp(family, 700), pending);
            frame.mark(0);
            assert_eq!(ecn(&frame.cut_plain(0)), Codepoint::Ce);
            if pending == Pending::NOTHING {
                assert_eq!(ecn(&frame.cut(0, 1)), Codepoint::Ce);
            }
            // The next packet in the same frame is not marked.
            let received = Received {
                at: Instant::ZERO,
                pending,
                bytes: &tcp(family, 700),
            };
            frame.load(&received).expect("a good packet");
            assert!(!frame.is_marked(0));
        }
    }
}

#[test]
fn adjacent_segments_stay_together() {
    for family in [Family::V4, Family::V6] {
        let frame = tcp_frame(family, 3210);
        let piece = frame.cut(1, 2);
        let Segmentation::Tcp { size, .. } = piece.pending.segmentation else {
            panic!("the two segments are not cut yet");
        };
        assert_eq!(usize::from(size), SIZE);
        let (seq, flags, data) = read_tcp(&packet(&piece));
        assert_eq!(seq, SEQ.wrapping_add(1000));
        assert_eq!(flags, [false, false, false]);
        assert_eq!(data, payload(3210)[1000..3000]);
    }
}

#[test]
fn an_uncut_packet_leaves_unchanged() {
    let bytes = tcp(Family::V4, 3210);
    let frame = tcp_frame(Family::V4, 3210);
    let piece = frame.cut(0, 4);
    assert_eq!((piece.head(), piece.tail), (&[][..], &bytes[..]));
}

#[test]
fn datagrams_are_segmented_too() {
    let segmentation = Segmentation::Udp {
        size: 500,
        header_len: 28,
    };
    let frame = load(&udp(1100), pending(Family::V4, segmentation));
    assert_eq!(frame.shape().segments(), 3);
    for (index, length) in [(0, 500), (1, 500), (2, 100)] {
        let bytes = packet(&frame.cut_plain(index));
        let sliced = SlicedPacket::from_ip(&bytes).expect("a packet");
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) =
            (sliced.net, sliced.transport)
        else {
            panic!("no datagram");
        };
        assert_eq!(usize::from(udp.length()), 8 + length);
        let ip = ip.header().to_header();
        let sum = udp
            .to_header()
            .calc_checksum_ipv4(&ip, udp.payload())
            .expect("short");
        assert_eq!(udp.checksum(), sum);
    }
}

#[test]
fn kinds_are_told_apart() {
    let kind = |bytes: &[u8]| load(bytes, Pending::NOTHING).shape().kind;
    assert_eq!(kind(&tcp(Family::V4, 0)), PacketKind::Ack);
    assert_eq!(kind(&tcp(Family::V6, 1)), PacketKind::Data);
    assert_eq!(kind(&udp(10)), PacketKind::Udp);
}

#[test]
fn pure_acks_are_recognized() {
    const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    const SACK: [u8; 12] = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let ack = |options: &[u8], more: &dyn Fn(&mut etherparse::TcpHeader), length| {
        let mut header = etherparse::TcpHeader::new(50_000, 80, SEQ, 1000);
        header.ack = true;
        header.acknowledgment_number = 77;
        header.set_options_raw(options).expect("options fit");
        more(&mut header);
        let mut packet = Vec::new();
        etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp_header(header)
            .write(&mut packet, &payload(length))
            .expect("a vector");
        let frame = load(&packet, pending(Family::V4, Segmentation::Whole));
        frame.shape().acknowledges.map(|seq| seq.0)
    };
    assert_eq!(ack(&TIMESTAMPS, &|_| {}, 0), Some(77));
    assert_eq!(ack(&[], &|_| {}, 0), Some(77));
    assert_eq!(ack(&SACK, &|_| {}, 0), None);
    assert_eq!(ack(&[], &|_| {}, 10), None);
    assert_eq!(ack(&[], &|header| header.ece = true, 0), None);
    assert_eq!(ack(&[], &|header| header.fin = true, 0), None);
    assert_eq!(ack(&[], &|header| header.syn = true, 0), None);
    assert_eq!(ack(&[], &|header| header.ns = true, 0), None);
}

#[test]
fn invalid_packets_are_unfit() {
    let load = |bytes: &[u8], pending| {
        Frame::default().load(&Received {
            at: Instant::ZERO,
            pending,
            bytes,
        })
    };
    let good = tcp(Family::V4, 100);
    for length in 0..good.len() {
        let cut_short = load(&good[..length], Pending::NOTHING);
        assert_eq!(cut_short, Err(Unfit::Malformed), "{length} bytes");
    }
    // The two cases are UDP segmentation of a TCP packet, and more segments than allowed.
    let wrong = Segmentation::Udp {
        size: 10,
        header_len: 28,
    };
    assert_eq!(
        load(&good, pending(Family::V4, wrong)),
        Err(Unfit::Malformed)
    );
    let tiny = Segmentation::Tcp {
        size: 1,
        header_len: 52,
        family: Family::V4,
    };
    let long = tcp(Family::V4, 3000);
    assert_eq!(
        load(&long, pending(Family::V4, tiny)),
        Err(Unfit::Malformed)
    );
    let mut multicast = good;
    multicast[16..20].copy_from_slice(&[224, 0, 0, 1]);
    assert_eq!(load(&multicast, Pending::NOTHING), Err(Unfit::LinkLocal));
}

/// Returns a TCP packet over IPv6 with a destination options header (RFC 8200 §4.6) of `option_bytes` bytes before TCP.
fn tcp_behind_options(option_bytes: usize) -> Vec<u8> {
    const AFTER_IP: usize = 40;
    const TCP: u8 = 6;
    const DESTINATION_OPTIONS: u8 = 60;
    let mut packet = tcp(Family::V6, 100);
    // All bytes except the first two are one-byte options without effect.
    let mut options = vec![0; option_bytes];
    options[0] = TCP;
    options[1] = (option_bytes / 8 - 1) as u8;
    packet.splice(AFTER_IP..AFTER_IP, options);
    packet[6] = DESTINATION_OPTIONS;
    let payload = (packet.len() - AFTER_IP) as u16;
    packet[4..6].copy_from_slice(&payload.to_be_bytes());
    packet
}

#[test]
fn headers_that_do_not_fit_are_carried_only_unchanged() {
    let load = |bytes: &[u8], pending| {
        let mut frame = Frame::default();
        let received = Received {
            at: Instant::ZERO,
            pending,
            bytes,
        };
        frame.load(&received).map(|()| frame)
    };
    let partial = |option_bytes: usize| Pending {
        checksum: ChecksumState::Partial {
            start: (40 + option_bytes) as u16,
            offset: 16,
        },
        segmentation: Segmentation::Whole,
    };
    // With 32 bytes of TCP header, the headers have 256 bytes, which is the maximum.
    let frame = load(&tcp_behind_options(184), partial(184)).expect("it fits");
    let (seq, _, data) = read_tcp(&packet(&frame.cut_plain(0)));
    assert_eq!((seq, data), (SEQ, payload(100)));
    for option_bytes in [192, 264, 2048] {
        let bytes = tcp_behind_options(option_bytes);
        let unfit = load(&bytes, partial(option_bytes));
        assert_eq!(unfit.err(), Some(Unfit::Malformed), "{option_bytes}");
        let whole = load(&bytes, Pending::NOTHING).expect("nothing is to be changed");
        let piece = whole.cut_plain(0);
        assert_eq!((piece.head(), piece.tail), (&[][..], &bytes[..]));
    }
}
