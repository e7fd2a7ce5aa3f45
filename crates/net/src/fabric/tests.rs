//! Tests of packets over two hops, timers, and drops.

use super::*;
use crate::histogram::Histogram;
use crate::ids::NodeId;
use crate::link::{Duplication, LinkConfig, QueueLimit, WaitRecording};
use crate::observer::Unobserved;
use crate::topology::Topology;
use crate::units::{BitRate, Probability};

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn packet(number: u64) -> Packet {
    Packet {
        flow: FlowId(0),
        wire_bytes: 1000,
        number,
        body: Body::Udp,
    }
}

/// Returns nodes a, b and c with the given links from a to b and from b to c, and two timers.
fn two_hops(first: LinkConfig, second: LinkConfig) -> (Fabric, Hop) {
    let mut map = Topology::new();
    let [a, b, c]: [NodeId; 3] = ["a", "b", "c"].map(|name| map.node(name));
    map.link(a, b, first);
    map.link(b, c, second);
    let route = map.route(a, c).unwrap();
    let fabric = map.fabric(1, 2).unwrap();
    (fabric, map.first_hop(route))
}

/// Returns a link with a rate of 1 byte per microsecond and a delay of 100 µs.
fn slow() -> LinkConfig {
    LinkConfig::rate(BitRate::from_mbps(8), Duration::from_micros(100))
}

/// Runs the fabric until it is idle. Returns all events as (µs, kind, packet number or timer).
fn events(fabric: &mut Fabric) -> Vec<(u64, &'static str, u64)> {
    let mut seen = Vec::new();
    loop {
        let step = fabric.step(Instant::FAR_FUTURE, &mut Unobserved);
        let now = fabric.now().as_nanos() / 1000;
        match step {
            Step::Delivered(handle) => {
                seen.push((now, "delivered", fabric.packet(handle).number));
                fabric.release(handle);
            }
            Step::Dropped(handle, _) => {
                seen.push((now, "dropped", fabric.packet(handle).number));
                fabric.release(handle);
            }
            Step::Timer(timer) => seen.push((now, "timer", u64::from(timer.0))),
            Step::Idle => return seen,
        }
    }
}

#[test]
fn packets_are_stored_and_forwarded() {
    let (mut fabric, start) = two_hops(slow(), slow());
    for n in 0..2 {
        fabric.send(packet(n), start, &mut Unobserved).unwrap();
    }
    // Packet 0 takes 1000 + 100 µs per hop. Packet 1 follows one transmission time later.
    let expected = [(2200, "delivered", 0), (3200, "delivered", 1)];
    assert_eq!(events(&mut fabric), expected);
    assert_eq!(fabric.packets().live(), 0);
}

/// Recording the waiting times at an idle link does not change its departures.
#[test]
fn recording_waits_delays_no_packet() {
    let run = |waits| {
        let timed = LinkConfig { waits, ..slow() };
        let (mut fabric, start) = two_hops(slow(), timed);
        for number in 0..5 {
            fabric.send(packet(number), start, &mut Unobserved).unwrap();
        }
        let seen = events(&mut fabric);
        let link = fabric.link(LinkId(1));
        (seen, *link.counters(), link.waits().map(Histogram::count))
    };
    let (seen, counters, none) = run(WaitRecording::Off);
    assert_eq!((seen.len(), none), (5, None));
    // The packets are datagrams: neither TCP data nor ACKs.
    let others = [(WaitRecording::Data, 0), (WaitRecording::All, 5)];
    for (waits, recorded) in others {
        assert_eq!(run(waits), (seen.clone(), counters, Some(recorded)));
    }
}

#[test]
fn a_packet_may_be_dropped_at_the_second_link() {
    let tight =
        LinkConfig::rate(BitRate::from_mbps(4), Duration::ZERO).with_queue(QueueLimit::Packets(1));
    let (mut fabric, start) = two_hops(slow(), tight);
    for n in 0..4 {
        fabric.send(packet(n), start, &mut Unobserved).unwrap();
    }
    // The packets reach b at 1100, 2100, 3100 and 4100 µs. Each takes 2000 µs to transmit from there. At 3100 µs, one
    // transmission has just begun and no packet waits. At 4100 µs, packet 2 waits, so packet 3 is dropped.
    let expected = [
        (3100, "delivered", 0),
        (4100, "dropped", 3),
        (5100, "delivered", 1),
        (7100, "delivered", 2),
    ];
    assert_eq!(events(&mut fabric), expected);
    assert_eq!(fabric.packets().live(), 0);
}

#[test]
fn the_first_link_drops_at_once() {
    let (mut fabric, start) = two_hops(slow().with_queue(QueueLimit::Packets(1)), slow());
    let mut send = |n| fabric.send(packet(n), start, &mut Unobserved);
    assert_eq!(send(0), Ok(()));
    assert_eq!(send(1), Ok(()));
    assert_eq!(send(2), Err(DropCause::QueueFull));
    assert_eq!(fabric.packets().live(), 2);
}

#[test]
fn simultaneous_events_happen_in_the_order_of_insertion() {
    let (mut fabric, start) = two_hops(slow(), LinkConfig::pure_delay(Duration::ZERO));
    // The order of insertion is: the packet, timer 1, timer 0. All are due at 1100 µs. The second hop takes no time,
    // but the packet enters it after the timers were set.
    fabric.send(packet(0), start, &mut Unobserved).unwrap();
    fabric.set_timer(TimerId(1), at(1100));
    fabric.set_timer(TimerId(0), at(1100));
    let expected = [
        (1100, "timer", 1),
        (1100, "timer", 0),
        (1100, "delivered", 0),
    ];
    assert_eq!(events(&mut fabric), expected);
}

#[test]
fn a_lazy_timer_moves_forward_only() {
    let (mut fabric, _) = two_hops(slow(), slow());
    fabric.set_timer_lazily(TimerId(0), at(50));
    fabric.set_timer_lazily(TimerId(0), at(70));
    fabric.set_timer_lazily(TimerId(1), at(90));
    fabric.set_timer_lazily(TimerId(1), at(60));
    assert_eq!(events(&mut fabric), [(50, "timer", 0), (60, "timer", 1)]);
}

#[test]
fn copies_made_by_a_link_are_separate_packets() {
    let mut twice = slow();
    twice.impairments.duplication = Some(Duplication {
        probability: Probability::ALWAYS,
        lag: Duration::from_micros(10),
    });
    let (mut fabric, start) = two_hops(twice.clone(), twice);
    fabric.send(packet(5), start, &mut Unobserved).unwrap();
    // The two copies leave b's transmitter at 2100 and 3100 µs, and each is duplicated again.
    let times: Vec<u64> = events(&mut fabric).iter().map(|event| event.0).collect();
    assert_eq!(times, [2200, 2210, 3200, 3210]);
    assert_eq!(fabric.packets().live(), 0);
}

#[test]
fn time_stops_at_the_given_limit() {
    let (mut fabric, start) = two_hops(slow(), slow());
    fabric.send(packet(0), start, &mut Unobserved).unwrap();
    assert_eq!(fabric.step(at(2199), &mut Unobserved), Step::Idle);
    assert_eq!(fabric.now(), at(2199));
    assert_eq!(
        fabric.step(at(2200), &mut Unobserved),
        Step::Delivered(PacketHandle(0))
    );
}
