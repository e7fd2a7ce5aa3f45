//! Tests of the states from the first SYN to ESTABLISHED.

use dupack_tcp::connection::{EcnOffer, Event, Flags, Options, Reason, State, WindowShifts};
use dupack_tcp::options::{Ecn, Sack};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::Duration;

use crate::endpoint::script::{OUR_ISS, Script, plain, stamped};

#[test]
fn an_active_open_offers_everything_and_accepts_the_peers_options() {
    let mut config = stamped();
    config.receive_buffer = 1 << 20;
    let mut t = Script::active(config);
    t.is(State::SynSent);
    t.sends(&["S 0"]);
    let syn = t.last.clone().expect("the SYN").segment;
    assert_eq!(syn.options.mss, Some(1000));
    assert_eq!(syn.options.window_scale, Some(5), "2^20 / 2^5 < 2^16");
    assert_eq!(syn.options.sack_permitted, Sack::Permitted);
    assert!(syn.options.timestamps.is_some());
    assert_eq!(syn.window, u16::MAX, "the window of a SYN is not scaled");

    t.now += Duration::from_millis(30);
    t.options.mss = Some(700);
    t.options.window_scale = Some(200);
    t.peer_time = Some(5000);
    t.arrive("S. 0 ack 1");
    t.is(State::Established);
    t.sends(&[". 1 ack 1"]);
    let ack = t.last.clone().expect("the ACK").segment;
    assert_eq!(ack.options.timestamps.map(|s| s.echo), Some(5001));
    assert_eq!(u32::from(ack.window), (1 << 20) >> 5);
    let [Event::Connected(agreed)] = t.events()[..] else {
        panic!("it is connected");
    };
    assert_eq!(agreed.smss, 700 - 12);
    // RFC 7323 §2.3: the shift is at most 14.
    assert_eq!(agreed.shifts, WindowShifts { ours: 5, peers: 14 });
    assert_eq!(agreed.handshake_rtt, Some(Duration::from_millis(30)));
}

#[test]
fn options_without_peer_support_are_not_used() {
    let mut config = stamped();
    config.receive_buffer = 1 << 20;
    let mut t = Script::active(config);
    t.sends(&["S 0"]);
    t.options = Options::NONE;
    t.arrive("S. 0 ack 1");
    t.sends(&[". 1 ack 1"]);
    let ack = t.last.clone().expect("the ACK").segment;
    assert_eq!((ack.options, ack.window), (Options::NONE, u16::MAX));
    let agreed = *t.connection.negotiated().expect("it is established");
    assert_eq!((agreed.smss, agreed.sack), (536, Sack::Absent));
}

/// Interpretation of the peer's MSS option: RFC 9293 §3.7.1, with the minimum of Linux. The length of the timestamps is
/// subtracted from the minimum (`__tcp_mtu_to_mss`, `tcp_mtu_to_mss`).
#[test]
fn the_peers_segment_size_has_a_minimum() {
    for (mss, bare) in [
        (None, 536),
        // An option with the value zero is ignored.
        (Some(0), 536),
        (Some(20), 48),
        (Some(48), 48),
        (Some(60), 60),
        (Some(87), 87),
        (Some(1001), 1000),
    ] {
        for (config, taken) in [(plain(), 0), (stamped(), 12)] {
            let mut t = Script::active(config);
            t.sends(&["S 0"]);
            t.options.mss = mss;
            t.peer_time = (taken > 0).then_some(5000);
            t.arrive("S. 0 ack 1");
            let agreed = t.connection.negotiated().expect("it is established");
            assert_eq!(
                agreed.smss,
                bare - taken,
                "{mss:?}, {taken} bytes of options"
            );
            t.connection.write(u64::from(bare)).expect("it is open");
            let _ = t.connection.poll_transmit(t.now);
            let first = t.connection.poll_transmit(t.now).expect("a segment");
            assert_eq!(first.segment.len, bare - taken, "{mss:?}");
        }
    }
}

#[test]
fn a_passive_open_answers_with_the_options_of_the_syn() {
    let mut t = Script::passive(plain());
    t.is(State::Listen);
    t.sends(&[]);
    t.arrive("S 0");
    t.is(State::SynReceived);
    t.sends(&["S. 0 ack 1"]);
    let answer = t.last.clone().expect("the answer").segment.options;
    assert_eq!((answer.mss, answer.window_scale), (Some(1000), None));
    assert_eq!(
        (answer.sack_permitted, answer.timestamps),
        (Sack::Permitted, None)
    );
    t.arrive(". 1 ack 1");
    t.is(State::Established);
    t.sends(&[]);
}

