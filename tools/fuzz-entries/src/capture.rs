//! Fuzzer entry point that reads arbitrary bytes as a capture file.

use std::io::{self, Read};

use dupack_packet::captured::{CaptureReader, Cut, LinkType, Portion, Tally, TcpPacket};
use dupack_packet::{Verify, parse};

/// Maximum number of notes about a file. There are a dozen kinds of notes, and notes of one kind may occur several
/// times.
const NOTES_MAX: usize = 20;

/// Maximum size of files that are read a second time, byte by byte.
const DRIPPED_BYTES_MAX: usize = 4096;

/// Reads `bytes` as a capture file. Checks that packets are numbered and are not longer than their stated length, and
/// that packets which the strict parser accepts are read in the same way. Reads a small file again, one byte at a time,
/// and checks that the result is the same.
///
/// # Panics
/// If a check fails.
pub fn capture(bytes: &[u8]) {
    let whole = read(bytes);
    if bytes.len() <= DRIPPED_BYTES_MAX {
        assert_eq!(
            read(Dripping(bytes)),
            whole,
            "the result depends on the pieces"
        );
    }
}

/// Returns the TCP packets, the tally of all packets and the number of notes, or `None` if the file is not a capture.
fn read(file: impl Read) -> Option<(Vec<TcpPacket>, Tally, usize)> {
    let mut reader = CaptureReader::new(file).ok()?;
    let mut tally = Tally::default();
    let mut packets = Vec::new();
    while let Some(captured) = reader.next_packet().expect("bytes in memory can be read") {
        let packet = captured.tcp();
        tally.count(&captured, &packet);
        assert_eq!(captured.number, tally.packets);
        assert!(captured.bytes.len() <= captured.original_len as usize);
        if captured.link == LinkType::RAW && captured.bytes.len() == captured.original_len as usize
        {
            agrees(captured.bytes, packet.as_ref().ok());
        }
        packets.extend(packet);
    }
    assert_eq!(packets.len() as u64, tally.with_tcp());
    let notes = reader.notes();
    assert!(notes.len() <= NOTES_MAX);
    assert!(notes.iter().all(|note| !note.to_string().is_empty()));
    assert!(
        reader.next_packet().is_ok_and(|more| more.is_none()),
        "it has ended"
    );
    Some((packets, tally, notes.len()))
}

/// Checks that a packet that a host would accept is read in the same way as by the host.
fn agrees(bytes: &[u8], packet: Option<&TcpPacket>) {
    let Ok(strict) = parse(bytes, Verify::Nothing) else {
        return;
    };
    let packet = packet.expect("a host takes it");
    assert_eq!(packet.segment, strict.segment);
    assert_eq!(
        (packet.source, packet.destination),
        (strict.source, strict.destination)
    );
    assert_eq!((packet.cut, packet.portion), (Cut::Whole, Portion::Whole));
}

/// Reader that returns one byte at a time.
struct Dripping<'a>(&'a [u8]);

impl Read for Dripping<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(1);
        let Some(room) = buffer.get_mut(..len) else {
            return Ok(0);
        };
        self.0.read(room)
    }
}
