//! Tests of the scoreboard: effects of ACKs and SACK blocks, and lookup of segments.

use alloc::vec;

use super::*;

#[test]
fn missing_segments_are_cut_and_renumbered() {
    let mut board = board(3);
    let _ = apply(&mut board, 500, &[(1000, 2000)]);
    assert!(board.has_missing_beyond(999));
    board.cut(400);
    board.check();
    let all: Vec<(u64, u64, u32)> = board
        .iter_from(board.first())
        .map(|(id, s)| (id.0, s.start, s.len))
        .collect();
    // The pieces are the remaining half of the first segment, the sacked second segment, which is not cut, and the
    // third segment.
    let pieces = [
        (500, 400),
        (900, 100),
        (1000, 1000),
        (2000, 400),
        (2400, 400),
        (2800, 200),
    ];
    let expected: Vec<(u64, u64, u32)> = (3..).zip(pieces).map(|(n, (s, l))| (n, s, l)).collect();
    assert_eq!(all, expected);
    assert!((0..3).all(|old| board.get(SegmentId(old)).is_none()));
    assert!(!board.has_missing_beyond(400));
    assert_eq!(apply(&mut board, 500, &[(2400, 3000)]).1, [7, 8]);
    assert_eq!(apply(&mut board, 2400, &[]).1, [3, 4, 6]);
    board.check();
}

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(1000);
    for order in 1..=segments {
        board.push(1000, Instant::ZERO, order);
    }
    board
}

fn apply(board: &mut Scoreboard, ack: u64, blocks: &[(u64, u64)]) -> (Applied, Vec<u64>) {
    let mut delivered = Vec::new();
    let applied = board.apply(ack, blocks, &mut delivered);
    (applied, delivered.iter().map(|d| d.id.0).collect())
}

#[test]
fn a_repeated_block_reports_only_its_new_part() {
    let mut board = board(10);
    let (_, ids) = apply(&mut board, 0, &[(3000, 5000)]);
    assert_eq!(ids, [3, 4]);
    let (applied, ids) = apply(&mut board, 0, &[(3000, 7000)]);
    assert_eq!(ids, [5, 6]);
    assert_eq!(applied.delivered_bytes, 2000);
    assert_eq!((board.sacked_bytes(), board.forward_ack()), (4000, 7000));
}

#[test]
fn the_cumulative_ack_reports_holes_but_not_sacked_segments() {
    let mut board = board(10);
    apply(&mut board, 0, &[(3000, 5000)]);
    let (applied, ids) = apply(&mut board, 6000, &[]);
    assert_eq!(ids, [0, 1, 2, 5]);
    assert_eq!((applied.acked_bytes, applied.delivered_bytes), (6000, 4000));
    assert_eq!(
        (board.una(), board.len(), board.sacked_bytes()),
        (6000, 4, 0)
    );
}

#[test]
fn a_hole_ends_at_the_next_sacked_segment() {
    let mut board = board(10);
    // No segment is sacked, so the length of the hole is unknown.
    assert_eq!(board.hole(0), 1);
    // Segments 0, 1, 2 and 5 are missing, and 3, 4 and 6 are sacked. The hole from 7 on has an unknown length.
    apply(&mut board, 0, &[(3000, 5000), (6000, 7000)]);
    assert_eq!(board.hole(0), 3);
    assert_eq!(board.hole(1000), 2);
    assert_eq!(board.hole(5000), 1);
    assert_eq!(board.hole(7000), 1);
}

#[test]
fn an_ack_inside_a_segment_leaves_the_rest_of_it() {
    let mut board = board(2);
    let (applied, ids) = apply(&mut board, 300, &[]);
    assert!(ids.is_empty());
    assert_eq!(applied.delivered_bytes, 300);
    assert_eq!(
        board.get(SegmentId(0)).map(|s| (s.start, s.len)),
        Some((300, 700))
    );
}

#[test]
fn a_block_that_covers_part_of_a_segment_does_not_report_it() {
    let mut board = board(4);
    let (_, ids) = apply(&mut board, 0, &[(1500, 3500)]);
    assert_eq!(ids, [2]);
}

