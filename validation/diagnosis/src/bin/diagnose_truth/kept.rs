//! The truth about a transfer, stored next to the captures of the transfer. The stored truth allows a new diagnosis of
//! the captures without a new transfer.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::truth::Was;

/// The truth about a transfer whose captures are stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TransferTruth {
    /// Class of each data packet in the sender's capture, by index; `None` if the class is unknown.
    truths: Vec<Option<String>>,
    /// Busy time, and time limited by the receive window, in nanoseconds, as counted by the kernel.
    pub times: Option<(u64, u64)>,
    /// `true` if the path's queue overflowed.
    pub overflowed: bool,
    pub seconds: f64,
    /// Number of retransmissions that the kernel counted, and number of retransmissions that left the kernel's host.
    pub counted: Option<(u64, u64)>,
    /// Reasons why the times are invalid. Empty if the times are valid.
    pub unsound: Vec<String>,
}

impl TransferTruth {
    /// Returns a record with these classes; all other fields are empty.
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

/// Writes a value to `file`.
pub fn keep<T: Serialize>(file: &Path, what: &T) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = serde_json::to_string(what).map_err(|error| failed(&error))?;
    fs::write(file, text).map_err(|error| failed(&error))
}

/// Reads a value from `file`.
pub fn kept<T: DeserializeOwned>(file: &Path) -> Result<T, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
    serde_json::from_str(&text).map_err(|error| failed(&error))
}
