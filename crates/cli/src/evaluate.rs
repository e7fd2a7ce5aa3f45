//! `dupack evaluate`: report card by the criteria of RFC 9743.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use dupack_algorithms::catalog::Catalog;
use dupack_engine::Execution;
use dupack_evaluation::{
    Campaign, Card, Conduct, Evaluated, EvaluationError, EvaluationFolder, Extent, KERNEL, Scale,
    Suite,
};
use dupack_lab::path_file::PathFile;
use miette::Result;

use crate::flags::jobs;
use crate::output::{INTERRUPTED, folder, print, quoted, terminal};
use crate::progress::{Board, interrupt};
use crate::wire;

/// Exit code if a verdict is worse than in the baseline.
const WORSE: u8 = 1;

/// Default number of concurrent runs on real packets. A run on a slow path uses a small fraction of a processor.
const WIRE_JOBS: usize = 4;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack evaluate rack/bbr --quick
  dupack evaluate --list                 # criteria, rules, thresholds
  dupack evaluate rack/bbr --only bufferbloat,high-loss
  dupack evaluate --compare rack/cubic,rack/bbr,rack/vegas
  dupack evaluate rack/bbr --quick --baseline card.json
  dupack evaluate rack/bbr --path slow.toml  # its harm to others there
  dupack evaluate rack/bbr --wire        # also on real packets
  dupack evaluate kernel:bbr             # the kernel: only on real packets
  dupack evaluate --resume dupack-out/evaluate

Real packets need Linux, and root or a system that lets ordinary users create
user namespaces. They take a few minutes with --quick, otherwise half an hour.
As root, put `nice -n -10` before the command: a run whose path is late is void.

With --baseline, the exit code is 1 if a verdict is worse than in the baseline.
The card is in card.html, card.md and card.json of the folder. Each experiment
has its own folder below, and can be changed and run by `dupack run`.")]
pub struct EvaluateArgs {
    /// Stack under test, such as rack/bbr, or kernel:NAME for the sender of this machine's kernel with that congestion
    /// control
    stack: Option<String>,
    /// Cards of several stacks side by side, separated by commas
    #[arg(long, value_name = "STACKS", conflicts_with = "stack")]
    compare: Option<String>,
    /// Fewer seeds, fewer points and shorter runs, for a first look in a minute or less on two processors
    #[arg(long)]
    quick: bool,
    /// Only these criteria
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    only: Vec<String>,
    /// Also evaluate some criteria on real packets, over an emulated path that the kernel's own CUBIC and Reno also use
    #[arg(long)]
    wire: bool,
    /// Number of concurrent runs on real packets
    #[arg(long, value_name = "N", default_value_t = WIRE_JOBS, value_parser = jobs)]
    wire_jobs: usize,
    /// Number of the set of seeds; different sets have no seeds in common
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    seed_set: u32,
    /// List the criteria with the section of RFC 9743, rule, threshold and its source, and scenario; run nothing
    #[arg(long, conflicts_with_all = ["stack", "compare", "quick", "baseline", "out", "resume", "jobs"])]
    list: bool,
    /// Fail if a verdict is worse than in this card.json
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    baseline: Option<PathBuf>,
    /// Path file, as written by `dupack diagnose --path`: fairness and harm to others are evaluated on this path
    #[arg(long, value_name = "FILE", conflicts_with = "wire")]
    path: Option<PathBuf>,
    /// Your own suite: a folder with a criteria.toml and its scenarios, like experiments/evaluation
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: CardFormat,
    /// Folder for the card and its experiments; must be empty or new [default: dupack-out/evaluate, numbered if taken]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue with this folder and its options
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "stack", "compare", "quick", "only", "wire", "seed_set", "path"])]
    resume: Option<PathBuf>,
    /// Concurrent runs [default: one per processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<usize>,
}

/// Output format of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum CardFormat {
    /// Table for the terminal
    #[default]
    Table,
    /// JSON, as in card.json
    Json,
}

