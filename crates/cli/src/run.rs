//! `dupack run FILE.toml`: the experiment of a file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use dupack_algorithms::catalog::Catalog;
use dupack_engine::Shard;
use dupack_engine::store::Store;
use dupack_engine::store::shards::ShardFolder;
use dupack_lab::experiment::load::Source;
use dupack_lab::run::Plan;
use dupack_report::files::EXPERIMENT;
use dupack_report::stream::{Format, Identity};
use miette::{Result, miette};

use crate::deliver::carry_out;
use crate::flags::OutputArgs;
use crate::{shard, stream};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dupack run examples/fairness.toml
  dupack run examples/fairness.toml --explain
  dupack run examples/fairness.toml --resume dupack-out/fairness
  dupack run sweep.toml --stream --out sweep
  dupack run examples/fairness.toml --shard 3/64 --out shards/3

Completed runs are stored immediately in runs.jsonl of the folder, until all
runs are done. After an interruption or a crash, repeat the command with
--resume DIR.

A shard is one of N parts of about equal cost, which can run on different
machines; `dupack merge` combines them. The same command continues an
interrupted shard, and does nothing if the shard is complete.

With --stream, completed parts of several points each are stored; --resume DIR
continues with the first missing part.")]
pub struct RunArgs {
    /// Experiment file [default with --resume: the copy in its folder, whose recorded traces must have absolute paths]
    #[arg(required_unless_present = "resume")]
    file: Option<PathBuf>,
    /// Carry out only this shard of the runs, such as 3/64, for `dupack merge`; the folder must be new or that of the
    /// same shard [default: dupack-out/NAME-I-of-N]
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    shard: Option<Shard>,
    /// Write runs to files part by part, so that memory holds only one part at a time, for experiments with a million
    /// runs. The report shows some points, its files have all of them, and claims are not judged
    #[arg(long, conflicts_with_all = ["shard", "explain"])]
    stream: bool,
    /// File format of the runs with --stream [default: csv]
    #[arg(long, value_enum, requires = "stream", value_name = "KIND")]
    parts: Option<Parts>,
    #[command(flatten)]
    output: OutputArgs,
}

/// File format of runs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Parts {
    /// Text
    Csv,
    /// Columns for data frames; needs a dupack built with --features parquet
    Parquet,
}

impl Parts {
    fn format(self) -> Result<Format> {
        match self {
            Self::Csv => Ok(Format::Csv),
            #[cfg(feature = "parquet")]
            Self::Parquet => Ok(Format::Parquet),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => Err(miette!(
                help = "install dupack with Parquet: cargo install --path crates/cli --features parquet; or use --parts csv",
                "this dupack was built without Parquet"
            )),
        }
    }
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
    let is_begun = { args.output.resume.as_deref() }.is_some_and(ShardFolder::is_at);
    if args.shard.is_some() || is_begun {
        return shard::carry_out(plan, (&source, &name), args.shard, &args.output, catalog);
    }
    let is_streamed = { args.output.resume.as_deref() }.is_some_and(Store::<Identity>::is_at);
    if args.stream || is_streamed {
        let format = args.parts.map(Parts::format).transpose()?;
        return stream::carry_out(plan, (&source, &name), format, &args.output, catalog);
    }
    carry_out(plan, &source, &name, &args.output, catalog)
}
