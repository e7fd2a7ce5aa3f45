//! Tests of links that change, with times calculated by hand: 8 Mbit/s is 1 byte per microsecond.

use super::*;
use crate::event::InsertionNumber;
use crate::link::queue::codel::CoDelConfig;
use crate::link::rate::RateClock;
use crate::link::{
    Admission, Discipline, DropCause, Fate, Link, LinkConfig, LinkFault, Offer, QueueLimit,
    ServiceConfig,
};
use crate::packet::PacketHandle;

const BYTE_PER_MICROSECOND: BitRate = BitRate::from_mbps(8);

const fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn at(us: u64) -> Instant {
    Instant::ZERO + micros(us)
}

fn config(steps: Vec<Step>) -> LinkConfig {
    let mut config = LinkConfig::rate(BYTE_PER_MICROSECOND, micros(100));
    config.schedule = Some(ScheduleConfig::new(steps));
    config
}

fn offer_all(link: &mut Link, packets: &[(u64, u32)]) -> Vec<Admission> {
    let numbered = packets.iter().zip(0..);
    let verdicts = numbered.map(|(&(us, bytes), n)| {
        let offer = Offer {
            packet: PacketHandle(n),
            number: u64::from(n),
            bytes,
            ..Offer::default()
        };
        link.offer(at(us), InsertionNumber(u64::from(n)), &offer)
    });
    verdicts.collect()
}

/// Returns, for each packet, the arrival time in microseconds, the packet number, and `true` if the packet arrived.
fn arrivals(link: &mut Link) -> Vec<(u64, u32, bool)> {
    core::iter::from_fn(|| {
        let (when, _) = link.next_arrival()?;
        let flight = link.take_arrival(when)?;
        let there = flight.fate == Fate::Arrived;
        Some((when.as_nanos() / 1000, flight.packet.0, there))
    })
    .collect()
}

fn sent(config: &LinkConfig, packets: &[(u64, u32)]) -> Vec<(u64, u32, bool)> {
    let mut link = Link::new(config, 1, "link");
    let _ = offer_all(&mut link, packets);
    arrivals(&mut link)
}

#[test]
fn a_packet_in_transmission_continues_at_the_new_rate() {
    let step = Step {
        rate: Some(Span::of(BitRate::from_mbps(4))),
        ..Step::at(at(500))
    };
    // Half of the first packet has left by 500 µs. Its other half takes 1000 µs at half the rate, and the second packet
    // takes 2000 µs.
    let sent = sent(&config(vec![step]), &[(0, 1000), (0, 1000)]);
    assert_eq!(sent, [(1600, 0, true), (3600, 1, true)]);
}

#[test]
fn a_shorter_delay_preserves_the_order_unless_configured() {
    let step = Step {
        delay: Some(Span::of(micros(10))),
        ..Step::at(at(150))
    };
    let mut config = config(vec![step]);
    config.delay = micros(400);
    let packets = [(0, 100), (200, 100), (700, 100)];
    // The second packet leaves at 300 µs and would arrive at 310 µs, before the first.
    assert_eq!(
        sent(&config, &packets),
        [(500, 0, true), (500, 1, true), (810, 2, true)]
    );
    if let Some(schedule) = &mut config.schedule {
        schedule.order = JitterOrder::Overtaking;
    }
    assert_eq!(
        sent(&config, &packets),
        [(310, 1, true), (500, 0, true), (810, 2, true)]
    );
}

#[test]
fn packets_wait_during_a_gap() {
    let step = Step {
        gap: micros(1000),
        ..Step::at(at(500))
    };
    let config = config(vec![step]).with_queue(QueueLimit::Packets(1));
    let mut link = Link::new(&config, 1, "link");
    // 500 bytes of the first packet have left when the gap begins. The second packet waits, and the third finds the
    // buffer full.
    let verdicts = offer_all(&mut link, &[(0, 1000), (600, 100), (1400, 100)]);
    let waits = |us| Admission::Accepted { wait: micros(us) };
    let full = Admission::Dropped(DropCause::QueueFull);
    assert_eq!(verdicts, [waits(0), waits(1400), full]);
    assert_eq!(arrivals(&mut link), [(2100, 0, true), (2200, 1, true)]);
    // An idle link does not transmit during a gap either.
    assert_eq!(sent(&config, &[(500, 100)]), [(1700, 0, true)]);
    assert_eq!(sent(&config, &[(1500, 100)]), [(1700, 0, true)]);
}

