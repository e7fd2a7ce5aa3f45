//! The fourth axis: what the window becomes after a loss that was not congestion.

use core::fmt::Debug;

use crate::facts::{AckFacts, LossFacts, View};
use crate::window::Window;

/// A response to losses that the differentiation ascribes to the link.
pub trait Response: Debug + Send {
    /// Sees every ACK and the window that it found, for averages and maxima. It comes before
    /// [`respond`](Self::respond) if the ACK reveals a loss.
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>);

    /// The window after the loss. `congestion` is what the control would have made of it.
    fn respond(&mut self, loss: &LossFacts, congestion: Window) -> Window;

    /// Which share of the control's increase in congestion avoidance the window takes until the
    /// next loss event, from 0 to 1. Asked once after each answer. The methods of Park et al.
    /// leave the increase as it is. Beyond these bounds it is the nearer of them; a NaN is 0.
    fn growth(&self) -> f64 {
        1.0
    }

    /// A full segment has `to` bytes from now on, not `from`.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }
}
