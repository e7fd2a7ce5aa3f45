//! Tests of the open connection: data, windows, timers and timestamps.

use dupack_tcp::connection::{Event, KeepAlive, Reason, Segment, State, Timestamps};
use dupack_tcp::options::Sack;
use dupack_tcp::receiver::TimestampEcho;
use dupack_tcp::time::{Duration, Instant};

use crate::endpoint::script::{PEER_ISS, Script, plain, stamped};

#[test]
fn data_goes_both_ways_and_acknowledgments_ride_along() {
    let mut t = Script::established(plain());
    t.connection.write(1500).expect("open");
    t.arrive("P. 1:101 ack 1");
    t.sends(&[". 1:1001 ack 101", "P. 1001:1501 ack 101"]);
    assert_eq!(t.last.clone().expect("data").data, 1000..1500);
    t.arrive(". 101 ack 1501");
    assert!(t.events().contains(&Event::Acknowledged { until: 1500 }));
}

#[test]
fn a_closed_window_is_probed_and_an_update_reopens_it() {
    let mut t = Script::established(plain());
    t.connection.write(3000).expect("open");
    t.window = 1000;
    t.arrive(". 1 ack 1");
    t.sends(&[". 1:1001 ack 1"]);
    t.window = 0;
    t.arrive(". 1 ack 1001");
    t.sends(&[]);
    // The probe is one byte below the window and has no data, so the peer must answer.
    assert_eq!(t.pass(1000), [". 1000 ack 1"]);
    t.arrive(". 1 ack 1001");
    assert_eq!(t.pass(2000), [". 1000 ack 1"]);
    t.window = 5000;
    t.arrive(". 1 ack 1001");
    t.sends(&[". 1001:2001 ack 1", "P. 2001:3001 ack 1"]);
}

#[test]
fn our_window_closes_when_nothing_is_read_and_opens_again() {
    let mut config = plain();
    config.receive_buffer = 2000;
    let mut t = Script::established(config);
    t.arrive(". 1:1001 ack 1");
    t.arrive(". 1001:2001 ack 1");
    t.sends(&[". 1 ack 2001"]);
    assert_eq!(t.last.clone().expect("the ACK").segment.window, 0);
    // The peer sends a probe with one byte that does not fit into the window.
    assert_eq!(t.arrive(". 2001:2002 ack 1"), None);
    t.sends(&[". 1 ack 2001"]);
    assert_eq!(t.connection.read(5000), 2000);
    t.sends(&[". 1 ack 2001"]);
    assert_eq!(t.last.clone().expect("the update").segment.window, 2000);
}

#[test]
fn coarse_window_units_hide_no_opening() {
    // A window of 128 MiB is expressed in units of 4 KiB (RFC 7323 §2.3), so 3000 bytes become zero.
    let mut config = plain();
    config.receive_buffer = 1 << 27;
    let mut t = Script::active(config);
    t.options.window_scale = Some(0);
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    t.drain();
    let fill = (1 << 27) - 3000;
    let mut start = 1;
    while start <= fill {
        let end = (start + 60_000).min(fill + 1);
        assert!(t.arrive(&format!(". {start}:{end} ack 1")).is_some());
        t.drain();
        start = end;
    }
    assert_eq!(t.last.clone().expect("the ACK").segment.window, 0);
    t.connection.read(500);
    t.sends(&[]);
    t.connection.read(1000);
    t.sends(&[&format!(". 1 ack {start}")]);
    assert_eq!(t.last.clone().expect("the update").segment.window, 1);
}

#[test]
fn a_peer_without_room_that_answers_keeps_the_connection() {
    // RFC 9293 §3.8.6.1 (MUST-37): the peer answers for an hour. Then it stops answering.
    let mut t = Script::established(plain());
    t.connection.write(3000).expect("open");
    t.window = 1000;
    t.arrive(". 1 ack 1");
    t.drain();
    t.window = 0;
    t.arrive(". 1 ack 1001");
    t.sends(&[]);
    let mut heard = t.now;
    for _ in 0..3600 {
        for _ in t.pass(1000) {
            t.arrive(". 1 ack 1001");
            t.sends(&[]);
            heard = t.now;
        }
    }
    t.is(State::Established);
    while t.connection.state() != State::Closed {
        assert!(!t.pass(1000).is_empty() || t.now.since(heard) <= Duration::from_secs(301));
    }
    assert_eq!(t.events().last(), Some(&Event::Closed(Reason::TimedOut)));
    assert!(t.now.since(heard) >= Duration::from_secs(300));
}

