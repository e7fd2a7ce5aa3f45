//! Timeouts that look like retransmissions in a recovery, because ACKs continue to arrive. Later events decide.

use dupack_tcp::scoreboard::Reported;
use dupack_tcp::time::{Duration, Instant};

use super::case::Case;
use super::{Habit, Judge, Late, Phase};

/// Retransmission of the first outstanding segment at a time when the timer was due. ACKs arrived, but not just before
/// it. If the sender does not respond to the following ACKs, its window has collapsed, so the retransmission was a
/// timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    pub(super) at: Instant,
    /// End of the data outstanding at that time.
    pub(super) point: u64,
    /// Number of ACKs since this retransmission; `None` after the next departure.
    pub(super) unanswered: Option<u32>,
    /// Number of consecutive expiries if this retransmission was a timeout.
    pub(super) expiries: u32,
}

/// Number of consecutive ACKs without a response that show that the window has collapsed. With a halved window, the
/// sender sends for every second ACK (our choice).
const UNANSWERED: u32 = 4;

/// Number of consecutive ACKs without a response that show this even if they arrive within half a round trip (our
/// choice).
const UNANSWERED_AT_ALL: u32 = 12;

impl Judge {
    /// Returns the number of consecutive expiries if the retransmission in doubt was a timeout, because no recovery
    /// without a timeout retransmits the present segment; `None` otherwise.
    pub(super) fn timeout_before(&mut self, case: &Case) -> Option<u32> {
        let doubt = self.doubt?;
        if !matches!(self.phase, Phase::Recovery { .. }) || self.goes_back == Habit::Yes {
            return None;
        }
        let odd = if self.sack.is_on() {
            // Some senders discard SACK information at a timeout (RFC 2018 §8).
            case.itself == Reported::Sacked || (case.start >= case.forward_ack && !case.is_tail())
        } else {
            !case.is_head()
        };
        odd.then(|| self.was_timeout(&doubt))
    }

    pub(super) fn was_timeout(&mut self, doubt: &Doubt) -> u32 {
        self.doubt = None;
        self.expiries = doubt.expiries;
        self.probe = None;
        self.sampled = false;
        self.phase = Phase::Loss {
            point: doubt.point,
            since: doubt.at,
            late: Late::NotSeen,
        };
        doubt.expiries
    }

    /// Returns the number of consecutive expiries if the last retransmission of the first segment turns out to have
    /// been a timeout, because no data was sent for several ACKs until the departure at `at`; `None` otherwise.
    pub fn reconsider(&mut self, at: Instant, rtt_least: Duration) -> Option<u32> {
        let doubt = self.doubt?;
        let unanswered = doubt.unanswered?;
        let soon = at.since(doubt.at) < rtt_least / 2 && unanswered < UNANSWERED_AT_ALL;
        if unanswered < UNANSWERED || soon {
            self.doubt = Some(Doubt {
                unanswered: None,
                ..doubt
            });
            return None;
        }
        Some(self.was_timeout(&doubt))
    }
}
