//! Timelines of the sender with a simple recovery, for behaviour that does not depend on the plug-ins.

mod acks;
mod memory;
mod windows;

use alloc::boxed::Box;
use alloc::format;

use super::*;
use crate::congestion::{CongestionControl, Pacing};
use crate::facts::{Departure, LossFacts, RuleWords, SendReason, Sent, View, WindowUse};
use crate::recovery::{Clearance, LossEvent, Next, Phase, Recovery, RtoTimer, Timing};
use crate::rtt::{BackoffReset, RttSampling};
use crate::scoreboard::SegmentId;
use crate::seq::SeqNumber;
use crate::testing::{AckIn, Aimd, Always, SMSS, Setup, Timeline, ack, at, coin};
use crate::time::Duration;

const THIRD: LossRule = LossRule::new(&RuleWords {
    name: "third",
    meaning: "three duplicate ACKs",
});

/// Recovery that retransmits the first segment after three duplicate ACKs, and all outstanding segments after a
/// timeout.
#[derive(Debug, Default)]
struct Plain {
    resend: Option<SegmentId>,
    /// Remaining range of segments to retransmit after a timeout.
    rest: Option<(SegmentId, SegmentId)>,
    point: Option<u64>,
    /// Decision of the recovery on timed segments.
    timing: Timing,
    /// Time at which the recovery's own timer expires, and the decision at that time.
    timer: Option<(Instant, Expiry)>,
}

impl Recovery for Plain {
    fn on_sent(&mut self, sent: &Sent, _: &View<'_>) -> RtoTimer {
        self.resend = self.resend.filter(|&id| id != sent.id);
        self.rest = self
            .rest
            .map(|(next, end)| (next.max(sent.id.next()), end))
            .filter(|_| sent.segment.transmissions > 1)
            .filter(|(next, end)| next < end);
        RtoTimer::Keep
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
        let first = view.scoreboard.first();
        let rest = self.rest.map(|(next, end)| (next.max(first), end));
        self.rest = rest.filter(|(next, end)| next < end);
        self.resend = self.resend.filter(|&id| id >= first);
        let over = self.point.is_some_and(|point| ack.una >= point);
        self.point = self.point.filter(|_| !over);
        let mut loss = None;
        if ack.dup_acks == 3 && self.point.is_none() && self.rest.is_none() {
            self.point = Some(view.scoreboard.nxt());
            self.resend = Some(first);
            loss = Some(LossEvent::of(first, THIRD));
        }
        Outcome {
            loss,
            growth: match self.point {
                Some(_) => Growth::Frozen,
                None => Growth::Acked,
            },
            rto: match ack.acked_bytes {
                0 => RtoTimer::Keep,
                _ => RtoTimer::Restart,
            },
            timing: self.timing,
            exit: if over { Exit::Recovery } else { Exit::No },
            ..Outcome::default()
        }
    }

    fn on_rto(&mut self, view: &View<'_>) {
        self.resend = None;
        self.point = None;
        self.rest = Some((view.scoreboard.first(), view.scoreboard.end()));
    }

    fn timer(&self) -> Option<Instant> {
        self.timer.map(|(at, _)| at)
    }

    fn on_timer(&mut self, _: &View<'_>) -> Expiry {
        self.timer
            .take()
            .map_or(Expiry::default(), |(_, expiry)| expiry)
    }

    fn in_flight(&self, view: &View<'_>) -> u64 {
        let cursor = self.rest.and_then(|(next, _)| view.scoreboard.get(next));
        cursor.map_or(view.flight_size(), |s| s.start - view.scoreboard.una())
    }

    fn next(&self, _: &View<'_>) -> Next {
        let again = |id, rule, clearance| Next::Retransmit {
            id,
            why: SendReason::Retransmit(rule),
            clearance,
        };
        match (self.resend, self.rest) {
            (Some(id), _) => again(id, THIRD, Clearance::Immediate),
            (None, Some((id, _))) => again(id, LossRule::TIMEOUT, Clearance::Window),
            (None, None) => Next::New {
                why: SendReason::NewData,
                clearance: Clearance::Window,
            },
        }
    }

