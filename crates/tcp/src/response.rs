//! The fourth axis: the window after a loss that was not congestion.

use core::fmt::Debug;

use crate::facts::{AckFacts, LossFacts, View};
use crate::window::Window;

/// Response to losses that the differentiation attributes to the link.
pub trait Response: Debug + Send {
    /// Called for every ACK with the window before it, for averages and maxima. The call precedes
    /// [`respond`](Self::respond) if the ACK reveals a loss.
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>);

    /// Returns the window after the loss. `congestion` is the control's window for a congestion loss.
    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window;

    /// Returns the share of the control's increase in congestion avoidance by which the window grows until the next
    /// loss event, from 0 to 1. Called once after each `respond`. The methods of Park et al. do not change the
    /// increase. Values outside that range are limited to it, and NaN is 0.
    fn growth(&self) -> f64 {
        1.0
    }

    /// Called when the size of a full segment changes from `from` to `to` bytes.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }
}
