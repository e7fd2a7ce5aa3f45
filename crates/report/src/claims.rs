//! Verdicts on claims: their marks, a table for the terminal, CSV, JSON, and a section of a page.

use dupack_claims::{Judged, Verdict};
use dupack_lab::results::sheet::to_sheet;
use dupack_lab::results::{Answered, Results, store};

use crate::page::{Block, Cell, Emphasis, Section};
use crate::table::{Colour, Ink, Plain};

const fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓",
        Verdict::DoesNotHold => "✗",
        Verdict::CannotBeTold => "?",
    }
}

/// Returns the mark of a verdict followed by its name: `✓ holds`.
#[must_use]
pub fn marked(verdict: Verdict) -> String {
    format!("{} {}", mark(verdict), verdict.name())
}

/// Returns the emphasis of a verdict in a table.
#[must_use]
pub const fn emphasis(verdict: Verdict) -> Emphasis {
    match verdict {
        Verdict::Holds => Emphasis::Holds,
        Verdict::DoesNotHold => Emphasis::Fails,
        Verdict::CannotBeTold => Emphasis::Open,
    }
}

const fn ink(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::Holds => Ink::Green,
        Verdict::DoesNotHold => Ink::Red,
        Verdict::CannotBeTold => Ink::Yellow,
    }
}

/// A column of a list of verdicts.
#[derive(Clone, Copy)]
struct Column {
    /// Name of the column in CSV and JSON.
    key: &'static str,
    /// Name of the column for readers.
    header: &'static str,
    of: fn(&Judged) -> String,
}

/// Returns the rule of a claim as a sentence, or its expression if it has no sentence.
fn rule(judged: &Judged) -> String {
    let claim = &judged.claim;
    let own = Some(&claim.rule).filter(|rule| !rule.is_empty());
    own.unwrap_or(&claim.holds_if).clone()
}

/// Columns of every list of verdicts.
const COLUMNS: [Column; 8] = [
    column("id", "id", |judged| judged.claim.id.clone()),
    column("section", "section", |judged| judged.claim.section.clone()),
    column("statement", "claim", |judged| {
        judged.claim.statement.clone()
    }),
    column("paper", "the paper", |judged| judged.claim.paper.clone()),
    column("rule", "rule", rule),
    column("verdict", "verdict", |judged| {
        judged.finding.verdict.name().to_owned()
    }),
    column("found", "here", |judged| judged.finding.found.clone()),
    column("explanation", "why", |judged| {
        judged.explanation().unwrap_or_default().to_owned()
    }),
];

const fn column(key: &'static str, header: &'static str, of: fn(&Judged) -> String) -> Column {
    Column { key, header, of }
}

/// Returns the columns named in `keys`, in this order and without empty columns. If a claim does not hold, the column
/// of findings also contains the reason.
fn for_people(keys: &[&str], judged: &[Judged]) -> Vec<Column> {
    let all = keys
        .iter()
        .filter_map(|key| COLUMNS.into_iter().find(|column| column.key == *key));
    let all = all.map(|column| match column.key {
        "found" => Column {
            of: Judged::found,
            ..column
        },
        _ => column,
    });
    let used = |column: &Column| judged.iter().any(|judged| !(column.of)(judged).is_empty());
    all.filter(used).collect()
}

/// Returns the verdicts as a table for the terminal. The table omits the ids and the rules because they do not fit.
#[must_use]
pub fn table(judged: &[Judged], coloured: Colour, width: Option<u16>) -> String {
    let columns = for_people(&["section", "statement", "paper", "found"], judged);
    let header = columns.iter().map(|column| column.header);
    let header: Vec<&str> = [""].into_iter().chain(header).collect();
    let mut table = Plain::new(&header, usize::MAX, width);
    for judged in judged {
        let verdict = judged.finding.verdict;
        let cells = columns.iter().map(|column| printable(&(column.of)(judged)));
        let row = [marked(verdict)].into_iter().chain(cells);
        table.add_marked(ink(verdict), coloured, row);
    }
    table.text()
}

/// Returns `text` without characters that move the cursor or change colours.
fn printable(text: &str) -> String {
    let control = |c: char| c.is_control() && c != '\n';
    text.replace(control, "\u{fffd}")
}

/// Returns the note that a single seed has no confidence interval, if `results` have only one seed.
#[must_use]
pub fn caution(results: &Results) -> Option<&'static str> {
    (results.experiment.seeds.to_vec().len() == 1)
        .then_some("One seed has no confidence interval, so comparisons are treated as exact.")
}

/// Returns the verdicts as CSV.
#[must_use]
pub fn csv(judged: &[Judged]) -> Vec<u8> {
    csv_with(judged, &[])
}