    fn phase(&self) -> Option<Phase> {
        Some(match (self.point, self.rest) {
            (_, Some(_)) => Phase::Loss,
            (Some(_), None) => Phase::Recovery,
            (None, None) => Phase::Open,
        })
    }
}

fn plain() -> Setup {
    Setup::new(Plain::default())
}

#[test]
fn three_duplicate_acks_make_one_loss_event() {
    let mut t = plain().window(8.0).ssthresh(4.0).start(50);
    for n in 1..=2 {
        assert_eq!(t.receive(100 + n, ack(0)), "");
    }
    assert_eq!(t.receive(103, ack(0)), "third:0");
    // The window is half of the outstanding data.
    assert_eq!((t.cwnd(), t.ssthresh()), (4.0, 4.0));
    assert_eq!(t.receive(104, ack(0)), "");
    // A full ACK ends the recovery, and four segments are sent. The window grows by 1/4 segment, which does not permit
    // a fifth.
    assert_eq!(t.receive(200, ack(8)), "new:8 new:9 new:10 new:11");
    let stats = t.sender().stats();
    assert_eq!((stats.loss_events, stats.recoveries), (1, 1));
    assert_eq!((stats.segments_sent, stats.retransmissions), (13, 1));
}

#[test]
fn timeouts_double_until_the_next_sample() {
    let mut t = plain().window(4.0).start(4);
    // The timeouts are one, two and four seconds (RFC 6298 §5.5).
    assert_eq!(t.wait(1000), "rto:0");
    assert_eq!(t.wait(3000), "rto:0");
    assert_eq!((t.rto_at(), t.cwnd()), (Some(7000), 1.0));
    // An ACK of a segment that was sent three times is not a sample, so the backoff does not end (Karn's algorithm).
    assert_eq!(t.receive(3100, ack(1)), "rto:1 rto:2");
    assert_eq!(t.rto_at(), Some(7100));
    assert_eq!(t.sender().stats().timeouts, 2);
    assert_eq!(t.sender().rtt().srtt(), None);
}

#[test]
fn the_backoff_may_end_with_the_advance() {
    let mut t = plain()
        .configure(|c| c.rtt.backoff_reset = BackoffReset::OnAdvance)
        .window(2.0)
        .start(2);
    t.wait(1000);
    t.receive(1100, ack(1));
    assert_eq!(t.rto_at(), Some(2100));
}

#[test]
fn one_segment_is_timed_at_a_time_unless_retransmitted() {
    let one = |timing| {
        let recovery = Plain {
            timing,
            ..Plain::default()
        };
        Setup::new(recovery)
            .configure(|c| c.rtt.sampling = RttSampling::OnePerWindow)
            .window(2.0)
            .start(40)
    };
    // Segment 0 is timed. The later ACK of segment 1 is not a sample.
    let mut t = one(Timing::Sample);
    t.receive(100, ack(1));
    t.receive(190, ack(2));
    assert_eq!(t.sender().rtt().srtt(), Some(Duration::from_millis(100)));
    // Segment 2 was timed from 100 ms on.
    t.receive(250, ack(3));
    assert_eq!(
        t.sender().rtt().srtt(),
        Some(Duration::from_micros(100_000 * 7 / 8 + 150_000 / 8))
    );
    let mut t = one(Timing::Discard);
    t.receive(100, ack(1));
    assert_eq!(t.sender().rtt().srtt(), None);
    let mut t = one(Timing::Sample);
    t.wait(1000);
    t.receive(1100, ack(2));
    assert_eq!(t.sender().rtt().srtt(), None);
}

