//! Configuration of a host, and the errors of opening a connection.

use std::net::{IpAddr, SocketAddr};

use dupack_tcp::time::Duration;
use thiserror::Error;

/// Configuration of a host. [`HostConfig::new`] sets the usual values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostConfig {
    /// The host's own addresses. They are not addresses of the kernel.
    pub addresses: Vec<IpAddr>,
    /// Destination addresses that the host accepts.
    pub destinations: Destinations,
    /// Size of each connection's send buffer, in bytes. The buffer keeps data until it is acknowledged.
    pub send_buffer: usize,
    /// Time for which the host keeps running to answer its peers after its last connection has reached TIME-WAIT. If it
    /// is shorter than a peer's RTO and the last ACK is lost, the peer retransmits until it gives up.
    pub linger: Duration,
    /// Maximum number of connections kept in TIME-WAIT. If there are more, the oldest one is removed. Connections in
    /// TIME-WAIT do not count towards [`connections_max`](Self::connections_max). Each takes about 300 bytes.
    pub time_waits_max: usize,
    /// Maximum number of simultaneous connections, not counting unfinished handshakes. A connection beyond the limit
    /// replaces the connection whose peer has kept its window closed for longest while answering window probes,
    /// provided that this has lasted longer than the user timeout (RFC 6429). If there is no such connection, SYNs are
    /// not answered, and the segment that completes a handshake must be retransmitted.
    pub connections_max: usize,
    /// Maximum number of simultaneous handshakes that peers have started. A SYN beyond the limit is answered with a
    /// cookie (RFC 4987 §3.6) and not stored. The resulting connection may use SACK, but no window scaling, timestamps
    /// or ECN. A SYN beyond the limit is not answered if the peer's maximum segment size is below 536 bytes.
    pub half_open_max: usize,
}

/// Destination addresses that a host accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destinations {
    /// Only the host's own addresses. Packets to other addresses are not for the host.
    #[default]
    OwnAddresses,
    /// Any unicast address. The host answers from the address that the packet was sent to. Use this for a host that
    /// represents whole networks, such as a responder behind a default route. Broadcast and multicast addresses are not
    /// valid for TCP (RFC 9293 §3.9.2.3, MUST-57). The host still opens connections from its own addresses.
    AnyUnicast,
}

impl HostConfig {
    /// Creates a configuration with these addresses: only the host's own addresses as destinations, 4 MiB of send
    /// buffer, one second to linger, 1024 connections, 256 handshakes, and 16,384 connections in TIME-WAIT (68 a second
    /// at a maximum segment lifetime of two minutes).
    #[must_use]
    pub const fn new(addresses: Vec<IpAddr>) -> Self {
        Self {
            addresses,
            destinations: Destinations::OwnAddresses,
            send_buffer: 4 << 20,
            linger: Duration::from_secs(1),
            time_waits_max: 1 << 14,
            connections_max: 1024,
            half_open_max: 256,
        }
    }

    /// Returns `true` if a packet to `destination` is for the host.
    pub(super) fn takes(&self, destination: IpAddr) -> bool {
        match self.destinations {
            Destinations::OwnAddresses => self.addresses.contains(&destination),
            Destinations::AnyUnicast => is_unicast(destination),
        }
    }

    /// Returns `true` if `source` is a valid source address of a packet to the host: a unicast address of another host.
    /// Packets from other sources are silently dropped (RFC 9293 §3.10.7.2, MUST-63; RFC 1122 §3.2.1.3).
    pub(super) fn hears(&self, source: IpAddr) -> bool {
        // An IPv4-mapped IPv6 address is not valid in a packet.
        let is_mapped = source.to_canonical() != source;
        let is_own = self.addresses.contains(&source);
        is_unicast(source) && !source.is_loopback() && !is_mapped && !is_own
    }
}

/// Returns `true` if a single host may have this address.
fn is_unicast(address: IpAddr) -> bool {
    let is_broadcast = match address {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(_) => false,
    };
    !(is_broadcast || address.is_multicast() || address.is_unspecified())
}

/// Reason why a connection cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The host has no address of the peer's family.
    #[error("the host has no address of the same IP version as {peer}")]
    NoAddress {
        /// Address of the peer.
        peer: SocketAddr,
    },
    /// There are too many connections.
    #[error("the host has reached its maximum number of connections")]
    TooMany,
    /// Every port is in use for connections to the peer.
    #[error("no local port is free for a connection to {peer}")]
    NoPort {
        /// Address of the peer.
        peer: SocketAddr,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(destinations: Destinations) -> impl Fn(&&str) -> bool {
        let own = ["10.0.0.1", "fd00::1"].map(|text| text.parse().expect("an address"));
        let mut config = HostConfig::new(own.to_vec());
        config.destinations = destinations;
        move |text| config.takes(text.parse().expect("an address"))
    }

    #[test]
    fn sources_must_be_unicast_addresses_of_other_hosts() {
        let own = ["10.0.0.1", "fd00::1"].map(|text| text.parse().expect("an address"));
        let config = HostConfig::new(own.to_vec());
        let hears = |text: &&str| config.hears(text.parse().expect("an address"));
        assert!(["10.0.0.2", "8.8.8.8", "fd00::2"].iter().all(hears));
        let invalid = [
            "224.0.0.1",
            "255.255.255.255",
            "127.0.0.1",
            "0.0.0.0",
            "10.0.0.1",
        ];
        assert!(!invalid.iter().any(hears));
        let invalid = ["ff02::1", "::1", "::", "fd00::1", "::ffff:10.0.0.2"];
        assert!(!invalid.iter().any(hears));
    }

    #[test]
    fn foreign_destinations_depend_on_the_policy() {
        let (own, foreign) = (["10.0.0.1", "fd00::1"], ["10.0.0.2", "8.8.8.8", "fd00::2"]);
        let nobodys = ["0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "ff02::1"];
        let strict = takes(Destinations::OwnAddresses);
        assert!(own.iter().all(&strict));
        assert!(!foreign.iter().chain(&nobodys).any(&strict));
        let open = takes(Destinations::AnyUnicast);
        assert!(own.iter().chain(&foreign).all(&open));
        assert!(!nobodys.iter().any(&open));
    }
}
