//! Senders that are broken on purpose fail the criteria that are meant for them, and no others.

mod expected;
mod senders;
mod subtle;

use dupack_evaluation::{Campaign, Card, Conduct, Extent, Suite};
use dupack_lab::run::{Execution, Interrupt};

use self::expected::{Sender, senders};

/// The cards of `stacks` by the criteria called `keys`; by all, if there is none.
fn evaluate(stacks: &[String], keys: &[String]) -> Vec<Card> {
    let (suite, catalog) = (Suite::builtin(), self::senders::catalog());
    let campaign = Campaign::new(&suite, (stacks, &catalog), keys, Extent::Quick).unwrap();
    let conduct = Conduct {
        execution: Execution::default(),
        watch: &(),
        interrupt: &Interrupt::new(),
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

/// What is wrong with the cards of some senders, by the criteria that `keys` says of each.
fn complaints(senders: &[Sender], keys: impl Fn(&Sender) -> Vec<String>) -> Vec<String> {
    let of = |sender: &Sender| {
        let card = evaluate(std::slice::from_ref(&sender.stack), &keys(sender));
        sender.complaints(&card[0])
    };
    senders.iter().flat_map(of).collect()
}

/// What differs from the table that was written before the first run stands in it, and nothing else differs.
#[test]
#[ignore = "six whole cards take two minutes: cargo xtask test --all"]
fn each_fails_what_is_meant_for_it_and_nothing_unrelated() {
    let whole: Vec<_> = senders().into_iter().filter(|s| !s.brief).collect();
    let wrong = complaints(&whole, |_| Vec::new());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is meant for it, and the first of what has nothing to do with it. `cargo measure evaluation` holds whole cards
/// against the runs.
#[test]
fn each_fails_what_is_meant_for_it() {
    let wrong = complaints(&senders(), |sender| {
        let spared = sender.keeps.iter().filter(|_| !sender.brief).take(1);
        sender.fails.iter().chain(spared).cloned().collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