#[test]
fn a_closed_window_is_probed_and_never_overrun() {
    let mut t = plain().window(4.0).start(20);
    t.receive(100, ack(2).window(2));
    // Segment 4 is beyond the right edge of the peer's window.
    assert_eq!(t.sent(), "");
    t.receive(110, ack(4).window(0));
    // No data is outstanding, so the persist timer runs, with the length of the retransmission timeout.
    assert_eq!((t.sent(), t.rto_at()), ("", None));
    assert_eq!(t.wait(1109), "");
    assert_eq!(t.wait(1110), "probe:4");
    assert_eq!(t.sender().stats().window_probes, 1);
    // The next probe is sent after twice the timeout.
    assert_eq!(t.wait(3110), "probe:4");
    assert_eq!(t.receive(3200, ack(4).window(3)), "new:4 new:5 new:6");
    assert_eq!(t.sender().peer_edge(), 7 * u64::from(SMSS));
}

#[test]
fn a_small_opening_is_not_used_before_the_timer_expires() {
    let mut t = plain()
        .window(4.0)
        .configure(|c| c.peer_window = 4 * SMSS)
        .start(20);
    let mut slightly = ack(4);
    slightly.0.window = SMSS / 2;
    assert_eq!(t.receive(100, slightly), "");
    assert_eq!(t.wait(1100), "new:4");
    assert_eq!(t.transmits()[0].segment.len, SMSS / 2);
}

#[test]
fn use_of_the_window_is_tracked_per_flight() {
    let used = |t: &Timeline| t.sender().state.usage.of_flight;
    let partly = |segments: u64| WindowUse::Partly {
        flight_max: segments * u64::from(SMSS),
    };
    // Three of ten segments are in flight, then six. One of these is acknowledged before another segment is sent.
    let mut t = plain().start(3);
    assert_eq!(used(&t), partly(3));
    t.write(3);
    assert_eq!(used(&t), partly(6));
    t.receive(100, ack(1));
    t.write(1);
    assert_eq!(used(&t), partly(6));
    // The flight that ended with segment 5 is over, so only the data that is outstanding now counts.
    t.receive(101, ack(6));
    t.write(1);
    assert_eq!(used(&t), partly(2));
    // A window that is filled up to the last segment counts as used, regardless of the reason for which the sender
    // stopped, until a later flight does not fill it.
    let mut t = plain().start(10);
    assert_eq!(used(&t), WindowUse::Filled);
    t.receive(100, ack(8));
    t.write(1);
    assert_eq!(used(&t), WindowUse::Filled);
    t.receive(101, ack(10));
    t.write(1);
    assert_eq!(used(&t), partly(2));
}

/// Control whose window grows by the credited bytes.
#[derive(Debug)]
struct Counting;

