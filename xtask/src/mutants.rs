//! `cargo xtask mutants`: whether tests notice when the endpoint, a recovery or a congestion control is changed.
//!
//! cargo-mutants changes a copy of the sources, one small change at a time (a mutant: `<` for `<=`, a function that answers
//! with a constant, an arm of a `match` left out), and runs tests. A mutant that no test notices is a survivor: a test
//! is missing, the code is needless, or the change makes no difference. `xtask/mutants.toml` says which of these.
//!
//! All of them take a day, so a sample is tried, drawn by a fixed seed ([`sample`]); `--all` tries all. What is found is
//! kept and holds until the function around the mutant changes ([`known`]), so that a run may be ended and go on later. Tests are run in stages, the quick ones first ([`stage`]).

mod known;
mod mutant;
mod page;
mod progress;
mod reasons;
mod sample;
mod stage;
mod tree;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use clap::Args;
use dupack_build::{output, root, target};

use known::{Found, Known};
use mutant::Mutant;
use page::Page;
use progress::Bar;
use reasons::Reasons;
use stage::{Area, Deadline, Ended, Laboratory, Stage};

/// How many mutants the sample has: about a fifth of all.
const SAMPLE: usize = 600;
/// So many are tried together by one stage after the other.
const PORTION: usize = 40;
/// Why there are survivors.
const REASONS: &str = "xtask/mutants.toml";
const PAGE: &str = "docs/mutants.md";

#[derive(Args)]
pub struct MutantsArgs {
    /// Try all mutants, not a sample of 600: the best part of a day
    #[arg(long)]
    all: bool,
    /// Try no more than so many now; the next call goes on
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Stop after so many minutes; the next call goes on
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    minutes: Option<u64>,
    /// Try survivors again, as after new tests
    #[arg(long)]
    again: bool,
    /// Forget what was found before
    #[arg(long, conflicts_with = "again")]
    anew: bool,
    /// Only mutants with this in their name, such as `tcp/src/rtt.rs` or `rtt.rs:95`; the page stays as it is
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Try so many mutants of diagnosis, evaluation, lab, papers and report instead, drawn by the same seed; the page stays
    /// as it is
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "anew"])]
    answers: Option<usize>,
    /// Try so many mutants of the crates that diagnose captures instead, drawn by the same seed; the page stays as it is
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "anew", "answers"])]
    diagnosis: Option<usize>,
    /// Try nothing, write the page
    #[arg(long, conflicts_with_all = ["all", "answers", "diagnosis", "limit", "minutes", "again", "anew", "only"])]
    page: bool,
    /// Try nothing, print the mutants in the order in which they are tried, and what was found of each
    #[arg(long, conflicts_with_all = ["page", "limit", "minutes", "again", "anew"])]
    list: bool,
}

/// # Errors
/// If cargo-mutants is missing or fails, if tests fail without a mutant, if something cannot be read or written; or if there is a
/// survivor and nobody has said why.
pub fn run(args: &MutantsArgs) -> Result<(), String> {
    let version = version()?;
    let folder = target().join("mutants");
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let _lock = lock(&folder)?;
    let mut known = Known::open(&folder)?;
    if args.anew {
        known.forget()?;
    }
    let (area, sample) = match (args.answers, args.diagnosis) {
        (Some(size), _) => (Area::Answers, size),
        (None, Some(size)) => (Area::Diagnosis, size),
        (None, None) => (Area::Endpoint, SAMPLE),
    };
    let mut laboratory = Laboratory::new(area, &folder);
    // What was found before the last call was ended, while the mutants have the names that they had then.
    laboratory.collect(&mut known)?;
    tree::refresh(&laboratory.tree())?;
    let all = laboratory.list()?;
    let chosen: Vec<&Mutant> = match args.all {
        true => all.iter().collect(),
        false => sample::draw(&all, sample),
    };
    let asked = |mutant: &&&Mutant| {
        let part = args.only.as_deref();
        part.is_none_or(|part| mutant.name.contains(part))
    };
    let asked: Vec<&Mutant> = chosen.iter().filter(asked).copied().collect();
    if args.list {
        print_list(&asked, &known);
        return Ok(());
    }
    if args.again {
        known.doubt(&asked)?;
    }
    if !args.page {
        try_out(args, &mut laboratory, &asked, &mut known)?;
    }
    let reasons = Reasons::read(&root().join(REASONS))?;
    if args.only.is_some() || area != Area::Endpoint {
        survivors(&asked, &known, &reasons);
        return Ok(());
    }
    known.keep(&all)?;
    let page = Page {
        all: &all,
        chosen: &chosen,
        known: &known,
        reasons: &reasons,
        commit: commit()?,
        version,
    };
    fs::write(root().join(PAGE), page.text()).map_err(|e| format!("cannot write {PAGE}: {e}"))?;
    eprintln!("{}; written to {PAGE}", page.in_short());
    complaints(&page)
}

