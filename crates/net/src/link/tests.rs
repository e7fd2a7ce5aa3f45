//! Tests of whole links, with times calculated by hand.

use super::*;
use dupack_tcp::segment::Codepoint;

use crate::ids::FlowId;
use crate::packet::PacketHandle;
use crate::route::Hop;
use crate::units::{BitRate, Probability};

/// 8 Mbit/s is 1 byte per microsecond.
const BYTE_PER_MICROSECOND: BitRate = BitRate::from_mbps(8);

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn data(number: u64, bytes: u32) -> Offer {
    Offer {
        packet: PacketHandle(number as u32),
        hop: Hop::default(),
        kind: PacketKind::Data,
        flow: FlowId(0),
        number,
        bytes,
        ..Offer::default()
    }
}

fn slow_link() -> LinkConfig {
    LinkConfig::rate(BYTE_PER_MICROSECOND, Duration::from_micros(500))
}

/// Offers packets `(time in µs, bytes)` and returns the verdicts.
fn offer_all(link: &mut Link, packets: &[(u64, u32)]) -> Vec<Admission> {
    let numbered = packets.iter().zip(0..);
    numbered
        .map(|(&(micros, bytes), n)| link.offer(at(micros), InsertionNumber(n), &data(n, bytes)))
        .collect()
}

fn arrivals(link: &mut Link) -> Vec<(u64, u32, Fate)> {
    core::iter::from_fn(|| {
        let (when, _) = link.next_arrival()?;
        let flight = link.take_arrival(when)?;
        Some((when.as_nanos(), flight.packet.0, flight.fate))
    })
    .collect()
}

const fn waits(micros: u64) -> Admission {
    Admission::Accepted {
        wait: Duration::from_micros(micros),
    }
}

const FULL: Admission = Admission::Dropped(DropCause::QueueFull);

#[test]
fn a_packet_arrives_after_transmission_and_delay() {
    let mut link = Link::new(&slow_link(), 1, "link");
    // Each 1000 bytes take 1000 µs to transmit, and 500 µs to propagate. The second packet waits 600 µs for the first.
    let verdicts = offer_all(&mut link, &[(0, 1000), (400, 100), (5000, 1)]);
    assert_eq!(verdicts, [waits(0), waits(600), waits(0)]);
    assert_eq!(
        arrivals(&mut link),
        [
            (1_500_000, 0, Fate::Arrived),
            (1_600_000, 1, Fate::Arrived),
            (5_501_000, 2, Fate::Arrived)
        ]
    );
}

#[test]
fn no_packet_arrives_before_its_time() {
    let mut link = Link::new(&slow_link(), 1, "link");
    let _ = offer_all(&mut link, &[(0, 1000)]);
    assert_eq!(link.take_arrival(at(1499)), None);
    assert!(link.take_arrival(at(1500)).is_some());
    assert_eq!(link.take_arrival(at(1500)), None);
}

#[test]
fn a_limit_excludes_the_packet_in_transmission() {
    let config = slow_link().with_queue(QueueLimit::Packets(2));
    let mut link = Link::new(&config, 1, "link");
    let verdicts = offer_all(
        &mut link,
        &[
            (0, 1000),
            (0, 1000),
            (0, 1000),
            (0, 1000),
            (999, 1000),
            (1000, 1000),
        ],
    );
    // At 1000 µs, the transmission of the second packet begins, so it no longer waits.
    assert_eq!(
        verdicts,
        [waits(0), waits(1000), waits(2000), FULL, FULL, waits(2000)]
    );
    assert_eq!(link.backlog_packets(at(1000)), 2);
    assert_eq!(link.counters().drops.of(DropCause::QueueFull), 2);
    assert_eq!(link.counters().backlog_max_packets, 2);
}

#[test]
fn a_limit_in_bytes_applies_to_bytes() {
    let config = slow_link().with_queue(QueueLimit::Bytes(1500));
    let mut link = Link::new(&config, 1, "link");
    let verdicts = offer_all(
        &mut link,
        &[(0, 9000), (0, 1000), (0, 501), (0, 500), (0, 1)],
    );
    // The first packet goes directly to the transmitter, regardless of its size.
    assert_eq!(verdicts, [waits(0), waits(9000), FULL, waits(10_000), FULL]);
    assert_eq!(link.backlog_bytes(at(0)), 1500);
}

