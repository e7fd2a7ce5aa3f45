//! Invariants of all managed queues, for any load.

use std::collections::BTreeMap;

use super::*;
use crate::link::DeliveryTrace;
use crate::link::{
    CakeConfig, CoDelConfig, DualPi2Config, FqCoDelConfig, PieConfig, ServiceConfig,
    TokenBucketConfig,
};

fn all() -> Vec<Discipline> {
    let bucket = TokenBucketConfig::new(BitRate::from_mbps(4), 5000);
    vec![
        Discipline::CoDel(CoDelConfig::RFC),
        Discipline::FqCoDel(FqCoDelConfig::RFC),
        Discipline::Pie(PieConfig::RFC),
        Discipline::DualPi2(DualPi2Config::RFC),
        Discipline::Shaper(bucket),
        Discipline::Cake(CakeConfig::PAPER),
    ]
}

#[test]
fn every_packet_arrives_in_order_or_is_dropped_once() {
    for discipline in all() {
        for seed in 0..6 {
            for limit in [QueueLimit::Packets(30), QueueLimit::Bytes(400_000)] {
                let load = arrivals(seed, 4000, 1.4);
                let config = config(discipline, limit);
                let (ours, link) = Driver::run(&config, &load);
                let case = format!("{discipline:?} seed {seed} {limit:?}");
                let mut ends: Vec<u32> = ours.sent.iter().map(|sent| sent.1).collect();
                ends.extend(ours.dropped.iter().map(|drop| drop.0));
                ends.sort_unstable();
                assert!(ends.iter().copied().eq(0..4000), "{case}");

                let mut last = BTreeMap::new();
                for (_, id, _) in &ours.sent {
                    let Arrival { flow, ecn, .. } = load[*id as usize];
                    // The two queues of DualPI2 may reorder packets of a flow that have different codepoints.
                    let before = last.insert((flow, ecn), *id);
                    assert!(before.is_none_or(|before| before < *id), "{case}: {id}");
                }
                let counters = link.counters();
                assert_eq!(counters.offered_packets, 4000, "{case}");
                assert_eq!(counters.carried_packets, ours.sent.len() as u64, "{case}");
                assert_eq!(counters.drops.total(), ours.dropped.len() as u64, "{case}");
                if let QueueLimit::Packets(limit) = limit {
                    assert!(counters.backlog_max_packets <= limit, "{case}");
                }
            }
        }
    }
}

#[test]
fn the_transmitter_idles_only_when_no_packet_waits() {
    for discipline in all() {
        if matches!(discipline, Discipline::Shaper(_)) {
            continue;
        }
        let load = arrivals(3, 3000, 1.2);
        let (ours, _) = Driver::run(&config(discipline, QueueLimit::Packets(50)), &load);
        let bytes = |id: u32| u64::from(load[id as usize].bytes);
        let mut free_at = 0;
        let mut rests = 0;
        for (n, &(end, id, _)) in ours.sent.iter().enumerate() {
            let start = end - bytes(id) * NANOS_PER_BYTE;
            if start > free_at {
                rests += 1;
                // After an idle period, the transmitter starts with a packet that has just arrived; no packet that is
                // sent later was already waiting.
                assert_eq!(load[id as usize].at, start, "{discipline:?}");
                let waited = ours.sent[n..]
                    .iter()
                    .any(|later| load[later.1 as usize].at < start);
                assert!(!waited, "{discipline:?}");
            }
            free_at = end;
        }
        assert!(rests > 5, "{discipline:?}: {rests}");
    }
}

#[test]
fn a_trace_link_chooses_a_packet_at_its_opportunity() {
    // There is an opportunity every 10 ms. Of two flows, the one that arrives later and sends less is served at the
    // next opportunity: the order is flow 1, then 2, then 1.
    let trace = DeliveryTrace::new(vec![10]).unwrap();
    let mut config = config(
        Discipline::FqCoDel(FqCoDelConfig::RFC),
        QueueLimit::Unlimited,
    );
    config.service = ServiceConfig::Trace(trace);
    let come = |at, flow| Arrival {
        at,
        flow,
        bytes: 1500,
        ecn: Codepoint::NotEct,
    };
    let load = [come(0, 1), come(0, 1), come(0, 1), come(15_000_000, 2)];
    let (ours, _) = Driver::run(&config, &load);
    let sent: Vec<(u64, u32)> = ours.sent.iter().map(|s| (s.0 / 1_000_000, s.1)).collect();
    assert_eq!(sent, [(10, 0), (20, 1), (30, 3), (40, 2)]);
}

#[test]
fn the_same_seed_gives_the_same_queue() {
    for discipline in all() {
        let load = arrivals(1, 3000, 1.4);
        let config = config(discipline, QueueLimit::Packets(60));
        let run = || Driver::run(&config, &load).0;
        assert_eq!(run(), run(), "{discipline:?}");
    }
}
