//! What a sender counts about itself.

use crate::time::Instant;
use crate::window::{Window, WindowCause};

/// Counters over the life of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SenderStats {
    /// Data segments sent, retransmissions included, window probes not.
    pub segments_sent: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Loss events found without a timeout.
    pub loss_events: u64,
    /// Recoveries that an ACK ended, not a timeout.
    pub recoveries: u64,
    /// Of these, those whose last ACK left nothing outstanding.
    pub recoveries_left_empty: u64,
    /// Zero-window probes sent.
    pub window_probes: u64,
    /// Times the receiver was found to have thrown sacked data away.
    pub renegings: u64,
}

/// One change of the window, with its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct WindowChange {
    /// When it changed.
    pub at: Instant,
    /// Why it changed.
    pub cause: WindowCause,
    /// The window before.
    pub before: Window,
    /// The window after.
    pub after: Window,
}
