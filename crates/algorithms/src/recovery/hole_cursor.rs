//! Position in the scoreboard that only moves forward, and the number of sacked bytes below it.
//!
//! SACK's `HighRxt`, FACK's `retran_data` and Momentary's `retransmit` all correspond to such a cursor. It is at the
//! next hole to retransmit, so the missing bytes below it have been retransmitted and are not yet reported.

use dupack_tcp::facts::AckFacts;
use dupack_tcp::scoreboard::{DeliveredBy, Reported, Scoreboard, Segment, SegmentId};

/// Cursor over outstanding segments that stores the number of sacked bytes below it.
///
/// Its cost is amortised O(1): it passes each segment once between two calls of `rewind`, which happen once per loss
/// event. The number of sacked bytes below the cursor is updated by differences, because the scoreboard does not report
/// sacked segments again when they are cumulatively acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HoleCursor {
    id: SegmentId,
    /// Sacked bytes of outstanding segments below the cursor.
    sacked_below: u64,
    /// Sacked bytes of the whole scoreboard after the last event.
    sacked_total: u64,
}

impl HoleCursor {
    /// Moves back to the first outstanding segment that is not sacked.
    pub(super) fn rewind(&mut self, board: &Scoreboard) {
        self.id = board.first();
        self.sacked_below = 0;
        self.sacked_total = board.sacked_bytes();
        self.skip_sacked(board);
    }

    /// Moves back to the first hole and returns it, if the hole begins before `limit`. Otherwise the cursor does not
    /// move: segments that have been retransmitted are not retransmitted again for an ACK that reveals no hole.
    pub(super) fn rewind_below<'a>(
        &mut self,
        board: &'a Scoreboard,
        limit: u64,
    ) -> Option<&'a Segment> {
        let mut rewound = *self;
        rewound.rewind(board);
        let hole = rewound.hole(board, limit)?;
        *self = rewound;
        Some(hole)
    }

    /// Moves to the end of the outstanding segments, where the next new segment will be.
    pub(super) fn leap_to_end(&mut self, board: &Scoreboard) {
        self.id = board.end();
        self.sacked_below = board.sacked_bytes();
        self.sacked_total = self.sacked_below;
    }

    /// Processes an ACK. The cursor moves only if the cumulative ACK went past it, to the first outstanding segment.
    pub(super) fn on_ack(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) {
        // Sacked bytes that the cumulative ACK has passed.
        let departed = (self.sacked_total + ack.sacked_bytes).saturating_sub(board.sacked_bytes());
        self.sacked_total = board.sacked_bytes();
        if self.id <= board.first() {
            self.id = board.first();
            self.sacked_below = 0;
            return;
        }
        debug_assert!(departed <= self.sacked_below, "they were all below");
        self.sacked_below = self.sacked_below.saturating_sub(departed);
        for delivered in ack.delivered {
            if delivered.by == DeliveredBy::Sack && delivered.id < self.id {
                self.sacked_below += u64::from(delivered.segment.len);
            }
        }
    }

    /// Moves past the current segment, sacked or not.
    pub(super) fn step(&mut self, board: &Scoreboard) {
        if let Some(segment) = board.get(self.id) {
            if segment.reported == Reported::Sacked {
                self.sacked_below += u64::from(segment.len);
            }
            self.id = self.id.next();
        }
    }

    /// Moves past sacked segments, up to the next hole.
    pub(super) fn skip_sacked(&mut self, board: &Scoreboard) {
        if board.sacked_segments() == 0 {
            return;
        }
        while board
            .get(self.id)
            .is_some_and(|segment| segment.reported == Reported::Sacked)
        {
            self.step(board);
        }
    }

    /// Moves past everything up to and including `id`, and on to the next hole.
    pub(super) fn pass(&mut self, id: SegmentId, board: &Scoreboard) {
        while self.id <= id && self.id < board.end() {
            self.step(board);
        }
        self.skip_sacked(board);
    }

    /// Returns the current segment, or the end of the outstanding segments if there is none.
    pub(super) const fn id(&self) -> SegmentId {
        self.id
    }

    /// Returns the current segment if it is a hole that begins before `limit`.
    pub(super) fn hole<'a>(&self, board: &'a Scoreboard, limit: u64) -> Option<&'a Segment> {
        board
            .get(self.id)
            .filter(|s| s.reported == Reported::Missing && s.start < limit)
    }

    /// Returns the offset of the current segment.
    pub(super) fn offset(&self, board: &Scoreboard) -> u64 {
        if self.id == board.first() {
            // This is the case while nothing is lost, and it is cheaper.
            return board.una();
        }
        board.get(self.id).map_or(board.nxt(), |s| s.start)
    }

    /// Returns the number of sacked bytes at and above the cursor.
    pub(super) fn sacked_above(&self, board: &Scoreboard) -> u64 {
        board.sacked_bytes() - self.sacked_below
    }

    /// Returns the number of bytes below the cursor that are outstanding and not sacked.
    pub(super) fn missing_below(&self, board: &Scoreboard) -> u64 {
        self.offset(board) - board.una() - self.sacked_below
    }

    /// Returns the number of bytes at and above the cursor that are outstanding and not sacked.
    pub(super) fn missing_above(&self, board: &Scoreboard) -> u64 {
        board.nxt() - self.offset(board) - self.sacked_above(board)
    }
}
