//! Tests of the evaluation of an ACK before any plug-in is called.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::options::Ecn;
use crate::segment::EcnEcho;

/// Recovery that behaves like [`Plain`], and stores the start and the end of the last DSACK in bytes.
#[derive(Debug)]
struct Noting {
    plain: Plain,
    dsack: Arc<[AtomicU64; 2]>,
}

impl Recovery for Noting {
    fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
        self.plain.on_sent(sent, view)
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let (start, end) = ack.dsack.unwrap_or((0, 0));
        self.dsack[0].store(start, Ordering::Relaxed);
        self.dsack[1].store(end, Ordering::Relaxed);
        self.plain.on_ack(ack, view)
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.plain.on_rto(view);
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        self.plain.in_flight(view)
    }

    fn next(&self, view: &View<'_>) -> Next {
        self.plain.next(view)
    }
}

/// Returns the DSACK in `ack_in`, in segments, and the number of sacked segments after this ACK. Before the ACK,
/// segments 0 to 9 are outstanding and 2 to 5 are sacked.
fn dsack_in(ack_in: AckIn) -> (Option<(u64, u64)>, u64) {
    let dsack = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let recovery = Noting {
        plain: Plain::default(),
        dsack: Arc::clone(&dsack),
    };
    let mut t = Setup::new(recovery).sack().window(10.0).start(10);
    t.receive(100, ack(0).sack(2, 6));
    t.receive(101, ack_in);
    let smss = u64::from(SMSS);
    let [start, end] = [0, 1].map(|i| dsack[i].load(Ordering::Relaxed) / smss);
    let sacked = t.sender().scoreboard().sacked_segments();
    ((end > 0).then_some((start, end)), sacked)
}

#[test]
fn a_first_block_inside_the_second_or_below_the_ack_is_a_dsack() {
    // The first block is a DSACK if it is below the cumulative ACK or inside the second block (RFC 2883 §4.2).
    assert_eq!(dsack_in(ack(0).sack(3, 4).sack(2, 6)), (Some((3, 4)), 4));
    assert_eq!(dsack_in(ack(0).sack(2, 6).sack(2, 6)), (Some((2, 6)), 4));
    assert_eq!(dsack_in(ack(1).sack(0, 1).sack(2, 6)), (Some((0, 1)), 4));
    assert_eq!(dsack_in(ack(1).sack(0, 1)), (Some((0, 1)), 4));
    // A first block is new data and not a DSACK if it is outside the second block, contains it, or overlaps it at
    // either end.
    assert_eq!(dsack_in(ack(0).sack(7, 8).sack(2, 6)), (None, 5));
    assert_eq!(dsack_in(ack(0).sack(2, 7).sack(3, 6)), (None, 5));
    assert_eq!(dsack_in(ack(0).sack(2, 6).sack(3, 7)), (None, 5));
    assert_eq!(dsack_in(ack(0).sack(4, 7).sack(2, 6)), (None, 5));
    assert_eq!(dsack_in(ack(0).sack(2, 6)), (None, 4));
    // The first block is compared only with the second block, not with the third.
    assert_eq!(dsack_in(ack(0).sack(3, 4).sack(7, 8).sack(2, 6)), (None, 5));
}

#[test]
fn invalid_blocks_are_ignored() {
    // The invalid blocks are empty, reversed, or beyond the data that was sent.
    let none = (None, 4);
    assert_eq!(dsack_in(ack(0).sack(7, 7)), none);
    assert_eq!(dsack_in(ack(0).sack(8, 7)), none);
    assert_eq!(dsack_in(ack(0).sack(9, 11)), none);
    assert_eq!(dsack_in(ack(0).sack(9, 11).sack(8, 10)), (None, 6));
}

/// Returns SRTT in milliseconds after the first loss was repaired and the ACK `last` arrived at 203 ms, or `None` if
/// SRTT did not change. Segment 0 was retransmitted at 103 ms; segments 1 to 7 were sent at 0 ms.
fn srtt_after(last: AckIn) -> Option<u64> {
    let mut t = plain().sack().window(8.0).start(50);
    for end in 2..=4 {
        t.receive(99 + u64::from(end), ack(0).sack(1, end));
    }
    assert_eq!(t.sent(), "third:0");
    let before = t.sender().rtt().srtt();
    t.receive(203, last);
    let after = t.sender().rtt().srtt();
    (after != before).then(|| after.map_or(0, |srtt| srtt.as_nanos() / 1_000_000))
}

