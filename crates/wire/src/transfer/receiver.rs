//! Receiving end: the far kernel's TCP, and a reader that computes a hash of the data.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use dupack_tcp::time::Duration;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use nix::{getsockopt_impl, libc, setsockopt_impl, sockopt_impl};

use super::{Extent, ReadPauses, SLICE, Stop};
use crate::clock::WallClock;
use crate::host::Digest;
use crate::poll;
use crate::processor::ProcessorWaits;

/// Maximum number of bytes read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Result of the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receipt {
    pub(super) extent: Extent,
    pub(super) bytes: u64,
    pub(super) hash: u128,
    /// Time from the end of the handshake to the last byte or to the limit.
    pub(super) lasted: Duration,
}

sockopt_impl!(
    /// TCP_WINDOW_CLAMP of tcp(7): maximum receive window in bytes.
    WindowClamp,
    Both,
    libc::IPPROTO_TCP,
    libc::TCP_WINDOW_CLAMP,
    u32
);

/// Maximum receive window in bytes. `None` leaves the window to the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window(pub(super) Option<u64>);

impl Window {
    /// Makes the receive buffer large enough. Must be called before the handshake announces the window scale.
    fn prepare(self, listener: &TcpListener) -> io::Result<()> {
        let Some(bytes) = self.0 else { return Ok(()) };
        let asked = usize::try_from(bytes).unwrap_or(usize::MAX);
        setsockopt(listener, sockopt::RcvBuf, &asked)?;
        if given(listener)? < asked {
            // The size exceeds net.core.rmem_max, which only root may do. The size is read back below.
            let _ = setsockopt(listener, sockopt::RcvBufForce, &asked);
        }
        let most = given(listener)?;
        if most < asked {
            let text = format!(
                "the kernel gives a receive buffer of {most} bytes at most, not {bytes}: take a \
                 smaller window, raise net.core.rmem_max, or be root"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(())
    }

    /// Keeps the window limit in effect. The kernel changes the limit when it learns the memory size of packets.
    pub(super) fn hold(self, stream: &TcpStream) -> io::Result<()> {
        let asked = self.0.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        if let Some(asked) = asked
            && getsockopt(stream, WindowClamp)? != asked
        {
            setsockopt(stream, WindowClamp, &asked)?;
        }
        Ok(())
    }
}

/// Returns the usable receive buffer in bytes. Linux reserves the same amount for its own use and includes it in the
/// reported size (socket(7), SO_RCVBUF).
fn given(listener: &TcpListener) -> io::Result<usize> {
    Ok(getsockopt(listener, sockopt::RcvBuf)? / 2)
}

/// Creates a listener at `at`.
pub(super) fn listen(at: SocketAddr, window: Window) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(at)?;
    window.prepare(&listener)?;
    Ok(listener)
}

/// Accepts one connection and reads it until it ends or the limit is reached.
pub(super) fn run(
    listener: &TcpListener,
    window: Window,
    pauses: Option<ReadPauses>,
    limit: Duration,
    stop: &Stop,
) -> io::Result<Receipt> {
    match accept(listener, limit, stop)? {
        Some((stream, overslept)) => read(stream, overslept, (window, pauses), limit, stop),
        None => Ok(Receipt {
            extent: Extent::CutOff,
            bytes: 0,
            hash: Digest::default().value(),
            lasted: limit,
        }),
    }
}

/// Returns a connection, and the time for which it existed before this thread ran. Returns `None` if no connection
/// arrived within the limit.
fn accept(
    listener: &TcpListener,
    limit: Duration,
    stop: &Stop,
) -> io::Result<Option<(TcpStream, Duration)>> {
    listener.set_nonblocking(true)?;
    let clock = WallClock::start();
    let mut waits = ProcessorWaits::of_this_thread();
    loop {
        poll::readable(&[listener.as_fd()], Some(SLICE))?;
        let overslept = waits.latest();
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(Some((stream, overslept)));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if stop.is_asked() || clock.now().as_nanos() >= limit.as_nanos() {
            return Ok(None);
        }
    }
}

fn read(
    mut stream: TcpStream,
    overslept: Duration,
    (window, pauses): (Window, Option<ReadPauses>),
    limit: Duration,
    stop: &Stop,
) -> io::Result<Receipt> {
    let clock = WallClock::start();
    stream.set_read_timeout(Some(std::time::Duration::from_nanos(SLICE.as_nanos())))?;
    let mut digest = Digest::default();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut last = Duration::ZERO;
    let since_start = || Duration::from_nanos(clock.now().as_nanos()) + overslept;
    let extent = loop {
        window.hold(&stream)?;
        match stream.read(&mut buffer) {
            Ok(0) => break Extent::Whole,
            Ok(length) => {
                last = since_start();
                let before = digest.bytes();
                digest.add(&buffer[..length]);
                pause(pauses, before, digest.bytes());
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
        if stop.is_asked() || since_start() >= limit {
            last = since_start();
            break Extent::CutOff;
        }
    };
    Ok(Receipt {
        extent,
        bytes: digest.bytes(),
        hash: digest.value(),
        lasted: last,
    })
}

/// Pauses if a multiple of the pause interval lies between the byte counts `before` and `after`.
fn pause(pauses: Option<ReadPauses>, before: u64, after: u64) {
    let Some(ReadPauses { every, time }) = pauses else {
        return;
    };
    let passed = |bytes: u64| bytes.checked_div(every);
    if passed(before) != passed(after) {
        std::thread::sleep(std::time::Duration::from_nanos(time.as_nanos()));
    }
}

/// Returns `true` if the error is a timeout.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
