//! Congestion control that follows an agent's orders.
//!
//! This control is a plug-in like any other: the sender calls it at ACKs, losses and timeouts, and the control returns
//! the agent's orders. Therefore, an order takes effect at the sender's next call: a window at the next ACK, loss or
//! timeout, a factor at the next ACK, and a rate with the next segment. No other part of the simulation knows about the
//! agent.
//!
//! | agent sets | behaviour of the control |
//! | --- | --- |
//! | a rate | paces at the rate, with a window that is too large to be a limit |
//! | a window | keeps the window regardless of losses; ACKs clock the transmissions |
//! | a factor | is the stack's own control; its window is multiplied once at the next ACK, and the control continues with the new window |
//!
//! Losses and timeouts do not change an ordered rate or window: the agent decides how to respond to a loss. The
//! recovery still repairs the loss. Like BBR, such a control governs by a model ([`Governance::Model`]), so that the
//! recovery adds no limit of its own (no PRR).

use std::sync::Arc;

use dupack_tcp::congestion::{CongestionControl, Credit, Governance, MarkAnswer, Pacing};
use dupack_tcp::facts::{AckFacts, Departure, LossCause, LossFacts, Sent, View};
use dupack_tcp::rtt::RtoShortening;
use dupack_tcp::time::Instant;
use dupack_tcp::undo::{Prior, UndoRules};
use dupack_tcp::window::Window;

use crate::cell::Cell;

/// Window in bytes that is never a limit: one terabyte. It is finite because recoveries calculate with it.
pub(crate) const WIDE: f64 = 1e12;

/// Part of the control that an agent sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The pacing rate.
    Rate,
    /// The window.
    Window,
    /// A factor on the window of the stack's own control.
    Factor,
}

/// Creates the control that follows the orders in `cell`, for a stack whose own control is `base`. A multiplied window
/// is at least `least` bytes.
pub(crate) fn obey(
    hold: Hold,
    base: Box<dyn CongestionControl>,
    cell: &Arc<Cell>,
    least: f64,
) -> Box<dyn CongestionControl> {
    let cell = Arc::clone(cell);
    match hold {
        Hold::Rate => Box::new(Ordered {
            cell,
            pacing: Pacing::Rate,
        }),
        Hold::Window => Box::new(Ordered {
            cell,
            pacing: Pacing::Off,
        }),
        Hold::Factor => Box::new(Multiplied { cell, base, least }),
    }
}

/// Control that sets the ordered window and pacing rate.
#[derive(Debug)]
struct Ordered {
    cell: Arc<Cell>,
    pacing: Pacing,
}

impl Ordered {
    /// Returns the ordered window. There is no slow start.
    fn window(&self) -> Window {
        let cwnd = self.cell.window();
        Window {
            cwnd,
            ssthresh: cwnd,
        }
    }
}

impl CongestionControl for Ordered {
    fn opening(&self, _: Window) -> Window {
        self.window()
    }

    fn governance(&self) -> Governance {
        Governance::Model
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, _: Credit, _: &View<'_>) -> Window {
        self.cell.note_ack(ack);
        self.window()
    }

    fn reduction(&self, _: &LossFacts) -> Window {
        self.window()
    }

    fn on_loss(&mut self, _: &LossFacts, _: LossCause, _: Window) {}

    fn on_timeout(&mut self, _: &LossFacts) -> Window {
        self.cell.note_timeout();
        self.window()
    }

    fn pacing(&self) -> Pacing {
        self.pacing
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.cell.rate())
    }
}

/// Control of the catalog whose window the agent multiplies.
#[derive(Debug)]
struct Multiplied {
    cell: Arc<Cell>,
    base: Box<dyn CongestionControl>,
    least: f64,
}

impl CongestionControl for Multiplied {
    fn opening(&self, configured: Window) -> Window {
        self.base.opening(configured)
    }

    fn rto_shortening(&self) -> Option<RtoShortening> {
        self.base.rto_shortening()
    }

    fn governance(&self) -> Governance {
        self.base.governance()
    }

    fn marks(&self) -> MarkAnswer {
        self.base.marks()
    }

    fn on_sent(&mut self, sent: &Sent, departure: Departure, view: &View<'_>) {
        self.base.on_sent(sent, departure, view);
    }

    fn on_ack(&mut self, ack: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        self.cell.note_ack(ack);
        let mut window = self.base.on_ack(ack, credit, view);
        let factor = self.cell.take_factor();
        if factor != 1.0 {
            window.cwnd = (window.cwnd * factor).max(self.least).min(WIDE);
        }
        window
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        self.base.reduction(loss)
    }

    fn on_loss(&mut self, loss: &LossFacts, cause: LossCause, chosen: Window) {
        self.base.on_loss(loss, cause, chosen);
    }

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        self.cell.note_timeout();
        self.base.on_timeout(loss)
    }

    fn undo(&self) -> UndoRules {
        self.base.undo()
    }

    fn remember(&mut self) {
        self.base.remember();
    }

    fn on_spurious(&mut self, prior: &Prior, window: Window) -> Window {
        self.base.on_spurious(prior, window)
    }

    fn on_idle_end(&mut self, now: Instant, last_sent: Instant) {
        self.base.on_idle_end(now, last_sent);
    }

    fn pacing(&self) -> Pacing {
        self.base.pacing()
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.base.on_segment_size(from, to);
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.base.pacing_rate()
    }

    fn bandwidth_estimate(&self) -> Option<f64> {
        self.base.bandwidth_estimate()
    }
}
