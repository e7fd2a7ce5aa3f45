//! Where IP packets come from and go to: what a host or a path stands on.
//!
//! A [`Device`] is a [TUN device](crate::tun) of this machine's kernel, one end of a [`pair`] in
//! memory, or one of these with something in between: devices nest, as a [`Filter`] does, which
//! sees every packet and may lose it. Boxed, devices of different kinds are of one.
//!
//! Packets may cross with work left to do, where both sides say so ([`Granted::Offload`]); what
//! is left stands in [`Pending`].

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

/// The longest packet that crosses a device, in bytes.
pub const MAX_PACKET_BYTES: usize = 65_535;

/// What a device may put into a buffer before the packet that was asked for, in bytes.
pub const HEADROOM_BYTES: usize = 16;

/// The least room to read into, in bytes: for any packet of any device.
pub const BUFFER_BYTES: usize = HEADROOM_BYTES + MAX_PACKET_BYTES;

/// IP packets in and out. Nothing here waits.
///
/// Its file descriptor is readable while there is something to read, and a host that has nothing
/// to do waits for that. One thread uses it at a time.
pub trait Device: AsFd + Send {
    /// The longest IP packet that fits the link, in bytes; those whose [`Segmentation`] is
    /// pending may be longer.
    fn mtu(&self) -> u16;

    /// Whether packets with work left to do may cross. It never changes.
    fn offload(&self) -> Granted;

    /// Reads a packet into `buffer`, which has room for [`BUFFER_BYTES`], and takes the time from
    /// `clock` as soon as it is there.
    ///
    /// # Errors
    ///
    /// If the device is gone.
    fn read<'a>(&mut self, clock: &WallClock, buffer: &'a mut [u8]) -> io::Result<Reading<'a>>;

    /// Writes the packet that `head` and `tail` are together. Without offload nothing may be
    /// pending.
    ///
    /// # Errors
    ///
    /// If the device is gone.
    fn write(&mut self, pending: &Pending, head: &[u8], tail: &[u8]) -> io::Result<Writing>;

    /// Packets that were thrown away because nobody read them in time.
    ///
    /// # Errors
    ///
    /// If it cannot be told.
    fn overflowed(&self) -> io::Result<u64>;
}

/// Whether packets with work left to do cross a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Long packets and partial checksums cross.
    Offload,
    /// Plain packets only.
    Plain,
}

/// A packet that was read.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// When it was read.
    pub at: Instant,
    /// What is left to do to it.
    pub pending: Pending,
    /// The IP packet.
    pub bytes: &'a [u8],
}

/// What came of reading.
#[derive(Clone, Copy, Debug)]
pub enum Reading<'a> {
    /// There was a packet.
    Packet(Received<'a>),
    /// There was a packet, and it was lost on its last step. There may be more.
    Lost,
    /// Something that is not what was agreed on with the other side, and was thrown away. There
    /// may be more.
    Garbage,
    /// Nothing is there.
    Empty,
}

/// What came of writing.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// The other side has the packet, or it was lost on the way there.
    Done,
    /// The other side does not take it: it is malformed, or nobody is there.
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
