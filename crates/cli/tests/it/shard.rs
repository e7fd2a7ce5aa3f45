//! Tests that shards and `dupack merge` give the same result as one `dupack run`.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common;
use crate::common::{Folder, errors, files, forged, text};

const FILE: &str = "title = \"Parts\"\nstacks = [\"sack/reno\", \"le/westwood\"]\nseeds = 3\nduration = \"3s\"\n\
    [path]\nrate = \"5Mbit/s\"\ndelay = \"10ms\"\nbuffer = \"30pkt\"\n\
    [sweep]\n\"path.loss\" = [\"0.5%\", \"4%\"]\n\
    [names]\nSACK = \"sack/reno\"\nLE = \"le/westwood\"\n\
    [[claim]]\nid = \"faster\"\nstatement = \"Westwood is faster\"\n\
    holds_if = \"all p in points: goodput[LE, p] / goodput[SACK, p] > 1\"\n";

/// A folder with the experiment. The commands run in this folder.
struct Place(Folder);

impl Place {
    fn new(name: &str) -> Self {
        let place = Self(Folder::new(name));
        fs::write(place.path("parts.toml"), FILE).unwrap();
        place
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command line. Its words are separated by one space.
    fn dupack(&self, line: &str) -> Output {
        let args: Vec<&str> = line.split(' ').collect();
        let mut command = common::dupack(&args);
        command.current_dir(self.0.path()).output().unwrap()
    }

    /// Runs a command that must succeed.
    fn done(&self, line: &str) -> Output {
        let output = self.dupack(line);
        assert!(output.status.success(), "{line}: {}", errors(&output));
        output
    }

    /// Runs a command that must fail with the exit code `code`, and returns the message of the command.
    fn refused(&self, line: &str, code: i32) -> String {
        let output = self.dupack(line);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{line}: {}",
            errors(&output)
        );
        let words = words(&errors(&output));
        assert!(!words.contains("panicked"), "{line}: {words}");
        words
    }

    /// Carries out all `of` shards, each in a numbered folder.
    fn shards(&self, of: u32) {
        for shard in 1..=of {
            // The runs are not concurrent, so that the journal lists them in a fixed order.
            let out = format!("--out s{shard} --jobs 1");
            self.done(&format!("run parts.toml --shard {shard}/{of} {out}"));
        }
    }

    /// Copies the shard's folder.
    fn copy(&self, from: &str, to: &str) {
        fs::create_dir(self.path(to)).unwrap();
        for (name, bytes) in files(&self.path(from)) {
            fs::write(self.path(to).join(name), bytes).unwrap();
        }
    }

    /// Replaces a text in a file.
    fn edit(&self, file: &str, from: &str, to: &str) {
        let before = fs::read_to_string(self.path(file)).unwrap();
        assert!(before.contains(from), "{before}");
        fs::write(self.path(file), before.replacen(from, to, 1)).unwrap();
    }
}

