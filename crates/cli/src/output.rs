//! What commands print, and where they put their files.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use dupack_lab::results::medium::NO_ANSWER;
use dupack_lab::results::store::{self, IfPresent};
use dupack_lab::results::{OutputFolder, Results};
use dupack_lab::run::Plan;
use dupack_report::comparison::Figure;
use dupack_report::figure::png;
use dupack_report::table::{self, Colour};
use dupack_report::{
    comparison,
    page::{Page, html},
};
use miette::{IntoDiagnostic, Result};

use crate::args::{Format, OutputArgs};
use crate::progress::interrupt;

/// Exit code of a command that was interrupted, as shells have it for Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// Pixels of a PNG per pixel of its SVG.
pub const PNG_SCALE: f32 = 2.0;

/// Prints `text` with a line break. A reader that has gone away is no error.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.into_diagnostic(),
    }
}

/// The output folder: the one that was named, or a new one under `dupack-out`.
pub fn folder(named: Option<&Path>, name: &str) -> Result<OutputFolder> {
    Ok(match named {
        Some(path) => OutputFolder::create(path, IfPresent::Refuse)?,
        None => OutputFolder::create(&Path::new("dupack-out").join(name), IfPresent::Number)?,
    })
}

/// Whether, and how wide, the terminal shows tables.
pub fn terminal() -> (Colour, Option<u16>) {
    let stdout = io::stdout();
    if stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        (Colour::Yes, None)
    } else {
        (Colour::No, Some(120))
    }
}

/// Writes every file of a comparison, prints what was asked for, and says what is missing.
pub fn deliver(
    plan: &Plan,
    results: &Results,
    folder: &OutputFolder,
    args: &OutputArgs,
) -> Result<ExitCode> {
    let mut figures = comparison::figures(results).into_diagnostic()?;
    // The middle of a sweep says more over time than its ends.
    let point = results.points.len() / 2;
    let timelines = plan.timelines(point, interrupt());
    let over_time = comparison::over_time(results, point, &timelines, &plan.capacity(point));
    figures.extend(over_time.into_diagnostic()?);
    let page = comparison::page(results, &figures);
    let texts = write(results, &figures, &page, folder)?;
    match args.format {
        Format::Table => tables(results, args)?,
        Format::Csv => print(&texts.summary)?,
        Format::Json => print(&texts.json)?,
    }
    conclude(results, folder)
}

/// What is written and may be printed too.
pub struct Texts {
    /// `summary.csv`.
    pub summary: String,
    /// `results.json`.
    pub json: String,
}

/// Writes every file of a comparison.
pub fn write(
    results: &Results,
    figures: &[Figure],
    page: &Page,
    folder: &OutputFolder,
) -> Result<Texts> {
    for figure in figures {
        folder.write(
            &format!("figures/{}.svg", figure.name),
            figure.svg.as_bytes(),
        )?;
        let bitmap = png(&figure.svg, PNG_SCALE).into_diagnostic()?;
        folder.write(&format!("figures/{}.png", figure.name), &bitmap)?;
    }
    folder.write("report.html", html(page).as_bytes())?;
    folder.write("runs.csv", &store::runs_csv(results))?;
    let summary = store::summary_csv(results);
    folder.write("summary.csv", &summary)?;
    folder.write("parameters.csv", &store::parameters_csv(results))?;
    let json = serde_json_text(results)?;
    folder.write("results.json", json.as_bytes())?;
    let summary = String::from_utf8_lossy(&summary).into_owned();
    Ok(Texts { summary, json })
}

/// Says what there is to warn of, and where the report is.
pub fn warn(results: &Results, folder: &OutputFolder) {
    for warning in &results.warnings {
        eprintln!("warning: {warning}");
    }
    eprintln!("report: {}", folder.path().join("report.html").display());
}

/// As [`warn`], and says what is missing.
fn conclude(results: &Results, folder: &OutputFolder) -> Result<ExitCode> {
    warn(results, folder);
    if results.missing() > 0 {
        eprintln!(
            "interrupted: {} of {} runs are missing; the tables and figures rest on the others",
            results.missing(),
            results.planned
        );
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

fn serde_json_text(results: &Results) -> Result<String> {
    serde_json::to_string_pretty(&store::json(results)).into_diagnostic()
}

fn tables(results: &Results, args: &OutputArgs) -> Result<()> {
    let (_, width) = terminal();
    if args.explain {
        print(&table::parameters(results, width))?;
        print("")?;
    }
    comparison_tables(results)
}

/// The table of all stacks, and that of the best.
pub fn comparison_tables(results: &Results) -> Result<()> {
    let (colour, width) = terminal();
    print(&table::detailed(results, colour, width))?;
    if results.is_worthless() {
        return print(&format!("\n{NO_ANSWER}"));
    }
    print(
        "\nThe best by goodput (★; ≈ cannot be told from it), mean ± 95 % confidence interval:\n",
    )?;
    print(&table::winners(results, colour, width))?;
    if results.has_runs_without_chance() {
        print("\nWithout ±: every seed gave the same run, as nothing was left to chance.")?;
    }
    Ok(())
}
