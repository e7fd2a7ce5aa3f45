//! `dupack papers`: experiments and claims of papers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use dupack_engine::Execution;
use dupack_papers::{
    Campaign, CampaignFolder, Conduct, Extent, Journals, PAPERS, Paper, Reproduction, Summaries,
};
use dupack_report::files::PAGE;
use miette::{Result, miette};

use crate::flags::jobs;
use crate::output::{INTERRUPTED, folder, print, quoted, terminal};
use crate::progress::{Board, interrupt};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack papers                    # the conclusions, from the last rerun
  dupack papers --list             # all papers
  dupack papers --list momentary   # its experiments, claims and systems
  dupack papers le --claim testbed-le-4mbit   # one claim, under all readings
  dupack papers momentary --quick
  dupack papers le --readings      # also verdicts under other readings
  dupack papers all --out all      # every paper, one report
  dupack papers --resume all       # continue after an interruption

Completed runs are stored immediately in PAPER/EXPERIMENT/runs.jsonl, and are
not repeated if experiment, stack, seed and version are the same.")]
pub struct PapersArgs {
    /// Key of a paper, or `all`. Without a key and options, prints the conclusions of the last rerun of all papers
    key: Option<String>,
    /// Rerun one claim under every reading of the paper, within about 30 s, and show why it holds or does not hold
    #[arg(long, value_name = "ID", requires = "key", conflicts_with_all = ["quick", "readings", "list", "out", "resume"])]
    claim: Option<String>,
    /// Fewer seeds and shorter runs, for a first look without reliable verdicts
    #[arg(long)]
    quick: bool,
    /// Also evaluate every claim under each reading of the details that the paper leaves open: all readings at quick
    /// scale, and those that change a verdict at the scale of the paper. Before that, undecided claims are evaluated
    /// again with as many more seeds as their verdicts need
    #[arg(long)]
    readings: bool,
    /// List the papers, or the experiments and systems of one paper, and run nothing
    #[arg(long, conflicts_with_all = ["quick", "readings", "out", "resume", "jobs"])]
    list: bool,
    /// Print every item of the papers and its place in this project (docs/inventory.md)
    #[arg(long, conflicts_with_all = ["key", "list", "quick", "readings", "out", "resume", "jobs"])]
    inventory: bool,
    /// Folder for report, figures, CSV and Markdown pages; must be empty or new [default: dupack-out/papers, numbered if
    /// taken]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue with this folder, with its papers and scale
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    resume: Option<PathBuf>,
    /// Concurrent runs [default: one per processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<usize>,
}

/// Key of all papers.
const ALL: &str = "all";

/// Time that a look at one claim may take.
const LOOK: Duration = Duration::from_secs(25);

impl PapersArgs {
    /// Returns `true` if nothing is requested but the conclusions.
    const fn asks_for_conclusions(&self) -> bool {
        let runs = self.quick || self.readings || self.out.is_some() || self.resume.is_some();
        !(runs || self.list || self.jobs.is_some() || self.key.is_some())
    }
}

