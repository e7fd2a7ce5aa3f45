//! `dupack stacks` and `dupack schema`: what there is to write.

use std::process::ExitCode;

use dupack_lab::experiment::json_schema;
use dupack_report::catalog;
use miette::{IntoDiagnostic, Result, miette};

use crate::args::StacksArgs;
use crate::output::{print, terminal};

pub fn run(args: &StacksArgs) -> Result<ExitCode> {
    let listing = catalog::Listing::of(args.name.as_deref()).ok_or_else(|| {
        miette!(
            help = "`dupack stacks` lists them all",
            "there is no algorithm `{}`",
            args.name.as_deref().unwrap_or_default()
        )
    })?;
    if args.json {
        let text = serde_json::to_string_pretty(&listing.json()).into_diagnostic()?;
        print(&text)?;
    } else {
        let (colour, width) = terminal();
        print(&listing.text(colour, width))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub fn schema() -> Result<ExitCode> {
    let text = serde_json::to_string_pretty(&json_schema()).into_diagnostic()?;
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
