//! Properties of report cards: rules with the same verdicts on all cards, and verdicts that depend on the seeds.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The part of a card of `dupack evaluate` that is needed here.
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

/// Verdict of a row.
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
    /// Reads the cards in the file at `path`. All runs of these cards must be finished.
    pub fn read(path: &Path) -> Result<Vec<Self>, String> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|e| format!("{name}: {e}"))?;
        let cards: Vec<Self> = serde_json::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
        match cards.iter().find(|card| card.missing > 0) {
            Some(card) => Err(format!("{name}: runs of {} are missing", card.stack)),
            None => Ok(cards),
        }
    }

    /// Returns the verdict by the criterion `key`.
    pub fn verdict(&self, key: &str) -> Option<Verdict> {
        let row = self.rows.iter().find(|row| row.key.as_deref() == Some(key));
        row.map(|row| row.verdict)
    }

    /// Returns the criteria of the card.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(|row| row.key.as_deref())
    }
}

/// Returns pairs of rules that no card distinguishes. A card distinguishes two rules if the stack meets one rule and
/// does not meet the other. Undecided verdicts do not count, because more seeds might change them.
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

/// Stability of verdicts under other seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stability {
    /// Number of sets of seeds.
    pub sets: usize,
    /// The stacks.
    pub stacks: Vec<String>,
    /// Number of verdicts: one for each stack and criterion.
    pub cells: usize,
    /// Number of verdicts that are the same with every set.
    pub agreeing: usize,
    /// Verdicts that differ between the sets: stack, criterion, and the verdict with each set.
    pub different: Vec<(String, String, Vec<Verdict>)>,
    /// Indices into `different` of the verdicts that are "meets" with one set and "does not meet" with another.
    pub turned: Vec<usize>,
}

/// Minimum accepted share of stable verdicts.
const ENOUGH: f64 = 0.95;

impl Stability {
    /// Returns the share of verdicts that are the same with every set.
    pub fn share(&self) -> f64 {
        self.agreeing as f64 / self.cells.max(1) as f64
    }

    /// Returns `true` if verdicts are stable enough.
    pub fn is_enough(&self) -> bool {
        self.share() >= ENOUGH && self.turned.is_empty()
    }
}

/// Compares the verdicts of `sets`. Each set has the cards of the same stacks in the same order.
pub fn stability(sets: &[Vec<Card>]) -> Result<Stability, String> {
    let first = sets.first().ok_or("no set of seeds")?;
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
    fn two_rules_differ_only_if_one_is_met_and_the_other_is_not() {
        let cards = [
            card("x", &[Meets, Meets, CannotBeTold]),
            card("y", &[Meets, DoesNotMeet, DoesNotMeet]),
        ];
        assert_eq!(alike(&cards), [("b".to_owned(), "c".to_owned())]);
        let more = [&cards[..], &[card("z", &[Meets, DoesNotMeet, Meets])]].concat();
        assert!(alike(&more).is_empty());
    }

    #[test]
    fn a_reversed_verdict_is_worse_than_one_that_cannot_be_told() {
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
