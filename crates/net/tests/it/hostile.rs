//! Invariants of any network, tested on networks with every impairment at once.

use std::ops::Range;

use crate::common::{MSS, at_ms, single};
use dupack_net::flow::{Application, TcpFlowConfig};
use dupack_net::hostile::HostilePath;
use dupack_net::ids::{FlowId, LinkId};
use dupack_net::link::{Discipline, JitterOrder, Queued, ScheduleConfig, Span, Step};
use dupack_net::observer::Unobserved;
use dupack_net::random::Stream;
use dupack_net::simulation::Simulation;
use dupack_net::units::BitRate;
use dupack_tcp::time::Duration;

const BYTES: u64 = 100 * MSS as u64 + 7;

fn hostile(seed: u64, path: &HostilePath) -> Simulation {
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
fn every_transfer_ends_with_consistent_counters() {
    every_transfer_ends(0..300, |_, _| {});
}

/// Tests links whose rate and delay change, with gaps that lose waiting packets, and with ACK thinning.
#[test]
fn transfers_end_on_links_that_change() {
    every_transfer_ends(300..600, |seed, path| {
        let mut stream = Stream::derive(seed, "changes");
        for link in [&mut path.there, &mut path.back] {
            let steps = (0..1 + stream.below(4)).map(|_| draw_step(&mut stream));
            let mut schedule = ScheduleConfig::new(steps.collect());
            schedule.draws = stream.bits();
            if stream.below(2) == 0 {
                schedule.order = JitterOrder::Overtaking;
            }
            link.schedule = Some(schedule);
            assert_eq!(link.fault(), None);
        }
        match stream.below(3) {
            0 => path.back.thin_acks = Some(2 + stream.below(8) as u32),
            1 => {
                path.back.schedule = None;
                path.back.queue.discipline = Discipline::AckFilter;
            }
            _ => {}
        }
    });
}

fn draw_step(stream: &mut Stream) -> Step {
    let millis = |stream: &mut Stream, most| Duration::from_millis(stream.below(most));
    let mut step = Step::at(at_ms(stream.below(5000)));
    let every = Duration::from_millis(500 + stream.below(5000));
    step.every = (stream.below(2) == 0).then_some(every);
    if stream.below(2) == 0 {
        let rate = |factor| BitRate::new(factor * 50_000).unwrap();
        let min = 1 + stream.below(1000);
        step.rate = Some(Span {
            min: rate(min),
            max: rate(min + stream.below(1000)),
        });
    }
    if stream.below(2) == 0 {
        let min = millis(stream, 100);
        step.delay = Some(Span {
            min,
            max: min + millis(stream, 100),
        });
    }
    // Even with four steps, more than half of the time remains for transmissions.
    step.gap = millis(stream, 60);
    if stream.below(2) == 0 {
        step.queued = Queued::Lost;
    }
    step
}

fn every_transfer_ends(seeds: Range<u64>, change: impl Fn(u64, &mut HostilePath)) {
    for seed in seeds {
        let mut path = HostilePath::draw(seed, MSS);
        change(seed, &mut path);
        let mut run = hostile(seed, &path);
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
