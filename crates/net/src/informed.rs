//! A loss differentiation that is told the truth.
//!
//! The endpoint knows nothing of simulations: its sender cannot say why a segment was lost. A
//! simulated flow therefore puts this between the sender and the differentiation of its stack. It
//! passes everything on, writes the truth into the facts of a loss (`oracle` reads it there), and
//! counts how often the judgement was right. Control and response get the sender's own facts, in
//! which there is no truth.

use dupack_tcp::Stack;
use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::truth::Losses;

/// The differentiation of a stack, and what the simulation knows of losses.
#[derive(Debug)]
struct Informed {
    differentiation: Box<dyn Differentiation>,
    losses: Losses,
}

/// The stack with its differentiation told of `losses`.
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
        // A timeout is no loss event, though a recovery may have it judged (Bulk Repeat).
        if loss.timeouts == 0 {
            self.losses.record(loss.truth, judged);
        }
        judged
    }

    fn on_segment_size(&mut self, from: u32, to: u32) {
        self.differentiation.on_segment_size(from, to);
    }
}
