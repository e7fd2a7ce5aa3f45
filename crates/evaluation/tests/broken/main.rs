//! Senders that are broken on purpose fail the criteria that are meant for them, and no others.

mod senders;

use std::collections::BTreeMap;

use dupack_evaluation::{Campaign, Card, Conduct, Extent, Mark, Suite};
use dupack_lab::run::{Execution, Interrupt};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    #[serde(rename = "sender")]
    senders: Vec<Sender>,
}

/// What the suite must find of a sender.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sender {
    key: String,
    stack: String,
    #[expect(dead_code, reason = "it is for people")]
    what: String,
    /// Criteria that it must not meet.
    fails: Vec<String>,
    /// Criteria that have nothing to do with it.
    keeps: Vec<String>,
    /// What the runs have shown otherwise, and why.
    #[serde(default)]
    differs: BTreeMap<String, String>,
}

fn expected() -> Expected {
    toml::from_str(include_str!("expected.toml")).expect("the table is sound")
}

fn evaluate(stacks: &[String]) -> Vec<Card> {
    let (suite, catalog) = (Suite::builtin(), senders::catalog());
    let campaign = Campaign::new(&suite, (stacks, &catalog), &[], Extent::Quick).unwrap();
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
    for sender in expected().senders {
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
    let senders = expected().senders;
    let stacks: Vec<String> = senders.iter().map(|sender| sender.stack.clone()).collect();
    let cards = evaluate(&stacks);
    let mut wrong = Vec::new();
    for (sender, card) in senders.iter().zip(&cards) {
        let verdict = |key: &String| card.row(key).map(|row| row.verdict);
        let spared = sender
            .fails
            .iter()
            .filter(|key| verdict(key) != Some(Mark::DoesNotMeet));
        let struck = sender
            .keeps
            .iter()
            .filter(|key| verdict(key) == Some(Mark::DoesNotMeet));
        let differ: Vec<&String> = spared.chain(struck).collect();
        for key in &differ {
            if !sender.differs.contains_key(*key) {
                let row = card.row(key).unwrap();
                let said = row.verdict.name();
                wrong.push(format!("{}: {key}: {said}: {}", sender.key, row.found));
            }
        }
        for key in sender.differs.keys().filter(|key| !differ.contains(key)) {
            wrong.push(format!("{}: {key} does not differ any more", sender.key));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The card of each sender, for people: `cargo test --test broken -- --ignored --nocapture`.
#[test]
#[ignore = "it prints and asserts nothing"]
fn cards() {
    let stacks: Vec<String> = expected().senders.into_iter().map(|s| s.stack).collect();
    for card in evaluate(&stacks) {
        println!(
            "\n{}",
            dupack_evaluation::table(&[&card], dupack_report::table::Colour::No, Some(160))
        );
    }
}
