//! Tests of DualPI2: comparison with RFC 9332, Appendix A.2, with a real timer.

use std::collections::VecDeque;

use super::*;
use crate::link::{DualPi2Config, DualScheduler};

/// Transcription of Figures 3, 5, 7 and 8, with a byte scheduler as the weighted round robin.
struct DualPi2 {
    config: DualPi2Config,
    limit: u64,
    lq: VecDeque<Packet>,
    cq: VecDeque<Packet>,
    p: f64,
    prevq: f64,
    count: [f64; 2],
    credit: i64,
}

fn time(q: &VecDeque<Packet>, now: u64) -> u64 {
    q.front().map_or(0, |packet| now - packet.tstamp)
}

fn byt(q: &VecDeque<Packet>) -> u64 {
    q.iter().map(|packet| packet.bytes).sum()
}

impl DualPi2 {
    fn new(config: DualPi2Config, limit: u64) -> Self {
        Self {
            config,
            limit,
            lq: VecDeque::new(),
            cq: VecDeque::new(),
            p: 0.0,
            prevq: 0.0,
            count: [0.0; 2],
            credit: Self::idle_credit(&config),
        }
    }

    fn idle_credit(config: &DualPi2Config) -> i64 {
        match config.scheduler {
            DualScheduler::Weighted { one_in } => -1500 * (i64::from(one_in) - 1),
            _ => 0,
        }
    }

    fn recur(&mut self, q: usize, likelihood: f64) -> bool {
        self.count[q] += likelihood;
        if self.count[q] > 1.0 {
            self.count[q] -= 1.0;
            return true;
        }
        false
    }

    fn laqm(&self, qdelay: u64) -> f64 {
        let min_th = self.config.min_th.as_nanos();
        let range = self.config.range.as_nanos();
        if qdelay >= min_th + range {
            1.0
        } else if qdelay > min_th {
            (qdelay - min_th) as f64 / range as f64
        } else {
            0.0
        }
    }

    fn scheduler_is_lq(&mut self, now: u64) -> bool {
        if self.lq.is_empty() || self.cq.is_empty() {
            return !self.lq.is_empty();
        }
        match self.config.scheduler {
            DualScheduler::Weighted { one_in } => {
                let l = self.credit <= 0;
                self.credit += if l {
                    self.lq[0].bytes as i64
                } else {
                    -(self.cq[0].bytes as i64) * (i64::from(one_in) - 1)
                };
                l
            }
            DualScheduler::TimeShifted { shift } => {
                time(&self.lq, now) + shift.as_nanos() >= time(&self.cq, now)
            }
        }
    }
}

