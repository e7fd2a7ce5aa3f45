//! Emulated path: carries IP packets between two TUN devices in real time over the simulator's links.
//!
//! ```text
//!   kernel or endpoint                   a thread                     kernel or endpoint
//!   ┌──────────┐  read, stamp  ┌─────────────────────────┐  write when due  ┌─────────┐
//!   │ near TUN │ ────────────▶ │ segments ─▶ forward Link │ ───────────────▶ │ far TUN │
//!   │          │ ◀──────────── │ backward Link ◀ segments │ ◀─────────────── │         │
//!   └──────────┘               └─────────────────────────┘                  └─────────┘
//! ```
//!
//! [`dupack_net::link`] implements rate, delay, queue, loss, reordering and recorded traces. The size of a packet on
//! the link is the length of the IP packet. Long packets are offered to the link segment by segment, and segments of
//! one packet that are due together leave as one packet.
//!
//! The path's packets can be written to capture files ([`CaptureFiles`]).
//!
//! The path reports how late it was ([`PathReport`]), because the results of a run are invalid if the machine was too
//! slow.

mod checksum;
mod frame;
mod lane;
mod network;
mod numbers;
mod payload;
mod record;
mod report;
mod store;
#[cfg(test)]
mod tests;

pub use network::{Attachment, EndpointDevice, Hosts, NetworkError, PathNetwork, Side};
pub use payload::Payload;
pub use record::{CaptureFileError, CaptureFiles, Captured, Captures};
pub use report::{EndpointLosses, FlowPassage, LaneReport, PathReport, Trust};

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};

use dupack_net::histogram::Histogram;
use dupack_net::link::LinkConfig;
use dupack_tcp::time::{Duration, Instant};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::unistd::{Pid, gettid};

use self::lane::Lane;
use self::numbers::FlowNumbers;
use self::record::Tap;
use crate::clock::WallClock;
use crate::device::{BUFFER_BYTES, Device, Pending, Reading};
use crate::poll;
use crate::processor::ProcessorWaits;

/// Maximum number of packets that are read from one device before the other device is served and due packets are
/// written.
const READS_AT_ONCE: usize = 32;

/// Real-time priority of a path that takes precedence over ordinary threads: the middle of the range 1 to 99.
const PRIORITY: &str = "40";

/// Configuration of a path and its two links.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathConfig {
    /// Link from the near device to the far one.
    pub forward: LinkConfig,
    /// Link from the far device to the near one.
    pub backward: LinkConfig,
    /// Seed of all random numbers of the links.
    pub seed: u64,
    /// Router in front of the forward link with a smaller MTU.
    pub forward_hop: Option<NarrowHop>,
    /// Router in front of the backward link with a smaller MTU.
    pub backward_hop: Option<NarrowHop>,
    /// `true` to count packets also by their destination port ([`LaneReport::by_port`]).
    pub by_port: bool,
    /// Additional delay on the backward link for packets from these ports. With these delays, flows over one link have
    /// different round-trip times.
    pub detours: BTreeMap<u16, Duration>,
    /// `true` to count the delivered payload, where each byte of TCP counts once ([`LaneReport::payload`]).
    pub count_payload: bool,
}

/// Router that drops packets that exceed the MTU of its outgoing link and must not be fragmented: IPv6, and IPv4 with
/// DF. All other packets pass unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NarrowHop {
    /// Length of the longest IP packet that passes, in bytes.
    pub mtu: u16,
    /// The router's reaction to packets that do not pass.
    pub says: HopSays,
}

/// Reaction of a router to a packet that it drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopSays {
    /// The router sends Packet Too Big, with the destination of the dropped packet as source address.
    PacketTooBig,
    /// The router sends nothing: a black hole (RFC 2923 §2.1).
    Nothing,
}

