use dupack_tcp::sender::CreditRule;

use super::*;
use crate::catalog::Dialect;
use crate::congestion::reno;
use crate::recovery::adversary;
use crate::testing::{Setup, Timeline, ack, coin};

fn start(setup: Setup) -> Timeline {
    let mut t = setup.window(8.0).ssthresh(2.0).start(100);
    assert_eq!(t.receive(100, ack(0).sack(1, 2)), "limited:8");
    assert_eq!(t.receive(101, ack(0).sack(1, 3)), "limited:9");
    t
}

#[test]
fn one_loss_is_repaired_and_nothing_else_happens() {
    let mut t = start(Setup::new(entry()));
    // Ten segments are sent, three are sacked and one is lost: 6 are in flight, and the retransmission of 0 makes 7.
    assert_eq!(t.receive(102, ack(0).sack(1, 4)), "dupacks:0 new:10");
    for (ms, end) in (103..107).zip(5..) {
        let new = format!("new:{}", ms - 92);
        assert_eq!(t.receive(ms, ack(0).sack(1, end)), new);
        assert_eq!((t.cwnd(), t.in_flight()), (8.0, 8.0));
    }
    // Segments 8 and 9 and the retransmission of 0 are acknowledged, which is everything that was in flight at the
    // loss. The window grows by 1/8.
    t.receive(200, ack(0).sack(1, 9));
    t.receive(201, ack(0).sack(1, 10));
    t.receive(202, ack(10));
    assert_eq!(t.cwnd(), 8.125);
    let stats = t.sender().stats();
    assert_eq!((stats.loss_events, stats.recoveries), (0, 0));
    assert_eq!(stats.retransmissions, 1);
}

#[test]
fn a_second_loss_cuts_the_window() {
    // Segments 0 and 3 are lost.
    let mut t = start(Setup::new(entry()));
    assert_eq!(
        t.receive(102, ack(0).sack(4, 5).sack(1, 3)),
        "dupacks:0 new:10"
    );
    assert_eq!(t.receive(103, ack(0).sack(4, 6).sack(1, 3)), "new:11");
    assert_eq!(t.cwnd(), 8.0);
    // Three segments above 3 have arrived. Twelve segments are outstanding, ten without the two of limited transmit:
    // the window is half of ten.
    assert_eq!(t.receive(104, ack(0).sack(4, 7).sack(1, 3)), "");
    // 12 − 5 sacked − 2 lost + 1 retransmitted.
    assert_eq!((t.cwnd(), t.in_flight()), (5.0, 6.0));
    assert_eq!(t.receive(105, ack(0).sack(4, 8).sack(1, 3)), "");
    assert_eq!(t.receive(200, ack(0).sack(4, 9).sack(1, 3)), "sacked:3");
    // Fast recovery lasts until 0 to 11 are acknowledged, which were in flight when the second loss was detected.
    assert_eq!(t.receive(202, ack(3).sack(4, 10)), "new:12 new:13");
    assert_eq!(t.receive(303, ack(10)), "new:14");
    assert_eq!((t.cwnd(), t.sender().stats().recoveries), (5.0, 0));
    t.receive(304, ack(12));
    let stats = t.sender().stats();
    assert_eq!((t.cwnd(), stats.recoveries), (5.0, 1));
    assert_eq!(stats.loss_events, 1);
}

/// Returns a timeline in which segments 0 and 9 are lost. Segment 9 is in flight when the loss of 0 is detected. The
/// loss of 9 is detected after the retransmission of 0 has arrived.
fn after_the_repair(second_loss: &'static str) -> Timeline {
    let mut t = start(Setup::new(entry()).set("second_loss", second_loss));
    for (ms, end) in (102..107).zip(4..) {
        t.receive(ms, ack(0).sack(1, end));
    }
    t.receive(200, ack(0).sack(1, 9));
    assert_eq!(t.receive(202, ack(9)), "new:16");
    assert_eq!(t.receive(203, ack(9).sack(10, 11)), "new:17");
    assert_eq!(t.receive(204, ack(9).sack(10, 12)), "new:18");
    t.receive(205, ack(9).sack(10, 13));
    t
}

