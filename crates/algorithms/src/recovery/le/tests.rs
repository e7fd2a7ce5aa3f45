use super::*;
use crate::catalog::Value;
use crate::recovery::adversary;
use crate::testing::{Setup, ack, coin};
use dupack_tcp::scoreboard::{Reported, Scoreboard};

/// Literal implementation of §2.2.1: on every ACK it scans WAITLIST and, with an adaptive threshold, the transmissions
/// judged lost.
#[derive(Debug)]
struct Literal {
    waitlist: Vec<Waiting>,
    rtxlist: Vec<SegmentId>,
    threshold: usize,
    least: usize,
    /// Transmissions judged lost whose segments are outstanding; their dupCnt continues to count.
    judged: Vec<Waiting>,
    /// Segments that were retransmitted and arrived, with their dupCnt at that time.
    repaired: Vec<(u64, u64, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: SegmentId,
    order: u64,
    value: u64,
    dup_cnt: usize,
}

fn unacked(board: &Scoreboard, id: SegmentId) -> bool {
    board
        .get(id)
        .is_some_and(|s| s.reported == Reported::Missing)
}

impl Literal {
    fn new(dup_threshold: usize) -> Self {
        Self {
            waitlist: Vec::new(),
            rtxlist: Vec::new(),
            threshold: dup_threshold,
            least: dup_threshold,
            judged: Vec::new(),
            repaired: Vec::new(),
        }
    }

    fn sent(&mut self, sent: &Sent, value: u64) {
        self.rtxlist.retain(|&id| id != sent.id);
        self.waitlist.retain(|entry| entry.id != sent.id);
        self.waitlist.push(Waiting {
            id: sent.id,
            order: sent.segment.order,
            value,
            dup_cnt: 0,
        });
    }

    /// Records the reordering that the ACK shows; `le` has not processed the ACK yet.
    fn adapt(&mut self, ack: &AckFacts<'_>, le: &Le, view: &View<'_>) {
        let Some(most) = le.reordering.as_ref().map(|r| r.most()) else {
            return;
        };
        for delivered in ack.delivered {
            let found = self.judged.iter().position(|j| j.id == delivered.id);
            let Some(judged) = found.map(|index| self.judged.remove(index)) else {
                continue;
            };
            let timestamp = le.lists.tag(delivered.id).and_then(|tag| tag.timestamp);
            let again = delivered.segment.order != judged.order;
            if again && last_transmission_arrived(delivered, timestamp, ack, view) {
                let segment = delivered.segment;
                self.repaired
                    .push((segment.start, segment.end(), judged.dup_cnt));
            } else {
                self.threshold = self.threshold.max((judged.dup_cnt + 1).min(most));
            }
        }
        let excess = self.repaired.len().saturating_sub(16);
        self.repaired.drain(..excess);
        if let Some((start, end)) = ack.dsack
            && let Some(index) = self
                .repaired
                .iter()
                .position(|&(s, e, _)| start < e && s < end)
        {
            let (.., dup_cnt) = self.repaired.remove(index);
            self.threshold = self.threshold.max((dup_cnt + 1).min(most));
        }
    }

    fn acked(&mut self, cause: Option<u64>, board: &Scoreboard) {
        self.waitlist.retain(|entry| unacked(board, entry.id));
        self.rtxlist.retain(|&id| unacked(board, id));
        let Some(cause) = cause else { return };
        for entry in self.judged.iter_mut().filter(|j| j.value <= cause) {
            entry.dup_cnt += 1;
        }
        for entry in &mut self.waitlist {
            if entry.value > cause {
                break;
            }
            entry.dup_cnt += 1;
            if entry.dup_cnt >= self.threshold {
                self.rtxlist.push(entry.id);
                self.judged.retain(|judged| judged.id != entry.id);
                self.judged.push(*entry);
            }
        }
        let threshold = self.threshold;
        self.waitlist.retain(|entry| entry.dup_cnt < threshold);
    }

