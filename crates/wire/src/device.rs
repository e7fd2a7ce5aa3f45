//! Sources and sinks of IP packets, the base of a host or a path.
//!
//! A [`Device`] is a [TUN device](crate::tun) of this machine's kernel, one end of a [`pair`] in memory, or a wrapper
//! around another device. Devices nest: a [`Filter`], for example, sees every packet and may drop it. A boxed device
//! hides its kind, so devices of different kinds can share one type.
//!
//! If both sides support it ([`Granted::Offload`]), packets may cross a device while work is left to do on them.
//! [`Pending`] describes this work.

mod filter;
mod pair;
mod pending;

pub use filter::{Fate, Filter, Sighting, Way};
pub use pair::{PairConfig, PairEnd, pair};
pub use pending::{ChecksumState, Pending, Segmentation};

use std::io;
use std::os::fd::AsFd;

use dupack_tcp::time::Instant;

use crate::clock::WallClock;

/// Length of the longest packet that crosses a device, in bytes.
pub const MAX_PACKET_BYTES: usize = 65_535;

/// Maximum number of bytes that a device may put into a buffer in front of the packet.
pub const HEADROOM_BYTES: usize = 16;

/// Minimum size of a read buffer, in bytes. A buffer of this size can contain any packet of any device.
pub const BUFFER_BYTES: usize = HEADROOM_BYTES + MAX_PACKET_BYTES;

/// Reads and writes IP packets without blocking.
///
/// The file descriptor of a device is readable while there are packets to read. An idle host waits for this event. Only
/// one thread uses a device at a time.
pub trait Device: AsFd + Send {
    /// Returns the length of the longest IP packet that fits the link, in bytes. Packets with pending [`Segmentation`]
    /// may be longer.
    fn mtu(&self) -> u16;

    /// Returns the device's support for packets with work left to do. The value never changes.
    fn offload(&self) -> Granted;

    /// Reads a packet into `buffer`, which must have at least [`BUFFER_BYTES`], and takes the time from `clock` as soon
    /// as the packet has arrived.
    ///
    /// # Errors
    ///
    /// Returns an error if the device no longer exists.
    fn read<'a>(&mut self, clock: &WallClock, buffer: &'a mut [u8]) -> io::Result<Reading<'a>>;

    /// Writes the packet whose bytes are `head` followed by `tail`. Without offload, no work may be pending.
    ///
    /// # Errors
    ///
    /// Returns an error if the device no longer exists.
    fn write(&mut self, pending: &Pending, head: &[u8], tail: &[u8]) -> io::Result<Writing>;

    /// Returns the number of packets that were dropped because they were not read in time.
    ///
    /// # Errors
    ///
    /// Returns an error if the number is not available.
    fn overflowed(&self) -> io::Result<u64>;
}

/// Support for packets with work left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Long packets and packets with partial checksums may cross.
    Offload,
    /// Only plain packets may cross.
    Plain,
}

/// A packet that was read.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Time of the read.
    pub at: Instant,
    /// Work left to do on the packet.
    pub pending: Pending,
    /// The IP packet.
    pub bytes: &'a [u8],
}

/// Result of a read.
#[derive(Clone, Copy, Debug)]
pub enum Reading<'a> {
    /// A packet was read.
    Packet(Received<'a>),
    /// A packet arrived, but a [`Filter`] dropped it. There may be more packets.
    Lost,
    /// The data did not have the agreed format and was dropped. There may be more packets.
    Garbage,
    /// There is nothing to read.
    Empty,
}

/// Result of a write.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// The other side has received the packet, or the packet was lost in transit.
    Done,
    /// The other side refused the packet: it is malformed, or there is no other side.
    Refused,
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn mtu(&self) -> u16 {
        (**self).mtu()
    }

    fn offload(&self) -> Granted {
        (**self).offload()
    }

    fn read<'a>(&mut self, clock: &WallClock, buffer: &'a mut [u8]) -> io::Result<Reading<'a>> {
        (**self).read(clock, buffer)
    }

    fn write(&mut self, pending: &Pending, head: &[u8], tail: &[u8]) -> io::Result<Writing> {
        (**self).write(pending, head, tail)
    }

    fn overflowed(&self) -> io::Result<u64> {
        (**self).overflowed()
    }
}