#[test]
fn a_handover_may_lose_packets_that_have_not_left() {
    let step = Step {
        gap: micros(1000),
        queued: Queued::Lost,
        ..Step::at(at(500))
    };
    let config = config(vec![step]).with_queue(QueueLimit::Packets(2));
    let mut link = Link::new(&config, 1, "link");
    // The first packet has left by 400 µs. At 500 µs, the second is in transmission, the third and fourth wait, and the
    // fifth has been dropped, because the buffer was full. The step loses the second to the fourth. Packets that arrive
    // at or after 500 µs are kept.
    let packets = [
        (0, 400),
        (0, 400),
        (0, 400),
        (450, 100),
        (460, 100),
        (500, 100),
        (900, 100),
    ];
    let verdicts = offer_all(&mut link, &packets);
    assert_eq!(verdicts[4], Admission::Dropped(DropCause::QueueFull));
    assert_eq!(
        arrivals(&mut link),
        [
            (500, 0, true),
            (600, 1, false),
            (600, 2, false),
            (600, 3, false),
            (1700, 5, true),
            (1800, 6, true)
        ]
    );
    let counters = link.counters();
    assert_eq!(counters.drops.of(DropCause::LinkDown), 3);
    assert_eq!(counters.carried_bytes, 600);
}

#[test]
fn a_packet_that_ends_with_the_step_has_left() {
    let step = Step {
        queued: Queued::Lost,
        ..Step::at(at(500))
    };
    let sent = sent(&config(vec![step]), &[(0, 500), (499, 10), (500, 10)]);
    assert_eq!(sent, [(600, 0, true), (600, 1, false), (610, 2, true)]);
}

#[test]
fn a_duty_cycle_opens_at_the_start_of_every_period() {
    let duty = ScheduleConfig::duty(micros(1000), micros(250));
    let config = config(vec![duty]);
    // There are 250 bytes per period, so 1000 bytes take four periods.
    assert_eq!(sent(&config, &[(0, 1000)]), [(3350, 0, true)]);
    // At 2100 µs, the link transmits for another 150 µs; at 7900 µs, it is in a gap.
    let late = [(2100, 200), (7900, 100)];
    assert_eq!(sent(&config, &late), [(3150, 0, true), (8200, 1, true)]);
    let link = Link::new(&config, 1, "link");
    assert_eq!(link.mean_rate_bps(at(0), at(10_000)), Some(2e6));
    assert_eq!(link.mean_rate_bps(at(250), at(1000)), Some(0.0));
    assert_eq!(link.mean_rate_bps(at(5000), at(5500)), Some(4e6));
}

#[test]
fn repeated_steps_draw_new_values_alike_in_both_directions() {
    let step = Step {
        every: Some(micros(1000)),
        delay: Some(Span {
            min: micros(200),
            max: micros(900),
        }),
        ..Step::at(at(1000))
    };
    let delays = |draws: u64, name: &str| -> Vec<u64> {
        let mut config = config(vec![step]);
        if let Some(schedule) = &mut config.schedule {
            schedule.draws = draws;
            schedule.order = JitterOrder::Overtaking;
        }
        let mut link = Link::new(&config, 1, name);
        let packets: Vec<(u64, u32)> = (0..40).map(|n| (n * 1000 + 500, 100)).collect();
        let _ = offer_all(&mut link, &packets);
        let mut all = arrivals(&mut link);
        all.sort_unstable_by_key(|arrival| arrival.1);
        let delay = |(when, n, _): (u64, u32, bool)| when - u64::from(n) * 1000 - 600;
        all.into_iter().map(delay).collect()
    };
    let first = delays(7, "a->b");
    assert_eq!(first[0], 100);
    assert!(first[1..].iter().all(|delay| (200..=900).contains(delay)));
    assert_eq!(first, delays(7, "b->a"));
    assert_ne!(first, delays(8, "a->b"));
    let mut values = first[1..].to_vec();
    values.sort_unstable();
    values.dedup();
    assert!(values.len() > 30, "{values:?}");
}

