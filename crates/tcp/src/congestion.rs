//! Congestion control, the second axis of a stack. It increases the window, and reduces the window after congestion.

use core::fmt::Debug;

use crate::facts::{AckFacts, Departure, LossCause, LossFacts, Sent, View};
use crate::rtt::RtoShortening;
use crate::time::{Duration, Instant};
use crate::undo::{Prior, UndoRules};
use crate::window::Window;

/// Congestion control.
///
/// Methods return the window that the control chooses. The sender rounds this window, limits it (to at least one
/// segment), and sets it.
pub trait CongestionControl: Debug + Send {
    /// Returns the initial window of the connection, which is also the window after an idle period. `configured` is the
    /// initial window in the configuration. Called before any event.
    fn opening(&self, configured: Window) -> Window {
        configured
    }

    /// Returns the initial window that replaces `opening`, given the round-trip time of the handshake. Called before
    /// any data is sent.
    fn on_handshake(&mut self, rtt: Duration, opening: Window) -> Window {
        let _ = rtt;
        opening
    }

    /// Returns the shortening of timeouts relative to RFC 6298, if any. Called once, at the start.
    fn rto_shortening(&self) -> Option<RtoShortening> {
        None
    }

    /// Returns the way in which the control governs transmissions: by a window or by a model. Called once, at the
    /// start.
    fn governance(&self) -> Governance {
        Governance::Window
    }

    /// Returns the response to congestion marks. Called once, at the start.
    fn marks(&self) -> MarkAnswer {
        MarkAnswer::AsLoss
    }

    /// Called after each transmission, but only for a control with [`Governance::Model`].
    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        let _ = (sent, departure, view);
    }

    /// Returns the window after an ACK. `credit` is the growth that the recovery permits. The method is called for
    /// every ACK, even without credit, so that the control can measure (Westwood, BBR).
    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window;

    /// Returns the window to which a congestion loss would reduce the current one. This query does not change the state
    /// of the control.
    fn reduction(&self, loss: &LossFacts) -> Window;

    /// Called after a loss event, once the window has been set to `chosen` for this cause.
    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window);

    /// Returns the window after the retransmission timer has expired.
    fn on_timeout(&mut self, loss: &LossFacts) -> Window;

    /// Returns the rules for detecting and undoing spurious reductions. Called once, at the start.
    fn undo(&self) -> UndoRules {
        UndoRules::OFF
    }

    /// Saves the control's own state that [`on_loss`](Self::on_loss) or [`on_timeout`](Self::on_timeout) will change,
    /// so that [`on_spurious`](Self::on_spurious) can restore it. Called only if [`undo`](Self::undo) enables a sign,
    /// and not again for a timeout within the same loss event.
    fn remember(&mut self) {}

    /// Returns the window after a loss event turned out to be spurious. `prior` is the state before the event, and
    /// `window` is the current window. The control also restores its own state.
    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        prior.restored(window)
    }

    /// Called when new data is about to be sent and nothing is outstanding, after an idle period of any length. The
    /// call does not depend on a restart of the window. `last_sent` is the time of the last transmission.
    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        let _ = (now, last_sent);
    }

    /// Returns the source of the pacing rate. Called once, at the start.
    fn pacing(&self) -> Pacing {
        Pacing::Off
    }

    /// Called when the size of a full segment changes from `from` to `to` bytes. If segments become shorter, the window
    /// keeps its number of segments; if they become longer, it keeps its number of bytes.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// Returns the pacing rate in bytes per second. With `None`, segments are sent as soon as the window permits.
    /// Called for each segment, but only with [`Pacing::Rate`].
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Returns the control's bandwidth estimate in bytes per second, for plots (for example, Westwood's).
    fn bandwidth_estimate(&self) -> Option<f64> {
        None
    }
}

/// Way in which a control governs transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Governance {
    /// By a window that is reduced at loss events.
    #[default]
    Window,
    /// By a model of the path, which determines a pacing rate and a window (BBR). The control is called for every
    /// transmission, and a single loss event need not reduce the window.
    Model,
}

/// Response of a control to congestion marks (ECN).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkAnswer {
    /// Same as to a loss: the window is reduced at most once per window of data, and does not grow until that data is
    /// acknowledged (RFC 3168 §6.1.2). New data is sent with ECT(0).
    #[default]
    AsLoss,
    /// In proportion to the fraction of marked packets, if the receiver counts them (RFC 9768). New data is sent with
    /// ECT(1) (RFC 9331 §4.1). The sender requests a reduction once per window of data, and a mark does not stop the
    /// growth. If the receiver does not count marks, this is the same as `AsLoss`.
    ByShare,
}

/// Source of the pacing rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Pacing {
    /// No pacing: segments are sent as soon as the window permits.
    #[default]
    Off,
    /// A rate that the control chooses for each segment ([`pacing_rate`](CongestionControl::pacing_rate)).
    Rate,
    /// A rate that the sender derives from the window.
    Window(WindowPacing),
}

/// Pacing rate derived from the window: `factor · cwnd / SRTT`, in bursts (Linux with the queueing discipline fq:
/// `tcp_update_pacing_rate`, `tcp_tso_autosize`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowPacing {
    /// Factor in slow start, while `cwnd` is less than half of `ssthresh`.
    pub slow_start: f64,
    /// Factor above half of `ssthresh`.
    pub avoidance: f64,
    /// Minimum number of full segments in a burst, if the window permits it.
    pub burst_least: u32,
    /// Number of segments at the start of a connection that are sent without pacing.
    pub unpaced: u64,
}

/// Limit of the window's growth on an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credit {
    /// Number of ACKs for which the window grows: 0 or 1.
    pub acks: u32,
    /// Number of bytes for which the window grows (RFC 3465).
    pub bytes: u64,
    /// Bytes in flight according to the recovery. `Some` only for a control with [`Governance::Model`].
    pub in_flight: Option<u64>,
    /// Bytes of transmissions judged lost since the connection started, including those of this ACK. `Some` only for a
    /// control with [`Governance::Model`].
    pub lost_bytes: Option<u64>,
}

impl Credit {
    /// Returns a credit of these ACKs and bytes. Bytes in flight and lost bytes are `None`.
    #[must_use]
    pub const fn new(acks: u32, bytes: u64) -> Self {
        Self {
            acks,
            bytes,
            in_flight: None,
            lost_bytes: None,
        }
    }
}
