//! Many scripts: finding them, playing them, and the table of what came of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::screen::plain;
use crate::{Options, Outcome, Trace, run_traced};

/// A script that was played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Where it stands.
    pub path: PathBuf,
    /// What came of it.
    pub outcome: Outcome,
}

/// Scripts that were played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suite {
    /// In the order in which they were played.
    pub played: Vec<Played>,
}

/// The scripts that `paths` name: files as they are, and all `.pkt` files in folders, in order of
/// their names.
///
/// # Errors
/// If a folder cannot be read, or there is no file or folder of a name.
pub fn scripts(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if path.metadata()?.is_dir() {
            collect(path, &mut found)?;
        } else {
            found.push(path.clone());
        }
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<_> = folder.read_dir()?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // A link to a folder may lead back.
        if entry.file_type()?.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
    Ok(())
}

/// Plays the script in a file.
///
/// # Errors
/// If the file cannot be read.
pub fn play(path: &Path, options: &Options) -> io::Result<Played> {
    play_traced(path, options).map(|(played, _)| played)
}

/// As [`play`], with what crossed the wire, if anything could.
///
/// # Errors
/// As [`play`].
pub fn play_traced(path: &Path, options: &Options) -> io::Result<(Played, Option<Trace>)> {
    let source = std::fs::read_to_string(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let (outcome, trace) = run_traced(&source, folder, options);
    let path = path.to_path_buf();
    Ok((Played { path, outcome }, trace))
}

/// How many scripts came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// As they say.
    pub passed: usize,
    /// Not as they say.
    pub failed: usize,
    /// Not played to the end.
    pub skipped: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
        }
    }

    fn row(self, name: &str, width: usize) -> String {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        format!("{name:<width$} {passed:>8} {failed:>8} {skipped:>8}\n")
    }
}

impl Suite {
    /// How many came to what.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.played.iter().for_each(|p| counts.add(&p.outcome));
        counts
    }

    /// A table of the folders, if there are more scripts than one.
    #[must_use]
    pub fn table(&self) -> String {
        let mut folders: BTreeMap<String, Counts> = BTreeMap::new();
        for played in &self.played {
            let folder = played.path.parent().unwrap_or(Path::new(""));
            let folder = plain(&folder.display().to_string()).into_owned();
            folders.entry(folder).or_default().add(&played.outcome);
        }
        let names = folders.keys().map(|name| name.chars().count());
        let width = names.max().unwrap_or(0).max("folder".len());
        let (passed, failed, skipped) = ("passed", "failed", "skipped");
        let mut table = format!(
            "{:<width$} {passed:>8} {failed:>8} {skipped:>8}\n",
            "folder"
        );
        for (name, counts) in &folders {
            table.push_str(&counts.row(name, width));
        }
        if folders.len() > 1 {
            table.push_str(&self.counts().row("all", width));
        }
        table
    }

    /// Everything, for other programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let Counts {
            passed,
            failed,
            skipped,
        } = self.counts();
        let scripts: Vec<Value> = self.played.iter().map(Played::json).collect();
        json!({
            "passed": passed,
            "failed": failed,
            "skipped": skipped,
            "scripts": scripts,
        })
    }

    /// A line for each script, for spreadsheets.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = "script,outcome,line,reason\n".to_owned();
        for played in &self.played {
            let (word, line, reason) = match &played.outcome {
                Outcome::Passed => ("passed", String::new(), String::new()),
                Outcome::Failed(failure) => {
                    ("failed", failure.line.to_string(), failure.in_short())
                }
                Outcome::Skipped(skip) => ("skipped", skip.line.to_string(), skip.reason.clone()),
            };
            let path = quoted(&plain(&played.path.display().to_string()));
            let reason = quoted(&plain(&reason));
            let _ = writeln!(text, "{path},{word},{line},{reason}");
        }
        text
    }
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

impl Played {
    /// What came of it, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let path = self.path.display();
        let line = match &self.outcome {
            Outcome::Passed => format!("passed   {path}"),
            Outcome::Failed(failure) => {
                format!("FAILED   {path}:{}: {}", failure.line, failure.in_short())
            }
            Outcome::Skipped(skip) => format!("skipped  {path}:{}: {}", skip.line, skip.reason),
        };
        plain(&line).into_owned()
    }

    /// What came of it, with all that is known of how it failed.
    #[must_use]
    pub fn text(&self) -> String {
        let Outcome::Failed(failure) = &self.outcome else {
            return self.line();
        };
        let path = self.path.display().to_string();
        let path = plain(&path);
        format!("{path}:{}: failed\n\n{failure}", failure.line)
    }

    fn json(&self) -> Value {
        let script = self.path.display().to_string();
        match &self.outcome {
            Outcome::Passed => json!({ "script": script, "outcome": "passed" }),
            Outcome::Skipped(skip) => json!({
                "script": script,
                "outcome": "skipped",
                "line": skip.line,
                "reason": skip.reason,
            }),
            Outcome::Failed(failure) => {
                let state: serde_json::Map<String, Value> = failure
                    .state
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), json!(value)))
                    .collect();
                json!({
                    "script": script,
                    "outcome": "failed",
                    "line": failure.line,
                    "message": failure.message,
                    "expected": failure.expected,
                    "came": failure.came,
                    "differences": failure.differences,
                    "state": state,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";
    const FAILS: &str = "0 close(3) = 0\n";
    const IS_SKIPPED: &str = "0 socket(..., SOCK_DGRAM, 0) = 3\n";

    fn suite() -> Suite {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).expect("a folder");
        let write = |path: PathBuf, text: &str| std::fs::write(path, text).expect("a file");
        write(folder.path().join("b.pkt"), PASSES);
        write(folder.path().join("a.pkt"), FAILS);
        write(folder.path().join("note.txt"), FAILS);
        write(inner.join("c.pkt"), IS_SKIPPED);
        let paths = scripts(&[folder.path().to_path_buf()]).expect("scripts");
        let play = |path: &PathBuf| {
            let mut played = play(path, &Options::default()).expect("a script");
            let short = path.strip_prefix(folder.path()).expect("a part of it");
            played.path = Path::new("x").join(short);
            played
        };
        Suite {
            played: paths.iter().map(play).collect(),
        }
    }

    #[test]
    fn folders_are_searched_in_order_and_counted_apart() {
        let suite = suite();
        assert_eq!(
            suite.table(),
            "folder    passed   failed  skipped\n\
             x              1        1        0\n\
             x/inner        0        0        1\n\
             all            1        1        1\n"
        );
        let lines: Vec<String> = suite.played.iter().map(Played::line).collect();
        assert_eq!(
            lines,
            [
                "FAILED   x/a.pkt:1: close returns something else: 0 expected, -1 EBADF came",
                "passed   x/b.pkt",
                "skipped  x/inner/c.pkt:1: sockets other than TCP's",
            ]
        );
    }

    #[test]
    fn other_programs_get_everything() {
        let suite = suite();
        let json = suite.json();
        assert_eq!(json["failed"], 1);
        assert_eq!(json["scripts"][0]["came"], "-1 EBADF");
        assert_eq!(json["scripts"][2]["outcome"], "skipped");
        let csv = suite.csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[2], "x/b.pkt,passed,,");
        assert_eq!(
            lines[1],
            "x/a.pkt,failed,1,\"close returns something else: 0 expected, -1 EBADF came\""
        );
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        assert!(scripts(&[PathBuf::from("/no/such/folder")]).is_err());
    }
}
