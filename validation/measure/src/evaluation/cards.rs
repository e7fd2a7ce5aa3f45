//! What is read off cards: which rules never differ, and which verdicts depend on the seeds.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// A card as `dupack evaluate` writes it, as far as it is used here.
#[derive(Clone, Debug, Deserialize)]
pub struct Card {
    pub stack: String,
    pub extent: String,
    pub missing: usize,
    pub rows: Vec<Row>,
}

/// A row of a card.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    pub section: String,
    pub key: Option<String>,
    pub title: String,
    pub verdict: Verdict,
}

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Meets,
    DoesNotMeet,
    CannotBeTold,
    NotApplicable,
}

impl Verdict {
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Meets => "✓",
            Self::DoesNotMeet => "✗",
            Self::CannotBeTold => "?",
            Self::NotApplicable => "–",
        }
    }
}

impl Card {
    /// The cards in the file at `path`, all runs of which were done.
    pub fn read(path: &Path) -> Result<Vec<Self>, String> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
        let cards: Vec<Self> = serde_json::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
        match cards.iter().find(|card| card.missing > 0) {
            Some(card) => Err(format!("{name}: runs of {} are missing", card.stack)),
            None => Ok(cards),
        }
    }

    /// The verdict by the criterion called `key`.
    pub fn verdict(&self, key: &str) -> Option<Verdict> {
        let row = self.rows.iter().find(|row| row.key.as_deref() == Some(key));
        row.map(|row| row.verdict)
    }

    /// The criteria that it has.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|row| row.key.as_deref())
    }
}

/// Pairs of rules that no card tells apart: one says that it is met, and the other that it is not. That one
/// cannot tell is no difference, as more seeds might take it away.
pub fn alike(cards: &[Card]) -> Vec<(String, String)> {
    let Some(first) = cards.first() else {
        return Vec::new();
    };
    let keys: Vec<&str> = first.keys().collect();
    let apart = |a: &str, b: &str| {
        cards.iter().any(|card| {
            let both = [card.verdict(a), card.verdict(b)];
            both.contains(&Some(Verdict::Meets)) && both.contains(&Some(Verdict::DoesNotMeet))
        })
    };
    let mut pairs = Vec::new();
    for (n, a) in keys.iter().enumerate() {
        for b in keys[n + 1..].iter().filter(|b| !apart(a, b)) {
            pairs.push(((*a).to_owned(), (*b).to_owned()));
        }
    }
    pairs
}

/// How verdicts are with other seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stability {
    /// Sets of seeds.
    pub sets: usize,
    /// Stacks.
    pub stacks: Vec<String>,
    /// Verdicts: one for each stack and criterion.
    pub cells: usize,
    /// Those that are the same with every set.
    pub agreeing: usize,
    /// Those that are not: stack, criterion, and the verdict with each set.
    pub different: Vec<(String, String, Vec<Verdict>)>,
    /// Of these, the places of those that are met with one set and not met with another.
    pub turned: Vec<usize>,
}

/// The least share of verdicts that stay as they are.
const ENOUGH: f64 = 0.95;

impl Stability {
    /// The share of verdicts that are the same with every set.
    pub fn share(&self) -> f64 {
        self.agreeing as f64 / self.cells.max(1) as f64
    }

    /// Whether verdicts may be called stable.
    pub fn is_enough(&self) -> bool {
        self.share() >= ENOUGH && self.turned.is_empty()
    }
}

/// The verdicts of `sets`, each of which has the cards of the same stacks in the same order.
pub fn stability(sets: &[Vec<Card>]) -> Result<Stability, String> {
    let first = sets.first().ok_or("there is no set of seeds")?;
    let stacks: Vec<String> = first.iter().map(|card| card.stack.clone()).collect();
    let mut found = Stability {
        sets: sets.len(),
        stacks,
        ..Stability::default()
    };
    for (n, card) in first.iter().enumerate() {
        for key in card.keys() {
            let of = |set: &Vec<Card>| {
                let same = set.get(n).filter(|other| other.stack == card.stack);
                same.and_then(|other| other.verdict(key))
            };
            let verdicts: Option<Vec<Verdict>> = sets.iter().map(of).collect();
            let verdicts = verdicts.ok_or_else(|| format!("{}: {key} is missing", card.stack))?;
            let kinds: BTreeSet<Verdict> = verdicts.iter().copied().collect();
            found.cells += 1;
            if kinds.len() == 1 {
                found.agreeing += 1;
                continue;
            }
            if kinds.contains(&Verdict::Meets) && kinds.contains(&Verdict::DoesNotMeet) {
                found.turned.push(found.different.len());
            }
            let place = (card.stack.clone(), key.to_owned(), verdicts);
            found.different.push(place);
        }
    }
    Ok(found)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use Verdict::{CannotBeTold, DoesNotMeet, Meets};

    pub fn card(stack: &str, verdicts: &[Verdict]) -> Card {
        let row = |(n, verdict): (usize, &Verdict)| Row {
            section: "6.1".to_owned(),
            key: Some(["a", "b", "c"][n].to_owned()),
            title: "t".to_owned(),
            verdict: *verdict,
        };
        Card {
            stack: stack.to_owned(),
            extent: "full".to_owned(),
            missing: 0,
            rows: verdicts.iter().enumerate().map(row).collect(),
        }
    }

    #[test]
    fn two_rules_differ_only_where_one_is_met_and_the_other_is_not() {
        let cards = [
            card("x", &[Meets, Meets, CannotBeTold]),
            card("y", &[Meets, DoesNotMeet, DoesNotMeet]),
        ];
        assert_eq!(alike(&cards), [("b".to_owned(), "c".to_owned())]);
        let more = [&cards[..], &[card("z", &[Meets, DoesNotMeet, Meets])]].concat();
        assert!(alike(&more).is_empty());
    }

    #[test]
    fn a_verdict_that_turns_round_is_worse_than_one_that_cannot_be_told() {
        let sets = |b: Verdict| {
            [
                vec![card("x", &[Meets, Meets])],
                vec![card("x", &[Meets, b])],
            ]
        };
        let unsure = stability(&sets(CannotBeTold)).unwrap();
        assert_eq!((unsure.cells, unsure.agreeing), (2, 1));
        assert!(unsure.turned.is_empty() && !unsure.is_enough());
        assert_eq!(stability(&sets(DoesNotMeet)).unwrap().turned, [0]);
        assert!(stability(&sets(Meets)).unwrap().is_enough());
        let other = [vec![card("x", &[Meets])], vec![card("y", &[Meets])]];
        assert!(stability(&other).unwrap_err().contains("missing"));
    }
}
