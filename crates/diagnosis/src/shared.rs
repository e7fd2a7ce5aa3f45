//! Streams of one capture that share a bottleneck.
//!
//! A link passes so much and no more. While several streams wait at the same one, what one of them gets the others do not: the sum of what
//! comes through is the link's rate, and constant, while the part of each varies. And all of them wait for the same queue. So two things
//! must hold in windows of time in which the streams have data outstanding and a queue stands:
//!
//! 1. What comes through of one grows by what comes through of the others falls by: the changes from one window to the next are
//!    correlated negatively, by [`DEVIATIONS_MIN`] standard deviations or more. Changes of neighbouring windows depend on each other, and tell less
//!    than independent ones; how much less, their autocorrelation says (Bartlett, 1935; Pyper and Peterman, 1998). Changes, because shares
//!    drift for seconds, and any two drifts are correlated.
//! 2. Their queueing delays rise and fall together, from window to window.
//!
//! Each excludes what the other does not. Streams that begin, pause or lose at the same time have delays alike on separate ways; but what
//! comes through of them goes up and down together. An application that gives now to one stream and now to the other makes them the
//! rest of each other; but then their queues are not alike.
//!
//! RFC 8382 (shared bottleneck detection for RTP media) groups streams by summary statistics of their one-way delay: skewness,
//! variability, frequency of oscillation, and packet loss. It has no common clock of its receivers. A capture has one, so that the delays themselves can be
//! compared; and two bottlenecks alike, with senders alike, have the same statistics. As there, delays are means of base time
//! intervals, and only differences of delays count.
//!
//! Windows are no shorter than the longest round trip: an ACK tells of what left the bottleneck up to a round trip ago, and of each stream
//! another time ago.
//!
//! Streams are joined pair by pair, those first that tell the most, and a bundle is then held against the next stream by its sum. At the
//! end every stream is held against all others of its bundle. Where the sum varies, others that the capture does not show have a part of the bottleneck, too, or
//! it is not always full.

mod bundle;
mod candidate;
mod correlation;
mod evidence;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use dupack_tcp::time::Duration;

pub(crate) use candidate::{Candidate, Candidates};

use crate::read::side::Side;
use bundle::Bundle;
use evidence::{Comparison, Evidence};

/// Rates are the rest of each other by no less than so many standard deviations. With 64 streams there are 2,016 pairs, each looked at in four
/// widths of windows: by chance one of the pairs is beyond 4.8 in one of 150 captures.
pub const DEVIATIONS_MIN: f64 = 4.8;

/// Bundles are joined from so many on (ours): each of several streams is held against the others at the end.
const JOINED_FROM: f64 = 3.0;

/// The coefficient of rates is no more than this (ours: half of the variation of a stream is the others').
pub const RATES_MAX: f64 = -0.5;

/// The coefficient of delays is no less than this, and its deviations (ours).
pub const DELAYS_MIN: f64 = 0.5;
const DELAY_DEVIATIONS_MIN: f64 = 3.0;

/// The sum of the rates is constant if its standard deviation is no more than this share of its mean (ours: ACKs come in bursts).
pub const SUM_CONSTANT: f64 = 0.05;

/// Streams that share a bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedBottleneck {
    /// The streams, by the numbers of their connections.
    pub streams: Vec<Sharer>,
    /// What came through of all of them while several waited, in bit/s, headers of IP and TCP included.
    pub rate: f64,
    /// The standard deviation of that among the windows, as a share of it.
    pub rate_varies: f64,
    /// The windows of time in which this was so: how many, and how long each is.
    pub windows: usize,
    /// The length of a window.
    pub width: Duration,
}

/// A stream of a shared bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharer {
    /// Its connection.
    pub connection: u64,
    /// The end that sends it.
    pub side: Side,
    /// Its share of the rate while it and others waited.
    pub share: f64,
    /// The correlation of the changes of what came through of it and of the others.
    pub rates: f64,
    /// So many standard deviations that is away from none.
    pub deviations: f64,
    /// The same of its queueing delays and the others'.
    pub delays: f64,
}

/// Two bundles may be one.
fn may_join(evidence: &Evidence) -> bool {
    evidence.rates.deviations() <= -JOINED_FROM && queues_alike(evidence)
}

fn queues_alike(evidence: &Evidence) -> bool {
    evidence
        .delays
        .is_some_and(|delays| delays.r >= DELAYS_MIN && delays.deviations() >= DELAY_DEVIATIONS_MIN)
}

/// Shared bottlenecks of a capture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedBottlenecks {
    /// Bottlenecks that several streams share.
    pub found: Vec<SharedBottleneck>,
    /// Streams that were compared with another: both waited in a queue at the same time, for long enough.
    pub compared: u64,
    /// Streams that could be compared with none: they share a bottleneck or not, the capture does not tell it.
    pub untold: u64,
}

