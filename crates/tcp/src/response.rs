//! Response, the fourth axis of a stack, which chooses the window after a loss that congestion did not cause.

use core::fmt::Debug;

use crate::facts::{AckFacts, LossFacts, View};
use crate::window::Window;

/// Response to losses that the differentiation attributes to the link.
pub trait Response: Debug + Send {
    /// Called for every ACK, so that a response can compute averages and maxima. `view` has the window before the ACK.
    /// If the ACK reveals a loss, this call precedes [`respond`](Self::respond).
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>);

    /// Returns the window after the loss. `congestion` is the window that the control would choose after a congestion
    /// loss.
    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window;

    /// Returns the factor, from 0 to 1, by which the control's increase in congestion avoidance is multiplied until the
    /// next loss event. Called once after each `respond`. The methods of Park et al. do not change the increase. Values
    /// outside this range are limited to it, and NaN counts as 0.
    fn growth(&self) -> f64 {
        1.0
    }

    /// Called when the size of a full segment changes from `from` to `to` bytes.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }
}
