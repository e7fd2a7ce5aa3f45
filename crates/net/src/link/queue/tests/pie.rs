//! Tests of PIE: comparison with RFC 8033's appendices, with a real timer.

use std::collections::VecDeque;

use super::*;
use crate::link::{Capable, PieConfig, PieDelay, PieSpread};

/// Transcription of Appendix A, and of those parts of Appendix B that are options here.
struct Pie {
    config: PieConfig,
    stream: Stream,
    queue: VecDeque<Packet>,
    bytes: u64,
    tail_drop: usize,
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    burst_allowance: f64,
    avg_dq_time: f64,
    in_measurement: bool,
    measurement_start: u64,
    dq_count: u64,
}

impl Pie {
    fn new(config: PieConfig, tail_drop: usize) -> Self {
        Self {
            config,
            stream: Stream::derive(SEED, &format!("{NAME}/pie")),
            queue: VecDeque::new(),
            bytes: 0,
            tail_drop,
            drop_prob: 0.0,
            accu_prob: 0.0,
            current_qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: config.max_burst.as_secs_f64(),
            avg_dq_time: 0.0,
            in_measurement: false,
            measurement_start: 0,
            dq_count: 0,
        }
    }

    fn drop_early(&mut self) -> bool {
        let qdelay_ref = self.config.target.as_secs_f64();
        if (self.qdelay_old < qdelay_ref / 2.0 && self.drop_prob < 0.2) || self.bytes <= 2 * 1500 {
            return false;
        }
        if self.config.spread == PieSpread::Derandomised {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                self.accu_prob = 0.0;
                return true;
            }
        }
        if self.stream.unit() < self.drop_prob {
            self.accu_prob = 0.0;
            return true;
        }
        false
    }
}

impl Transcribed for Pie {
    fn enqueue(&mut self, now: u64, mut packet: Packet, drops: &mut Drops) {
        packet.tstamp = now;
        if self.queue.len() >= self.tail_drop {
            drops.push((packet.id, DropCause::QueueFull));
            self.accu_prob = 0.0;
            return;
        }
        let half = self.config.target.as_secs_f64() / 2.0;
        if self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.config.max_burst.as_secs_f64();
        }
        if self.burst_allowance <= 1e-12 && self.drop_early() {
            let may = self.config.capable == Capable::Mark && packet.ecn != Codepoint::NotEct;
            if may && self.drop_prob < self.config.mark_below {
                packet.ecn = Codepoint::Ce;
            } else {
                drops.push((packet.id, DropCause::Aqm));
                return;
            }
        }
        self.bytes += packet.bytes;
        self.queue.push_back(packet);
    }

    fn dequeue(&mut self, now: u64, _: &mut Drops) -> Option<Packet> {
        let packet = self.queue.pop_front()?;
        self.bytes -= packet.bytes;
        let PieDelay::DepartureRate { threshold_bytes } = self.config.delay else {
            // Here, the delay of an empty queue is zero; the appendix does not reset it.
            let empty = self.queue.is_empty();
            let waited = (now - packet.tstamp) as f64 / 1e9;
            self.current_qdelay = if empty { 0.0 } else { waited };
            return Some(packet);
        };
        let dq_threshold = u64::from(threshold_bytes);
        if self.in_measurement {
            self.dq_count += packet.bytes;
            if self.dq_count >= dq_threshold {
                let dq_time = (now - self.measurement_start) as f64 / 1e9;
                if self.avg_dq_time == 0.0 {
                    self.avg_dq_time = dq_time;
                } else {
                    let weight = dq_threshold as f64 / 65_536.0;
                    self.avg_dq_time = dq_time * weight + self.avg_dq_time * (1.0 - weight);
                }
                self.in_measurement = false;
            }
        }
        if self.bytes >= dq_threshold && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0;
        }
        Some(packet)
    }

    fn interval(&self) -> Option<u64> {
        Some(self.config.update.as_nanos())
    }

    fn tick(&mut self, _: u64) {
        if let PieDelay::DepartureRate { threshold_bytes } = self.config.delay {
            self.current_qdelay = self.bytes as f64 * self.avg_dq_time / f64::from(threshold_bytes);
        }
        let mut p = self.config.alpha_hz * (self.current_qdelay - self.config.target.as_secs_f64())
            + self.config.beta_hz * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        if let Some(cap) = self.config.cap
            && self.drop_prob >= 0.1
            && p > cap
        {
            p = cap;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance -= self.config.update.as_secs_f64();
        self.burst_allowance = self.burst_allowance.max(0.0);
    }
}

