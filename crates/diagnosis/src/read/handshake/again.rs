//! Retransmissions of SYNs.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::{Duration, Instant};

use crate::read::side::Side;

/// Maximum number of retransmitted SYNs whose details are stored. Hosts give up earlier (Linux after 6 SYNs and 5
/// SYN-ACKs).
pub const SYNS_AGAIN_MAX: usize = 16;

/// Cause of a retransmitted SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SynCause {
    /// The timer of the endpoint expired (RFC 6298 §2.1).
    #[serde(rename = "timeout")]
    Timer,
    /// The SYN of the other endpoint was retransmitted, because the answer to this SYN had been lost.
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
    /// Endpoint that sent the SYN.
    pub side: Side,
    /// Cause of the retransmission.
    pub cause: SynCause,
    /// Time since this endpoint last sent the SYN.
    pub waited: Duration,
}

/// Retransmitted SYNs of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SynsAgain {
    kept: Vec<SynAgain>,
    /// `true` if the last retransmitted SYN was the opener's.
    is_asked_again: bool,
}

impl SynsAgain {
    /// Records a SYN that `side` retransmitted; `waited` is the time since its last transmission.
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

    /// Returns the first [`SYNS_AGAIN_MAX`] retransmissions in order.
    #[must_use]
    pub fn kept(&self) -> &[SynAgain] {
        &self.kept
    }

    /// Returns the time for which the connection waited for SYN timers. It is the longer time of the two endpoints.
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
