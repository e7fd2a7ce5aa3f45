//! Two devices in memory, connected by a cable: packets that are written to one end are read from the other.
//!
//! A pair needs no privileges and changes nothing on the machine. Two hosts can therefore talk within one process: in
//! tests, in examples, or through a [path](crate::path) of link models between two pairs. The cable has no rate, delay
//! or losses, but its capacity is limited.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::{Device, Granted, Pending, Reading, Received, Writing};
use crate::clock::WallClock;

/// Configuration of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PairConfig {
    /// Length of the longest IP packet that fits the link, in bytes.
    pub mtu: u16,
    /// Support for packets with work left to do.
    pub offload: Granted,
    /// Maximum number of packets that wait to be read in each direction. Excess packets are dropped and counted
    /// ([`Device::overflowed`]).
    pub queue_packets: usize,
}

impl PairConfig {
    /// Creates a configuration with packets of 1500 bytes as on Ethernet, no offload, and queues of 10,000 packets as
    /// in a [`Tun`](crate::tun::Tun).
    #[must_use]
    pub const fn new() -> Self {
        Self {
            mtu: 1500,
            offload: Granted::Plain,
            queue_packets: 10_000,
        }
    }
}

impl Default for PairConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// One end of a pair. Once this end is dropped, packets that are written to the other end are refused.
#[derive(Debug)]
pub struct PairEnd {
    config: PairConfig,
    /// Direction that the other end writes and this end reads.
    inward: Arc<Cable>,
    /// Direction that this end writes and the other end reads.
    outward: Arc<Cable>,
}

/// One direction of a pair.
#[derive(Debug)]
struct Cable {
    queue: Mutex<Queue>,
    /// File descriptor that is readable while the queue has packets. It is written and read only while the queue is
    /// locked.
    bell: EventFd,
}

#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<(Pending, Box<[u8]>)>,
    overflowed: u64,
}

/// Creates a pair.
///
/// # Errors
///
/// Returns an error if no file descriptor is available.
pub fn pair(config: PairConfig) -> io::Result<(PairEnd, PairEnd)> {
    let [there, back] = [Cable::new()?, Cable::new()?].map(Arc::new);
    let end = |inward: &Arc<Cable>, outward: &Arc<Cable>| PairEnd {
        config,
        inward: Arc::clone(inward),
        outward: Arc::clone(outward),
    };
    Ok((end(&back, &there), end(&there, &back)))
}

impl Cable {
    fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self {
            queue: Mutex::default(),
            bell: EventFd::from_flags(flags)?,
        })
    }

    /// Locks the queue. Poisoning is ignored, because a panic cannot leave a change incomplete.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for PairEnd {
    fn mtu(&self) -> u16 {
        self.config.mtu
    }

    fn offload(&self) -> Granted {
        self.config.offload
    }

    fn read<'a>(&mut self, clock: &WallClock, buffer: &'a mut [u8]) -> io::Result<Reading<'a>> {
        let mut queue = self.inward.lock();
        let Some((pending, packet)) = queue.packets.pop_front() else {
            return Ok(Reading::Empty);
        };
        if queue.packets.is_empty() {
            // The read succeeds because the bell was set for the packet.
            let _ = self.inward.bell.read();
        }
        drop(queue);
        let at = clock.now();
        let Some(bytes) = buffer.get_mut(..packet.len()) else {
            return Ok(Reading::Garbage);
        };
        bytes.copy_from_slice(&packet);
        Ok(Reading::Packet(Received { at, pending, bytes }))
    }

    fn write(&mut self, pending: &Pending, head: &[u8], tail: &[u8]) -> io::Result<Writing> {
        let length = head.len() + tail.len();
        let may_be_long = pending.segmentation != super::Segmentation::Whole;
        let fits = length <= usize::from(self.config.mtu) || may_be_long;
        let granted = self.config.offload == Granted::Offload || *pending == Pending::NOTHING;
        // The other end holds a reference to the cable as long as it exists.
        let is_read = Arc::strong_count(&self.outward) > 1;
        if !(fits && granted && is_read) || length > super::MAX_PACKET_BYTES {
            return Ok(Writing::Refused);
        }
        let packet = (*pending, [head, tail].concat().into_boxed_slice());
        let mut queue = self.outward.lock();
        if queue.packets.len() >= self.config.queue_packets {
            queue.overflowed += 1;
            return Ok(Writing::Done);
        }
        queue.packets.push_back(packet);
        if queue.packets.len() == 1 {
            // The write fails only if the bell is already set.
            let _ = self.outward.bell.write(1);
        }
        Ok(Writing::Done)
    }

    fn overflowed(&self) -> io::Result<u64> {
        Ok(self.inward.lock().overflowed)
    }
}

