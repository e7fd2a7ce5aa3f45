//! Joining of two captures of the same transfer.

use std::io::Read;
use std::net::SocketAddr;

use dupack_packet::captured::{CaptureReader, ReadError};
use dupack_tcp::time::Duration;

use super::clock::Times;
use super::error::Apart;
use super::matching::Fields;
use super::names::{self, Shared};
use super::pieces::{self, Pieces};
use super::record::{self, Recorded, Track};
use super::rewritten::{self, Rewritten, rewritten};
use super::{BothEnds, BothError, Joined, Which, fates, matching, settle};
use crate::diagnose::{Diagnosis, Extent, Watch, diagnose};
use crate::findings::{ConnectionFindings, Flow};
use crate::read::side::{Both, Side};
use crate::selection::Selection;

/// The captures count as taken at the same place if the round-trip time between them, multiplied by this number, is
/// less than the round-trip time of the connection (our choice).
const SAME_PLACE_PARTS: u64 = 50;

/// Diagnosis of two captures of the same transfer, and the capture that was diagnosed.
pub type Found = (Diagnosis, Which);

/// Diagnoses the capture that is nearer to the sender of the worst transfer, and joins the other capture to it:
/// [`ConnectionFindings::both`] contains the findings from both. Joined connections come first. Returns the diagnosis
/// and the capture that was diagnosed. `open` opens either capture from its start; it is called several times. If
/// `watch` stops the diagnosis, or no connection of the diagnosed capture is selected, nothing is joined.
///
/// `selection` refers to the first capture. If packets are selected by filter or time, or if several connections are
/// selected, the first capture is diagnosed, even if it is farther from the sender.
///
/// # Errors
/// Returns an error if a capture cannot be read, or if the captures have no connection in common.
pub fn diagnose_both<R: Read>(
    mut open: impl FnMut(Which) -> Result<CaptureReader<R>, ReadError>,
    selection: &Selection,
    watch: &mut dyn Watch,
) -> Result<Found, BothError> {
    let first = one(Which::First, &mut open, selection, watch)?;
    let Some(reversed) = reversed(&first, selection) else {
        return Ok((first, Which::First));
    };
    let second = one(Which::Second, &mut open, &reversed, watch)?;
    Ok((second, Which::Second))
}

/// Diagnoses the capture `here`, and joins the other capture to it.
fn one<R: Read>(
    here: Which,
    open: &mut impl FnMut(Which) -> Result<CaptureReader<R>, ReadError>,
    selection: &Selection,
    watch: &mut dyn Watch,
) -> Result<Diagnosis, BothError> {
    let failed = |error| BothError::Read(here, error);
    let mut reader = open(here).map_err(failed)?;
    let mut found = diagnose(&mut reader, selection.clone(), watch).map_err(failed)?;
    if found.extent == Extent::Interrupted || found.connections.is_empty() {
        return Ok(found);
    }
    let mut selection = selection.clone();
    selection.origin = found.first;
    let extent = Joining {
        here,
        open,
        selection: &selection,
        watch,
    }
    .join(&mut found)?;
    if extent == Extent::Interrupted {
        found.extent = Extent::Interrupted;
    }
    found.connections.sort_by_key(|one| one.both.is_none());
    Ok(found)
}

/// Returns the selection for the other capture, if the other capture is nearer to the sender of the worst connection.
fn reversed(found: &Diagnosis, selection: &Selection) -> Option<Selection> {
    let mut joined = found.connections.iter().filter(|one| one.both.is_some());
    let worst = joined.next()?;
    let both = worst.both.as_ref()?;
    let sender = worst.main_stream()?.side;
    let is_all = *selection == Selection::default();
    let is_one = selection.filter.is_none()
        && selection.time.since.is_none()
        && selection.time.until.is_none()
        && joined.next().is_none();
    if both.near == sender || found.extent == Extent::Interrupted || !(is_all || is_one) {
        return None;
    }
    let opener = both.there.opener;
    Some(match is_all {
        true => Selection::default(),
        false => Flow::Host(opener.ip(), Some(opener.port())).into(),
    })
}

/// State while the other capture is joined to the findings of one capture.
struct Joining<'a, O> {
    here: Which,
    open: &'a mut O,
    selection: &'a Selection,
    watch: &'a mut dyn Watch,
}

/// Recorded packets of this capture and of the other one, and the addresses of each connection in the other capture.
type Records = (Recorded, Recorded, Vec<Option<Both<SocketAddr>>>);

