//! Fate of each segment between two captures.

use dupack_tcp::time::Duration;

use super::clock::Times;
use super::matching::{self, Fields, Key};
use super::pieces::{Piece, Pieces};
use super::ranges::{Offsets, Ranges};
use super::{Delays, LOST_MAX, Lost, Way};
use crate::analyse::cause::Need;
use crate::read::side::{Both, Side};

/// Maximum time in nanoseconds from the common packets to a segment that only the far capture contains (our choice).
/// Segments more than this time before the first or after the last common packet belong to another connection with the
/// same ports.
const MARGIN: i64 = 1_000_000_000;

/// Inverse of the maximum fraction of losses whose bytes arrived in other packets. If there are more of them, such
/// losses are doubtful (our choice).
const DOUBTFUL_OF: usize = 50;

/// Fate of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The far capture contains the segment at this index.
    Arrived(u32),
    /// The segment is missing from the far capture and was not acknowledged there.
    Lost,
    /// The segment is missing from the far capture but was acknowledged there.
    Missing,
    /// There is no evidence of the fate.
    Undecided,
}

/// Retransmission, as shown by both captures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// Packet number in the capture near the sender.
    pub(super) packet: u32,
    pub(super) need: Need,
    pub(super) is_lost: bool,
}

/// Counts of the packets from one endpoint, and details of its retransmissions.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) way: Way,
    pub(super) again: Vec<Again>,
    /// Indices of packets that arrived, in the capture near their sender and in the far capture.
    pub(super) pairs: Vec<(u32, u32)>,
}

/// Two captures of one connection.
pub(super) struct Join<'a> {
    pub(super) pieces: &'a Both<Pieces>,
    pub(super) fields: [Fields; 2],
    pub(super) times: &'a Times,
    /// Start and end of this capture and of the other one.
    pub(super) windows: [(i64, i64); 2],
}

/// One direction of the connection, from the capture near the sender to the far capture.
struct Direction<'a> {
    side: Side,
    sent: &'a [Piece],
    arrived: &'a [Piece],
    /// Packets of the receiver in the far capture.
    acks: &'a [Piece],
    near_window: (i64, i64),
    far_window: (i64, i64),
    times: &'a Times,
    fields: Fields,
}

/// Results for one direction, determined before it is known whether packets are missing from the far capture.
struct Matched {
    fates: Vec<Fate>,
    told: Told,
}

impl Join<'_> {
    /// Determines the fates of the segments from both endpoints.
    pub(super) fn ways(&self) -> [Told; 2] {
        let directions = Side::BOTH.map(|side| self.direction(side));
        let [opener, answerer] = &directions;
        let [mut one, mut other] = [opener.matched(), answerer.matched()];
        // The far capture of one direction is the near capture of the other.
        let missing = |matched: &Matched| matched.fates.contains(&Fate::Missing);
        let lacks = [
            missing(&one) || other.told.way.missing_near > 0,
            missing(&other) || one.told.way.missing_near > 0,
        ];
        opener.count(&mut one, lacks[0]);
        answerer.count(&mut other, lacks[1]);
        [one.told, other.told]
    }

    fn direction(&self, side: Side) -> Direction<'_> {
        let (own, other) = (self.pieces.of(side), self.pieces.of(side.other()));
        let [here, there] = self.windows;
        let is_near = side == self.times.near;
        let (sent, arrived, acks) = match is_near {
            true => (&own.here, &own.there, &other.there),
            false => (&own.there, &own.here, &other.here),
        };
        let (near_window, far_window) = if is_near {
            (here, there)
        } else {
            (there, here)
        };
        Direction {
            side,
            sent,
            arrived,
            acks,
            near_window,
            far_window,
            times: self.times,
            fields: self.fields[side as usize],
        }
    }
}

