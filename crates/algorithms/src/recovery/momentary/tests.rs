use std::collections::VecDeque;

use dupack_tcp::options::Sack;
use dupack_tcp::receiver::{AckPolicy, Reading};
use dupack_tcp::segment::Ack;
use dupack_tcp::sender::{CreditRule, TransmitKind};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::{Receiver, ReceiverConfig, Sender, Transmit};

use super::*;
use crate::catalog::Dialect;
use crate::congestion::reno;
use crate::recovery::storm::{SackedSegments, build, sender, storm};
use crate::testing::{SMSS, Setup, Timeline, ack};

/// Reaction of a sender to one event.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    /// Time of the event.
    at_ms: f64,
    /// cwnd after the event, in segments.
    cwnd: f64,
    /// Numbers of the segments that the sender sent.
    sent: Vec<u64>,
}

/// Bottleneck of 1 Mbit/s (8.32 ms for 1040 bytes) with access links of 10 Mbit/s and 1 ms, and a round-trip time of
/// 200 ms without load. The first transmissions of some segments are dropped.
struct Dumbbell {
    sender: Sender,
    receiver: Receiver,
    lost: fn(u64) -> bool,
    now: Instant,
    bottleneck_free: Instant,
    acks: VecDeque<(Instant, Ack)>,
    data: VecDeque<(Instant, Transmit)>,
    steps: Vec<Step>,
}

impl Dumbbell {
    /// Runs for `ms` milliseconds, and loses the first transmissions of the segments for which `lost` is true.
    fn run(recovery: Box<dyn Recovery>, lost: fn(u64) -> bool, ms: u64) -> Vec<Step> {
        let mut receiver = ReceiverConfig::new(SMSS);
        receiver.buffer = 1000 * SMSS;
        receiver.ack_policy = AckPolicy::Immediate;
        receiver.sack = Sack::Permitted;
        receiver.application = Reading::AtOnce;
        let receiver = Receiver::new(receiver);
        let mut world = Self {
            sender: sender(recovery, |_| {}),
            receiver,
            lost,
            now: Instant::ZERO,
            bottleneck_free: Instant::ZERO,
            acks: VecDeque::new(),
            data: VecDeque::new(),
            steps: Vec::new(),
        };
        world.sender.write(u64::MAX / 2);
        world.emit();
        while world.now < Instant::ZERO + Duration::from_millis(ms) {
            world.step();
        }
        world.steps
    }

    fn step(&mut self) {
        let data_at = self.data.front().map(|d| d.0);
        let ack_at = self.acks.front().map(|a| a.0);
        let next = [data_at, ack_at, self.sender.next_timeout()];
        self.now = next.into_iter().flatten().min().expect("an event is left");
        if data_at == Some(self.now) {
            let (_, transmit) = self.data.pop_front().expect("it is there");
            self.receiver.handle_data(self.now, &transmit.segment);
            let ack = self.receiver.poll_ack().expect("every segment is answered");
            // 40 bytes over 10, 1 and 10 Mbit/s: 32 + 320 + 32 µs.
            let back = Duration::from_micros(100_384);
            self.acks.push_back((self.now + back, ack));
            return;
        }
        if ack_at == Some(self.now) {
            let (_, ack) = self.acks.pop_front().expect("it is there");
            self.sender.handle_ack(self.now, &ack);
        } else {
            self.sender.handle_timeout(self.now);
        }
        self.emit();
    }

    fn emit(&mut self) {
        let mut sent = Vec::new();
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            let number = transmit.offset / u64::from(SMSS);
            sent.push(number);
            if transmit.kind == TransmitKind::First && (self.lost)(number) {
                continue;
            }
            let arrives = self.now + Duration::from_micros(1832);
            self.bottleneck_free = self.bottleneck_free.max(arrives) + Duration::from_micros(8320);
            let there = self.bottleneck_free + Duration::from_micros(98_000 + 1832);
            self.data.push_back((there, transmit));
        }
        self.steps.push(Step {
            at_ms: self.now.as_nanos() as f64 / 1e6,
            cwnd: self.sender.window().cwnd / f64::from(SMSS),
            sent,
        });
    }
}