impl<R: Read, O: FnMut(Which) -> Result<CaptureReader<R>, ReadError>> Joining<'_, O> {
    /// Reads one of the captures from its start.
    fn read<T>(
        &mut self,
        which: Which,
        take: impl FnOnce(
            &mut CaptureReader<R>,
            (&Selection, &mut dyn Watch),
        ) -> Result<Option<T>, ReadError>,
    ) -> Result<Option<T>, BothError> {
        let failed = |error| BothError::Read(which, error);
        let mut reader = (self.open)(which).map_err(failed)?;
        take(&mut reader, (self.selection, self.watch)).map_err(failed)
    }

    fn join(&mut self, found: &mut Diagnosis) -> Result<Extent, BothError> {
        let there = self.here.other();
        let names = self.read(there, |reader, (_, watch)| names::of_capture(reader, watch))?;
        let Some(names) = names else {
            return Ok(Extent::Interrupted);
        };
        let connections = &found.connections;
        let shared = self.read(self.here, |reader, with| {
            names::shared(reader, connections, &names, with)
        })?;
        drop(names);
        let Some(shared) = shared else {
            return Ok(Extent::Interrupted);
        };
        let Some(records) = self.record(connections, &shared)? else {
            return Ok(Extent::Interrupted);
        };
        let mut apart = Vec::new();
        for (n, &connection) in shared.connections.iter().enumerate() {
            let Some(target) = found.connections.get_mut(connection) else {
                continue;
            };
            if let Err(why) = at(n, target, &records) {
                apart.push(why);
            }
        }
        match found.connections.iter().any(|one| one.both.is_some()) {
            true => Ok(Extent::Whole),
            false => Err(BothError::of(&apart)),
        }
    }

    fn record(
        &mut self,
        found: &[ConnectionFindings],
        shared: &Shared,
    ) -> Result<Option<Records>, BothError> {
        let there = self.here.other();
        let own = self.read(self.here, |reader, (selection, watch)| {
            record::here(reader, (found, shared), selection, watch)
        })?;
        let Some(own) = own else {
            return Ok(None);
        };
        let places = self.read(there, |reader, (_, watch)| {
            names::places(reader, shared, watch)
        })?;
        let Some(places) = places else {
            return Ok(None);
        };
        let other = self.read(there, |reader, (_, watch)| {
            record::there(reader, own.origin, &places, watch)
        })?;
        Ok(other.map(|other| (own, other, places)))
    }
}

/// Joins the connection with the index `n` in the recorded packets.
fn at(n: usize, found: &mut ConnectionFindings, records: &Records) -> Result<(), Apart> {
    let (own, other, places) = records;
    let place = places.get(n).copied().flatten().ok_or(Apart::NotShared)?;
    let tracks = own.tracks.get(n).zip(other.tracks.get(n));
    let tracks = tracks.ok_or(Apart::NotShared)?;
    let windows = [own.window(), other.window()];
    connection(found, tracks, (place, windows, own.extent(other)))
}

/// Returns the packets of both captures, the fields that the path preserves, and the relation between the clocks. The
/// packets of both captures have the sequence numbers of this capture.
fn matched(
    found: &ConnectionFindings,
    (own, other): (&Track, &Track),
    shifts: &Both<u32>,
) -> Result<(Both<Pieces>, [Fields; 2], Times), Apart> {
    let mut there = other.sides.clone();
    rewritten::unshift(&mut there, shifts);
    let smss = |side: Side| found.streams.of(side).as_ref().map(|stream| stream.smss);
    let matching = |pieces: &Pieces| matching::sure(pieces).pairs.len();
    let [opener, answerer] = Side::BOTH
        .map(|side| pieces::cut(own.sides.of(side), there.of(side), smss(side), matching));
    let mut pieces = Both { opener, answerer };
    let sure = |pieces: &Both<Pieces>| Side::BOTH.map(|side| matching::sure(pieces.of(side)));
    let mut matched = sure(&pieces);
    if rewritten::leave_one(&mut pieces, [&matched[0].pairs, &matched[1].pairs]) {
        matched = sure(&pieces);
    }
    let times = Times::of(&pieces, [&matched[0].pairs, &matched[1].pairs])?;
    for side in Side::BOTH {
        // A host makes no copies of the packets that it sends, so these copies were made by the capture.
        let Pieces { here, there } = pieces.of_mut(side);
        let near = if side == times.near { here } else { there };
        near.retain(|piece| !piece.is_copy());
    }
    Ok((pieces, [matched[0].fields, matched[1].fields], times))
}

/// Joins one connection.
fn connection(
    found: &mut ConnectionFindings,
    (own, other): (&Track, &Track),
    (place, windows, extent): (Both<SocketAddr>, [(i64, i64); 2], Joined),
) -> Result<(), Apart> {
    let shifts = rewritten::shifts(own, other);
    let (pieces, fields, times) = matched(found, (own, other), &shifts)?;
    let whole = round_trip(found);
    let least = times.round_trip.saturating_mul(SAME_PLACE_PARTS);
    if whole.is_some_and(|whole| least < whole) {
        return Err(Apart::SamePlace);
    }
    let join = fates::Join {
        pieces: &pieces,
        fields,
        times: &times,
        windows,
    };
    let [opener, answerer] = join.ways();
    let changed = |side: Side, told: &fates::Told| -> Rewritten {
        let Pieces { here, there } = pieces.of(side);
        let (same, shift) = (fields[side as usize], *shifts.of(side));
        match side == times.near {
            true => rewritten((own, other), (here, there), &told.pairs, (same, shift)),
            false => {
                let shift = shift.wrapping_neg();
                rewritten((other, own), (there, here), &told.pairs, (same, shift))
            }
        }
    };
    let told = BothEnds {
        there: place,
        near: times.near,
        round_trip: times.round_trip,
        whole,
        clock: times.clock(),
        rewritten: Both {
            opener: changed(Side::Opener, &opener),
            answerer: changed(Side::Answerer, &answerer),
        },
        ways: Both {
            opener: opener.way.clone(),
            answerer: answerer.way.clone(),
        },
        extent,
        alone: None,
    };
    let near = match times.near {
        Side::Opener => opener,
        Side::Answerer => answerer,
    };
    settle::settle(found, told, &near);
    Ok(())
}

/// Returns the minimum round-trip time between both endpoints, from the capture point or else from the data.
fn round_trip(found: &ConnectionFindings) -> Option<Duration> {
    let vantages = found.all_streams().map(|stream| stream.vantage);
    let ways = vantages.map(|vantage| vantage.to_sender + vantage.to_receiver);
    let ways = ways.max().filter(|whole| !whole.is_zero());
    let least = found
        .all_streams()
        .filter_map(|stream| stream.path.least_rtt.value());
    ways.or(least.min())
}
