//! `cargo measure evaluation`: makes the cards of docs/evaluation.md, and measures the differences between the rules
//! and the stability of the verdicts.

mod cards;
mod cards_page;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use dupack_build::{cargo, root};

use crate::part::put;
use cards::Card;

#[derive(Args)]
pub struct EvaluationArgs {
    /// Continue in the folder of an earlier run of this command
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Make quick cards instead of full cards, and say so on the page
    #[arg(long)]
    quick: bool,
    /// Also evaluate three of the stacks with other seeds, and count the verdicts that change
    #[arg(long)]
    stability: bool,
}

const PAGE: &str = "docs/evaluation.md";

/// The stacks of the page.
const STACKS: &str = "rack/cubic,rack/bbr,rack/bbr-v1,rack/reno,le/westwood,sack/westwood,le/reno,momentary/cubic,\
                      reno/reno/always/dynamic,rack/vegas,rack/hybla,rack/htcp,rack/illinois,rack/dctcp,\
                      rack/bbr(loss_thresh=0.9,beta=0.99,headroom=0)";

/// Stacks that are also evaluated with other seeds.
const STABLE: [&str; 3] = ["rack/cubic", "rack/bbr", "le/westwood"];

/// Sets of seeds in addition to the first set, which is used for the page.
const OTHER_SETS: [u32; 2] = [2, 3];

pub fn run(args: &EvaluationArgs) -> Result<(), String> {
    let folder = match &args.from {
        Some(folder) => folder.clone(),
        None => new_folder()?,
    };
    let flags = [("--quick", args.quick), ("--stability", args.stability)];
    let flags = flags.into_iter().filter(|(_, is_on)| *is_on);
    let flags: String = flags.map(|(flag, _)| format!(" {flag}")).collect();
    let name = folder.display();
    eprintln!("to continue after an interruption: cargo measure evaluation --from {name}{flags}");
    let cards = evaluate(&folder.join("cards"), &["--compare", STACKS], args.quick)?;
    let broken = broken(&folder.join("broken"))?;
    let stability = match args.stability {
        true => Some(stability(&folder, &cards, args.quick)?),
        false => None,
    };
    let path = root().join(PAGE);
    let text = fs::read_to_string(&path).map_err(|e| format!("{PAGE}: {e}"))?;
    let mut text = put(&text, ("evaluation", "cards"), &cards_page::cards(&cards))?;
    text = put(
        &text,
        ("evaluation", "rules"),
        &cards_page::rules(&cards, &broken),
    )?;
    if let Some(stability) = &stability {
        text = put(
            &text,
            ("evaluation", "stability"),
            &cards_page::stability(stability),
        )?;
    }
    fs::write(&path, text).map_err(|e| format!("{PAGE}: {e}"))?;
    eprintln!("{PAGE} written");
    verdict(
        &cards::alike(&[&cards[..], &broken[..]].concat()),
        stability,
    )
}

/// Returns an error if two rules always have the same verdict, or if verdicts are not stable.
fn verdict(alike: &[(String, String)], stability: Option<cards::Stability>) -> Result<(), String> {
    let pairs: Vec<String> = alike.iter().map(|(a, b)| format!("{a} and {b}")).collect();
    if !pairs.is_empty() {
        return Err(format!("no card distinguishes: {}", pairs.join(", ")));
    }
    match stability {
        Some(found) if !found.is_enough() => Err(format!(
            "{} of {} verdicts are the same with other seeds, and {} are reversed",
            found.agreeing,
            found.cells,
            found.turned.len()
        )),
        _ => Ok(()),
    }
}

fn new_folder() -> Result<PathBuf, String> {
    let mut folders = (1..).map(|n: u32| root().join(format!("target/evaluation-{n}")));
    let folder = folders.find(|folder| !folder.exists());
    let folder = folder.ok_or("all folder names are taken")?;
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// Returns the cards in `folder`. If they are missing, runs `dupack evaluate` with `words` first.
fn evaluate(folder: &Path, words: &[&str], is_quick: bool) -> Result<Vec<Card>, String> {
    let name = folder.display().to_string();
    let dupack = [
        "run",
        "--release",
        "--package",
        "dupack-cli",
        "--",
        "evaluate",
    ];
    let begun = ["--resume", &name];
    let quick: &[&str] = if is_quick { &["--quick"] } else { &[] };
    let new = ["--out", &name];
    let words = match folder.join("evaluation.json").exists() {
        true => begun.to_vec(),
        false => [words, quick, &new].concat(),
    };
    cargo(&[&dupack[..], &words].concat())?;
    Card::read(&folder.join("card.json"))
}

/// Returns the cards of the broken senders. Returns an error if a card differs from the expected card.
fn broken(folder: &Path) -> Result<Vec<Card>, String> {
    let name = folder.display().to_string();
    let example = ["run", "--release", "--package", "dupack-broken-senders"];
    cargo(&[&example[..], &["--example", "cards", "--", &name]].concat())?;
    Card::read(&folder.join("cards.json"))
}

/// Compares the verdicts on three of the stacks with the verdicts for other seeds.
fn stability(folder: &Path, first: &[Card], is_quick: bool) -> Result<cards::Stability, String> {
    let is_one = |card: &&Card| STABLE.contains(&card.stack.as_str());
    let mut sets: Vec<Vec<Card>> = vec![first.iter().filter(is_one).cloned().collect()];
    for set in OTHER_SETS {
        let place = folder.join(format!("set-{set}"));
        let number = set.to_string();
        let stacks = STABLE.join(",");
        let words = ["--compare", &stacks, "--seed-set", &number];
        sets.push(evaluate(&place, &words, is_quick)?);
    }
    cards::stability(&sets)
}
