//! Tests of `dupack run --stream`, which writes the files of an ordinary run without holding its runs in memory.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common;
use crate::common::{Folder, errors, files, text};

const FILE: &str = "stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = 3\nduration = \"2s\"\n[path]\n\
    rate = \"1Mbit/s\"\n[sweep]\n\"path.loss\" = [\"0.5%\", \"5%\"]\n";

fn folder(name: &str, more: &str) -> Folder {
    let folder = Folder::new(name);
    fs::write(folder.path().join("sweep.toml"), format!("{FILE}{more}")).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = common::dupack(&["run"]);
    command.args(args).current_dir(folder).output().unwrap()
}

#[test]
fn tables_match_those_of_an_ordinary_run() {
    let folder = folder("same", "");
    let whole = run(folder.path(), &["sweep.toml", "--out", "whole"]);
    assert!(whole.status.success(), "{}", errors(&whole));
    let streamed = [
        "sweep.toml",
        "--stream",
        "--out",
        "streamed",
        "--format",
        "csv",
    ];
    let streamed = run(folder.path(), &streamed);
    assert!(streamed.status.success(), "{}", errors(&streamed));
    let whole = files(&folder.path().join("whole"));
    let found = files(&folder.path().join("streamed"));
    let tables = ["summary", "verdicts", "comparisons", "parameters"];
    for name in tables.map(|table| format!("{table}.csv")) {
        assert!(found[&name] == whole[&name], "{name}");
    }
    assert!(found["runs/part-00001.csv"] == whole["runs.csv"]);
    assert_eq!(streamed.stdout, whole["summary.csv"]);
    assert!(
        errors(&streamed).contains("report: "),
        "{}",
        errors(&streamed)
    );
    assert!(!found.keys().any(|name| name.ends_with(".partial")));
    // No run is repeated.
    let again = run(folder.path(), &["sweep.toml", "--resume", "streamed"]);
    assert!(again.status.success());
    assert!(
        errors(&again).contains("nothing to do"),
        "{}",
        errors(&again)
    );
    assert!(files(&folder.path().join("streamed")) == found);
}

#[test]
fn omissions_have_notes() {
    let claim = "[[claim]]\nid = \"more\"\nstatement = \"x\"\nholds_if = 'all(goodput[\"sack/reno\"] > 0)'\n";
    let folder = folder("said", claim);
    let done = run(
        folder.path(),
        &["sweep.toml", "--stream", "--no-harm", "--out", "out"],
    );
    assert!(done.status.success(), "{}", errors(&done));
    assert!(
        errors(&done).contains("are not judged"),
        "{}",
        errors(&done)
    );
    assert!(
        text(&done.stdout).contains("12 runs at 2 point(s)"),
        "{}",
        text(&done.stdout)
    );
}

#[test]
fn conflicting_options_are_errors_without_a_folder() {
    let folder = folder("refused", "");
    for (args, part) in [
        (&["--stream", "--shard", "1/2"][..], "--shard"),
        (&["--stream", "--format", "json"], "keeps no runs in memory"),
        (&["--parts", "csv"], "--stream"),
        (
            &["--stream", "--resume", "nowhere"],
            "it has no stream.json",
        ),
        #[cfg(not(feature = "parquet"))]
        (&["--stream", "--parts", "parquet"], "built without Parquet"),
    ] {
        let refused = run(folder.path(), &[&["sweep.toml"], args].concat());
        assert_eq!(
            refused.status.code(),
            Some(2),
            "{args:?}: {}",
            errors(&refused)
        );
        assert!(
            errors(&refused).contains(part),
            "{args:?}: {}",
            errors(&refused)
        );
        assert!(!folder.path().join("dupack-out").exists(), "{args:?}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parts_can_be_parquet() {
    let folder = folder("parquet", "");
    let args = [
        "sweep.toml",
        "--stream",
        "--parts",
        "parquet",
        "--out",
        "out",
    ];
    let done = run(folder.path(), &args);
    assert!(done.status.success(), "{}", errors(&done));
    let found = files(&folder.path().join("out"));
    let part = &found["runs/part-00001.parquet"];
    assert!(part.starts_with(b"PAR1") && part.ends_with(b"PAR1"));
    assert!(!found.contains_key("runs/part-00001.csv"));
}
