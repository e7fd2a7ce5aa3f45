//! `dupack run --stream`: an experiment with more runs than memory holds.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use dupack_algorithms::catalog::Catalog;
use dupack_claims::Rules;
use dupack_engine::folder::is_blank;
use dupack_engine::store::Store;
use dupack_engine::store::shards::Harm;
use dupack_engine::{Conduct, Execution, Progressed};
use dupack_lab::experiment::load::Source;
use dupack_lab::run::size::bytes_in_words;
use dupack_lab::run::{Held, Plan};
use dupack_report::files::PAGE;
use dupack_report::stream::{BETTER_STREAMED, Finished, Format, Identity, Settings, Streaming};
use miette::{IntoDiagnostic, Result, miette};

use crate::deliver::go_on;
use crate::flags::{FamilyArg, Format as Print, OutputArgs, check_preference};
use crate::output::{INTERRUPTED, folder, print, terminal};
use crate::progress::{Bar, interrupt_saying};

/// Carries out the runs of a plan block by block, and writes a report from the digests of the runs.
pub fn carry_out(
    plan: Plan,
    (source, name): (&Source, &str),
    format: Option<Format>,
    output: &OutputArgs,
    catalog: &Catalog,
) -> Result<ExitCode> {
    if output.show.format == Print::Json {
        return Err(miette!(
            help = "runs/ in the folder has every run; --format csv prints the summary",
            "--format json prints every run, but --stream keeps no runs in memory"
        ));
    }
    if output.show.correct_over == FamilyArg::Sweep {
        return Err(miette!(
            help = "remove one of the two",
            "--correct-over sweep compares all points at once, but --stream writes each point when it is done"
        ));
    }
    // A process that was killed early leaves an empty folder. The experiment begins in this folder.
    let resumed = output.resume.as_deref().filter(|path| !is_blank(path));
    let known = resumed.map(Store::<Identity>::read).transpose()?;
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
    check_preference(prefer, plan.harm_record())?;
    let execution = Execution { jobs: output.jobs };
    plan.fits(Held::Points, execution.threads())?;
    let rules = Rules::of_plan(&plan, source, catalog)?;
    if !rules.claims().is_empty() {
        say!(
            "note: the claims of {} are not judged, because this needs all runs at once; run it without --stream to judge them",
            source.name
        );
    }
    let mut streaming = match resumed {
        Some(path) => Streaming::again(path, &plan, source, format)?,
        None => {
            let mut settings = Settings::new(harm);
            settings.format = format.unwrap_or(settings.format);
            let out = output.resume.as_deref().or(output.out.as_deref());
            let folder = folder(out, name)?;
            Streaming::new(folder, &plan, source, &settings)?
        }
    };
    if streaming.is_finished() {
        let path = streaming.path().display();
        say!("{path} has all runs and the report: nothing to do");
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = interrupt_saying("the runs of completed parts are kept");
    let bar = Bar::new(streaming.runs_to_do(), name);
    let path = streaming.path().to_owned();
    let conduct = Conduct {
        execution,
        watch: &bar,
        interrupt,
    };
    let progressed = streaming.execute(&plan, &conduct);
    bar.finish();
    let done = match progressed {
        Ok(Progressed::ToBlock(_)) => {
            say!("interrupted: {} runs are missing", streaming.runs_to_do());
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
        say!("completed parts are kept; continue with: {go_on}");
    }
    done
}

/// Prints the requested output.
fn show(finished: &Finished, output: &OutputArgs) -> Result<ExitCode> {
    let path = finished.folder.path();
    match output.show.format {
        Print::Csv => copy(&path.join("summary.csv"))?,
        _ => {
            let (colour, width) = terminal();
            print(&finished.text(output.show.legend(), colour, width))?;
        }
    }
    for warning in &finished.warnings {
        say!("warning: {warning}");
    }
    say!("report: {}", path.join(PAGE).display());
    Ok(ExitCode::SUCCESS)
}

/// Prints a file. A closed pipe is not an error.
fn copy(file: &Path) -> Result<()> {
    let mut from = File::open(file).into_diagnostic()?;
    match io::copy(&mut from, &mut io::stdout().lock()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        copied => copied.map(|_| ()).into_diagnostic(),
    }
}

/// Prints a note that the runs of `plan` should be streamed, if there are many.
pub fn advise(plan: &Plan) {
    let size = plan.size();
    let runs = size.runs().unwrap_or(u64::MAX);
    if let Some(bytes) = size
        .bytes(Held::All, 1)
        .filter(|_| runs > BETTER_STREAMED as u64)
    {
        say!(
            "note: {runs} runs take about {} of memory; `dupack run FILE --stream` writes them to files part by part \
             instead",
            bytes_in_words(bytes)
        );
    }
}
