//! Hosts: connections of [`dupack_tcp`] over a [`Device`].
//!
//! ```text
//!                 Application (bytes)            Application
//!                        │   ▲                      │   ▲
//!                      Endpoint                  Endpoint         Connection and two rings
//!                        └─────────┬────────────────┘
//! Device ─▶ read, stamp, parse ─▶ Host ─▶ Outbox: emit, join ─▶ Device
//! ```
//!
//! A host runs on one thread, which calls [`Host::run`]. It has its own addresses on the device's network. Behind a
//! [`Tun`], its neighbour is the kernel, which also routes for the host if configured to do so. Behind one end of a
//! [pair](crate::device::pair()), its neighbour is the owner of the other end.
//!
//! Several hosts can share addresses and a device, each with its own queue, so that each thread serves a group of flows
//! ([`Host::groups`]). Each host has its own connections. The hosts share only a registry of connections and listeners.
//!
//! ```text
//!        thread            thread
//!          │  shared registry  │
//!         Host ◀───────────▶ Host      packets that reached the wrong host
//!          ▲│                ▲│
//!          │▼                │▼
//!        queue             queue       the kernel delivers a packet to the queue to which
//!          └─────── TUN ──────┘        its connection last wrote
//! ```
//!
//! ICMP errors about a host's own packets reach its connections. A host handles only TCP: other ICMP messages, UDP, IP
//! options and fragments are deliberately not supported.

mod application;
mod config;
mod endpoint;
mod groups;
mod icmp;
mod listener;
mod mailbox;
mod outbox;
mod pipe;
mod reception;
mod registry;
mod ring;
mod room;
mod time_waits;
mod waker;

pub use application::{Application, ConnectionReport, Digest, Pattern, Supply};
pub use config::{ConnectError, Destinations, HostConfig};
pub use listener::{Listener, Offer, Once, Opening};
pub use outbox::OutboxCounters;
pub use pipe::{Pipe, PipeEnd, PipeError};
pub use waker::Waker;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use dupack_tcp::connection::{
    Config, Connection, DEFAULT_MSS_IPV4, DEFAULT_MSS_IPV6, Outgoing, Segment,
};
use dupack_tcp::time::{Duration, Instant};

use self::endpoint::{Endpoint, Work};
use self::icmp::{PathMtus, is_icmp};
use self::outbox::{Ends, Outbox};
use self::reception::Reception;
use self::registry::{Membership, Whose};
use self::ring::Ring;
use self::room::Census;
use self::time_waits::TimeWaits;
use crate::clock::WallClock;
use crate::device::{BUFFER_BYTES, ChecksumState, Device, Reading, Received};
use crate::isn::Secret;
use crate::poll;
use crate::tun::Tun;
use dupack_packet::parse::{ParseError, Parsed, Verify, parse};

/// Maximum number of packets that are read before timers and applications are served.
const READS_AT_ONCE: usize = 64;

/// Ports for connections that this end opens (RFC 6335 §6: the dynamic ports).
const EPHEMERAL: std::ops::RangeInclusive<u16> = 49_152..=65_535;

/// Header lengths without options, in bytes: IPv4 and TCP, IPv6 and TCP (RFC 9293 §3.7.1).
const HEADERS_V4: u16 = 40;
const HEADERS_V6: u16 = 60;

/// Counters of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostCounters {
    /// TCP packets for this host's addresses: the packets in its queue, even if they belong to a sibling, and the
    /// packets that siblings have handed over.
    pub received: u64,
    /// ICMP errors that quote a segment of one of this host's connections. Each connection counts the errors that it
    /// accepted.
    pub icmp: u64,
    /// Packets that were ignored: they are damaged, are not addressed to this host, have a source that is not the
    /// unicast address of another host, or are neither TCP nor such ICMP errors.
    pub ignored: u64,
    /// Connections that were aborted in favour of later ones ([`HostConfig::connections_max`]).
    pub displaced: u64,
    /// SYNs that were answered with a cookie and not stored ([`HostConfig::half_open_max`]).
    pub cookies_sent: u64,
    /// Cookies that a peer acknowledged: connections that were created without a stored SYN.
    pub cookies_returned: u64,
    /// Connections in TIME-WAIT that were removed early in favour of later ones.
    pub time_waits_displaced: u64,
    /// Packets that belonged to a sibling and were handed over to it ([`Host::groups`]).
    pub handed_over: u64,
    /// Packets that belonged to a sibling and were dropped because too many packets were waiting for it.
    pub not_handed_over: u64,
    /// Counters of the packets sent.
    pub sent: OutboxCounters,
}

