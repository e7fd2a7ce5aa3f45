//! Retransmitted SYNs.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::{Duration, Instant};

use crate::read::side::Side;

/// Maximum number of retransmitted SYNs whose details are kept; further ones are only counted. Hosts give up earlier
/// (Linux after 6 SYNs and 5 SYN-ACKs).
pub const SYNS_AGAIN_MAX: usize = 16;

/// Cause of a retransmitted SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SynCause {
    /// The timer of the endpoint expired (RFC 6298 §2.1).
    #[serde(rename = "timeout")]
    Timer,
    /// The SYN of the other endpoint was retransmitted: the answer to it had been lost.
    #[serde(rename = "answer_to_syn_sent_again")]
    Answer,
}

/// Retransmitted SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynAgain {
    /// Capture time.
    pub at: Instant,
    /// Packet number in the capture.
    pub packet: u64,
    /// Endpoint that sent it.
    pub side: Side,
    /// Cause.
    pub cause: SynCause,
    /// Time since this endpoint last sent it.
    pub waited: Duration,
}

/// Retransmitted SYNs of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SynsAgain {
    kept: Vec<SynAgain>,
    /// `true` if the opener's SYN was retransmitted after the answerer's was sent.
    is_asked_again: bool,
}

impl SynsAgain {
    /// Registers a SYN that `side` retransmitted, `waited` after its last transmission.
    pub(super) fn sent(&mut self, side: Side, at: Instant, packet: u64, waited: Duration) {
        let cause = match side {
            Side::Answerer if self.is_asked_again => SynCause::Answer,
            _ => SynCause::Timer,
        };
        self.is_asked_again = side == Side::Opener;
        if self.kept.len() < SYNS_AGAIN_MAX {
            self.kept.push(SynAgain {
                at,
                packet,
                side,
                cause,
                waited,
            });
        }
    }

    /// Returns the first retransmissions, in order.
    #[must_use]
    pub fn kept(&self) -> &[SynAgain] {
        &self.kept
    }

    /// Returns the time that the connection waited for SYN timers: the longer wait of the two endpoints.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let of = |side| {
            let own = self.kept.iter().filter(|syn| syn.side == side);
            let by_timer = own.filter(|syn| syn.cause == SynCause::Timer);
            by_timer.fold(Duration::ZERO, |sum, syn| sum + syn.waited)
        };
        of(Side::Opener).max(of(Side::Answerer))
    }
}
