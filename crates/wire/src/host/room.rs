//! Room for one more connection, at the cost of those that are worth least.

use dupack_tcp::time::Instant;

use super::Host;
use super::endpoint::Endpoint;
use crate::device::Device;

impl<D: Device> Host<D> {
    /// Whether there may be one more connection, if need be in the place of another (see
    /// [`connections_max`](super::HostConfig::connections_max)).
    pub(super) fn make_room(&mut self) -> bool {
        // Those that are over stay until they are forgotten, before the host waits again.
        let open = |endpoint: &&Endpoint| !endpoint.is_over() && endpoint.left().is_none();
        let full = self.endpoints.len() >= self.config.connections_max
            && self.endpoints.iter().filter(open).count() >= self.config.connections_max;
        if !full {
            return true;
        }
        // They stand in the order in which they came.
        let half_open = self.endpoints.iter().position(Endpoint::is_half_open);
        let Some(index) = half_open.or_else(|| self.longest_shut_out()) else {
            return false;
        };
        self.endpoints[index].abort();
        self.counters.displaced += 1;
        if half_open.is_none() && !self.owing.contains(&index) {
            // Its application and its peer are to know.
            self.owing.push(index);
        }
        true
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