/// TCP connections over a device, by default a TUN device of the kernel.
pub struct Host<D = Tun> {
    config: HostConfig,
    /// `None` while the host runs, and after it has left its siblings.
    device: Option<D>,
    /// MTU of the device, in bytes.
    mtu: u16,
    clock: WallClock,
    /// Latest time that was passed to the connections by a timer check, by a wake-up, or with a packet of a sibling.
    told: Instant,
    secret: Secret,
    waker: Waker,
    /// `None` if there are no siblings.
    membership: Option<Membership>,
    endpoints: Vec<Endpoint>,
    by_ends: HashMap<Ends, usize>,
    time_waits: TimeWaits,
    /// Path MTUs to other hosts, as reported by routers.
    path_mtus: PathMtus,
    /// Time until which the host lingers for the entries in `time_waits`.
    lingers_until: Instant,
    /// Index of the endpoint that received the latest packet.
    latest: usize,
    listeners: HashMap<u16, Box<dyn Listener>>,
    census: Census,
    /// Endpoints with packets to answer, in the order of each endpoint's first packet.
    owing: Vec<usize>,
    outbox: Outbox,
    /// Empty stream for segments that belong to no connection.
    no_stream: Ring,
    counters: HostCounters,
}

/// Reason why a host stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// There is nothing left to do, for this host or any sibling.
    Done,
    /// [`Waker::stop`] was called.
    Stopped,
}

