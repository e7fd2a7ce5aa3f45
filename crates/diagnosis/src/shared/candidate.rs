//! Streams that may share a bottleneck: those that carried the most.

use std::net::IpAddr;

use dupack_tcp::time::Duration;

use crate::path::series::Series;
use crate::read::side::Side;

/// Streams that are held beside each other (ours): two thousand pairs, a megabyte.
pub(super) const CANDIDATES_MAX: usize = 64;

/// A stream, with what came through over time.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Its connection.
    pub connection: u64,
    /// The end that sends it.
    pub side: Side,
    /// The hosts of its sender and of its receiver.
    pub hosts: [IpAddr; 2],
    /// Its least round-trip time.
    pub round_trip: Duration,
    pub series: Series,
}

impl Candidate {
    /// Whether both may cross the same link in the same direction: neither ends at the host where the other begins.
    pub(super) fn runs_along(&self, other: &Self) -> bool {
        let [from, to] = self.hosts;
        let [other_from, other_to] = other.hosts;
        from != other_to && to != other_from
    }
}

/// The streams that carried the most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    most: Vec<Candidate>,
    /// All streams, those included that are no candidates.
    streams: u64,
}

impl Candidates {
    /// The streams of one more connection, `streams` in all, of which these may share a bottleneck.
    pub(crate) fn push(&mut self, streams: u64, those: Vec<Candidate>) {
        self.streams += streams;
        self.most
            .extend(those.into_iter().filter(|one| one.series.bytes() > 0));
        if self.most.len() >= 2 * CANDIDATES_MAX {
            self.cut();
        }
    }

    /// How many streams there are.
    pub(super) const fn streams(&self) -> u64 {
        self.streams
    }

    fn cut(&mut self) {
        self.most.sort_by_key(|one| {
            let bytes = std::cmp::Reverse(one.series.bytes());
            (bytes, one.connection, one.side)
        });
        self.most.truncate(CANDIDATES_MAX);
    }

    /// All of them, the first connection first.
    pub(super) fn finish(mut self) -> Vec<Candidate> {
        self.cut();
        self.most.sort_by_key(|one| (one.connection, one.side));
        self.most
    }
}
