//! Fuzzer entry point that reads arbitrary bytes as a packet.

use dupack_packet::icmp::packet_too_big;
use dupack_packet::{Checksum, Envelope, Options, Parsed, Verify, emit, parse, parse_icmp};

/// Maximum length of a packet that [`codec`] writes: the largest payload length and an IPv6 header.
const PACKET_BYTES_MAX: usize = 0xffff + 40;

/// Reads `bytes` as a packet, writes the packet and reads it back. Checks that both packets are the same.
///
/// # Panics
/// If the packets differ.
pub fn codec(bytes: &[u8]) {
    let _ = Options::parse(bytes);
    let said = parse_icmp(bytes, Verify::Checksums);
    assert!(said.is_err() || parse_icmp(bytes, Verify::Nothing) == said);
    let strict = parse(bytes, Verify::Checksums);
    let Ok(parsed) = parse(bytes, Verify::Nothing) else {
        assert!(
            strict.is_err(),
            "a packet is valid with verification but not without"
        );
        return;
    };
    assert_eq!(parsed.payload.len(), parsed.segment.len as usize);
    quoted(bytes, &parsed);
    let envelope = Envelope {
        source: parsed.source,
        destination: parsed.destination,
        identification: 0,
        checksum: Checksum::Full,
    };
    let mut buffer = vec![0; PACKET_BYTES_MAX];
    let Ok(length) = emit(&mut buffer, &envelope, &parsed.segment, |payload| {
        payload.copy_from_slice(parsed.payload);
    }) else {
        // The options always fit in our layout, except in some packets of almost maximum length.
        assert!(bytes.len() > 0xff00);
        return;
    };
    let again = parse(&buffer[..length], Verify::Checksums).expect("we wrote it");
    assert_eq!(again.payload, parsed.payload);
    let (a, mut b) = (again.segment, parsed.segment);
    // Three SACK blocks may not fit together with the options of a SYN. The last blocks are then left out.
    if a.options.sacks != b.options.sacks {
        let kept = a.options.sacks.as_slice();
        assert!(b.options.sacks.as_slice().starts_with(kept));
        b.options.sacks = a.options.sacks;
    }
    assert_eq!(a, b);
}

/// Checks that a router's message about the packet names the connection and the sequence number of the packet.
fn quoted(bytes: &[u8], parsed: &Parsed<'_>) {
    let message = packet_too_big(bytes, 1300).expect("it is an IP packet");
    match parse_icmp(&message, Verify::Checksums) {
        Ok(notice) => {
            assert_eq!(
                (notice.local, notice.remote),
                (parsed.source, parsed.destination)
            );
            assert_eq!(notice.error.seq, parsed.segment.seq);
        }
        // The message cannot be parsed if the packet has extension headers.
        Err(_) => assert!(parsed.source.is_ipv6()),
    }
}
