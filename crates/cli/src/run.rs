//! `dupack run FILE.toml`: an experiment file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::Plan;
use dupack_report::files::EXPERIMENT;
use miette::{Result, miette};

use crate::deliver::carry_out;
use crate::flags::OutputArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack run examples/fairness.toml
  dupack run examples/fairness.toml --explain
  dupack run examples/fairness.toml --resume dupack-out/fairness

Finished runs are kept at once in the folder's runs.jsonl, until all of them are
done. After an interruption, or a crash, repeat the command with --resume DIR.")]
pub struct RunArgs {
    /// The experiment file [default with --resume: the copy in its folder, whose recorded traces must be
    /// named by whole paths]
    #[arg(required_unless_present = "resume")]
    file: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: &RunArgs, catalog: &Catalog) -> Result<ExitCode> {
    let file = match (&args.file, &args.output.resume) {
        (Some(file), _) => file.clone(),
        (None, Some(folder)) => folder.join(EXPERIMENT),
        (None, None) => return Err(miette!("name an experiment file")),
    };
    let source = Source::read(&file)?;
    let plan = Plan::new(source.parse()?, &source, catalog)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    carry_out(plan, &source, &name, &args.output, catalog)
}
