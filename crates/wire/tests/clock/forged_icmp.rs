//! Tests of ICMP errors at a host: forged errors change nothing and are counted, and an error about a packet of a
//! connection reaches that connection.
#![cfg(target_os = "linux")]

use dupack_tcp::connection::Segment;
use dupack_tcp::seq::SeqNumber;
use dupack_wire::host::{Application, Supply};

use crate::lone_peer::{Everybody, Peer, against_host};

/// Application that always has data to send.
struct Talker;

impl Application for Talker {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        Supply::Bytes(room.len())
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }
}

const ISN: SeqNumber = SeqNumber(77);
const PORT: u16 = 1000;

/// Opens a connection and returns the host's first data segment.
fn open(peer: &mut Peer, port: u16) -> Segment {
    let mut syn = Segment::new(ISN);
    syn.flags = dupack_tcp::connection::Flags::SYN;
    syn.window = u16::MAX;
    syn.options.mss = Some(1460);
    peer.send(port, &syn);
    let answer = peer.hear(port).expect("an answer");
    let mut ack = Segment::new(ISN.at(1));
    ack.ack = Some(answer.seq.at(1));
    ack.window = u16::MAX;
    peer.send(port, &ack);
    peer.hear(port).expect("data")
}

fn talkers() -> Everybody {
    Everybody {
        application: || Box::new(Talker),
        change: |_| {},
    }
}

/// Returns all segments that the host sends at once.
fn burst(peer: &mut Peer, port: u16, segments: usize) -> Vec<Segment> {
    let next = |_| peer.hear(port).expect("more");
    (0..segments).map(next).collect()
}

#[test]
fn an_icmp_error_reaches_its_connection() {
    let counters = against_host(
        talkers(),
        |config| config.send_buffer = 1 << 14,
        |peer| {
            let first = open(peer, PORT);
            assert_eq!(first.len, 1460);
            let _ = burst(peer, PORT, 9);
            peer.say_too_big(PORT, &first, 1000);
            for segment in burst(peer, PORT, 3) {
                assert!(segment.len <= 960, "{}", segment.len);
            }
            // The next connection on the same path starts with the known MTU.
            let other = open(peer, PORT + 1);
            assert_eq!(other.len, 960);
        },
    );
    assert_eq!((counters.icmp, counters.ignored), (1, 0));
}

#[test]
fn forged_errors_change_nothing() {
    let counters = against_host(
        talkers(),
        |config| config.send_buffer = 1 << 14,
        |peer| {
            let first = open(peer, PORT);
            let _ = burst(peer, PORT, 9);
            // The quoted bytes are not in flight: they are already acknowledged, or not sent yet.
            for seq in [first.seq.at(u64::from(u32::MAX)), first.seq.at(1 << 20)] {
                let quoted = Segment { seq, ..first };
                peer.say_too_big(PORT, &quoted, 1000);
            }
            // The reported MTU is smaller than any link's, or not smaller than the packet that was sent.
            for mtu in [68, 551, 1500, 9000] {
                peer.say_too_big(PORT, &first, mtu);
            }
            // No connection uses this port.
            peer.say_too_big(PORT + 5, &first, 1000);
            // No message causes an immediate transmission. The segment is retransmitted unchanged when the timer
            // expires.
            let again = peer.hear(PORT).expect("a retransmission");
            assert_eq!((again.seq, again.len), (first.seq, first.len));
        },
    );
    assert_eq!((counters.icmp, counters.ignored), (6, 1));
}
