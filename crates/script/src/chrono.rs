//! Times during which a sender was busy, limited by the peer's window, and limited by its own send buffer:
//! `tcpi_busy_time`, `tcpi_rwnd_limited` and `tcpi_sndbuf_limited`.

use dupack_tcp::connection::Connection;
use dupack_tcp::time::{Duration, Instant};

/// Stopwatches for the three times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chrono {
    busy: Stopwatch,
    shut_out: Stopwatch,
    short: Stopwatch,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stopwatch {
    total: Duration,
    since: Option<Instant>,
}

impl Stopwatch {
    fn set(&mut self, runs: bool, now: Instant) {
        match (self.since, runs) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.total += now.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    fn read(&self, now: Instant) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

impl Chrono {
    /// Updates the stopwatches. `short` is `true` if the send buffer was too small for more data.
    pub(crate) fn note(&mut self, connection: &Connection, short: bool, now: Instant) {
        let busy = connection.written() > connection.acknowledged();
        self.busy.set(busy, now);
        let shut_out = connection.sender().is_some_and(|sender| {
            let nxt = sender.scoreboard().nxt();
            let waiting = connection.written().saturating_sub(nxt);
            let smss = u64::from(sender.config().smss);
            let open = sender.peer_edge().saturating_sub(nxt);
            let next = waiting.min(smss);
            next > open && sender.in_flight(now) + next <= sender.window().whole_bytes()
        });
        self.shut_out.set(busy && shut_out, now);
        self.short.set(busy && short, now);
    }

    /// Returns the time during which there was unacknowledged data.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        self.busy.read(now)
    }

    /// Returns the part of the busy time in which the peer's window was too small.
    pub(crate) fn shut_out(&self, now: Instant) -> Duration {
        self.shut_out.read(now)
    }

    /// Returns the part of the busy time in which the send buffer was too small.
    pub(crate) fn short(&self, now: Instant) -> Duration {
        self.short.read(now)
    }
}