#[test]
fn data_after_a_zero_window_gets_the_full_user_timeout() {
    let mut t = Script::established(plain());
    t.connection.write(3000).expect("open");
    t.window = 0;
    t.arrive(". 1 ack 1");
    t.drain();
    for _ in 0..1000 {
        for _ in t.pass(1000) {
            t.arrive(". 1 ack 1");
        }
    }
    t.window = 20_000;
    t.arrive(". 1 ack 1");
    assert!(!t.drain().is_empty());
    t.pass(200_000);
    t.is(State::Established);
    t.pass(100_000);
    assert_eq!(t.events().last(), Some(&Event::Closed(Reason::TimedOut)));
}

#[test]
fn an_older_segment_does_not_update_the_window() {
    let mut t = Script::established(plain());
    t.window = 5000;
    t.arrive(". 1:101 ack 1");
    let edge = |t: &Script| t.connection.sender().expect("established").peer_edge();
    assert_eq!(edge(&t), 5000);
    t.window = 9000;
    t.arrive(". 101:201 ack 1");
    assert_eq!(edge(&t), 9000);
    // A delayed copy of the first segment arrives.
    t.window = 100;
    t.arrive(". 1:101 ack 1");
    assert_eq!(edge(&t), 9000);
}

#[test]
fn an_idle_connection_is_probed_and_given_up() {
    let mut config = plain();
    config.keep_alive = Some(KeepAlive {
        idle: Duration::from_secs(100),
        interval: Duration::from_secs(10),
        probes: 3,
    });
    let mut t = Script::established(config);
    assert_eq!(t.pass(100_000), [". 0 ack 1"]);
    t.arrive(". 1 ack 1");
    t.sends(&[]);
    assert!(t.pass(99_000).is_empty(), "the answer restarts the timer");
    let sent = t.pass(1000 + 30_000);
    assert_eq!(sent, [". 0 ack 1", ". 0 ack 1", ". 0 ack 1", "R. 1 ack 1"]);
    assert_eq!(t.events(), [Event::Closed(Reason::PeerSilent)]);
}

#[test]
fn a_probe_of_the_peer_is_answered() {
    let mut t = Script::established(plain());
    t.arrive(". 0 ack 1");
    t.sends(&[". 1 ack 1"]);
}

#[test]
fn unacknowledged_data_ends_the_connection() {
    let mut t = Script::established(plain());
    t.connection.write(100).expect("open");
    t.sends(&["P. 1:101 ack 1"]);
    let sent = t.pass(299_999);
    // The RTO is 1 s and doubles up to 60 s, so retransmissions occur after 1, 3, 7, 15, 31, 63 s, and then every 60 s.
    assert_eq!(sent.len(), 9);
    t.is(State::Established);
    t.pass(1);
    assert_eq!(t.events(), [Event::Closed(Reason::TimedOut)]);
    assert_eq!(t.connection.next_timeout(), None);
}

#[test]
fn a_peer_with_room_that_acknowledges_nothing_new_does_not_keep_the_connection() {
    let mut t = Script::established(plain());
    t.connection.write(100).expect("open");
    t.drain();
    for n in 0..299 {
        t.pass(1000);
        t.arrive(&format!(". {}:{} ack 1", 1 + n * 10, 11 + n * 10));
        t.drain();
    }
    t.is(State::Established);
    t.pass(1000);
    assert_eq!(t.events().last(), Some(&Event::Closed(Reason::TimedOut)));
}

#[test]
fn progress_keeps_the_connection() {
    let mut t = Script::established(plain());
    t.connection.write(100).expect("open");
    t.drain();
    t.pass(250_000);
    t.arrive(". 1 ack 51");
    t.drain();
    t.pass(250_000);
    t.is(State::Established);
}

