mod windows;

use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::options::{Dsack, Ecn, MarkEcho, OrderEcho, Sack};
use crate::segment::Codepoint;
use crate::seq::SeqNumber;
use crate::time::Duration;

const MSS: u32 = 1000;

fn receiver(change: impl FnOnce(&mut ReceiverConfig)) -> Receiver {
    let mut config = ReceiverConfig {
        irs: SeqNumber(0),
        mss: MSS,
        buffer: 100 * MSS,
        ack_policy: AckPolicy::Immediate,
        sack_compression: None,
        sack: Sack::Permitted,
        dsack: Dsack::Reported,
        timestamps: None,
        order_echo: OrderEcho::Absent,
        ecn: Ecn::Absent,
        mark_echo: MarkEcho::UntilCwr,
        application: Reading::AtOnce,
        bandwidth_window: None,
    };
    change(&mut config);
    Receiver::new(config)
}

/// Passes in segment `n` of a stream of full segments at `ms` milliseconds. Returns the ACK.
fn arrive(receiver: &mut Receiver, ms: u64, n: u32) -> Option<Ack> {
    let segment = DataSegment {
        seq: SeqNumber(n * MSS),
        len: MSS,
        timestamp: Some(n + 1),
        order: Some(n + 100),
    };
    receiver.handle_data(Instant::ZERO + Duration::from_millis(ms), &segment);
    receiver.poll_ack()
}

fn blocks(ack: &Ack) -> Vec<(u32, u32)> {
    let blocks = ack.sacks.as_slice().iter();
    blocks.map(|b| (b.start.0 / MSS, b.end.0 / MSS)).collect()
}

#[test]
fn the_most_recent_block_comes_first_and_four_fit() {
    let mut r = receiver(|_| {});
    for n in [2, 4, 6, 8] {
        arrive(&mut r, 0, n);
    }
    let ack = arrive(&mut r, 0, 10).unwrap();
    assert_eq!(ack.ack.0, 0);
    assert_eq!(blocks(&ack), [(10, 11), (8, 9), (6, 7), (4, 5)]);
    // Segment 7 merges the blocks of 6 and 8 into one block, which is reported first.
    let ack = arrive(&mut r, 0, 7).unwrap();
    assert_eq!(blocks(&ack), [(6, 9), (10, 11), (4, 5), (2, 3)]);
}

#[test]
fn three_blocks_beside_timestamps() {
    let mut r = receiver(|c| c.timestamps = Some(TimestampEcho::Standard));
    for n in [2, 4, 6] {
        arrive(&mut r, 0, n);
    }
    let ack = arrive(&mut r, 0, 8).unwrap();
    assert_eq!(blocks(&ack), [(8, 9), (6, 7), (4, 5)]);
}

#[test]
fn a_duplicate_is_reported_first_and_once() {
    let mut r = receiver(|_| {});
    arrive(&mut r, 0, 0);
    arrive(&mut r, 0, 2);
    let ack = arrive(&mut r, 0, 0).unwrap();
    assert_eq!(blocks(&ack), [(0, 1), (2, 3)]);
    let ack = arrive(&mut r, 0, 2).unwrap();
    assert_eq!(blocks(&ack), [(2, 3), (2, 3)]);
    let ack = arrive(&mut r, 0, 1).unwrap();
    assert_eq!((ack.ack.0, blocks(&ack)), (3 * MSS, vec![]));
}

/// Passes in the bytes `range`. Returns the blocks of the ACK in bytes.
fn arrive_bytes(receiver: &mut Receiver, range: core::ops::Range<u32>) -> Vec<(u32, u32)> {
    let segment = DataSegment {
        seq: SeqNumber(range.start),
        len: range.end - range.start,
        ..DataSegment::default()
    };
    receiver.handle_data(Instant::ZERO, &segment);
    let ack = receiver.poll_ack().expect("an ACK");
    let blocks = ack.sacks.as_slice().iter();
    blocks.map(|block| (block.start.0, block.end.0)).collect()
}

