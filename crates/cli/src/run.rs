//! `dupack run FILE.toml`: an experiment file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::Plan;
use miette::Result;

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
    /// The experiment file
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: &RunArgs, catalog: &Catalog) -> Result<ExitCode> {
    let source = Source::read(&args.file)?;
    let plan = Plan::new(source.parse()?, &source, catalog)?;
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy();
    carry_out(plan, &source, &name, &args.output, catalog)
}
