//! The receiving end: the far kernel's TCP, and a reader that hashes what comes.

use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

use dupack_tcp::time::Duration;

use super::{Extent, SLICE, Stop};
use crate::clock::WallClock;
use crate::host::Digest;
use crate::poll;

/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// What came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receipt {
    pub(super) extent: Extent,
    pub(super) bytes: u64,
    pub(super) hash: u128,
    /// From the end of the handshake until the last byte, or until the limit.
    pub(super) lasted: Duration,
}

/// Accepts one connection and reads it to its end or to the limit.
pub(super) fn run(listener: &TcpListener, limit: Duration, stop: &Stop) -> io::Result<Receipt> {
    match accept(listener, limit, stop)? {
        Some(stream) => read(stream, limit, stop),
        None => Ok(Receipt {
            extent: Extent::CutOff,
            bytes: 0,
            hash: Digest::default().value(),
            lasted: limit,
        }),
    }
}

/// `None` if nobody came within the limit.
fn accept(listener: &TcpListener, limit: Duration, stop: &Stop) -> io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    let clock = WallClock::start();
    loop {
        poll::readable(&[listener.as_fd()], Some(SLICE))?;
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if stop.is_asked() || clock.now().as_nanos() >= limit.as_nanos() {
            return Ok(None);
        }
    }
}

fn read(mut stream: TcpStream, limit: Duration, stop: &Stop) -> io::Result<Receipt> {
    let clock = WallClock::start();
    stream.set_read_timeout(Some(std::time::Duration::from_nanos(SLICE.as_nanos())))?;
    let mut digest = Digest::default();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut last = Duration::ZERO;
    let since_start = || Duration::from_nanos(clock.now().as_nanos());
    let extent = loop {
        match stream.read(&mut buffer) {
            Ok(0) => break Extent::Whole,
            Ok(length) => {
                last = since_start();
                digest.add(&buffer[..length]);
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

/// Whether nothing came in time.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
