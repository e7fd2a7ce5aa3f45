//! What must hold on any network, tried on networks that do everything wrong at once.

mod common;

use common::{MSS, at_ms, single};
use dupack_net::flow::{Application, TcpFlowConfig};
use dupack_net::hostile::HostilePath;
use dupack_net::ids::{FlowId, LinkId};
use dupack_net::observer::Unobserved;
use dupack_net::simulation::Simulation;

const BYTES: u64 = 100 * MSS as u64 + 7;

fn hostile(seed: u64) -> Simulation {
    let path = HostilePath::draw(seed, MSS);
    let change = |config: &mut TcpFlowConfig| {
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
        Application::Finite(BYTES),
        seed,
    )
}

#[test]
fn every_transfer_ends_and_the_books_balance() {
    for seed in 0..300 {
        let mut run = hostile(seed);
        let mut seconds = 0;
        let done = |run: &Simulation| {
            let flow = run.tcp(FlowId(0)).unwrap();
            run.all_finished() && flow.sender().is_done() && run.fabric().packets().live() == 0
        };
        while !done(&run) {
            seconds += 1;
            assert!(seconds < 20_000, "seed {seed} does not end");
            run.run_until(at_ms(1000 * seconds), &mut Unobserved);
        }
        let flow = run.tcp(FlowId(0)).unwrap();
        assert_eq!(flow.receiver().in_order_bytes(), BYTES, "seed {seed}");
        let truth = flow.truth();
        assert_eq!(truth.in_flight_packets(), 0, "seed {seed}");
        assert_eq!(truth.in_flight_bytes(), 0, "seed {seed}");
        let (counters, stats) = (truth.counters(), flow.sender().stats());
        assert_eq!(counters.data_packets, stats.segments_sent, "seed {seed}");
        assert_eq!(
            counters.retransmissions(),
            stats.retransmissions,
            "seed {seed}"
        );
        let there = run.link_counters(LinkId(0));
        assert_eq!(
            there.offered_packets,
            stats.segments_sent + stats.window_probes,
            "seed {seed}"
        );
    }
}
