//! Tests of the capture writer: order of time, rejected packets, failures.

use std::error::Error;
use std::io::{self, Write};

use dupack_packet::{
    CaptureError, CaptureTime, CaptureWriter, Checksum, EmitError, Endpoints, Envelope,
    FlowCapture, FlowConfig, Marking, Snap, Verify, emit, parse,
};
use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::options::{Ecn, Sack};
use dupack_tcp::segment::{Ack, Bit, Codepoint, DataSegment, EcnEcho, SackBlock, SackBlocks};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

/// Returns a data packet with a payload of zeros.
fn packet(payload_len: u32) -> Vec<u8> {
    let Endpoints { sender, receiver } = Endpoints::of_flow(0);
    let envelope = Envelope {
        source: sender,
        destination: receiver,
        identification: 1,
        checksum: Checksum::Full,
    };
    let mut segment = Segment::new(SeqNumber(7));
    segment.ack = Some(SeqNumber(8));
    segment.len = payload_len;
    let mut packet = vec![0; 70_000];
    let length = emit(&mut packet, &envelope, &segment, |_| {}).expect("it fits");
    packet.truncate(length);
    packet
}

fn at(nanos: u64) -> CaptureTime {
    CaptureTime::from_unix_nanos(nanos)
}

/// Returns the packets of a capture.
fn data_of(file: &[u8]) -> Vec<Vec<u8>> {
    let mut reader = PcapNgReader::new(file).expect("a section header");
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a well-formed block") {
            packets.push(packet.data.to_vec());
        }
    }
    packets
}

fn comments(file: &[u8]) -> Vec<String> {
    let mut reader = PcapNgReader::new(file).expect("a section header");
    let mut comments = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a well-formed block") {
            comments.extend(packet.options.iter().filter_map(|option| match option {
                EnhancedPacketOption::Comment(text) => Some(text.to_string()),
                _ => None,
            }));
        }
    }
    comments
}

#[test]
fn scheduled_packets_are_written_in_order_of_time() {
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    let packet = packet(0);
    for (time, name) in [(30, "d"), (20, "b"), (20, "c"), (99, "f")] {
        capture.schedule(at(time), packet.clone(), Some(name.to_owned()));
    }
    for (time, name) in [(10, "a"), (30, "e")] {
        capture.write(at(time), &packet, Some(name)).unwrap();
    }
    let file = capture.finish().unwrap();
    assert_eq!(comments(&file), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn a_packet_older_than_the_last_is_rejected() {
    let packet = packet(0);
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    capture.write(at(1_000_000_010), &packet, None).unwrap();
    let error = capture.write(at(1_000_000_009), &packet, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the packet at 1.000000009s is out of order: the capture has already reached 1.000000010s"
    );
    capture.schedule(at(3), packet, None);
    assert!(matches!(capture.finish(), Err(CaptureError::Late { .. })));
}

#[test]
fn a_long_comment_is_truncated() {
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    let long = format!("x{}", "é".repeat(40_000));
    capture.write(at(1), &packet(0), Some(&long)).unwrap();
    let comments = comments(&capture.finish().unwrap());
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0].len(), 65_531);
    assert!(long.starts_with(&comments[0]));
}

fn flow(endpoints: Endpoints) -> FlowCapture {
    let mut config = FlowConfig::new(endpoints, 1000);
    config.receiver_isn = SeqNumber(1);
    config.largest_window = 1 << 20;
    config.sack = Sack::Permitted;
    config.timestamp_tick = Some(Duration::from_millis(1));
    FlowCapture::new(config)
}

fn over_ipv6() -> Endpoints {
    Endpoints {
        sender: "[2001:db8::1]:50000".parse().expect("an address"),
        receiver: "[2001:db8::2]:60000".parse().expect("an address"),
    }
}

#[test]
fn a_segment_larger_than_a_packet_is_rejected() {
    // The maximum is 65,535 bytes minus the TCP header of 20 bytes and timestamps of 12 bytes. With IPv4, its own
    // header of 20 bytes also counts.
    for (endpoints, most) in [(Endpoints::of_flow(0), 65_483), (over_ipv6(), 65_503)] {
        let mut flow = flow(endpoints);
        let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
        let mut send = |len| {
            let segment = DataSegment {
                len,
                timestamp: Some(1),
                ..DataSegment::default()
            };
            flow.data(
                &mut capture,
                Instant::ZERO,
                &segment,
                Marking::default(),
                None,
            )
        };
        send(most).expect("it fits");
        for len in [most + 1, 65_535, 65_536, u32::MAX] {
            let Err(CaptureError::Packet(error)) = send(len) else {
                panic!("{len} bytes were written");
            };
            let payload_len = len;
            assert_eq!(
                error,
                EmitError::PayloadTooLong {
                    payload_len,
                    max: most
                }
            );
        }
    }
}

#[test]
fn both_endpoints_of_a_flow_have_one_address_family() {
    let mut flow = flow(Endpoints {
        sender: Endpoints::of_flow(0).sender,
        ..over_ipv6()
    });
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    let error = flow.handshake(&mut capture, Instant::ZERO, Duration::from_millis(1), None);
    assert!(matches!(
        error,
        Err(CaptureError::Packet(EmitError::MixedFamilies { .. }))
    ));
}

