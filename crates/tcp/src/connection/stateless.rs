//! Handshakes without state at the passive end: SYN cookies (RFC 4987 §3.6).

use crate::time::Instant;

use super::header::Segment;
use super::{BuildSender, Config, Connection, Due};

impl Connection {
    /// Returns a passive connection whose SYN was answered, with the number `config.iss`, by an end that kept no state.
    /// `syn` is the SYN, as far as the host can reconstruct it. Next, hand in the segment that acknowledges the answer.
    /// If it does not establish the connection, nothing will: there are no timers.
    ///
    /// The duration of the handshake is unknown, so there is no first round-trip sample.
    #[must_use]
    pub fn answered(config: Config, build: BuildSender, now: Instant, syn: &Segment) -> Self {
        let mut connection = Self::listen(config, build);
        connection.arrive_in_listen(now, syn);
        connection.opening.due = Due::No;
        connection.opening.attempts = 1;
        connection
    }
}