/// Algorithm 1 as printed.
const PRINTED: [(&str, &str); 3] = [
    ("slide", "next-ack"),
    ("exit", "repaired"),
    ("new_loss", "ignore"),
];

/// Figures 3(d) and 4: packets 24 to 30 are dropped, and cwnd is 11.408 before and 5.704 after. The defaults and the
/// printed algorithm send the same packets.
#[test]
fn the_papers_oracle_to_the_packet() {
    for settings in [&[][..], &PRINTED] {
        let recovery = build(&entry(), Dialect::Ns2, settings);
        let steps = Dumbbell::run(recovery, |n| (24..31).contains(&n), 1800);
        let halved = steps.windows(2).position(|w| w[1].cwnd < w[0].cwnd);
        let halved = halved.expect("there is a loss");
        assert!((steps[halved].cwnd - 11.408).abs() < 0.0005, "{steps:?}");
        assert!((steps[halved + 1].cwnd - 5.704).abs() < 0.0005, "{steps:?}");
        // "2 + 3": two segments by limited transmit, then three retransmissions.
        let round = |from: f64, to: f64| -> Vec<u64> {
            let within = steps.iter().filter(|s| (from..to).contains(&s.at_ms));
            within.flat_map(|s| s.sent.clone()).collect()
        };
        assert_eq!(round(1290.0, 1490.0), [35, 36, 24, 25, 26]);
        // "5 + 1" in the next round trip.
        assert_eq!(round(1490.0, 1700.0), [27, 28, 29, 30, 37, 38]);
        // There is no timeout, and the window never decreases after it was halved.
        let after = &steps[halved + 1..];
        assert!(after.windows(2).all(|w| w[1].cwnd >= w[0].cwnd));
    }
}

/// Figure 2: packets 1 to 6 (here 0 to 5) are in flight, the first is lost, and cwnd falls from 6 to 3. The example has
/// no limited transmit. 1, 7 and 8 (here 0, 6, 7) are sent as the duplicate ACKs arrive. When the ACK for 8 has
/// arrived, cwnd/2 + 1 = 4 more have been sent, from 9 (here 8) on.
#[test]
fn the_example_of_figure_2() {
    let mut t = figure_2(&[]);
    assert_eq!(t.receive(102, ack(0).sack(1, 4)), "hole:0");
    assert_eq!((t.cwnd(), t.in_flight()), (3.0, 3.0));
    assert_eq!(t.receive(103, ack(0).sack(1, 5)), "new:6");
    assert_eq!(t.receive(104, ack(0).sack(1, 6)), "new:7");
    assert_eq!(t.receive(202, ack(6)), "new:8");
    assert_eq!(t.receive(203, ack(7)), "new:9 new:10");
    assert_eq!(t.receive(204, ack(8)), "new:11");
}

/// The printed algorithm sends the same packets, the first one with the next duplicate ACK.
#[test]
fn the_example_of_figure_2_as_printed() {
    let mut t = figure_2(&PRINTED);
    assert_eq!(t.receive(102, ack(0).sack(1, 4)), "");
    assert_eq!((t.cwnd(), t.in_flight()), (3.0, 6.0));
    assert_eq!(t.receive(103, ack(0).sack(1, 5)), "hole:0 new:6");
    assert_eq!(t.receive(104, ack(0).sack(1, 6)), "new:7");
    assert_eq!(t.receive(203, ack(6)), "new:8");
    assert_eq!(t.receive(203, ack(7)), "new:9 new:10");
    assert_eq!(t.receive(204, ack(8)), "new:11");
}

/// Returns the sender of figure 2 after two duplicate ACKs.
fn figure_2(settings: &[(&'static str, &'static str)]) -> Timeline {
    let setup = Setup::new(entry()).set("limited_transmit", "off");
    let setup = settings
        .iter()
        .fold(setup, |s, (name, word)| s.set(name, word));
    let mut t = setup.window(6.0).ssthresh(3.0).start(100);
    assert_eq!(t.receive(100, ack(0).sack(1, 2)), "");
    assert_eq!(t.receive(101, ack(0).sack(1, 3)), "");
    t
}

