//! Senders that are broken on purpose fail the criteria that are meant for them, and no others.

mod expected;
mod senders;
mod subtle;

use std::collections::BTreeSet;

use dupack_engine::Execution;
use dupack_evaluation::{Campaign, Card, Conduct, Extent, Suite};
use dupack_lab::run::Interrupt;

use self::expected::{Sender, senders};

/// The cards of `stacks` by the criteria called `keys`; by all, if there is none.
fn evaluate(stacks: &[String], keys: &[String]) -> Vec<Card> {
    let (suite, catalog) = (Suite::builtin(), self::senders::catalog());
    let campaign = Campaign::new(&suite, (stacks, &catalog), keys, Extent::Quick).unwrap();
    let conduct = Conduct {
        runs: dupack_engine::Conduct {
            execution: Execution::default(),
            watch: &(),
            interrupt: &Interrupt::new(),
        },
        journal: None,
    };
    let evaluated = campaign.carry_out(&conduct).unwrap();
    evaluated.into_iter().map(|of| of.card).collect()
}

#[test]
fn the_table_names_criteria_that_there_are() {
    let suite = Suite::builtin();
    for sender in senders() {
        let named = sender
            .fails
            .iter()
            .chain(&sender.keeps)
            .chain(sender.differs.keys());
        for key in named {
            assert!(
                suite.criteria.iter().any(|c| c.key == *key),
                "{}: {key}",
                sender.key
            );
        }
        assert!(sender.fails.iter().all(|key| !sender.keeps.contains(key)));
    }
}

/// The complaints about the card of a sender by some criteria; by all, if none is named.
fn complaints(sender: &Sender, keys: &[String]) -> Vec<String> {
    let card = evaluate(std::slice::from_ref(&sender.stack), keys);
    sender.complaints(&card[0])
}

/// Senders that are meant to fail a single criterion do so: one for each of the first criteria that have such a sender.
#[test]
fn a_criterion_is_failed_by_what_is_meant_for_it_alone() {
    let most = dupack_volume::cases(8, u64::MAX);
    let mut tried = BTreeSet::new();
    let mut wrong = Vec::new();
    for sender in senders().iter().filter(|sender| sender.brief) {
        if let [only] = &sender.fails[..]
            && (tried.len() as u64) < most
            && tried.insert(only.clone())
        {
            wrong.extend(complaints(sender, &sender.fails));
        }
    }
    assert!(tried.len() >= 8, "{tried:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What differs from the table that was written before the first run stands in it, and nothing else differs.
#[test]
#[ignore = "six whole cards take minutes: cargo xtask test --all"]
fn each_fails_what_is_meant_for_it_and_nothing_unrelated() {
    let whole = senders().into_iter().filter(|sender| !sender.brief);
    let wrong: Vec<String> = whole.flat_map(|sender| complaints(&sender, &[])).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Of those with a long list, what is meant for them; `cargo measure evaluation` holds the whole list against the runs.
#[test]
#[ignore = "it takes minutes: cargo xtask test --all"]
fn each_subtle_one_fails_what_is_meant_for_it() {
    let brief = senders().into_iter().filter(|sender| sender.brief);
    let wrong: Vec<String> = brief
        .flat_map(|sender| complaints(&sender, &sender.fails))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