/// Returns 128 random bits from the kernel.
///
/// # Errors
///
/// Returns an error if the kernel provides no random bits.
pub fn random_key() -> io::Result<[u8; 16]> {
    let mut key = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

impl<D: Device> Host<D> {
    /// Creates a host on `device`. All of its unpredictable numbers depend on `secret`; see [`random_key`].
    ///
    /// # Errors
    ///
    /// Returns an error if no file descriptor is available.
    pub fn new(config: HostConfig, device: D, secret: Secret) -> io::Result<Self> {
        Ok(Self {
            config,
            mtu: device.mtu(),
            device: Some(device),
            clock: WallClock::start(),
            told: Instant::ZERO,
            secret,
            waker: Waker::new()?,
            membership: None,
            endpoints: Vec::new(),
            by_ends: HashMap::new(),
            time_waits: TimeWaits::default(),
            path_mtus: PathMtus::default(),
            lingers_until: Instant::ZERO,
            latest: 0,
            listeners: HashMap::new(),
            census: Census::default(),
            owing: Vec::new(),
            outbox: Outbox::new(),
            no_stream: Ring::new(1),
            counters: HostCounters::default(),
        })
    }

    /// Returns a handle that wakes or stops this host from other threads.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Opens a connection to `peer` from a random port.
    ///
    /// # Errors
    ///
    /// Returns an error if the host has no suitable address, too many connections, or no free port.
    pub fn connect(&mut self, peer: SocketAddr, opening: Opening) -> Result<(), ConnectError> {
        let same_family = |address: &&IpAddr| address.is_ipv4() == peer.is_ipv4();
        let address = self.config.addresses.iter().find(same_family);
        let address = *address.ok_or(ConnectError::NoAddress { peer })?;
        self.take_census();
        if self.census.open >= self.config.connections_max {
            return Err(ConnectError::TooMany);
        }
        let ends = self.free_ends(address, peer);
        let ends = ends.ok_or(ConnectError::NoPort { peer })?;
        self.begin();
        let config = self.complete(opening.config, ends);
        let connection = Connection::connect(config, opening.build);
        let buffer = self.config.send_buffer;
        self.add(Endpoint::new(connection, ends, opening.application, buffer));
        Ok(())
    }

    /// Accepts connections on `port`.
    pub fn listen(&mut self, port: u16, listener: Box<dyn Listener>) {
        self.begin();
        if let Some(membership) = &self.membership {
            membership.listen(port);
        }
        self.listeners.insert(port, listener);
    }

    /// Runs until no port is open and all connections are finished, or until [`Waker::stop`] is called. For hosts with
    /// siblings, see [`Host::groups`].
    ///
    /// # Errors
    ///
    /// Returns an error if the device goes away, or if the host has left its siblings.
    pub fn run(&mut self) -> io::Result<()> {
        let mut device = self.device.take().ok_or_else(has_left)?;
        let ended = catch_unwind(AssertUnwindSafe(|| self.run_on(&mut device)));
        if self.membership.is_none() || matches!(ended, Ok(Ok(Ended::Done))) {
            self.device = Some(device);
        } else {
            // The host leaves the group, even if an application has panicked: the siblings must not wait for this host,
            // and must not lose packets in a queue that is no longer read.
            self.membership = None;
        }
        ended
            .unwrap_or_else(|panic| resume_unwind(panic))
            .map(|_| ())
    }

    fn run_on(&mut self, device: &mut D) -> io::Result<Ended> {
        poll::sharpen_timers();
        let mut buffer = vec![0; BUFFER_BYTES];
        self.work_all(device)?;
        loop {
            self.read_mail(device)?;
            self.read(device, &mut buffer)?;
            self.lapse(device)?;
            if self.waker.take_call() {
                self.work_all(device)?;
            }
            self.forget();
            self.take_census();
            if self.waker.is_stopping() {
                self.abort_all(device)?;
                return Ok(Ended::Stopped);
            }
            let now = self.clock.now();
            if self.is_done(now) && self.siblings_are_done() {
                return Ok(Ended::Done);
            }
            let timeout = match self.has_mail() {
                true => Some(Duration::ZERO),
                false => self.next_work(now).map(|due| due.since(now)),
            };
            poll::readable(&[device.as_fd(), self.waker.bell()], timeout)?;
        }
    }

    /// Returns the host's counters.
    #[must_use]
    pub const fn counters(&self) -> HostCounters {
        HostCounters {
            sent: self.outbox.counters(),
            ..self.counters
        }
    }

    /// Returns the number of packets that were dropped because this host did not read them in time.
    ///
    /// # Errors
    ///
    /// Returns an error if [`Device::overflowed`] does, or if the host has left its siblings.
    pub fn overflowed(&self) -> io::Result<u64> {
        self.device.as_ref().ok_or_else(has_left)?.overflowed()
    }

    /// Iterates over the state machines of all connections that are not over.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.endpoints.iter().map(Endpoint::connection)
    }

    /// Reads packets that have arrived, up to a limit.
    fn read(&mut self, device: &mut D, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..READS_AT_ONCE {
            match device.read(&self.clock, buffer)? {
                Reading::Packet(received) => self.arrive(device, &received)?,
                Reading::Garbage => self.counters.ignored += 1,
                Reading::Lost => {}
                Reading::Empty => break,
            }
        }
        self.answer(device)
    }

    /// Does the work that endpoints have deferred.
    fn answer(&mut self, device: &mut D) -> io::Result<()> {
        let now = self.clock.now();
        for index in self.owing.drain(..) {
            self.endpoints[index].work(now, &mut self.outbox, device)?;
        }
        Ok(())
    }

    fn arrive(&mut self, device: &mut D, received: &Received<'_>) -> io::Result<()> {
        let verify = match received.pending.checksum {
            ChecksumState::Unverified => Verify::Checksums,
            ChecksumState::Verified | ChecksumState::Partial { .. } => Verify::Nothing,
        };
        let config = &self.config;
        let ours = |packet: &Parsed<'_>| {
            let (source, destination) = (packet.source.ip(), packet.destination.ip());
            config.takes(destination) && config.hears(source) && source != destination
        };
        let packet = match parse(received.bytes, verify) {
            Ok(packet) if ours(&packet) => packet,
            Err(ParseError::NotTcp { protocol }) if is_icmp(protocol) => {
                return self.hear_of(device, received, verify);
            }
            _ => {
                self.counters.ignored += 1;
                return Ok(());
            }
        };
        self.counters.received += 1;
        let ends = Ends {
            local: packet.destination,
            remote: packet.source,
        };
        if let Some(index) = self.find(ends) {
            return self.take_in(device, index, received.at, &packet);
        }
        if self.time_waits.contains(&ends) {
            return self.recall(device, ends, received.at, &packet);
        }
        let whose = self.sort_out(ends, received, &packet.segment);
        if let Whose::Sibling(_) = whose {
            return Ok(());
        }
        let reception = self.meet(ends, received.at, &packet);
        if let Reception::Connection(index) = reception {
            return self.take_in(device, index, received.at, &packet);
        }
        if whose == Whose::Claimed {
            self.release([ends]);
        }
        match reception {
            Reception::Answer(segment) => self.reply(device, ends, segment),
            Reception::Connection(_) | Reception::Silence => Ok(()),
        }
    }

    /// Sends a segment that belongs to no connection.
    fn reply(&mut self, device: &mut D, ends: Ends, segment: Segment) -> io::Result<()> {
        let reply = Outgoing {
            segment,
            data: 0..0,
            why: None,
        };
        self.outbox.push(reply, ends, &self.no_stream, device)
    }

    /// Passes a packet to a connection.
    fn take_in(
        &mut self,
        device: &mut D,
        index: usize,
        at: Instant,
        packet: &Parsed<'_>,
    ) -> io::Result<()> {
        self.latest = index;
        if self.must_wait(index, &packet.segment) {
            return Ok(());
        }
        let work = self.endpoints[index].arrive(at, packet);
        self.engage(index);
        match work {
            Work::Now => self.endpoints[index].work(at, &mut self.outbox, device),
            Work::Soon => {
                if !self.owing.contains(&index) {
                    self.owing.push(index);
                }
                Ok(())
            }
        }
    }

    /// Returns the index of a connection's endpoint, which is usually the endpoint of the last packet.
    fn find(&self, ends: Ends) -> Option<usize> {
        let latest = self.endpoints.get(self.latest);
        let index = match latest.filter(|endpoint| endpoint.ends() == ends) {
            Some(_) => self.latest,
            None => *self.by_ends.get(&ends)?,
        };
        // A connection that is over must not prevent its peer from opening a new one.
        (!self.endpoints[index].is_over()).then_some(index)
    }

    /// Gives a connection its application once its handshake is complete.
    fn engage(&mut self, index: usize) {
        if !self.endpoints[index].wants_application() {
            return;
        }
        self.census.half_open = self.census.half_open.saturating_sub(1);
        self.census.open += 1;
        let ends = self.endpoints[index].ends();
        self.time_waits.remove(&ends);
        let Ends { local, remote } = ends;
        let listener = self.listeners.get_mut(&local.port());
        match listener.and_then(|listener| listener.accept(remote)) {
            Some(application) => self.endpoints[index].engage(application),
            None => self.endpoints[index].abort(),
        }
        let port = local.port();
        if self.listeners.get(&port).is_some_and(|l| !l.is_open()) {
            self.listeners.remove(&port);
            if let Some(membership) = &self.membership {
                membership.close(port);
            }
            self.abort_half_open(port);
        }
    }

    /// Aborts the handshakes on a port that no longer accepts connections.
    fn abort_half_open(&mut self, port: u16) {
        for (index, endpoint) in self.endpoints.iter_mut().enumerate() {
            if endpoint.is_half_open() && endpoint.ends().local.port() == port {
                endpoint.abort();
                if !self.owing.contains(&index) {
                    self.owing.push(index);
                }
            }
        }
    }

    /// Runs the endpoints whose timers have expired.
    fn lapse(&mut self, device: &mut D) -> io::Result<()> {
        let now = self.clock.now();
        self.told = now;
        self.expire_time_waits(now);
        for endpoint in &mut self.endpoints {
            if endpoint.next_timeout().is_some_and(|due| due <= now) {
                endpoint.lapse(now);
                endpoint.work(now, &mut self.outbox, device)?;
            }
        }
        Ok(())
    }

    fn work_all(&mut self, device: &mut D) -> io::Result<()> {
        let now = self.clock.now();
        self.told = now;
        for endpoint in &mut self.endpoints {
            endpoint.work(now, &mut self.outbox, device)?;
        }
        Ok(())
    }

    fn abort_all(&mut self, device: &mut D) -> io::Result<()> {
        self.endpoints.iter_mut().for_each(Endpoint::abort);
        self.work_all(device)?;
        self.forget();
        Ok(())
    }

    /// Returns `true` if no port is open and no connection waits for anything.
    fn is_done(&self, now: Instant) -> bool {
        let stays = |endpoint: &Endpoint| self.leave_at(endpoint).is_none_or(|at| at > now);
        let lingers = self.lingers_until > now;
        self.listeners.is_empty() && !lingers && !self.endpoints.iter().any(stays)
    }

    /// Returns the time after which an endpoint no longer keeps the host running.
    fn leave_at(&self, endpoint: &Endpoint) -> Option<Instant> {
        Some(endpoint.over_since()? + self.config.linger)
    }

    /// Returns the time at which work is due if no packet arrives earlier.
    fn next_work(&self, now: Instant) -> Option<Instant> {
        let timeouts = self.endpoints.iter().filter_map(Endpoint::next_timeout);
        let leaves = self.endpoints.iter().filter_map(|e| self.leave_at(e));
        let leaves = leaves.chain([self.lingers_until]);
        let timeouts = timeouts.chain(self.time_waits.next_timeout());
        // Leave times that have passed do not wake the host again.
        timeouts.chain(leaves.filter(|at| *at > now)).min()
    }

    /// Tells the siblings that this host has work to do.
    fn begin(&self) {
        if let Some(membership) = &self.membership {
            membership.begin();
        }
    }

    fn add(&mut self, endpoint: Endpoint) -> usize {
        let index = self.endpoints.len();
        self.by_ends.insert(endpoint.ends(), index);
        self.endpoints.push(endpoint);
        index
    }

    /// Completes the parameters with the values that only the host knows.
    fn complete(&self, mut config: Config, ends: Ends) -> Config {
        let Ends { local, remote } = ends;
        let now = self.clock.now();
        let (headers, default_peer_mss) = match local {
            SocketAddr::V4(_) => (HEADERS_V4, DEFAULT_MSS_IPV4),
            SocketAddr::V6(_) => (HEADERS_V6, DEFAULT_MSS_IPV6),
        };
        config.iss = self.secret.isn(now, local, remote);
        config.mss = self.mtu.saturating_sub(headers);
        config.default_peer_mss = default_peer_mss;
        if local.is_ipv6() {
            config.path_mtu = config.path_mtu.over_ipv6();
        }
        config.path_mtu.known = self.path_mtus.of(remote.ip(), now);
        config.timestamp_offset = self.secret.timestamp_offset(local, remote);
        config.challenge_secret = self.secret.challenge(now, local, remote);
        config.seed = self.secret.seed(now, local, remote);
        config
    }

    /// Returns free ends for a connection from `address` to `peer`, and claims them in the registry of the siblings.
    /// The port is random, or the next free port after a random one (RFC 6056 §3.3.1).
    fn free_ends(&self, address: IpAddr, peer: SocketAddr) -> Option<Ends> {
        let count = u64::from(EPHEMERAL.end() - EPHEMERAL.start()) + 1;
        let now = self.clock.now();
        let start = self
            .secret
            .challenge(now, SocketAddr::new(address, 0), peer)
            % count;
        let ends = |n: u64| Ends {
            local: SocketAddr::new(address, EPHEMERAL.start() + ((start + n) % count) as u16),
            remote: peer,
        };
        let is_free = |ends: &Ends| {
            let membership = self.membership.as_ref();
            let taken = self.by_ends.contains_key(ends) || self.time_waits.contains(ends);
            !taken && membership.is_none_or(|m| m.claim(*ends))
        };
        (0..count).map(ends).find(is_free)
    }
}

/// The error of a host whose queue is closed.
fn has_left() -> io::Error {
    let kind = io::ErrorKind::NotConnected;
    io::Error::new(kind, "the host has left its siblings and has no device")
}
