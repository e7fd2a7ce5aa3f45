//! The test programs: built by cargo, then run by this program, which need not wait for cargo's lock.
//!
//! Most use the processor and nothing else. Those that use the wall clock are named `clock`, or make network namespaces
//! (`path`, `interop`); they run alone, one after the other, with nothing beside them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use dupack_build::{command, rustc};
use serde::Deserialize;

use super::steps::now;
use super::{MARK, RELEASE, Tier, VOLUME};

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

/// Runs programs one after the other, each with as many threads as there are processors. All are run, whether or not one
/// fails.
///
/// # Errors
/// If a test fails or a program cannot be started: which.
pub fn run(programs: &[&Program], tier: Tier) -> Result<Outcome, String> {
    let mut all = Outcome::default();
    let mut failed = Vec::new();
    let libraries = libraries()?;
    for (number, program) in (1..).zip(programs) {
        let begin = now();
        let mut command = program.command(tier);
        // Tests of macros are linked with the compiler's own libraries.
        command.env("LD_LIBRARY_PATH", &libraries);
        let (outcome, succeeded, said) = run_one(&mut command)?;
        if !succeeded {
            eprintln!("{said}");
            failed.push(program.name.clone());
        }
        let verdict = if succeeded { "ok" } else { "FAILED" };
        eprintln!(
            "[{number}/{}] {:40} {verdict}: {} passed, {} failed, {} ignored, {:.1} s",
            programs.len(),
            program.name,
            outcome.passed,
            outcome.failed,
            outcome.ignored,
            begin.elapsed().as_secs_f64()
        );
        for told in &outcome.skipped {
            eprintln!("{MARK} {told}");
        }
        all.add(outcome);
    }
    match failed.is_empty() {
        true => Ok(all),
        false => Err(format!("tests failed: {}", failed.join(", "))),
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

/// Runs a program; whether it succeeded, and all that it said.
fn run_one(command: &mut Command) -> Result<(Outcome, bool, String), String> {
    let output = command.output().map_err(|e| {
        let program = command.get_program().display();
        format!("cannot start {program}: {e}")
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let outcome = Outcome::read(&stdout, &stderr);
    let said = format!("{stdout}{stderr}");
    Ok((outcome, output.status.success(), said))
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
