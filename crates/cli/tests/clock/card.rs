//! Tests of `dupack evaluate` on real packets.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{Folder, dupack, errors, skipped, text};

fn evaluate(folder: &Path, args: &[&str]) -> Output {
    let args = [&["evaluate"], args].concat();
    dupack(&args).current_dir(folder).output().unwrap()
}

fn printed(output: &Output) -> String {
    text(&output.stdout)
}

/// Runs of about one second on real packets. The card of a kernel's sender has results on real packets only; the card
/// of a stack has results of both kinds. Each card is valid as a baseline.
#[test]
fn kernel_senders_have_cards_of_real_packets() {
    let folder = Folder::new("evaluate-wire");
    let suite = folder.path().join("suite");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/evaluation");
    fs::create_dir_all(suite.join("wire")).unwrap();
    for from in fs::read_dir(&own).unwrap().map(Result::unwrap) {
        if from.path().is_file() {
            fs::copy(from.path(), suite.join(from.file_name())).unwrap();
        }
    }
    for from in fs::read_dir(own.join("wire")).unwrap().map(Result::unwrap) {
        let text = fs::read_to_string(from.path()).unwrap();
        let text = text.replace("duration = \"10s\"", "duration = \"2s\"");
        fs::write(suite.join("wire").join(from.file_name()), text).unwrap();
    }
    let only = [
        "--quick",
        "--only",
        "wire-high-loss",
        "--suite",
        "suite",
        "--wire-jobs",
        "3",
    ];
    let card = |more: &[&str]| evaluate(folder.path(), &[&only[..], more].concat());

    let kernel = card(&["kernel:cubic", "--out", "kernel"]);
    if skipped(&kernel) {
        return;
    }
    assert!(kernel.status.success(), "{}", errors(&kernel));
    assert!(
        printed(&kernel).contains("on real packets"),
        "{}",
        printed(&kernel)
    );
    let made = folder.path().join("kernel");
    let read = |file: &str| fs::read_to_string(made.join(file)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("card.json")).unwrap();
    assert_eq!(json["rows"], serde_json::json!([]));
    let row = &json["wire"]["rows"][0];
    assert_eq!(row["key"], "wire-high-loss");
    assert_eq!(row["simulated"], serde_json::Value::Null);
    // CUBIC and Reno have three runs each. CUBIC is also the sender under test, so no other runs are necessary.
    assert_eq!(json["wire"]["runs"], 6);
    assert_eq!(read("wire-flows.csv").lines().count(), 1 + 6 * 4);
    assert!(read("card.html").contains("On real packets"));
    assert!(made.join("wire-high-loss/report.html").is_file());

    let ours = card(&["rack/cubic", "--out", "ours", "--format", "json"]);
    assert!(ours.status.success(), "{}", errors(&ours));
    let json: serde_json::Value = serde_json::from_str(&printed(&ours)).unwrap();
    assert_eq!(json["wire"]["rows"][0]["simulated"], "meets");
    let simulated = folder
        .path()
        .join("ours/wire-high-loss-simulated/experiment.toml");
    assert!(!fs::read_to_string(simulated).unwrap().contains("kernel:"));

    // Valid runs are kept, but there may be none here if paths were late. The folder records its suite.
    let again = evaluate(folder.path(), &["--resume", "kernel"]);
    assert!(again.status.success(), "{}", errors(&again));
    let other = card(&["kernel:no_such", "--out", "none"]);
    assert_eq!(other.status.code(), Some(2), "{}", errors(&other));
    assert!(errors(&other).contains("no_such"), "{}", errors(&other));
}
