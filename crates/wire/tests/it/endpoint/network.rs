//! Network between two hosts that loses, reorders, duplicates and damages packets. All random choices depend on a seed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dupack_net::random::Stream;
use dupack_tcp::connection::State;
use dupack_tcp::time::{Duration, Instant};

use super::host::Host;

/// Impairments of the network. Probabilities are per thousand.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    pub lost: u64,
    pub repeated: u64,
    pub damaged: u64,
    pub delayed: u64,
    /// One-way delay.
    pub delay: Duration,
    /// Maximum additional delay of a delayed packet.
    pub extra: Duration,
}

/// A packet in flight: its arrival time, its number in the order of sending, the index of its receiver, and its bytes.
type Flight = (Instant, u64, usize, Vec<u8>);

pub struct Network {
    pub hosts: [Host; 2],
    pub now: Instant,
    weather: Weather,
    stream: Stream,
    flying: BinaryHeap<Reverse<Flight>>,
    sent: u64,
}

impl Network {
    pub fn new(hosts: [Host; 2], weather: Weather, seed: u64) -> Self {
        Self {
            hosts,
            now: Instant::ZERO + Duration::from_secs(1),
            weather,
            stream: Stream::derive(seed, "weather"),
            flying: BinaryHeap::new(),
            sent: 0,
        }
    }

    /// Runs until both ends are closed, and returns the time of this event. Returns `None` if the limit is reached.
    pub fn run(&mut self, limit: Duration) -> Option<Instant> {
        let end = self.now + limit;
        for turn in 0..20_000_000_u64 {
            self.serve();
            let open = |host: &Host| host.connection.state() != State::Closed;
            if !self.hosts.iter().any(open) {
                return Some(self.now);
            }
            let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
            let timers = self.hosts.iter().map(|h| h.connection.next_timeout());
            let next = timers.chain([arrival]).flatten().min()?;
            if next > end {
                return None;
            }
            self.now = self.now.max(next);
            for host in &mut self.hosts {
                host.connection.handle_timeout(self.now);
            }
            self.deliver();
            assert!(turn < 19_999_999, "it never ends");
        }
        None
    }

    fn deliver(&mut self) {
        while let Some(Reverse((at, ..))) = self.flying.peek() {
            if *at > self.now {
                return;
            }
            if let Some(Reverse((_, _, to, packet))) = self.flying.pop() {
                self.hosts[to].receive(self.now, &packet);
                self.serve();
            }
        }
    }

    /// Lets both applications work, and accepts the packets that the connections send.
    fn serve(&mut self) {
        for from in 0..2 {
            loop {
                self.hosts[from].work();
                let before = self.sent;
                while let Some(packet) = self.hosts[from].send(self.now) {
                    self.transport(1 - from, packet);
                }
                if self.sent == before {
                    break;
                }
            }
        }
    }

    fn transport(&mut self, to: usize, mut packet: Vec<u8>) {
        self.sent += 1;
        let weather = self.weather;
        let mut strikes = |share: u64| self.stream.below(1000) < share;
        let (lost, repeated) = (strikes(weather.lost), strikes(weather.repeated));
        let (damaged, delayed) = (strikes(weather.damaged), strikes(weather.delayed));
        if lost {
            return;
        }
        if damaged {
            let bit = self.stream.below(8 * packet.len() as u64);
            packet[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        for copy in 0..=u64::from(repeated) {
            let mut at = self.now + weather.delay;
            if delayed || copy > 0 {
                at += self.stream.between(Duration::ZERO, weather.extra);
            }
            self.flying
                .push(Reverse((at, 2 * self.sent + copy, to, packet.clone())));
        }
    }
}
