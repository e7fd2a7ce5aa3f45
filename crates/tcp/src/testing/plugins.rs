//! Simple plug-ins for the axes that a test does not examine.

use crate::congestion::{CongestionControl, Credit};
use crate::differentiation::Differentiation;
use crate::facts::{AckFacts, LossCause, LossFacts, View};
use crate::response::Response;
use crate::window::Window;

use super::SMSS;

/// Reno's additive increase and multiplicative decrease.
#[derive(Clone, Copy, Debug)]
pub enum Aimd {
    /// Half of FlightSize (RFC 5681 §3.1).
    FlightSize,
    /// Half of cwnd (ns-2). Configure the sender to round the window as ns-2 does.
    Window,
}

impl Aimd {
    fn halved(self, loss: &LossFacts) -> Window {
        let floor = 2.0 * f64::from(SMSS);
        match self {
            Self::FlightSize => {
                let half = (loss.flight_size as f64 / 2.0).max(floor);
                Window {
                    cwnd: half,
                    ssthresh: half,
                }
            }
            Self::Window => Window {
                cwnd: loss.window.cwnd / 2.0,
                ssthresh: (loss.window.cwnd / 2.0).max(floor),
            },
        }
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, _: &AckFacts<'_>, credit: Credit, view: &View<'_>) -> Window {
        let smss = f64::from(SMSS);
        let mut window = view.window;
        if credit.acks > 0 {
            window.cwnd += if window.in_slow_start() {
                smss
            } else {
                smss * smss / window.cwnd
            };
        }
        window
    }

    fn reduction(&self, loss: &LossFacts) -> Window {
        self.halved(loss)
    }

    fn on_loss(&mut self, _: &LossFacts, _: LossCause, _: Window) {}

    fn on_timeout(&mut self, loss: &LossFacts) -> Window {
        Window {
            cwnd: f64::from(SMSS),
            ..self.halved(loss)
        }
    }
}

/// Attributes every loss to the same cause.
#[derive(Clone, Copy, Debug)]
pub struct Always(pub LossCause);

impl Differentiation for Always {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn judge(&mut self, _: &LossFacts) -> LossCause {
        self.0
    }
}

/// Responds to a loss of the link in the same way as to a congestion loss.
#[derive(Clone, Copy, Debug)]
pub struct NoResponse;

impl Response for NoResponse {
    fn on_ack(&mut self, _: &AckFacts<'_>, _: &View<'_>) {}

    fn respond(&mut self, _: &LossFacts, congestion: Window) -> Window {
        congestion
    }
}
