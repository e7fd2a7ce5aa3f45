use super::*;
use crate::catalog::Dialect;
use crate::catalog::{Catalog, StackSpec};
use crate::response::previous;
use crate::testing::{Setup, Timeline, ack, coin};

/// Returns a timeline with eight segments in flight, of which 0 and 3 are lost. Limited transmit has sent 8 and 9 for
/// the first two duplicate ACKs, and the third has arrived.
fn third_duplicate(setup: Setup) -> Timeline {
    let mut t = setup.window(8.0).ssthresh(2.0).start(100);
    assert_eq!(t.receive(100, ack(0)), "limited:8");
    assert_eq!(t.receive(101, ack(0)), "limited:9");
    t.receive(102, ack(0));
    t
}

#[test]
fn the_whole_window_is_retransmitted_at_once() {
    let mut t = third_duplicate(Setup::new(entry()).answered_by(previous::entry()));
    // The window stays at 8 segments, and nothing counts as in flight, so segments 0 to 7 of the outstanding 0 to 9 are
    // retransmitted.
    assert_eq!(
        t.sent(),
        "dupacks:0 dupacks:1 dupacks:2 dupacks:3 dupacks:4 dupacks:5 dupacks:6 dupacks:7"
    );
    assert_eq!((t.cwnd(), t.in_flight()), (8.0, 8.0));
    // Duplicate ACKs are ignored, regardless of their number.
    for ms in 103..108 {
        assert_eq!(t.receive(ms, ack(0)), "");
    }
    // The retransmitted segment 0 fills the gap up to 3, so the window permits three segments: the remaining
    // retransmissions 8 and 9, and the new segment 10. The retransmitted segment 3 then fills the other gap.
    assert_eq!(t.receive(202, ack(3)), "dupacks:8 dupacks:9 new:10");
    assert_eq!((t.cwnd(), t.in_flight()), (8.0, 8.0));
    // The ACK of segment 9 ends the bulk and increases the window to 8 + 1/8 segments. One segment (10) is in flight,
    // so seven more are sent: 11 to 17.
    assert_eq!(
        t.receive(205, ack(10)),
        "new:11 new:12 new:13 new:14 new:15 new:16 new:17"
    );
    assert_eq!(t.cwnd(), 8.125);
    let stats = t.sender().stats();
    assert_eq!((stats.loss_events, stats.recoveries), (1, 1));
    assert_eq!(stats.retransmissions, 10);
}

#[test]
fn an_advance_within_the_bulk_starts_the_timer_anew() {
    // Only an ACK of new data restarts the timer (RFC 6298 §5.3).
    let mut t = third_duplicate(Setup::new(entry()).answered_by(previous::entry()));
    assert_eq!(t.rto_at(), Some(1000));
    t.receive(201, ack(0));
    assert_eq!(t.rto_at(), Some(1000));
    t.receive(202, ack(3));
    assert_eq!(t.rto_at(), Some(1202));
}

#[test]
fn a_loss_that_is_congestion_is_newrenos() {
    let mut t = third_duplicate(Setup::new(entry()));
    assert_eq!(t.sent(), "dupacks:0");
    // The segments of limited transmit do not count: the window is half of 8.
    assert_eq!((t.cwnd(), t.in_flight()), (4.0, 7.0));
    // Duplicate ACKs for 4 to 7 inflate the window, and the partial ACK shows that 3 is missing.
    for ms in 103..107 {
        t.receive(ms, ack(0));
    }
    assert!(t.receive(202, ack(3)).starts_with("partial:3"));
    for dialect in Dialect::ALL {
        let run = |entry| {
            let mut lost = coin(5, 0.05);
            let setup = Setup::new(entry).dialect(dialect);
            let transfer = setup.transfer(500, |_, _| lost());
            (transfer.finished, transfer.stats)
        };
        assert_eq!(run(entry()), run(crate::recovery::newreno::entry()));
    }
}

