//! What a host is told at the start, and why it may not open a connection.

use std::net::{IpAddr, SocketAddr};

use dupack_tcp::time::Duration;
use thiserror::Error;

/// What a host shall be; [`HostConfig::new`] has the usual.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostConfig {
    /// Its own addresses, which are not the kernel's.
    pub addresses: Vec<IpAddr>,
    /// To which addresses packets may come.
    pub destinations: Destinations,
    /// Bytes that it keeps of a stream until they are acknowledged.
    pub send_buffer: usize,
    /// How long it stays to answer the peer after its last connection has come to TIME-WAIT. If
    /// that is less than the peer's RTO and the last ACK is lost, the peer asks until it gives up.
    pub linger: Duration,
    /// What is left of connections in TIME-WAIT, at most; beyond it the oldest is forgotten. They
    /// are no [`connections_max`](Self::connections_max): each takes 300 bytes or so.
    pub time_waits_max: usize,
    /// Connections at once, without those whose handshake is not over. One beyond them takes the place
    /// of that whose peer has taken nothing for longest, answering probes of its closed window, if for
    /// longer than the user timeout (RFC 6429). If there is none, SYNs get no answer, and what ends a
    /// handshake has to come again.
    pub connections_max: usize,
    /// Handshakes at once that peers have begun. A SYN beyond them is answered by a cookie (RFC 4987
    /// §3.6): nothing is kept of it, and a connection that comes of it has SACK, but neither window
    /// scaling nor timestamps nor ECN. Peers whose segments are shorter than 536 bytes get no answer then.
    pub half_open_max: usize,
}

/// To which addresses packets may come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destinations {
    /// To the host's own; it is not meant by others.
    #[default]
    OwnAddresses,
    /// To any address of a single host, and it answers from there: for a host that stands for
    /// whole networks, such as a responder behind a default route. Those to broadcast or
    /// multicast addresses are not for TCP (RFC 9293 §3.9.2.3, MUST-57). It still connects from
    /// its own.
    AnyUnicast,
}

impl HostConfig {
    /// A host at `addresses` and no other: 4 MiB of send buffer, a second to linger, 1024
    /// connections, 256 handshakes and 16,384 in TIME-WAIT (68 a second at two minutes of segment lifetime).
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

    /// Whether a packet to `destination` is for the host.
    pub(super) fn takes(&self, destination: IpAddr) -> bool {
        match self.destinations {
            Destinations::OwnAddresses => self.addresses.contains(&destination),
            Destinations::AnyUnicast => is_unicast(destination),
        }
    }

    /// Whether `source` may be that of a packet to the host: one other host's address. What comes
    /// from anywhere else is dropped in silence (RFC 9293 §3.10.7.2, MUST-63; RFC 1122 §3.2.1.3).
    pub(super) fn hears(&self, source: IpAddr) -> bool {
        // An address of IPv4 within one of IPv6 is that of no packet.
        let is_mapped = source.to_canonical() != source;
        let is_own = self.addresses.contains(&source);
        is_unicast(source) && !source.is_loopback() && !is_mapped && !is_own
    }
}

/// Whether one host may have this address.
fn is_unicast(address: IpAddr) -> bool {
    let is_broadcast = match address {
        IpAddr::V4(address) => address.is_broadcast(),
        IpAddr::V6(_) => false,
    };
    !(is_broadcast || address.is_multicast() || address.is_unspecified())
}

/// Why a connection cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The host has no address of the peer's family.
    #[error("the host has no address from which {peer} could be reached")]
    NoAddress {
        /// The peer.
        peer: SocketAddr,
    },
    /// There are too many connections.
    #[error("the host has as many connections as it may have")]
    TooMany,
    /// Every port is in use for connections to the peer.
    #[error("there is no port left to connect to {peer} from")]
    NoPort {
        /// The peer.
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
    fn packets_come_from_single_hosts_that_are_others() {
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
    fn foreign_addresses_are_a_matter_of_policy() {
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
