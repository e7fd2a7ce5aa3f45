//! Baseline: two kernels and a thread that relays packets between their devices. This baseline measures the devices
//! without our own TCP.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dupack_wire::clock::WallClock;
use dupack_wire::device::{BUFFER_BYTES, Device, Reading, Writing};
use dupack_wire::tun::Tun;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::cores::Cores;
use super::kernel::{self, Measured, Side};
use super::{ENDPOINT, Failure, KERNEL, Packets, device, joined, spawn};

/// Maximum number of packets that are relayed in one direction before the other direction is served.
const AT_ONCE: usize = 64;

/// Maximum time until the relay notices that it must stop, in milliseconds.
const ATTENTION_MS: u8 = 100;

/// Measures the transfer from one kernel to the other.
pub fn measure(packets: Packets, seconds: f64) -> Result<Measured, Failure> {
    let cores = Cores::pick()?;
    let (reader, writer) = (kernel::namespace("reader")?, kernel::namespace("writer")?);
    let devices = [
        device(&reader, KERNEL, packets)?,
        device(&writer, ENDPOINT, packets)?,
    ];
    let listener = kernel::listener(&reader, KERNEL)?;
    let going = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&going);
    let stop = Box::new(move || going.store(false, Ordering::Relaxed));
    let relay = spawn(cores.carrier, stop, move || carry(devices, &seen))?;
    let side = Side::Reads(listener);
    let program = kernel::start(&reader, side, cores.kernel, relay.time.clone(), seconds)?;
    let pouring = writer.spawn("writer", move || kernel::pour(KERNEL, cores.kernel))?;
    let measured = joined(program);
    // The reader has already closed its end. The writer is informed through the relay, which therefore still runs.
    let poured = joined(pouring);
    (relay.stop)();
    joined(relay.thread)?;
    measured.and_then(|measured| poured.map(|()| measured))
}

fn carry(mut devices: [Tun; 2], going: &AtomicBool) -> Result<(), Failure> {
    let clock = WallClock::start();
    let mut buffer = vec![0; BUFFER_BYTES];
    let [one, other] = &mut devices;
    while going.load(Ordering::Relaxed) {
        let there = pass(one, other, &clock, &mut buffer)?;
        let back = pass(other, one, &clock, &mut buffer)?;
        if there + back == 0 {
            let mut files = [
                PollFd::new(one.as_fd(), PollFlags::POLLIN),
                PollFd::new(other.as_fd(), PollFlags::POLLIN),
            ];
            poll(&mut files, PollTimeout::from(ATTENTION_MS))?;
        }
    }
    Ok(())
}

/// Relays packets in one direction and returns their number.
fn pass(from: &mut Tun, to: &mut Tun, clock: &WallClock, buffer: &mut [u8]) -> io::Result<usize> {
    for count in 0..AT_ONCE {
        match from.read(clock, buffer)? {
            Reading::Packet(packet) => match to.write(&packet.pending, packet.bytes, &[])? {
                // Refused packets are ignored, because TCP retransmits them.
                Writing::Done | Writing::Refused => {}
            },
            Reading::Garbage | Reading::Lost => {}
            Reading::Empty => return Ok(count),
        }
    }
    Ok(AT_ONCE)
}
