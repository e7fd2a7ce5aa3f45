//! How long a sender was busy, and how long the peer's window or its own buffer alone kept it from sending:
//! `tcpi_busy_time`, `tcpi_rwnd_limited` and `tcpi_sndbuf_limited`.

use dupack_tcp::connection::Connection;
use dupack_tcp::time::{Duration, Instant};

/// These times.
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
    /// Looks how the sender stands; `short` is whether its buffer was too small for more.
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

    /// How long there was data that was not acknowledged.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        self.busy.read(now)
    }

    /// How long of this the peer's window was too small.
    pub(crate) fn shut_out(&self, now: Instant) -> Duration {
        self.shut_out.read(now)
    }

    /// How long of this the send buffer was.
    pub(crate) fn short(&self, now: Instant) -> Duration {
        self.short.read(now)
    }
}
