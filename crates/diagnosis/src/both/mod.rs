//! Two captures of the same transfer, one at each end, joined.
//!
//! ```text
//! capture here ──► diagnose ─► worst connections ─► record ─┐
//!                                                           ├─► match ─► clock ─► match ─► fates, delays
//! capture there ─► find them by sequence numbers ─► record ─┘
//! ```
//!
//! A connection is found in the other capture by sequence and ACK numbers, which a NAT leaves alone. Each packet is matched by
//! sequence numbers, length, and whatever else the path preserves: timestamps, IPv4 identification, window and SACK blocks.
//! Of equal copies the latest that can have arrived by then is the one that arrived.
//!
//! The clocks need not agree. For a packet of each direction, one soon after the other, the sum of both one-way delays
//! follows from four times without any offset: its sign tells which capture is nearer to which end. The offset lies between
//! the least differences of both directions; no capture tells where, so that the least round trip is halved. Skew is the
//! slope of the convex hull of the least differences (Moon, Skelly, Towsley: INFOCOM 1999).
//!
//! Memory is bounded: at most [`CONNECTIONS_MAX`] connections are joined, and the first [`PACKETS_MAX`] packets of them in
//! each capture, of some 60 bytes each and twice that while they are matched.

mod clock;
mod fates;
mod matching;
mod pieces;
mod ranges;
mod record;
mod settle;

use std::io::Read;
use std::net::SocketAddr;

use dupack_packet::captured::{CaptureReader, ReadError};
use dupack_tcp::time::Duration;
use thiserror::Error;

use crate::diagnose::{Diagnosis, Extent, Watch, diagnose};
use crate::findings::ConnectionFindings;
use crate::read::side::{Both, Side};
use crate::selection::Selection;
use crate::told::Told;

use record::{Recorded, Track};

/// Connections that are joined, the worst of a capture (ours).
pub const CONNECTIONS_MAX: usize = 64;

/// Packets of all these connections that are joined, of each capture (ours: some 200 MB while they are matched).
pub const PACKETS_MAX: usize = 1 << 20;

/// A connection in two captures: this one and the other.
#[derive(Clone, Debug, PartialEq)]
pub struct BothEnds {
    /// Addresses of both ends in the other capture: others than here if a NAT lies between.
    pub there: Both<SocketAddr>,
    /// The end that this capture is nearer to. The other capture is nearer to the other end.
    pub near: Side,
    /// Least time from one capture to the other and back. It depends on no clock.
    pub round_trip: Duration,
    /// The other capture's clock; `None` if no line describes it: a clock was set meanwhile.
    pub clock: Option<Clock>,
    /// The packets of each end, between the two captures.
    pub ways: Both<Way>,
    /// Whether all packets of the connection were joined.
    pub extent: Joined,
    /// The findings of this capture alone that were replaced, for the data of [`Self::near`].
    pub alone: Option<Alone>,
}

/// Whether all packets of a connection were joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// All of them.
    All,
    /// The first of them: there are more than [`PACKETS_MAX`].
    First,
}

/// The other capture's clock beside this one's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Seconds that it is ahead at the first packet that both captures have; negative if it is behind.
    pub offset_s: f64,
    /// Half of the least round trip: the offset may be so much more or less, as no capture tells how the least round trip
    /// divides between both ways.
    pub uncertainty: Duration,
    /// Seconds that it gains in a second; negative if it loses.
    pub skew: Told<f64>,
}

/// The packets of one end, between the two captures. Packets are segments: what an interface with offload shows as one is
/// counted as the segments that it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Packets that the capture near their sender has.
    pub sent: u64,
    /// Those of them that the other capture has, too.
    pub arrived: u64,
    /// Lost packets with data, SYN or FIN.
    pub lost_data: u64,
    /// Retransmissions among them.
    pub lost_again: u64,
    /// Lost packets without data: ACKs.
    pub lost_acks: u64,
    /// Packets that the far capture lacks although they arrived: they were acknowledged there.
    pub missing_far: u64,
    /// Packets that the far capture has and the near one lacks.
    pub missing_near: u64,
    /// Packets whose fate is not known: the other capture had not begun or was over, or lacks packets of that kind.
    pub undecided: u64,
    /// Packets that arrived after others that were sent later.
    pub reordered: u64,
    /// Packets that the far capture has more often than the near one.
    pub duplicated: u64,
    /// Packets with data.
    pub segments: u64,
    /// Retransmissions, without probes.
    pub retransmissions: u64,
    /// Retransmissions of data that had arrived or was on its way.
    pub needless: u64,
    /// Retransmissions of which this is not known.
    pub need_unknown: u64,
    /// One-way delays, if the offset is known.
    pub delays: Option<Delays>,
}

