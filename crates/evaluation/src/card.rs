//! The report card: a verdict for each criterion, as data.

use std::path::Path;

use serde::{Deserialize, Serialize};

use dupack_claims::Verdict;

use crate::error::EvaluationError;
use crate::suite::{Extent, Scale, Suite};

/// What a card says of a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// By the criterion's rule the stack meets it.
    Meets,
    /// By the rule it does not.
    DoesNotMeet,
    /// The runs do not decide it, or are missing.
    CannotBeTold,
    /// A program cannot judge it, or it does not apply to a single sender.
    NotApplicable,
}

impl Mark {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Meets,
        Self::DoesNotMeet,
        Self::CannotBeTold,
        Self::NotApplicable,
    ];

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Meets => "meets",
            Self::DoesNotMeet => "does not meet",
            Self::CannotBeTold => "cannot be told",
            Self::NotApplicable => "not applicable",
        }
    }

    /// Its sign and its words.
    #[must_use]
    pub fn marked(self) -> String {
        format!("{} {}", self.sign(), self.name())
    }

    /// Its sign.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Meets => "✓",
            Self::DoesNotMeet => "✗",
            Self::CannotBeTold => "?",
            Self::NotApplicable => "–",
        }
    }

    /// How good it is, where it says something of the stack.
    const fn rank(self) -> Option<u8> {
        match self {
            Self::Meets => Some(2),
            Self::CannotBeTold => Some(1),
            Self::DoesNotMeet => Some(0),
            Self::NotApplicable => None,
        }
    }
}

impl From<Verdict> for Mark {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Holds => Self::Meets,
            Verdict::DoesNotHold => Self::DoesNotMeet,
            Verdict::CannotBeTold => Self::CannotBeTold,
        }
    }
}

/// A stack's report card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The stack.
    pub stack: String,
    /// `full` or `quick`.
    pub extent: String,
    /// The set of seeds, counted from 1.
    pub seed_set: u32,
    /// The version of dupack that made it.
    pub version: String,
    /// Runs that are missing, because it was interrupted.
    pub missing: usize,
    /// Its rows, in the order of RFC 9743.
    pub rows: Vec<Row>,
    /// What real packets show, if they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireCard>,
}

/// What real packets show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireCard {
    /// The runs behind it.
    pub runs: usize,
    /// Of these, those whose path did not keep its time. They are in no verdict.
    pub void: usize,
    /// Its rows, in the order of RFC 9743.
    pub rows: Vec<Row>,
}

/// A row of a card: a criterion, or a heading that has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The section of RFC 9743.
    pub section: String,
    /// Its heading.
    pub heading: String,
    /// The criterion's name; none where the heading has no criterion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What the criterion is called.
    pub title: String,
    /// The verdict.
    pub verdict: Mark,
    /// On real packets, that of the same experiment in the simulator; none of a kernel's sender, which it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Mark>,
    /// What was found; of what does not apply, why not.
    pub found: String,
    /// The rule as a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// The rule as an expression of docs/claims.md.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expression: String,
    /// The threshold, what it rests on, and where it is from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub threshold: String,
    /// The experiment's file, from the card's folder on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    /// The command that makes this row again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
}

impl Row {
    /// Its verdict for a table in which cards stand side by side, on real packets with the simulator's sign.
    #[must_use]
    pub fn marked(&self) -> String {
        let simulated = self.simulated;
        let simulated = simulated.map(|mark| format!(" (simulated {})", mark.sign()));
        format!("{}{}", self.verdict.marked(), simulated.unwrap_or_default())
    }
}

/// A verdict that is not as good as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worse {
    /// The criterion.
    pub key: String,
    /// What the baseline says.
    pub before: Mark,
    /// What the new card says.
    pub now: Mark,
    /// What was found now.
    pub found: String,
}

impl Card {
    /// Reads the cards in `text`, which stands at `path`: one, or those of a comparison.
    ///
    /// # Errors
    /// If it is no card.
    pub fn read(path: &str, text: &str) -> Result<Vec<Self>, EvaluationError> {
        let one = serde_json::from_str::<Self>(text).map(|card| vec![card]);
        one.or_else(|error| serde_json::from_str(text).map_err(|_| error))
            .map_err(|error| EvaluationError::NoCard {
                path: path.to_owned(),
                cause: error.to_string(),
            })
    }

