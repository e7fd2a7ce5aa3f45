//! Tests of the recipes in `examples/clusters`, as far as this is possible without a cluster: the tests run the
//! commands of a scheduler with its environment variables.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Folder, dupack, errors, files};

const FILE: &str = "stacks = [\"sack/reno\", \"le/reno\"]\nseeds = 2\nduration = \"2s\"\n\
    [path]\nrate = \"5Mbit/s\"\ndelay = \"10ms\"\n[sweep]\n\"path.loss\" = [\"0%\", \"2%\"]\n";

fn recipe(name: &str) -> PathBuf {
    let recipes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clusters");
    recipes.join(name).canonicalize().unwrap()
}

/// Returns a folder with an experiment, and with the result of this experiment on one machine.
fn place(name: &str) -> Folder {
    let place = Folder::new(name);
    fs::write(place.path().join("experiment.toml"), FILE).unwrap();
    succeeds(
        &place,
        dupack(&["run", "experiment.toml", "--out", "whole"]),
    );
    place
}

/// Runs a command that must succeed, with our `dupack` in its `PATH`.
fn succeeds(place: &Folder, mut command: Command) {
    let mut path = OsString::from(Path::new(env!("CARGO_BIN_EXE_dupack")).parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let command = command.current_dir(place.path()).env("PATH", path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

/// Checks that the merged `shards` equal the result on one machine.
fn merges(place: &Folder, shards: &[String]) {
    let shards = shards.iter().map(String::as_str);
    let words: Vec<&str> = ["merge", "--out", "all"]
        .into_iter()
        .chain(shards)
        .collect();
    succeeds(place, dupack(&words));
    assert!(files(&place.path().join("all")) == files(&place.path().join("whole")));
}

#[test]
fn every_task_of_the_slurm_array_runs_its_shard() {
    let place = place("slurm");
    // The tasks run in any order, and one of them runs twice, as if a scheduler had queued it again.
    for task in ["2", "3", "1", "3"] {
        let mut script = Command::new("sh");
        script
            .arg(recipe("slurm.sh"))
            .args(["experiment.toml", "3", "shards"]);
        script.env("SLURM_ARRAY_TASK_ID", task);
        succeeds(&place, script);
    }
    merges(&place, &[1, 2, 3].map(|n| format!("shards/{n}")));
}

#[test]
fn every_pod_of_the_kubernetes_job_runs_its_shard() {
    let place = place("kubernetes");
    let job = fs::read_to_string(recipe("kubernetes.yaml")).unwrap();
    // The command ends with the folded text after `>-`.
    let (_, command) = job.split_once(">-\n").unwrap();
    let (command, _) = command.split_once("resources:").unwrap();
    let data = place.path().display().to_string();
    let command = command.replace("/data", &data).replace("/64", "/2");
    let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
    for index in ["0", "1"] {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &command])
            .env("JOB_COMPLETION_INDEX", index);
        succeeds(&place, shell);
    }
    merges(&place, &[1, 2].map(|n| format!("{data}/shards/{n}")));
}

#[test]
fn snakemake_runs_all_shards_and_merges_them() {
    if Command::new("snakemake").arg("--version").output().is_err() {
        // `eprintln` is not used, because the test harness hides its output if a test passes.
        let said = "\n*** SKIPPED: snakemake is not installed, so examples/clusters/Snakefile is not tested";
        let _ = writeln!(std::io::stderr(), "{said}");
        return;
    }
    let place = place("snakemake");
    let mut command = Command::new("snakemake");
    command
        .arg("-s")
        .arg(recipe("Snakefile"))
        .args(["--cores", "2", "--config"]);
    command.args(["file=experiment.toml", "shards=3", "out=all"]);
    // Snakemake keeps its cache in this folder.
    command.env("XDG_CACHE_HOME", place.path());
    succeeds(&place, command);
    assert!(files(&place.path().join("all")) == files(&place.path().join("whole")));
}