impl AsFd for PairEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inward.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{BUFFER_BYTES, ChecksumState, Segmentation};
    use crate::family::Family;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    fn read(end: &mut PairEnd) -> Option<Vec<u8>> {
        let mut buffer = vec![0; BUFFER_BYTES];
        match end.read(&WallClock::start(), &mut buffer) {
            Ok(Reading::Packet(packet)) => Some(packet.bytes.to_vec()),
            Ok(Reading::Empty) => None,
            other => panic!("{other:?}"),
        }
    }

    fn write(end: &mut PairEnd, bytes: &[u8]) -> Writing {
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        end.write(&Pending::NOTHING, head, tail).expect("a device")
    }

    #[test]
    fn packets_cross_whole_and_in_order() {
        let (mut a, mut b) = pair(PairConfig::new()).expect("a pair");
        assert_eq!(read(&mut b), None);
        for length in [1, 2, 1500] {
            assert_eq!(write(&mut a, &vec![length as u8; length]), Writing::Done);
        }
        assert_eq!(write(&mut b, &[7]), Writing::Done);
        for length in [1, 2, 1500] {
            assert_eq!(read(&mut b), Some(vec![length as u8; length]));
        }
        assert_eq!(read(&mut b), None);
        assert_eq!(read(&mut a), Some(vec![7]));
    }

    #[test]
    fn a_waiting_reader_wakes_while_there_are_packets() {
        let (mut a, mut b) = pair(PairConfig::new()).expect("a pair");
        let is_readable = |end: &PairEnd| {
            let mut files = [PollFd::new(end.as_fd(), PollFlags::POLLIN)];
            poll(&mut files, PollTimeout::ZERO).expect("a look") == 1
        };
        assert!(!is_readable(&b));
        for _ in 0..2 {
            let _ = write(&mut a, &[1]);
            let _ = write(&mut a, &[2]);
            assert!(is_readable(&b) && !is_readable(&a));
            assert!(read(&mut b).is_some() && is_readable(&b));
            assert!(read(&mut b).is_some() && !is_readable(&b));
        }
    }

    #[test]
    fn packets_beyond_a_full_queue_are_counted() {
        let config = PairConfig {
            queue_packets: 2,
            ..PairConfig::new()
        };
        let (mut a, mut b) = pair(config).expect("a pair");
        for number in 0..5 {
            assert_eq!(write(&mut a, &[number]), Writing::Done);
        }
        assert_eq!(
            (a.overflowed().ok(), b.overflowed().ok()),
            (Some(0), Some(3))
        );
        let got = [(); 3].map(|()| read(&mut b));
        assert_eq!(got, [Some(vec![0]), Some(vec![1]), None]);
    }

    #[test]
    fn packets_that_do_not_fit_are_refused() {
        let long = Pending {
            checksum: ChecksumState::Partial {
                start: 20,
                offset: 16,
            },
            segmentation: Segmentation::Tcp {
                size: 1460,
                header_len: 40,
                family: Family::V4,
            },
        };
        for (offload, expected) in [
            (Granted::Plain, Writing::Refused),
            (Granted::Offload, Writing::Done),
        ] {
            let config = PairConfig {
                offload,
                ..PairConfig::new()
            };
            let (mut a, b) = pair(config).expect("a pair");
            assert_eq!(write(&mut a, &[0; 1501]), Writing::Refused);
            assert_eq!(write(&mut a, &[0; 1500]), Writing::Done);
            let written = a.write(&long, &[0; 3000], &[0; 3000]);
            assert_eq!(written.expect("a device"), expected);
            let written = a.write(&long, &[0; 40], &[0; 65_496]);
            assert_eq!(written.expect("a device"), Writing::Refused);
            drop(b);
            assert_eq!(
                write(&mut a, &[0]),
                Writing::Refused,
                "the other end is gone"
            );
        }
    }
}
