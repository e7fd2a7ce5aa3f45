//! Transmission times, as returned by a transmitter of any kind.

use dupack_tcp::time::Instant;

/// Interval in which a packet is on the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// Time at which the first bit of the packet leaves.
    pub(crate) start: Instant,
    /// Time at which the last bit of the packet has left.
    pub(crate) end: Instant,
}
