//! Locations, builds and versions of the simulators.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dupack_build::{output, release_example, root, rustc, target};

use crate::ns3;
use crate::optimise::Profile;

/// A simulator of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Simulator {
    Dupack,
    /// dupack, as built by `cargo measure optimise`.
    Optimised,
    Ns2,
    Ns3,
    Htsim,
}

impl Simulator {
    pub fn name(self) -> &'static str {
        match self {
            Self::Dupack => "dupack",
            Self::Optimised => "dupack (optimised)",
            Self::Ns2 => "ns-2",
            Self::Ns3 => "ns-3",
            Self::Htsim => "htsim",
        }
    }
}

/// Program that an entry runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// `crates/engine/benches/work.rs`.
    Work(Build),
    /// `crates/net/examples/counted.rs`, which runs any stack.
    Counted(Build),
    /// A script in `validation/peers/ns2`.
    Ns2(&'static str),
    /// A program in `validation/peers/ns3`, by its name without `.cc`.
    Ns3(&'static str),
    /// `validation/peers/htsim/dumbbell.cpp`.
    Htsim,
}

/// Build of dupack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Build {
    /// Built with `--release`.
    Release,
    /// Built by `cargo measure optimise`.
    Optimised,
}

/// The programs that are installed or built.
pub struct Tools {
    programs: BTreeMap<Program, PathBuf>,
    /// Commit from which dupack is built.
    pub commit: String,
    /// Name and version of each compiler and each simulator except dupack.
    pub versions: Vec<(String, String)>,
    htsim: Option<PathBuf>,
}

/// A program of ours: package, example, and its constructor.
type Ours = (&'static str, &'static str, fn(Build) -> Program);

const OURS: [Ours; 2] = [
    ("dupack-engine", "work", Program::Work),
    ("dupack-net", "counted", Program::Counted),
];

const NS2_WANTED: &str = "ns-2 is missing: apt-get install ns2, or add --without ns2. (What ns-3 needs: \
     apt-get install g++ pkg-config libns3-dev libgsl-dev)";

impl Tools {
    /// Finds and builds all programs. Installs nothing.
    ///
    /// # Errors
    /// If a program is missing, with the command that installs it.
    pub fn prepare(without: &[Simulator], htsim: Option<&Path>) -> Result<Self, String> {
        let ns2 = || Command::new("ns").arg("/dev/null").output();
        if !without.contains(&Simulator::Ns2) && ns2().is_err() {
            return Err(NS2_WANTED.to_owned());
        }
        let mut programs = BTreeMap::new();
        if !without.contains(&Simulator::Ns3) {
            for name in ["dumbbell", "wifi-chain"] {
                let program =
                    ns3::build(root(), name).map_err(|e| format!("{e}, or add --without ns3"))?;
                programs.insert(Program::Ns3(name), program);
            }
        }
        let htsim = htsim.map(built_htsim).transpose()?;
        if let Some(folder) = &htsim {
            programs.insert(Program::Htsim, build_htsim(folder)?);
        }
        for (package, name, program) in OURS {
            let path = release_example(package, name)?;
            programs.insert(program(Build::Release), path);
        }
        if !without.contains(&Simulator::Optimised) {
            let profile =
                Profile::take().map_err(|e| format!("{e}, or add --without optimised"))?;
            for (package, name, program) in OURS {
                let what = ["--package", package, "--example", name];
                let path = profile.build(&what, &format!("examples/{name}"))?;
                programs.insert(program(Build::Optimised), path);
            }
        }
        let mut tools = Self {
            programs,
            commit: said("git", &["describe", "--always", "--dirty"]).unwrap_or_else(unknown),
            versions: Vec::new(),
            htsim,
        };
        tools.versions = tools.find_versions(without)?;
        Ok(tools)
    }

    /// Returns `true` if `program` can be run.
    pub fn has(&self, program: Program) -> bool {
        matches!(program, Program::Ns2(_)) && self.has_version("ns-2")
            || self.programs.contains_key(&program)
    }