/// Returns a message without line breaks.
fn words(message: &str) -> String {
    let message = message.replace("\n  │", "");
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `true` if no name in `folder` contains `part`.
fn has_none(folder: &Path, part: &str) -> bool {
    let mut entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    !entries.any(|entry| entry.file_name().to_string_lossy().contains(part))
}

#[test]
fn merged_folders_match_those_of_one_run() {
    let place = Place::new("bytes");
    let whole = place.done("run parts.toml --out whole");
    place.shards(3);
    // The order of the shards does not matter, and one of them is given twice.
    let merged = place.done("merge s3 s1 s2 s1/ --out all");
    assert_eq!(text(&merged.stdout), text(&whole.stdout));
    let (ours, expected) = (files(&place.path("all")), files(&place.path("whole")));
    assert_eq!(
        ours.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &expected {
        assert!(ours[name] == *bytes, "{name} differs");
    }
    assert!(expected.contains_key("claims.csv"));

    // Repeating the merge does nothing. Any other existing folder is not overwritten.
    let again = place.done("merge s1 s2 s3 --out all");
    assert!(
        errors(&again).contains("nothing to do"),
        "{}",
        errors(&again)
    );
    let words = place.refused("merge s1 s2 s3 --out all --prefer delay", 2);
    assert!(words.contains("never overwritten"), "{words}");
    let words = place.refused("merge s1 s2 s3 --out s1", 2);
    assert!(words.contains("never overwritten"), "{words}");
    assert!(files(&place.path("all")) == expected);

    // Without `--out`, the result is written to the default folder of `dupack run`.
    place.done("merge s1 s2 s3 --format csv");
    assert!(files(&place.path("dupack-out/parts")) == expected);
    assert!(has_none(place.0.path(), ".partial"));
}

#[test]
fn repeated_commands_run_a_shard_once() {
    let place = Place::new("once");
    let first = place.done("run parts.toml --shard 2/3 --no-harm");
    let folder = place.path("dupack-out/parts-2-of-3");
    let before = files(&folder);
    let names: Vec<&str> = before.keys().map(String::as_str).collect();
    let expected = [
        "experiment.toml",
        "finished.json",
        "runs.jsonl",
        "shard.json",
    ];
    assert_eq!(names, expected);
    assert!(
        errors(&first).contains("shard 2/3 is complete"),
        "{}",
        errors(&first)
    );
    for again in [
        "run parts.toml --shard 2/3 --no-harm",
        "run --resume dupack-out/parts-2-of-3",
        "run parts.toml --resume dupack-out/parts-2-of-3 --shard 2/3",
    ] {
        let again = place.done(again);
        assert!(
            errors(&again).contains("nothing to do"),
            "{}",
            errors(&again)
        );
        assert!(files(&folder) == before);
    }
    // This is the state of a shard that was killed before its end: the journal has an incomplete line.
    fs::remove_file(folder.join("finished.json")).unwrap();
    let journal = folder.join("runs.jsonl");
    let text = fs::read(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 10]).unwrap();
    let again = place.done("run parts.toml --shard 2/3 --no-harm");
    let said = errors(&again);
    assert!(
        said.contains("1 incomplete or unreadable line(s)")
            && said.contains("were completed before"),
        "{said}"
    );
    assert!(folder.join("finished.json").is_file());
    // There are more shards than runs, so a shard without runs is complete at once.
    let empty = place.done("run parts.toml --shard 99/99 --out empty");
    assert!(errors(&empty).contains("its 0 runs"), "{}", errors(&empty));
}

#[cfg(unix)]
#[test]
fn killed_shards_continue_and_the_merged_folder_is_the_same() {
    let place = Place::new("killed");
    // Each run takes a moment.
    place.edit("parts.toml", "duration = \"3s\"", "duration = \"100s\"");
    place.edit("parts.toml", "seeds = 3", "seeds = 6");
    let journal = place.path("s1/runs.jsonl");
    let lines = || {
        fs::read_to_string(&journal)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let mut before = 0;
    for _ in 0..2 {
        let args = "run parts.toml --shard 1/2 --out s1 --jobs 1";
        let mut command = common::dupack(&args.split(' ').collect::<Vec<_>>());
        command.stderr(std::process::Stdio::null());
        let mut child = command.current_dir(place.0.path()).spawn().unwrap();
        assert!(
            common::comes_true(|| lines() > before + 2),
            "no run is stored"
        );
        // After SIGKILL, the process prints and writes nothing more.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!place.path("s1/finished.json").exists());
        before = lines();
    }
    let again = errors(&place.done("run parts.toml --shard 1/2 --out s1"));
    assert!(again.contains("runs were completed before"), "{again}");
    place.done("run parts.toml --shard 2/2 --out s2");
    place.done("merge s1 s2 --out all");
    place.done("run parts.toml --out whole");
    assert!(files(&place.path("all")) == files(&place.path("whole")));
}

/// Runs a command with a limit of file sizes in kilobytes. A file that reaches the limit is equivalent to a full disk.
#[cfg(unix)]
fn with_room(place: &Place, kilobytes: u32, line: &str) -> Output {
    let limited = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", kilobytes * 2);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_dupack")]);
    let shell = shell.args(line.split(' ')).current_dir(place.0.path());
    shell.output().unwrap()
}

