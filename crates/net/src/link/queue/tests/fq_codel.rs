//! Tests of FQ-CoDel: comparison with RFC 8290 §4, and its fairness.

use std::collections::{BTreeMap, VecDeque};

use super::codel::Codel;
use super::*;
use crate::link::FqCoDelConfig;

/// Transcription of §4.1 and §4.2, with a queue for each flow instead of a hash.
struct Fair {
    config: FqCoDelConfig,
    limit: usize,
    queues: BTreeMap<u32, (Codel, i64)>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl Transcribed for Fair {
    fn enqueue(&mut self, now: u64, packet: Packet, drops: &mut Drops) {
        let flow = packet.flow;
        let fresh = || (Codel::new(&self.config.codel), 0);
        let (codel, credits) = self.queues.entry(flow).or_insert_with(fresh);
        codel.enqueue(now, packet, drops);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.new.push_back(flow);
            *credits = i64::from(self.config.quantum_bytes);
        }
        let total: usize = self.queues.values().map(|q| q.0.queue.len()).sum();
        if total > self.limit {
            let largest = self.queues.values().map(|q| q.0.bytes).max().unwrap();
            let alike = self.queues.values().filter(|q| q.0.bytes == largest);
            assert_eq!(alike.count(), 1, "two queues are equally long");
            let fattest = self.queues.values_mut().find(|q| q.0.bytes == largest);
            let (codel, _) = fattest.unwrap();
            for _ in 0..(codel.queue.len() / 2).clamp(1, 64) {
                let gone = codel.queue.pop_front().unwrap();
                codel.bytes -= gone.bytes;
                drops.push((gone.id, DropCause::FattestFlow));
            }
        }
    }

    fn dequeue(&mut self, now: u64, drops: &mut Drops) -> Option<Packet> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new {
                &mut self.new
            } else {
                &mut self.old
            };
            let flow = *list.front()?;
            let (codel, credits) = self.queues.get_mut(&flow).unwrap();
            if *credits <= 0 {
                *credits += i64::from(self.config.quantum_bytes);
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            if let Some(packet) = codel.dequeue(now, drops) {
                *credits -= packet.bytes as i64;
                return Some(packet);
            }
            list.pop_front();
            if from_new {
                self.old.push_back(flow);
            }
        }
    }
}

#[test]
fn fq_codel_agrees_with_a_transcription() {
    for seed in 0..8 {
        for limit in [40_u64, 10_240] {
            let mut fair = FqCoDelConfig::RFC;
            // There are so many queues that the few flows do not collide. If two queues are equally large, either may
            // drop a packet, so the sizes are chosen to avoid ties.
            fair.flows = FqCoDelConfig::FLOWS_MAX;
            let mut load = arrivals(seed, 5000, 1.5);
            for (arrival, n) in load.iter_mut().zip(0..) {
                arrival.bytes += n % 37;
            }
            let config = config(Discipline::FqCoDel(fair), QueueLimit::Packets(limit));
            let (ours, link) = Driver::run(&config, &load);
            let theirs = transcribed(
                Fair {
                    config: fair,
                    limit: limit as usize,
                    queues: BTreeMap::new(),
                    new: VecDeque::new(),
                    old: VecDeque::new(),
                },
                &load,
            );
            assert_alike(
                &ours,
                &theirs,
                20,
                20,
                &format!("seed {seed} limit {limit}"),
            );
            let fattest = link.counters().drops.of(DropCause::FattestFlow);
            assert_eq!(fattest > 0, limit == 40, "{fattest}");
        }
    }
}

/// Generates `packets` packets of `flow` at once.
fn crowd(flow: u32, bytes: u32, packets: usize) -> Vec<Arrival> {
    let ecn = Codepoint::NotEct;
    let one = Arrival {
        at: 0,
        flow,
        bytes,
        ecn,
    };
    vec![one; packets]
}

#[test]
fn flows_share_bytes_rather_than_packets() {
    // The targets are long, so that CoDel never signals.
    let mut fair = FqCoDelConfig::RFC;
    fair.codel.target = Duration::from_secs(100);
    fair.codel.interval = Duration::from_secs(100);
    let sizes = [1500, 700, 60];
    let load: Vec<Arrival> = (0..)
        .zip(sizes)
        .flat_map(|(flow, bytes)| crowd(flow, bytes, 150_000 / bytes as usize))
        .collect();
    let config = config(Discipline::FqCoDel(fair), QueueLimit::Unlimited);
    let (ours, _) = Driver::run(&config, &load);
    let mut bytes = [0_i64; 3];
    for (_, id, _) in &ours.sent {
        let packet = load[*id as usize];
        bytes[packet.flow as usize] += i64::from(packet.bytes);
        // The check applies as long as all flows have packets to send (each has 150,000 bytes).
        if bytes.iter().all(|&sent| sent < 148_000) {
            let (most, least) = (bytes.iter().max().unwrap(), bytes.iter().min().unwrap());
            assert!(most - least <= 2 * 1514 + 1500, "{bytes:?}");
        }
    }
    assert_eq!(ours.sent.len(), load.len());
}

#[test]
fn a_full_buffer_drops_only_from_the_largest_flow() {
    let mut load = crowd(1, 1500, 100);
    let thin: Vec<Arrival> = (1..=20)
        .map(|n| Arrival {
            at: n * 1_000_000,
            flow: 2,
            bytes: 100,
            ecn: Codepoint::NotEct,
        })
        .collect();
    load.extend(&thin);
    let config = config(
        Discipline::FqCoDel(FqCoDelConfig::RFC),
        QueueLimit::Packets(50),
    );
    let (ours, _) = Driver::run(&config, &load);
    assert!(ours.dropped.len() >= 50, "{}", ours.dropped.len());
    let all_fat = ours
        .dropped
        .iter()
        .all(|(id, cause)| load[*id as usize].flow == 1 && *cause == DropCause::FattestFlow);
    assert!(all_fat);
    // A packet of the sparse flow waits for one packet in transmission and at most one more turn of the bulk flow.
    for (at, id, _) in &ours.sent {
        let packet = load[*id as usize];
        if packet.flow == 2 {
            assert!(at - packet.at <= 3_200_000, "{id}");
        }
    }
}