impl Direction<'_> {
    fn matched(&self) -> Matched {
        let can = |sent: &Piece, arrived: &Piece| {
            self.times
                .allows(self.times.delay(self.side, sent, arrived))
        };
        let places = matching::all(self.sent, self.arrived, self.fields, can);
        let mut told = Told::default();
        told.way.delays = self.delays(&places);
        let queueing = told
            .way
            .delays
            .map_or(Duration::ZERO, |all| all.max.saturating_sub(all.least));
        let queueing = i64::try_from(queueing.as_nanos()).unwrap_or(i64::MAX);
        let others = self.extra(&places, queueing, &mut told.way);
        let mut fates = self.first_fates(&places, queueing);
        self.find_missing(&mut fates, &mut told.way);
        self.doubt(&mut fates, &others);
        told.way.reordered = reordered(&places);
        let pairs = (0_u32..).zip(&places);
        told.pairs = pairs
            .filter_map(|(one, two)| Some((one, (*two)?)))
            .collect();
        Matched { fates, told }
    }

    /// Counts arrivals that match no sent segment. Returns the bytes of the arrivals whose fields equal those of no
    /// sent segment.
    fn extra(&self, places: &[Option<u32>], queueing: i64, way: &mut Way) -> Ranges {
        let mut others = Ranges::default();
        let mut offsets = Offsets::new(self.sent.first().map_or(0, |piece| piece.seq));
        let mut used = vec![false; self.arrived.len()];
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for &place in places.iter().flatten() {
            if let Some(used) = used.get_mut(place as usize) {
                *used = true;
            }
            let at = self.arrived.get(place as usize).map_or(0, |piece| piece.at);
            (first, last) = (first.min(at), last.max(at));
        }
        let key = |piece: &Piece| Key::of(piece, self.fields);
        let mut known: Vec<Key> = self.sent.iter().map(key).collect();
        known.sort_unstable();
        for (piece, used) in self.arrived.iter().zip(used) {
            let around = first.saturating_sub(MARGIN)..=last.saturating_add(MARGIN);
            let start = offsets.of(piece.seq);
            if used || !around.contains(&piece.at) {
                continue;
            }
            let is_alike = known.binary_search(&key(piece)).is_ok();
            let is_marked = self.fields.id && piece.id != 0;
            let is_stamped = self.fields.value && piece.value != 0 && piece.is_data();
            if !is_alike && !self.was_near_open(piece, queueing) {
                continue;
            }
            if !is_alike {
                way.missing_near += 1;
                others.add(start, start + u64::from(piece.len));
            } else if piece.is_copy() || is_marked || is_stamped {
                way.duplicated += 1;
            } else {
                way.unexplained += 1;
            }
        }
        others
    }

    /// Marks losses as undecided if the bytes of many losses arrived in packets that were not sent. Either the segments
    /// were divided differently along the path, or they belong to another connection.
    fn doubt(&self, fates: &mut [Fate], others: &Ranges) {
        let mut offsets = Offsets::new(self.sent.first().map_or(0, |piece| piece.seq));
        let mut doubtful = Vec::new();
        for (n, (piece, fate)) in self.sent.iter().zip(&*fates).enumerate() {
            let start = offsets.of(piece.seq);
            let end = start + u64::from(piece.len);
            let is_apart = others.gaps(start, end) == [(start, end)];
            if *fate == Fate::Lost && piece.len > 0 && !is_apart {
                doubtful.push(n);
            }
        }
        if doubtful.len() * DOUBTFUL_OF > fates.len() {
            for n in doubtful {
                if let Some(fate) = fates.get_mut(n) {
                    *fate = Fate::Undecided;
                }
            }
        }
    }

    /// Returns `true` if the near capture was running when an arrived segment was sent.
    fn was_near_open(&self, arrived: &Piece, queueing: i64) -> bool {
        if !self.times.has_delays() {
            return true;
        }
        let (first, last) = self.near_window;
        let left = |at| {
            let arrival = self.times.arrival(self.side, at);
            arrived.at.saturating_sub(arrival)
        };
        // The segment may have had the maximum queueing delay.
        left(first) >= queueing && left(last) <= 0
    }

    /// Determines the fates from the presence of each segment in the far capture.
    fn first_fates(&self, places: &[Option<u32>], queueing: i64) -> Vec<Fate> {
        let (first, last) = self.far_window;
        // Without an offset, the far capture is assumed to cover the time from the first segment that arrived to the
        // last.
        let is_there = |place: &Option<u32>| place.is_some();
        let begun = places.iter().position(is_there).unwrap_or(usize::MAX);
        let over = places.iter().rposition(is_there).unwrap_or(0);
        let is_open = |n: usize, sent: &Piece| match self.times.has_delays() {
            // The segment may have had the maximum queueing delay.
            true => {
                let due = self.times.arrival(self.side, sent.at);
                first <= due && due.saturating_add(queueing) <= last
            }
            false => (begun..=over).contains(&n),
        };
        let fate = |(n, (sent, place)): (usize, (&Piece, &Option<u32>))| match place {
            Some(place) => Fate::Arrived(*place),
            None if is_open(n, sent) => Fate::Lost,
            None => Fate::Undecided,
        };
        self.sent.iter().zip(places).enumerate().map(fate).collect()
    }

    /// Finds segments that are missing from the far capture although they were acknowledged there.
    fn find_missing(&self, fates: &mut [Fate], way: &mut Way) {
        let Some(first) = self.sent.first().map(|piece| piece.seq) else {
            return;
        };
        let unseen = self.acknowledged_unseen(first);
        if unseen.is_empty() {
            return;
        }
        // These segments were not captured there; they are sorted by their first byte.
        let mut offsets = Offsets::new(first);
        let mut open: Vec<(u64, u64, usize)> = Vec::new();
        let mut sent = Ranges::default();
        for (n, (piece, fate)) in self.sent.iter().zip(&*fates).enumerate() {
            let start = offsets.of(piece.seq);
            if piece.is_data() {
                sent.add(start, start + u64::from(piece.span()));
            }
            if piece.is_data() && matches!(fate, Fate::Lost | Fate::Undecided) {
                open.push((start, start + u64::from(piece.span()), n));
            }
        }
        open.sort_unstable();
        for (start, end, at) in unseen {
            let gaps = sent.gaps(start, end).into_iter();
            way.unseen_bytes += gaps.map(|(from, to)| to - from).sum::<u64>();
            let from = open.partition_point(|one| one.0 < start);
            let inside = open.iter().skip(from).take_while(|one| one.0 < end);
            let mut latest: Vec<(u64, usize)> = Vec::new();
            for &(start, until, n) in inside.filter(|one| one.1 <= end) {
                let sent = self.sent.get(n).map_or(i64::MAX, |piece| piece.at);
                let arrival = self.times.arrival(self.side, sent);
                let is_later = self.times.has_delays() && arrival > at.saturating_add(1_000_000);
                if until > end || is_later {
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

    /// Returns the bytes that were acknowledged in the far capture, but that the far capture did not contain before.
    /// Each range has the time of its ACK.
    fn acknowledged_unseen(&self, first: u32) -> Vec<(u64, u64, i64)> {
        let (mut data, mut acks) = (Offsets::new(first), Offsets::new(first));
        let mut seen = Ranges::default();
        let mut unseen = Vec::new();
        let mut arrived = self.arrived.iter().peekable();
        let mut acked: Option<u64> = None;
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
                // The first ACK shows nothing about earlier data.
                None => seen.add(0, upto),
                Some(_) => {}
            }
            acked = acked.max(Some(upto));
            let [left, right] = ack.sack;
            let (left, right) = (acks.of(left), acks.of(right));
            // A block below the ACK number is a DSACK (RFC 2883) and is ignored.
            if ack.sack != [0; 2] && left >= upto && right > left && right - left < 1 << 31 {
                said.push((left, right));
            }
            for (from, to) in said {
                let gaps = seen.gaps(from, to);
                unseen.extend(gaps.iter().map(|&(from, to)| (from, to, ack.at)));
                seen.add(from, to);
            }
        }
        unseen
    }

    /// Counts segments by fate, and retransmissions by need. `lacks` is `true` if packets are known to be missing from
    /// the far capture.
    fn count(&self, matched: &mut Matched, lacks: bool) {
        let Some(first) = self.sent.first().map(|piece| piece.seq) else {
            return;
        };
        let mut counting = Counting::new(first, lacks);
        for (piece, &fate) in self.sent.iter().zip(&matched.fates) {
            counting.take(piece, fate, &mut matched.told);
        }
    }

    /// Returns the one-way delays of the segments that arrived; `None` if they are unknown.
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

/// Counter of the segments of one direction, in the order in which they were sent.
struct Counting {
    offsets: Offsets,
    /// Bytes of which an earlier transmission arrived, and bytes of which an earlier transmission may have arrived.
    came: Ranges,
    maybe: Ranges,
    highest: u64,
    lacks: bool,
}

impl Counting {
    fn new(first: u32, lacks: bool) -> Self {
        Self {
            offsets: Offsets::new(first),
            came: Ranges::default(),
            maybe: Ranges::default(),
            highest: 0,
            lacks,
        }
    }

    fn take(&mut self, piece: &Piece, fate: Fate, told: &mut Told) {
        let start = self.offsets.of(piece.seq);
        let end = start + u64::from(piece.span());
        let text = start + u64::from(piece.len);
        let is_data = piece.is_data();
        let came = self.came.has(start, end);
        // A retransmission of one byte that had already arrived is a probe.
        let is_again = is_data && start < self.highest && (piece.len > 1 || !came);
        let doubtful = fate == Fate::Lost && self.lacks && (!is_data || came);
        let fate = if doubtful { Fate::Undecided } else { fate };
        told.way.sent += 1;
        told.way.segments += u64::from(piece.len > 0);
        count_fate(piece, fate, is_again, &mut told.way);
        if is_again {
            let need = self.need(start, text, &mut told.way);
            told.again.push(Again {
                packet: piece.packet,
                need,
                is_lost: fate == Fate::Lost,
            });
        }
        if !is_data {
            return;
        }
        if matches!(fate, Fate::Arrived(_) | Fate::Missing) {
            self.came.add(start, end);
        }
        if fate != Fate::Lost {
            self.maybe.add(start, end);
        }
        self.highest = self.highest.max(text);
    }

    /// Returns the need for a retransmission of these bytes, and counts it.
    fn need(&self, start: u64, text: u64, way: &mut Way) -> Need {
        way.retransmissions += 1;
        if self.came.has(start, text) {
            way.needless += 1;
            Need::NeedlessByArrival
        } else if self.maybe.has(start, text) {
            way.need_unknown += 1;
            Need::Unknown
        } else {
            Need::Needed
        }
    }
}

fn count_fate(piece: &Piece, fate: Fate, is_again: bool, way: &mut Way) {
    match fate {
        Fate::Arrived(_) => way.arrived += 1,
        Fate::Missing => way.missing_far += 1,
        Fate::Undecided => way.undecided += 1,
        Fate::Lost if !piece.is_data() => way.lost_acks += 1,
        Fate::Lost => {
            match piece.len {
                0 => way.lost_controls += 1,
                _ => way.lost_data += 1,
            }
            way.lost_again += u64::from(is_again);
            if way.lost.len() < LOST_MAX {
                way.lost.push(Lost {
                    packet: piece.packet,
                    bytes: piece.len,
                    is_again,
                });
            }
        }
    }
}

/// Returns the number of segments that arrived after segments that were sent later.
fn reordered(places: &[Option<u32>]) -> u64 {
    let mut earliest = u32::MAX;
    let mut reordered = 0;
    // The segments are processed from the last one sent to the first. A segment is late if a segment sent later arrived
    // before it.
    for &place in places.iter().flatten().rev() {
        reordered += u64::from(place > earliest);
        earliest = earliest.min(place);
    }
    reordered
}
