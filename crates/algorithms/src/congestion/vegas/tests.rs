//! Timelines of a real sender; the whole window is acknowledged once per round trip.

use dupack_tcp::undo::Prior;

use super::*;
use crate::catalog::{Dialect, Value, typed};
use crate::congestion::bench::{Bench, CONTEXT};
use crate::recovery::sack;
use crate::testing::{SMSS, Setup, Timeline, ack};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn start(dialect: Dialect, window: f64, ssthresh: f64) -> Timeline {
    let setup = Setup::new(sack::entry()).dialect(dialect);
    let setup = setup.controlled_by(entry()).window(window);
    setup.ssthresh(ssthresh).start(1000)
}

/// Acknowledges everything outstanding at `ms` milliseconds, segment by segment. Returns the window in segments.
fn round(t: &mut Timeline, ms: u64) -> f64 {
    let board = t.sender().scoreboard();
    let segments = |offset: u64| (offset / u64::from(SMSS)) as u32;
    let (una, nxt) = (segments(board.una()), segments(board.nxt()));
    for next in una + 1..=nxt {
        t.receive(ms, ack(next));
    }
    t.cwnd()
}

#[test]
fn slow_start_doubles_every_other_round_trip() {
    // A round ends with the data that was outstanding when the ACK that began the round arrived. 4 ACKs increase the
    // window from 4 to 8. The measuring round ends with segment 9 (ACK 10), and of the 12 ACKs at 200 ms only the last
    // 2 increase the window. The next round ends with ACK 17: 5 more segments at 300 ms. The round up to ACK 30
    // measures, and the window grows up to ACK 44: 7 segments at 400 ms and 7 at 500 ms.
    let mut t = start(Dialect::Rfc, 4.0, f64::INFINITY);
    let windows = [100, 200, 300, 400, 500].map(|ms| round(&mut t, ms));
    assert_eq!(windows, [8.0, 10.0, 15.0, 22.0, 29.0]);
    let mut t = start(Dialect::Linux, 4.0, f64::INFINITY);
    let windows = [100, 200, 300].map(|ms| round(&mut t, ms));
    assert_eq!(windows, [8.0, 16.0, 32.0]);
}

#[test]
fn a_backlog_ends_slow_start() {
    let leave = |dialect| {
        let mut t = start(dialect, 10.0, f64::INFINITY);
        assert_eq!(round(&mut t, 100), 20.0);
        round(&mut t, 300);
        assert_eq!(t.cwnd(), t.ssthresh());
        t.cwnd()
    };
    // The measuring round takes 200 ms instead of 100 ms: N = 20 · 100/200 = 10 > 1.
    assert_eq!(leave(Dialect::Rfc), 20.0);
    assert_eq!(leave(Dialect::Ns2), 17.5);
    // Linux grows in every round. Its round ends with segment 27; 17 ACKs for 10 to 26 have increased the window to 37.
    // N = 18.5; the target is 37 · 100/200 + 1.
    assert_eq!(leave(Dialect::Linux), 19.5);
}

#[test]
fn in_congestion_avoidance_it_keeps_the_backlog_between_alpha_and_beta() {
    let mut t = start(Dialect::Rfc, 10.0, 10.0);
    // RTT 100 ms: N = 0 < 1.
    assert_eq!(round(&mut t, 100), 11.0);
    // 125 ms: N = 11 · 25/125 = 2.2.
    assert_eq!(round(&mut t, 225), 11.0);
    // 200 ms: N = 5.5 > 3. Slow start does not begin.
    assert_eq!(round(&mut t, 425), 10.0);
    assert_eq!(t.ssthresh(), 10.0);
    assert_eq!(round(&mut t, 525), 11.0);
    // Linux keeps the backlog between 2 and 4. N = 2.2, and 11 · 60/160 = 4.1 once all samples of a round are 160 ms:
    // the minimum sample counts, and at 385 ms two samples are of the previous round trip.
    let mut t = start(Dialect::Linux, 10.0, 10.0);
    assert_eq!(round(&mut t, 100), 11.0);
    assert_eq!(round(&mut t, 225), 11.0);
    assert_eq!(round(&mut t, 385), 11.0);
    assert_eq!(round(&mut t, 545), 10.0);
}

#[test]
fn which_sample_is_that_of_a_round() {
    let mut round = Round::new(0, Purpose::Measure);
    assert_eq!(round.rtt(Sample::Mean), None);
    for ms in [100, 200, 120] {
        round.take(MS(ms));
    }
    let rtt = [Sample::Last, Sample::Min, Sample::Mean].map(|s| round.rtt(s));
    assert_eq!(rtt, [MS(120), MS(100), MS(140)].map(Some));
}

#[test]
fn the_window_does_not_fall_below_two_segments() {
    let mut t = start(Dialect::Rfc, 2.0, 2.0);
    assert_eq!(round(&mut t, 100), 3.0);
    let changes = [("beta", Value::Real(0.0)), ("alpha", Value::Real(0.0))];
    let parameters: VegasParameters =
        typed::parameters(Dialect::Rfc, &changes).expect("parameters");
    let vegas = Vegas::new(&parameters, &CONTEXT);
    let aimd = parameters.aimd.build(&CONTEXT);
    let facts = crate::congestion::bench::ack_facts(
        dupack_tcp::time::Instant::ZERO,
        1,
        dupack_tcp::facts::LimitedBy::Congestion,
        None,
    );
    let window = Window {
        cwnd: 2500.0,
        ssthresh: 2000.0,
    };
    assert_eq!(vegas.steered(&facts, window, 1.0, &aimd).cwnd, 2000.0);
}

#[test]
fn losses_and_timeouts_are_renos() {
    let mut b = Bench::new(entry(), Dialect::Rfc, &[], 20.0, 10.0);
    b.loss(0, 20);
    assert_eq!((b.cwnd(), b.ssthresh()), (10.0, 10.0));
    b.timeout(1, 10);
    assert_eq!((b.cwnd(), b.ssthresh()), (1.0, 5.0));
}

#[test]
fn after_a_spurious_timeout_slow_start_is_as_fast_as_before() {
    // One ACK may add two segments, but only one after a timeout.
    let limit = [("limit", Value::Integer(2))];
    let mut b = Bench::new(entry(), Dialect::Rfc, &limit, 10.0, 64.0);
    let prior = Prior::new(b.window);
    b.control().remember();
    let reduced = b.timeout(0, 10);
    b.window = b.control().on_spurious(&prior, reduced);
    assert_eq!(b.cwnd(), 10.0);
    b.ack(2);
    assert_eq!(b.cwnd(), 12.0);
}

#[test]
fn nothing_moves_while_the_recovery_holds_the_window() {
    for ssthresh in [64.0, 2.0] {
        let mut b = Bench::new(entry(), Dialect::Rfc, &[], 4.0, ssthresh);
        for _ in 0..5 {
            b.ack_with(1, Credit::default());
        }
        assert_eq!(b.cwnd(), 4.0);
    }
}
