//! Tests that no run leaves a namespace, a device or a process behind, no matter how the run ends.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use dupack_net::link::LinkConfig;
use dupack_tcp::time::Duration as Span;
use dupack_wire::Family;
use dupack_wire::namespace;
use dupack_wire::path::{Attachment, PathConfig, PathNetwork, Side};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::leftovers::{Namespaces, devices};
use crate::testbed::{self, eventually};

/// Environment variable that is set in the process that will be killed.
const VICTIM: &str = "DUPACK_TEST_VICTIM";

pub fn is_victim() -> bool {
    std::env::var_os(VICTIM).is_some()
}

fn network() -> PathNetwork {
    let link = LinkConfig::pure_delay(Span::from_millis(5));
    let config = PathConfig::new(link.clone(), link, 1);
    PathNetwork::new(&config, Attachment::default()).expect("a network")
}

fn is_alive(process: u32) -> bool {
    // A zombie has ended and only waits for its parent.
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

pub fn a_finished_run_leaves_nothing() {
    let before = devices();
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
    // Only the namespaces of this network count, because a thread of an earlier test may still be about to end.
    let namespaces = Namespaces::of(std::process::id()).among(&own);
    assert_eq!(namespaces.numbers(), own);
    assert!(namespaces.are_in_use());
    network.stop().expect("a report");
    // The keeper has ended, so the kernel has killed the processes that it started.
    eventually(|| !is_alive(process));
    drop(sleeper);
    eventually(|| !namespaces.are_in_use());
    assert_eq!(devices(), before);
}

pub fn a_killed_run_leaves_nothing() {
    a_run_ended_by(Signal::SIGKILL);
}

/// SIGTERM is used, because a shell makes background processes ignore SIGINT, and their children inherit this.
pub fn a_terminated_run_leaves_nothing() {
    a_run_ended_by(Signal::SIGTERM);
}

/// Starts this program again as a victim, waits until the victim is in the middle of a transfer, and ends it with a
/// signal.
fn a_run_ended_by(signal: Signal) {
    let before = devices();
    let program = std::env::current_exe().expect("a path");
    let mut victim = Command::new(program)
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
    let namespaces = Namespaces::of(victim.id());
    assert_eq!((namespaces.numbers(), own.len()), (own, 2));
    assert!(namespaces.are_in_use());

    let process = i32::try_from(victim.id()).expect("a process");
    kill(Pid::from_raw(process), signal).expect("it can be killed");
    let status = victim.wait().expect("it ends");
    assert_eq!(status.signal(), Some(signal as i32));
    eventually(|| !is_alive(child));
    eventually(|| !namespaces.are_in_use());
    assert_eq!(devices(), before);
}

/// Body of the victim: creates a network, starts a program in it, and runs an endless transfer.
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
