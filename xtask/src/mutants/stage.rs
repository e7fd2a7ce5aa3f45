//! The stages, and the run of cargo-mutants that tries mutants in one of them.
//!
//! A mutant costs what it takes to build the tests anew, so the first stage has only those of the mutated crate, and few
//! mutants are left for the last, whose tests need the most crates.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use dupack_build::output;
use serde::{Deserialize, Serialize};

use super::known::{Finding, Found, Known};
use super::mutant::{self, Mutant};
use super::progress::Bar;

/// Which crates are mutated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The endpoint, the recoveries and the congestion controls: what the page is about.
    Endpoint,
    /// The crates that make answers of runs and of captures.
    Answers,
    /// Those of them that diagnose captures.
    Diagnosis,
}

/// Sources of the crates that diagnose.
const DIAGNOSIS: [&str; 2] = [
    "crates/diagnosis/src/**/*.rs",
    "crates/diagnosis-tell/src/**/*.rs",
];

/// `true` for a mutant in `file` if one of `globs` stands for a folder with it.
fn is_in(file: &str, globs: &[&str]) -> bool {
    let mut folders = globs.iter().filter_map(|glob| glob.strip_suffix("**/*.rs"));
    folders.any(|folder| file.starts_with(folder))
}

impl Area {
    const fn files(self) -> &'static [&'static str] {
        match self {
            Self::Endpoint => &[
                "crates/tcp/src/**/*.rs",
                "crates/algorithms/src/recovery/**/*.rs",
                "crates/algorithms/src/congestion/**/*.rs",
            ],
            Self::Answers => &[
                "crates/diagnosis/src/**/*.rs",
                "crates/diagnosis-tell/src/**/*.rs",
                "crates/evaluation/src/**/*.rs",
                "crates/lab/src/**/*.rs",
                "crates/papers/src/**/*.rs",
                "crates/report/src/**/*.rs",
            ],
            Self::Diagnosis => &DIAGNOSIS,
        }
    }

    const fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Endpoint => &["dupack-tcp", "dupack-algorithms"],
            Self::Answers => &[
                "dupack-diagnosis",
                "dupack-diagnosis-tell",
                "dupack-evaluation",
                "dupack-lab",
                "dupack-papers",
                "dupack-report",
            ],
            Self::Diagnosis => &["dupack-diagnosis", "dupack-diagnosis-tell"],
        }
    }

    /// The smallest area with a mutant in `file`.
    fn of(file: &str) -> Self {
        let areas = [Self::Diagnosis, Self::Answers];
        let mut with = areas.into_iter().filter(|area| is_in(file, area.files()));
        with.next().unwrap_or(Self::Endpoint)
    }
}

/// Tools of tests, which are not mutated.
const NOT: [&str; 1] = ["crates/tcp/src/testing/**/*.rs"];

/// Tests that are run together. Trace hashes and ns-2's numbers are in none of them: those say that something changed,
/// not that it is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Those of the mutated crate, without those that take long.
    Own,
    /// All of the plug-ins.
    PlugIns,
    /// Conformance scripts, hostile networks, connections state by state.
    Whole,
    /// The integration tests of the crates that make answers, and of the command line.
    Integration,
    /// The integration tests of the crates that diagnose.
    Told,
}

impl Stage {
    pub const ALL: [Self; 5] = [
        Self::Own,
        Self::PlugIns,
        Self::Whole,
        Self::Integration,
        Self::Told,
    ];
    pub const FIRST: Self = Self::Own;

    /// What a mutant that passed this stage is tried with, if anything is left.
    pub fn next(self, mutant: &Mutant) -> Option<Self> {
        match self {
            Self::Own => Some(match Area::of(&mutant.file) {
                Area::Answers => Self::Integration,
                Area::Diagnosis => Self::Told,
                // No plug-in's test has a connection.
                Area::Endpoint if mutant.file.starts_with("crates/tcp/src/connection/") => {
                    Self::Whole
                }
                Area::Endpoint => Self::PlugIns,
            }),
            Self::PlugIns => Some(Self::Whole),
            Self::Whole | Self::Integration | Self::Told => None,
        }
    }

