//! Tests of the states from the first FIN or RST to CLOSED.

use dupack_tcp::connection::{Event, Flags, Reason, Segment, State};
use dupack_tcp::receiver::{AckPolicy, AdaptiveAcks};
use dupack_tcp::seq::SeqNumber;

use crate::endpoint::script::{Script, plain, stamped};

#[test]
fn this_end_closes_first() {
    let mut t = Script::established(plain());
    t.connection.write(10).expect("open");
    t.connection.close();
    t.is(State::FinWait1);
    t.sends(&["FP. 1:11 ack 1"]);
    t.arrive(". 1 ack 12");
    t.is(State::FinWait2);
    // The connection is half-closed, so the peer may still send data.
    assert!(t.arrive("P. 1:51 ack 12").is_some());
    t.sends(&[". 12 ack 51"]);
    t.arrive("F. 51 ack 12");
    t.is(State::TimeWait);
    t.sends(&[". 12 ack 52"]);
    let events = t.events();
    assert_eq!(
        events,
        [
            Event::Acknowledged { until: 10 },
            Event::Readable { until: 50 },
            Event::PeerFinished { at: 50 }
        ]
    );
    assert!(t.pass(239_999).is_empty());
    t.is(State::TimeWait);
    t.pass(1);
    t.is(State::Closed);
    assert_eq!(t.events(), [Event::Closed(Reason::Finished)]);
}

#[test]
fn the_peer_closes_first() {
    let mut t = Script::established(plain());
    t.arrive("F. 1 ack 1");
    t.is(State::CloseWait);
    t.sends(&[". 1 ack 2"]);
    t.connection.write(100).expect("this direction is open");
    t.sends(&["P. 1:101 ack 2"]);
    t.connection.close();
    t.is(State::LastAck);
    t.sends(&["F. 101 ack 2"]);
    t.arrive(". 2 ack 101");
    t.is(State::LastAck);
    t.arrive(". 2 ack 102");
    t.is(State::Closed);
    t.sends(&[]);
    assert!(t.events().contains(&Event::Closed(Reason::Finished)));
}

#[test]
fn both_ends_close_at_once() {
    let mut t = Script::established(plain());
    t.connection.close();
    t.sends(&["F. 1 ack 1"]);
    t.arrive("F. 1 ack 1");
    t.is(State::Closing);
    t.sends(&[". 2 ack 2"]);
    t.arrive(". 2 ack 2");
    t.is(State::TimeWait);
}

#[test]
fn one_segment_may_acknowledge_the_fin_and_carry_one() {
    let mut t = Script::established(plain());
    t.connection.close();
    t.sends(&["F. 1 ack 1"]);
    t.arrive("F. 1 ack 2");
    t.is(State::TimeWait);
    t.sends(&[". 2 ack 2"]);
}

#[test]
fn a_lost_fin_is_retransmitted() {
    let mut t = Script::established(plain());
    t.connection.close();
    t.sends(&["F. 1 ack 1"]);
    assert_eq!(t.pass(1000), ["F. 1 ack 1"]);
    assert_eq!(t.pass(2000), ["F. 1 ack 1"]);
}

#[test]
fn a_fin_that_overtakes_data_waits_for_it() {
    let mut t = Script::established(plain());
    t.arrive("F. 101:201 ack 1");
    t.is(State::Established);
    t.sends(&[". 1 ack 1"]);
    let sacks = t.last.clone().expect("the ACK").segment.options.sacks;
    let block = sacks.as_slice()[0];
    // The block includes the sequence number of the FIN.
    assert_eq!(block.end.0.wrapping_sub(block.start.0), 101);
    t.arrive(". 1:101 ack 1");
    t.is(State::CloseWait);
    t.sends(&[". 1 ack 202"]);
    assert!(t.events().contains(&Event::PeerFinished { at: 200 }));
}

#[test]
fn time_wait_answers_the_fin_and_starts_over() {
    let mut t = Script::established(plain());
    t.connection.close();
    t.sends(&["F. 1 ack 1"]);
    t.arrive("F. 1 ack 2");
    t.sends(&[". 2 ack 2"]);
    t.pass(200_000);
    t.arrive("F. 1 ack 2");
    t.sends(&[". 2 ack 2"]);
    t.pass(200_000);
    t.is(State::TimeWait);
    t.pass(40_000);
    t.is(State::Closed);
}

#[test]
fn time_wait_is_not_cut_short_by_a_rst() {
    // RFC 1337.
    let mut t = Script::established(plain());
    t.connection.close();
    t.sends(&["F. 1 ack 1"]);
    t.arrive("F. 1 ack 2");
    t.sends(&[". 2 ack 2"]);
    t.arrive("R 2");
    t.is(State::TimeWait);
}

