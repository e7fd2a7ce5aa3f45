//! Runs the commands of README.md and python/README.md as a reader runs them: in a copy of the repository, with no
//! program of ours in `PATH`. `xtask/readme.toml` lists the commands that take too long for every run of the tests, and
//! the files that the pages name.

mod blocks;

use std::fs;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};

use dupack_build::{output, root, target};
use serde::Deserialize;

use crate::test::Tier;
use crate::test::steps::processor_time;
use blocks::Command;

const PAGES: [&str; 2] = ["README.md", "python/README.md"];
const LIST: &str = "xtask/readme.toml";
/// Maximum processor time, in seconds, of a command that runs in every run of the tests.
const PROCESSOR_S_MAX: f64 = 20.0;
/// Name of the program in README. Except before a release, it is replaced by the program that was built for the tests.
const AS_WRITTEN: &str = "cargo run --release --";

/// The contents of `xtask/readme.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    file: Vec<Fixture>,
    before: Vec<Before>,
    command: Vec<Exception>,
}

/// A file that a reader of a page is assumed to have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    name: String,
    text: Option<String>,
    /// Command that creates the file.
    made_by: Option<String>,
    from: Option<String>,
}

/// A command that must run before another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    begins: String,
    command: String,
}

/// Commands that run only before a release, or never.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    begins: String,
    run: Run,
    #[serde(default)]
    why: String,
}

/// Tier in which a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Run {
    Release,
    Never,
}

impl List {
    fn read() -> Result<Self, String> {
        let path = root().join(LIST);
        let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {LIST}: {e}"))?;
        toml::from_str(&text).map_err(|e| format!("{LIST}: {e}"))
    }

    fn exception(&self, command: &Command) -> Option<&Exception> {
        let is = |one: &&Exception| command.text.starts_with(&one.begins);
        self.command.iter().find(is)
    }

    /// Returns `true` if a command runs in this tier.
    fn is_due(&self, command: &Command, tier: Tier) -> bool {
        match self.exception(command).map(|one| one.run) {
            None => true,
            Some(Run::Release) => tier == Tier::Release,
            Some(Run::Never) => false,
        }
    }

    /// Returns messages about errors in the list: entries that match no command, and missing reasons.
    fn complaints(&self, commands: &[(&str, Command)]) -> Vec<String> {
        let begins = |begin: &str| commands.iter().any(|(_, one)| one.text.starts_with(begin));
        let mut complaints = Vec::new();
        for one in &self.command {
            if !begins(&one.begins) {
                complaints.push(format!(
                    "no page has a command beginning with `{}`",
                    one.begins
                ));
            }
            if one.run == Run::Never && one.why.is_empty() {
                complaints.push(format!("`{}` never runs, and has no `why`", one.begins));
            }
        }
        for one in &self.before {
            if !begins(&one.begins) {
                complaints.push(format!(
                    "no page has a command beginning with `{}`",
                    one.begins
                ));
            }
        }
        let text = |name: &str| commands.iter().any(|(_, one)| one.text.contains(name));
        let unused = self.file.iter().filter(|file| !text(&file.name));
        complaints.extend(unused.map(|file| format!("no page mentions the file {}", file.name)));
        complaints
    }
}

/// Runs the commands of the pages, and compares their output with the output that the pages show. Before a release,
/// returns the commands that do not run, with the reasons.
///
/// # Errors
/// If a command fails, takes too long, or prints different output; if the list does not match the pages.
pub fn check(tier: Tier) -> Result<Vec<String>, String> {
    let list = List::read()?;
    let commands = commands()?;
    let complaints = list.complaints(&commands);
    if !complaints.is_empty() {
        return Err(format!("{LIST}: {}", complaints.join("; ")));
    }
    let place = Place::make(tier)?;
    let mut left_out = Vec::new();
    for page in PAGES {
        let mut shell = Shell::new(&place, tier);
        for (of, command) in commands.iter().filter(|(of, _)| *of == page) {
            let at = format!("{of}:{}: `{}`", command.line, command.text);
            if shell.keeps(&command.text) {
                continue;
            }
            if list.is_due(command, tier) {
                shell.provide(&list, command)?;
                shell.run(command, &at)?;
            } else if let Some(one) = list.exception(command).filter(|_| tier == Tier::Release) {
                left_out.push(format!("{at} is skipped: {}", one.why));
            }
        }
    }
    Ok(left_out)
}

/// Returns the commands of all pages.
fn commands() -> Result<Vec<(&'static str, Command)>, String> {
    let mut all = Vec::new();
    for page in PAGES {
        let text = fs::read_to_string(root().join(page)).map_err(|e| format!("{page}: {e}"))?;
        all.extend(
            blocks::commands(&text)
                .into_iter()
                .map(|command| (page, command)),
        );
    }
    Ok(all)
}

/// The copy of the repository in which the commands run.
struct Place(PathBuf);

impl Place {
    /// Creates the copy: before a release a fresh clone, without uncommitted files, and otherwise a copy of the files
    /// that the commands may read.
    fn make(tier: Tier) -> Result<Self, String> {
        let folder = target().join("readme");
        let failed = |e| format!("cannot make {}: {e}", folder.display());
        match fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        let (from, to) = (root().display().to_string(), folder.display().to_string());
        match tier {
            Tier::Release => output(Process::new("git").args(["clone", "--quiet", &from, &to]))?,
            Tier::Change => output(Process::new("cp").args([
                "-r",
                &format!("{from}/examples"),
                &format!("{to}/examples"),
            ]))?,
        };
        Ok(Self(folder))
    }
}

