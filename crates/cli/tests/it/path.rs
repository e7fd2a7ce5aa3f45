//! Tests of `--path FILE`: files of `dupack diagnose --path` are valid for the commands that run senders.

use std::fs;

use crate::common::{Folder, dupack, errors, text};

const FILE: &str = r#"
dialect = "rfc"
duration = "4s"

[path]
rate = "4Mbit/s"
delay = "30ms"
buffer = "64kB"
loss = "1%"

[receiver]
buffer = "256kB"

[[flows]]
writes = [{ bytes = "30kB" }, { after = "500ms", bytes = "20kB", count = 3 }]
"#;

fn printed(folder: &Folder, args: &[&str]) -> String {
    let output = dupack(args).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    text(&output.stdout)
}

fn folder() -> Folder {
    let folder = Folder::new("path");
    fs::write(folder.path().join("slow.toml"), FILE).unwrap();
    folder
}

#[test]
fn compare_uses_path_application_and_endpoints() {
    let folder = folder();
    let compare = [
        "compare",
        "--path",
        "slow.toml",
        "--stacks",
        "rack/cubic",
        "--no-harm",
    ];
    let table = printed(&folder, &[&compare[..], &["--out", "own"]].concat());
    // The bandwidth-delay product is 4 Mbit/s · 60 ms = 30 kB.
    let line = "Path: 4Mbit/s · 30ms one way · queue 64kB (2.1 BDP) · loss 1% · dialect rfc · 4s simulated";
    assert!(table.starts_with(line), "{table}");
    let stored = fs::read_to_string(folder.path().join("own/experiment.toml")).unwrap();
    assert!(
        stored.contains("20kB") && stored.contains("256kB"),
        "{stored}"
    );

    let more = ["--loss", "0,2%", "--dialect", "linux", "--out", "other"];
    let table = printed(&folder, &[&compare[..], &more].concat());
    assert!(table.contains("loss 0% and 2% · dialect linux"), "{table}");
}

#[test]
fn trace_uses_the_same_path() {
    let folder = folder();
    let trace = [
        "trace",
        "--path",
        "slow.toml",
        "rack/cubic",
        "--drop",
        "5-7",
        "--out",
        "t",
    ];
    let text = printed(&folder, &trace);
    let line =
        "Path: 4Mbit/s · 30ms one way · queue 64kB (2.1 BDP) · loss 1% · dialect rfc · lost: 5-7";
    assert!(text.starts_with(line), "{text}");
}

#[test]
fn options_that_the_file_replaces_are_errors() {
    let folder = folder();
    for (command, flag) in [
        ("compare", "--rate"),
        ("trace", "--delay"),
        ("testbed", "--buffer"),
    ] {
        let value = if flag == "--rate" { "3Mbit/s" } else { "30ms" };
        let value = if flag == "--buffer" { "9pkt" } else { value };
        let args = [command, "--path", "slow.toml", flag, value];
        let output = dupack(&args).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = errors(&output);
        assert!(
            message.contains("--path") && message.contains(flag),
            "{message}"
        );
    }
    let missing = dupack(&["compare", "--path", "none.toml"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        errors(&missing).contains("none.toml"),
        "{}",
        errors(&missing)
    );
}

#[test]
fn evaluate_judges_criteria_for_any_path() {
    let folder = folder();
    let evaluate = [
        "evaluate",
        "rack/reno",
        "--path",
        "slow.toml",
        "--quick",
        "--only",
        "harm-delay",
        "--out",
        "e",
    ];
    let card = printed(&folder, &evaluate);
    assert!(card.contains("Delay of a thin flow beside it"), "{card}");
    let stored = fs::read_to_string(folder.path().join("e/harm-delay/experiment.toml")).unwrap();
    assert!(
        stored.contains("4Mbit/s") && stored.contains("64kB"),
        "{stored}"
    );
    // The folder can be resumed because it contains the suite.
    printed(&folder, &["evaluate", "--resume", "e"]);
}