#[test]
fn after_the_repair_a_loss_is_the_second_or_another_first() {
    let t = after_the_repair("window");
    // Segments 9 to 18 are outstanding, and the window is half of ten. Six of these segments are in flight.
    assert_eq!((t.sent(), t.cwnd()), ("", 5.0));
    assert_eq!(t.sender().stats().loss_events, 1);
    let t = after_the_repair("repair");
    assert_eq!((t.sent(), t.cwnd()), ("sacked:9 new:19", 8.125));
    assert_eq!(t.sender().stats().loss_events, 0);
}

#[test]
fn a_loss_in_the_next_window_is_a_first_one() {
    // Segment 0 is lost and repaired. Segment 10, which was sent after the loss was detected, is also lost.
    let mut t = start(Setup::new(entry()));
    assert_eq!(t.receive(102, ack(0).sack(1, 4)), "dupacks:0 new:10");
    for (ms, end) in (103..107).zip(5..) {
        t.receive(ms, ack(0).sack(1, end));
    }
    // The ACK that reports the repair also reports three segments above 10.
    t.receive(205, ack(10).sack(11, 14));
    let sent = t.receive(206, ack(10).sack(11, 15)).to_owned();
    assert!(sent.starts_with("sacked:10"), "{sent}");
    assert_eq!(t.sender().stats().loss_events, 0);
    assert!(t.cwnd() >= 8.0, "{}", t.cwnd());
}

#[test]
fn while_a_loss_is_repaired_only_advances_open_the_window() {
    // On reordering paths, Linux counts sacked data; during a recovery only advances count.
    let mut t = Setup::new(entry())
        .controlled_by(reno::entry())
        .window(8.0)
        .configure(|config| config.credit = CreditRule::Delivered)
        .start(100);
    t.receive(100, ack(0).sack(7, 8));
    t.receive(101, ack(8));
    let before = t.cwnd();
    for end in 10..13 {
        t.receive(190 + u64::from(end), ack(8).sack(9, end));
    }
    assert_eq!((t.cwnd(), t.sender().stats().loss_events), (before, 0));
    t.receive(300, ack(12));
    assert!(t.cwnd() > before);
}

#[test]
fn a_timeout_is_congestion() {
    let mut t = start(Setup::new(entry()));
    t.receive(102, ack(0).sack(1, 4));
    assert_eq!(t.wait(1000), "rto:0");
    assert_eq!(t.cwnd(), 1.0);
    // Later retransmissions are sent in slow start, without a loss event.
    t.receive(1100, ack(4));
    assert_eq!((t.cwnd(), t.sender().stats().loss_events), (2.0, 0));
}

#[test]
fn it_hears_of_fewer_losses_than_sack_and_sends_the_same_for_one() {
    // One of twenty consecutive segments is lost, for every position: SACK reduces the window each time.
    for place in 11..31 {
        let run = |entry| {
            let setup = Setup::new(entry).window(10.0).ssthresh(2.0);
            setup.transfer(100, |order, _| order == place).stats
        };
        let (delayed, sack) = (run(entry()), run(crate::recovery::sack::entry()));
        assert_eq!((delayed.loss_events, sack.loss_events), (0, 1));
        assert_eq!((delayed.retransmissions, delayed.timeouts), (1, 0));
    }
}

#[test]
fn it_survives_the_adversary() {
    for seed in 0..5_000 {
        adversary::transfer(entry(), seed, |setup, random| {
            let second = random.of(&["window", "repair"]);
            let setup = setup.set("second_loss", second);
            adversary::any_threshold(setup, random)
        });
    }
}

#[test]
fn every_transfer_ends_whatever_is_lost() {
    for dialect in Dialect::ALL {
        for seed in 0..40 {
            let mut lost = coin(seed, 0.015 * seed as f64);
            let setup = Setup::new(entry()).dialect(dialect);
            let stats = setup.transfer(300, |_, _| lost()).stats;
            assert_eq!(stats.segments_sent - stats.retransmissions, 300);
            assert!(stats.recoveries <= stats.loss_events);
        }
    }
}
