//! Tests of figure 3 of the Momentary paper in the complete system: experiment, network and endpoint.
//!
//! The bottleneck has 1 Mbit/s, and the round-trip time is 200 ms. Packets have 1000 bytes, and the initial slow start
//! threshold is 10 packets. The first transmissions of packets 24 to 30 are lost. The expected numbers are those of the
//! paper and of ns-2.

use dupack_algorithms::catalog::Catalog;

use dupack_engine::{Execute, Execution};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Interrupt, Plan};
use dupack_lab::trace::Trace;
use dupack_tcp::facts::SendReason;
use dupack_tcp::window::WindowCause;

fn plan(text: &str) -> Plan {
    let source = Source::new("test", text);
    Plan::new(source.parse().unwrap(), &source, &Catalog::builtin()).unwrap()
}

fn trace(stack: &str) -> Trace {
    let plan = plan(&format!(
        r#"
        stacks = ["{stack}"]
        dialect = "ns2"
        seeds = 1
        duration = "10s"
        [path]
        rate = "1Mbit/s"
        delay = "98ms"
        buffer = "10000pkt"
        drop = ["24-30"]
        [access]
        rate = "10Mbit/s"
        delay = "1ms"
        [sender]
        segment = "1000B"
        # Packet 0 takes the place that ns-2 gives the SYN.
        initial_window = "1pkt"
        initial_ssthresh = "10pkt"
        "#
    ));
    let job = plan.jobs()[0];
    Trace::record(&plan.scenario(job), job.seed, &Interrupt::new()).unwrap()
}

/// Returns cwnd before and after the loss, in thousandths of a segment.
fn halving(trace: &Trace) -> (u64, u64) {
    let mut changes = trace.window_changes();
    let loss = changes
        .find(|c| c.cause == WindowCause::Congestion)
        .expect("seven packets were lost");
    (
        loss.before.cwnd.round() as u64,
        loss.after.cwnd.round() as u64,
    )
}

#[test]
fn the_window_is_11_408_before_the_loss_and_5_704_after() {
    for recovery in [
        "reno",
        "newreno",
        "newreno(variant=slow-but-steady)",
        "sack",
        "momentary",
    ] {
        let trace = trace(&format!("{recovery}/reno"));
        assert_eq!(halving(&trace), (11408, 5704), "{recovery}");
    }
}

#[test]
fn momentary_sends_2_and_3_and_then_5_and_1() {
    let trace = trace("momentary/reno");
    let (last_before_the_news, _) = trace
        .sends()
        .find(|(_, sent)| sent.number == 34)
        .expect("the window of the loss ends with packet 34");
    let after: Vec<(u64, SendReason)> = trace
        .sends()
        .filter(|(at, _)| *at > last_before_the_news)
        .map(|(_, sent)| (sent.number, sent.why))
        .take(11)
        .collect();
    let numbers: Vec<u64> = after.iter().map(|(number, _)| *number).collect();
    // The sender sends two segments by limited transmit and three retransmissions, then four retransmissions and two
    // new segments.
    assert_eq!(numbers, [35, 36, 24, 25, 26, 27, 28, 29, 30, 37, 38]);
    let limited = |(_, why): &&(u64, SendReason)| *why == SendReason::LimitedTransmit;
    assert_eq!(after.iter().filter(limited).count(), 2);
    assert_eq!((trace.stats.retransmissions, trace.stats.timeouts), (7, 0));
}

#[test]
fn the_same_file_and_seed_give_the_same_packets() {
    let plan = plan(
        r#"
        stacks = ["rack/cubic", "le/westwood"]
        seeds = [7, 8]
        duration = "20s"
        [path]
        rate = "5Mbit/s"
        delay = "30ms"
        loss = "1%"
        jitter = "2ms"
        duplicate = "0.1%"
        [path.reverse]
        loss = "1%"
        [[flows]]
        count = 3
        start_spread = "1s"
        [[udp]]
        rate = "1Mbit/s"
        on = "1s"
        off = "1s"
        periods = "exponential"
        "#,
    );
    let hashes = |jobs: usize| {
        let execution = Execution { jobs: Some(jobs) };
        let results = plan.execute(execution, &(), &Interrupt::new());
        let runs = results.runs.iter();
        runs.map(|r| (r.stack, r.seed, r.trace_hash))
            .collect::<Vec<_>>()
    };
    let one = hashes(1);
    assert_eq!(one, hashes(2), "in any order, on any number of threads");
    let mut distinct: Vec<u64> = one.iter().map(|(_, _, hash)| *hash).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "stacks and seeds differ");
}
