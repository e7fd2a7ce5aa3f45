//! Expected verdicts on each sender, from `expected.toml`.

use std::collections::BTreeMap;

use dupack_evaluation::{Card, Mark};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    #[serde(rename = "sender")]
    senders: Vec<Sender>,
}

/// A sender with the verdicts that are expected on its card.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sender {
    /// Name of the sender.
    pub key: String,
    /// Stack of the sender.
    pub stack: String,
    /// Fault of the sender.
    pub what: String,
    /// `true` if the tests run only the criteria in `fails`. `cargo measure evaluation` runs all criteria.
    #[serde(default)]
    pub brief: bool,
    /// Criteria that the sender must fail.
    pub fails: Vec<String>,
    /// Criteria that are unrelated to the fault, and that the sender must not fail.
    pub keeps: Vec<String>,
    /// Criteria for which the runs contradict `fails` or `keeps`, with the reason.
    #[serde(default)]
    pub differs: BTreeMap<String, String>,
}

/// Returns the senders of `expected.toml`.
///
/// # Panics
/// If the file is malformed.
#[must_use]
pub fn senders() -> Vec<Sender> {
    let expected: Expected =
        toml::from_str(include_str!("expected.toml")).expect("the table is sound");
    expected.senders
}

impl Sender {
    /// Returns messages about verdicts of `card` that contradict the table and are not listed in `differs`, and about
    /// listed differences that no longer exist. Criteria that are not on the card do not count.
    #[must_use]
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
        let agree = agree.map(|key| format!("{}: {key} no longer differs", self.key));
        unsaid.chain(agree).collect()
    }
}
