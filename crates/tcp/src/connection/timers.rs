//! Timers of a connection, including those that belong to neither half.

use crate::time::{Duration, Instant};

use super::engine::Engine;
use super::{Connection, Due, Reason, State};

/// Maximum time between two transmissions of a SYN (the smallest maximum that RFC 6298 §2.5 permits).
const SYN_TIMEOUT_MAX: Duration = Duration::from_secs(60);

impl Connection {
    /// Processes every timer that is due at `now`. A call before the next timeout has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Closed | State::Listen => {}
            State::SynSent | State::SynReceived => self.expire_opening(now),
            _ => self.expire_established(now),
        }
    }

    fn expire_opening(&mut self, now: Instant) {
        if self.open_deadline().is_some_and(|at| at <= now) {
            self.end(self.or_unreachable(Reason::OpenTimedOut));
        } else if self.opening.again_at.is_some_and(|at| at <= now) {
            self.opening.again_at = None;
            self.opening.repeat();
            self.opening.ecn.expiries = self.opening.ecn.expiries.saturating_add(1);
        }
    }

    /// Returns the ICMP error that explains the timeout, or otherwise `reason` (RFC 5927 §5.2; Linux, `sk_err_soft`).
    fn or_unreachable(&self, reason: Reason) -> Reason {
        self.unreachable.map_or(reason, Reason::Unreachable)
    }

    fn open_deadline(&self) -> Option<Instant> {
        Some(self.opening.since? + self.config.open_timeout)
    }

    /// Sets the retransmission timer after a SYN was sent.
    pub(super) fn arm_opening(&mut self, now: Instant) {
        let opening = &mut self.opening;
        opening.since.get_or_insert(now);
        let even = match self.state {
            State::SynSent => self.config.even_syns,
            _ => 0,
        };
        let doublings = opening.attempts.saturating_sub(even);
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        let wait = self.config.syn_timeout.saturating_mul(factor);
        opening.again_at = Some(now + wait.min(SYN_TIMEOUT_MAX));
        opening.attempts = opening.attempts.saturating_add(1);
    }

    fn expire_established(&mut self, now: Instant) {
        if self.time_wait_until.is_some_and(|at| at <= now) {
            self.end(Reason::Finished);
            return;
        }
        if self.user_deadline().is_some_and(|at| at <= now) {
            self.end(self.or_unreachable(Reason::TimedOut));
            return;
        }
        if self.keep_alive_at().is_some_and(|at| at <= now) {
            self.expire_keep_alive();
        }
        if let Some(engine) = &mut self.engine {
            engine.sender.handle_timeout(now);
            engine.path_timed_out(now, &self.config.path_mtu, &mut self.path_counters);
            engine.receiver.handle_timeout(now);
        }
    }

    /// Returns the time at which data will have waited too long.
    fn user_deadline(&self) -> Option<Instant> {
        let (since, _) = self.engine.as_ref()?.waiting?;
        Some(since + self.config.user_timeout)
    }

    /// Returns the time at which the next keep-alive probe is due, or at which the connection ends because no probe was
    /// answered.
    fn keep_alive_at(&self) -> Option<Instant> {
        let keep_alive = self.config.keep_alive?;
        let engine = self.engine.as_ref()?;
        // With data outstanding, the retransmission timer detects a dead peer.
        if self.state == State::TimeWait || !engine.sender.is_done() {
            return None;
        }
        let probed = keep_alive.interval * u64::from(engine.probes);
        Some(engine.heard_at + keep_alive.idle + probed)
    }

    fn expire_keep_alive(&mut self) {
        let (Some(keep_alive), Some(engine)) = (self.config.keep_alive, &mut self.engine) else {
            return;
        };
        if engine.probes >= keep_alive.probes {
            // The RST informs a peer that is only slow (RFC 9293 §3.8.4 permits this).
            self.abort();
            self.pending.closed = Some(Reason::PeerSilent);
            return;
        }
        engine.probes += 1;
        engine.probe = Due::Yes;
    }

    pub(super) fn restart_time_wait(&mut self, now: Instant) {
        self.time_wait_until = Some(now + self.config.msl * 2);
    }

    /// Latest time for the next call of [`handle_timeout`](Self::handle_timeout), followed by
    /// [`poll_transmit`](Self::poll_transmit); `None` if only a segment or the application can change the state.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Closed | State::Listen => None,
            State::SynSent | State::SynReceived => {
                earliest([self.opening.again_at, self.open_deadline(), None, None])
            }
            State::TimeWait => {
                let delayed_ack = self.engine.as_ref()?.receiver.next_timeout();
                earliest([self.time_wait_until, delayed_ack, None, None])
            }
            _ => {
                let engine = self.engine.as_ref()?;
                earliest([
                    engine.sender.next_timeout(),
                    engine.receiver.next_timeout(),
                    self.user_deadline(),
                    self.keep_alive_at(),
                ])
            }
        }
    }
}

impl Engine {
    /// Tracks the time since which data has been waiting: since it was written, or since the last progress. While the
    /// window is closed, the time counts from the peer's last segment, because the connection stays open as long as the
    /// peer responds to probes (RFC 9293 §3.8.6.1, MUST-37).
    pub(super) fn note_progress(&mut self, now: Instant) {
        if self.sender.is_done() {
            self.waiting = None;
            self.shut_out = None;
            return;
        }
        self.shut_out = self.is_shut_out().then(|| self.shut_out.unwrap_or(now));
        let una = self.una();
        let since = match self.waiting {
            Some((since, before)) if before == una && self.shut_out.is_some() => {
                since.max(self.heard_at)
            }
            Some((since, before)) if before == una => since,
            _ => now,
        };
        self.waiting = Some((since, una));
    }

    /// Returns `true` if the peer's window is closed.
    pub(super) fn is_shut_out(&self) -> bool {
        self.sender.peer_edge() <= self.una()
    }
}

fn earliest(times: [Option<Instant>; 4]) -> Option<Instant> {
    times.into_iter().flatten().min()
}
