//! Tests of the timing of ACKs. Times are in milliseconds, and a full segment has 1000 bytes.

use alloc::vec::Vec;

use super::*;
use crate::options::Sack;
use crate::receiver::{AckPolicy, Reading, Receiver, ReceiverConfig};
use crate::segment::{Bit, Codepoint, DataSegment};
use crate::seq::SeqNumber;

const MSS: u32 = 1000;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn receiver(change: impl FnOnce(&mut ReceiverConfig)) -> Receiver {
    let mut config = ReceiverConfig::new(MSS);
    config.buffer = 100 * MSS;
    config.ack_policy = AckPolicy::Adaptive(AdaptiveAcks::LINUX);
    config.sack = Sack::Permitted;
    change(&mut config);
    Receiver::new(config)
}

/// Passes in the bytes `from..until`. Returns `true` if an ACK is sent at once.
fn arrive(receiver: &mut Receiver, ms: u64, from: u32, until: u32) -> bool {
    let segment = DataSegment {
        seq: SeqNumber(from),
        len: until - from,
        ..DataSegment::default()
    };
    receiver.handle_data(at(ms), &segment);
    receiver.poll_ack().is_some()
}

/// Passes in full segment `n` of the stream. Returns `true` if an ACK is sent at once.
fn full(receiver: &mut Receiver, ms: u64, n: u32) -> bool {
    arrive(receiver, ms, n * MSS, (n + 1) * MSS)
}

/// Returns a receiver that has acknowledged 16 full segments one by one at `ms`.
fn unhurried(ms: u64) -> Receiver {
    let mut r = receiver(|_| {});
    for n in 0..16 {
        assert!(full(&mut r, ms, n), "{n}");
    }
    r
}

#[test]
fn the_first_sixteen_are_acknowledged_one_by_one() {
    let mut r = unhurried(0);
    // From now on, every second segment is acknowledged, or a segment after 40 ms.
    let answers: Vec<bool> = (16..20).map(|n| full(&mut r, 1, n)).collect();
    assert_eq!(answers, [false, true, false, true]);
    assert!(!full(&mut r, 2, 20));
    assert_eq!(r.next_timeout(), Some(at(42)));
}

#[test]
fn quick_acks_are_limited_by_half_the_window() {
    // The number of quick ACKs is 6000 / (2 · 1000) = 3.
    let mut r = receiver(|c| c.buffer = 6 * MSS);
    let answers: Vec<bool> = (0..6).map(|n| full(&mut r, 0, n)).collect();
    assert_eq!(answers, [true, true, true, false, true, false]);
}

#[test]
fn more_than_a_full_segment_is_acknowledged() {
    let mut r = unhurried(0);
    assert!(!full(&mut r, 1, 16));
    assert!(arrive(&mut r, 1, 17_000, 17_001));
}

#[test]
fn acks_ride_on_answers() {
    let mut r = receiver(|_| {});
    assert!(arrive(&mut r, 0, 0, 100));
    r.note_data_sent(at(10));
    // Quick ACKs remain, but they are not used because ACKs are piggybacked.
    assert!(!arrive(&mut r, 20, 100, 200));
    assert_eq!(r.next_timeout(), Some(at(60)));
    // No data is sent in response, so the next segment is acknowledged at once again.
    r.handle_timeout(at(60));
    assert!(r.poll_ack().is_some());
    assert!(arrive(&mut r, 61, 200, 300));
}

#[test]
fn data_sent_after_the_delay_is_no_answer() {
    let mut r = receiver(|_| {});
    assert!(arrive(&mut r, 0, 0, 100));
    r.note_data_sent(at(41));
    assert!(arrive(&mut r, 50, 100, 200));
}

#[test]
fn an_expired_delay_doubles_up_to_its_maximum() {
    let mut r = unhurried(0);
    // The last quick ACK set the delay to 40 ms. The next segment keeps it at 40/2 + 40/2 = 40 ms, and it doubles to 80
    // ms when it expires. With the segment 60 ms later, it is 80/2 + 60 = 100 ms.
    assert!(!full(&mut r, 1, 16));
    assert_eq!(r.next_timeout(), Some(at(41)));
    r.handle_timeout(at(41));
    assert!(r.poll_ack().is_some());
    assert!(!full(&mut r, 61, 17));
    assert_eq!(r.next_timeout(), Some(at(161)));
    r.handle_timeout(at(161));
    assert!(r.poll_ack().is_some());
    // The delay would be 200/2 + 150 = 250 ms, but the maximum is 200 ms. Later, the round-trip time of 70 ms is the
    // maximum.
    assert!(!full(&mut r, 211, 18));
    assert_eq!(r.next_timeout(), Some(at(411)));
    r.handle_timeout(at(411));
    assert!(r.poll_ack().is_some());
    r.tell_round_trip(Some(Duration::from_millis(70)), Duration::from_secs(1));
    assert!(!full(&mut r, 461, 19));
    assert_eq!(r.next_timeout(), Some(at(531)));
}

