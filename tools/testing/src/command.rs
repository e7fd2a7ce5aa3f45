//! Support for tests of the `dupack` command: folders, output and processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

pub use crate::skipping::skip;

/// Temporary folder of one test, which is removed when this value is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a folder whose name contains `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("dupack-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns the folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads every file below `path`. The keys are names relative to `path`.
#[must_use]
pub fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap().path();
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() {
            let below = files(&entry).into_iter();
            all.extend(below.map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            all.insert(name, fs::read(entry).unwrap());
        }
    }
    all
}

/// Converts the output of a program to text.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the standard error of a program.
#[must_use]
pub fn errors(output: &Output) -> String {
    text(&output.stderr)
}

/// Error messages of the command on machines without usable namespaces. A container, for example, may have read-only
/// settings or no IPv6.
const LACKS: [&str; 4] = [
    "cannot make a network namespace",
    "cannot make the TUN device",
    "Read-only file system",
    "cannot set the address fd",
];

/// Returns `true` if a run failed because namespaces are unavailable, and reports the skipped test.
#[must_use]
pub fn skipped(output: &Output) -> bool {
    let errors = errors(output);
    let cannot = LACKS.iter().any(|part| errors.contains(part));
    if cannot {
        skip(&errors);
    }
    cannot
}

/// Interrupts a process, as Ctrl-C does.
#[cfg(unix)]
pub fn interrupt(child: &Child) {
    // `kill` is a built-in command of the shell.
    let kill = format!("kill -INT {}", child.id());
    let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(status.success());
}

/// Waits until `holds` returns `true`, for at most ten seconds. Returns `false` if `holds` never returns `true`.
pub fn comes_true(mut holds: impl FnMut() -> bool) -> bool {
    for _ in 0..1000 {
        if holds() {
            return true;
        }
        sleep(Duration::from_millis(10));
    }
    false
}
