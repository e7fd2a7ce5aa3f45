//! Tests of managed queues: comparison with literal transcriptions of their pseudo-code, and common invariants.
//!
//! Both implementations get the same arrivals at a link of 8 Mbit/s, which is 1 byte per microsecond. The
//! transcriptions use timers where the queues apply overdue updates, and `VecDeque`s where the queues have lines in a
//! store.

mod cake;
mod codel;
mod dual_pi2;
mod fq_codel;
mod invariants;
mod pie;
mod token_bucket;

use std::collections::VecDeque;

use dupack_tcp::segment::Codepoint;
use dupack_tcp::time::{Duration, Instant};

use crate::event::InsertionNumber;
use crate::ids::FlowId;
use crate::link::{Admission, Discipline, DropCause, Link, LinkConfig, Offer, QueueLimit};
use crate::packet::PacketHandle;
use crate::random::Stream;
use crate::units::BitRate;

/// An arriving packet; its index in the list is its number.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: u64,
    flow: u32,
    bytes: u32,
    ecn: Codepoint,
}

/// Fate of all packets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fates {
    /// End of the transmission in nanoseconds, packet number, and ECN field of each packet.
    sent: Vec<(u64, u32, Codepoint)>,
    /// Dropped packets, in the order of the drops.
    dropped: Vec<(u32, DropCause)>,
}

const NANOS_PER_BYTE: u64 = 1_000;
const SEED: u64 = 7;
const NAME: &str = "link";

/// Generates a load of `packets` packets: bursts of one flow each, with pauses, and with all sizes and codepoints. On
/// average, the load is `load` times the link's capacity; it is alternately above and below this average.
fn arrivals(seed: u64, packets: usize, load: f64) -> Vec<Arrival> {
    let mut stream = Stream::derive(seed, "arrivals");
    let mut at = 0;
    let mut all = Vec::new();
    while all.len() < packets {
        let flow = stream.below(6) as u32;
        let ecn = match flow {
            0 | 1 => Codepoint::NotEct,
            2 | 3 => Codepoint::Ect0,
            4 => Codepoint::Ect1,
            _ => Codepoint::from_bits(stream.below(4) as u8),
        };
        let burst = 1 + stream.below(6);
        let mut bytes_total = 0;
        for _ in 0..burst {
            let bytes = [60, 400, 1000, 1500][stream.below(4) as usize];
            bytes_total += bytes;
            all.push(Arrival {
                at,
                flow,
                bytes,
                ecn,
            });
            at += stream.below(20_000);
        }
        // The load is halved for a third of the time, so that queues also drain.
        let now_load = if at / 700_000_000 % 3 == 2 {
            load / 2.0
        } else {
            load
        };
        let pause = f64::from(bytes_total) * NANOS_PER_BYTE as f64 / now_load;
        at += stream.below((2.0 * pause) as u64);
    }
    all.truncate(packets);
    all
}

fn config(discipline: Discipline, limit: QueueLimit) -> LinkConfig {
    LinkConfig::rate(BitRate::from_mbps(8), Duration::ZERO)
        .with_queue(limit)
        .with_discipline(discipline)
}

/// Runs a link until all packets have left.
struct Driver {
    link: Link,
    ecn: Vec<Codepoint>,
    outcome: Fates,
    number: u64,
}

impl Driver {
    fn run(config: &LinkConfig, arrivals: &[Arrival]) -> (Fates, Link) {
        Self::over(Link::new(config, SEED, NAME), arrivals)
    }

    fn over(link: Link, arrivals: &[Arrival]) -> (Fates, Link) {
        let mut driver = Self {
            link,
            ecn: arrivals.iter().map(|arrival| arrival.ecn).collect(),
            outcome: Fates::default(),
            number: 0,
        };
        for (arrival, id) in arrivals.iter().zip(0..) {
            driver.advance(arrival.at);
            driver.offer(arrival, id);
        }
        driver.advance(u64::MAX / 2);
        (driver.outcome, driver.link)
    }

    fn number(&mut self) -> InsertionNumber {
        self.number += 1;
        InsertionNumber(self.number)
    }

    /// Handles all events that are due by `until`.
    fn advance(&mut self, until: u64) {
        while let Some(at) = self.link.next_transmission() {
            if at.as_nanos() > until {
                break;
            }
            let number = self.number();
            self.link.transmit(at, number);
            self.settle();
        }
        let now = Instant::from_nanos(until);
        while let Some(flight) = self.link.take_arrival(now) {
            let id = flight.packet.0;
            let ecn = self.ecn[id as usize];
            self.outcome.sent.push((flight.arrival.as_nanos(), id, ecn));
        }
    }

