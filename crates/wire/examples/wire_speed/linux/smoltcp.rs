//! The TCP/IP stack smoltcp on the same device, driven as in its own examples.
//!
//! Its `phy::TunTapInterface` allocates a buffer for each packet and does not support offload. [`Phy`] makes the same
//! system calls with buffers that it reuses, and meets smoltcp's requirements when it leaves segmentation and checksums
//! to the kernel.

use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use dupack_wire::Family;
use dupack_wire::clock::WallClock;
use dupack_wire::device::{
    self, ChecksumState, Device as _, Granted, MAX_PACKET_BYTES, Pending, Reading, Segmentation,
};
use dupack_wire::tun::Tun;
use etherparse::IpNumber;
use etherparse::checksum::Sum16BitWords;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, PacketMeta, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use super::cores::Core;
use super::{
    BUFFER_BYTES, Direction, ENDPOINT, FILLING, Failure, KERNEL, PORT, PREFIX_BITS, Running, spawn,
};

/// Local port of connections.
const OWN_PORT: u16 = 49_152;

/// Maximum time until the stack notices that it must stop.
const ATTENTION: Duration = Duration::from_millis(100);

/// Length of an IPv4 header without options, in bytes.
const IP_HEADER_BYTES: usize = 20;
/// Offset of the checksum in the TCP header, in bytes (RFC 9293 §3.1).
const CHECKSUM_AT: usize = 16;

/// Limit of the sender in addition to the peer's window.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Control {
    None,
    Reno,
}

/// Starts the stack, which connects or listens.
pub fn start(
    tun: Tun,
    direction: Direction,
    control: Control,
    core: Core,
) -> Result<Running, Failure> {
    let going = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&going);
    let stop = Box::new(move || going.store(false, Ordering::Relaxed));
    spawn(core, stop, move || {
        Stack::new(tun, direction, control)?.run(direction, &seen)
    })
}

/// The stack with its single socket.
struct Stack {
    clock: WallClock,
    phy: Phy,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
}

