//! The command as its users meet it: files, exit codes, messages.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for a test, gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dupack-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn dupack(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dupack"))
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const QUICK: [&str; 9] = [
    "compare",
    "--stacks",
    "sack/reno,le/westwood",
    "--loss",
    "1%",
    "--seeds",
    "2",
    "--duration",
    "5s",
];

#[test]
fn compare_leaves_a_report_and_its_experiment_can_be_repeated() {
    let folder = Folder::new("compare");
    let output = dupack(&folder.0, &QUICK);
    assert!(output.status.success(), "{}", errors(&output));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(
        table.contains("★") && table.contains("le/westwood"),
        "{table}"
    );
    let made = folder.0.join("dupack-out/compare");
    for file in [
        "report.html",
        "runs.csv",
        "summary.csv",
        "parameters.csv",
        "results.json",
        "figures/goodput_mbit_s.svg",
        "figures/goodput_mbit_s.png",
    ] {
        assert!(made.join(file).is_file(), "{file}");
    }
    let again = dupack(
        &folder.0,
        &[
            "run",
            "dupack-out/compare/experiment.toml",
            "--out",
            "again",
        ],
    );
    assert!(again.status.success(), "{}", errors(&again));
    let runs = |path: PathBuf| std::fs::read(path.join("runs.csv")).unwrap();
    assert_eq!(runs(made), runs(folder.0.join("again")), "the same packets");
}

#[test]
fn results_are_never_overwritten() {
    let folder = Folder::new("overwrite");
    let mut args = QUICK.to_vec();
    assert!(dupack(&folder.0, &args).status.success());
    assert!(dupack(&folder.0, &args).status.success());
    assert!(folder.0.join("dupack-out/compare-2").is_dir());
    args.extend(["--out", "dupack-out/compare"]);
    let refused = dupack(&folder.0, &args);
    assert_eq!(refused.status.code(), Some(2));
    assert!(errors(&refused).contains("never overwritten"));
}

#[test]
fn mistakes_are_named_with_their_remedy() {
    let folder = Folder::new("mistakes");
    let file = |text: &str| std::fs::write(folder.0.join("bad.toml"), text).unwrap();
    for (args, part) in [
        (vec!["compare", "--rate", "10Mb"], "write 10Mbit/s"),
        (vec!["compare", "--loss", "1"], "1%"),
        (vec!["compare", "--stacks", "sak/reno"], "`sack`"),
        (
            vec!["compare", "--trace", "none.down"],
            "cannot read the trace",
        ),
        (vec!["compare", "--jobs", "100000"], "1 to 1024"),
        (
            vec!["trace", "sack/reno", "--drop", "9-3"],
            "runs backwards",
        ),
        (
            vec!["trace", "sack/reno", "--from", "50s", "--until", "60s"],
            "within the run",
        ),
        (vec!["run", "none.toml"], "none.toml"),
        (vec!["stacks", "nosuch"], "nosuch"),
        (vec!["papers", "nosuch"], "nosuch"),
    ] {
        let output = dupack(&folder.0, &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            errors(&output).contains(part),
            "{args:?}: {}",
            errors(&output)
        );
    }
    file("stacks = [\"sack/reno\"]\n[path]\nrate = \"1Mbit/s\"\ndleay = \"2ms\"\n");
    let output = dupack(&folder.0, &["run", "bad.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let message = errors(&output);
    assert!(
        message.contains("bad.toml:4") && message.contains("`delay`"),
        "{message}"
    );
    assert!(!folder.0.join("dupack-out").exists(), "nothing was begun");
}

#[test]
fn trace_writes_its_files() {
    let folder = Folder::new("trace");
    let output = dupack(&folder.0, &["trace", "momentary/reno", "--drop", "24-30"]);
    assert!(output.status.success(), "{}", errors(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("cwnd 11.408 → 5.704"), "{text}");
    for file in [
        "time-sequence.svg",
        "time-sequence.png",
        "flow.pcapng",
        "packets.csv",
    ] {
        assert!(
            folder.0.join("dupack-out/trace").join(file).is_file(),
            "{file}"
        );
    }
}

#[test]
fn the_catalog_and_the_schema_print() {
    let folder = Folder::new("catalog");
    let stacks = dupack(&folder.0, &["stacks"]);
    let text = String::from_utf8_lossy(&stacks.stdout).into_owned();
    for name in [
        "tahoe",
        "fack",
        "momentary",
        "le",
        "rack",
        "westwood",
        "cubic",
        "veno",
    ] {
        assert!(text.contains(&format!("\n  {name}")), "{name}");
    }
    let schema = dupack(&folder.0, &["schema"]);
    let json: serde_json::Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert!(json["properties"]["stacks"].is_object());
}
