//! Handshakes of which the passive end kept nothing: SYN cookies (RFC 4987 §3.6).

use crate::time::Instant;

use super::header::Segment;
use super::{BuildSender, Config, Connection, Due};

impl Connection {
    /// A passive connection whose SYN was answered, with the number `config.iss`, by an end that kept
    /// nothing of it. `syn` is as much of the SYN as the host knows by other means. The segment that
    /// acknowledges the answer is to be handed in next; if it does not establish the connection,
    /// nothing will: there are no timers.
    ///
    /// How long the handshake took is not known: there is no first round-trip sample.
    #[must_use]
    pub fn answered(config: Config, build: BuildSender, now: Instant, syn: &Segment) -> Self {
        let mut connection = Self::listen(config, build);
        connection.arrive_in_listen(now, syn);
        connection.opening.due = Due::No;
        connection.opening.attempts = 1;
        connection
    }
}