impl CongestionControl for Counting {
    fn on_ack(&mut self, _: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        let cwnd = view.window.cwnd + credit.bytes as f64;
        Window {
            cwnd,
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
fn the_credit_rule_decides_whether_sacked_data_counts_again() {
    let grown = |credit, setup: Setup, acks: &[AckIn]| {
        let setup = setup.control(Box::new(Counting));
        let mut t = setup.configure(|c| c.credit = credit).start(10);
        for (n, &ack) in acks.iter().enumerate() {
            t.receive(100 + n as u64, ack);
        }
        t.cwnd() - 10.0
    };
    // Segments 1 and 2 are sacked, and then 0 to 3 are acknowledged. All four count, or only the two new ones.
    let acks = [ack(0).sack(1, 2), ack(0).sack(1, 3), ack(4)];
    assert_eq!(grown(CreditRule::Acknowledged, plain().sack(), &acks), 4.0);
    assert_eq!(grown(CreditRule::Delivered, plain().sack(), &acks), 2.0);
    // Data that is sacked by an ACK that advances counts as well.
    let acks = [ack(1).sack(2, 4)];
    assert_eq!(grown(CreditRule::Acknowledged, plain().sack(), &acks), 1.0);
    assert_eq!(grown(CreditRule::Delivered, plain().sack(), &acks), 3.0);
    // Without SACK, two duplicate ACKs count as reports of two segments, so one of the three acknowledged segments is
    // new.
    let acks = [ack(0), ack(0), ack(3), ack(5)];
    assert_eq!(grown(CreditRule::Acknowledged, plain(), &acks), 5.0);
    assert_eq!(grown(CreditRule::Delivered, plain(), &acks), 3.0);
    // The segment that fills the hole is always new. The duplicate ACKs count as reports of the segments after it.
    let acks = [ack(0), ack(0), ack(1), ack(3)];
    assert_eq!(grown(CreditRule::Delivered, plain(), &acks), 2.0);
}

#[test]
fn reordering_is_measured() {
    let seen = |t: &Timeline| {
        let stats = t.sender().stats();
        (stats.reorderings, stats.reordering())
    };
    // Segment 2 arrives after 3. The distance of two segments does not exceed the threshold of three.
    let mut t = plain().sack().start(40);
    t.receive(100, ack(1).sack(3, 4));
    assert_eq!(seen(&t), (0, 3));
    t.receive(101, ack(1).sack(2, 4));
    assert_eq!(seen(&t), (1, 3));
    // Segment 1 arrives after 7, and its ACK acknowledges all segments before 4. The distance from 1 to the end of 7 is
    // seven segments.
    t.receive(102, ack(1).sack(2, 4).sack(7, 8));
    t.receive(103, ack(4).sack(7, 8));
    assert_eq!(seen(&t), (2, 7));
    // A retransmitted segment is no evidence of reordering.
    let mut t = plain().sack().start(10);
    for end in 2..5 {
        t.receive(100 + u64::from(end), ack(0).sack(1, end));
    }
    assert_eq!(t.sent(), "third:0");
    t.receive(200, ack(4));
    assert_eq!(seen(&t), (0, 3));
}

#[test]
fn an_idle_sender_restarts() {
    let idle = |rule| {
        let mut t = plain().configure(|c| c.idle = rule).window(2.0).start(5);
        t.receive(100, ack(2));
        t.receive(200, ack(5));
        assert!(t.cwnd() > 3.0, "{}", t.cwnd());
        t.wait(5000);
        t.write(20);
        format!("{} {}", t.sent(), t.cwnd())
    };
    assert_eq!(idle(IdleRule::Restart), "new:5 new:6 2");
    assert_eq!(idle(IdleRule::Keep), "new:5 new:6 new:7 new:8 4");
}

#[test]
fn the_control_is_told_of_every_idle_period() {
    /// Control that adds one segment to `ssthresh` for each idle period.
    #[derive(Debug, Default)]
    struct Told(f64);
    impl CongestionControl for Told {
        fn on_ack(&mut self, _: &AckFacts<'_>, _: Credit, view: &View<'_>) -> Window {
            Window {
                ssthresh: 100_000.0 + self.0 * f64::from(SMSS),
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
        fn on_idle_end(&mut self, _: Instant, _: Instant) {
            self.0 += 1.0;
        }
    }
    for rule in [IdleRule::Restart, IdleRule::Keep] {
        let setup = plain().control(Box::new(Told::default()));
        let mut t = setup.configure(|c| c.idle = rule).window(4.0).start(4);
        t.receive(100, ack(4));
        assert_eq!(t.ssthresh(), 100.0);
        // There is a short idle period, and one that is longer than the timeout.
        t.wait(300);
        t.write(1);
        t.receive(400, ack(5));
        assert_eq!(t.ssthresh(), 101.0);
        t.wait(9000);
        t.write(4);
        t.receive(9100, ack(9));
        assert_eq!(t.ssthresh(), 102.0, "{rule:?}");
    }
}

#[test]
fn reneging_is_detected() {
    let mut t = plain().sack().window(4.0).start(4);
    t.receive(100, ack(0).sack(1, 3));
    t.receive(101, ack(1));
    // The first outstanding segment is sacked, but was not acknowledged: the receiver reneged.
    assert_eq!(t.wait(1101), "rto:1");
    assert_eq!(t.sender().stats().renegings, 1);
    assert_eq!(t.sender().scoreboard().sacked_segments(), 0);
}

#[test]
fn unsent_data_cannot_be_acknowledged() {
    let mut t = plain().sack().window(2.0).start(10);
    assert_eq!(t.receive(100, ack(3)), "");
    assert_eq!(t.receive(101, ack(0).sack(1, 5)), "");
    let mut before = ack(0);
    before.0.ack = SeqNumber(0_u32.wrapping_sub(5000));
    assert_eq!(t.receive(102, before), "");
    let board = t.sender().scoreboard();
    assert_eq!((board.una(), board.sacked_bytes()), (0, 0));
    assert_eq!(t.sender().rtt().srtt(), None);
}

/// Returns an invalid state that no call can create: segments are outstanding, but no timer runs that would retransmit
/// them.
fn without_a_timer() -> Timeline {
    let mut t = plain().window(2.0).start(10);
    t.sender_mut().state.rto_at = None;
    t
}

#[test]
#[should_panic(expected = "the timer runs")]
fn handle_ack_detects_a_broken_invariant() {
    without_a_timer().sender_mut().handle_ack(at(1), &ack(1).0);
}

#[test]
#[should_panic(expected = "the timer runs")]
fn handle_timeout_detects_a_broken_invariant() {
    without_a_timer().sender_mut().handle_timeout(at(1));
}

#[test]
#[should_panic(expected = "the timer runs")]
fn poll_transmit_detects_a_broken_invariant() {
    let _ = without_a_timer().sender_mut().poll_transmit(at(1));
}

#[test]
fn an_early_timeout_call_has_no_effect() {
    let mut t = plain().window(2.0).start(10);
    t.sender_mut().handle_timeout(at(999));
    assert_eq!((t.sender().stats().timeouts, t.rto_at()), (0, Some(1000)));
}

#[test]
fn the_recovery_s_own_timer_may_start_a_loss_event() {
    let event = LossEvent::of(SegmentId(0), THIRD);
    let expiry = Expiry {
        loss: Some(event),
        rto: RtoTimer::Restart,
    };
    let mut t = Setup::new(Plain {
        timer: Some((at(400), expiry)),
        ..Plain::default()
    })
    .window(8.0)
    .start(8);
    assert_eq!(t.sender().next_timeout(), Some(at(400)));
    assert_eq!(t.wait(400), "");
    assert_eq!((t.cwnd(), t.rto_at()), (4.0, Some(1400)));
    assert_eq!(t.sender().stats().loss_events, 1);
}

#[test]
fn a_repaired_loss_is_judged_by_its_former_state() {
    // This differentiation checks the facts of the loss: the segment's offset and transmission number, the rule, and
    // the length of the hole.
    #[derive(Debug)]
    struct Asked;
    impl crate::differentiation::Differentiation for Asked {
        fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}
        fn judge(&mut self, loss: &LossFacts) -> LossCause {
            assert_eq!((loss.segment.start, loss.segment.order), (0, 1));
            assert_eq!(
                (loss.rule, loss.hole, loss.truth),
                (LossRule::PROBE, 1, None)
            );
            LossCause::Congestion
        }
    }
    let probe = plain().start(1);
    let lost = *probe
        .sender()
        .scoreboard()
        .get(SegmentId(0))
        .expect("it is outstanding");
    let expiry = Expiry {
        loss: Some(LossEvent::repaired(SegmentId(0), lost, LossRule::PROBE)),
        rto: RtoTimer::Keep,
    };
    let mut t = Setup::new(Plain {
        timer: Some((at(400), expiry)),
        ..Plain::default()
    })
    .differentiation(Box::new(Asked))
    .window(8.0)
    .start(50);
    t.receive(100, ack(1));
    t.wait(400);
    assert_eq!(t.sender().stats().loss_events, 1);
}

#[test]
fn the_response_sets_the_window_after_a_link_loss() {
    /// Response that sets a window of three segments after any loss, and a growth factor until the next loss.
    #[derive(Debug)]
    struct Three(f64);
    impl crate::response::Response for Three {
        fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}
        fn respond(&mut self, _: &LossFacts, congestion: Window) -> Window {
            assert_eq!(congestion.cwnd, 4000.0);
            Window {
                cwnd: 3000.0,
                ssthresh: 3000.0,
            }
        }
        fn growth(&self) -> f64 {
            self.0
        }
    }
    // Values outside 0..=1 are limited to this range, and NaN counts as 0. The full increase is 1/3 of a segment.
    for (growth, more) in [
        (0.0, 0.0),
        (-1.0, 0.0),
        (f64::NAN, 0.0),
        (1.0, 1.0),
        (9.0, 1.0),
    ] {
        let mut t = plain()
            .differentiation(Box::new(Always(LossCause::Wireless)))
            .response(Box::new(Three(growth)))
            .window(8.0)
            .start(50);
        for n in 1..=3 {
            t.receive(100 + n, ack(0));
        }
        assert_eq!(t.cwnd(), 3.0);
        t.receive(200, ack(8));
        let increase = t.cwnd() - 3.0;
        assert!((increase - more / 3.0).abs() < 1e-9, "{growth}: {increase}");
    }
}

/// Control with a model that paces at 100 segments per second and is called for every transmission.
#[derive(Debug, Default)]
struct Paced {
    departures: u64,
    /// Number of lost bytes according to the last ACK.
    lost: Option<u64>,
}

impl CongestionControl for Paced {
    fn governance(&self) -> Governance {
        Governance::Model
    }

    fn on_sent(&mut self, _: &Sent, departure: Departure, view: &View<'_>) {
        self.departures += 1;
        assert_eq!(departure.in_flight, view.flight_size());
        assert!(view.rto_at.is_some(), "the first transmission started it");
    }

    fn on_ack(&mut self, facts: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        assert!(facts.prior_in_flight.is_some() && credit.in_flight.is_some());
        self.lost = credit.lost_bytes;
        view.window
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        loss.window
    }

    fn on_loss(&mut self, _: &LossFacts, _: LossCause, _: Window) {}

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        loss.window
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(100.0 * f64::from(SMSS))
    }

    /// Returns the number of lost bytes, for tests.
    fn bandwidth_estimate(&self) -> Option<f64> {
        self.lost.map(|bytes| bytes as f64)
    }
}

#[test]
fn retransmissions_count_as_lost_if_the_recovery_does_not_count() {
    let mut t = plain()
        .control(Box::new(Paced::default()))
        .window(8.0)
        .start(8);
    t.wait(80);
    let mut lost_after = |ms, ack| {
        t.receive(ms, ack);
        t.wait(ms + 15);
        t.sender().stack().control.bandwidth_estimate()
    };
    assert_eq!(lost_after(100, ack(1)), Some(0.0));
    lost_after(120, ack(1));
    lost_after(140, ack(1));
    // The third duplicate ACK causes the retransmission, which counts as lost from the next ACK on.
    assert_eq!(lost_after(160, ack(1)), Some(0.0));
    assert_eq!(lost_after(180, ack(1)), Some(f64::from(SMSS)));
    assert_eq!(lost_after(200, ack(5)), Some(f64::from(SMSS)));
}

#[test]
fn a_paced_sender_spreads_its_window() {
    let mut t = plain()
        .control(Box::new(Paced::default()))
        .window(3.0)
        .start(9);
    assert_eq!(t.sent(), "new:0");
    assert_eq!(t.sender().paced_until(), Some(at(10)));
    assert_eq!(t.wait(9), "");
    assert_eq!(t.wait(20), "new:1 new:2");
    // The window is full, so pacing has no effect.
    assert_eq!(t.wait(500), "");
    t.receive(600, ack(1));
    assert_eq!(t.sent(), "new:3");
}

/// Control whose initial window is one segment for each 20 ms of the round-trip time.
#[derive(Debug)]
struct ByRoundTrip;

impl CongestionControl for ByRoundTrip {
    fn on_handshake(&mut self, rtt: Duration, opening: Window) -> Window {
        assert_eq!(opening.cwnd, 2.0 * f64::from(SMSS));
        Window {
            cwnd: rtt.as_secs_f64() / 0.02 * f64::from(SMSS),
            ..opening
        }
    }

    fn on_ack(&mut self, _: &AckFacts<'_>, _: Credit, view: &View<'_>) -> Window {
        view.window
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
fn a_control_may_choose_the_opening_window_by_the_handshake_rtt() {
    let opened = |rtt| {
        let mut t = plain().control(Box::new(ByRoundTrip)).window(2.0).start(0);
        t.sender_mut()
            .note_handshake(at(0), Duration::from_millis(rtt));
        t.write(100);
        t.cwnd()
    };
    // The minimum is one segment.
    assert_eq!([opened(100), opened(5)], [5.0, 1.0]);
}

#[test]
fn a_host_that_wakes_late_keeps_the_pace() {
    let mut t = plain()
        .control(Box::new(Paced::default()))
        .window(9.0)
        .start(9);
    assert_eq!(t.sender().paced_until(), Some(at(10)));
    let late = at(10) + Duration::from_micros(700);
    let sender = t.sender_mut();
    assert!(sender.poll_transmit(late).is_some(), "it is time");
    assert!(sender.poll_transmit(late).is_none());
    assert_eq!(
        sender.paced_until(),
        Some(at(20)),
        "as if the timer had been in time"
    );
}

#[test]
fn the_view_shows_the_current_timer() {
    /// Recovery that checks the timer in its views.
    #[derive(Debug)]
    struct Shown(Plain);
    impl Recovery for Shown {
        fn on_sent(&mut self, sent: &Sent, view: &View<'_>) -> RtoTimer {
            let running = (sent.id > SegmentId(0)).then(|| at(1000));
            assert_eq!(view.rto_at, running, "it starts after the first has left");
            self.0.on_sent(sent, view)
        }
        fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) -> Outcome {
            assert_eq!(
                view.rto_at,
                Some(at(1000)),
                "restarted by the decision on the ACK"
            );
            self.0.on_ack(ack, view)
        }
        fn on_rto(&mut self, view: &View<'_>) {
            assert_eq!(view.rto_at, None);
            self.0.on_rto(view);
        }
        fn in_flight(&self, view: &View<'_>) -> u64 {
            self.0.in_flight(view)
        }
        fn next(&self, view: &View<'_>) -> Next {
            self.0.next(view)
        }
    }
    let mut t = Setup::new(Shown(Plain::default())).window(3.0).start(3);
    t.receive(100, ack(1));
    assert_eq!(t.rto_at(), Some(1100));
    t.sender_mut().handle_timeout(at(1100));
    assert_eq!(t.rto_at(), Some(3100));
}

#[test]
fn everything_arrives_whatever_is_lost() {
    for seed in 0..50 {
        let mut lost = coin(seed, 0.1);
        let done = plain()
            .control(Box::new(Aimd::Window))
            .transfer(200, |_, _| lost());
        assert!(done.stats.segments_sent >= 200 + done.stats.retransmissions);
        assert!(done.finished > at(100));
    }
}

/// This compiles only if a timeline can be moved to another thread, as some hosts do with senders.
#[test]
fn a_sender_is_send() {
    fn is_send<T: Send>() {}
    is_send::<Timeline>();
}
