//! A device that passes every packet to a closure, which may drop it. Filters inject losses, record packets or count
//! them.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::{Device, Granted, Pending, Reading, Writing};
use crate::clock::WallClock;

/// A device with a closure that decides on every packet. Filters nest: the outer filter is the first to see written
/// packets and the last to see read packets.
pub struct Filter<D, J> {
    device: D,
    judge: J,
}

/// A packet that passes a filter.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// Direction of the packet.
    pub way: Way,
    /// Work left to do on the packet.
    pub pending: Pending,
    /// First bytes of the packet, including all headers.
    pub head: &'a [u8],
    /// Remaining bytes of the packet. May be empty.
    pub tail: &'a [u8],
}

/// Direction in which a packet passes a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The packet was read from the device.
    In,
    /// The packet is being written to the device.
    Out,
}

/// Verdict on a packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet passes the filter.
    Passes,
    /// The packet is lost. Its writer is not informed of the loss.
    Lost,
}

impl<D: Device, J: FnMut(&Sighting<'_>) -> Fate + Send> Filter<D, J> {
    /// Creates a filter on `device` that calls `judge` for every packet in both directions.
    pub fn new(device: D, judge: J) -> Self {
        Self { device, judge }
    }
}

impl<D: Device, J: FnMut(&Sighting<'_>) -> Fate + Send> Device for Filter<D, J> {
    fn mtu(&self) -> u16 {
        self.device.mtu()
    }

    fn offload(&self) -> Granted {
        self.device.offload()
    }

    fn read<'a>(&mut self, clock: &WallClock, buffer: &'a mut [u8]) -> io::Result<Reading<'a>> {
        let reading = self.device.read(clock, buffer)?;
        let Reading::Packet(packet) = &reading else {
            return Ok(reading);
        };
        let sighting = Sighting {
            way: Way::In,
            pending: packet.pending,
            head: packet.bytes,
            tail: &[],
        };
        Ok(match (self.judge)(&sighting) {
            Fate::Passes => reading,
            Fate::Lost => Reading::Lost,
        })
    }

    fn write(&mut self, pending: &Pending, head: &[u8], tail: &[u8]) -> io::Result<Writing> {
        let sighting = Sighting {
            way: Way::Out,
            pending: *pending,
            head,
            tail,
        };
        match (self.judge)(&sighting) {
            Fate::Passes => self.device.write(pending, head, tail),
            Fate::Lost => Ok(Writing::Done),
        }
    }

    fn overflowed(&self) -> io::Result<u64> {
        self.device.overflowed()
    }
}

impl<D: AsFd, J> AsFd for Filter<D, J> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl<D: fmt::Debug, J> fmt::Debug for Filter<D, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}
