//! Streams that may share a bottleneck: those that carried the most data.

use std::net::IpAddr;

use dupack_tcp::time::Duration;

use crate::path::series::Series;
use crate::read::side::Side;

/// Maximum number of streams that are compared (our choice): this gives two thousand pairs and takes one megabyte.
pub(super) const CANDIDATES_MAX: usize = 64;

/// Stream with its delivered data over time.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Connection number.
    pub connection: u64,
    /// Endpoint that sends the stream.
    pub side: Side,
    /// Hosts of the sender and of the receiver.
    pub hosts: [IpAddr; 2],
    /// Minimum round-trip time.
    pub round_trip: Duration,
    pub series: Series,
}

impl Candidate {
    /// Returns `true` if both streams may use the same link in the same direction, because neither ends at the host
    /// where the other begins.
    pub(super) fn runs_along(&self, other: &Self) -> bool {
        let [from, to] = self.hosts;
        let [other_from, other_to] = other.hosts;
        from != other_to && to != other_from
    }
}

/// Streams that carried the most data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    most: Vec<Candidate>,
    /// Number of all streams, including those that are not candidates.
    streams: u64,
}

impl Candidates {
    /// Adds a connection with `streams` streams. `those` contains its streams that may share a bottleneck.
    pub(crate) fn push(&mut self, streams: u64, those: Vec<Candidate>) {
        self.streams += streams;
        self.most
            .extend(those.into_iter().filter(|one| one.series.bytes() > 0));
        if self.most.len() >= 2 * CANDIDATES_MAX {
            self.cut();
        }
    }

    /// Returns the number of all streams.
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

    /// Returns all candidates, sorted by connection.
    pub(super) fn finish(mut self) -> Vec<Candidate> {
        self.cut();
        self.most.sort_by_key(|one| (one.connection, one.side));
        self.most
    }
}
