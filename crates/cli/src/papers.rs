//! `dupack papers`: a paper's experiments and claims.

use std::process::ExitCode;

use miette::{Result, miette};

use crate::args::PapersArgs;

pub fn run(_args: &PapersArgs) -> Result<ExitCode> {
    Err(miette!("pending"))
}