#[test]
fn after_a_pause_longer_than_the_timeout_quick_acks_restart() {
    let mut r = unhurried(0);
    r.tell_round_trip(None, Duration::from_millis(200));
    assert!(!full(&mut r, 1, 16));
    r.handle_timeout(at(41));
    assert!(r.poll_ack().is_some());
    assert!(full(&mut r, 202, 17));
    assert!(full(&mut r, 202, 18));
}

#[test]
fn a_duplicate_and_the_segments_after_it_are_answered_at_once() {
    let mut r = unhurried(0);
    assert!(!full(&mut r, 1, 16));
    assert!(full(&mut r, 2, 16));
    for n in 17..32 {
        assert!(full(&mut r, 3, n), "{n}");
    }
    assert!(!full(&mut r, 3, 32));
}

#[test]
fn a_short_segment_is_acknowledged_when_it_is_read() {
    let mut r = unhurried(0);
    assert!(!arrive(&mut r, 1, 16_000, 16_100));
    assert_eq!(r.read(16_000), 16_000);
    assert!(r.poll_ack().is_none(), "there is more to read");
    assert_eq!(r.read(1000), 100);
    assert!(r.poll_ack().is_some());
    // If the application reads at once, the ACK is not delayed.
    let mut r = receiver(|c| c.application = Reading::AtOnce);
    for n in 0..16 {
        assert!(full(&mut r, 0, n));
    }
    assert!(arrive(&mut r, 1, 16_000, 16_100));
    assert!(!arrive(&mut r, 1, 16_100, 17_100));
}

#[test]
fn the_end_of_the_stream_waits_for_an_answer() {
    let mut r = receiver(|_| {});
    assert!(full(&mut r, 0, 0));
    assert!(r.note_end(0));
    assert!(!arrive(&mut r, 1, 1000, 1001));
    assert_eq!(r.next_timeout(), Some(at(41)));
    // Before any data has arrived, the end of the stream is acknowledged at once.
    let mut r = receiver(|_| {});
    assert!(r.note_end(0));
    assert!(arrive(&mut r, 1, 0, 1));
    // A receiver without adaptive ACKs ignores the announcement.
    assert!(!receiver(|c| c.ack_policy = AckPolicy::Immediate).note_end(0));
}

fn compressing(change: impl FnOnce(&mut ReceiverConfig)) -> Receiver {
    receiver(|c| {
        c.ack_policy = AckPolicy::Immediate;
        c.sack_compression = Some(SackCompression::LINUX);
        change(c);
    })
}

#[test]
fn beyond_a_gap_three_acks_leave_and_one_for_the_rest() {
    let mut r = compressing(|_| {});
    let answers: Vec<bool> = (1..7).map(|n| full(&mut r, 0, n)).collect();
    assert_eq!(answers, [true, true, true, false, false, false]);
    // The timer expires 1 ms plus 0.1 ms of slack after the first ACK that is delayed.
    let due = at(1) + Duration::from_micros(100);
    assert_eq!(r.next_timeout(), Some(due));
    r.handle_timeout(due);
    let ack = r.poll_ack().expect("one ACK for three");
    assert_eq!(ack.sacks.as_slice()[0].end, SeqNumber(7000));
    // The next ACKs are delayed again until the gap moves: then three ACKs are sent at once.
    assert!(!full(&mut r, 2, 7));
    assert!(!full(&mut r, 2, 9));
    assert!(full(&mut r, 2, 0));
    let answers: Vec<bool> = (10..14).map(|n| full(&mut r, 3, n)).collect();
    assert_eq!(answers, [true, true, true, false]);
}

#[test]
fn the_delay_is_a_share_of_a_short_round_trip() {
    let mut r = compressing(|_| {});
    // The delay is 5 % of 10 ms, plus the slack of 0.1 ms.
    r.tell_round_trip(Some(Duration::from_millis(10)), Duration::from_millis(210));
    for n in 1..5 {
        full(&mut r, 0, n);
    }
    assert_eq!(
        r.next_timeout(),
        Some(Instant::ZERO + Duration::from_micros(600))
    );
}

#[test]
fn too_many_held_acks_release_the_next() {
    let mut r = compressing(|c| {
        c.sack_compression
            .as_mut()
            .expect("compression is on")
            .held_max = 2
    });
    let answers: Vec<bool> = (1..8).map(|n| full(&mut r, 0, n)).collect();
    assert_eq!(answers, [true, true, true, false, false, true, false]);
}

