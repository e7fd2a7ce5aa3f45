use alloc::boxed::Box;
use alloc::vec::Vec;

use dupack_tcp::facts::View;
use dupack_tcp::recovery::{Next, Outcome, Recovery, RtoTimer};

use super::super::{Le, entry, needs};
use super::*;
use crate::catalog::Entry;
use crate::recovery::adversary;
use crate::testing::{Setup, Timeline, ack};

/// Returns a timeline with eight segments sent at once; the first is acknowledged, and the RTT is 100 ms.
fn lossy(dup_count: &'static str) -> Timeline {
    let setup = Setup::new(entry()).set("dup_count", dup_count);
    let mut t = setup.window(8.0).ssthresh(2.0).start(40);
    assert_eq!(t.receive(100, ack(1)), "new:8");
    t
}

#[test]
fn three_acks_with_later_data_sacked_make_a_loss() {
    // Segment 1 is lost. The first loss is detected in the same way as by the order of transmission.
    let mut t = lossy("sequence");
    assert_eq!(t.receive(101, ack(1).sack(2, 3)), "new:9");
    assert_eq!(t.receive(102, ack(1).sack(2, 4)), "new:10");
    assert_eq!(t.receive(103, ack(1).sack(2, 5)), "passed:1");
    assert_eq!((t.cwnd(), t.in_flight()), (5.0, 7.0));
}

#[test]
fn three_acks_after_it_was_sent_again_it_is_lost_again() {
    // According to LE §4.3, segment 1 is lost again: it is below the highest SACK, and not acknowledged. The ACK of its
    // retransmission cannot arrive before 203 ms.
    let again = |dup_count| {
        let mut t = lossy(dup_count);
        for (ms, end) in [(101, 3), (102, 4), (103, 5), (104, 6), (105, 7), (106, 8)] {
            t.receive(ms, ack(1).sack(2, end));
        }
        (t.sent().to_owned(), t.sender().stats().retransmissions)
    };
    assert_eq!(again("order").1, 1);
    let (sent, retransmissions) = again("sequence");
    assert!(sent.starts_with("passed:1"), "{sent}");
    assert_eq!(retransmissions, 2);
}

#[test]
fn an_ack_below_the_highest_sack_counts_too() {
    // Segments 1 and 2 are lost. The ACK of the retransmission of 1 is the second ACK after the retransmission of 2.
    let mut t = lossy("sequence");
    for (ms, end) in [(101, 4), (102, 5), (103, 6), (104, 7), (105, 8)] {
        t.receive(ms, ack(1).sack(3, end));
    }
    let before = t.sender().stats().retransmissions;
    t.receive(203, ack(2).sack(3, 8));
    t.receive(204, ack(2).sack(3, 9));
    t.receive(205, ack(2).sack(3, 10));
    assert!(t.sender().stats().retransmissions > before);
}

/// Literal implementation of §4.3: every ACK is counted against every segment in flight.
#[derive(Debug)]
struct Checked {
    le: Le,
    highest: u64,
    waitlist: Vec<(SegmentId, usize)>,
    lost: Vec<SegmentId>,
}

impl Checked {
    fn agree(&self, board: &Scoreboard) {
        let mut found: Vec<_> = self.le.lists.lost().collect();
        found.sort_unstable();
        let mut lost = self.lost.clone();
        lost.sort_unstable();
        assert_eq!(found, lost);
        let waiting = self.waitlist.iter().map(|&(id, _)| id);
        let bytes = waiting.filter_map(|id| Some(u64::from(board.get(id)?.len)));
        assert_eq!(self.le.lists.in_flight(board), bytes.sum::<u64>());
    }
}

impl Recovery for Checked {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.lost.retain(|&id| id != sent.id);
        self.waitlist.retain(|&(id, _)| id != sent.id);
        self.waitlist.push((sent.id, 0));
        let timer = self.le.on_sent(sent, view);
        self.agree(view.scoreboard);
        timer
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let board = view.scoreboard;
        let missing = |id: SegmentId| {
            let segment = board.get(id);
            segment.is_some_and(|s| s.reported == Reported::Missing)
        };
        self.waitlist.retain(|&(id, _)| missing(id));
        self.lost.retain(|&id| missing(id));
        self.highest = self.highest.max(board.forward_ack());
        if ack.kind != AckKind::Other && board.sacked_segments() > 0 {
            for (id, dup_cnt) in &mut self.waitlist {
                let start = board.get(*id).map_or(u64::MAX, |s| s.start);
                *dup_cnt += usize::from(start < self.highest);
            }
        }
        let threshold = self.le.dup_threshold;
        let lost = self
            .waitlist
            .iter()
            .filter(|(_, count)| *count >= threshold);
        self.lost.extend(lost.map(|&(id, _)| id));
        self.waitlist.retain(|(_, count)| *count < threshold);
        let outcome = self.le.on_ack(ack, view);
        self.agree(board);
        outcome
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.le.on_rto(view);
        let board = view.scoreboard;
        self.waitlist.clear();
        let missing = board.iter_from(board.first());
        let missing = missing.filter(|(_, segment)| segment.reported == Reported::Missing);
        self.lost = missing.map(|(id, _)| id).collect();
        self.agree(board);
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.le.in_flight(view)
    }

    fn next(&self, view: &View<'_>) -> Next {
        self.le.next(view)
    }
}

#[test]
fn the_queue_finds_the_same_losses_as_a_scan() {
    let checked = || {
        Entry::recovery("le-by-sequence", file!())
            .needs(needs)
            .build(|parameters, _| {
                Box::new(Checked {
                    le: Le::new(parameters),
                    highest: 0,
                    waitlist: Vec::new(),
                    lost: Vec::new(),
                })
            })
    };
    for seed in 0..5_000 {
        adversary::transfer(checked(), seed, |setup, random| {
            let setup = setup.set("dup_count", "sequence");
            adversary::any_threshold(setup, random)
        });
    }
}
