//! The test programs: built by cargo, then run by this program, which need not wait for cargo's lock.
//!
//! Most use the processor and nothing else. Those that use the wall clock are named `clock`, or make network namespaces
//! (`path`, `interop`); they run when all else has ended, two at a time: they wait for four fifths of their time.

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

/// A program of the first tier that takes longer hangs: the longest takes half a minute on an idle machine.
const TIME_MAX: Duration = Duration::from_secs(600);

/// How often a program is asked whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The names of the programs that use the wall clock.
const CLOCK: [&str; 3] = ["clock", "interop", "path"];

/// A test program.
#[derive(Debug)]
pub struct Program {
    /// The crate's name and the target's, such as `dupack-net it`.
    name: String,
    path: PathBuf,
    /// The crate's folder, in which cargo would start it.
    folder: PathBuf,
    pub uses_the_clock: bool,
}

/// What cargo says of a thing that it has built, as far as it is needed here.
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

/// Has cargo build test programs with `words`, and says which there are.
///
/// # Errors
/// If they do not compile.
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

/// The test program that a line of cargo's tells of, if it tells of one.
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

/// The name in a package's identifier, such as `path+file:///dupack/crates/tcp#dupack-tcp@0.1.0`.
fn package_in(id: &str) -> Option<String> {
    let (path, rest) = id.rsplit_once('#')?;
    // A package that has its folder's name is called by its version alone.
    let name = match rest.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next()?,
    };
    Some(name.to_owned())
}

/// How tests went.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    pub passed: u64,
    pub failed: u64,
    pub ignored: u64,
    /// What was skipped, as the tests say it themselves.
    pub skipped: Vec<String>,
}

/// Runs programs, so many at a time, each with as many threads as there are processors. All are run, whether or not one fails.
///
/// # Errors
/// If a test fails, or a program cannot be started or does not end: which.
pub fn run(programs: &[&Program], at_once: usize, tier: Tier) -> Result<Outcome, String> {
    let libraries = libraries()?;
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Done::default());
    let work = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begin = now();
            let mut command = program.command(tier);
            // Tests of macros are linked with the compiler's own libraries.
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

/// The programs that have ended.
#[derive(Default)]
struct Done {
    count: usize,
    all: Outcome,
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
                (Outcome::default(), "FAILED")
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

impl Outcome {
    /// Adds how others went.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.skipped.extend(other.skipped);
    }

    /// What the tests of a program say at their end, and which were skipped.
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
    outcome: Outcome,
    succeeded: bool,
    /// Its output.
    said: String,
}

/// Runs a program. One that does not end within [`TIME_MAX`] is ended, with all that it started.
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
    let outcome = Outcome::read(&stdout, &stderr);
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

/// Ends a program and all that is in its group.
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
    fn programs_are_read_from_what_cargo_says() {
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
    fn a_package_that_is_called_like_its_folder_is_found() {
        let id = "path+file:///d/xtask#0.1.0";
        assert_eq!(package_in(id).as_deref(), Some("xtask"));
    }

    #[test]
    fn results_are_summed_up() {
        let stdout = "running 3 tests\n\
                      test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 1 filtered out; finished in 0.5s\n";
        let outcome = Outcome::read(stdout, "x\n*** SKIPPED: no tshark\n");
        let expected = Outcome {
            passed: 12,
            failed: 0,
            ignored: 3,
            skipped: vec!["no tshark".to_owned()],
        };
        assert_eq!(outcome, expected);
        let failed = "test result: FAILED. 1 passed; 2 failed; 0 ignored\n";
        assert_eq!(Outcome::read(failed, "").failed, 2);
    }
}
