//! A TUN device: IP packets in and out of the kernel of this machine.
//!
//! What the kernel routes to the device is read from it, what is written to it arrives at the
//! kernel. It belongs to the network namespace of the thread that opened it and vanishes when
//! it is dropped, or with the process.
//!
//! A device may have several queues, each a [`Tun`] of its own that its thread reads and writes;
//! see [`Tun::open_queues`] for who reads what.
//!
//! With offload, where the kernel has it, packets of up to 64 KiB cross at once, and what is left
//! to do to each ([`Pending`]) stands in a header in front of it.

pub(crate) mod netlink;
mod offload;

use std::fmt;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::unistd::gettid;
use thiserror::Error;
use tun_rs::{DeviceBuilder, SyncDevice};

use self::netlink::InterfaceIndex;
use self::offload::{OFFLOAD_HEADER_BYTES, header, read_header};
use crate::clock::WallClock;
use crate::device::{Device, Granted, Pending, Reading, Received, Writing};

/// Packets that the kernel keeps for us while we do something else. The kernel's own default is
/// 500; a sender that finds the queue full loses packets to it that no link model took.
const QUEUE_PACKETS: u32 = 10_000;

/// What a device shall be; [`TunConfig::new`] has the usual.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TunConfig {
    /// Its name in its namespace, at most 15 bytes.
    pub name: String,
    /// The longest IP packet that fits the link, in bytes.
    pub mtu: u16,
    /// The kernel's own addresses on it.
    pub addresses: Vec<Prefix>,
    /// Networks other than those of the addresses that are reached through it.
    pub routes: Vec<Prefix>,
    /// Whether long packets may cross.
    pub offload: Offload,
}

impl TunConfig {
    /// A device called `name` with Ethernet's MTU of 1500 bytes and offload where possible, on
    /// which the kernel has no address yet.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            mtu: 1500,
            addresses: Vec::new(),
            routes: Vec::new(),
            offload: Offload::WherePossible,
        }
    }
}

/// An address with the length of its network's prefix, or that network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Bits of the network.
    pub length: u8,
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Whether packets longer than the MTU and packets without checksums may cross a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Offload {
    /// If the kernel can.
    #[default]
    WherePossible,
    /// No: every packet stands for itself.
    Off,
}

/// Why there is no device.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TunError {
    /// The kernel does not give one.
    #[error(
        "cannot make the TUN device {name}: it needs /dev/net/tun, readable and writable, and \
         CAP_NET_ADMIN in its network namespace"
    )]
    Open {
        /// The device.
        name: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// It is there already, and somebody has it.
    #[error("there is a TUN device {name} already, and somebody uses it")]
    Taken {
        /// The device.
        name: String,
    },
    /// It cannot be set up.
    #[error("cannot {what} of the TUN device {name}")]
    Configure {
        /// The device.
        name: String,
        /// What was to be done.
        what: String,
        /// What the kernel says.
        source: io::Error,
    },
}

/// An open device, or one of its queues.
pub struct Tun {
    device: SyncDevice,
    name: String,
    mtu: u16,
    offload: Granted,
    /// The table of interfaces as the thread sees it that opened the device.
    counters: PathBuf,
}

impl Tun {
    /// Opens a device in the calling thread's namespace and brings it up.
    ///
    /// # Errors
    ///
    /// If the kernel refuses; the error says what is needed.
    pub fn open(config: &TunConfig) -> Result<Self, TunError> {
        let (device, offload) = build_granted(config, Queues::One)?;
        configure(config)?;
        Ok(Self::of(config, device, offload))
    }

    /// Opens a device with `count` queues in the calling thread's namespace and brings it up. One
    /// is as [`open`](Self::open).
    ///
    /// What the kernel sends to the device is put into one of the queues: that which a packet of
    /// the same connection, in either direction, was last written to, if that is not long ago (3 s
    /// in Linux 6, and for 4096 connections at most), else one by a hash of both addresses and
    /// ports. What waits in a queue that is dropped is lost; what comes later goes to the others.
    /// The device vanishes with its last queue.
    ///
    /// # Errors
    ///
    /// As `open`, and if the kernel has not so many queues for a device (256 in Linux 6).
    pub fn open_queues(config: &TunConfig, count: NonZeroUsize) -> Result<Vec<Self>, TunError> {
        if count == NonZeroUsize::MIN {
            return Ok(vec![Self::open(config)?]);
        }
        let (first, offload) = build_granted(config, Queues::Several)?;
        let further = (1..count.get()).map(|_| another(&first));
        let further = further.collect::<io::Result<Vec<_>>>();
        let mut devices = further.map_err(|source| not_opened(config, source))?;
        devices.insert(0, first);
        // Nothing comes before all are there.
        configure(config)?;
        let queues = devices.into_iter();
        Ok(queues.map(|d| Self::of(config, d, offload)).collect())
    }

    fn of(config: &TunConfig, device: SyncDevice, offload: Granted) -> Self {
        Self {
            device,
            name: config.name.clone(),
            mtu: config.mtu,
            offload,
            counters: PathBuf::from(format!("/proc/self/task/{}/net/dev", gettid())),
        }
    }

    /// The device's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Device for Tun {
    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn offload(&self) -> Granted {
        self.offload
    }

