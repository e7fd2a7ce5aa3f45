//! Oracle: it knows the true cause of a loss.
//!
//! Only a simulation has this information. Without it (on real packets, or when the segment was not lost at all), a
//! loss counts as congestion, as without differentiation. The oracle serves to compare responses under a
//! differentiation without errors (Park et al. §4: all wireless losses detected).

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::catalog::{Entry, Linux};

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("oracle", file!())
        .summary("the true cause, which only a simulation knows")
        .citation("Park et al., A comparative study on responding methods, §4")
        .linux(Linux::missing("no real machine knows the cause of a loss"))
        .build(|(), _| Box::new(Oracle))
}

/// Differentiation by the true cause.
#[derive(Clone, Copy, Debug)]
pub struct Oracle;

impl Differentiation for Oracle {
    fn on_ack(&mut self, _ack: &AckFacts<'_>, _view: &View<'_>) {}

    fn judge(&mut self, loss: &LossFacts) -> LossCause {
        loss.truth.unwrap_or(LossCause::Congestion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::bench::loss_facts;

    #[test]
    fn it_reports_the_truth_if_it_is_known() {
        let judge = |truth| {
            let mut facts = loss_facts(0, 10);
            facts.truth = truth;
            Oracle.judge(&facts)
        };
        assert_eq!(judge(Some(LossCause::Wireless)), LossCause::Wireless);
        assert_eq!(judge(Some(LossCause::Congestion)), LossCause::Congestion);
        assert_eq!(judge(None), LossCause::Congestion);
    }
}