    /// Returns the program, and the words between the program and the arguments of an entry.
    pub fn words(&self, program: Program) -> Vec<PathBuf> {
        match (program, self.programs.get(&program)) {
            (_, Some(path)) => vec![path.clone()],
            (Program::Ns2(script), None) => {
                vec![
                    "ns".into(),
                    root().join("validation/peers/ns2").join(script),
                ]
            }
            (_, None) => Vec::new(),
        }
    }

    /// Returns a stack for each recovery of the catalog.
    ///
    /// # Errors
    /// If the program that lists the recoveries fails.
    pub fn stacks(&self) -> Result<Vec<String>, String> {
        let program = self.programs.get(&Program::Counted(Build::Release));
        let program = program.ok_or("`counted` has not been built")?;
        let (stacks, _) = output(Command::new(program).arg("stacks"))?;
        Ok(stacks.lines().map(str::to_owned).collect())
    }

    fn has_version(&self, name: &str) -> bool {
        self.versions.iter().any(|(simulator, _)| simulator == name)
    }

    fn find_versions(&self, without: &[Simulator]) -> Result<Vec<(String, String)>, String> {
        let mut versions = Vec::new();
        let mut add = |name: &str, version: String| versions.push((name.to_owned(), version));
        add("rustc", rustc(&["--version"])?);
        let package = |name| said("dpkg-query", &["--show", "--showformat=${Version}", name]);
        if !without.contains(&Simulator::Ns2) {
            let version = package("ns2").map(|v| format!("{v} (Debian's package ns2)"));
            add("ns-2", version.unwrap_or_else(unknown));
        }
        if !without.contains(&Simulator::Ns3) {
            let version = package("libns3-dev").map(|v| format!("{v} (Debian's libns3-dev)"));
            add("ns-3", version.unwrap_or_else(unknown));
            add("g++", said("g++", &["--version"])?);
        }
        if let Some(folder) = &self.htsim {
            let folder = folder.display().to_string();
            let commit = said("git", &["-C", &folder, "rev-parse", "HEAD"]);
            add(
                "htsim",
                format!("commit {}", commit.unwrap_or_else(unknown)),
            );
        }
        Ok(versions)
    }
}

/// Runs a program in the workspace, and returns the first line of its output.
fn said(program: &str, words: &[&str]) -> Result<String, String> {
    let (stdout, _) = output(Command::new(program).args(words).current_dir(root()))?;
    Ok(stdout.lines().next().unwrap_or_default().trim().to_owned())
}

fn unknown<E>(_: E) -> String {
    "unknown".to_owned()
}

/// Returns the folder with htsim's headers and library.
fn built_htsim(folder: &Path) -> Result<PathBuf, String> {
    let folders = [folder.join("sim"), folder.to_owned()];
    let built = folders.into_iter().find(|f| f.join("libhtsim.a").exists());
    built.ok_or_else(|| {
        format!(
            "{} does not contain libhtsim.a: `git clone https://github.com/Broadcom/csg-htsim`, \
             `make -C csg-htsim/sim libhtsim.a`, and point --htsim to csg-htsim",
            folder.display()
        )
    })
}

fn build_htsim(folder: &Path) -> Result<PathBuf, String> {
    let program = folder_for_programs()?.join("htsim-dumbbell");
    output(
        Command::new("g++")
            .args(["-std=c++11", "-O3", "-w", "-I"])
            .arg(folder)
            .arg("-o")
            .arg(&program)
            .arg(root().join("validation/peers/htsim/dumbbell.cpp"))
            .arg(folder.join("libhtsim.a")),
    )?;
    Ok(program)
}

/// Returns the folder for programs and samples.
pub fn folder_for_programs() -> Result<PathBuf, String> {
    let folder = target().join("peers");
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    Ok(folder)
}