#[test]
fn a_flow_is_the_same_over_ipv6_and_ipv4() {
    let packets = [Endpoints::of_flow(0), over_ipv6()].map(|endpoints| {
        let mut capture = CaptureWriter::new(Vec::new(), Snap::Full).unwrap();
        write_everything(&mut flow(endpoints), &mut capture).expect("it is written");
        data_of(&capture.finish().unwrap())
    });
    // The packets are the handshake, data, an ACK, and two FINs with the last ACK.
    assert_eq!(packets[0].len(), 8);
    assert_eq!(packets[1].len(), 8);
    for (v4, v6) in packets[0].iter().zip(&packets[1]) {
        let [v4, v6] = [v4, v6].map(|bytes| parse(bytes, Verify::Checksums).expect("a packet"));
        assert_eq!((v4.segment, v4.payload), (v6.segment, v6.payload));
        assert!(v4.source.is_ipv4() && v6.source.is_ipv6());
    }
}

/// Returns the ECN field and the flags of each packet of a flow whose sender has reduced its window and whose receiver
/// echoes a mark as `echo`.
fn congested(ecn: Ecn, echo: EcnEcho) -> Vec<(Codepoint, Flags)> {
    let mut config = FlowConfig::new(Endpoints::of_flow(0), 1000);
    config.ecn = ecn;
    let mut flow = FlowCapture::new(config);
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Full).expect("a Vec takes everything");
    let start = Instant::ZERO;
    flow.handshake(&mut capture, start, Duration::ZERO, None)
        .expect("a handshake fits");
    let segment = DataSegment {
        seq: SeqNumber(1),
        len: 10,
        ..DataSegment::default()
    };
    let marking = Marking {
        field: Codepoint::Ect0,
        cwr: Bit::when(ecn == Ecn::Classic),
    };
    flow.data(&mut capture, start, &segment, marking, None)
        .expect("a segment fits");
    let ack = Ack {
        ack: SeqNumber(11),
        ecn: echo,
        ..Ack::default()
    };
    flow.ack(&mut capture, start, &ack, None)
        .expect("an ACK fits");
    let packets = data_of(&capture.finish().expect("in order"));
    let read = |bytes: &Vec<u8>| parse(bytes, Verify::Checksums).expect("a packet").segment;
    packets.iter().map(read).map(|s| (s.ecn, s.flags)).collect()
}

#[test]
fn a_capture_shows_ecn_marks() {
    use Codepoint::{Ect0, NotEct};
    let asks = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
    let classic = [
        (NotEct, asks),
        (NotEct, Flags::SYN.with(Flags::ECE)),
        (NotEct, Flags::NONE),
        (Ect0, Flags::CWR),
        (NotEct, Flags::ECE),
    ];
    assert_eq!(congested(Ecn::Classic, EcnEcho::Marked), classic);
    let accurate = [
        (NotEct, asks.with(Flags::AE)),
        (NotEct, Flags::SYN.with(Flags::of_ace(2))),
        (NotEct, Flags::of_ace(2)),
        (Ect0, Flags::of_ace(5)),
        (NotEct, Flags::of_ace(6)),
    ];
    assert_eq!(congested(Ecn::Accurate, EcnEcho::Count(6)), accurate);
}

fn write_everything(
    flow: &mut FlowCapture,
    capture: &mut CaptureWriter<Vec<u8>>,
) -> Result<(), CaptureError> {
    let rtt = Duration::from_millis(10);
    let time = |ms| Instant::ZERO + Duration::from_millis(ms);
    flow.handshake(capture, time(0), rtt, None)?;
    let segment = DataSegment {
        seq: SeqNumber(1),
        len: 1000,
        timestamp: Some(0),
        ..DataSegment::default()
    };
    flow.data(capture, time(0), &segment, Marking::default(), None)?;
    let mut sacks = SackBlocks::NONE;
    sacks.push(SackBlock {
        start: SeqNumber(501),
        end: SeqNumber(1001),
    });
    let ack = Ack {
        ack: SeqNumber(1),
        window: 1 << 19,
        sacks,
        timestamp_echo: Some(0),
        ..Ack::default()
    };
    flow.ack(capture, time(10), &ack, None)?;
    flow.fin(capture, time(20), rtt)
}

#[test]
fn times_keep_their_nanoseconds_and_saturate() {
    let start = CaptureTime::from_simulation(Instant::ZERO);
    assert_eq!(start.to_string(), "946684800.000000000s");
    let later = CaptureTime::from_simulation(Instant::from_nanos(1));
    assert_eq!(later, start.after(Duration::from_nanos(1)));
    assert_eq!(start, later.before(Duration::from_nanos(1)));
    assert_eq!(
        CaptureTime::from_simulation(Instant::FAR_FUTURE).as_unix_nanos(),
        u64::MAX
    );
    assert_eq!(at(1).before(Duration::MAX), at(0));
}

/// Disk that is full after this number of bytes has been written.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let taken = buffer.len().min(self.0);
        self.0 -= taken;
        if taken == 0 && !buffer.is_empty() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_with_its_cause() {
    let packet = packet(1000);
    let mut capture = CaptureWriter::new(Full(100), Snap::Full).unwrap();
    capture.write(at(1), &packet, None).unwrap();
    let error = capture.finish().map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "cannot write the end of the capture");
    assert!(error.source().is_some());

    let mut capture = CaptureWriter::new(Full(100), Snap::Full).unwrap();
    let error = (1..100)
        .find_map(|time| capture.write(at(time), &packet, None).err())
        .expect("a buffer fills at last");
    assert_eq!(error.to_string(), "cannot write a packet of the capture");
}
