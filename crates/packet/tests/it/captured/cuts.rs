//! Checks that fields are correct in packets truncated at any length.

use dupack_packet::captured::{Captured, Cut, Layer, LinkType, NotTcp};
use dupack_packet::{Verify, parse};
use dupack_tcp::connection::{Options, Segment};

use super::files::{V4, V6, captured, packet, segment};

/// Offsets of parts of a TCP header: the window, the checksum, the options.
const WINDOW_AT: usize = 14;
const WINDOW_END: usize = 16;
const OPTIONS_AT: usize = 20;

#[test]
fn a_cut_packet_yields_the_fields_it_still_has() {
    for (ends, ip_len) in [(V4, 20), (V6, 40)] {
        let with_options = segment(9);
        let without = Segment {
            options: Options::NONE,
            ..with_options
        };
        for whole in [with_options, without] {
            let ip = packet(ends, &whole);
            let strict = parse(&ip, Verify::Checksums).unwrap();
            let header = ip.len() - ip_len - whole.len as usize;
            for len in 0..=ip.len() {
                let captured = Captured {
                    original_len: ip.len() as u32,
                    ..captured(LinkType::RAW, &ip[..len])
                };
                let kept = len.saturating_sub(ip_len);
                let packet = match captured.tcp() {
                    Ok(packet) => packet,
                    Err(error) => {
                        assert!(kept < WINDOW_AT, "{len}: {error}");
                        let layer = if len < ip_len { Layer::Ip } else { Layer::Tcp };
                        assert_eq!(error, NotTcp::Cut(layer), "{len}");
                        continue;
                    }
                };
                let found = packet.segment;
                assert_eq!(
                    (packet.source, packet.destination),
                    (strict.source, strict.destination)
                );
                assert_eq!((found.seq, found.ack), (whole.seq, whole.ack));
                assert_eq!((found.flags, found.len), (whole.flags, whole.len));
                let window = if kept < WINDOW_END {
                    u16::MAX
                } else {
                    whole.window
                };
                assert_eq!(found.window, window, "{len}");
                let expected = match kept {
                    ..WINDOW_END => Cut::Window,
                    _ if len == ip.len() => Cut::Whole,
                    _ if kept >= header || header == OPTIONS_AT => Cut::Payload,
                    _ => Cut::Options,
                };
                assert_eq!(packet.cut, expected, "{len}");
                if expected <= Cut::Payload {
                    assert_eq!(found, whole, "{len}");
                }
            }
        }
    }
}

#[test]
fn cut_options_are_parsed_up_to_the_cut() {
    // The options are NOP, NOP, timestamps; NOP, NOP, SACK with one block.
    let ip = packet(V4, &segment(9));
    let at = |kept: usize| {
        captured(LinkType::RAW, &ip[..20 + OPTIONS_AT + kept])
            .tcp()
            .unwrap()
    };
    let (timestamps, sacks) = (12, 24);
    for kept in 0..=sacks {
        let options = at(kept).segment.options;
        assert_eq!(options.timestamps.is_some(), kept >= timestamps, "{kept}");
        assert_eq!(!options.sacks.is_empty(), kept >= sacks, "{kept}");
    }
}

#[test]
fn sixty_eight_bytes_of_a_frame_are_enough() {
    // For years, tcpdump kept this many bytes of each frame, including Ethernet's 14 bytes.
    let [v4, v6] = [V4, V6].map(|ends| packet(ends, &segment(9)));
    let kept = |ip: &[u8]| captured(LinkType::RAW, &ip[..68 - 14]).tcp().unwrap();
    assert_eq!(
        (kept(&v4).cut, kept(&v4).segment.window),
        (Cut::Options, 513)
    );
    assert!(kept(&v4).segment.options.timestamps.is_some());
    assert_eq!((kept(&v6).cut, kept(&v6).segment.len), (Cut::Window, 100));
}
