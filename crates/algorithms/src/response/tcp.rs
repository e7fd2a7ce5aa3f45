//! Method 0: the response of TCP itself, as if the loss had been congestion.
//!
//! M.-Y. Park et al., "A comparative study on responding methods for TCP's fast recovery in wireless networks", Table
//! 1.
//!
//! This is the algorithm of this axis that does nothing. Together with a loss differentiation, it measures the accuracy
//! of the differentiation while the sender behaves as without it.

use alloc::boxed::Box;

use dupack_tcp::facts::{AckFacts, LossFacts, View};
use dupack_tcp::response::Response;
use dupack_tcp::window::Window;

use crate::catalog::{Entry, InLinux};

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Response> {
    Entry::response("0", file!())
        .summary("method 0 (`tcp`): as if it had been congestion")
        .citation("Park et al., A comparative study on responding methods, Table 1")
        .alias("tcp")
        .linux(InLinux::always(
            "Linux's congestion control answers every loss",
        ))
        .build(|(), _| Box::new(Tcp))
}

/// Response of TCP itself.
#[derive(Clone, Copy, Debug)]
pub struct Tcp;

impl Response for Tcp {
    fn on_ack(&mut self, _ack: &AckFacts<'_>, _view: &View<'_>) {}

    fn respond(&mut self, _loss: &LossFacts, congestion: Window) -> Window {
        congestion
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::bench::loss_facts;

    #[test]
    fn it_does_what_congestion_control_would() {
        let congestion = Window {
            cwnd: 5000.0,
            ssthresh: 5000.0,
        };
        assert_eq!(Tcp.respond(&loss_facts(0, 10), congestion), congestion);
    }
}