#[test]
fn quick_acks_are_not_compressed_nor_any_ack_without_sack() {
    let mut r = compressing(|c| c.ack_policy = AckPolicy::Adaptive(AdaptiveAcks::LINUX));
    assert!(full(&mut r, 0, 0));
    let answers: Vec<bool> = (2..17).map(|n| full(&mut r, 0, n)).collect();
    // Of the sixteen quick ACKs, one was already sent. After the other fifteen, three ACKs are sent at once.
    assert!(answers.iter().all(|&at_once| at_once));
    let answers: Vec<bool> = (17..21).map(|n| full(&mut r, 0, n)).collect();
    assert_eq!(answers, [true, true, true, false]);
    let mut r = compressing(|c| c.sack = Sack::Absent);
    assert!((1..9).all(|n| full(&mut r, 0, n)));
}

#[test]
fn quick_acks_after_a_pause_are_limited_by_half_the_window() {
    // The window slides: acknowledged data does not make it larger.
    let mut r = receiver(|c| {
        c.buffer = 6 * MSS;
        c.application = Reading::AtOnce;
    });
    for n in 0..8 {
        full(&mut r, 0, n);
    }
    let answers: Vec<bool> = (8..13).map(|n| full(&mut r, 2000, n)).collect();
    assert_eq!(answers, [true, true, true, false, true]);
}

#[test]
fn the_delay_does_not_double_for_acks_that_a_gap_holds_back() {
    let with_both = || {
        let mut r = compressing(|c| c.ack_policy = AckPolicy::Adaptive(AdaptiveAcks::LINUX));
        for n in 0..16 {
            assert!(full(&mut r, 0, n));
        }
        r
    };
    // Without compression, a delay of 40 ms expires, and the next delay is 80 ms.
    let mut r = with_both();
    assert!(!full(&mut r, 1, 16));
    r.handle_timeout(at(41));
    assert!(r.poll_ack().is_some());
    assert!(!full(&mut r, 121, 17));
    assert_eq!(r.next_timeout(), Some(at(201)));
    // With compression, the timer of a delayed ACK expires. After the gap, the delay is still 40 ms.
    let mut r = with_both();
    for n in 17..21 {
        full(&mut r, 1, n);
    }
    assert_eq!(r.next_timeout(), Some(at(2) + Duration::from_micros(100)));
    r.handle_timeout(at(3));
    assert!(r.poll_ack().is_some());
    assert!(full(&mut r, 4, 16));
    assert!(!full(&mut r, 5, 21));
    assert_eq!(r.next_timeout(), Some(at(45)));
}

#[test]
fn a_read_makes_an_ack_due_for_pushed_data_only() {
    // A full segment does not count as pushed.
    let mut r = unhurried(0);
    assert!(!full(&mut r, 1, 16));
    assert_eq!(r.read(17_000), 17_000);
    assert!(!r.is_ack_due());
    // If ACKs are piggybacked, one short segment waits for a response, and two are acknowledged.
    let mut r = receiver(|_| {});
    assert!(arrive(&mut r, 0, 0, 100));
    r.note_data_sent(at(10));
    assert!(!arrive(&mut r, 20, 100, 200));
    r.read(200);
    assert!(!r.is_ack_due());
    assert!(!arrive(&mut r, 21, 200, 300));
    r.read(100);
    assert!(r.is_ack_due());
}

#[test]
fn a_mark_starts_quick_acks_once_and_cwr_with_data_is_answered() {
    let data = |len: u32| DataSegment {
        seq: SeqNumber(16_000),
        len,
        ..DataSegment::default()
    };
    // An ACK with CWR does not show that the peer's window is small; data with CWR does.
    let mut r = unhurried(0);
    r.note_ecn(&data(0), Codepoint::NotEct, Bit::Set);
    assert!(!r.is_ack_due());
    r.note_ecn(&data(1000), Codepoint::Ect0, Bit::Set);
    assert!(r.is_ack_due());
    // Without adaptive ACKs, only the ACK policy decides.
    let mut r = receiver(|c| c.ack_policy = AckPolicy::Delayed(Duration::from_millis(40)));
    r.note_ecn(&data(1000), Codepoint::Ect0, Bit::Set);
    assert!(!r.is_ack_due());
    // The first mark starts two quick ACKs. A mark while ECE is set adds none.
    let mut r = unhurried(0);
    let marked = |r: &mut Receiver, n: u32| {
        let segment = DataSegment {
            seq: SeqNumber(n * MSS),
            len: MSS,
            ..DataSegment::default()
        };
        r.note_ecn(&segment, Codepoint::Ce, Bit::Clear);
        full(r, 1, n)
    };
    let answers: Vec<bool> = (16..20).map(|n| marked(&mut r, n)).collect();
    assert_eq!(answers, [true, true, false, true]);
}
