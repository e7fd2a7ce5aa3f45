//! A device that shows every packet to somebody, who may lose it: for losses on purpose, for
//! recording, for counting.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::{Device, Granted, Pending, Reading, Writing};
use crate::clock::WallClock;

/// A device behind a judge. Filters nest: the outer one sees first what is written and last what
/// is read.
pub struct Filter<D, J> {
    device: D,
    judge: J,
}

/// A packet that passes a filter.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// Which way it goes.
    pub way: Way,
    /// What is left to do to it.
    pub pending: Pending,
    /// Its first bytes, with all headers …
    pub head: &'a [u8],
    /// … and the rest, which may be none.
    pub tail: &'a [u8],
}

/// Which way a packet passes a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It was read from the device.
    In,
    /// It is being written to the device.
    Out,
}

/// What becomes of a packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Passes,
    /// It is lost, and who wrote it does not learn of it.
    Lost,
}

impl<D: Device, J: FnMut(&Sighting<'_>) -> Fate + Send> Filter<D, J> {
    /// `device`, with `judge` called for every packet in both directions.
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
