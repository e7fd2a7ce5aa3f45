//! Tests that an experiment can be resumed in a folder whose process was killed at any point.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common;
use crate::common::{Folder, comes_true, errors, files};

/// Experiment with eight runs of a few milliseconds each, and eight further runs that measure harm.
const FILE: &str = "stacks = [\"sack/reno\", \"rack/cubic\"]\nseeds = 2\nduration = \"2s\"\n\
    [path]\nrate = \"1Mbit/s\"\ndelay = \"5ms\"\n[sweep]\n\"path.loss\" = [\"0.5%\", \"5%\"]\n";

const JOURNAL: &str = "runs.jsonl";

fn dupack(folder: &Path, args: &[&str]) -> Command {
    let mut command = common::dupack(args);
    command.current_dir(folder);
    command
}

fn run(folder: &Path, line: &str) -> Output {
    let args: Vec<&str> = line.split(' ').collect();
    dupack(folder, &args).output().unwrap()
}

/// Returns a folder with the experiment, the files of a complete run, and the journal just before the end of that run.
fn begun(name: &str) -> (Folder, BTreeMap<String, Vec<u8>>, Vec<u8>) {
    let folder = Folder::new(name);
    let path = folder.path();
    fs::write(path.join("e.toml"), FILE).unwrap();
    let whole = run(path, "run e.toml --out whole");
    assert!(whole.status.success(), "{}", errors(&whole));
    let journal = journal_of(path);
    let whole = files(&path.join("whole"));
    (folder, whole, journal)
}

