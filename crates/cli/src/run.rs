//! `dupack run FILE.toml`: an experiment file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use dupack_algorithms::catalog::Catalog;
use dupack_lab::experiment::load::Source;
use miette::Result;

use crate::deliver::carry_out;
use crate::flags::OutputArgs;

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The experiment file
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

pub fn run(args: &RunArgs, catalog: &Catalog) -> Result<ExitCode> {
    let source = Source::read(&args.file)?;
    let experiment = source.parse()?;
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy();
    carry_out(experiment, &source, &name, &args.output, catalog)
}