fn variants() -> Vec<PieConfig> {
    let mut variants = Vec::new();
    let measured = PieDelay::DepartureRate {
        threshold_bytes: 16_384,
    };
    for delay in [PieDelay::Timestamp, measured] {
        for spread in [PieSpread::Random, PieSpread::Derandomised] {
            for (capable, cap) in [(Capable::Drop, None), (Capable::Mark, Some(0.02))] {
                let mut pie = PieConfig::RFC;
                (pie.delay, pie.spread) = (delay, spread);
                (pie.capable, pie.cap) = (capable, cap);
                variants.push(pie);
            }
        }
    }
    variants
}

#[test]
fn pie_agrees_with_its_pseudo_code() {
    for pie in variants() {
        for seed in 0..6 {
            let load = arrivals(seed, 12_000, 1.2);
            let config = config(Discipline::Pie(pie), QueueLimit::Packets(150));
            let (ours, _) = Driver::run(&config, &load);
            let theirs = transcribed(Pie::new(pie, 150), &load);
            let marked = if pie.capable == Capable::Mark { 20 } else { 0 };
            assert_alike(&ours, &theirs, 50, marked, &format!("seed {seed} {pie:?}"));
        }
    }
}

#[test]
fn a_burst_after_a_quiet_time_passes() {
    // 100 packets of 1 ms arrive at once, and again a second later. They wait up to 100 ms each time, but this is
    // within the burst allowance of 150 ms.
    let load: Vec<Arrival> = (0..200)
        .map(|n| Arrival {
            at: n / 100 * 1_000_000_000,
            flow: 0,
            bytes: 1000,
            ecn: Codepoint::NotEct,
        })
        .collect();
    let run = |max_burst| {
        let mut pie = PieConfig::RFC;
        pie.max_burst = max_burst;
        let config = config(Discipline::Pie(pie), QueueLimit::Unlimited);
        Driver::run(&config, &load).0
    };
    assert_eq!(run(Duration::from_millis(150)).dropped, []);
}

#[test]
fn derandomised_drops_are_spaced() {
    let mut gaps = [0_usize; 2];
    for (spread, least) in [PieSpread::Random, PieSpread::Derandomised]
        .into_iter()
        .zip(&mut gaps)
    {
        let mut pie = PieConfig::RFC;
        pie.spread = spread;
        // 1000-byte packets arrive at 9 Mbit/s at a link of 8 Mbit/s, so p settles near 1/9.
        let load: Vec<Arrival> = (0..40_000)
            .map(|n| Arrival {
                at: n * 888_889,
                flow: 0,
                bytes: 1000,
                ecn: Codepoint::NotEct,
            })
            .collect();
        let config = config(Discipline::Pie(pie), QueueLimit::Unlimited);
        let (ours, _) = Driver::run(&config, &load);
        let late: Vec<u32> = ours
            .dropped
            .iter()
            .map(|drop| drop.0)
            .filter(|&id| id > 20_000)
            .collect();
        let share = late.len() as f64 / 20_000.0;
        assert!((0.09..0.13).contains(&share), "{spread:?}: {share}");
        *least = late
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as usize)
            .min()
            .unwrap();
    }
    // Derandomised drops are at least 0.85/p packets apart, and p stays below 0.2, so the gaps are at least 4 packets.
    // Random drops may be adjacent.
    assert_eq!(gaps[0], 1);
    assert!(gaps[1] >= 4, "{gaps:?}");
}
