//! Suites of scripts: finds scripts, plays them, and tabulates their outcomes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::screen::plain;
use crate::{Options, ScriptOutcome, Trace, run_traced};

/// A played script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Path of the script.
    pub path: PathBuf,
    /// Outcome of the script.
    pub outcome: ScriptOutcome,
}

/// Played scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suite {
    /// The scripts in the order in which they were played.
    pub played: Vec<Played>,
}

/// Returns the scripts that `paths` name, each script once. Files are returned as given, and folders are replaced by
/// all `.pkt` files in them, in the order of their names. Unreadable paths are included, because [`play`] reports the
/// reason.
#[must_use]
pub fn scripts(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => collect(path, &mut found),
            false => found.push(path.clone()),
        }
    }
    let mut seen = BTreeSet::new();
    // Links are not resolved, because the same script may use different files in another folder.
    found.retain(|path| seen.insert(std::path::absolute(path).unwrap_or_else(|_| path.clone())));
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = folder.read_dir().and_then(Iterator::collect);
    let Ok(mut entries): io::Result<Vec<_>> = entries else {
        found.push(folder.to_owned());
        return;
    };
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // Links to folders are not followed, because they may form a loop.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            found.push(path);
        }
    }
}

/// Plays the script in a file.
#[must_use]
pub fn play(path: &Path, options: &Options) -> Played {
    play_traced(path, options).0
}

/// Plays a script like [`play`], and also returns the packets on the wire, if there were any.
#[must_use]
pub fn play_traced(path: &Path, options: &Options) -> (Played, Option<Trace>) {
    let folder = path.parent().unwrap_or(Path::new("."));
    let (outcome, trace) = match std::fs::read(path) {
        // Invalid UTF-8 outside of comments is reported with its position.
        Ok(bytes) => run_traced(&String::from_utf8_lossy(&bytes), folder, options),
        Err(error) => (ScriptOutcome::Unread(unread(path, error)), None),
    };
    let path = path.to_path_buf();
    (Played { path, outcome }, trace)
}

fn unread(path: &Path, error: io::Error) -> String {
    let error = match path.is_dir() {
        true => path.read_dir().err().unwrap_or(error),
        false => error,
    };
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => "give an existing file or folder",
        io::ErrorKind::PermissionDenied => "make it readable",
        _ => "give another file",
    };
    format!("cannot read the file: {error}: {remedy}")
}

/// Numbers of scripts by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Scripts that passed.
    pub passed: usize,
    /// Scripts that failed.
    pub failed: usize,
    /// Scripts that need an unsupported feature.
    pub skipped: usize,
    /// Scripts whose files cannot be read.
    pub unread: usize,
}

impl Counts {
    fn add(&mut self, outcome: &ScriptOutcome) {
        match outcome {
            ScriptOutcome::Passed => self.passed += 1,
            ScriptOutcome::Failed(_) => self.failed += 1,
            ScriptOutcome::Skipped(_) => self.skipped += 1,
            ScriptOutcome::Unread(_) => self.unread += 1,
        }
    }

    fn row(self, name: &str, width: usize, has_unread: bool) -> String {
        let Self {
            passed,
            failed,
            skipped,
            unread,
        } = self;
        let unread = match has_unread {
            true => format!(" {unread:>8}"),
            false => String::new(),
        };
        format!("{name:<width$} {passed:>8} {failed:>8} {skipped:>8}{unread}\n")
    }
}

