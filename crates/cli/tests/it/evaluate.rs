//! Tests of `dupack evaluate` as a user runs it: cards, exit codes, messages.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common;
use crate::common::{Folder, errors};

fn evaluate(folder: &Path, args: &[&str]) -> Output {
    let args: Vec<&str> = ["evaluate"].iter().chain(args).copied().collect();
    common::dupack(&args).current_dir(folder).output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn cards_are_printed_written_and_compared_with_a_baseline() {
    let folder = Folder::new("evaluate");
    let only = ["rack/bbr", "--quick", "--only", "full-backoff", "--out"];
    let first = evaluate(folder.path(), &[&only[..], &["a"]].concat());
    assert!(first.status.success(), "{}", errors(&first));
    assert!(printed(&first).contains("✓ meets"), "{}", printed(&first));
    for file in [
        "card.html",
        "card.md",
        "card.json",
        "outage/experiment.toml",
        "outage/report.html",
    ] {
        assert!(folder.path().join("a").join(file).is_file(), "{file}");
    }
    let page = fs::read_to_string(folder.path().join("a/card.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("--only full-backoff --quick"));

    let same = evaluate(
        folder.path(),
        &[&only[..], &["b", "--baseline", "a/card.json"]].concat(),
    );
    assert_eq!(same.status.code(), Some(0), "{}", errors(&same));

    // The verdict in the baseline is better than the present verdict.
    let text = fs::read_to_string(folder.path().join("a/card.json")).unwrap();
    let fixed = [
        "sack/fixed",
        "--quick",
        "--only",
        "tail-drop-loss",
        "--format",
        "json",
        "--out",
        "c",
    ];
    let worse = evaluate(folder.path(), &fixed);
    let card: serde_json::Value = serde_json::from_str(&printed(&worse)).unwrap();
    assert_eq!(card["rows"][0]["verdict"], "does_not_meet", "{card}");
    let before = printed(&worse).replace("does_not_meet", "meets");
    fs::write(folder.path().join("better.json"), before).unwrap();
    let fixed = [
        "sack/fixed",
        "--quick",
        "--only",
        "tail-drop-loss",
        "--baseline",
        "better.json",
    ];
    let worse = evaluate(folder.path(), &fixed);
    assert_eq!(worse.status.code(), Some(1), "{}", errors(&worse));
    assert!(
        errors(&worse).contains("worse than in the baseline"),
        "{}",
        errors(&worse)
    );

    let full = text.replace("\"quick\"", "\"full\"");
    fs::write(folder.path().join("full.json"), full).unwrap();
    let other = evaluate(
        folder.path(),
        &[&only[..], &["d", "--baseline", "full.json"]].concat(),
    );
    assert_eq!(other.status.code(), Some(2));
    assert!(
        errors(&other).contains("is a full card"),
        "{}",
        errors(&other)
    );
    let cut = text.replace("\"missing\": 0", "\"missing\": 4");
    fs::write(folder.path().join("cut.json"), cut).unwrap();
    let other = evaluate(
        folder.path(),
        &[&only[..], &["d", "--baseline", "cut.json"]].concat(),
    );
    assert_eq!(other.status.code(), Some(2));
    assert!(
        errors(&other).contains("4 of its runs"),
        "{}",
        errors(&other)
    );
    // The error is reported before any run starts.
    assert!(!folder.path().join("d").exists());
}

#[test]
fn experiments_of_cards_can_be_changed_and_run() {
    let folder = Folder::new("evaluate-again");
    let args = [
        "sack/reno",
        "--quick",
        "--only",
        "full-backoff",
        "--out",
        "a",
    ];
    let output = evaluate(folder.path(), &args);
    assert!(output.status.success(), "{}", errors(&output));
    let file = folder.path().join("a/outage/experiment.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("sack/reno") && !text.contains("rack/bbr"),
        "{text}"
    );
    fs::write(&file, text.replace("seeds = 3", "seeds = 2")).unwrap();
    let again = common::dupack(&["run", "--no-harm", "a/outage/experiment.toml"]);
    let again = { again }.current_dir(folder.path()).output().unwrap();
    assert!(again.status.success(), "{}", errors(&again));
    assert!(printed(&again).contains("✓ holds"), "{}", printed(&again));
}

#[test]
fn interrupted_cards_continue_and_other_folders_are_errors() {
    let folder = Folder::new("evaluate-resume");
    let args = [
        "rack/bbr",
        "--quick",
        "--only",
        "full-backoff",
        "--format",
        "json",
        "--out",
        "a",
    ];
    let first = evaluate(folder.path(), &args);
    let again = evaluate(folder.path(), &["--resume", "a", "--format", "json"]);
    assert!(again.status.success(), "{}", errors(&again));
    assert_eq!(printed(&first), printed(&again));
    assert!(
        errors(&again).contains("9 of 9 runs were completed before"),
        "{}",
        errors(&again)
    );
    let seeds = evaluate(folder.path(), &["--resume", "a", "--seed-set", "2"]);
    assert_eq!(seeds.status.code(), Some(2), "{}", errors(&seeds));
    let none = evaluate(folder.path(), &["--resume", "b"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(
        errors(&none).contains("is not a folder that"),
        "{}",
        errors(&none)
    );
}

#[test]
fn criteria_are_listed_and_misuse_is_an_error() {
    let folder = Folder::new("evaluate-list");
    let list = evaluate(folder.path(), &["--list"]);
    let list = printed(&list);
    for words in [
        "5.1.1 ",
        "7.11 ",
        "not applicable:",
        "rule:",
        "threshold:",
        "its source:",
        "scenario: outage.toml",
    ] {
        assert!(list.contains(words), "{words}: {list}");
    }
    for (args, words) in [
        (&[][..], "missing stack to evaluate"),
        (&["rack/bbbr"], "rack"),
        (&["rack/bbr", "--only", "bufferbload"], "bufferbloat"),
        (
            &["rack/bbr", "--only", "wire-hram-cubic"],
            "wire-harm-cubic",
        ),
        (
            &["rack/bbr", "--baseline", "none.json"],
            "cannot read none.json as a report card",
        ),
        (&["rack/bbr", "--suite", "."], "criteria.toml"),
        (&["--compare", "rack/bbr,rack/bbr"], "twice"),
    ] {
        let output = evaluate(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            errors(&output).contains(words),
            "{args:?}: {}",
            errors(&output)
        );
    }
    assert!(
        !folder.path().join("dupack-out").exists(),
        "misuse creates no folder"
    );
}

#[test]
fn cards_are_printed_side_by_side() {
    let folder = Folder::new("evaluate-compare");
    let args = [
        "--compare",
        "rack/bbr,sack/fixed(window=64)",
        "--quick",
        "--only",
        "full-backoff",
        "--out",
        "a",
    ];
    let output = evaluate(folder.path(), &args);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(
        printed(&output).contains("sack/fixed(window=64)"),
        "{}",
        printed(&output)
    );
    let card = fs::read_to_string(folder.path().join("a/card.json")).unwrap();
    let card: serde_json::Value = serde_json::from_str(&card).unwrap();
    assert_eq!(card.as_array().map(Vec::len), Some(2));
    assert!(
        folder
            .path()
            .join("a/1-rack-bbr/outage/report.html")
            .is_file()
    );
    let one = serde_json::to_string(&card[0]).unwrap();
    fs::write(folder.path().join("one.json"), one).unwrap();
    let resumed = evaluate(folder.path(), &["--resume", "a", "--baseline", "one.json"]);
    assert_eq!(resumed.status.code(), Some(2), "{}", errors(&resumed));
    assert!(
        errors(&resumed).contains("there are 2"),
        "{}",
        errors(&resumed)
    );
}
