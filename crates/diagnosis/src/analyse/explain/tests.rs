//! Tests with event sequences, with segments of 1000 bytes and a round trip of 50 ms.

mod doubts;
mod numbers;

use dupack_tcp::SenderConfig;
use dupack_tcp::connection::{Flags, Timestamps};
use dupack_tcp::options::Sack;
use dupack_tcp::replay::{Replay, ReplayLimits};
use dupack_tcp::segment::{Ack, DataSegment, SackBlock};
use dupack_tcp::seq::SeqNumber;
use dupack_tcp::time::{Duration, Instant};

use super::{Explainer, Limits};
use crate::analyse::cause::{Cause, Need, Repeat, Retransmission};
use crate::read::moment::{Arrival, Departure, Stage};

/// Number of bytes in a segment.
const FULL: u32 = 1000;

struct Line {
    replay: Replay,
    explainer: Explainer,
    packet: u64,
    stamps: bool,
    /// Time from the capture point to the sender, in ms.
    to_sender: u64,
    stage: Stage,
}

impl Line {
    fn new(sack: Sack) -> Self {
        let mut config = SenderConfig::new(FULL);
        config.sack = sack;
        config.rtt.min_rto = Duration::from_millis(200);
        Self {
            replay: Replay::new(config, ReplayLimits::default()),
            explainer: Explainer::new(sack, Limits::default()),
            packet: 0,
            stamps: false,
            to_sender: 0,
            stage: Stage::Open,
        }
    }

    /// Creates a line with a round-trip sample of 50 ms. Segment 0 is sent at 0 ms.
    fn warm(sack: Sack) -> Self {
        let mut line = Self::new(sack);
        line.send(0, 0);
        line.ack(50, 1, &[]);
        line
    }

    fn send(&mut self, ms: u64, n: u32) -> Option<Repeat> {
        self.send_numbered(ms, n, None)
    }

    fn send_numbered(&mut self, ms: u64, n: u32, ip_id: Option<u16>) -> Option<Repeat> {
        self.send_long(ms, n, 1, ip_id)
    }

    /// Sends `segments` segments in one packet, which an interface splits later.
    fn send_long(&mut self, ms: u64, n: u32, segments: u32, ip_id: Option<u16>) -> Option<Repeat> {
        self.packet += 1;
        let at = Instant::ZERO + Duration::from_millis(ms);
        let stamp = self.stamps.then_some(ms as u32);
        let segment = DataSegment {
            seq: SeqNumber(n * FULL),
            len: segments * FULL,
            timestamp: stamp,
            order: None,
        };
        let sending = self.replay.sent(at, &segment).unwrap();
        let start = u64::from(n * FULL);
        let explained = self.explainer.departed(&Departure {
            at,
            packet: self.packet,
            start,
            end: start + u64::from(segments * FULL),
            kind: sending.kind,
            unseen_bytes: sending.unseen_bytes,
            flags: Flags::NONE,
            timestamps: stamp.map(|value| Timestamps { value, echo: 0 }),
            ip_id,
            window_left: None,
            sent: sending.sent,
            view: sending.view,
        });
        self.stage = explained.stage;
        explained.repeat
    }

    fn ack(&mut self, ms: u64, n: u32, sacked: &[(u32, u32)]) {
        self.ack_echoing(ms, n, sacked, None, 60_000);
    }

    fn ack_echoing(
        &mut self,
        ms: u64,
        n: u32,
        sacked: &[(u32, u32)],
        echo: Option<u32>,
        window: u32,
    ) {
        self.packet += 1;
        let at = Instant::ZERO + Duration::from_millis(ms);
        let mut ack = Ack {
            ack: SeqNumber(n * FULL),
            window,
            timestamp_echo: echo,
            ..Ack::default()
        };
        for &(start, end) in sacked {
            ack.sacks.push(SackBlock {
                start: SeqNumber(start * FULL),
                end: SeqNumber(end * FULL),
            });
        }
        let heard = self.replay.acknowledged(at, &ack).unwrap();
        let captured = ms.saturating_sub(self.to_sender);
        let explained = self.explainer.arrived(&Arrival {
            at,
            captured: Instant::ZERO + Duration::from_millis(captured),
            packet: self.packet,
            facts: heard.facts,
            needless: heard.needless,
            timestamps: echo.map(|echo| Timestamps { value: 0, echo }),
            window: Some(u64::from(window)),
            field: None,
            carried: 0,
            window_left: None,
            view: heard.view,
        });
        self.stage = explained.stage;
    }