impl Suite {
    /// Returns the numbers of scripts by outcome.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.played.iter().for_each(|p| counts.add(&p.outcome));
        counts
    }

    /// Returns a table with a row for each folder.
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
        let all = self.counts();
        let has_unread = all.unread > 0;
        let (passed, failed, skipped) = ("passed", "failed", "skipped");
        let unread = if has_unread { "   unread" } else { "" };
        let mut table = format!(
            "{:<width$} {passed:>8} {failed:>8} {skipped:>8}{unread}\n",
            "folder"
        );
        for (name, counts) in &folders {
            table.push_str(&counts.row(name, width, has_unread));
        }
        if folders.len() > 1 {
            table.push_str(&all.row("all", width, has_unread));
        }
        table
    }

    /// Returns all outcomes as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let Counts {
            passed,
            failed,
            skipped,
            unread,
        } = self.counts();
        let scripts: Vec<Value> = self.played.iter().map(Played::json).collect();
        json!({
            "passed": passed,
            "failed": failed,
            "skipped": skipped,
            "unread": unread,
            "scripts": scripts,
        })
    }

    /// Returns all outcomes as CSV, with a line for each script.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = "script,outcome,line,reason\n".to_owned();
        for played in &self.played {
            let (word, line, reason) = match &played.outcome {
                ScriptOutcome::Passed => ("passed", String::new(), String::new()),
                ScriptOutcome::Failed(failure) => {
                    ("failed", failure.line.to_string(), failure.in_short())
                }
                ScriptOutcome::Skipped(skip) => {
                    ("skipped", skip.line.to_string(), skip.reason.clone())
                }
                ScriptOutcome::Unread(why) => ("unread", String::new(), why.clone()),
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
    /// Returns the outcome on one line.
    #[must_use]
    pub fn line(&self) -> String {
        let path = self.path.display();
        let line = match &self.outcome {
            ScriptOutcome::Passed => format!("passed   {path}"),
            ScriptOutcome::Failed(failure) => {
                format!("FAILED   {path}:{}: {}", failure.line, failure.in_short())
            }
            ScriptOutcome::Skipped(skip) => {
                format!("skipped  {path}:{}: {}", skip.line, skip.reason)
            }
            ScriptOutcome::Unread(why) => format!("UNREAD   {path}: {why}"),
        };
        plain(&line).into_owned()
    }

    /// Returns the outcome with all details of a failure.
    #[must_use]
    pub fn text(&self) -> String {
        let ScriptOutcome::Failed(failure) = &self.outcome else {
            return self.line();
        };
        let path = self.path.display().to_string();
        let path = plain(&path);
        format!("{path}:{}: failed\n\n{failure}", failure.line)
    }

    fn json(&self) -> Value {
        let script = self.path.display().to_string();
        match &self.outcome {
            ScriptOutcome::Passed => json!({ "script": script, "outcome": "passed" }),
            ScriptOutcome::Skipped(skip) => json!({
                "script": script,
                "outcome": "skipped",
                "line": skip.line,
                "reason": skip.reason,
            }),
            ScriptOutcome::Unread(why) => json!({
                "script": script,
                "outcome": "unread",
                "message": why,
            }),
            ScriptOutcome::Failed(failure) => {
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
        let paths = scripts(&[folder.path().to_path_buf()]);
        let play = |path: &PathBuf| {
            let mut played = play(path, &Options::default());
            let short = path.strip_prefix(folder.path()).expect("a part of it");
            played.path = Path::new("x").join(short);
            played
        };
        Suite {
            played: paths.iter().map(play).collect(),
        }
    }

    #[test]
    fn folders_are_searched_in_order_and_counted_separately() {
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
                "FAILED   x/a.pkt:1: close returned a different value: expected 0, got -1 EBADF",
                "passed   x/b.pkt",
                "skipped  x/inner/c.pkt:1: sockets other than TCP",
            ]
        );
    }

    #[test]
    fn json_and_csv_have_all_outcomes() {
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
            "x/a.pkt,failed,1,\"close returned a different value: expected 0, got -1 EBADF\""
        );
    }

    #[test]
    fn an_unreadable_file_is_reported_and_the_others_are_played() {
        let folder = tempfile::tempdir().expect("a folder");
        let good = folder.path().join("good.pkt");
        std::fs::write(&good, PASSES).expect("a file");
        let paths = scripts(&[folder.path().join("nosuch.pkt"), good]);
        let mut suite = Suite {
            played: paths
                .iter()
                .map(|path| play(path, &Options::default()))
                .collect(),
        };
        for played in &mut suite.played {
            played.path = Path::new("x").join(played.path.file_name().expect("a name"));
        }
        let line = suite.played[0].line();
        assert!(
            line.starts_with("UNREAD   x/nosuch.pkt: cannot read the file: "),
            "{line}"
        );
        assert!(
            line.ends_with(": give an existing file or folder"),
            "{line}"
        );
        assert_eq!(
            suite.table(),
            "folder   passed   failed  skipped   unread\nx             1        0        0        1\n"
        );
        let json = suite.json();
        assert_eq!((&json["unread"], &json["passed"]), (&1.into(), &1.into()));
        assert_eq!(json["scripts"][0]["outcome"], "unread");
        assert!(
            suite
                .csv()
                .contains("\nx/nosuch.pkt,unread,,cannot read the file: ")
        );
    }

    #[test]
    fn invalid_utf_8_outside_of_comments_is_reported_with_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("latin-1.pkt");
        let played = |text: &[u8]| {
            std::fs::write(&path, text).expect("a file");
            play(&path, &Options::default())
        };
        let comment = [b"// M\xfcller /* \xe9\n/* \xff */ ", PASSES.as_bytes()].concat();
        assert_eq!(played(&comment).outcome, ScriptOutcome::Passed);
        for outside in [
            &b"0 %{ x = '\xe9' }%"[..],
            b"0 \xe9()",
            b"0 `\xe9`",
            b"\xff\xfe0\0",
        ] {
            let played = played(&[b"\n", outside].concat());
            let line = played.line();
            assert!(line.contains("save the script as UTF-8"), "{line}");
            assert!(
                line.starts_with("FAILED") && line.contains(".pkt:2: "),
                "{line}"
            );
        }
    }

    #[test]
    fn a_script_that_is_given_twice_is_played_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.pkt");
        std::fs::write(&path, PASSES).expect("a file");
        let again = folder.path().join(".").join("a.pkt");
        let found = scripts(&[path.clone(), again, folder.path().to_path_buf()]);
        assert_eq!(found, [path]);
    }
}
