//! Method 1: the window from before the loss is kept.
//!
//! Table 1 of M.-Y. Park et al., "A comparative study on responding methods for TCP's fast recovery in wireless
//! networks". The differentiation algorithms that the paper compares assume this response (§4.1), and it is the paper's
//! best method over many hops.
//!
//! `cwnd` and `ssthresh` are both restored: unlike method 13, it does not enter slow start, and unlike method 23, it
//! does not set `ssthresh` to the window.

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::window::Window;

use crate::catalog::Entry;

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Response> {
    Entry::response("1", file!())
        .summary("method 1 (`previous`): cwnd and ssthresh before the loss")
        .citation("Park et al., A comparative study on responding methods, Table 1")
        .alias("previous")
        .build(|(), _| Box::new(Previous))
}

/// Response that restores the window from before the loss.
#[derive(Clone, Copy, Debug)]
pub struct Previous;

impl Response for Previous {
    fn on_ack(&mut self, _ack: &AckFacts<'_>, _view: &View<'_>) {}

    fn respond(&mut self, loss: &LossFacts, _congestion: Window) -> Window {
        loss.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::bench::loss_facts;

    #[test]
    fn it_restores_both_variables() {
        let before = Window {
            cwnd: 12_000.0,
            ssthresh: 7000.0,
        };
        let mut loss = loss_facts(0, 10);
        loss.window = before;
        let congestion = Window {
            cwnd: 6000.0,
            ssthresh: 6000.0,
        };
        assert_eq!(Previous.respond(&loss, congestion), before);
    }
}