#[test]
fn segments_of_any_size_are_found_by_offset() {
    let mut board = Scoreboard::new(1000);
    for len in [1000, 1, 1000, 500, 1000] {
        board.push(len, Instant::ZERO, 1);
    }
    let starts: Vec<u64> = board
        .iter_from(SegmentId(0))
        .map(|(_, s)| s.start)
        .collect();
    for (number, start) in starts.iter().enumerate() {
        assert_eq!(board.id_at(*start), SegmentId(number as u64));
        assert_eq!(board.id_at(start + 1), SegmentId(number as u64 + 1));
    }
}

#[test]
fn reneging_forgets_every_sack() {
    let mut board = board(5);
    apply(&mut board, 0, &[(2000, 4000)]);
    board.forget_sacks();
    assert_eq!((board.sacked_segments(), board.forward_ack()), (0, 0));
    assert_eq!(apply(&mut board, 0, &[(2000, 3000)]).1, [2]);
}

#[test]
fn an_ack_inside_a_sacked_segment_reduces_the_sacked_bytes() {
    let mut board = board(3);
    apply(&mut board, 0, &[(0, 1000), (2000, 3000)]);
    let (applied, ids) = apply(&mut board, 300, &[]);
    assert!(ids.is_empty());
    assert_eq!((applied.acked_bytes, applied.delivered_bytes), (300, 0));
    assert_eq!((board.sacked_bytes(), board.sacked_segments()), (1700, 2));
    board.check();
    apply(&mut board, 1000, &[]);
    assert_eq!((board.sacked_bytes(), board.sacked_segments()), (1000, 1));
    board.check();
}

#[test]
fn a_retransmitted_segment_keeps_its_place() {
    let mut board = board(3);
    apply(&mut board, 1000, &[]);
    let at = Instant::from_nanos(7);
    let resent = board.resend(SegmentId(1), at, 9);
    assert_eq!(
        (resent.transmissions, resent.order, resent.sent_at),
        (2, 9, at)
    );
    assert_eq!(board.get(SegmentId(1)), Some(&resent));
    assert_eq!(board.get(SegmentId(2)).map(|s| s.transmissions), Some(1));
    assert_eq!(
        (board.get(SegmentId(0)), board.get(SegmentId(3))),
        (None, None)
    );
    let from = |id| board.iter_from(SegmentId(id)).map(|(id, _)| id.0).collect();
    let all: [Vec<u64>; 4] = [from(0), from(1), from(2), from(9)];
    assert_eq!(all, [vec![1, 2], vec![1, 2], vec![2], vec![]]);
}

#[test]
fn blocks_are_limited_to_outstanding_data() {
    let mut board = board(5);
    apply(&mut board, 2000, &[]);
    // A block from below SND.UNA to beyond SND.NXT reports all outstanding segments.
    let (applied, ids) = apply(&mut board, 2000, &[(0, 9000)]);
    assert_eq!((ids, applied.sacked_bytes), (vec![2, 3, 4], 3000));
    board.check();
    // The same blocks again, and parts of them, report no segment.
    assert_eq!(apply(&mut board, 2000, &[(2000, 3000), (4000, 5000)]).1, []);
    let (applied, ids) = apply(&mut board, 5000, &[]);
    assert_eq!((ids, applied.delivered_bytes), (vec![], 0));
    assert!(board.is_empty());
    assert_eq!((board.forward_ack(), board.flight_size()), (5000, 0));
}

#[test]
fn gaps_between_blocks_are_found_in_any_order_of_arrival() {
    // Every second segment is sacked, then the remaining ones, so that the paths over sacked segments become longer and
    // merge.
    let mut board = board(20);
    for n in (0..20).step_by(2) {
        assert_eq!(apply(&mut board, 0, &[(n * 1000, (n + 1) * 1000)]).1, [n]);
        board.check();
    }
    let (_, ids) = apply(&mut board, 0, &[(0, 20_000)]);
    assert_eq!(ids, (1..20).step_by(2).collect::<Vec<_>>());
    board.check();
    assert_eq!(board.sacked_segments(), 20);
}

#[test]
#[should_panic(expected = "left == right")]
fn a_wrong_count_is_detected() {
    let mut board = board(3);
    board.sacked_bytes = 1000;
    board.check();
}