impl Transcribed for DualPi2 {
    fn enqueue(&mut self, _: u64, packet: Packet, drops: &mut Drops) {
        let total = byt(&self.lq) + byt(&self.cq);
        if total > 0 && total + 1500 > self.limit {
            drops.push((packet.id, DropCause::QueueFull));
        } else if packet.ecn.bits() % 2 == 1 {
            self.lq.push_back(packet);
        } else {
            self.cq.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: u64, drops: &mut Drops) -> Option<Packet> {
        let k = self.config.coupling;
        while byt(&self.lq) + byt(&self.cq) > 0 {
            let (p_cl, p_c) = (self.p * k, self.p * self.p);
            if self.scheduler_is_lq(now) {
                let len = self.lq.len();
                let mut packet = self.lq.pop_front().unwrap();
                if p_cl < 1.0 {
                    let native = if len > self.config.th_len_packets as usize {
                        self.laqm(now - packet.tstamp)
                    } else {
                        0.0
                    };
                    if self.recur(0, native.max(p_cl)) {
                        packet.ecn = Codepoint::Ce;
                    }
                } else {
                    if self.recur(0, p_c) {
                        drops.push((packet.id, DropCause::Aqm));
                        continue;
                    }
                    if self.recur(0, p_cl) {
                        packet.ecn = Codepoint::Ce;
                    }
                }
                return Some(packet);
            }
            let mut packet = self.cq.pop_front().unwrap();
            if self.recur(1, p_c) {
                if packet.ecn == Codepoint::NotEct || p_cl >= 1.0 {
                    drops.push((packet.id, DropCause::Aqm));
                    continue;
                }
                packet.ecn = Codepoint::Ce;
            }
            if self.lq.is_empty() && self.cq.is_empty() {
                self.credit = Self::idle_credit(&self.config);
            }
            return Some(packet);
        }
        None
    }

    fn interval(&self) -> Option<u64> {
        Some(self.config.update.as_nanos())
    }

    fn tick(&mut self, now: u64) {
        let rtt_max = self.config.rtt_max.as_secs_f64();
        let alpha = 0.1 * self.config.update.as_secs_f64() / (rtt_max * rtt_max);
        let beta = 0.3 / rtt_max;
        let curq = time(&self.cq, now).max(time(&self.lq, now)) as f64 / 1e9;
        self.p += alpha * (curq - self.config.target.as_secs_f64()) + beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.prevq = curq;
    }
}

fn schedulers() -> [DualScheduler; 2] {
    let shift = Duration::from_millis(50);
    [
        DualScheduler::Weighted { one_in: 16 },
        DualScheduler::TimeShifted { shift },
    ]
}

#[test]
fn dual_pi2_agrees_with_its_pseudo_code_even_in_overload() {
    for scheduler in schedulers() {
        for range_us in [400, 0] {
            for load in [0.9, 1.1, 2.0] {
                for seed in 0..4 {
                    let mut dual = DualPi2Config::RFC;
                    dual.scheduler = scheduler;
                    dual.range = Duration::from_micros(range_us);
                    let case = format!("seed {seed} load {load} {dual:?}");
                    let load = arrivals(seed, 6000, load);
                    let config = config(Discipline::DualPi2(dual), QueueLimit::Bytes(250_000));
                    let (ours, _) = Driver::run(&config, &load);
                    let theirs = transcribed(DualPi2::new(dual, 250_000), &load);
                    assert_alike(&ours, &theirs, 1, 50, &case);
                }
            }
        }
    }
}

/// Generates a steady flow of `mbps` Mbit/s for ten seconds.
fn steady(flow: u32, ecn: Codepoint, mbps: f64) -> Vec<Arrival> {
    let gap = 8e6 / mbps;
    let packets = (10e9 / gap) as u64;
    let one = |n| Arrival {
        at: (n as f64 * gap) as u64,
        flow,
        bytes: 1000,
        ecn,
    };
    (0..packets).map(one).collect()
}

#[test]
fn drops_keep_unresponsive_senders_of_either_kind_at_the_target() {
    for scheduler in schedulers() {
        for ecn in [Codepoint::NotEct, Codepoint::Ect0, Codepoint::Ect1] {
            let mut dual = DualPi2Config::RFC;
            dual.scheduler = scheduler;
            // The load is twice the link's capacity, so half of the packets must be dropped.
            let load = steady(0, ecn, 16.0);
            let config = config(Discipline::DualPi2(dual), QueueLimit::Unlimited);
            let (ours, _) = Driver::run(&config, &load);
            let late = ours.sent.iter().filter(|sent| sent.0 > 5_000_000_000);
            let late: Vec<f64> = late
                .filter(|sent| sent.0 < 10_000_000_000)
                .map(|&(at, id, _)| (at - load[id as usize].at) as f64 / 1e6)
                .collect();
            let mean = late.iter().sum::<f64>() / late.len() as f64;
            assert!((10.0..22.0).contains(&mean), "{ecn:?}: {mean} ms");
        }
    }
}

#[test]
fn a_light_l_queue_hardly_waits_for_a_full_c_queue() {
    let mut load = steady(0, Codepoint::NotEct, 12.0);
    load.extend(steady(1, Codepoint::Ect1, 1.0));
    load.sort_by_key(|arrival| arrival.at);
    let config = config(
        Discipline::DualPi2(DualPi2Config::RFC),
        QueueLimit::Unlimited,
    );
    let (ours, _) = Driver::run(&config, &load);
    let (mut sum, mut count) = (0.0, 0.0);
    for (at, id, _) in ours.sent {
        let packet = load[id as usize];
        if packet.flow == 1 {
            sum += (at - packet.at) as f64 / 1e6;
            count += 1.0;
        }
    }
    // The packet itself takes 1 ms. On average it waits for half of another packet, and rarely for a turn of the C
    // queue.
    assert!(sum / count < 2.2, "{} ms", sum / count);
}
