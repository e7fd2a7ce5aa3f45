//! `cargo xtask mutants`: compares the survivors of a run of cargo-mutants with the accepted survivors.
//!
//! cargo-mutants (`.cargo/mutants.toml`, docs/mutants.md) makes one small change at a time and runs the tests. A change
//! with which all tests pass is a survivor: a test is missing, the code is redundant, or the change makes no
//! difference. The file `xtask/mutants.toml` contains the reasons for accepted survivors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use dupack_build::root;
use serde::Deserialize;

/// File with the reasons for accepted survivors.
const REASONS: &str = "xtask/mutants.toml";

#[derive(Args)]
pub struct MutantsArgs {
    /// Results of `cargo mutants`
    #[arg(value_name = "FILE", default_value = "mutants.out/outcomes.json")]
    outcomes: PathBuf,
}

/// Runs `cargo xtask mutants`.
///
/// # Errors
/// If a file cannot be read, if a survivor has no reason, or if a reason names a mutant that a test detected.
pub fn run(args: &MutantsArgs) -> Result<(), String> {
    let outcomes = read(&args.outcomes).map_err(|e| format!("{e}: run `cargo mutants` first"))?;
    let mutants =
        mutants_in(&outcomes, root()).map_err(|e| format!("{}: {e}", args.outcomes.display()))?;
    let reasons = Reasons::parse(&read(&root().join(REASONS))?)?;
    let count = |found: Found| {
        mutants
            .iter()
            .filter(|mutant| mutant.found == found)
            .count()
    };
    let (caught, survived) = (count(Found::Caught), count(Found::Survived));
    println!("{caught} caught, {survived} survived");
    for mutant in mutants.iter().filter(|m| m.found == Found::Survived) {
        if let Some(reason) = reasons.of(mutant) {
            println!("{}: {}: {}", mutant.name, reason.class, reason.why);
        }
    }
    let complaints = reasons.complaints(&mutants);
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{REASONS} does not match the results: write a test, delete redundant code, or add a reason:\n{}",
            complaints.join("\n")
        )),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// Verdict of the tests on a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// A test failed, or the tests did not end in time.
    Caught,
    Survived,
}

/// A mutant that compiles.
#[derive(Debug, PartialEq)]
struct Mutant {
    /// Name in cargo-mutants: `crates/tcp/src/rtt.rs:95:20: replace < with <= in Rtt::sample`.
    name: String,
    file: String,
    /// The change without its position, and the changed line of code. Reasons refer to this text.
    change: String,
    found: Found,
}

/// The part of `outcomes.json` that is needed here.
#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<MutantOutcome>,
}

#[derive(Deserialize)]
struct MutantOutcome {
    scenario: Scenario,
    summary: String,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Listed),
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    file: String,
    span: Span,
    genre: String,
}

#[derive(Deserialize)]
struct Span {
    start: Place,
}

#[derive(Deserialize)]
struct Place {
    /// Line number, counted from 1.
    line: usize,
}

/// Genre of the mutants that replace the body of a function.
const WHOLE_FUNCTION: &str = "FnValue";

/// Reads the mutants in the text of `outcomes.json`. The sources are below the folder `root`.
fn mutants_in(outcomes: &str, root: &Path) -> Result<Vec<Mutant>, String> {
    let outcomes: Outcomes = serde_json::from_str(outcomes).map_err(|e| e.to_string())?;
    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    let mut mutants = Vec::new();
    for MutantOutcome { scenario, summary } in outcomes.outcomes {
        let Scenario::Mutant(listed) = scenario else {
            continue;
        };
        let found = match &*summary {
            "CaughtMutant" | "Timeout" => Found::Caught,
            "MissedMutant" => Found::Survived,
            _ => continue,
        };
        if !sources.contains_key(&listed.file) {
            sources.insert(listed.file.clone(), read(&root.join(&listed.file))?);
        }
        let line = sources[&listed.file]
            .lines()
            .nth(listed.span.start.line - 1);
        mutants.push(Mutant {
            change: change(&listed, line.unwrap_or_default()),
            name: listed.name,
            file: listed.file,
            found,
        });
    }
    Ok(mutants)
}

