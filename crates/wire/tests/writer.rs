//! The capture writer by itself: order of time, what it refuses, how it fails.

use std::error::Error;
use std::io::{self, Write};

use dupack_tcp::segment::DataSegment;
use dupack_tcp::sender::Agreed;
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};
use dupack_wire::{
    CaptureError, CaptureTime, CaptureWriter, CodecError, Control, Direction, Endpoints,
    FlowCapture, FlowConfig, Options, Packet, Snap, WireSegment,
};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

fn packet(payload_len: u32) -> Result<Packet, CodecError> {
    let segment = WireSegment {
        control: Control::Ack,
        seq: SeqNumber(7),
        ack: SeqNumber(8),
        window: 9,
        options: Options::NONE,
        payload_len,
    };
    Packet::build(
        Endpoints::of_flow(0).route(Direction::ToReceiver),
        1,
        &segment,
    )
}

fn at(nanos: u64) -> CaptureTime {
    CaptureTime::from_unix_nanos(nanos)
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
fn scheduled_packets_come_in_at_their_time() {
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    let packet = packet(0).unwrap();
    for (time, name) in [(30, "d"), (20, "b"), (20, "c"), (99, "f")] {
        capture.schedule(at(time), packet, Some(name.to_owned()));
    }
    for (time, name) in [(10, "a"), (30, "e")] {
        capture.write(at(time), &packet, Some(name)).unwrap();
    }
    let file = capture.finish().unwrap();
    assert_eq!(comments(&file), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn a_packet_that_comes_late_is_refused() {
    let packet = packet(0).unwrap();
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    capture.write(at(1_000_000_010), &packet, None).unwrap();
    let error = capture.write(at(1_000_000_009), &packet, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a packet at 1.000000009s comes after the capture has reached 1.000000010s"
    );
    capture.schedule(at(3), packet, None);
    assert!(matches!(capture.finish(), Err(CaptureError::Late { .. })));
}

#[test]
fn a_comment_is_cut_at_what_the_format_holds() {
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    let long = format!("x{}", "é".repeat(40_000));
    capture
        .write(at(1), &packet(0).unwrap(), Some(&long))
        .unwrap();
    let comments = comments(&capture.finish().unwrap());
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0].len(), 65_531);
    assert!(long.starts_with(&comments[0]));
}

#[test]
fn a_segment_that_no_packet_holds_is_refused() {
    // 65,535 − 20 − 20 bytes of headers.
    let most = packet(65_495).unwrap();
    assert_eq!(most.total_len(), 65_535);
    for payload_len in [65_496, 65_535, 65_536, u32::MAX] {
        assert_eq!(
            packet(payload_len).unwrap_err(),
            CodecError::PayloadTooLong {
                seq: SeqNumber(7),
                payload_len,
                max: 65_495
            }
        );
    }
    let mut flow = FlowCapture::new(FlowConfig {
        endpoints: Endpoints::of_flow(0),
        first_byte: SeqNumber(1),
        receiver_isn: SeqNumber(1),
        mss: 1000,
        largest_window: 1,
        sack: Agreed::No,
        timestamp_tick: None,
        order_echo: Agreed::No,
    });
    let mut capture = CaptureWriter::new(Vec::new(), Snap::Headers).unwrap();
    let segment = DataSegment {
        len: 70_000,
        ..DataSegment::default()
    };
    let error = flow
        .data(&mut capture, Instant::ZERO, &segment, None)
        .unwrap_err();
    assert!(matches!(error, CaptureError::Packet(_)));
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

/// A disk that is full after so many bytes.
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
fn a_full_disk_is_an_error_that_says_what_was_lost() {
    let packet = packet(1000).unwrap();
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