#[test]
fn segments_acknowledged_with_a_retransmission_are_not_timed() {
    // Karn's algorithm (RFC 6298 §3): segment 0 was sent twice, and segment 4 may have arrived much earlier.
    assert_eq!(srtt_after(ack(1)), None);
    assert_eq!(srtt_after(ack(5)), None);
    // A segment that the same ACK sacks has just arrived. It was sent at 0 ms, so the sample is 203 ms. SRTT was about
    // 101 ms, and is now 7/8 · 101 + 1/8 · 203 ms.
    assert_eq!(srtt_after(ack(5).sack(5, 6)), Some(114));
    assert_eq!(srtt_after(ack(0).sack(1, 5)), Some(114));
}

#[test]
fn srtt_uses_the_oldest_segment_and_the_latest_sample_the_newest() {
    // Segment 0 was sent at 0 ms, and segments 4 and 5 at 100 ms.
    let mut t = plain().window(4.0).start(50);
    t.receive(100, ack(2));
    assert!(t.sent().contains("new:5"));
    t.receive(150, ack(6));
    // Segment 2 was sent at 0 ms and segment 5 at 100 ms: the sample for SRTT is 150 ms, and the latest sample is 50
    // ms.
    let rtt = t.sender().rtt();
    assert_eq!(rtt.latest(), Some(Duration::from_millis(50)));
    let srtt = Duration::from_micros(100_000 * 7 / 8 + 150_000 / 8);
    assert_eq!(rtt.srtt(), Some(srtt));
    assert_eq!(rtt.min(), Some(Duration::from_millis(50)));
}

#[test]
fn without_sack_an_ack_with_another_window_is_no_duplicate() {
    // The rule without SACK is RFC 5681 §2 (e). With SACK, new SACK information is required. In ns-2, only the ACK
    // number is compared.
    let third = |rule, sack: bool, acks: [AckIn; 3]| {
        let setup = if sack { plain().sack() } else { plain() };
        let setup = setup.configure(|c| c.duplicate_ack = rule);
        let mut t = setup.window(4.0).start(4);
        for (n, ack) in (100..).zip(acks) {
            t.receive(n, ack);
        }
        t.sent() == "third:0"
    };
    let bare = [ack(0); 3];
    let updates = [10, 11, 12].map(|segments| ack(0).window(segments));
    let sacking = [2, 3, 4].map(|end| ack(0).sack(1, end));
    use DuplicateAckRule::{AckNumberOnly, Standard};
    assert!(third(Standard, false, bare));
    assert!(!third(Standard, false, updates));
    assert!(third(Standard, true, sacking));
    assert!(!third(Standard, true, bare));
    assert!(third(AckNumberOnly, false, updates));
    assert!(third(AckNumberOnly, true, bare));
}

#[test]
fn without_outstanding_data_there_is_no_duplicate_ack() {
    let mut t = plain().window(4.0).start(4);
    t.receive(100, ack(4));
    for n in 1..=3 {
        t.receive(100 + n, ack(4));
    }
    assert_eq!(t.sender().stats().loss_events, 0);
    // An ACK of data that was acknowledged before is not a duplicate ACK, either.
    t.write(4);
    for n in 1..=3 {
        t.receive(200 + n, ack(3));
    }
    assert_eq!(t.sender().stats().loss_events, 0);
    for n in 1..=3 {
        t.receive(300 + n, ack(4));
    }
    assert_eq!(t.sender().stats().loss_events, 1);
}

#[test]
fn duplicate_acks_and_sacked_segments_are_disorder() {
    let phase = |acks: &[AckIn]| {
        let mut t = plain().sack().window(8.0).start(8);
        for (n, ack) in (100..).zip(acks) {
            t.receive(n, *ack);
        }
        t.sender().phase()
    };
    assert_eq!(phase(&[ack(2)]), Some(Phase::Open));
    assert_eq!(phase(&[ack(0).sack(1, 2)]), Some(Phase::Disorder));
    // An ACK of new data is not a duplicate ACK, but a segment below the sacked one is missing.
    assert_eq!(phase(&[ack(1).sack(2, 3)]), Some(Phase::Disorder));
    assert_eq!(phase(&[ack(1).sack(2, 3), ack(3)]), Some(Phase::Open));
    // Three duplicate ACKs start a recovery.
    let third = [2, 3, 4].map(|end| ack(0).sack(1, end));
    assert_eq!(phase(&third), Some(Phase::Recovery));
}

