//! Why there are survivors: `xtask/mutants.toml`.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::known::{Found, Known};
use super::mutant::Mutant;

/// All of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasons {
    #[serde(default, rename = "reason")]
    reasons: Vec<Reason>,
}

/// Why mutants of one file survive for one reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// From the workspace's root.
    file: String,
    /// As the command tells a survivor: what is changed, and the line.
    mutants: Vec<String>,
    /// In a few words, such as "makes no difference".
    pub class: String,
    /// In a sentence or two.
    pub why: String,
}

impl Reasons {
    /// # Errors
    /// If the file cannot be read, or is not what it should be.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Why a mutant survives, if somebody said so.
    pub fn of(&self, mutant: &Mutant) -> Option<&Reason> {
        let change = mutant.change();
        let mut of_file = self.reasons.iter().filter(|r| r.file == mutant.file);
        of_file.find(|reason| reason.mutants.contains(&change))
    }

    /// Those that name no survivor, though the mutants of their file are all tried.
    pub fn without_a_survivor(&self, chosen: &[&Mutant], known: &Known) -> Vec<String> {
        let mut names = Vec::new();
        for reason in &self.reasons {
            let of_file: Vec<&&Mutant> = chosen.iter().filter(|m| m.file == reason.file).collect();
            if of_file.iter().any(|mutant| known.verdict(mutant).is_none()) {
                continue;
            }
            for change in &reason.mutants {
                let mut named = of_file.iter().filter(|m| m.change() == *change);
                let mut found = named.clone().map(|mutant| known.verdict(mutant));
                // Not in the sample: nothing is known.
                if named.next().is_some() && !found.any(|found| found == Some(Found::Missed)) {
                    names.push(format!("{}: {change}", reason.file));
                }
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::super::known::Finding;
    use super::super::mutant::tests::mutant;
    use super::super::stage::Stage;
    use super::*;

    #[test]
    fn a_reason_is_found_by_file_and_change_and_is_asked_for_a_survivor() {
        let text = r#"
            [[reason]]
            file = "a.rs"
            class = "makes no difference"
            why = "Both are the same."
            mutants = ["replace < with <= in f: a < b"]
        "#;
        let reasons: Reasons = toml::from_str(text).unwrap();
        let (one, other) = (mutant("a.rs", 1), mutant("b.rs", 1));
        assert_eq!(
            reasons.of(&one).map(|r| &*r.why),
            Some("Both are the same.")
        );
        assert!(reasons.of(&other).is_none());

        let folder = tempfile::tempdir().unwrap();
        let mut known = Known::open(folder.path()).unwrap();
        let complaints = |known: &Known| reasons.without_a_survivor(&[&one], known).len();
        assert_eq!(complaints(&known), 0);
        known
            .note(Finding::of(&one, Found::Missed, Stage::Whole))
            .unwrap();
        assert_eq!(complaints(&known), 0);
        known
            .note(Finding::of(&one, Found::Caught, Stage::Own))
            .unwrap();
        assert_eq!(complaints(&known), 1);
    }

    #[test]
    fn the_reasons_in_the_repository_can_be_read() {
        let path = dupack_build::root().join(super::super::REASONS);
        Reasons::read(&path).unwrap();
    }
}
