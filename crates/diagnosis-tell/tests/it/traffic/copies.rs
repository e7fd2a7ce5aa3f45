//! Packets that a capture contains more than once.

use dupack_diagnosis::Side;
use dupack_truth::script::{End, Ip, Link, Packet, Script, packet};

use super::Told;

/// Returns a capture of four segments per round trip of 20 ms, with two ACKs per round trip. Each packet is captured at
/// all of `places`.
fn transfer(ip: Ip, places: &[fn(Packet) -> Packet], with_syn: bool) -> Script {
    let mut script = Script::new(ip, Link::Cooked);
    let mut add = |packet: Packet| script.add_each(packet, places.iter().copied());
    if with_syn {
        add(packet(0.0, End::Client, 999).syn(1440, None));
        add(packet(0.01, End::Server, 4999).syn(1440, None).ack(1000));
        add(packet(0.0101, End::Client, 1000).ack(5000));
    }
    let mut sent = 5000;
    for round in 0..50 {
        let at = 0.02 + f64::from(round) * 0.021;
        for n in 0..4 {
            add(packet(at + f64::from(n) * 5e-6, End::Server, sent)
                .ack(1000)
                .len(1440));
            sent += 1440;
        }
        add(packet(at + 0.02, End::Client, 1000).ack(sent - 2880));
        add(packet(at + 0.020_02, End::Client, 1000).ack(sent));
    }
    script
}

/// Function that returns a packet as it is seen at one place.
type Seen = fn(Packet) -> Packet;

fn as_is(packet: Packet) -> Packet {
    packet
}

fn at_another_interface(packet: Packet) -> Packet {
    packet.interface(2).later(40e-6)
}

fn behind_a_router(packet: Packet) -> Packet {
    packet.hop_limit(63).later(300e-6)
}

fn a_little_later(packet: Packet) -> Packet {
    packet.later(40e-6)
}

/// Returns an IPv4 packet of a host that does not set the identification (RFC 6864 §4.1).
fn unnumbered(packet: Packet) -> Packet {
    packet.id(0)
}

fn unnumbered_later(packet: Packet) -> Packet {
    packet.id(0).later(40e-6)
}

#[test]
fn packets_seen_at_two_places_are_sent_once() {
    let places: [(&str, &[Seen]); 5] = [
        ("two interfaces", &[as_is, at_another_interface]),
        ("a router", &[as_is, behind_a_router]),
        ("a mirror port", &[as_is, a_little_later]),
        ("no identification", &[unnumbered, unnumbered_later]),
        (
            "three places",
            &[as_is, at_another_interface, behind_a_router],
        ),
    ];
    for (name, places) in places {
        for ip in [Ip::V4, Ip::V6] {
            for with_syn in [true, false] {
                let told = Told::of(&transfer(ip, places, with_syn));
                let stream = told.stream(Side::Answerer.min_of(with_syn));
                assert_eq!(
                    stream.account.retransmissions,
                    0,
                    "{name} {ip:?} {with_syn}\n{}",
                    told.screen()
                );
                told.nothing_was_lost();
                let counts = &told.connection().counts;
                let all = counts.opener.packets + counts.answerer.packets;
                let copies = counts.opener.copies + counts.answerer.copies;
                assert_eq!(
                    copies,
                    all * (places.len() as u64 - 1),
                    "{name} {ip:?} {with_syn}"
                );
                assert!(told.screen().contains(" twice, as happens if"));
            }
        }
    }
}

/// Method that returns the side of the sending endpoint, which depends on whether the capture has the SYN.
trait MinOf {
    fn min_of(self, with_syn: bool) -> Side;
}

impl MinOf for Side {
    fn min_of(self, with_syn: bool) -> Side {
        if with_syn { self } else { self.other() }
    }
}

#[test]
fn a_retransmission_is_no_copy() {
    for ip in [Ip::V4, Ip::V6] {
        let mut script = transfer(ip, &[as_is], true);
        let at = 0.02 + 50.0 * 0.021;
        let end = 5000 + 200 * 1440;
        script.add(packet(at, End::Server, end).ack(1000).len(1440));
        script.add(packet(at + 0.25, End::Server, end).ack(1000).len(1440));
        script.add(packet(at + 0.27, End::Client, 1000).ack(end + 1440));
        let told = Told::of(&script);
        assert_eq!(
            told.stream(Side::Answerer).account.retransmissions,
            1,
            "{}",
            told.screen()
        );
    }
}
