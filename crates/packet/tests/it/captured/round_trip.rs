//! Tests that the reader can read what this project writes.

use dupack_packet::captured::{CaptureReader, Cut, Heading, LinkType, Portion};
use dupack_packet::{Snap, Verify, parse};

use crate::common::capture;

#[test]
fn the_lenient_and_the_strict_reader_agree_on_written_captures() {
    let file = capture(Snap::Full);
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let mut count = 0;
    while let Some(captured) = reader.next_packet().unwrap() {
        count += 1;
        assert_eq!((captured.number, captured.link), (count, LinkType::RAW));
        let strict = parse(captured.bytes, Verify::Checksums).expect("it is a packet of ours");
        let packet = captured.tcp().expect("so it is here");
        assert_eq!(packet.segment, strict.segment);
        assert_eq!(
            (packet.source, packet.destination),
            (strict.source, strict.destination)
        );
        assert_eq!((packet.number, packet.at), (captured.number, captured.at));
        assert_eq!((packet.cut, packet.portion), (Cut::Whole, Portion::Whole));
        assert_eq!((packet.hop_limit, packet.heading), (64, Heading::Unknown));
        assert!(packet.ip_id.is_some());
    }
    assert!(count > 40);
    assert_eq!(reader.notes(), []);
    assert_eq!(reader.bytes_taken(), file.len() as u64);
    assert_eq!(reader.describe(), "pcapng");
}

#[test]
fn captures_of_headers_alone_agree_too() {
    let [whole, cut] = [Snap::Full, Snap::Headers].map(|snap| {
        let file = capture(snap);
        let mut found = super::files::read(file.as_slice()).tcp;
        assert!(found.iter().any(|packet| packet.segment.len > 0));
        for packet in &mut found {
            assert!(packet.cut <= Cut::Payload);
            packet.cut = Cut::Whole;
        }
        found
    });
    assert_eq!(whole, cut);
}