    fn read<'a>(&mut self, clock: &WallClock, buffer: &'a mut [u8]) -> io::Result<Reading<'a>> {
        let length = match self.device.recv(buffer) {
            Ok(length) => length,
            Err(error) if is_transient(&error) => return Ok(Reading::Empty),
            Err(error) => return Err(error),
        };
        let at = clock.now();
        let Some(bytes) = buffer.get(..length) else {
            return Ok(Reading::Garbage);
        };
        let (pending, bytes) = match self.offload {
            Granted::Plain => (Some(Pending::NOTHING), bytes),
            Granted::Offload => match bytes.split_at_checked(OFFLOAD_HEADER_BYTES) {
                Some((header, bytes)) => (read_header(header), bytes),
                None => (None, bytes),
            },
        };
        Ok(match pending {
            Some(pending) => Reading::Packet(Received { at, pending, bytes }),
            None => Reading::Garbage,
        })
    }

    fn write(&mut self, pending: &Pending, head: &[u8], tail: &[u8]) -> io::Result<Writing> {
        let written = match self.offload {
            Granted::Plain => {
                debug_assert_eq!(*pending, Pending::NOTHING);
                self.device
                    .send_vectored(&[IoSlice::new(head), IoSlice::new(tail)])
            }
            Granted::Offload => self.device.send_vectored(&[
                IoSlice::new(&header(pending)),
                IoSlice::new(head),
                IoSlice::new(tail),
            ]),
        };
        match written {
            Ok(_) => Ok(Writing::Done),
            Err(error) if is_gone(&error) => Err(error),
            Err(_) => Ok(Writing::Refused),
        }
    }

    /// From all queues of the device together. The kernel says it only as long as the thread
    /// lives that opened the device.
    fn overflowed(&self) -> io::Result<u64> {
        let table = std::fs::read_to_string(&self.counters)?;
        drops_of(&table, &self.name).ok_or_else(|| {
            let text = format!("no {} in {}", self.name, self.counters.display());
            io::Error::new(io::ErrorKind::NotFound, text)
        })
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl fmt::Debug for Tun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tun")
            .field("name", &self.name)
            .field("mtu", &self.mtu)
            .field("offload", &self.offload)
            .finish_non_exhaustive()
    }
}

/// How many queues a device may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queues {
    One,
    Several,
}

/// A device that is not up yet, with offload if that is wanted and can be had.
fn build_granted(config: &TunConfig, queues: Queues) -> Result<(SyncDevice, Granted), TunError> {
    let build = |offload| Ok((build(&config.name, offload, queues)?, offload));
    let built = match config.offload {
        Offload::Off => build(Granted::Plain),
        Offload::WherePossible => build(Granted::Offload).or_else(|_| build(Granted::Plain)),
    };
    built.map_err(|source| not_opened(config, source))
}

fn not_opened(config: &TunConfig, source: io::Error) -> TunError {
    let name = config.name.clone();
    match source.raw_os_error() {
        Some(errno) if errno == Errno::EBUSY as i32 => TunError::Taken { name },
        _ => TunError::Open { name, source },
    }
}

fn build(name: &str, offload: Granted, queues: Queues) -> io::Result<SyncDevice> {
    let device = DeviceBuilder::new()
        .name(name)
        .offload(offload == Granted::Offload)
        .multi_queue(queues == Queues::Several)
        .enable(false)
        .build_sync()?;
    device.set_nonblocking(true)?;
    Ok(device)
}

/// A further queue of a device that may have several.
fn another(device: &SyncDevice) -> io::Result<SyncDevice> {
    let queue = device.try_clone()?;
    queue.set_nonblocking(true)?;
    Ok(queue)
}

fn configure(config: &TunConfig) -> Result<(), TunError> {
    let failed = |what: String| {
        let name = config.name.clone();
        move |source| TunError::Configure { name, what, source }
    };
    let interface =
        InterfaceIndex::of(&config.name).map_err(failed("find the interface".to_owned()))?;
    netlink::set_mtu_and_queue(interface, u32::from(config.mtu), QUEUE_PACKETS)
        .map_err(failed(format!("set the MTU {}", config.mtu)))?;
    for address in &config.addresses {
        netlink::add_address(interface, *address)
            .map_err(failed(format!("set the address {address}")))?;
    }
    netlink::bring_up(interface).map_err(failed("bring up the interface".to_owned()))?;
    for route in &config.routes {
        netlink::add_route(interface, *route).map_err(failed(format!("set the route {route}")))?;
    }
    Ok(())
}

fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// EBADFD: the device was removed, with its namespace or by hand.
fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EBADFD as i32)
}

/// The column "drop" of the half "Transmit" in the table of interfaces.
fn drops_of(table: &str, name: &str) -> Option<u64> {
    const TRANSMIT_DROP: usize = 11;
    let line = table.lines().find_map(|line| {
        let (interface, counters) = line.split_once(':')?;
        (interface.trim() == name).then_some(counters)
    })?;
    line.split_whitespace().nth(TRANSMIT_DROP)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transmit_drops_are_found() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes    \
                     packets errs drop fifo colls carrier compressed\n    lo: 1 2 3 4 5 6 7 8 9 10 \
                     11 12 13 14 15 16\n  left:\t 0 0 0 0 0 0 0 0 900 9 0 77 0 0 0 0\n";
        assert_eq!(drops_of(table, "left"), Some(77));
        assert_eq!(drops_of(table, "lo"), Some(12));
        assert_eq!(drops_of(table, "right"), None);
    }
}
