//! How long a sender was busy, and how long the peer's window alone kept it from sending: `tcpi_busy_time` and
//! `tcpi_rwnd_limited`.

use dupack_tcp::connection::Connection;
use dupack_tcp::time::{Duration, Instant};

/// Both times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chrono {
    busy: Stopwatch,
    shut_out: Stopwatch,
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
    /// Looks how the sender stands.
    pub(crate) fn note(&mut self, connection: &Connection, now: Instant) {
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
    }

    /// How long there was data that was not acknowledged.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        self.busy.read(now)
    }

    /// How long of this the peer's window was too small.
    pub(crate) fn shut_out(&self, now: Instant) -> Duration {
        self.shut_out.read(now)
    }
}
