//! What the tests of the command share.
#![allow(dead_code, reason = "not every test file uses all of it")]

#[path = "../../../wire/tests/skipping/mod.rs"]
mod skipping;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

pub use skipping::skip;

/// A folder of its own for a test, gone when the test is over.
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder, with `name` in its own name for whoever looks at it.
    pub fn new(name: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("dupack-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The command, with these arguments.
pub fn dupack(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dupack"));
    command.args(args);
    command
}

/// Every file below `path`.
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

/// The lines of a journal with sums that are right: as somebody forges them.
pub fn forged(journal: &str) -> String {
    let line = |line: &str| {
        let text = &line[..line.rfind(",\"sum\":").unwrap()];
        let sum = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
        format!("{text},\"sum\":\"{sum:016x}\"}}\n")
    };
    journal.lines().map(line).collect()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn errors(output: &Output) -> String {
    text(&output.stderr)
}

/// What the command says where there are no namespaces, or not all that is needed in them: a
/// container may have its settings read-only or be without IPv6.
const LACKS: [&str; 4] = [
    "cannot make a network namespace",
    "cannot make the TUN device",
    "Read-only file system",
    "cannot set the address fd",
];

/// Whether a run failed for want of such things, which is said loudly.
pub fn skipped(output: &Output) -> bool {
    let errors = errors(output);
    let cannot = LACKS.iter().any(|part| errors.contains(part));
    if cannot {
        skip(&errors);
    }
    cannot
}

/// Interrupts a process, as Ctrl-C does. A shell has `kill` built in.
#[cfg(unix)]
pub fn interrupt(child: &Child) {
    let kill = format!("kill -INT {}", child.id());
    let status = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(status.success());
}

/// Waits until `holds` does, for ten seconds at most.
pub fn comes_true(mut holds: impl FnMut() -> bool) -> bool {
    for _ in 0..1000 {
        if holds() {
            return true;
        }
        sleep(Duration::from_millis(10));
    }
    false
}