/// One-way delays. The least of either way is half of the least round trip by definition; what exceeds it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// The least.
    pub least: Duration,
    /// Median.
    pub p50: Duration,
    /// 95th percentile.
    pub p95: Duration,
    /// The longest.
    pub max: Duration,
}

impl Delays {
    /// The time beyond the least, of which 5 % of the packets took more: time in queues.
    #[must_use]
    pub fn queueing(&self) -> Duration {
        self.p95.saturating_sub(self.least)
    }
}

/// Place of the queue between the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Packets wait nowhere.
    Nowhere,
    /// On the way of the packets of this end.
    From(Side),
    /// On both ways.
    BothWays,
}

/// Delay beyond the least that counts as a queue (ours): a delayed interrupt or a busy host takes less.
const QUEUE_MIN: Duration = Duration::from_millis(1);

/// One way has the queue if packets wait so many times as long there (ours).
const QUEUE_RATIO: u64 = 3;

impl BothEnds {
    /// The place of the queue; `None` if delays are not known.
    #[must_use]
    pub fn queue(&self) -> Option<Queue> {
        let [one, other] = Side::BOTH.map(|side| self.ways.of(side).delays);
        let waits = [one?.queueing(), other?.queueing()];
        let least = QUEUE_MIN.max(self.round_trip / 20);
        let longer = |a: Duration, b: Duration| a > b.saturating_mul(QUEUE_RATIO);
        Some(match waits {
            [a, b] if a < least && b < least => Queue::Nowhere,
            [a, b] if longer(a, b) => Queue::From(Side::Opener),
            [a, b] if longer(b, a) => Queue::From(Side::Answerer),
            _ => Queue::BothWays,
        })
    }
}

/// What one capture alone told, where both tell something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Lost segments.
    pub losses: u64,
    /// Needless retransmissions.
    pub needless: u64,
}

/// One of two captures, in the order in which they were named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The first.
    First,
    /// The second.
    Second,
}

impl Which {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Why two captures cannot be joined.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BothError {
    /// One of them cannot be read.
    #[error("{1}")]
    Read(Which, ReadError),
    /// No packet is in both.
    #[error("no connection is in both captures: no packet of one has the sequence numbers of a packet of the other")]
    NothingShared,
    /// They are copies of one another.
    #[error("both captures have the same packets at the same times: they are one capture")]
    SameCapture,
    /// They were taken at one place.
    #[error("both captures were taken at the same end: packets of both directions take no time from one to the other")]
    SamePlace,
    /// Packets of one direction only are in both.
    #[error("packets of one direction alone are in both captures: the clocks' offset takes packets of both")]
    OneDirection,
}

/// Why one connection cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    NotShared,
    OneDirection,
    SameCapture,
    SamePlace,
}

/// Diagnoses the one of two captures that lies nearer to the sender of the worst transfer, and joins the other to it:
/// [`ConnectionFindings::both`] has what both tell. Returns which capture is diagnosed. `open` opens either from its start, several
/// times. If `watch` stops it, or the diagnosed capture has no connection that is selected, nothing is joined.
///
/// # Errors
/// If a capture cannot be read, or if they share no connection.
pub fn diagnose_both<R: Read>(
    mut open: impl FnMut(Which) -> Result<CaptureReader<R>, ReadError>,
    selection: &Selection,
    watch: &mut dyn Watch,
) -> Result<(Diagnosis, Which), BothError> {
    let mut here = Which::First;
    loop {
        let failed = |error| BothError::Read(here, error);
        let mut reader = open(here).map_err(failed)?;
        let mut found = diagnose(&mut reader, selection.clone(), watch).map_err(failed)?;
        if found.extent == Extent::Interrupted || found.connections.is_empty() {
            return Ok((found, here));
        }
        if join(&mut found, (here, &mut open), selection, watch)? == Extent::Interrupted {
            found.extent = Extent::Interrupted;
            return Ok((found, here));
        }
        if here == Which::First && is_reversed(&found) {
            here = Which::Second;
            continue;
        }
        return Ok((found, here));
    }
}

