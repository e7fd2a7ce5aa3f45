//! What a transmitter answers, whatever its kind.

use dupack_tcp::time::Instant;

/// When a packet is on the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// When its first bit goes out.
    pub(crate) start: Instant,
    /// When its last bit is out.
    pub(crate) end: Instant,
}