#[test]
fn a_partial_duplicate_is_reported() {
    // The sequences are examples 4 to 6 of RFC 2883 §4.2.
    let mut r = receiver(|_| {});
    arrive_bytes(&mut r, 0..1000);
    arrive_bytes(&mut r, 2000..2500);
    arrive_bytes(&mut r, 1000..1500);
    assert_eq!(arrive_bytes(&mut r, 1000..2000), [(1000, 1500)]);

    let mut r = receiver(|_| {});
    arrive_bytes(&mut r, 0..1000);
    arrive_bytes(&mut r, 3000..3500);
    arrive_bytes(&mut r, 1000..1500);
    arrive_bytes(&mut r, 2000..2500);
    let report = arrive_bytes(&mut r, 1000..2500);
    assert_eq!(report, [(1000, 1500), (3000, 3500)]);

    let mut r = receiver(|_| {});
    arrive_bytes(&mut r, 0..1000);
    arrive_bytes(&mut r, 3500..4000);
    arrive_bytes(&mut r, 1500..2000);
    let report = arrive_bytes(&mut r, 2500..3000);
    assert_eq!(report, [(2500, 3000), (1500, 2000), (3500, 4000)]);
    let report = arrive_bytes(&mut r, 1500..3000);
    assert_eq!(report, [(1500, 2000), (1500, 3000), (3500, 4000)]);
}

#[test]
fn the_first_of_two_duplicate_parts_is_reported() {
    // RFC 2883 §4.2.3: the segment contains two duplicate parts with a gap between them.
    let mut r = receiver(|_| {});
    arrive_bytes(&mut r, 1500..2000);
    arrive_bytes(&mut r, 2500..3000);
    let report = arrive_bytes(&mut r, 1000..3500);
    assert_eq!(report, [(1500, 2000), (1000, 3500)]);
    // This segment fills the gap and overlaps the data after it.
    let segment = DataSegment {
        seq: SeqNumber(0),
        len: 1200,
        ..DataSegment::default()
    };
    let accepted = r.handle_data(Instant::ZERO, &segment);
    assert_eq!(
        (accepted.in_order_bytes, accepted.duplicate_bytes),
        (3500, 200)
    );
    let ack = r.poll_ack().expect("an ACK");
    let report = ack.sacks.as_slice()[0];
    assert_eq!((report.start.0, report.end.0), (1000, 1200));
}

#[test]
fn acks_are_delayed_to_every_second_segment_or_the_timer() {
    let mut r = receiver(|c| c.ack_policy = AckPolicy::Delayed(Duration::from_millis(200)));
    assert_eq!(arrive(&mut r, 0, 0), None);
    assert_eq!(arrive(&mut r, 10, 1).map(|a| a.ack.0), Some(2 * MSS));
    assert_eq!(arrive(&mut r, 20, 2), None);
    assert_eq!(
        r.next_timeout(),
        Some(Instant::ZERO + Duration::from_millis(220))
    );
    r.handle_timeout(Instant::ZERO + Duration::from_millis(220));
    assert_eq!(r.poll_ack().map(|a| a.ack.0), Some(3 * MSS));
    assert_eq!(r.next_timeout(), None);
}

#[test]
fn gaps_and_their_filling_are_acknowledged_at_once() {
    let mut r = receiver(|c| c.ack_policy = AckPolicy::Delayed(Duration::from_millis(200)));
    assert_eq!(arrive(&mut r, 0, 0), None);
    assert_eq!(arrive(&mut r, 1, 2).map(|a| a.ack.0), Some(MSS));
    assert_eq!(arrive(&mut r, 2, 4).map(|a| a.ack.0), Some(MSS));
    // Segment 1 fills the first gap; segment 3 is still missing.
    assert_eq!(arrive(&mut r, 3, 1).map(|a| a.ack.0), Some(3 * MSS));
    assert_eq!(arrive(&mut r, 4, 3).map(|a| a.ack.0), Some(5 * MSS));
}

#[test]
fn the_echoed_timestamp_is_the_earliest_unacknowledged_or_the_trigger() {
    let delayed = AckPolicy::Delayed(Duration::from_millis(200));
    let mut r = receiver(|c| {
        c.timestamps = Some(TimestampEcho::Standard);
        c.ack_policy = delayed;
    });
    arrive(&mut r, 0, 0);
    assert_eq!(arrive(&mut r, 0, 1).unwrap().timestamp_echo, Some(1));
    // Segment 5 is out of order, so the timestamp of the last segment in order is echoed again.
    assert_eq!(arrive(&mut r, 0, 5).unwrap().timestamp_echo, Some(1));
    let mut r = receiver(|c| c.timestamps = Some(TimestampEcho::Trigger));
    assert_eq!(arrive(&mut r, 0, 5).unwrap().timestamp_echo, Some(6));
}

