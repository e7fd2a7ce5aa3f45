//! Limit on the number of connections. If necessary, the least valuable connection is aborted for a new one.

use dupack_tcp::connection::Segment;
use dupack_tcp::time::Instant;

use super::Host;
use super::endpoint::Endpoint;
use super::groups::completes;
use crate::device::Device;

/// Upper bounds on the number of connections of each kind. Connections that have ended since the last count are
/// included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Census {
    /// Connections whose handshake is complete.
    pub(super) open: usize,
    /// Connections with an unfinished handshake that the peer started.
    pub(super) half_open: usize,
}

impl<D: Device> Host<D> {
    /// Counts the connections.
    pub(super) fn take_census(&mut self) {
        let mut census = Census::default();
        for endpoint in &self.endpoints {
            if endpoint.is_half_open() {
                census.half_open += 1;
            } else if !endpoint.is_over() && endpoint.left().is_none() {
                census.open += 1;
            }
        }
        self.census = census;
    }

    /// Returns `true` if the host may store one more SYN.
    pub(super) const fn has_half_open_room(&self) -> bool {
        self.census.half_open < self.config.half_open_max
    }

    fn has_room(&mut self) -> bool {
        if self.census.open >= self.config.connections_max {
            // Some connections may be over.
            self.take_census();
        }
        self.census.open < self.config.connections_max
    }

    /// Returns `true` if [`make_room`](Self::make_room) would succeed now.
    pub(super) fn may_have_room(&mut self) -> bool {
        self.has_room() || self.longest_shut_out().is_some()
    }

    /// Makes space for one more connection, if necessary by aborting another one (see
    /// [`connections_max`](super::HostConfig::connections_max)). Returns `true` on success. Call it only for peers that
    /// have proved that they receive our packets.
    pub(super) fn make_room(&mut self) -> bool {
        if self.has_room() {
            return true;
        }
        let Some(index) = self.longest_shut_out() else {
            return false;
        };
        self.endpoints[index].abort();
        self.census.open -= 1;
        self.counters.displaced += 1;
        if !self.owing.contains(&index) {
            // The connection's application and peer must be informed.
            self.owing.push(index);
        }
        true
    }

    /// Returns `true` if a segment for the connection at `index` is dropped because it may complete a handshake and the
    /// host has no space for another connection. The peer retransmits the segment.
    pub(super) fn must_wait(&mut self, index: usize, segment: &Segment) -> bool {
        completes(segment) && self.endpoints[index].is_half_open() && !self.make_room()
    }

    /// Returns the connection whose peer has kept its window closed for longest, if it has done so for longer than the
    /// user timeout. The user timeout alone does not end such a connection (RFC 9293 §3.8.6.1, RFC 6429).
    fn longest_shut_out(&self) -> Option<usize> {
        let now = self.clock.now();
        let since = |endpoint: &Endpoint| -> Option<Instant> {
            let connection = endpoint.connection();
            let since = connection
                .shut_out_since()
                .filter(|_| !endpoint.is_over())?;
            (since + connection.config().user_timeout <= now).then_some(since)
        };
        let endpoints = self.endpoints.iter().enumerate();
        let shut_out = endpoints.filter_map(|(index, endpoint)| Some((since(endpoint)?, index)));
        shut_out.min().map(|(_, index)| index)
    }
}
