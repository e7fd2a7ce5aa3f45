//! Tests of CAKE's parts: a transcription of COBALT with queues that take fair turns, and properties that the paper
//! claims.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::*;
use crate::link::{CakeConfig, CobaltConfig, Hosts, Isolation};

/// A flow queue: COBALT step by step, with signed times, independent of the implementation under test.
#[derive(Default)]
struct Cobalt {
    queue: VecDeque<Packet>,
    bytes: u64,
    count: u32,
    drop_next: i64,
    dropping: bool,
    blue: u64,
    blue_timer: i64,
    credits: i64,
}

enum Verdict3 {
    Send,
    Mark,
    Drop,
}

impl Cobalt {
    fn control(&self, t: i64, config: &CobaltConfig) -> i64 {
        let root = f64::from(self.count.max(1)).sqrt();
        t + (config.interval.as_nanos() as f64 / root) as i64
    }

    fn judge(
        &mut self,
        now: i64,
        packet: &Packet,
        config: &CobaltConfig,
        draw: &mut Stream,
    ) -> Verdict3 {
        let over = now - packet.tstamp as i64 > config.target.as_nanos() as i64;
        let next_due = self.count > 0 && now - self.drop_next >= 0;
        if over {
            if !self.dropping {
                self.dropping = true;
                if self.count == 0 {
                    self.count = 1;
                }
                self.drop_next = self.control(now, config);
            }
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict3::Send;
        if next_due && self.dropping {
            verdict = match packet.ecn {
                Codepoint::NotEct => Verdict3::Drop,
                _ => Verdict3::Mark,
            };
            self.count += 1;
            self.drop_next = self.control(self.drop_next, config);
        } else if !self.dropping {
            while self.count > 0 && now - self.drop_next >= 0 {
                self.count -= 1;
                self.drop_next = self.control(self.drop_next, config);
            }
        }
        if self.blue > 0 && draw.below(4096) < self.blue {
            verdict = Verdict3::Drop;
        }
        if self.count > 0 && now > self.drop_next && !matches!(verdict, Verdict3::Drop) {
            self.drop_next = now;
        }
        verdict
    }

    fn full(&mut self, now: i64, config: &CobaltConfig) {
        if now - self.blue_timer > config.target.as_nanos() as i64 {
            self.blue = (self.blue + 4096 / 256).min(4096);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    fn empty(&mut self, now: i64, config: &CobaltConfig) {
        if self.blue > 0 && now - self.blue_timer > config.target.as_nanos() as i64 {
            self.blue -= 1;
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now - self.drop_next >= 0 {
            self.count -= 1;
            self.drop_next = self.control(self.drop_next, config);
        }
    }
}

/// Queues that take turns, and a map from flows to queues without hash collisions.
struct Fair {
    config: CakeConfig,
    limit: usize,
    lines: BTreeMap<u32, Cobalt>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    draw: Stream,
    /// Set if two queues were the longest at the same time, so that either may drop a packet.
    tied: Rc<Cell<bool>>,
}

impl Fair {
    fn head(&mut self, flow: u32, now: i64, drops: &mut Drops) -> Option<Packet> {
        let cobalt = &self.config.cobalt;
        let line = self.lines.get_mut(&flow).unwrap();
        loop {
            let Some(mut packet) = line.queue.pop_front() else {
                line.empty(now, cobalt);
                return None;
            };
            line.bytes -= packet.bytes;
            match line.judge(now, &packet, cobalt, &mut self.draw) {
                Verdict3::Drop if !line.queue.is_empty() => drops.push((packet.id, DropCause::Aqm)),
                Verdict3::Mark => {
                    packet.ecn = Codepoint::Ce;
                    return Some(packet);
                }
                Verdict3::Send | Verdict3::Drop => return Some(packet),
            }
        }
    }
}

impl Transcribed for Fair {
    fn enqueue(&mut self, now: u64, packet: Packet, drops: &mut Drops) {
        let flow = packet.flow;
        let line = self.lines.entry(flow).or_default();
        line.bytes += packet.bytes;
        line.queue.push_back(packet);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            self.new.push_back(flow);
            line.credits = i64::from(self.config.quantum_bytes);
        }
        if self
            .lines
            .values()
            .map(|line| line.queue.len())
            .sum::<usize>()
            > self.limit
        {
            let largest = self.lines.values().map(|line| line.bytes).max().unwrap();
            let alike = self.lines.values().filter(|line| line.bytes == largest);
            if alike.count() > 1 {
                self.tied.set(true);
            }
            let longest = self.lines.values_mut().find(|line| line.bytes == largest);
            let longest = longest.unwrap();
            let gone = longest.queue.pop_front().unwrap();
            longest.bytes -= gone.bytes;
            longest.full(now as i64, &self.config.cobalt);
            drops.push((gone.id, DropCause::FattestFlow));
        }
    }

    fn dequeue(&mut self, now: u64, drops: &mut Drops) -> Option<Packet> {
        loop {
            let from_new = !self.new.is_empty();
            let flow = *if from_new { &self.new } else { &self.old }.front()?;
            let line = self.lines.get_mut(&flow).unwrap();
            if line.credits <= 0 {
                line.credits += i64::from(self.config.quantum_bytes);
            } else if let Some(packet) = self.head(flow, now as i64, drops) {
                self.lines.get_mut(&flow).unwrap().credits -= packet.bytes as i64;
                return Some(packet);
            } else if !from_new {
                self.old.pop_front();
                continue;
            }
            if from_new {
                &mut self.new
            } else {
                &mut self.old
            }
            .pop_front();
            self.old.push_back(flow);
        }
    }
}

#[test]
fn cobalt_agrees_with_a_transcription() {
    let mut compared = 0;
    let seeds = dupack_testing::cases(4, 16);
    for seed in 0..seeds {
        for limit in [40_u64, 10_240] {
            let mut cake = CakeConfig::PAPER;
            (cake.lines, cake.isolation) = (CakeConfig::LINES_MAX, Isolation::Flows);
            let mut load = arrivals(seed, 5000, 1.5);
            // Different packet sizes make queues of equal length unlikely.
            for (arrival, n) in load.iter_mut().zip(0..) {
                arrival.bytes += n % 997;
            }
            let tied = Rc::default();
            let config = config(Discipline::Cake(cake), QueueLimit::Packets(limit));
            let (ours, link) = Driver::run(&config, &load);
            let theirs = transcribed(
                Fair {
                    config: cake,
                    limit: limit as usize,
                    lines: BTreeMap::new(),
                    new: VecDeque::new(),
                    old: VecDeque::new(),
                    tied: Rc::clone(&tied),
                    draw: Stream::derive(SEED, &format!("{NAME}/blue")),
                },
                &load,
            );
            if tied.get() {
                continue;
            }
            compared += 1;
            assert_alike(
                &ours,
                &theirs,
                20,
                20,
                &format!("seed {seed} limit {limit}"),
            );
            let longest = link.counters().drops.of(DropCause::FattestFlow);
            assert_eq!(longest > 0, limit == 40, "{longest}");
        }
    }
    assert!(compared > seeds, "{compared}");
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

/// A configuration in which COBALT never signals.
fn silent() -> CakeConfig {
    let mut cake = CakeConfig::PAPER;
    cake.cobalt.target = Duration::from_secs(100);
    cake.cobalt.interval = Duration::from_secs(100);
    cake
}

/// Returns the bytes of each flow among the first `packets` packets that are sent.
fn shares(ours: &Fates, load: &[Arrival], packets: usize) -> BTreeMap<u32, u64> {
    let mut bytes = BTreeMap::new();
    for (_, id, _) in ours.sent.iter().take(packets) {
        let packet = load[*id as usize];
        *bytes.entry(packet.flow).or_default() += u64::from(packet.bytes);
    }
    bytes
}

#[test]
fn hosts_share_equally_whatever_their_number_of_flows() {
    // Flows 0 to 7 have sender 0, and flow 8 has sender 1. Either all flows have the same receiver 2, or there are nine
    // receivers.
    let load: Vec<Arrival> = (0..9).flat_map(|flow| crowd(flow, 1000, 400)).collect();
    let single_of_all = |isolation, receiver: fn(u32) -> u32| {
        let mut cake = silent();
        cake.isolation = isolation;
        let config = config(Discipline::Cake(cake), QueueLimit::Unlimited);
        let mut link = Link::new(&config, SEED, NAME);
        let hosts: Vec<Hosts> = (0..9)
            .map(|flow| Hosts {
                sender: u32::from(flow == 8),
                receiver: receiver(flow),
            })
            .collect();
        link.know_hosts(&hosts);
        let (ours, _) = Driver::over(link, &load);
        let shares = shares(&ours, &load, 700);
        shares[&8] as f64 / shares.values().sum::<u64>() as f64
    };
    // Flow 8 is one of two hosts, or one of nine flows. If all nine flows have the same receiver, the number of flows
    // of the receiver counts.
    assert!((single_of_all(Isolation::Hosts, |flow| 2 + flow) - 0.5).abs() < 0.02);
    assert!((single_of_all(Isolation::Flows, |flow| 2 + flow) - 1.0 / 9.0).abs() < 0.02);
    assert!((single_of_all(Isolation::Hosts, |_| 2) - 1.0 / 9.0).abs() < 0.02);
}

#[test]
fn as_many_flows_as_ways_have_a_queue_each() {
    let mut cake = silent();
    (cake.lines, cake.ways) = (8, 8);
    let load: Vec<Arrival> = (0..8).flat_map(|flow| crowd(flow, 1514, 50)).collect();
    let alone = |cake| {
        let config = config(Discipline::Cake(cake), QueueLimit::Unlimited);
        let (ours, _) = Driver::run(&config, &load);
        // The first two packets were sent before the others arrived, or in a turn of their own.
        let shares = shares(&ours, &load, 200);
        let (most, least) = (
            shares.values().max().unwrap(),
            shares.values().min().unwrap(),
        );
        shares.len() == 8 && most - least <= 2 * 1514
    };
    assert!(alone(cake));
    cake.ways = 1;
    assert!(
        !alone(cake),
        "with a plain hash some of eight flows share one of eight queues"
    );
}

#[test]
fn the_shaper_has_no_bursts_and_counts_overhead() {
    // The shaper has 4 Mbit/s on a link of 8 Mbit/s: 2 µs per byte, with 20 additional bytes per packet.
    let mut cake = silent();
    cake.rate = Some(BitRate::from_mbps(4));
    cake.overhead_bytes = 20;
    let mut load = crowd(0, 480, 100);
    // An idle second does not accumulate credit.
    load.extend(crowd(0, 480, 100).iter().map(|packet| Arrival {
        at: 1_000_000_000,
        ..*packet
    }));
    let config = config(Discipline::Cake(cake), QueueLimit::Unlimited);
    let (ours, _) = Driver::run(&config, &load);
    let ends: Vec<u64> = ours.sent.iter().map(|sent| sent.0).collect();
    assert_eq!(
        (ends.len(), ends[0], ends[100]),
        (200, 480_000, 1_000_480_000)
    );
    for (n, pair) in ends.windows(2).enumerate().filter(|(n, _)| *n != 99) {
        assert_eq!(pair[1] - pair[0], 1_000_000, "{n}");
    }
}

#[test]
fn blue_drops_packets_of_flows_that_ignore_marks() {
    // An ECN-capable flow sends at twice the link's rate for 20 s into a buffer of 50 packets.
    let load: Vec<Arrival> = (0..40_000)
        .map(|n| Arrival {
            at: n * 500_000,
            flow: 1,
            bytes: 1000,
            ecn: Codepoint::Ect0,
        })
        .collect();
    let config = config(Discipline::Cake(CakeConfig::PAPER), QueueLimit::Packets(50));
    let (ours, link) = Driver::run(&config, &load);
    // CoDel marks these packets and never drops them. BLUE's probability rises until the full buffer drops almost no
    // packets.
    let aqm = link.counters().drops.of(DropCause::Aqm);
    let longest = link.counters().drops.of(DropCause::FattestFlow);
    assert!(aqm > 18_000 && longest < 2_000, "{aqm} {longest}");
    assert!(ours.sent.len() > 19_500);
}