/// The shell of a reader. The shell runs commands one by one, and remembers the commands that set it up.
struct Shell<'p> {
    place: &'p Place,
    tier: Tier,
    kept: Vec<String>,
    provided: Vec<String>,
}

impl<'p> Shell<'p> {
    fn new(place: &'p Place, tier: Tier) -> Self {
        Self {
            place,
            tier,
            // README uses this name before it defines it.
            kept: vec![format!("alias dupack='{AS_WRITTEN}'")],
            provided: Vec::new(),
        }
    }

    /// Remembers a command that only sets up the shell, for all later commands. Returns `true` for such a command.
    fn keeps(&mut self, text: &str) -> bool {
        let keeps = text.starts_with("alias ");
        if keeps {
            self.kept.push(text.to_owned());
        }
        keeps
    }

    /// Creates the files that a command names, and runs the commands that must run before it.
    fn provide(&mut self, list: &List, command: &Command) -> Result<(), String> {
        for file in &list.file {
            if !command.text.contains(&file.name) || self.provided.contains(&file.name) {
                continue;
            }
            let to = self.place.0.join(&file.name);
            let failed = |e| format!("cannot make {}: {e}", to.display());
            if let Some(by) = &file.made_by {
                self.succeed(by, &format!("{LIST}: `{by}`"))?;
            }
            match (&file.text, &file.from) {
                (Some(text), _) => fs::write(&to, text).map_err(failed)?,
                (None, Some(from)) => fs::copy(self.place.0.join(from), &to)
                    .map(drop)
                    .map_err(failed)?,
                (None, None) => {
                    return Err(format!("{LIST}: {} has no contents", file.name));
                }
            }
            self.provided.push(file.name.clone());
        }
        for before in &list.before {
            if command.text.starts_with(&before.begins) {
                self.succeed(&before.command, &format!("{LIST}: `{}`", before.command))?;
            }
        }
        Ok(())
    }

    /// Runs a command of a page. If it activates a virtual environment, later commands use this environment, too.
    fn run(&mut self, command: &Command, at: &str) -> Result<(), String> {
        let before = processor_time();
        let said = self.succeed(&command.text, at)?;
        let took_s = (processor_time() - before).as_secs_f64();
        eprintln!("{at}: {took_s:.1} s of processor time");
        if self.tier == Tier::Change && took_s > PROCESSOR_S_MAX {
            return Err(format!(
                "{at} took {took_s:.0} s of processor time, more than {PROCESSOR_S_MAX:.0}: give it an entry with `run = \
                 \"release\"` in {LIST}"
            ));
        }
        if let Some((_, activation)) = command.text.split_once("&& . ") {
            self.kept.push(format!(". {activation}"));
        }
        let Some(shown) = &command.shown else {
            return Ok(());
        };
        match blocks::first_missing(shown, &said) {
            None => Ok(()),
            Some(line) => Err(format!(
                "{at} does not print `{line}`, which the page shows:\n{said}"
            )),
        }
    }

    /// Runs a command and returns its standard output.
    fn succeed(&self, text: &str, at: &str) -> Result<String, String> {
        let mut script = "shopt -s expand_aliases\nset -euo pipefail\n".to_owned();
        for line in self.kept.iter().map(String::as_str).chain([text]) {
            script += &self.as_run(line);
            script += "\n";
        }
        let mut bash = Process::new("bash");
        bash.arg("-c")
            .arg(script)
            .current_dir(&self.place.0)
            .stdin(Stdio::null());
        // These variables are removed because a reader's environment does not have them.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["CARGO", "RUST", "DUPACK_"]
                .iter()
                .any(|begin| name.starts_with(begin))
                && !["CARGO_HOME", "RUSTUP_HOME"].contains(&name.as_str())
            {
                bash.env_remove(name);
            }
        }
        let output = bash
            .output()
            .map_err(|e| format!("cannot start bash: {e}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => {
                let said = text(&output.stdout) + &text(&output.stderr);
                Err(format!("{at} failed, {}:\n{said}", output.status))
            }
        }
    }

    /// Returns the line that is run: before a release the line of the page, and otherwise a line with the program that
    /// was built for the tests.
    fn as_run(&self, line: &str) -> String {
        match self.tier {
            Tier::Release => line.to_owned(),
            Tier::Change => {
                let built = target().join("debug/dupack").display().to_string();
                line.replace(AS_WRITTEN, &built)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_matches_the_pages() {
        let complaints = List::read().unwrap().complaints(&commands().unwrap());
        assert!(complaints.is_empty(), "{complaints:?}");
    }

    #[test]
    fn commands_are_read_from_both_pages() {
        let commands = commands().unwrap();
        for page in PAGES {
            assert!(commands.iter().any(|(of, _)| *of == page), "{page}");
        }
        let diagnose = commands
            .iter()
            .find(|(_, one)| one.text == "dupack diagnose slow.pcap");
        let (_, diagnose) = diagnose.expect("README has it");
        assert!(diagnose.shown.is_some(), "and shows what it prints");
        assert!(commands.iter().all(|(_, one)| !one.text.ends_with('\\')));
    }

    #[test]
    fn an_entry_without_a_command_is_reported() {
        let text =
            "file = []\nbefore = []\n[[command]]\nbegins = \"dupack nothing\"\nrun = \"never\"\n";
        let list: List = toml::from_str(text).unwrap();
        assert_eq!(list.complaints(&commands().unwrap()).len(), 2);
    }
}
