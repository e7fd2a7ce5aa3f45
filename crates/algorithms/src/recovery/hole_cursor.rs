//! Position in the scoreboard that only moves forward, and the sacked bytes below it.
//!
//! SACK's `HighRxt`, FACK's `retran_data` and Momentary's `retransmit` are all such a cursor: it stands on the next
//! hole to retransmit, so the missing bytes below it are those that have been retransmitted and not yet reported.

use dupack_tcp::facts::AckFacts;
use dupack_tcp::scoreboard::{DeliveredBy, Reported, Scoreboard, Segment, SegmentId};

/// Cursor over outstanding segments that knows how many bytes below it are sacked.
///
/// It is amortised O(1): it passes each segment once between two `rewind`s, and those come once per loss event. The
/// number of sacked bytes below it is kept by difference, as the scoreboard does not report sacked segments again when
/// they are cumulatively acknowledged.
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

    /// Moves back to the first hole, and returns it, if it begins before `limit`. Otherwise the cursor stays:
    /// retransmitted segments are not retransmitted again for an ACK that points at nothing.
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

    /// Moves to the position of the next new segment.
    pub(super) fn leap_to_end(&mut self, board: &Scoreboard) {
        self.id = board.end();
        self.sacked_below = board.sacked_bytes();
        self.sacked_total = self.sacked_below;
    }

    /// Takes an ACK. The cursor stays, or moves to the first outstanding segment if the cumulative ACK went past it.
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

    /// Moves past the segment on which it stands, sacked or not.
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

    /// Returns the segment on which it stands; the end of what is outstanding if there is none.
    pub(super) const fn id(&self) -> SegmentId {
        self.id
    }

    /// Returns the segment on which it stands, if that is a hole that begins before `limit`.
    pub(super) fn hole<'a>(&self, board: &'a Scoreboard, limit: u64) -> Option<&'a Segment> {
        board
            .get(self.id)
            .filter(|s| s.reported == Reported::Missing && s.start < limit)
    }

    /// Returns the offset at which it stands.
    pub(super) fn offset(&self, board: &Scoreboard) -> u64 {
        if self.id == board.first() {
            // It stands there as long as nothing is lost, and this is cheaper.
            return board.una();
        }
        board.get(self.id).map_or(board.nxt(), |s| s.start)
    }

    /// Returns the number of sacked bytes at and above it.
    pub(super) fn sacked_above(&self, board: &Scoreboard) -> u64 {
        board.sacked_bytes() - self.sacked_below
    }

    /// Returns the number of bytes below it that are outstanding and not sacked.
    pub(super) fn missing_below(&self, board: &Scoreboard) -> u64 {
        self.offset(board) - board.una() - self.sacked_below
    }

    /// Returns the number of bytes at and above it that are outstanding and not sacked.
    pub(super) fn missing_above(&self, board: &Scoreboard) -> u64 {
        board.nxt() - self.offset(board) - self.sacked_above(board)
    }
}