    /// `true` if no stage is left for a mutant that passed this one.
    pub const fn is_last(self) -> bool {
        matches!(self, Self::Whole | Self::Integration | Self::Told)
    }

    /// What the tests are told.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Own => &QUICK,
            Self::PlugIns => &WITHOUT_NS2,
            Self::Whole => &WHOLE,
            Self::Integration | Self::Told => &[],
        }
    }

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "quick tests of the crate",
            Self::PlugIns => "tests of the plug-ins",
            Self::Whole => "scripts, networks, states",
            Self::Integration => "integration tests",
            Self::Told => "integration tests of diagnoses",
        }
    }

    /// Whose tests. None: those of the mutated crate.
    const fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Own => &[],
            Self::PlugIns => &["dupack-algorithms"],
            Self::Whole => &[
                "dupack-algorithms",
                "dupack-net",
                "dupack-script",
                "dupack-wire",
            ],
            Self::Integration => &[
                "dupack-cli",
                "dupack-diagnosis",
                "dupack-diagnosis-tell",
                "dupack-evaluation",
                "dupack-lab",
                "dupack-papers",
                "dupack-report",
            ],
            Self::Told => Area::Diagnosis.packages(),
        }
    }

    /// What draws figures is no test's business, and takes long to build.
    const fn without_features(self) -> bool {
        matches!(self, Self::Whole)
    }

    /// Which of their tests.
    const fn tests(self) -> &'static [&'static str] {
        match self {
            Self::Own | Self::PlugIns => &["--lib"],
            Self::Whole => &["--test=it", "--test=clock"],
            Self::Integration | Self::Told => &["--test=it"],
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All were tried.
    All,
    /// It was time to stop.
    Stopped,
}

/// When a run is to stop.
pub struct Deadline {
    begin: Instant,
    limit: Duration,
}

impl Deadline {
    /// So long from now.
    pub fn after(limit: Duration) -> Self {
        Self {
            begin: now(),
            limit,
        }
    }

    fn has_passed(&self) -> bool {
        self.begin.elapsed() >= self.limit
    }
}

#[expect(clippy::disallowed_methods, reason = "chores take real time")]
fn now() -> Instant {
    Instant::now()
}

/// Leaves out the tests that hold a recovery against what ns-2's sent.
const WITHOUT_NS2: [&str; 2] = ["--", "--skip=ns2_sends"];
/// Leaves out what takes seconds, too: recoveries on random networks, every stack's transfer.
const QUICK: [&str; 5] = [
    "--",
    "--skip=ns2_sends",
    "--skip=survive",
    "--skip=agree_with",
    "--skip=tests::transfer",
];
/// Conformance scripts, hostile networks, connections state by state, among all integration tests.
const WHOLE: [&str; 9] = [
    "--",
    "--skip=ns2_sends",
    "replay::",
    "conformance::",
    "stacks::",
    "undo::",
    "states::",
    "hostile_peer::",
    "time_wait::",
];
/// How often the lists of what was found are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// No test is given up before so many seconds, as an idle machine may become a busy one.
const TEST_TIMEOUT_SECS_MIN: f64 = 60.0;
/// So many times longer than without a mutant tests may take.
const TEST_TIMEOUT_FACTOR: f64 = 5.0;
/// How much memory each program may ask for, in KiB: a mutant may ask for all there is.
const MEMORY_KIB_MAX: &str = "12582912";
/// How many of the 20,000 hostile networks a mutant meets.
const HOSTILE_CASES: &str = "4000";
/// What cargo-mutants answers with if all were caught, some were missed, and some did not end.
const FINE: [i32; 3] = [0, 2, 3];
/// The profile of all builds.
const PROFILE: &str = "mutants";

/// The lists that cargo-mutants writes as it goes.
const LISTS: [(&str, Found); 4] = [
    ("caught.txt", Found::Caught),
    ("timeout.txt", Found::TimedOut),
    ("missed.txt", Found::Missed),
    ("unviable.txt", Found::Unviable),
];

/// The list of what shall be left out. Told as caught before, as some kinds of mutants heed no pattern (27.1.0).
const LEFT_OUT: &str = "previously_caught.txt";

/// What cargo-mutants is told, as a file.
#[derive(Serialize)]
struct Config<'a> {
    examine_globs: &'a [&'a str],
    exclude_globs: [&'a str; 1],
    additional_cargo_args: &'a [&'a str],
    additional_cargo_test_args: &'a [&'a str],
    test_package: &'a [&'a str],
    no_default_features: bool,
    profile: &'a str,
}

