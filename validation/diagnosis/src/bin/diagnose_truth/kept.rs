//! What is known of a transfer, kept beside its captures: they can be diagnosed again without making it again.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::truth::Was;

/// What was so in a transfer of which captures are kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// By the place of each packet with data in the sender's capture, what it was; `None` if that is not known.
    truths: Vec<Option<String>>,
    /// What the kernel says, in nanoseconds: busy, and limited by the receive window.
    pub times: Option<(u64, u64)>,
    /// Whether the path's queue overflowed.
    pub overflowed: bool,
    pub seconds: f64,
    /// Retransmissions that the kernel counted, and those that left its host.
    pub counted: Option<(u64, u64)>,
    /// Why its times are worth nothing, if they are.
    pub unsound: Vec<String>,
}

impl Kept {
    /// One with these truths, and nothing else known.
    pub fn new(truths: &[Option<Was>]) -> Self {
        let named = truths
            .iter()
            .map(|was| was.map(|was| was.name().to_owned()));
        Self {
            truths: named.collect(),
            times: None,
            overflowed: false,
            seconds: 0.0,
            counted: None,
            unsound: Vec::new(),
        }
    }

    pub fn truths(&self) -> Vec<Option<Was>> {
        let named = self.truths.iter();
        named.map(|name| Was::named(name.as_deref()?)).collect()
    }
}

/// Keeps something in `file`.
pub fn keep<T: Serialize>(file: &Path, what: &T) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = serde_json::to_string(what).map_err(|error| failed(&error))?;
    fs::write(file, text).map_err(|error| failed(&error))
}

/// What was kept in `file`.
pub fn kept<T: DeserializeOwned>(file: &Path) -> Result<T, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
    serde_json::from_str(&text).map_err(|error| failed(&error))
}