/// Four segments are in flight, and the first is lost, so the third duplicate ACK is the last one. With
/// `slide=next-ack` the hole waits for the ACK of a segment that limited transmit sent, or for the timer.
#[test]
fn three_duplicate_acks_are_too_few_for_a_slide_with_the_next_ack() {
    let after_three = |slide, limited_transmit| {
        let setup = Setup::new(entry())
            .set("slide", slide)
            .set("limited_transmit", limited_transmit);
        let mut t = setup.window(4.0).ssthresh(4.0).start(100);
        t.receive(100, ack(0).sack(1, 2));
        t.receive(101, ack(0).sack(1, 3));
        let sent = t.receive(102, ack(0).sack(1, 4)).to_owned();
        assert_eq!(t.cwnd(), 2.0);
        (sent, t)
    };
    let (sent, _) = after_three("at-loss", "off");
    assert_eq!(sent, "hole:0 new:4");
    let (sent, mut t) = after_three("next-ack", "off");
    assert_eq!(sent, "");
    assert_eq!(t.wait(1302), "rto:0");
    // Limited transmit sent 4 and 5, which fill the halved window.
    let (sent, mut t) = after_three("at-loss", "on");
    assert_eq!(sent, "");
    assert_eq!(t.receive(200, ack(0).sack(1, 5)), "hole:0");
    let (sent, mut t) = after_three("next-ack", "on");
    assert_eq!(sent, "");
    assert_eq!(t.receive(200, ack(0).sack(1, 5)), "hole:0");
}

/// Figure 5 with eight losses: packets 24 to 31 of 34 are dropped, so three duplicate ACKs arrive. With
/// `slide=next-ack`, the timer expires before the ACKs of limited transmit arrive.
#[test]
fn eight_losses_of_figure_5_are_too_many_for_a_slide_with_the_next_ack() {
    let smallest = |slide| {
        let recovery = build(&entry(), Dialect::Ns2, &[("slide", slide)]);
        let steps = Dumbbell::run(recovery, |n| (24..32).contains(&n), 2_500);
        let late = steps.iter().filter(|s| s.at_ms > 1_000.0);
        late.fold(f64::INFINITY, |least: f64, s| least.min(s.cwnd))
    };
    assert!(smallest("at-loss") > 5.7);
    assert_eq!(smallest("next-ack"), 1.0);
}

/// Ten segments are in flight, and 0 is lost. 11, which limited transmit sent before the loss was detected, is also
/// lost, and no ACK shows this before 0 is repaired.
#[test]
fn a_loss_at_the_end_of_the_window_halves_again_if_repairs_end_the_recovery() {
    for new_loss in ["halve", "ignore"] {
        for (exit, events) in [("covered", 1), ("repaired", 2)] {
            let setup = Setup::new(entry())
                .set("exit", exit)
                .set("new_loss", new_loss);
            let mut t = setup.window(10.0).ssthresh(10.0).start(100);
            assert_eq!(t.receive(100, ack(0).sack(1, 2)), "limited:10");
            assert_eq!(t.receive(101, ack(0).sack(1, 3)), "limited:11");
            for n in 4..=10 {
                t.receive(98 + u64::from(n), ack(0).sack(1, n));
            }
            t.receive(200, ack(0).sack(1, 11));
            // The retransmission of 0 has arrived, and everything up to 10 with it. 12 and later segments follow.
            assert!(!t.receive(206, ack(11)).contains("hole"));
            for n in 13..=16 {
                t.receive(194 + u64::from(n), ack(11).sack(12, n));
            }
            let found = t.sender().stats().loss_events;
            assert_eq!(found, events, "{exit}, {new_loss}");
        }
    }
}

