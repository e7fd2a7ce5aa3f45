//! `dupack papers`: experiments and claims of papers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use dupack_engine::Execution;
use dupack_papers::{Campaign, CampaignFolder, Conduct, Extent, PAPERS, Paper, Reproduction};
use dupack_report::files::PAGE;
use miette::Result;

use crate::flags::jobs;
use crate::output::{INTERRUPTED, folder, print, quoted, terminal};
use crate::progress::{Board, interrupt};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack papers --list             # all papers
  dupack papers --list momentary   # experiments and systems of one paper
  dupack papers momentary --quick
  dupack papers le --readings      # also verdicts under other readings
  dupack papers --out all          # every paper, one report
  dupack papers --resume all       # continue after an interruption

Completed runs are stored immediately in PAPER/EXPERIMENT/runs.jsonl, and are
not repeated if experiment, stack, seed and version are the same.")]
pub struct PapersArgs {
    /// Key of a paper [default: all papers]
    key: Option<String>,
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
    /// Folder for report, figures and CSV; must be empty or new [default: dupack-out/papers, numbered if taken]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue with this folder, with its papers and scale
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    resume: Option<PathBuf>,
    /// Concurrent runs [default: one per processor]
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<usize>,
}

pub fn run(args: &PapersArgs) -> Result<ExitCode> {
    if args.inventory {
        print(&dupack_papers::inventory())?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&'static Paper> = match &args.key {
        Some(key) => vec![dupack_papers::find(key)?],
        None => PAPERS.to_vec(),
    };
    if args.list {
        return list(&chosen, args.key.is_some());
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
    let conduct = Conduct {
        runs: dupack_engine::Conduct {
            execution: Execution { jobs: args.jobs },
            watch: &board,
            interrupt: interrupt(),
        },
        journals: Some(folder.path()),
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
        begun.expect(args.key.as_deref(), asked)?;
        return Ok(begun);
    }
    let name = args.key.as_deref().unwrap_or("papers");
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
