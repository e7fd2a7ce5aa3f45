//! Tests of the advertised window: silly window avoidance, and data beyond the window.

use super::*;

/// Returns a receiver whose buffer is full of `segments` segments that the application has not read.
fn full(segments: u32) -> Receiver {
    let mut r = receiver(|c| {
        c.buffer = segments * MSS;
        c.application = Reading::OnDemand;
    });
    for n in 0..segments {
        arrive(&mut r, 0, n);
    }
    r
}

#[test]
fn only_an_opening_of_a_segment_is_advertised() {
    // The window is advertised when it has opened by one segment (RFC 9293 §3.8.6.2.2).
    let mut r = full(10);
    r.read(u64::from(MSS) - 1);
    assert!(!r.is_ack_due());
    r.read(1);
    assert_eq!(r.poll_ack().map(|ack| ack.window), Some(MSS));
}

#[test]
fn an_opening_of_half_a_small_buffer_is_advertised() {
    let mut r = receiver(|c| {
        c.buffer = 1000;
        c.application = Reading::OnDemand;
    });
    arrive(&mut r, 0, 0);
    r.read(499);
    assert!(!r.is_ack_due());
    r.read(1);
    assert_eq!(r.poll_ack().map(|ack| ack.window), Some(500));
}

#[test]
fn a_window_with_room_for_two_segments_needs_no_update() {
    let left = |segments: u32| {
        let mut r = full(10 - segments);
        r.config.buffer = 10 * MSS;
        r.edge = u64::from(10 * MSS);
        r.read(u64::from(5 * MSS));
        r.is_ack_due()
    };
    assert!(left(1));
    assert!(!left(2));
}

#[test]
fn a_forced_ack_does_not_advertise_a_small_opening() {
    let mut r = full(10);
    r.read(u64::from(MSS) - 1);
    assert_eq!(r.ack().window, 0);
    r.read(1);
    assert_eq!(r.ack().window, MSS);
    // The window never shrinks: an advertised right edge is not moved back (RFC 9293 §3.8.6).
    assert_eq!(r.advertised_edge(), u64::from(11 * MSS));
    r.read(10);
    assert_eq!(r.ack().window, MSS);
}

#[test]
fn an_opening_below_a_step_is_not_advertised() {
    // The window is advertised in units of 4096 bytes, so 4000 more bytes are not visible to the peer and cause no
    // update.
    let mut r = full(10).telling_shifted(12);
    r.read(4000);
    assert!(!r.is_ack_due());
    r.read(96);
    assert!(r.is_ack_due());
}

#[test]
fn data_beyond_the_window_is_cut_off_and_answered() {
    let mut r = receiver(|c| {
        c.buffer = 2 * MSS;
        c.application = Reading::OnDemand;
    });
    let segment = |start: u32, end: u32| DataSegment {
        seq: SeqNumber(start),
        len: end - start,
        ..DataSegment::default()
    };
    // Half of the segment is inside the window.
    let accepted = r.handle_data(Instant::ZERO, &segment(1500, 2500));
    assert_eq!(accepted.beyond_window_bytes, 500);
    assert_eq!((accepted.in_order_bytes, r.out_of_order_bytes()), (0, 500));
    // No part of the segment is inside the window.
    let accepted = r.handle_data(Instant::ZERO, &segment(2000, 2700));
    assert_eq!(accepted.beyond_window_bytes, 700);
    assert_eq!(r.out_of_order_bytes(), 500);
    let accepted = r.handle_data(Instant::ZERO, &segment(2300, 2700));
    assert_eq!(accepted.beyond_window_bytes, 400);
    assert!(r.is_ack_due());
    // The segment fills the gap, and 2000 bytes are in order.
    let accepted = r.handle_data(Instant::ZERO, &segment(0, 1600));
    assert_eq!(
        (accepted.in_order_bytes, accepted.duplicate_bytes),
        (2000, 100)
    );
    assert_eq!(r.ack().window, 0);
}

#[test]
fn held_data_is_known_to_the_byte() {
    let mut r = receiver(|_| {});
    arrive(&mut r, 0, 0);
    arrive(&mut r, 0, 2);
    let held = [0, 999, 1000, 1999, 2000, 2999, 3000].map(|offset| r.holds(offset));
    assert_eq!(held, [true, true, false, false, true, true, false]);
    assert_eq!(r.out_of_order_ranges(), 1);
    r.renege();
    assert_eq!((r.out_of_order_bytes(), r.holds(2000)), (0, false));
    assert_eq!(r.ack().sacks.as_slice().len(), 0);
}

#[test]
fn an_ack_may_be_forced_and_none_is_due_after_it() {
    let mut r = receiver(|c| c.ack_policy = AckPolicy::Delayed(Duration::from_millis(200)));
    assert_eq!(arrive(&mut r, 0, 0), None);
    assert_eq!(r.ack().ack.0, MSS);
    assert_eq!((r.is_ack_due(), r.next_timeout()), (false, None));
    assert_eq!(r.acks_sent(), 1);
    // The ACK resets the count of unacknowledged bytes to zero.
    assert_eq!(arrive(&mut r, 10, 1), None);
    assert!(r.next_timeout().is_some());
    // The timer expires at 210 ms, not before.
    r.handle_timeout(Instant::ZERO + Duration::from_millis(209));
    assert!(!r.is_ack_due());
    r.handle_timeout(Instant::ZERO + Duration::from_millis(210));
    assert!(r.is_ack_due());
}

