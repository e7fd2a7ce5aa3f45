//! Timeouts that look like a recovery's repairs, as ACKs keep coming: what follows tells.

use dupack_tcp::scoreboard::Reported;
use dupack_tcp::time::{Duration, Instant};

use super::case::Case;
use super::{Habit, Judge, Late, Phase};

/// A repair of the first segment while ACKs came, but not at the same moment as one, when the timer
/// was due. If the sender lets the next ACKs pass unanswered, its window had collapsed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    pub(super) at: Instant,
    /// The end of what was outstanding.
    pub(super) point: u64,
    /// ACKs since, until something is sent.
    pub(super) unanswered: Option<u32>,
    /// What is to happen to the sender's state if it was a timeout.
    pub(super) expiries: u32,
}

/// So many ACKs in a row are unanswered only where a window has collapsed: one that is reduced by half
/// sends for every second (ours).
const UNANSWERED: u32 = 4;

/// And so many in any case, however soon they come (ours).
const UNANSWERED_AT_ALL: u32 = 12;

impl Judge {
    /// Whether a repair that was in doubt was a timeout, as no recovery without one sends this again.
    pub(super) fn timeout_before(&mut self, case: &Case) -> Option<u32> {
        let doubt = self.doubt?;
        if !matches!(self.phase, Phase::Recovery { .. }) || self.goes_back == Habit::Yes {
            return None;
        }
        let odd = if self.sack.is_on() {
            // Some forget with a timeout what was sacked (RFC 2018 §8).
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

    /// Something leaves at `at`: whether the last repair of the first segment turns out to have been a
    /// timeout, as nothing was sent for several ACKs. Gives which expiry it was.
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