/// The bottlenecks that several of the candidates share.
pub(crate) fn find(candidates: Candidates) -> SharedBottlenecks {
    let streams = candidates.streams();
    let all = candidates.finish();
    let (bundles, compared) = bundles(&all);
    let mut found: Vec<SharedBottleneck> = bundles
        .into_iter()
        .filter_map(|bundle| verified(&all, bundle.members))
        .collect();
    found.sort_by_key(|one| one.streams.first().map(|stream| stream.connection));
    SharedBottlenecks {
        found,
        compared: compared.len() as u64,
        untold: streams.saturating_sub(compared.len() as u64),
    }
}

/// What was worked out of two bundles, by their first members and by how many there are: that stays so until one of both grows.
type Known = HashMap<[(usize, usize); 2], Comparison>;

/// Joins candidates until nothing more goes together; and the places of those that could be compared with another.
fn bundles(all: &[Candidate]) -> (Vec<Bundle>, BTreeSet<usize>) {
    let mut bundles: Vec<Bundle> = all
        .iter()
        .enumerate()
        .map(|(place, candidate)| Bundle::of(place, candidate))
        .collect();
    let mut compared = BTreeSet::new();
    let mut known = Known::new();
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for (n, one) in bundles.iter().enumerate() {
            for (m, other) in bundles.iter().enumerate().skip(n + 1) {
                let Comparison { possible, evidence } = compare(all, [one, other], &mut known);
                if possible {
                    compared.extend(one.members.iter().chain(&other.members));
                }
                let Some(evidence) = evidence.filter(may_join) else {
                    continue;
                };
                let deviations = evidence.rates.deviations();
                if best.is_none_or(|(least, ..)| deviations < least) {
                    best = Some((deviations, n, m));
                }
            }
        }
        let Some((_, n, m)) = best else {
            return (bundles, compared);
        };
        let other = bundles.remove(m);
        if let Some(one) = bundles.get_mut(n) {
            *one = one.join(&other);
        }
    }
}

fn compare(all: &[Candidate], [one, other]: [&Bundle; 2], known: &mut Known) -> Comparison {
    let name = |bundle: &Bundle| {
        let first = bundle.members.first().copied();
        (first.unwrap_or_default(), bundle.members.len())
    };
    let comparison = known.entry([name(one), name(other)]);
    *comparison.or_insert_with(|| {
        if run_along(all, one, other) {
            Comparison::of(one, other)
        } else {
            Comparison::default()
        }
    })
}

fn run_along(all: &[Candidate], one: &Bundle, other: &Bundle) -> bool {
    let of = |places: &[usize]| -> Vec<&Candidate> {
        places.iter().filter_map(|place| all.get(*place)).collect()
    };
    let theirs = of(&other.members);
    let mut own = of(&one.members).into_iter();
    own.all(|one| theirs.iter().all(|other| one.runs_along(other)))
}

/// Holds every stream against the others, and leaves out those that do not go with them.
fn verified(all: &[Candidate], mut members: Vec<usize>) -> Option<SharedBottleneck> {
    while members.len() > 1 {
        let each: Vec<Option<Evidence>> = members
            .iter()
            .map(|member| against_others(all, &members, *member))
            .collect();
        let holds = |evidence: &Option<Evidence>| {
            evidence.as_ref().is_some_and(|evidence| {
                evidence.rates.deviations() <= -DEVIATIONS_MIN
                    && evidence.rates.r <= RATES_MAX
                    && queues_alike(evidence)
            })
        };
        if each.iter().all(holds) {
            return told(all, &members, each.into_iter().flatten().collect());
        }
        let mut held = each.iter().map(holds);
        members.retain(|_| held.next() == Some(true));
    }
    None
}

fn against_others(all: &[Candidate], members: &[usize], member: usize) -> Option<Evidence> {
    let bundle = |place: usize| Some(Bundle::of(place, all.get(place)?));
    let others = members.iter().filter(|other| **other != member);
    let mut others = others.filter_map(|place| bundle(*place));
    let first = others.next()?;
    let rest = others.fold(first, |sum, other| sum.join(&other));
    Comparison::of(&bundle(member)?, &rest).evidence
}

fn told(all: &[Candidate], members: &[usize], each: Vec<Evidence>) -> Option<SharedBottleneck> {
    // Of the stream that shares for the longest.
    let time = |evidence: &&Evidence| evidence.width.saturating_mul(evidence.windows as u64);
    let longest = each.iter().max_by_key(time)?;
    let streams = members.iter().zip(&each).filter_map(|(place, evidence)| {
        let candidate = all.get(*place)?;
        Some(Sharer {
            connection: candidate.connection,
            side: candidate.side,
            share: evidence.share,
            rates: evidence.rates.r,
            deviations: evidence.rates.deviations(),
            delays: evidence.delays.map_or(0.0, |delays| delays.r),
        })
    });
    let mut streams: Vec<Sharer> = streams.collect();
    streams.sort_by_key(|stream| (stream.connection, stream.side));
    Some(SharedBottleneck {
        streams,
        rate: longest.rate,
        rate_varies: longest.sum_varies,
        windows: longest.windows,
        width: longest.width,
    })
}
