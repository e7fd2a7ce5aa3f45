//! Senders that are broken on purpose fail the criteria that are meant for them, and no others.

mod expected;
mod senders;
mod subtle;

use dupack_evaluation::{Campaign, Card, Conduct, Extent, Suite};
use dupack_lab::run::{Execution, Interrupt};

use self::expected::senders;

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

/// What differs from the table that was written before the first run stands in it, and nothing else differs.
#[test]
fn each_fails_what_is_meant_for_it_and_nothing_unrelated() {
    let whole: Vec<_> = senders().into_iter().filter(|s| !s.brief).collect();
    let stacks: Vec<String> = whole.iter().map(|sender| sender.stack.clone()).collect();
    let cards = evaluate(&stacks, &[]);
    let wrong: Vec<String> = whole
        .iter()
        .zip(&cards)
        .flat_map(|(sender, card)| sender.complaints(card))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Of those with a long list, what is meant for them; `cargo measure evaluation` holds the whole list against the runs.
#[test]
fn each_subtle_one_fails_what_is_meant_for_it() {
    let brief = senders().into_iter().filter(|sender| sender.brief);
    let wrong = brief.flat_map(|sender| {
        let card = evaluate(std::slice::from_ref(&sender.stack), &sender.fails);
        sender.complaints(&card[0])
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
