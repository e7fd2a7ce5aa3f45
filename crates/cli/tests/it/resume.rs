//! Tests that an interrupted `dupack run` or `compare` continues at the point of the interruption.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common;
use crate::common::{Folder, comes_true, errors, files, text};

/// Experiment whose runs take a moment each. `precision` adds seeds.
const FILE: &str = "stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = 10\nprecision = \"2%\"\nseeds_max = 12\n\
    duration = \"20s\"\n[path]\nrate = \"20Mbit/s\"\ndelay = \"5ms\"\nbuffer = \"50pkt\"\n\
    [sweep]\n\"path.loss\" = [\"0.5%\", \"5%\"]\n";

fn dupack(folder: &Path, args: &[&str]) -> Command {
    let mut command = common::dupack(args);
    command.current_dir(folder);
    command
}

fn folder_with_file(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::write(folder.path().join("a file.toml"), FILE).unwrap();
    folder
}

fn lines(journal: &Path) -> usize {
    let text = fs::read(journal).unwrap_or_default();
    text.iter().filter(|&&b| b == b'\n').count()
}

/// Begins the command with `args`, and ends it with `signal` after some runs.
fn interrupted(folder: &Path, args: &[&str], out: &str, signal: &str) -> Output {
    let mut command = dupack(folder, args);
    let command = command.args(["--jobs", "1", "--out", out]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    let journal = folder.join(out).join("runs.jsonl");
    assert!(comes_true(|| lines(&journal) > 5), "no run is stored");
    // `kill` is a built-in command of the shell.
    let kill = format!("kill {signal} {}", child.id());
    let killed = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(killed.success());
    child.wait_with_output().unwrap()
}

/// Runs the command that `message` suggests.
fn told(folder: &Path, message: &str) -> Output {
    let (_, command) = message.split_once("continue with: dupack ").unwrap();
    let command = command.lines().next().unwrap();
    let program = env!("CARGO_BIN_EXE_dupack");
    let shell = format!("'{program}' {command}");
    let mut sh = Command::new("sh");
    sh.args(["-c", &shell]).current_dir(folder);
    sh.output().unwrap()
}

#[test]
fn interrupted_runs_continue_to_the_same_folder() {
    let folder = folder_with_file("again");
    let run = ["run", "a file.toml"];
    let whole = dupack(folder.path(), &[&run[..], &["--out", "whole"]].concat());
    let whole = { whole }.output().unwrap();
    assert!(whole.status.success(), "{}", errors(&whole));
    let expected = files(&folder.path().join("whole"));
    assert!(!expected.contains_key("runs.jsonl"));

    let stopped = interrupted(folder.path(), &run, "part", "-INT");
    assert_eq!(stopped.status.code(), Some(130), "{}", errors(&stopped));
    let again = told(folder.path(), &errors(&stopped));
    assert!(again.status.success(), "{}", errors(&again));
    assert!(
        errors(&again).contains("runs were completed before"),
        "{}",
        errors(&again)
    );
    assert_eq!(text(&again.stdout), text(&whole.stdout));
    let part = files(&folder.path().join("part"));
    assert_eq!(
        part.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &expected {
        assert!(part[name] == *bytes, "{name} differs");
    }

    // A killed program prints nothing, and leaves an incomplete line in the journal.
    let killed = interrupted(folder.path(), &run, "killed", "-KILL");
    assert_eq!(killed.status.code(), None);
    let journal = folder.path().join("killed/runs.jsonl");
    let mut torn = fs::OpenOptions::new().append(true).open(&journal).unwrap();
    torn.write_all(b"{\"fingerprint\":\"00").unwrap();
    // The folder contains a copy of the experiment file.
    let resume = ["run", "--resume", "killed"];
    let again = dupack(folder.path(), &resume).output().unwrap();
    assert!(again.status.success(), "{}", errors(&again));
    assert!(
        errors(&again).contains("1 incomplete or unreadable line(s)"),
        "{}",
        errors(&again)
    );
    assert!(files(&folder.path().join("killed")) == expected);
}

#[test]
fn interrupted_comparisons_continue_with_the_same_flags() {
    let folder = Folder::new("compare");
    let args = "compare --stacks sack/reno,newreno(full_ack=alg2)/reno --loss 1% --seeds 12 --duration 40s --rate 30Mbit/s";
    let args: Vec<&str> = args.split(' ').collect();
    let whole = dupack(folder.path(), &args)
        .args(["--out", "whole"])
        .output();
    assert!(whole.unwrap().status.success());
    let stopped = interrupted(folder.path(), &args, "it's part", "-TERM");
    let again = told(folder.path(), &errors(&stopped));
    assert!(again.status.success(), "{}", errors(&again));
    let part = files(&folder.path().join("it's part"));
    assert!(part == files(&folder.path().join("whole")));
}

#[test]
fn other_folders_are_errors_and_unchanged() {
    let folder = folder_with_file("refused");
    fs::write(folder.path().join("other.toml"), FILE.replace("5ms", "6ms")).unwrap();
    let run = ["run", "a file.toml"];
    interrupted(folder.path(), &run, "part", "-INT");
    fs::create_dir(folder.path().join("theirs")).unwrap();
    fs::write(folder.path().join("theirs/letter.txt"), "x").unwrap();
    let before = files(&folder.path().join("part"));
    for (file, resume, says) in [
        (
            "other.toml",
            "part",
            "path.delay is \"6ms\", and was \"5ms\"",
        ),
        (
            "a file.toml",
            "theirs",
            "there is no experiment to resume in theirs",
        ),
        (
            "a file.toml",
            "nowhere",
            "there is no experiment to resume in nowhere",
        ),
    ] {
        let output = dupack(folder.path(), &["run", file, "--resume", resume]);
        let output = { output }.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        // Undo the line breaks of miette.
        let words = errors(&output).replace("\n  │", "");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(says), "{words}");
    }
    assert!(files(&folder.path().join("part")) == before);
    fs::remove_file(folder.path().join("part/runs.jsonl")).unwrap();
    let output = dupack(folder.path(), &["run", "a file.toml", "--resume", "part"]);
    let output = { output }.output().unwrap();
    assert!(
        errors(&output).contains("nothing to resume"),
        "{}",
        errors(&output)
    );
}
