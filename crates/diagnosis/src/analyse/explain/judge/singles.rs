//! Timeouts that look like retransmissions after partial ACKs, in captures away from the sender and without SACK. In
//! such captures, an ACK always arrives at about the same time as a retransmission, so only later events show the
//! cause.
//!
//! In a recovery without SACK, a partial ACK triggers one retransmission, that of the first segment. If an ACK triggers
//! two retransmissions at once, the window has collapsed and is growing again, so the retransmission that this ACK
//! acknowledges was a timeout. Tahoe also retransmits in this way after its fast retransmit, but from the first partial
//! ACK on.

use dupack_tcp::time::{Duration, Instant};

use super::case::Case;
use super::doubt::Doubt;
use super::{Distance, Habit, Judge, Phase};

/// Last two retransmissions of the first segment in the current recovery, the older one first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Singles {
    before: Option<Single>,
    last: Option<Single>,
}

/// Retransmission of the first outstanding segment. `number` is its number in the ledger, or `None` before it has one.
#[derive(Clone, Copy, Debug)]
struct Single {
    at: Instant,
    point: u64,
    number: Option<u64>,
}

impl Singles {
    pub(super) const NONE: Self = Self {
        before: None,
        last: None,
    };

    fn repaired(&mut self, at: Instant, point: u64) {
        self.before = self.last.replace(Single {
            at,
            point,
            number: None,
        });
    }

    /// Returns the retransmission whose ACK triggers further retransmissions at `at`.
    fn acknowledged_by(&self, at: Instant, rtt_least: Duration) -> Option<Single> {
        let last = self.last?;
        match at.since(last.at) < rtt_least / 2 {
            true => self.before,
            false => Some(last),
        }
    }
}

impl Judge {
    /// Judges a retransmission in a recovery. Returns the number of an earlier retransmission that must have been a
    /// timeout, and its position among consecutive expiries; `None` if there is none.
    pub(super) fn after_single(&mut self, case: &Case) -> Option<(u64, u32)> {
        let in_recovery = matches!(self.phase, Phase::Recovery { point } if case.start < point);
        let applies = in_recovery && !self.sack.is_on() && case.timing.distance == Distance::Away;
        if !applies || self.goes_back == Habit::Yes {
            self.singles = Singles::NONE;
            return None;
        }
        if case.is_head() {
            self.singles.repaired(case.timing.at, case.nxt);
            return None;
        }
        let single = self
            .singles
            .acknowledged_by(case.timing.at, case.timing.rtt.least)?;
        self.singles = Singles::NONE;
        let expiry = self.was_timeout(&Doubt {
            at: single.at,
            point: single.point,
            unanswered: None,
            expiries: self.expiries + 1,
        });
        Some((single.number?, expiry))
    }

    /// Records the ledger number of the last retransmission.
    pub const fn recorded(&mut self, number: u64) {
        if let Some(last) = &mut self.singles.last
            && last.number.is_none()
        {
            last.number = Some(number);
        }
        if let Some(wait) = &mut self.wait {
            wait.recorded(number);
        }
    }
}