#[test]
fn an_abort_sends_a_rst_and_later_segments_get_one_too() {
    let mut t = Script::established(plain());
    t.connection.write(10).expect("open");
    t.sends(&["P. 1:11 ack 1"]);
    t.connection.abort();
    t.is(State::Closed);
    t.sends(&["R. 11 ack 1"]);
    assert_eq!(t.events(), [Event::Closed(Reason::Aborted)]);
    t.arrive("P. 1:101 ack 1");
    t.sends(&["R 1"]);
    t.arrive("P 1:101");
    // The RST has sequence number 0 (RFC 9293 §3.10.7.1), which is 51 after our SYN.
    t.sends(&["R. 51 ack 101"]);
    t.arrive("R 1");
    t.sends(&[]);
    assert_eq!(t.connection.next_timeout(), None);
}

#[test]
fn an_abort_in_the_middle_of_the_handshake() {
    let mut t = Script::passive(plain());
    t.arrive("S 0");
    t.sends(&["S. 0 ack 1"]);
    t.connection.abort();
    t.sends(&["R. 1 ack 1"]);
    let mut t = Script::active(plain());
    t.sends(&["S 0"]);
    t.connection.abort();
    t.sends(&[]);
    t.is(State::Closed);
}

#[test]
fn a_reset_ends_the_connection_in_every_open_state() {
    for close in [false, true] {
        let mut t = Script::established(plain());
        if close {
            t.connection.close();
            t.drain();
        }
        t.arrive("R 1");
        t.is(State::Closed);
        t.sends(&[]);
        assert_eq!(t.events(), [Event::Closed(Reason::Reset)]);
    }
}

#[test]
fn a_segment_without_a_connection_is_answered_as_the_rfc_says() {
    let mut segment = Segment::new(SeqNumber(100));
    segment.flags = Flags::SYN;
    let reset = segment.reset().expect("an answer");
    assert_eq!((reset.seq, reset.ack), (SeqNumber(0), Some(SeqNumber(101))));
    segment.ack = Some(SeqNumber(7));
    let reset = segment.reset().expect("an answer");
    assert_eq!((reset.seq, reset.ack), (SeqNumber(7), None));
    segment.flags = Flags::RST;
    assert_eq!(segment.reset(), None);
}

#[test]
fn time_wait_adopts_the_timestamp_of_a_retransmitted_fin() {
    let mut t = Script::active(stamped());
    t.peer_time = Some(4000);
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    t.sends(&[". 1 ack 1"]);
    t.connection.close();
    t.sends(&["F. 1 ack 1"]);
    t.arrive("F. 1 ack 2");
    t.sends(&[". 2 ack 2"]);
    let left = t.connection.time_wait().expect("nothing is due");
    let mut echoed = |words: &str| {
        let mut left = left;
        t.peer_time = Some(5000);
        let again = t.segment(words);
        let answer = left.handle_segment(t.now, &again).expect("an answer");
        answer.options.timestamps.map(|stamps| stamps.echo)
    };
    // A retransmitted FIN has a later timestamp, which is echoed.
    assert_eq!(echoed("F. 1 ack 2"), Some(5001));
    // Other segments are not retransmissions of the FIN, so their timestamps are not echoed.
    let before = echoed("F. 7 ack 2");
    assert!(before.is_some_and(|echo| echo < 5000), "{before:?}");
}

#[test]
fn a_fin_just_beyond_the_window_is_cut_off() {
    // RFC 9293 §3.10.7.4, first step: 1000 bytes fill the window, and there is no space for the FIN.
    let mut config = plain();
    config.receive_buffer = 1000;
    let mut t = Script::established(config);
    t.arrive("FP. 1:1001 ack 1");
    t.is(State::Established);
    t.sends(&[". 1 ack 1001"]);
    assert_eq!(t.connection.read(1000), 1000);
    t.drain();
    // The FIN that was cut off does not count, so the stream may continue.
    assert!(t.arrive("P. 1001:1101 ack 1").is_some());
    t.arrive("F. 1101 ack 1");
    t.is(State::CloseWait);
}

#[test]
fn the_ack_of_a_fin_waits_for_the_applications_answer_unless_something_is_missing() {
    // As in Linux, a server that closes as well acknowledges the FIN with its own FIN.
    let mut config = plain();
    config.ack_policy = AckPolicy::Adaptive(AdaptiveAcks::LINUX);
    let established = || {
        let mut t = Script::established(config);
        t.arrive("P. 1:101 ack 1");
        t.drain();
        t
    };
    let mut t = established();
    t.arrive("F. 101 ack 1");
    t.is(State::CloseWait);
    t.sends(&[]);
    t.connection.close();
    t.sends(&["F. 1 ack 102"]);
    let mut t = established();
    t.arrive("F. 201 ack 1");
    t.is(State::Established);
    t.sends(&[". 1 ack 101"]);
}