    fn timed_out(&mut self, board: &Scoreboard) {
        self.waitlist.clear();
        self.judged.clear();
        self.repaired.clear();
        let all = board.iter_from(board.first()).map(|(id, _)| id);
        self.rtxlist = all.filter(|&id| unacked(board, id)).collect();
    }
}

/// LE and the literal scan in parallel: they must agree after every event.
#[derive(Debug)]
struct Checked {
    le: Le,
    literal: Literal,
    /// `true` if a timeout resets the threshold.
    falls_back: bool,
    most_outstanding: usize,
}

impl Checked {
    fn agree(&self, board: &Scoreboard) {
        let waiting: Vec<_> = self.le.lists.waiting(board).collect();
        let expected: Vec<_> = self.literal.waitlist.iter().map(|e| e.id).collect();
        assert_eq!(waiting, expected, "WAITLIST");
        let lost: Vec<_> = self.le.lists.lost().collect();
        assert_eq!(lost, self.literal.rtxlist, "RTXLIST");
        assert_eq!(self.le.dup_threshold, self.literal.threshold, "threshold");
        let length = |id: &SegmentId| u64::from(board.get(*id).map_or(0, |s| s.len));
        let in_flight: u64 = waiting.iter().map(length).sum();
        assert_eq!(self.le.lists.in_flight(board), in_flight, "in flight");
        assert!(
            self.le.lists.entries() <= 2 * self.most_outstanding,
            "memory is bounded"
        );
        for entry in &self.literal.waitlist {
            assert_eq!(board.get(entry.id).map(|s| s.order), Some(entry.order));
        }
    }
}

impl Recovery for Checked {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        let value = self.le.value(sent);
        let empty = self.literal.waitlist.is_empty();
        let timer = self.le.on_sent(sent, view);
        self.literal.sent(sent, value);
        self.most_outstanding = self.most_outstanding.max(view.scoreboard.len());
        self.agree(view.scoreboard);
        assert_eq!(timer == RtoTimer::Restart, empty, "the pipe was empty");
        timer
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let cause = self.le.value_of_cause(ack, view);
        self.literal.adapt(ack, &self.le, view);
        let outcome = self.le.on_ack(ack, view);
        self.literal.acked(cause, view.scoreboard);
        self.agree(view.scoreboard);
        outcome
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.le.on_rto(view);
        self.literal.timed_out(view.scoreboard);
        if self.falls_back {
            self.literal.threshold = self.literal.least;
        }
        self.agree(view.scoreboard);
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.le.in_flight(view)
    }

    fn next(&self, view: &View<'_>) -> Next {
        let next = self.le.next(view);
        if let Next::Retransmit { id, .. } = next {
            assert!(unacked(view.scoreboard, id));
            assert_eq!(self.literal.rtxlist.first(), Some(&id));
        }
        next
    }
}

fn checked() -> Entry<dyn Recovery> {
    Entry::recovery("le-checked", file!())
        .needs(needs)
        .build(|parameters, _| {
            let le = Le::new(parameters);
            Box::new(Checked {
                literal: Literal::new(le.dup_threshold),
                le,
                falls_back: parameters.threshold_decay == Decay::Timeout,
                most_outstanding: 0,
            })
        })
}

#[test]
fn the_third_largest_cause_finds_the_same_losses_as_the_scan() {
    for seed in 0..25_000 {
        adversary::transfer(checked(), seed, |setup, random| {
            let cause = random.of(&["timestamp", "order-echo", "inferred"]);
            let first = random.of(&["immediate", "window"]);
            let setup = setup.set("cause", cause).set("first_retransmit", first);
            let setup = setup
                .set("threshold", random.of(&["fixed", "adaptive"]))
                .set("threshold_decay", random.of(&["timeout", "never"]))
                .set_value("threshold_max", Value::Integer(random.of(&[1, 5, 20, 300])));
            let setup = adversary::any_timestamps(setup, random);
            adversary::any_threshold(setup, random)
        });
    }
}

#[test]
fn a_segment_sent_at_an_equal_timestamp_after_an_ack_is_not_counted() {
    // There are two transmissions with value 7, and an ACK caused by value 7 between them; k = 1.
    let mut largest = LargestStamps::new(1);
    let before = Stamp { value: 7, acks: 4 };
    largest.push(Stamp { value: 7, acks: 5 });
    let after = Stamp { value: 7, acks: 5 };
    let reach = largest.kth(1).unwrap();
    assert!(before < reach && after >= reach);
}

#[test]
fn late_stamps_find_their_place() {
    let mut largest = LargestStamps::new(3);
    let stamp = |value| Stamp { value, acks: 0 };
    assert_eq!(largest.kth(3), None);
    for value in [5, 9, 2, 7, 1, 8] {
        largest.push(stamp(value));
    }
    let kth = |k| largest.kth(k).map(|s| s.value);
    assert_eq!([kth(1), kth(2), kth(3)], [Some(9), Some(8), Some(7)]);
}

