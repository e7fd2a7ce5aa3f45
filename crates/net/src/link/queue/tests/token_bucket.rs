//! Tests of token buckets: comparison with hand calculations.

use super::*;
use crate::link::TokenBucketConfig;

/// A bucket of 3000 bytes that fills at 4 Mbit/s, half of the link's rate.
const BUCKET: TokenBucketConfig = TokenBucketConfig::new(BitRate::from_mbps(4), 3000);
const NANOS_PER_TOKEN_BYTE: u64 = 2_000;

fn crowd(packets: usize, bytes: u32) -> Vec<Arrival> {
    let one = Arrival {
        at: 0,
        flow: 0,
        bytes,
        ecn: Codepoint::Ect0,
    };
    vec![one; packets]
}

#[test]
fn a_shaper_passes_a_burst_and_then_keeps_its_rate() {
    // Three packets of 1000 bytes are sent without delay, 1 ms each at the link's rate. The bucket has been filling
    // since 0 ms with 500 bytes per ms. By 3 ms it has 1500 bytes, so the fourth packet is sent at 3 ms. The fifth
    // packet needs a total of 2000 bytes since 0 ms and is sent at 4 ms, the sixth at 6 ms, and so on every 2 ms.
    let config = config(Discipline::Shaper(BUCKET), QueueLimit::Unlimited);
    let (ours, _) = Driver::run(&config, &crowd(8, 1000));
    let ends: Vec<u64> = ours.sent.iter().map(|sent| sent.0 / 1_000_000).collect();
    assert_eq!(ends, [1, 2, 3, 4, 5, 7, 9, 11]);
}

#[test]
fn no_interval_carries_more_than_burst_and_rate() {
    for seed in 0..6 {
        let load = arrivals(seed, 2000, 0.9);
        let config = config(Discipline::Shaper(BUCKET), QueueLimit::Packets(100));
        let (ours, link) = Driver::run(&config, &load);
        assert!(link.counters().drops.of(DropCause::QueueFull) > 20);
        let bytes = |id: u32| u64::from(load[id as usize].bytes);
        // Start times of transmissions in order, and sizes in bytes.
        let starts: Vec<(u64, u64)> = ours
            .sent
            .iter()
            .map(|&(end, id, _)| (end - bytes(id) * NANOS_PER_BYTE, bytes(id)))
            .collect();
        let mut waits_for_tokens = 0;
        for (first, &(from, _)) in starts.iter().enumerate() {
            let mut sum = 0;
            for &(at, bytes) in starts[first..].iter().take(50) {
                sum += bytes;
                let allowed = 3000 * NANOS_PER_TOKEN_BYTE + (at - from);
                assert!(sum * NANOS_PER_TOKEN_BYTE <= allowed, "seed {seed}");
                waits_for_tokens += usize::from(sum * NANOS_PER_TOKEN_BYTE + 10_000 > allowed);
            }
        }
        assert!(
            waits_for_tokens > 20,
            "number of times that the bound is reached: {waits_for_tokens}"
        );
    }
}

#[test]
fn a_policer_drops_nonconforming_packets_and_delays_none() {
    for seed in 0..6 {
        let load = arrivals(seed, 2000, 0.9);
        let config = config(Discipline::Policer(BUCKET), QueueLimit::Unlimited);
        let (ours, link) = Driver::run(&config, &load);
        // Reference model in floating point.
        let (mut tokens, mut last) = (3000.0, 0);
        let mut conforming = Vec::new();
        for (arrival, id) in load.iter().zip(0..) {
            let filled = (arrival.at - last) as f64 / NANOS_PER_TOKEN_BYTE as f64;
            tokens = f64::min(tokens + filled, 3000.0);
            last = arrival.at;
            if tokens + 1e-6 >= f64::from(arrival.bytes) {
                tokens -= f64::from(arrival.bytes);
                conforming.push(id);
            }
        }
        let sent: Vec<u32> = ours.sent.iter().map(|sent| sent.1).collect();
        assert_eq!(sent, conforming, "seed {seed}");
        let policed = link.counters().drops.of(DropCause::Policed);
        assert_eq!(policed as usize + sent.len(), load.len());
        assert!(policed > 100);
    }
}

#[test]
fn a_packet_larger_than_the_bucket_is_dropped() {
    let config = config(Discipline::Shaper(BUCKET), QueueLimit::Unlimited);
    let (ours, _) = Driver::run(&config, &crowd(1, 3001));
    assert_eq!(ours.dropped, [(0, DropCause::Policed)]);
}
