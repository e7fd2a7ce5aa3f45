//! What a sender counts about itself.

use crate::facts::LossCause;
use crate::time::Instant;
use crate::window::{Window, WindowCause};

/// Counters over the life of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// How loss events were judged, beside the truth where the host knows it.
    pub judgements: Judgements,
}

/// Loss events by true cause and by the cause they were ascribed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgements {
    /// Congestion losses taken for congestion.
    pub congestion_right: u64,
    /// Congestion losses taken for the link's.
    pub congestion_wrong: u64,
    /// Wireless losses taken for the link's.
    pub wireless_right: u64,
    /// Wireless losses taken for congestion.
    pub wireless_wrong: u64,
    /// Loss events whose segment was not lost at all, or whose truth is not known.
    pub unknown: u64,
}

impl Judgements {
    /// Counts one loss event.
    pub(crate) fn record(&mut self, truth: Option<LossCause>, judged: LossCause) {
        let counter = match (truth, judged) {
            (Some(LossCause::Congestion), LossCause::Congestion) => &mut self.congestion_right,
            (Some(LossCause::Congestion), LossCause::Wireless) => &mut self.congestion_wrong,
            (Some(LossCause::Wireless), LossCause::Wireless) => &mut self.wireless_right,
            (Some(LossCause::Wireless), LossCause::Congestion) => &mut self.wireless_wrong,
            (None, _) => &mut self.unknown,
        };
        *counter += 1;
    }
}

/// One change of the window, with its cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowChange {
    /// When.
    pub at: Instant,
    /// Why.
    pub cause: WindowCause,
    /// The window before.
    pub before: Window,
    /// The window after.
    pub after: Window,
}