impl Stack {
    fn new(tun: Tun, direction: Direction, control: Control) -> Result<Self, Failure> {
        let clock = WallClock::start();
        let mut phy = Phy::new(tun, clock);
        let config = Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut phy, now(&clock));
        let mut added = Ok(());
        interface.update_ip_addrs(|addresses| {
            let own = IpCidr::new(IpAddress::Ipv4(ENDPOINT), PREFIX_BITS);
            added = addresses.push(own);
        });
        added.map_err(|_| "no room for an address")?;
        let buffer = || SocketBuffer::new(vec![0; BUFFER_BYTES]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(match control {
            Control::None => CongestionControl::None,
            Control::Reno => CongestionControl::Reno,
        });
        match direction {
            Direction::Send => socket
                .connect(interface.context(), (KERNEL, PORT), OWN_PORT)
                .map_err(|e| e.to_string())?,
            Direction::Receive => socket.listen(PORT).map_err(|e| e.to_string())?,
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Ok(Self {
            clock,
            phy,
            interface,
            sockets,
            socket,
        })
    }

    fn run(&mut self, direction: Direction, going: &AtomicBool) -> Result<(), Failure> {
        while going.load(Ordering::Relaxed) {
            let now = now(&self.clock);
            self.interface.poll(now, &mut self.phy, &mut self.sockets);
            let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
            match direction {
                Direction::Send => supply(socket)?,
                Direction::Receive => swallow(socket)?,
            }
            let delay = self.interface.poll_delay(now, &self.sockets);
            self.phy
                .wait(delay.map_or(ATTENTION, |delay| delay.min(ATTENTION)))?;
        }
        Ok(())
    }
}

/// Fills the send buffer.
fn supply(socket: &mut Socket<'_>) -> Result<(), Failure> {
    // The loop may run twice, because the free space may wrap around the end of the buffer.
    while socket.can_send() {
        let fill = |room: &mut [u8]| {
            room.fill(FILLING);
            (room.len(), ())
        };
        socket.send(fill).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Empties the receive buffer.
fn swallow(socket: &mut Socket<'_>) -> Result<(), Failure> {
    while socket.can_recv() {
        let take = |bytes: &mut [u8]| (bytes.len(), ());
        socket.recv(take).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn now(clock: &WallClock) -> Instant {
    // A run takes only seconds, so the value fits into `i64`.
    Instant::from_micros((clock.now().as_nanos() / 1000) as i64)
}

/// The device in the form that smoltcp expects.
struct Phy {
    tun: Tun,
    clock: WallClock,
    /// Buffer for the packet that was read.
    incoming: Vec<u8>,
    /// Buffer for the packet to be written.
    outgoing: Vec<u8>,
}

impl Phy {
    fn new(tun: Tun, clock: WallClock) -> Self {
        Self {
            tun,
            clock,
            incoming: vec![0; device::BUFFER_BYTES],
            outgoing: vec![0; MAX_PACKET_BYTES],
        }
    }

    fn wait(&self, delay: Duration) -> nix::Result<()> {
        if delay == Duration::ZERO {
            return Ok(());
        }
        let mut files = [PollFd::new(self.tun.as_fd(), PollFlags::POLLIN)];
        let delay = std::time::Duration::from(delay);
        ppoll(&mut files, Some(TimeSpec::from_duration(delay)), None)?;
        Ok(())
    }
}

impl Device for Phy {
    type RxToken<'a> = Incoming<'a>;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Incoming<'_>, Outgoing<'_>)> {
        match self.tun.read(&self.clock, &mut self.incoming) {
            Ok(Reading::Packet(packet)) => Some((
                Incoming(packet.bytes),
                Outgoing::new(&mut self.tun, &mut self.outgoing),
            )),
            _ => None,
        }
    }

    fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
        Some(Outgoing::new(&mut self.tun, &mut self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = usize::from(self.tun.mtu());
        if self.tun.offload() == Granted::Offload {
            // The kernel leaves the checksums of its own packets incomplete, and completes those of our packets.
            capabilities.checksum.tcp = Checksum::None;
            capabilities.segmentation.tcpv4 = NonZeroUsize::new(MAX_PACKET_BYTES);
        }
        capabilities
    }
}

/// A packet that was read.
struct Incoming<'a>(&'a [u8]);

impl RxToken for Incoming<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, use_it: F) -> R {
        use_it(self.0)
    }
}

/// A packet to be written.
struct Outgoing<'a> {
    tun: &'a mut Tun,
    buffer: &'a mut [u8],
    meta: PacketMeta,
}

impl<'a> Outgoing<'a> {
    fn new(tun: &'a mut Tun, buffer: &'a mut [u8]) -> Self {
        Self {
            tun,
            buffer,
            meta: PacketMeta::default(),
        }
    }
}

impl TxToken for Outgoing<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, make: F) -> R {
        let packet = &mut self.buffer[..len];
        let result = make(packet);
        let pending = match self.tun.offload() {
            Granted::Plain => Pending::NOTHING,
            Granted::Offload => leave_to_kernel(packet, self.meta),
        };
        // Errors are ignored: TCP retransmits packets that the kernel refuses, and a device that no longer exists
        // causes a stall.
        let _ = self.tun.write(&pending, packet, &[]);
        result
    }

    fn set_meta(&mut self, meta: PacketMeta) {
        self.meta = meta;
    }
}

/// Returns the work that is left to the kernel, and writes the sum over the pseudo-header into the packet.
fn leave_to_kernel(packet: &mut [u8], meta: PacketMeta) -> Pending {
    let (ip, tcp) = packet.split_at_mut(IP_HEADER_BYTES);
    let sum = Sum16BitWords::new()
        .add_slice(&ip[12..20])
        .add_2bytes([0, IpNumber::TCP.0])
        .add_2bytes((tcp.len() as u16).to_be_bytes());
    let folded = !sum.ones_complement();
    tcp[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&folded.to_ne_bytes());
    // The upper four bits of byte 12 hold the header length in 32-bit words.
    let header_len = IP_HEADER_BYTES + usize::from(tcp[12] >> 4) * 4;
    Pending {
        checksum: ChecksumState::Partial {
            start: IP_HEADER_BYTES as u16,
            offset: CHECKSUM_AT as u16,
        },
        segmentation: match meta.segmentation_offload_size {
            None => Segmentation::Whole,
            Some(size) => Segmentation::Tcp {
                size: size.get(),
                header_len: header_len as u16,
                family: Family::V4,
            },
        },
    }
}
