//! Runs every scenario of `validation/peers/ns2` and compares the results with ns-2.35: `cargo measure agree-ns2`.
//!
//! Arguments: `--seeds N` (10), `--only TEXT` (scenarios whose id contains TEXT), `--senders A,B`. A complete
//! comparison is written to `docs/ns2-agreement.md`. A partial comparison is only printed.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use dupack_engine::Watch;
use dupack_papers::agreement::{self, Cell, SENDERS, Scenario, Sender};

struct Options {
    seeds: u32,
    only: String,
    senders: Vec<Sender>,
}

fn main() -> ExitCode {
    let outcome = options().and_then(|options| run(&options));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        seeds: 10,
        only: String::new(),
        senders: SENDERS.to_vec(),
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or(format!("{name} needs a value"))?;
        match name.as_str() {
            "--seeds" => {
                let seeds: Option<u32> = value.parse().ok().filter(|&seeds| seeds >= 2);
                options.seeds = seeds.ok_or("--seeds needs a number of at least 2")?;
            }
            "--only" => options.only = value,
            "--senders" => options
                .senders
                .retain(|s| value.split(',').any(|v| v == s.name)),
            _ => return Err(format!("unknown option {name}")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let mut work: Vec<(Scenario, Vec<Sender>)> = Vec::new();
    for scenario in agreement::scenarios() {
        work.push((scenario, options.senders.clone()));
    }
    for scenario in agreement::nishida() {
        let newreno = options.senders.iter().filter(|s| s.name == "newreno");
        work.push((scenario, newreno.copied().collect()));
    }
    let total = work.len();
    work.retain(|(scenario, senders)| scenario.id.contains(&options.only) && !senders.is_empty());
    let runs = work.iter().map(|(_, s)| s.len()).sum::<usize>() * options.seeds as usize;
    let progress = Counter {
        done: AtomicUsize::new(0),
        runs,
    };
    let mut cells: Vec<Cell> = Vec::new();
    for (scenario, senders) in &work {
        let compared = scenario.compare(senders, options.seeds, &progress);
        for cell in compared.map_err(|e| format!("{}: {e}", scenario.id))? {
            println!("\r{}", agreement::line(&cell));
            cells.push(cell);
        }
    }
    println!("{}", agreement::summary(&cells));
    if work.len() == total && options.senders.len() == SENDERS.len() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ns2-agreement.md");
        std::fs::write(&path, agreement::page(&cells, options.seeds))
            .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(())
}

/// Shows the number of completed runs on the terminal.
struct Counter {
    done: AtomicUsize,
    runs: usize,
}

impl Watch for Counter {
    fn run_done(&self, _: u64) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        eprint!("\r{done} of {} runs ", self.runs);
        let _ = std::io::stderr().flush();
    }
}
