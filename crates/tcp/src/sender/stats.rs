//! What a sender counts about itself.

use crate::time::Instant;
use crate::undo::Sign;
use crate::window::{Window, WindowCause};

/// Distances up to this, in segments, are no more than the duplicate ACK threshold bears (RFC 5681
/// §3.2).
pub(super) const REORDERING_BORNE: u32 = 3;

/// The greatest distance that is told (Linux, sysctl `tcp_max_reordering`).
const REORDERING_MAX: u32 = 300;

/// Counters over the life of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderStats {
    /// Data segments sent, retransmissions included, window probes not.
    pub segments_sent: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Loss events found without a timeout.
    pub loss_events: u64,
    /// Reductions of the window for a mark of congestion (RFC 3168).
    pub marks_answered: u64,
    /// Recoveries that an ACK ended, not a timeout.
    pub recoveries: u64,
    /// Of these, those whose last ACK left nothing outstanding.
    pub recoveries_left_empty: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
    /// Times the receiver was found to have thrown sacked data away.
    pub renegings: u64,
    /// Reductions of the window undone as an echoed timestamp showed that they were needless.
    pub undone_by_timestamp: u64,
    /// Those that DSACKs showed to be needless.
    pub undone_by_dsack: u64,
    /// Timeouts that F-RTO showed to be needless.
    pub undone_by_frto: u64,
    /// ACKs that reported a segment, sent once, below what had been reported before.
    pub reorderings: u64,
    /// The greatest distance by which one came late, in segments; nothing if it was no more than
    /// the usual threshold. It is forgotten if a timeout follows on losses that it has hidden.
    pub reordering_extent: u32,
}

impl SenderStats {
    /// Reductions of the window undone, whatever showed that they were needless.
    #[must_use]
    pub const fn undone(&self) -> u64 {
        self.undone_by_timestamp + self.undone_by_dsack + self.undone_by_frto
    }

    /// How far the path reorders, in segments, as Linux tells it (`tcpi_reordering`): three at least.
    #[must_use]
    pub fn reordering(&self) -> u32 {
        self.reordering_extent.max(REORDERING_BORNE)
    }
}

/// The same while it counts. A million flows have these, and what is rare has no need of 64 bits.
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

    /// Whether the path was seen to reorder by more than the usual threshold bears.
    pub(super) const fn is_reordered(&self) -> bool {
        self.reordering_extent > 0
    }

    /// Something came late by so many segments.
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

/// One change of the window, with its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct WindowChange {
    /// When it changed.
    pub at: Instant,
    /// Why it changed.
    pub cause: WindowCause,
    /// The window before.
    pub before: Window,
    /// The window after.
    pub after: Window,
}
