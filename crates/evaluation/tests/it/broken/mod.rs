//! Deliberately broken senders fail the criteria that are meant for them, and no unrelated ones.

mod expected;
mod senders;
mod subtle;

use std::collections::BTreeSet;

use dupack_engine::Execution;
use dupack_evaluation::{Campaign, Card, Conduct, Extent, Suite};
use dupack_lab::run::Interrupt;

use self::expected::{Sender, senders};

/// Returns the cards of `stacks` by the criteria called `keys`, or by all if `keys` is empty.
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

/// Returns the deviations of a sender's card from the table, by the criteria called `keys`, or by all if `keys` is
/// empty.
fn complaints(sender: &Sender, keys: &[String]) -> Vec<String> {
    let card = evaluate(std::slice::from_ref(&sender.stack), keys);
    sender.complaints(&card[0])
}

/// Senders meant to fail a single criterion do so. Tests one sender for each of the first criteria that have one.
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

/// Deviations from the table, which was written before the first run, are listed in it, and there are no others.
#[test]
#[ignore = "six whole cards take minutes: cargo xtask test --all"]
fn each_fails_what_is_meant_for_it_and_nothing_unrelated() {
    let whole = senders().into_iter().filter(|sender| !sender.brief);
    let wrong: Vec<String> = whole.flat_map(|sender| complaints(&sender, &[])).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Of the senders with a long list, runs only `fails`; `cargo measure evaluation` checks the complete list.
#[test]
#[ignore = "it takes minutes: cargo xtask test --all"]
fn each_subtle_one_fails_what_is_meant_for_it() {
    let brief = senders().into_iter().filter(|sender| sender.brief);
    let wrong: Vec<String> = brief
        .flat_map(|sender| complaints(&sender, &sender.fails))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