#[test]
fn the_segment_that_completes_a_passive_open_may_carry_data() {
    let mut t = Script::passive(plain());
    t.arrive("S 0");
    t.sends(&["S. 0 ack 1"]);
    let store = t.arrive("P. 1:101 ack 1").expect("data");
    assert_eq!((store.offset, store.skip, store.len), (0, 0, 100));
    t.sends(&[". 1 ack 101"]);
    let events = t.events();
    assert!(
        events.contains(&Event::Readable { until: 100 }),
        "{events:?}"
    );
}

#[test]
fn a_listener_ignores_rst_and_answers_ack_with_rst() {
    let mut t = Script::passive(plain());
    t.arrive("R 5");
    t.sends(&[]);
    t.arrive(". 5 ack 77");
    t.sends(&["R 77"]);
    t.arrive("F 5");
    t.sends(&[]);
    t.is(State::Listen);
}

#[test]
fn both_ends_open_at_once() {
    // RFC 9293 §3.5, figure 7.
    let mut t = Script::active(plain());
    t.sends(&["S 0"]);
    t.arrive("S 0");
    t.is(State::SynReceived);
    t.sends(&["S. 0 ack 1"]);
    t.arrive("S. 0 ack 1");
    t.is(State::Established);
    t.sends(&[]);
}

#[test]
fn both_ends_open_at_once_and_do_without_classic_ecn() {
    // RFC 3168 §6.1.1 defines the negotiation only for a client and a server.
    let mut config = plain();
    config.offer.ecn = EcnOffer::Offered;
    let mut t = Script::active(config);
    t.sends(&["S 0"]);
    let asks = Flags::ECE.with(Flags::CWR);
    assert!(t.last.clone().expect("the SYN").segment.is(asks));
    let mut syn = t.segment("S 0");
    syn.flags = syn.flags.with(asks);
    t.handle(&syn);
    t.sends(&["S. 0 ack 1"]);
    assert!(!t.last.clone().expect("the answer").segment.is(Flags::ECE));
    t.arrive("S. 0 ack 1");
    let agreed = t.connection.negotiated().expect("it is established");
    assert_eq!(agreed.ecn, Ecn::Absent);
}

#[test]
fn the_window_of_the_answer_in_a_simultaneous_open_is_not_scaled() {
    // RFC 7323 §2.2: the window of a segment with SYN is never scaled.
    let mut t = Script::active(stamped());
    t.options.window_scale = Some(7);
    t.peer_time = Some(9);
    t.window = 1000;
    t.sends(&["S 0"]);
    t.arrive("S 0");
    t.sends(&["S. 0 ack 1"]);
    t.arrive("S. 0 ack 1");
    t.is(State::Established);
    t.sends(&[]);
    let edge = |t: &Script| t.connection.sender().expect("established").peer_edge();
    assert_eq!(edge(&t), 1000);
    t.arrive(". 1 ack 1");
    assert_eq!(edge(&t), 128_000);
}

#[test]
fn both_ends_open_at_once_and_the_answers_cross_with_a_loss() {
    let mut t = Script::active(plain());
    t.sends(&["S 0"]);
    t.arrive("S 0");
    t.sends(&["S. 0 ack 1"]);
    // The peer's SYN-ACK is lost but ours is not, so the peer is established and acknowledges.
    t.arrive(". 1 ack 1");
    t.is(State::Established);
    // The peer has not received our ACK and retransmits its SYN-ACK.
    t.arrive("S. 0 ack 1");
    t.sends(&[". 1 ack 1"]);
}

#[test]
fn a_syn_is_retransmitted_with_backoff_for_three_minutes() {
    let mut t = Script::active(plain());
    let start = t.now;
    t.sends(&["S 0"]);
    let mut times = Vec::new();
    while let Some(at) = t.connection.next_timeout() {
        t.now = at;
        t.connection.handle_timeout(at);
        if t.drain() == ["S 0"] {
            times.push(at.since(start).as_nanos() / 1_000_000_000);
        }
    }
    // The timeout doubles from 1 s up to 60 s: 1, 2, 4, 8, 16, 32, 60.
    assert_eq!(times, [1, 3, 7, 15, 31, 63, 123]);
    assert_eq!(t.now.since(start), Duration::from_secs(180));
    assert_eq!(t.events(), [Event::Closed(Reason::OpenTimedOut)]);
}

/// RFC 5681 §3.1, RFC 6928 §2.
#[test]
fn a_second_retransmission_of_the_syn_ack_leaves_a_window_of_one_segment() {
    for (repeats, segments) in [(0, 10), (1, 10), (2, 1), (3, 1)] {
        let mut t = Script::passive(plain());
        t.arrive("S 0");
        t.sends(&["S. 0 ack 1"]);
        for _ in 0..repeats {
            t.now += Duration::from_millis(100);
            t.arrive("S 0");
            t.sends(&["S. 0 ack 1"]);
        }
        t.arrive(". 1 ack 1");
        t.connection.write(20_000).expect("it is open");
        assert_eq!(t.drain().len(), segments, "{repeats} retransmissions");
    }
}