impl PathConfig {
    /// Creates a path over these two links. `seed` determines their random numbers.
    #[must_use]
    pub const fn new(forward: LinkConfig, backward: LinkConfig, seed: u64) -> Self {
        Self {
            forward,
            backward,
            seed,
            forward_hop: None,
            backward_hop: None,
            by_port: false,
            detours: BTreeMap::new(),
            count_payload: false,
        }
    }
}

/// A path that runs on its own thread. It ends when this value is dropped.
#[derive(Debug)]
pub struct RunningPath {
    stop: Arc<Stop>,
    /// Thread ID in the kernel.
    number: Pid,
    thread: Option<JoinHandle<io::Result<PathReport>>>,
}

/// Signals to the thread.
#[derive(Debug)]
struct Stop {
    asked: AtomicBool,
    /// `true` once the count by port has ended.
    counted: AtomicBool,
    /// Wakes the thread.
    bell: EventFd,
}

impl RunningPath {
    /// Starts to forward packets between `near` and `far`.
    ///
    /// # Errors
    ///
    /// Returns an error if no thread or file descriptor is available.
    pub fn start<D: Device + 'static>(config: &PathConfig, near: D, far: D) -> io::Result<Self> {
        Self::tapped(config, near, far, WallClock::start(), [None, None])
    }

    /// Same as [`start`](Self::start), with a tap for each direction. `clock` provides the times of the taps.
    fn tapped<D: Device + 'static>(
        config: &PathConfig,
        near: D,
        far: D,
        clock: WallClock,
        taps: [Option<Tap>; 2],
    ) -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let stop = Arc::new(Stop {
            asked: AtomicBool::new(false),
            counted: AtomicBool::new(false),
            bell: EventFd::from_flags(flags)?,
        });
        let relay = Relay::new(config, near, far, clock, taps);
        let seen_by_thread = Arc::clone(&stop);
        let (report, reported) = channel();
        let thread = thread::Builder::new()
            .name("path".to_owned())
            .spawn(move || {
                let _ = report.send(gettid());
                relay.run(&seen_by_thread)
            })?;
        let number = reported.recv().map_err(io::Error::other)?;
        Ok(Self {
            stop,
            number,
            thread: Some(thread),
        })
    }

    /// Makes the kernel run the path's thread before all ordinary threads (`SCHED_FIFO`, as with `chrt --fifo 40` of
    /// util-linux), so that a busy machine does not delay packets.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not allow this or `chrt` is missing.
    pub fn give_precedence(&self) -> io::Result<()> {
        let number = self.number.to_string();
        let asked = Command::new("chrt")
            .args(["--fifo", "--pid", PRIORITY, &number])
            .stdin(Stdio::null())
            .output()?;
        match asked.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(
                String::from_utf8_lossy(&asked.stderr).trim().to_owned(),
            )),
        }
    }

    /// Ends the count by port. Packets that are read from now on are not counted by port. Nothing else changes.
    pub fn end_count_by_port(&self) {
        self.stop.counted.store(true, Ordering::SeqCst);
    }

    /// Ends the path, drops the packets in flight, and returns the report.
    ///
    /// # Errors
    ///
    /// Returns an error if the path ended by itself because one of its devices went away.
    ///
    /// # Panics
    ///
    /// Panics if the path's thread panicked.
    pub fn stop(mut self) -> io::Result<PathReport> {
        match self.end() {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(io::Error::other("the path has no thread")),
        }
    }

    fn end(&mut self) -> Option<thread::Result<io::Result<PathReport>>> {
        self.stop.asked.store(true, Ordering::Relaxed);
        // The write fails only if the bell is already set.
        let _ = self.stop.bell.write(1);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for RunningPath {
    fn drop(&mut self) {
        // `stop` returns the thread's result. Here, the result is not needed.
        let _ = self.end();
    }
}

/// State of the path's thread.
struct Relay<D> {
    clock: WallClock,
    /// The near and the far device. Lane `i` leads from device `i` to the other.
    devices: [D; 2],
    lanes: [Lane; 2],
    flows: FlowNumbers,
    buffer: Vec<u8>,
    unattended: Histogram,
    started: Instant,
}

impl<D: Device> Relay<D> {
    fn new(
        config: &PathConfig,
        near: D,
        far: D,
        clock: WallClock,
        [forward, backward]: [Option<Tap>; 2],
    ) -> Self {
        Self {
            clock,
            devices: [near, far],
            lanes: [
                Lane::new(&config.forward, config.seed, "path/forward", forward)
                    .behind(config.forward_hop)
                    .counting(config.by_port)
                    .counting_payload(config.count_payload),
                Lane::new(&config.backward, config.seed, "path/backward", backward)
                    .behind(config.backward_hop)
                    .detouring(&config.detours)
                    .counting(config.by_port)
                    .counting_payload(config.count_payload),
            ],
            flows: FlowNumbers::default(),
            buffer: vec![0; BUFFER_BYTES],
            unattended: Histogram::default(),
            started: clock.now(),
        }
    }

    fn run(mut self, stop: &Stop) -> io::Result<PathReport> {
        poll::sharpen_timers();
        let overflowed = self.overflowed();
        let mut waits = ProcessorWaits::of_this_thread();
        // Time at which the thread should have checked the devices.
        let mut due_at = self.clock.now();
        while !stop.asked.load(Ordering::Relaxed) {
            for side in 0..2 {
                self.read(side, stop)?;
            }
            let [forward, backward] = &mut self.lanes;
            let [near, far] = &mut self.devices;
            forward.deliver(&self.clock, far)?;
            backward.deliver(&self.clock, near)?;
            let now = self.clock.now();
            self.unattended.record(now.since(due_at));
            self.wait(now, stop)?;
            due_at = self.clock.now() - waits.latest();
        }
        Ok(PathReport {
            waited_for_processor: waits.total(),
            ..self.report(overflowed)
        })
    }

    /// Reads the packets that wait on one side, up to a limit.
    fn read(&mut self, side: usize, stop: &Stop) -> io::Result<()> {
        for _ in 0..READS_AT_ONCE {
            match self.devices[side].read(&self.clock, &mut self.buffer)? {
                Reading::Packet(packet) => {
                    let lane = &mut self.lanes[side];
                    // The flag is checked after the read, so that every counted packet was sent before the count ended.
                    if stop.counted.load(Ordering::SeqCst) {
                        lane.end_count_by_port();
                    }
                    lane.take_in(&packet, &mut self.flows);
                    while let Some(message) = lane.take_message() {
                        // A refused message is ignored, because the receiver may no longer exist.
                        let _ = self.devices[side].write(&Pending::NOTHING, &message, &[])?;
                    }
                }
                Reading::Garbage => self.lanes[side].take_in_garbage(),
                Reading::Lost => {}
                Reading::Empty => break,
            }
        }
        Ok(())
    }

    /// Sleeps until a packet arrives, a packet is due, or the path must end.
    fn wait(&self, now: Instant, stop: &Stop) -> io::Result<()> {
        let due = self.lanes.iter().filter_map(Lane::next_due).min();
        let [near, far] = &self.devices;
        poll::readable(
            &[near.as_fd(), far.as_fd(), stop.bell.as_fd()],
            due.map(|due| due.since(now)),
        )
    }

    fn overflowed(&self) -> [Option<u64>; 2] {
        [0, 1].map(|side| self.devices[side].overflowed().ok())
    }

    fn report(&self, before: [Option<u64>; 2]) -> PathReport {
        let after = self.overflowed();
        let lane = |side: usize| LaneReport {
            overflowed: after[side]
                .zip(before[side])
                .map(|(after, before)| after.saturating_sub(before)),
            ..self.lanes[side].report()
        };
        PathReport {
            forward: lane(0),
            backward: lane(1),
            unattended: self.unattended.clone(),
            waited_for_processor: None,
            lasted: self.clock.now().since(self.started),
            captures: None,
            endpoint: None,
        }
    }
}