#[test]
fn the_wrap_of_the_sequence_numbers_changes_nothing() {
    // 0xffff_ffff is the 51st number after our SYN, so the numbers wrap around in a transfer of 100 bytes.
    let mut t = Script::established(plain());
    t.connection.write(100).expect("open");
    t.sends(&["P. 1:101 ack 1"]);
    let seq = t.last.clone().expect("data").segment.seq;
    assert!(seq.0 > seq.0.wrapping_add(100));
    t.arrive(". 1 ack 101");
    assert_eq!(t.connection.acknowledged(), 100);
    assert!(PEER_ISS > PEER_ISS.wrapping_add(101));
    assert!(t.arrive("P. 1:101 ack 101").is_some());
    t.sends(&[". 101 ack 101"]);
}

#[test]
fn our_timestamps_count_ticks_from_a_secret_and_never_go_back() {
    let mut config = stamped();
    config.timestamp_offset = u32::MAX - 1_000_000;
    let mut t = Script::active(config);
    t.peer_time = Some(9);
    t.sends(&["S 0"]);
    let value = |t: &Script| {
        let segment = t.last.clone().expect("a segment").segment;
        segment.options.timestamps.expect("stamps").value
    };
    // The clock has advanced by 1000 s in milliseconds since the offset.
    assert_eq!(value(&t), u32::MAX);
    t.now += Duration::from_millis(50);
    t.arrive("S. 0 ack 1");
    t.sends(&[". 1 ack 1"]);
    assert_eq!(value(&t), 49);
}

#[test]
fn a_round_trip_time_comes_from_the_echo_even_of_a_retransmission() {
    let config = stamped();
    let mut t = Script::active(config);
    t.peer_time = Some(9);
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    t.drain();
    t.connection.write(100).expect("open");
    t.sends(&["P. 1:101 ack 1"]);
    assert_eq!(t.pass(1000), ["P. 1:101 ack 1"]);
    t.now += Duration::from_millis(70);
    t.arrive(". 1 ack 101");
    let srtt = t.connection.sender().expect("established").rtt().srtt();
    // The round-trip time of the handshake was zero, so SRTT is one eighth of the sample.
    assert_eq!(srtt, Some(Duration::from_micros(70_000 / 8)));
}

#[test]
fn the_timestamp_of_the_first_unacknowledged_segment_is_echoed() {
    let mut config = stamped();
    config.ack_policy = dupack_tcp::receiver::AckPolicy::Delayed(Duration::from_millis(40));
    let mut t = Script::active(config);
    // The peer's clock is about to pass 2³¹.
    t.peer_time = Some(0x7fff_fff0);
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    t.drain();
    let mut at = |words: &str, value: u32| {
        let mut segment: Segment = t.segment(words);
        segment.options.timestamps = Some(Timestamps { value, echo: 0 });
        let _ = t.handle(&segment);
        let sent = t.drain();
        let last = t.last.clone().expect("an ACK").segment;
        (sent.len(), last.options.timestamps.map(|s| s.echo))
    };
    assert_eq!(at("P. 1:989 ack 1", 0x7fff_fff8).0, 0);
    assert_eq!(at("P. 989:1977 ack 1", 0x8000_0003), (1, Some(0x7fff_fff8)));
}

#[test]
fn nothing_is_due_before_its_time() {
    let mut t = Script::established(plain());
    assert_eq!(t.connection.next_timeout(), None);
    t.connection.handle_timeout(Instant::FAR_FUTURE);
    t.sends(&[]);
    t.is(State::Established);
}

#[test]
fn data_in_the_other_direction_is_no_duplicate_ack() {
    // RFC 5681 §2: a duplicate ACK carries no data.
    let mut config = plain();
    config.offer.sack = Sack::Absent;
    let mut t = Script::established_with(config, "newreno/reno");
    t.connection.write(5000).expect("open");
    assert_eq!(t.drain().len(), 5);
    for n in 0..10 {
        let (from, until) = (1 + n * 100, 101 + n * 100);
        t.arrive(&format!(". {from}:{until} ack 1"));
        t.sends(&[&format!(". 5001 ack {until}")]);
    }
    for _ in 0..3 {
        t.arrive(". 1001 ack 1");
    }
    t.sends(&[". 1:1001 ack 1001"]);
}

