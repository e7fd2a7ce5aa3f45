//! Tests of determinism: the same network and seed give the same packets, regardless of how the run is driven.

use crate::common::{MSS, at_ms, single};
use dupack_net::flow::Application;
use dupack_net::hostile::HostilePath;
use dupack_net::link::{LinkConfig, QueueLimit};
use dupack_net::simulation::Simulation;
use dupack_net::trace_hash::TraceHash;
use dupack_net::units::{BitRate, Probability};
use dupack_tcp::time::{Duration, Instant};

fn lossy() -> LinkConfig {
    LinkConfig::rate(BitRate::from_mbps(3), Duration::from_millis(7))
        .with_queue(QueueLimit::Packets(20))
        .with_bernoulli(Probability::clamped(0.02))
}

fn run(seed: u64) -> Simulation {
    single(lossy(), lossy(), |_| {}, 30, Application::Greedy, seed)
}

fn hash_of(mut run: Simulation, until_ms: u64, step_ms: u64) -> u64 {
    let mut hash = TraceHash::default();
    let mut now = Instant::ZERO;
    while now < at_ms(until_ms) {
        now = (now + Duration::from_millis(step_ms)).min(at_ms(until_ms));
        run.run_until(now, &mut hash);
    }
    assert!(hash.events() > 1000);
    hash.digest()
}

#[test]
fn a_run_repeats_itself() {
    assert_eq!(
        hash_of(run(1), 30_000, 30_000),
        hash_of(run(1), 30_000, 30_000)
    );
    assert_ne!(
        hash_of(run(1), 30_000, 30_000),
        hash_of(run(2), 30_000, 30_000)
    );
}

#[test]
fn cutting_a_run_into_pieces_changes_nothing() {
    assert_eq!(hash_of(run(1), 30_000, 30_000), hash_of(run(1), 30_000, 7));
}

#[test]
fn reports_and_samples_change_nothing() {
    use dupack_net::ids::{FlowId, LinkId};
    use dupack_net::sampling::SamplingConfig;
    let mut watched = run(1);
    let mut sampling = SamplingConfig::new(Duration::from_millis(3), 100);
    sampling.flows = vec![FlowId(0)];
    sampling.links = vec![LinkId(0), LinkId(1)];
    watched.sample(&sampling);
    watched.begin_measurement();
    assert_eq!(
        hash_of(watched, 30_000, 30_000),
        hash_of(run(1), 30_000, 30_000)
    );
}

#[test]
fn hostile_networks_repeat_themselves_too() {
    for seed in 0..20 {
        let start = || {
            let path = HostilePath::draw(seed, MSS);
            let change = |config: &mut dupack_net::flow::TcpFlowConfig| {
                config.reader = path.reader;
                config.reneging = path.reneging;
                config.receiver.buffer = path.receive_buffer_bytes;
                config.sender.peer_window = path.receive_buffer_bytes;
            };
            single(
                path.there.clone(),
                path.back.clone(),
                change,
                20,
                Application::Greedy,
                seed,
            )
        };
        let digest = |mut run: Simulation| {
            let mut hash = TraceHash::default();
            run.run_until(at_ms(20_000), &mut hash);
            hash.digest()
        };
        assert_eq!(digest(start()), digest(start()), "seed {seed}");
    }
}