#[test]
fn the_timeout_is_fixed_and_so_is_the_window() {
    // All six segments and their retransmissions are lost. The initial timeout of RFC 6298 is 1 s.
    let mut t = Setup::new(entry())
        .answered_by(previous::entry())
        .window(6.0)
        .start(100);
    let window = "rto:0 rto:1 rto:2 rto:3 rto:4 rto:5";
    for expiry in 1..=5 {
        assert_eq!(t.wait(1000 * expiry - 1), "");
        assert_eq!(t.wait(1000 * expiry), window);
        assert_eq!((t.cwnd(), t.in_flight()), (6.0, 6.0));
    }
    // A bulk that a timeout began is not a recovery, so the ACK that ends it does not end a recovery.
    t.receive(5100, ack(6));
    assert_eq!((t.cwnd(), t.sender().stats().recoveries), (7.0, 0));
}

#[test]
fn from_the_ninth_on_timeouts_in_a_row_are_congestion() {
    let setup = Setup::new(entry()).answered_by(previous::entry());
    let mut t = setup.window(6.0).start(100);
    t.wait(8000);
    assert_eq!((t.cwnd(), t.sender().stats().timeouts), (6.0, 8));
    assert_eq!(t.wait(9000), "rto:0");
    assert_eq!(t.cwnd(), 1.0);
    // The timeout is doubled to 2 s: the next one is at 11 s. An ACK of new data resets the count.
    assert_eq!(t.wait(10_999), "");
    assert_eq!(t.wait(11_000), "rto:0");
    assert_eq!(t.receive(11_100, ack(1)), "rto:1 rto:2");
    let backed_off = t.rto_at().expect("data is outstanding");
    assert_eq!(t.wait(backed_off), "rto:1 rto:2");
    assert_eq!(t.cwnd(), 2.0);
}

#[test]
fn with_backoff_timeouts_are_congestion_and_double() {
    let setup = Setup::new(entry())
        .set("timeout", "backoff")
        .answered_by(previous::entry());
    let mut t = setup.window(6.0).start(100);
    assert_eq!(t.wait(1000), "rto:0");
    assert_eq!(t.cwnd(), 1.0);
    assert_eq!(t.wait(2999), "");
    assert_eq!(t.wait(3000), "rto:0");
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    // The retransmission of segment 0 is also lost. The duplicate ACKs that the bulk causes do not count as a second
    // loss event.
    let mut t = third_duplicate(Setup::new(entry()).answered_by(previous::entry()));
    for ms in 200..215 {
        assert_eq!(t.receive(ms, ack(0)), "");
    }
    assert_eq!(t.sender().stats().loss_events, 1);
    assert_eq!(t.wait(999), "");
    // RFC 6298 §5.3: the timer has been running since 0 was first sent.
    assert!(t.wait(1000).starts_with("rto:0 rto:1"));
    assert_eq!(t.cwnd(), 8.0);
}

#[test]
fn the_whole_of_bulk_repeat_is_a_stack() {
    let text = "bulk-repeat/westwood/spike(alpha=0.4,beta=0.05)/1";
    let stack = StackSpec::parse(text, &Catalog::builtin()).expect("a stack");
    assert_eq!(stack.to_string(), text);
    let without =
        StackSpec::parse("bulk-repeat/westwood", &Catalog::builtin()).expect_err("nobody judges");
    assert!(without.to_string().contains("it is NewReno"));
}

#[test]
fn every_transfer_ends_whatever_is_lost() {
    for dialect in Dialect::ALL {
        for seed in 0..40 {
            let mut lost = coin(seed, 0.015 * seed as f64);
            let setup = Setup::new(entry())
                .dialect(dialect)
                .answered_by(previous::entry());
            let stats = setup.transfer(300, |_, _| lost()).stats;
            assert_eq!(stats.segments_sent - stats.retransmissions, 300);
            assert!(stats.recoveries <= stats.loss_events);
        }
    }
}
