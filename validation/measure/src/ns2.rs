//! Runs ns-2.35 on the scenarios of `validation/peers/ns2`, and writes the results into the same folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;

/// Arguments of `cargo measure peers-ns2`.
#[derive(Args)]
pub struct Ns2Args {
    /// Run only scenarios whose id contains this text.
    #[arg(long, default_value = "")]
    only: String,
    /// Number of seeds per scenario and sender.
    #[arg(long, default_value_t = 12)]
    seeds: u32,
    /// Number of simultaneous runs.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Output file. The default is a file that does not replace the committed results.
    #[arg(long, default_value = "target/ns2-results.csv")]
    out: PathBuf,
}

/// Arguments of `cargo measure agree-ns2`.
#[derive(Args)]
pub struct AgreeArgs {
    /// Run only scenarios whose id contains this text. The page is written only if all scenarios are run.
    #[arg(long, default_value = "")]
    only: String,
    /// Number of seeds per scenario and sender.
    #[arg(long, default_value_t = 10)]
    seeds: u32,
}

impl AgreeArgs {
    /// Returns the arguments of cargo. The comparison is a separate program, because this program should not depend on
    /// the large crate `dupack-lab`.
    pub fn command(&self) -> Vec<String> {
        let fixed = "run --release --package dupack-papers --example agree_ns2 -- --seeds";
        let mut words: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
        words.push(self.seeds.to_string());
        if !self.only.is_empty() {
            words.extend(["--only".to_owned(), self.only.clone()]);
        }
        words
    }
}

const SENDERS: [&str; 6] = ["reno", "newreno", "newreno-sbs", "sack", "sack-pa", "fack"];

/// The options of `run.tcl`, in the order of the columns of `scenarios.csv` after the id.
const OPTIONS: [&str; 9] = [
    "-rate",
    "-delay",
    "-loss",
    "-buffer",
    "-delack",
    "-size",
    "-header",
    "-ssthresh",
    "-duration",
];

pub fn run(args: &Ns2Args) -> Result<(), String> {
    let root = dupack_build::root();
    let script = root.join("validation/peers/ns2/run.tcl");
    let jobs = jobs(&root.join("validation/peers/ns2/scenarios.csv"), args)?;
    if Command::new("ns").arg("/dev/null").output().is_err() {
        return Err("`ns` is not installed: apt-get install ns2".to_owned());
    }
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(vec![String::new(); jobs.len()]);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.max(1) {
            scope.spawn(|| {
                while let Some(index) = claim(&next, jobs.len(), &failure) {
                    match one(&script, &jobs[index]) {
                        Ok(line) => lines.lock().expect("no thread panics")[index] = line,
                        Err(e) => *failure.lock().expect("no thread panics") = Some(e),
                    }
                    eprint!("\r{} of {} runs", index + 1, jobs.len());
                }
            });
        }
    });
    eprintln!();
    if let Some(message) = failure.into_inner().expect("no thread panics") {
        return Err(message);
    }
    let mut text = "id,recovery,seed,goodput_bytes_per_s,retransmissions,timeouts\n".to_owned();
    for line in lines.into_inner().expect("no thread panics") {
        text.push_str(line.trim());
        text.push('\n');
    }
    let out = root.join(&args.out);
    fs::write(&out, text).map_err(|e| format!("cannot write {}: {e}", out.display()))?;
    eprintln!("written to {}", args.out.display());
    Ok(())
}

fn claim(next: &AtomicUsize, count: usize, failure: &Mutex<Option<String>>) -> Option<usize> {
    if failure.lock().expect("no thread panics").is_some() {
        return None;
    }
    let index = next.fetch_add(1, Ordering::Relaxed);
    (index < count).then_some(index)
}

/// Returns the argument lists of all runs.
fn jobs(scenarios: &Path, args: &Ns2Args) -> Result<Vec<Vec<String>>, String> {
    let text = fs::read_to_string(scenarios)
        .map_err(|e| format!("cannot read {}: {e}", scenarios.display()))?;
    let mut jobs = Vec::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [id, values @ ..] = fields.as_slice() else {
            continue;
        };
        if values.len() != OPTIONS.len() {
            return Err(format!("`{line}`: expected {} columns", OPTIONS.len() + 1));
        }
        if !id.contains(&args.only) {
            continue;
        }
        for sender in SENDERS {
            for seed in 1..=args.seeds {
                let mut job = vec![
                    "-id".to_owned(),
                    (*id).to_owned(),
                    "-recovery".to_owned(),
                    sender.to_owned(),
                    "-seed".to_owned(),
                    seed.to_string(),
                ];
                for (option, value) in OPTIONS.iter().zip(values) {
                    job.extend([(*option).to_owned(), (*value).to_owned()]);
                }
                jobs.push(job);
            }
        }
    }
    Ok(jobs)
}

fn one(script: &Path, job: &[String]) -> Result<String, String> {
    let output = Command::new("ns")
        .arg(script)
        .args(job)
        .output()
        .map_err(|e| format!("cannot start ns: {e}"))?;
    let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && line.split(',').count() == 6 {
        Ok(line)
    } else {
        let why = String::from_utf8_lossy(&output.stderr);
        Err(format!("ns run.tcl {} failed: {why}{line}", job.join(" ")))
    }
}
