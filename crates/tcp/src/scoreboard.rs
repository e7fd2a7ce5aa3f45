//! Scoreboard: the sender's record of every outstanding segment.
//!
//! A ring of segments in sequence order, from the first byte not cumulatively acknowledged to the last byte sent. It
//! records the time, number and order of the transmissions of each segment, and the receiver's reports. It does not
//! record which segments are *lost*: the recovery decides that.
//!
//! Every operation takes amortised O(1) time per segment, regardless of the window (finding a segment by its offset
//! takes O(log n) if segments differ in size). SACK blocks repeat the reports of earlier ACKs. A union-find over runs
//! of sacked segments skips the known parts, so the time to process a block depends on the number of new segments in
//! it, not on its length.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::time::Instant;

/// Identifies a segment for the lifetime of its connection. Segments are numbered from 0 in the order of their first
/// transmission. When segments are cut into smaller ones, all outstanding segments get new, higher numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u64);

impl SegmentId {
    /// Returns the id of the next segment in the stream.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The receiver's report of a segment above the cumulative ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Not reported.
    Missing,
    /// Covered by a SACK block.
    Sacked,
}

/// State of an outstanding segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Stream offset of the first byte.
    pub start: u64,
    /// Length in bytes.
    pub len: u32,
    /// Number of transmissions.
    pub transmissions: u32,
    /// Time of the last transmission.
    pub sent_at: Instant,
    /// Number of the segment's last transmission in the order of all transmissions, from 1.
    pub order: u64,
    /// The receiver's report.
    pub reported: Reported,
    /// Number of consecutive segments, from this one on, that are known to be sacked. In the union-find, it is the
    /// distance to the parent.
    skip: u32,
}

impl Segment {
    /// Stream offset after the last byte.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.start + self.len as u64
    }
}

/// Kind of the receiver's report of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveredBy {
    /// The cumulative acknowledgment covers the segment.
    Cumulative,
    /// A SACK block covers the segment.
    Sack,
}

/// Segment that an ACK reports as received for the first time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Delivered {
    /// Id of the segment.
    pub id: SegmentId,
    /// State before the ACK.
    pub segment: Segment,
    /// Kind of the report.
    pub by: DeliveredBy,
}

/// Changes made by an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Bytes by which the cumulative acknowledgment advanced.
    pub acked_bytes: u64,
    /// Bytes reported for the first time, cumulatively or by SACK.
    pub delivered_bytes: u64,
    /// Bytes reported for the first time by SACK.
    pub sacked_bytes: u64,
}

/// Ring of outstanding segments.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    segments: VecDeque<Segment>,
    /// Id of the segment at the front of the ring.
    first: u64,
    una: u64,
    nxt: u64,
    forward_ack: u64,
    sacked_bytes: u64,
    sacked_segments: u64,
    /// Usual segment length in bytes, for the first guess when a segment is looked up by offset.
    stride: u64,
}

impl Scoreboard {
    /// Returns an empty scoreboard. Most segments are expected to have `smss` bytes.
    #[must_use]
    pub fn new(smss: u32) -> Self {
        Self {
            stride: u64::from(smss.max(1)),
            ..Self::default()
        }
    }