/// Tries those of which nothing is known, as many and as long as was asked for.
fn try_out(
    args: &MutantsArgs,
    laboratory: &mut Laboratory,
    asked: &[&Mutant],
    known: &mut Known,
) -> Result<(), String> {
    let limit = Duration::from_secs(60 * args.minutes.unwrap_or(100_000));
    let deadline = Deadline::after(limit);
    let open = |mutant: &&Mutant| known.next_stage(mutant).is_some();
    let mut open: Vec<&Mutant> = asked.iter().copied().filter(open).collect();
    open.truncate(args.limit.unwrap_or(usize::MAX));
    let mut bar = Bar::new(open.len());
    for portion in open.chunks(PORTION) {
        for stage in Stage::ALL {
            let due = |mutant: &&Mutant| known.next_stage(mutant) == Some(stage);
            let due: Vec<&Mutant> = portion.iter().copied().filter(due).collect();
            if due.is_empty() {
                continue;
            }
            bar.begins(stage, due.len());
            match laboratory.run(stage, &due, &deadline, known, &mut bar)? {
                Ended::All => bar.ends(),
                Ended::Stopped => return Ok(()),
            }
        }
    }
    Ok(())
}

/// Keeps other calls out as long as the answer lives.
fn lock(folder: &Path) -> Result<File, String> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err("mutants are being tried by another call".to_owned()),
    }
}

/// Which cargo-mutants there is.
fn version() -> Result<String, String> {
    let mut command = dupack_build::command(&["mutants", "--version"]);
    let (text, _) = output(&mut command).map_err(|_| {
        "this takes cargo-mutants: `cargo install --locked cargo-mutants`".to_owned()
    })?;
    Ok(text.trim().to_owned())
}

/// The commit that the sources are of.
fn commit() -> Result<String, String> {
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(root()).args(words);
        output(&mut git).map(|(text, _)| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "crates"])?;
    Ok(match changed.is_empty() {
        true => format!("`{commit}`"),
        false => format!("`{commit}` with changes"),
    })
}

fn print_list(asked: &[&Mutant], known: &Known) {
    for mutant in asked {
        let found = match known.verdict(mutant) {
            Some(Found::Caught) => "caught",
            Some(Found::TimedOut) => "timed out",
            Some(Found::Missed) => "survived",
            Some(Found::Unviable) => "did not compile",
            Some(Found::Doubted) | None => "not tried",
        };
        println!("{found}: {}", mutant.name);
    }
}

/// Tells of the survivors among those that were asked for, with the reason if there is one.
fn survivors(asked: &[&Mutant], known: &Known, reasons: &Reasons) {
    let with = |found: Found| {
        let is = |mutant: &&&Mutant| known.verdict(mutant) == Some(found);
        asked.iter().filter(is).copied().collect::<Vec<_>>()
    };
    let caught = with(Found::Caught).len() + with(Found::TimedOut).len();
    let survived = with(Found::Missed);
    eprintln!("{caught} caught, {} survived", survived.len());
    for mutant in survived {
        println!("{}\n    {}", mutant.name, mutant.code);
        if let Some(reason) = reasons.of(mutant) {
            println!("    {}: {}", reason.class, reason.why);
        }
    }
}

/// Survivors without a reason, and reasons for what was caught.
fn complaints(page: &Page<'_>) -> Result<(), String> {
    let mut lines = Vec::new();
    for mutant in page.survivors() {
        if page.reasons.of(mutant).is_none() {
            lines.push(format!("{}: {:?}", mutant.name, mutant.change()));
        }
    }
    for reason in page.reasons.without_a_survivor(page.chosen, page.known) {
        lines.push(format!(
            "there is a reason for what is no survivor: {reason}"
        ));
    }
    match lines.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{REASONS} does not agree with what was found:\n{}",
            lines.join("\n")
        )),
    }
}
