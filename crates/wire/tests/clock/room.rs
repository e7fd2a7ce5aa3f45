//! Tests of a host that is at its connection limit when another connection is requested.
#![cfg(target_os = "linux")]

use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Duration;
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

/// Opens a connection with a window of `window` bytes. Returns our acknowledgment of the handshake.
fn open(peer: &mut Peer, port: u16, window: u16) -> Segment {
    let answer = peer.ask(port, ISN.0, None).expect("an answer");
    assert!(answer.is(Flags::SYN));
    let mut ack = Segment::new(ISN.at(1));
    ack.ack = Some(answer.seq.at(1));
    ack.window = window;
    peer.send(port, &ack);
    ack
}

/// Answers `probes` window probes.
fn answer_probes(peer: &mut Peer, port: u16, ack: &Segment, probes: u32) {
    for _ in 0..probes {
        let probe = peer.hear(port).expect("a probe");
        assert_eq!((probe.len, probe.flags), (0, Flags::NONE));
        peer.send(port, ack);
    }
}

#[test]
fn a_window_closed_for_too_long_makes_room() {
    let talkers = Everybody {
        application: || Box::new(Talker),
        change: |config| config.user_timeout = Duration::from_secs(3),
    };
    let counters = against_host(
        talkers,
        |config| config.connections_max = 1,
        |peer| {
            let shut = open(peer, 1000, 0);
            // The connection stays as long as no other connection needs its place: RFC 9293 §3.8.6.1 (MUST-37). The
            // probes arrive after 0.2, 0.6, 1.4 and 3 s.
            answer_probes(peer, 1000, &shut, 4);
            std::thread::sleep(std::time::Duration::from_millis(500));
            // A SYN may be forged, so it displaces no connection.
            let answer = peer.ask(1002, ISN.0, None).expect("an answer");
            assert!(answer.is(Flags::SYN));
            let mut old = shut;
            old.seq = ISN;
            peer.send(1000, &old);
            assert_eq!(peer.hear(1000).expect("an answer").flags, Flags::NONE);
            open(peer, 1001, 8000);
            assert!(peer.hear(1000).expect("a last word").is(Flags::RST));
        },
    );
    assert_eq!(counters.displaced, 1);
}

#[test]
fn a_briefly_closed_window_keeps_the_connection() {
    let talkers = Everybody {
        application: || Box::new(Talker),
        change: |_| (),
    };
    let counters = against_host(
        talkers,
        |config| config.connections_max = 1,
        |peer| {
            let shut = open(peer, 1000, 0);
            answer_probes(peer, 1000, &shut, 1);
            let mut syn = Segment::new(ISN);
            syn.flags = Flags::SYN;
            peer.send(1001, &syn);
            answer_probes(peer, 1000, &shut, 1);
        },
    );
    assert_eq!(counters.displaced, 0);
}