#[test]
fn without_steps_the_rate_is_constant_to_the_nanosecond() {
    let rate = BitRate::from_mbps(3);
    let mut changing = ScheduledClock::new(&ScheduleConfig::new(Vec::new()), rate, micros(0));
    let mut steady = RateClock::new(rate);
    for n in 0..5000_u64 {
        let now = Instant::from_nanos(n * n * 700);
        let bytes = 40 + (n * 37 % 1461) as u32;
        let booked = changing.book(now, bytes);
        assert_eq!(booked.transmission, steady.book(now, bytes), "packet {n}");
        assert_eq!(booked.arrival, booked.transmission.end);
    }
}

#[test]
fn a_saturated_link_carries_its_scheduled_capacity() {
    // The rate is 5, 3 and 7 Mbit/s in turn, with a gap of 1 ms in every 10 ms. The link carries as much as it can.
    let rate = |mbps, after_ms| Step {
        every: Some(Duration::from_millis(30)),
        rate: Some(Span::of(BitRate::from_mbps(mbps))),
        ..Step::at(Instant::ZERO + Duration::from_millis(after_ms))
    };
    let gap = Step {
        every: Some(Duration::from_millis(10)),
        gap: Duration::from_millis(1),
        ..Step::at(at(4321))
    };
    let config = ScheduleConfig::new(vec![rate(5, 0), rate(3, 10), rate(7, 20), gap]);
    assert!(config.is_valid());
    let mut clock = ScheduledClock::new(&config, BYTE_PER_MICROSECOND, micros(0));
    let second = Instant::ZERO + Duration::from_secs(3);
    let mut bits = 0;
    while clock.book(Instant::ZERO, 1001).transmission.end <= second {
        bits += 8 * 1001;
    }
    // The mean rate is 5 Mbit/s for nine tenths of three seconds.
    let able = clock.mean_rate_bps(Instant::ZERO, second) * 3.0;
    assert_eq!(able.round(), 13.5e6);
    assert!((0.0..8.0 * 1001.0).contains(&(able - f64::from(bits))));
}

#[test]
fn a_managed_queue_waits_for_the_end_of_a_gap() {
    let step = Step {
        gap: micros(1000),
        delay: Some(Span::of(micros(300))),
        ..Step::at(at(500))
    };
    let config = config(vec![step]).with_discipline(Discipline::CoDel(CoDelConfig::default()));
    let mut link = Link::new(&config, 1, "link");
    let _ = offer_all(&mut link, &[(100, 100), (600, 100), (700, 100)]);
    assert_eq!(link.next_transmission(), Some(at(1500)));
    for number in 3.. {
        let Some(when) = link.next_transmission() else {
            break;
        };
        link.transmit(when, InsertionNumber(number));
    }
    assert_eq!(
        arrivals(&mut link),
        [(300, 0, true), (1900, 1, true), (2000, 2, true)]
    );
}

#[test]
fn invalid_schedules_are_rejected() {
    let lost = Step {
        queued: Queued::Lost,
        ..Step::at(at(1))
    };
    let codel = Discipline::CoDel(CoDelConfig::default());
    let managed = config(vec![lost]).with_discipline(codel);
    assert_eq!(managed.fault(), Some(LinkFault::ManagedAndLost));
    assert_eq!(config(vec![lost]).fault(), None);
    let shut = |gap, every| Step {
        gap: micros(gap),
        every: Some(micros(every)),
        ..Step::at(at(0))
    };
    for steps in [
        vec![shut(0, 9)],
        vec![shut(100, 100)],
        vec![shut(50, 100), shut(500, 1000)],
        vec![Step {
            delay: Some(Span {
                min: micros(2),
                max: micros(1),
            }),
            ..Step::at(at(0))
        }],
    ] {
        let fault = config(steps.clone()).fault();
        assert_eq!(fault, Some(LinkFault::ScheduleParameters), "{steps:?}");
    }
    let mut timeless = config(vec![lost]);
    timeless.service = ServiceConfig::Unlimited;
    assert_eq!(timeless.fault(), Some(LinkFault::ScheduleWithoutRate));
}
