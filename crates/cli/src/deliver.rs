//! Runs an experiment, writes its folder and prints its results.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use dupack_algorithms::catalog::{Catalog, Kernel};
use dupack_claims::{Judged, Rules};
use dupack_engine::folder::OutputFolder;
use dupack_engine::store::{Begun, FolderError};
use dupack_engine::{Carried, Conduct, Execution, Keeping, Shown, carry_out_plan};
use dupack_lab::experiment::load::Source;
use dupack_lab::results::{Answered, Results, store};
use dupack_lab::run::{Held, Plan};
use dupack_report::claims;
use dupack_report::comparison::{self, Beside};
use dupack_report::deploy::answer;
use dupack_report::files::Files;
use dupack_report::{parameters, table};
use miette::{IntoDiagnostic, Result};

use crate::flags::{Format, OutputArgs, ShowArgs, check_preference, scope};
use crate::output::{INTERRUPTED, command_without, folder, print, quoted, terminal, warn};
use crate::progress::{Bar, interrupt};
use crate::stream::advise;

/// Runs the plan of an experiment with a progress bar, and delivers the results.
pub fn carry_out(
    mut plan: Plan,
    source: &Source,
    name: &str,
    output: &OutputArgs,
    catalog: &Catalog,
) -> Result<ExitCode> {
    if !output.no_harm {
        plan = plan.measuring_harm(catalog);
    }
    check_preference(output.show.prefer, plan.harm_record())?;
    let rules = Rules::of_plan(&plan, source, catalog)?;
    if output.explain {
        let (_, width) = terminal();
        print(&parameters::text(
            &plan.empty_results(),
            scope(output.all),
            width,
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let execution = Execution { jobs: output.jobs };
    plan.fits(Held::All, execution.threads())?;
    advise(&plan);
    // Create the folder first, so that an unusable folder costs no time.
    let begun = match &output.resume {
        Some(path) => Begun::again(path, plan.experiment(), source),
        None => Begun::new(folder(output.out.as_deref(), name)?, source),
    };
    let begun = match begun {
        Err(complete @ FolderError::Complete { .. }) => {
            say!("{complete}: nothing to do");
            return Ok(ExitCode::SUCCESS);
        }
        begun => begun?,
    };
    let bar = Bar::new(plan.work(), name);
    let conduct = Conduct {
        execution,
        watch: &bar,
        interrupt: interrupt(),
    };
    let shown = match output.flows_over_time {
        true => Shown::OverTimeAndFlows,
        false => Shown::OverTime,
    };
    let keeping = Keeping::within(Arc::clone(&begun.journal));
    let mut carried = carry_out_plan(&plan, keeping, shown, &conduct);
    carried.results.prefer = output.show.prefer;
    output.show.correct_over.apply(&mut carried.results);
    bar.finish();
    let delivered = Delivery::of(&carried, &rules, catalog);
    let done = deliver(&delivered, output, &begun.folder);
    let results = &carried.results;
    if done.is_err() || results.missing() > 0 {
        let go_on = go_on(std::env::args_os(), begun.folder.path());
        let kept = match begun.journal.unkept() {
            0 => "completed runs are kept".to_owned(),
            runs => format!("{runs} completed run(s) could not be stored and will be repeated"),
        };
        say!("{kept}; continue with: {go_on}");
    } else if let Err(error) = begun.complete() {
        say!("warning: {error}");
    }
    done
}

/// Writes every file, prints the requested output, and prints warnings.
fn deliver(
    delivery: &Delivery<'_>,
    output: &OutputArgs,
    folder: &OutputFolder,
) -> Result<ExitCode> {
    let results = &*delivery.results;
    if results.runs.is_empty() {
        say!("interrupted before the first run was completed: there are no results");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let written = delivery.files().and_then(|files| Ok(files.write(folder)?));
    // Print the results even if the disk has no space for the files.
    delivery.show(&output.show)?;
    written?;
    conclude(results, folder)
}

/// Results, and the parts of the report derived from them.
pub struct Delivery<'r> {
    results: Arc<Answered<'r>>,
    carried: &'r Carried,
    judged: Vec<Judged>,
    catalog: &'r Catalog,
}

impl<'r> Delivery<'r> {
    /// Returns the results of `carried`, with the verdicts by `rules`, for stacks of `catalog`.
    pub fn of(carried: &'r Carried, rules: &Rules, catalog: &'r Catalog) -> Self {
        Self {
            results: Arc::new(Answered::of(&carried.results)),
            judged: rules.judge_results(&carried.results),
            carried,
            catalog,
        }
    }

    /// Returns every file of the report.
    pub fn files(&self) -> Result<Files<'r>> {
        let beside = Beside {
            judged: self.judged.clone(),
            over_time: self.carried.over_time.clone(),
            flows_over_time: self.carried.flows_over_time.clone(),
            ..Beside::default()
        };
        comparison::files(&self.results, self.catalog, beside).into_diagnostic()
    }

    /// Prints the results.
    pub fn show(&self, how: &ShowArgs) -> Result<()> {
        let (results, judged, catalog) = (&*self.results, &self.judged, self.catalog);
        match how.format {
            Format::Table => tables(results, judged, how, catalog),
            Format::Csv => print(&String::from_utf8_lossy(&store::summary_csv(results))),
            Format::Json => print(&comparison::json_text(results, judged, catalog)),
        }
    }
}

/// Returns the command given by `args`, with `--resume` and `folder` instead of its own `--out` and `--resume`.
pub fn go_on(args: impl Iterator<Item = OsString>, folder: &Path) -> String {
    let mut words = command_without(args, &["--out", "--resume"]);
    words.extend(["--resume".to_owned(), quoted(&folder.display().to_string())]);
    words.join(" ")
}

/// Returns the kernel of this host, if it is Linux.
#[cfg(target_os = "linux")]
pub fn this_host() -> Option<Kernel> {
    dupack_testbed::kernel::this_host()
}

#[cfg(not(target_os = "linux"))]
pub fn this_host() -> Option<Kernel> {
    None
}

fn tables(
    results: &Answered<'_>,
    judged: &[Judged],
    how: &ShowArgs,
    catalog: &Catalog,
) -> Result<()> {
    let (colour, width) = terminal();
    print(&comparison::text(results, how.legend(), colour, width))?;
    let host = this_host();
    let kernel = how.kernel.as_ref().or(host.as_ref());
    if let Some(text) = answer::text(results, catalog, kernel, width) {
        print(&format!("\n{text}"))?;
    }
    if judged.is_empty() {
        return Ok(());
    }
    print("")?;
    print(&claims::table(judged, colour, width))?;
    match claims::caution(results) {
        Some(caution) => print(&table::paragraph(caution, width)),
        None => Ok(()),
    }
}

/// Prints warnings, and the number of missing runs.
fn conclude(results: &Results, folder: &OutputFolder) -> Result<ExitCode> {
    warn(results, folder);
    if results.missing() > 0 {
        say!(
            "interrupted: {} of {} runs are missing; tables and figures use the others",
            results.missing(),
            results.planned
        );
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_continue_is_the_same_with_another_folder() {
        let line = |words: &[&str], folder: &str| {
            let words = words.iter().map(OsString::from);
            go_on(words, Path::new(folder))
        };
        assert_eq!(
            line(&["/x/dupack", "run", "a b.toml", "--no-harm"], "out/a-2"),
            "dupack run 'a b.toml' --no-harm --resume out/a-2"
        );
        let stacks = "newreno(full_ack=alg2)/reno";
        assert_eq!(
            line(
                &[
                    "d",
                    "compare",
                    "--out",
                    "x",
                    "--stacks",
                    stacks,
                    "--loss=1%"
                ],
                "x"
            ),
            "dupack compare --stacks 'newreno(full_ack=alg2)/reno' --loss=1% --resume x"
        );
        for before in [
            &["d", "run", "f", "--resume", "y"][..],
            &["d", "run", "f", "--resume=y"],
        ] {
            assert_eq!(line(before, "it's"), r"dupack run f --resume 'it'\''s'");
        }
    }
}
