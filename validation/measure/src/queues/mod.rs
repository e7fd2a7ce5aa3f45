//! `cargo measure queues`: compares our queue disciplines with those of ns-3 and Linux, and writes a page.

mod bucket;
mod loads;
mod queues_page;
mod settings;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use dupack_build::{release_example, root, target};

use crate::ns3;
use settings::{Discipline, Setting};

/// Arguments of the comparison.
#[derive(Args)]
pub struct QueuesArgs {
    /// Number of seeds per setting.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=10))]
    seeds: u32,
    /// Compare only disciplines whose name contains this text (`tbf` is Linux's token bucket). The page is then written
    /// to the target directory instead of docs.
    #[arg(long, default_value = "")]
    only: String,
}

const PAGE: &str = "docs/queues.md";

/// Result of a run of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Mean time that delivered packets spent in the queue, in milliseconds.
    pub wait_ms: f64,
    /// Percentage of offered packets that were dropped or marked.
    pub signals: f64,
}

/// Results of all programs, one sample per seed.
pub struct Compared {
    pub setting: Setting,
    pub peer: Vec<Sample>,
    pub ours: Vec<Sample>,
    /// Results of our discipline with the peer's deviations from the RFC. Empty if the peer does not deviate.
    pub as_peer: Vec<Sample>,
}

pub fn run(args: &QueuesArgs) -> Result<(), String> {
    let wanted = |name: &str| name.contains(&args.only);
    let mut compared = Vec::new();
    if Discipline::ALL.iter().any(|d| wanted(d.name())) {
        let peer = ns3::build(root(), "queue")?;
        let ours = release_example("dupack-net", "queue_alone")?;
        let settings = Discipline::ALL.into_iter().flat_map(settings::of);
        for setting in settings.filter(|s| wanted(s.discipline.name())) {
            eprintln!("{}: {}", setting.discipline.name(), setting.words());
            compared.push(compare(setting, args.seeds, &peer, &ours)?);
        }
    }
    let mut buckets = Vec::new();
    if wanted("tbf") {
        let program = release_example("dupack-wire", "token_bucket")?;
        for setting in bucket::SETTINGS {
            eprintln!("tbf: {}", setting.words());
            buckets.push(bucket::measure(&program, setting)?);
        }
    }
    let page = match args.only.is_empty() {
        true => root().join(PAGE),
        false => target().join("queues.md"),
    };
    let text = queues_page::page(&compared, &buckets, args.seeds);
    fs::write(&page, text).map_err(|e| format!("cannot write {}: {e}", page.display()))?;
    eprintln!("written to {}", page.display());
    Ok(())
}

fn compare(setting: Setting, seeds: u32, peer: &Path, ours: &Path) -> Result<Compared, String> {
    let mut compared = Compared {
        setting,
        peer: Vec::new(),
        ours: Vec::new(),
        as_peer: Vec::new(),
    };
    for seed in 1..=seeds {
        let text = setting.description(seed);
        compared.peer.push(sample(peer, &text)?);
        compared.ours.push(sample(ours, &text)?);
        if setting.discipline.differs() {
            let text = format!("{text}as_ns3 1\n");
            compared.as_peer.push(sample(ours, &text)?);
        }
    }
    Ok(compared)
}

/// Runs a program with a description as input, and parses the result.
fn sample(program: &Path, description: &str) -> Result<Sample, String> {
    let named = |e: std::io::Error| format!("{}: {e}", program.display());
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(named)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(description.as_bytes()).map_err(named)?;
    }
    let output = child.wait_with_output().map_err(named)?;
    let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() {
        return Err(format!("{} failed: {line}", program.display()));
    }
    let [offered, dropped, marked, wait_s] =
        ["offered", "dropped", "marked", "wait_s"].map(|name| value_of(&line, name));
    Ok(Sample {
        wait_ms: wait_s? * 1e3,
        signals: (dropped? + marked?) / offered? * 100.0,
    })
}

/// Returns the number that follows `name` in a line.
fn value_of(line: &str, name: &str) -> Result<f64, String> {
    let mut words = line.split_whitespace().skip_while(|word| *word != name);
    let value = words.nth(1).and_then(|word| word.parse().ok());
    value.ok_or_else(|| format!("no value of `{name}` in `{line}`"))
}
