//! Loss differentiation with access to the true causes of losses.
//!
//! The endpoint knows nothing about simulations, so its sender cannot know why a segment was lost. A simulated flow
//! therefore inserts this adapter between the sender and the differentiation of its stack. The adapter passes
//! everything on, adds the true cause to the facts of a loss (for `oracle`), and counts correct judgements. Congestion
//! control and response receive the sender's own facts, without the true cause.

use dupack_tcp::Stack;
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::truth::Losses;

/// The differentiation of a stack, together with the true causes of losses.
#[derive(Debug)]
struct Informed {
    differentiation: Box<dyn Differentiation>,
    losses: Losses,
}

/// Returns `stack` with a differentiation that knows `losses`.
pub(crate) fn inform(mut stack: Stack, losses: Losses) -> Stack {
    stack.differentiation = Box::new(Informed {
        differentiation: stack.differentiation,
        losses,
    });
    stack
}

impl Differentiation for Informed {
    fn on_ack(&mut self, ack: &AckFacts<'_>, view: &View<'_>) {
        self.differentiation.on_ack(ack, view);
    }

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        let mut loss = *loss;
        loss.truth = self.losses.cause(&loss.segment);
        let judged = self.differentiation.judge(&loss);
        // A timeout is not a loss event, but a recovery may ask for its cause (Bulk Repeat).
        if loss.timeouts == 0 {
            self.losses.record(loss.truth, judged);
        }
        judged
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.differentiation.on_segment_size(from, to);
    }
}