#[test]
fn the_echo_follows_the_rule_of_rfc_7323() {
    // RFC 7323 §4.3 (2): SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent.
    let mut r = receiver(|c| {
        c.timestamps = Some(TimestampEcho::Standard);
        c.ack_policy = AckPolicy::Delayed(Duration::from_millis(200));
    });
    let mut stamped = |start: u32, value: u32| {
        let segment = DataSegment {
            seq: SeqNumber(start),
            len: MSS,
            timestamp: Some(value),
            ..DataSegment::default()
        };
        r.handle_data(Instant::ZERO, &segment);
        r.ts_recent
    };
    assert_eq!(stamped(0, 50), 50);
    // The segment begins after Last.ACK.sent, which is still 0.
    assert_eq!(stamped(1000, 60), 50);
    // These segments start at Last.ACK.sent, with an older, an equal and a newer timestamp.
    assert_eq!(stamped(0, 49), 50);
    assert_eq!(stamped(0, 50), 50);
    assert_eq!(stamped(0, 51), 51);
    // The comparison is correct across the wrap of the clock.
    assert_eq!(stamped(0, 51_u32.wrapping_sub(1 << 31)), 51);
    assert_eq!(stamped(0, 50 + (1 << 31)), 50 + (1 << 31));
}

#[test]
fn duplicate_data_beyond_a_gap_is_counted() {
    let mut r = receiver(|_| {});
    let mut duplicates = |start: u32, end: u32| {
        let segment = DataSegment {
            seq: SeqNumber(start),
            len: end - start,
            ..DataSegment::default()
        };
        r.handle_data(Instant::ZERO, &segment).duplicate_bytes
    };
    assert_eq!(duplicates(2000, 3000), 0);
    assert_eq!(duplicates(1400, 2500), 500);
    assert_eq!(duplicates(1500, 2900), 1400);
}

/// Returns a receiver with a buffer of 10,000 bytes, of which `free` are free, and a window scale of `shift`.
fn nearly_full(free: u32, shift: u8) -> Receiver {
    let mut r = receiver(|c| {
        c.buffer = 10 * MSS;
        c.application = Reading::OnDemand;
    })
    .telling_shifted(shift);
    let segment = DataSegment {
        seq: SeqNumber(0),
        len: 10 * MSS - free,
        ..DataSegment::default()
    };
    r.handle_data(Instant::ZERO, &segment);
    assert_eq!(r.poll_ack().map(|ack| ack.window), Some(free));
    r
}

#[test]
fn neither_a_byte_nor_a_hidden_opening_causes_an_update() {
    // A window of 4095 bytes is advertised as 0 units of 4096. One more byte completes a unit, but the window has
    // opened by only one byte.
    let mut r = nearly_full(4095, 12);
    r.read(1);
    assert!(!r.is_ack_due());
    // A window of 1024 bytes is one unit of 1024. 1000 more bytes do not complete the next unit; another 24 bytes do.
    let mut r = nearly_full(1024, 10);
    r.read(1000);
    assert!(!r.is_ack_due());
    r.read(24);
    assert!(r.is_ack_due());
}

/// The window for 1000 bytes every 10 ms and a round-trip time of 50 ms is 5000 bytes (RTTmin · BWE, Westwood §II).
#[test]
fn a_window_follows_the_bandwidth_from_both_sides() {
    let follows = |c: &mut ReceiverConfig| {
        c.buffer = 20 * MSS;
        c.bandwidth_window = Some(BandwidthWindow::new(Duration::from_millis(50)));
    };
    let window = |n: u32, r: &mut Receiver| arrive(r, 10 * u64::from(n), n).unwrap().window;
    let mut r = receiver(follows);
    // An advertised right edge is not moved back. It stays until the smaller window, counted from the received data,
    // extends beyond it.
    assert_eq!(window(0, &mut r), 20 * MSS);
    for n in 1..10 {
        assert_eq!(window(n, &mut r), (19 - n) * MSS + MSS);
    }
    let last = (10..300).map(|n| window(n, &mut r)).last();
    assert!(last.is_some_and(|w| w.abs_diff(5 * MSS) <= MSS), "{last:?}");
    // At twice the rate, the window is twice as large.
    let faster = (300..900).map(|n| {
        let at = 3000 + 5 * u64::from(n - 300);
        arrive(&mut r, at, n).unwrap().window
    });
    let last = faster.last();
    assert!(
        last.is_some_and(|w| w.abs_diff(10 * MSS) <= MSS),
        "{last:?}"
    );
}

#[test]
fn the_bandwidth_counts_data_beyond_a_gap_but_not_duplicates() {
    let window = |order: &[u32]| {
        let mut r = receiver(|c| {
            c.bandwidth_window = Some(BandwidthWindow::new(Duration::from_millis(50)));
        });
        for (n, segment) in order.iter().enumerate() {
            arrive(&mut r, 10 * n as u64, *segment);
        }
        r.extras.unwrap().arrivals.unwrap().window()
    };
    let in_order: Vec<u32> = (0..50).collect();
    let behind_a_gap: Vec<u32> = (1..51).collect();
    assert_eq!(window(&in_order), window(&behind_a_gap));
    // The 50th arrival is a duplicate of the first one and does not count.
    let twice: Vec<u32> = (0..49).chain([0]).collect();
    assert!(window(&twice) < window(&in_order));
}