pub fn run(args: &PapersArgs) -> Result<ExitCode> {
    if args.inventory {
        print(&dupack_papers::inventory())?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&'static Paper> = match args.key.as_deref() {
        Some(ALL) | None => PAPERS.to_vec(),
        Some(key) => vec![dupack_papers::find(key)?],
    };
    if let (Some(claim), [paper]) = (&args.claim, &chosen[..]) {
        return look(paper, claim, args);
    }
    if args.asks_for_conclusions() {
        let (_, width) = terminal();
        print(&Summaries::stored().text(width))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.list {
        return list(&chosen, args.key.as_deref().is_some_and(|key| key != ALL));
    }
    if args.claim.is_some() {
        return Err(miette!(
            help = "name one paper",
            "a claim belongs to one paper"
        ));
    }
    let begun = begin(args, &chosen)?;
    let folder = begun.folder();
    let campaigns: Vec<Campaign> = begun
        .papers()
        .iter()
        .map(|paper| Ok(paper.plan(begun.extent())?))
        .collect::<Result<_>>()?;
    let go_on = go_on(folder.path(), args);
    say!("completed runs are stored; after an interruption, continue with: {go_on}");
    let board = Board::new();
    let journals = Journals::within(folder.path());
    let conduct = Conduct {
        runs: dupack_engine::Conduct {
            execution: Execution { jobs: args.jobs },
            watch: &board,
            interrupt: interrupt(),
        },
        journals: Some(&journals),
    };
    let mut reproductions = dupack_papers::carry_out(&campaigns, &conduct);
    board.says_how_long("runs of the experiments");
    if (begun.readings() || args.readings)
        && let Ok(reproductions) = &mut reproductions
    {
        dupack_papers::settle(reproductions, &conduct)?;
        board.says_how_long("more seeds for undecided claims");
        dupack_papers::reread(reproductions, &conduct)?;
        board.says_how_long("readings");
    }
    board.finish();
    let reproductions = reproductions?;
    dupack_papers::files(&reproductions).write(folder)?;
    for reproduction in &reproductions {
        show(reproduction)?;
    }
    say!("report: {}", folder.path().join(PAGE).display());
    let missing: usize = reproductions.iter().map(Reproduction::missing).sum();
    if missing > 0 {
        say!("interrupted: {missing} runs are missing; continue with: {go_on}");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Reruns one claim and prints the outcome.
fn look(paper: &'static Paper, claim: &str, args: &PapersArgs) -> Result<ExitCode> {
    let board = Board::new();
    let runs = dupack_engine::Conduct {
        execution: Execution { jobs: args.jobs },
        watch: &board,
        interrupt: interrupt(),
    };
    let looked = dupack_papers::look(paper, claim, LOOK, runs);
    board.finish();
    let looked = looked?;
    let (_, width) = terminal();
    print(&looked.text(width))?;
    if looked.missing > 0 {
        say!(
            "interrupted: {} runs are missing, so these are not verdicts",
            looked.missing
        );
        return Ok(ExitCode::from(INTERRUPTED));
    }
    say!("with all seeds: dupack papers {} --readings", paper.key);
    Ok(ExitCode::SUCCESS)
}

fn list(chosen: &[&'static Paper], one: bool) -> Result<ExitCode> {
    let (_, width) = terminal();
    let text = match chosen {
        [paper] if one => dupack_papers::describe(paper, width)?,
        _ => dupack_papers::list(chosen, width)?,
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the folder to continue with, or a new one for `chosen`.
fn begin(args: &PapersArgs, chosen: &[&'static Paper]) -> Result<CampaignFolder> {
    let asked = args.quick.then_some(Extent::Quick);
    if let Some(path) = &args.resume {
        let begun = CampaignFolder::open(path)?;
        let key = args.key.as_deref().filter(|key| *key != ALL);
        begun.expect(key, asked)?;
        return Ok(begun);
    }
    let key = args.key.as_deref().filter(|key| *key != ALL);
    let name = key.unwrap_or("papers");
    let folder = folder(args.out.as_deref(), name)?;
    let extent = asked.unwrap_or(Extent::Full);
    Ok(CampaignFolder::begin(
        folder,
        chosen,
        extent,
        args.readings,
    )?)
}

/// Returns the command that continues with `folder`.
fn go_on(folder: &Path, args: &PapersArgs) -> String {
    let folder = quoted(&folder.display().to_string());
    let jobs = args.jobs.map(|jobs| format!(" --jobs {jobs}"));
    let readings = if args.readings { " --readings" } else { "" };
    format!(
        "dupack papers --resume {folder}{readings}{}",
        jobs.unwrap_or_default()
    )
}

/// Prints verdicts and tables.
fn show(reproduction: &Reproduction) -> Result<()> {
    let (colour, width) = terminal();
    let book = &reproduction.book;
    print(&format!("{}\n{}\n", book.title, book.citation))?;
    for paragraph in &reproduction.conclusion {
        print(&format!("{paragraph}\n\n"))?;
    }
    print(&reproduction.verdicts(colour, width))?;
    for table in reproduction.tables() {
        print(&format!("\n{}", table.text(width)))?;
    }
    print(&format!("\n{}: {}", reproduction.key, reproduction.tally()))?;
    for warning in reproduction.warnings() {
        say!("warning: {warning}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_continue_can_be_pasted() {
        let args = |jobs| PapersArgs {
            key: None,
            claim: None,
            quick: false,
            readings: false,
            list: false,
            inventory: false,
            out: None,
            resume: None,
            jobs,
        };
        let line = |path: &str| go_on(Path::new(path), &args(None));
        assert_eq!(
            line("dupack-out/papers-2"),
            "dupack papers --resume dupack-out/papers-2"
        );
        assert_eq!(line("it's mine"), r"dupack papers --resume 'it'\''s mine'");
        assert!(go_on(Path::new("a"), &args(Some(3))).ends_with("a --jobs 3"));
    }
}