/// Returns the verdicts as CSV, with additional columns: the name of each, and its values in the order of the claims.
#[must_use]
pub fn csv_with(judged: &[Judged], columns: &[(&str, Vec<String>)]) -> Vec<u8> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let own = COLUMNS.iter().map(|column| column.key);
    let header = own.chain(columns.iter().map(|(name, _)| *name));
    out.write_record(header).expect("memory does not fail");
    for (n, judged) in judged.iter().enumerate() {
        let own = COLUMNS.iter().map(|column| (column.of)(judged));
        let row = own.chain(columns.iter().map(|(_, values)| values[n].clone()));
        let row = row.map(|cell| to_sheet(&cell).into_owned());
        out.write_record(row).expect("memory does not fail");
    }
    out.into_inner().unwrap_or_default()
}

/// Returns the results as JSON. If there are verdicts, the object contains them as `claims`.
#[must_use]
pub fn json(results: &Answered<'_>, judged: &[Judged]) -> serde_json::Value {
    let mut json = store::json(results);
    if !judged.is_empty() {
        let row = |judged: &Judged| -> serde_json::Value {
            let cells = COLUMNS.iter();
            let cells = cells.map(|column| (column.key.to_owned(), (column.of)(judged).into()));
            serde_json::Value::Object(cells.collect())
        };
        json["claims"] = judged.iter().map(row).collect();
    }
    json
}

/// Returns the verdicts as a section of a page.
#[must_use]
pub fn section(judged: &[Judged]) -> Section {
    let keys = ["verdict", "section", "statement", "paper", "found", "rule"];
    let columns = for_people(&keys, judged);
    let row = |judged: &Judged| {
        let cell = |column: &Column| {
            let text = (column.of)(judged);
            match column.key {
                "verdict" => Cell::new(&text, emphasis(judged.finding.verdict)),
                _ => text.into(),
            }
        };
        columns.iter().map(cell).collect()
    };
    Section {
        heading: "Claims".to_owned(),
        blocks: vec![Block::Table {
            caption: "Verdict on each claim of the experiment file.".to_owned(),
            header: columns
                .iter()
                .map(|column| column.header.to_owned())
                .collect(),
            rows: judged.iter().map(row).collect(),
        }],
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use dupack_algorithms::catalog::Catalog;
    use dupack_claims::Finding;
    use dupack_lab::experiment::Claim;
    use dupack_lab::experiment::load::Source;
    use dupack_lab::run::Plan;

    use super::*;

    fn judged(section: &str, statement: &str) -> Judged {
        Judged {
            claim: Claim {
                id: "ahead".to_owned(),
                section: section.to_owned(),
                statement: statement.to_owned(),
                paper: "twice".to_owned(),
                holds_if: "1 > 2".to_owned(),
                explanation: "It is not.".to_owned(),
                ..Claim::default()
            },
            finding: Finding::new(Verdict::DoesNotHold, "1"),
        }
    }

    #[test]
    fn every_list_has_all_parts_of_a_verdict() {
        let judged = [judged("4.2", "It is ahead")];
        let csv = String::from_utf8(csv(&judged)).unwrap();
        assert_eq!(
            csv,
            "id,section,statement,paper,rule,verdict,found,explanation\n\
             ahead,4.2,It is ahead,twice,1 > 2,does not hold,1,It is not.\n"
        );
        let Block::Table { header, rows, .. } = &section(&judged).blocks[0] else {
            panic!("a section with a table");
        };
        assert_eq!(
            header.join(","),
            "verdict,section,claim,the paper,here,rule"
        );
        assert_eq!(rows[0].len(), header.len());
        let table = table(&judged, Colour::No, None);
        for text in ["section", "4.2", "the paper", "twice", "It is not."] {
            assert!(table.contains(text), "{text}: {table}");
        }
    }

    #[test]
    fn empty_columns_are_left_out() {
        let table = table(&[judged("", "It is ahead")], Colour::No, None);
        assert!(!table.contains("section"), "{table}");
    }

    #[test]
    fn statements_cannot_control_the_terminal() {
        let table = table(
            &[judged("", "red: \u{1b}[31m, bell: \u{7}")],
            Colour::No,
            None,
        );
        assert!(!table.contains(['\u{1b}', '\u{7}']), "{table:?}");
        assert!(table.contains("red: \u{fffd}[31m"), "{table:?}");
    }

    fn results(seeds: &str) -> Results {
        let source = Source {
            name: "test.toml".to_owned(),
            text: format!("stacks = [\"sack/reno\"]\nseeds = {seeds}\n[path]\nrate = \"8Mbit/s\""),
            folder: std::path::PathBuf::new(),
        };
        let plan = Plan::new(source.parse().unwrap(), &source, &Catalog::builtin());
        plan.unwrap().empty_results()
    }

    #[test]
    fn results_as_json_have_the_verdicts() {
        let results = results("2");
        let claim = &json(&Answered::of(&results), &[judged("4.2", "It is ahead")])["claims"][0];
        assert_eq!(claim["verdict"], "does not hold");
        assert_eq!(claim["section"], "4.2");
        assert_eq!(
            json(&Answered::of(&results), &[]),
            store::json(&Answered::of(&results))
        );
    }

    #[test]
    fn one_seed_has_a_note() {
        assert!(caution(&results("1")).unwrap().contains("exact"));
        assert!(caution(&results("[7]")).is_some());
        assert_eq!(caution(&results("2")), None);
    }
}
