//! Tests of CoDel against RFC 8289 §5, and against hand calculations.

use std::collections::VecDeque;

use super::*;
use crate::link::{Capable, CoDelConfig};

/// `codel_queue_t`, with Linux's marks: where a drop is due, an ECN-capable packet is marked instead.
#[derive(Default)]
pub(super) struct Codel {
    pub(super) queue: VecDeque<Packet>,
    pub(super) bytes: u64,
    pub(super) target: u64,
    pub(super) interval: u64,
    pub(super) ecn: bool,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Codel {
    pub(super) fn new(config: &CoDelConfig) -> Self {
        Self {
            target: config.target.as_nanos(),
            interval: config.interval.as_nanos(),
            ecn: config.capable == Capable::Mark,
            ..Self::default()
        }
    }

    fn control_law(&self, t: u64, count: u32) -> u64 {
        t + (self.interval as f64 / f64::from(count).sqrt()) as u64
    }

    fn dodequeue(&mut self, now: u64) -> (Option<Packet>, bool) {
        let Some(p) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        self.bytes -= p.bytes;
        if now - p.tstamp < self.target || self.bytes <= 1500 {
            self.first_above_time = 0;
            return (Some(p), false);
        }
        if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
            return (Some(p), false);
        }
        (Some(p), now >= self.first_above_time)
    }

    fn marked(&self, p: Packet) -> Option<Packet> {
        let may = self.ecn && p.ecn != Codepoint::NotEct;
        may.then_some(Packet {
            ecn: Codepoint::Ce,
            ..p
        })
    }
}

impl Transcribed for Codel {
    fn enqueue(&mut self, _: u64, packet: Packet, _: &mut Drops) {
        self.bytes += packet.bytes;
        self.queue.push_back(packet);
    }

    fn dequeue(&mut self, now: u64, drops: &mut Drops) -> Option<Packet> {
        let (mut p, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                let gone = p.unwrap();
                self.count += 1;
                if let Some(marked) = self.marked(gone) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    return Some(marked);
                }
                drops.push((gone.id, DropCause::Aqm));
                (p, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let gone = p.unwrap();
            p = if let Some(marked) = self.marked(gone) {
                Some(marked)
            } else {
                drops.push((gone.id, DropCause::Aqm));
                self.dodequeue(now).0
            };
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            let since = now as i64 - self.drop_next as i64;
            if delta > 1 && since < 16 * self.interval as i64 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        p
    }
}

#[test]
fn codel_agrees_with_its_pseudo_code() {
    for seed in 0..8 {
        for capable in [Capable::Drop, Capable::Mark] {
            for (target_ms, interval_ms) in [(5, 100), (2, 20), (20, 200)] {
                let mut codel = CoDelConfig::RFC;
                codel.capable = capable;
                codel.target = Duration::from_millis(target_ms);
                codel.interval = Duration::from_millis(interval_ms);
                let load = arrivals(seed, 6000, 1.3);
                let config = config(Discipline::CoDel(codel), QueueLimit::Unlimited);
                let (ours, _) = Driver::run(&config, &load);
                let theirs = transcribed(Codel::new(&codel), &load);
                let marked = if capable == Capable::Mark { 20 } else { 0 };
                let case = format!("seed {seed} {codel:?}");
                assert_alike(&ours, &theirs, 20, marked, &case);
            }
        }
    }
}

#[test]
fn the_first_drops_follow_the_control_law() {
    // 1000 bytes take 1 ms, and 200 packets arrive at once. Packet n leaves at n ms, after a wait of n ms. The first
    // wait that is not below 5 ms is that of packet 5, at 5 ms. So packet 105 is dropped at 105 ms, and packet 106 is
    // sent in its place. The next drop would be 100 ms later, at 205 ms, when the queue is empty: 199 of the 200
    // packets are sent, in 199 ms.
    let load = vec![
        Arrival {
            at: 0,
            flow: 0,
            bytes: 1000,
            ecn: Codepoint::NotEct,
        };
        400
    ];
    let config = config(
        Discipline::CoDel(CoDelConfig::RFC),
        QueueLimit::Packets(1000),
    );
    let (ours, link) = Driver::run(&config, &load[..200]);
    assert_eq!(ours.dropped, [(105, DropCause::Aqm)]);
    assert_eq!(ours.sent[105], (106_000_000, 106, Codepoint::NotEct));
    assert_eq!(link.counters().drops.of(DropCause::Aqm), 1);
    // With 400 packets, the second drop is at 205 ms (packet 206). The third would be due 100/√2 ms later, at 275.7 ms,
    // so it is made at 276 ms (packet 278). The next are due 100/√3 = 57.7 ms later, at 333.4 ms, and 100/√4 = 50 ms
    // after that, at 383.4 ms.
    let (ours, _) = Driver::run(&config, &load);
    let dropped: Vec<u32> = ours.dropped.iter().map(|drop| drop.0).collect();
    assert_eq!(dropped, [105, 206, 278, 337, 388]);
}

#[test]
fn all_l4s_packets_above_their_threshold_are_marked() {
    let mut codel = CoDelConfig::RFC;
    codel.l4s_threshold = Some(Duration::from_millis(1));
    let ecn = [Codepoint::Ect1, Codepoint::Ect0];
    let load: Vec<Arrival> = (0..20)
        .map(|n| Arrival {
            at: 0,
            flow: 0,
            bytes: 1000,
            ecn: ecn[n % 2],
        })
        .collect();
    let (ours, link) = Driver::run(
        &config(Discipline::CoDel(codel), QueueLimit::Unlimited),
        &load,
    );
    // Packet n waits n ms.
    for (_, id, ecn) in ours.sent {
        let marked = id % 2 == 0 && id > 1;
        assert_eq!(ecn == Codepoint::Ce, marked, "{id}");
    }
    assert_eq!(link.counters().marked_packets, 9);
}
