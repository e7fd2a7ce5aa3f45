//! Detection of policers, compared with a bucket that is simulated exactly.

use dupack_tcp::time::Instant;

use super::course::{RECENT, STEPS};
use super::*;

const LEAST: Duration = Duration::from_millis(20);
const PACKET: u64 = 1000;
const UNKNOWN: Told<f64> = Told::CannotBeTold {
    why: "",
    remedy: "",
};

fn lost(start: u64, delay_ms: u64) -> Lost {
    Lost {
        start,
        end: start + PACKET,
        transmission: 1,
        sent: Instant::ZERO,
        repaired: Instant::ZERO,
        delay: Some(Duration::from_millis(delay_ms)),
        surety: crate::path::losses::Surety::Missed,
        votes: None,
    }
}

/// Capture point.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Sender,
    Receiver,
}

/// Simulates a bucket with a rate of 1 MB/s and a size of 30 kB. Packets arrive at rates between half and twice the
/// rate of the bucket, each rate for 100 ms. `drops` gets the deficit including the packet, and the packet's number; it
/// returns `true` if the packet is lost.
fn bucket(at: At, delay_ms: u64, drops: impl Fn(u64, u64) -> bool) -> Option<Policer> {
    let (mut course, mut losses) = (Course::default(), Vec::new());
    let (mut missing, mut now_us) = (0_u64, 0);
    for n in 0..8000_u64 {
        let gap = [700, 1500, 600, 2000, 500, 900][(now_us / 100_000 % 6) as usize];
        now_us += gap;
        missing = missing.saturating_sub(gap);
        let (start, now) = (n * PACKET, Instant::ZERO + Duration::from_micros(now_us));
        let is_lost = drops(missing + PACKET, n);
        if !is_lost {
            missing += PACKET;
        }
        if !is_lost || at == At::Sender {
            course.sent(now, start, PACKET, true);
        }
        if is_lost {
            course.lost(start);
            losses.push(lost(start, delay_ms));
        }
    }
    find(&losses, &course, LEAST, PACKET as f64, UNKNOWN)?.one()
}

#[track_caller]
fn is_of_a_megabyte(policer: Option<Policer>, within: f64) {
    let policer = policer.unwrap();
    let rate = policer.rate.value().unwrap();
    assert!((rate / 8e6 - 1.0).abs() < within, "{rate}");
    let (low, high) = policer.rate.interval().unwrap();
    assert!(low <= 8e6 && 8e6 <= high, "{low} {high}");
    let burst = policer.burst.value().unwrap();
    assert!((burst / 3e4 - 1.0).abs() < 0.05, "{burst}");
}

#[test]
fn lost_packets_find_a_larger_deficit_than_passed_ones() {
    is_of_a_megabyte(bucket(At::Sender, 20, |missing, _| missing > 30_000), 0.005);
}

#[test]
fn arrivals_show_a_policer_too() {
    is_of_a_megabyte(
        bucket(At::Receiver, 20, |missing, _| missing > 30_000),
        0.02,
    );
}

#[test]
fn losses_of_the_link_do_not_hide_a_policer() {
    let drops = |missing, n| missing > 30_000 || n % 400 == 7;
    is_of_a_megabyte(bucket(At::Sender, 20, drops), 0.005);
}

#[test]
fn losses_of_a_queue_or_at_random_show_no_policer() {
    assert_eq!(bucket(At::Sender, 60, |missing, _| missing > 30_000), None);
    for at in [At::Sender, At::Receiver] {
        assert_eq!(bucket(at, 20, |_, n| n * 7919 % 100 == 1), None);
    }
}

#[test]
fn an_uncaptured_loss_is_right_before_the_next_segment() {
    let mut course = Course::default();
    // The first segment is retransmitted between the second and the fourth.
    for (at, n) in [1, 0, 3].into_iter().enumerate() {
        course.sent(Instant::from_nanos(at as u64), n * PACKET, PACKET, n != 0);
    }
    course.lost(2 * PACKET);
    course.lost(4 * PACKET);
    let after: Vec<u8> = course
        .events()
        .iter()
        .map(|event| event.lost_after)
        .collect();
    assert_eq!(after, [0, 1, 1]);
}

#[test]
fn silences_of_any_length_are_part_of_a_course() {
    let mut course = Course::default();
    let times = [0.0, 0.000_5, 0.5, 70.0, 2000.0, 2000.1];
    for (n, at) in (0..).zip(times) {
        let at = Instant::ZERO + Duration::from_secs_f64(at);
        course.sent(at, n * PACKET, PACKET, n != 3);
    }
    // The loss is assigned to the pause before the fifth packet. The fourth packet does not count, because it is only a
    // retransmission.
    course.lost(3 * PACKET + 1);
    let events = course.events();
    for (event, at) in events.iter().zip(times) {
        assert!((event.at_s() - at).abs() < 3e-6, "{} {at}", event.at_s());
    }
    let after: Vec<u8> = events.iter().map(|event| event.lost_after).collect();
    assert_eq!(after, [0, 0, 0, 1, 0, 0]);
    // The pause is longer than an hour.
    course.sent(
        Instant::ZERO + Duration::from_secs(9000),
        9 * PACKET,
        PACKET,
        true,
    );
    course.sent(
        Instant::ZERO + Duration::from_secs(9001),
        10 * PACKET,
        PACKET,
        true,
    );
    assert!(course.events().is_empty());
}

#[test]
fn arrived_segments_are_not_lost() {
    let mut course = Course::default();
    for n in 0..20 {
        course.sent(Instant::from_nanos(n), n * PACKET, PACKET, true);
    }
    for n in 5..25 {
        course.lost(n * PACKET);
        course.had_arrived(n * PACKET, (n + 1) * PACKET);
    }
    assert_eq!(course.losses, 0);
    assert!(course.events().iter().all(|event| event.losses() == 0));
}

#[test]
fn a_long_course_takes_no_more_memory() {
    let mut course = Course::default();
    for n in 0..2 * u64::from(STEPS) {
        course.sent(Instant::from_nanos(n), n * PACKET, PACKET, true);
        course.lost(n * PACKET);
    }
    assert_eq!((course.steps.count, course.losses), (STEPS, STEPS.into()));
    assert_eq!((course.recent.len(), course.marked.len()), (RECENT, RECENT));
    let mut whole = Course::default();
    for n in 0..=u64::from(STEPS) {
        whole.sent(Instant::from_nanos(n), n * PACKET, PACKET, true);
    }
    assert_eq!(whole.steps.memory(), 0);
}

#[test]
fn largest_agrees_with_sorting() {
    let values = [5.0, 1.0, 4.0, 2.0, 3.0, 4.0];
    assert_eq!(largest(&values, 0), Some(5.0));
    assert_eq!(largest(&values, 1), Some(4.0));
    assert_eq!(largest(&values, 3), Some(3.0));
    assert_eq!(largest(&values, 5), Some(1.0));
    assert_eq!(largest(&values, 6), None);
}
