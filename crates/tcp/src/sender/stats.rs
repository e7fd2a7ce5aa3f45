//! Counters and window changes of a sender.

use crate::time::Instant;
use crate::undo::Sign;
use crate::window::{Window, WindowCause};

/// Maximum reordering distance, in segments, that the duplicate ACK threshold tolerates (RFC 5681 §3.2).
pub(super) const REORDERING_BORNE: u32 = 3;

/// Maximum reordering distance that is reported, in segments (Linux, sysctl `tcp_max_reordering`).
const REORDERING_MAX: u32 = 300;

/// Counters over the lifetime of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderStats {
    /// Number of data segments sent, including retransmissions but not window probes.
    pub segments_sent: u64,
    /// Number of retransmissions among `segments_sent`.
    pub retransmissions: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Number of loss events detected without a timeout.
    pub loss_events: u64,
    /// Number of responses to congestion marks (RFC 3168): at most one per window of data.
    pub marks_answered: u64,
    /// Number of recoveries that ended with an ACK and not with a timeout.
    pub recoveries: u64,
    /// Number of recoveries among `recoveries` after whose last ACK no data was outstanding.
    pub recoveries_left_empty: u64,
    /// Number of zero-window probes sent.
    pub window_probes: u64,
    /// Number of times the sender detected that the receiver had discarded sacked data.
    pub renegings: u64,
    /// Number of window reductions undone because an echoed timestamp showed that they were spurious.
    pub undone_by_timestamp: u64,
    /// Number of window reductions undone because DSACKs showed that they were spurious.
    pub undone_by_dsack: u64,
    /// Number of timeouts undone because F-RTO showed that they were spurious.
    pub undone_by_frto: u64,
    /// Number of ACKs that showed reordering: with SACK, they reported a segment that was sent once after data beyond
    /// it had been sacked.
    pub reorderings: u64,
    /// Maximum reordering distance in segments; 0 if it did not exceed the standard threshold. It is reset by a timeout
    /// that occurs although enough segments were sacked to show the loss with the standard threshold.
    pub reordering_extent: u32,
}

impl SenderStats {
    /// Number of window reductions undone, for any sign.
    #[must_use]
    pub const fn undone(&self) -> u64 {
        self.undone_by_timestamp + self.undone_by_dsack + self.undone_by_frto
    }

    /// Reordering distance in segments, as in Linux's `tcpi_reordering`: at least three.
    #[must_use]
    pub fn reordering(&self) -> u32 {
        self.reordering_extent.max(REORDERING_BORNE)
    }
}

/// Counters of a running sender. Most have 32 bits to save memory: there may be a million flows, and these events are
/// rare.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) segments_sent: u64,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u32,
    pub(crate) loss_events: u32,
    pub(crate) marks_answered: u32,
    pub(crate) recoveries: u32,
    pub(crate) recoveries_left_empty: u32,
    pub(crate) window_probes: u32,
    pub(crate) renegings: u32,
    pub(crate) undone_by_timestamp: u32,
    pub(crate) undone_by_dsack: u32,
    pub(crate) undone_by_frto: u32,
    pub(crate) reorderings: u32,
    pub(crate) reordering_extent: u32,
}

impl Counters {
    pub(super) fn told(&self) -> SenderStats {
        SenderStats {
            segments_sent: self.segments_sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts.into(),
            loss_events: self.loss_events.into(),
            marks_answered: self.marks_answered.into(),
            recoveries: self.recoveries.into(),
            recoveries_left_empty: self.recoveries_left_empty.into(),
            window_probes: self.window_probes.into(),
            renegings: self.renegings.into(),
            undone_by_timestamp: self.undone_by_timestamp.into(),
            undone_by_dsack: self.undone_by_dsack.into(),
            undone_by_frto: self.undone_by_frto.into(),
            reorderings: self.reorderings.into(),
            reordering_extent: self.reordering_extent,
        }
    }

    /// Returns `true` if a reordering distance exceeded the standard threshold.
    pub(super) const fn is_reordered(&self) -> bool {
        self.reordering_extent > 0
    }

    /// Counts a reordering by this number of segments.
    pub(super) fn count_reordering(&mut self, segments: u64) {
        self.reorderings = self.reorderings.saturating_add(1);
        let extent = u32::try_from(segments).unwrap_or(u32::MAX);
        if extent > REORDERING_BORNE {
            self.reordering_extent = self.reordering_extent.max(extent.min(REORDERING_MAX));
        }
    }

    pub(super) const fn count_undo(&mut self, sign: Sign) {
        match sign {
            Sign::Timestamp => self.undone_by_timestamp += 1,
            Sign::Dsack => self.undone_by_dsack += 1,
            Sign::Frto => self.undone_by_frto += 1,
        }
    }
}

/// Change of the window, with its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct WindowChange {
    /// Time of the change.
    pub at: Instant,
    /// Cause of the change.
    pub cause: WindowCause,
    /// Window before the change.
    pub before: Window,
    /// Window after the change.
    pub after: Window,
}
