//! `dupack schema`: what an experiment file may say, for editors.

use std::process::ExitCode;

use dupack_lab::experiment::json_schema;
use miette::Result;

use crate::output::print;

pub fn run() -> Result<ExitCode> {
    print(&format!("{:#}", json_schema()))?;
    Ok(ExitCode::SUCCESS)
}
