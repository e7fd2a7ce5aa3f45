//! Network namespaces and devices that a run could leave behind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// Names of the devices that our runs create. Other devices may appear and disappear for other reasons.
const OURS: [&str; 4] = ["near", "far", "endpoint", "dupack0"];

/// Returns our devices in the namespace of the calling thread.
#[must_use]
pub fn devices() -> BTreeSet<String> {
    let table = fs::read_to_string("/proc/thread-self/net/dev").expect("the kernel's table");
    let names = table.lines().filter_map(|line| line.split_once(':'));
    let names = names.map(|(name, _)| name.trim().to_owned());
    names.filter(|name| OURS.contains(&name.as_str())).collect()
}

/// Network namespaces. They are held open, because the kernel reuses the numbers of namespaces that no longer exist.
#[derive(Debug)]
pub struct Namespaces(Vec<File>);

impl Namespaces {
    /// Returns the namespaces of the threads of a process, except the namespace of the calling thread.
    #[must_use]
    pub fn of(process: u32) -> Self {
        let mut seen = BTreeSet::from([number(&open("/proc/thread-self/ns/net").expect("ours"))]);
        let tasks = numbered(&format!("/proc/{process}/task")).into_iter();
        // A thread may have ended in the meantime.
        let files = tasks.filter_map(|task| open(&format!("/proc/{process}/task/{task}/ns/net")));
        Self(files.filter(|file| seen.insert(number(file))).collect())
    }

    /// Keeps only the namespaces whose number is among `numbers`.
    #[must_use]
    pub fn among(mut self, numbers: &BTreeSet<u64>) -> Self {
        self.0.retain(|file| numbers.contains(&number(file)));
        self
    }

    /// Returns the inode numbers by which the kernel identifies the namespaces.
    #[must_use]
    pub fn numbers(&self) -> BTreeSet<u64> {
        self.0.iter().map(number).collect()
    }

    /// Returns `true` if a thread is in one of the namespaces, or if a mount or a file descriptor other than ours holds
    /// one.
    #[must_use]
    pub fn are_in_use(&self) -> bool {
        let links: BTreeSet<String> = self
            .numbers()
            .iter()
            .map(|n| format!("net:[{n}]"))
            .collect();
        let held: BTreeSet<u32> = self.0.iter().map(|file| file.as_raw_fd() as u32).collect();
        let is_one = |path: String| {
            fs::read_link(path).is_ok_and(|link| links.contains(&*link.to_string_lossy()))
        };
        numbered("/proc").into_iter().any(|process| {
            let tasks = numbered(&format!("/proc/{process}/task")).into_iter();
            let files = numbered(&format!("/proc/{process}/fd")).into_iter();
            let is_ours = |file: &u32| process == std::process::id() && held.contains(file);
            let mounts = fs::read_to_string(format!("/proc/{process}/mountinfo"));
            let mounts = mounts.unwrap_or_default();
            tasks
                .map(|task| format!("/proc/{process}/task/{task}/ns/net"))
                .any(is_one)
                || files
                    .filter(|file| !is_ours(file))
                    .any(|file| is_one(format!("/proc/{process}/fd/{file}")))
                || mounts.split_whitespace().any(|word| links.contains(word))
        })
    }
}

fn open(path: &str) -> Option<File> {
    File::open(path).ok()
}

fn number(file: &File) -> u64 {
    file.metadata().expect("a namespace has a number").ino()
}

/// Returns the names in a directory that are numbers.
fn numbered(directory: &str) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.collect()
}
