//! The report card: a verdict for each criterion, as data.

use std::path::Path;

use serde::{Deserialize, Serialize};

use dupack_claims::Verdict;

use crate::error::EvaluationError;
use crate::suite::{Extent, Scale, Suite};

/// Verdict of a card on a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The stack meets the criterion.
    Meets,
    /// The stack does not meet the criterion.
    DoesNotMeet,
    /// The runs do not decide the criterion, or some runs are missing.
    CannotBeTold,
    /// A program cannot judge the criterion, or it does not apply to a single sender.
    NotApplicable,
}

impl Mark {
    /// All verdicts.
    pub const ALL: [Self; 4] = [
        Self::Meets,
        Self::DoesNotMeet,
        Self::CannotBeTold,
        Self::NotApplicable,
    ];

    /// Returns the name of the verdict.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Meets => "meets",
            Self::DoesNotMeet => "does not meet",
            Self::CannotBeTold => "cannot be told",
            Self::NotApplicable => "not applicable",
        }
    }

    /// Returns the sign and the name of the verdict.
    #[must_use]
    pub fn marked(self) -> String {
        format!("{} {}", self.sign(), self.name())
    }

    /// Returns the sign of the verdict.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Meets => "✓",
            Self::DoesNotMeet => "✗",
            Self::CannotBeTold => "?",
            Self::NotApplicable => "–",
        }
    }

    /// Returns a rank, where higher is better, or `None` if the verdict says nothing about the stack.
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
    /// Stack that was evaluated.
    pub stack: String,
    /// `full` or `quick`.
    pub extent: String,
    /// Number of the set of seeds, counted from 1.
    pub seed_set: u32,
    /// Version of dupack that made the card.
    pub version: String,
    /// Number of runs that are missing because of an interrupt.
    pub missing: usize,
    /// Rows, in the order of RFC 9743.
    pub rows: Vec<Row>,
    /// Results on real packets, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireCard>,
}

/// The part of a card on real packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireCard {
    /// Number of runs.
    pub runs: usize,
    /// Number of these runs that are void because the emulated path missed its timing. Void runs do not count towards
    /// any verdict.
    pub void: usize,
    /// Rows, in the order of RFC 9743.
    pub rows: Vec<Row>,
}

/// A row of a card: a criterion, or a heading without criteria.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Section of RFC 9743.
    pub section: String,
    /// Heading of the section.
    pub heading: String,
    /// Key of the criterion. `None` if the heading has no criterion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Title of the criterion.
    pub title: String,
    /// The verdict.
    pub verdict: Mark,
    /// On real packets, the verdict of the same experiment in the simulator. `None` for the kernel's senders, which
    /// have no simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Mark>,
    /// The measured result, or the reason why the heading does not apply.
    pub found: String,
    /// Rule, as a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// Rule, as an expression of docs/claims.md.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expression: String,
    /// Threshold, its basis and its source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub threshold: String,
    /// Experiment file, relative to the card's folder.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    /// Command that produces this row again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
}

impl Row {
    /// Formats the verdict for a table of several cards. A row on real packets also shows the sign of the simulator's
    /// verdict.
    #[must_use]
    pub fn marked(&self) -> String {
        let simulated = self.simulated;
        let simulated = simulated.map(|mark| format!(" (simulated {})", mark.sign()));
        format!("{}{}", self.verdict.marked(), simulated.unwrap_or_default())
    }
}

/// A verdict that is worse than the baseline's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worse {
    /// Key of the criterion.
    pub key: String,
    /// Verdict of the baseline.
    pub before: Mark,
    /// Verdict of the new card.
    pub now: Mark,
    /// Result of the new card.
    pub found: String,
}

impl Card {
    /// Reads the cards in `text`, the content of the file `path`: a single card, or the cards of a comparison.
    ///
    /// # Errors
    /// If the file is not a report card.
    pub fn read(path: &str, text: &str) -> Result<Vec<Self>, EvaluationError> {
        let one = serde_json::from_str::<Self>(text).map(|card| vec![card]);
        one.or_else(|error| serde_json::from_str(text).map_err(|_| error))
            .map_err(|error| EvaluationError::NoCard {
                path: path.to_owned(),
                cause: error.to_string(),
            })
    }

    /// Returns the number of rows with `mark`.
    #[must_use]
    pub fn count(&self, mark: Mark) -> usize {
        count(&self.rows, mark)
    }

    /// Counts the verdicts: `20 meets, 2 does not meet, 1 cannot be told, 3 not applicable`.
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

    /// Returns the row of a criterion, in the simulator or on real packets.
    #[must_use]
    pub fn row(&self, key: &str) -> Option<&Row> {
        self.all_rows().find(|row| row.key.as_deref() == Some(key))
    }

    fn all_rows(&self) -> impl Iterator<Item = &Row> {
        let wire = self.wire.iter().flat_map(|wire| &wire.rows);
        self.rows.iter().chain(wire)
    }

    /// Returns the verdicts that are worse than in `baseline`, in the order "meets", "cannot be told", "does not meet".
    /// A criterion is ignored if only one of the cards has it, or if it is not applicable in one of them.
    ///
    /// # Errors
    /// If the baseline has a different extent, or no criterion in common with this card.
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
            let ranks = row.verdict.rank().zip(before.verdict.rank());
            if ranks.is_some_and(|(now, before)| now < before) {
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

    /// Creates the card of `stack` with the rows of `found`. A card of all criteria also has the headings without
    /// criteria.
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

/// The result of a criterion.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) key: String,
    pub(crate) mark: Mark,
    pub(crate) found: String,
    pub(crate) rule: String,
    pub(crate) expression: String,
    /// Experiment file, relative to the card's folder.
    pub(crate) scenario: String,
}

/// Returns the command that evaluates the criterion `key` for `stack` again. The command has `--suite` unless the suite
/// is the built-in one.
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

/// Quotes a word for a shell.
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
                ("f", Meets),
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
                ("f", NotApplicable),
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
                .starts_with("cannot read x as a report card")
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
