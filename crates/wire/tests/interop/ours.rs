//! Our side of the interoperability tests: an endpoint next to a kernel in a namespace, and its applications.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::{io, thread};

use dupack_algorithms::catalog::{self, Catalog, Dialect, StackSpec};
use dupack_tcp::time::Duration;
use dupack_wire::Family;
use dupack_wire::Secret;
use dupack_wire::host::{
    Application, ConnectionReport, Digest, Host, HostConfig, HostCounters, Listener, Offer, Once,
    Opening, Pattern, Supply, Waker,
};
use dupack_wire::namespace::Namespace;
use dupack_wire::tun::{Offload, Prefix, Tun, TunConfig};

use crate::testbed::PATIENCE;

/// Seed of the pattern that our side sends.
pub const SEED: u64 = 0x6475_7061;

/// Minimum MTU of IPv6 in bytes (RFC 8200 §5).
const LEAST_MTU_OF_IPV6: u16 = 1280;

/// A kernel, and a device on which our endpoint is the kernel's neighbour.
pub struct Scene {
    pub kernel: Namespace,
    tun: Tun,
}

pub fn kernel_address(family: Family) -> IpAddr {
    address(family, 1)
}

pub fn our_address(family: Family) -> IpAddr {
    address(family, 2)
}

fn address(family: Family, number: u8) -> IpAddr {
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::new(10, 97, 0, number)),
        Family::V6 => IpAddr::V6(Ipv6Addr::new(0xfd97, 0, 0, 0, 0, 0, 0, u16::from(number))),
    }
}

impl Scene {
    pub fn new(mtu: u16, offload: Offload) -> Self {
        let kernel = Namespace::new("kernel").expect("a namespace");
        let config = device(mtu, offload);
        let tun = kernel.run(move || Tun::open(&config)).expect("a device");
        Self { kernel, tun }
    }

    /// Creates a scene with Ethernet's MTU and offload.
    pub fn usual() -> Self {
        Self::new(1500, Offload::WherePossible)
    }

    /// Returns the kernel and one of our hosts.
    pub fn split(self) -> (Namespace, Host) {
        let addresses = [Family::V4, Family::V6].map(our_address).to_vec();
        (self.kernel, host(addresses, self.tun))
    }

    /// Same as [`split`](Self::split), with limits of `connections_max` connections and `connections_max` handshakes
    /// for the host.
    pub fn split_with_room(self, connections_max: usize) -> (Namespace, Host) {
        let addresses = [Family::V4, Family::V6].map(our_address).to_vec();
        let mut config = host_config(addresses);
        config.connections_max = connections_max;
        config.half_open_max = connections_max;
        (self.kernel, make_host(config, self.tun))
    }
}

fn device(mtu: u16, offload: Offload) -> TunConfig {
    let mut addresses = vec![Prefix {
        address: kernel_address(Family::V4),
        length: 24,
    }];
    if mtu >= LEAST_MTU_OF_IPV6 {
        addresses.push(Prefix {
            address: kernel_address(Family::V6),
            length: 64,
        });
    }
    let mut config = TunConfig::new("endpoint");
    config.mtu = mtu;
    config.addresses = addresses;
    config.offload = offload;
    config
}

/// Returns a kernel and two of our hosts that share a device. Each host allows `connections_max` connections.
pub fn two_groups(connections_max: usize, offload: Offload) -> (Namespace, [Host; 2]) {
    let kernel = Namespace::new("kernel").expect("a namespace");
    let config = device(1500, offload);
    let count = NonZeroUsize::new(2).expect("it is not zero");
    let queues = kernel.run(move || Tun::open_queues(&config, count));
    let mut config = host_config([Family::V4, Family::V6].map(our_address).to_vec());
    config.connections_max = connections_max;
    config.half_open_max = connections_max;
    let hosts = Host::groups(&config, queues.expect("a device"), &secret());
    let Ok(hosts) = hosts.expect("hosts").try_into() else {
        panic!("there are as many hosts as queues");
    };
    (kernel, hosts)
}

pub fn host(addresses: Vec<IpAddr>, tun: Tun) -> Host {
    make_host(host_config(addresses), tun)
}

