//! Room for one more connection, at the cost of those that are worth least.

use dupack_tcp::connection::Segment;
use dupack_tcp::time::Instant;

use super::Host;
use super::endpoint::Endpoint;
use super::groups::completes;
use crate::device::Device;

/// How many connections there are at most, of each kind: those that have ended since it was taken count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Census {
    /// Those whose handshake is over.
    pub(super) open: usize,
    /// Those whose peer has begun a handshake that is not over.
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

    /// Whether one more SYN may be remembered.
    pub(super) const fn has_half_open_room(&self) -> bool {
        self.census.half_open < self.config.half_open_max
    }

    fn has_room(&mut self) -> bool {
        if self.census.open >= self.config.connections_max {
            // Some may be over.
            self.take_census();
        }
        self.census.open < self.config.connections_max
    }

    /// Whether [`make_room`](Self::make_room) would find room now.
    pub(super) fn may_have_room(&mut self) -> bool {
        self.has_room() || self.longest_shut_out().is_some()
    }

    /// Whether there may be one more connection, if need be in the place of another (see
    /// [`connections_max`](super::HostConfig::connections_max)). It is for peers that have shown that
    /// they get what is sent to them.
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
            // Its application and its peer are to know.
            self.owing.push(index);
        }
        true
    }

    /// Whether a segment for the connection at `index` must wait, as it may end a handshake and there
    /// is no room: the peer sends it again.
    pub(super) fn must_wait(&mut self, index: usize, segment: &Segment) -> bool {
        completes(segment) && self.endpoints[index].is_half_open() && !self.make_room()
    }

    /// The connection whose peer has held its window closed for longest, and for longer than the
    /// user timeout, which alone does not end it (RFC 9293 §3.8.6.1, RFC 6429).
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
