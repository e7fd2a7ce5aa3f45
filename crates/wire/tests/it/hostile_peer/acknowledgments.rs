//! Attacks on the sender by acknowledgments, SACK blocks and windows.

use dupack_tcp::connection::{Event, Reason, State};
use dupack_tcp::time::Duration;

use super::{ANSWERS_BOUND, each, finishes, outstanding_segments, plain_for};
use crate::endpoint::script::{OUR_ISS, Script, plain};
use crate::endpoint::stacks::every_recovery;

#[test]
fn sack_panic() {
    // CVE-2019-11477: segments of minimum size, and SACK blocks that merge and split them in all ways until a counter
    // overflows. This implementation never splits or merges segments.
    for stack in every_recovery() {
        let mut t = Script::established_with(plain_for(&stack), &stack.to_string());
        t.window = 65_535;
        t.connection.write(60_000).expect("open");
        t.drain();
        for round in 0..3000_u32 {
            let base = 2 + (round * 7919) % 9000;
            let blocks = [
                (base, base + 1),
                (base + 2, base + 1003),
                (base + 900, base + 5000),
                (base, base + 9000),
            ];
            t.arrive_sacking(". 1 ack 1", &blocks[..=(round % 4) as usize]);
            t.drain();
        }
        assert!(outstanding_segments(&t) <= 66);
        finishes(&mut t);
    }
}

#[test]
fn sack_blocks_that_make_no_sense() {
    each(20_000, |t| {
        let before = t.connection.acknowledged();
        for blocks in [
            // The blocks are empty, reversed, before the stream, beyond the data sent, or cover the whole sequence
            // space.
            [(5, 5), (1000, 500), (0, 1), (1 << 30, (1 << 30) + 9)],
            [(u32::MAX, 1), (1, u32::MAX), (1 << 31, 1), (1, 1 << 31)],
            [(1, 3000), (1, 3000), (2999, 3001), (1, 1_000_000)],
        ] {
            t.arrive_sacking(". 1 ack 1", &blocks);
            t.drain();
        }
        assert_eq!(t.connection.acknowledged(), before);
        finishes(t);
    });
}

#[test]
fn ack_division() {
    // Savage et al. 1999 §2.1: the peer sends an ACK for every byte. The window grows by bytes, not by ACKs.
    let grown = |acks: &[u32]| {
        let mut t = Script::established(plain());
        t.connection.write(100_000).expect("open");
        t.drain();
        for ack in acks {
            t.arrive(&format!(". 1 ack {ack}"));
            t.drain();
        }
        let sender = t.connection.sender().expect("established");
        (sender.window().cwnd, sender.scoreboard().una())
    };
    let divided: Vec<u32> = (2..=2001).collect();
    let (honest, una) = grown(&[1001, 2001]);
    assert_eq!(grown(&divided), (honest, una));
}

#[test]
fn optimistic_acks_of_unsent_data() {
    each(20_000, |t| {
        let cwnd = t.connection.sender().expect("open").window().cwnd;
        let mut answers = 0;
        for ahead in 0..1000 {
            t.arrive(&format!(". 1 ack {}", 30_000 + ahead * 17));
            answers += t.drain().len();
        }
        assert!((1..=ANSWERS_BOUND).contains(&answers), "{answers}");
        let sender = t.connection.sender().expect("open");
        assert_eq!(sender.window().cwnd, cwnd);
        assert_eq!(sender.scoreboard().una(), 0);
        finishes(t);
    });
}

#[test]
fn spoofed_duplicate_acks() {
    // Savage et al. 1999 §2.2. The additional data does not exceed the peer's own window.
    each(1_000_000, |t| {
        for _ in 0..5000 {
            t.arrive(". 1 ack 1");
            t.drain();
        }
        let sender = t.connection.sender().expect("open");
        assert!(sender.scoreboard().flight_size() <= u64::from(t.window));
        assert_eq!(sender.scoreboard().una(), 0);
        t.is(State::Established);
    });
}

