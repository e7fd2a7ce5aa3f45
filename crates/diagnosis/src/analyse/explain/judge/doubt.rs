//! Timeouts that look like retransmissions of a recovery, because ACKs keep coming: later events decide.

use dupack_tcp::scoreboard::Reported;
use dupack_tcp::time::{Duration, Instant};

use super::case::Case;
use super::{Habit, Judge, Late, Phase};

/// Retransmission of the first segment when the timer was due, while ACKs came but not at the same moment. If the
/// sender then does not answer the next ACKs, its window had collapsed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    pub(super) at: Instant,
    /// End of the outstanding data.
    pub(super) point: u64,
    /// ACKs since, until the next departure.
    pub(super) unanswered: Option<u32>,
    /// Number of expiries in a row if it was a timeout.
    pub(super) expiries: u32,
}

/// Number of ACKs in a row that stay unanswered only if the window has collapsed: with a halved window, the sender
/// sends for every second ACK (our choice).
const UNANSWERED: u32 = 4;

/// The same for ACKs in quick succession (our choice).
const UNANSWERED_AT_ALL: u32 = 12;

impl Judge {
    /// Returns the number of expiries if the retransmission in doubt was a timeout: no recovery without a timeout
    /// retransmits the present segment.
    pub(super) fn timeout_before(&mut self, case: &Case) -> Option<u32> {
        let doubt = self.doubt?;
        if !matches!(self.phase, Phase::Recovery { .. }) || self.goes_back == Habit::Yes {
            return None;
        }
        let odd = if self.sack.is_on() {
            // Some senders forget at a timeout which data was sacked (RFC 2018 §8).
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

    /// Returns the number of expiries if the last retransmission of the first segment turns out to have been a timeout:
    /// nothing was sent for several ACKs, until the departure at `at`.
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
