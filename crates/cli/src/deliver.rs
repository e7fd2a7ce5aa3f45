//! From an experiment to its folder and the terminal.

use std::process::ExitCode;

use dupack_algorithms::catalog::Catalog;
use dupack_claims::{Judged, Rules};
use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Results, store};
use dupack_lab::run::{Execution, Plan};
use dupack_report::claims;
use dupack_report::comparison::{self, Beside};
use dupack_report::files::EXPERIMENT;
use dupack_report::folder::OutputFolder;
use dupack_report::table;
use miette::{IntoDiagnostic, Result};

use crate::flags::{Format, OutputArgs};
use crate::output::{INTERRUPTED, folder, print, terminal, warn};
use crate::progress::{Bar, interrupt};

/// Checks an experiment, runs it with a progress bar, and delivers the results.
pub fn carry_out(
    experiment: Experiment,
    source: &Source,
    name: &str,
    output: &OutputArgs,
    catalog: &Catalog,
) -> Result<ExitCode> {
    let mut plan = Plan::new(experiment, source, catalog)?;
    if !output.no_harm {
        plan = plan.measuring_harm(catalog);
    }
    let rules = Rules::of_plan(&plan, source, catalog)?;
    if output.explain {
        let (_, width) = terminal();
        print(&table::parameters(&plan.empty_results(), width))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Made before the work, so that a folder that cannot be had costs no time.
    let folder = folder(output.out.as_deref(), name)?;
    folder.write(EXPERIMENT, source.text.as_bytes())?;
    let bar = Bar::new(plan.work(), name);
    let execution = Execution { jobs: output.jobs };
    let mut results = plan.execute(execution, &bar, interrupt());
    results.prefer = output.prefer;
    bar.finish();
    if results.runs.is_empty() {
        eprintln!("interrupted before the first run was finished: there is nothing to show");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let judged = rules.judge_results(&results);
    let beside = Beside {
        judged: judged.clone(),
        over_time: Some(plan.over_time(interrupt())),
        ..Beside::default()
    };
    comparison::files(&results, catalog, beside)
        .into_diagnostic()?
        .write(&folder)?;
    match output.format {
        Format::Table => tables(&results, &judged)?,
        Format::Csv => print(&String::from_utf8_lossy(&store::summary_csv(&results)))?,
        Format::Json => print(&claims::json_text(&results, &judged))?,
    }
    conclude(&results, &folder)
}

fn tables(results: &Results, judged: &[Judged]) -> Result<()> {
    let (colour, width) = terminal();
    print(&table::comparison(results, colour, width))?;
    if judged.is_empty() {
        return Ok(());
    }
    print("")?;
    print(&claims::table(judged, colour, width))?;
    match claims::caution(results) {
        Some(caution) => print(caution),
        None => Ok(()),
    }
}

/// Says what there is to warn of, and what is missing.
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
