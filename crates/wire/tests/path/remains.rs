//! No run leaves a namespace, a device or a process behind, however it ends.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use dupack_net::link::LinkConfig;
use dupack_tcp::time::Duration as Span;
use dupack_wire::namespace;
use dupack_wire::path::{Attachment, PathConfig, PathNetwork, Side};
use dupack_wire::tun::Family;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::testbed::{self, eventually};

/// Set in the process that is killed.
const VICTIM: &str = "DUPACK_TEST_VICTIM";

pub fn is_victim() -> bool {
    std::env::var_os(VICTIM).is_some()
}

fn network() -> PathNetwork {
    let link = LinkConfig::pure_delay(Span::from_millis(5));
    let config = PathConfig {
        forward: link.clone(),
        backward: link,
        seed: 1,
    };
    PathNetwork::new(&config, Attachment::default()).expect("a network")
}

/// What a run could leave behind.
#[derive(Debug, PartialEq, Eq)]
struct Surroundings {
    /// Interfaces of this process's own namespace.
    interfaces: BTreeSet<String>,
    /// Namespaces that have names.
    named: BTreeSet<String>,
}

impl Surroundings {
    fn look() -> Self {
        let names = |directory: &str| {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.collect()
        };
        Self {
            interfaces: names("/sys/class/net"),
            named: names("/run/netns"),
        }
    }
}

/// The numbers of all network namespaces that a thread is in, a descriptor holds or a mount
/// keeps.
fn namespaces() -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for process in numbered("/proc") {
        for task in numbered(&format!("/proc/{process}/task")) {
            let link = fs::read_link(format!("/proc/{process}/task/{task}/ns/net"));
            found.extend(link.ok().and_then(|link| inode(&link.to_string_lossy())));
        }
        let files = fs::read_dir(format!("/proc/{process}/fd"));
        for file in files.into_iter().flatten().flatten() {
            let link = fs::read_link(file.path());
            found.extend(link.ok().and_then(|link| inode(&link.to_string_lossy())));
        }
        let mounts = fs::read_to_string(format!("/proc/{process}/mountinfo")).unwrap_or_default();
        found.extend(mounts.split_whitespace().filter_map(inode));
    }
    found
}

fn numbered(directory: &str) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    names.collect()
}

/// The number in `net:[number]`.
fn inode(text: &str) -> Option<u64> {
    text.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

fn is_alive(process: u32) -> bool {
    // A zombie is dead: it waits for its parent only.
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

pub fn a_finished_run_leaves_nothing() {
    let before = Surroundings::look();
    let network = network();
    let sleeper = network
        .host(Side::Far)
        .start({
            let mut command = Command::new("sleep");
            command.arg("1000");
            command
        })
        .expect("sleep starts");
    let process = sleeper.id();
    assert!(is_alive(process));
    let own: BTreeSet<u64> = [Side::Near, Side::Far]
        .map(|side| network.host(side).inode())
        .into();
    assert!(own.is_subset(&namespaces()), "{own:?} are in use");
    network.stop().expect("a report");
    // The keeper is gone, and so the kernel has killed what it started.
    eventually(|| !is_alive(process));
    drop(sleeper);
    eventually(|| own.is_disjoint(&namespaces()) && Surroundings::look() == before);
}

pub fn a_killed_run_leaves_nothing() {
    a_run_ended_by(Signal::SIGKILL);
}

pub fn an_interrupted_run_leaves_nothing() {
    a_run_ended_by(Signal::SIGINT);
}

/// Starts this program once more as a victim, waits until it is in the middle of a transfer,
/// and ends it from outside.
fn a_run_ended_by(signal: Signal) {
    let before = Surroundings::look();
    let program = std::env::current_exe().expect("a path");
    // A shell that starts the tests in the background has them ignore SIGINT, and a child inherits
    // that: `env` gives it back its effect.
    let mut victim = Command::new("env")
        .arg("--default-signal=INT")
        .arg(program)
        .env(VICTIM, "yes")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a victim");
    let output = victim.stdout.take().expect("a pipe");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("a line");
    let numbers: Vec<u64> = line
        .split_whitespace()
        .map(|number| number.parse().expect("a number"))
        .collect();
    let [child, ref own @ ..] = numbers[..] else {
        panic!("the victim said {line:?}");
    };
    let child = u32::try_from(child).expect("a process");
    let own: BTreeSet<u64> = own.iter().copied().collect();
    assert!(is_alive(child));
    assert!(own.len() == 2 && own.is_subset(&namespaces()));

    let process = i32::try_from(victim.id()).expect("a process");
    kill(Pid::from_raw(process), signal).expect("it can be killed");
    let status = victim.wait().expect("it ends");
    assert_eq!(status.signal(), Some(signal as i32));
    eventually(|| !is_alive(child));
    eventually(|| own.is_disjoint(&namespaces()) && Surroundings::look() == before);
}

/// The victim: a network, a program in it, and a transfer without end.
pub fn live_until_killed() -> ExitCode {
    namespace::prepare().expect("namespaces");
    let network = network();
    let far = Side::Far.address(Family::V4);
    let _receiver = testbed::receive(network.host(Side::Far), far);
    let _sender = testbed::send(network.host(Side::Near), far, u64::MAX);
    let mut command = Command::new("sleep");
    command.arg("1000");
    let sleeper = network
        .host(Side::Far)
        .start(command)
        .expect("sleep starts");
    thread::sleep(Duration::from_millis(200));
    println!(
        "{} {} {}",
        sleeper.id(),
        network.host(Side::Near).inode(),
        network.host(Side::Far).inode()
    );
    thread::sleep(testbed::PATIENCE);
    ExitCode::FAILURE
}