#[test]
fn only_packets_lost_after_the_queue_take_transmission_time() {
    let script = |placement| {
        let rule = ScriptRule::Count(0..=0);
        LossConfig {
            model: LossModel::Script(LossScript::new(vec![rule]).unwrap()),
            placement,
            filter: PacketFilter::All,
        }
    };
    let mut before = slow_link();
    before.losses = vec![script(LossPlacement::BeforeQueue)];
    let mut link = Link::new(&before, 1, "link");
    let verdicts = offer_all(&mut link, &[(0, 1000), (0, 1000)]);
    assert_eq!(verdicts, [Admission::Dropped(DropCause::Script), waits(0)]);
    assert_eq!(arrivals(&mut link), [(1_500_000, 1, Fate::Arrived)]);

    let mut after = slow_link();
    after.losses = vec![script(LossPlacement::AfterTransmission)];
    let mut link = Link::new(&after, 1, "link");
    let verdicts = offer_all(&mut link, &[(0, 1000), (0, 1000)]);
    assert_eq!(verdicts, [waits(0), waits(1000)]);
    assert_eq!(
        arrivals(&mut link),
        [
            (1_500_000, 0, Fate::Lost(DropCause::Script)),
            (2_500_000, 1, Fate::Arrived)
        ]
    );
    assert_eq!(link.counters().carried_packets, 2);
    assert_eq!(link.counters().drops.of(DropCause::Script), 1);
}

#[test]
fn a_filter_hides_packets_from_a_model() {
    let mut config = slow_link();
    config.losses = vec![LossConfig {
        model: LossModel::Bernoulli(Probability::ALWAYS),
        placement: LossPlacement::BeforeQueue,
        filter: PacketFilter::DataOnly,
    }];
    let mut link = Link::new(&config, 1, "link");
    let ack = Offer {
        kind: PacketKind::Ack,
        ..data(0, 40)
    };
    assert_eq!(link.offer(at(0), InsertionNumber(0), &ack), waits(0));
    let verdict = link.offer(at(0), InsertionNumber(1), &data(0, 40));
    assert_eq!(verdict, Admission::Dropped(DropCause::Random));
}

#[test]
fn losses_do_not_depend_on_queueing() {
    // Common random numbers: the same packets are lost with a short and with a long queue.
    let lost = |limit| {
        let config = slow_link()
            .with_queue(limit)
            .with_bernoulli(Probability::clamped(0.1));
        let mut link = Link::new(&config, 9, "link");
        let packets: Vec<_> = (0..1000).map(|n| (n * 10, 1000)).collect();
        let verdicts = offer_all(&mut link, &packets);
        let random = |v: &Admission| *v == Admission::Dropped(DropCause::Random);
        (0..1000)
            .filter(|&n| random(&verdicts[n]))
            .collect::<Vec<_>>()
    };
    let long = lost(QueueLimit::Unlimited);
    // The mean is 1000 · 0.1 = 100 and the standard deviation 9.5.
    assert!((62..=138).contains(&long.len()), "{}", long.len());
    assert_eq!(long, lost(QueueLimit::Packets(1)));
}

#[test]
fn an_outage_drops_offered_packets_but_not_those_in_transit() {
    let mut config = slow_link();
    config.outages = vec![TimeWindow {
        from: at(100),
        to: at(200),
    }];
    let mut link = Link::new(&config, 1, "link");
    let verdicts = offer_all(&mut link, &[(0, 1000), (100, 10), (199, 10), (200, 10)]);
    let down = Admission::Dropped(DropCause::LinkDown);
    assert_eq!(verdicts, [waits(0), down, down, waits(800)]);
    assert_eq!(arrivals(&mut link).len(), 2);
}

#[test]
fn a_delayed_packet_is_overtaken() {
    let mut config = LinkConfig::pure_delay(Duration::from_micros(100));
    config.impairments.reordering = Some(Reordering {
        probability: Probability::ALWAYS,
        delay_min: Duration::from_micros(0),
        delay_max: Duration::from_micros(1000),
    });
    let mut link = Link::new(&config, 1, "link");
    let _ = offer_all(&mut link, &[(0, 10); 20]);
    let order = arrivals(&mut link);
    assert!(order.is_sorted_by_key(|arrival| arrival.0));
    assert!(!order.is_sorted_by_key(|arrival| arrival.1));
}

#[test]
fn the_first_of_two_copies_leaves_the_packet_in_place() {
    for lag in [0, 50] {
        let mut config = LinkConfig::pure_delay(Duration::from_micros(100));
        config.impairments.duplication = Some(Duplication {
            probability: Probability::ALWAYS,
            lag: Duration::from_micros(lag),
        });
        let mut link = Link::new(&config, 1, "link");
        let _ = offer_all(&mut link, &[(0, 10)]);
        assert_eq!(
            arrivals(&mut link),
            [
                (100_000, 0, Fate::FirstOfTwo),
                (100_000 + 1000 * lag, 0, Fate::Arrived)
            ]
        );
        assert_eq!(link.counters().duplicated_packets, 1);
        assert_eq!(link.counters().carried_packets, 1);
    }
}

#[test]
fn waits_of_data_packets_are_recorded() {
    let config = slow_link().recording_waits(WaitRecording::Data);
    let mut link = Link::new(&config, 1, "link");
    // The packets wait 0, 1000, …, 9000 µs.
    let _ = offer_all(&mut link, &[(0, 1000); 10]);
    let ack = Offer {
        kind: PacketKind::Ack,
        ..data(10, 40)
    };
    let _ = link.offer(at(0), InsertionNumber(10), &ack);
    assert_eq!(link.waits().unwrap().count(), 10);
    assert_eq!(
        link.waits().unwrap().mean(),
        Some(Duration::from_micros(4500))
    );
    assert_eq!(link.waits().unwrap().max(), Duration::from_micros(9000));
}

