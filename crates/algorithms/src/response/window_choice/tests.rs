//! Tests of the windows of both families, method by method.

use dupack_tcp::facts::LimitedBy;
use dupack_tcp::response::Response;
use dupack_tcp::rtt::RttEstimator;
use dupack_tcp::scoreboard::Scoreboard;
use dupack_tcp::testing::view;
use dupack_tcp::time::Duration;

use super::*;
use crate::catalog::{Dialect, Entry, Value};
use crate::congestion::bench::{self, SMSS, ack_facts, loss_facts};
use crate::recovery::{newreno, sack};
use crate::response::{avoidance, slow_start};
use crate::testing::{Setup, ack, at};

/// TCP's response to [`loss`]: 7 segments, and a different `ssthresh`.
const CONGESTION: Window = Window {
    cwnd: 7000.0,
    ssthresh: 8000.0,
};

/// Returns a loss at a window of 14 segments in slow start, with a minimum RTT of 100 ms and a smoothed RTT of 150 ms.
fn loss() -> LossFacts {
    let mut loss = loss_facts(0, 14);
    loss.window = Window {
        cwnd: 14_000.0,
        ssthresh: 30_000.0,
    };
    loss.srtt = Some(Duration::from_millis(150));
    loss.rtt_min = Some(Duration::from_millis(100));
    loss
}

fn built(entry: Entry<dyn Response>, changes: &[(&str, Value)]) -> Box<dyn Response> {
    bench::built(&entry, Dialect::Rfc, changes)
}

/// Passes an ACK of `segments` segments at `ms` milliseconds, with a window of `cwnd` segments.
fn receive(response: &mut dyn Response, ms: u64, segments: u64, cwnd: f64) {
    let mut facts = ack_facts(at(ms), segments, LimitedBy::Congestion, None);
    if segments == 0 {
        // A duplicate ACK without SACK.
        facts.delivered_bytes = 0;
    }
    let window = Window {
        cwnd: cwnd * f64::from(SMSS),
        ssthresh: f64::INFINITY,
    };
    let (board, rtt) = (Scoreboard::new(SMSS), timed());
    response.on_ack(&facts, &view(at(ms), &board, window, &rtt));
}

/// Returns an estimator with an SRTT of 100 ms, taken from a sender.
fn timed() -> RttEstimator {
    let mut t = Setup::new(newreno::entry()).start(10);
    t.receive(100, ack(1));
    t.sender().rtt().clone()
}

/// Returns `cwnd` of methods 1x and 2x after the same ACKs and the same loss. The two must be equal.
fn cwnd(last_digit: usize, changes: &[(&str, Value)], acks: &[(u64, u64, f64)]) -> f64 {
    let families = [(SLOW_START, 65_535.0), (AVOIDANCE, f64::NAN)];
    let [slow, avoid] = families.map(|(family, ssthresh)| {
        let mut response = built(family[last_digit - 1](), changes);
        for &(ms, segments, cwnd) in acks {
            receive(&mut *response, ms, segments, cwnd);
        }
        let window = response.respond(&loss(), CONGESTION);
        let expected = if ssthresh.is_nan() {
            window.cwnd
        } else {
            ssthresh
        };
        assert_eq!(window.ssthresh, expected);
        window.cwnd
    });
    assert_eq!(slow, avoid);
    slow
}

const SLOW_START: [fn() -> Entry<dyn Response>; 7] = [
    slow_start::method_11,
    slow_start::method_12,
    slow_start::method_13,
    slow_start::method_14,
    slow_start::method_15,
    slow_start::method_16,
    slow_start::method_17,
];

const AVOIDANCE: [fn() -> Entry<dyn Response>; 7] = [
    avoidance::method_21,
    avoidance::method_22,
    avoidance::method_23,
    avoidance::method_24,
    avoidance::method_25,
    avoidance::method_26,
    avoidance::method_27,
];

/// ACKs at windows of 4, 20, 12 and 14 segments; the last window is that of the loss.
const ACKS: [(u64, u64, f64); 4] = [(0, 1, 4.0), (10, 1, 20.0), (20, 1, 12.0), (30, 0, 14.0)];

#[test]
fn methods_11_and_21_take_one_segment() {
    assert_eq!(cwnd(1, &[], &ACKS), 1000.0);
}

#[test]
fn methods_12_and_22_take_tcps_window() {
    assert_eq!(cwnd(2, &[], &ACKS), 7000.0);
}

#[test]
fn methods_13_and_23_leave_the_window() {
    assert_eq!(cwnd(3, &[], &ACKS), 14_000.0);
}

#[test]
fn methods_14_and_24_take_the_average() {
    // The average is (4 + 20 + 12 + 14)/4.
    assert_eq!(cwnd(4, &[], &ACKS), 12_500.0);
    // The weighted average is 4; 4 + 16/4 = 8; 8 + 4/4 = 9; 9 + 5/4.
    let ewma = [
        ("average", Value::word("ewma")),
        ("gain", Value::Real(0.25)),
    ];
    assert_eq!(cwnd(4, &ewma, &ACKS), 10_250.0);
    // There is no average yet.
    assert_eq!(cwnd(4, &[], &[]), 14_000.0);
    assert_eq!(cwnd(4, &ewma, &[]), 14_000.0);
}