/// Returns the change without its position. Unless a whole function is replaced, adds the changed line of code.
fn change(listed: &Listed, line: &str) -> String {
    let what = listed.name.splitn(4, ':').nth(3);
    let what = what.unwrap_or(&listed.name).trim();
    match listed.genre == WHOLE_FUNCTION {
        true => what.to_owned(),
        false => format!("{what}: {}", line.trim()),
    }
}

/// All reasons for accepted survivors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reasons {
    #[serde(default, rename = "reason")]
    reasons: Vec<Reason>,
}

/// Reason why some mutants of one file survive.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// Path of the file, relative to the workspace's root.
    file: String,
    /// The changes, in the format of [`Mutant::change`].
    mutants: Vec<String>,
    /// Kind of the reason in a few words, such as "makes no difference".
    class: String,
    /// Explanation of the reason in one or two sentences.
    why: String,
}

impl Reasons {
    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|e| format!("{REASONS}: {e}"))
    }

    /// Returns the reason why a mutant may survive, if there is one.
    fn of(&self, mutant: &Mutant) -> Option<&Reason> {
        let mut of_file = self.reasons.iter().filter(|r| r.file == mutant.file);
        of_file.find(|reason| reason.mutants.contains(&mutant.change))
    }

    /// Returns messages about survivors without a reason, and about reasons for mutants that were caught.
    fn complaints(&self, mutants: &[Mutant]) -> Vec<String> {
        let complaint = |mutant: &Mutant| match (mutant.found, self.of(mutant)) {
            (Found::Survived, None) => {
                Some(format!("no reason: {}: {:?}", mutant.name, mutant.change))
            }
            (Found::Caught, Some(_)) => Some(format!("reason, but caught: {}", mutant.name)),
            _ => None,
        };
        mutants.iter().filter_map(complaint).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTCOMES: &str = r#"{"outcomes": [
        {"scenario": "Baseline", "summary": "Success"},
        {"scenario": {"Mutant": {"name": "a.rs:2:7: replace < with <= in f", "package": "x", "file": "a.rs", "function": null,
            "span": {"start": {"line": 2, "column": 7}, "end": {"line": 2, "column": 8}}, "replacement": "<=",
            "genre": "BinaryOperator"}}, "summary": "MissedMutant", "log_path": "log/1"},
        {"scenario": {"Mutant": {"name": "a.rs:1:1: replace f -> bool with true", "file": "a.rs", "package": "x",
            "span": {"start": {"line": 1, "column": 1}, "end": {"line": 3, "column": 2}}, "replacement": "true",
            "genre": "FnValue"}}, "summary": "CaughtMutant"},
        {"scenario": {"Mutant": {"name": "a.rs:1:1: replace f -> bool with 3", "file": "a.rs", "package": "x",
            "span": {"start": {"line": 1, "column": 1}, "end": {"line": 3, "column": 2}}, "replacement": "3",
            "genre": "FnValue"}}, "summary": "Unviable"}
    ], "total_mutants": 3}"#;

    fn reasons(change: &str) -> Reasons {
        let text = format!(
            "[[reason]]\nfile = \"a.rs\"\nclass = \"c\"\nwhy = \"w\"\nmutants = [{change:?}]\n"
        );
        Reasons::parse(&text).unwrap()
    }

    #[test]
    fn survivors_need_a_reason_and_reasons_a_survivor() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("a.rs"),
            "fn f() -> bool {\n    a < b\n}\n",
        )
        .unwrap();
        let mutants = mutants_in(OUTCOMES, folder.path()).unwrap();
        let changes: Vec<_> = mutants.iter().map(|m| (&*m.change, m.found)).collect();
        let survivor = "replace < with <= in f: a < b";
        let expected = [
            (survivor, Found::Survived),
            ("replace f -> bool with true", Found::Caught),
        ];
        assert_eq!(changes, expected);

        assert!(reasons(survivor).complaints(&mutants).is_empty());
        let stale = reasons("replace f -> bool with true");
        assert_eq!(stale.complaints(&mutants).len(), 2);
        assert_eq!(reasons("another").complaints(&mutants).len(), 1);
    }

    #[test]
    fn the_committed_reasons_are_well_formed() {
        Reasons::parse(&read(&root().join(REASONS)).unwrap()).unwrap();
    }
}
