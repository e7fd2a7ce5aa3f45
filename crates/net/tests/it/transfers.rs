//! Tests of TCP transfers over the network: timing, truth, and measures.

use crate::common::{MSS, at_ms, single, transfer};
use dupack_net::flow::UdpFlowConfig;
use dupack_net::flow::{Application, HeaderSizes, Path, TcpFlowConfig, When, Write, scripted};
use dupack_net::ids::{FlowId, LinkId};
use dupack_net::link::{
    DropCause, LinkConfig, LossModel, LossScript, QueueLimit, ScriptRule, Transmissions,
    WaitRecording,
};
use dupack_net::network::Network;
use dupack_net::observer::{Happening, Observer, PacketEvent, Unobserved};
use dupack_net::packet::{Body, Copy, PacketKind};
use dupack_net::sampling::SamplingConfig;
use dupack_net::shapes::{Dumbbell, PairAccess};
use dupack_net::simulation::Simulation;
use dupack_net::tcp_flow::Progress;
use dupack_net::topology::Topology;
use dupack_net::udp::{UdpConfig, UdpPattern};
use dupack_net::units::{BitRate, Probability};
use dupack_tcp::time::Duration;

/// Returns a link with 8 Mbit/s, which is 1 byte per microsecond, and a delay of 10 ms.
fn link() -> LinkConfig {
    LinkConfig::rate(BitRate::from_mbps(8), Duration::from_millis(10))
}

const fn segments(n: u64) -> Application {
    Application::Finite(n * MSS as u64)
}

#[test]
fn a_transfer_ends_when_the_last_byte_arrives() {
    let free_headers = |config: &mut dupack_net::flow::TcpFlowConfig| {
        config.headers = HeaderSizes::NS2;
        config.start = at_ms(5);
    };
    let mut run = single(link(), link(), free_headers, 4, segments(6), 1);
    run.run_until(at_ms(1000), &mut Unobserved);
    // The four segments of 1 ms each are sent from 5 ms on and arrive at 16, 17, 18 and 19 ms. The first ACK (40 µs)
    // arrives at 26.04 ms, so the fifth segment arrives at 37.04 ms and the sixth 1 ms later.
    let flow = run.tcp(FlowId(0)).unwrap();
    let end = at_ms(38) + Duration::from_micros(40);
    assert_eq!(flow.progress(), Progress::Finished(end));
    assert!(flow.sender().is_done());
    assert!(run.all_finished());
    assert_eq!(run.fabric().packets().live(), 0);
    // 6000 bytes are delivered in 33.04 ms.
    let goodput = run.report().tcp[0].goodput_bps;
    assert!((goodput - 48_000.0 / 33.04e-3).abs() < 1.0, "{goodput}");
}

#[test]
fn the_truth_agrees_with_the_sender_on_a_clean_path() {
    let mut run = single(link(), link(), |_| {}, 20, Application::Greedy, 1);
    run.run_until(at_ms(5_000), &mut Unobserved);
    let flow = run.tcp(FlowId(0)).unwrap();
    let truth = flow.truth();
    assert_eq!(truth.counters().retransmissions(), 0);
    assert_eq!(truth.counters().data_drops.total(), 0);
    assert_eq!(
        truth.counters().data_packets,
        flow.sender().stats().segments_sent
    );
    // The bytes that the sender counts as in flight include data that has arrived but is not yet acknowledged.
    assert!(truth.in_flight_bytes() <= flow.sender().in_flight(run.now()));
}

#[test]
fn every_loss_is_accounted_for() {
    let lossy = link().with_bernoulli(Probability::clamped(0.05));
    for seed in 0..20 {
        let mut run = single(
            lossy.clone(),
            lossy.clone(),
            |_| {},
            20,
            segments(2000),
            seed,
        );
        let mut diary = Diary::default();
        run.run_until(at_ms(600_000), &mut diary);
        assert!(run.all_finished(), "seed {seed}");
        let flow = run.tcp(FlowId(0)).unwrap();
        assert!(flow.sender().is_done());
        let (truth, stats) = (flow.truth(), flow.sender().stats());
        let counters = truth.counters();
        assert_eq!(counters.data_packets, stats.segments_sent);
        assert_eq!(counters.retransmissions(), stats.retransmissions);
        assert_eq!((truth.in_flight_packets(), truth.in_flight_bytes()), (0, 0));
        let link = run.link_counters(LinkId(0));
        assert_eq!(
            link.drops.of(DropCause::Random),
            counters.data_drops.of(DropCause::Random)
        );
        assert_eq!(link.offered_packets, counters.data_packets);
        // Every loss that left a gap is followed by a retransmission, and only these retransmissions are needed.
        assert_eq!(counters.needed_retransmissions, diary.gaps);
        assert!(diary.gaps > 0);
        assert_eq!(
            run.link_counters(LinkId(1)).drops.total(),
            counters.ack_drops.total()
        );
        assert!(counters.ack_drops.total() > 0);
    }
}

