//! The emulated path: IP packets between two TUN devices, in real time, over the simulator's
//! own links.
//!
//! ```text
//!   kernel or endpoint                   a thread                     kernel or endpoint
//!   ┌──────────┐  read, stamp  ┌─────────────────────────┐  write when due  ┌─────────┐
//!   │ near TUN │ ────────────▶ │ segments ─▶ forward Link │ ───────────────▶ │ far TUN │
//!   │          │ ◀──────────── │ backward Link ◀ segments │ ◀─────────────── │         │
//!   └──────────┘               └─────────────────────────┘                  └─────────┘
//! ```
//!
//! Rate, delay, queue, loss, reordering and recorded traces are those of [`dupack_net::link`];
//! nothing of them is here. A packet's size on the wire is that of the IP packet. Long packets
//! are offered to the link segment by segment and leave joined where segments are due together.
//!
//! What crosses it can be written to capture files ([`CaptureFiles`]).
//!
//! The path says how late it was ([`PathReport`]): a machine that cannot keep up makes a run
//! worthless, and the run must say so.

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

/// Packets read from one device before the other gets its turn and what is due is written.
const READS_AT_ONCE: usize = 32;

/// The real-time priority of a path that goes before ordinary threads, in the middle of 1 to 99.
const PRIORITY: &str = "40";

/// A path's two links.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathConfig {
    /// From the near device to the far one.
    pub forward: LinkConfig,
    /// From the far device to the near one.
    pub backward: LinkConfig,
    /// What all random numbers of the links depend on.
    pub seed: u64,
    /// A router in front of the forward link whose next link carries shorter packets.
    pub forward_hop: Option<NarrowHop>,
    /// The same in front of the backward link.
    pub backward_hop: Option<NarrowHop>,
    /// Whether what passes is also counted by the port that it is for
    /// ([`LaneReport::by_port`]).
    pub by_port: bool,
    /// By how much longer than others the packets from these ports take on the way back: flows whose round trips
    /// differ over one link.
    pub detours: BTreeMap<u16, Duration>,
    /// Whether the payload that is delivered is counted, each byte of TCP once
    /// ([`LaneReport::payload`]).
    pub count_payload: bool,
}

/// A router that drops what is longer than its next link carries and must not be fragmented: IPv6,
/// and IPv4 with DF. All else passes whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NarrowHop {
    /// The longest IP packet that passes, in bytes.
    pub mtu: u16,
    /// What it says of those that do not.
    pub says: HopSays,
}

/// What a router says of a packet that it drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopSays {
    /// Packet Too Big, in the name of the host that the packet was for.
    PacketTooBig,
    /// Nothing: a black hole (RFC 2923 §2.1).
    Nothing,
}

impl PathConfig {
    /// A path of these two links, whose random numbers depend on `seed`.
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

/// A path at work on a thread of its own. It ends when this is dropped.
#[derive(Debug)]
pub struct RunningPath {
    stop: Arc<Stop>,
    /// The kernel's number of the thread.
    number: Pid,
    thread: Option<JoinHandle<io::Result<PathReport>>>,
}

/// How the thread is told to end.
#[derive(Debug)]
struct Stop {
    asked: AtomicBool,
    /// Whether the count by port is over.
    counted: AtomicBool,
    /// Wakes the thread.
    bell: EventFd,
}

impl RunningPath {
    /// Begins to forward between `near` and `far`.
    ///
    /// # Errors
    ///
    /// If there is no room for a thread or a file descriptor.
    pub fn start<D: Device + 'static>(config: &PathConfig, near: D, far: D) -> io::Result<Self> {
        Self::tapped(config, near, far, WallClock::start(), [None, None])
    }

    /// As [`start`](Self::start), with a tap for each direction, whose times are `clock`'s.
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

    /// Has the kernel run the path's thread before all ordinary ones (`SCHED_FIFO`, as
    /// `chrt --fifo 40` of util-linux), so that a busy machine does not delay packets.
    ///
    /// # Errors
    ///
    /// If the system does not let us, or there is no `chrt`.
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

    /// Ends the count by port: what is read from now on is in it no more, and all else goes on.
    pub fn end_count_by_port(&self) {
        self.stop.counted.store(true, Ordering::SeqCst);
    }

    /// Ends the path, with whatever is under way, and says what passed.
    ///
    /// # Errors
    ///
    /// If the path ended by itself because one of its devices went away.
    ///
    /// # Panics
    ///
    /// If the path's thread did.
    pub fn stop(mut self) -> io::Result<PathReport> {
        match self.end() {
            Some(Ok(report)) => report,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(io::Error::other("the path has no thread")),
        }
    }

    fn end(&mut self) -> Option<thread::Result<io::Result<PathReport>>> {
        self.stop.asked.store(true, Ordering::Relaxed);
        // It fails only if the bell rings already.
        let _ = self.stop.bell.write(1);
        self.thread.take().map(JoinHandle::join)
    }
}

impl Drop for RunningPath {
    fn drop(&mut self) {
        // What the thread has to say goes to `stop`.
        let _ = self.end();
    }
}

/// The path's thread.
struct Relay<D> {
    clock: WallClock,
    /// The near device and the far one; lane `i` leads from device `i` to the other.
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
        // From when on it should look at the devices.
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

    /// Reads what there is on one side, up to a limit.
    fn read(&mut self, side: usize, stop: &Stop) -> io::Result<()> {
        for _ in 0..READS_AT_ONCE {
            match self.devices[side].read(&self.clock, &mut self.buffer)? {
                Reading::Packet(packet) => {
                    let lane = &mut self.lanes[side];
                    // Asked after the read: what is counted was sent before the count ended.
                    if stop.counted.load(Ordering::SeqCst) {
                        lane.end_count_by_port();
                    }
                    lane.take_in(&packet, &mut self.flows);
                    while let Some(message) = lane.take_message() {
                        // Whom it is for may be gone.
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

    /// Sleeps until a packet comes, one is due, or the path shall end.
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
