//! Tests of IPv4 identifications that a sender increments. They show the order in which its packets were sent.

use super::*;

/// Sends twelve segments, one every 50 ms, captured at the receiver, 50 ms from the sender. `id` gives their
/// identifications.
fn counted(id: impl Fn(u32) -> u16) -> Line {
    let mut line = Line::new(Sack::Permitted);
    line.to_sender = 50;
    for n in 0..12 {
        line.send_numbered(u64::from(n) * 50, n, Some(id(n)));
        line.ack(u64::from(n) * 50 + 50, n + 1, &[]);
    }
    line
}

#[test]
fn at_the_receiver_an_older_number_was_overtaken_at_any_delay() {
    let mut line = counted(|n| 100 + n as u16);
    line.send_numbered(600, 13, Some(113));
    assert_eq!(
        line.send_numbered(700, 12, Some(112)),
        Some(Repeat::Overtaken)
    );
}

#[test]
fn at_the_receiver_a_newer_number_was_retransmitted_at_any_delay() {
    let mut line = counted(|n| 100 + n as u16);
    line.send_numbered(600, 13, Some(113));
    let again = line.send_numbered(605, 12, Some(114));
    assert!(
        matches!(again, Some(Repeat::Retransmission(_))),
        "{again:?}"
    );
}

#[test]
fn without_sequential_numbers_time_decides() {
    // The identifications are random, or all zero.
    let lot = |n: u32| (n.wrapping_mul(40_503) >> 2) as u16;
    for id in [&lot as &dyn Fn(u32) -> u16, &|_| 0] {
        let mut line = counted(id);
        line.send_numbered(600, 13, Some(id(13).wrapping_add(5)));
        assert_eq!(
            line.send_numbered(605, 12, Some(id(13).wrapping_add(9))),
            Some(Repeat::Overtaken)
        );
        let mut line = counted(id);
        line.send_numbered(600, 13, Some(id(13).wrapping_add(5)));
        let again = line.send_numbered(700, 12, Some(id(13).wrapping_add(1)));
        assert!(
            matches!(again, Some(Repeat::Retransmission(_))),
            "{again:?}"
        );
    }
}