/// Runs the experiment, and returns the journal with all runs.
fn journal_of(path: &Path) -> Vec<u8> {
    let child = dupack(path, &["run", "e.toml", "--out", "journal", "--jobs", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.unwrap();
    let journal = path.join("journal").join(JOURNAL);
    let mut last = Vec::new();
    // The journal grows until the end of the runs and is then deleted.
    assert!(comes_true(|| {
        match fs::read(&journal) {
            Ok(bytes) => last = bytes,
            Err(_) if !last.is_empty() => return true,
            Err(_) => {}
        }
        child.try_wait().unwrap().is_some()
    }));
    child.wait().unwrap();
    last
}

/// Creates a folder with these files.
fn make(path: &Path, files: &[(&str, &[u8])]) {
    let _ = fs::remove_dir_all(path);
    fs::create_dir(path).unwrap();
    for (name, bytes) in files {
        let file = path.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
}

/// Checks that `--resume` completes the folder, and that its files equal those of an uninterrupted run.
fn resumes(folder: &Path, whole: &BTreeMap<String, Vec<u8>>, state: &str) {
    let output = run(folder, "run e.toml --resume state");
    assert!(output.status.success(), "{state}: {}", errors(&output));
    assert!(files(&folder.join("state")) == *whole, "{state}");
}

#[test]
fn every_state_after_a_kill_can_be_resumed() {
    let (folder, whole, journal) = begun("states");
    let path = folder.path();
    let state = path.join("state");
    let experiment = &whole["experiment.toml"];
    let engine = journal.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    // States before the first run. The files are written in this order: the folder, the journal, the journal's line
    // with the name of the engine, and the experiment.
    let half = &experiment[..experiment.len() / 2];
    let early: [&[(&str, &[u8])]; 6] = [
        &[],
        &[(JOURNAL, b"")],
        &[(JOURNAL, &journal[..engine / 2])],
        &[(JOURNAL, &journal[..engine])],
        &[
            (JOURNAL, &journal[..engine]),
            ("experiment.toml.partial", half),
        ],
        &[
            (JOURNAL, &journal[..engine]),
            ("experiment.toml", experiment),
        ],
    ];
    for (number, files) in early.iter().enumerate() {
        make(&state, files);
        resumes(path, &whole, &format!("early state {number}"));
    }
    // States during the runs: the journal is cut off at any byte.
    for end in (engine..journal.len()).step_by(journal.len() / 7) {
        make(
            &state,
            &[(JOURNAL, &journal[..end]), ("experiment.toml", experiment)],
        );
        resumes(path, &whole, &format!("journal of {end} bytes"));
    }
    // States while the files are written one after the other. The order of the files does not matter.
    let names: Vec<&String> = whole
        .keys()
        .filter(|name| *name != "experiment.toml")
        .collect();
    for written in (0..=names.len()).step_by(4) {
        let mut there = vec![
            (JOURNAL, &journal[..]),
            ("experiment.toml", &experiment[..]),
        ];
        there.extend(
            names[..written]
                .iter()
                .map(|name| (name.as_str(), &whole[*name][..])),
        );
        if let Some(next) = names.get(written) {
            there.push((next, &whole[*next][..whole[*next].len() / 2]));
        }
        make(&state, &there);
        resumes(path, &whole, &format!("{written} files"));
    }
    // A folder without a journal is complete.
    let again = run(path, "run e.toml --resume state");
    assert!(again.status.success(), "{}", errors(&again));
    assert!(
        errors(&again).contains("nothing to do"),
        "{}",
        errors(&again)
    );
    assert!(files(&state) == whole);
}

/// Kills 200 processes. Each kind of folder is chosen at random with probability 1/3, and is killed several times
/// before it is resumed.
#[test]
fn runs_killed_at_random_moments_resume_to_the_same_folder() {
    const KILLS: usize = 200;
    let (folder, whole, _) = begun("random");
    let path = folder.path();
    let mut chance = 7_u64;
    let mut random = |most: u64| {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (chance >> 33) % most
    };
    let kinds = ["", "--shard 1/2", "--stream"].map(|flags| {
        let line = format!("run e.toml {flags} --jobs 1");
        let out = format!("{line} --out expected{}", flags.len());
        let out: Vec<&str> = out.split_whitespace().collect();
        assert!(dupack(path, &out).status().unwrap().success());
        let expected = files(&path.join(out[out.len() - 1]));
        (format!("{line} --resume state"), expected)
    });
    assert!(kinds[0].1 == whole);
    let mut kills = 0;
    while kills < KILLS {
        let (line, expected) = &kinds[random(3) as usize];
        let line: Vec<&str> = line.split_whitespace().collect();
        let _ = fs::remove_dir_all(path.join("state"));
        fs::create_dir(path.join("state")).unwrap();
        for _ in 0..=random(8) {
            let mut child = dupack(path, &line)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            sleep(Duration::from_micros(random(60_000)));
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
        }
        let output = dupack(path, &line).output().unwrap();
        assert!(output.status.success(), "{kills}: {}", errors(&output));
        let there = files(&path.join("state"));
        // A part of an incomplete file may remain, but this file is never read.
        let there = there.iter().filter(|(name, _)| !name.ends_with(".partial"));
        assert!(there.eq(expected), "{kills}: {line:?}");
    }
}

#[test]
fn streams_and_shards_killed_at_once_are_begun_again() {
    let (folder, _, _) = begun("at-once");
    let path = folder.path();
    for (flags, mark) in [("--stream", "stream.json"), ("--shard 1/2", "shard.json")] {
        let whole = run(
            path,
            &format!("run e.toml {flags} --jobs 1 --out one-{mark}"),
        );
        assert!(whole.status.success(), "{}", errors(&whole));
        let expected = files(&path.join(format!("one-{mark}")));
        let begun = String::from_utf8_lossy(&expected[mark]).replace("finished", "begun");
        let states: [&[(&str, &[u8])]; 3] = [
            &[],
            &[("shard.json.77.partial", b"{")],
            &[(mark, begun.as_bytes())],
        ];
        for (number, files) in states.iter().enumerate() {
            make(&path.join("state"), files);
            let output = run(path, &format!("run e.toml {flags} --jobs 1 --resume state"));
            assert!(
                output.status.success(),
                "{mark} {number}: {}",
                errors(&output)
            );
            let there = common::files(&path.join("state"));
            let is_whole = |name: &&String| !name.ends_with(".partial");
            assert!(
                there.keys().filter(is_whole).eq(expected.keys()),
                "{mark} {number}"
            );
            assert!(there["experiment.toml"] == expected["experiment.toml"]);
        }
    }
}

#[test]
fn only_one_of_several_processes_begins_in_a_folder() {
    let (folder, whole, _) = begun("together");
    let path = folder.path();
    for (round, command) in ["run e.toml", "run e.toml --stream"].iter().enumerate() {
        let line = format!("{command} --out together-{round}");
        let args: Vec<&str> = line.split(' ').collect();
        let start = |_| {
            let mut command = dupack(path, &args);
            let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        let ended = children
            .into_iter()
            .map(|child| child.wait_with_output().unwrap());
        let ended: Vec<Output> = ended.collect();
        let done = ended
            .iter()
            .filter(|output| output.status.success())
            .count();
        assert_eq!(
            done,
            1,
            "{:?}",
            ended.iter().map(errors).collect::<Vec<_>>()
        );
        let others = ended.iter().filter(|output| !output.status.success());
        for other in others {
            assert_eq!(other.status.code(), Some(2), "{}", errors(other));
        }
    }
    assert!(files(&path.join("together-0")) == whole);
    // Two shards of one experiment start in the same folder. Only one of them may use the folder.
    let start = |shard: u32| {
        let shard = format!("{shard}/2");
        let mut command = dupack(
            path,
            &["run", "e.toml", "--out", "shard", "--shard", &shard],
        );
        let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [start(1), start(2)].map(|child| child.wait_with_output().unwrap());
    let done: Vec<bool> = both.iter().map(|output| output.status.success()).collect();
    assert_eq!(done.iter().filter(|done| **done).count(), 1, "{both:?}");
    let shard = fs::read_to_string(path.join("shard/shard.json")).unwrap();
    let wanted = if done[0] { "1/2" } else { "2/2" };
    assert!(shard.contains(wanted), "{shard}");
}

#[test]
fn lines_of_other_runs_are_rejected_and_the_runs_repeated() {
    let (folder, whole, journal) = begun("stranger");
    let state = folder.path().join("state");
    let experiment = &whole["experiment.toml"];
    let journal = String::from_utf8(journal).unwrap();
    for (from, to) in [
        ("\"seed\":2", "\"seed\":1"),
        ("\"point\":\"loss 5%\"", "\"point\":\"loss 0.5%\""),
        ("\"stack\":\"rack/cubic\"", "\"stack\":\"sack/reno\""),
    ] {
        assert!(journal.contains(from), "{journal}");
        // The checksum of the line is correct, but its contents belong to another run.
        let forged = common::forged(&journal.replace(from, to));
        make(
            &state,
            &[
                (JOURNAL, forged.as_bytes()),
                ("experiment.toml", experiment),
            ],
        );
        let output = run(folder.path(), "run e.toml --resume state");
        assert!(output.status.success(), "{}", errors(&output));
        let said = errors(&output);
        assert!(
            said.contains("name another point, stack or seed"),
            "{to}: {said}"
        );
        assert!(files(&state) == whole, "{to}");
    }
}

#[test]
fn links_in_a_result_folder_are_not_followed() {
    let (folder, whole, journal) = begun("links");
    let path = folder.path();
    let theirs = path.join("theirs");
    let state = path.join("state");
    let experiment = &whole["experiment.toml"];
    let begin = || {
        make(&theirs, &[("file", b"theirs")]);
        make(
            &state,
            &[(JOURNAL, &journal), ("experiment.toml", experiment)],
        );
    };
    // A link at the place of a file is replaced by the file, and the target of the link is unchanged.
    for name in ["runs.csv", "report.html", "results.json"] {
        begin();
        symlink(theirs.join("file"), state.join(name)).unwrap();
        resumes(path, &whole, name);
        assert_eq!(fs::read(theirs.join("file")).unwrap(), b"theirs", "{name}");
    }
    // A link at the place of a folder or of the journal is an error.
    begin();
    symlink(&theirs, state.join("figures")).unwrap();
    let output = run(path, "run e.toml --resume state");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("symbolic link"),
        "{}",
        errors(&output)
    );
    begin();
    fs::rename(state.join(JOURNAL), theirs.join("journal")).unwrap();
    symlink(theirs.join("journal"), state.join(JOURNAL)).unwrap();
    let output = run(path, "run e.toml --resume state");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("symbolic link"),
        "{}",
        errors(&output)
    );
    assert_eq!(fs::read(theirs.join("journal")).unwrap(), journal);
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 2);
}
