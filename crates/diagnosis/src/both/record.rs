//! Packets of the joined connections, from both captures.

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;

use dupack_packet::CaptureTime;
use dupack_packet::captured::{CaptureReader, ReadError};
use dupack_tcp::connection::Flags;

use super::names::{Direction, Shared, at, by_direction};
use super::pieces::Piece;
use super::{Joined, PACKETS_MAX};
use crate::diagnose::{Extent, Watch, each_packet};
use crate::findings::ConnectionFindings;
use crate::read::copies::Copies;
use crate::read::packet::Packet;
use crate::read::side::{Both, Side};
use crate::selection::Selection;

/// Maximum number of SYNs that are recorded for each connection (our choice).
const SYNS_MAX: usize = 16;

/// Inverse of the minimum fraction of copies among the packets (our choice). With at least this fraction, the capture
/// recorded packets twice. With fewer copies, the path made them.
const TWICE_OF: usize = 4;

/// Options that a SYN announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syn {
    /// Packet number in the SYN's own capture.
    pub(super) packet: u32,
    pub(super) mss: Option<u16>,
    pub(super) window_scale: Option<u8>,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
}

impl Syn {
    fn new(packet: &Packet) -> Self {
        let options = &packet.segment.options;
        Self {
            packet: u32::try_from(packet.number).unwrap_or(u32::MAX),
            mss: options.mss,
            window_scale: options.window_scale,
            sack: options.sack_permitted.is_on(),
            timestamps: options.timestamps.is_some(),
        }
    }
}

/// Packets of one connection in capture order, separately for each endpoint that sent them.
#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) sides: Both<Vec<Piece>>,
    /// SYNs whose options were captured.
    pub(super) syns: Vec<Syn>,
}

/// Recorded packets of a capture.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// Start of this capture, in nanoseconds since 1970.
    pub(super) origin: i64,
    /// Time of the first TCP packet, and of the last one before the limit on recorded packets was reached, in
    /// nanoseconds since the origin.
    first: Option<i64>,
    last: i64,
    pub(super) tracks: Vec<Track>,
    packets: usize,
    /// `true` if there were more than [`PACKETS_MAX`] packets.
    is_cut: bool,
}

impl Recorded {
    fn new(origin: i64, targets: usize) -> Self {
        Self {
            origin,
            tracks: (0..targets).map(|_| Track::default()).collect(),
            ..Self::default()
        }
    }

    /// Returns the start and end of the capture.
    pub(super) fn window(&self) -> (i64, i64) {
        (self.first.unwrap_or(0), self.last)
    }

    /// Returns the extent to which the packets of this capture and the other one can be joined.
    pub(super) const fn extent(&self, other: &Self) -> Joined {
        match self.is_cut || other.is_cut {
            true => Joined::First,
            false => Joined::All,
        }
    }

    /// Returns the time of a TCP packet in nanoseconds since the origin, and updates the start and end of the capture.
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

    fn push(&mut self, target: usize, side: Side, packet: &Packet, piece: Piece) {
        if self.packets >= PACKETS_MAX {
            self.is_cut = true;
            return;
        }
        if let Some(track) = self.tracks.get_mut(target) {
            track.sides.of_mut(side).push(piece);
            self.packets += 1;
            let is_syn = packet.segment.is(Flags::SYN) && packet.has_options();
            if is_syn && track.syns.len() < SYNS_MAX {
                track.syns.push(Syn::new(packet));
            }
        }
    }

    /// Sorts packets by time, because a capture may contain packets slightly out of order. Removes the copies if the
    /// capture recorded packets twice.
    fn finish(&mut self) {
        for track in &mut self.tracks {
            for side in Side::BOTH {
                let pieces = track.sides.of_mut(side);
                let copies = pieces.iter().filter(|piece| piece.is_copy()).count();
                if copies * TWICE_OF >= pieces.len() {
                    pieces.retain(|piece| !piece.is_copy());
                }
                pieces.sort_by_key(|piece| piece.at);
            }
        }
    }
}

/// Detector of copies in each direction.
#[derive(Default)]
struct Once(HashMap<Direction, Copies>);

impl Once {
    fn piece(&mut self, packet: &Packet, at: i64) -> Piece {
        let direction = (packet.source, packet.destination);
        let piece = Piece::new(packet, at);
        match self.0.entry(direction).or_default().is_copy(packet) {
            true => piece.as_copy(),
            false => piece,
        }
    }
}

/// Records the shared connections of the diagnosed capture. Returns `None` if `watch` stopped the reading.
pub(super) fn here<R: Read>(
    reader: &mut CaptureReader<R>,
    (found, shared): (&[ConnectionFindings], &Shared),
    selection: &Selection,
    watch: &mut dyn Watch,
) -> Result<Option<Recorded>, ReadError> {
    let which = by_direction(found.iter().map(|one| &one.addresses));
    let place: HashMap<usize, usize> = shared.connections.iter().copied().zip(0..).collect();
    let targets = shared.connections.len();
    let mut selector = selection.selector();
    let mut recorded: Option<Recorded> = None;
    let mut once = Once::default();
    let extent = each_packet(reader, watch, |captured| {
        let Ok(tcp) = captured.tcp() else {
            return;
        };
        let nanos = captured.at.as_unix_nanos();
        let recorded = recorded.get_or_insert_with(|| {
            let origin = selection.origin.map_or(nanos, CaptureTime::as_unix_nanos);
            let origin = i64::try_from(origin).unwrap_or(i64::MAX);
            Recorded::new(origin, targets)
        });
        let Some(packet) = selector.take(&tcp) else {
            return;
        };
        let time = recorded.time(nanos);
        let connections = which.get(&(packet.source, packet.destination));
        let target = at(connections, found, &packet);
        let target = target.and_then(|(n, side)| Some((*place.get(&n)?, side)));
        if let Some((n, side)) = target {
            recorded.push(n, side, &packet, once.piece(&packet, time));
        }
    })?;
    let mut recorded = recorded.unwrap_or_else(|| Recorded::new(0, targets));
    recorded.finish();
    Ok((extent == Extent::Whole).then_some(recorded))
}

/// Records the connections at `places` of the other capture. Returns `None` if `watch` stopped the reading.
pub(super) fn there<R: Read>(
    reader: &mut CaptureReader<R>,
    origin: i64,
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
    let mut recorded = Recorded::new(origin, places.len());
    let mut once = Once::default();
    let mut first = None;
    let extent = each_packet(reader, watch, |captured| {
        let Ok(tcp) = captured.tcp() else {
            return;
        };
        let packet = Packet::new(&tcp, *first.get_or_insert(captured.at));
        let time = recorded.time(captured.at.as_unix_nanos());
        let connections = which.get(&(packet.source, packet.destination));
        let Some(connections) = connections else {
            return;
        };
        let piece = once.piece(&packet, time);
        // Consecutive connections with the same addresses and ports are separated during matching.
        for &(n, side) in connections {
            recorded.push(n, side, &packet, piece);
        }
    })?;
    recorded.finish();
    Ok((extent == Extent::Whole).then_some(recorded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_joined_whole_if_both_were_recorded_whole() {
        let [whole, cut] = [false, true].map(|is_cut| Recorded {
            is_cut,
            ..Recorded::default()
        });
        assert_eq!(whole.extent(&whole), Joined::All);
        for (own, other) in [(&whole, &cut), (&cut, &whole), (&cut, &cut)] {
            assert_eq!(own.extent(other), Joined::First);
        }
    }
}