/// The path loses every fifth segment from 200 on, when cwnd is 22, so at least one in every round trip. Without another
/// halving in recovery mode, recovery mode never ends, and the window grows through all these losses.
#[test]
fn a_loss_in_every_round_trip_is_congestion_that_the_printed_algorithm_ignores() {
    let largest = |settings: &[(&'static str, &'static str)]| {
        let recovery = build(&entry(), Dialect::Ns2, settings);
        let steps = Dumbbell::run(recovery, |n| n >= 200 && n % 5 == 0, 15_000);
        let late = steps.iter().filter(|s| s.at_ms > 10_000.0);
        late.fold(0.0, |most: f64, s| most.max(s.cwnd))
    };
    let halving = largest(&[]);
    let ignoring = largest(&[("new_loss", "ignore")]);
    let printed = largest(&PRINTED);
    assert!(
        halving < 8.0 && ignoring > 20.0 && printed > 20.0,
        "{halving}, {ignoring}, {printed}"
    );
}

#[test]
fn a_loss_after_the_loss_halves_again_after_a_round_trip() {
    for (word, events, resent_at) in [("halve", 2, 206), ("ignore", 1, 203)] {
        let mut t = Setup::new(entry())
            .set("new_loss", word)
            .window(10.0)
            .ssthresh(5.0)
            .start(100);
        // 0 is lost. Limited transmit sends 10 and 11, and 10 is also lost. Both were sent before the loss was
        // detected, so they belong to it.
        assert_eq!(t.receive(100, ack(0).sack(1, 2)), "limited:10");
        assert_eq!(t.receive(101, ack(0).sack(1, 3)), "limited:11");
        assert_eq!(t.receive(102, ack(0).sack(1, 4)), "");
        assert_eq!(t.cwnd(), 5.0);
        for n in 5..10 {
            t.receive(98 + u64::from(n), ack(0).sack(1, n));
        }
        assert_eq!(t.in_flight(), 4.0 + 1.0);
        // 10 is a hole of the same event; 12 and later segments were sent after it.
        t.receive(110, ack(0).sack(1, 10));
        assert_eq!(
            t.receive(201, ack(0).sack(1, 10).sack(11, 12)),
            "hole:10 new:15"
        );
        // 0 has arrived, and 12 is lost: three ACKs report segments above it.
        t.receive(202, ack(10).sack(11, 12));
        let mut resent = None;
        for n in 14..18 {
            let ms = 189 + u64::from(n);
            let sent = t.receive(ms, ack(10).sack(13, n).sack(11, 12));
            if sent.contains("hole:12") {
                resent = Some(ms);
            }
        }
        assert_eq!(t.sender().stats().loss_events, events, "{word}");
        assert_eq!(resent, Some(resent_at), "{word}");
    }
}

#[test]
fn before_a_loss_only_advances_open_the_window() {
    // Algorithm 1. On reordering paths, Linux counts sacked data, which is not part of the algorithm.
    let mut t = Setup::new(entry())
        .controlled_by(reno::entry())
        .window(8.0)
        .configure(|config| config.credit = CreditRule::Delivered)
        .start(100);
    t.receive(100, ack(0).sack(7, 8));
    t.receive(101, ack(8));
    let before = t.cwnd();
    t.receive(200, ack(8).sack(9, 10));
    assert_eq!(t.cwnd(), before);
    t.receive(201, ack(10));
    assert!(t.cwnd() > before);
}

#[test]
fn a_timeout_resends_all_that_is_not_sacked() {
    let mut t = Setup::new(entry()).window(4.0).start(6);
    assert_eq!(t.receive(100, ack(0).sack(3, 4)), "limited:4");
    assert_eq!(t.wait(1300), "rto:0");
    assert_eq!(t.in_flight(), 1.0);
    assert_eq!(t.receive(1400, ack(1).sack(3, 4)), "rto:1 rto:2");
    assert_eq!(t.receive(1500, ack(2).sack(3, 4)), "rto:4");
    assert_eq!(t.receive(1501, ack(4)), "new:5");
    assert_eq!(t.in_flight(), 2.0);
}

