//! SYNs that were sent again.

use schemars::JsonSchema;
use serde::Serialize;

use dupack_tcp::time::{Duration, Instant};

use crate::read::side::Side;

/// SYNs sent again of which a record is kept; more are counted. Hosts give up before (Linux after 6 SYNs and 5
/// answers).
pub const SYNS_AGAIN_MAX: usize = 16;

/// What made an end send its SYN again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SynCause {
    /// Its timer expired (RFC 6298 §2.1).
    #[serde(rename = "timeout")]
    Timer,
    /// The other end's SYN came again: the answer to it had been lost.
    #[serde(rename = "answer_to_syn_sent_again")]
    Answer,
}

/// A SYN that was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynAgain {
    /// When it was captured.
    pub at: Instant,
    /// Its number in the capture.
    pub packet: u64,
    /// Who sent it.
    pub side: Side,
    /// Why.
    pub cause: SynCause,
    /// The time since this end had sent it last.
    pub waited: Duration,
}

/// The SYNs of a connection that were sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SynsAgain {
    kept: Vec<SynAgain>,
    /// Whether the opener's SYN has come again since the answerer's was sent.
    is_asked_again: bool,
}

impl SynsAgain {
    /// `side` has sent its SYN again, `waited` after the last time.
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

    /// The first ones, in their order.
    #[must_use]
    pub fn kept(&self) -> &[SynAgain] {
        &self.kept
    }

    /// The time that the connection waited for timers of SYNs: the longer of both ends' waits.
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
