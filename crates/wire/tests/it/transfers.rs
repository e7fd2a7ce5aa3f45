//! Tests of two connections over a bad network: with every recovery, both streams arrive completely and both ends
//! close.

use std::net::SocketAddr;

use dupack_algorithms::catalog::{Dialect, StackSpec};
use dupack_net::random::Stream;
use dupack_tcp::connection::{Connection, Reason};
use dupack_tcp::options::WindowScale;
use dupack_tcp::receiver::AckPolicy;
use dupack_tcp::time::Duration;

use crate::endpoint::host::{Close, Host, Plan};
use crate::endpoint::network::{Network, Weather};
use crate::endpoint::stacks::{builder, config, every_recovery, stack};

/// Way in which the connection is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    Client,
    Simultaneous,
}

/// One transfer, fully determined by a seed.
struct Case {
    stack: StackSpec,
    dialect: Dialect,
    weather: Weather,
    opening: Opening,
    plans: [Plan; 2],
    seed: u64,
}

impl Case {
    fn draw(stack: &StackSpec, dialect: Dialect, seed: u64) -> Self {
        let mut stream = Stream::derive(seed, "transfer");
        let mut plan = |send: u64| Plan {
            send,
            chunk: 1 + stream.below(20_000),
            close: if stream.below(3) == 0 {
                Close::WhenPeerHas
            } else {
                Close::WhenWritten
            },
            read: 1 + stream.below(60_000),
        };
        let mut plans = [plan(40_000), plan(30_000)];
        if plans[0].close == Close::WhenPeerHas {
            plans[1].close = Close::WhenWritten;
        }
        plans[0].send += stream.below(120_000);
        plans[1].send = [0, 1, plans[1].send][stream.below(3) as usize];
        let weather = Weather {
            lost: stream.below(100),
            repeated: stream.below(50),
            damaged: stream.below(20),
            delayed: stream.below(200),
            delay: Duration::from_millis(1 + stream.below(50)),
            extra: Duration::from_millis(stream.below(40)),
        };
        Self {
            stack: stack.clone(),
            dialect,
            weather,
            opening: if stream.below(4) == 0 {
                Opening::Simultaneous
            } else {
                Opening::Client
            },
            plans,
            seed,
        }
    }

    fn hosts(&self) -> [Host; 2] {
        let mut stream = Stream::derive(self.seed, "hosts");
        let (a, b): (SocketAddr, SocketAddr) = if self.seed.is_multiple_of(2) {
            (
                ([192, 0, 2, 1], 40_000).into(),
                ([192, 0, 2, 2], 50_000).into(),
            )
        } else {
            (
                ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 40_000).into(),
                ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 2], 50_000).into(),
            )
        };
        [0, 1].map(|end| {
            let other = 1 - end;
            // In every other case on average, the sequence numbers wrap around within the first megabyte.
            let iss = (stream.bits() as u32) | if stream.below(2) == 0 { 0xfff0_0000 } else { 0 };
            let mut config = config(&self.stack, self.dialect, iss);
            config.mss = 300 + stream.below(1160) as u16;
            config.receive_buffer = 2_000 + stream.below(200_000) as u32;
            if stream.below(4) == 0 {
                config.offer.window_scale = WindowScale::Absent;
            }
            if stream.below(2) == 0 {
                config.ack_policy = AckPolicy::Immediate;
            }
            let build = builder(&self.stack, self.dialect);
            let connection = if end == 0 || self.opening == Opening::Simultaneous {
                Connection::connect(config, build)
            } else {
                Connection::listen(config, build)
            };
            let (local, remote) = [(a, b), (b, a)][end];
            let seeds = (self.seed + end as u64, self.seed + other as u64);
            Host::new(connection, local, remote, seeds, self.plans[end])
        })
    }

    /// Runs the transfer, checks its result, and returns the number of retransmitted segments.
    fn run(&self) -> u64 {
        let mut network = Network::new(self.hosts(), self.weather, self.seed);
        let name = format!("{:?}:{}#{}", self.dialect, self.stack, self.seed);
        let ended = network.run(Duration::from_secs(4 * 3600));
        let [a, b] = &network.hosts;
        for (host, expected) in [(a, self.plans[1].send), (b, self.plans[0].send)] {
            assert!(
                host.is_whole(expected),
                "{name}: {:?} has {} of {expected} bytes, ended at {ended:?}, {:?}",
                host.connection,
                host.read,
                host.closed
            );
            assert_eq!(host.closed, Some(Reason::Finished), "{name}");
        }
        assert!(ended.is_some(), "{name} did not finish");
        let halves = network.hosts.iter().filter_map(|h| h.connection.sender());
        halves.map(|sender| sender.stats().retransmissions).sum()
    }
}

#[test]
fn every_recovery_delivers_both_streams_whole_and_both_ends_close() {
    for stack in every_recovery() {
        let mut retransmissions = 0;
        for seed in 0..60 {
            let dialect = Dialect::ALL[seed as usize % Dialect::ALL.len()];
            retransmissions += Case::draw(&stack, dialect, seed).run();
        }
        assert!(retransmissions > 100, "{stack} had nothing to recover from");
    }
}

#[test]
fn a_calm_network_sees_no_retransmission_and_close_takes_two_maximum_segment_lifetimes() {
    let mut case = Case::draw(&stack("sack/reno"), Dialect::Rfc, 4);
    case.weather.lost = 0;
    case.weather.damaged = 0;
    case.weather.repeated = 0;
    case.weather.delayed = 0;
    case.opening = Opening::Client;
    let mut network = Network::new(case.hosts(), case.weather, case.seed);
    let ended = network.run(Duration::from_secs(3600)).expect("it ends");
    for host in &network.hosts {
        let stats = host.connection.sender().expect("established").stats();
        assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
    }
    let time_wait = Duration::from_secs(240);
    assert!(ended.since(network_start()) > time_wait);
    assert!(ended.since(network_start()) < time_wait + Duration::from_secs(30));
}

fn network_start() -> dupack_tcp::time::Instant {
    dupack_tcp::time::Instant::ZERO + Duration::from_secs(1)
}
