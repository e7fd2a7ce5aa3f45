//! Latency under load: datagrams that are sent at regular times beside the transfers, echoed, and timed, as flent's
//! RRUL test has it.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use dupack_net::histogram::Histogram;
use dupack_tcp::time::{Duration, Instant};

use crate::clock::WallClock;

/// Where datagrams are echoed.
pub(super) const ECHO_PORT: u16 = 4999;

/// Bytes of a datagram's payload: a number, and padding to the size of a small request.
const BYTES: usize = 64;

/// How long a thread waits for a datagram before it looks whether the run is over.
const LOOK: Duration = Duration::from_millis(5);

/// What the probe has seen.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LatencyReport {
    /// Round trips before the first sender began.
    pub idle: Histogram,
    /// Round trips while senders sent.
    pub loaded: Histogram,
    /// Datagrams sent while senders sent.
    pub sent: u64,
    /// Of these, those that never came back.
    pub lost: u64,
}

/// Sends everything back that comes, until `is_over`.
pub(super) fn echo(socket: &UdpSocket, is_over: &dyn Fn() -> bool) -> io::Result<()> {
    let mut bytes = [0; BYTES];
    wait_at_most(socket, LOOK)?;
    while !is_over() {
        match socket.recv_from(&mut bytes) {
            Ok((length, from)) => {
                // Whoever asked may be gone.
                let _ = socket.send_to(&bytes[..length], from);
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends a datagram every `interval` to `to` until `is_over`; `begun` says when senders began, once they have.
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
            // A full queue of the device loses it, and it counts as lost.
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
    // What was sent within the last round trips may still be on its way.
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
