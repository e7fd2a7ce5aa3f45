//! Results of scripts, from `dupack script --format json` and from our stored files.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// Results of the scripts of one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Version of the scripts or of the kernel.
    pub revision: String,
    pub played: Vec<Played>,
}

/// Result of one script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Path of the script, relative to the folder.
    pub script: String,
    pub outcome: ScriptOutcome,
    /// Line number of the failure, or 0 if it is unknown.
    pub line: u64,
    /// The deviation, or the missing feature.
    pub reason: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ScriptOutcome {
    Passed,
    /// The script failed or cannot be read.
    #[serde(alias = "unread")]
    Failed,
    Skipped,
}

impl ScriptOutcome {
    const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// Output of `dupack script`.
#[derive(Deserialize)]
struct Printed {
    scripts: Vec<PrintedScript>,
}

#[derive(Deserialize)]
struct PrintedScript {
    script: String,
    outcome: ScriptOutcome,
    #[serde(default)]
    line: u64,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    expected: Option<String>,
    came: Option<String>,
    #[serde(default)]
    differences: Vec<String>,
}

impl PrintedScript {
    fn reason(&self) -> String {
        match (&self.differences[..], &self.expected, &self.came) {
            _ if self.outcome == ScriptOutcome::Skipped => self.reason.clone(),
            ([first, ..], ..) => format!("{}: {first}", self.message),
            ([], Some(expected), Some(came)) => {
                format!("{}: expected {expected}, got {came}", self.message)
            }
            _ => self.message.clone(),
        }
    }
}

impl Results {
    /// Parses the output of `dupack script` for the scripts in `folder`.
    pub fn of_json(text: &str, folder: &Path) -> Result<Self, String> {
        let printed: Printed =
            serde_json::from_str(text).map_err(|e| format!("what dupack printed: {e}"))?;
        let played = printed.scripts.iter().map(|script| {
            let path = Path::new(&script.script);
            let short = path.strip_prefix(folder).unwrap_or(path);
            Played {
                script: short.display().to_string(),
                outcome: script.outcome,
                line: script.line,
                reason: script.reason(),
            }
        });
        Ok(Self {
            revision: String::new(),
            played: played.collect(),
        })
    }

    /// Reads a file that [`write`](Self::write) has written. Returns `None` if the file does not exist.
    pub fn read(path: &Path) -> Result<Option<Self>, String> {
        let Ok(text) = fs::read_to_string(path) else {
            return Ok(None);
        };
        let wrong = |line: &str| format!("{}: `{line}` is no result", path.display());
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let revision = first.strip_prefix("# ").ok_or_else(|| wrong(first))?;
        let mut played = Vec::new();
        for line in lines.skip(1) {
            let mut fields = line.splitn(4, ';');
            let mut field = || fields.next().ok_or_else(|| wrong(line));
            let (script, outcome) = (field()?.to_owned(), field()?);
            let outcome = [
                ScriptOutcome::Passed,
                ScriptOutcome::Failed,
                ScriptOutcome::Skipped,
            ]
            .into_iter()
            .find(|known| known.word() == outcome)
            .ok_or_else(|| wrong(line))?;
            played.push(Played {
                script,
                outcome,
                line: field()?.parse().map_err(|_| wrong(line))?,
                reason: field()?.to_owned(),
            });
        }
        let revision = revision.to_owned();
        Ok(Some(Self { revision, played }))
    }

    /// Writes the results to a file, one line per script.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let mut text = format!("# {}\nscript;outcome;line;reason\n", self.revision);
        for played in &self.played {
            let reason = played.reason.replace('\n', " ");
            let (script, word, line) = (&played.script, played.outcome.word(), played.line);
            text.push_str(&format!("{script};{word};{line};{reason}\n"));
        }
        fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    pub fn failed(&self) -> impl Iterator<Item = &Played> {
        self.with(ScriptOutcome::Failed)
    }

    pub fn with(&self, outcome: ScriptOutcome) -> impl Iterator<Item = &Played> {
        self.played.iter().filter(move |p| p.outcome == outcome)
    }

    /// Returns the number of scripts with this outcome.
    pub fn count(&self, outcome: ScriptOutcome) -> usize {
        self.with(outcome).count()
    }

    /// Returns the number of scripts for each outcome, as text.
    pub fn in_short(&self) -> String {
        format!(
            "{} passed, {} failed, {} skipped",
            self.count(ScriptOutcome::Passed),
            self.count(ScriptOutcome::Failed),
            self.count(ScriptOutcome::Skipped)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_read_back_from_a_file() {
        let text = r#"{"scripts": [
            {"script": "/x/a/b.pkt", "outcome": "passed"},
            {"script": "/x/c.pkt", "outcome": "skipped", "line": 3, "reason": "UDP; and more"},
            {"script": "/x/d.pkt", "outcome": "failed", "line": 4, "message": "wrong",
             "expected": null, "came": null, "differences": ["length: 1", "more"]}]}"#;
        let mut results = Results::of_json(text, Path::new("/x")).expect("results");
        results.revision = "v1".to_owned();
        assert_eq!(results.in_short(), "1 passed, 1 failed, 1 skipped");
        assert_eq!(results.played[0].script, "a/b.pkt");
        assert_eq!(results.played[2].reason, "wrong: length: 1");
        let path = std::env::temp_dir().join(format!("dupack-results-{}", std::process::id()));
        results.write(&path).expect("a file");
        assert_eq!(Results::read(&path).expect("results"), Some(results));
        let _ = fs::remove_file(&path);
        assert_eq!(Results::read(&path).expect("nothing"), None);
    }
}