fn host_config(addresses: Vec<IpAddr>) -> HostConfig {
    let mut config = HostConfig::new(addresses);
    config.linger = Duration::from_millis(300);
    config
}

fn make_host(config: HostConfig, tun: Tun) -> Host {
    Host::new(config, tun, secret()).expect("a host")
}

fn secret() -> Secret {
    Secret::new(&[5; 16])
}

/// A running host.
pub struct Running {
    pub waker: Waker,
    thread: Option<JoinHandle<io::Result<HostCounters>>>,
}

impl Running {
    pub fn start(mut host: Host) -> Self {
        let waker = host.waker();
        let job = move || {
            host.run()?;
            Ok(host.counters())
        };
        Self {
            waker,
            thread: Some(thread::spawn(job)),
        }
    }

    /// Waits until the host has no more work, and returns its counters.
    pub fn finish(mut self) -> HostCounters {
        let thread = self.thread.take().expect("it runs");
        let counters = thread.join().expect("no panic").expect("a device");
        assert_eq!(
            counters.sent.refused, 0,
            "the kernel refused some of our packets"
        );
        counters
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.waker.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Result of a connection, as its application saw it.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub bytes: u64,
    pub hash: u128,
    pub outcome: ConnectionReport,
}

/// Time at which our side ends its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Our side ends its stream after its last byte.
    AtOnce,
    /// Our side ends its stream after its last byte and after the end of the peer's stream.
    AfterPeer,
}

/// Application that sends the pattern, computes a hash of the received data, and reports the result.
pub struct Duplex {
    left: u64,
    pattern: Pattern,
    digest: Digest,
    end: End,
    peer: Peer,
    gate: Arc<AtomicBool>,
    report: Sender<Report>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    Sending,
    Finished,
}

impl Duplex {
    /// Creates an application that sends `bytes` bytes.
    pub fn new(bytes: u64, end: End) -> (Self, Receiver<Report>) {
        let (report, reports) = channel();
        let duplex = Self {
            left: bytes,
            pattern: Pattern::new(SEED),
            digest: Digest::default(),
            end,
            peer: Peer::Sending,
            gate: Arc::new(AtomicBool::new(true)),
            report,
        };
        (duplex, reports)
    }

    /// Makes the application take no data until the returned gate is opened and the host is woken.
    pub fn behind_a_gate(&mut self) -> Arc<AtomicBool> {
        self.gate.store(false, Ordering::Release);
        Arc::clone(&self.gate)
    }
}

impl Application for Duplex {
    fn supply(&mut self, room: &mut [u8]) -> Supply {
        if self.left == 0 {
            return match (self.end, self.peer) {
                (End::AfterPeer, Peer::Sending) => Supply::NothingNow,
                _ => Supply::End,
            };
        }
        let length = (room.len() as u64).min(self.left) as usize;
        self.pattern.fill(&mut room[..length]);
        self.left -= length as u64;
        Supply::Bytes(length)
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        if !self.gate.load(Ordering::Acquire) {
            return 0;
        }
        self.digest.add(bytes);
        bytes.len()
    }

    fn finished(&mut self) {
        self.peer = Peer::Finished;
    }

    fn closed(&mut self, outcome: &ConnectionReport) {
        let report = Report {
            bytes: self.digest.bytes(),
            hash: self.digest.value(),
            outcome: *outcome,
        };
        // The send fails if the test has already ended.
        let _ = self.report.send(report);
    }
}

/// Creates an opening with `stack`.
pub fn opening(stack: &str, application: impl Application + 'static) -> Opening {
    offer(stack).used_by(application)
}

/// Creates a listener that accepts one connection with `stack`.
pub fn once(stack: &'static str, application: impl Application + 'static) -> Box<dyn Listener> {
    Box::new(Once::new(move || offer(stack), application))
}

/// Returns the offer of a connection with `stack`.
pub fn offer(stack: &str) -> Offer {
    let stack = StackSpec::parse(stack, &Catalog::builtin()).expect("a stack");
    catalog::offer(&stack, Dialect::Linux).into()
}

/// Waits for a report and returns it.
pub fn wait(reports: &Receiver<Report>) -> Report {
    let report = reports.recv_timeout(PATIENCE).expect("a report in time");
    eprintln!("{report:?}");
    report
}
