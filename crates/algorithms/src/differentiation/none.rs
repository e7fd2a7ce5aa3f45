//! No differentiation: every loss is congestion, as in TCP (RFC 5681).
//!
//! This is the null algorithm of the differentiation axis. In the terms of Park et al. §3, it is right about every
//! congestion loss and wrong about every wireless loss: A_c = 100 %, A_w = 0 %.

use alloc::boxed::Box;

use dupack_tcp::differentiation::Differentiation;
use dupack_tcp::facts::{AckFacts, LossCause, LossFacts, View};

use crate::catalog::{Axis, Entry, InLinux, Opponent};

/// Returns the entry in the catalog.
#[must_use]
pub fn entry() -> Entry<dyn Differentiation> {
    Entry::differentiation("none", file!())
        .summary("every loss is congestion")
        .citation("RFC 5681")
        .conflict(
            Axis::Response,
            Opponent::AnyButNull,
            "a response applies only to losses that are classified as link errors, and `none` \
             classifies none: name a loss differentiation, or leave both out",
        )
        .linux(InLinux::always("Linux treats every loss as congestion"))
        .build(|(), _| Box::new(NoDifferentiation))
}

/// Differentiation that classifies every loss as congestion.
#[derive(Clone, Copy, Debug)]
pub struct NoDifferentiation;

impl Differentiation for NoDifferentiation {
    fn on_ack(&mut self, _ack: &AckFacts<'_>, _view: &View<'_>) {}

    fn judge(&mut self, _loss: &LossFacts) -> LossCause {
        LossCause::Congestion
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::bench::loss_facts;

    #[test]
    fn everything_is_congestion() {
        let mut facts = loss_facts(0, 10);
        facts.truth = Some(LossCause::Wireless);
        assert_eq!(NoDifferentiation.judge(&facts), LossCause::Congestion);
    }
}