/// What is being tried: for who finds the lists of a run that was ended.
#[derive(Deserialize, Serialize)]
struct Running {
    stage: Stage,
    /// By the name, what is kept.
    keys: HashMap<String, u64>,
}

/// Where mutants are tried.
pub struct Laboratory {
    area: Area,
    folder: PathBuf,
    /// Of all mutants that cargo-mutants finds.
    names: Vec<String>,
    /// What has been taken from the lists of the current run.
    taken: HashSet<String>,
    /// How many seconds tests may take, of the stages that were tried without a mutant.
    timeouts: HashMap<Stage, f64>,
}

impl Laboratory {
    pub fn new(area: Area, folder: &Path) -> Self {
        Self {
            area,
            folder: folder.to_owned(),
            names: Vec::new(),
            taken: HashSet::new(),
            timeouts: HashMap::new(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The copy of the sources.
    pub fn tree(&self) -> PathBuf {
        self.file("tree")
    }

    /// All mutants there are.
    ///
    /// # Errors
    /// If cargo-mutants cannot tell.
    pub fn list(&mut self) -> Result<Vec<Mutant>, String> {
        let config = self.config(Stage::FIRST)?;
        let mut command = self.cargo_mutants(&config);
        command.args(["--list", "--json"]);
        let (text, _) = output(&mut command)?;
        let mutants = mutant::read(&text, &self.tree())?;
        self.names = mutants.iter().map(|one| one.name.clone()).collect();
        match mutants.is_empty() {
            true => Err("cargo-mutants finds nothing to change".to_owned()),
            false => Ok(mutants),
        }
    }

    /// Tries `mutants` with the tests of `stage`, until the deadline.
    ///
    /// # Errors
    /// If cargo-mutants fails, if the tests fail without a mutant, or if something cannot be written.
    pub fn run(
        &mut self,
        stage: Stage,
        mutants: &[&Mutant],
        deadline: &Deadline,
        known: &mut Known,
        bar: &mut Bar,
    ) -> Result<Ended, String> {
        let timeout = self.without_a_mutant(stage)?;
        let keys = mutants.iter().map(|one| (one.name.clone(), one.key));
        let running = Running {
            stage,
            keys: keys.collect(),
        };
        let text = serde_json::to_string(&running).map_err(|e| e.to_string())?;
        self.write("running.json", &text)?;
        self.taken.clear();
        let mut child = self.start(stage, mutants, timeout)?;
        let mut stopped = false;
        let status = loop {
            let status = child
                .try_wait()
                .map_err(|e| format!("cargo-mutants is lost: {e}"))?;
            for finding in self.found(&running)? {
                bar.found(&finding);
                known.note(finding)?;
            }
            if let Some(status) = status {
                break status;
            }
            if !stopped && deadline.has_passed() {
                stopped = true;
                interrupt(&child)?;
            }
            sleep(LOOK_EVERY);
        };
        self.finished()?;
        let said = self.file("cargo-mutants.log");
        match status.code() {
            _ if stopped => Ok(Ended::Stopped),
            Some(code) if FINE.contains(&code) => Ok(Ended::All),
            _ => Err(format!(
                "cargo-mutants failed, {status}: {}",
                said.display()
            )),
        }
    }

    /// Takes over what a run found that was ended.
    ///
    /// # Errors
    /// If it cannot be read or kept.
    pub fn collect(&mut self, known: &mut Known) -> Result<(), String> {
        let Ok(text) = fs::read_to_string(self.file("running.json")) else {
            return Ok(());
        };
        // It may be cut off: then nothing had begun.
        if let Ok(running) = serde_json::from_str(&text) {
            for finding in self.found(&running)? {
                known.note(finding)?;
            }
        }
        self.finished()
    }

    /// Nothing is running any more.
    fn finished(&self) -> Result<(), String> {
        let path = self.file("running.json");
        fs::remove_file(&path).map_err(|e| format!("cannot remove {}: {e}", path.display()))
    }

    /// What the lists have that has not been taken.
    fn found(&mut self, running: &Running) -> Result<Vec<Finding>, String> {
        let mut findings = Vec::new();
        for (list, found) in LISTS {
            let path = self.file("mutants.out").join(list);
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(format!("cannot read {}: {e}", path.display())),
            };
            // What has no end yet is still being written.
            let lines = text.split_inclusive('\n');
            for name in lines.filter_map(|line| line.strip_suffix('\n')) {
                let Some(key) = running.keys.get(name) else {
                    continue;
                };
                if self.taken.insert(name.to_owned()) {
                    findings.push(Finding {
                        key: format!("{key:016x}"),
                        found,
                        stage: running.stage,
                        name: name.to_owned(),
                    });
                }
            }
        }
        Ok(findings)
    }

    /// Runs the tests of `stage` without a mutant, once: how many seconds they may take with one.
    fn without_a_mutant(&mut self, stage: Stage) -> Result<f64, String> {
        if let Some(&timeout) = self.timeouts.get(&stage) {
            return Ok(timeout);
        }
        let mut words = vec![
            "test".to_owned(),
            "--quiet".to_owned(),
            format!("--profile={PROFILE}"),
        ];
        let packages = match stage.packages() {
            [] => self.area.packages(),
            packages => packages,
        };
        words.extend(
            packages
                .iter()
                .map(|package| format!("--package={package}")),
        );
        if stage.without_features() {
            words.push("--no-default-features".to_owned());
        }
        words.extend(stage.tests().iter().map(|&test| test.to_owned()));
        let run = |more: &[String]| {
            let mut cargo = dupack_build::command(&[&words, more].concat());
            cargo.current_dir(self.tree());
            self.surround(&mut cargo);
            output(&mut cargo)
                .map_err(|e| format!("the {} fail without a mutant: {e}", stage.name()))
        };
        run(&["--no-run".to_owned()])?;
        let begin = now();
        let words = stage.words().iter().map(|&word| word.to_owned());
        run(&words.collect::<Vec<_>>())?;
        let taken = begin.elapsed().as_secs_f64();
        let timeout = (TEST_TIMEOUT_FACTOR * taken).max(TEST_TIMEOUT_SECS_MIN);
        self.timeouts.insert(stage, timeout);
        Ok(timeout)
    }

    fn start(&self, stage: Stage, mutants: &[&Mutant], timeout: f64) -> Result<Child, String> {
        self.leave_out_all_but(mutants)?;
        let config = self.config(stage)?;
        let log = self.file("cargo-mutants.log");
        let unwritten = |e| format!("cannot write {}: {e}", log.display());
        let said = File::create(&log).map_err(unwritten)?;
        let also = said.try_clone().map_err(unwritten)?;
        let mut command = self.cargo_mutants(&config);
        command.args(["--in-place", "--iterate", "--colors=never", "--output"]);
        command.arg(&self.folder);
        command.args(["--baseline=skip", &format!("--timeout={timeout:.0}")]);
        command.stdin(Stdio::null()).stdout(said).stderr(also);
        let child = command.spawn();
        child.map_err(|e| format!("cannot start cargo-mutants: {e}"))
    }

    /// Tells cargo-mutants what not to try. Lists of an earlier run are none of this one.
    fn leave_out_all_but(&self, mutants: &[&Mutant]) -> Result<(), String> {
        let out = self.file("mutants.out");
        if out.exists() {
            fs::remove_dir_all(&out)
                .map_err(|e| format!("cannot remove {}: {e}", out.display()))?;
        }
        fs::create_dir_all(&out).map_err(|e| format!("cannot make {}: {e}", out.display()))?;
        let wanted: HashSet<&str> = mutants.iter().map(|one| &*one.name).collect();
        let others = self.names.iter().filter(|name| !wanted.contains(&***name));
        let lines: String = others.flat_map(|name| [name, "\n"]).collect();
        self.write(&format!("mutants.out/{LEFT_OUT}"), &lines)?;
        Ok(())
    }

    /// Writes what cargo-mutants is told.
    fn config(&self, stage: Stage) -> Result<PathBuf, String> {
        let config = Config {
            examine_globs: self.area.files(),
            exclude_globs: NOT,
            additional_cargo_args: stage.tests(),
            additional_cargo_test_args: stage.words(),
            test_package: stage.packages(),
            no_default_features: stage.without_features(),
            profile: PROFILE,
        };
        let text = toml::to_string(&config).map_err(|e| e.to_string())?;
        self.write("config.toml", &text)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.file(name);
        fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok(path)
    }

    /// cargo-mutants on the copy, with a build of its own that is kept.
    fn cargo_mutants(&self, config: &Path) -> Command {
        let cargo = dupack_build::command(&["mutants"]);
        let mut command = match cfg!(unix) {
            true => {
                let mut limited = Command::new("sh");
                limited.args(["-c", "ulimit -v $0 && exec \"$@\"", MEMORY_KIB_MAX]);
                limited.arg(cargo.get_program()).args(cargo.get_args());
                limited
            }
            false => cargo,
        };
        command.arg("--dir").arg(self.tree());
        command.arg("--config").arg(config);
        for package in self.area.packages() {
            command.args(["--package", package]);
        }
        self.surround(&mut command);
        command
    }

    /// What programs on the copy find around them.
    fn surround(&self, command: &mut Command) {
        command.env("CARGO_TARGET_DIR", self.file("build"));
        command.env("DUPACK_HOSTILE_CASES", HOSTILE_CASES);
    }
}

/// Asks cargo-mutants to stop: it undoes the mutant, and ends what it started.
fn interrupt(child: &Child) -> Result<(), String> {
    let mut kill = Command::new("kill");
    output(kill.args(["-INT", &child.id().to_string()])).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::super::mutant::tests::mutant;
    use super::*;

    #[test]
    fn what_is_not_to_be_tried_counts_as_caught_before() {
        let folder = tempfile::tempdir().unwrap();
        let mutants = [1, 2, 3].map(|key| mutant("a.rs", key));
        let mut laboratory = Laboratory::new(Area::Endpoint, folder.path());
        laboratory.names = mutants.iter().map(|one| one.name.clone()).collect();
        laboratory.leave_out_all_but(&[&mutants[1]]).unwrap();
        let path = folder.path().join("mutants.out").join(LEFT_OUT);
        let lines = format!("{}\n{}\n", mutants[0].name, mutants[2].name);
        assert_eq!(fs::read_to_string(path).unwrap(), lines);
    }

    #[test]
    fn lists_are_taken_line_by_line_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("mutants.out");
        fs::create_dir_all(&out).unwrap();
        let (one, two) = (mutant("a.rs", 1), mutant("a.rs", 2));
        let running = Running {
            stage: Stage::Own,
            keys: HashMap::from([(one.name.clone(), 1), (two.name.clone(), 2)]),
        };
        let half = &two.name[..10];
        fs::write(out.join("caught.txt"), format!("{}\n{half}", one.name)).unwrap();
        let mut laboratory = Laboratory::new(Area::Endpoint, folder.path());
        let found = laboratory.found(&running).unwrap();
        assert_eq!(found, [Finding::of(&one, Found::Caught, Stage::Own)]);
        assert_eq!(laboratory.found(&running).unwrap(), []);
    }

    #[test]
    fn a_run_that_was_ended_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let one = mutant("a.rs", 1);
        let running = Running {
            stage: Stage::Whole,
            keys: HashMap::from([(one.name.clone(), 1)]),
        };
        let mut laboratory = Laboratory::new(Area::Endpoint, folder.path());
        let text = serde_json::to_string(&running).unwrap();
        laboratory.write("running.json", &text).unwrap();
        fs::create_dir_all(folder.path().join("mutants.out")).unwrap();
        laboratory
            .write("mutants.out/missed.txt", &format!("{}\n", one.name))
            .unwrap();
        let mut known = Known::open(folder.path()).unwrap();
        laboratory.collect(&mut known).unwrap();
        assert_eq!(known.verdict(&one), Some(Found::Missed));
        // And once only.
        laboratory.collect(&mut known).unwrap();
    }
}
