//! Matching of the segments of two captures.

use super::pieces::{Piece, Pieces};

/// Fields of a packet that the path preserves, in addition to sequence numbers and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    /// `true` if timestamp values are preserved.
    pub(super) value: bool,
    /// `true` if IPv4 identifications are preserved.
    pub(super) id: bool,
    /// `true` if echoed timestamps, windows and SACK blocks are preserved.
    pub(super) digest: bool,
}

/// Unambiguous matches.
#[derive(Debug)]
pub(super) struct Sure {
    /// Index of each matching segment in this capture and in the other one.
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) fields: Fields,
}

/// Properties of a segment that are equal in both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    seq: u32,
    len: u32,
    ack: u32,
    value: u32,
    digest: u32,
    id: u16,
    kind: u8,
}

impl Key {
    pub(super) fn of(piece: &Piece, fields: Fields) -> Self {
        let when = |holds, value| if holds { value } else { 0 };
        Self {
            seq: piece.seq,
            len: piece.len,
            ack: when(!piece.is_data(), piece.ack),
            value: when(fields.value, piece.value),
            digest: when(fields.digest, piece.digest),
            id: when(fields.id, u32::from(piece.id)) as u16,
            kind: piece.kind(),
        }
    }
}

/// Segments with the same key: their indices in one capture and in the other one, in order.
struct Alike {
    one: Vec<u32>,
    two: Vec<u32>,
}

/// Calls `take` for each group of segments with the same key.
fn each_alike(one: &[Piece], two: &[Piece], fields: Fields, mut take: impl FnMut(&Alike)) {
    let keyed = |pieces: &[Piece], which: bool| {
        let keys = pieces.iter().enumerate();
        keys.map(|(n, piece)| (Key::of(piece, fields), which, n as u32))
            .collect::<Vec<_>>()
    };
    let mut all = keyed(one, false);
    all.extend(keyed(two, true));
    all.sort_unstable();
    let mut alike = Alike {
        one: Vec::new(),
        two: Vec::new(),
    };
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        alike.one.clear();
        alike.two.clear();
        for &(_, which, place) in group {
            match which {
                false => alike.one.push(place),
                true => alike.two.push(place),
            }
        }
        take(&alike);
    }
}

/// Minimum number of segments in ten for which a field must be equal to count as preserved (our choice).
const PRESERVED_OF_TEN: usize = 9;

/// Returns the segments that each capture contains exactly once.
pub(super) fn sure(pieces: &Pieces) -> Sure {
    let (here, there) = (&pieces.here, &pieces.there);
    let pairs = single(here, there, Fields::default());
    let preserved = |same: fn(&Piece, &Piece) -> bool| {
        let both = pairs.iter().filter_map(|&pair| at(here, there, pair));
        let alike = both.filter(|(one, two)| same(one, two)).count();
        alike * 10 >= pairs.len() * PRESERVED_OF_TEN
    };
    let fields = Fields {
        value: preserved(|one, two| one.value == two.value),
        id: preserved(|one, two| one.id == two.id),
        digest: preserved(|one, two| one.digest == two.digest),
    };
    Sure {
        pairs: single(here, there, fields),
        fields,
    }
}

fn single(here: &[Piece], there: &[Piece], fields: Fields) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    each_alike(here, there, fields, |alike| {
        if let ([one], [two]) = (alike.one.as_slice(), alike.two.as_slice()) {
            pairs.push((*one, *two));
        }
    });
    pairs.sort_unstable();
    pairs
}

pub(super) fn at<'a>(
    one: &'a [Piece],
    two: &'a [Piece],
    (a, b): (u32, u32),
) -> Option<(&'a Piece, &'a Piece)> {
    Some((one.get(a as usize)?, two.get(b as usize)?))
}

/// Returns the index in `arrived` for each segment in `sent`; `None` if the segment did not arrive. `can` returns
/// `true` if an arrival may be that of a sent segment. If several sent segments are equal, the latest one for which
/// `can` returns `true` is taken.
pub(super) fn all(
    sent: &[Piece],
    arrived: &[Piece],
    fields: Fields,
    can: impl Fn(&Piece, &Piece) -> bool,
) -> Vec<Option<u32>> {
    let mut places = vec![None; sent.len()];
    let mut set = |one: u32, two: u32| {
        if let Some(place) = places.get_mut(one as usize) {
            *place = Some(two);
        }
    };
    each_alike(sent, arrived, fields, |alike| {
        if alike.one.len() == alike.two.len() {
            alike
                .one
                .iter()
                .zip(&alike.two)
                .for_each(|(&one, &two)| set(one, two));
            return;
        }
        let mut candidates = alike.one.as_slice();
        // If more equal segments arrived than were sent, only the first arrivals are matched. The surplus ones are
        // duplicates.
        for &two in alike.two.iter().take(alike.one.len()).rev() {
            while let [rest @ .., last] = candidates {
                candidates = rest;
                if at(sent, arrived, (*last, two)).is_some_and(|(one, two)| can(one, two)) {
                    set(*last, two);
                    break;
                }
            }
        }
    });
    places
}
