//! `dupack schema`: JSON Schemas of experiment files and of diagnoses, for editors and scripts.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use dupack_diagnosis_tell::numbers;
use dupack_lab::experiment;
use miette::Result;

use crate::output::print;

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Document that the schema describes
    #[arg(value_enum, value_name = "DOCUMENT", default_value_t)]
    document: Document,
}

/// Document with a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Document {
    /// An experiment file
    #[default]
    Experiment,
    /// The JSON of `dupack diagnose`
    Diagnosis,
}

pub fn run(args: &SchemaArgs) -> Result<ExitCode> {
    let schema = match args.document {
        Document::Experiment => format!("{:#}", experiment::json_schema()),
        Document::Diagnosis => format!("{:#}", numbers::json_schema()),
    };
    print(&schema)?;
    Ok(ExitCode::SUCCESS)
}