/// Returns the number of SACK blocks in the last segment sent.
fn blocks(t: &Script) -> usize {
    let segment = t.last.clone().expect("a segment").segment;
    segment.options.sacks.as_slice().len()
}

/// RFC 2018 §4.
#[test]
fn every_ack_carries_sack_blocks_new_or_not() {
    let mut t = Script::established(plain());
    t.connection.write(100).expect("open");
    t.arrive(". 101:201 ack 1");
    t.sends(&["P. 1:101 ack 1"]);
    assert_eq!(blocks(&t), 1);
    // Two blocks take 20 bytes, so a full segment carries 980 bytes of data.
    t.connection.write(1000).expect("open");
    t.arrive(". 301:401 ack 1");
    t.sends(&[". 101:1081 ack 1", "P. 1081:1101 ack 1"]);
    assert_eq!(blocks(&t), 2);
    t.connection.write(100).expect("open");
    t.sends(&["P. 1101:1201 ack 1"]);
    assert_eq!(blocks(&t), 2);
    t.arrive(". 1:101 ack 1");
    t.arrive(". 201:301 ack 1");
    t.connection.write(1000).expect("open");
    t.sends(&["P. 1201:2201 ack 401"]);
    assert_eq!(blocks(&t), 0);
}

#[test]
fn sack_blocks_follow_a_retransmission_without_room_for_them() {
    let mut t = Script::established(plain());
    t.connection.write(1000).expect("open");
    t.sends(&["P. 1:1001 ack 1"]);
    t.arrive(". 101:201 ack 1");
    t.now = t.connection.next_timeout().expect("a timer");
    t.connection.handle_timeout(t.now);
    t.sends(&["P. 1:1001 ack 1", ". 1001 ack 1"]);
    assert_eq!(blocks(&t), 1);
}

#[test]
fn an_ack_stays_within_a_window_that_shrank() {
    let mut t = Script::established(plain());
    t.connection.write(5000).expect("open");
    t.drain();
    t.window = 1500;
    t.arrive(". 1 ack 1001");
    t.drain();
    // SND.NXT is 5001 and the window ends at 2501. An ACK with SND.NXT, as in RFC 9293, would be outside the window.
    t.arrive("P. 1:11 ack 1001");
    t.sends(&[". 2501 ack 11"]);
}

#[test]
fn outstanding_data_prevents_keep_alive_probes() {
    let mut config = plain();
    config.keep_alive = Some(KeepAlive {
        idle: Duration::from_secs(2),
        interval: Duration::from_secs(1),
        probes: 3,
    });
    let mut t = Script::established(config);
    t.connection.write(100).expect("open");
    t.sends(&["P. 1:101 ack 1"]);
    let sent = t.pass(20_000);
    assert!(sent.iter().all(|words| words == "P. 1:101 ack 1"));
    t.is(State::Established);
}

#[test]
fn an_ack_counts_even_if_its_data_does_not_fit() {
    // RFC 9293 §3.10.7.4, first step. This also holds for a zero window.
    let mut config = plain();
    config.receive_buffer = 1000;
    let mut t = Script::established(config);
    t.connection.write(100).expect("open");
    t.arrive(". 1:1001 ack 1");
    t.drain();
    assert_eq!(t.arrive("P. 1001:1101 ack 101"), None);
    assert_eq!(t.connection.acknowledged(), 100);
}

#[test]
fn the_timestamp_of_the_latest_data_is_echoed_if_configured() {
    // LE §4.1: the timestamp of a segment without data is not echoed.
    let mut config = stamped();
    config.timestamp_echo = TimestampEcho::Trigger;
    let mut t = Script::active(config);
    t.peer_time = Some(1000);
    t.sends(&["S 0"]);
    t.arrive("S. 0 ack 1");
    t.drain();
    let mut after = |words: &str, value: u32| {
        t.peer_time = Some(value - 1);
        t.arrive(words);
        t.connection.write(1).expect("it is open");
        t.drain();
        let last = t.last.clone().expect("a segment").segment;
        last.options.timestamps.map(|s| s.echo)
    };
    assert_eq!(after("P. 1:101 ack 1", 2000), Some(2000));
    assert_eq!(after(". 101 ack 2", 3000), Some(2000));
    assert_eq!(after("P. 101:201 ack 3", 4000), Some(4000));
}
