//! Attacks by an off-path attacker, who guesses the numbers of segments.

use dupack_tcp::connection::{Event, Flags, Reason, Segment, State};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Duration;

use super::{ANSWERS_BOUND, finishes};
use crate::endpoint::script::{OUR_ISS, PEER_ISS, Script, plain};

#[test]
fn blind_rst() {
    // RFC 5961 §3: a RST in the window, except at its left edge, only causes a challenge ACK.
    let mut t = Script::established(plain());
    let mut answers = 0;
    for guess in (2..50_000_u32).step_by(13) {
        t.arrive(&format!("R {guess}"));
        answers += t.drain().len();
    }
    t.is(State::Established);
    assert!((1..=ANSWERS_BOUND).contains(&answers), "{answers}");
    // A RST outside the window is not answered.
    t.now += Duration::from_secs(2);
    t.arrive("R 60000");
    t.arrive("R -5");
    t.sends(&[]);
    // The real peer answers the challenge ACK with the exact sequence number.
    t.arrive("R 1");
    t.is(State::Closed);
}

#[test]
fn blind_syn() {
    // RFC 5961 §4: a SYN gets a challenge ACK, regardless of its sequence number.
    let mut t = Script::established(plain());
    for words in ["S 0", "S 1", "S 500", "S. 1 ack 1", "S 100000", "FS 1"] {
        t.arrive(words);
        t.sends(&[". 1 ack 1"]);
        t.is(State::Established);
    }
    let mut answers = 0;
    for guess in 0..1000 {
        t.arrive(&format!("S {guess}"));
        answers += t.drain().len();
    }
    assert!(answers <= ANSWERS_BOUND, "{answers}");
}

#[test]
fn a_rebooted_peer_discovers_the_half_open_connection() {
    // RFC 9293 §3.5.1, figure 9, with RFC 5961 §4.
    let mut t = Script::established(plain());
    t.arrive("S 777777");
    t.sends(&[". 1 ack 1"]);
    // The rebooted peer does not know the connection and resets it.
    t.arrive("R 1");
    assert!(t.events().contains(&Event::Closed(Reason::Reset)));
}

#[test]
fn blind_data() {
    // RFC 5961 §5: the data is in the window, but the peer cannot have sent the ACK number.
    let mut t = Script::established(plain());
    t.connection.write(5000).expect("open");
    t.drain();
    for ack in [9_000, 1 << 20, 1 << 30, 1 << 31, u32::MAX - 30_000] {
        assert_eq!(t.arrive(&format!("P. 1:101 ack {ack}")), None);
        t.drain();
    }
    // The segment has no ACK number at all.
    assert_eq!(t.arrive("P 1:101"), None);
    t.sends(&[]);
    assert_eq!(t.connection.readable(), 0);
    finishes(&mut t);
}

#[test]
fn segments_before_the_window_are_answered_and_acknowledge_nothing() {
    // RFC 9293 §3.10.7.4, first step: an unacceptable segment is dropped together with its ACK field.
    let mut t = Script::established(plain());
    for n in 0..20 {
        t.arrive(&format!(". {}:{} ack 1", 1 + n * 1000, 1001 + n * 1000));
    }
    t.drain();
    t.connection.write(3000).expect("open");
    assert_eq!(t.drain().len(), 3);
    let window = |t: &Script| t.connection.sender().expect("open").peer_edge();
    let edge = window(&t);
    for words in [
        // These are an old segment, a keep-alive probe, and an old FIN.
        ". 1:1001 ack 3001",
        ". 20000 ack 3001",
        "F. 19000 ack 3001",
        // These sequence numbers are below all that the peer has sent.
        ". -60000:-59000 ack 3001",
        ". -9 ack 3001",
    ] {
        t.window = 9;
        assert_eq!(t.arrive(words), None, "{words}");
        t.sends(&[". 3001 ack 20001"]);
        assert_eq!(t.connection.acknowledged(), 0, "{words}");
        assert_eq!(window(&t), edge, "{words}");
    }
    t.window = 20_000;
    // A segment that repeats the last bytes may be a retransmission after its ACK was lost, so its ACK number counts.
    t.arrive(". 19001:20001 ack 1001");
    t.sends(&[". 3001 ack 20001"]);
    assert_eq!(t.connection.acknowledged(), 1000);
    finishes(&mut t);
}

#[test]
fn an_old_segment_is_reported_as_a_duplicate() {
    // RFC 2883 §4.1.1. The segment has no other effect.
    let mut t = Script::established(plain());
    t.arrive(". 1:1001 ack 1");
    t.arrive(". 1001:2001 ack 1");
    t.drain();
    t.arrive(". 1:1001 ack 1");
    t.sends(&[". 1 ack 2001"]);
    let sacks = t.last.clone().expect("an ACK").segment.options.sacks;
    let report = sacks.as_slice()[0];
    let number = |seq: SeqNumber| seq.0.wrapping_sub(PEER_ISS);
    assert_eq!((number(report.start), number(report.end)), (1, 1001));
}

