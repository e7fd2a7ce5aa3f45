//! Tests of TCP through managed queues: all data arrives, and the counters are consistent.

use crate::common::{MSS, at_ms, single};
use dupack_algorithms::catalog::dialect::{receiver_config, sender_config};
use dupack_algorithms::catalog::{Catalog, Context, Dialect, StackSpec};
use dupack_net::flow::{Application, TcpFlowConfig};
use dupack_net::ids::{FlowId, LinkId};
use dupack_net::link::{
    Capable, CoDelConfig, Discipline, DropCause, DualPi2Config, FqCoDelConfig, LinkConfig,
    PieConfig, QueueLimit, TokenBucketConfig,
};
use dupack_net::observer::Unobserved;
use dupack_net::simulation::Simulation;
use dupack_net::units::BitRate;
use dupack_tcp::options::Ecn;
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::time::Duration;

fn transfer(discipline: Discipline, limit: u64, ecn: Ecn, segments: u64) -> Simulation {
    let spec = StackSpec::parse("rack/cubic", &Catalog::builtin()).expect("a stack");
    let change = |config: &mut TcpFlowConfig| {
        let needs = spec.needs(Dialect::Linux);
        let delayed = AckPolicy::Delayed(Duration::from_millis(40));
        config.sender = sender_config(Dialect::Linux, MSS, &needs);
        config.sender.ecn = ecn;
        config.receiver = receiver_config(Dialect::Linux, MSS, &needs, delayed);
        config.receiver.ecn = ecn;
        config.stack = spec.build(Dialect::Linux, &Context::new(MSS));
    };
    let there = LinkConfig::rate(BitRate::from_mbps(8), Duration::from_millis(10))
        .with_queue(QueueLimit::Packets(limit))
        .with_discipline(discipline);
    let back = LinkConfig::pure_delay(Duration::from_millis(10));
    let application = Application::Finite(segments * u64::from(MSS));
    let mut run = single(there, back, change, 10, application, 1);
    run.run_until(at_ms(600_000), &mut Unobserved);
    assert!(run.all_finished(), "{discipline:?}");
    run
}

fn disciplines() -> Vec<Discipline> {
    vec![
        Discipline::CoDel(CoDelConfig::RFC),
        Discipline::FqCoDel(FqCoDelConfig::RFC),
        Discipline::Pie(PieConfig::RFC),
        Discipline::DualPi2(DualPi2Config::RFC),
        Discipline::Policer(TokenBucketConfig::new(BitRate::from_mbps(4), 15_000)),
        Discipline::Shaper(TokenBucketConfig::new(BitRate::from_mbps(4), 15_000)),
    ]
}

/// Returns the only link with a rate and a queue, where packets of the flow may be dropped.
fn bottleneck(run: &Simulation) -> LinkId {
    let links = run.fabric().links().len() as u32;
    let by_peak = |&link: &LinkId| run.link_counters(link).backlog_max_packets;
    (0..links).map(LinkId).max_by_key(by_peak).expect("a link")
}

#[test]
fn the_truth_and_the_link_count_the_same_drops() {
    for discipline in disciplines() {
        for limit in [10, 100] {
            let run = transfer(discipline, limit, Ecn::Absent, 4000);
            let flow = run.tcp(FlowId(0)).expect("the only flow");
            let link = run.link_counters(bottleneck(&run));
            let truth = flow.truth().counters();
            assert_eq!(link.drops, truth.data_drops, "{discipline:?}");
            assert!(link.drops.total() > 0, "{discipline:?} {limit}");
            let carried = link.offered_packets - link.drops.total();
            assert_eq!(link.carried_packets, carried, "{discipline:?}");
        }
    }
}

#[test]
fn marks_are_counted_separately_from_drops() {
    let mut codel = CoDelConfig::RFC;
    codel.capable = Capable::Mark;
    let mut pie = PieConfig::RFC;
    pie.capable = Capable::Mark;
    let marking = [
        Discipline::CoDel(codel),
        Discipline::FqCoDel(FqCoDelConfig::RFC),
        Discipline::Pie(pie),
        Discipline::DualPi2(DualPi2Config::RFC),
    ];
    for discipline in marking {
        let run = transfer(discipline, 1000, Ecn::Accurate, 8000);
        let flow = run.tcp(FlowId(0)).expect("the only flow");
        let link = run.link_counters(bottleneck(&run));
        let marked = flow.truth().counters().marked_packets;
        assert_eq!(link.marked_packets, marked, "{discipline:?}");
        assert!(marked >= 5, "{discipline:?}: {marked}");
        assert_eq!(link.drops.of(DropCause::QueueFull), 0, "{discipline:?}");
    }
}

#[test]
fn a_managed_queue_that_never_acts_is_a_fifo() {
    let mut silent = CoDelConfig::RFC;
    silent.target = Duration::from_secs(1000);
    silent.interval = Duration::from_secs(1000);
    for limit in [5, 20, 60] {
        let runs = [Discipline::DropTail, Discipline::CoDel(silent)]
            .map(|discipline| transfer(discipline, limit, Ecn::Absent, 4000));
        let [plain, managed] = runs.each_ref().map(|run| {
            let flow = run.tcp(FlowId(0)).expect("the only flow");
            let link = run.link_counters(bottleneck(run));
            (flow.progress(), *flow.truth().counters(), link)
        });
        assert_eq!(plain, managed, "{limit} packets");
    }
}
