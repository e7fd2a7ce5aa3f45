//! Monitor of the packets on a kernel's devices in both directions, using a packet socket (packet(7)).

use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use dupack_packet::{Verify, parse};
use dupack_tcp::connection::{Flags, Segment};
use dupack_wire::namespace::Namespace;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

/// A TCP packet that was seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub source: IpAddr,
    pub segment: Segment,
    pub ecn: Ecn,
}

/// ECN field of IPv4 (RFC 3168 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    NotCapable,
    Capable,
}

/// Recorder of packets, which runs until it is dropped.
pub struct Watch {
    seen: Arc<Mutex<Vec<Seen>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn start(kernel: &Namespace) -> Self {
        let socket = kernel.run(packet_socket).expect("a packet socket");
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let is_over = Arc::new(AtomicBool::new(false));
        let (list, end) = (Arc::clone(&seen), Arc::clone(&is_over));
        let job = move || {
            let mut buffer = vec![0; 1 << 16];
            while !end.load(Ordering::Acquire) {
                match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                    Ok(length) => list
                        .lock()
                        .expect("no panic")
                        .extend(read(&buffer[..length])),
                    // No packet arrived in time, or the receive buffer was full.
                    Err(Errno::EAGAIN | Errno::EINTR | Errno::ENOBUFS) => {}
                    Err(error) => panic!("the packet socket fails: {error}"),
                }
            }
        };
        Self {
            seen,
            is_over,
            thread: Some(std::thread::spawn(job)),
        }
    }

    /// Returns the recorded packets that `source` has sent so far.
    pub fn from(&self, source: IpAddr) -> Vec<Seen> {
        let seen = self.seen.lock().expect("no panic");
        let from = seen.iter().filter(|packet| packet.source == source);
        from.copied().collect()
    }

    /// Returns the number of times that `source` has probed a closed window. A probe is a segment without data whose
    /// sequence number is one below the window.
    pub fn probes_of_a_closed_window(&self, source: IpAddr) -> usize {
        let mut closed = None;
        let mut probes = 0;
        for Seen {
            source: from,
            segment,
            ..
        } in self.seen.lock().expect("no panic").iter()
        {
            if *from != source {
                let is_closed = segment.window == 0 && segment.flags == Flags::NONE;
                closed = segment.ack.filter(|_| is_closed);
            } else if closed.is_some_and(|edge| segment.seq.0.wrapping_add(1) == edge.0) {
                probes += usize::from(segment.len == 0);
            }
        }
        probes
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Opens a socket that receives every IP packet of every device in this namespace, without link headers.
fn packet_socket() -> nix::Result<OwnedFd> {
    const ROOM_BYTES: usize = 16 << 20;
    let (kind, all) = (SockType::Datagram, SockProtocol::EthAll);
    let socket = socket(AddressFamily::Packet, kind, SockFlag::SOCK_CLOEXEC, all)?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::milliseconds(20))?;
    setsockopt(&socket, sockopt::RcvBufForce, &ROOM_BYTES)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &ROOM_BYTES))?;
    Ok(socket)
}

fn read(packet: &[u8]) -> Option<Seen> {
    const ECN_FIELD: u8 = 0b11;
    // The checksum may be incomplete, because the kernel leaves it to the device.
    let parsed = parse(packet, Verify::Nothing).ok()?;
    let ecn = match packet[1] & ECN_FIELD {
        0 => Ecn::NotCapable,
        _ => Ecn::Capable,
    };
    Some(Seen {
        source: parsed.source.ip(),
        segment: parsed.segment,
        ecn,
    })
}
