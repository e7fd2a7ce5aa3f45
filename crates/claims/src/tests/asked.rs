//! Tests of the cells for which a rule asks.

use std::collections::BTreeSet;

use super::*;

/// Only the runs of LE and SACK at 5 % count. The cells in the text next to the verdict do not count.
#[test]
fn a_rule_asks_only_about_its_cells() {
    let claim = "[[claim]]\nid = \"x\"\nstatement = \"y\"\nrule = \"as it is said\"\n\
                 holds_if = \"goodput[LE, loss = 5%] > goodput[SACK, loss = 5%]\"\n\
                 found = \"{goodput[SACK, loss = 0%]}\"\n";
    let (rules, results) = (rules(claim).unwrap(), results());
    let asked = rules.asked_by(&rules.claims()[0], &World::of(&results));
    let cells = BTreeSet::from([(2, 0), (2, 1)]);
    assert_eq!(asked.cells, [(String::new(), cells)].into());
    assert!(!asked.pools);
}

/// If the samples of only one quantity are pooled, their weights do not change.
#[test]
fn pooling_several_quantities_is_recorded() {
    let results = results();
    for (pooled, pools) in [("goodput[LE]", true), ("goodput[LE, loss = 5%]", false)] {
        let claim = format!(
            "[[claim]]\nid = \"x\"\nstatement = \"y\"\nrule = \"as it is said\"\n\
             holds_if = \"pool({pooled}) > 1\"\n"
        );
        let rules = rules(&claim).unwrap();
        let asked = rules.asked_by(&rules.claims()[0], &World::of(&results));
        assert_eq!(asked.pools, pools, "{pooled}");
    }
}