/// Returns a timeline with eight segments sent at once; the first is acknowledged, and the RTT is 100 ms.
fn lossy() -> crate::testing::Timeline {
    let mut t = Setup::new(entry()).window(8.0).ssthresh(2.0).start(40);
    assert_eq!(t.sent(), "new:0 new:1 new:2 new:3 new:4 new:5 new:6 new:7");
    assert_eq!(t.receive(100, ack(1)), "new:8");
    t
}

#[test]
fn three_later_transmissions_acknowledged_make_a_loss() {
    // Segment 1 is lost. Every ACK that reports a delivery permits one segment.
    let mut t = lossy();
    assert_eq!(t.receive(101, ack(1).sack(2, 3)), "new:9");
    assert_eq!(t.receive(102, ack(1).sack(2, 4)), "new:10");
    assert_eq!(t.in_flight(), 8.0);
    // The third ACK reports 4 and removes 1 from WAITLIST: 6 of the 8 segments remain, and the retransmission makes 7.
    // The flight of 10 is halved to 5. The retransmission does not wait until the window permits it.
    assert_eq!(t.receive(103, ack(1).sack(2, 5)), "order:1");
    assert_eq!((t.cwnd(), t.in_flight()), (5.0, 7.0));
    assert_eq!(t.receive(104, ack(1).sack(2, 6)), "");
    assert_eq!(t.in_flight(), 6.0);
}

#[test]
fn only_the_first_retransmission_of_a_loss_event_leaves_at_once() {
    // Segments 1 and 2 are lost, and the same ACK reveals both losses (LE §2.2.4).
    let mut t = lossy();
    assert_eq!(t.receive(101, ack(1).sack(3, 4)), "new:9");
    assert_eq!(t.receive(102, ack(1).sack(3, 5)), "new:10");
    assert_eq!(t.receive(103, ack(1).sack(3, 6)), "order:1");
    assert_eq!((t.cwnd(), t.in_flight()), (5.0, 6.0));
    assert_eq!(t.receive(104, ack(1).sack(3, 7)), "");
    assert_eq!(t.receive(105, ack(1).sack(3, 8)), "order:2");
}

#[test]
fn which_acks_open_the_window_is_a_reading() {
    // Congestion avoidance at 8 segments: an ACK for one segment adds 1/8.
    for (opening, after_duplicates) in [("advance", 8.0), ("delivery", 8.125)] {
        let mut t = Setup::new(entry())
            .set("opening", opening)
            .window(8.0)
            .ssthresh(2.0)
            .start(40);
        t.receive(101, ack(0).sack(1, 2));
        assert!((t.cwnd() - after_duplicates).abs() < 1e-9, "{opening}");
        let before = t.cwnd();
        t.receive(102, ack(2));
        assert!(t.cwnd() > before, "{opening}");
    }
}

#[test]
fn a_lost_retransmission_is_found_and_the_window_cut_once_in_a_round_trip() {
    let mut t = lossy();
    t.receive(101, ack(1).sack(2, 3));
    t.receive(102, ack(1).sack(2, 4));
    assert_eq!(t.receive(103, ack(1).sack(2, 5)), "order:1");
    for (ms, end) in [(104, 6), (105, 7), (106, 8)] {
        t.receive(ms, ack(1).sack(2, end));
    }
    let sent = t.transmits().len();
    assert_eq!(sent, 1, "in flight has come down to the window");
    // Segments 8, 9 and 10 were sent before the retransmission of 1 and do not count against it.
    for (ms, end) in [(200, 9), (201, 10), (202, 11)] {
        assert_ne!(t.receive(ms, ack(1).sack(2, end)), "order:1");
    }
    // Segments 11, 12 and 13 were sent later. The second loss is detected more than an RTT after the first.
    let before = t.cwnd();
    t.receive(206, ack(1).sack(2, 12));
    t.receive(300, ack(1).sack(2, 13));
    assert!(t.receive(301, ack(1).sack(2, 14)).starts_with("order:1"));
    assert!(t.cwnd() > before / 2.0 && t.sender().stats().loss_events == 2);
    assert_eq!(t.sender().stats().timeouts, 0);
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    // Segments 1 and 6 are lost, and the losses are detected 4 ms apart.
    let mut t = lossy();
    for (ms, end) in [(101, 3), (102, 4), (103, 5), (104, 6)] {
        t.receive(ms, ack(1).sack(2, end));
    }
    t.receive(105, ack(1).sack(7, 8).sack(2, 6));
    t.receive(106, ack(1).sack(7, 9).sack(2, 6));
    t.receive(107, ack(1).sack(7, 10).sack(2, 6));
    assert_eq!(t.sender().stats().loss_events, 1);
    assert!(t.sender().stats().retransmissions >= 1);
}