#[test]
fn it_survives_any_path_and_peer() {
    for seed in 0..20 {
        for dialect in Dialect::ALL {
            for slide in ["at-loss", "next-ack"] {
                for exit in ["covered", "repaired"] {
                    for new_loss in ["halve", "ignore"] {
                        let settings = [("slide", slide), ("exit", exit), ("new_loss", new_loss)];
                        let recovery = build(&entry(), dialect, &settings);
                        storm(recovery, seed, SackedSegments::StayUnsent);
                    }
                }
            }
        }
    }
}

#[test]
fn under_cubic_the_curve_begins_at_the_loss_and_every_ack_counts() {
    // The paper's future work. Ten segments are in flight in congestion avoidance, and the first is lost.
    let setup = Setup::new(entry())
        .controlled_by(crate::congestion::cubic::entry())
        .window(10.0);
    let mut t = setup.ssthresh(10.0).start(1000);
    assert_eq!(t.receive(100, ack(0).sack(1, 2)), "limited:10");
    assert_eq!(t.receive(101, ack(0).sack(1, 3)), "limited:11");
    assert_eq!(t.cwnd(), 10.0);
    // The window becomes β = 0.7 of the 10 segments, once. Segments 4 to 11 are beyond the forward ACK and fill it.
    assert_eq!(t.receive(102, ack(0).sack(1, 4)), "");
    assert_eq!((t.cwnd(), t.ssthresh()), (7.0, 7.0));
    // Each later duplicate ACK causes one increase. The stage begins with the first of them: W_cubic(0) = 7 is below
    // W_est = 7 + α/7, α = 9/17.
    assert_eq!(t.receive(103, ack(0).sack(1, 5)), "");
    let mut w_est = 7.0 + 9.0 / 17.0 / 7.0;
    assert_close(t.cwnd(), w_est);
    let mut sent = Vec::new();
    for n in 6..=10 {
        sent.push(t.receive(98 + u64::from(n), ack(0).sack(1, n)).to_owned());
        w_est += 9.0 / 17.0 / w_est;
        assert_close(t.cwnd(), w_est);
    }
    // The hole is sent first, then one new segment per ACK: the window slides by the forward ACK.
    assert_eq!(sent, ["hole:0", "new:12", "new:13", "new:14", "new:15"]);
    // The hole is filled, and recovery mode ends with the segments of limited transmit. There is no second event, and
    // the curve continues to its plateau at W_max = 10, K = ³√(3/0.4) = 1.957 s away.
    t.receive(204, ack(10));
    t.receive(205, ack(12));
    assert!(t.cwnd() > w_est);
    assert_eq!((t.ssthresh(), t.sender().stats().loss_events), (7.0, 1));
    assert_eq!(t.sender().stats().recoveries, 1);
}

/// Checks that the values are equal up to the order of floating-point additions.
fn assert_close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-9, "{left} for {right}");
}

#[test]
fn under_cubic_the_window_is_back_at_its_maximum_after_k() {
    // 100 segments are in flight at a loss, and the RTT is 100 ms. The window becomes 70, and W_max = 100 is reached
    // after K = 4.217 s, regardless of holes. The transfer has one loss.
    let after = |ms: u64| {
        let setup = Setup::new(entry())
            .controlled_by(crate::congestion::cubic::entry())
            .window(100.0);
        let mut t = setup.ssthresh(100.0).start(100_000);
        for n in 2..=100 {
            t.receive(100, ack(0).sack(1, n));
        }
        let mut now = 200;
        while now <= ms {
            let nxt = (t.sender().scoreboard().nxt() / u64::from(SMSS)) as u32;
            let una = (t.sender().scoreboard().una() / u64::from(SMSS)) as u32;
            for n in una + 1..=nxt {
                t.receive(now, ack(n));
            }
            now += 100;
        }
        assert_eq!(t.sender().stats().loss_events, 1);
        t.cwnd()
    };
    // At t = 4.2 s, the stage is at its plateau: W(4.217 s) = 100.
    let plateau = after(4300);
    assert!((99.0..101.0).contains(&plateau), "{plateau}");
    // At t = 9.2 s: 100 + 0.4 · 5³ = 150.
    let beyond = after(9300);
    assert!((145.0..152.0).contains(&beyond), "{beyond}");
}
