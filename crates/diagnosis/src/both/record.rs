//! The packets of the connections that are joined, from both captures.

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;

use dupack_packet::captured::{CaptureReader, ReadError};

use super::PACKETS_MAX;
use super::pieces::Piece;
use crate::diagnose::{Extent, Watch, each_packet};
use crate::findings::ConnectionFindings;
use crate::read::copies::Copies;
use crate::read::packet::Packet;
use crate::read::side::{Both, Side};
use crate::selection::Selection;

/// Packets of one connection, by the end that sent them, in the order of the capture.
pub(super) type Track = Both<Vec<Piece>>;

/// What was recorded of a capture.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// When the capture here began: nanoseconds since 1970.
    origin: i64,
    /// Time of its first TCP packet, and of the last that could be recorded.
    first: Option<i64>,
    last: i64,
    pub(super) tracks: Vec<Track>,
    packets: usize,
    /// Whether there were more than [`PACKETS_MAX`].
    pub(super) is_cut: bool,
}

impl Recorded {
    fn new(origin: i64, targets: usize) -> Self {
        Self {
            origin,
            tracks: (0..targets).map(|_| Track::default()).collect(),
            ..Self::default()
        }
    }

    /// When its capture began and was over.
    pub(super) fn window(&self) -> (i64, i64) {
        (self.first.unwrap_or(0), self.last)
    }

    /// The time of a TCP packet.
    fn time(&mut self, unix_nanos: u64) -> i64 {
        let at = i64::try_from(unix_nanos).unwrap_or(i64::MAX);
        let at = at.saturating_sub(self.origin);
        let first = self.first.get_or_insert(at);
        *first = (*first).min(at);
        if !self.is_cut {
            self.last = self.last.max(at);
        }
        at
    }

    fn push(&mut self, target: usize, side: Side, packet: &Packet, at: i64) {
        if self.packets >= PACKETS_MAX {
            self.is_cut = true;
            return;
        }
        if let Some(track) = self.tracks.get_mut(target) {
            track.of_mut(side).push(Piece::new(packet, at));
            self.packets += 1;
        }
    }

    /// Times that go back by little are packets in the wrong order.
    fn sort(&mut self) {
        for track in &mut self.tracks {
            for side in Side::BOTH {
                track.of_mut(side).sort_by_key(|piece| piece.at);
            }
        }
    }
}

/// Both directions of a place.
type Direction = (SocketAddr, SocketAddr);

/// Leaves out copies, direction by direction.
#[derive(Default)]
struct Once(HashMap<Direction, Copies>);

impl Once {
    fn is_copy(&mut self, packet: &Packet) -> bool {
        let direction = (packet.source, packet.destination);
        self.0.entry(direction).or_default().is_copy(packet)
    }
}

/// Records the connections `targets` of the capture that they were found in. `None` if `watch` has stopped it.
pub(super) fn here<R: Read>(
    reader: &mut CaptureReader<R>,
    targets: &[&mut ConnectionFindings],
    selection: &Selection,
    watch: &mut dyn Watch,
) -> Result<Option<Recorded>, ReadError> {
    let mut which: HashMap<Direction, Vec<(usize, Side)>> = HashMap::new();
    for (n, target) in targets.iter().enumerate() {
        for side in Side::BOTH {
            let direction = (
                *target.addresses.of(side),
                *target.addresses.of(side.other()),
            );
            which.entry(direction).or_default().push((n, side));
        }
    }
    let mut selector = selection.selector();
    let mut recorded: Option<Recorded> = None;
    let mut once = Once::default();
    let extent = each_packet(reader, watch, |captured| {
        let Ok(tcp) = captured.tcp() else {
            return;
        };
        let nanos = captured.at.as_unix_nanos();
        let recorded = recorded.get_or_insert_with(|| {
            let origin = i64::try_from(nanos).unwrap_or(i64::MAX);
            Recorded::new(origin, targets.len())
        });
        let Some(packet) = selector.take(&tcp) else {
            return;
        };
        let at = recorded.time(nanos);
        let connections = which.get(&(packet.source, packet.destination));
        let Some(&(n, side)) = connections.and_then(|all| {
            all.iter().find(|(n, _)| {
                let target = targets.get(*n);
                target.is_some_and(|one| one.first_at <= packet.at && packet.at <= one.last_at)
            })
        }) else {
            return;
        };
        if !once.is_copy(&packet) {
            recorded.push(n, side, &packet, at);
        }
    })?;
    let mut recorded = recorded.unwrap_or_else(|| Recorded::new(0, targets.len()));
    recorded.sort();
    Ok((extent == Extent::Whole).then_some(recorded))
}

