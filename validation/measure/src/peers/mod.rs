//! `cargo measure peers`: runs the same work in ns-2, ns-3, htsim and dupack in turn, and writes a page about the
//! results.

pub mod machine;
mod performance_page;
mod rows;
pub mod sample;
pub mod spread;
mod tools;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use dupack_build::{output, release_example, root};

use machine::Machine;
use performance_page::Page;
use rows::{Entry, Length, Row, rows};
use sample::{Ending, Sample, Store};
use tools::{Simulator, Tools, folder_for_programs};

use crate::{captures, section, stream};

/// Arguments of the command.
#[derive(Args)]
pub struct PeersArgs {
    /// Number of rounds. In each round, every program does the work of each row once. Five rounds take about 20
    /// minutes.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure only these rows: one, recoveries, ten, hundred, thousand, huge, sweep, chain, window.
    #[arg(long, value_name = "ROW")]
    only: Vec<String>,
    /// Measure one round, without work that takes more than half a minute.
    #[arg(long, conflicts_with = "rounds")]
    quick: bool,
    /// Continue an interrupted comparison.
    #[arg(long)]
    resume: bool,
    /// Leave out this simulator.
    #[arg(long, value_name = "SIMULATOR")]
    without: Vec<Simulator>,
    /// A copy of htsim in which `make -C sim libhtsim.a` was run (see validation/peers/htsim/README.md). Without this
    /// option, htsim is left out.
    #[arg(long, value_name = "DIR")]
    htsim: Option<PathBuf>,
    /// Output file. The default is docs/performance.md if everything is measured, otherwise a file in the folder of the
    /// samples, target/peers.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const PAGE: &str = "docs/performance.md";

/// Name of the table of costs by window. One program measures the whole table, so it is not a row of samples.
const WINDOW: &str = "window";

/// Total time of an entry, in seconds, after which no further rounds of the entry begin.
const SECONDS_ENOUGH: f64 = 120.0;

/// Sections of the page that other programs measure: `python/benchmarks/algorithms.py` and `cargo bench -p
/// dupack-columns`.
const BY_OTHERS: [&str; 2] = ["## Algorithms in Python\n", "## Columns\n"];

pub fn run(args: &PeersArgs) -> Result<(), String> {
    let machine = Machine::here();
    let tools = Tools::prepare(&args.without, args.htsim.as_deref())?;
    let rows = rows(&tools.stacks()?);
    let asked = asked(&rows, &args.only)?;
    if let Some(warning) = machine.warning() {
        eprintln!("warning: {warning}");
    }
    let folder = folder_for_programs()?;
    let mut store = Store::open(folder.join("samples.csv"))?;
    if !args.resume {
        store.forget(&asked);
    }
    for row in rows.iter().filter(|row| asked.contains(&row.id)) {
        measure(row, args, &tools, &mut store)?;
    }
    let window_cost = window_cost(&folder, args, asked.contains(&WINDOW))?;
    let page = Page {
        rows: &rows,
        store: &store,
        tools: &tools,
        machine: &machine,
        window_cost: &window_cost,
        command: &command_line(),
    };
    let everything = args.only.is_empty() && !args.quick && args.without.is_empty();
    let out = match &args.out {
        Some(out) => root().join(out),
        None if everything => root().join(PAGE),
        None => folder.join("performance.md"),
    };
    // Sections that other measurements have written are kept.
    let written = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    let mut text = page.text();
    for heading in [captures::HEADING, stream::HEADING]
        .iter()
        .chain(&BY_OTHERS)
    {
        let kept = section::find(&written, heading);
        if !kept.is_empty() {
            text = section::put(&text, heading, kept);
        }
    }
    fs::write(&out, text).map_err(|e| format!("cannot write {}: {e}", out.display()))?;
    println!("{}", page.table());
    eprintln!("written to {}", out.display());
    Ok(())
}

/// Returns the names of the requested rows.
fn asked<'a>(rows: &[Row], only: &'a [String]) -> Result<Vec<&'a str>, String>
where
    'static: 'a,
{
    let mut names: Vec<&str> = rows.iter().map(|row| row.id).collect();
    names.push(WINDOW);
    if only.is_empty() {
        return Ok(names);
    }
    match only.iter().find(|id| !names.contains(&id.as_str())) {
        Some(unknown) => Err(format!(
            "invalid row `{unknown}`: expected one of {}",
            names.join(", ")
        )),
        None => Ok(only.iter().map(String::as_str).collect()),
    }
}

/// Measures all rounds of a row.
fn measure(row: &Row, args: &PeersArgs, tools: &Tools, store: &mut Store) -> Result<(), String> {
    let rounds = if args.quick { 1 } else { args.rounds };
    let takes_part = |entry: &&Entry| {
        tools.has(entry.program)
            && !args.without.contains(&entry.simulator)
            && !(args.quick && entry.length == Length::Long)
    };
    for round in 1..=rounds {
        for entry in row.entries.iter().filter(takes_part) {
            let tried = |s: &&Sample| s.round == round && s.ending != Ending::Failed;
            let done = store.of(row.id, entry).iter().any(tried);
            let spent: f64 = store.of(row.id, entry).iter().map(|s| s.seconds).sum();
            if done || spent > SECONDS_ENOUGH {
                continue;
            }
            let name = entry.name();
            eprint!("{}, round {round} of {rounds}: {name} …", row.id);
            let sample = entry.measure(row.id, round, tools)?;
            eprintln!(" {:.3} s, {} packets", sample.seconds, sample.packets);
            store.keep(sample)?;
        }
    }
    Ok(())
}

/// Returns the output of `window_cost`, from this or an earlier measurement, or an empty text.
fn window_cost(folder: &Path, args: &PeersArgs, asked: bool) -> Result<String, String> {
    let path = folder.join("window-cost.txt");
    let kept = fs::read_to_string(&path).unwrap_or_default();
    if !asked || args.quick || (args.resume && !kept.is_empty()) {
        return Ok(kept);
    }
    let program = release_example("dupack-lab", "window_cost")?;
    eprintln!("cost per ACK by window: some minutes …");
    let table = match output(&mut Command::new(program)) {
        Ok((table, _)) => table,
        Err(message) => {
            // The error is printed and not returned, because the other parts of the page are still useful.
            eprintln!("error: {message}");
            return Ok(kept);
        }
    };
    fs::write(&path, &table).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(table)
}

/// Returns the command line, without the path of the copy of htsim.
fn command_line() -> String {
    let mut text = "cargo measure".to_owned();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--htsim" {
            words.next();
        }
        match word.starts_with("--htsim") {
            true => text += " --htsim csg-htsim",
            false => text += &format!(" {word}"),
        }
    }
    text
}