    fn last(&self) -> Retransmission {
        *self.explainer.records().last().unwrap()
    }
}

const fn again(cause: Cause) -> Option<Repeat> {
    Some(Repeat::Retransmission(cause))
}

const fn timeout(expiry: u32) -> Option<Repeat> {
    again(Cause::Timeout { expiry })
}

#[test]
fn three_duplicate_acks_and_a_partial_ack() {
    let mut line = Line::warm(Sack::Absent);
    for n in 1..9 {
        assert_eq!(line.send(50, n), None);
    }
    // Segments 1 and 4 are lost.
    for _ in 0..3 {
        line.ack(100, 1, &[]);
    }
    assert_eq!(line.stage, Stage::Disorder);
    assert_eq!(line.send(100, 1), again(Cause::DuplicateAcks));
    assert_eq!(line.stage, Stage::Recovery);
    assert_eq!(line.last().trigger, Some(13));
    line.ack(150, 4, &[]);
    assert_eq!(line.send(150, 4), again(Cause::PartialAck));
    line.ack(200, 9, &[]);
    assert_eq!(line.stage, Stage::Open);
    let account = line.explainer.account();
    assert_eq!((account.lost_first, account.needless()), (2, 0));
}

#[test]
fn holes_below_sacked_segments_and_a_lost_repair() {
    let mut line = Line::warm(Sack::Permitted);
    for n in 1..13 {
        line.send(50, n);
    }
    line.ack(100, 1, &[(2, 3)]);
    line.ack(101, 1, &[(2, 3), (4, 5)]);
    line.ack(102, 1, &[(2, 3), (4, 7)]);
    assert_eq!(line.send(102, 1), again(Cause::SackedBeyond));
    assert_eq!(line.send(103, 3), again(Cause::FurtherHole));
    line.send(103, 13);
    // The retransmission of 3 and segment 13 arrive, but the retransmission of 1 is lost.
    line.ack(153, 1, &[(2, 7), (13, 14)]);
    assert_eq!(line.send(153, 1), again(Cause::LostAgain));
    assert_eq!(line.last().transmission, 3);
    line.ack(203, 14, &[]);
    assert_eq!(line.explainer.account().lost_again, 1);
}

#[test]
fn one_sacked_segment_and_the_reordering_window() {
    let mut line = Line::warm(Sack::Permitted);
    line.send(50, 1);
    line.send(51, 2);
    line.ack(101, 1, &[(2, 3)]);
    assert_eq!(line.send(114, 1), again(Cause::Rack));
}

#[test]
fn consecutive_timeouts_and_the_retransmissions_after_them() {
    let mut line = Line::warm(Sack::Absent);
    for n in 1..5 {
        line.send(50, n);
    }
    assert_eq!(line.send(300, 1), timeout(1));
    assert_eq!(line.stage, Stage::Loss);
    assert_eq!(line.send(800, 1), timeout(2));
    assert_eq!(line.last().waited, Duration::from_millis(500));
    line.ack(850, 2, &[]);
    assert_eq!(line.send(850, 2), again(Cause::AfterTimeout));
    assert_eq!(line.send(850, 3), again(Cause::AfterTimeout));
    line.ack(900, 4, &[]);
    assert_eq!(line.send(900, 4), again(Cause::AfterTimeout));
    line.ack(950, 5, &[]);
    assert_eq!(line.stage, Stage::Open);
}

#[test]
fn too_few_duplicate_acks_followed_by_a_timeout() {
    let mut line = Line::warm(Sack::Permitted);
    for n in 1..4 {
        line.send(50, n);
    }
    line.ack(100, 1, &[(2, 3)]);
    assert_eq!(line.send(300, 1), timeout(1));
}

#[test]
fn a_probe_repeats_the_last_segment_and_a_timeout_the_first() {
    let mut line = Line::warm(Sack::Permitted);
    for n in 1..5 {
        line.send(50, n);
    }
    assert_eq!(line.send(152, 4), again(Cause::TailLossProbe));
    assert_eq!(line.send(402, 1), timeout(1));
}