#[test]
fn a_control_with_a_model_is_told_of_marks_once_per_window() {
    // The count of marks starts at 5 (RFC 9768 §3.2.2).
    let counted = |next, ace| {
        let mut told = ack(next);
        told.0.ecn = EcnEcho::Count(ace);
        told
    };
    let mut t = plain()
        .control(Box::new(Paced::default()))
        .configure(|c| c.ecn = Ecn::Accurate)
        .window(4.0)
        .start(50);
    t.wait(45);
    let mut answered = |ms, next, ace| {
        t.receive(ms, counted(next, ace));
        t.wait(ms + 50);
        t.sender().stats().marks_answered
    };
    assert_eq!(answered(100, 1, 5), 0);
    assert_eq!(answered(200, 2, 6), 1);
    // Further marks of the same window of data cause no response; a later mark causes one.
    assert_eq!(answered(300, 4, 7), 1);
    assert_eq!(answered(400, 7, 0), 2);
}

#[test]
fn the_order_of_a_transmission_times_retransmissions() {
    // LE §2.2.4: a segment is sent at 0 ms and retransmitted at 1000 ms; its ACK arrives at 1080 ms.
    let srtt = |setup: Setup, order| {
        let mut t = setup.window(1.0).start(1);
        t.wait(1000);
        t.receive(1080, ack(1).order(order));
        t.sender().rtt().srtt()
    };
    let sample = Some(Duration::from_millis(80));
    assert_eq!(srtt(plain().order_echo(), 2), sample);
    // There is no sample if the ACK echoes the first transmission, which was only delayed, or if the connection has no
    // transmission numbers, because the sample is then ambiguous.
    assert_eq!(srtt(plain().order_echo(), 1), None);
    assert_eq!(srtt(plain(), 2), None);
}

/// Control whose window, in segments, is the transmission number that the last ACK echoes, or 50 without an echo.
#[derive(Debug)]
struct Ordered;

impl CongestionControl for Ordered {
    fn on_ack(&mut self, ack: &AckFacts<'_>, _: Credit, view: &View<'_>) -> Window {
        Window {
            cwnd: ack.order_echo.unwrap_or(50) as f64 * f64::from(SMSS),
            ..view.window
        }
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        loss.window
    }

    fn on_loss(&mut self, _: &LossFacts, _: LossCause, _: Window) {}

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        loss.window
    }
}

#[test]
fn an_echoed_order_is_reported_if_transmissions_carry_it() {
    // The echo is specified in LE §4.2.
    let echoed = |setup: Setup, order| {
        let mut t = setup.control(Box::new(Ordered)).window(4.0).start(4);
        t.receive(100, ack(1).order(order));
        t.cwnd()
    };
    assert_eq!(echoed(plain().order_echo(), 3), 3.0);
    // Only four transmissions have been sent, so 5 is invalid, and so is 0.
    assert_eq!(echoed(plain().order_echo(), 5), 50.0);
    assert_eq!(echoed(plain().order_echo(), 0), 50.0);
    assert_eq!(echoed(plain(), 3), 50.0);
}

#[test]
fn the_timed_echo_belongs_to_the_segment_that_advanced_the_ack() {
    let srtt = |ack| {
        let recovery = Plain {
            timing: Timing::SampleEcho,
            ..Plain::default()
        };
        let mut t = Setup::new(recovery)
            .sack()
            .configure(|c| c.rtt.sampling = RttSampling::OnePerWindow)
            .window(2.0)
            .start(2);
        t.receive(100, ack);
        t.sender().rtt().srtt()
    };
    assert_eq!(srtt(ack(1)), Some(Duration::from_millis(100)));
    // Sacked data does not change the echoed timestamp (RFC 7323 §4.3).
    assert_eq!(srtt(ack(0).sack(1, 2)), None);
}
