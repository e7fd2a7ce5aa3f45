//! The second axis: growth of the window, and its reduction after congestion.

use core::fmt::Debug;

use crate::facts::{AckFacts, Departure, LossCause, LossFacts, Sent, View};
use crate::rtt::RtoShortening;
use crate::time::{Duration, Instant};
use crate::undo::{Prior, UndoRules};
use crate::window::Window;

/// Congestion control.
///
/// Methods return the window that the control chooses. The sender rounds and limits it (never below one segment), and
/// sets it.
pub trait CongestionControl: Debug + Send {
    /// Returns the opening window of the connection, which is also the window after an idle period. `configured` is the
    /// one in the configuration. Called before any event.
    fn opening(&self, configured: Window) -> Window {
        configured
    }

    /// Returns the opening window in place of `opening`, given the round-trip time of the handshake. Called before
    /// anything is sent.
    fn on_handshake(&mut self, rtt: Duration, opening: Window) -> Window {
        let _ = rtt;
        opening
    }

    /// Returns by how much timeouts are shorter than RFC 6298's; called once, at the start.
    fn rto_shortening(&self) -> Option<RtoShortening> {
        None
    }

    /// Returns the means by which the control governs transmissions; called once, at the start.
    fn governance(&self) -> Governance {
        Governance::Window
    }

    /// Returns the response to marks of congestion; called once, at the start.
    fn marks(&self) -> MarkAnswer {
        MarkAnswer::AsLoss
    }

    /// Called after a segment was sent, but only for a control with [`Governance::Model`].
    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        let _ = (sent, departure, view);
    }

    /// Returns the window after an ACK. `credit` is the growth that the recovery permits. The control sees every ACK,
    /// even without credit, so that it can measure (Westwood, BBR).
    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window;

    /// Returns the window that a congestion loss would leave. A query: it changes nothing.
    fn reduction(&self, loss: &LossFacts) -> Window;

    /// Called after a loss event, when the window was set to `chosen` for this cause.
    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window);

    /// Returns the window after the retransmission timer has expired.
    fn on_timeout(&mut self, loss: &LossFacts) -> Window;

    /// Returns the signs by which a reduction is found to be spurious, and undone; called once, at the start.
    fn undo(&self) -> UndoRules {
        UndoRules::OFF
    }

    /// Stores the part of the control's own state that [`on_loss`](Self::on_loss) or [`on_timeout`](Self::on_timeout)
    /// is about to change, because the loss event may have to be undone. Called only if [`undo`](Self::undo) enables a
    /// sign, and not again for a timeout within the loss event.
    fn remember(&mut self) {}

    /// Returns the window after a spurious loss event: nothing was lost. `prior` is the state before the event,
    /// `window` the current window. The control also restores its own state.
    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        prior.restored(window)
    }

    /// Called when new data is about to be sent and nothing is outstanding: after an idle period of any length,
    /// whatever happens to the window then. `last_sent` is the time of the last transmission.
    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        let _ = (now, last_sent);
    }

    /// Returns the source of the pace, if there is one; called once, at the start.
    fn pacing(&self) -> Pacing {
        Pacing::Off
    }

    /// Called when the size of a full segment changes from `from` to `to` bytes. The window keeps its number of
    /// segments if they became shorter, and its size in bytes if they became longer.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// Returns the pacing rate in bytes per second; `None` sends as the window and the ACKs permit. Called for each
    /// segment with [`Pacing::Rate`], and never otherwise.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Returns a measurement to plot in bytes per second, such as Westwood's bandwidth estimate.
    fn bandwidth_estimate(&self) -> Option<f64> {
        None
    }
}

/// Means by which a control governs transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Governance {
    /// A window, which is reduced at loss events.
    #[default]
    Window,
    /// A model of the path, from which a pace and a window follow (BBR). The control sees every transmission, and a
    /// single loss event need not reduce anything.
    Model,
}

/// Response of a control to marks of congestion (ECN).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkAnswer {
    /// As to a loss: at most once per window of data, and the window does not grow until that data is acknowledged (RFC
    /// 3168 §6.1.2). New data is sent with ECT(0).
    #[default]
    AsLoss,
    /// By the share of marked packets, if the receiver counts them (RFC 9768): new data is sent with ECT(1) (RFC 9331
    /// §4.1). The sender asks for a reduction once per window of data, and a mark does not stop the growth. With a
    /// receiver that does not count marks, same as `AsLoss`.
    ByShare,
}

/// Source of the pace of transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Pacing {
    /// None: segments are sent as soon as the window and the ACKs permit.
    #[default]
    Off,
    /// A rate that the control chooses ([`pacing_rate`](CongestionControl::pacing_rate)), segment by segment.
    Rate,
    /// A rate that the sender derives from the window.
    Window(WindowPacing),
}

/// Pace derived from the window: `factor · cwnd / SRTT`, in bursts (Linux with the queueing discipline fq:
/// `tcp_update_pacing_rate`, `tcp_tso_autosize`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowPacing {
    /// Factor in slow start, while `cwnd` is less than half of `ssthresh`.
    pub slow_start: f64,
    /// Factor otherwise.
    pub avoidance: f64,
    /// Minimum number of full segments in a burst, if the window permits as many.
    pub burst_least: u32,
    /// Number of a connection's segments before the first gap.
    pub unpaced: u64,
}

/// Limit of the window's growth on an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credit {
    /// Number of ACKs to count: 0 or 1.
    pub acks: u32,
    /// Number of bytes to count (RFC 3465).
    pub bytes: u64,
    /// Bytes in flight according to the recovery; only for a control that is governed by a model.
    pub in_flight: Option<u64>,
    /// Bytes of transmissions judged lost since the connection started, this ACK included; only for a control that is
    /// governed by a model.
    pub lost_bytes: Option<u64>,
}

impl Credit {
    /// Returns a credit of these ACKs and bytes, without bytes in flight and losses.
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
