//! `dupack stacks`: the algorithms that stacks are made of.

use dupack_algorithms::catalog::Catalog;
use std::process::ExitCode;

use clap::Args;
use dupack_report::catalog::Listing;
use miette::{Result, miette};

use crate::output::{print, terminal};

#[derive(Debug, Args)]
pub struct StacksArgs {
    /// Only the algorithm of this name
    name: Option<String>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &StacksArgs, catalog: &Catalog) -> Result<ExitCode> {
    let listing = Listing::of(catalog, args.name.as_deref()).ok_or_else(|| {
        let name = args.name.as_deref().unwrap_or_default();
        let meant = catalog.suggest(name);
        let help = meant.map(|meant| format!("did you mean `{meant}`? "));
        miette!(
            help = help.unwrap_or_default() + "`dupack stacks` lists them all",
            "there is no algorithm `{name}`"
        )
    })?;
    if args.json {
        print(&format!("{:#}", listing.json()))?;
    } else {
        let (colour, width) = terminal();
        print(&listing.text(colour, width))?;
    }
    Ok(ExitCode::SUCCESS)
}