/// Observer that records dropped packets, and retransmissions with their kinds.
#[derive(Default)]
struct Diary {
    dropped: Vec<u64>,
    repeated: Vec<(u64, Copy)>,
    dropped_acks: Vec<u64>,
    /// Number of drops, without those of spurious retransmissions.
    gaps: u64,
}

impl Observer for Diary {
    fn packet(&mut self, event: &PacketEvent<'_>) {
        let number = event.packet.number;
        match (event.what, &event.packet.body) {
            (Happening::Dropped { .. }, Body::Data(data)) => {
                self.dropped.push(number);
                self.gaps += u64::from(data.copy != Copy::Spurious);
            }
            (Happening::Dropped { .. }, Body::Ack(_)) => self.dropped_acks.push(number),
            (Happening::Sent, Body::Data(data)) if data.copy != Copy::First => {
                self.repeated.push((number, data.copy));
            }
            _ => {}
        }
    }
}

#[test]
fn a_script_loses_exactly_its_packets() {
    let data = |packets, nth| ScriptRule::Data {
        flow: FlowId(0),
        packets,
        transmissions: Transmissions::Nth(nth),
    };
    let acks = ScriptRule::Acks {
        flow: FlowId(0),
        acks: 3..=3,
    };
    let script = |rules| LossModel::Script(LossScript::new(rules).unwrap());
    let there = link().with_loss(script(vec![data(24..=30, 1), data(26..=26, 2)]));
    let back = link().with_loss(script(vec![acks]));
    let mut run = single(there, back, |_| {}, 20, segments(100), 1);
    let mut diary = Diary::default();
    run.run_until(at_ms(60_000), &mut diary);
    assert!(run.all_finished());
    assert_eq!(diary.dropped, [24, 25, 26, 27, 28, 29, 30, 26]);
    assert_eq!(diary.dropped_acks, [3]);
    let needed = diary
        .repeated
        .iter()
        .filter(|(_, copy)| *copy == Copy::Needed);
    let mut needed: Vec<u64> = needed.map(|&(number, _)| number).collect();
    needed.sort_unstable();
    assert_eq!(needed, [24, 25, 26, 26, 27, 28, 29, 30]);
    let drops = run.tcp(FlowId(0)).unwrap().truth().counters().data_drops;
    assert_eq!(drops.of(DropCause::Script), 8);
}

#[test]
fn the_oracle_is_always_right_about_losses_that_happened() {
    let lossy = link()
        .with_bernoulli(Probability::clamped(0.01))
        .with_queue(QueueLimit::Packets(10));
    let mut run = single(lossy, link(), |_| {}, 40, segments(5000), 3);
    run.run_until(at_ms(600_000), &mut Unobserved);
    let judged = run.tcp(FlowId(0)).unwrap().truth().judgements();
    assert!(
        judged.congestion_right > 0 && judged.wireless_right > 0,
        "{judged:?}"
    );
    assert_eq!((judged.congestion_wrong, judged.wireless_wrong), (0, 0));
}

#[test]
fn measures_begin_after_the_warm_up() {
    let there = link().recording_waits(WaitRecording::Data);
    let mut run = single(there, link(), |_| {}, 100, Application::Greedy, 1);
    run.run_until(at_ms(2_000), &mut Unobserved);
    run.begin_measurement();
    run.run_until(at_ms(12_000), &mut Unobserved);
    let report = run.report();
    assert_eq!((report.from, report.to), (at_ms(2_000), at_ms(12_000)));
    // The link is saturated, and 1000 of every 1040 bytes are payload.
    let goodput = report.tcp[0].goodput_bps;
    assert!((goodput - 8e6 * 1000.0 / 1040.0).abs() < 1e4, "{goodput}");
    let link = &report.links[0];
    assert_eq!(link.name, "node 0->node 1");
    assert!((link.utilisation.unwrap() - 1.0).abs() < 1e-3);
    // The queueing delay is the duration of a window, 100 · 1.04 ms, minus a round-trip time of 20 ms + 1.04 ms + 0.04
    // ms: 82.92 ms. It may differ by the packet in transmission.
    let waits = link.waits.unwrap();
    assert!(waits.count >= 9_600);
    let median = waits.median.as_secs_f64() * 1e3;
    assert!((median - 82.92).abs() < 1.1, "{median}");
}

