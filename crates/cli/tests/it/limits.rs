//! Tests with input that is too large or invalid, and with full disks.
#![cfg(unix)]

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::common;
use crate::common::{Folder, errors, text};

const PATH: &str = "[path]\nrate = \"1Mbit/s\"\ndelay = \"5ms\"\n";

/// Runs the command in `folder` with a limit of `ulimit`.
fn limited(folder: &Folder, limit: &str, line: &str) -> Output {
    let script = format!("trap '' XFSZ; ulimit {limit}; exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_dupack")]);
    let shell = shell.args(line.split(' ')).current_dir(folder.path());
    shell.output().unwrap()
}

/// Returns a message without line breaks.
fn words(output: &Output) -> String {
    let message = errors(output).replace("\n  │", "");
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn experiments_beyond_the_memory_are_errors_before_anything_is_built() {
    let folder = Folder::new("large");
    let head = "stacks = [\"sack/reno\"]\nduration = \"1s\"\n";
    let points: Vec<String> = (0..1000).map(|n| format!("\"{n}ms\"")).collect();
    let sweep = format!("[sweep]\n\"path.delay\" = [{}]\n", points.join(", "));
    let many = format!("{head}seeds = 100000\n{PATH}{sweep}");
    for (name, file, flags, says) in [
        (
            "hops",
            format!("{head}seeds = 1\n[radio]\nhops = 4294967295\n"),
            "",
            "at most 63 hops",
        ),
        (
            "flows",
            format!("{head}seeds = 1\n{PATH}[[flows]]\ncount = 1000000\n"),
            "",
            "a run cannot hold 1000000 flows",
        ),
        (
            "runs",
            many.clone(),
            " --no-harm",
            "about 1.1 TB of memory are needed for the results of 100000000 runs",
        ),
        (
            "stream",
            many.clone(),
            " --no-harm",
            "dupack run FILE --stream",
        ),
        (
            "points",
            many,
            " --stream",
            "needed for the results of the 300000 runs of a point",
        ),
    ] {
        let file_name = format!("{name}.toml");
        fs::write(folder.path().join(&file_name), file).unwrap();
        let line = format!("run {file_name} --out {name}{flags}");
        let output = limited(&folder, "-v 1000000", &line);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", errors(&output));
        assert!(words(&output).contains(says), "{name}: {}", words(&output));
        assert!(!folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn the_table_is_printed_even_if_the_disk_is_full() {
    let folder = Folder::new("full-table");
    let line = "compare --seeds 3 --duration 5s --loss 1% --stacks sack/reno,rack/cubic --out out";
    // The limit permits the journal, but not the report page.
    let output = limited(&folder, "-f 40", line);
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    let table = text(&output.stdout);
    assert!(
        table.contains("goodput") && table.contains("rack/cubic"),
        "{table}"
    );
    let said = errors(&output);
    assert!(said.contains("make room"), "{said}");
    assert!(said.contains("continue with: dupack compare"), "{said}");
    let again = common::dupack(&["run", "--resume", "out"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(again.status.success(), "{}", errors(&again));
    // The limit does not even permit the journal of the runs, but the results are printed.
    let output = limited(&folder, "-f 2", &line.replace("--out out", "--out none"));
    let said = errors(&output);
    assert!(text(&output.stdout).contains("rack/cubic"), "{said}");
    assert!(
        said.contains("could not be stored and will be repeated"),
        "{said}"
    );
    assert!(!said.contains("completed runs are kept"), "{said}");
}

#[test]
fn closed_pipes_are_no_errors() {
    let folder = Folder::new("pipe");
    let compare = "compare --seeds 2 --duration 2s --loss 1% --no-harm --out out";
    for (line, code) in [
        (compare, 0),
        ("run nowhere.toml", 2),
        ("stacks nothing", 2),
        ("compare --nothing", 2),
        ("evaluate rack/cubic --only nothing", 2),
        ("diagnose nowhere.pcap", 2),
    ] {
        // The reading ends of standard output and standard error are closed, as by `2>&1 | head -0`.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = common::dupack(&args);
        command.current_dir(folder.path());
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        let status = command.stdin(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{line}");
    }
}

#[test]
fn foreign_control_characters_do_not_reach_the_terminal() {
    let folder = Folder::new("escape");
    let evil = "a\u{1b}]0;title\u{7}\u{9b}2Jb";
    let file = format!("{evil}.toml");
    let text = format!("# \u{9b}2J\nstacks = [\"x\\u001b[2J/y\"]\nseeds = 1\n{PATH}");
    fs::write(folder.path().join(&file), text).unwrap();
    let missing = format!("{evil}.nowhere");
    for args in [
        vec!["run", &file],
        vec!["run", &missing],
        vec!["compare", "--rate", evil],
        vec!["compare", "--stacks", evil],
        vec!["stacks", evil],
        vec!["diagnose", &missing],
        vec!["compare", "--trace", &missing],
        vec!["run", "--resume", evil],
        vec![evil],
    ] {
        let output = common::dupack(&args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(!said.contains(is_control), "{args:?}: {said:?}");
        assert!(said.contains("\\u{"), "{args:?}: {said:?}");
    }
}

#[test]
fn causes_are_not_printed_as_remedies() {
    let output = common::dupack(&["run", "/nowhere.toml"]).output().unwrap();
    let said = errors(&output);
    assert!(
        said.contains("cannot read /nowhere.toml: No such file"),
        "{said}"
    );
    let help = said.split_once("help:").unwrap().1;
    assert!(!help.contains("No such file"), "{said}");
}

#[test]
fn formulas_of_spreadsheets_are_quoted_in_every_file() {
    let folder = Folder::new("formula");
    for trace in ["=cmd", "@sum"] {
        let times: String = (1..2000).map(|n| format!("{}\n", n * 5)).collect();
        fs::write(folder.path().join(trace), times).unwrap();
    }
    let file = "stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = 2\nduration = \"2s\"\n[path]\ndelay = \"5ms\"\n\
        [sweep]\n\"path.trace\" = [\"=cmd\", \"@sum\"]\n";
    fs::write(folder.path().join("e.toml"), file).unwrap();
    let output = common::dupack(&["run", "e.toml", "--no-harm", "--out", "out"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let mut quoted = 0;
    for (name, bytes) in common::files(&folder.path().join("out")) {
        if !name.ends_with(".csv") {
            continue;
        }
        for line in text(&bytes).lines() {
            for cell in line.split(',') {
                let is_formula = cell.starts_with(['=', '+', '-', '@']);
                assert!(!is_formula || cell.parse::<f64>().is_ok(), "{name}: {line}");
                quoted += usize::from(cell.starts_with("'=cmd"));
            }
        }
    }
    assert!(quoted > 4, "{quoted}");
}

#[cfg(target_os = "linux")]
#[test]
fn senders_missing_in_the_kernel_are_errors_without_a_folder() {
    let folder = Folder::new("no-module");
    let args = [
        "evaluate",
        "kernel:nosuchcontrol",
        "--quick",
        "--out",
        "card",
    ];
    let output = common::dupack(&args)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    assert!(!folder.path().join("card").exists());
    if common::skipped(&output) {
        return;
    }
    assert!(
        words(&output).contains("kernel:nosuchcontrol is not available on this machine"),
        "{}",
        errors(&output)
    );
    assert!(
        words(&output).contains("modprobe tcp_nosuchcontrol"),
        "{}",
        errors(&output)
    );
}

#[test]
fn the_legend_is_printed_on_request() {
    let folder = Folder::new("legend");
    let line =
        "compare --seeds 3 --duration 5s --loss 1% --no-harm --stacks sack/reno,rack/cubic --out";
    let said = |out: &str, more: &[&str]| {
        let args: Vec<&str> = line
            .split(' ')
            .chain([out])
            .chain(more.iter().copied())
            .collect();
        let output = common::dupack(&args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        text(&output.stdout)
    };
    let short = said("short", &[]);
    assert!(
        short.contains("--legend") && !short.contains("Holm"),
        "{short}"
    );
    let long = said("long", &["--legend"]);
    assert!(
        long.contains("Holm") && !long.contains("--legend"),
        "{long}"
    );
}
