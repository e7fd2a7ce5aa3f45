//! Tests that every stack completes a transfer over a lossy link in every dialect, and that in the dialect `ns2` the
//! catalog's stacks send the same packets as ns-2's senders.

use std::collections::VecDeque;
use std::fs;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::sender::{Transmit, TransmitKind};
use dupack_tcp::time::{Duration, Instant};
use dupack_tcp::window::Window;
use dupack_tcp::{Receiver, Sender};

use super::CATALOG;
use crate::catalog::dialect::{receiver_config, sender_config};
use crate::catalog::{Context, Dialect, StackSpec};
use crate::testing::coin;

const SMSS: u32 = 1000;

/// Link and the transfer over it.
#[derive(Clone, Copy)]
struct Scene {
    /// Transmission time of a segment.
    service: Duration,
    /// Propagation delay in each direction.
    delay: Duration,
    segments: u64,
    ack_policy: AckPolicy,
    /// Initial slow start threshold in segments.
    ssthresh: f64,
    /// End of the run, even if the transfer is not complete.
    end: Instant,
}

/// Path that holds 21 segments; 2000 segments take 10 s.
const PLAIN: Scene = Scene {
    service: Duration::from_millis(5),
    delay: Duration::from_millis(50),
    segments: 2000,
    ack_policy: AckPolicy::Delayed(Duration::from_millis(40)),
    ssthresh: f64::INFINITY,
    end: Instant::FAR_FUTURE,
};

/// Wrapper of a differentiation that reports every loss as truly wireless.
#[derive(Debug)]
struct Truth(Box<dyn Differentiation>);

impl Differentiation for Truth {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.0.on_ack(ack, view);
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        let mut loss = *loss;
        loss.truth = Some(LossCause::Wireless);
        self.0.judge(&loss)
    }
}

/// Runs the transfer and returns its duration. `lost` receives every transmission and the current window.
fn run(
    stack: &StackSpec,
    dialect: Dialect,
    scene: &Scene,
    lost: &mut dyn FnMut(&Transmit, Window) -> bool,
) -> Instant {
    let needs = stack.needs(dialect);
    let context = Context::new(SMSS);
    let mut config = sender_config(dialect, SMSS, &needs);
    config.initial_ssthresh = scene.ssthresh * f64::from(SMSS);
    let mut built = stack.build(dialect, &context);
    built.differentiation = Box::new(Truth(built.differentiation));
    let mut sender = Sender::new(config, built);
    let mut receiver = Receiver::new(receiver_config(dialect, SMSS, &needs, scene.ack_policy));
    let (mut data, mut acks) = (VecDeque::new(), VecDeque::new());
    let mut now = Instant::ZERO;
    let mut link_free = Instant::ZERO;
    sender.write(scene.segments * u64::from(SMSS));
    for _ in 0..1_000_000 {
        while let Some(transmit) = sender.poll_transmit(now) {
            if !lost(&transmit, sender.window()) {
                link_free = link_free.max(now) + scene.service;
                data.push_back((link_free + scene.delay, transmit.segment));
            }
        }
        while let Some(ack) = receiver.poll_ack() {
            acks.push_back((now + scene.delay, ack));
        }
        let window = sender.window();
        assert!(window.cwnd.is_finite() && window.cwnd >= f64::from(SMSS));
        assert!(window.ssthresh >= f64::from(SMSS));
        if sender.is_done() || now >= scene.end {
            return now;
        }
        let next = [
            data.front().map(|(at, _)| *at),
            acks.front().map(|(at, _)| *at),
            sender.next_timeout(),
            receiver.next_timeout(),
        ];
        let next = next.into_iter().flatten().min();
        now = next.expect("an event is left").max(now);
        if data.front().is_some_and(|(at, _)| *at <= now) {
            let (_, segment) = data.pop_front().expect("it is there");
            receiver.handle_data(now, &segment);
        } else if acks.front().is_some_and(|(at, _)| *at <= now) {
            let (_, ack) = acks.pop_front().expect("it is there");
            sender.handle_ack(now, &ack);
        } else {
            sender.handle_timeout(now);
            receiver.handle_timeout(now);
        }
    }
    panic!("{stack} in {dialect} does not end: {sender:?}");
}

/// Returns the duration of [`PLAIN`] with random loss.
fn transfer(stack: &StackSpec, dialect: Dialect, loss_rate: f64) -> Instant {
    let mut lost = coin(7, loss_rate);
    run(stack, dialect, &PLAIN, &mut |_, _| lost())
}

