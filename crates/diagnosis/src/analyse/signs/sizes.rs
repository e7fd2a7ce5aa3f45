//! Sizes of segments that never arrive while smaller segments do: an unannounced MTU (RFC 2923 §2.1).
//!
//! The sizes are those of captured packets. A segment that is retransmitted in smaller pieces is counted with the size
//! of the packet in which it arrived, which is the last one that carried it.

use std::collections::VecDeque;

use dupack_tcp::time::Instant;

use super::pieces::{Again, Arrived, Pieces};
use super::{BlackHole, Evidence};
use crate::read::moment::{Arrival, Departure};

/// Maximum number of segment sizes that are stored separately (our choice: a stream has segments of full size, of
/// another size after a change of the MTU, and the short ends of messages).
const SIZES_MAX: usize = 16;

/// Minimum number of transmissions of a size that never arrives, in total and of one segment (our choice: at 10 % loss,
/// the probability that a segment and three retransmissions are lost is 0.0001).
const SWALLOWED_MIN: u64 = 4;
const ATTEMPTS_MIN: u32 = 4;

/// Maximum number of retransmitted packets whose sizes are stored: the last ones (our choice: a black hole affects only
/// a few segments).
const REPEATS_MAX: usize = 64;

/// Transmissions and arrivals of the segments of one size.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    sent: u64,
    /// Maximum number of transmissions of one segment.
    attempts: u32,
    /// First byte of the segment that was sent last, and the number of its consecutive transmissions.
    last: Option<(u64, u32)>,
    /// Time of the last arrival of this size.
    arrived_at: Instant,
    /// Time of the first transmission of this size.
    sent_since: Option<Instant>,
}

/// Packet with data that had been sent before.
#[derive(Clone, Copy, Debug)]
struct Repeated {
    start: u64,
    end: u64,
}

/// Transmissions and arrivals of segments, for each size.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Announced size of a full segment in bytes. An interface with offload splits larger packets.
    full: u32,
    fates: Vec<(u32, Fate)>,
    /// Index of the size that was looked up last. Most segments are full ones.
    latest: usize,
    repeats: VecDeque<Repeated>,
    /// Maximum size of a segment that arrived.
    passes: Option<u32>,
    pieces: Pieces,
}

impl Sizes {
    pub(super) fn new(full: u32) -> Self {
        Self {
            full,
            fates: Vec::new(),
            latest: 0,
            repeats: VecDeque::new(),
            passes: None,
            pieces: Pieces::default(),
        }
    }

    pub(super) fn departed(&mut self, departure: &Departure<'_>) {
        let Ok(len) = u32::try_from(departure.end.saturating_sub(departure.start)) else {
            return;
        };
        let repeats = departure
            .sent
            .iter()
            .any(|sent| sent.segment.transmissions > 1);
        if repeats {
            if self.repeats.len() >= REPEATS_MAX {
                self.repeats.pop_front();
            }
            self.repeats.push_back(Repeated {
                start: departure.start,
                end: departure.end,
            });
        }
        // A packet that an interface will split gives no information about sizes.
        if len == 0 || (departure.sent.len() != 1 && len > self.full) {
            return;
        }
        let (start, at) = (departure.start, departure.at);
        let first = departure
            .sent
            .first()
            .map_or(0, |sent| sent.segment.transmissions);
        if first > 1 {
            self.pieces.again(Again {
                start,
                len,
                transmissions: first,
            });
        }
        if let Some(fate) = self.fate(len) {
            let before = fate.last.filter(|(known, _)| *known == start);
            let times = before.map_or(1, |(_, times)| times.saturating_add(1));
            fate.last = Some((start, times));
            fate.sent += 1;
            fate.attempts = fate.attempts.max(times);
            fate.sent_since.get_or_insert(at);
        }
    }

    pub(super) fn arrived(&mut self, arrival: &Arrival<'_>) {
        for delivered in arrival.facts.delivered {
            let segment = &delivered.segment;
            let within =
                |packet: &&Repeated| packet.start < segment.end() && segment.start < packet.end;
            let by = match segment.transmissions {
                0 | 1 => None,
                _ => self.repeats.iter().rev().find(within),
            };
            let len = by.map_or(u64::from(segment.len), |by| by.end - by.start);
            let len = u32::try_from(len).unwrap_or(u32::MAX);
            // The interface split the packet, so a segment of the announced size or less arrived.
            let len = if len > self.full { segment.len } else { len };
            self.passes = self.passes.max(Some(len));
            let start = by.map_or(segment.start, |by| by.start);
            self.pieces.arrived(Arrived { start, len });
            if let Some(fate) = self.fate(len) {
                fate.arrived_at = fate.arrived_at.max(arrival.at);
            }
        }
    }

    pub(super) fn black_hole(&self) -> Option<BlackHole> {
        self.never_arrives().or_else(|| self.pieces.black_hole())
    }

    fn never_arrives(&self) -> Option<BlackHole> {
        let passes = self.passes?;
        let failing = self.fates.iter().filter(|(size, _)| *size > passes);
        let fails = failing.clone().map(|(size, _)| *size).min();
        let (mut transmissions, mut attempts, mut since) = (0, 0, None);
        for (_, fate) in failing {
            transmissions += fate.sent;
            attempts = attempts.max(fate.attempts);
            since = match (since, fate.sent_since) {
                (Some(one), Some(other)) => Some(core::cmp::min::<Instant>(one, other)),
                (one, other) => one.or(other),
            };
        }
        // Another segment arrived after the first segment of these sizes was sent, so the path was not down.
        let latest = self.fates.iter().map(|(_, fate)| fate.arrived_at).max()?;
        let path_was_there = since.is_some_and(|since| latest > since);
        let enough = transmissions >= SWALLOWED_MIN && attempts >= ATTEMPTS_MIN;
        (enough && path_was_there).then_some(BlackHole {
            passes,
            fails: fails?,
            transmissions,
            evidence: Evidence::NeverArrives,
        })
    }

    fn fate(&mut self, size: u32) -> Option<&mut Fate> {
        let is_known = |(known, _): &(u32, Fate)| *known == size;
        if !self.fates.get(self.latest).is_some_and(is_known) {
            self.latest = match self.fates.iter().position(is_known) {
                Some(place) => place,
                None if self.fates.len() >= SIZES_MAX => return None,
                None => {
                    self.fates.push((size, Fate::default()));
                    self.fates.len() - 1
                }
            };
        }
        self.fates.get_mut(self.latest).map(|(_, fate)| fate)
    }
}
