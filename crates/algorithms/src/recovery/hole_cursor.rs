//! A place in the scoreboard that only moves forward, and what lies below it.
//!
//! SACK's `HighRxt`, FACK's `retran_data` and Momentary's `retransmit` are all one of these: the
//! cursor stands on the next hole to resend, so that what is missing below it is what has been
//! resent and not yet reported.

use dupack_tcp::facts::AckFacts;
use dupack_tcp::scoreboard::{DeliveredBy, Reported, Scoreboard, Segment, SegmentId};

/// A cursor over outstanding segments that knows how many bytes below it are sacked.
///
/// It is amortised O(1): it passes each segment once between two `rewind`s, and
/// those come once per loss event. What is sacked below it is kept by difference, as the
/// scoreboard does not report sacked segments again when they are cumulatively acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HoleCursor {
    id: SegmentId,
    /// Sacked bytes of outstanding segments below the cursor.
    sacked_below: u64,
    /// Sacked bytes of the whole scoreboard after the last event.
    sacked_total: u64,
}

impl HoleCursor {
    /// Back to the first outstanding segment that is not sacked.
    pub(super) fn rewind(&mut self, board: &Scoreboard) {
        self.id = board.first();
        self.sacked_below = 0;
        self.sacked_total = board.sacked_bytes();
        self.skip_sacked(board);
    }

    /// Back to the first hole, which is returned, if it begins before `limit`. Otherwise the
    /// cursor stays: what was resent before is not resent for an ACK that points at nothing.
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

    /// To where the next new segment will be.
    pub(super) fn leap_to_end(&mut self, board: &Scoreboard) {
        self.id = board.end();
        self.sacked_below = board.sacked_bytes();
        self.sacked_total = self.sacked_below;
    }

    /// Takes in an ACK. The cursor stays where it is, or goes to the first outstanding segment
    /// if the cumulative ACK went past it.
    pub(super) fn on_ack(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) {
        // Sacked bytes that the cumulative ACK has moved over.
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

    /// Past the segment on which it stands, sacked or not.
    pub(super) fn step(&mut self, board: &Scoreboard) {
        if let Some(segment) = board.get(self.id) {
            if segment.reported == Reported::Sacked {
                self.sacked_below += u64::from(segment.len);
            }
            self.id = self.id.next();
        }
    }

    /// Past sacked segments, up to the next hole.
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

    /// Past everything up to and including `id`, and on to the next hole.
    pub(super) fn pass(&mut self, id: SegmentId, board: &Scoreboard) {
        while self.id <= id && self.id < board.end() {
            self.step(board);
        }
        self.skip_sacked(board);
    }

    /// The segment on which it stands; the end of what is outstanding if there is none.
    pub(super) const fn id(&self) -> SegmentId {
        self.id
    }

    /// The segment on which it stands, if that is a hole that begins before `limit`.
    pub(super) fn hole<'a>(&self, board: &'a Scoreboard, limit: u64) -> Option<&'a Segment> {
        board
            .get(self.id)
            .filter(|s| s.reported == Reported::Missing && s.start < limit)
    }

    /// Offset at which it stands.
    pub(super) fn offset(&self, board: &Scoreboard) -> u64 {
        if self.id == board.first() {
            // Where it stands as long as nothing is lost, and cheaper to know.
            return board.una();
        }
        board.get(self.id).map_or(board.nxt(), |s| s.start)
    }

    /// Sacked bytes at and above it.
    pub(super) fn sacked_above(&self, board: &Scoreboard) -> u64 {
        board.sacked_bytes() - self.sacked_below
    }

    /// Bytes below it that are outstanding and not sacked.
    pub(super) fn missing_below(&self, board: &Scoreboard) -> u64 {
        self.offset(board) - board.una() - self.sacked_below
    }

    /// Bytes at and above it that are outstanding and not sacked.
    pub(super) fn missing_above(&self, board: &Scoreboard) -> u64 {
        board.nxt() - self.offset(board) - self.sacked_above(board)
    }
}
