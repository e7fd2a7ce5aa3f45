//! Tests that the broken senders fail the intended criteria and no others.

use std::collections::BTreeSet;

use dupack_broken_senders::{Sender, catalog, senders};
use dupack_engine::Execution;
use dupack_evaluation::{Campaign, Card, Conduct, Extent, Suite};
use dupack_lab::run::Interrupt;

/// Returns the cards of `stacks` with the criteria `keys`, or with all criteria if `keys` is empty.
fn evaluate(stacks: &[String], keys: &[String]) -> Vec<Card> {
    let (suite, catalog) = (Suite::builtin(), catalog());
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
fn the_table_names_existing_criteria() {
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

/// Returns the complaints about the card of a sender with the criteria `keys`, or with all criteria if `keys` is empty.
fn complaints(sender: &Sender, keys: &[String]) -> Vec<String> {
    let card = evaluate(std::slice::from_ref(&sender.stack), keys);
    sender.complaints(&card[0])
}

/// Some senders should fail only one criterion. For the first criteria that have such a sender, checks that the sender
/// fails the criterion.
#[test]
fn a_criterion_is_failed_by_a_sender_made_for_it_alone() {
    let most = dupack_testing::cases(8, u64::MAX);
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

/// The table of expected verdicts was written before the first run. The runs differ from the table only in the listed
/// differences.
#[test]
#[ignore = "six whole cards take minutes: cargo xtask test --all"]
fn each_fails_its_criteria_and_nothing_unrelated() {
    let whole = senders().into_iter().filter(|sender| !sender.brief);
    let wrong: Vec<String> = whole.flat_map(|sender| complaints(&sender, &[])).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Senders with `brief` fail the criteria in `fails`. `cargo measure evaluation` checks all criteria of these senders.
#[test]
#[ignore = "it takes minutes: cargo xtask test --all"]
fn each_subtle_sender_fails_its_criteria() {
    let brief = senders().into_iter().filter(|sender| sender.brief);
    let wrong: Vec<String> = brief
        .flat_map(|sender| complaints(&sender, &sender.fails))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
