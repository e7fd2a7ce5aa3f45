//! Tests of congestion marks from the queue to the sender. The reported marks are compared with the truth.

use crate::common::{MSS, at_ms, single};
use dupack_algorithms::catalog::dialect::{receiver_config, sender_config};
use dupack_algorithms::catalog::{Catalog, Context, Dialect, StackSpec};
use dupack_net::flow::{Application, TcpFlowConfig};
use dupack_net::ids::FlowId;
use dupack_net::link::{Capable, LinkConfig, QueueLimit, RedConfig};
use dupack_net::observer::Unobserved;
use dupack_net::tcp_flow::TcpFlow;
use dupack_net::units::BitRate;
use dupack_tcp::options::Ecn;
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::time::Duration;

/// Runs a transfer in dialect `rfc` through a queue that marks packets, with delayed ACKs. Calls `judge` at the end.
fn transfer(stack: &str, ecn: Ecn, judge: impl FnOnce(&TcpFlow)) {
    let spec = StackSpec::parse(stack, &Catalog::builtin()).expect("a stack");
    let change = |config: &mut TcpFlowConfig| {
        let needs = spec.needs(Dialect::Rfc);
        let delayed = AckPolicy::Delayed(Duration::from_millis(40));
        config.sender = sender_config(Dialect::Rfc, MSS, &needs);
        config.sender.ecn = ecn;
        config.receiver = receiver_config(Dialect::Rfc, MSS, &needs, delayed);
        config.receiver.ecn = ecn;
        config.stack = spec.build(Dialect::Rfc, &Context::new(MSS));
    };
    let mut red = RedConfig::packets(5.0, 50.0);
    red.weight = 0.1;
    red.capable = Capable::Mark;
    let there = LinkConfig::rate(BitRate::from_mbps(8), Duration::from_millis(10))
        .with_queue(QueueLimit::Packets(100))
        .with_red(red);
    let back = LinkConfig::pure_delay(Duration::from_millis(10));
    let application = Application::Finite(4_000 * u64::from(MSS));
    let mut run = single(there, back, change, 10, application, 1);
    run.run_until(at_ms(600_000), &mut Unobserved);
    assert!(run.all_finished(), "{stack}");
    // Within this time, all data is acknowledged.
    run.run_until(at_ms(601_000), &mut Unobserved);
    judge(run.tcp(FlowId(0)).expect("the only flow"));
}

#[test]
fn accurate_ecn_reports_every_mark() {
    for stack in ["rack/reno", "sack/cubic", "newreno/reno", "le/westwood"] {
        transfer(stack, Ecn::Accurate, |flow| {
            let marked = flow.truth().counters().marked_packets;
            assert!(marked >= 20, "{stack}: {marked}");
            assert_eq!(flow.receiver().marked_packets(), marked, "{stack}");
            assert_eq!(flow.sender().marks_reported(), marked, "{stack}");
            // The sender responds at most once per window.
            let answered = flow.sender().stats().marks_answered;
            assert!((5..=marked).contains(&answered), "{stack}: {answered}");
        });
    }
}

#[test]
fn prague_is_told_of_all_marks_and_is_reno_with_classic_ecn() {
    transfer("rack/prague", Ecn::Accurate, |flow| {
        let marked = flow.truth().counters().marked_packets;
        assert!(marked >= 20, "{marked}");
        assert_eq!(flow.sender().marks_reported(), marked);
    });
    let mut answered = Vec::new();
    for stack in ["rack/prague(pace=off)", "rack/reno"] {
        transfer(stack, Ecn::Classic, |flow| {
            answered.push(flow.sender().stats().marks_answered);
        });
    }
    let near = answered[0].abs_diff(answered[1]) <= answered[1] / 4;
    assert!(answered[0] > 5 && near, "{answered:?}");
}

#[test]
fn classic_echoes_are_answered_as_often_as_accurate_ones() {
    let answered = [Ecn::Classic, Ecn::Accurate].map(|ecn| {
        let mut answered = 0;
        transfer("rack/reno", ecn, |flow| {
            answered = flow.sender().stats().marks_answered;
        });
        answered as f64
    });
    let ratio = answered[1] / answered[0];
    assert!((0.7..1.4).contains(&ratio), "{answered:?}");
}

#[test]
fn bbr_is_told_of_marks_once_per_window() {
    for ecn in [Ecn::Classic, Ecn::Accurate] {
        transfer("rack/bbr", ecn, |flow| {
            let marked = flow.truth().counters().marked_packets;
            let told = flow.sender().stats().marks_answered;
            assert!((3..=marked).contains(&told), "{ecn:?}: {told} of {marked}");
            if ecn == Ecn::Accurate {
                assert_eq!(flow.sender().marks_reported(), marked);
            }
        });
    }
}

#[test]
fn without_ecn_no_marks_are_reported() {
    transfer("rack/reno", Ecn::Absent, |flow| {
        assert_eq!(flow.truth().counters().marked_packets, 0);
        assert_eq!(flow.sender().marks_reported(), 0);
        assert!(!flow.sender().is_ecn_capable());
    });
}