/// Places that are counted at most while connections are looked for (ours).
const CANDIDATES_MAX: usize = 1 << 16;

/// A connection of the other capture is the same if so many packets have its sequence and ACK numbers (ours); it has fewer if
/// it has fewer packets.
const ALIKE_MIN: u32 = 2;

/// What is looked for: the numbers of a packet that is not like many others.
fn numbers(piece: &Piece) -> Option<u64> {
    let number = (u64::from(piece.seq) << 32) | u64::from(piece.ack);
    piece.is_data().then_some(number)
}

/// Addresses of the connections of `own` in another capture. `None` if `watch` has stopped it.
pub(super) fn places<R: Read>(
    reader: &mut CaptureReader<R>,
    own: &Recorded,
    watch: &mut dyn Watch,
) -> Result<Option<Vec<Option<Both<SocketAddr>>>>, ReadError> {
    let mut wanted: HashMap<u64, (usize, Side)> = HashMap::new();
    for (n, track) in own.tracks.iter().enumerate() {
        for side in Side::BOTH {
            let keys = track.of(side).iter().filter_map(numbers);
            wanted.extend(keys.map(|key| (key, (n, side))));
        }
    }
    // By target and the opener's and answerer's addresses.
    let mut votes: HashMap<(usize, SocketAddr, SocketAddr), u32> = HashMap::new();
    let extent = each_packet(reader, watch, |captured| {
        let Ok(tcp) = captured.tcp() else {
            return;
        };
        let packet = Packet::new(&tcp, captured.at);
        let key = numbers(&Piece::new(&packet, 0));
        let Some(&(n, side)) = key.and_then(|key| wanted.get(&key)) else {
            return;
        };
        let place = match side {
            Side::Opener => (n, packet.source, packet.destination),
            Side::Answerer => (n, packet.destination, packet.source),
        };
        if votes.len() < CANDIDATES_MAX || votes.contains_key(&place) {
            *votes.entry(place).or_default() += 1;
        }
    })?;
    let mut best: Vec<Option<(u32, Both<SocketAddr>)>> = vec![None; own.tracks.len()];
    let mut votes: Vec<_> = votes.into_iter().collect();
    votes.sort_unstable();
    for ((n, opener, answerer), count) in votes {
        if let Some(best) = best.get_mut(n)
            && count >= ALIKE_MIN
            && best.is_none_or(|(most, _)| count > most)
        {
            *best = Some((count, Both { opener, answerer }));
        }
    }
    let places = best.into_iter().map(|best| best.map(|(_, place)| place));
    Ok((extent == Extent::Whole).then(|| places.collect()))
}

/// Records the connections at `places` of the other capture. `None` if `watch` has stopped it.
pub(super) fn there<R: Read>(
    reader: &mut CaptureReader<R>,
    own: &Recorded,
    places: &[Option<Both<SocketAddr>>],
    watch: &mut dyn Watch,
) -> Result<Option<Recorded>, ReadError> {
    let mut which: HashMap<Direction, Vec<(usize, Side)>> = HashMap::new();
    for (n, place) in places.iter().enumerate() {
        for side in Side::BOTH {
            if let Some(place) = place {
                let direction = (*place.of(side), *place.of(side.other()));
                which.entry(direction).or_default().push((n, side));
            }
        }
    }
    let mut recorded = Recorded::new(own.origin, places.len());
    let mut once = Once::default();
    let mut first = None;
    let extent = each_packet(reader, watch, |captured| {
        let Ok(tcp) = captured.tcp() else {
            return;
        };
        let packet = Packet::new(&tcp, *first.get_or_insert(captured.at));
        let at = recorded.time(captured.at.as_unix_nanos());
        let connections = which.get(&(packet.source, packet.destination));
        let Some(connections) = connections else {
            return;
        };
        if once.is_copy(&packet) {
            return;
        }
        // Connections that follow one another between the same ports are told apart when they are matched.
        for &(n, side) in connections {
            recorded.push(n, side, &packet, at);
        }
    })?;
    recorded.sort();
    Ok((extent == Extent::Whole).then_some(recorded))
}
