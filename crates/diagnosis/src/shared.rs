//! Streams of one capture that share a bottleneck.
//!
//! The capacity of a link is limited. While several streams wait at the same link, one stream gains the capacity that
//! the other streams lose: the sum of the delivered data equals the link's rate and is constant, while the share of
//! each stream varies. In addition, all of them wait in the same queue. Therefore, two conditions must hold in the time
//! windows in which the streams have outstanding data and there is a queue:
//!
//! 1. The delivered data of one stream increases when that of the other streams decreases: the changes from one window to
//!    the next are correlated negatively, by at least [`DEVIATIONS_MIN`] standard deviations. Changes of neighbouring
//!    windows depend on each other and carry less information than independent ones; their autocorrelation shows how much
//!    less (Bartlett, 1935; Pyper and Peterman, 1998). Changes are used because shares drift for seconds, and any two
//!    drifts are correlated.
//! 2. The queueing delays of the streams rise and fall together, from window to window.
//!
//! Each condition excludes cases that the other does not. Streams that begin, pause or lose packets at the same time
//! have similar delays on separate paths, but their delivered data rises and falls together. If an application
//! alternates between two streams, their data is complementary, but their queueing delays are not similar.
//!
//! RFC 8382 (shared bottleneck detection for RTP media) groups streams by summary statistics of their one-way delay:
//! skewness, variability, frequency of oscillation, and packet loss. The receivers in this RFC have no common clock. A
//! capture has one, so the delays themselves can be compared; two similar bottlenecks with similar senders would have
//! the same statistics. As in the RFC, the delays of each base time interval are averaged, and only differences of
//! delays count.
//!
//! Windows are at least as long as the longest of the streams' minimum round-trip times: an ACK reports data that left
//! the bottleneck up to one round trip before, at a different time for each stream.
//!
//! Streams are joined in pairs, beginning with the pair that has the strongest evidence. The sum of this bundle is then
//! compared with the other streams. At the end, every stream is compared with all others of its bundle. If the sum
//! varies, streams outside the capture also use the bottleneck, or the bottleneck is not always full.

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

/// Minimum number of standard deviations by which the rates of streams are complementary. 64 streams form 2,016 pairs,
/// and each pair is compared at four window widths. In one of 150 captures, a pair exceeds 4.8 by chance.
pub const DEVIATIONS_MIN: f64 = 4.8;

/// Minimum number of standard deviations for bundles to be joined (our choice): at the end, each stream is compared
/// with the others.
const JOINED_FROM: f64 = 3.0;

/// Maximum correlation coefficient of the rates (our choice: the other streams cause half of a stream's variation).
pub const RATES_MAX: f64 = -0.5;

/// Minimum correlation coefficient of the delays, and its minimum number of standard deviations (our choice).
pub const DELAYS_MIN: f64 = 0.5;
const DELAY_DEVIATIONS_MIN: f64 = 3.0;

/// Maximum standard deviation of a constant sum of rates, as a fraction of its mean (our choice: ACKs arrive in
/// bursts).
pub const SUM_CONSTANT: f64 = 0.05;

/// Bottleneck shared by several streams.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedBottleneck {
    /// Streams, sorted by connection number.
    pub streams: Vec<Sharer>,
    /// Total rate of all streams while several of them waited, in bit/s, including IP and TCP headers.
    pub rate: f64,
    /// Standard deviation of this rate over the windows, as a fraction of the rate.
    pub rate_varies: f64,
    /// Number of time windows in which several streams waited.
    pub windows: usize,
    /// Length of a window.
    pub width: Duration,
}

/// Stream that shares a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharer {
    /// Connection number.
    pub connection: u64,
    /// Endpoint that sends the stream.
    pub side: Side,
    /// Fraction of the rate that this stream had while it and other streams waited.
    pub share: f64,
    /// Correlation of the changes in the delivered data of this stream with those of the other streams.
    pub rates: f64,
    /// Number of standard deviations by which this correlation differs from zero.
    pub deviations: f64,
    /// Correlation of the changes in the queueing delays of this stream with those of the other streams.
    pub delays: f64,
}

/// Returns `true` if two bundles may share a bottleneck.
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
    /// Bottlenecks shared by several streams.
    pub found: Vec<SharedBottleneck>,
    /// Number of streams that were compared with another stream: both waited in a queue at the same time for long
    /// enough.
    pub compared: u64,
    /// Number of streams that could not be compared with any other stream, so that it is unknown whether they share a
    /// bottleneck.
    pub untold: u64,
}

/// Finds the bottlenecks that are shared by several of the candidates.
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

/// Comparisons of two bundles that were already made, indexed by the bundles' first members and sizes. A comparison
/// stays valid until one of the bundles grows.
type Known = HashMap<[(usize, usize); 2], Comparison>;

/// Joins candidates until no more candidates match. Returns the bundles, and the indices of the candidates that could
/// be compared with another candidate.
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

/// Compares every stream with the other streams, and removes those that do not match.
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
    // The following values are taken from the stream that shares the bottleneck for the longest time.
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
