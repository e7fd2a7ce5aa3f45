//! What became of each segment between two captures.

use dupack_tcp::time::Duration;

use super::clock::Times;
use super::matching::{self, Fields};
use super::pieces::{Piece, Pieces};
use super::ranges::{Offsets, Ranges};
use super::{Delays, Way};
use crate::analyse::cause::Need;
use crate::read::side::{Both, Side};

/// A segment of the far capture that the near one lacks counts from this long before the first that both have to as long after
/// the last, in nanoseconds (ours): what lies beyond is another connection of the same ports.
const MARGIN: i64 = 1_000_000_000;

/// What became of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is in the far capture, at this place.
    Arrived(u32),
    /// It is not, and was not acknowledged.
    Lost,
    /// It is not, and was acknowledged.
    Missing,
    /// Nothing tells.
    Undecided,
}

/// A retransmission, as both captures tell of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// Its packet in the capture near the sender.
    pub(super) packet: u32,
    pub(super) need: Need,
    pub(super) is_lost: bool,
}

/// The packets of one end, and its retransmissions one by one.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) way: Way,
    pub(super) again: Vec<Again>,
}

/// Two captures of a connection.
pub(super) struct Join<'a> {
    pub(super) pieces: &'a Both<Pieces>,
    pub(super) fields: [Fields; 2],
    pub(super) times: &'a Times,
    /// When the captures began and were over: here and there.
    pub(super) windows: [(i64, i64); 2],
}

/// One direction of it, from the capture near the sender to the far one.
struct Direction<'a> {
    side: Side,
    sent: &'a [Piece],
    arrived: &'a [Piece],
    /// What the receiver sent, as the far capture has it.
    acks: &'a [Piece],
    near_window: (i64, i64),
    far_window: (i64, i64),
    times: &'a Times,
}

impl Join<'_> {
    /// What became of the segments of `side`.
    pub(super) fn way(&self, side: Side) -> Told {
        let (own, other) = (self.pieces.of(side), self.pieces.of(side.other()));
        let [here, there] = self.windows;
        let is_near = side == self.times.near;
        let direction = match is_near {
            true => Direction {
                side,
                sent: &own.here,
                arrived: &own.there,
                acks: &other.there,
                near_window: here,
                far_window: there,
                times: self.times,
            },
            false => Direction {
                side,
                sent: &own.there,
                arrived: &own.here,
                acks: &other.here,
                near_window: there,
                far_window: here,
                times: self.times,
            },
        };
        let fields = match side {
            Side::Opener => self.fields[0],
            Side::Answerer => self.fields[1],
        };
        direction.told(fields)
    }
}

