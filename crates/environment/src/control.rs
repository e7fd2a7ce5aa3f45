//! The congestion control that obeys an agent.
//!
//! It is a plug-in like any other: the sender asks it at ACKs, losses and timeouts, and it answers with what the
//! agent has ordered. So an order takes effect when the sender asks next: a window or a factor with the next ACK,
//! loss or timeout, a rate with the next segment. Nothing else of the simulation knows that there is an agent.
//!
//! | an agent that sets | what the control does |
//! | --- | --- |
//! | a rate | paces by it; the window is so wide that it never holds |
//! | a window | keeps it, whatever is lost; segments leave as ACKs come |
//! | a factor | is the stack's own control; at the next ACK its window is multiplied once, and it goes on from there |
//!
//! A rate and a window stand at losses and timeouts, too: what a loss means is the agent's to say. The recovery
//! still repairs it. Like BBR, such a control governs by a model
//! ([`Governance::Model`]), so that a recovery limits nothing by itself (no PRR).

use std::sync::Arc;

use dupack_tcp::congestion::{CongestionControl, Credit, Governance, MarkAnswer, Pacing};
use dupack_tcp::facts::{AckFacts, Departure, LossCause, LossFacts, Sent, View};
use dupack_tcp::rtt::RtoShortening;
use dupack_tcp::time::Instant;
use dupack_tcp::undo::{Prior, UndoRules};
use dupack_tcp::window::Window;

use crate::cell::Cell;

/// A window that never holds: a terabyte. Finite, as recoveries calculate with it.
pub(crate) const WIDE: f64 = 1e12;

/// What of the control an agent sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The pace.
    Rate,
    /// The window.
    Window,
    /// A factor on the window of the stack's own control.
    Factor,
}

/// The control of a stack whose own is `base`, in the hands of whoever has `cell`. A window that is multiplied
/// does not fall below `least` bytes.
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

/// A control that does what it is told.
#[derive(Debug)]
struct Ordered {
    cell: Arc<Cell>,
    pacing: Pacing,
}

impl Ordered {
    /// The window that is ordered. There is no slow start.
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

/// A control of the catalog, whose window is multiplied now and then.
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
