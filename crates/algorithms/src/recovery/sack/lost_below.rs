//! `IsLost` of RFC 6675 §4, computed incrementally.
//!
//! A segment is lost once `DupThresh` separate runs of sacked segments, or more than `(DupThresh − 1) · SMSS` sacked
//! bytes, lie above it. For a higher segment, both counts can only be smaller. The lost segments are therefore exactly
//! the unsacked ones below one boundary. Both counts can only increase as SACKs arrive, so the boundary only moves up.

use alloc::collections::VecDeque;

use dupack_tcp::facts::AckFacts;
use dupack_tcp::scoreboard::{DeliveredBy, Reported, Scoreboard, SegmentId};

use super::super::hole_cursor::HoleCursor;

/// Boundary below which all segments that are not sacked are lost.
///
/// Amortised O(1): a segment is marked once when it is sacked, and the boundary passes it once.
#[derive(Debug)]
pub(super) struct LostBelow {
    /// Cursor at the first unsacked segment that is not lost.
    boundary: HoleCursor,
    /// One entry per segment from the boundary up to the last sacked one, `true` if the segment is sacked. The
    /// scoreboard shows only the state after a whole ACK, but runs must be joined one segment at a time.
    sacked: VecDeque<bool>,
    /// Number of runs of `true` in `sacked`.
    runs: u64,
    /// `DupThresh`.
    dup_threshold: u64,
    /// `(DupThresh − 1) · SMSS`.
    byte_threshold: u64,
    /// `true` if the last ACK has shown that a segment is lost.
    found: bool,
}

impl LostBelow {
    pub(super) fn new(dup_threshold: u32, smss: u32) -> Self {
        Self {
            boundary: HoleCursor::default(),
            sacked: VecDeque::new(),
            runs: 0,
            dup_threshold: u64::from(dup_threshold),
            byte_threshold: u64::from(dup_threshold.saturating_sub(1)) * u64::from(smss),
            found: false,
        }
    }

    /// Changes the size of a full segment to `smss` bytes.
    pub(super) fn resize(&mut self, dup_threshold: u32, smss: u32) {
        self.byte_threshold = u64::from(dup_threshold.saturating_sub(1)) * u64::from(smss);
    }

    /// Changes `DupThresh` from the next ACK on.
    pub(super) fn set_threshold(&mut self, dup_threshold: u32, smss: u32) {
        self.dup_threshold = u64::from(dup_threshold);
        self.resize(dup_threshold, smss);
    }

    /// Processes an ACK.
    pub(super) fn on_ack(&mut self, ack: &AckFacts<'_>, board: &Scoreboard) {
        self.found = false;
        let before = self.boundary.id();
        self.boundary.on_ack(ack, board);
        if self.sacked.is_empty() && ack.sacked_bytes == 0 {
            // Nothing from the boundary on is sacked, so nothing is lost, and no entries have to be removed.
            return;
        }
        for _ in before.0..self.boundary.id().0 {
            self.forget_front();
        }
        for delivered in ack.delivered {
            if delivered.by == DeliveredBy::Sack && delivered.id >= self.boundary.id() {
                self.mark((delivered.id.0 - self.boundary.id().0) as usize);
            }
        }
        self.rise(board);
    }

    /// Considers everything outstanding lost (RFC 6675 §5.1).
    pub(super) fn lose_everything(&mut self, board: &Scoreboard) {
        self.boundary.leap_to_end(board);
        self.sacked.clear();
        self.runs = 0;
    }

    /// Computes the boundary again for everything outstanding, from the current SACKs.
    pub(super) fn start_over(&mut self, board: &Scoreboard) {
        self.boundary.rewind(board);
        self.sacked.clear();
        self.runs = 0;
        let mut before = false;
        for (_, segment) in board.iter_from(self.boundary.id()) {
            if segment.start >= board.forward_ack() {
                break;
            }
            let sacked = segment.reported == Reported::Sacked;
            self.runs += u64::from(sacked && !before);
            self.sacked.push_back(sacked);
            before = sacked;
        }
        self.rise(board);
    }

    /// Returns `true` if the segment `id`, which must not be sacked, is lost.
    pub(super) fn contains(&self, id: SegmentId) -> bool {
        id < self.boundary.id()
    }

    /// Returns `true` if the last ACK has shown that a segment is lost.
    pub(super) const fn found(&self) -> bool {
        self.found
    }

    /// Returns the bytes that are neither sacked nor lost (`SetPipe`, rule a).
    pub(super) fn not_lost_bytes(&self, board: &Scoreboard) -> u64 {
        self.boundary.missing_above(board)
    }

    fn mark(&mut self, index: usize) {
        if index >= self.sacked.len() {
            self.sacked.resize(index + 1, false);
        }
        self.sacked[index] = true;
        let is_sacked = |i: Option<usize>| i.and_then(|i| self.sacked.get(i)) == Some(&true);
        let left = is_sacked(index.checked_sub(1));
        let right = is_sacked(Some(index + 1));
        self.runs += 1;
        self.runs -= u64::from(left) + u64::from(right);
    }

    /// Moves the boundary up as far as the thresholds allow.
    fn rise(&mut self, board: &Scoreboard) {
        loop {
            while self.sacked.front() == Some(&true) {
                self.step(board);
            }
            let enough = self.runs >= self.dup_threshold
                || self.boundary.sacked_above(board) > self.byte_threshold;
            if !enough || board.get(self.boundary.id()).is_none() {
                return;
            }
            self.found = true;
            self.step(board);
        }
    }

    fn step(&mut self, board: &Scoreboard) {
        self.boundary.step(board);
        self.forget_front();
    }

    fn forget_front(&mut self) {
        let was_sacked = self.sacked.pop_front() == Some(true);
        if was_sacked && self.sacked.front() != Some(&true) {
            self.runs -= 1;
        }
    }
}
