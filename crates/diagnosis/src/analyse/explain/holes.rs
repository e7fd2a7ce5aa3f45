//! Skipped bytes: later data that fills them was either reordered or retransmitted.
//!
//! This distinction matters if the capture was taken after the place of the losses on the path. Three kinds of evidence
//! decide:
//!
//! - **The timestamp**: an overtaken packet was sent before the packet that overtook it, so its TSval is older.
//! - **IPv4's identification**, if the sender increments it: an overtaken packet has a lower one.
//! - **Time**: a sender retransmits no data before the receiver can have reported the hole. This also applies to a
//!   capture at the sender that records packets in another order than that in which they were sent.

use std::collections::VecDeque;

use dupack_tcp::time::{Duration, Instant};

use super::ledger::{Mark, Origin, is_before};
use crate::read::moment::Departure;

/// Maximum number of holes that are stored: the latest ones (our choice: far more than a window has in practice).
const HOLES_MAX: usize = 512;

/// Fraction of the round-trip time. A segment captured within this time after the hole appeared was sent before the
/// sender can have reacted to the hole.
const BEFORE_ANY_ANSWER: (u64, u64) = (9, 10);

/// Minimum number of identifications in sequence for their order to count as evidence (our choice).
const IDS_TO_TRUST: u32 = 8;

/// Maximum difference between the identifications of consecutive packets, including losses and reordering between them
/// (our choice).
const NEAR: u16 = 256;

/// Inverse of the maximum fraction of larger differences. Random identifications have a smaller difference in only one
/// of a hundred cases.
const FAR_ONE_OF: u32 = 10;

/// Minimum time until a retransmission if no ACK was captured. It is slightly shorter than Linux's minimum timeout.
const SOON: Duration = Duration::from_millis(190);

/// Missing bytes, and facts about the packet that overtook them.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: u64,
    end: u64,
    overtaken_at: Instant,
    stamp: Option<u32>,
    ip_id: Option<u16>,
}

/// Kind of a segment that filled a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    Overtaken,
    SentAgain,
}

/// Holes of one stream, in the order of their bytes.
#[derive(Debug, Default)]
pub(super) struct Holes {
    holes: VecDeque<Hole>,
    /// Round-trip time from the capture point to the sender; `None` before the first ACK.
    to_sender: Option<Duration>,
    ids: Ids,
}

/// Evidence that the sender increments identifications.
#[derive(Debug, Default)]
struct Ids {
    last: Option<u16>,
    near: u32,
    far: u32,
}

impl Ids {
    fn see(&mut self, id: Option<u16>) {
        if let (Some(last), Some(id)) = (self.last, id) {
            let step = id.wrapping_sub(last) as i16;
            // All packets may have the identification zero (RFC 6864 §4.1).
            if step != 0 && step.unsigned_abs() <= NEAR {
                self.near = self.near.saturating_add(1);
            } else {
                self.far = self.far.saturating_add(1);
            }
        }
        self.last = id;
    }

    fn can_be_trusted(&self) -> bool {
        self.near >= IDS_TO_TRUST && self.far <= self.near / FAR_ONE_OF
    }
}

impl Holes {
    /// Records a departure of new data. A hole is added if bytes before it are missing.
    pub fn departed(&mut self, departure: &Departure<'_>) {
        self.ids.see(departure.ip_id);
        if departure.unseen_bytes == 0 {
            return;
        }
        if self.holes.len() >= HOLES_MAX {
            self.holes.pop_front();
        }
        self.holes.push_back(Hole {
            start: departure.start.saturating_sub(departure.unseen_bytes),
            end: departure.start,
            overtaken_at: departure.at,
            stamp: departure.timestamps.map(|stamps| stamps.value),
            ip_id: departure.ip_id,
        });
    }

    /// Records an ACK that reached the sender `under_way` after it was captured.
    pub fn arrived(&mut self, under_way: Duration, una: u64) {
        self.to_sender = Some(under_way);
        while self.holes.front().is_some_and(|hole| hole.end <= una) {
            self.holes.pop_front();
        }
    }

    /// Determines the kind of a segment that fills a hole at least partly, and removes the filled part from the hole.
    pub fn fill(&mut self, departure: &Departure<'_>) -> Option<Filling> {
        let at = self
            .holes
            .partition_point(|hole| hole.end <= departure.start);
        let hole = *self.holes.get(at)?;
        if departure.end <= hole.start {
            return None;
        }
        self.carve(at, &hole, departure);
        Some(self.judge(&hole, departure))
    }

    fn carve(&mut self, at: usize, hole: &Hole, departure: &Departure<'_>) {
        let left = (hole.start < departure.start).then_some(Hole {
            end: departure.start,
            ..*hole
        });
        let right = (departure.end < hole.end).then_some(Hole {
            start: departure.end,
            ..*hole
        });
        self.holes.remove(at);
        for rest in [right, left].into_iter().flatten() {
            self.holes.insert(at, rest);
        }
    }

    fn judge(&self, hole: &Hole, departure: &Departure<'_>) -> Filling {
        self.is_older(departure, hole.stamp, hole.ip_id)
            .unwrap_or_else(|| self.by_time(departure, hole.overtaken_at))
    }

    /// Determines by timestamp and identification whether a packet was sent before another one; `None` if they do not
    /// show it.
    fn is_older(
        &self,
        departure: &Departure<'_>,
        stamp: Option<u32>,
        ip_id: Option<u16>,
    ) -> Option<Filling> {
        let filling = |older: bool| {
            if older {
                Filling::Overtaken
            } else {
                Filling::SentAgain
            }
        };
        let own = departure.timestamps.map(|stamps| stamps.value);
        if let (Some(own), Some(other)) = (own, stamp)
            && own != other
        {
            return Some(filling(is_before(own, other)));
        }
        let trusted = self.ids.can_be_trusted();
        let (own, other) = (departure.ip_id?, ip_id?);
        trusted.then(|| filling((other.wrapping_sub(own) as i16) > 0))
    }

    fn by_time(&self, departure: &Departure<'_>, since: Instant) -> Filling {
        let (part, whole) = BEFORE_ANY_ANSWER;
        let round_trip = self.to_sender.max(departure.view.rtt.min());
        let round_trip = round_trip.filter(|time| !time.is_zero());
        let answered = round_trip.map(|time| time.saturating_mul(part) / whole);
        if departure.at.since(since) < answered.unwrap_or(SOON) {
            Filling::Overtaken
        } else {
            Filling::SentAgain
        }
    }

    /// `true` if a packet is the first transmission of skipped data and arrived after the retransmission of this data.
    pub fn is_overtaken_by_repair(
        &self,
        departure: &Departure<'_>,
        repaired_at: Instant,
        repair: &Mark,
    ) -> bool {
        repair.origin == Origin::PassedOver
            && self
                .is_older(departure, repair.stamp, repair.ip_id)
                .unwrap_or_else(|| self.by_time(departure, repaired_at))
                == Filling::Overtaken
    }
}
