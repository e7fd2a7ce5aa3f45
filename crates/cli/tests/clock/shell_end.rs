//! Tests of the end of `dupack shell`: signals, exit codes, and no remaining processes or files.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{self, Folder, comes_true, interrupt, skipped, text};
use crate::leftovers::{Namespaces, devices};
use crate::shell::shell;

#[test]
fn interrupting_the_wait_for_the_server_starts_no_command() {
    let folder = Folder::new("shell-wait");
    let (mark, ran) = (folder.path().join("server"), folder.path().join("command"));
    let server = format!("echo > {}; exec sleep 60", mark.display());
    let mut shell = shell(&["--server", &server, "--", "touch"]);
    shell.arg(&ran).stderr(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    let begun = comes_true(|| mark.exists() || child.try_wait().unwrap().is_some());
    assert!(begun);
    if mark.exists() {
        interrupt(&child);
    }
    let output = child.wait_with_output().unwrap();
    if skipped(&output) {
        return;
    }
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        common::errors(&output)
    );
    assert!(!ran.exists());
}

/// Starts a shell whose command writes a file when it runs, and waits for the file.
fn begun(folder: &Path, name: &str, flags: &[&str], command: &str) -> Option<Child> {
    let mark = folder.join(name);
    let script = format!("echo > {}; {command}", mark.display());
    let log = fs::File::create(folder.join(format!("{name}.log"))).unwrap();
    let mut shell = shell(flags);
    shell
        .args(["--", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(log);
    let mut child = shell.spawn().unwrap();
    if comes_true(|| mark.exists() || child.try_wait().unwrap().is_some()) && mark.exists() {
        return Some(child);
    }
    let _ = child.kill();
    let status = child.wait().unwrap();
    let stderr = fs::read(folder.join(format!("{name}.log"))).unwrap();
    let output = Output {
        status,
        stdout: Vec::new(),
        stderr,
    };
    assert!(skipped(&output), "{}", common::errors(&output));
    None
}

/// Returns the number of processes whose arguments contain `mark`.
fn processes(mark: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| text(line).contains(mark)).count()
}

#[test]
fn five_killed_shells_leave_no_remains() {
    let folder = Folder::new("shell-killed");
    let before = devices();
    // A unique number that identifies the processes.
    let mark = format!("{}", 70_000_000 + std::process::id());
    let server = format!("sleep {mark} & exec python3 -m http.server 2>/dev/null");
    let command = format!("(setsid sleep {mark} &); nohup sleep {mark} & sleep {mark}; true");
    let mut shells = Vec::new();
    for number in 0..5 {
        let flags = ["--server", &server];
        let Some(shell) = begun(folder.path(), &format!("begun{number}"), &flags, &command) else {
            return;
        };
        shells.push(shell);
    }
    assert!(
        comes_true(|| processes(&mark) >= 5 * 4),
        "{}",
        processes(&mark)
    );
    let namespaces: Vec<Namespaces> = shells
        .iter()
        .map(|shell| Namespaces::of(shell.id()))
        .collect();
    for namespaces in &namespaces {
        assert_eq!(namespaces.numbers().len(), 2);
        assert!(namespaces.are_in_use());
    }
    for shell in &mut shells {
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
    assert!(comes_true(|| processes(&mark) == 0), "{}", processes(&mark));
    for namespaces in &namespaces {
        assert!(comes_true(|| !namespaces.are_in_use()));
    }
    assert_eq!(devices(), before);
}

#[test]
fn signals_reach_the_command_and_end_its_processes() {
    let folder = Folder::new("shell-signal");
    let mark = format!("{}", 60_000_000 + std::process::id());
    let command = format!("trap 'exit 9' INT; sleep {mark} & wait; wait");
    let Some(mut shell) = begun(folder.path(), "begun", &[], &command) else {
        return;
    };
    assert!(comes_true(|| processes(&mark) >= 2));
    // The shell sets the trap before it starts `sleep`, which takes a moment.
    sleep(Duration::from_millis(100));
    interrupt(&shell);
    assert_eq!(shell.wait().unwrap().code(), Some(9));
    assert!(comes_true(|| processes(&mark) == 0));
}

#[test]
fn others_join_by_name_and_end_with_the_shell() {
    let folder = Folder::new("shell-join");
    let name = format!("test-{}", std::process::id());
    let mark = format!("{}", 50_000_000 + std::process::id());
    let Some(mut host) = begun(
        folder.path(),
        "begun",
        &["--name", &name, "--delay", "3ms"],
        "sleep 60",
    ) else {
        return;
    };
    // The server opens its port while the command starts.
    let address = |output: &Output| text(&output.stdout);
    let joined = || {
        shell(&[
            "--join",
            &name,
            "--",
            "sh",
            "-c",
            "cat /proc/net/dev; exit 6",
        ])
        .output()
        .unwrap()
    };
    assert!(comes_true(|| joined().status.code() == Some(6)));
    let output = joined();
    assert!(address(&output).contains("near:"), "{output:?}");
    let twice = shell(&["--name", &name, "--", "true"]).output().unwrap();
    assert_eq!(twice.status.code(), Some(125));
    assert!(common::errors(&twice).contains("--join"), "{twice:?}");
    let sleeping = [
        "--join",
        &name,
        "--",
        "sh",
        "-c",
        &format!("sleep {mark} & sleep {mark}"),
    ];
    let mut killed = shell(&sleeping).spawn().unwrap();
    let mut left = shell(&sleeping).spawn().unwrap();
    // The mark is in the command lines of all processes of the two joined shells: the stages of `dupack`, `sh` and the
    // two `sleep` processes.
    assert!(comes_true(|| processes(&mark) >= 8));
    killed.kill().unwrap();
    killed.wait().unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    left.wait().unwrap();
    assert!(comes_true(|| processes(&mark) == 0), "{}", processes(&mark));
}
