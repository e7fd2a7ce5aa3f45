//! Test programs. Cargo builds them, and this program runs them, so that they do not wait for cargo's lock.
//!
//! Most programs only use the processor. Programs that use the wall clock are named `clock`, or create network
//! namespaces (`path`, `interop`). These programs run at the end, two at a time, because each of them only waits for
//! four fifths of its time.

use std::io::{self, BufRead, BufReader, Read};
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dupack_build::{command, rustc};
use serde::Deserialize;

use super::steps::now;
use super::{MARK, RELEASE, Tier, VOLUME};

/// Maximum duration of a program of the first tier. The slowest program takes half a minute on an idle machine; a
/// program that takes longer than this maximum hangs.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Interval between two checks of a running program.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Names of the programs that use the wall clock.
const CLOCK: [&str; 3] = ["clock", "interop", "path"];

/// A test program.
#[derive(Debug)]
pub struct Program {
    /// Name of the crate and of the target, such as `dupack-net it`.
    name: String,
    path: PathBuf,
    /// Folder of the crate. Like cargo, we start the program in this folder.
    folder: PathBuf,
    pub uses_the_clock: bool,
}

/// The part of cargo's message about a compiled target that is needed here.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    package_id: Option<String>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds test programs with the cargo arguments `words`, and returns the programs.
///
/// # Errors
/// If the programs do not compile.
pub fn build(words: &[&str]) -> Result<Vec<Program>, String> {
    let mut cargo = command(words);
    cargo.arg("--message-format=json-render-diagnostics");
    let words = words.join(" ");
    eprintln!("$ cargo {words}");
    let failed = |e| format!("cannot run `cargo {words}`: {e}");
    let mut child = cargo.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut programs = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            programs.extend(program_in(&line.map_err(failed)?));
        }
    }
    if !child.wait().map_err(failed)?.success() {
        return Err(format!("`cargo {words}` failed"));
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// Returns the test program that a line of cargo's output describes.
fn program_in(line: &str) -> Option<Program> {
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    if artifact.reason != "compiler-artifact" || !artifact.profile?.test {
        return None;
    }
    let (target, manifest) = (artifact.target?, artifact.manifest_path?);
    let package = package_in(&artifact.package_id?)?;
    let is_library = target.kind.iter().any(|kind| kind.ends_with("lib"));
    let of = match is_library || target.kind.iter().any(|kind| kind == "proc-macro") {
        true => "unit tests".to_owned(),
        false => target.name.clone(),
    };
    Some(Program {
        name: format!("{package} {of}"),
        path: artifact.executable?,
        folder: manifest.parent()?.to_owned(),
        uses_the_clock: CLOCK.contains(&target.name.as_str()),
    })
}

/// Returns the name of a package from its identifier, such as `path+file:///dupack/crates/tcp#dupack-tcp@0.1.0`.
fn package_in(id: &str) -> Option<String> {
    let (path, rest) = id.rsplit_once('#')?;
    // If a package has the same name as its folder, the identifier contains only the version.
    let name = match rest.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next()?,
    };
    Some(name.to_owned())
}

/// Results of tests.
#[derive(Debug, Default, PartialEq)]
pub struct TestCounts {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
    /// Skipped tests, in the words of the tests.
    pub skipped: Vec<String>,
}

/// Runs all programs, `at_once` at a time. Each program has as many threads as there are processors. If one program
/// fails, the others still run.
///
/// # Errors
/// If a test fails, or if a program cannot be started or does not end.
pub fn run(programs: &[&Program], at_once: usize, tier: Tier) -> Result<TestCounts, String> {
    let libraries = libraries()?;
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Done::default());
    let work = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = now();
            let mut command = program.command(tier);
            // Tests of macros are linked dynamically with the libraries of the compiler.
            command.env("LD_LIBRARY_PATH", &libraries);
            let ran = run_one(&mut command, tier);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.add(program, ran, begin.elapsed(), programs.len());
        }
    };
    thread::scope(|scope| {
        for _ in 1..at_once {
            scope.spawn(work);
        }
        work();
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    match done.failed.is_empty() {
        true => Ok(done.all),
        false => Err(format!("tests failed: {}", done.failed.join(", "))),
    }
}

/// Results of the programs that have ended.
#[derive(Default)]
struct Done {
    count: usize,
    all: TestCounts,
    failed: Vec<String>,
}

impl Done {
    fn add(&mut self, program: &Program, ran: Result<Ran, String>, took: Duration, of: usize) {
        self.count += 1;
        let (outcome, verdict) = match ran {
            Ok(ran) if ran.succeeded => (ran.outcome, "ok"),
            Ok(ran) => {
                eprintln!("{}", ran.said);
                (ran.outcome, "FAILED")
            }
            Err(why) => {
                eprintln!("{why}");
                (TestCounts::default(), "FAILED")
            }
        };
        if verdict != "ok" {
            self.failed.push(program.name.clone());
        }
        eprintln!(
            "[{}/{of}] {:40} {verdict}: {} passed, {} failed, {} ignored, {:.1} s",
            self.count,
            program.name,
            outcome.passed,
            outcome.failed,
            outcome.ignored,
            took.as_secs_f64()
        );
        for told in &outcome.skipped {
            eprintln!("{MARK} {told}");
        }
        self.all.add(outcome);
    }
}

impl TestCounts {
    /// Adds the results of other programs.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.skipped.extend(other.skipped);
    }

    /// Reads the results and the skipped tests from the output of a program.
    fn read(stdout: &str, stderr: &str) -> Self {
        let mut outcome = Self {
            skipped: stderr.lines().filter_map(super::skip_in).collect(),
            ..Self::default()
        };
        let ends = stdout
            .lines()
            .filter(|line| line.starts_with("test result: "));
        for part in ends.flat_map(|line| line.split(['.', ';'])) {
            let mut words = part.split_whitespace();
            let (Some(Ok(count)), Some(what)) = (words.next().map(str::parse::<u64>), words.next())
            else {
                continue;
            };
            match what {
                "passed" => outcome.passed += count,
                "failed" => outcome.failed += count,
                "ignored" => outcome.ignored += count,
                _ => {}
            }
        }
        outcome
    }
}