#[test]
fn reneging() {
    // RFC 2018 §8: the peer sacks all data and then discards it.
    each(8000, |t| {
        t.arrive_sacking(". 1 ack 1", &[(1001, 8001)]);
        t.drain();
        let mut seen = [false; 8];
        for _ in 0..40 {
            t.pass(60_000);
            let (state, una) = (t.connection.state(), t.connection.acknowledged());
            if state == State::Closed {
                break;
            }
            // Every ACK advances by at most one segment, as if the peer had stored nothing.
            if let Some(slot) = seen.get_mut((una / 1000) as usize) {
                *slot = true;
            }
            t.arrive(&format!(". 1 ack {}", (una + 1001).min(8001)));
            t.drain();
        }
        assert_eq!(t.connection.acknowledged(), 8000);
        assert!(seen.iter().all(|seen| *seen));
    });
}

#[test]
fn a_window_held_at_zero() {
    // The peer answers every probe and never accepts a byte. This is permitted (RFC 9293 §3.8.6.1, MUST-37), and the
    // peer gets only one probe per minute, until the host gives up (RFC 6429).
    each(5000, |t| {
        t.window = 0;
        t.arrive(". 1 ack 5001");
        t.connection.write(5000).expect("open");
        t.drain();
        let mut probes = 0;
        for _ in 0..7200 {
            for _ in t.pass(1000) {
                probes += 1;
                t.arrive(". 1 ack 5001");
                t.drain();
            }
        }
        t.is(State::Established);
        assert!((120..=130).contains(&probes), "{probes} in two hours");
        t.connection.abort();
        assert!(t.events().contains(&Event::Closed(Reason::Aborted)));
    });
}

#[test]
fn a_window_held_at_zero_in_silence() {
    // The peer answers no probe, and the user timeout ends the connection.
    each(5000, |t| {
        t.window = 0;
        t.arrive(". 1 ack 5001");
        t.connection.write(5000).expect("open");
        t.drain();
        let start = t.now;
        t.pass(299_999);
        t.is(State::Established);
        t.pass(1);
        assert_eq!(t.now.since(start), Duration::from_secs(300));
        assert!(t.events().contains(&Event::Closed(Reason::TimedOut)));
    });
}

#[test]
fn a_shrinking_window() {
    // RFC 9293 §3.8.6: the right edge should not move left, but a sender must tolerate this.
    each(20_000, |t| {
        for window in [9000, 5000, 1, 0, 0, 3, 0] {
            t.window = window;
            t.arrive(". 1 ack 1001");
            t.drain();
            t.pass(700);
        }
        let number = t.last.clone().expect("a segment").segment.seq;
        assert!(number.0.wrapping_sub(OUR_ISS) <= 20_001);
        finishes(t);
    });
}

#[test]
fn windows_of_one_byte_cause_no_tiny_segments() {
    // The peer provokes the silly window syndrome (RFC 9293 §3.8.6.2.1).
    let mut t = Script::established(plain());
    t.connection.write(20_000).expect("open");
    t.drain();
    t.window = 0;
    t.arrive(". 1 ack 10001");
    let mut sent = 0;
    for window in 1..400 {
        t.window = window;
        t.arrive(". 1 ack 10001");
        sent += t.drain().len();
    }
    assert_eq!(sent, 0);
    finishes(&mut t);
}

#[test]
fn the_widest_window_is_used_only_as_far_as_the_network_bears() {
    let mut t = Script::active(plain());
    t.sends(&["S 0"]);
    t.options.window_scale = Some(255);
    t.window = u16::MAX;
    t.arrive("S. 0 ack 1");
    t.connection.write(1 << 40).expect("open");
    t.arrive(". 1 ack 1");
    assert!(t.drain().len() <= 12, "an initial window of ten segments");
    for ack in (1..200_000).step_by(1000) {
        t.arrive(&format!(". 1 ack {ack}"));
        t.drain();
    }
    let sender = t.connection.sender().expect("established");
    let edge = sender.peer_edge() - sender.scoreboard().una();
    // The shift is limited to 14, so the window is just below 2³⁰.
    assert!(edge <= 65_535 << 14);
}
