//! `dupack run --stream`: an experiment of more runs than memory holds.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use dupack_algorithms::catalog::Catalog;
use dupack_claims::Rules;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Execution, Plan, Progressed};
use dupack_report::files::PAGE;
use dupack_report::shard::Harm;
use dupack_report::stream::{BETTER_STREAMED, Finished, Format, Identity, Settings, Streaming};
use miette::{IntoDiagnostic, Result, miette};

use crate::deliver::go_on;
use crate::flags::{FamilyArg, Format as Print, OutputArgs, check_preference};
use crate::output::{INTERRUPTED, folder, print, terminal};
use crate::progress::{Bar, interrupt_saying};

/// Does the runs of a plan block by block, and makes a report of what is kept of them.
pub fn carry_out(
    plan: Plan,
    (source, name): (&Source, &str),
    format: Option<Format>,
    output: &OutputArgs,
    catalog: &Catalog,
) -> Result<ExitCode> {
    if output.show.format == Print::Json {
        return Err(miette!(
            help = "every run is in the folder's runs/; --format csv prints the summary",
            "--format json prints every run, and with --stream none is kept in memory"
        ));
    }
    if output.show.correct_over == FamilyArg::Sweep {
        return Err(miette!(
            help = "leave out one of the two",
            "--correct-over sweep compares all points at once, and with --stream each goes to its file when it is done"
        ));
    }
    let known = output.resume.as_deref().map(Identity::read).transpose()?;
    let harm = match (output.no_harm, &known) {
        (true, _) => Harm::LeftOut,
        (false, Some(known)) => known.harm(),
        (false, None) => Harm::Measured,
    };
    let prefer = output
        .show
        .prefer
        .or(known.as_ref().and_then(Identity::prefer));
    let mut plan = plan.preferring(prefer);
    if harm == Harm::Measured {
        plan = plan.measuring_harm(catalog);
    }
    check_preference(prefer, &plan.empty_results().harm)?;
    let rules = Rules::of_plan(&plan, source, catalog)?;
    if !rules.claims().is_empty() {
        eprintln!(
            "note: the claims of {} are not judged: that takes all runs at once; run it without --stream for them",
            source.name
        );
    }
    let mut streaming = match &output.resume {
        Some(path) => Streaming::again(path, &plan, format)?,
        None => {
            let mut settings = Settings::new(harm);
            settings.format = format.unwrap_or(settings.format);
            let folder = folder(output.out.as_deref(), name)?;
            Streaming::new(folder, &plan, source, &settings)?
        }
    };
    if streaming.is_finished() {
        let path = streaming.path().display();
        eprintln!("{path} has all runs, and its report is written: nothing to do");
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = interrupt_saying("the runs of finished parts are kept");
    let bar = Bar::new(streaming.runs_to_do(), name);
    let execution = Execution { jobs: output.jobs };
    let path = streaming.path().to_owned();
    let progressed = streaming.execute(&plan, execution, &bar, interrupt);
    bar.finish();
    let done = match progressed {
        Ok(Progressed::ToBlock(_)) => {
            eprintln!("interrupted: {} runs are missing", streaming.runs_to_do());
            Ok(ExitCode::from(INTERRUPTED))
        }
        Ok(Progressed::ToTheEnd) => {
            let finished = streaming.finish(&plan, catalog);
            finished
                .map_err(Into::into)
                .and_then(|finished| show(&finished, output))
        }
        Err(error) => Err(error.into()),
    };
    if !matches!(done, Ok(code) if code == ExitCode::SUCCESS) {
        let go_on = go_on(std::env::args_os(), &path);
        eprintln!("the finished parts are kept; go on with: {go_on}");
    }
    done
}

/// Prints what was asked for.
fn show(finished: &Finished, output: &OutputArgs) -> Result<ExitCode> {
    let path = finished.folder.path();
    match output.show.format {
        Print::Csv => copy(&path.join("summary.csv"))?,
        _ => {
            let (colour, width) = terminal();
            print(&finished.text(colour, width))?;
        }
    }
    for warning in &finished.warnings {
        eprintln!("warning: {warning}");
    }
    eprintln!("report: {}", path.join(PAGE).display());
    Ok(ExitCode::SUCCESS)
}

/// Prints a file. A reader that has gone away is no error.
fn copy(file: &Path) -> Result<()> {
    let mut from = File::open(file).into_diagnostic()?;
    match io::copy(&mut from, &mut io::stdout().lock()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        copied => copied.map(|_| ()).into_diagnostic(),
    }
}

/// Says that so many runs are better streamed, where they are.
pub fn advise(runs: usize) {
    if runs > BETTER_STREAMED {
        eprintln!(
            "note: {runs} runs take about {} GB of memory here; with --stream they go to files as they are done",
            runs.div_ceil(100_000)
        );
    }
}
