//! `cargo measure wire-speed`: measures the throughput over a TUN device to and from this machine's kernel. Our
//! endpoint, smoltcp and a second kernel are measured in turn. The command writes a page about the results.

mod runs;
mod wire_speed_page;

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Args;
use dupack_build::{output, release_example, root, rustc, target};

use crate::peers::machine::Machine;
use crate::peers::sample::value_of;
use runs::{RUNS, Run};
use wire_speed_page::Page;

/// Arguments of the command.
#[derive(Args)]
pub struct WireSpeedArgs {
    /// Number of rounds. In each round, every program runs once. A round takes about 45 s.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure one round of short runs. The page is written to the target directory instead of docs.
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
}

const PAGE: &str = "docs/wire-speed.md";

/// Measured duration of a run, in seconds.
const SECONDS: &str = "3";
const SECONDS_QUICK: &str = "1";

/// Maximum duration of a run in seconds. A longer run counts as hung.
const SECONDS_MAX: &str = "30";

/// Results of one run.
pub struct Sample {
    pub run: Run,
    pub bytes: f64,
    pub seconds: f64,
    /// Processor time of the thread of the endpoint or the relay, in seconds.
    pub endpoint_s: f64,
    /// Processor time of the program on the kernel's side, in seconds.
    pub program_s: f64,
}

impl Sample {
    pub fn gbits(&self) -> f64 {
        self.bytes * 8.0 / self.seconds / 1e9
    }
}

pub fn run(args: &WireSpeedArgs) -> Result<(), String> {
    let machine = Machine::here();
    if let Some(warning) = machine.warning() {
        eprintln!("warning: {warning}");
    }
    let program = release_example("dupack-wire", "wire_speed")?;
    let (rounds, seconds) = match args.quick {
        true => (1, SECONDS_QUICK),
        false => (args.rounds, SECONDS),
    };
    let mut samples = Vec::new();
    for round in 1..=rounds {
        for run in RUNS {
            eprint!("round {round} of {rounds}: {} …", run.words().join(" "));
            let sample = measure(&program, run, seconds)?;
            eprintln!(" {:.2} Gbit/s", sample.gbits());
            samples.push(sample);
        }
    }
    let page = Page {
        samples: &samples,
        machine: &machine,
        versions: &versions()?,
        seconds,
        command: &command_line(),
    };
    let out = match args.quick {
        true => target().join("wire-speed.md"),
        false => root().join(PAGE),
    };
    fs::write(&out, page.text()).map_err(|e| format!("cannot write {}: {e}", out.display()))?;
    eprintln!("written to {}", out.display());
    Ok(())
}

fn measure(program: &Path, run: Run, seconds: &str) -> Result<Sample, String> {
    let mut command = Command::new("timeout");
    command
        .arg(SECONDS_MAX)
        .arg(program)
        .args(run.words())
        .args(["--seconds", seconds]);
    let (line, _) = output(&mut command)?;
    let number = |key| {
        let value = value_of::<f64>(&line, key);
        value.ok_or_else(|| format!("no {key} in `{}`", line.trim()))
    };
    Ok(Sample {
        run,
        bytes: number("bytes")?,
        seconds: number("seconds")?,
        endpoint_s: number("carrier_s")?,
        program_s: number("kernel_s")?,
    })
}

/// Returns the names and versions of the measured programs.
fn versions() -> Result<Vec<(&'static str, String)>, String> {
    let commit = output(
        Command::new("git")
            .args(["describe", "--always", "--dirty"])
            .current_dir(root()),
    );
    let commit = commit.map_or("unknown".to_owned(), |(out, _)| out.trim().to_owned());
    Ok(vec![
        ("dupack", format!("commit {commit}")),
        ("smoltcp", locked_version("smoltcp")?),
        ("rustc", rustc(&["--version"])?),
    ])
}

/// Returns the version of a package in the workspace's lock file.
fn locked_version(package: &str) -> Result<String, String> {
    let path = root().join("Cargo.lock");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    version_in(&text, package).ok_or_else(|| format!("no {package} in {}", path.display()))
}

fn version_in(lock: &str, package: &str) -> Option<String> {
    let lock: toml::Table = lock.parse().ok()?;
    let packages = lock.get("package")?.as_array()?;
    let of = |entry: &&toml::Value| entry.get("name").and_then(|n| n.as_str()) == Some(package);
    let version = packages.iter().find(of)?.get("version")?.as_str()?;
    Some(version.to_owned())
}

fn command_line() -> String {
    let words: Vec<_> = std::env::args().skip(1).collect();
    format!("cargo measure {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_the_lock_file() {
        let lock = "version = 4\n[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\
                    [[package]]\nname = \"b\"\nversion = \"0.1.0\"\n";
        assert_eq!(version_in(lock, "b").as_deref(), Some("0.1.0"));
        assert_eq!(version_in(lock, "c"), None);
    }
}
