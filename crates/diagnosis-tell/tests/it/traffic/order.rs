//! Captures whose records are not in time order.

use dupack_diagnosis::Side;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

/// Returns a capture at the client of ten segments per round trip of 40 ms, over a link that takes `gap` seconds for
/// each segment. The receiver acknowledges every second segment. The records are in groups of `group`, and each group
/// is in reverse order.
fn download(group: usize, gap: f64, places: &[Seen]) -> Script {
    let mut script = Script::new(Ip::V4, Link::Raw);
    let mut packets = vec![
        packet(0.0, End::Client, 999).syn(1460, Some(7)),
        packet(0.04, End::Server, 4999).syn(1460, Some(7)).ack(1000),
        packet(0.0401, End::Client, 1000).ack(5000).window(500),
        packet(0.0402, End::Client, 1000)
            .ack(5000)
            .window(500)
            .len(100)
            .push(),
    ];
    let mut sent = 5000;
    for n in 0..600_u32 {
        let at = 0.1 + f64::from(n / 10) * 0.0401 + f64::from(n % 10) * gap;
        packets.push(packet(at, End::Server, sent).ack(1100).len(1448));
        sent += 1448;
        if n % 2 == 1 {
            let ack = packet(at + 1e-5, End::Client, 1100).ack(sent);
            packets.push(ack.window(500));
        }
    }
    for packet in packets {
        script.add_each(packet, places.iter().copied());
    }
    script.reverse_groups(group);
    script
}

/// The interface of the sender has several queues: one packet of each flight of four is captured after later packets,
/// up to 90 µs late. The packets have neither identifications nor timestamps.
#[test]
fn reordered_packets_at_their_sender_are_not_retransmissions() {
    for late in [2e-6, 2e-5, 9e-5] {
        let mut script = Script::new(Ip::V6, Link::Raw);
        script.add(packet(0.0, End::Client, 999).syn(1440, Some(7)));
        script.add(packet(1e-4, End::Server, 4999).syn(1440, Some(7)).ack(1000));
        let (mut at, mut sent) = (0.01, 5000);
        script.add(packet(at, End::Client, 1000).ack(5000).window(500));
        let request = packet(at + 1e-5, End::Client, 1000).ack(5000);
        script.add(request.window(500).len(100).push());
        for _ in 0..60 {
            at += 1e-3;
            for n in [0, 2, 3, 1] {
                let data = packet(at, End::Server, sent + n * 1440).ack(1100);
                script.add(data.len(1440));
                at += if n == 3 { late } else { 5e-6 };
            }
            sent += 4 * 1440;
            at += 0.01;
            script.add(packet(at, End::Client, 1100).ack(sent).window(500));
        }
        let told = Told::of(&script);
        let account = told.stream(Side::Answerer).account;
        assert_eq!(account.retransmissions, 0, "{late}: {}", told.screen());
        assert!(!told.screen().contains("contradict"), "{}", told.screen());
    }
}

/// Function that returns a packet as it is seen at one place.
type Seen = fn(Packet) -> Packet;

fn as_is(packet: Packet) -> Packet {
    packet
}

#[test]
fn records_out_of_time_order_change_nothing() {
    // With a gap of 0, many packets have the same time.
    for gap in [0.001, 0.0] {
        let wanted = Told::of(&download(1, gap, &[as_is])).screen();
        assert!(!wanted.contains("overtaken"), "{wanted}");
        assert!(wanted.contains("shown by the handshake"), "{wanted}");
        for group in [2, 3, 5, 16, 64] {
            let told = Told::of(&download(group, gap, &[as_is]));
            told.nothing_was_lost();
            assert_eq!(told.screen(), wanted, "{group}");
        }
    }
}

#[test]
fn copies_are_copies_in_any_order_of_the_records() {
    /// Returns a packet as it is behind a firewall that changes the identification.
    fn behind_a_firewall(packet: Packet) -> Packet {
        let id = packet.number_of_host().wrapping_mul(40_503) | 1;
        packet.id(id).hop_limit(63).later(10e-6)
    }
    fn unnumbered(packet: Packet) -> Packet {
        packet.id(0)
    }
    fn behind_a_router(packet: Packet) -> Packet {
        packet.id(0).hop_limit(63).later(10e-6)
    }
    let kinds: [(&str, [Seen; 2]); 4] = [
        ("numbered anew", [as_is, behind_a_firewall]),
        (
            "numbered for the first time",
            [unnumbered, behind_a_firewall],
        ),
        ("unnumbered", [unnumbered, behind_a_router]),
        ("the same number", [as_is, |packet| packet.later(10e-6)]),
    ];
    for (name, places) in kinds {
        for group in [1, 2, 4, 7] {
            let told = Told::of(&download(group, 0.001, &places));
            let screen = told.screen();
            let counts = &told.connection().counts;
            assert_eq!(
                (counts.opener.copies, counts.answerer.copies),
                (303, 601),
                "{name} {group}\n{screen}"
            );
            told.nothing_was_lost();
            assert_eq!(told.stream(Side::Answerer).overtaken, 0, "{name}\n{screen}");
        }
    }
}