#[cfg(unix)]
#[test]
fn full_disks_are_errors_that_lose_nothing() {
    let place = Place::new("full");
    place.done("run parts.toml --out whole");
    let shard = "run parts.toml --shard 1/2 --out s1";
    let full = with_room(&place, 2, &format!("{shard} --jobs 1"));
    let said = errors(&full);
    assert_eq!(full.status.code(), Some(2), "{said}");
    assert!(said.contains("make room"), "{said}");
    assert!(
        said.contains("continue with: dupack run parts.toml"),
        "{said}"
    );
    let kept = fs::read_to_string(place.path("s1/runs.jsonl")).unwrap();
    assert!(kept.ends_with('\n'), "{kept}");
    let kept = kept
        .lines()
        .filter(|line| line.contains("trace_hash"))
        .count();
    assert!(
        kept > 0 && !place.path("s1/finished.json").exists(),
        "{kept}"
    );
    let again = errors(&place.done(shard));
    assert!(again.contains(&format!("{kept} of ")), "{again}");
    place.done("run parts.toml --shard 2/2 --out s2");

    // A failed merge leaves no files, and does not change the shards.
    let before = (files(&place.path("s1")), files(&place.path("s2")));
    let full = with_room(&place, 8, "merge s1 s2 --out all");
    assert_eq!(full.status.code(), Some(2), "{}", errors(&full));
    assert!(errors(&full).contains("make room"), "{}", errors(&full));
    assert!(!place.path("all").exists() && has_none(place.0.path(), ".partial"));
    assert!(before == (files(&place.path("s1")), files(&place.path("s2"))));
    place.done("merge s1 s2 --out all");
    assert!(files(&place.path("all")) == files(&place.path("whole")));
}

#[test]
fn folders_of_other_experiments_are_errors() {
    let place = Place::new("else");
    fs::write(place.path("other.toml"), FILE.replace("10ms", "11ms")).unwrap();
    place.done("run parts.toml --shard 1/3 --out s1");
    fs::create_dir(place.path("full")).unwrap();
    fs::write(place.path("full/notes"), "mine").unwrap();
    for (line, says) in [
        (
            "run parts.toml --shard 2/3 --out s1",
            "the shard is 2/3, and was 1/3",
        ),
        (
            "run parts.toml --shard 1/4 --out s1",
            "the shard is 1/4, and was 1/3",
        ),
        (
            "run parts.toml --shard 1/3 --out s1 --no-harm",
            "harm is left out",
        ),
        (
            "run other.toml --shard 1/3 --out s1",
            "path.delay is \"11ms\", and was \"10ms\"",
        ),
        (
            "run other.toml --resume s1",
            "path.delay is \"11ms\", and was \"10ms\"",
        ),
        (
            "run --resume s1 --shard 2/3",
            "folder of shard 1/3, not of 2/3",
        ),
        (
            "run --resume s1 --prefer delay",
            "use --prefer with `dupack merge`",
        ),
        ("run parts.toml --out s1", "never overwritten"),
        ("run parts.toml --shard 1/3 --out full", "never overwritten"),
        (
            "run parts.toml --shard 1/3 --resume full",
            "not the folder of a shard",
        ),
        ("compare --resume s1", "the folder of a shard"),
        (
            "run --resume s1 --format csv",
            "use --format with `dupack merge`",
        ),
        (
            "run parts.toml --shard 1/3 --format json",
            "a shard prints none because it has only a part of the runs",
        ),
        (
            "run parts.toml --shard 1/3 --prefer delay",
            "use --prefer with `dupack merge`",
        ),
        ("run --resume s1 --explain", "cannot be used with"),
    ] {
        let words = place.refused(line, 2);
        assert!(words.contains(says), "{line}: {words}");
    }
    // The shard was begun by another build of dupack.
    place.edit("s1/shard.json", "\"engine\": \"", "\"engine\": \"9.");
    let words = place.refused("run parts.toml --shard 1/3 --out s1", 2);
    assert!(words.contains("the engine is "), "{words}");
}