#[test]
fn a_lone_segment_was_a_probe_if_the_next_wait_is_no_longer() {
    let mut line = Line::warm(Sack::Permitted);
    line.send(60, 1);
    assert_eq!(line.send(310, 1), timeout(1));
    assert_eq!(line.send(560, 1), timeout(1));
    let causes: Vec<Cause> = line.explainer.records().map(|r| r.cause).collect();
    assert_eq!(causes, [Cause::TailLossProbe, Cause::Timeout { expiry: 1 }]);
}

#[test]
fn a_lone_segment_timed_out_if_the_next_wait_is_twice_as_long() {
    let mut line = Line::warm(Sack::Permitted);
    line.send(60, 1);
    assert_eq!(line.send(310, 1), timeout(1));
    assert_eq!(line.send(810, 1), timeout(2));
    let causes: Vec<Cause> = line.explainer.records().map(|r| r.cause).collect();
    assert_eq!(
        causes,
        [Cause::Timeout { expiry: 1 }, Cause::Timeout { expiry: 2 }]
    );
}

#[test]
fn a_probe_after_two_round_trips_remains_a_probe_even_if_the_next_wait_doubles() {
    // The smoothed round-trip time is 60 ms. A probe is sent after two of them, and Linux's timeout of 250 ms follows.
    let mut line = Line::new(Sack::Permitted);
    line.send(0, 0);
    line.ack(60, 1, &[]);
    line.send(60, 1);
    assert_eq!(line.send(185, 1), again(Cause::TailLossProbe));
    assert_eq!(line.send(436, 1), timeout(1));
    let causes: Vec<Cause> = line.explainer.records().map(|r| r.cause).collect();
    assert_eq!(causes, [Cause::TailLossProbe, Cause::Timeout { expiry: 1 }]);
}

#[test]
fn a_doubled_wait_that_does_not_fit_a_probe_was_a_timeout() {
    let mut line = Line::warm(Sack::Permitted);
    line.send(60, 1);
    line.send(220, 1);
    assert_eq!(line.send(540, 1), timeout(2));
    let causes: Vec<Cause> = line.explainer.records().map(|r| r.cause).collect();
    assert_eq!(
        causes,
        [Cause::Timeout { expiry: 1 }, Cause::Timeout { expiry: 2 }]
    );
}

#[test]
fn an_early_timeout_is_undone() {
    let mut line = Line::warm(Sack::Permitted);
    line.stamps = true;
    for n in 1..5 {
        line.send(60, n);
    }
    assert_eq!(line.send(400, 1), timeout(1));
    // The path was slow, so the first transmissions arrive now.
    line.ack_echoing(410, 2, &[], Some(60), 60_000);
    assert_eq!(line.last().need, Need::NeedlessByTimestamp);
    line.ack_echoing(411, 3, &[], Some(60), 60_000);
    assert_eq!(line.send(411, 5), None);
    assert_eq!(line.stage, Stage::Open);
}

#[test]
fn a_dsack_shows_a_spurious_retransmission() {
    let mut line = Line::warm(Sack::Permitted);
    for n in 1..6 {
        line.send(50, n);
    }
    for n in 3..6 {
        line.ack(100, 1, &[(2, n)]);
    }
    line.send(100, 1);
    line.ack(110, 6, &[]);
    assert_eq!(line.last().need, Need::NeedlessByTime);
    line.ack(150, 6, &[(1, 2)]);
    assert_eq!(line.last().need, Need::NeedlessByDsack);
    assert_eq!(line.explainer.account().needless(), 1);
}

/// Sends segments 1 to 8 without SACK. Segments 1, 4 and `also` are lost. The timer expires, and segments 1 and 2 are
/// retransmitted.
fn go_back(also: u32) -> Line {
    let mut line = Line::warm(Sack::Absent);
    line.stamps = true;
    for n in 1..9 {
        line.send(60, n);
    }
    for _ in (2..9).filter(|&n| n != 4 && n != also) {
        line.ack_echoing(110, 1, &[], Some(0), 60_000);
    }
    assert_eq!(line.send(400, 1), timeout(1));
    assert_eq!(line.send(402, 2), again(Cause::AfterTimeout));
    line
}

#[test]
fn without_sack_an_ack_beyond_a_retransmission_shows_what_was_held() {
    let mut line = go_back(3);
    // The receiver has segment 2 and lacks segment 3. Because a segment is missing, it acknowledged at once.
    line.ack_echoing(452, 3, &[], Some(400), 60_000);
    assert_eq!(line.last().need, Need::NeedlessByTime);

    // The ACK does not cover segment 2, so the receiver did not have it.
    let mut line = go_back(2);
    line.ack_echoing(451, 2, &[], Some(400), 60_000);
    line.ack_echoing(453, 4, &[], Some(402), 60_000);
    assert_eq!(line.last().need, Need::Needed);
}