#[test]
fn only_waits_of_the_configured_flow_are_recorded() {
    let config = slow_link().recording_waits(WaitRecording::DataOf(FlowId(1)));
    let mut link = Link::new(&config, 1, "link");
    assert!(link.tells_packets_apart());
    // The packets wait 0, 1000, 2000 and 3000 µs. The second and fourth packets belong to flow 1.
    for number in 0..4 {
        let offer = Offer {
            flow: FlowId(number as u32 % 2),
            ..data(number, 1000)
        };
        let _ = link.offer(at(0), InsertionNumber(number), &offer);
    }
    let waits = link.waits().unwrap();
    assert_eq!(waits.count(), 2);
    assert_eq!(waits.mean(), Some(Duration::from_micros(2000)));
}

#[test]
fn a_trace_link_delivers_at_its_opportunities() {
    let trace = DeliveryTrace::parse("1\n2\n4\n").unwrap();
    let config = LinkConfig::new(ServiceConfig::Trace(trace), Duration::from_millis(10))
        .with_queue(QueueLimit::Packets(2));
    let mut link = Link::new(&config, 1, "link");
    // Three packets are offered at 0 ms, but only two may wait. The accepted packets leave at 1, 2, 4 and 5 ms.
    let verdicts = offer_all(
        &mut link,
        &[(0, 1500), (0, 1500), (0, 1500), (1000, 1500), (2000, 1500)],
    );
    assert_eq!(
        verdicts,
        [waits(1000), waits(2000), FULL, waits(3000), waits(3000)]
    );
    let millis: Vec<u64> = arrivals(&mut link)
        .iter()
        .map(|arrival| arrival.0 / 1_000_000)
        .collect();
    assert_eq!(millis, [11, 12, 14, 15]);
}

#[test]
fn red_prevents_a_long_queue() {
    let config = slow_link()
        .with_queue(QueueLimit::Packets(1000))
        .with_red(RedConfig {
            weight: 0.02,
            ..RedConfig::packets(5.0, 15.0)
        });
    let mut link = Link::new(&config, 1, "link");
    // The packets arrive at twice the link's rate for two seconds.
    let packets: Vec<_> = (0..4000).map(|n| (n * 500, 1000)).collect();
    let _ = offer_all(&mut link, &packets);
    // Half of the offered packets must be dropped. p_b = 0.5 corresponds to an average of 15 + 15 · 0.4/0.9 ≈ 22
    // packets. A lower average is enough, because drops are spread evenly (p_a = 0.5 needs p_b = 1/3).
    let average = link.red_average().unwrap();
    assert!((10.0..25.0).contains(&average), "{average}");
    let drops = link.counters().drops;
    assert_eq!(drops.of(DropCause::QueueFull), 0);
    assert!((1900..2100).contains(&drops.total()), "{}", drops.total());
}

#[test]
fn red_marks_ecn_capable_packets_and_drops_others() {
    let config = slow_link()
        .with_queue(QueueLimit::Packets(1000))
        .with_red(RedConfig {
            weight: 0.02,
            capable: Capable::Mark,
            ..RedConfig::packets(5.0, 500.0)
        });
    let mut link = Link::new(&config, 1, "link");
    let (mut marked, mut dropped) = (0, 0);
    for n in 0..2000 {
        let ecn = if n % 2 == 0 {
            Codepoint::Ect0
        } else {
            Codepoint::NotEct
        };
        let packet = Offer {
            ecn,
            ..data(n, 1000)
        };
        // The load is 20 % more than the link can carry.
        match link.offer(at(n * 833), InsertionNumber(n), &packet) {
            Admission::Accepted { .. } => {}
            Admission::Marked { .. } => {
                assert!(ecn.is_capable());
                marked += 1;
            }
            Admission::Dropped(cause) => {
                assert_eq!((cause, ecn), (DropCause::RedEarly, Codepoint::NotEct));
                dropped += 1;
            }
        }
    }
    assert!(marked > 20 && dropped > 20, "{marked} and {dropped}");
    let counters = link.counters();
    assert_eq!(
        (counters.marked_packets, counters.drops.total()),
        (marked, dropped)
    );
}

#[test]
fn invalid_links_are_detected() {
    assert_eq!(slow_link().fault(), None);
    let empty = slow_link().with_queue(QueueLimit::Packets(0));
    assert_eq!(empty.fault(), Some(LinkFault::NoBuffer));
    let upside_down = slow_link().with_red(RedConfig::packets(15.0, 5.0));
    assert_eq!(upside_down.fault(), Some(LinkFault::RedParameters));
    let queueless = LinkConfig::pure_delay(Duration::ZERO).with_red(RedConfig::packets(5.0, 15.0));
    assert_eq!(queueless.fault(), Some(LinkFault::RedWithoutQueue));
}