#[test]
fn the_window_closes_and_reopens_with_an_update() {
    let mut r = receiver(|c| {
        c.buffer = 2 * MSS;
        c.application = Reading::OnDemand;
    });
    assert_eq!(arrive(&mut r, 0, 0).unwrap().window, MSS);
    assert_eq!(arrive(&mut r, 0, 1).unwrap().window, 0);
    let segment = DataSegment {
        seq: SeqNumber(2 * MSS),
        len: MSS,
        ..DataSegment::default()
    };
    let accepted = r.handle_data(Instant::ZERO, &segment);
    assert_eq!(accepted.beyond_window_bytes, u64::from(MSS));
    assert_eq!(r.poll_ack().unwrap().window, 0);
    assert_eq!(r.read(10), 10);
    assert_eq!(r.poll_ack(), None, "ten bytes are not worth an update");
    r.read(u64::from(MSS));
    assert_eq!(r.poll_ack().unwrap().window, MSS + 10);
}

#[test]
fn a_probe_below_the_window_is_answered() {
    let mut r = receiver(|_| {});
    let probe = DataSegment {
        seq: SeqNumber(u32::MAX),
        ..DataSegment::default()
    };
    r.handle_data(Instant::ZERO, &probe);
    assert_eq!(r.poll_ack().map(|a| a.ack.0), Some(0));
}

/// Returns a receiver of segments of 1000 bytes that acknowledges every second segment, and that sends ECE while the
/// data is marked.
fn following() -> Receiver {
    let mut config = ReceiverConfig::new(1000);
    config.ack_policy = AckPolicy::Delayed(Duration::from_millis(40));
    config.ecn = Ecn::Classic;
    config.mark_echo = MarkEcho::WhileMarked;
    Receiver::new(config)
}

/// Passes in segment `number`. Returns the ACKs: the number of segments acknowledged, and `true` for ECE.
fn acks_of(receiver: &mut Receiver, number: u32, field: Codepoint) -> Vec<(u32, bool)> {
    acks_with_cwr(receiver, number, field, Bit::Clear)
}

fn acks_with_cwr(
    receiver: &mut Receiver,
    number: u32,
    field: Codepoint,
    cwr: Bit,
) -> Vec<(u32, bool)> {
    let segment = DataSegment {
        seq: SeqNumber(number * 1000),
        len: 1000,
        timestamp: None,
        order: None,
    };
    receiver.note_ecn(&segment, field, cwr);
    receiver.handle_data(Instant::ZERO, &segment);
    core::iter::from_fn(|| receiver.poll_ack())
        .map(|ack| (ack.ack.0 / 1000, ack.ecn == EcnEcho::Marked))
        .collect()
}

#[test]
fn ece_follows_the_marks_of_the_data_that_an_ack_reports() {
    // RFC 8257 §3.2, figure 1: in each state, one ACK is sent for two segments; at each change of state, an ACK is sent
    // at once.
    use Codepoint::{Ce, Ect0};
    let mut r = following();
    assert_eq!(acks_of(&mut r, 0, Ect0), []);
    assert_eq!(acks_of(&mut r, 1, Ect0), [(2, false)]);
    // No data waits for an ACK, so the marked segment is acknowledged at once, with ECE.
    assert_eq!(acks_of(&mut r, 2, Ce), [(3, true)]);
    assert_eq!(acks_of(&mut r, 3, Ce), []);
    assert_eq!(acks_of(&mut r, 4, Ce), [(5, true)]);
    assert_eq!(acks_of(&mut r, 5, Ce), []);
    // An unmarked segment arrives while a marked one waits: the marked segment is acknowledged with ECE, and then the
    // unmarked one without ECE.
    assert_eq!(acks_of(&mut r, 6, Ect0), [(6, true), (7, false)]);
    assert_eq!(acks_of(&mut r, 7, Ect0), []);
    assert_eq!(acks_of(&mut r, 8, Ce), [(8, false), (9, true)]);
}

#[test]
fn cwr_does_not_end_the_echo_of_marked_data() {
    use Codepoint::{Ce, Ect0};
    let mut r = following();
    assert_eq!(acks_of(&mut r, 0, Ce), [(1, true)]);
    assert_eq!(acks_with_cwr(&mut r, 1, Ce, Bit::Set), []);
    assert_eq!(acks_with_cwr(&mut r, 2, Ce, Bit::Set), [(3, true)]);
    assert_eq!(acks_with_cwr(&mut r, 3, Ect0, Bit::Set), [(4, false)]);
}

#[test]
fn a_mark_on_duplicate_data_changes_nothing() {
    use Codepoint::{Ce, Ect0};
    let mut r = following();
    assert_eq!(acks_of(&mut r, 0, Ect0), []);
    assert_eq!(acks_of(&mut r, 1, Ect0), [(2, false)]);
    assert_eq!(acks_of(&mut r, 0, Ce), [(2, false)]);
    assert_eq!(acks_of(&mut r, 2, Ect0), []);
}
