//! Tests of SYNs from invalid addresses, and of floods of SYNs.
#![cfg(target_os = "linux")]

use dupack_tcp::connection::{Flags, Segment};
use dupack_tcp::options::Sack;
use dupack_tcp::seq::SeqNumber;
use dupack_wire::host::{Application, Supply};

use crate::lone_peer::{Everybody, Peer, against_host};

/// Application that sends nothing and accepts all data.
struct Listener;

impl Application for Listener {
    fn supply(&mut self, _: &mut [u8]) -> Supply {
        Supply::NothingNow
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }
}

fn listeners() -> Everybody {
    Everybody {
        application: || Box::new(Listener),
        change: |_| (),
    }
}

fn syn() -> Segment {
    let mut syn = Segment::new(SeqNumber(77));
    syn.flags = Flags::SYN;
    syn.window = 8000;
    syn
}

/// RFC 9293 §3.9.2.3, MUST-63.
#[test]
fn a_syn_from_an_invalid_address_gets_no_answer() {
    // The last address is the host's own: if the host answered, it would send packets to itself.
    let nobodys = [
        "224.0.0.1",
        "255.255.255.255",
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
    ];
    let counters = against_host(
        listeners(),
        |_| (),
        |peer| {
            for source in nobodys {
                peer.send_as(source, 1000, &syn());
            }
            let answer = peer.ask(1000, 77, None).expect("an answer");
            assert!(answer.is(Flags::SYN));
        },
    );
    assert_eq!(counters.ignored, nobodys.len() as u64);
    // The host sends the SYN-ACK, and a RST when it stops.
    assert_eq!((counters.received, counters.sent.packets), (1, 2));
}

/// Number of SYNs that exceeds the limits of a host's default configuration.
const FLOOD: u16 = 1500;

/// Sends SYNs from peers that receive an answer and never complete the handshake.
fn flood(peer: &mut Peer, first: u16) {
    for port in first..first + FLOOD {
        let answer = peer.ask(port, u32::from(port), None).expect("an answer");
        assert!(answer.is(Flags::SYN));
    }
}

/// Completes the handshake of `answer` with ten bytes of data, and returns the host's reply.
fn finish(peer: &mut Peer, port: u16, answer: &Segment) -> Segment {
    let mut first = Segment::new(SeqNumber(78));
    first.ack = Some(answer.seq.at(1));
    first.window = 8000;
    first.flags = Flags::PSH;
    first.len = 10;
    peer.send(port, &first);
    peer.hear(port).expect("an answer")
}

/// RFC 4987 §3.
#[test]
fn a_flood_neither_resets_nor_excludes_clients() {
    let counters = against_host(
        listeners(),
        |_| (),
        |peer| {
            let early = peer.ask(1000, 77, None).expect("an answer");
            flood(peer, 2000);
            let late = peer.ask(1001, 77, None).expect("an answer");
            flood(peer, 2000 + FLOOD);
            for (port, answer) in [(1000, early), (1001, late)] {
                let word = finish(peer, port, &answer);
                assert_eq!(
                    word.flags,
                    Flags::NONE,
                    "{port}: no RST, nor a SYN-ACK again"
                );
                assert_eq!(word.ack, Some(SeqNumber(77 + 1 + 10)));
            }
        },
    );
    assert_eq!(counters.displaced, 0);
}

#[test]
fn the_end_of_a_handshake_waits_for_room() {
    let counters = against_host(
        listeners(),
        |config| config.connections_max = 1,
        |peer| {
            let [first, second] = [1000, 1001].map(|port| peer.ask(port, 77, None));
            let (first, second) = (first.expect("an answer"), second.expect("an answer"));
            assert_eq!(finish(peer, 1000, &first).flags, Flags::NONE);
            let word = finish(peer, 1001, &second);
            assert!(word.is(Flags::SYN), "the answer comes again: {word:?}");
            let mut reset = Segment::new(SeqNumber(77 + 1 + 10));
            reset.flags = Flags::RST;
            peer.send(1000, &reset);
            assert_eq!(finish(peer, 1001, &second).flags, Flags::NONE);
        },
    );
    assert_eq!(counters.displaced, 0);
}

#[test]
fn a_cookie_keeps_sack_and_admits_no_one_else() {
    let counters = against_host(
        listeners(),
        |config| config.half_open_max = 0,
        |peer| {
            let mut syn = syn();
            syn.options.mss = Some(1460);
            syn.options.sack_permitted = Sack::Permitted;
            syn.options.window_scale = Some(7);
            peer.send(1000, &syn);
            let answer = peer.hear(1000).expect("an answer");
            let options = answer.options;
            assert_eq!(
                (options.sack_permitted, options.window_scale),
                (Sack::Permitted, None)
            );
            let mut guessed = answer;
            guessed.seq = answer.seq.at(1);
            assert!(finish(peer, 1000, &guessed).is(Flags::RST));
            assert!(finish(peer, 1001, &answer).is(Flags::RST));
            assert_eq!(finish(peer, 1000, &answer).flags, Flags::NONE);
            // The segment lies beyond a gap, and the answer shows that SACK was negotiated.
            let mut beyond = Segment::new(SeqNumber(77 + 1 + 20));
            beyond.ack = Some(answer.seq.at(1));
            beyond.len = 10;
            peer.send(1000, &beyond);
            let word = peer.hear(1000).expect("an ACK");
            assert_eq!(word.options.sacks.as_slice().len(), 1);
        },
    );
    assert_eq!((counters.cookies_sent, counters.cookies_returned), (1, 1));
}