    /// How many rows have `mark`.
    #[must_use]
    pub fn count(&self, mark: Mark) -> usize {
        count(&self.rows, mark)
    }

    /// `20 meets, 2 does not meet, 1 cannot be told, 3 not applicable`.
    #[must_use]
    pub fn tally(&self) -> String {
        let parts = [
            (!self.rows.is_empty()).then(|| tally(&self.rows)),
            self.wire
                .as_ref()
                .map(|wire| format!("on real packets {}", tally(&wire.rows))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join("; ")
    }

    /// The row of a criterion, in the simulator or on real packets.
    #[must_use]
    pub fn row(&self, key: &str) -> Option<&Row> {
        self.all_rows().find(|row| row.key.as_deref() == Some(key))
    }

    fn all_rows(&self) -> impl Iterator<Item = &Row> {
        let wire = self.wire.iter().flat_map(|wire| &wire.rows);
        self.rows.iter().chain(wire)
    }

    /// The verdicts that are worse than in `baseline`: "cannot be told" is worse than "meets", and "does
    /// not meet" worse than both. Criteria that only one of them has do not count.
    ///
    /// # Errors
    /// If the baseline was made at another extent, or has none of these criteria.
    pub fn worse_than(&self, baseline: &Self) -> Result<Vec<Worse>, EvaluationError> {
        if self.extent != baseline.extent {
            return Err(EvaluationError::OtherExtent {
                held: baseline.extent.clone(),
                wanted: self.extent.clone(),
            });
        }
        let mut common = 0;
        let mut worse = Vec::new();
        for row in self.all_rows() {
            let Some(key) = &row.key else { continue };
            let Some(before) = baseline.row(key) else {
                continue;
            };
            common += 1;
            if row.verdict.rank() < before.verdict.rank() {
                worse.push(Worse {
                    key: key.clone(),
                    before: before.verdict,
                    now: row.verdict,
                    found: row.found.clone(),
                });
            }
        }
        match common {
            0 => Err(EvaluationError::NothingInCommon),
            _ => Ok(worse),
        }
    }

    /// The card of `stack` with the rows of `found`: of each criterion its name, its verdict, what was found,
    /// and the scenario's file. A whole card has the headings without criteria, too.
    pub(crate) fn new(
        suite: &Suite,
        stack: &str,
        (scale, whole): (Scale, bool),
        found: &[Found],
    ) -> Self {
        let mut rows = Vec::new();
        for heading in &suite.headings {
            if let Some(why) = heading.not_applicable.as_ref().filter(|_| whole) {
                rows.push(Row {
                    section: heading.section.clone(),
                    heading: heading.title.clone(),
                    key: None,
                    title: heading.title.clone(),
                    verdict: Mark::NotApplicable,
                    simulated: None,
                    found: why.trim().to_owned(),
                    rule: String::new(),
                    expression: String::new(),
                    threshold: String::new(),
                    scenario: String::new(),
                    command: String::new(),
                });
            }
            for criterion in suite
                .criteria
                .iter()
                .filter(|c| c.section == heading.section)
            {
                let Some(of) = found.iter().find(|of| of.key == criterion.key) else {
                    continue;
                };
                let (basis, source) = (suite.basis(criterion), criterion.source.trim());
                rows.push(Row {
                    section: heading.section.clone(),
                    heading: heading.title.clone(),
                    key: Some(criterion.key.clone()),
                    title: criterion.title.clone(),
                    verdict: of.mark,
                    simulated: None,
                    found: of.found.clone(),
                    rule: of.rule.clone(),
                    expression: of.expression.clone(),
                    threshold: format!("{} ({basis}: {source})", criterion.threshold),
                    scenario: of.scenario.clone(),
                    command: command(stack, &criterion.key, scale, suite.folder.as_deref()),
                });
            }
        }
        Self {
            stack: stack.to_owned(),
            extent: scale.extent.name().to_owned(),
            seed_set: scale.seed_set,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            missing: 0,
            rows,
            wire: None,
        }
    }
}

fn count(rows: &[Row], mark: Mark) -> usize {
    rows.iter().filter(|row| row.verdict == mark).count()
}

fn tally(rows: &[Row]) -> String {
    let counts = Mark::ALL.map(|mark| (count(rows, mark), mark));
    let said = counts.iter().filter(|(count, _)| *count > 0);
    let said: Vec<String> = said
        .map(|(n, mark)| format!("{n} {}", mark.name()))
        .collect();
    said.join(", ")
}

/// What was found of a criterion.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) key: String,
    pub(crate) mark: Mark,
    pub(crate) found: String,
    pub(crate) rule: String,
    pub(crate) expression: String,
    /// The experiment's file, from the card's folder on.
    pub(crate) scenario: String,
}

/// The command that judges `key` of `stack` again, by the suite in `folder`, if it is not the one of the program.
fn command(stack: &str, key: &str, scale: Scale, folder: Option<&Path>) -> String {
    let set = match scale.seed_set {
        1 => String::new(),
        n => format!(" --seed-set {n}"),
    };
    let quick = match scale.extent {
        Extent::Full => "",
        Extent::Quick => " --quick",
    };
    let suite = folder.map(|folder| format!(" --suite {}", quoted(&folder.display().to_string())));
    let (stack, suite) = (quoted(stack), suite.unwrap_or_default());
    format!("dupack evaluate {stack} --only {key}{quick}{set}{suite}")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(extent: &str, verdicts: &[(&str, Mark)]) -> Card {
        let row = |(key, verdict): &(&str, Mark)| Row {
            section: "5.1.1".to_owned(),
            heading: "h".to_owned(),
            key: Some((*key).to_owned()),
            title: "t".to_owned(),
            verdict: *verdict,
            simulated: None,
            found: "f".to_owned(),
            rule: String::new(),
            expression: String::new(),
            threshold: String::new(),
            scenario: String::new(),
            command: String::new(),
        };
        Card {
            stack: "sack/reno".to_owned(),
            extent: extent.to_owned(),
            seed_set: 1,
            version: "0".to_owned(),
            missing: 0,
            rows: verdicts.iter().map(row).collect(),
            wire: None,
        }
    }

    #[test]
    fn only_what_got_worse_is_told_and_a_card_is_no_worse_than_itself() {
        use Mark::{CannotBeTold, DoesNotMeet, Meets, NotApplicable};
        let before = card(
            "full",
            &[
                ("a", Meets),
                ("b", Meets),
                ("c", DoesNotMeet),
                ("d", CannotBeTold),
                ("e", NotApplicable),
            ],
        );
        assert_eq!(before.worse_than(&before).unwrap(), []);
        let now = card(
            "full",
            &[
                ("a", CannotBeTold),
                ("b", DoesNotMeet),
                ("c", Meets),
                ("d", DoesNotMeet),
                ("x", DoesNotMeet),
            ],
        );
        let worse = now.worse_than(&before).unwrap();
        let keys: Vec<&str> = worse.iter().map(|worse| worse.key.as_str()).collect();
        assert_eq!(keys, ["a", "b", "d"]);
    }

    #[test]
    fn cards_that_cannot_be_compared_are_refused() {
        let quick = card("quick", &[("a", Mark::Meets)]);
        let full = card("full", &[("a", Mark::Meets)]);
        assert!(matches!(
            full.worse_than(&quick),
            Err(EvaluationError::OtherExtent { .. })
        ));
        let other = card("full", &[("b", Mark::Meets)]);
        assert!(matches!(
            full.worse_than(&other),
            Err(EvaluationError::NothingInCommon)
        ));
    }

    #[test]
    fn a_card_reads_back_alone_and_among_others() {
        let card = card("quick", &[("a", Mark::CannotBeTold)]);
        let text = serde_json::to_string(&card).unwrap();
        assert_eq!(Card::read("x", &text).unwrap(), std::slice::from_ref(&card));
        let both = serde_json::to_string(&[&card, &card]).unwrap();
        assert_eq!(Card::read("x", &both).unwrap().len(), 2);
        assert!(
            Card::read("x", "{}")
                .unwrap_err()
                .to_string()
                .starts_with("x is no")
        );
    }

    #[test]
    fn the_command_of_a_row_can_be_pasted() {
        assert_eq!(
            command("rack/bbr(beta=0.9)", "harm", Extent::Quick.into(), None),
            "dupack evaluate 'rack/bbr(beta=0.9)' --only harm --quick"
        );
        let folder = Some(Path::new("it's mine"));
        assert_eq!(
            command("rack/bbr", "x", Extent::Full.into(), folder),
            r"dupack evaluate rack/bbr --only x --suite 'it'\''s mine'"
        );
    }
}
