//! `dupack papers`: papers' experiments and claims.

use std::path::Path;
use std::process::ExitCode;

use dupack_lab::results::OutputFolder;
use dupack_lab::results::store;
use dupack_lab::run::Execution;
use dupack_lab::trace::{packets_csv, windows_csv};
use dupack_papers::{Campaign, CampaignFolder, Conduct, Extent, PAPERS, Paper, Part, Reproduction};
use dupack_report::figure::png;
use dupack_report::page::html;
use miette::{IntoDiagnostic, Result};

use crate::args::PapersArgs;
use crate::output::{INTERRUPTED, PNG_SCALE, folder, print, terminal};
use crate::progress::{Board, interrupt};

pub fn run(args: &PapersArgs) -> Result<ExitCode> {
    let chosen: Vec<&'static Paper> = match &args.key {
        Some(key) => vec![dupack_papers::find(key)?],
        None => PAPERS.to_vec(),
    };
    if args.list {
        return list(&chosen, args.key.is_some());
    }
    let (begun, folder) = begin(args, &chosen)?;
    let campaigns: Vec<Campaign> = begun
        .papers()
        .iter()
        .map(|paper| Ok(paper.plan(begun.extent())?))
        .collect::<Result<_>>()?;
    let go_on = go_on(folder.path(), args.jobs);
    eprintln!("every finished run is kept; after an interruption go on with: {go_on}");
    let board = Board::new();
    let conduct = Conduct {
        execution: Execution { jobs: args.jobs },
        watch: &board,
        interrupt: interrupt(),
        journals: Some(folder.path()),
    };
    let reproductions = dupack_papers::carry_out(&campaigns, &conduct);
    board.finish();
    let reproductions = reproductions?;
    for reproduction in &reproductions {
        write(reproduction, &folder)?;
        show(reproduction)?;
    }
    let page = html(&dupack_papers::page(&reproductions));
    let report = folder.write("report.html", page.as_bytes())?;
    let markdown = dupack_papers::markdown(&reproductions);
    folder.write("reproduction.md", markdown.as_bytes())?;
    eprintln!("report: {}", report.display());
    let missing: usize = reproductions.iter().map(|r| r.evidence.missing()).sum();
    if missing > 0 {
        let planned: usize = reproductions.iter().map(|r| r.evidence.planned()).sum();
        eprintln!("interrupted: {missing} of {planned} runs are missing; go on with: {go_on}");
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

/// The folder that was named to go on with, or a new one for `chosen`.
fn begin(args: &PapersArgs, chosen: &[&'static Paper]) -> Result<(CampaignFolder, OutputFolder)> {
    let asked = args.quick.then_some(Extent::Quick);
    if let Some(path) = &args.resume {
        let begun = CampaignFolder::open(path)?;
        begun.expect(args.key.as_deref(), asked)?;
        return Ok((begun, OutputFolder::reopen(path)));
    }
    let name = args.key.as_deref().unwrap_or("papers");
    let folder = folder(args.out.as_deref(), name)?;
    let begun = CampaignFolder::begin(&folder, chosen, asked.unwrap_or(Extent::Full))?;
    Ok((begun, folder))
}

/// The command that goes on with `folder`.
fn go_on(folder: &Path, jobs: Option<usize>) -> String {
    let folder = folder.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@".contains(c);
    let folder = if folder.chars().all(plain) {
        folder
    } else {
        format!("'{}'", folder.replace('\'', r"'\''"))
    };
    let jobs = jobs.map_or(String::new(), |jobs| format!(" --jobs {jobs}"));
    format!("dupack papers --resume {folder}{jobs}")
}

/// Writes a paper's figures and tables, and what they rest on.
fn write(reproduction: &Reproduction, folder: &OutputFolder) -> Result<()> {
    let put =
        |name: &str, bytes: &[u8]| folder.write(&format!("{}/{name}", reproduction.key), bytes);
    put("verdicts.csv", &reproduction.verdicts_csv())?;
    for figure in reproduction.figures() {
        put(
            &format!("figures/{}.svg", figure.name),
            figure.svg.as_bytes(),
        )?;
        let bitmap = png(&figure.svg, PNG_SCALE).into_diagnostic()?;
        put(&format!("figures/{}.png", figure.name), &bitmap)?;
    }
    for table in reproduction.tables() {
        put(&format!("tables/{}.csv", table.name), &table.csv())?;
    }
    for part in &reproduction.evidence.parts {
        write_part(part, &put)?;
    }
    Ok(())
}

type Put<'p> =
    dyn Fn(&str, &[u8]) -> Result<std::path::PathBuf, dupack_lab::results::StoreError> + 'p;

fn write_part(part: &Part, put: &Put<'_>) -> Result<()> {
    let (name, results) = (part.name, &part.results);
    let parameters = store::parameters_csv(results);
    put(&format!("{name}/parameters.csv"), &parameters)?;
    if !results.runs.is_empty() {
        put(&format!("{name}/runs.csv"), &store::runs_csv(results))?;
        put(&format!("{name}/summary.csv"), &store::summary_csv(results))?;
    }
    for traced in &part.traces {
        let job = traced.job;
        let stack = file_name(&traced.trace.stack);
        let run = format!("{name}/point{}-{stack}-seed{}", job.point + 1, job.seed);
        let packets = packets_csv(&traced.trace);
        put(&format!("{run}-packets.csv"), packets.as_bytes())?;
        let windows = windows_csv(&traced.trace);
        put(&format!("{run}-windows.csv"), windows.as_bytes())?;
    }
    for followed in &part.followed {
        let job = followed.job;
        let stack = file_name(&results.stacks[job.stack]);
        let run = format!("{name}/point{}-{stack}-seed{}", job.point + 1, job.seed);
        put(
            &format!("{run}-series.csv"),
            followed.course.csv().as_bytes(),
        )?;
    }
    Ok(())
}

/// A stack as part of a file name.
fn file_name(stack: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    stack.chars().map(plain).collect()
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
        eprintln!("warning: {warning}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_go_on_can_be_pasted() {
        let line = |path: &str| go_on(Path::new(path), None);
        assert_eq!(
            line("dupack-out/papers-2"),
            "dupack papers --resume dupack-out/papers-2"
        );
        assert_eq!(line("it's mine"), r"dupack papers --resume 'it'\''s mine'");
        assert!(go_on(Path::new("a"), Some(3)).ends_with("a --jobs 3"));
    }
}