#[test]
fn a_dumbbell_is_shared() {
    let mut map = Topology::new();
    let access = LinkConfig::rate(BitRate::from_mbps(100), Duration::from_millis(1));
    let pair = PairAccess {
        sender: access.clone(),
        receiver: access,
    };
    let dumbbell = Dumbbell {
        bottleneck: link().with_queue(QueueLimit::Packets(100)),
        reverse: link(),
        pairs: vec![pair; 3],
    };
    let nodes = dumbbell.build(&mut map).unwrap();
    let mut network = Network::new(map);
    for n in 0..2 {
        let mut config = transfer(
            nodes.senders[n],
            nodes.receivers[n],
            15,
            Application::Greedy,
        );
        config.path = Path::Explicit {
            there: nodes.there[n],
            back: nodes.back[n],
        };
        network.tcp(config).unwrap();
    }
    let half = BitRate::from_mbps(4);
    let path = Path::Shortest {
        from: nodes.senders[2],
        to: nodes.receivers[2],
    };
    let source = UdpConfig::new(UdpPattern::Constant { rate: half }, 500);
    let udp = network.udp(UdpFlowConfig::new(path, source)).unwrap();
    assert_eq!(udp, FlowId(2));
    let mut run = Simulation::new(network, 1).unwrap();
    run.run_until(at_ms(10_000), &mut Unobserved);
    let report = run.report();
    assert!((report.udp[0].throughput_bps - 4e6).abs() < 4e4);
    let tcp: f64 = report.tcp.iter().map(|flow| flow.goodput_bps).sum();
    assert!((tcp - 4e6 * 1000.0 / 1040.0).abs() < 1e5, "{tcp}");
    let utilisation = report.links[nodes.bottleneck.index()].utilisation.unwrap();
    assert!(utilisation > 0.99, "{utilisation}");
}

#[test]
fn samples_are_taken_on_time_and_are_bounded() {
    let mut run = single(link(), link(), |_| {}, 20, Application::Greedy, 1);
    let mut sampling = SamplingConfig::new(Duration::from_millis(100), 64);
    sampling.flows.push(FlowId(0));
    sampling.links.push(LinkId(0));
    run.sample(&sampling);
    run.run_until(at_ms(60_000), &mut Unobserved);
    let samples = run.samples().unwrap();
    let (_, flow) = &samples.flows()[0];
    assert!((32..=64).contains(&flow.samples().len()));
    let last = flow.samples().last().unwrap();
    assert!((last.value.cwnd - 20_000.0).abs() < 1e-9);
    assert!(last.value.in_flight_true <= last.value.in_flight_believed);
    let (_, link) = &samples.links()[0];
    assert!(
        link.samples()
            .is_sorted_by_key(|sample| sample.value.carried_bytes)
    );
}

#[test]
fn a_run_can_move_to_another_thread() {
    let mut run = single(link(), link(), |_| {}, 20, segments(10), 1);
    let run = std::thread::spawn(move || {
        run.run_until(at_ms(1_000), &mut Unobserved);
        run
    });
    assert!(run.join().unwrap().all_finished());
}

#[test]
fn an_observer_sees_every_event_of_a_packet() {
    struct Kinds(Vec<(PacketKind, &'static str)>);
    impl Observer for Kinds {
        fn packet(&mut self, event: &PacketEvent<'_>) {
            let what = match event.what {
                Happening::Sent => "sent",
                Happening::Queued { .. } => "queued",
                Happening::Dropped { .. } => "dropped",
                Happening::Crossed { .. } => "crossed",
                Happening::Delivered => "delivered",
            };
            self.0.push((event.packet.kind(), what));
        }
    }
    let mut run = single(link(), link(), |_| {}, 20, segments(1), 1);
    let mut kinds = Kinds(Vec::new());
    run.run_until(at_ms(1_000), &mut kinds);
    let steps = ["sent", "queued", "crossed", "delivered"];
    let of = |kind| steps.map(|step| (kind, step));
    assert_eq!(
        kinds.0,
        [of(PacketKind::Data), of(PacketKind::Ack)].concat()
    );
}

#[test]
fn an_application_may_write_by_a_script() {
    let write = |when| Write {
        when,
        bytes: u64::from(MSS),
    };
    let at = |ms| write(When::At(Duration::from_millis(ms)));
    let after = write(When::After(Duration::from_millis(500)));
    // The fourth write follows directly after the third, because the third write happens later than the time given for
    // the fourth.
    let writes = vec![at(100), at(900), after, at(400), after];
    let application = scripted(&writes);
    let change = |config: &mut TcpFlowConfig| config.writes = writes;
    let mut run = single(link(), link(), change, 20, application, 1);
    let delivered = |run: &Simulation| run.tcp(FlowId(0)).unwrap().receiver().in_order_bytes();
    for (ms, segments) in [(90, 0), (600, 1), (1300, 2), (1400, 2), (1900, 4)] {
        run.run_until(at_ms(ms), &mut Unobserved);
        assert_eq!(delivered(&run), segments * u64::from(MSS), "at {ms} ms");
        assert!(!run.all_finished());
    }
    run.run_until(at_ms(3000), &mut Unobserved);
    assert_eq!(delivered(&run), 5 * u64::from(MSS));
    assert!(run.all_finished());
}

#[test]
fn an_application_may_write_repeatedly() {
    let writes = Application::Writes {
        bytes: u64::from(MSS),
        count: 3,
        every: Duration::from_millis(700),
    };
    let mut run = single(link(), link(), |_| {}, 20, writes, 1);
    let delivered = |run: &Simulation| run.tcp(FlowId(0)).unwrap().receiver().in_order_bytes();
    for (ms, segments) in [(600, 1), (1300, 2), (2100, 3)] {
        assert!(!run.all_finished());
        run.run_until(at_ms(ms), &mut Unobserved);
        assert_eq!(delivered(&run), segments * u64::from(MSS));
    }
    assert!(run.all_finished());
}