    /// SND.UNA: offset of the first byte that is not cumulatively acknowledged.
    #[must_use]
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// SND.NXT: offset after the last byte sent.
    #[must_use]
    pub const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// FlightSize (RFC 5681 §2): bytes sent and not cumulatively acknowledged.
    #[must_use]
    pub const fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }

    /// Forward ACK: offset after the highest byte known to have arrived (FACK §2).
    #[must_use]
    pub const fn forward_ack(&self) -> u64 {
        self.forward_ack
    }

    /// Number of outstanding bytes that are sacked.
    #[must_use]
    pub const fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Number of outstanding segments that are sacked.
    #[must_use]
    pub const fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Id of the first outstanding segment, or [`Self::end`] if nothing is outstanding.
    #[must_use]
    pub const fn first(&self) -> SegmentId {
        SegmentId(self.first)
    }

    /// Id of the next new segment.
    #[must_use]
    pub fn end(&self) -> SegmentId {
        SegmentId(self.first + self.segments.len() as u64)
    }

    /// Number of outstanding segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Returns `true` if nothing is outstanding.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the segment `id`, if it is outstanding.
    #[must_use]
    pub fn get(&self, id: SegmentId) -> Option<&Segment> {
        let index = id.0.checked_sub(self.first)?;
        self.segments.get(usize::try_from(index).ok()?)
    }

    /// Returns the outstanding segments from `id` on, in sequence order.
    pub fn iter_from(&self, id: SegmentId) -> impl Iterator<Item = (SegmentId, &Segment)> {
        let skip = id.0.saturating_sub(self.first);
        let skip = usize::try_from(skip)
            .unwrap_or(usize::MAX)
            .min(self.segments.len());
        self.segments
            .range(skip..)
            .zip(self.first + skip as u64..)
            .map(|(segment, number)| (SegmentId(number), segment))
    }

    /// Returns the first outstanding segment that starts at or after `offset`, or [`Self::end`].
    #[must_use]
    pub fn id_at(&self, offset: u64) -> SegmentId {
        let Some(front) = self.segments.front() else {
            return self.end();
        };
        if offset <= front.start {
            return self.first();
        }
        if offset >= self.nxt {
            return self.end();
        }
        // Usually, all segments except the last are `stride` bytes long.
        let guess = (offset - front.start) / self.stride;
        let hit = |index: usize| {
            let starts = self.segments.get(index).is_some_and(|s| s.start >= offset);
            let follows = index
                .checked_sub(1)
                .and_then(|before| self.segments.get(before))
                .is_none_or(|s| s.start < offset);
            starts && follows
        };
        for index in [guess as usize, guess as usize + 1] {
            if hit(index) {
                return SegmentId(self.first + index as u64);
            }
        }
        SegmentId(self.first + self.segments.partition_point(|s| s.start < offset) as u64)
    }

    /// Returns the number of consecutive missing segments from `offset` to the next sacked segment; 1 if no segment
    /// after `offset` is sacked. The method visits every segment of the hole, so call it only for loss events, which
    /// are rare.
    #[must_use]
    pub fn hole(&self, offset: u64) -> u32 {
        let missing = self
            .iter_from(self.id_at(offset))
            .take_while(|(_, s)| s.reported == Reported::Missing && s.end() <= self.forward_ack)
            .count();
        u32::try_from(missing).unwrap_or(u32::MAX).max(1)
    }

    /// Returns the first segment at or after `id` that is not sacked, or [`Self::end`]. Path compression in the
    /// union-find shortens later searches.
    fn find_missing(&mut self, mut id: u64) -> u64 {
        let first = self.first;
        let slot = |number: u64| (number - first) as usize;
        loop {
            let Some(segment) = self.segments.get(slot(id)) else {
                return id;
            };
            if segment.skip == 0 {
                return id;
            }
            let parent = id + u64::from(segment.skip);
            let further = self.segments.get(slot(parent)).map_or(0, |s| s.skip);
            let skip = segment.skip + further;
            self.segments[slot(id)].skip = skip;
            id += u64::from(skip);
        }
    }

    /// Records a new segment of `len` bytes at SND.NXT. Returns its id and state.
    #[inline]
    pub(crate) fn push(&mut self, len: u32, now: Instant, order: u64) -> (SegmentId, Segment) {
        let id = self.end();
        let segment = Segment {
            start: self.nxt,
            len,
            transmissions: 1,
            sent_at: now,
            order,
            reported: Reported::Missing,
            skip: 0,
        };
        self.segments.push_back(segment);
        self.nxt += u64::from(len);
        (id, segment)
    }

    /// Records a retransmission of segment `id`. Returns its state.
    pub(crate) fn resend(&mut self, id: SegmentId, now: Instant, order: u64) -> Segment {
        let index = (id.0 - self.first) as usize;
        let segment = &mut self.segments[index];
        segment.transmissions = segment.transmissions.saturating_add(1);
        segment.sent_at = now;
        segment.order = order;
        *segment
    }

    /// Sets the usual length of new segments.
    pub(crate) fn expect_segments_of(&mut self, smss: u32) {
        self.stride = u64::from(smss.max(1));
    }

    /// Returns `true` if a missing segment is longer than `most` bytes.
    pub(crate) fn has_missing_beyond(&self, most: u32) -> bool {
        let is_missing = |s: &&Segment| s.reported == Reported::Missing;
        let mut missing = self.segments.iter().filter(is_missing);
        missing.any(|segment| segment.len > most)
    }

    /// Cuts missing segments into pieces of at most `most` bytes. Each piece has the send time of the original segment.
    /// All outstanding segments get new ids, and the old ids become invalid. Sacked segments are not cut. The method
    /// visits every outstanding segment.
    pub(crate) fn cut(&mut self, most: u32) {
        let most = most.max(1);
        let first = self.end().0;
        let mut segments = VecDeque::with_capacity(self.segments.len());
        for segment in &self.segments {
            let whole = Segment {
                skip: u32::from(segment.reported == Reported::Sacked),
                ..*segment
            };
            let mut rest = whole;
            while rest.reported == Reported::Missing && rest.len > most {
                segments.push_back(Segment { len: most, ..rest });
                rest.start += u64::from(most);
                rest.len -= most;
            }
            segments.push_back(rest);
        }
        self.first = first;
        self.segments = segments;
    }

    /// Applies a cumulative acknowledgment and SACK blocks (as offset ranges). Appends every segment that is reported
    /// for the first time to `delivered`, cumulatively acknowledged segments first.
    ///
    /// The caller must reject an `ack` beyond SND.NXT.
    pub(crate) fn apply(
        &mut self,
        ack: u64,
        blocks: &[(u64, u64)],
        delivered: &mut Vec<Delivered>,
    ) -> Applied {
        let mut applied = Applied::default();
        if ack > self.una {
            applied.acked_bytes = ack - self.una;
            self.advance(ack, &mut applied, delivered);
        }
        for &(start, end) in blocks {
            self.sack(
                start.max(self.una),
                end.min(self.nxt),
                &mut applied,
                delivered,
            );
        }
        applied
    }

    fn advance(&mut self, ack: u64, applied: &mut Applied, delivered: &mut Vec<Delivered>) {
        while let Some(front) = self.segments.front() {
            if front.end() > ack {
                break;
            }
            let segment = *front;
            match segment.reported {
                Reported::Sacked => {
                    self.sacked_bytes -= u64::from(segment.len);
                    self.sacked_segments -= 1;
                }
                Reported::Missing => {
                    applied.delivered_bytes += u64::from(segment.len);
                    delivered.push(Delivered {
                        id: SegmentId(self.first),
                        segment,
                        by: DeliveredBy::Cumulative,
                    });
                }
            }
            self.segments.pop_front();
            self.first += 1;
        }
        self.trim(ack, applied);
        self.una = ack;
        self.forward_ack = self.forward_ack.max(ack);
    }

    /// Removes the acknowledged part of a partly acknowledged segment; the remaining bytes stay outstanding.
    fn trim(&mut self, ack: u64, applied: &mut Applied) {
        let Some(front) = self.segments.front_mut() else {
            return;
        };
        let cut = ack.saturating_sub(front.start);
        if cut == 0 {
            return;
        }
        front.start = ack;
        front.len -= cut as u32;
        match front.reported {
            Reported::Sacked => self.sacked_bytes -= cut,
            Reported::Missing => applied.delivered_bytes += cut,
        }
    }

    fn sack(&mut self, start: u64, end: u64, applied: &mut Applied, out: &mut Vec<Delivered>) {
        if start >= end || self.segments.is_empty() {
            return;
        }
        let mut id = self.id_at(start).0;
        loop {
            id = self.find_missing(id);
            let Some(segment) = self.segments.get_mut((id - self.first) as usize) else {
                return;
            };
            if segment.end() > end {
                return;
            }
            out.push(Delivered {
                id: SegmentId(id),
                segment: *segment,
                by: DeliveredBy::Sack,
            });
            segment.reported = Reported::Sacked;
            segment.skip = 1;
            let len = u64::from(segment.len);
            self.forward_ack = self.forward_ack.max(segment.end());
            self.sacked_bytes += len;
            self.sacked_segments += 1;
            applied.delivered_bytes += len;
            applied.sacked_bytes += len;
            id += 1;
        }
    }

    /// Checks every segment and every count. For tests only, because it visits every outstanding segment.
    ///
    /// # Panics
    ///
    /// Panics if an invariant does not hold.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn check(&self) {
        let (mut end, mut bytes, mut segments, mut forward_ack) = (self.una, 0, 0, self.una);
        for (index, segment) in self.segments.iter().enumerate() {
            assert_eq!(segment.start, end, "segments are contiguous");
            assert!(segment.len > 0 && segment.transmissions > 0 && segment.order > 0);
            end = segment.end();
            if segment.reported == Reported::Sacked {
                bytes += u64::from(segment.len);
                segments += 1;
                forward_ack = end;
            }
            let skipped = self.segments.range(index..).take(segment.skip as usize);
            let mut known = skipped.map(|s| s.reported);
            assert!(
                known.all(|r| r == Reported::Sacked),
                "only sacked segments are skipped"
            );
        }
        assert_eq!(end, self.nxt);
        assert_eq!((bytes, segments), (self.sacked_bytes, self.sacked_segments));
        assert_eq!(forward_ack, self.forward_ack);
    }

    /// Discards all SACK information, because the receiver has shown that it discarded sacked data (RFC 2018 §8).
    pub(crate) fn forget_sacks(&mut self) {
        for segment in &mut self.segments {
            segment.reported = Reported::Missing;
            segment.skip = 0;
        }
        self.sacked_bytes = 0;
        self.sacked_segments = 0;
        self.forward_ack = self.una;
    }
}

#[cfg(test)]
mod tests;