#[test]
fn a_retransmitted_syn_starts_with_a_timeout_of_three_seconds() {
    let mut t = Script::active(plain());
    t.sends(&["S 0"]);
    assert_eq!(t.pass(1500), ["S 0"]);
    t.arrive("S. 0 ack 1");
    t.sends(&[". 1 ack 1"]);
    let agreed = t.connection.negotiated().expect("established");
    assert_eq!(agreed.handshake_rtt, None, "Karn: which SYN was answered?");
    t.connection.write(10).expect("open");
    t.sends(&["P. 1:11 ack 1"]);
    // RFC 6298 §5.7 requires 3 s.
    let sender = t.connection.sender().expect("established");
    assert_eq!(sender.rto_at(), Some(t.now + Duration::from_secs(3)));
}

#[test]
fn timestamps_tell_which_of_two_syns_was_answered() {
    let mut t = Script::active(stamped());
    t.peer_time = Some(5000);
    t.sends(&["S 0"]);
    assert_eq!(t.pass(1500), ["S 0"]);
    // The SYN-ACK answers the second SYN, which was sent 500 ms ago.
    t.arrive("S. 0 ack 1");
    t.sends(&[". 1 ack 1"]);
    let agreed = t.connection.negotiated().expect("established");
    assert_eq!(agreed.handshake_rtt, Some(Duration::from_millis(500)));
    let sender = t.connection.sender().expect("established");
    assert_eq!(sender.rtt().srtt(), agreed.handshake_rtt);
    // RFC 6298 §5.7 still applies.
    assert_eq!(sender.rtt().rto(), Duration::from_secs(3));
}

#[test]
fn the_handshake_is_the_first_round_trip_sample_at_both_ends() {
    let rtt = Duration::from_millis(500);
    let mut client = Script::active(plain());
    client.sends(&["S 0"]);
    client.pass(500);
    client.arrive("S. 0 ack 1");
    let mut server = Script::passive(plain());
    server.arrive("S 0");
    server.sends(&["S. 0 ack 1"]);
    server.pass(500);
    server.arrive(". 1 ack 1");
    for end in [client, server] {
        let sender = end.connection.sender().expect("established");
        assert_eq!(
            (sender.rtt().srtt(), sender.rtt().min()),
            (Some(rtt), Some(rtt))
        );
        // The RTO is SRTT + 4 · SRTT/2.
        assert_eq!(sender.rtt().rto(), rtt * 3);
    }
}

#[test]
fn a_refused_open_is_reported() {
    let mut t = Script::active(plain());
    t.sends(&["S 0"]);
    // A RST without an ACK number or with a wrong one is not the peer's answer to our SYN.
    t.arrive("R 0");
    t.arrive("R. 0 ack 2");
    t.is(State::SynSent);
    t.arrive("R. 0 ack 1");
    t.is(State::Closed);
    t.sends(&[]);
    assert_eq!(t.events(), [Event::Closed(Reason::Refused)]);
}

#[test]
fn an_old_duplicate_in_syn_sent_is_reset() {
    // RFC 9293 §3.5.1, figure 9: for the peer, an old connection is still open.
    let mut t = Script::active(plain());
    t.sends(&["S 0"]);
    t.arrive(". 300 ack 100");
    t.sends(&["R 100"]);
    t.is(State::SynSent);
    t.arrive("S. 0 ack 1");
    t.is(State::Established);
}

#[test]
fn a_retransmitted_syn_is_answered_again() {
    let mut t = Script::passive(plain());
    t.arrive("S 0");
    t.sends(&["S. 0 ack 1"]);
    t.arrive("S 0");
    t.sends(&["S. 0 ack 1"]);
    assert_eq!(t.pass(4000).len(), 1, "after the second answer 2 s pass");
}

#[test]
fn a_passive_open_that_the_peer_withdraws_listens_again() {
    let mut t = Script::passive(plain());
    t.arrive("S 0");
    t.sends(&["S. 0 ack 1"]);
    t.now += Duration::from_millis(1);
    t.arrive("R 1");
    t.is(State::Listen);
    assert_eq!(t.events(), []);
    // The next connection has a different number: the clock of RFC 6528 has advanced by 250 within one millisecond.
    t.arrive("S 0");
    t.sends(&["S. 251 ack 1"]);
    let again = t.last.clone().expect("an answer").segment.seq;
    assert_eq!(again, SeqNumber(OUR_ISS.wrapping_add(251)));
}

#[test]
fn data_written_before_the_handshake_is_sent_after_it() {
    let mut t = Script::active(plain());
    t.connection.write(100).expect("open");
    t.connection.close();
    assert!(t.connection.write(1).is_err());
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    t.is(State::FinWait1);
    t.sends(&[". 1 ack 1", "FP. 1:101 ack 1"]);
}