#[test]
fn invalid_shards_have_errors_with_the_valid_range() {
    let place = Place::new("texts");
    for (shard, says) in [
        ("0/4", "the shards are 1/4 to 4/4"),
        ("5/4", "the shards are 1/4 to 4/4"),
        ("1/0", "1 to 100000 shards"),
        ("a", "such as 3/64"),
        ("-1/4", "such as 3/64"),
        ("1/-4", "such as 3/64"),
        ("3", "such as 3/64"),
    ] {
        let words = place.refused(&format!("run parts.toml --shard {shard} --out x"), 2);
        assert!(words.contains(says), "{shard}: {words}");
    }
    // Seeds that `precision` adds are unknown to the shards.
    place.edit("parts.toml", "seeds = 3", "seeds = 3\nprecision = \"2%\"");
    let words = place.refused("run parts.toml --shard 1/2 --out x", 2);
    assert!(words.contains("a precision adds seeds"), "{words}");
    assert!(
        words.contains("precision = \"2%\"") && words.contains("seeds = 30"),
        "{words}"
    );
    assert!(!place.path("x").exists());
}

#[test]
fn explain_prints_the_parameters_and_the_share_of_a_shard() {
    let place = Place::new("explained");
    let whole = text(&place.done("run parts.toml --explain").stdout);
    let shard = text(&place.done("run parts.toml --shard 2/3 --explain").stdout);
    let own = shard.strip_prefix(&*whole).unwrap();
    // The shard has six runs, six runs that measure harm, and the reference for harm.
    assert!(own.starts_with("\nshard 2/3 has "), "{own}");
    assert!(
        own.contains(" runs, about ") && own.contains("the longest shard has 3"),
        "{own}"
    );
    assert!(!place.path("dupack-out").exists());
}

#[test]
fn missing_runs_are_listed_with_their_commands() {
    let place = Place::new("missing");
    place.done("run parts.toml --out whole");
    for shard in [1, 3] {
        place.done(&format!("run parts.toml --shard {shard}/4 --out s{shard}"));
    }
    // This is the state of a shard that was killed.
    fs::remove_file(place.path("s3/finished.json")).unwrap();
    let journal = fs::read_to_string(place.path("s3/runs.jsonl")).unwrap();
    let lines: Vec<&str> = journal.split_inclusive('\n').take(3).collect();
    fs::write(place.path("s3/runs.jsonl"), lines.concat()).unwrap();

    let output = place.dupack("merge s3 s1 --out all");
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let said = errors(&output);
    assert!(
        said.contains("3 of 4 shards are missing or unfinished: 2-4"),
        "{said}"
    );
    assert!(
        said.contains("2/4: no folder was given") && said.contains("seed "),
        "{said}"
    );
    assert!(said.contains("3/4: s3 is unfinished"), "{said}");
    assert!(!place.path("all").exists() && has_none(place.0.path(), ".partial"));
    // After all commands in the message have been run, the result is complete.
    let commands = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("dupack "));
    let commands: Vec<&str> = commands.collect();
    assert_eq!(commands.len(), 3, "{said}");
    for command in commands {
        place.done(command);
    }
    place.done("merge s1 s3 parts-2-of-4 parts-4-of-4 --out all");
    assert!(files(&place.path("all")) == files(&place.path("whole")));
}

#[test]
fn folders_that_do_not_belong_together_are_errors() {
    let place = Place::new("mixed");
    place.shards(2);
    fs::write(place.path("other.toml"), FILE.replace("10ms", "11ms")).unwrap();
    place.done("run other.toml --shard 2/2 --out other");
    place.done("run parts.toml --shard 2/2 --out bare --no-harm");
    place.done("run parts.toml --shard 2/3 --out third");
    place.copy("s2", "newer");
    place.edit("newer/shard.json", "\"engine\": \"", "\"engine\": \"9.");
    fs::create_dir(place.path("empty")).unwrap();
    for (line, says) in [
        (
            "merge s1 other --out x",
            "other does not belong to s1: path.delay is \"11ms\", and was \"10ms\" there",
        ),
        (
            "merge bare s1 --out x",
            "bare does not belong to s1: harm is left out, and was measured there",
        ),
        (
            "merge s1 third --out x",
            "third does not belong to s1: the number of shards is 3, and was 2 there",
        ),
        (
            "merge s1 newer --out x",
            "newer does not belong to s1: the engine is 9.",
        ),
        ("merge newer --out x", "the engine of newer is 9."),
        (
            "merge s1 empty --out x",
            "empty is not the folder of a shard",
        ),
        (
            "merge s1 nowhere --out x",
            "nowhere is not the folder of a shard",
        ),
        (
            "merge s1 parts.toml --out x",
            "parts.toml is not the folder of a shard",
        ),
        (
            "merge s1 s2 --experiment other.toml --out x",
            "other.toml is not the experiment of s1: path.delay",
        ),
        (
            "merge s1 s2 --experiment gone.toml --out x",
            "cannot read gone.toml",
        ),
        ("merge", "required arguments were not provided"),
    ] {
        let words = place.refused(line, 2);
        assert!(words.contains(says), "{line}: {words}");
    }
    assert!(!place.path("x").exists());
    // Comments are not part of the experiment.
    fs::write(place.path("same.toml"), format!("# as before\n{FILE}")).unwrap();
    place.done("merge s1 s2 --experiment same.toml --out x");
    assert!(place.path("x/experiment.toml").is_file());
}

