//! Always: every loss is the link's.
//!
//! The opposite of [`none`](super::none): it is right about every wireless loss and wrong about
//! every congestion one, A_w = 100 %, A_c = 0 %. It is how Park et al. §4.2 compare responses:
//! the method under test answers every FR/FR, in the W group, where all are wireless, and in the
//! C group, where none is. Timeouts are not asked about: they stay congestion.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::catalog::Entry;

/// The entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("always", file!())
        .summary("every loss is the link's")
        .citation("Park et al., A comparative study on responding methods, §4.2")
        .build(|(), _| Box::new(Always))
}

/// The algorithm.
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