#[test]
fn without_sack_and_without_duplicate_acks_two_segments_may_have_come_in_order() {
    let mut line = Line::warm(Sack::Absent);
    line.stamps = true;
    line.send(60, 1);
    line.send(60, 2);
    line.send(400, 1);
    line.send(402, 2);
    line.ack_echoing(452, 3, &[], Some(400), 60_000);
    assert_eq!(line.last().need, Need::Needed);
}

#[test]
fn if_the_first_retransmission_was_lost_the_need_of_the_next_is_unknown() {
    let mut line = go_back(3);
    assert_eq!(line.send(1200, 1), timeout(2));
    line.ack_echoing(1250, 3, &[], Some(1200), 60_000);
    let needs: Vec<Need> = line.explainer.records().map(|again| again.need).collect();
    assert_eq!(needs, [Need::Needed, Need::Unknown, Need::Needed]);
}

#[test]
fn a_retransmission_before_any_ack_is_spurious() {
    let mut line = Line::warm(Sack::Permitted);
    for n in 1..6 {
        line.send(50, n);
    }
    line.ack(100, 1, &[(2, 5)]);
    line.send(100, 1);
    line.send(101, 6);
    line.send(102, 6);
    line.ack(150, 6, &[]);
    line.ack(155, 7, &[]);
    assert_eq!(line.last().need, Need::NeedlessByTime);
}

#[test]
fn an_echoed_new_timestamp_outweighs_the_least_round_trip() {
    let mut line = Line::warm(Sack::Permitted);
    line.stamps = true;
    line.send(60, 1);
    assert_eq!(line.send(400, 1), timeout(1));
    // The earlier samples included queueing delay.
    line.ack_echoing(420, 2, &[], Some(400), 60_000);
    assert_eq!(line.last().need, Need::Needed);
}

#[test]
fn a_retransmission_of_captured_data_is_spurious_at_the_receiver() {
    let mut line = Line::new(Sack::Absent);
    line.to_sender = 50;
    for n in 0..3 {
        line.send(u64::from(n) * 100, n);
        line.ack(u64::from(n) * 100 + 50, n + 1, &[]);
    }
    // Segment 3 does not reach the capture point.
    line.send(300, 4);
    line.ack(350, 3, &[]);
    line.send(700, 3);
    line.send(701, 4);
    line.ack(751, 5, &[]);
    assert_eq!(line.last().need, Need::NeedlessByArrival);
}

#[test]
fn reordering_beyond_the_capture_is_counted() {
    let mut line = Line::warm(Sack::Permitted);
    for n in 1..5 {
        line.send(50, n);
    }
    line.ack(100, 1, &[(2, 3)]);
    line.ack(101, 3, &[]);
    assert_eq!(line.explainer.reordered(), 1);
    assert_eq!(line.explainer.account().retransmissions, 0);
}

#[test]
fn at_the_receiver_a_hole_filled_within_a_round_trip_is_reordering() {
    let mut line = Line::new(Sack::Permitted);
    line.to_sender = 50;
    line.send(0, 0);
    line.ack(50, 1, &[]);
    line.send(50, 1);
    line.send(51, 3);
    assert_eq!(line.send(55, 2), Some(Repeat::Overtaken));
    line.send(56, 5);
    line.ack(101, 4, &[]);
    line.ack(106, 4, &[(5, 6)]);
    // Segment 4 arrives at least one round trip after the hole appeared.
    assert!(matches!(line.send(112, 4), Some(Repeat::Retransmission(_))));
    assert_eq!(line.explainer.overtaken(), 1);
}

/// Creates a receiver without SACK that lacks every third of 17 segments. The first missing segment is retransmitted at
/// 102 ms.
fn lacking_every_third() -> Line {
    let mut line = Line::new(Sack::Absent);
    line.to_sender = 50;
    line.send(0, 0);
    line.ack(50, 1, &[]);
    for n in (1..18).filter(|n| n % 3 != 1) {
        line.send(50, n);
    }
    for ms in [100, 101, 102] {
        line.ack(ms, 1, &[]);
    }
    assert_eq!(line.send(102, 1), again(Cause::DuplicateAcks));
    line.ack(152, 4, &[]);
    line.send(152, 4);
    line
}

