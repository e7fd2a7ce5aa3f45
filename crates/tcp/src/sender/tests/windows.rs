//! Tests of the peer's window, and of the window after an idle period.

use super::*;

#[test]
fn a_segment_cut_short_by_the_window_fills_half_of_it_at_least() {
    // The rule is RFC 9293 §3.8.6.2.1. The largest window advertised is 1500 bytes.
    let with_room = |bytes: u32| {
        let mut t = plain()
            .window(4.0)
            .configure(|c| c.peer_window = 1500)
            .start(20);
        assert_eq!(t.sent(), "new:0");
        let mut ack = ack(1);
        ack.0.window = bytes;
        t.receive(100, ack);
        t.transmits().first().map(|sent| sent.segment.len)
    };
    assert_eq!(with_room(749), None);
    assert_eq!(with_room(750), Some(750));
    assert_eq!(with_room(999), Some(999));
    assert_eq!(with_room(1000), Some(1000));
}

#[test]
fn the_last_segment_is_sent_if_the_window_has_room_for_it() {
    // The last 300 bytes fit into the window.
    let t = plain().window(4.0).start_with_bytes(1300);
    assert_eq!(t.sent(), "new:0 new:1");
    assert_eq!(t.transmits()[1].segment.len, 300);
}

#[test]
fn an_idle_period_counts_once_it_is_longer_than_the_timeout() {
    // The rule is RFC 5681 §4.1. The timeout is one second.
    let cwnd_after = |idle_ms: u64, window: f64| {
        let mut t = plain()
            .configure(|c| c.idle = IdleRule::Restart)
            .window(window)
            .start(4);
        t.receive(100, ack(2));
        t.receive(101, ack(4));
        let grown = t.cwnd();
        t.wait(idle_ms);
        t.write(1);
        (grown, t.cwnd())
    };
    // With a window of 4, all four segments are sent at 0 ms.
    let (grown, kept) = cwnd_after(1000, 4.0);
    assert!(grown > 4.0 && kept == grown, "{grown} {kept}");
    assert_eq!(cwnd_after(1001, 4.0).1, 4.0);
}

#[test]
fn an_idle_period_never_opens_the_window() {
    let mut t = plain()
        .configure(|c| c.idle = IdleRule::Restart)
        .window(8.0)
        .start(8);
    for n in 1..=3 {
        t.receive(100 + n, ack(0));
    }
    t.receive(200, ack(8));
    let before = t.cwnd();
    assert!(before < 5.0, "{before}");
    t.wait(9000);
    t.write(1);
    assert_eq!(t.cwnd(), before);
}

#[test]
fn the_first_segment_does_not_end_an_idle_period() {
    // Five seconds pass before there is data to send.
    let mut t = plain()
        .configure(|c| {
            c.idle = IdleRule::Restart;
            c.log = super::super::WindowLog::On;
        })
        .window(4.0)
        .start(0);
    t.wait(5000);
    assert_eq!(t.write(2), "new:0 new:1");
    assert_eq!(t.cwnd(), 4.0);
}

#[test]
fn probe_intervals_grow_up_to_the_maximum_timeout() {
    let mut t = plain()
        .configure(|c| c.rtt.max_rto = Duration::from_secs(6))
        .window(4.0)
        .start(20);
    t.receive(100, ack(4).window(0));
    let mut last = 100;
    let mut waits = [0; 5];
    for wait in &mut waits {
        let due = t.sender().next_timeout().expect("the persist timer");
        let due = due.as_nanos() / 1_000_000;
        assert_eq!(t.wait(due), "probe:4");
        *wait = due - last;
        last = due;
    }
    assert_eq!(waits, [1000, 2000, 4000, 6000, 6000]);
}

#[test]
fn a_path_probe_waits_for_the_pace() {
    let mut t = plain()
        .control(Box::new(Paced::default()))
        .window(9.0)
        .start(20);
    assert_eq!(t.sender().paced_until(), Some(at(10)));
    let mut probe = |ms| t.sender_mut().poll_probe(at(ms), 2 * SMSS, 2 * SMSS);
    assert_eq!(probe(9), ProbeAttempt::Impossible);
    assert!(matches!(probe(10), ProbeAttempt::Sent(sent) if sent.segment.len == 2 * SMSS));
}

#[test]
fn an_opening_ends_the_wait_for_a_probe() {
    let mut t = plain().window(4.0).start(20);
    t.receive(100, ack(4).window(0));
    assert_eq!(t.sender().next_timeout(), Some(at(1100)));
    t.sender_mut().handle_ack(at(200), &ack(4).window(3).0);
    assert_eq!(t.sender().next_timeout(), None);
}