impl Direction<'_> {
    fn told(&self, fields: Fields) -> Told {
        let can = |sent: &Piece, arrived: &Piece| {
            self.times.allows(self.times.delay(self.side, sent, arrived))
        };
        let places = matching::all(self.sent, self.arrived, fields, can);
        let mut told = Told::default();
        let lacks = self.extra(&places, &mut told.way);
        let mut fates = self.first_fates(&places);
        self.find_missing(&mut fates);
        let lacks = lacks || fates.contains(&Fate::Missing);
        self.count(&fates, lacks, &mut told);
        told.way.reordered = reordered(&places);
        told.way.delays = self.delays(&places);
        told
    }

    /// Arrivals of nothing that was sent. Returns `true` if the far capture shows more than the near one.
    fn extra(&self, places: &[Option<u32>], way: &mut Way) -> bool {
        let mut used = vec![false; self.arrived.len()];
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for &place in places.iter().flatten() {
            if let Some(used) = used.get_mut(place as usize) {
                *used = true;
            }
            let at = self.arrived.get(place as usize).map_or(0, |piece| piece.at);
            (first, last) = (first.min(at), last.max(at));
        }
        let mut known: Vec<(u32, u32)> = self.sent.iter().map(|one| (one.seq, one.len)).collect();
        known.sort_unstable();
        for (piece, used) in self.arrived.iter().zip(used) {
            let around = first.saturating_sub(MARGIN)..=last.saturating_add(MARGIN);
            if used || !around.contains(&piece.at) {
                continue;
            }
            if known.binary_search(&(piece.seq, piece.len)).is_ok() {
                way.duplicated += 1;
            } else if self.was_near_open(piece) {
                way.missing_near += 1;
            }
        }
        way.missing_near > 0
    }

    /// Whether the near capture was under way when a segment left that arrived.
    fn was_near_open(&self, arrived: &Piece) -> bool {
        let (first, last) = self.near_window;
        let left = |at| {
            let arrival = self.times.arrival(self.side, at);
            arrived.at.saturating_sub(arrival)
        };
        left(first) >= 0 && left(last) <= 0
    }

    /// What the far capture tells: it has a segment or not.
    fn first_fates(&self, places: &[Option<u32>]) -> Vec<Fate> {
        let (first, last) = self.far_window;
        let fate = |(sent, place): (&Piece, &Option<u32>)| match place {
            Some(place) => Fate::Arrived(*place),
            None => {
                let due = self.times.arrival(self.side, sent.at);
                match (first..=last).contains(&due) {
                    true => Fate::Lost,
                    false => Fate::Undecided,
                }
            }
        };
        self.sent.iter().zip(places).map(fate).collect()
    }

    /// Segments that are not in the far capture, and are acknowledged there.
    fn find_missing(&self, fates: &mut [Fate]) {
        let Some(first) = self.sent.first().map(|piece| piece.seq) else {
            return;
        };
        let unseen = self.acknowledged_unseen(first);
        if unseen.is_empty() {
            return;
        }
        // Segments that were not seen, by their first byte.
        let mut offsets = Offsets::new(first);
        let mut open: Vec<(u64, u64, usize)> = Vec::new();
        for (n, (piece, fate)) in self.sent.iter().zip(&*fates).enumerate() {
            let start = offsets.of(piece.seq);
            if piece.is_data() && matches!(fate, Fate::Lost | Fate::Undecided) {
                open.push((start, start + u64::from(piece.span()), n));
            }
        }
        open.sort_unstable();
        for (start, end, at) in unseen {
            let from = open.partition_point(|one| one.0 < start);
            let inside = open.iter().skip(from).take_while(|one| one.0 < end);
            let mut latest: Vec<(u64, usize)> = Vec::new();
            for &(start, until, n) in inside.filter(|one| one.1 <= end) {
                let sent = self.sent.get(n).map_or(i64::MAX, |piece| piece.at);
                if until > end || self.times.arrival(self.side, sent) > at.saturating_add(1_000_000) {
                    continue;
                }
                match latest.last_mut() {
                    Some(last) if last.0 == start => last.1 = last.1.max(n),
                    _ => latest.push((start, n)),
                }
            }
            for (_, n) in latest {
                if let Some(fate) = fates.get_mut(n) {
                    *fate = Fate::Missing;
                }
            }
        }
    }

    /// Bytes that the far capture shows acknowledged and did not show before, with the time of the ACK.
    fn acknowledged_unseen(&self, first: u32) -> Vec<(u64, u64, i64)> {
        let (mut data, mut acks) = (Offsets::new(first), Offsets::new(first));
        let mut seen = Ranges::default();
        let mut unseen = Vec::new();
        let mut arrived = self.arrived.iter().peekable();
        let mut acked: Option<u64> = None;
        let (start, _) = self.near_window;
        for ack in self.acks.iter().filter(|ack| ack.is_ack()) {
            while let Some(piece) = arrived.next_if(|piece| piece.at <= ack.at) {
                if piece.is_data() {
                    let from = data.of(piece.seq);
                    seen.add(from, from + u64::from(piece.span()));
                }
            }
            let upto = acks.of(ack.ack);
            let mut said = Vec::new();
            match acked {
                Some(before) if upto > before => said.push((before, upto)),
                // The first ACK tells nothing of what was before it.
                None => seen.add(0, upto),
                Some(_) => {}
            }
            acked = acked.max(Some(upto));
            let [left, right] = ack.sack;
            let (left, right) = (acks.of(left), acks.of(right));
            // A block below the ACK is a DSACK (RFC 2883).
            if ack.sack != [0; 2] && left >= upto && right > left && right - left < 1 << 31 {
                said.push((left, right));
            }
            for (from, to) in said {
                let gaps = seen.gaps(from, to);
                unseen.extend(gaps.iter().map(|&(from, to)| (from, to, ack.at)));
                seen.add(from, to);
            }
        }
        if start == i64::MAX { Vec::new() } else { unseen }
    }

    /// Counts segments by fate, and retransmissions by need. `lacks` says that a capture was seen to miss packets.
    fn count(&self, fates: &[Fate], lacks: bool, told: &mut Told) {
        let Some(first) = self.sent.first().map(|piece| piece.seq) else {
            return;
        };
        let mut offsets = Offsets::new(first);
        let (mut came, mut maybe) = (Ranges::default(), Ranges::default());
        let mut highest = 0;
        for (piece, &fate) in self.sent.iter().zip(fates) {
            told.way.sent += 1;
            let start = offsets.of(piece.seq);
            let (end, text) = (
                start + u64::from(piece.span()),
                start + u64::from(piece.len),
            );
            let is_data = piece.is_data();
            // A probe has a byte that was acknowledged, or none.
            let is_again = is_data && piece.len > 1 && start < highest;
            let mut fate = fate;
            if fate == Fate::Lost && lacks && (!is_data || came.has(start, end)) {
                fate = Fate::Undecided;
            }
            let way = &mut told.way;
            way.segments += u64::from(is_data && piece.len > 0);
            match fate {
                Fate::Arrived(_) => way.arrived += 1,
                Fate::Lost if is_data => {
                    way.lost_data += 1;
                    way.lost_again += u64::from(is_again);
                }
                Fate::Lost => way.lost_acks += 1,
                Fate::Missing => way.missing_far += 1,
                Fate::Undecided => way.undecided += 1,
            }
            if is_again {
                way.retransmissions += 1;
                let need = if came.has(start, text) {
                    way.needless += 1;
                    Need::NeedlessByArrival
                } else if maybe.has(start, text) {
                    way.need_unknown += 1;
                    Need::Unknown
                } else {
                    Need::Needed
                };
                told.again.push(Again {
                    packet: piece.packet,
                    need,
                    is_lost: fate == Fate::Lost,
                });
            }
            match fate {
                _ if !is_data => {}
                Fate::Arrived(_) | Fate::Missing => {
                    came.add(start, end);
                    maybe.add(start, end);
                }
                Fate::Undecided => maybe.add(start, end),
                Fate::Lost => {}
            }
            highest = highest.max(if is_data { text } else { 0 });
        }
    }

    /// One-way delays of what arrived.
    fn delays(&self, places: &[Option<u32>]) -> Option<Delays> {
        if !self.times.has_delays() {
            return None;
        }
        let delays = self.sent.iter().zip(places).filter_map(|(sent, place)| {
            let arrived = self.arrived.get(((*place)?) as usize)?;
            let delay = self.times.delay(self.side, sent, arrived);
            Some(Duration::from_nanos(u64::try_from(delay).unwrap_or(0)))
        });
        let mut delays: Vec<Duration> = delays.collect();
        delays.sort_unstable();
        let at = |percent: usize| {
            let rank = (delays.len() * percent).div_ceil(100);
            delays.get(rank.saturating_sub(1)).copied()
        };
        Some(Delays {
            least: delays.first().copied()?,
            p50: at(50)?,
            p95: at(95)?,
            max: at(100)?,
        })
    }
}

/// Segments that arrived after others that were sent later.
fn reordered(places: &[Option<u32>]) -> u64 {
    let mut earliest = u32::MAX;
    let mut reordered = 0;
    // From the last that was sent on: one is late if a later one arrived before it.
    for &place in places.iter().flatten().rev() {
        reordered += u64::from(place > earliest);
        earliest = earliest.min(place);
    }
    reordered
}
