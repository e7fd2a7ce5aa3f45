//! `dupack run FILE.toml`: an experiment file.

use std::process::ExitCode;

use dupack_lab::experiment::Experiment;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::{Execution, Plan};
use miette::Result;

use crate::args::{OutputArgs, RunArgs};
use crate::output::{INTERRUPTED, deliver, folder};
use crate::progress::{Bar, interrupt};

pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let source = Source::read(&args.file)?;
    let experiment = source.parse()?;
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy();
    carry_out(experiment, &source, &name, &args.output)
}

/// Checks an experiment, runs it with a progress bar, and delivers the results.
pub fn carry_out(
    experiment: Experiment,
    source: &Source,
    name: &str,
    output: &OutputArgs,
) -> Result<ExitCode> {
    let text = source.text.clone();
    let plan = Plan::new(experiment, source)?;
    // Made before the work, so that a folder that cannot be had costs no time.
    let folder = folder(output.out.as_deref(), name)?;
    folder.write("experiment.toml", text.as_bytes())?;
    let bar = Bar::new(plan.jobs().len(), name);
    let execution = Execution { jobs: output.jobs };
    let results = plan.execute(execution, &bar, interrupt());
    bar.finish();
    if results.runs.is_empty() {
        eprintln!("interrupted before the first run was finished: there is nothing to show");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    deliver(&plan, &results, &folder, output)
}
