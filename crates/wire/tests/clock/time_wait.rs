//! Tests of TIME-WAIT at a host that closes first: a connection in TIME-WAIT does not count towards the connection
//! limit, and the peer can open a new connection from the same port (RFC 6191).
#![cfg(target_os = "linux")]

use dupack_tcp::connection::{Flags, Segment, Timestamps};
use dupack_tcp::seq::SeqNumber;
use dupack_wire::host::{Application, HostConfig, HostCounters, Supply};

use crate::lone_peer;
use crate::lone_peer::{Everybody, Peer};

/// Application that closes as soon as possible.
struct Closer;

impl Application for Closer {
    fn supply(&mut self, _: &mut [u8]) -> Supply {
        Supply::End
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        bytes.len()
    }
}

/// Runs `test` against a host that closes every connection.
fn against_host(
    change: impl FnOnce(&mut HostConfig),
    test: impl FnOnce(&mut Peer),
) -> HostCounters {
    let closers = Everybody {
        application: || Box::new(Closer),
        change: |_| (),
    };
    lone_peer::against_host(closers, change, test)
}

/// A connection in TIME-WAIT at the host.
#[derive(Clone, Copy)]
struct Old {
    port: u16,
    /// Sequence number after our FIN.
    next: SeqNumber,
    /// Sequence number after the host's FIN.
    theirs: SeqNumber,
    /// TSval of our last segment.
    time: Option<u32>,
}

impl Peer {
    /// Runs a connection from its SYN until it is in TIME-WAIT at the host.
    fn come_and_go(&mut self, port: u16, isn: u32, time: Option<u32>) -> Option<Old> {
        let answer = self.ask(port, isn, time).filter(|s| s.is(Flags::SYN))?;
        let segment = |seq, ack, flags| {
            let mut segment = Segment::new(SeqNumber(isn).at(seq));
            segment.ack = Some(answer.seq.at(ack));
            segment.flags = flags;
            segment.window = 8000;
            segment.options.timestamps = time.map(|value| Timestamps {
                value,
                echo: answer.options.timestamps.map_or(0, |stamps| stamps.value),
            });
            segment
        };
        self.send(port, &segment(1, 1, Flags::NONE));
        while !self.hear(port)?.is(Flags::FIN) {}
        self.send(port, &segment(1, 2, Flags::FIN));
        let last = self.hear(port)?;
        assert_eq!(last.ack, Some(SeqNumber(isn).at(2)));
        Some(Old {
            port,
            next: SeqNumber(isn).at(2),
            theirs: answer.seq.at(2),
            time,
        })
    }

    /// Retransmits the FIN of an old connection.
    fn repeat_fin(&mut self, old: &Old) -> Option<Segment> {
        let mut fin = Segment::new(SeqNumber(old.next.0.wrapping_sub(1)));
        fin.ack = Some(old.theirs);
        fin.flags = Flags::FIN;
        fin.options.timestamps = old.time.map(|value| Timestamps { value, echo: 0 });
        self.send(old.port, &fin);
        self.hear(old.port)
    }

    #[track_caller]
    fn assert_answers(&mut self, old: &Old) {
        let answer = self.repeat_fin(old).expect("an answer");
        assert_eq!(answer.flags, Flags::NONE);
        assert_eq!((answer.seq, answer.ack), (old.theirs, Some(old.next)));
        assert_eq!(answer.options.timestamps.map(|s| s.echo), old.time);
    }
}

#[test]
fn many_short_connections_fit_a_small_limit() {
    let counters = against_host(
        |config| config.connections_max = 3,
        |peer| {
            let all: Vec<Old> = (1000..1030)
                .map(|port| peer.come_and_go(port, 77, Some(5)).expect("an answer"))
                .collect();
            // Each connection is still answered.
            for old in &all {
                peer.assert_answers(old);
            }
            // A RST does not end a connection in TIME-WAIT (RFC 1337).
            let mut reset = Segment::new(all[0].next);
            reset.flags = Flags::RST;
            peer.send(all[0].port, &reset);
            peer.assert_answers(&all[0]);
        },
    );
    assert_eq!(counters.time_waits_displaced, 0);
}

#[test]
fn the_oldest_makes_room() {
    let counters = against_host(
        |config| config.time_waits_max = 2,
        |peer| {
            let all =
                [1000, 1001, 1002].map(|port| peer.come_and_go(port, 77, None).expect("an answer"));
            let answer = peer.repeat_fin(&all[0]).expect("an answer");
            assert!(answer.is(Flags::RST), "the connection is forgotten");
            peer.assert_answers(&all[1]);
            peer.assert_answers(&all[2]);
        },
    );
    assert_eq!(counters.time_waits_displaced, 1);
}

#[test]
fn a_returning_peer_is_accepted_unless_its_syn_is_a_stray() {
    against_host(
        |_| (),
        |peer| {
            // RFC 6191 §2: timestamp of the old connection, timestamp and sequence number of the new SYN, and `true` if
            // the SYN is accepted.
            let cases = [
                (Some(100), Some(101), 70, true),
                (Some(100), Some(100), 200, true),
                (Some(100), Some(100), 70, false),
                (Some(100), Some(99), 200, false),
                (Some(100), None, 200, true),
                (Some(100), None, 70, false),
                (None, Some(1), 70, true),
                (None, None, 200, true),
                (None, None, 70, false),
            ];
            for (port, (before, time, isn, enters)) in (1000..).zip(cases) {
                let old = peer.come_and_go(port, 77, before).expect("an answer");
                let answer = peer.ask(port, isn, time).expect("an answer");
                assert_eq!(answer.is(Flags::SYN), enters, "{before:?} {time:?} {isn}");
                if enters {
                    assert_eq!(answer.ack, Some(SeqNumber(isn + 1)));
                    // RFC 9293 §3.6.1: the number is greater than all sequence numbers of the old connection.
                    let ahead = answer.seq.0.wrapping_sub(old.theirs.0);
                    assert!((1..1 << 31).contains(&ahead), "{ahead}");
                } else {
                    // A SYN that is not accepted gets a challenge ACK (RFC 5961 §4).
                    assert_eq!((answer.seq, answer.ack), (old.theirs, Some(old.next)));
                    peer.assert_answers(&old);
                }
            }
        },
    );
}

#[test]
fn an_accepted_stray_leaves_the_old_connection_in_place() {
    against_host(
        |_| (),
        |peer| {
            let old = peer.come_and_go(1000, 77, None).expect("an answer");
            let answer = peer.ask(1000, 5000, None).expect("an answer");
            assert!(answer.is(Flags::SYN));
            // The SYN was an old duplicate, so the peer resets the new connection (RFC 9293 §3.6.1, MAY-2).
            let mut reset = Segment::new(SeqNumber(5001));
            reset.flags = Flags::RST;
            peer.send(1000, &reset);
            peer.assert_answers(&old);
            // A genuine SYN leads to a new connection, which replaces the old one.
            let new = peer.come_and_go(1000, 9000, None).expect("an answer");
            peer.assert_answers(&new);
        },
    );
}