#[test]
fn an_ack_too_soon_after_a_retransmission_is_not_its_own() {
    // Segment 1 is only delayed: it arrives just after it was retransmitted. Its ACK must not be attributed to the
    // retransmission, which was sent after segments 5 to 10.
    let mut t = lossy();
    t.receive(101, ack(1).sack(2, 3));
    t.receive(102, ack(1).sack(2, 4));
    assert_eq!(t.receive(103, ack(1).sack(2, 5)), "order:1");
    t.receive(104, ack(5));
    assert_eq!(t.in_flight(), 6.0, "5 to 10");
    t.receive(105, ack(6));
    t.receive(106, ack(7));
    assert_eq!(t.sender().stats().retransmissions, 1);
}

#[test]
fn after_a_timeout_everything_outstanding_is_lost_in_sequence_order() {
    let mut t = lossy();
    assert_eq!(t.receive(101, ack(1).sack(3, 4)), "new:9");
    assert_eq!(t.wait(1100), "rto:1");
    assert_eq!((t.cwnd(), t.in_flight()), (1.0, 1.0));
    assert_eq!(t.receive(1200, ack(2)), "rto:2 rto:4");
}

#[test]
fn a_segment_into_the_empty_pipe_starts_the_timer_anew() {
    let mut t = Setup::new(entry()).window(4.0).start(4);
    for (ms, end) in [(100, 2), (101, 3)] {
        assert_eq!(t.receive(ms, ack(0).sack(1, end)), "");
    }
    // After the third ACK, nothing is in flight. Then only the retransmission is in flight.
    assert_eq!(t.receive(500, ack(0).sack(1, 4)), "order:0");
    assert!(t.rto_at().is_some_and(|at| at >= 1500));
}

/// Runs a transfer in which the segments `lost` of the second window of 32 are lost. Returns the number of timeouts.
fn timeouts(first_retransmit: &'static str, lost: &[bool; 32]) -> u64 {
    let setup = Setup::new(entry())
        .set("first_retransmit", first_retransmit)
        .window(32.0)
        .configure(|c| c.max_window = 32_000.0);
    let transfer = setup.transfer(200, |order, _| {
        (33..65).contains(&order) && lost[order as usize - 33]
    });
    transfer.stats.timeouts
}

#[test]
fn up_to_29_losses_of_32_are_recovered_without_a_timeout() {
    // The observation of §2.2.4 and Figure 4: three ACKs are enough.
    for losses in 1..=29 {
        for seed in 0..100 {
            let mut heads = coin(seed * 100 + losses, 0.5);
            let mut lost = [false; 32];
            let mut chosen = 0;
            while chosen < losses {
                let bits = (0..5).map(|bit| usize::from(heads()) << bit);
                let place = bits.sum::<usize>();
                chosen += u64::from(!lost[place]);
                lost[place] = true;
            }
            assert_eq!(timeouts("immediate", &lost), 0, "seed {seed}: {lost:?}");
        }
    }
}

#[test]
fn every_place_of_the_three_survivors_is_good_enough() {
    for a in 0..32 {
        for b in a + 1..32 {
            for c in b + 1..32 {
                let mut lost = [true; 32];
                for survivor in [a, b, c] {
                    lost[survivor] = false;
                }
                assert_eq!(timeouts("immediate", &lost), 0, "survivors {a}, {b}, {c}");
            }
        }
    }
}

#[test]
fn a_single_survivor_is_enough_if_the_timer_is_patient() {
    // The ACK of the survivor permits one new segment, whose ACK permits one more, whose ACK is the third: two round
    // trips. The paper's limit of 29 losses assumes a timer that expires before that; the timeout here is 1 s.
    let mut lost = [true; 32];
    assert_eq!(timeouts("immediate", &lost), 1, "nothing is left");
    for survivor in 0..32 {
        lost.fill(true);
        lost[survivor] = false;
        assert_eq!(timeouts("immediate", &lost), 0, "survivor {survivor}");
    }
}