impl Program {
    fn command(&self, tier: Tier) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder);
        if tier == Tier::Release {
            command.arg("--include-ignored").env(VOLUME, RELEASE);
        }
        command
    }
}

/// A program that has ended.
struct Ran {
    outcome: TestCounts,
    succeeded: bool,
    /// Standard output and standard error of the program.
    said: String,
}

/// Runs a program. A program that does not end within [`TIME_MAX`] is killed with all its children.
fn run_one(command: &mut Command, tier: Tier) -> Result<Ran, String> {
    let name = command.get_program().display().to_string();
    let failed = |e: io::Error| format!("cannot run {name}: {e}");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(failed)?;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ended: Result<_, String> = thread::scope(|scope| {
        scope.spawn(|| out.map(|mut out| out.read_to_end(&mut stdout)));
        scope.spawn(|| err.map(|mut err| err.read_to_end(&mut stderr)));
        let begin = now();
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok(Some(status));
            }
            if tier == Tier::Change && begin.elapsed() > TIME_MAX {
                end(&mut child);
                return Ok(None);
            }
            thread::sleep(LOOK_EVERY);
        }
    });
    let ended = ended?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&stdout), text(&stderr));
    let outcome = TestCounts::read(&stdout, &stderr);
    let mut said = format!("{stdout}{stderr}");
    if ended.is_none() {
        said += &format!("{name} did not end within {} s", TIME_MAX.as_secs());
    }
    Ok(Ran {
        outcome,
        succeeded: ended.is_some_and(|status| status.success()),
        said,
    })
}

/// Kills a program and its process group.
fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = child.kill();
    let _ = child.wait();
}

fn libraries() -> Result<String, String> {
    rustc(&["--print", "target-libdir"])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn programs_are_read_from_the_messages_of_cargo() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///d/crates/wire#dupack-wire@0.1.0",
            "manifest_path":"/d/crates/wire/Cargo.toml","target":{"kind":["test"],"name":"clock"},
            "profile":{"test":true},"executable":"/d/target/debug/deps/clock-1"}"#;
        let program = program_in(line).expect("it is a program");
        assert_eq!(program.name, "dupack-wire clock");
        assert_eq!(program.folder, Path::new("/d/crates/wire"));
        assert!(program.uses_the_clock);
        let library = line
            .replace("[\"test\"]", "[\"lib\"]")
            .replace("clock", "dupack_wire");
        let library = program_in(&library).expect("it is a program");
        assert_eq!(library.name, "dupack-wire unit tests");
        assert!(!library.uses_the_clock);
        let built = line.replace("\"test\":true", "\"test\":false");
        assert!(program_in(&built).is_none());
        assert!(program_in("{\"reason\":\"build-finished\",\"success\":true}").is_none());
    }

    #[test]
    fn a_package_named_like_its_folder_is_found() {
        let id = "path+file:///d/xtask#0.1.0";
        assert_eq!(package_in(id).as_deref(), Some("xtask"));
    }

    #[test]
    fn results_are_added_up() {
        let stdout = "running 3 tests\n\
                      test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 1 filtered out; finished in 0.5s\n";
        let outcome = TestCounts::read(stdout, "x\n*** SKIPPED: no tshark\n");
        let expected = TestCounts {
            passed: 12,
            failed: 0,
            ignored: 3,
            skipped: vec!["no tshark".to_owned()],
        };
        assert_eq!(outcome, expected);
        let failed = "test result: FAILED. 1 passed; 2 failed; 0 ignored\n";
        assert_eq!(TestCounts::read(failed, "").failed, 2);
    }
}