#[test]
fn an_ack_at_the_end_of_a_window_that_is_in_flight_counts() {
    // RFC 9293 Appendix A.2: the peer has sent all data that the window permits, and the first part was lost. The
    // sequence number of its ACKs is the first one after the window.
    let mut t = Script::established(plain());
    t.connection.write(1000).expect("open");
    t.drain();
    t.arrive(". 1001:50001 ack 1");
    t.drain();
    t.arrive(". 50001 ack 1001");
    t.sends(&[]);
    assert_eq!(t.connection.acknowledged(), 1000);
    // A RST with this sequence number is outside the window (RFC 5961 §3).
    t.arrive("R 50001");
    t.sends(&[]);
}

#[test]
fn a_flood_from_outside_the_window() {
    let mut t = Script::established(plain());
    let mut answers = 0;
    for n in 0..100_000_u32 {
        let number = 60_000 + n * 31;
        t.arrive(&format!(". {number} ack 1"));
        answers += t.drain().len();
    }
    assert!(answers <= ANSWERS_BOUND, "{answers}");
    // Each segment with data is answered at most once, so there are no more answers than attacks.
    for n in 0..10_000_u32 {
        let number = 60_000 + n * 31;
        let words = format!(". {number}:{} ack 1", number + 10);
        assert_eq!(t.arrive(&words), None);
        assert!(t.drain().len() <= 1);
    }
    let receiver = t.connection.receiver().expect("established");
    assert_eq!(receiver.out_of_order_bytes(), 0);
}

#[test]
fn every_combination_of_flags() {
    // The combinations include the packets known as Christmas tree and null scan.
    let open: [fn() -> Script; 4] = [
        || Script::passive(plain()),
        || {
            let mut t = Script::active(plain());
            t.sends(&["S 0"]);
            t
        },
        || {
            let mut t = Script::passive(plain());
            t.arrive("S 0");
            t.sends(&["S. 0 ack 1"]);
            t
        },
        || Script::established(plain()),
    ];
    // A normal run tries every fifth combination. Each flag is still set in half of these.
    let stride = dupack_testing::cases(5, 1) as usize;
    for open in open {
        for bits in (0..=511_u16).step_by(stride) {
            for (ack, len) in [(None, 0), (Some(1), 0), (Some(1), 5), (Some(90), 5)] {
                for seq in [0, 1, 2, 40_000] {
                    let mut t = open();
                    let mut segment = Segment::new(SeqNumber(PEER_ISS.wrapping_add(seq)));
                    segment.flags = Flags::from_bits(bits);
                    segment.ack = ack.map(|ack| SeqNumber(OUR_ISS.wrapping_add(ack)));
                    segment.len = len;
                    t.handle(&segment);
                    assert!(t.drain().len() <= 1, "one segment, one answer at most");
                    let open = t.connection.state().is_synchronized();
                    assert!(!open || t.connection.sender().is_some());
                }
            }
        }
    }
}

#[test]
fn answers_to_a_flood_of_syns_are_bounded() {
    let mut t = Script::passive(plain());
    t.arrive("S 0");
    t.drain();
    let mut answers = 0;
    for _ in 0..10_000 {
        t.arrive("S 0");
        answers += t.drain().len();
    }
    assert!(answers <= ANSWERS_BOUND, "{answers}");
    t.arrive(". 1 ack 1");
    t.is(State::Established);
}

#[test]
fn a_handshake_that_is_never_finished() {
    let mut t = Script::passive(plain());
    t.arrive("S 0");
    t.drain();
    t.pass(180_000);
    assert_eq!(t.events(), [Event::Closed(Reason::OpenTimedOut)]);
}

#[test]
fn a_guess_in_the_handshake() {
    // The attacker sends wrong ACK numbers, resets and data while the SYN-ACK is in flight.
    let mut t = Script::passive(plain());
    t.arrive("S 0");
    t.drain();
    for guess in [0_u32, 2, 1000, 1 << 31] {
        t.arrive(&format!("P. 1:101 ack {guess}"));
        t.sends(&[&format!("R {guess}")]);
        t.is(State::SynReceived);
    }
    t.arrive("R 9");
    t.arrive("R 70000");
    t.is(State::SynReceived);
    assert_eq!(t.arrive("P 1:101"), None);
    t.arrive(". 1 ack 1");
    t.is(State::Established);
}

#[test]
fn two_desynchronized_ends_do_not_answer_each_other_forever() {
    // ACK storm: injected data has desynchronized both ends (Abramov and Herzberg 2011). Each of the two ends considers
    // the numbers of the other end wrong.
    let mut a = Script::established(plain());
    let mut answers = 0;
    for _ in 0..10_000 {
        // Each of our answers is answered by an ACK with unrelated numbers.
        a.arrive(". 70000 ack 1");
        answers += a.drain().len();
        a.arrive(". 1 ack 70000");
        answers += a.drain().len();
        a.now += Duration::from_micros(100);
    }
    // The storm lasts one second, which may span two periods of the rate limit.
    assert!(answers <= 2 * ANSWERS_BOUND, "{answers}");
}
