//! TUN devices, which exchange IP packets with this machine's kernel.
//!
//! Packets that the kernel routes to the device are read from it, and packets that are written to it arrive at the
//! kernel. The device belongs to the network namespace of the thread that opened it. The device is removed when the
//! [`Tun`] is dropped or the process ends.
//!
//! A device may have several queues. Each queue is a separate [`Tun`] with its own thread. [`Tun::open_queues`]
//! explains how the kernel chooses the queue for a packet.
//!
//! With offload, if the kernel supports it, packets of up to 64 KiB cross the device as a whole. A header in front of
//! each packet describes the work that is left to do on it ([`Pending`]).

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

/// Number of packets that the kernel queues while this process is busy. The kernel's default is 500. If the queue
/// overflows, packets are lost that no link model dropped.
const QUEUE_PACKETS: u32 = 10_000;

/// Configuration of a device. [`TunConfig::new`] sets the usual values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TunConfig {
    /// Name of the device in its namespace, at most 15 bytes.
    pub name: String,
    /// Length of the longest IP packet that fits the link, in bytes.
    pub mtu: u16,
    /// Addresses of the kernel on the device.
    pub addresses: Vec<Prefix>,
    /// Additional networks that are reached through the device, beyond those of the addresses.
    pub routes: Vec<Prefix>,
    /// Offload on the device.
    pub offload: Offload,
}

impl TunConfig {
    /// Creates a configuration for a device called `name`, with Ethernet's MTU of 1500 bytes, offload if possible, and
    /// no address of the kernel.
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

/// An address with the prefix length of its network, or the network itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Prefix length in bits.
    pub length: u8,
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// Support for packets longer than the MTU and packets without checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Offload {
    /// Offload is on if the kernel supports it.
    #[default]
    WherePossible,
    /// Offload is off: every packet is complete.
    Off,
}

/// Errors of opening a device.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TunError {
    /// The kernel refused to make the device.
    #[error(
        "cannot make the TUN device {name}: it needs /dev/net/tun, readable and writable, and \
         CAP_NET_ADMIN in its network namespace"
    )]
    Open {
        /// Name of the device.
        name: String,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A device of this name exists and is in use.
    #[error("the TUN device {name} already exists and is in use")]
    Taken {
        /// Name of the device.
        name: String,
    },
    /// The device cannot be set up.
    #[error("cannot {what} of the TUN device {name}")]
    Configure {
        /// Name of the device.
        name: String,
        /// The step, as a verb phrase.
        what: String,
        /// Error of the kernel.
        source: io::Error,
    },
}

/// An open device, or one of its queues.
pub struct Tun {
    device: SyncDevice,
    name: String,
    mtu: u16,
    offload: Granted,
    /// Path of the table of interfaces as seen by the thread that opened the device.
    counters: PathBuf,
}

impl Tun {
    /// Opens a device in the calling thread's namespace and brings it up.
    ///
    /// # Errors
    ///
    /// Returns an error if the kernel refuses. The error states the requirements.
    pub fn open(config: &TunConfig) -> Result<Self, TunError> {
        let (device, offload) = build_granted(config, Queues::One)?;
        configure(config)?;
        Ok(Self::of(config, device, offload))
    }

    /// Opens a device with `count` queues in the calling thread's namespace and brings it up. With one queue, this is
    /// the same as [`open`](Self::open).
    ///
    /// The kernel puts a packet for the device into the queue to which a packet of the same connection, in either
    /// direction, was last written. The kernel remembers this queue for a limited time (3 s in Linux 6) and for a
    /// limited number of connections (4096). For other packets, the kernel chooses the queue by a hash of both
    /// addresses and ports. When a queue is dropped, the packets that wait in it are lost, and later packets go to the
    /// other queues. The device is removed with its last queue.
    ///
    /// # Errors
    ///
    /// Returns an error if [`open`](Self::open) does, or if the kernel does not allow so many queues per device (256 in
    /// Linux 6).
    pub fn open_queues(config: &TunConfig, count: NonZeroUsize) -> Result<Vec<Self>, TunError> {
        if count == NonZeroUsize::MIN {
            return Ok(vec![Self::open(config)?]);
        }
        let (first, offload) = build_granted(config, Queues::Several)?;
        let further = (1..count.get()).map(|_| another(&first));
        let further = further.collect::<io::Result<Vec<_>>>();
        let mut devices = further.map_err(|source| not_opened(config, source))?;
        devices.insert(0, first);
        // The device is brought up only after all queues exist, so no packet arrives earlier.
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

    /// Returns the device's name.
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

    /// Counts the dropped packets of all queues of the device together. The kernel reports the number only while the
    /// thread that opened the device is running.
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

/// Number of queues that a device may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queues {
    One,
    Several,
}

/// Creates a device that is not up yet, with offload if it is requested and supported.
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

/// Opens another queue of a multi-queue device.
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

/// Returns `true` for EBADFD: the device was removed, together with its namespace or manually.
fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EBADFD as i32)
}

/// Parses the column "drop" under "Transmit" in the table of interfaces.
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
