//! The second axis: how the window grows, and what a congestion loss makes of it.

use core::fmt::Debug;

use crate::facts::{AckFacts, Departure, LossCause, LossFacts, Sent, View};
use crate::rtt::RtoShortening;
use crate::time::{Duration, Instant};
use crate::undo::{Prior, UndoRules};
use crate::window::Window;

/// A congestion control.
///
/// Every method returns the window it wants; the sender rounds and bounds it (never below one
/// segment) and writes it.
pub trait CongestionControl: Debug + Send {
    /// The window that the connection opens with, and that an idle period cuts it to;
    /// `configured` is the one that the configuration gives. Asked before anything has happened.
    fn opening(&self, configured: Window) -> Window {
        configured
    }

    /// The handshake gave the first round-trip time, and nothing has been sent yet: the window to open with
    /// instead of `opening`.
    fn on_handshake(&mut self, rtt: Duration, opening: Window) -> Window {
        let _ = rtt;
        opening
    }

    /// By how much the control wants timeouts earlier than RFC 6298's; asked once, at the start.
    fn rto_shortening(&self) -> Option<RtoShortening> {
        None
    }

    /// By what the control governs what leaves; asked once, at the start.
    fn governance(&self) -> Governance {
        Governance::Window
    }

    /// How it answers marks of congestion; asked once, at the start.
    fn marks(&self) -> MarkAnswer {
        MarkAnswer::AsLoss
    }

    /// A segment went out. Only a control under [`Governance::Model`] is told.
    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        let _ = (sent, departure, view);
    }

    /// An ACK came in. `credit` says how far the recovery lets the window grow on it; controls
    /// that measure (Westwood, BBR) see every ACK, even when `credit` is nothing.
    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window;

    /// The window that a congestion loss would make of the present one. A question: nothing is
    /// changed by asking.
    fn reduction(&self, loss: &LossFacts) -> Window;

    /// A loss event was answered by setting the window to `chosen`, for the cause named.
    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window);

    /// The retransmission timer expired.
    fn on_timeout(&mut self, loss: &LossFacts) -> Window;

    /// By which signs a reduction is found to have been needless, and undone; asked once, at the
    /// start.
    fn undo(&self) -> UndoRules {
        UndoRules::OFF
    }

    /// A loss event begins that may have to be undone: what [`on_loss`](Self::on_loss) or
    /// [`on_timeout`](Self::on_timeout) is about to change of the control's own state has to be
    /// remembered. Called only if [`undo`](Self::undo) asks for something, and not again for a timeout
    /// within the loss event.
    fn remember(&mut self) {}

    /// The last loss event was none: nothing had been lost. `prior` is what stood before, `window`
    /// the window now; the answer is the window to go on with. What was remembered is to be
    /// restored, too.
    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        prior.restored(window)
    }

    /// New data is about to leave and nothing is outstanding: after an idle period, however short,
    /// and whatever becomes of the window then. `last_sent` is when something left last.
    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        let _ = (now, last_sent);
    }

    /// Whether segments leave at a pace, and who sets it; asked once, at the start.
    fn pacing(&self) -> Pacing {
        Pacing::Off
    }

    /// A full segment has `to` bytes from now on, not `from`. The sender has set the window to as many of them
    /// if they are smaller, and left it as it is if they are larger.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }

    /// The rate at which segments are to leave, in bytes per second; `None` sends as the window
    /// and the ACKs allow. Asked at each segment under [`Pacing::Rate`], and never otherwise.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// A measurement worth plotting (Westwood's bandwidth estimate), in bytes per second.
    fn bandwidth_estimate(&self) -> Option<f64> {
        None
    }
}

/// By what a control governs what leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Governance {
    /// By the window, which it reduces at loss events.
    #[default]
    Window,
    /// By a model of the path, of which it makes a pace and a window (BBR). It sees every
    /// transmission, and a single loss event need not reduce anything.
    Model,
}

/// How a control answers marks of congestion (ECN).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MarkAnswer {
    /// As losses: once a window of data, which does not grow until that is acknowledged (RFC 3168
    /// §6.1.2). New data leaves with ECT(0).
    #[default]
    AsLoss,
    /// By their number, if the receiver counts them (RFC 9768): new data leaves with ECT(1) (RFC 9331
    /// §4.1). The sender asks for a reduction once a window of data, and a mark does not hold back
    /// the growth. With a receiver that does not count them, as losses.
    ByShare,
}

/// Whether segments leave at a pace.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Pacing {
    /// As soon as the window and the ACKs allow.
    #[default]
    Off,
    /// At the rate that the control names
    /// ([`pacing_rate`](CongestionControl::pacing_rate)), segment by segment.
    Rate,
    /// At a rate that the sender makes of the window.
    Window(WindowPacing),
}

/// A pace made of the window: `factor · cwnd / SRTT`, in bursts (Linux with the queueing discipline
/// fq: `tcp_update_pacing_rate`, `tcp_tso_autosize`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowPacing {
    /// The factor in slow start, as long as `cwnd` is less than half of `ssthresh`.
    pub slow_start: f64,
    /// The factor otherwise.
    pub avoidance: f64,
    /// Full segments that leave together, at least, if the window permits as many.
    pub burst_least: u32,
    /// So many segments of a connection leave before the first gap.
    pub unpaced: u64,
}

/// How far the window may grow on an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credit {
    /// ACKs to count: 0 or 1.
    pub acks: u32,
    /// Bytes to count (RFC 3465).
    pub bytes: u64,
    /// Bytes in flight, as the recovery counts them; only for a control that governs by a model.
    pub in_flight: Option<u64>,
    /// Bytes of transmissions judged lost since the connection began, this ACK included; only for a
    /// control that governs by a model.
    pub lost_bytes: Option<u64>,
}

impl Credit {
    /// So many ACKs and bytes count; of what is in flight, and of losses, nothing is said.
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