    fn offer(&mut self, arrival: &Arrival, id: u32) {
        let offer = Offer {
            packet: PacketHandle(id),
            flow: FlowId(arrival.flow),
            bytes: arrival.bytes,
            ecn: arrival.ecn,
            ..Offer::default()
        };
        let number = self.number();
        let now = Instant::from_nanos(arrival.at);
        match self.link.offer(now, number, &offer) {
            Admission::Dropped(cause) => self.outcome.dropped.push((id, cause)),
            Admission::Accepted { .. } | Admission::Marked { .. } => {}
        }
        self.settle();
    }

    fn settle(&mut self) {
        while let Some(packet) = self.link.take_mark() {
            assert_ne!(self.ecn[packet.0 as usize], Codepoint::NotEct);
            self.ecn[packet.0 as usize] = Codepoint::Ce;
        }
        while let Some((packet, cause)) = self.link.take_drop() {
            self.outcome.dropped.push((packet.0, cause));
        }
    }
}

/// A packet in a transcription.
#[derive(Clone, Copy, Debug)]
struct Packet {
    id: u32,
    flow: u32,
    bytes: u64,
    ecn: Codepoint,
    tstamp: u64,
}

/// Numbers and causes of all drops so far.
type Drops = Vec<(u32, DropCause)>;

/// Transcription of a pseudo-code; times are in nanoseconds.
trait Transcribed {
    fn enqueue(&mut self, now: u64, packet: Packet, drops: &mut Drops);

    fn dequeue(&mut self, now: u64, drops: &mut Drops) -> Option<Packet>;

    /// Returns the interval of the discipline's timer; `None` if there is no timer.
    fn interval(&self) -> Option<u64> {
        None
    }

    /// Handles an expiry of the discipline's timer.
    fn tick(&mut self, _now: u64) {}
}

/// Runs a transcription in front of the same link. At the same instant, the timer comes first, then the transmitter,
/// then arrivals.
fn transcribed(mut queue: impl Transcribed, arrivals: &[Arrival]) -> Fates {
    let mut outcome = Fates::default();
    let mut next_tick = queue.interval().unwrap_or(u64::MAX);
    let mut free_at = 0;
    let mut idle = true;
    let mut coming: VecDeque<(u32, &Arrival)> = (0..).zip(arrivals).collect();
    while !idle || !coming.is_empty() {
        let arrives = coming.front().map_or(u64::MAX, |(_, arrival)| arrival.at);
        let transmits = if idle { u64::MAX } else { free_at };
        let now = next_tick.min(transmits).min(arrives);
        if now == next_tick {
            queue.tick(now);
            next_tick += queue.interval().unwrap_or(u64::MAX);
            continue;
        }
        if now < transmits
            && let Some((id, arrival)) = coming.pop_front()
        {
            let packet = Packet {
                id,
                flow: arrival.flow,
                bytes: u64::from(arrival.bytes),
                ecn: arrival.ecn,
                tstamp: now,
            };
            queue.enqueue(now, packet, &mut outcome.dropped);
            if free_at > now || !idle {
                idle = false;
                continue;
            }
        }
        match queue.dequeue(now, &mut outcome.dropped) {
            Some(packet) => {
                free_at = now + packet.bytes * NANOS_PER_BYTE;
                outcome.sent.push((free_at, packet.id, packet.ecn));
                idle = false;
            }
            None => idle = true,
        }
    }
    outcome
}

/// Asserts that both implementations agree on every packet, and that the case is not trivial: at least `dropped`
/// packets were dropped, and at least `marked` were marked.
fn assert_alike(ours: &Fates, theirs: &Fates, dropped: usize, marked: usize, case: &str) {
    let first = ours.sent.iter().zip(&theirs.sent).position(|(a, b)| a != b);
    assert_eq!(first, None, "{case}: index of the first difference");
    assert_eq!(ours.dropped, theirs.dropped, "{case}");
    assert_eq!(ours.sent.len(), theirs.sent.len(), "{case}");
    let marks = ours
        .sent
        .iter()
        .filter(|sent| sent.2 == Codepoint::Ce)
        .count();
    assert!(
        ours.dropped.len() >= dropped,
        "{case}: {} drops",
        ours.dropped.len()
    );
    assert!(marks >= marked, "{case}: {marks} marks");
}
