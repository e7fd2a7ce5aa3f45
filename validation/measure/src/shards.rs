//! `cargo measure shards`: measures how evenly the shards of an experiment are balanced.
//!
//! `dupack run --shard` splits the runs by an estimate of their cost, not by measured times. This command runs the
//! shards of dissimilar experiments one by one and compares their processor times.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use dupack_build::{output, release, root, succeed, target};

use crate::part::put;

#[derive(Args)]
pub struct ShardsArgs {
    /// Number of shards
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=1000))]
    of: u32,
    /// A build of dupack to use instead of a new release build; the balance hardly depends on the build
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Experiment files
    #[arg(default_values_t = EXPERIMENTS.map(str::to_owned))]
    files: Vec<String>,
}

/// Experiments whose runs differ in cost: losses that only some stacks tolerate, 802.11 over an increasing number of
/// hops, short flows that start and end, and a link that is closed for most of the time.
const EXPERIMENTS: [&str; 4] = [
    "examples/burst-losses.toml",
    "examples/radio-chain.toml",
    "examples/web-flows.toml",
    "examples/duty-cycle.toml",
];

/// Maximum accepted relative excess of the longest shard over the mean.
const AIM: f64 = 0.3;

const PAGE: &str = "docs/clusters.md";

/// Program that measures processor time. It is in Debian's package `time`.
const TIME: &str = "/usr/bin/time";

/// The shards of one experiment.
struct Balance {
    file: String,
    runs: usize,
    /// Processor time of each shard, in seconds.
    seconds: Vec<f64>,
}

impl Balance {
    fn mean(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len() as f64
    }

    fn longest(&self) -> f64 {
        self.seconds.iter().copied().fold(0.0, f64::max)
    }

    fn shortest(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the relative excess of the longest shard over the mean.
    fn excess(&self) -> f64 {
        self.longest() / self.mean() - 1.0
    }
}

/// Runs the measurement, and writes its table into docs/clusters.md.
pub fn run(args: &ShardsArgs) -> Result<(), String> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => {
            let words = ["build", "--release", "--package", "dupack-cli"];
            succeed(&mut release(&words))?;
            target().join("release/dupack")
        }
    };
    let folder = target().join("shards");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let measured = args.files.iter();
    let measured: Result<Vec<Balance>, String> = measured
        .map(|file| balance(&program, file, args.of, &folder))
        .collect();
    let _ = fs::remove_dir_all(&folder);
    let measured = measured?;
    let text = table(args.of, &measured);
    println!("{text}");
    let page = root().join(PAGE);
    let before = fs::read_to_string(&page).map_err(|e| format!("{PAGE}: {e}"))?;
    let after = put(&before, ("shards", "balance"), &text)?;
    fs::write(&page, after).map_err(|e| format!("{PAGE}: {e}"))?;
    verdict(&measured)
}

/// Runs the shards of the experiment in `file`, one after the other, in the same folder below `folder`. This folder is
/// removed after each shard.
fn balance(program: &Path, file: &str, of: u32, folder: &Path) -> Result<Balance, String> {
    let (mut runs, mut seconds) = (0, Vec::new());
    for index in 1..=of {
        let out = folder.join("shard");
        let told = folder.join("time.txt");
        let mut command = Command::new(TIME);
        command.args(["--format", "%U %S", "--output"]).arg(&told);
        command.arg(program).arg("run").arg(root().join(file));
        let shard = format!("{index}/{of}");
        // The shard uses one thread, because interference between threads is not a property of the split.
        command.args(["--jobs", "1", "--shard", &shard, "--out"]);
        output(command.arg(&out))?;
        let told = fs::read_to_string(&told).map_err(|e| format!("{}: {e}", told.display()))?;
        let spent = sum(&told).ok_or_else(|| format!("{TIME} says `{}`", told.trim()))?;
        eprintln!("{file}, shard {shard}: {spent:.2} s");
        seconds.push(spent);
        let journal = fs::read_to_string(out.join("runs.jsonl")).map_err(|e| e.to_string())?;
        let is_run = |line: &&str| line.contains("\"trace_hash\"");
        runs += journal.lines().filter(is_run).count();
        fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    }
    let file = file.to_owned();
    Ok(Balance {
        file,
        runs,
        seconds,
    })
}

/// Returns the sum of the processor seconds of the program and of the system.
fn sum(told: &str) -> Option<f64> {
    let words = told.split_whitespace();
    let numbers: Vec<f64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    (numbers.len() == 2).then(|| numbers.iter().sum())
}

/// Returns the table.
fn table(of: u32, measured: &[Balance]) -> String {
    let mut text = format!(
        "Processor time of the {of} shards of each experiment, in seconds:\n\n\
         | experiment | runs | mean | shortest | longest | longest above the mean |\n\
         | --- | --: | --: | --: | --: | --: |\n"
    );
    for balance in measured {
        let _ = writeln!(
            text,
            "| `{}` | {} | {:.2} | {:.2} | {:.2} | {:.0} % |",
            balance.file,
            balance.runs,
            balance.mean(),
            balance.shortest(),
            balance.longest(),
            balance.excess() * 100.0
        );
    }
    text
}

/// Returns an error if a shard is much longer than the others.
fn verdict(measured: &[Balance]) -> Result<(), String> {
    let uneven = measured.iter().filter(|balance| balance.excess() > AIM);
    let uneven: Vec<&str> = uneven.map(|balance| &*balance.file).collect();
    match uneven.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "a shard exceeds the mean by more than {:.0} % in {}",
            AIM * 100.0,
            uneven.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(seconds: &[f64]) -> Balance {
        Balance {
            file: "examples/x.toml".to_owned(),
            runs: 12,
            seconds: seconds.to_vec(),
        }
    }

    #[test]
    fn the_longest_is_compared_with_the_mean() {
        let even = balance(&[1.0, 1.0, 1.0, 1.2]);
        assert!((even.excess() - 0.15 / 1.05).abs() < 1e-12);
        assert!(verdict(&[even]).is_ok());
        let uneven = balance(&[1.0, 1.0, 1.0, 3.0]);
        assert!(table(4, &[uneven]).ends_with("| 12 | 1.50 | 1.00 | 3.00 | 100 % |\n"));
        let told = verdict(&[balance(&[1.0, 3.0])]);
        assert!(told.is_err_and(|told| told.ends_with("in examples/x.toml")));
    }

    #[test]
    fn the_output_of_time_is_parsed() {
        assert_eq!(sum("1.25 0.50\n"), Some(1.75));
        assert_eq!(sum("1.25"), None);
        assert_eq!(sum("Command exited\n1.25 0.50"), None);
    }
}