#[test]
fn changed_runs_are_found_and_nothing_is_written() {
    let place = Place::new("changed");
    place.shards(2);
    let measure = "\"goodput_mbit_s\":";
    // These shards are complete, but were edited or damaged.
    for (name, from, to, says) in [
        (
            "edited",
            measure,
            "\"goodput_mbit_s\":1",
            "has changed since shard 2/2 was finished",
        ),
        ("torn", "\"measures\":", "\"meas", "line 2 is unreadable"),
    ] {
        place.copy("s2", name);
        place.edit(&format!("{name}/runs.jsonl"), from, to);
        let words = place.refused(&format!("merge s1 {name} --out x"), 2);
        assert!(
            words.contains(&format!("{name}/runs.jsonl")) && words.contains(says),
            "{words}"
        );
        let words = place.refused(&format!("run --resume {name}"), 2);
        assert!(words.contains("repeat the shard"), "{words}");
    }
    // An incomplete shard and a complete one have different results for the same run.
    fs::remove_file(place.path("edited/finished.json")).unwrap();
    let journal = fs::read_to_string(place.path("edited/runs.jsonl")).unwrap();
    fs::write(place.path("edited/runs.jsonl"), forged(&journal)).unwrap();
    let words = place.refused("merge s1 s2 edited --out x", 2);
    assert!(
        words.contains("goodput_mbit_s is ") && words.contains(" in edited"),
        "{words}"
    );
    assert!(
        words.contains("in s2") || words.contains("edited"),
        "{words}"
    );
    assert!(
        words.contains("seed 1") && words.contains("loss "),
        "{words}"
    );
    // The edited shard can be completed again on its own. Its shortest run is repeated, which reveals the difference.
    let again = place.done("run --resume edited");
    assert!(
        errors(&again).contains("differs from the journal"),
        "{}",
        errors(&again)
    );
    place.done("merge s1 edited --out x");
    place.done("merge s1 s2 --out y");
    assert!(files(&place.path("x")) == files(&place.path("y")));
}

#[test]
fn recorded_traces_are_relative_to_the_original_file() {
    let place = Place::new("traces");
    let lines = |step: u32| -> String { (1..2000).map(|n| format!("{}\n", n * step)).collect() };
    fs::write(place.path("a.down"), lines(3)).unwrap();
    let file = FILE.replace("rate = \"5Mbit/s\"", "trace = \"a.down\"");
    fs::write(place.path("parts.toml"), file).unwrap();
    place.done("run parts.toml --out whole");
    place.shards(2);
    let words = place.refused("merge s1 s2 --out all", 2);
    assert!(
        words.contains("name the original file with --experiment"),
        "{words}"
    );
    place.done("merge s1 s2 --experiment parts.toml --out all");
    assert!(files(&place.path("all")) == files(&place.path("whole")));
    // A file with the same name but another trace makes it another experiment.
    fs::write(place.path("a.down"), lines(4)).unwrap();
    let words = place.refused("merge s1 s2 --experiment parts.toml --out other", 2);
    assert!(words.contains("have recorded traces changed?"), "{words}");
}
