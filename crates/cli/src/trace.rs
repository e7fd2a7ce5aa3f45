//! `dupack trace`: one flow, packet by packet.

use std::process::ExitCode;

use miette::{Result, miette};

use crate::args::TraceArgs;

pub fn run(_args: &TraceArgs) -> Result<ExitCode> {
    Err(miette!("pending"))
}
