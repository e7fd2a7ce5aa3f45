//! Reasons why scripts fail, from the file `reasons.toml`.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// All reasons.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasons {
    #[serde(default, rename = "reason")]
    reasons: Vec<Reason>,
}

/// A reason for the failure of one or several scripts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Key of the suite, or `kernel` or `ours`.
    suite: String,
    scripts: Vec<String>,
    /// Kind of the reason in a few words.
    pub class: String,
    /// Explanation of the reason in one or two sentences.
    pub why: String,
    /// Position of this behaviour in the source code of Linux.
    pub linux: Option<String>,
}

impl Reasons {
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Returns the reason why a script fails, if there is one.
    pub fn find(&self, suite: &str, script: &str) -> Option<&Reason> {
        let mut of_suite = self.reasons.iter().filter(|reason| reason.suite == suite);
        of_suite.find(|reason| reason.scripts.iter().any(|name| name == script))
    }

    /// Returns the scripts of a suite that have a reason.
    pub fn scripts<'r>(&'r self, suite: &'r str) -> impl Iterator<Item = &'r str> {
        let of_suite = self.reasons.iter().filter(move |r| r.suite == suite);
        of_suite.flat_map(|reason| reason.scripts.iter().map(String::as_str))
    }
}