/// Whether the worst connection that is joined has its sender nearer to the other capture.
fn is_reversed(found: &Diagnosis) -> bool {
    let mut joined = found.connections.iter().filter(|one| one.both.is_some());
    joined.next().is_some_and(|one| {
        let sender = one.main_stream().map(|stream| stream.side);
        one.both.as_ref().map(|both| both.near) != sender
    })
}

/// Joins the other capture to the findings of this one.
fn join<R: Read>(
    found: &mut Diagnosis,
    (here, open): (
        Which,
        &mut impl FnMut(Which) -> Result<CaptureReader<R>, ReadError>,
    ),
    selection: &Selection,
    watch: &mut dyn Watch,
) -> Result<Extent, BothError> {
    let there = here.other();
    let failed = |which| move |error| BothError::Read(which, error);
    let targets = found.connections.iter_mut();
    let mut targets: Vec<&mut ConnectionFindings> = targets
        .filter(|one| one.all_streams().next().is_some())
        .take(CONNECTIONS_MAX)
        .collect();
    let mut reader = open(here).map_err(failed(here))?;
    let own = record::here(&mut reader, &targets, selection, watch).map_err(failed(here))?;
    let Some(own) = own else {
        return Ok(Extent::Interrupted);
    };
    let mut reader = open(there).map_err(failed(there))?;
    let places = record::places(&mut reader, &own, watch).map_err(failed(there))?;
    let Some(places) = places else {
        return Ok(Extent::Interrupted);
    };
    let mut reader = open(there).map_err(failed(there))?;
    let other = record::there(&mut reader, &own, &places, watch).map_err(failed(there))?;
    let Some(other) = other else {
        return Ok(Extent::Interrupted);
    };
    let mut apart = Vec::new();
    for (n, target) in targets.iter_mut().enumerate() {
        let place = places.get(n).copied().flatten();
        let joined = match (own.tracks.get(n), other.tracks.get(n), place) {
            (Some(one), Some(two), Some(place)) => {
                connection(target, ((&own, one), (&other, two)), place)
            }
            _ => Err(Apart::NotShared),
        };
        if let Err(why) = joined {
            apart.push(why);
        }
    }
    if targets.iter().any(|one| one.both.is_some()) {
        return Ok(Extent::Whole);
    }
    let has = |why| apart.contains(&why);
    Err(if has(Apart::SameCapture) {
        BothError::SameCapture
    } else if has(Apart::SamePlace) {
        BothError::SamePlace
    } else if has(Apart::OneDirection) {
        BothError::OneDirection
    } else {
        BothError::NothingShared
    })
}

/// Joins one connection.
fn connection(
    found: &mut ConnectionFindings,
    (own, other): ((&Recorded, &Track), (&Recorded, &Track)),
    place: Both<SocketAddr>,
) -> Result<(), Apart> {
    let smss = |side: Side| found.streams.of(side).as_ref().map(|stream| stream.smss);
    let cut = Side::BOTH.map(|side| pieces::cut(own.1.of(side), other.1.of(side), smss(side)));
    let [opener, answerer] = cut;
    let pieces = Both { opener, answerer };
    let matched = Side::BOTH.map(|side| matching::sure(pieces.of(side)));
    let fields = [matched[0].fields, matched[1].fields];
    let times = clock::Times::of(&pieces, [&matched[0].pairs, &matched[1].pairs])?;
    let join = fates::Join {
        pieces: &pieces,
        fields,
        times: &times,
        windows: [own.0.window(), other.0.window()],
    };
    let [opener, answerer] = Side::BOTH.map(|side| join.way(side));
    let extent = match own.0.is_cut || other.0.is_cut {
        true => Joined::First,
        false => Joined::All,
    };
    let told = BothEnds {
        there: place,
        near: times.near,
        round_trip: times.round_trip,
        clock: times.clock(),
        ways: Both {
            opener: opener.way,
            answerer: answerer.way,
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
