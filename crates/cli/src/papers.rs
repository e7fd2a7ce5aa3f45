//! `dupack papers`: a paper's experiments and claims.

use std::process::ExitCode;

use dupack_lab::figure::png;
use dupack_lab::papers::{self, Campaign, Extent, PAPERS, Paper, Part, Reproduction};
use dupack_lab::report::html;
use dupack_lab::results::OutputFolder;
use dupack_lab::results::store;
use dupack_lab::run::Execution;
use dupack_lab::trace::{packets_csv, windows_csv};
use miette::{IntoDiagnostic, Result};

use crate::args::PapersArgs;
use crate::output::{INTERRUPTED, PNG_SCALE, folder, print, terminal};
use crate::progress::{Bar, interrupt};

pub fn run(args: &PapersArgs) -> Result<ExitCode> {
    let chosen: Vec<&'static Paper> = match &args.key {
        Some(key) => vec![papers::find(key)?],
        None => PAPERS.to_vec(),
    };
    let extent = if args.quick {
        Extent::Quick
    } else {
        Extent::Full
    };
    let campaigns: Vec<(&Paper, Campaign)> = chosen
        .into_iter()
        .map(|paper| Ok((paper, paper.plan(extent)?)))
        .collect::<Result<_>>()?;
    let name = args.key.as_deref().unwrap_or("papers");
    let folder = folder(args.out.as_deref(), name)?;
    let alone = campaigns.len() == 1;
    let mut code = ExitCode::SUCCESS;
    for (paper, campaign) in campaigns {
        let bar = Bar::new(campaign.runs(), paper.key);
        let execution = Execution { jobs: args.jobs };
        let reproduction = campaign.execute(execution, &bar, interrupt());
        bar.finish();
        let prefix = if alone {
            String::new()
        } else {
            format!("{}/", paper.key)
        };
        write(&reproduction, &folder, &prefix)?;
        show(&reproduction)?;
        let report = folder.path().join(format!("{prefix}report.html"));
        eprintln!("report: {}", report.display());
        if reproduction.evidence.missing() > 0 {
            code = ExitCode::from(INTERRUPTED);
        }
    }
    Ok(code)
}

/// Writes the page, its figures and tables, and what they rest on.
fn write(reproduction: &Reproduction, folder: &OutputFolder, prefix: &str) -> Result<()> {
    let put = |name: &str, bytes: &[u8]| folder.write(&format!("{prefix}{name}"), bytes);
    put("report.html", html(&reproduction.page()).as_bytes())?;
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
