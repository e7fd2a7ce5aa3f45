//! What the suite must find of each sender: `expected.toml`.

use std::collections::BTreeMap;

use dupack_evaluation::{Card, Mark};
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
pub struct Sender {
    pub key: String,
    pub stack: String,
    #[expect(dead_code, reason = "it is for people")]
    what: String,
    /// Whether the tests run its `fails` alone, and `cargo measure evaluation` the rest.
    #[serde(default)]
    pub brief: bool,
    /// Criteria that it must not meet.
    pub fails: Vec<String>,
    /// Criteria that have nothing to do with it.
    pub keeps: Vec<String>,
    /// What the runs have shown otherwise, and why.
    #[serde(default)]
    pub differs: BTreeMap<String, String>,
}

/// Those of `expected.toml`.
pub fn senders() -> Vec<Sender> {
    let expected: Expected =
        toml::from_str(include_str!("expected.toml")).expect("the table is sound");
    expected.senders
}

impl Sender {
    /// What of `card` is neither in the table nor in what is said to differ from it. Criteria that the card
    /// does not have do not count.
    pub fn complaints(&self, card: &Card) -> Vec<String> {
        let verdict = |key: &String| card.row(key).map(|row| row.verdict);
        let has = |key: &&String| card.row(key).is_some();
        let spared = self.fails.iter().filter(has);
        let spared = spared.filter(|key| verdict(key) != Some(Mark::DoesNotMeet));
        let struck = self.keeps.iter();
        let struck = struck.filter(|key| verdict(key) == Some(Mark::DoesNotMeet));
        let differ: Vec<&String> = spared.chain(struck).collect();
        let unsaid = differ
            .iter()
            .filter(|key| !self.differs.contains_key(**key));
        let unsaid = unsaid.filter_map(|key| {
            let row = card.row(key)?;
            let (key, said) = (&self.key, row.verdict.name());
            Some(format!("{key}: {}: {said}: {}", row.title, row.found))
        });
        let agree = self.differs.keys().filter(has);
        let agree = agree.filter(|key| !differ.contains(key));
        let agree = agree.map(|key| format!("{}: {key} does not differ any more", self.key));
        unsaid.chain(agree).collect()
    }
}
