//! Loss differentiation, the third axis of a stack, which attributes a loss to congestion or to the link.

use core::fmt::Debug;

use crate::facts::{AckFacts, LossCause, LossFacts, View};

/// A loss differentiation algorithm (LDA).
pub trait Differentiation: Debug + Send {
    /// Called for every ACK, to learn the characteristics of losses on this path.
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>);

    /// Returns the cause of a loss event that was detected without a timeout.
    fn judge(&mut self, loss: &LossFacts) -> LossCause;

    /// Called when the size of a full segment changes from `from` to `to` bytes.
    fn on_segment_size(&mut self, from: u32, to: u32) {
        let _ = (from, to);
    }
}
