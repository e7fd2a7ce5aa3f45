//! Handshakes for which the passive end stores no state: SYN cookies (RFC 4987 §3.6).

use crate::time::Instant;

use super::header::Segment;
use super::{BuildSender, Config, Connection, Due};

impl Connection {
    /// Returns a passive connection whose SYN-ACK, with the sequence number `config.iss`, was sent without storing any
    /// state. `syn` is the peer's SYN as far as the host can reconstruct it. Next, pass in the segment that
    /// acknowledges the SYN-ACK. If this segment does not establish the connection, discard the connection: its
    /// handshake has no timers.
    ///
    /// The duration of the handshake is unknown, so the handshake yields no round-trip sample.
    #[must_use]
    pub fn answered(config: Config, build: BuildSender, now: Instant, syn: &Segment) -> Self {
        let mut connection = Self::listen(config, build);
        connection.arrive_in_listen(now, syn);
        connection.opening.due = Due::No;
        connection.opening.attempts = 1;
        connection
    }
}
