//! What a host is told at the start, and why it may not open a connection.

use std::net::{IpAddr, SocketAddr};

use dupack_tcp::time::Duration;
use thiserror::Error;

/// What a host shall be.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Its own addresses, which are not the kernel's.
    pub addresses: Vec<IpAddr>,
    /// Bytes that it keeps of a stream until they are acknowledged.
    pub send_buffer: usize,
    /// How long it stays to answer the peer after its last connection has come to TIME-WAIT.
    pub linger: Duration,
    /// Connections at once. A SYN beyond them takes the place of the oldest whose handshake is
    /// not over; if there is none, it gets no answer.
    pub connections_max: usize,
}

impl HostConfig {
    /// A host at `addresses`: 4 MiB of send buffer, a second to linger, 1024 connections.
    #[must_use]
    pub const fn new(addresses: Vec<IpAddr>) -> Self {
        Self {
            addresses,
            send_buffer: 4 << 20,
            linger: Duration::from_secs(1),
            connections_max: 1024,
        }
    }
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
