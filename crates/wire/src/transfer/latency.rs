//! Latency under load: at the same time as the transfers, datagrams are sent at regular intervals, echoed and timed, as
//! in flent's RRUL test.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use dupack_net::histogram::Histogram;
use dupack_tcp::time::{Duration, Instant};

use crate::clock::WallClock;

/// Port at which datagrams are echoed.
pub(super) const ECHO_PORT: u16 = 4999;

/// Payload of a datagram in bytes: a number, padded to the size of a small request.
const BYTES: usize = 64;

/// Maximum time that a thread waits for a datagram before it checks whether the run is over.
const LOOK: Duration = Duration::from_millis(5);

/// Results of the latency probe.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LatencyReport {
    /// Round-trip times before the first sender started.
    pub idle: Histogram,
    /// Round-trip times while senders were active.
    pub loaded: Histogram,
    /// Datagrams sent while senders were active.
    pub sent: u64,
    /// Datagrams among `sent` whose echo did not arrive.
    pub lost: u64,
}

/// Echoes every datagram until `is_over` returns `true`.
pub(super) fn echo(socket: &UdpSocket, is_over: &dyn Fn() -> bool) -> io::Result<()> {
    let mut bytes = [0; BYTES];
    wait_at_most(socket, LOOK)?;
    while !is_over() {
        match socket.recv_from(&mut bytes) {
            Ok((length, from)) => {
                // An error is ignored: the sender of the datagram may have closed its socket.
                let _ = socket.send_to(&bytes[..length], from);
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends a datagram to `to` every `interval` until `is_over` returns `true`. `begun` returns the time at which the
/// senders started, or `None` before that.
pub(super) fn probe(
    socket: &UdpSocket,
    to: SocketAddr,
    interval: Duration,
    clock: &WallClock,
    (begun, is_over): (&dyn Fn() -> Option<Instant>, &dyn Fn() -> bool),
) -> io::Result<LatencyReport> {
    let mut report = LatencyReport::default();
    let mut sent: Vec<Instant> = Vec::new();
    let mut back: Vec<bool> = Vec::new();
    let mut next = clock.now();
    while !is_over() {
        let now = clock.now();
        if now >= next {
            let mut bytes = [0; BYTES];
            bytes[..8].copy_from_slice(&(sent.len() as u64).to_be_bytes());
            // If the device's queue is full, the datagram is dropped and counts as lost.
            let _ = socket.send_to(&bytes, to);
            sent.push(now);
            back.push(false);
            next = now + interval;
        }
        let left = next.since(clock.now());
        wait_at_most(socket, left.min(LOOK).max(Duration::from_micros(100)))?;
        let mut bytes = [0; BYTES];
        match socket.recv(&mut bytes) {
            Ok(length) if length >= 8 => {
                let number = u64::from_be_bytes(bytes[..8].try_into().unwrap_or_default());
                let Ok(number) = usize::try_from(number) else {
                    continue;
                };
                let (Some(at), Some(seen)) = (sent.get(number), back.get_mut(number)) else {
                    continue;
                };
                *seen = true;
                let took = clock.now().since(*at);
                match begun().is_some_and(|begun| *at >= begun) {
                    true => report.loaded.record(took),
                    false => report.idle.record(took),
                }
            }
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    // The last datagrams are not counted because they may still be in flight.
    let end = clock.now();
    let longest = report.loaded.quantile(1.0).unwrap_or(Duration::ZERO);
    let begun = begun().unwrap_or(end);
    let counted = { sent.iter().zip(&back) }
        .filter(|(at, _)| **at >= begun && **at + longest * 2 + interval < end);
    for (_, came) in counted {
        report.sent += 1;
        report.lost += u64::from(!came);
    }
    Ok(report)
}

fn wait_at_most(socket: &UdpSocket, span: Duration) -> io::Result<()> {
    let span = std::time::Duration::from_nanos(span.as_nanos().max(1));
    socket.set_read_timeout(Some(span))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