pub fn run(args: &EvaluateArgs, catalog: &Catalog) -> Result<ExitCode> {
    let resumed = args.resume.as_deref().map(EvaluationFolder::open);
    let resumed = resumed.transpose()?;
    let mut suite = suite(args, resumed.as_ref())?;
    if let Some(file) = &args.path {
        suite = suite.on_path(&PathFile::read(file, catalog)?)?;
    }
    if args.list {
        let (_, width) = terminal();
        print(&dupack_evaluation::list(&suite, &args.only, width)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Read the baseline first, so that an invalid one costs no time.
    let baseline = args.baseline.as_deref().map(baseline).transpose()?;
    let (begun, campaign) = match resumed {
        Some(begun) => go_on_with(begun, (&suite, catalog), baseline.as_ref())?,
        None => begin(args, (&suite, catalog), baseline.as_ref())?,
    };
    // `prepare` works only while the process has a single thread.
    let namespaces = campaign.is_on_wire().then(wire::prepare);
    let folder = begun.folder();
    let go_on = go_on(folder.path(), args);
    say!("completed runs are stored; after an interruption, continue with: {go_on}");
    let board = Board::new();
    let conduct = Conduct {
        runs: dupack_engine::Conduct {
            execution: Execution { jobs: args.jobs },
            watch: &board,
            interrupt: interrupt(),
        },
        journal: Some(folder.path()),
    };
    let mut evaluated = campaign.carry_out(&conduct);
    let mut on_wire = Ok(());
    if let (Some(namespaces), Ok(evaluated)) = (namespaces, &mut evaluated) {
        let mut conduct = conduct;
        conduct.runs.execution.jobs = Some(args.wire_jobs);
        let packets = wire::Packets::new(catalog, interrupt());
        on_wire =
            namespaces.and_then(|()| campaign.carry_out_on_wire(evaluated, &packets, &conduct));
    }
    board.says_how_long("runs");
    board.finish();
    let evaluated = evaluated?;
    if let Err(error) = on_wire {
        without_packets(&evaluated, error)?;
    }
    let written = dupack_evaluation::write(&evaluated, (&suite, catalog), folder);
    // Print the verdicts even if the disk has no space for the files.
    show(&evaluated, args.format)?;
    written?;
    say!("card: {}", folder.path().join("card.html").display());
    let missing: usize = evaluated.iter().map(|of| of.card.missing).sum();
    if missing > 0 {
        say!("interrupted: {missing} runs are missing; continue with: {go_on}");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    match (baseline, &evaluated[..]) {
        (Some(baseline), [only]) => held_against(&only.card, &baseline),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Returns the suite of `--suite`, the suite of the folder to continue with, or the built-in suite.
fn suite(
    args: &EvaluateArgs,
    resumed: Option<&EvaluationFolder>,
) -> Result<Suite, EvaluationError> {
    let begun_with = resumed.and_then(EvaluationFolder::suite);
    let folder = args.suite.as_deref().or(begun_with);
    folder.map_or_else(|| Ok(Suite::builtin()), Suite::read)
}

/// Prints `error`, which is the reason for missing results on real packets. The cards have the simulated results only.
fn without_packets(evaluated: &[Evaluated], error: EvaluationError) -> Result<()> {
    if evaluated.iter().all(|of| of.card.rows.is_empty()) {
        return Err(error.into());
    }
    crate::told::error(&error);
    say!("the card covers only the simulator");
    Ok(())
}

/// Reads the card in the file at `path`.
fn baseline(path: &Path) -> Result<Card, EvaluationError> {
    let name = path.display().to_string();
    let no_card = |cause: String| EvaluationError::NoCard {
        path: name.clone(),
        cause,
    };
    let text = std::fs::read_to_string(path).map_err(|error| no_card(error.to_string()))?;
    let mut cards = Card::read(&name, &text)?;
    match cards.len() {
        1 => Ok(cards.remove(0)),
        n => Err(no_card(format!(
            "it has {n} cards, but a baseline must have one"
        ))),
    }
}

/// Checks the baseline before the runs, so that an unsuitable baseline costs no time.
fn suits(campaign: &Campaign<'_>, baseline: Option<&Card>) -> Result<(), EvaluationError> {
    baseline.map_or(Ok(()), |baseline| campaign.suits(baseline))
}

/// The campaign and its folder.
type Begun<'s> = (EvaluationFolder, Campaign<'s>);

/// Returns the campaign of an existing folder, and the folder.
fn go_on_with<'s>(
    begun: EvaluationFolder,
    (suite, catalog): (&'s Suite, &Catalog),
    baseline: Option<&Card>,
) -> Result<Begun<'s>> {
    let stacks = (begun.stacks(), catalog);
    let (keys, scale) = (begun.criteria(), begun.scale());
    let campaign = match begun.is_on_wire() {
        true => Campaign::with_wire(suite, stacks, keys, scale)?,
        false => Campaign::new(suite, stacks, keys, scale)?,
    };
    suits(&campaign, baseline)?;
    wire::check_kernel(begun.stacks())?;
    // A process that was killed early leaves a folder without experiments, so they are written again.
    dupack_evaluation::write_experiments(&campaign, begun.folder())?;
    Ok((begun, campaign))
}

/// Creates a folder for a campaign, and returns both.
fn begin<'s>(
    args: &EvaluateArgs,
    (suite, catalog): (&'s Suite, &Catalog),
    baseline: Option<&Card>,
) -> Result<Begun<'s>> {
    let stacks = stacks(args)?;
    let scale = Scale {
        extent: match args.quick {
            true => Extent::Quick,
            false => Extent::Full,
        },
        seed_set: args.seed_set,
    };
    // Check the arguments before creating the folder.
    let on_wire = args.wire
        || stacks.iter().any(|stack| stack.starts_with(KERNEL))
        || args.only.iter().any(|key| suite.is_of_wire(key));
    let stacks_of = (&stacks[..], catalog);
    let campaign = match on_wire {
        true => Campaign::with_wire(suite, stacks_of, &args.only, scale)?,
        false => Campaign::new(suite, stacks_of, &args.only, scale)?,
    };
    suits(&campaign, baseline)?;
    wire::check_kernel(&stacks)?;
    let folder = folder(args.out.as_deref(), "evaluate")?;
    let keys = (&stacks[..], &args.only[..]);
    let own = args
        .path
        .as_ref()
        .map(|_| suite.write(&folder))
        .transpose()?;
    let wire = (on_wire, own.as_deref().or(args.suite.as_deref()));
    let begun = EvaluationFolder::begin_on(folder, keys, scale, wire)?;
    dupack_evaluation::write_experiments(&campaign, begun.folder())?;
    Ok((begun, campaign))
}

/// Returns the stacks on the command line.
fn stacks(args: &EvaluateArgs) -> Result<Vec<String>, EvaluationError> {
    let named = match (&args.stack, &args.compare) {
        (Some(stack), _) => vec![stack.clone()],
        (None, Some(list)) => split(list),
        (None, None) => Vec::new(),
    };
    if named.is_empty() {
        return Err(EvaluationError::Stack {
            message: "missing stack to evaluate".to_owned(),
            help: "name one, as in `dupack evaluate rack/bbr`; --list prints the criteria"
                .to_owned(),
        });
    }
    Ok(named)
}

/// Returns the stacks of a list. Commas in brackets belong to parameters.
fn split(list: &str) -> Vec<String> {
    let (mut stacks, mut depth) = (vec![String::new()], 0_usize);
    for c in list.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (c, stacks.last_mut()) {
            (',', _) if depth == 0 => stacks.push(String::new()),
            (c, Some(last)) => last.push(c),
            (_, None) => {}
        }
    }
    let stacks = stacks.iter().map(|stack| stack.trim());
    stacks
        .filter(|s| !s.is_empty())
        .map(str::to_owned)
        .collect()
}

fn show(evaluated: &[Evaluated], format: CardFormat) -> Result<()> {
    let cards: Vec<&Card> = evaluated.iter().map(|of| &of.card).collect();
    let (colour, width) = terminal();
    match format {
        CardFormat::Table => print(&dupack_evaluation::table(&cards, colour, width)),
        CardFormat::Json => print(&dupack_evaluation::json(&cards)),
    }
}

/// Fails if `card` has a verdict that is worse than in `baseline`.
fn held_against(card: &Card, baseline: &Card) -> Result<ExitCode> {
    let worse = card.worse_than(baseline)?;
    if worse.is_empty() {
        say!("no verdict is worse than in the baseline");
        return Ok(ExitCode::SUCCESS);
    }
    let (_, width) = terminal();
    say!(
        "worse than in the baseline:\n{}",
        dupack_evaluation::worse(&worse, width)
    );
    Ok(ExitCode::from(WORSE))
}

/// Returns the command that continues with `folder`.
fn go_on(folder: &Path, args: &EvaluateArgs) -> String {
    let jobs = args.jobs.map(|jobs| format!(" --jobs {jobs}"));
    let wire = match args.wire_jobs {
        WIRE_JOBS => String::new(),
        other => format!(" --wire-jobs {other}"),
    };
    format!(
        "dupack evaluate --resume {}{}{wire}",
        quoted(&folder.display().to_string()),
        jobs.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_do_not_separate_stacks() {
        assert_eq!(
            split("rack/bbr(beta=0.9,headroom=0), rack/cubic,"),
            ["rack/bbr(beta=0.9,headroom=0)", "rack/cubic"]
        );
    }
}