#[test]
fn without_the_immediate_retransmission_three_survivors_may_stall() {
    // Survivors 10, 11, 12: 32 + 2 − 3 segments are sent and not reported, and 10 of them are known to be lost, which
    // leaves 21 in flight, above half of the window. Only the two new segments are really in flight: their ACKs reduce
    // the number to 19, and then no more ACKs arrive.
    let mut lost = [true; 32];
    lost[10..13].fill(false);
    assert_eq!(timeouts("immediate", &lost), 0);
    assert_eq!(timeouts("window", &lost), 1);
}

/// Returns a timeline in which 2 to 5 overtake 1. Segment 1 arrives 2 ms after it was retransmitted.
fn late(threshold: &'static str) -> crate::testing::Timeline {
    let setup = Setup::new(entry()).set("threshold", threshold);
    let mut t = setup.window(8.0).ssthresh(2.0).start(100);
    assert_eq!(t.receive(100, ack(1)), "new:8");
    t.receive(101, ack(1).sack(2, 3));
    t.receive(102, ack(1).sack(2, 4));
    assert_eq!(t.receive(103, ack(1).sack(2, 5)), "order:1");
    t.receive(104, ack(1).sack(2, 6));
    t.receive(105, ack(6));
    t
}

#[test]
fn a_segment_as_late_as_one_before_is_not_lost_again() {
    // Four ACKs counted against 1, so five are needed from now on. Segment 6 is as late as segment 1 was: 7, 8, 9 and
    // 10 overtake it.
    let overtaken = |threshold| {
        let mut t = late(threshold);
        for (ms, end) in (110..114).zip(8..) {
            t.receive(ms, ack(6).sack(7, end));
        }
        t.receive(115, ack(11));
        t.sender().stats().retransmissions
    };
    assert_eq!((overtaken("fixed"), overtaken("adaptive")), (2, 1));
}

#[test]
fn a_dsack_shows_a_late_segment_later() {
    // Segment 1 arrives a round trip after its retransmission was sent: it is unknown which transmission arrived.
    let mut t = Setup::new(entry())
        .set("threshold", "adaptive")
        .window(8.0)
        .ssthresh(2.0)
        .start(100);
    t.receive(100, ack(1));
    for (ms, end) in (101..107).zip(3..) {
        t.receive(ms, ack(1).sack(2, end));
    }
    // Six ACKs counted against the first transmission of 1; the ACKs of 8 and 9 also count, which makes eight.
    t.receive(200, ack(1).sack(2, 9));
    t.receive(201, ack(1).sack(2, 10));
    t.receive(203, ack(10));
    // The DSACK reports that segment 1 arrived twice. From now on, nine ACKs show a loss, so segment 12 is not lost
    // after eight.
    t.receive(204, ack(11).sack(1, 2));
    let before = t.sender().stats().retransmissions;
    t.write(100);
    let mut end = 13;
    let mut ms = 300;
    while end <= 20 {
        end += 1;
        ms += 1;
        assert!(!t.receive(ms, ack(12).sack(13, end)).contains("order"));
    }
    assert_eq!(t.sender().stats().retransmissions, before);
    assert!(
        t.receive(ms + 1, ack(12).sack(13, end + 1))
            .contains("order:12")
    );
}

#[test]
fn a_timeout_ends_the_growth_of_the_threshold() {
    let lost_at_three = |decay| {
        let setup = Setup::new(entry()).set("threshold", "adaptive");
        let mut t = setup
            .set("threshold_decay", decay)
            .window(8.0)
            .ssthresh(2.0)
            .start(100);
        t.receive(100, ack(1));
        for (ms, end) in (101..105).zip(3..) {
            t.receive(ms, ack(1).sack(2, end));
        }
        t.receive(105, ack(6));
        t.wait(1105);
        t.receive(1200, ack(11));
        t.receive(1300, ack(12));
        t.receive(1400, ack(14));
        let first = t.sender().scoreboard().una() as u32 / 1000;
        for (ms, end) in (1500..1503).zip(first + 2..) {
            t.receive(ms, ack(first).sack(first + 1, end));
        }
        t.sent().contains("order")
    };
    assert_eq!(
        (lost_at_three("timeout"), lost_at_three("never")),
        (true, false)
    );
}
