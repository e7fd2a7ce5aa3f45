//! Tests of undo: a spurious reduction is undone, and a justified one is not. The sender's belief is compared with the
//! truth.

use crate::common::{MSS, at_ms, single};
use dupack_algorithms::catalog::dialect::{receiver_config, sender_config};
use dupack_algorithms::catalog::{Catalog, Context, Dialect, StackSpec};
use dupack_net::flow::{Application, TcpFlowConfig};
use dupack_net::ids::FlowId;
use dupack_net::link::{DeliveryTrace, LinkConfig, QueueLimit, Reordering, ServiceConfig};
use dupack_net::observer::Unobserved;
use dupack_net::simulation::Simulation;
use dupack_net::units::{BitRate, Probability};
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::sender::SenderStats;
use dupack_tcp::time::Duration;

const BYTES: u64 = 2_000 * MSS as u64;
const RECOVERIES: [&str; 6] = ["rack", "sack", "fack", "newreno", "momentary", "le"];

/// Runs a transfer in dialect `linux`, with windows that never limit it.
fn transfer(text: &str, there: &LinkConfig, seed: u64) -> Simulation {
    let stack = StackSpec::parse(text, &Catalog::builtin()).expect("a stack");
    let change = |config: &mut TcpFlowConfig| {
        let needs = stack.needs(Dialect::Linux);
        config.sender = sender_config(Dialect::Linux, MSS, &needs);
        config.receiver = receiver_config(Dialect::Linux, MSS, &needs, AckPolicy::Immediate);
        config.stack = stack.build(Dialect::Linux, &Context::new(MSS));
    };
    let back = LinkConfig::pure_delay(Duration::from_millis(20));
    let application = Application::Finite(BYTES);
    let mut run = single(there.clone(), back, change, 10, application, seed);
    run.run_until(at_ms(600_000), &mut Unobserved);
    assert!(run.all_finished(), "{text}, seed {seed}");
    run
}

fn stats(run: &Simulation) -> SenderStats {
    run.tcp(FlowId(0)).expect("the only flow").sender().stats()
}

/// Returns a link with 10 Mbit/s and 20 ms, with an unlimited queue.
fn link() -> LinkConfig {
    LinkConfig::rate(BitRate::from_mbps(10), Duration::from_millis(20))
}

#[test]
fn reductions_caused_by_reordering_are_undone() {
    let mut late = link();
    late.impairments.reordering = Some(Reordering {
        probability: Probability::clamped(0.005),
        delay_min: Duration::from_millis(10),
        delay_max: Duration::from_millis(30),
    });
    for recovery in RECOVERIES {
        let mut events = 0;
        let mut undone = 0;
        for seed in 0..10 {
            let run = transfer(&format!("{recovery}/cubic"), &late, seed);
            let truth = run.tcp(FlowId(0)).expect("the only flow").truth();
            assert_eq!(truth.counters().data_drops.total(), 0);
            let stats = stats(&run);
            events += stats.loss_events + stats.timeouts;
            undone += stats.undone();
        }
        // Momentary may detect a second loss event before the first is over, and does not undo the second one.
        let least = if recovery == "momentary" { 0.5 } else { 1.0 };
        assert!(
            undone as f64 >= least * events as f64,
            "{recovery}: {undone} of {events}"
        );
        assert!(events > 5, "{recovery}: {events}");
    }
}

#[test]
fn reductions_caused_by_a_delay_spike_are_undone() {
    // The link delivers one packet per millisecond for 600 ms, and then none for a second.
    let trace = DeliveryTrace::new((1..=600).chain([1600]).collect()).expect("a trace");
    let service = ServiceConfig::Trace(trace);
    let spikes = LinkConfig::new(service, Duration::from_millis(20));
    for recovery in RECOVERIES {
        for control in ["cubic", "bbr"] {
            let run = transfer(&format!("{recovery}/{control}"), &spikes, 1);
            let stats = stats(&run);
            assert!(stats.timeouts > 0, "{recovery}/{control}: {stats:?}");
            // There is one undo in each of the two pauses, regardless of how often the timer expires in the pause.
            assert_eq!(
                (stats.undone(), stats.loss_events),
                (stats.timeouts.min(2), 0),
                "{recovery}/{control}"
            );
            // In each pause, only the first segment is retransmitted, possibly after a probe.
            assert!(stats.retransmissions <= stats.timeouts + 2, "{stats:?}");
        }
    }
}

#[test]
fn reductions_caused_by_a_loss_are_kept() {
    // No segment is delayed, so no timestamp is old, and no DSACK reports all retransmissions. F-RTO is a heuristic: it
    // may misinterpret segments that arrive while a retransmission is lost.
    for recovery in RECOVERIES {
        for seed in 0..20 {
            let lossy = link()
                .with_queue(QueueLimit::Packets(20 + seed))
                .with_bernoulli(Probability::clamped(0.002 * seed as f64));
            let stats = stats(&transfer(&format!("{recovery}/cubic"), &lossy, seed));
            assert!(stats.loss_events > 0);
            assert_eq!(
                (stats.undone_by_timestamp, stats.undone_by_dsack),
                (0, 0),
                "{recovery}, seed {seed}: {stats:?}"
            );
        }
    }
}