#[test]
fn at_the_receiver_two_retransmissions_together_reveal_an_earlier_timeout() {
    let mut line = lacking_every_third();
    line.ack(202, 7, &[]);
    line.send(202, 7);
    line.ack(252, 10, &[]);
    line.send(252, 10);
    line.send(253, 13);
    let causes: Vec<Cause> = line.explainer.records().map(|r| r.cause).collect();
    let timeout = Cause::Timeout { expiry: 1 };
    let (fast, after) = (Cause::DuplicateAcks, Cause::AfterTimeout);
    assert_eq!(causes, [fast, Cause::PartialAck, timeout, after, after]);
}

#[test]
fn at_the_receiver_two_retransmissions_from_the_first_partial_ack_on_reveal_no_timeout() {
    let mut line = lacking_every_third();
    line.send(153, 7);
    let causes: Vec<Cause> = line.explainer.records().map(|r| r.cause).collect();
    let partial = Cause::PartialAck;
    assert_eq!(causes, [Cause::DuplicateAcks, partial, partial]);
}

#[test]
fn at_the_receiver_timestamps_identify_retransmissions() {
    let mut line = Line::new(Sack::Permitted);
    line.to_sender = 50;
    line.stamps = true;
    line.send(0, 0);
    line.ack(50, 1, &[]);
    line.send(60, 2);
    assert!(matches!(line.send(61, 1), Some(Repeat::Retransmission(_))));
}

#[test]
fn the_same_packet_twice_is_a_copy() {
    let mut line = Line::warm(Sack::Permitted);
    assert_eq!(line.send_numbered(50, 1, Some(77)), None);
    assert_eq!(line.send_numbered(50, 1, Some(77)), Some(Repeat::Copy));
    assert_eq!(line.explainer.copies(), 1);
    assert_eq!(line.explainer.records().count(), 0);
}

#[test]
fn missing_numbers_reveal_the_retransmission_of_a_lost_tail() {
    let mut line = Line::new(Sack::Permitted);
    line.to_sender = 50;
    for n in 0..20 {
        line.send_numbered(u64::from(n) * 50, n, Some(n as u16));
        line.ack(u64::from(n) * 50 + 50, n + 1, &[]);
    }
    // Segments 20 and 21 were lost and retransmitted after a timeout.
    assert_eq!(line.send_numbered(1250, 20, Some(22)), timeout(1));
    line.ack(1300, 21, &[]);
    assert_eq!(
        line.send_numbered(1300, 21, Some(23)),
        again(Cause::AfterTimeout)
    );
    line.ack(1350, 22, &[]);
    assert_eq!(line.send_numbered(1350, 22, Some(24)), None);
}

#[test]
fn numbers_of_segments_sent_in_one_packet_are_not_missing() {
    let mut line = Line::new(Sack::Permitted);
    for n in 0..20 {
        line.send_numbered(u64::from(n) * 50, n, Some(n as u16));
        line.ack(u64::from(n) * 50 + 50, n + 1, &[]);
    }
    assert_eq!(line.send_long(1000, 20, 3, Some(20)), None);
    line.ack(1050, 23, &[]);
    assert_eq!(line.send_numbered(1050, 23, Some(23)), None);
}

#[test]
fn a_zero_window_has_a_duration() {
    let mut line = Line::warm(Sack::Permitted);
    line.send(50, 1);
    line.ack_echoing(100, 2, &[], None, 0);
    line.ack_echoing(400, 2, &[], None, 5000);
    let happenings = line.explainer.happenings();
    assert_eq!(happenings.closed_times(), 1);
    let closed = happenings.zero_windows().next().unwrap();
    let long = closed.to.map(|to| to.since(closed.from));
    assert_eq!(long, Some(Duration::from_millis(300)));
}

#[test]
fn records_are_bounded_and_older_ones_are_counted() {
    let mut line = Line::warm(Sack::Absent);
    line.send(50, 1);
    line.send(50, 2);
    let many = Limits::default().records as u64 + 10;
    for n in 0..many {
        line.send(1000 + 1000 * n, 1);
    }
    assert_eq!(line.explainer.records().count(), Limits::default().records);
    assert_eq!(line.explainer.account().retransmissions, many);
}