#[test]
fn methods_15_and_25_take_the_maximum() {
    assert_eq!(cwnd(5, &[], &ACKS), 20_000.0);
    assert_eq!(cwnd(5, &[], &[(0, 1, 4.0)]), 14_000.0);
}

#[test]
fn methods_16_and_26_take_the_buffer() {
    assert_eq!(cwnd(6, &[], &ACKS), 48_000.0);
    assert_eq!(cwnd(6, &[("buffer", Value::Integer(3))], &ACKS), 3000.0);
}

/// ACKs with an SRTT of 100 ms, in two rounds: 5 segments in 100 ms, and 3 in 150 ms.
const ROUNDS_OF_ACKS: [(u64, u64, f64); 7] = [
    (0, 1, 10.0),
    (40, 2, 10.0),
    (99, 2, 10.0),
    (100, 1, 10.0),
    (120, 1, 10.0),
    (250, 2, 10.0),
    // The third round is not complete.
    (260, 9, 10.0),
];

#[test]
fn methods_17_and_27_take_the_bandwidth_delay_product() {
    // The rates are 50,000 and 20,000 B/s; RTTmin is 100 ms, SRTT 150 ms.
    assert_eq!(cwnd(7, &[], &ROUNDS_OF_ACKS), 5000.0);
    let mean = ("bandwidth", Value::word("mean"));
    assert_eq!(cwnd(7, &[mean], &ROUNDS_OF_ACKS), 3500.0);
    let smoothed = ("delay", Value::word("smoothed"));
    assert_eq!(cwnd(7, &[smoothed], &ROUNDS_OF_ACKS), 7500.0);
    // Only the last round counts.
    let last = ("rounds", Value::Integer(1));
    assert_eq!(cwnd(7, &[last], &ROUNDS_OF_ACKS), 2000.0);
}

#[test]
fn without_an_estimate_methods_17_and_27_take_tcps_window() {
    assert_eq!(cwnd(7, &[], &[]), 7000.0);
    assert_eq!(cwnd(7, &[], &ROUNDS_OF_ACKS[..3]), 7000.0);
}

#[test]
fn segments_that_duplicate_acks_announced_are_not_delivered_again() {
    // 4 duplicate ACKs are followed by one ACK for the hole and these 4: 5 segments in 100 ms. The next round has 2
    // segments in 100 ms.
    let acks = [
        (0, 1, 10.0),
        (20, 0, 10.0),
        (40, 0, 10.0),
        (60, 0, 10.0),
        (80, 0, 10.0),
        (100, 5, 10.0),
        (200, 2, 10.0),
    ];
    let last = ("rounds", Value::Integer(1));
    assert_eq!(cwnd(7, &[], &acks), 5000.0);
    assert_eq!(cwnd(7, &[last], &acks), 2000.0);
}

#[test]
fn the_blank_cells_of_methods_21_to_27_are_a_parameter() {
    // Method 21 for a loss at 14 segments and an ssthresh of 30; TCP's response is 7 and 8 segments.
    for (word, ssthresh) in [("cwnd", 1000.0), ("tcp", 8000.0), ("before", 30_000.0)] {
        let changes = [("ssthresh", Value::word(word))];
        let window = built(avoidance::method_21(), &changes).respond(&loss(), CONGESTION);
        assert_eq!((window.cwnd, window.ssthresh), (1000.0, ssthresh), "{word}");
    }
}

#[test]
fn the_threshold_of_slow_start_is_a_parameter() {
    let mut response = built(
        slow_start::method_11(),
        &[("ssthresh", Value::Integer(9000))],
    );
    assert_eq!(response.respond(&loss(), CONGESTION).ssthresh, 9000.0);
}

#[test]
fn a_window_beyond_the_senders_and_the_peers_limit_is_bounded() {
    // Ten segments are in flight, and the first is lost. The response chooses 48.
    let wireless = |bound: fn(&mut dupack_tcp::SenderConfig), peer: u32| {
        let setup = Setup::new(sack::entry()).answered_by(avoidance::method_26());
        let mut t = setup.configure(bound).start(200);
        t.receive(100, ack(0).sack(1, 2).window(peer));
        t.receive(101, ack(0).sack(1, 3).window(peer));
        t.receive(102, ack(0).sack(1, 4).window(peer));
        (t.cwnd(), t.sender().scoreboard().nxt() / u64::from(SMSS))
    };
    assert_eq!(wireless(|_| {}, 1000).0, 48.0);
    // The sender's maximum window is 12 segments.
    assert_eq!(wireless(|c| c.max_window = 12_000.0, 1000).0, 12.0);
    // The peer's window is 20 segments: the congestion window may be larger, but only segments 0 to 19 are sent.
    assert_eq!(wireless(|_| {}, 20), (48.0, 20));
}
