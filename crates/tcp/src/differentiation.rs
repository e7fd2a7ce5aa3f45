//! The third axis: was this loss congestion, or the link?

use core::fmt::Debug;

use crate::facts::{AckFacts, LossCause, LossFacts, View};

/// A loss differentiation algorithm (LDA).
pub trait Differentiation: Debug + Send {
    /// Sees every ACK, to learn what losses look like on this path.
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>);

    /// Names the cause of a loss event that was found without a timeout.
    fn judge(&mut self, loss: &LossFacts) -> LossCause;

    /// A full segment has `to` bytes from now on, not `from`.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }
}
