//! What is known of mutants: a line of JSON for each finding, in a file beside the build. The last word on a mutant
//! counts. What is known in the end is kept in the repository, too, so that another machine need not find it again.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use dupack_build::root;
use serde::{Deserialize, Serialize};

use super::mutant::Mutant;
use super::stage::Stage;

/// What tests made of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// A test failed.
    Caught,
    /// The tests did not end: as good as caught.
    TimedOut,
    /// No test failed.
    Missed,
    /// It does not compile, and says nothing of tests.
    Unviable,
    /// What was found is in doubt.
    Doubted,
}

/// What has been found, of the mutants that there are.
const KEPT: &str = "xtask/mutants.jsonl";

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Finding {
    /// The mutant's, in hexadecimal.
    pub key: String,
    pub found: Found,
    /// By these tests.
    pub stage: Stage,
    /// For people; line and column as they were.
    pub name: String,
}

/// All findings.
pub struct Known {
    /// Beside the build: all that was found here.
    path: PathBuf,
    /// In the repository.
    kept: PathBuf,
    /// By the mutant's key.
    last: HashMap<String, (Found, Stage)>,
}

impl Known {
    /// Reads what is known, or begins.
    ///
    /// # Errors
    /// If a file cannot be read. A line that was cut off is left out.
    pub fn open(folder: &Path) -> Result<Self, String> {
        Self::read(folder.join("findings.jsonl"), root().join(KEPT))
    }

    fn read(path: PathBuf, kept: PathBuf) -> Result<Self, String> {
        let mut last = HashMap::new();
        for path in [&kept, &path] {
            let text = match fs::read_to_string(path) {
                Ok(text) => text,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(format!("cannot read {}: {e}", path.display())),
            };
            let read = |line| serde_json::from_str::<Finding>(line).ok();
            let findings = text.lines().filter_map(read);
            last.extend(findings.map(|finding| (finding.key, (finding.found, finding.stage))));
        }
        Ok(Self { path, kept, last })
    }

    /// Keeps what is known of `mutants` in the repository.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&self, mutants: &[Mutant]) -> Result<(), String> {
        let mut text = String::new();
        for mutant in mutants {
            let Some(&(found, stage)) = self.last.get(&key(mutant)) else {
                continue;
            };
            let finding = Finding::of(mutant, found, stage);
            text += &serde_json::to_string(&finding).map_err(|e| e.to_string())?;
            text.push('\n');
        }
        fs::write(&self.kept, text)
            .map_err(|e| format!("cannot write {}: {e}", self.kept.display()))
    }

    /// Forgets everything.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn forget(&mut self) -> Result<(), String> {
        self.last.clear();
        for path in [&self.path, &self.kept] {
            match fs::remove_file(path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(format!("cannot remove {}: {e}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Notes what was found.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn note(&mut self, finding: Finding) -> Result<(), String> {
        let line = serde_json::to_string(&finding).map_err(|e| e.to_string())?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path);
        file.and_then(|mut file| writeln!(file, "{line}"))
            .map_err(|e| format!("cannot write {}: {e}", self.path.display()))?;
        self.last
            .insert(finding.key, (finding.found, finding.stage));
        Ok(())
    }

    /// Takes back what is known of the survivors among `mutants`.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn doubt(&mut self, mutants: &[&Mutant]) -> Result<(), String> {
        for mutant in mutants {
            if let Some(&(Found::Missed, stage)) = self.last.get(&key(mutant)) {
                self.note(Finding::of(mutant, Found::Doubted, stage))?;
            }
        }
        Ok(())
    }

    /// What is found of a mutant, once it is decided.
    pub fn verdict(&self, mutant: &Mutant) -> Option<Found> {
        let &(found, _) = self.last.get(&key(mutant))?;
        match self.next_stage(mutant) {
            Some(_) => None,
            None => Some(found),
        }
    }

    /// Whether some tests have been run with a mutant.
    pub fn has_begun(&self, mutant: &Mutant) -> bool {
        let last = self.last.get(&key(mutant));
        last.is_some_and(|&(found, _)| found != Found::Doubted)
    }

    /// By which tests a mutant is to be tried next, if it is not decided.
    pub fn next_stage(&self, mutant: &Mutant) -> Option<Stage> {
        match self.last.get(&key(mutant)) {
            None | Some((Found::Doubted, _)) => Some(Stage::FIRST),
            Some(&(Found::Missed, stage)) => stage.next(mutant),
            Some((Found::Caught | Found::TimedOut | Found::Unviable, _)) => None,
        }
    }
}

impl Finding {
    pub fn of(mutant: &Mutant, found: Found, stage: Stage) -> Self {
        Self {
            key: key(mutant),
            found,
            stage,
            name: mutant.name.clone(),
        }
    }
}

fn key(mutant: &Mutant) -> String {
    format!("{:016x}", mutant.key)
}

#[cfg(test)]
mod tests {
    use super::super::mutant::tests::mutant;
    use super::*;

    /// What is known in a folder that has both files.
    fn open(folder: &Path) -> Known {
        Known::read(folder.join("found"), folder.join("kept")).unwrap()
    }

    #[test]
    fn what_was_found_is_known_in_the_next_run_and_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let mutants = [mutant("a.rs", 1), mutant("a.rs", 2), mutant("a.rs", 3)];
        let [one, two, three] = &mutants;
        let mut known = open(folder.path());
        known
            .note(Finding::of(one, Found::Caught, Stage::Own))
            .unwrap();
        known
            .note(Finding::of(two, Found::Missed, Stage::Own))
            .unwrap();
        let check = |again: Known| {
            assert_eq!(again.verdict(one), Some(Found::Caught));
            // Other tests may catch it yet.
            assert_eq!(again.verdict(two), None);
            assert_eq!(again.next_stage(two), Some(Stage::PlugIns));
            assert_eq!(again.next_stage(three), Some(Stage::Own));
        };
        check(open(folder.path()));
        // And with nothing but what the repository has, of the mutants that there still are.
        known.keep(&mutants).unwrap();
        fs::remove_file(folder.path().join("found")).unwrap();
        check(open(folder.path()));
        known.keep(&mutants[1..]).unwrap();
        assert_eq!(open(folder.path()).next_stage(one), Some(Stage::Own));
        known.forget().unwrap();
        assert_eq!(open(folder.path()).next_stage(two), Some(Stage::Own));
    }

    #[test]
    fn a_survivor_that_is_doubted_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (caught, missed) = (mutant("a.rs", 1), mutant("a.rs", 2));
        let mut known = open(folder.path());
        known
            .note(Finding::of(&caught, Found::Caught, Stage::Own))
            .unwrap();
        known
            .note(Finding::of(&missed, Found::Missed, Stage::Whole))
            .unwrap();
        assert_eq!(known.verdict(&missed), Some(Found::Missed));
        known.doubt(&[&caught, &missed]).unwrap();
        assert_eq!(known.verdict(&caught), Some(Found::Caught));
        assert_eq!(known.next_stage(&missed), Some(Stage::Own));
    }
}