#[test]
fn every_stack_completes_under_loss() {
    for stack in CATALOG.stacks_by_pairs() {
        for dialect in Dialect::ALL {
            transfer(&stack, dialect, 0.02);
        }
    }
}

#[test]
fn without_loss_every_stack_fills_the_path() {
    // The data takes 10 s, plus the cost of slow start and of the last round trip.
    for stack in CATALOG.stacks_by_pairs() {
        for dialect in Dialect::ALL {
            let taken = transfer(&stack, dialect, 0.0).as_secs_f64();
            assert!(
                (10.0..12.0).contains(&taken),
                "{stack} in {dialect}: {taken} s"
            );
        }
    }
}

#[test]
fn response_0_is_tcp_to_the_byte() {
    for tcp in CATALOG.stacks().filter(|s| s.names()[2..] == ["none", "0"]) {
        let [recovery, control, ..] = tcp.names();
        if CATALOG
            .forbids([recovery, control, "oracle", "0"])
            .is_some()
        {
            continue;
        }
        let judged = StackSpec::parse(&format!("{tcp}/oracle/0"), &CATALOG).expect("a stack");
        for dialect in Dialect::ALL {
            assert_eq!(
                transfer(&tcp, dialect, 0.02),
                transfer(&judged, dialect, 0.02),
                "{tcp} in {dialect}"
            );
        }
    }
}

#[test]
fn not_slowing_down_for_the_link_pays() {
    let time = |text: &str| {
        let stack = StackSpec::parse(text, &CATALOG).expect("a stack");
        transfer(&stack, Dialect::Rfc, 0.01).as_secs_f64()
    };
    let tcp = time("newreno/reno");
    assert!(time("newreno/reno/oracle/1") < 0.9 * tcp);
    assert!(time("newreno/westwood") < 0.9 * tcp);
}

/// Returns the packets that ns-2's `agent` sent in the setting of Momentary's figure 3, each with the current window in
/// packets. Packet 0 is the SYN and is omitted.
fn ns2_log(agent: &str) -> Vec<(u64, f64)> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../validation/peers/ns2/oracle-momentary.csv"
    );
    let text = fs::read_to_string(path).expect("the log is in the repository");
    let mut cwnd = 0.0;
    let mut sent = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        match fields[..] {
            [name, _, "cwnd", _, value] if name == agent => {
                cwnd = value.parse().expect("a number");
            }
            [name, _, "send", packet, _] if name == agent && packet != "0" => {
                sent.push((packet.parse().expect("a number"), cwnd));
            }
            _ => {}
        }
    }
    sent
}

/// Compares the dialect as a whole (control, rounding, timer) with ns-2.35: the same packets with the same windows,
/// which are 11.408 segments before the loss of packets 24 to 30 and 5.704 after it.
#[test]
fn in_the_dialect_ns2_stacks_send_the_same_packets_as_ns2() {
    let scene = Scene {
        // 1040 bytes at 1 Mbit/s; the delay is 98 ms of the bottleneck plus the access links.
        service: Duration::from_micros(8320),
        delay: Duration::from_micros(101_000),
        segments: 10_000,
        ack_policy: AckPolicy::Immediate,
        ssthresh: 10.0,
        end: Instant::from_nanos(10_000_000_000),
    };
    for (text, agent) in [
        ("reno/reno", "reno"),
        ("newreno/reno", "newreno"),
        ("newreno(variant=slow-but-steady)/reno", "newreno-sbs"),
    ] {
        let stack = StackSpec::parse(text, &CATALOG).unwrap_or_else(|error| panic!("{error}"));
        let mut ours = Vec::new();
        run(&stack, Dialect::Ns2, &scene, &mut |transmit, window| {
            let packet = transmit.offset / u64::from(SMSS) + 1;
            ours.push((packet, window.cwnd / f64::from(SMSS)));
            transmit.kind == TransmitKind::First && (24..=30).contains(&packet)
        });
        let theirs = ns2_log(agent);
        assert!(theirs.len() > 600, "{agent}");
        assert!(ours.iter().any(|(_, cwnd)| (cwnd - 5.7038).abs() < 1e-3));
        // ns-2 begins with a SYN, one round trip earlier; its log has six digits.
        for (i, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
            let same = theirs.0 == ours.0 && (theirs.1 - ours.1).abs() < 1e-3;
            assert!(
                same,
                "{text}, transmission {i}: ns-2 {theirs:?}, we {ours:?}"
            );
        }
    }
}
