//! Always: every loss is wireless.
//!
//! It is the opposite of [`none`](super::none): right about every wireless loss and wrong about every congestion loss,
//! A_w = 100 %, A_c = 0 %. Park et al. §4.2 compare responses in this way: the method under test responds to every
//! FR/FR, both in the W group, where all losses are wireless, and in the C group, where none is. Timeouts are not
//! classified and stay congestion.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::catalog::Entry;

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("always", file!())
        .summary("takes every loss for the link's")
        .citation("Park et al., A comparative study on responding methods, §4.2")
        .build(|(), _| Box::new(Always))
}

/// Differentiation that classifies every loss as wireless.
#[derive(Clone, Copy, Debug)]
pub struct Always;

impl Differentiation for Always {
    fn on_ack(&mut self, _ack: &AckFacts<'_>, _view: &View<'_>) {}

    fn judge(&mut self, _loss: &LossFacts) -> LossCause {
        LossCause::Wireless
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::bench::loss_facts;

    #[test]
    fn everything_is_the_links() {
        let mut facts = loss_facts(0, 10);
        facts.truth = Some(LossCause::Congestion);
        assert_eq!(Always.judge(&facts), LossCause::Wireless);
        assert_eq!(Always.judge(&loss_facts(0, 1)), LossCause::Wireless);
    }
}
